//! What goes to the terminal, and a copy of it for whoever wants to play the session again.
//!
//! asciicast, version 2: a header, then `[seconds, "o", text]` for every picture.

use std::{
    cell::RefCell,
    fs::File,
    io::{self, BufWriter, Stdout, Write},
    path::Path,
    rc::Rc,
    time::Instant,
};

use serde_json::json;

/// The way to the terminal. Pictures are written as a whole.
pub(super) struct Tee {
    out: BufWriter<Stdout>,
    picture: Vec<u8>,
    cast: Rc<RefCell<Option<Cast>>>,
}

impl Tee {
    pub(super) fn new(cast: Rc<RefCell<Option<Cast>>>) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, io::stdout()), picture: vec![], cast }
    }
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cast.borrow().is_some() {
            self.picture.extend_from_slice(bytes);
        }
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(cast) = self.cast.borrow_mut().as_mut()
            && !self.picture.is_empty()
        {
            cast.add(&std::mem::take(&mut self.picture))?;
        }
        self.out.flush()
    }
}

/// A session that is being recorded.
pub(crate) struct Cast {
    out: BufWriter<File>,
    began: Instant,
}

impl Cast {
    /// Begins a file.
    pub(crate) fn begin(
        path: &Path,
        size: (u16, u16),
        title: &str,
        first: &[u8],
    ) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "{}\n{}", header(size, title), event(0.0, first))?;
        Ok(Self { out, began: Instant::now() })
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let secs = self.began.elapsed().as_secs_f64();
        writeln!(self.out, "{}", event(secs, bytes))
    }

    /// Writes what is left.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The first line of a file.
pub(crate) fn header((width, height): (u16, u16), title: &str) -> String {
    let header = json!({
        "version": 2, "width": width, "height": height, "title": title,
        "env": {"TERM": "xterm-256color"},
    });
    header.to_string()
}

/// One picture.
pub(crate) fn event(secs: f64, bytes: &[u8]) -> String {
    // To the millisecond: nobody sees more.
    let secs = (secs * 1000.0).round() / 1000.0;
    json!([secs, "o", String::from_utf8_lossy(bytes)]).to_string()
}

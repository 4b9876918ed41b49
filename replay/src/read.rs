//! Finds out what kind of file it is, by its content, and reads it.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;

use crate::{
    sacct, swf,
    trace::{Trace, TraceError},
};

/// What a file holds.
#[derive(Debug)]
pub enum Source {
    /// Recorded jobs.
    Trace(Box<Trace>),
    /// A journal of the bridge, as text: whoever knows the bridge reads on.
    Journal(Vec<u8>),
}

/// Why a file can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is compressed, and damaged.
    #[error("the gzip data is damaged after {read} bytes of text: {why}")]
    Gzip {
        /// How much came out of it.
        read: usize,
        /// What the decoder says.
        why: String,
    },
    /// It is no kind of file that is known.
    #[error("this is neither a Standard Workload Format file, nor a sacct dump, nor a journal")]
    Unknown {
        /// How it begins.
        begins: String,
    },
    /// A line of it is wrong.
    #[error(transparent)]
    Line(#[from] TraceError),
}

impl ReadError {
    /// What would be right.
    pub fn hint(&self) -> String {
        match self {
            Self::Gzip { .. } => "fetch the file again; `gzip --test FILE` checks it".to_owned(),
            Self::Unknown { begins } if begins.is_empty() => {
                "it is empty; give 18 numbers a line, or what `sacct --parsable2` prints with its header".to_owned()
            }
            Self::Unknown { begins } => format!(
                "it begins with `{begins}`; give 18 numbers a line, or what `sacct --parsable2` prints with its header"
            ),
            Self::Line(error) => error.hint.clone(),
        }
    }
}

/// Reads a file, plain or compressed. Nothing is half-read: it is right as a whole or refused.
pub fn read(bytes: Vec<u8>) -> Result<Source, ReadError> {
    let text = unzip(bytes)?;
    let start = text.trim_ascii_start();
    if start.starts_with(b"{") {
        return Ok(Source::Journal(text));
    }
    if sacct::looks_like(&text) {
        return Ok(Source::Trace(Box::new(sacct::parse(&utf8(&text)?)?)));
    }
    if swf::looks_like(&text) {
        return Ok(Source::Trace(Box::new(swf::parse(&text)?)));
    }
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let begins = String::from_utf8_lossy(&line[..line.len().min(40)]).escape_debug().to_string();
    Err(ReadError::Unknown { begins })
}

/// Takes the text out of gzip data; anything else is the text.
fn unzip(bytes: Vec<u8>) -> Result<Vec<u8>, ReadError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut text = vec![];
    match MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(ReadError::Gzip { read: text.len(), why: error.to_string() }),
    }
}

fn utf8(text: &[u8]) -> Result<String, TraceError> {
    String::from_utf8(text.to_vec()).map_err(|error| {
        let before = &text[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        TraceError::new((line, column), "this is not UTF-8", "is the file damaged?")
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    const SWF: &[u8] = b"; Version: 2.2\n1 0 -1 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";

    fn zipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_content_says_what_it_is() {
        #[rustfmt::skip]
        let rows: [(&[u8], &str); 6] = [
            (SWF, "trace"),
            (b"1 0 -1 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", "trace"),
            (b"JobID|Submit|Elapsed|NCPUS\n1|0|00:00:01|1\n", "trace"),
            (b"{\"at\":0,\"input\":\"started\"}\n", "journal"),
            (b"<html>", "neither"),
            (b"", "neither"),
        ];
        for (bytes, kind) in rows {
            for bytes in [bytes.to_vec(), zipped(bytes)] {
                let found = match read(bytes) {
                    Ok(Source::Trace(_)) => "trace".to_owned(),
                    Ok(Source::Journal(_)) => "journal".to_owned(),
                    Err(error) => error.to_string(),
                };
                assert!(found.contains(kind), "{kind}: {found}");
            }
        }
    }

    #[test]
    fn gzip_data_that_is_cut_or_changed_is_refused() {
        let mut cut = zipped(SWF);
        cut.truncate(cut.len() - 9);
        assert!(matches!(read(cut), Err(ReadError::Gzip { .. })));
        let mut changed = zipped(SWF);
        let last = changed.len() - 6;
        changed[last] ^= 1;
        assert!(matches!(read(changed), Err(ReadError::Gzip { .. })));
    }

    #[test]
    fn a_byte_that_is_no_text_has_a_place() {
        let Err(ReadError::Line(error)) = read(b"JobID|Submit|Elapsed|NCPUS\n1|\xff".to_vec())
        else {
            panic!("it was read");
        };
        assert_eq!((error.line, error.column), (2, 3));
    }
}

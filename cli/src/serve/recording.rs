//! What came from outside, as a file: what `--record` writes, `--state-dir` keeps and `run` repeats.
//!
//! ```text
//!   {"recording":1,"seed":7,"beganUnix":1794963000,"setting":{…}}     what it began with
//!   {"at":1500,"kube":{…}}                                            what came, and when
//!   {"at":90000,"end":{"events":812,"hash":"…"}}                      how far it got
//! ```
//!
//! One JSON object a line, only ever added to. A crash may tear the last line, which is cut off; damage
//! anywhere else is an error with its line.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use drawbridge_server::{Outside, Tape};
use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};

use super::{eprint, setting::Setting};
use crate::failure::Failure;

/// The format's version.
const VERSION: u32 = 1;
const HINT: &str =
    "only the last line may be torn; cut the file above this line to use what comes before";

/// The first line: what it began with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Header {
    recording: u32,
    pub(crate) seed: u64,
    pub(crate) began_unix: u64,
    pub(crate) setting: Setting,
}

impl Header {
    pub(crate) fn new(setting: Setting, seed: u64, began_unix: u64) -> Self {
        Self { recording: VERSION, seed, began_unix, setting }
    }
}

/// How far a recording got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) events: u64,
    pub(crate) hash: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    at: Time,
    end: End,
}

#[derive(Serialize)]
struct Line<'a> {
    at: Time,
    #[serde(flatten)]
    what: &'a Outside,
}

#[derive(Deserialize)]
struct ReadLine {
    at: Time,
    #[serde(flatten)]
    what: Outside,
}

/// A recording that was read.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) header: Header,
    pub(crate) came: Vec<(Time, Outside)>,
    /// Its last words, if it ended as it should.
    pub(crate) end: Option<(Time, End)>,
    whole_bytes: u64,
}

impl Recording {
    /// The last time that it speaks of.
    pub(crate) fn last(&self) -> Time {
        let came = self.came.last().map_or(Time::ZERO, |(at, _)| *at);
        self.end.as_ref().map_or(came, |(at, _)| came.max(*at))
    }

    /// Whether a file looks like one.
    pub(crate) fn is_one(path: &Path) -> bool {
        let begins = |file: File| {
            BufReader::new(file).fill_buf().map(|it| it.starts_with(b"{\"recording\":"))
        };
        path.is_file() && File::open(path).and_then(begins).unwrap_or(false)
    }

    /// Reads one, to its last whole line.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error| Failure::path(path, error, "give a readable recording");
        let bytes = fs::read(path).map_err(unreadable)?;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
        let damaged = |line: usize, why: &dyn std::fmt::Display| {
            Failure::place(
                path,
                (line + 1, 1),
                &format!("this line is damaged: {why}"),
                HINT.into(),
            )
        };
        let first = lines.next().map(|(_, line)| line).unwrap_or_default();
        let header: Header = serde_json::from_slice(first).map_err(|error| damaged(0, &error))?;
        if header.recording != VERSION {
            let what = format!("this is version {} of recordings", header.recording);
            let hint = format!("this drawbridge reads version {VERSION}");
            return Err(Failure::place(path, (1, 1), &what, hint));
        }
        let mut read = Self { header, came: vec![], end: None, whole_bytes: first.len() as u64 };
        for (number, line) in lines {
            // Without its end a line can't be told from a longer one that was cut.
            if !line.ends_with(b"\n") {
                break;
            }
            read.take(line).map_err(|error| damaged(number, &error))?;
            read.whole_bytes += line.len() as u64;
        }
        Ok(read)
    }

    fn take(&mut self, line: &[u8]) -> Result<(), serde_json::Error> {
        if let Ok(EndLine { at, end }) = serde_json::from_slice(line) {
            self.end = Some((at, end));
            return Ok(());
        }
        let ReadLine { at, what } = serde_json::from_slice(line)?;
        self.came.push((at, what));
        Ok(())
    }
}

/// Writes one.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    file: Option<File>,
}

impl Recorder {
    /// Begins a new one. Nobody else may read it: objects hold secrets.
    pub(crate) fn begin(path: &Path, header: &Header, option: &str) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::whole(path, &error, format!("give a file that can be written with {option}"))
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let mut recorder = Self { path: path.to_owned(), file: Some(file) };
        recorder.write(header).map_err(failed)?;
        Ok(recorder)
    }

    /// Goes on with one that was read.
    pub(crate) fn go_on(path: &Path, recording: &Recording) -> Result<Self, Failure> {
        let failed = |error| Failure::path(path, error, "give a folder that can be written");
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        file.set_len(recording.whole_bytes).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file: Some(file) })
    }

    /// The last words.
    pub(crate) fn end(&mut self, at: Time, end: End) {
        self.note(&EndLine { at, end });
    }

    fn note(&mut self, line: &impl Serialize) {
        if let Err(error) = self.write(line) {
            eprint(&format!("{}: {error}: the recording ends here\n", self.path.display()));
            self.file = None;
        }
    }

    /// Each line is one write: it survives the process.
    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        file.write_all(&bytes)
    }
}

impl Tape for Recorder {
    fn keep(&mut self, at: Time, what: &Outside) {
        self.note(&Line { at, what });
    }
}

//! The journal: every input before the core is told, every effect before it is performed.
//!
//! ```text
//!   {"at":0,"began":{"version":"0.1.0","config":{…},"instance":{…}}}
//!   {"at":0,"input":"started"}
//!   {"at":0,"effect":{"slurm":{"call":1,"request":"nodes"}}}
//!   {"at":12,"input":{"slurmReplied":{"call":1,"outcome":{"Ok":{"nodes":[]}}}}}
//! ```
//!
//! One JSON object per line, only ever added to. The core is a function of its inputs, so
//! [`replay`] goes through a process's life again and must get the same effects; the first that
//! differs is reported. A crash may tear the last line: that is told and tolerated. Damage anywhere
//! else is an error.

mod replay;

use std::io::{self, Write};

use drawbridge_core::{Config, Effect, Input, Instance};
use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};

pub use replay::{Difference, Headless, Replayed, replay};

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, on the process's clock.
    pub at: Time,
    /// What.
    pub what: What,
}

/// A life of the bridge begins: all that its core knows of the world besides its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Began {
    /// Which drawbridge.
    pub version: String,
    /// What it is configured to do.
    pub config: Config,
    /// Which of its lives this is.
    pub instance: Instance,
}

impl Began {
    /// A life of this drawbridge.
    pub fn now(config: Config, instance: Instance) -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), config, instance }
    }
}

/// What a line holds.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A life begins.
    Began(Box<Began>),
    /// The core was told this.
    Input(Input),
    /// The core wanted this done.
    Effect(Effect),
}

/// Adds lines to a file, or to anything that can be written to.
///
/// Each line is one write and a flush: it survives the process. Whether it survives the machine is
/// up to whoever opened the file.
#[derive(Debug)]
pub struct Journal<W: Write> {
    to: W,
}

/// What [`read`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// How many bytes of whole lines there are: cut here before adding more.
    pub whole_bytes: usize,
    /// The number of the last line, if it is torn.
    pub torn: Option<usize>,
}

/// A line that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the journal is damaged: {why}")]
pub struct Damaged {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Damaged {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "only the last line may be torn; cut the file above this line to use what comes before"
    }
}

/// The line as it is written. Exactly one of the three is set.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<B, I, E> {
    at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<B>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<I>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<E>,
}

impl<W: Write> Journal<W> {
    /// Adds to the end of this.
    pub fn new(to: W) -> Self {
        Self { to }
    }

    /// Notes that a life begins.
    pub fn began(&mut self, at: Time, began: &Began) -> io::Result<()> {
        let (input, effect) = (None::<&Input>, None::<&Effect>);
        self.append(&Line { at, began: Some(began), input, effect })
    }

    /// Notes an input. Call it before the core is told.
    pub fn input(&mut self, at: Time, input: &Input) -> io::Result<()> {
        let (began, effect) = (None::<&Began>, None::<&Effect>);
        self.append(&Line { at, began, input: Some(input), effect })
    }

    /// Notes an effect. Call it before the effect is performed.
    pub fn effect(&mut self, at: Time, effect: &Effect) -> io::Result<()> {
        let (began, input) = (None::<&Began>, None::<&Input>);
        self.append(&Line { at, began, input, effect: Some(effect) })
    }

    /// Gives back what it writes to.
    pub fn into_inner(self) -> W {
        self.to
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.to.write_all(&bytes)?;
        self.to.flush()
    }
}

/// Reads a journal.
pub fn read(bytes: &[u8]) -> Result<Lines, Damaged> {
    let mut lines = Lines { entries: Vec::new(), whole_bytes: 0, torn: None };
    for (i, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line_number = i + 1;
        let Some(whole) = line.strip_suffix(b"\n") else {
            // Without its end a line can't be told from a longer one that was cut.
            lines.torn = Some(line_number);
            break;
        };
        let entry = entry(whole).map_err(|why| Damaged { line: line_number, why })?;
        lines.entries.push(entry);
        lines.whole_bytes += line.len();
    }
    Ok(lines)
}

fn entry(line: &[u8]) -> Result<Entry, String> {
    let line: Line<Box<Began>, Input, Effect> =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let what = match (line.began, line.input, line.effect) {
        (Some(began), None, None) => What::Began(began),
        (None, Some(input), None) => What::Input(input),
        (None, None, Some(effect)) => What::Effect(effect),
        (_, _, _) => return Err("it needs exactly one of `began`, `input`, `effect`".to_owned()),
    };
    Ok(Entry { at: line.at, what })
}

#[cfg(test)]
mod tests {
    use drawbridge_core::{
        CallId, Limits, SlurmFault, SlurmReply, SlurmRequest,
        slurm::{ApiVersion, Via},
    };
    use drawbridge_sim::Epoch;

    use super::*;

    fn replied(outcome: Result<SlurmReply, SlurmFault>) -> Input {
        Input::SlurmReplied { call: CallId(1), outcome }
    }

    fn sample() -> Vec<u8> {
        let mut journal = Journal::new(Vec::new());
        journal.input(Time::ZERO, &Input::Started).unwrap();
        let (call, request) = (CallId(1), SlurmRequest::Nodes);
        let via = Via { endpoint: 0, version: ApiVersion::V42 };
        let limits = Limits { send_by: Time::from_ms(10_000), reply_by: Time::from_ms(30_000) };
        journal.effect(Time::ZERO, &Effect::Slurm { call, via, limits, request }).unwrap();
        journal.input(Time::from_ms(12), &replied(Ok(SlurmReply::Nodes(vec![])))).unwrap();
        let lost = SlurmFault::Lost { why: "é".into() };
        journal.input(Time::from_ms(13), &replied(Err(lost))).unwrap();
        journal.effect(Time::from_ms(13), &Effect::WakeAt(Time::from_ms(1000))).unwrap();
        journal.into_inner()
    }

    #[test]
    fn a_journal_is_lines_that_a_person_can_read() {
        insta::assert_snapshot!(String::from_utf8(sample()).unwrap(), @r#"
        {"at":0,"input":"started"}
        {"at":0,"effect":{"slurm":{"call":1,"via":{"endpoint":0,"version":"v0.0.42"},"limits":{"sendBy":10000,"replyBy":30000},"request":"nodes"}}}
        {"at":12,"input":{"slurmReplied":{"call":1,"outcome":{"Ok":{"nodes":[]}}}}}
        {"at":13,"input":{"slurmReplied":{"call":1,"outcome":{"Err":{"lost":{"why":"é"}}}}}}
        {"at":13,"effect":{"wakeAt":1000}}
        "#);
    }

    #[test]
    fn what_was_written_is_read_back() {
        let bytes = sample();
        let lines = read(&bytes).unwrap();
        assert_eq!((lines.entries.len(), lines.whole_bytes, lines.torn), (5, bytes.len(), None));
        let wake = What::Effect(Effect::WakeAt(Time::from_ms(1000)));
        assert_eq!(lines.entries[4], Entry { at: Time::from_ms(13), what: wake });
        let mut again = Journal::new(Vec::new());
        for Entry { at, what } in &lines.entries {
            match what {
                What::Began(began) => again.began(*at, began).unwrap(),
                What::Input(input) => again.input(*at, input).unwrap(),
                What::Effect(effect) => again.effect(*at, effect).unwrap(),
            }
        }
        assert_eq!(again.into_inner(), bytes);
    }

    #[test]
    fn a_life_begins_with_all_that_the_core_is_told() {
        let began = Began::now(Config::as_shipped(), Instance::alone(Epoch::DEFAULT));
        let mut journal = Journal::new(Vec::new());
        journal.began(Time::ZERO, &began).unwrap();
        let read = read(&journal.into_inner()).unwrap().entries;
        assert_eq!(read, [Entry { at: Time::ZERO, what: What::Began(Box::new(began)) }]);
    }

    #[test]
    fn a_journal_torn_anywhere_gives_its_whole_lines() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let lines = read(&bytes[..cut]).unwrap();
            let whole = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(lines.entries.len(), whole);
            assert_eq!(lines.torn, (lines.whole_bytes != cut).then_some(whole + 1));
        }
    }

    #[test]
    fn a_damaged_line_is_an_error_with_its_number() {
        let good = "{\"at\":0,\"input\":\"started\"}\n";
        let table = [
            "{\"at\":0,\"inp\n",
            "\n",
            "{\"at\":0}\n",
            "{\"at\":0,\"input\":\"started\",\"effect\":{\"wakeAt\":1}}\n",
            "{\"at\":0,\"input\":\"stopped\"}\n",
            "{\"at\":0,\"output\":1}\n",
        ];
        for bad in table {
            let damaged = read(format!("{good}{bad}{good}").as_bytes()).unwrap_err();
            assert_eq!(damaged.line, 2, "{bad}");
        }
    }
}

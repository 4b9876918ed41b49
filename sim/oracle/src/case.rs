//! A case: a cluster, operations, and what Slurm made of them, as text that people can read.
//!
//! ```text
//!   # why it is kept
//!   family packing
//!   seed 7
//!   release 26.05                 if it isn't 24.11
//!   --- slurm.conf
//!   NodeName=n[1-2] CPUs=4
//!   --- operations
//!   sbatch -n3
//!     at 2.114 3.020
//!     answer job 1
//!     job 1 | state=RUNNING | reason=None
//! ```
//!
//! What is seen is written only where it changed since the operation before.

use std::fmt::{self, Write};

use drawbridge_sim::Release;

use crate::view::{Answer, View};

/// A cluster's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The text of slurm.conf, without what only daemons need.
    pub slurm_conf: String,
    /// The text of gres.conf; empty if there is none.
    pub gres_conf: String,
    /// A site's own: what the model does not honour of it is passed over.
    pub given: bool,
    /// Which Slurm both sides are to be.
    pub release: Release,
}

impl Cluster {
    /// Changes slurm.conf: `PartitionName=low Nodes=n1; -NodeName=n2; KillWait=5`. A line takes the
    /// place of the one that speaks of the same; with `-` in front that one goes.
    pub(crate) fn edit(&mut self, edits: &str) {
        for edit in edits.split(';').map(str::trim).filter(|edit| !edit.is_empty()) {
            let (gone, line) = match edit.strip_prefix('-') {
                Some(line) => (true, line),
                None => (false, edit),
            };
            let mut lines: Vec<&str> = self.slurm_conf.lines().collect();
            let at = lines.iter().position(|other| subject(other) == subject(line));
            match (at, gone) {
                (Some(at), true) => _ = lines.remove(at),
                (Some(at), false) => lines[at] = line,
                (None, true) => {}
                (None, false) => lines.push(line),
            }
            self.slurm_conf = lines.iter().map(|line| format!("{line}\n")).collect();
        }
    }
}

/// What a line of slurm.conf speaks of: `nodename=n[1-2]`, `killwait`.
fn subject(line: &str) -> String {
    let word = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let key = word.split('=').next().unwrap_or_default();
    let named = matches!(key, "nodename" | "partitionname" | "nodeset" | "downnodes");
    if named { word } else { key.to_owned() }
}

/// A cluster and what is done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Why it is kept.
    pub why: String,
    /// The family that made it.
    pub family: String,
    /// The seed that made it.
    pub seed: u64,
    /// How many seconds the model may be off, where a case is about time.
    pub within: u64,
    /// The second since 1970 that times are counted from; 0 in old recordings.
    pub epoch: u64,
    /// The cluster.
    pub cluster: Cluster,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One operation, and what came of it on the real Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// As one would type it: `sbatch -n4`.
    pub operation: String,
    /// What came of it; `None` if it was never tried.
    pub record: Option<Record>,
}

/// What the real Slurm made of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was asked, in milliseconds since the start.
    pub asked_ms: u64,
    /// When it had settled.
    pub seen_ms: u64,
    /// What it answered.
    pub answer: Answer,
    /// What it showed.
    pub view: View,
}

/// A line that is no part of a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct CaseError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    SlurmConf,
    GresConf,
    Operations,
}

/// Reads cases by name; the name of the one that can't be read is told.
pub(crate) fn read_all(files: &[(&str, &str)]) -> Result<Vec<(String, Case)>, (String, CaseError)> {
    let read = |(name, text): &(&str, &str)| match Case::parse(text) {
        Ok(case) => Ok(((*name).to_owned(), case)),
        Err(error) => Err(((*name).to_owned(), error)),
    };
    files.iter().map(read).collect()
}

impl Case {
    /// Reads a case.
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let mut case = Self::default();
        let mut part = Part::Head;
        let mut view = View::default();
        for (index, line) in text.lines().enumerate() {
            let wrong = |what: String| CaseError { line: index + 1, what };
            if let Some(title) = line.strip_prefix("--- ") {
                part = match title.trim() {
                    "slurm.conf" => Part::SlurmConf,
                    "gres.conf" => Part::GresConf,
                    "operations" => Part::Operations,
                    other => return Err(wrong(format!("no part is called `{other}`"))),
                };
                continue;
            }
            match part {
                Part::Head => case.head_line(line).map_err(wrong)?,
                Part::SlurmConf => case.cluster.slurm_conf += &format!("{line}\n"),
                Part::GresConf => case.cluster.gres_conf += &format!("{line}\n"),
                Part::Operations => case.operation_line(line, &mut view).map_err(wrong)?,
            }
        }
        Ok(case)
    }

    fn head_line(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if let Some(why) = line.strip_prefix('#') {
            let gap = if self.why.is_empty() { "" } else { "\n" };
            self.why += &format!("{gap}{}", why.trim());
            return Ok(());
        }
        match line.split_once(' ') {
            Some(("family", name)) => self.family = name.trim().to_owned(),
            Some(("seed", seed)) => {
                self.seed = seed.trim().parse().map_err(|_| format!("`{seed}` is no seed"))?;
            }
            Some(("within", seconds)) => {
                let seconds = seconds.trim().trim_end_matches('s');
                self.within = seconds.parse().map_err(|_| format!("`{seconds}`: no seconds"))?;
            }
            Some(("epoch", second)) => {
                self.epoch = second.trim().parse().map_err(|_| format!("`{second}`: no second"))?;
            }
            Some(("release", release)) => {
                let known = Release::parse(release.trim());
                self.cluster.release = known.ok_or(format!("`{release}` is no release"))?;
            }
            Some(_) => return Err(format!("`{line}` is neither a family nor a seed")),
            None if line.is_empty() => {}
            None => return Err(format!("`{line}` is neither a family nor a seed")),
        }
        Ok(())
    }

    fn operation_line(&mut self, line: &str, view: &mut View) -> Result<(), String> {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let Some(seen) = line.strip_prefix("  ") else {
            self.steps.push(Step { operation: line.trim().to_owned(), record: None });
            return Ok(());
        };
        let step = self.steps.last_mut().ok_or("what is seen needs an operation above it")?;
        let record = step.record.get_or_insert_with(|| Record {
            asked_ms: 0,
            seen_ms: 0,
            answer: Answer::Done(None),
            view: view.clone(),
        });
        read_seen(seen.trim(), record)?;
        *view = record.view.clone();
        Ok(())
    }
}

fn read_seen(text: &str, record: &mut Record) -> Result<(), String> {
    if let Some(times) = text.strip_prefix("at ") {
        let (asked, seen) = times.split_once(' ').ok_or("`at` needs two times")?;
        let ms =
            |text: &str| text.replace('.', "").parse().map_err(|_| format!("`{text}`: no time"));
        (record.asked_ms, record.seen_ms) = (ms(asked)?, ms(seen)?);
    } else if let Some(words) = text.strip_prefix("answer ") {
        record.answer = read_answer(words);
    } else if let Some(name) = text.strip_prefix("gone ") {
        record.view.things.remove(name);
    } else {
        let mut parts = text.split(" | ");
        let name = parts.next().unwrap_or_default();
        let pairs = parts.map(|part| part.split_once('=').ok_or(format!("`{part}` has no `=`")));
        let pairs: Vec<_> = pairs.collect::<Result<_, _>>()?;
        let pairs = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        record.view.things.insert(name.to_owned(), pairs.collect());
    }
    Ok(())
}

fn read_answer(words: &str) -> Answer {
    if let Some(words) = words.strip_prefix("refused: ") {
        return Answer::Refused(words.to_owned());
    }
    Answer::Done(words.strip_prefix("job ").and_then(|number| number.parse().ok()))
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.why.lines() {
            writeln!(f, "# {line}")?;
        }
        if self.within > 0 {
            writeln!(f, "within {}s\nepoch {}", self.within, self.epoch)?;
        } else {
            writeln!(f, "family {}\nseed {}", self.family, self.seed)?;
            if self.epoch != 0 {
                writeln!(f, "epoch {}", self.epoch)?;
            }
        }
        if self.cluster.release != Release::default() {
            writeln!(f, "release {}", self.cluster.release)?;
        }
        write!(f, "--- slurm.conf\n{}", self.cluster.slurm_conf)?;
        if !self.cluster.gres_conf.is_empty() {
            write!(f, "--- gres.conf\n{}", self.cluster.gres_conf)?;
        }
        writeln!(f, "--- operations")?;
        let mut view = View::default();
        for step in &self.steps {
            writeln!(f, "{}", step.operation)?;
            if let Some(record) = &step.record {
                f.write_str(&seen_text(record, &view))?;
                view = record.view.clone();
            }
        }
        Ok(())
    }
}

fn seen_text(record: &Record, before: &View) -> String {
    let time = |ms: u64| format!("{}.{:03}", ms / 1000, ms % 1000);
    let mut text = format!("  at {} {}\n", time(record.asked_ms), time(record.seen_ms));
    let _ = writeln!(text, "  answer {}", record.answer);
    for (name, properties) in &record.view.things {
        if before.things.get(name) != Some(properties) {
            let words: String =
                properties.iter().map(|(key, value)| format!(" | {key}={value}")).collect();
            let _ = writeln!(text, "  {name}{words}");
        }
    }
    for name in before.things.keys().filter(|name| !record.view.things.contains_key(*name)) {
        let _ = writeln!(text, "  gone {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_replaces_the_line_that_speaks_of_the_same() {
        #[rustfmt::skip]
        let rows = [
            ("KillWait=5",                  "KillWait=5\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL\n"),
            ("-partitionname=p",            "KillWait=3\nNodeName=n1 CPUs=2\n"),
            ("NodeName=n1 CPUs=4; -KillWait", "NodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL\n"),
            ("NodeName=n2 CPUs=4",          "KillWait=3\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL\nNodeName=n2 CPUs=4\n"),
            ("",                            "KillWait=3\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL\n"),
        ];
        for (edits, expected) in rows {
            let slurm_conf = "KillWait=3\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL\n".into();
            let mut cluster = Cluster { slurm_conf, ..Cluster::default() };
            cluster.edit(edits);
            assert_eq!(cluster.slurm_conf, expected, "{edits}");
        }
    }
}

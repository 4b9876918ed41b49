//! A trace: what users once asked for, and what became of it.
//!
//! Times are whole seconds since 1970 (or since the log began, where it doesn't say when that was).
//! Users, partitions and the like are numbers into tables of names: a million jobs stay small.

use std::collections::BTreeMap;

/// A workload that somebody recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// What kind of file it came from.
    pub format: Format,
    /// What the file says of the machine.
    pub machine: Machine,
    /// The jobs, as the file has them.
    pub jobs: Vec<TraceJob>,
    /// Names behind the numbers in the jobs.
    pub names: Names,
    /// What was left out or taken otherwise than written.
    pub notes: Notes,
}

/// Kinds of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Standard Workload Format.
    #[default]
    Swf,
    /// What `sacct --parsable2` prints.
    Sacct,
    /// Comma-separated accounting records.
    Csv,
    /// Made by [`crate::synthetic`].
    Synthetic,
}

/// What a file says of the machine that its jobs ran on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: Option<String>,
    /// Nodes.
    pub nodes: Option<u32>,
    /// Processors on all nodes.
    pub cpus: Option<u32>,
    /// When second 0 of the log was, in seconds since 1970.
    pub epoch: u64,
    /// Which node names each partition's jobs ran on, where the log lists them.
    pub node_names: BTreeMap<u32, std::collections::BTreeSet<String>>,
}

/// One recorded job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceJob {
    /// As the file numbers it.
    pub id: String,
    /// When it was submitted.
    pub submit: u64,
    /// When it started.
    pub start: Option<u64>,
    /// How long it ran.
    pub run: u64,
    /// The limit that its user asked for.
    pub limit: Option<u64>,
    /// Processors.
    pub cpus: u32,
    /// Nodes, where they were counted.
    pub nodes: Option<u32>,
    /// Memory for each processor, MiB.
    pub memory_per_cpu_mib: Option<u64>,
    /// GPUs, in all.
    pub gpus: u32,
    /// Whose it was.
    pub user: u32,
    /// Where it queued.
    pub partition: u32,
    /// Its quality of service.
    pub qos: u32,
}

/// Tables of names; a job holds places in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Users.
    pub users: Table,
    /// Partitions or queues.
    pub partitions: Table,
    /// Qualities of service.
    pub qos: Table,
}

/// Names in the order in which they were first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    names: Vec<String>,
    places: BTreeMap<String, u32>,
}

impl Table {
    /// The place of a name; a new one gets the next.
    pub fn place(&mut self, name: &str) -> u32 {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    /// The name at a place.
    pub fn name(&self, place: u32) -> &str {
        self.names.get(place as usize).map_or("-", String::as_str)
    }

    /// Every name, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// What to know about how a trace was read, each with how many jobs it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    counts: BTreeMap<String, u64>,
}

impl Notes {
    /// Counts one more job for this note.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// Counts so many more jobs for this note.
    pub fn add(&mut self, what: &str, jobs: u64) {
        match self.counts.get_mut(what) {
            Some(count) => *count += jobs,
            None => {
                self.counts.insert(what.to_owned(), jobs);
            }
        }
    }

    /// Takes over another's counts.
    pub fn extend(&mut self, other: &Self) {
        for (what, jobs) in &other.counts {
            self.add(what, *jobs);
        }
    }

    /// The notes, `1,234 jobs …` each.
    pub fn lines(&self) -> Vec<String> {
        let line = |(what, jobs): (&String, &u64)| match jobs {
            0 => what.clone(),
            1 => format!("1 job: {what}"),
            n => format!("{} jobs: {what}", grouped(*n)),
        };
        self.counts.iter().map(line).collect()
    }
}

/// A number with a comma every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Why a trace can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct TraceError {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub hint: String,
}

impl TraceError {
    pub(crate) fn new(
        (line, column): (usize, usize),
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { line, column, what: what.into(), hint: hint.into() }
    }
}

impl Trace {
    /// The second at which the first job was submitted.
    pub fn first_submit(&self) -> u64 {
        self.jobs.iter().map(|job| job.submit).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let rows = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in rows {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_name_keeps_its_place() {
        let mut table = Table::default();
        assert_eq!([table.place("b"), table.place("a"), table.place("b")], [0, 1, 0]);
        assert_eq!(table.name(1), "a");
    }
}

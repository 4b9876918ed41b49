//! The page about job states, `docs/job-states.md`.

use std::fmt::Write;

use super::{GONE, ROWS, Reaction, Row, UNKNOWN, UNSEEN, reasons::REASONS};
use crate::slurm::{Base, Flag, ObservedState};

/// One row of the table, for those who show or test it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStateRow {
    /// The states that it is for, in words.
    pub state: String,
    /// Each of them; none where a job is not known.
    pub states: Vec<ObservedState>,
    /// What becomes of pods that wait.
    pub waiting: &'static str,
    /// What becomes of pods that are bound.
    pub bound: &'static str,
    /// Why.
    pub why: &'static str,
}

/// The page about job states.
pub fn job_states_page() -> String {
    let mut page = String::from(BEGINNING);
    for JobStateRow { state, waiting, bound, why, .. } in job_state_rows() {
        _ = writeln!(page, "| {state} | {waiting} | {bound} | {why} |");
    }
    page.push_str(MIDDLE);
    for reason in REASONS {
        let words: Vec<_> = reason.words.iter().map(|word| format!("`{word}`")).collect();
        let kind = if reason.is_stuck { "Warning" } else { "Normal" };
        _ = writeln!(page, "| {} | {} | {kind} |", words.join(", "), reason.needs);
    }
    page.push_str("| others | what Slurm's manual says about this reason | Normal |\n");
    page
}

/// The table from which the bridge decides what a job's state means for the pods.
pub fn job_state_rows() -> Vec<JobStateRow> {
    let strange = ["FROZEN", "RUNNING+FAILED"];
    let strange = strange.map(|words| ObservedState::read(&words.split('+').collect::<Vec<_>>()));
    let special = [
        (
            "any other word, or two base states at once",
            &UNKNOWN,
            strange.into_iter().flatten().collect(),
        ),
        ("not read yet", &UNSEEN, Vec::new()),
        ("not known to Slurm", &GONE, Vec::new()),
    ];
    let special =
        special.into_iter().map(|(state, row, states)| row.shown(state.to_owned(), states));
    ROWS.iter().map(|row| row.shown(row.state(), row.states())).chain(special).collect()
}

impl Row {
    fn shown(&self, state: String, states: Vec<ObservedState>) -> JobStateRow {
        let (waiting, bound) = (self.waiting.words(), self.bound.words());
        JobStateRow { state, states, waiting, bound, why: self.why }
    }

    /// Every state that it is for, with one flag at most.
    pub(super) fn states(&self) -> Vec<ObservedState> {
        let bases = self.bases.iter().cloned().map(ObservedState::of);
        if self.flags.is_empty() {
            return bases.collect();
        }
        let flagged = |state: ObservedState| {
            self.flags.iter().map(move |flag| state.clone().with(flag.clone()))
        };
        bases.flat_map(flagged).collect()
    }

    /// `PENDING with REQUEUED or EXPEDITING`, as the page has it.
    fn state(&self) -> String {
        let list = |words: Vec<&str>, last: &str| {
            let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
            match words.split_last() {
                Some((only, [])) => only.clone(),
                Some((end, rest)) => format!("{}{last}{end}", rest.join(", ")),
                None => String::new(),
            }
        };
        let bases = list(self.bases.iter().map(Base::word).collect(), " or ");
        if self.flags.is_empty() {
            return bases;
        }
        let flags = list(self.flags.iter().map(Flag::word).collect(), " or ");
        format!("{bases} with {flags}")
    }
}

impl Reaction {
    fn words(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Place => "get their nodes",
            Self::Keep => "stay",
            Self::Pause => "stay and say so, or leave",
            Self::Again => "wait for another job",
            Self::Leave => "leave",
        }
    }
}

const BEGINNING: &str = "# Job states

What the bridge does when Slurm says that a job of ours is in some state. slurmrestd gives a state as a list of
words: one base state, and flags beside it. The first row that fits counts; flags that no row names change
nothing. Nothing that can't be taken back is done on one reply: the job is read once more.

This page is written from the code (`bridge/core/src/states.rs`), which decides by the same table.

| state | pods that wait | pods that are bound | why |
|---|---|---|---|
";

const MIDDLE: &str = "
- **wait**: they stay Pending. Their condition `PodScheduled` says what the job waits for.
- **get their nodes**: all of them, once the whole gang has room.
- **wait for another job**: what is left of this one is cancelled, and another is submitted after a pause.
- **leave**: condition `DisruptionTarget`, an event, then eviction with the grace that is left; where a disruption
  budget forbids that, deletion. Whoever made the pods makes new ones, which get a job of their own. What is left of
  the old job is cancelled.
- **stay and say so, or leave**: by `suspendedJobs` in the configuration. `keep`, the default, leaves the pods alone
  and sets their condition `SlurmSuspended`: Kubernetes can't stop a pod's processes, so they share their cores with
  whomever Slurm gives them to. `evict` makes them leave, as the existing bridge does.

## Why a job is pending

The pods say Slurm's own word: `Slurm job 12 is pending: Resources`. Whatever the word, they wait. It becomes an
event, a warning where nothing will change unless somebody does something.

| reason | what the job needs | event |
|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_code_says() {
        let page = include_str!("../../../../docs/job-states.md");
        assert_eq!(page, job_states_page(), "write what is on the right into docs/job-states.md");
    }
}

//! What must come of a run: pure checks on a [`Frame`] and on the records so far.
//!
//! ```text
//!  which rows?          what of them?              how many?
//!  namespace, name,  →  phase, state, node,   →    all of them, at least one;
//!  owner, partition     reason, exitCode …         with `count`: that many
//! ```
//!
//! Every expectation has a sentence; one that failed also says what was seen instead.

mod amount;
mod glob;
mod jobs;
mod nodes;
mod over_time;
mod pods;
mod rows;

use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};

pub use amount::Amount;
pub use glob::{Glob, PodGlob};
pub use jobs::JobsExpect;
pub use nodes::NodesExpect;
pub use over_time::{MetricExpect, OrderItem, StoryExpect, TogetherExpect};
pub(crate) use pods::PHASES;
pub use pods::PodsExpect;

use crate::{frame::Frame, record::Record};

/// One thing that must be so.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// When it is looked at.
    pub at: When,
    /// The sentence.
    pub text: String,
    /// What is looked at.
    pub check: Check,
}

/// When an expectation is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Once everything at this time has happened.
    At(Time),
    /// When the run has ended.
    End,
}

/// What an expectation looks at.
#[derive(Clone, Debug)]
pub enum Check {
    /// Pods as they are.
    Pods(PodsExpect),
    /// Slurm jobs as they are.
    Jobs(JobsExpect),
    /// Nodes as they are.
    Nodes(NodesExpect),
    /// A counter.
    Metric(MetricExpect),
    /// Pods that were bound at one moment.
    Together(TogetherExpect),
    /// Things of which each ended before the next began.
    Order(Vec<OrderItem>),
    /// A sentence that the story has.
    Story(StoryExpect),
    /// A sentence that the story doesn't have.
    Never(StoryExpect),
}

/// What came of an expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The sentence.
    pub text: String,
    /// Whether it is true.
    pub passed: bool,
    /// What was seen instead; `None` if it is true.
    pub detail: Option<String>,
}

impl Expectation {
    /// An expectation with the sentence that fits it.
    pub fn new(at: When, check: Check) -> Self {
        let sentence = check.sentence();
        let text = match at {
            When::At(time) => format!("at {time}: {sentence}"),
            When::End => sentence,
        };
        Self { at, text, check }
    }

    /// Looks whether it is so, in this frame and after these records.
    pub fn check(&self, frame: &Frame, history: &[Record]) -> Outcome {
        let detail = self.check.judge(frame, history).err();
        Outcome { text: self.text.clone(), passed: detail.is_none(), detail }
    }
}

impl Check {
    fn sentence(&self) -> String {
        match self {
            Self::Pods(it) => it.sentence(),
            Self::Jobs(it) => it.sentence(),
            Self::Nodes(it) => it.sentence(),
            Self::Metric(it) => it.sentence(),
            Self::Together(it) => it.sentence(),
            Self::Order(items) => over_time::order_sentence(items),
            Self::Story(it) => it.sentence(),
            Self::Never(it) => it.never_sentence(),
        }
    }

    /// `Err` says what was seen instead.
    fn judge(&self, frame: &Frame, history: &[Record]) -> Result<(), String> {
        match self {
            Self::Pods(it) => it.judge(frame),
            Self::Jobs(it) => it.judge(frame),
            Self::Nodes(it) => it.judge(frame),
            Self::Metric(it) => it.judge(frame),
            Self::Together(it) => it.judge(frame),
            Self::Order(items) => over_time::judge_order(items, frame),
            Self::Story(it) => it.judge(history),
            Self::Never(it) => it.judge_never(history),
        }
    }
}

#[cfg(test)]
mod tests;

//! Why a job waits, or why it ended: Slurm's words.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

/// A reason, closed: the model gives no other.
///
/// It has two spellings. [`Reason::squeue`] is the whole text of squeue's REASON column;
/// [`Reason::word`] is the short word that the REST API calls `state_reason`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Nothing to say: just submitted, or running.
    #[default]
    None,
    /// Not enough free now.
    Resources,
    /// Another job of the partition comes first.
    Priority,
    /// Waits for another job.
    Dependency,
    /// Waits for what can't happen any more.
    DependencyNeverSatisfied,
    /// Held by its user.
    JobHeldUser,
    /// Held by an operator.
    JobHeldAdmin,
    /// Queued again and held, by `requeuehold`.
    RequeuedHeld,
    /// Not before its begin time.
    BeginTime,
    /// As many tasks of its array run as may.
    JobArrayTaskLimit,
    /// Too few licences are free.
    Licenses,
    /// Its prolog runs.
    Prolog,
    /// It could not have ended in time.
    DeadLine,
    /// More or fewer nodes than the partition allows.
    PartitionNodeLimit,
    /// The partition wouldn't have it.
    PartitionConfig,
    /// More memory than the partition allows.
    MaxMemPerLimit,
    /// The partition isn't for its user's groups.
    NotInGroup(Arc<str>),
    /// A longer limit than the partition allows.
    PartitionTimeLimit,
    /// The partition takes jobs but starts none.
    PartitionDown,
    /// The partition neither takes nor starts jobs.
    PartitionInactive,
    /// Nodes that it insists on, or too many of those that it could use, are drained or taken.
    ReqNodeNotAvail,
    /// The same, and these nodes of its partition are down.
    UnavailableNodes(Arc<str>),
    /// No node of its partition will ever do: held.
    BadConstraints,
    /// No node of its partition is left for it.
    NodesUnavailable,
    /// It ran into its limit.
    TimeLimit,
    /// It ended with another code than 0.
    NonZeroExitCode,
    /// A signal ended it.
    RaisedSignal(u8),
    /// Its node went down.
    NodeDown,
}

const REQ_NODE_NOT_AVAIL: &str = "ReqNodeNotAvail, May be reserved for other job";
const NODES_UNAVAILABLE: &str =
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";

impl Reason {
    /// The text of squeue's REASON column.
    pub fn squeue(&self) -> String {
        self.to_string()
    }

    /// The one word of the REST API's `state_reason`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Resources | Self::NodesUnavailable => "Resources",
            Self::Priority => "Priority",
            Self::Dependency => "Dependency",
            Self::DependencyNeverSatisfied => "DependencyNeverSatisfied",
            Self::JobHeldUser => "JobHeldUser",
            Self::JobHeldAdmin => "JobHeldAdmin",
            Self::RequeuedHeld => "JobHeldUser",
            Self::BeginTime => "BeginTime",
            Self::JobArrayTaskLimit => "JobArrayTaskLimit",
            Self::Licenses => "Licenses",
            Self::Prolog => "Prolog",
            Self::DeadLine => "DeadLine",
            Self::PartitionNodeLimit => "PartitionNodeLimit",
            Self::PartitionConfig => "PartitionConfig",
            Self::MaxMemPerLimit => "MaxMemPerLimit",
            Self::NotInGroup(_) => "AccountNotAllowed",
            Self::PartitionTimeLimit => "PartitionTimeLimit",
            Self::PartitionDown => "PartitionDown",
            Self::PartitionInactive => "PartitionInactive",
            Self::ReqNodeNotAvail | Self::UnavailableNodes(_) => "ReqNodeNotAvail",
            Self::BadConstraints => "BadConstraints",
            Self::TimeLimit => "TimeLimit",
            Self::NonZeroExitCode => "NonZeroExitCode",
            Self::RaisedSignal(_) => "RaisedSignal",
            Self::NodeDown => "NodeDown",
        }
    }

    /// Whether it is about one of the job's partitions, and goes once the partition lets it.
    pub(crate) const fn is_of_partition(&self) -> bool {
        matches!(
            self,
            Self::PartitionNodeLimit
                | Self::PartitionTimeLimit
                | Self::PartitionDown
                | Self::PartitionInactive
        )
    }

    /// Whether it is that nodes which the job needs are out of service.
    pub(crate) const fn is_not_avail(&self) -> bool {
        matches!(self, Self::ReqNodeNotAvail | Self::UnavailableNodes(_))
    }

    /// Whether the job is held, by whomever.
    pub const fn is_hold(&self) -> bool {
        self.is_user_hold() || matches!(self, Self::JobHeldAdmin | Self::BadConstraints)
    }

    /// Whether its user may release it.
    pub const fn is_user_hold(&self) -> bool {
        matches!(self, Self::JobHeldUser | Self::RequeuedHeld)
    }

    /// The REST API's `state_description`: empty unless Slurm has more to say than the word.
    pub fn description(&self) -> String {
        match self {
            Self::ReqNodeNotAvail
            | Self::UnavailableNodes(_)
            | Self::NodesUnavailable
            | Self::RequeuedHeld
            | Self::NotInGroup(_)
            | Self::RaisedSignal(_) => self.to_string(),
            Self::None
            | Self::Resources
            | Self::Priority
            | Self::Dependency
            | Self::DependencyNeverSatisfied
            | Self::JobHeldUser
            | Self::JobHeldAdmin
            | Self::BeginTime
            | Self::JobArrayTaskLimit
            | Self::Licenses
            | Self::Prolog
            | Self::DeadLine
            | Self::PartitionNodeLimit
            | Self::PartitionConfig
            | Self::MaxMemPerLimit
            | Self::PartitionTimeLimit
            | Self::PartitionDown
            | Self::PartitionInactive
            | Self::BadConstraints
            | Self::TimeLimit
            | Self::NonZeroExitCode
            | Self::NodeDown => String::new(),
        }
    }
}

/// As squeue prints it.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::RaisedSignal(number) => {
                return f.pad(&format!("RaisedSignal:{number}({})", signal_text(*number)));
            }
            Self::UnavailableNodes(nodes) => {
                return f.pad(&format!("ReqNodeNotAvail, UnavailableNodes:{nodes}"));
            }
            Self::NotInGroup(text) => text,
            Self::RequeuedHeld => "job requeued in held state",
            Self::ReqNodeNotAvail => REQ_NODE_NOT_AVAIL,
            Self::NodesUnavailable => NODES_UNAVAILABLE,
            Self::None
            | Self::Resources
            | Self::Priority
            | Self::Dependency
            | Self::DependencyNeverSatisfied
            | Self::JobHeldUser
            | Self::JobHeldAdmin
            | Self::BeginTime
            | Self::JobArrayTaskLimit
            | Self::Licenses
            | Self::Prolog
            | Self::DeadLine
            | Self::PartitionNodeLimit
            | Self::PartitionConfig
            | Self::MaxMemPerLimit
            | Self::PartitionTimeLimit
            | Self::PartitionDown
            | Self::PartitionInactive
            | Self::BadConstraints
            | Self::TimeLimit
            | Self::NonZeroExitCode
            | Self::NodeDown => self.word(),
        };
        f.pad(text)
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What `strsignal` says.
fn signal_text(number: u8) -> String {
    match number {
        1 => "Hangup".into(),
        2 => "Interrupt".into(),
        3 => "Quit".into(),
        9 => "Killed".into(),
        10 => "User defined signal 1".into(),
        12 => "User defined signal 2".into(),
        15 => "Terminated".into(),
        other => format!("Signal {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squeue_shows_the_text_and_rest_the_word() {
        #[rustfmt::skip]
        let rows = [
            (Reason::None, "None", "None"),
            (Reason::Resources, "Resources", "Resources"),
            (Reason::ReqNodeNotAvail, REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail"),
            (Reason::UnavailableNodes("n[3-4]".into()), "ReqNodeNotAvail, UnavailableNodes:n[3-4]", "ReqNodeNotAvail"),
            (Reason::NodesUnavailable, NODES_UNAVAILABLE, "Resources"),
            (Reason::RaisedSignal(9), "RaisedSignal:9(Killed)", "RaisedSignal"),
        ];
        for (reason, text, word) in rows {
            assert_eq!((reason.squeue().as_str(), reason.word()), (text, word));
        }
    }
}

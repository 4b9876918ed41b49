//! A job's state as Slurm lists it: one base state, and flags beside it.
//!
//! ```text
//!   ["RUNNING", "CONFIGURING"]  ─▶  base Running, flags {Configuring}
//!   ["FROZEN"]                  ─▶  base Unknown("FROZEN")
//!   ["RUNNING", "SHINY"]        ─▶  base Running, flags {Unknown("SHINY")}
//! ```
//!
//! Both are open: a newer Slurm may say what we don't know, and that must be safe. What a state means
//! is told by the table in [`states`](crate::states).

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

/// A job's state: a list of words on the wire and in journals.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ObservedState {
    base: Base,
    flags: BTreeSet<Flag>,
}

/// There is no state without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a state has no words")]
pub struct NoState;

/// An enumeration of Slurm's words, open for those that we don't know.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $($variant:ident $word:literal $doc:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $doc] $variant,)*
            /// A word that we don't know.
            Unknown(String),
        }

        impl $name {
            /// All that we know.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As Slurm spells it.
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Unknown(word) => word,
                }
            }

            /// The one that this word means, if we know it.
            fn known(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// A base state: every job is in exactly one.
    Base,
    Pending "PENDING" "In the queue.";
    Running "RUNNING" "It has nodes.";
    Suspended "SUSPENDED" "Stopped; others may use its cores, its memory is kept.";
    Completed "COMPLETED" "Ended with exit code 0.";
    Cancelled "CANCELLED" "Cancelled.";
    Failed "FAILED" "Ended with another exit code.";
    Timeout "TIMEOUT" "Ran into its limit.";
    NodeFail "NODE_FAIL" "A node was lost.";
    Preempted "PREEMPTED" "Pushed out by another job.";
    BootFail "BOOT_FAIL" "The nodes did not boot.";
    Deadline "DEADLINE" "Could not be over by its deadline.";
    OutOfMemory "OUT_OF_MEMORY" "Killed for want of memory.";
}

words! {
    /// What else is said of a job.
    Flag,
    LaunchFailed "LAUNCH_FAILED" "It could not be launched.";
    Requeued "REQUEUED" "It goes back into the queue.";
    RequeueHold "REQUEUE_HOLD" "It goes back into the queue, and is held there.";
    SpecialExit "SPECIAL_EXIT" "The same, because of how it exited.";
    Resizing "RESIZING" "Its size is about to change.";
    Configuring "CONFIGURING" "Its nodes aren't ready yet.";
    Completing "COMPLETING" "Its nodes aren't all free yet.";
    Stopped "STOPPED" "Its processes were stopped by a signal; everything is kept.";
    ReconfigFail "RECONFIG_FAIL" "Its nodes could not be set up.";
    PowerUpNode "POWER_UP_NODE" "Its nodes are being switched on.";
    Revoked "REVOKED" "Another cluster of the federation has it.";
    RequeueFed "REQUEUE_FED" "It goes back into the federation's queue.";
    ResvDelHold "RESV_DEL_HOLD" "Held, because its reservation was deleted.";
    Signaling "SIGNALING" "A signal is on its way to it.";
    StageOut "STAGE_OUT" "Its data is being copied out.";
    Expediting "EXPEDITING" "Queued again before all others.";
}

impl ObservedState {
    /// In the queue.
    pub const PENDING: Self = Self::of(Base::Pending);
    /// It has nodes.
    pub const RUNNING: Self = Self::of(Base::Running);
    /// Stopped.
    pub const SUSPENDED: Self = Self::of(Base::Suspended);
    /// Ended with exit code 0.
    pub const COMPLETED: Self = Self::of(Base::Completed);
    /// Cancelled.
    pub const CANCELLED: Self = Self::of(Base::Cancelled);
    /// Ended with another exit code.
    pub const FAILED: Self = Self::of(Base::Failed);
    /// Ran into its limit.
    pub const TIMEOUT: Self = Self::of(Base::Timeout);

    /// A base state without flags.
    pub const fn of(base: Base) -> Self {
        Self { base, flags: BTreeSet::new() }
    }

    /// The same, with this flag beside it.
    #[must_use]
    pub fn with(mut self, flag: Flag) -> Self {
        self.flags.insert(flag);
        self
    }

    /// The state that Slurm lists so. Of two base states neither is believed.
    pub fn read(words: &[impl AsRef<str>]) -> Result<Self, NoState> {
        let words = words.iter().map(AsRef::as_ref);
        let mut bases = words.clone().filter_map(Base::known);
        let base = match (bases.next(), bases.next()) {
            (Some(base), None) => base,
            (Some(_), Some(_)) | (None, _) => {
                Base::Unknown(words.clone().collect::<Vec<_>>().join("+"))
            }
        };
        if base == Base::Unknown(String::new()) {
            return Err(NoState);
        }
        let unknown = matches!(base, Base::Unknown(_));
        let flags = words
            .filter(|word| Base::known(word).is_none())
            .map(|word| Flag::known(word).unwrap_or_else(|| Flag::Unknown(word.to_owned())));
        // Whoever is unknown is called by all his words.
        let flags = flags.filter(|_| !unknown).collect();
        Ok(Self { base, flags })
    }

    /// The base state.
    pub const fn base(&self) -> &Base {
        &self.base
    }

    /// Whether this flag stands beside it.
    pub fn has(&self, flag: &Flag) -> bool {
        self.flags.contains(flag)
    }

    /// Slurm's words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        [self.base.word()].into_iter().chain(self.flags.iter().map(Flag::word))
    }
}

impl fmt::Display for ObservedState {
    /// `RUNNING+CONFIGURING`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().collect::<Vec<_>>().join("+"))
    }
}

impl TryFrom<Vec<String>> for ObservedState {
    type Error = NoState;

    fn try_from(words: Vec<String>) -> Result<Self, NoState> {
        Self::read(&words)
    }
}

impl From<ObservedState> for Vec<String> {
    fn from(state: ObservedState) -> Self {
        state.words().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_a_base_with_flags() {
        let rows = [
            ("RUNNING", "RUNNING"),
            ("RUNNING CONFIGURING", "RUNNING+CONFIGURING"),
            ("CONFIGURING RUNNING POWER_UP_NODE", "RUNNING+CONFIGURING+POWER_UP_NODE"),
            ("CANCELLED COMPLETING", "CANCELLED+COMPLETING"),
            ("RUNNING SOMETHING_NEW", "RUNNING+SOMETHING_NEW"),
            ("SOMETHING_NEW", "SOMETHING_NEW"),
            ("COMPLETING", "COMPLETING"),
            ("RUNNING FAILED", "RUNNING+FAILED"),
        ];
        for (words, expected) in rows {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(ObservedState::read(&words).unwrap().to_string(), expected, "{words:?}");
        }
        assert_eq!(ObservedState::read(&["SOMETHING_NEW"]).unwrap().base().word(), "SOMETHING_NEW");
        assert!(matches!(
            ObservedState::read(&["RUNNING", "FAILED"]).unwrap().base(),
            Base::Unknown(_)
        ));
        assert_eq!(ObservedState::read(&[] as &[&str]), Err(NoState));
    }

    #[test]
    fn a_state_reads_as_it_was_written() {
        for base in Base::ALL {
            for flag in Flag::ALL {
                let state = ObservedState::of(base.clone()).with(flag.clone());
                let words: Vec<String> = state.clone().into();
                assert_eq!(ObservedState::try_from(words), Ok(state));
            }
        }
    }
}

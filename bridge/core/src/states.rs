//! What every state of a Slurm job means for the pods: a table, from which the bridge decides and
//! `docs/job-states.md` is written.
//!
//! ```text
//!   ["RUNNING", "CONFIGURING"] ─▶ the first row that fits ─▶ how the job stands
//!                                                            what happens to pods that wait
//!                                                            what happens to pods that are bound
//! ```
//!
//! A state that no row names is unclear: nothing is placed, nothing is removed.

mod page;
mod reasons;

use crate::slurm::{Base, Flag, ObservedState};

pub use page::{JobStateRow, job_state_rows, job_states_page};
pub(crate) use reasons::reason;

/// How a job stands, as far as our decisions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not known yet, or in a state that we don't know: wait and see.
    Unclear,
    /// In the queue, or its nodes aren't ready.
    Queued,
    /// Running.
    Running,
    /// It holds nodes but is stopped.
    Suspended,
    /// Another cluster of the federation has it.
    Revoked,
    /// Over. Its nodes may not all be free yet.
    Ended,
    /// Slurm doesn't know it.
    Gone,
}

/// What the bridge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// The pods wait, and say what the job waits for.
    Wait,
    /// The pods get their nodes.
    Place,
    /// The pods go on.
    Keep,
    /// The pods go on and say that the job is stopped, or leave: `suspendedJobs` decides.
    Pause,
    /// The pods wait for another job.
    Again,
    /// The pods leave.
    Leave,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// One of these base states; none stands for those that we don't know.
    bases: &'static [Base],
    /// One of these flags beside it; none stands for whatever there is.
    flags: &'static [Flag],
    pub(crate) standing: Standing,
    /// For pods that wait.
    waiting: Reaction,
    /// For pods that are bound.
    bound: Reaction,
    why: &'static str,
}

macro_rules! rows {
    ($($($base:ident)|+ $([$($flag:ident)|+])? => $standing:ident $waiting:ident $bound:ident $why:literal;)*) => {
        &[$(Row {
            bases: &[$(Base::$base),+],
            flags: &[$($(Flag::$flag),+)?],
            standing: Standing::$standing,
            waiting: Reaction::$waiting,
            bound: Reaction::$bound,
            why: $why,
        }),*]
    };
}

/// The table. The first row that fits counts.
#[rustfmt::skip]
static ROWS: &[Row] = rows! {
    // base states and flags                                   the job     waiting bound
    Completed | Cancelled | Failed | Timeout | NodeFail | Preempted | BootFail | Deadline | OutOfMemory
        [Requeued | RequeueHold | SpecialExit | RequeueFed] => Queued      Wait    Leave "It goes back into the queue once its nodes are free.";
    Pending | Running | Suspended [Revoked]                 => Revoked     Again   Leave "Another cluster of the federation has it; pods can't follow it there.";
    Cancelled [Revoked]                                     => Ended       Again   Leave "Another cluster of the federation has it. Nobody cancelled it.";
    Pending [Completing]                                    => Queued      Wait    Leave "Put back into the queue; its last nodes aren't free yet.";
    Pending [RequeueHold | SpecialExit | ResvDelHold | LaunchFailed]
                                                            => Queued      Wait    Leave "Put back into the queue and held: somebody has to release it.";
    Pending [Requeued | RequeueFed | Expediting]            => Queued      Wait    Leave "Put back into the queue.";
    Pending                                                 => Queued      Wait    Leave "In the queue. Pods that are bound have lost their nodes.";
    Running [Configuring | PowerUpNode]                     => Queued      Wait    Leave "Its nodes aren't ready yet. Pods that are bound are from before it was started anew.";
    Running [ReconfigFail]                                  => Unclear     Wait    Keep  "Its nodes could not be set up; Slurm queues or ends it.";
    Running [Resizing]                                      => Unclear     Wait    Keep  "Its nodes are about to change; looked at again.";
    Running [Stopped]                                       => Suspended   Wait    Pause "Its processes were stopped by a signal. It keeps everything.";
    Running                                                 => Running     Place   Keep  "Its nodes are the pods'. A pod elsewhere leaves.";
    Suspended                                               => Suspended   Wait    Pause "Stopped. Others may use its cores; memory and devices are kept.";
    Completed                                               => Ended       Again   Leave "It ended, and not by us.";
    Cancelled                                               => Ended       Leave   Leave "Somebody cancelled it, and means the workload.";
    Failed                                                  => Ended       Again   Leave "The placeholder ended, and not by us.";
    Timeout                                                 => Ended       Again   Leave "Its limit came.";
    NodeFail                                                => Ended       Again   Leave "A node was lost, and Slurm doesn't queue it again.";
    Preempted                                               => Ended       Again   Leave "Another job has its nodes.";
    BootFail                                                => Ended       Again   Leave "Its nodes didn't boot.";
    Deadline                                                => Ended       Leave   Leave "It can't be over by its deadline any more, nor could another.";
    OutOfMemory                                             => Ended       Again   Leave "The placeholder ran out of memory.";
};

/// A state that we don't know.
static UNKNOWN: Row = Row {
    bases: &[],
    flags: &[],
    standing: Standing::Unclear,
    waiting: Reaction::Wait,
    bound: Reaction::Keep,
    why: "A state that this bridge doesn't know: nothing is placed, nothing is removed.",
};

/// A job that we have only the number of.
pub(crate) static UNSEEN: Row = Row {
    bases: &[],
    flags: &[],
    standing: Standing::Unclear,
    waiting: Reaction::Wait,
    bound: Reaction::Keep,
    why: "It hasn't been read yet.",
};

/// A job that Slurm doesn't know.
pub(crate) static GONE: Row = Row {
    bases: &[],
    flags: &[],
    standing: Standing::Gone,
    waiting: Reaction::Again,
    bound: Reaction::Leave,
    why: "Slurm doesn't know it: purged, or Slurm lost its state.",
};

/// The row of a state.
pub(crate) fn row(state: &ObservedState) -> &'static Row {
    ROWS.iter().find(|row| row.fits(state)).unwrap_or(&UNKNOWN)
}

/// How a state stands.
pub(crate) fn standing(state: &ObservedState) -> Standing {
    row(state).standing
}

impl Row {
    fn fits(&self, state: &ObservedState) -> bool {
        self.bases.contains(state.base())
            && (self.flags.is_empty() || self.flags.iter().any(|flag| state.has(flag)))
    }

    /// What happens to the pods.
    pub(crate) fn reaction(&self, pods_are_bound: bool) -> Reaction {
        if pods_are_bound { self.bound } else { self.waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(words: &str) -> ObservedState {
        ObservedState::read(&words.split('+').collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_word_of_slurm_has_its_row() {
        for base in Base::ALL {
            let plain = ObservedState::of(base.clone());
            assert_ne!(row(&plain).standing, Standing::Unclear, "{plain}");
            for flag in Flag::ALL {
                assert!(!std::ptr::eq(row(&plain.clone().with(flag.clone())), &UNKNOWN));
            }
        }
        let named = |flag: &Flag| ROWS.iter().any(|row| row.flags.contains(flag));
        let by_base_alone: Vec<_> =
            Flag::ALL.iter().filter(|flag| !named(flag)).map(Flag::word).collect();
        assert_eq!(by_base_alone, ["SIGNALING", "STAGE_OUT"]);
    }

    #[test]
    fn no_row_hides_another() {
        for row_of in ROWS {
            for state in row_of.states() {
                assert!(std::ptr::eq(row(&state), row_of), "{state}");
            }
        }
    }

    #[test]
    fn a_state_is_judged_by_its_base_and_by_what_stands_beside_it() {
        use Standing as S;
        #[rustfmt::skip]
        let rows = [
            ("PENDING",                     S::Queued),
            ("RUNNING+CONFIGURING",         S::Queued),
            ("RUNNING+SIGNALING",           S::Running),
            ("RUNNING+SOMETHING_NEW",       S::Running),
            ("RUNNING+STOPPED",             S::Suspended),
            ("PENDING+COMPLETING",          S::Queued),
            ("COMPLETED+COMPLETING",        S::Ended),
            ("NODE_FAIL+COMPLETING",        S::Ended),
            ("FAILED+STAGE_OUT",            S::Ended),
            ("FAILED+COMPLETING+REQUEUED",  S::Queued),
            ("FAILED+SPECIAL_EXIT",         S::Queued),
            ("PENDING+REVOKED",             S::Revoked),
            ("CANCELLED+REVOKED",           S::Ended),
            ("SOMETHING_NEW",               S::Unclear),
            ("RUNNING+FAILED",              S::Unclear),
        ];
        for (words, expected) in rows {
            assert_eq!(standing(&state(words)), expected, "{words}");
        }
    }
}

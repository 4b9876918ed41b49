//! What an operator changes of a node: `scontrol update nodename=…`.

/// One change. A reason, where there is none, leaves the old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeUpdate {
    /// `state=drain`: no new jobs.
    Drain {
        /// Why.
        reason: String,
    },
    /// `state=fail`: no new jobs, and about to fail.
    Fail {
        /// Why.
        reason: String,
    },
    /// `state=resume`: takes jobs again, whether it was drained, failing, down or FUTURE.
    Resume,
    /// `state=undrain`: takes jobs again, unless it is down.
    Undrain,
    /// `state=idle`: in service, whatever it was.
    Idle,
    /// `state=down`: its jobs are lost.
    Down {
        /// Why.
        reason: String,
    },
    /// `state=future`: as if it weren't there.
    Future,
    /// `state=noresp`: its slurmd is taken not to answer.
    NoResp,
    /// `state=alloc`: nothing, and only where jobs run.
    Allocated,
    /// `state=power_up`, `power_down` and the like: refused, as without power saving.
    Power,
    /// Another reason for the state that it is in; empty leaves it.
    Reason(String),
    /// Another comment.
    Comment(String),
    /// Another extra text.
    Extra(String),
    /// Other generic resources: `gpu:2`. What has files can only be none, or stay as it is.
    Gres(String),
    /// Another weight.
    Weight(u32),
    /// Other features, comma separated. What is active must be among what is available.
    Features {
        /// Those it has; where it is given alone, all of them become active.
        available: Option<String>,
        /// Those that jobs can have now.
        active: Option<String>,
    },
}

//! Why a job waits, in classes: what it would take for it to start.
//!
//! Whatever the reason, the pods wait and say it in Slurm's own word. The class says what would have to
//! happen, and whether somebody has to do something about it.

/// One class of reasons.
#[derive(Debug)]
pub(crate) struct Reason {
    /// Slurm's words; a star stands for any ending.
    pub(super) words: &'static [&'static str],
    /// What the job would need to start.
    pub(crate) needs: &'static str,
    /// It won't start unless somebody does something.
    pub(crate) is_stuck: bool,
}

macro_rules! reasons {
    ($($needs:literal $stuck:literal: $($word:literal)+;)*) => {
        &[$(Reason { words: &[$($word),+], needs: $needs, is_stuck: $stuck }),*]
    };
}

/// All classes.
pub(super) static REASONS: &[Reason] = reasons! {
    "free resources on nodes that it may use" false:
        "Resources" "ReqNodeNotAvail" "NodeDown" "FrontEndDown" "PowerNotAvail" "PowerReserved";
    "jobs before it to start" false:
        "Priority" "SchedDefer" "BackfillSched";
    "its begin time" false:
        "BeginTime";
    "other jobs to start or to end" false:
        "Dependency" "JobArrayTaskLimit" "FedJobLock";
    "less use of its account, its user or its QOS" false:
        "Association*" "Assoc*" "QOSGrp*" "QOSMax*" "QOSJobLimit" "QOSResourceLimit" "QOSTimeLimit" "QOSUsageThreshold" "AccountingPolicy" "MaxPowerExceeded";
    "licences that others have" false:
        "Licenses";
    "its reservation to begin, or to be there again" false:
        "Reservation" "ReservationDeleted";
    "data to be copied, or nodes to be made ready" false:
        "Prolog" "Cleaning" "BurstBuffer*" "NodesNotReady";
    "somebody to release it, with `scontrol release`" true:
        "JobHeldUser" "JobHeldAdmin" "JobLaunchFailure" "MaxRequeue";
    "another partition, or that its partition allows what it asks for" true:
        "Partition*" "MaxMemPerLimit" "QOSMin*";
    "a change of what it asks for: so it can't ever run" true:
        "DependencyNeverSatisfied" "BadConstraints" "DeadLine" "InvalidAccount" "InvalidQOS" "AccountNotAllowed" "QOSNotAllowed";
};

/// A word that we don't know.
static UNKNOWN: Reason =
    Reason { words: &[], needs: "what Slurm's manual says about this reason", is_stuck: false };

/// The class of a reason.
pub(crate) fn reason(word: &str) -> &'static Reason {
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == *pattern,
    };
    REASONS.iter().find(|reason| reason.words.iter().any(fits)).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_what_the_job_needs() {
        #[rustfmt::skip]
        let rows = [
            ("Resources",                "free resources on nodes that it may use",             false),
            ("QOSMaxCpuPerUserLimit",    "less use of its account, its user or its QOS",        false),
            ("AssocGrpGRES",             "less use of its account, its user or its QOS",        false),
            ("JobHeldAdmin",             "somebody to release it, with `scontrol release`",     true),
            ("PartitionTimeLimit",       "another partition, or that its partition allows what it asks for", true),
            ("BadConstraints",           "a change of what it asks for: so it can't ever run",  true),
            ("SomethingNew",             "what Slurm's manual says about this reason",          false),
        ];
        for (word, needs, is_stuck) in rows {
            assert_eq!((reason(word).needs, reason(word).is_stuck), (needs, is_stuck), "{word}");
        }
    }

    #[test]
    fn no_word_is_in_two_classes() {
        for class in REASONS {
            for word in class.words {
                let found = reason(word.trim_end_matches('*'));
                assert!(std::ptr::eq(found, class), "{word}");
            }
        }
    }
}

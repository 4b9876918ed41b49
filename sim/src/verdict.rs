//! What slurmctld says to a job as it comes in: whether one of its partitions could ever run it.
//!
//! ```text
//!   each partition in turn: within its limits? ──▶ would its nodes do?
//!        yes, or out of service ──▶ that's it           held by others ──▶ that's it
//!        never, or not in this partition ──▶ the next one
//! ```

use std::borrow::Cow;

use crate::{
    Job, Reason, Release, SlurmError, Slurmctld,
    conf::EnforcePartLimits as Enforce,
    sched::{NodesNow, Refusal, Seeker},
    select::Ask,
};

/// What slurmctld says to a job as it comes in.
pub(crate) struct Verdict {
    pub(crate) answer: Result<(), SlurmError>,
    /// What it waits for, if that is known already.
    pub(crate) reason: Option<Reason>,
    /// The partition that was tried last.
    pub(crate) partition: usize,
    /// It could start, as far as nodes go.
    pub(crate) fits: bool,
}

/// What one partition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Fits,
    Busy,
    NotAvail,
    Licenses,
    NodeConfig,
    PartConfig,
    PartitionDown,
}

impl Slurmctld {
    /// Looks at a job that comes in.
    pub(crate) fn verdict(&self, job: &Job) -> Verdict {
        if job.priority == 0 {
            let partition = job.partitions[0];
            return Verdict { answer: Ok(()), reason: None, partition, fits: false };
        }
        let enforce = self.params().enforce_part_limits;
        let nodes = NodesNow::new(self);
        let mut ask = Cow::Borrowed(&job.ask);
        let (mut best, mut code, mut reason) = (None, Code::PartConfig, None);
        let (mut partition, mut limit) = (job.partitions[0], None);
        for place in job.partitions.iter().copied() {
            (partition, limit) = (place, self.partition_refusal(job, place));
            let down = limit == Some(Reason::PartitionDown);
            match (enforce, limit.is_some()) {
                (Enforce::Any, true) => continue,
                (Enforce::All, true) if !down => {
                    best = Some(Code::PartConfig);
                    break;
                }
                (Enforce::All, true) => best = Some(Code::PartitionDown),
                (Enforce::No, true) => {}
                // What a partition makes of a job stays until another one makes something else.
                (_, false) => ask = self.ask_in(job, place).unwrap_or(ask),
            }
            let seeker = Seeker {
                job,
                ask: &ask,
                partition: place,
                available: &self.up,
                within: None,
                licensed: true,
            };
            code = match self.is_beyond(&ask, place) {
                true => Code::PartConfig,
                false => code_of(nodes.would_do(seeker), down, &mut reason),
            };
            match code {
                Code::PartConfig if enforce == Enforce::All => {
                    best = Some(code);
                    break;
                }
                Code::Fits | Code::NotAvail | Code::Licenses | Code::PartitionDown => {
                    best = Some(code);
                    if enforce != Enforce::All {
                        break;
                    }
                }
                Code::Busy if best.is_none() => break,
                Code::Busy | Code::NodeConfig | Code::PartConfig => {}
            }
        }
        let down = limit == Some(Reason::PartitionDown);
        let code = best.unwrap_or(if down { Code::PartitionDown } else { code });
        Verdict {
            answer: code.answer(enforce),
            reason: code.reason(reason),
            partition,
            fits: code == Code::Fits,
        }
    }

    /// Whether a job asks for more than all of a partition: since 26.05 it may wait for it to grow.
    fn is_beyond(&self, ask: &Ask, partition: usize) -> bool {
        let nodes = &self.partition_spec(partition).nodes;
        let cpus = || nodes.iter().map(|place| self.nodes[*place].spec.cpus).sum::<u32>();
        let beyond = || nodes.len() < ask.min_nodes as usize || cpus() < ask.min_cpus();
        self.config.release() == Release::V26_05 && beyond()
    }
}

/// What a refusal comes to, and the reason that it leaves behind.
fn code_of(answer: Result<(), Refusal>, down: bool, reason: &mut Option<Reason>) -> Code {
    let refusal = match answer {
        Ok(()) if down => return Code::PartitionDown,
        Ok(()) => return Code::Fits,
        Err(refusal) => refusal,
    };
    let (code, left) = match refusal {
        Refusal::Busy => (Code::Busy, Some(Reason::Resources)),
        Refusal::NotAvail(why) => (Code::NotAvail, Some(why)),
        Refusal::Licenses => (Code::Licenses, Some(Reason::Licenses)),
        Refusal::Never(why) => (Code::NodeConfig, why),
        Refusal::Partition(why) => (Code::PartConfig, Some(why)),
    };
    *reason = left.or(reason.take());
    code
}

impl Code {
    fn answer(self, enforce: Enforce) -> Result<(), SlurmError> {
        match self {
            Self::NodeConfig => Err(SlurmError::RequestedNodeConfigUnavailable),
            Self::PartConfig if enforce != Enforce::No => {
                Err(SlurmError::RequestedPartConfigUnavailable)
            }
            Self::Fits
            | Self::Busy
            | Self::NotAvail
            | Self::Licenses
            | Self::PartConfig
            | Self::PartitionDown => Ok(()),
        }
    }

    /// `left` is what the search for nodes left behind.
    fn reason(self, left: Option<Reason>) -> Option<Reason> {
        match (self, left) {
            (Self::Busy, _) => Some(Reason::Resources),
            // More is said about who isn't let in.
            (Self::PartConfig, Some(Reason::NotInGroup(text))) => Some(Reason::NotInGroup(text)),
            (Self::PartConfig, _) => Some(Reason::PartitionConfig),
            (Self::PartitionDown, _) => Some(Reason::PartitionDown),
            (Self::Fits | Self::NotAvail | Self::Licenses | Self::NodeConfig, left) => left,
        }
    }
}

//! What can be asked of slurmrestd: one type for each question, with the answer's type beside it.
//!
//! ```text
//!   Jobs ── request(version) ──▶ HttpRequest ──▶ slurmrestd
//!                                                    │
//!   Listing<Job> or SlurmFault ◀── answer ◀── Reply ─┘
//! ```
//!
//! A call knows its path, what differs between versions, and what a good answer needs. Start at
//! [`Call`]; the calls are in the modules below.

mod accounting;
mod cluster;
mod describe;
mod jobs;
mod listing;
mod nodes;
mod served;
mod showing;
mod since;

use self::listing::{Item, WireList};
use super::{
    fault,
    http::{HttpMethod, HttpRequest},
    reply::{Answered, Envelope, Garbled, Reply},
};
use drawbridge_core::{SlurmFault, slurm::ApiVersion};

pub use accounting::{AccountingJobs, Accounts, Associations, QosList, Users};
pub use cluster::{
    Diagnostics, Licenses, PartitionByName, Partitions, Pings, ReservationByName, Reservations,
    Resources, ShareTree,
};
pub use describe::JobDescription;
pub(crate) use jobs::JobSketches;
pub use jobs::{
    Cancel, CancelMany, Changed, JobById, JobState, JobStates, Jobs, KillError, Killed, Requeue,
    RequeueMany, Submit, Submitted, UpdateJob,
};
pub use listing::Listing;
pub use nodes::{CreateNode, DeleteNode, NodeByName, NodeChange, Nodes, UpdateNode};
pub use served::Unserved;
pub use showing::{Show, Showing};
pub use since::{Listed, Since};

/// One question to slurmrestd.
pub trait Call {
    /// What is answered.
    type Answer;

    /// Its name in metrics: `jobs`, `job.submit`.
    const NAME: &'static str;

    /// The request in this version, or why the version has none.
    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved>;

    /// What the body of a good reply means.
    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault>;

    /// An answer that holds whatever else the reply complains about.
    fn despite(&self, _reply: &Reply<'_>, _envelope: &Envelope) -> Option<Self::Answer> {
        None
    }

    /// What the reply means.
    fn answer(&self, reply: &Reply<'_>) -> Result<Answered<Self::Answer>, SlurmFault> {
        let envelope = reply.body.read::<Envelope>();
        let (envelope, garbled) = match envelope {
            Ok(envelope) => (envelope, None),
            Err(garbled) => (Envelope::default(), Some(garbled)),
        };
        let value = match self.despite(reply, &envelope) {
            Some(value) => value,
            None => {
                if let Some(fault) = fault::fault(reply, &envelope) {
                    return Err(self.of_fault(fault));
                }
                garbled.map_or(Ok(()), Err)?;
                self.read(reply)?
            }
        };
        let Envelope { meta, warnings, .. } = envelope;
        let warnings = warnings.into_iter().map(|warning| warning.description).collect();
        Ok(Answered { value, warnings, meta })
    }

    /// What a fault means to this call.
    fn of_fault(&self, fault: SlurmFault) -> SlurmFault {
        fault
    }

    /// Whether it changes nothing, so that it may be asked again.
    fn reads_only(&self, version: ApiVersion) -> bool {
        self.request(version).is_ok_and(|request| request.method == HttpMethod::Get)
    }
}

/// Reads a list.
fn list<T: Item>(reply: &Reply<'_>) -> Result<Listing<T>, Garbled> {
    let WireList { items, last_update, last_backfill } = reply.body.read()?;
    let items = items.ok_or_else(|| Garbled::new(T::KEY, "in the reply"))?;
    let (last_update, last_backfill) = (last_update.or_zero(), last_backfill.or_zero());
    Ok(Listing { items, last_update, last_backfill })
}

/// The path of something that slurmctld answers.
fn slurm(version: ApiVersion, rest: &str) -> String {
    format!("/slurm/{version}/{rest}")
}

/// The path of something that slurmdbd answers.
fn slurmdb(version: ApiVersion, rest: &str) -> String {
    format!("/slurmdb/{version}/{rest}")
}

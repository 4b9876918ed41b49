//! Lists that are sent only if something changed.
//!
//! `update_time` is all or nothing, not a delta: the whole list, or a word that nothing in it is
//! newer. Nodes, partitions and reservations say that by status 304 and an empty body; jobs by
//! status 200, an empty list, and 0 as the time of the last change.

use drawbridge_core::{SlurmFault, slurm::ApiVersion};

use super::{Call, Listing, Unserved, served};
use crate::slurm::{
    http::HttpRequest,
    reply::{Envelope, Reply},
};

/// A call that lists something and takes `update_time`.
pub trait Listed: Call<Answer = Listing<Self::Item>> {
    /// What it lists.
    type Item;
}

/// The same list, unless nothing in it changed after this moment: then `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since<C> {
    /// The list.
    pub call: C,
    /// Seconds since the epoch: the `last_update` of the list that one has.
    pub moment: u64,
}

impl<C: Listed> Call for Since<C> {
    type Answer = Option<C::Answer>;
    const NAME: &'static str = C::NAME;

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let moment = served::moment(self.moment);
        Ok(self.call.request(version)?.with("update_time", moment))
    }

    fn despite(&self, reply: &Reply<'_>, _envelope: &Envelope) -> Option<Self::Answer> {
        (reply.status == 304).then_some(None)
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        let list = self.call.read(reply)?;
        let same = list.items.is_empty() && list.last_update == 0;
        Ok((!same).then_some(list))
    }
}

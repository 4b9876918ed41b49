//! Lists with more or less in them than slurmrestd sends by itself, which is details and mixed
//! states, without what partitions hide.

use drawbridge_core::{SlurmFault, slurm::ApiVersion};

use super::{Call, Listed, Unserved};
use crate::slurm::{
    http::HttpRequest,
    reply::{Envelope, Reply},
};

/// What shall be in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// What partitions hide.
    All,
    /// What each node gives to a job, which devices are used.
    Detail,
    /// Nodes that are partly used as such.
    Mixed,
    /// Nodes that aren't there yet.
    Future,
}

/// The same list with exactly this in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing<C> {
    /// The list.
    pub call: C,
    /// What shall be in it.
    pub show: Vec<Show>,
}

impl<C: Listed> Call for Showing<C> {
    type Answer = C::Answer;
    const NAME: &'static str = C::NAME;

    /// Each word comes by itself: with commas between them no release takes them all. Without any,
    /// slurmrestd would choose; `LOCAL` says nothing outside of a federation.
    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let word = |show: &Show| match show {
            Show::All => "ALL",
            Show::Detail => "DETAIL",
            Show::Mixed => "MIXED",
            Show::Future => "FUTURE",
        };
        let request = self.call.request(version)?;
        if self.show.is_empty() {
            return Ok(request.with("flags", Some("LOCAL")));
        }
        Ok(self.show.iter().fold(request, |request, show| request.with("flags", Some(word(show)))))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        self.call.read(reply)
    }

    fn despite(&self, reply: &Reply<'_>, envelope: &Envelope) -> Option<Self::Answer> {
        self.call.despite(reply, envelope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slurm::calls::Jobs;

    #[test]
    fn each_word_comes_by_itself() {
        let target = |show: &[Show]| {
            let call = Showing { call: Jobs, show: show.to_vec() };
            call.request(ApiVersion::V42).unwrap().target()
        };
        assert_eq!(target(&[]), "/slurm/v0.0.42/jobs?flags=LOCAL");
        assert_eq!(
            target(&[Show::All, Show::Detail]),
            "/slurm/v0.0.42/jobs?flags=ALL&flags=DETAIL"
        );
    }
}

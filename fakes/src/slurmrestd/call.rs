//! One call: who asks what of which slurmctld, and what any endpoint needs to know about it.

use drawbridge_sim::{Release, SlurmError, Slurmctld, Slurmdbd, Time};
use serde_json::Value;

use crate::{Request, Response};

use super::{
    api::{Operation, Table, Version},
    fields::{Body, Reader, unknown_field},
    meta::{Peer, meta},
    reply::{Reply, Trouble, Warning},
    site::Memory,
};

/// The status of a body that slurmrestd itself can't read.
pub(super) const UNREADABLE: u16 = 500;

/// What an endpoint answers: the reply, or a refusal that ends it early.
pub(super) type Answer = Result<Reply, Reply>;

/// One call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The model.
    pub(super) ctld: &'a mut Slurmctld,
    /// The accounting, if there is any.
    pub(super) dbd: Option<&'a mut Slurmdbd>,
    /// When.
    pub(super) now: Time,
    /// What.
    pub(super) request: &'a Request,
    /// Which operation of which version.
    pub(super) operation: &'static Operation,
    /// What the path names.
    pub(super) name: &'a str,
    /// Whether slurmctld believes the caller's token.
    pub(super) trusted: bool,
    /// Whether somebody else writes the list that is asked for: only the rest is wanted.
    pub(super) listing: bool,
    /// What is remembered between requests, if anybody does.
    pub(super) memory: Option<&'a Memory>,
}

impl Call<'_> {
    /// The release.
    pub(super) fn release(&self) -> Release {
        self.ctld.config().release()
    }

    /// The version of the API.
    pub(super) const fn version(&self) -> Version {
        self.operation.version
    }

    /// One of two words, by release: 24.11's and 26.05's.
    pub(super) fn by_release<T>(&self, old: T, new: T) -> T {
        match self.release() {
            Release::V24_11 => old,
            Release::V26_05 => new,
        }
    }

    /// May the caller do everything?
    pub(super) fn by_operator(&self) -> bool {
        Slurmctld::is_operator(&self.request.user.as_str().into())
    }

    /// The status that a refusal by slurmctld gets.
    pub(super) fn refusal(&self) -> u16 {
        self.by_release(500, 422)
    }

    /// The status for this refusal.
    pub(super) fn status_of(&self, error: SlurmError) -> u16 {
        if error == SlurmError::InvalidExternalJob {
            return UNREADABLE;
        }
        if error == SlurmError::InvalidJobId {
            return 404;
        }
        self.refusal()
    }

    /// A remote procedure call: slurmctld, unlike slurmrestd, looks at the token. `reply` is what the
    /// answer has besides.
    pub(super) fn connect(&self, reply: Reply, what: &str, source: &str) -> Result<(), Reply> {
        if self.trusted {
            return Ok(());
        }
        Err(reply.error(511, Trouble::authentication(what, source)))
    }

    /// Seconds since 1970.
    pub(super) fn unix(&self, time: Time) -> u64 {
        self.ctld.epoch().unix(time)
    }

    /// The body, or none at all.
    pub(super) fn body(&self) -> Body {
        match (&self.request.body, &self.operation.body) {
            (Some(body), Some(of)) => Body::read(self.reader(), of, body),
            (None, _) | (_, None) => Body::default(),
        }
    }

    /// The status for a body that isn't of the form that it must have.
    pub(super) fn malformed(&self, body: &Body) -> u16 {
        let missing = body.troubles.iter().any(|trouble| trouble.number == 9200);
        if missing { self.refusal() } else { UNREADABLE }
    }

    /// The refusal of such a body.
    pub(super) fn refuse(&self, reply: Reply, body: Body) -> Reply {
        let status = self.malformed(&body);
        reply.warnings(&body.warnings).errors(status, body.troubles)
    }

    fn reader(&self) -> Reader {
        Reader { table: Table::of(self.release()), version: self.version() }
    }

    /// A warning for each query parameter that the operation doesn't have.
    pub(super) fn query_warnings(&self, parser: &str) -> Vec<Warning> {
        let parameters = &self.operation.parameters;
        let known = |key: &str| parameters.iter().any(|it| !it.in_path && *it.name == *key);
        let unknown = self.request.query.iter().filter(|(key, _)| !known(key));
        unknown
            .map(|(key, value)| Warning {
                description: unknown_field(parser, key, &given(value)),
                source: format!("#/{key}/"),
            })
            .collect()
    }

    /// The response: the reply as this version prints it.
    pub(super) fn finish(&self, reply: Reply, peer: &Peer) -> Response {
        let cluster = &self.ctld.config().params().cluster_name;
        let accounting = self.dbd.is_some();
        reply
            .finish(self.operation, meta(self.operation, self.release(), cluster, accounting, peer))
    }
}

/// A query's value as the data parser sees it: nothing is `null`.
fn given(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { value.into() }
}

//! The cluster: controllers, partitions, reservations, licences, shares, statistics.

use drawbridge_core::{SlurmFault, slurm::ApiVersion};
use serde::Deserialize;

use super::{Call, Listed, Listing, Unserved, list, listing::WireList, served, slurm};
use crate::slurm::{
    http::{HttpRequest, escape},
    reply::{Envelope, Reply},
    types::{Diag, License, NodeGrant, Partition, Ping, Reservation, Share, Shares},
};

/// Asks every slurmctld whether it is there. Answers whatever the token: no test of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pings;

/// All partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitions;

/// One partition; `None` if there is none of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionByName(pub String);

/// All reservations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations;

/// One reservation; `None` if there is none of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationByName(pub String);

/// All licences. Small, and slurmctld answers it: a test of the token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Licenses;

/// Fair shares, of these accounts and users or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareTree {
    /// Accounts.
    pub accounts: Vec<String>,
    /// Users.
    pub users: Vec<String>,
}

/// What `sdiag` shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics;

/// What a job was given on each node. Served since v0.0.44.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources(pub u32);

/// Calls that list something under a fixed path.
macro_rules! lists {
    ($($call:ident, $item:ty, $path:literal;)*) => {$(
        impl Call for $call {
            type Answer = Listing<$item>;
            const NAME: &'static str = $path;

            fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
                Ok(HttpRequest::get(slurm(version, $path)))
            }

            fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
                Ok(list(reply)?)
            }
        }
    )*};
}

lists! {
    Partitions, Partition, "partitions";
    Reservations, Reservation, "reservations";
    Licenses, License, "licenses";
}

impl Listed for Partitions {
    type Item = Partition;
}

impl Listed for Reservations {
    type Item = Reservation;
}

impl Call for Pings {
    type Answer = Vec<Ping>;
    const NAME: &'static str = "ping";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, "ping")))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?.items)
    }
}

impl Call for PartitionByName {
    type Answer = Option<Partition>;
    const NAME: &'static str = "partition";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, &format!("partition/{}", escape(&self.0)))))
    }

    /// 24.11 refuses an unknown partition as it refuses what it can't parse; 26.05 warns, and has no
    /// list at all.
    fn despite(&self, reply: &Reply<'_>, envelope: &Envelope) -> Option<Self::Answer> {
        if let Some(error) = envelope.errors.first() {
            return error.description.starts_with("Unable to find partition").then_some(None);
        }
        let warned = reply.is_good() && !envelope.warnings.is_empty();
        let list = reply.body.read::<WireList<Partition>>();
        (warned && list.is_ok_and(|list| list.items.is_none())).then_some(None)
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        let found: Listing<Partition> = list(reply)?;
        Ok(found.items.into_iter().find(|partition| partition.name == self.0))
    }
}

impl Call for ReservationByName {
    type Answer = Option<Reservation>;
    const NAME: &'static str = "reservation";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, &format!("reservation/{}", escape(&self.0)))))
    }

    /// As with nodes: status 200 and an error without a number.
    fn despite(&self, reply: &Reply<'_>, envelope: &Envelope) -> Option<Self::Answer> {
        let unknown = reply.is_good() && envelope.errors.first()?.error_number == 0;
        unknown.then_some(None)
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        let found: Listing<Reservation> = list(reply)?;
        Ok(found.items.into_iter().find(|reservation| reservation.name == self.0))
    }
}

impl Call for ShareTree {
    type Answer = Vec<Share>;
    const NAME: &'static str = "shares";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let some = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        Ok(HttpRequest::get(slurm(version, "shares"))
            .with("accounts", some(&self.accounts))
            .with("users", some(&self.users)))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        #[derive(Deserialize)]
        struct Tree {
            shares: Shares,
        }
        Ok(reply.body.read::<Tree>()?.shares.shares)
    }
}

impl Call for Diagnostics {
    type Answer = Diag;
    const NAME: &'static str = "diag";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, "diag")))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        #[derive(Deserialize)]
        struct Statistics {
            statistics: Diag,
        }
        Ok(reply.body.read::<Statistics>()?.statistics)
    }
}

impl Call for Resources {
    type Answer = Vec<NodeGrant>;
    const NAME: &'static str = "resources";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        served::since(served::RESOURCES, version)?;
        Ok(HttpRequest::get(slurm(version, &format!("resources/{}", self.0))))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?.items)
    }
}

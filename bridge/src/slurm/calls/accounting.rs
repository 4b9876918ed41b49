//! What slurmdbd keeps, read only. A slurmrestd without it doesn't serve these paths.

use drawbridge_core::{SlurmFault, slurm::ApiVersion};

use super::{Call, Listing, Unserved, list, slurmdb};
use crate::slurm::{
    http::HttpRequest,
    reply::{Envelope, Reply},
    types::{Account, AccountingJob, Association, Qos, User},
};

/// Jobs in the records, those that fit the query: pairs such as `("users", "alice")`,
/// `("start_time", "uts1700000000")`, `("state", "FAILED")`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountingJobs(pub Vec<(String, String)>);

/// Accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts;

/// Associations that fit the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Associations(pub Vec<(String, String)>);

/// Users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users;

/// Qualities of service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QosList;

/// Calls that list records.
macro_rules! records {
    ($($call:ident, $item:ty, $path:literal, $name:literal, $query:expr;)*) => {$(
        impl Call for $call {
            type Answer = Vec<$item>;
            const NAME: &'static str = $name;

            fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
                let query: fn(&Self) -> Vec<(String, String)> = $query;
                let request = HttpRequest::get(slurmdb(version, $path));
                Ok(HttpRequest { query: query(self), ..request })
            }

            fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
                let found: Listing<$item> = list(reply)?;
                Ok(found.items)
            }

            fn despite(&self, reply: &Reply<'_>, envelope: &Envelope) -> Option<Self::Answer> {
                nothing_found(reply, envelope).then(Vec::new)
            }

            fn of_fault(&self, fault: SlurmFault) -> SlurmFault {
                no_accounting(fault)
            }
        }
    )*};
}

records! {
    AccountingJobs, AccountingJob, "jobs", "db.jobs", |call| call.0.clone();
    Accounts, Account, "accounts", "db.accounts", |_| Vec::new();
    Associations, Association, "associations", "db.associations", |call| call.0.clone();
    Users, User, "users", "db.users", |_| Vec::new();
    QosList, Qos, "qos", "db.qos", |_| Vec::new();
}

/// slurmdbd says by an error that a query has no result.
fn nothing_found(reply: &Reply<'_>, envelope: &Envelope) -> bool {
    /// `ESLURM_REST_EMPTY_RESULT`
    const EMPTY: i64 = 9003;
    reply.body.text().is_none()
        && envelope.errors.first().is_some_and(|error| error.error_number == EMPTY)
}

/// The version is served, only these paths aren't.
fn no_accounting(fault: SlurmFault) -> SlurmFault {
    match fault {
        SlurmFault::NotServed { .. } => SlurmFault::Refused {
            number: 0,
            text: "this slurmrestd serves no accounting: it runs without slurmdbd".to_owned(),
        },
        SlurmFault::Refused { .. }
        | SlurmFault::Unauthorized { .. }
        | SlurmFault::Unreachable { .. }
        | SlurmFault::Unintelligible { .. }
        | SlurmFault::Lost { .. } => fault,
    }
}

//! `/slurmdb`: what slurmdbd keeps, read and changed.
//!
//! Only where there is accounting; without it slurmrestd has no such paths. Limits, and all that would
//! have to be enforced, can't be set here yet: who tries is told so.

mod accounts;
mod associations;
mod cluster;
mod jobs;
mod qos;
mod record;
mod together;
mod users;
mod wckeys;

use drawbridge_sim::{DbError, Slurmdbd};
use serde_json::Value;

use super::{
    api::Version,
    call::{Answer, Call},
    fields::{Body, Fields, Uses},
    reply::{Reply, Trouble, Warning},
};

/// The endpoint's answer; the operation's name comes without `slurmdb_`.
pub(super) fn answer(call: &mut Call<'_>, operation: &str) -> Reply {
    let done = match operation {
        "get_accounts" => accounts::list(call),
        "get_account" => accounts::one(call),
        "post_accounts" => accounts::put(call),
        "delete_account" => accounts::delete(call),
        "post_accounts_association" => together::accounts(call),
        "get_users" => users::list(call),
        "get_user" => users::one(call),
        "post_users" => users::put(call),
        "delete_user" => users::delete(call),
        "post_users_association" => together::users(call),
        "get_associations" | "get_association" => associations::list(call),
        "post_associations" => associations::put(call),
        "delete_associations" | "delete_association" => associations::delete(call),
        "get_qos" => qos::list(call),
        "get_single_qos" => qos::one(call),
        "post_qos" => qos::put(call),
        "delete_single_qos" => qos::delete(call),
        "get_wckeys" => wckeys::list(call),
        "get_wckey" => wckeys::one(call),
        "post_wckeys" => wckeys::put(call),
        "delete_wckey" => wckeys::delete(call),
        "get_clusters" => cluster::list(call),
        "get_cluster" => cluster::one(call),
        "delete_cluster" => cluster::delete(call),
        "get_tres" => cluster::tres(call),
        "post_tres" => cluster::put_tres(call),
        "get_instances" | "get_instance" => cluster::instances(call),
        "get_diag" => cluster::diag(call),
        "get_ping" => cluster::ping(call),
        "get_config" => cluster::config(call),
        "get_conf" => cluster::conf(call),
        "get_jobs" => jobs::list(call),
        "get_job" => jobs::one(call),
        other => {
            let what = format!("the operation `{other}` of slurmdbd");
            Err(Reply::not_modelled(501, "drawbridge", &what))
        }
    };
    done.unwrap_or_else(|refusal| refusal)
}

impl Call<'_> {
    /// The accounting. slurmrestd connects to it before it looks at anything else.
    fn db(&mut self) -> Result<&mut Slurmdbd, Reply> {
        let what = self.by_release(
            "Failed to open slurmdbd connection, authentication error",
            "Failed to open slurmdbd connection",
        );
        let trouble = Trouble {
            number: 7000,
            text: "Unable to connect to database".into(),
            description: what.into(),
            source: "openapi_get_db_conn".into(),
        };
        match self.dbd.as_deref_mut().filter(|_| self.trusted) {
            Some(dbd) => Ok(dbd),
            None => Err(Reply::refused(502, trouble)),
        }
    }

    /// The accounting, for somebody who may change it.
    fn db_to_change(&mut self, what: &str, source: &str) -> Result<&mut Slurmdbd, Reply> {
        let by = self.request.user.as_str().into();
        let allowed = self.db()?.allow(&by);
        allowed.map_err(|error| self.db_refused(&error, what, source))?;
        self.db()
    }

    /// A refusal by slurmdbd.
    fn db_refused(&self, error: &DbError, what: &str, source: &str) -> Reply {
        let trouble = Trouble {
            number: error.number().into(),
            text: error.to_string(),
            description: what.into(),
            source: source.into(),
        };
        Reply::refused(self.refusal(), trouble)
    }

    /// Whether a switch in the query is on. To the oldest version it is enough that it is there.
    fn switch(&self, keys: &[&str]) -> bool {
        let given = keys.iter().find_map(|key| self.request.query(key));
        let on = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "1");
        given.is_some_and(|value| on(value) || (value.is_empty() && self.version() == Version::V40))
    }

    /// Words of a query parameter: `a,b`.
    fn words(&self, key: &str) -> Option<Vec<&str>> {
        let text = self.request.query(key).filter(|text| !text.is_empty())?;
        Some(text.split(',').collect())
    }

    /// The body, if it is of the form that it must have.
    fn db_body(&mut self) -> Result<Body, Reply> {
        self.db()?;
        let body = self.body();
        if body.refused { Err(self.refuse(Reply::ok(), body)) } else { Ok(body) }
    }
}

/// A list, with slurmrestd's word about an empty one.
fn listed(key: &str, all: Vec<Value>, getter: &str, source: &str) -> Reply {
    let none = all.is_empty();
    let reply = Reply::ok().with(key, all.into());
    if none { reply.warning(&nothing(getter, source)) } else { reply }
}

fn nothing(getter: &str, source: &str) -> Warning {
    Warning { description: format!("{getter}() found nothing"), source: source.into() }
}

/// Refuses what would have to be enforced.
fn only(call: &Call<'_>, fields: &Fields, uses: Uses, whose: &str) -> Result<(), Reply> {
    match fields.beyond(uses) {
        Some(name) => {
            let what = format!("the field `{name}` of {whose}");
            Err(Reply::not_modelled(call.refusal(), "drawbridge", &what))
        }
        None => Ok(()),
    }
}

/// What was removed, or 304 if nothing was.
fn removed(key: &str, names: Vec<String>) -> Answer {
    if names.is_empty() {
        return Ok(Reply::not_modified());
    }
    Ok(Reply::ok().with(key, names.into()))
}

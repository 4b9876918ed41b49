//! slurmrestd over the model of slurmctld.
//!
//! ```text
//!  bytes ──▶ wire ──▶ Request ──▶ route ──▶ endpoint ──▶ Slurmctld, Slurmdbd ──▶ Reply ──▶ Response
//!       (401, 400, 415 text)     (404 text)   │ fields: warnings        (SlurmError)   │ shape, meta
//!                                             └─ api: the version's table ─────────────┘
//! ```
//!
//! The bodies have the shape of the recordings, and the oddities are theirs: 200 without a job for a
//! field of the wrong type, 200 with error 0 for an unknown node. Served is what the model's release
//! serves (24.11 or 26.05); the versions differ in `api`'s tables and in little else.
//!
//! [`handle`] answers one who is known already, over the model alone; [`Slurm`] is the whole of it, with
//! accounting, tokens and bytes. `root` and `slurm` may do everything, others only what concerns their
//! own jobs.

mod api;
mod call;
mod cancel;
mod configuration;
mod db;
mod diag;
mod exit_code;
mod fields;
mod job_desc;
mod job_json;
mod job_resources;
mod jobs;
mod meta;
mod node_json;
mod nodes;
mod number;
mod partition_update;
mod partitions;
mod reply;
mod requeue;
mod reservations;
mod resources;
mod route;
mod rpcs;
mod shares;
mod site;
mod submit;
mod times;
mod tres;
mod update;
mod wire;

use drawbridge_sim::{Slurmctld, Time};

use crate::{Request, Response};

use self::{call::Call, reply::Reply, route::route};

pub use self::{
    meta::Peer,
    site::Slurm,
    wire::{Pieces, RestBody, RestRequest, RestResponse, token},
};

/// Answers one request over the model alone. Pure: no sockets, no clock.
pub fn handle(ctld: &mut Slurmctld, now: Time, request: &Request) -> Response {
    let release = ctld.config().release();
    let found = route(release, request.method, &request.path);
    let Some(route) = found.filter(|route| !route.operation.path.starts_with("/slurmdb/")) else {
        return reply::text(404, route::not_found(release));
    };
    let mut call = Call {
        ctld,
        dbd: None,
        now,
        request,
        operation: route.operation,
        name: route.name,
        trusted: true,
        listing: false,
        memory: None,
    };
    let reply = answer(&mut call);
    call.finish(reply, &Peer::default())
}

/// The endpoint's answer.
fn answer(call: &mut Call<'_>) -> Reply {
    let name = &*call.operation.name;
    if let Some(operation) = name.strip_prefix("slurmdb_") {
        return db::answer(call, operation);
    }
    let done = match name.strip_prefix("slurm_").unwrap_or(name) {
        "get_ping" => Ok(diag::ping(call)),
        "get_diag" => diag::diag(call),
        "get_licenses" => diag::licenses(call),
        "get_conf" => configuration::show(call),
        "get_reconfigure" => configuration::reconfigure(call),
        "get_shares" => shares::list(call),
        "post_job_submit" => submit::submit(call),
        "post_job_allocate" => submit::allocate(call),
        "get_jobs" => jobs::list(call),
        "get_jobs_state" => jobs::states(call),
        "get_job" => jobs::one(call),
        "post_job" => update::job(call),
        "delete_job" => cancel::one(call),
        "delete_jobs" => cancel::many(call),
        "get_job_requeue" => requeue::one(call),
        "post_jobs_requeue" => requeue::many(call),
        "get_resources" => resources::of_job(call),
        "get_nodes" => nodes::list(call),
        "get_node" => nodes::one(call),
        "post_nodes" => nodes::update_many(call),
        "post_node" => nodes::update(call),
        "post_new_node" => nodes::create(call),
        "delete_node" => nodes::delete(call),
        "get_partitions" => partitions::list(call),
        "get_partition" => partitions::one(call),
        "post_partitions" => partition_update::update(call),
        "delete_partition" => partition_update::delete(call),
        "get_reservations" => reservations::list(call),
        "get_reservation" => reservations::one(call),
        "post_reservation" | "post_reservations" => reservations::update(call),
        "delete_reservation" => reservations::delete(call),
        other => Ok(Reply::not_modelled(501, "drawbridge", &format!("the operation `{other}`"))),
    };
    done.unwrap_or_else(|refusal| refusal)
}

//! slurmrestd over the model of slurmctld.
//!
//! ```text
//!  Request ──▶ route ──▶ endpoint ──▶ fields ──▶ Slurmctld ──▶ Reply ──▶ Response
//!             (404 text)             (warnings)  (SlurmError)  (+ meta, errors, warnings)
//! ```
//!
//! The bodies have the shape of the recordings, and the oddities are theirs: 200 without a job for a
//! field of the wrong type, 200 with error 0 for an unknown node. Served is v0.0.42; which statuses
//! and texts go with it depends on the model's release (24.11 or 26.05).
//!
//! Who asks is `Request::user`, already authenticated. `root` and `slurm` may do everything, others
//! only what concerns their own jobs.

mod call;
mod cancel;
mod diag;
mod exit_code;
mod fields;
mod job_desc;
mod job_json;
mod job_resources;
mod jobs;
mod node_json;
mod nodes;
mod number;
mod partitions;
mod reply;
mod route;
mod submit;
mod tres;
mod update;
mod users;

use drawbridge_sim::{Slurmctld, Time};

use crate::{Request, Response};

use self::{
    call::Call,
    reply::Reply,
    route::{Endpoint, route},
};

/// Answers one request. Pure: no sockets, no clock.
pub fn handle(ctld: &mut Slurmctld, now: Time, request: &Request) -> Response {
    let release = ctld.config().release();
    let (version, endpoint) = match route(release, request.method, &request.path) {
        Ok(found) => found,
        Err(nowhere) => return reply::text(404, &nowhere),
    };
    let mut call = Call { ctld, now, request };
    let reply = answer(&mut call, &endpoint);
    let cluster = &call.ctld.config().params().cluster_name;
    reply.finish(cluster, version.name(), call.release_parts())
}

fn answer(call: &mut Call<'_>, endpoint: &Endpoint<'_>) -> Reply {
    match *endpoint {
        Endpoint::Ping => diag::ping(),
        Endpoint::Diag => diag::diag(call),
        Endpoint::Licenses => diag::licenses(call),
        Endpoint::Submit => submit::submit(call),
        Endpoint::Jobs => jobs::list(call),
        Endpoint::JobsState => jobs::states(call),
        Endpoint::CancelJobs => cancel::many(call),
        Endpoint::Job(id) => jobs::one(call, id),
        Endpoint::UpdateJob(id) => update::job(call, id),
        Endpoint::CancelJob(id) => cancel::one(call, id),
        Endpoint::Nodes => nodes::list(call),
        Endpoint::Node(name) => nodes::one(call, name),
        Endpoint::UpdateNodes => nodes::update_many(call),
        Endpoint::UpdateNode(name) => nodes::update(call, name),
        Endpoint::DeleteNode(name) => nodes::delete(call, name),
        Endpoint::Partitions => partitions::list(call),
        Endpoint::Partition(name) => partitions::one(call, name),
        Endpoint::NotModelled(what) => Reply::not_modelled(501, "drawbridge", what),
    }
}

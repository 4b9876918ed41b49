//! API version v0.0.42: served by Slurm 24.11 and 26.05.

mod job;
mod node;
mod submit;

use drawbridge_core::{SlurmFault, SlurmReply, SlurmRequest};
use drawbridge_sim::JobId;
use serde_json::Value;

use super::{
    HttpMethod, HttpRequest,
    wire::{self, Garbled},
};

const BASE: &str = "/slurm/v0.0.42";

/// Slurm's number for a job that it doesn't know.
const INVALID_JOB_ID: i64 = 2017;

/// The request on the wire.
pub(super) fn encode(request: &SlurmRequest) -> HttpRequest {
    match request {
        SlurmRequest::Submit(job) => post("/job/submit", submit::body(job)),
        SlurmRequest::JobStates => get("/jobs/state"),
        SlurmRequest::Job(job) => get(&format!("/job/{job}")),
        SlurmRequest::Jobs => get("/jobs"),
        SlurmRequest::Cancel { job, signal } => cancel(*job, signal.as_deref()),
        SlurmRequest::Nodes => get("/nodes"),
        SlurmRequest::UpdateNode { node, state, reason } => {
            let path = format!("/node/{}", escape(node.as_str()));
            post(&path, node::update(*state, reason))
        }
    }
}

fn get(path: &str) -> HttpRequest {
    http(HttpMethod::Get, path, None)
}

fn post(path: &str, body: Value) -> HttpRequest {
    http(HttpMethod::Post, path, Some(body))
}

fn cancel(job: JobId, signal: Option<&str>) -> HttpRequest {
    let signal = signal.map(|signal| ("signal".to_owned(), signal.to_owned()));
    let request = http(HttpMethod::Delete, &format!("/job/{job}"), None);
    HttpRequest { query: signal.into_iter().collect(), ..request }
}

fn http(method: HttpMethod, path: &str, body: Option<Value>) -> HttpRequest {
    HttpRequest { method, path: format!("{BASE}{path}"), query: Vec::new(), body }
}

/// Percent-encodes what can't stand in one segment of a path.
fn escape(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes().fold(String::new(), |path, byte| match plain(byte) {
        true => path + char::from(byte).encode_utf8(&mut [0; 4]),
        false => path + &format!("%{byte:02X}"),
    })
}

/// What the reply means.
pub(super) fn decode(
    request: &SlurmRequest,
    status: u16,
    body: &Value,
) -> Result<SlurmReply, SlurmFault> {
    if let Some(reply) = before_refusals(request, status, body) {
        return Ok(reply);
    }
    if let Some(fault) = wire::refusal(status, body) {
        return Err(fault);
    }
    let reply = match request {
        SlurmRequest::Submit(_) => return Err(no_job_id(body)),
        SlurmRequest::JobStates => job::states(body).map(SlurmReply::States)?,
        SlurmRequest::Job(id) => one_job(*id, body)?,
        SlurmRequest::Jobs => job::jobs(body).map(SlurmReply::Jobs)?,
        SlurmRequest::Cancel { .. } => cancelled(body)?,
        SlurmRequest::Nodes => node::nodes(body).map(SlurmReply::Nodes)?,
        SlurmRequest::UpdateNode { .. } => SlurmReply::Done,
    };
    Ok(reply)
}

/// Answers that hold whatever else the reply complains about: a job with a number exists, even if
/// it is held or something about it was ignored; an unknown job is an answer, not a failure.
fn before_refusals(request: &SlurmRequest, status: u16, body: &Value) -> Option<SlurmReply> {
    match request {
        SlurmRequest::Submit(_) if (200..300).contains(&status) => {
            let job = wire::small(body, "job_id").ok().filter(|&id| id != 0)?;
            Some(SlurmReply::Submitted { job: JobId(job) })
        }
        SlurmRequest::Job(_) if status == 404 => {
            let number = body["errors"][0]["error_number"].as_i64()?;
            (number == INVALID_JOB_ID).then_some(SlurmReply::Job(None))
        }
        SlurmRequest::Submit(_)
        | SlurmRequest::Job(_)
        | SlurmRequest::JobStates
        | SlurmRequest::Jobs
        | SlurmRequest::Cancel { .. }
        | SlurmRequest::Nodes
        | SlurmRequest::UpdateNode { .. } => None,
    }
}

/// A value of the wrong type gets 200, no error, no number, and nothing is submitted.
fn no_job_id(body: &Value) -> SlurmFault {
    let mut why = "the reply to a submit has no job id".to_owned();
    let warnings = wire::warnings(body);
    if !warnings.is_empty() {
        why = format!("{why}: {warnings}");
    }
    SlurmFault::Unintelligible { why }
}

fn one_job(id: JobId, body: &Value) -> Result<SlurmReply, Garbled> {
    let jobs = job::jobs(body)?;
    // An array's number also brings its tasks; a purged job may bring an empty list.
    Ok(SlurmReply::Job(jobs.into_iter().find(|job| job.id == id)))
}

/// Per-job trouble is listed apart from the errors, with status 200.
fn cancelled(body: &Value) -> Result<SlurmReply, SlurmFault> {
    let trouble = body["status"].as_array().into_iter().flatten();
    let codes = trouble.map(|job| (job["error"]["code"].as_i64().unwrap_or(0), &job["error"]));
    match codes.into_iter().find(|(number, _)| *number != 0) {
        None => Ok(SlurmReply::Done),
        Some((number, error)) => {
            Err(SlurmFault::Refused { number, text: wire::text_or_empty(error, "string") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_name_stays_one_segment_of_the_path() {
        assert_eq!(escape("gpu-node_1.x"), "gpu-node_1.x");
        assert_eq!(escape("a/b?c%d é"), "a%2Fb%3Fc%25d%20%C3%A9");
    }
}

//! `DELETE job/{id}` and `DELETE jobs`: cancel, or send a signal.
//!
//! What goes wrong with one job isn't an error of the request: it stands in `status[]`, and the
//! answer is 200.

use drawbridge_sim::{JobId, Signal, SlurmError};
use serde_json::{Value, json};

use super::{
    call::{Call, UNREADABLE},
    fields::{Kind, Schema, Use},
    number::{number, unset},
    reply::{Reply, Trouble},
    submit::not_modelled,
};

#[rustfmt::skip]
const KILL_JOBS: Schema = Schema {
    parser: "DATA_PARSER_KILL_JOBS_MSG",
    rows: &[
        ("account",     Kind::Text,       Use::NotModelled),
        ("flags",       Kind::Flags(&[]), Use::NotModelled),
        ("job_name",    Kind::Text,       Use::NotModelled),
        ("job_state",   Kind::Flags(&[]), Use::NotModelled),
        ("jobs",        Kind::List,       Use::Honoured),
        ("nodes",       Kind::List,       Use::NotModelled),
        ("partition",   Kind::Text,       Use::NotModelled),
        ("qos",         Kind::Text,       Use::NotModelled),
        ("reservation", Kind::Text,       Use::NotModelled),
        ("signal",      Kind::Text,       Use::Honoured),
        ("user_id",     Kind::Text,       Use::NotModelled),
        ("user_name",   Kind::Text,       Use::NotModelled),
        ("wckey",       Kind::Text,       Use::NotModelled),
    ],
};

/// `DELETE job/{id}`.
pub(super) fn one(call: &mut Call<'_>, id: &str) -> Reply {
    let id = match call.job_id(id) {
        Ok(id) => id,
        Err(reply) => return reply,
    };
    let parser = "DATA_PARSER_OPENAPI_JOB_INFO_DELETE_QUERY";
    let warnings = call.query_warnings(parser, &["signal", "flags"]);
    if call.request.query("flags").is_some_and(|flags| !flags.is_empty()) {
        return Reply::refused(call.refusal(), not_modelled("`flags` of a cancellation"));
    }
    let asked = call.request.query("signal").filter(|text| !text.is_empty());
    let signal = asked.and_then(Signal::parse);
    let reply = Reply::ok().with("status", end(call, id, signal).into_iter().collect());
    let reply = reply.warnings(&warnings);
    match (asked, signal) {
        // Slurm complains about an unknown signal with error 0, and kills the job all the same.
        (Some(_), None) => reply.error(200, unknown_signal()),
        (Some(_), Some(_)) | (None, _) => reply,
    }
}

/// `DELETE jobs` with `{"jobs": ["3", "9"], "signal": "USR1"}`.
pub(super) fn many(call: &mut Call<'_>) -> Reply {
    let empty = Reply::ok().with("status", json!([]));
    let fields = match call.body(KILL_JOBS) {
        Ok(fields) => fields,
        Err(trouble) => return empty.error(UNREADABLE, trouble),
    };
    if let Some(name) = fields.not_modelled {
        let what = format!("cancelling jobs by `{name}`");
        return empty.error(call.refusal(), not_modelled(&what));
    }
    let ids = match job_ids(fields.list("jobs")) {
        Ok(ids) => ids,
        Err((number, text)) => return empty.error(call.refusal(), failed(number, text)),
    };
    let signal = fields.text("signal").and_then(Signal::parse);
    let status: Vec<Value> = ids.into_iter().filter_map(|id| end(call, id, signal)).collect();
    let reply = Reply::ok().with("status", status.into()).warnings(&fields.warnings);
    match fields.text("signal") {
        Some(_) if signal.is_none() => reply.error(200, unknown_signal()),
        Some(_) | None => reply,
    }
}

fn job_ids(texts: &[String]) -> Result<Vec<JobId>, (i64, &'static str)> {
    if texts.is_empty() {
        let text = "Invalid signal jobs request, at least one job id or filter is required.";
        return Err((2173, text));
    }
    let numbers = texts.iter().map(|text| text.parse().unwrap_or(0));
    let ids: Vec<JobId> = numbers.map(JobId).collect();
    match ids.contains(&JobId(0)) {
        true => Err((2137, "JobID can not be zero")),
        false => Ok(ids),
    }
}

/// Cancels a job or signals it; the entry of `status[]` if that failed.
fn end(call: &mut Call<'_>, id: JobId, signal: Option<Signal>) -> Option<Value> {
    let user = call.request.user.as_str().into();
    let done = match signal {
        None => call.ctld.cancel(call.now, id, &user),
        Some(signal) => call.ctld.signal(call.now, id, signal, &user),
    };
    let known = call.ctld.job(id).is_some();
    done.err().map(|error| status(id, known, error))
}

fn status(id: JobId, known: bool, error: SlurmError) -> Value {
    let text = error.to_string();
    let job_id = if known { number(id.0.into()) } else { unset() };
    json!({
        "error": { "string": text, "code": error.number(), "message": text },
        "step_id": id.to_string(),
        "job_id": job_id,
        "federation": { "sibling": "" },
    })
}

fn failed(number: i64, text: &str) -> Trouble {
    Trouble {
        number,
        text: text.into(),
        description: "Signal request failed".into(),
        source: "slurm_kill_jobs()".into(),
    }
}

fn unknown_signal() -> Trouble {
    Trouble {
        number: 0,
        text: "No error".into(),
        description: "Unknown signal (null)".into(),
        source: "#/signal/".into(),
    }
}

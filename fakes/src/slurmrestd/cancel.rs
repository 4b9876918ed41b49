//! `DELETE job/{id}` and `DELETE jobs`: cancel, or send a signal.
//!
//! What goes wrong with one job isn't an error of the request: it stands in `status[]`, and the
//! answer is 200.

mod filter;

use drawbridge_sim::{Job, JobId, JobState, JobTarget, Signal, SlurmError};
use serde_json::{Value, json};

use super::{
    call::{Answer, Call, UNREADABLE},
    fields::Uses,
    reply::{Reply, Trouble},
};
use filter::Filter;

#[rustfmt::skip]
const KILL_JOBS: Uses = Uses {
    honoured: &[
        "jobs", "signal", "flags", "account", "job_name", "job_state", "partition", "qos", "reservation",
        "user_name", "wckey",
    ],
    noted: &[],
};
const WHAT: &str = "Signal request failed";
const WHO: &str = "slurm_kill_jobs()";

/// `DELETE job/{id}`.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let target = call.job_target("op_handler_job")?;
    let warnings = call.query_warnings("DATA_PARSER_OPENAPI_JOB_INFO_DELETE_QUERY");
    // Of an ordinary job there is nothing but the script to signal, so whom these mean is the same.
    let known = ["", "BATCH_JOB", "FULL_JOB"];
    if call.request.query("flags").is_some_and(|flags| !known.contains(&flags)) {
        let trouble = Trouble::not_modelled("drawbridge", "`flags` of a cancellation");
        return Err(Reply::refused(call.refusal(), trouble));
    }
    call.connect(Reply::ok().with("status", json!([])), WHAT, WHO)?;
    let asked = call.request.query("signal").filter(|text| !text.is_empty());
    let signal = asked.and_then(Signal::parse);
    let to_script = call.request.query("flags") == Some("BATCH_JOB");
    let blow = Blow { signal: signal.unwrap_or(Signal::Kill), to_script };
    let status: Vec<Value> = end(call, &target, blow).into_iter().collect();
    let reply = Reply::ok().with("status", status.into()).warnings(&warnings);
    Ok(match (asked, signal) {
        // Slurm complains about an unknown signal with error 0, and kills the job all the same.
        (Some(_), None) => reply.error(200, unknown_signal()),
        (Some(_), Some(_)) | (None, _) => reply,
    })
}

/// `DELETE jobs` with `{"jobs": ["3", "9"], "signal": "USR1"}`, or with what the jobs must be.
pub(super) fn many(call: &mut Call<'_>) -> Answer {
    let empty = || Reply::ok().with("status", json!([]));
    let body = call.body();
    if body.refused {
        return Err(call.refuse(empty(), body));
    }
    if let Some(name) = body.fields.beyond(KILL_JOBS) {
        let what = format!("cancelling jobs by `{name}`");
        return Err(empty().error(call.refusal(), Trouble::not_modelled("drawbridge", &what)));
    }
    // A model's job is its script: the whole of it and its batch shell are the same.
    let known = |flag: &&String| ["FULL_JOB", "BATCH_JOB"].contains(&flag.as_str());
    if let Some(flag) = body.fields.list("flags").iter().find(|flag| !known(flag)) {
        let what = format!("the flag `{flag}` of a cancellation");
        return Err(empty().error(call.refusal(), Trouble::not_modelled("drawbridge", &what)));
    }
    call.connect(empty(), WHAT, WHO)?;
    let named = body.fields.list("jobs");
    let filter = Filter::of(&body.fields);
    if !named.is_empty() && !filter.is_empty() {
        let what = "cancelling jobs by number and by what they are at once";
        return Err(empty().error(call.refusal(), Trouble::not_modelled("drawbridge", what)));
    }
    let asked = body.fields.text("signal");
    let signal = asked.and_then(Signal::parse);
    let to_script = body.fields.list("flags").iter().any(|flag| flag == "BATCH_JOB");
    let blow = Blow { signal: signal.unwrap_or(Signal::Kill), to_script };
    let status: Vec<Value> = if filter.is_empty() {
        let refused = |(number, text)| empty().error(call.refusal(), failed(number, text));
        let targets = targets(named).map_err(refused)?;
        targets.iter().filter_map(|target| end(call, target, blow)).collect()
    } else {
        end_all(call, &filter, blow)
    };
    let reply = Reply::ok().with("status", status.into()).warnings(&body.warnings);
    let reply = reply.errors(UNREADABLE, body.troubles);
    Ok(match asked {
        Some(_) if signal.is_none() => reply.error(200, unknown_signal()),
        Some(_) | None => reply,
    })
}

fn targets(texts: &[String]) -> Result<Vec<JobTarget>, (i64, &'static str)> {
    if texts.is_empty() {
        let text = "Invalid signal jobs request, at least one job id or filter is required.";
        return Err((2173, text));
    }
    let targets: Option<Vec<JobTarget>> = texts.iter().map(|text| JobTarget::parse(text)).collect();
    targets.ok_or((2137, "JobID can not be zero"))
}

/// What is sent to jobs.
#[derive(Clone, Copy)]
struct Blow {
    signal: Signal,
    /// To their scripts alone.
    to_script: bool,
}

impl Blow {
    fn strike(self, call: &mut Call<'_>, target: JobTarget) -> Result<(), SlurmError> {
        let runs = |job: &Job| job.state == JobState::Running && job.is_external();
        if self.to_script && call.ctld.jobs_of(&target).any(runs) {
            return Err(SlurmError::JobScriptMissing);
        }
        let user = call.request.user.as_str().into();
        call.ctld.signal(call.now, target, self.signal, &user)
    }
}

/// Cancels a job or signals it; the entry of `status[]` if that failed.
fn end(call: &mut Call<'_>, target: &JobTarget, blow: Blow) -> Option<Value> {
    let done = blow.strike(call, target.clone());
    let known = call.ctld.jobs_of(target).next().is_some();
    let id = target.job();
    done.err().map(|error| status(&id.to_string(), known.then_some(id), error))
}

/// The same for every job that fits.
fn end_all(call: &mut Call<'_>, filter: &Filter<'_>, blow: Blow) -> Vec<Value> {
    let fitting = call.ctld.jobs().filter(|job| filter.fits(job));
    let fitting: Vec<_> =
        fitting.map(|job| (job.id, filter::spelt(job), filter::target(job))).collect();
    let mut failed = vec![];
    for (id, name, target) in fitting {
        let done = blow.strike(call, target);
        failed.extend(done.err().map(|error| status(&name, Some(id), error)));
    }
    failed
}

fn status(step: &str, id: Option<JobId>, error: SlurmError) -> Value {
    let text = error.to_string();
    json!({
        "error": { "string": text, "code": error.number(), "message": text },
        "step_id": step,
        "job_id": id.map(|id| id.0),
        "federation": { "sibling": "" },
    })
}

fn failed(number: i64, text: &str) -> Trouble {
    Trouble { number, text: text.into(), description: WHAT.into(), source: WHO.into() }
}

fn unknown_signal() -> Trouble {
    Trouble::nothing("Unknown signal (null)", "#/signal/")
}

//! `POST job/submit` and `POST job/allocate`: a job description becomes a [`Submission`].

mod description;
mod devices;

use drawbridge_sim::{Job, JobId, Reason, SlurmError};
use serde_json::{Value, json};

use super::{
    call::{Answer, Call, UNREADABLE},
    fields::Fields,
    reply::{Reply, Trouble, Warning},
};

pub(super) use description::{count, node_range, time_limit};

const SUBMIT: Source =
    Source { what: "Batch job submission failed", who: "slurm_submit_batch_job()" };
const ALLOCATE: Source =
    Source { what: "Job allocation request failed", who: "slurm_allocate_resources_blocking()" };

/// Which request fails, as errors name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    what: &'static str,
    who: &'static str,
}

impl Source {
    /// A refusal by slurmctld.
    fn failed(self, error: SlurmError) -> Trouble {
        Trouble::slurm(error, self.what, self.who)
    }

    /// One whose number the model has no name for.
    fn failed_with(self, number: i64, text: &str) -> Trouble {
        let (description, source) = (self.what.into(), self.who.into());
        Trouble { number, text: text.into(), description, source }
    }
}

/// `POST job/submit`.
pub(super) fn submit(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused {
        return Ok(Reply::ok().warnings(&body.warnings).errors(UNREADABLE, body.troubles));
    }
    let reply = match body.broken {
        // Slurm's oddity: a value that can't be read is no error, and nothing happens.
        true => Reply::ok(),
        false => submit_fields(call, &body.fields).unwrap_or_else(|refusal| refusal),
    };
    Ok(reply.warnings_first(&body.warnings).errors_first(UNREADABLE, body.troubles))
}

fn submit_fields(call: &mut Call<'_>, top: &Fields) -> Answer {
    let empty = Fields::default();
    let job = top.dict("job").unwrap_or(&empty);
    let external = description::is_external(job);
    let script = top.text("script").or_else(|| job.text("script"));
    if script.is_none() && !external {
        let what = "Populated \"script\" field is required for job submission";
        return Err(Reply::refused(422, Trouble::query(what, "_job_post")));
    }
    if !top.has("job") && !top.has("jobs") {
        let what = call.by_release("Specifing", "Specifying");
        let what = format!("{what} either \"job\" or \"jobs\" fields are required to submit job");
        return Err(Reply::refused(422, Trouble::query(what, "_job_post")));
    }
    call.connect(Reply::ok(), SUBMIT.what, SUBMIT.who)?;
    // Slurm minds a script that has nothing in it, too.
    if external && (top.has("script") || job.has("script")) {
        let error = SlurmError::InvalidExternalJob;
        return Err(Reply::refused(call.status_of(error), SUBMIT.failed(error)));
    }
    let submitted = if top.has("jobs") {
        Err(het_jobs())
    } else {
        description::read(call, SUBMIT, job, script)
    };
    let refused = |call: &Call<'_>, trouble| Reply::refused(call.refusal(), trouble);
    let submitted = submitted.map_err(|trouble| refused(call, trouble))?;
    match call.ctld.submit(call.now, submitted) {
        Ok(id) => Ok(accepted(call, id)),
        Err(error) => Err(Reply::refused(call.status_of(error), SUBMIT.failed(error))),
    }
}

fn het_jobs() -> Trouble {
    Trouble::not_modelled("drawbridge", "heterogeneous jobs (`jobs`)")
}

/// What slurmctld says of a job that it takes but won't start as things are.
fn reservation(job: &Job) -> Option<(u32, &'static str)> {
    if job.priority == 0 {
        return Some((2042, "Job is in held state, pending scheduler release"));
    }
    (job.reason == Reason::PartitionConfig)
        .then_some((2015, "Requested partition configuration not available now"))
}

/// The job's number, and what slurmctld said beside it.
fn accepted(call: &Call<'_>, id: JobId) -> Reply {
    let but = call.ctld.job(id).and_then(reservation);
    let (code, text) = but.unwrap_or((0, "No error"));
    let reply = Reply::ok()
        .with("job_id", id.0.into())
        .with("step_id", "batch".into())
        .with("job_submit_user_msg", "".into());
    // The oldest versions say it twice; the others leave it out.
    let reply = reply.with(
        "result",
        json!({
            "job_id": id.0,
            "step_id": "batch",
            "error_code": code,
            "error": text,
            "job_submit_user_msg": "",
        }),
    );
    if but.is_none() {
        return reply;
    }
    let texts =
        [format!("Job submission resulted in non-zero return code: {text}"), text.to_owned()];
    let warnings = texts.map(|description| Warning { description, source: SUBMIT.who.into() });
    reply.warnings(&warnings)
}

/// `POST job/allocate`. The real one answers when the job has its nodes; here time stands still while
/// somebody is answered, so the job is only queued, and must be looked at until it runs.
pub(super) fn allocate(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused || body.broken {
        return Ok(Reply::ok().warnings(&body.warnings).errors(UNREADABLE, body.troubles));
    }
    let reply = allocate_fields(call, &body.fields).unwrap_or_else(|refusal| refusal);
    Ok(reply.warnings_first(&body.warnings).errors(UNREADABLE, body.troubles))
}

fn allocate_fields(call: &mut Call<'_>, top: &Fields) -> Answer {
    let Some(job) = top.dict("job") else {
        if top.has("hetjob") {
            return Err(Reply::refused(call.refusal(), het_jobs()));
        }
        let what = call.by_release("Specifing", "Specifying");
        let what =
            format!("{what} either \"job\" or \"hetjob\" fields are required to allocate job");
        return Err(Reply::refused(422, Trouble::query(what, "op_handler_alloc_job")));
    };
    call.connect(Reply::ok(), ALLOCATE.what, ALLOCATE.who)?;
    let submitted = description::read(call, ALLOCATE, job, None);
    let submitted = submitted.map_err(|trouble| Reply::refused(call.refusal(), trouble))?;
    match call.ctld.submit(call.now, submitted) {
        Ok(id) => {
            Ok(Reply::ok().with("job_id", id.0.into()).with("job_submit_user_msg", "".into()))
        }
        Err(error) => Err(Reply::refused(call.status_of(error), ALLOCATE.failed(error))),
    }
}

/// A text as JSON has it, for messages.
fn quoted(text: &str) -> Value {
    Value::String(text.into())
}

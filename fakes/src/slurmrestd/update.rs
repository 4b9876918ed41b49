//! `POST job/{id}`: change a job.

use drawbridge_sim::{Begin, Job, JobId, JobState, JobUpdate, SlurmError};
use serde_json::Value;

use super::{
    call::{Call, UNREADABLE},
    fields::{Fields, Use},
    job_desc::JOB_DESC,
    number::Number,
    reply::{Reply, Trouble},
    submit::{count, node_range, not_modelled, time_limit},
};

/// The fields of a job that can be changed here.
#[rustfmt::skip]
const CHANGEABLE: &[&str] = &[
    "begin_time", "comment", "hold", "maximum_nodes", "minimum_nodes", "nodes", "partition",
    "priority", "time_limit",
];

/// Changes a job.
pub(super) fn job(call: &mut Call<'_>, id: &str) -> Reply {
    let id = match call.job_id(id) {
        Ok(id) => id,
        Err(reply) => return reply,
    };
    let empty = Reply::ok().with("results", Value::Null);
    let rejected = "Rejecting request. Failure parsing job update request.";
    let rejected = Trouble::query(rejected, "_job_post_update");
    let fields = match call.body(JOB_DESC) {
        Ok(fields) => fields,
        Err(trouble) => {
            return empty.errors(UNREADABLE, vec![trouble, rejected]);
        }
    };
    let reply = empty.warnings(&fields.warnings);
    if fields.broken {
        return reply.error(422, rejected);
    }
    let reply = match update(call, id, &fields) {
        Ok(()) => reply,
        Err((status, trouble)) => reply.error(status, trouble),
    };
    reply.errors(UNREADABLE, fields.troubles)
}

fn update(call: &mut Call<'_>, id: JobId, fields: &Fields) -> Result<(), (u16, Trouble)> {
    let refused = |call: &Call<'_>, error| (call.status_of(error), failed(error));
    let job = call.ctld.job(id);
    let job = job.ok_or_else(|| refused(call, SlurmError::InvalidJobId))?;
    check(call, job, fields).map_err(|trouble| (call.refusal(), trouble))?;
    let update = changes(call, job, fields).map_err(|trouble| (call.refusal(), trouble))?;
    let by = call.request.user.as_str().into();
    let done = call.ctld.update_job(call.now, id, &update, &by);
    done.map_err(|error| refused(call, error))
}

fn failed(error: SlurmError) -> Trouble {
    Trouble::slurm(error, "Job update requested failed", "slurm_update_job2()")
}

fn failed_with(number: i64, text: &str) -> Trouble {
    Trouble { number, text: text.into(), ..failed(SlurmError::AccessDenied) }
}

/// What slurmctld checks before it looks at the single fields.
fn check(call: &Call<'_>, job: &Job, fields: &Fields) -> Result<(), Trouble> {
    if job.submission.user.as_str() != call.request.user && !call.by_operator() {
        return Err(failed(SlurmError::UserIdMissing));
    }
    if job.state.is_end() {
        return Err(failed_with(2084, "Job has already finished"));
    }
    if fields.has("admin_comment") && !call.by_operator() {
        return Err(failed(SlurmError::AccessDenied));
    }
    let noted = |name: &str| {
        JOB_DESC.rows.iter().any(|(row, _, usage)| *row == name && *usage == Use::Noted)
    };
    match fields.names().find(|name| !CHANGEABLE.contains(name) && !noted(name)) {
        Some(name) => Err(not_modelled(&format!("changing the field `{name}` of a job"))),
        None => Ok(()),
    }
}

fn changes(call: &Call<'_>, job: &Job, fields: &Fields) -> Result<JobUpdate, Trouble> {
    let pending = job.state == JobState::Pending;
    let priority = fields.number("priority").and_then(Number::is);
    let hold = fields.flag("hold").or((priority == Some(0)).then_some(true));
    let partitions =
        fields.text("partition").map(|names| names.split(',').map(Into::into).collect());
    let begin = fields.number("begin_time").and_then(Number::is);
    let begin = begin.map(|seconds| Begin::At(call.ctld.epoch().time_of_unix(seconds)));
    Ok(JobUpdate {
        time_limit: fields.number("time_limit").map(time_limit),
        priority: priority.filter(|priority| 0 < *priority).and_then(|n| u32::try_from(n).ok()),
        // Slurm takes these for a running job too, and does nothing.
        hold: hold.filter(|_| pending),
        begin: begin.filter(|_| pending),
        comment: fields.raw_text("comment").map(str::to_owned),
        partitions,
        nodes: nodes(job, fields)?,
        ..JobUpdate::default()
    })
}

/// Fewest and most nodes; a running job's can't be changed.
fn nodes(job: &Job, fields: &Fields) -> Result<Option<(u32, Option<u32>)>, Trouble> {
    let (least, most) = node_range(fields)?;
    let least = count(fields, "minimum_nodes").or(least);
    let most = count(fields, "maximum_nodes").or(most);
    if least.is_none() && most.is_none() {
        return Ok(None);
    }
    if job.state != JobState::Pending {
        return Err(failed_with(2036, "Requested operation not supported on this system"));
    }
    Ok(Some((least.unwrap_or_else(|| job.min_nodes()), most)))
}

//! `POST job/{id}`: change a job.

use drawbridge_sim::{
    Begin, Job, JobState, JobTarget, JobUpdate, MemoryAsk, SlurmError, SlurmNode, Span,
    expand_hostlist,
};
use serde_json::{Value, json};

use super::{
    api::Version,
    call::{Answer, Call, UNREADABLE},
    fields::Fields,
    job_desc::JOB_DESC,
    number::Number,
    reply::{Reply, Trouble},
    submit::{count, node_range, time_limit},
};

/// The fields of a job that can be changed here.
#[rustfmt::skip]
const CHANGEABLE: &[&str] = &[
    "admin_comment", "begin_time", "comment", "constraints", "cpus_per_task", "deadline", "dependency",
    "excluded_nodes", "hold", "job_id", "licenses", "maximum_nodes", "memory_per_cpu",
    "memory_per_node", "minimum_cpus", "minimum_nodes", "name", "nice", "nodes", "partition", "priority", "requeue",
    "required_nodes", "tasks", "time_limit", "time_minimum",
];

const WHAT: &str = "Job update requested failed";
const WHO: &str = "slurm_update_job2()";

/// Changes a job.
pub(super) fn job(call: &mut Call<'_>) -> Answer {
    let target = call.job_target("op_handler_job")?;
    let empty = results(call);
    if let JobTarget::Tasks(..) = target {
        let what = "Rejecting request. Submit job update against Array Job's JobID instead of array \
                    task id.";
        return Err(empty.error(422, Trouble::query(what, "_job_post_update")));
    }
    let rejected = "Rejecting request. Failure parsing job update request.";
    let rejected = Trouble::query(rejected, "_job_post_update");
    let body = call.body();
    if body.refused {
        return Ok(empty.errors(UNREADABLE, body.troubles).error(UNREADABLE, rejected));
    }
    let reply = empty.warnings(&body.warnings);
    if body.broken {
        return Ok(reply.error(422, rejected));
    }
    call.connect(results(call), WHAT, WHO)?;
    let reply = match update(call, &target, &body.fields) {
        Ok(()) => reply,
        Err((status, trouble)) => reply.error(status, trouble),
    };
    Ok(reply.errors(UNREADABLE, body.troubles))
}

/// `results` is an empty list in the oldest version, and null in the others.
fn results(call: &Call<'_>) -> Reply {
    let none = if call.version() == Version::V40 { json!([]) } else { Value::Null };
    let reply = Reply::ok().with("results", none);
    reply
        .with("job_id", "".into())
        .with("step_id", "".into())
        .with("job_submit_user_msg", "".into())
}

fn update(call: &mut Call<'_>, target: &JobTarget, fields: &Fields) -> Result<(), (u16, Trouble)> {
    let refused = |call: &Call<'_>, error| (call.status_of(error), failed(error));
    let job = call.ctld.jobs_of(target).next();
    let job = job.ok_or_else(|| refused(call, SlurmError::InvalidJobId))?;
    check(call, job, fields).map_err(|trouble| (call.refusal(), trouble))?;
    let update = changes(call, job, fields).map_err(|trouble| (call.refusal(), trouble))?;
    let by = call.request.user.as_str().into();
    let done = call.ctld.update_job(call.now, target.clone(), &update, &by);
    done.map_err(|error| refused(call, error))
}

fn failed(error: SlurmError) -> Trouble {
    Trouble::slurm(error, WHAT, WHO)
}

/// What slurmctld checks before it looks at the single fields.
fn check(call: &Call<'_>, job: &Job, fields: &Fields) -> Result<(), Trouble> {
    if job.submission.user.as_str() != call.request.user && !call.by_operator() {
        return Err(failed(SlurmError::UserIdMissing));
    }
    if job.state.is_end() {
        return Err(failed(SlurmError::JobFinished));
    }
    if fields.has("admin_comment") && !call.by_operator() {
        return Err(failed(SlurmError::AccessDenied));
    }
    let noted = |name: &str| JOB_DESC.noted.contains(&name);
    match fields.names().find(|name| !CHANGEABLE.contains(name) && !noted(name)) {
        Some(name) => Err(Trouble::not_modelled(
            "drawbridge",
            &format!("changing the field `{name}` of a job"),
        )),
        None => Ok(()),
    }
}

fn changes(call: &Call<'_>, job: &Job, fields: &Fields) -> Result<JobUpdate, Trouble> {
    let pending = job.state == JobState::Pending;
    let at = |seconds| Begin::At(call.ctld.epoch().time_of_unix(seconds));
    let number = |key| fields.number(key).and_then(Number::is);
    let text = |key| fields.raw_text(key).map(str::to_owned);
    let priority = number("priority");
    let hold = fields.flag("hold").or((priority == Some(0)).then_some(true));
    let partitions =
        fields.text("partition").map(|names| names.split(',').map(Into::into).collect());
    let deadline = fields.int("deadline").and_then(|seconds| u64::try_from(seconds).ok());
    Ok(JobUpdate {
        time_limit: fields.number("time_limit").map(time_limit),
        time_min: number("time_minimum").map(Span::mins),
        priority: priority.filter(|priority| 0 < *priority).and_then(|n| u32::try_from(n).ok()),
        // Slurm takes these for a running job too, and does nothing.
        hold: hold.filter(|_| pending),
        begin: number("begin_time").map(at).filter(|_| pending),
        deadline: deadline.filter(|seconds| 0 < *seconds).map(at),
        name: text("name"),
        comment: text("comment"),
        admin_comment: text("admin_comment"),
        partitions,
        nodes: nodes(job, fields)?,
        tasks: count(fields, "tasks"),
        cpus: count(fields, "minimum_cpus"),
        cpus_per_task: count(fields, "cpus_per_task"),
        memory: number("memory_per_node")
            .map(MemoryAsk::PerNode)
            .or(number("memory_per_cpu").map(MemoryAsk::PerCpu)),
        constraints: text("constraints"),
        dependency: text("dependency"),
        licenses: text("licenses"),
        nice: fields.int("nice").and_then(|nice| i32::try_from(nice).ok()),
        requeue: fields.flag("requeue"),
        required_nodes: names(fields, "required_nodes")?,
        excluded_nodes: names(fields, "excluded_nodes")?,
        ..JobUpdate::default()
    })
}

/// An empty list changes nothing; a list with an empty name takes all names away.
fn names(fields: &Fields, key: &str) -> Result<Option<Vec<SlurmNode>>, Trouble> {
    let names = fields.list(key);
    if names.is_empty() {
        return Ok(None);
    }
    let names = expand_hostlist(&names.join(","));
    let names = names.map_err(|_| failed(SlurmError::InvalidNodeName))?;
    Ok(Some(names.into_iter().map(SlurmNode::from).collect()))
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
        return Err(failed(SlurmError::NotSupported));
    }
    Ok(Some((least.unwrap_or_else(|| job.min_nodes()), most)))
}

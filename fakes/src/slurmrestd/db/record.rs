//! One job as slurmdbd shows it.

use drawbridge_sim::{Allocation, ArrayTasks, Job, JobRecord, JobState, MemoryAsk, Slurmdbd, Time};
use serde_json::{Value, json};

use crate::slurmrestd::{
    api::infinite,
    call::Call,
    exit_code::{exit_code, success},
    job_resources::{asked_tres, held_tres},
    reply::merged,
    tres::Tres,
};

use super::cluster::tres_json;

/// The record.
pub(super) fn record_json(call: &Call<'_>, record: &JobRecord) -> Value {
    let job = &record.job;
    merged([identity(call, job), times(call, record), outcome(call, record), amounts(call, job)])
}

fn identity(call: &Call<'_>, job: &Job) -> Value {
    let asked = &job.submission;
    let cluster = &call.ctld.config().params().cluster_name;
    let account = asked.account.as_ref();
    let association = account.zip(call.dbd.as_deref());
    let association =
        association.and_then(|(account, dbd)| dbd.find(account, Some(&asked.user), None));
    json!({
        "job_id": job.id.0,
        "name": asked.name,
        "user": asked.user,
        "group": asked.user,
        "account": account,
        "association": { "cluster": cluster, "id": association.map_or(0, |it| it.id) },
        "cluster": cluster,
        "partition": job.partition,
        "qos": asked.qos,
        "qosreq": asked.qos.as_ref().filter(|_| !asked.defaulted.qos),
        "array": array(job),
        "comment": { "administrator": asked.admin_comment, "job": job.comment },
        "constraints": asked.constraints,
        "licenses": asked.licenses,
        "wckey": { "wckey": asked.wckey },
        "working_directory": asked.working_directory,
        "priority": job.priority,
        "hold": job.priority == 0,
        "restart_cnt": job.restarts,
        "required": required(job),
        "exclusive": if asked.exclusive { "NODE" } else { "NO" },
        "oversubscribe": if asked.oversubscribe { "YES" } else { "NO" },
        "stdout": "/dev/null", "stderr": "/dev/null",
        "stdout_expanded": "/dev/null", "stderr_expanded": "/dev/null",
    })
}

fn array(job: &Job) -> Value {
    let Some(place) = &job.array else {
        return json!({ "job_id": 0 });
    };
    let task = match &place.tasks {
        ArrayTasks::One(task) => Some(*task),
        ArrayTasks::Several(_) => None,
    };
    json!({
        "job_id": place.job.0,
        "limits": { "max": { "running": { "tasks": place.throttle } } },
        "task_id": task,
        "task": if task.is_none() { place.task_text() } else { String::new() },
    })
}

fn required(job: &Job) -> Value {
    let (per_cpu, per_node) = match job.submission.memory {
        MemoryAsk::Default => (None, Some(0)),
        MemoryAsk::PerNode(mib) => (None, Some(mib)),
        MemoryAsk::PerCpu(mib) => (Some(mib), None),
    };
    json!({ "CPUs": job.cpus(), "memory_per_cpu": per_cpu, "memory_per_node": per_node })
}

fn end_of(record: &JobRecord) -> Option<Time> {
    record.ended.or(record.job.end_time)
}

fn times(call: &Call<'_>, record: &JobRecord) -> Value {
    let job = &record.job;
    let at = |time: Option<Time>| time.map_or(0, |time| call.unix(time));
    let started = job.start_time.or(job.state.is_end().then_some(job.end_time).flatten());
    let until = end_of(record).unwrap_or(call.now);
    let elapsed = job.start_time.map_or(0, |start| until.since(start).as_secs());
    let planned = job.eligible_time.zip(started).map(|(from, to)| to.since(from).as_secs());
    json!({ "time": {
        "submission": at(Some(job.submit_time)),
        "eligible": at(job.eligible_time),
        "start": at(started),
        "end": at(end_of(record)),
        "elapsed": elapsed,
        "planned": planned,
        "suspended": job.suspended.total.as_secs(),
        "limit": job.time_limit.map_or_else(infinite, |limit| (limit.as_secs() / 60).into()),
    }})
}

fn outcome(call: &Call<'_>, record: &JobRecord) -> Value {
    let job = &record.job;
    let state = if record.requeued { "REQUEUED" } else { job.state.as_str() };
    let mut flags = vec![];
    if job.start_time.is_some() {
        flags.push(if record.backfilled { "STARTED_ON_BACKFILL" } else { "STARTED_ON_SCHEDULE" });
        flags.push("START_RECEIVED");
    }
    json!({
        "state": { "current": [state], "reason": job.reason.word() },
        "exit_code": exit_code(job.exit),
        "derived_exit_code": success(),
        "flags": flags,
        "kill_request_user": if job.state == JobState::Cancelled { job.submission.user.as_str() } else { "" },
        "steps": batch_step(call, record).into_iter().collect::<Vec<_>>(),
    })
}

fn amounts(call: &Call<'_>, job: &Job) -> Value {
    let dbd = call.dbd.as_deref();
    let allocation = job.allocation.as_deref();
    let list = |tres: &Tres| dbd.map_or_else(Vec::new, |dbd| counted(dbd, tres));
    json!({
        "allocation_nodes": allocation.map_or(0, |held| held.nodes.len()),
        "nodes": allocation.map_or_else(|| "None assigned".into(), Allocation::node_list),
        "tres": {
            "allocated": allocation.map_or_else(Vec::new, |held| list(&held_tres(held))),
            "requested": list(&asked_tres(call.ctld, job)),
        },
    })
}

/// Amounts with slurmdbd's numbers for what they are of.
fn counted(dbd: &Slurmdbd, tres: &Tres) -> Vec<Value> {
    let amount = |name: &str| match name {
        "cpu" => tres.cpus,
        "mem" => tres.memory_mib,
        "node" => tres.nodes.unwrap_or(0),
        "billing" if tres.billing => tres.cpus,
        other => {
            let gres = other.strip_prefix("gres/").unwrap_or_default();
            tres.gres.iter().find(|(name, _)| name == gres).map_or(0, |(_, count)| *count)
        }
    };
    let all = dbd.tres().iter().map(|it| (it, amount(&it.full_name())));
    all.filter(|(_, count)| 0 < *count).map(|(it, count)| tres_json(it, count)).collect()
}

/// A step isn't billed.
fn step_tres(call: &Call<'_>, held: &Allocation) -> Vec<Value> {
    let tres = Tres { billing: false, ..held_tres(held) };
    call.dbd.as_deref().map_or_else(Vec::new, |dbd| counted(dbd, &tres))
}

/// The script itself is a step, as far as slurmdbd is concerned.
fn batch_step(call: &Call<'_>, record: &JobRecord) -> Option<Value> {
    let job = &record.job;
    let (start, held) = (job.start_time?, job.allocation.as_deref()?);
    let first = held.nodes.first()?.node.as_str();
    let end = end_of(record);
    let elapsed = end.unwrap_or(call.now).since(start).as_secs();
    Some(json!({
        "step": { "id": format!("{}.batch", job.id), "name": "batch" },
        "time": {
            "start": call.unix(start),
            "end": end.map_or(0, |end| call.unix(end)),
            "elapsed": elapsed,
            "limit": infinite(),
        },
        "state": [job.state.as_str()],
        "exit_code": exit_code(job.exit),
        "nodes": { "count": 1, "range": first, "list": [first] },
        "tasks": { "count": 1 },
        "CPU": { "requested_frequency": { "min": 0, "max": 0 }, "governor": "0" },
        "statistics": { "energy": { "consumed": 0 } },
        "task": { "distribution": "Unknown" },
        "tres": { "allocated": step_tres(call, held) },
    }))
}

//! One job as slurmrestd prints it, every field of the recording.
//!
//! What the model doesn't know has the value that an ordinary job has in the recording; those fields
//! stand in the tables at the end.

use std::sync::LazyLock;

use drawbridge_sim::{
    GresAsk, GresPer, Job, JobState, MemoryAsk, Reason, SlurmNode, Slurmctld, Span, Time,
    fold_hostlist,
};
use serde_json::{Map, Value, json};

use super::{
    exit_code::{exit_code, success},
    job_resources::{asked_tres, gres_detail, held_tres, job_resources},
    number::{infinite, number, unset},
    users,
};

/// A job without limit is given this long in its expected end.
const YEAR: Span = Span::hours(365 * 24);

/// Puts fields into a dictionary. Values move in: `json!` would make a copy of each.
macro_rules! put {
    ($map:expr, $($key:literal: $value:expr),+ $(,)?) => {
        $($map.insert($key.into(), $value.into());)+
    };
}

/// The job, with its allocation core by core where `detail` is asked for.
pub(super) fn job_json(ctld: &Slurmctld, job: &Job, detail: bool) -> Value {
    let mut map = CONSTANTS.clone();
    identity(&mut map, ctld, job);
    progress(&mut map, job);
    times(&mut map, ctld, job);
    request(&mut map, job);
    sizes(&mut map, job);
    resources(&mut map, ctld, job, detail);
    map.into()
}

fn identity(map: &mut Map<String, Value>, ctld: &Slurmctld, job: &Job) {
    let asked = &job.submission;
    let user = asked.user.as_str();
    let account = asked.account.as_ref().map_or("", |account| account.as_str());
    put!(map,
        "job_id": job.id.0,
        "name": asked.name.as_str(),
        "user_name": user,
        "user_id": users::id(user),
        "group_name": user,
        "group_id": users::id(user),
        "mail_user": user,
        "account": account,
        "qos": asked.qos.as_deref().unwrap_or(""),
        "wckey": asked.wckey.as_deref().unwrap_or(""),
        "mcs_label": asked.mcs_label.as_deref().unwrap_or(""),
        "partition": partition(job),
        "cluster": ctld.config().params().cluster_name.as_str(),
        "comment": job.comment.as_str(),
        "admin_comment": asked.admin_comment.as_str(),
        "current_working_directory": asked.working_directory.as_str(),
    );
}

/// All that it named while it waits, the one it runs in afterwards.
fn partition(job: &Job) -> String {
    let names = &job.submission.partitions;
    if job.state != JobState::Pending || names.len() < 2 {
        return job.partition.to_string();
    }
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(",")
}

fn progress(map: &mut Map<String, Value>, job: &Job) {
    put!(map,
        "job_state": job.state_flags().collect::<Value>(),
        "state_reason": job.reason.word(),
        "state_description": job.reason.description(),
        "exit_code": exit_code(job.exit),
        "derived_exit_code": success(),
        "hold": job.priority == 0,
        "priority": number(job.priority.into()),
        "nice": job.submission.nice,
        "requeue": job.requeue,
        "restart_cnt": job.restarts,
        "dependency": job.dependency().unwrap_or_default(),
        "flags": flags(job),
    );
}

fn flags(job: &Job) -> Vec<&'static str> {
    let asked = &job.submission;
    let flags = [
        ("EXACT_TASK_COUNT_REQUESTED", asked.tasks.is_some()),
        ("ACCRUE_COUNT_CLEARED", job.start_time.is_some()),
        ("JOB_WAS_RUNNING", job.state == JobState::Running),
        ("EXACT_MEMORY_REQUESTED", asked.memory != MemoryAsk::Default),
        ("USING_DEFAULT_ACCOUNT", asked.account.is_none()),
        ("USING_DEFAULT_QOS", asked.qos.is_none()),
        ("USING_DEFAULT_WCKEY", asked.wckey.is_none()),
        ("DEPENDENT", waits_for_leave(job)),
    ];
    let set = flags.into_iter().filter(|(_, set)| *set);
    set.map(|(flag, _)| flag).collect()
}

/// Held, or waiting for another job.
fn waits_for_leave(job: &Job) -> bool {
    let waits = job.state == JobState::Pending && job.eligible_time.is_none();
    waits && job.reason != Reason::BeginTime
}

fn times(map: &mut Map<String, Value>, ctld: &Slurmctld, job: &Job) {
    let epoch = ctld.epoch();
    let at = |time: Option<Time>| number(time.map_or(0, |time| epoch.unix(time)));
    let start = start_time(job);
    let later = job.reason == Reason::BeginTime;
    let eligible = if later { job.begin_time } else { job.eligible_time };
    put!(map,
        "submit_time": at(Some(job.submit_time)),
        "eligible_time": at(eligible),
        "accrue_time": at(eligible.filter(|_| !later)),
        "start_time": at(start),
        "end_time": at(end_time(job, start)),
        "last_sched_evaluation": at(Some(job.start_time.unwrap_or(job.submit_time))),
        "time_limit": job.time_limit.map_or_else(infinite, |limit| number(limit.as_secs() / 60)),
    );
}

/// When it started, or should; a job that ended before it started did both at once.
fn start_time(job: &Job) -> Option<Time> {
    if job.state != JobState::Pending {
        return job.start_time.or(job.end_time);
    }
    match job.reason == Reason::BeginTime {
        true => job.begin_time,
        false => job.expected_start,
    }
}

fn end_time(job: &Job, start: Option<Time>) -> Option<Time> {
    let limit = job.time_limit.unwrap_or(YEAR);
    job.end_time.or_else(|| Some(start? + limit))
}

fn request(map: &mut Map<String, Value>, job: &Job) {
    let asked = &job.submission;
    let hosts = |names: &[SlurmNode]| {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        fold_hostlist(&names)
    };
    let gres = |per: GresPer| gres_text(&asked.gres, per);
    let shared: &[&str] = if asked.exclusive { &["none"] } else { &[] };
    put!(map,
        "required_nodes": hosts(&asked.required_nodes),
        "excluded_nodes": hosts(&asked.excluded_nodes),
        "features": asked.constraints.as_deref().unwrap_or(""),
        "shared": shared,
        "tres_per_node": gres(GresPer::Node),
        "tres_per_task": gres(GresPer::Task),
        "tres_per_job": gres(GresPer::Job),
    );
}

/// `gres/gpu:a100:2`.
fn gres_text(asks: &[GresAsk], per: GresPer) -> String {
    let words = asks.iter().filter(|ask| ask.per == per).map(|ask| {
        let kind = ask.kind.as_ref().map_or(String::new(), |kind| format!(":{kind}"));
        format!("gres/{}{kind}:{}", ask.name, ask.count)
    });
    words.collect::<Vec<_>>().join(",")
}

fn sizes(map: &mut Map<String, Value>, job: &Job) {
    let asked = &job.submission;
    let (per_cpu, per_node) = match asked.memory {
        MemoryAsk::Default => (unset(), number(0)),
        MemoryAsk::PerNode(mib) => (unset(), number(mib)),
        MemoryAsk::PerCpu(mib) => (number(mib), unset()),
    };
    let cpus_per_task = u64::from(asked.cpus_per_task.unwrap_or(1));
    let tasks_per_node = u64::from(asked.ntasks_per_node.unwrap_or(0));
    let most = asked.max_nodes.filter(|_| job.start_time.is_none());
    put!(map,
        "cpus": number(job.cpus().into()),
        "node_count": number(node_count(job)),
        "max_nodes": number(most.unwrap_or(0).into()),
        "tasks": number(job.tasks().into()),
        "tasks_per_node": number(tasks_per_node),
        "cpus_per_task": number(cpus_per_task),
        "minimum_cpus_per_node": number(cpus_per_task * tasks_per_node.max(1)),
        "memory_per_cpu": per_cpu,
        "memory_per_node": per_node,
    );
}

fn node_count(job: &Job) -> u64 {
    let nodes = match &job.allocation {
        Some(allocation) => return allocation.nodes.len() as u64,
        None => job.submission.max_nodes.unwrap_or_else(|| job.min_nodes()),
    };
    nodes.max(job.min_nodes()).into()
}

fn resources(map: &mut Map<String, Value>, ctld: &Slurmctld, job: &Job, detail: bool) {
    let allocation = job.allocation.as_deref();
    let nodes = allocation.map_or(String::new(), |allocation| allocation.node_list());
    let host = allocation.and_then(|allocation| allocation.nodes.first());
    let details = allocation.filter(|_| detail);
    let in_use = details.filter(|_| job.holds_nodes());
    let billed = allocation.map(|allocation| f64::from(allocation.cpus()));
    put!(map,
        "nodes": nodes,
        "batch_host": host.map_or("", |share| share.node.as_str()),
        "scheduled_nodes": "",
        "job_resources": details.map(|held| job_resources(ctld, held, job.submission.exclusive)),
        "gres_detail": in_use.map_or_else(Vec::new, |held| gres_detail(ctld, held)),
        "tres_req_str": asked_tres(ctld, job).text(),
        "tres_alloc_str": allocation.map_or_else(String::new, |held| held_tres(held).text()),
        "billable_tres": json!({
            "set": billed.is_some() || job.state.is_end(),
            "infinite": false,
            "number": billed.unwrap_or(0.0),
        }),
    );
}

/// Made once: a list of jobs has them for each.
static CONSTANTS: LazyLock<Map<String, Value>> = LazyLock::new(constants);

fn constants() -> Map<String, Value> {
    let empty = EMPTY_TEXT.iter().map(|key| (*key, json!("")));
    let zeroes = ZERO.iter().map(|key| (*key, number(0)));
    let unsets = UNSET.iter().map(|key| (*key, unset()));
    let endless = INFINITE.iter().map(|key| (*key, infinite()));
    let all = empty.chain(zeroes).chain(unsets).chain(endless);
    let mut map: Map<String, Value> = all.map(|(key, value)| (key.into(), value)).collect();
    put!(map,
        "allocating_node": "localhost",
        "association_id": 0,
        "batch_flag": true,
        "contiguous": false,
        "core_spec": 0,
        "job_size_str": [(); 0],
        "mail_type": [(); 0],
        "maximum_switch_wait_time": 0,
        "power": json!({ "flags": [] }),
        "priority_by_partition": [(); 0],
        "profile": ["NOT_SET"],
        "reboot": false,
        "required_switches": 0,
        "sockets_per_board": 0,
        "standard_error": "/dev/null",
        "standard_input": "/dev/null",
        "standard_output": "/dev/null",
        "thread_spec": 32766,
    );
    map
}

#[rustfmt::skip]
const EMPTY_TEXT: &[&str] = &[
    "array_task_string", "batch_features", "burst_buffer", "burst_buffer_state", "cluster_features",
    "command", "container", "container_id", "cpus_per_tres", "cron", "extra", "failed_node",
    "federation_origin", "federation_siblings_active", "federation_siblings_viable",
    "het_job_id_set", "licenses", "memory_per_tres", "network", "prefer", "resv_name",
    "selinux_context", "system_comment", "tres_bind", "tres_freq", "tres_per_socket",
];

#[rustfmt::skip]
const ZERO: &[&str] = &[
    "array_job_id", "array_max_tasks", "deadline", "delay_boot", "het_job_id", "het_job_offset",
    "max_cpus", "minimum_tmp_disk_per_node", "pre_sus_time", "preempt_time", "preemptable_time",
    "resize_time", "suspend_time", "tasks_per_board", "tasks_per_tres", "time_minimum",
];

#[rustfmt::skip]
const UNSET: &[&str] = &[
    "array_task_id", "cores_per_socket", "cpu_frequency_governor", "cpu_frequency_maximum",
    "cpu_frequency_minimum", "sockets_per_node", "threads_per_core",
];

const INFINITE: &[&str] = &["tasks_per_core", "tasks_per_socket"];

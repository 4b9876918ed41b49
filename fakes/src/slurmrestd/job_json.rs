//! One job as slurmrestd prints it, every field of the recording.
//!
//! What the model doesn't know has the value that an ordinary job has in the recording; those fields
//! stand in the tables at the end, unless it is what is printed for lack of a value.

use std::sync::LazyLock;

use drawbridge_sim::{
    ArrayTasks, GresAsk, GresPer, Job, JobState, MemoryAsk, Reason, Release, SlurmNode, Slurmctld,
    Span, Time, fold_hostlist,
};
use serde_json::{Map, Value, json};

use super::{
    api::{Version, infinite},
    exit_code::{exit_code, success},
    job_resources::{asked_tres, gres_detail, held_tres, job_resources, old_job_resources},
    jobs::Associations,
};

/// A job without limit is given this long in its expected end.
const YEAR: Span = Span::hours(365 * 24);

/// Puts fields into a dictionary. Values move in: `json!` would make a copy of each.
macro_rules! put {
    ($map:expr, $($key:literal: $value:expr),+ $(,)?) => {
        $($map.insert($key.into(), $value.into());)+
    };
}

/// What is needed to print jobs.
#[derive(Debug)]
pub(super) struct JobView<'a> {
    /// The model.
    pub(super) ctld: &'a Slurmctld,
    /// When.
    pub(super) now: Time,
    /// What jobs are charged to.
    pub(super) associations: &'a Associations,
    /// How it is printed.
    pub(super) version: Version,
    /// With allocations core by core.
    pub(super) detail: bool,
}

/// The job.
pub(super) fn job_json(view: &JobView<'_>, job: &Job) -> Value {
    let mut map = CONSTANTS.clone();
    identity(&mut map, view, job);
    array(&mut map, job);
    progress(&mut map, view.version, job);
    output(&mut map, job);
    times(&mut map, view, job);
    request(&mut map, view.version, job);
    sizes(&mut map, view, job);
    resources(&mut map, view, job);
    map.into()
}

fn identity(map: &mut Map<String, Value>, view: &JobView<'_>, job: &Job) {
    let ctld = view.ctld;
    let asked = &job.submission;
    let user = asked.user.as_str();
    let account = asked.account.as_ref().map_or("", |account| account.as_str());
    put!(map,
        "job_id": job.id.0,
        "name": asked.name.as_str(),
        "user_name": user,
        "user_id": asked.user.number(),
        "group_name": user,
        "group_id": asked.user.number(),
        "mail_user": user,
        "account": account,
        "association_id": view.associations.number(job),
        "step_id": json!({ "job_id": job.id.0, "step_id": "TBD" }),
        "qos": asked.qos.as_deref().unwrap_or(""),
        "wckey": asked.wckey.as_deref().unwrap_or(""),
        "mcs_label": asked.mcs_label.as_deref().unwrap_or(""),
        "partition": job.squeue_partition(),
        "cluster": ctld.config().params().cluster_name.as_str(),
        "comment": job.comment.as_str(),
        "admin_comment": asked.admin_comment.as_str(),
        "current_working_directory": asked.working_directory.as_str(),
    );
}

/// Its place in an array.
fn array(map: &mut Map<String, Value>, job: &Job) {
    let Some(place) = &job.array else {
        return;
    };
    put!(map, "array_job_id": place.job.0, "array_max_tasks": place.throttle);
    match &place.tasks {
        ArrayTasks::One(task) => {
            put!(map, "array_task_id": *task);
        }
        ArrayTasks::Several(_) => {
            put!(map, "array_task_string": place.task_text());
        }
    }
}

fn progress(map: &mut Map<String, Value>, version: Version, job: &Job) {
    put!(map,
        "batch_flag": !job.is_external(),
        "job_state": job.state_flags().collect::<Value>(),
        "state_reason": job.reason.word(),
        "state_description": job.reason.description(),
        "exit_code": exit_code(job.exit),
        "derived_exit_code": success(),
        "hold": job.priority == 0,
        "priority": job.priority,
        "nice": job.submission.nice,
        "requeue": job.requeue,
        "restart_cnt": job.restarts,
        "dependency": job.dependency().unwrap_or_default(),
        "flags": flags(job, version),
    );
}

fn flags(job: &Job, version: Version) -> Vec<&'static str> {
    let asked = &job.submission;
    let flags = [
        ("EXACT_TASK_COUNT_REQUESTED", asked.tasks.is_some()),
        ("ACCRUE_COUNT_CLEARED", job.start_time.is_some()),
        ("JOB_WAS_RUNNING", job.state == JobState::Running),
        ("EXTERNAL_JOB", job.is_external() && Version::V43 <= version),
        ("EXACT_MEMORY_REQUESTED", asked.memory != MemoryAsk::Default),
        ("USING_DEFAULT_PARTITION", asked.partitions.is_empty()),
        ("PARTITION_ASSIGNED", asked.partitions.is_empty()),
        ("USING_DEFAULT_ACCOUNT", asked.account.is_none() || asked.defaulted.account),
        ("USING_DEFAULT_QOS", asked.qos.is_none() || asked.defaulted.qos),
        ("USING_DEFAULT_WCKEY", asked.wckey.is_none()),
        ("DEPENDENT", waits_for_leave(job)),
    ];
    let set = flags.into_iter().filter(|(_, set)| *set);
    set.map(|(flag, _)| flag).collect()
}

/// Where its script writes and reads.
fn output(map: &mut Map<String, Value>, job: &Job) {
    let file = if job.is_external() { "" } else { "/dev/null" };
    put!(map,
        "standard_error": file,
        "standard_input": file,
        "standard_output": file,
        "stderr_expanded": file,
        "stdout_expanded": file,
    );
}

/// Held, or waiting for another job.
fn waits_for_leave(job: &Job) -> bool {
    let waits = job.state == JobState::Pending && job.eligible_time.is_none();
    waits && job.reason != Reason::BeginTime
}

fn times(map: &mut Map<String, Value>, view: &JobView<'_>, job: &Job) {
    let epoch = view.ctld.epoch();
    let at = |time: Option<Time>| time.map_or(0, |time| epoch.unix(time));
    let later = job.state == JobState::Pending && Some(view.now) < job.begin_time;
    let start = start_time(job, later);
    let eligible = if later { job.begin_time } else { job.eligible_time };
    put!(map,
        "submit_time": at(Some(job.submit_time)),
        "eligible_time": at(eligible),
        "accrue_time": at(eligible.filter(|_| !later)),
        "start_time": at(start),
        "end_time": at(end_time(job, start)),
        "last_sched_evaluation": at(Some(job.start_time.unwrap_or(job.submit_time))),
        "time_limit": job.time_limit.map_or_else(infinite, |limit| (limit.as_secs() / 60).into()),
    );
}

/// When it started, or should; a job that ended before it started did both at once.
fn start_time(job: &Job, later: bool) -> Option<Time> {
    if job.state != JobState::Pending {
        return job.start_time.or(job.end_time);
    }
    match later {
        true => job.begin_time,
        false => job.expected_start,
    }
}

fn end_time(job: &Job, start: Option<Time>) -> Option<Time> {
    let limit = job.time_limit.unwrap_or(YEAR);
    job.end_time.or_else(|| Some(start? + limit))
}

fn request(map: &mut Map<String, Value>, version: Version, job: &Job) {
    let asked = &job.submission;
    let listed =
        |names: &[SlurmNode]| names.iter().map(SlurmNode::as_str).collect::<Vec<_>>().join(",");
    let hosts = |names: &[SlurmNode]| {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        fold_hostlist(&names)
    };
    let gres = |per: GresPer| gres_text(&asked.gres, per);
    // The newest version doesn't print how nodes are shared, the oldest have two fields for it.
    let shared: &[&str] = match (version, asked.exclusive, asked.exclusive_user) {
        (Version::V45, _, _) | (_, false, false) => &[],
        (_, true, _) => &["none"],
        (_, false, true) => &["user"],
    };
    let exclusive: &[&str] = match (asked.exclusive, asked.exclusive_user) {
        (true, _) => &["true"],
        (false, true) => &["user"],
        (false, false) => &[],
    };
    put!(map,
        "required_nodes": hosts(&asked.required_nodes),
        // As it was given: a list over the wire is joined, and nobody folds it.
        "excluded_nodes": listed(&asked.excluded_nodes),
        "features": asked.constraints.as_deref().unwrap_or(""),
        "shared": shared,
        "exclusive": exclusive,
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

fn sizes(map: &mut Map<String, Value>, view: &JobView<'_>, job: &Job) {
    let asked = &job.submission;
    let (per_cpu, per_node) = match asked.memory {
        MemoryAsk::Default => (None, Some(0)),
        MemoryAsk::PerNode(mib) => (None, Some(mib)),
        MemoryAsk::PerCpu(mib) => (Some(mib), None),
    };
    let cpus_per_task = u64::from(asked.cpus_per_task.unwrap_or(1));
    let tasks_per_node = u64::from(asked.ntasks_per_node.unwrap_or(0));
    // 26.05 fills in what a job of one node means.
    let implied = view.ctld.config().release() == Release::V26_05 && job.min_nodes() == 1;
    let most = asked.max_nodes.or(implied.then_some(1)).filter(|_| job.start_time.is_none());
    put!(map,
        "cpus": job.cpus(),
        "node_count": node_count(job),
        "max_nodes": most.unwrap_or(0),
        "tasks": job.tasks(),
        "tasks_per_node": tasks_per_node,
        "cpus_per_task": cpus_per_task,
        "minimum_cpus_per_node": cpus_per_task * tasks_per_node.max(1),
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

fn resources(map: &mut Map<String, Value>, view: &JobView<'_>, job: &Job) {
    let ctld = view.ctld;
    let allocation = job.allocation.as_deref();
    let nodes = allocation.map_or(String::new(), |allocation| allocation.node_list());
    let host = allocation.and_then(|allocation| allocation.nodes.first());
    let details = allocation.filter(|_| view.detail);
    let in_use = details.filter(|_| job.holds_nodes());
    let billed = allocation.map(|allocation| f64::from(allocation.cpus()));
    let whole = job.submission.exclusive;
    let details = match (details, view.version) {
        (Some(held), Version::V40) => old_job_resources(ctld, held),
        (Some(held), version) => job_resources(ctld, version, held, whole),
        (None, Version::V40) => json!({}),
        (None, _newer) => Value::Null,
    };
    put!(map,
        "nodes": nodes,
        "batch_host": host.map_or("", |share| share.node.as_str()),
        "scheduled_nodes": "",
        "job_resources": details,
        "gres_detail": in_use.map_or_else(Vec::new, |held| gres_detail(ctld, job, held)),
        "tres_req_str": asked_tres(ctld, job).text(),
        "tres_alloc_str": allocation.map_or_else(String::new, |held| held_tres(held).text()),
        "billable_tres": billed.or(job.state.is_end().then_some(0.0)),
        "oversubscribe": !whole,
    );
}

/// Made once: a list of jobs has them for each.
static CONSTANTS: LazyLock<Map<String, Value>> = LazyLock::new(constants);

fn constants() -> Map<String, Value> {
    let zeroes = ZERO.iter().map(|key| ((*key).into(), 0.into()));
    let mut map: Map<String, Value> = zeroes.collect();
    put!(map,
        "allocating_node": "localhost",
        "profile": ["NOT_SET"],
        "tasks_per_core": infinite(),
        "tasks_per_socket": infinite(),
        "thread_spec": 32766,
    );
    map
}

/// Numbers that could be unset and are not.
#[rustfmt::skip]
const ZERO: &[&str] = &[
    "array_job_id", "array_max_tasks", "deadline", "delay_boot", "het_job_id", "het_job_offset",
    "max_cpus", "minimum_tmp_disk_per_node", "pre_sus_time", "preempt_time", "preemptable_time",
    "resize_time", "suspend_time", "tasks_per_board", "tasks_per_tres", "time_minimum",
];

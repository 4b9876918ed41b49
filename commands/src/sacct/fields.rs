//! What `sacct` can show of a job in the records, and of its steps.

use std::collections::BTreeMap;

use drawbridge_bridge::slurm::types::{AccountingJob, CpuTime, ExitCode, Number, Step, Tres};

use crate::{
    amounts::{Shorten, Unit, amount},
    arrays,
    moments::Clock,
    spans,
    states::job::JobState,
};

/// What all lines have in common.
pub(super) struct View {
    pub(super) clock: Clock,
    pub(super) shorten: Shorten,
    /// Numbers of users, where the system knows them.
    pub(super) users: BTreeMap<String, u32>,
}

/// A line: a job, or one of its steps.
pub(super) struct Row<'a> {
    pub(super) job: &'a AccountingJob,
    pub(super) step: Option<&'a Step>,
    pub(super) view: &'a View,
}

/// Something that can be shown.
pub(super) struct Field {
    /// Bytes; less than nothing stands to the left.
    pub(super) width: i32,
    pub(super) name: &'static str,
    show: fn(&Row<'_>) -> Option<String>,
    /// Whether it is a number, which is never cut.
    number: bool,
}

const fn text(width: i32, name: &'static str, show: fn(&Row<'_>) -> Option<String>) -> Field {
    Field { width, name, show, number: false }
}

const fn number(width: i32, name: &'static str, show: fn(&Row<'_>) -> Option<String>) -> Field {
    Field { width, name, show, number: true }
}

#[rustfmt::skip]
pub(super) static FIELDS: &[Field] = &[
    text(10, "Account", |r| Some(r.job.account.clone())),
    text(15, "AdminComment", |r| of_job(r, &r.job.comment.administrator)),
    number(10, "AllocCPUS", |r| Some(cpus(r).to_string())),
    text(10, "AllocNodes", |r| Some(r.step.map_or(r.job.allocation_nodes, |step| step.nodes.count).to_string())),
    text(10, "AllocTRES", |r| Some(tres(r, r.step.map_or(&r.job.tres.allocated, |step| &step.tres.allocated)))),
    number(7, "AssocID", |r| Some(r.job.association.id.to_string())),
    text(10, "Cluster", |r| Some(r.job.cluster.clone())),
    text(14, "Comment", |r| of_job(r, &r.job.comment.job)),
    text(19, "Constraints", |r| of_job(r, &r.job.constraints)),
    text(19, "Container", |r| of_job(r, &r.job.container)),
    text(10, "CPUTime", |r| Some(spans::full(cpus(r) * elapsed(r)))),
    number(10, "CPUTimeRAW", |r| Some((cpus(r) * elapsed(r)).to_string())),
    text(15, "DerivedExitCode", |r| only_job(r, |r| exit_code(&r.job.derived_exit_code))),
    text(10, "Elapsed", |r| Some(spans::full(elapsed(r)))),
    number(10, "ElapsedRaw", |r| Some(elapsed(r).to_string())),
    text(19, "Eligible", |r| only_job(r, |r| r.view.clock.show(r.job.time.eligible))),
    text(19, "End", |r| Some(r.view.clock.show(r.step.map_or(r.job.time.end, |step| at(step.time.end))))),
    text(8, "ExitCode", |r| r.step.map_or_else(|| Some(exit_code(&r.job.exit_code)), step_exit_code)),
    text(14, "Extra", |r| of_job(r, &r.job.extra)),
    text(8, "FailedNode", |r| of_job(r, &r.job.failed_node)),
    text(9, "Group", |r| of_job(r, &r.job.group)),
    text(-12, "JobID", |r| Some(job_id(r, &spelt(r.job)))),
    text(-12, "JobIDRaw", |r| Some(job_id(r, &r.job.job_id.to_string()))),
    text(10, "JobName", |r| Some(r.step.map_or(&r.job.name, |step| &step.step.name).clone())),
    text(9, "Layout", |r| r.step.map(|step| step.task.distribution.clone())),
    text(10, "Licenses", |r| of_job(r, &r.job.licenses)),
    text(12, "McsLabel", |r| of_job(r, &r.job.mcs.label)),
    number(10, "NCPUS", |r| Some(cpus(r).to_string())),
    number(8, "NNodes", |r| Some(nodes(r).to_string())),
    text(15, "NodeList", node_list),
    number(8, "NTasks", |r| r.step.map(|step| step.tasks.count.to_string())),
    text(10, "Partition", |r| of_job(r, &r.job.partition)),
    text(10, "Planned", |r| only_job(r, |r| spans::full(at(r.job.time.planned)))),
    number(13, "PlannedCPURAW", |r| only_job(r, |r| (at(r.job.time.planned) * r.job.required.cpus).to_string())),
    text(10, "PlannedCPU", |r| only_job(r, |r| spans::full(at(r.job.time.planned) * r.job.required.cpus))),
    number(10, "Priority", |r| only_job(r, |r| r.job.priority.or_zero().to_string())),
    text(10, "QOS", |r| of_job(r, &r.job.qos)),
    text(10, "QOSREQ", |r| of_job(r, &r.job.qosreq)),
    text(22, "Reason", |r| of_job(r, &r.job.state.reason)),
    number(8, "ReqCPUS", |r| Some(if r.step.is_some() { cpus(r) } else { r.job.required.cpus }.to_string())),
    text(10, "ReqMem", |r| only_job(r, |r| {
        let memory = counted(&r.job.tres.requested, "mem").unwrap_or(0);
        amount(memory as f64, Unit::Mega, r.view.shorten)
    })),
    text(8, "ReqNodes", |r| Some(nodes(r).to_string())),
    text(10, "ReqTRES", |r| only_job(r, |r| tres(r, &r.job.tres.requested))),
    text(20, "Reservation", |r| of_job(r, &r.job.reservation.name)),
    number(8, "Restarts", |r| only_job(r, |r| r.job.restart_cnt.to_string())),
    text(19, "Start", |r| Some(match r.step {
        Some(step) => r.view.clock.show(at(step.time.start)),
        // It ended before it could start.
        None if r.job.time.start == 0 && r.job.time.end != 0 => "None".to_owned(),
        None => r.view.clock.show(r.job.time.start),
    })),
    text(10, "State", state),
    text(20, "StdErr", |r| of_job(r, &r.job.stderr)),
    text(20, "StdIn", |r| of_job(r, &r.job.stdin)),
    text(20, "StdOut", |r| of_job(r, &r.job.stdout)),
    text(19, "Submit", |r| Some(r.view.clock.show(r.step.map_or(r.job.time.submission, |step| at(step.time.start))))),
    text(20, "SubmitLine", |r| Some(r.step.map_or(&r.job.submit_line, |step| &step.submit_line).clone())),
    text(10, "Suspended", |r| Some(spans::full(r.step.map_or(r.job.time.suspended, |step| step.time.suspended)))),
    text(15, "SystemComment", |r| of_job(r, &r.job.comment.system)),
    text(10, "SystemCPU", |r| Some(cpu_time(r.step.map_or(&r.job.time.system, |step| &step.time.system)))),
    text(10, "Timelimit", |r| only_job(r, |r| limit(r.job.time.limit))),
    text(10, "TimelimitRaw", |r| only_job(r, |r| match r.job.time.limit {
        Number::Is(minutes) => minutes.to_string(),
        Number::Infinite => "UNLIMITED".to_owned(),
        Number::Unset => "Partition_Limit".to_owned(),
    })),
    text(10, "TotalCPU", |r| Some(cpu_time(r.step.map_or(&r.job.time.total, |step| &step.time.total)))),
    text(9, "User", |r| only_job(r, |r| {
        Some(r.job.user.clone()).filter(|user| !user.is_empty()).unwrap_or_else(|| r.job.association.user.clone())
    })),
    text(10, "UserCPU", |r| Some(cpu_time(r.step.map_or(&r.job.time.user, |step| &step.time.user)))),
    text(10, "WCKey", |r| of_job(r, &r.job.wckey.wckey)),
    text(20, "WorkDir", |r| of_job(r, &r.job.working_directory)),
];

/// Fields that Slurm has and slurmrestd's records don't, as far as we read them.
pub(super) const MISSING: &[&str] = &[
    "AveCPU",
    "AveCPUFreq",
    "AveDiskRead",
    "AveDiskWrite",
    "AvePages",
    "AveRSS",
    "AveVMSize",
    "BlockID",
    "ConsumedEnergy",
    "ConsumedEnergyRaw",
    "DBIndex",
    "Exclusive",
    "Flags",
    "GID",
    "MaxDiskRead",
    "MaxDiskReadNode",
    "MaxDiskReadTask",
    "MaxDiskWrite",
    "MaxDiskWriteNode",
    "MaxDiskWriteTask",
    "MaxPages",
    "MaxPagesNode",
    "MaxPagesTask",
    "MaxRSS",
    "MaxRSSNode",
    "MaxRSSTask",
    "MaxVMSize",
    "MaxVMSizeNode",
    "MaxVMSizeTask",
    "MinCPU",
    "MinCPUNode",
    "MinCPUTask",
    "OriginalSLUID",
    "OverSubscribe",
    "QOSRAW",
    "ReqCPUFreq",
    "ReqCPUFreqGov",
    "ReqCPUFreqMax",
    "ReqCPUFreqMin",
    "ReqReservation",
    "ReservationId",
    "SegmentSize",
    "SLUID",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "TRESUsageInMin",
    "TRESUsageInTot",
    "TRESUsageOutAve",
    "TRESUsageOutMax",
    "TRESUsageOutMin",
    "TRESUsageOutTot",
    "UID",
    "WCKeyID",
];

impl Field {
    /// Prints it so wide: cut with a `+`, and a blank after it.
    pub(super) fn put(&self, out: &mut String, row: &Row<'_>, width: i32) {
        let value = (self.show)(row).unwrap_or_default();
        let most = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        let value = if most < value.len() && !self.number { cut(&value, most) } else { value };
        if width < 0 {
            out.push_str(&format!("{value:<most$} "));
        } else {
            out.push_str(&format!("{value:>most$} "));
        }
    }

    /// Its value alone.
    pub(super) fn value(&self, row: &Row<'_>) -> String {
        (self.show)(row).unwrap_or_default()
    }
}

fn cut(text: &str, bytes: usize) -> String {
    let end = (0..bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}+", &text[..end])
}

fn only_job(row: &Row<'_>, show: impl Fn(&Row<'_>) -> String) -> Option<String> {
    row.step.is_none().then(|| show(row))
}

fn of_job(row: &Row<'_>, text: &str) -> Option<String> {
    row.step.is_none().then(|| text.to_owned())
}

fn at(number: Number) -> i64 {
    number.get().and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

fn counted(list: &[Tres], kind: &str) -> Option<i64> {
    list.iter().find(|one| one.kind == kind).map(|one| one.count)
}

fn cpus(row: &Row<'_>) -> i64 {
    let list = row.step.map_or(&row.job.tres.allocated, |step| &step.tres.allocated);
    counted(list, "cpu").unwrap_or(0)
}

fn elapsed(row: &Row<'_>) -> i64 {
    row.step.map_or(row.job.time.elapsed, |step| step.time.elapsed)
}

fn nodes(row: &Row<'_>) -> i64 {
    let asked = || counted(&row.job.tres.requested, "node").unwrap_or(0);
    match row.step {
        Some(step) => step.nodes.count,
        None if row.job.allocation_nodes == 0 => asked(),
        None => row.job.allocation_nodes,
    }
}

fn node_list(row: &Row<'_>) -> Option<String> {
    Some(match row.step {
        Some(step) => step.nodes.range.clone(),
        None if row.job.nodes.is_empty() => "None assigned".to_owned(),
        None => row.job.nodes.clone(),
    })
}

/// Resources in the order of their names: `billing=8,cpu=8,mem=4000M,node=2`.
fn tres(row: &Row<'_>, list: &[Tres]) -> String {
    let mut words: Vec<String> = vec![];
    for one in list.iter().filter(|one| 0 <= one.count) {
        let name = match one.name.as_str() {
            "" => one.kind.clone(),
            name => format!("{}/{name}", one.kind),
        };
        let count = match one.kind.as_str() {
            "mem" => amount(one.count as f64, Unit::Mega, row.view.shorten),
            _ => one.count.to_string(),
        };
        words.push(format!("{name}={count}"));
    }
    words.sort();
    words.join(",")
}

/// A shell's 143 is signal 15, and `sacct` shows 15.
fn exit_code(code: &ExitCode) -> String {
    let returned = code.return_code.or_zero();
    let returned = returned.checked_sub(128).unwrap_or(returned);
    format!("{returned}:{}", code.signal.id.or_zero())
}

/// Of a step that never ended there is none.
fn step_exit_code(step: &Step) -> Option<String> {
    let code = &step.exit_code;
    let none = code.return_code.get().is_none() && code.signal.id.get().is_none();
    Some(if none { String::new() } else { exit_code(code) })
}

/// A job as users write it.
pub(super) fn spelt(job: &AccountingJob) -> String {
    match (job.array.task.as_str(), job.array.task_id.get()) {
        ("", Some(task)) => format!("{}_{task}", job.array.job_id),
        ("", None) if job.het.job_id != 0 => {
            format!("{}+{}", job.het.job_id, job.het.job_offset.or_zero())
        }
        ("", None) => job.job_id.to_string(),
        (tasks, _) => {
            let at_a_time = job.array.limits.max.running.tasks;
            format!("{}_[{}]", job.array.job_id, arrays::shown(tasks, at_a_time))
        }
    }
}

fn job_id(row: &Row<'_>, job: &str) -> String {
    match row.step {
        Some(step) => {
            let id = step.step.id.as_str();
            format!("{job}.{}", id.split_once('.').map_or(id, |(_, step)| step))
        }
        None => job.to_owned(),
    }
}

fn state(row: &Row<'_>) -> Option<String> {
    let (words, killer) = match row.step {
        Some(step) => (&step.state, &step.kill_request_user),
        None => (&row.job.state.current, &row.job.kill_request_user),
    };
    let state = JobState::of(words);
    if state.base() != JobState::CANCELLED || killer.is_empty() {
        return Some(state.long().to_owned());
    }
    let root = (killer == "root").then_some(&0);
    let by = row.view.users.get(killer).or(root).map_or_else(|| killer.clone(), u32::to_string);
    Some(format!("{} by {by}", state.long()))
}

fn limit(minutes: Number) -> String {
    match minutes {
        Number::Is(minutes) => {
            spans::full(i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60))
        }
        Number::Infinite => "UNLIMITED".to_owned(),
        Number::Unset => "Partition_Limit".to_owned(),
    }
}

/// `00:00:00`, or `00:00.123` below an hour where there is a fraction.
fn cpu_time(time: &CpuTime) -> String {
    let (seconds, thousandths) = (time.seconds, time.microseconds / 1000);
    if seconds < 3600 && 0 < time.microseconds {
        return format!("{:02}:{:02}.{thousandths:03}", seconds / 60, seconds % 60);
    }
    spans::full(seconds)
}

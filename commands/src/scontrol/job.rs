//! `scontrol show job`: everything about a job.

use drawbridge_bridge::slurm::types::{ExitCode, Job, Number};
use drawbridge_sim::Release;

use super::record::{Record, or, or_null};
use crate::{
    amounts::{Shorten, Unit, amount},
    hosts, spans,
    squeue::entry::Entry,
    states::job::JobState,
};

/// A job's record.
pub(crate) fn text(entry: &Entry, one_line: bool) -> String {
    let mut record = Record::new(one_line);
    whose(&mut record, entry);
    when(&mut record, entry);
    scheduling(&mut record, entry);
    size(&mut record, entry);
    wishes(&mut record, entry);
    files(&mut record, entry);
    devices(&mut record, &entry.job);
    record.job_text(entry.view.release)
}

fn whose(record: &mut Record, entry: &Entry) {
    let job = &entry.job;
    let mut line = format!("JobId={} ", job.job_id);
    let array = job.array_job_id.or_zero();
    if array != 0 {
        let task = job.array_task_id.or_zero().to_string();
        line += &format!("ArrayJobId={array} ArrayTaskId={} ", or(&job.array_task_string, &task));
        if job.array_max_tasks.or_zero() != 0 {
            line += &format!("ArrayTaskThrottle={} ", job.array_max_tasks.or_zero());
        }
    } else if let Some(het) = entry.het() {
        line += &format!("HetJobId={het} HetJobOffset={} ", job.het_job_offset.or_zero());
    }
    record.line(format!("{line}JobName={}", or_null(&job.name)));
    if entry.het().is_some() {
        record.some("HetJobIdSet", &job.het_job_id_set);
    }
    record.line(format!(
        "UserId={}({}) GroupId={}({}) MCS_label={}",
        or(&job.user_name, "nobody"),
        job.user_id,
        or(&job.group_name, "nobody"),
        job.group_id,
        or(&job.mcs_label, "N/A")
    ));
    record.line(format!(
        "Priority={} Nice={} Account={} QOS={}",
        job.priority.or_zero(),
        job.nice,
        or_null(&job.account),
        or_null(&job.qos)
    ));
    let reason = entry.reason().replace(char::is_whitespace, "_");
    let mut line = format!("JobState={} Reason={reason} ", entry.state.long());
    if !job.failed_node.is_empty() {
        line += &format!("FailedNode={} ", job.failed_node);
    }
    record.line(format!("{line}Dependency={}", or_null(&job.dependency)));
    let bit = u8::from;
    record.line(format!(
        "Requeue={} Restarts={} BatchFlag={} Reboot={} ExitCode={}",
        bit(job.requeue),
        job.restart_cnt,
        bit(job.batch_flag),
        bit(job.reboot),
        exit_code(&job.exit_code)
    ));
}

fn exit_code(code: &ExitCode) -> String {
    format!("{}:{}", code.return_code.or_zero(), code.signal.id.or_zero())
}

/// A limit in minutes.
fn limit(number: Number) -> String {
    match number {
        Number::Is(minutes) => {
            spans::full(i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60))
        }
        Number::Infinite => "UNLIMITED".to_owned(),
        Number::Unset => "Partition_Limit".to_owned(),
    }
}

fn when(record: &mut Record, entry: &Entry) {
    let job = &entry.job;
    let clock = &entry.view.clock;
    let time = |number: Number| clock.show(Entry::at(number));
    let least =
        if job.time_minimum.or_zero() == 0 { "N/A".to_owned() } else { limit(job.time_minimum) };
    let run = spans::full(entry.time_used());
    record.line(format!("RunTime={run} TimeLimit={} TimeMin={least}", limit(job.time_limit)));
    record.line(format!(
        "SubmitTime={} EligibleTime={}",
        time(job.submit_time),
        time(job.eligible_time)
    ));
    record.line(format!("AccrueTime={}", time(job.accrue_time)));
    if Entry::at(job.resize_time) != 0 {
        record.line(format!("ResizeTime={}", time(job.resize_time)));
    }
    let endless = job.time_limit.is_infinite() && clock.now < Entry::at(job.end_time);
    let end = if endless { "Unknown".to_owned() } else { time(job.end_time) };
    let deadline = clock.show_or(Entry::at(job.deadline), "N/A");
    record.line(format!("StartTime={} EndTime={end} Deadline={deadline}", time(job.start_time)));
    if !job.cron.is_empty() {
        let flagged = job.flags.iter().any(|flag| flag == "CRON_JOB");
        let before = if flagged { "CronJob=Yes " } else { "" };
        record.line(format!("{before}CrontabSpec=\"{}\"", job.cron));
    }
    if Entry::at(job.preemptable_time) != 0 {
        let preempted = clock.show_or(Entry::at(job.preempt_time), "None");
        let eligible = time(job.preemptable_time);
        record.line(format!("PreemptEligibleTime={eligible} PreemptTime={preempted}"));
    }
}

fn scheduling(record: &mut Record, entry: &Entry) {
    let job = &entry.job;
    let clock = &entry.view.clock;
    let flagged = |word: &str| job.flags.iter().any(|flag| flag == word);
    record.line(format!(
        "SuspendTime={} SecsPreSuspend={} LastSchedEval={} Scheduler={}{}",
        clock.show_or(Entry::at(job.suspend_time), "None"),
        Entry::at(job.pre_sus_time),
        clock.show(Entry::at(job.last_sched_evaluation)),
        if flagged("BACKFILL_ATTEMPTED") { "Backfill" } else { "Main" },
        if flagged("SCHEDULING_ATTEMPTED") { ":*" } else { "" }
    ));
    // slurmrestd doesn't tell the session that submitted it.
    record.line(format!(
        "Partition={} AllocNode:Sid={}:N/A",
        or_null(&job.partition),
        or_null(&job.allocating_node)
    ));
    record.line(format!(
        "ReqNodeList={} ExcNodeList={}",
        or_null(&job.required_nodes),
        or_null(&job.excluded_nodes)
    ));
    let mut line = format!("NodeList={}", hosts::sorted(&job.nodes));
    if !job.scheduled_nodes.is_empty() {
        line += &format!(" SchedNodeList={}", job.scheduled_nodes);
    }
    record.line(line);
    let batch = [("BatchFeatures", &job.batch_features), ("BatchHost", &job.batch_host)];
    let batch = batch.iter().filter(|(_, value)| !value.is_empty());
    let batch: Vec<String> = batch.map(|(name, value)| format!("{name}={value}")).collect();
    if !batch.is_empty() {
        record.line(batch.join(" "));
    }
    if flagged("STEPMGR_ENABLED") {
        record.line("StepMgrEnabled=Yes");
    }
}

/// `2`, or `2-4` where more would do.
fn range(least: u64, most: u64) -> String {
    if most == 0 { least.to_string() } else { format!("{least}-{most}") }
}

/// A number, or a star where nothing was asked for.
fn any(number: Number) -> String {
    number.get().map_or_else(|| "*".to_owned(), |number| number.to_string())
}

fn size(record: &mut Record, entry: &Entry) {
    let job = &entry.job;
    let most = if entry.is(JobState::PENDING) { job.max_nodes.or_zero() } else { 0 };
    let count = job.node_count.or_zero();
    let least = if 0 < most { count.min(most) } else { count };
    let nodes = match job.job_size_str.first() {
        Some(sizes) if entry.is(JobState::PENDING) => sizes.clone(),
        _ => range(least, most),
    };
    let or_na =
        |number: Number| number.get().map_or_else(|| "N/A".to_owned(), |number| number.to_string());
    record.line(format!(
        "NumNodes={nodes} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:{}:{}:{}",
        range(job.cpus.or_zero(), job.max_cpus.or_zero()),
        or_na(job.tasks),
        or_na(job.cpus_per_task),
        job.sockets_per_board,
        any(job.cores_per_socket),
        any(job.threads_per_core)
    ));
    record.line(format!("ReqTRES={}", or_null(&job.tres_req_str)));
    record.line(format!("AllocTRES={}", or_null(&job.tres_alloc_str)));
    record.line(format!(
        "Socks/Node={} NtasksPerN:B:S:C={}:{}:{}:{} {}",
        any(job.sockets_per_node),
        tasks_per(job.tasks_per_node),
        tasks_per(job.tasks_per_board),
        any(job.tasks_per_socket),
        any(job.tasks_per_core),
        special(job)
    ));
}

/// Where nothing was asked for slurmctld has a nought.
fn tasks_per(number: Number) -> String {
    number.or_zero().to_string()
}

fn special(job: &Job) -> String {
    /// What slurmrestd writes where no threads were asked for.
    const UNSET: i64 = 0x7ffe;
    match (job.core_spec, job.thread_spec) {
        (0, UNSET) => "CoreSpec=*".to_owned(),
        (0, threads) if threads != 0 => format!("ThreadSpec={threads}"),
        (cores, _) => format!("CoreSpec={cores}"),
    }
}

fn wishes(record: &mut Record, entry: &Entry) {
    let job = &entry.job;
    let (per, memory) = match (job.memory_per_tres.is_empty(), job.memory_per_cpu.get()) {
        (false, _) => ("TRES", 0),
        (true, Some(memory)) => ("CPU", memory),
        (true, None) => ("Node", job.memory_per_node.or_zero()),
    };
    let exactly = |number: u64| amount(number as f64, Unit::Mega, Shorten::Exactly);
    record.line(format!(
        "MinCPUsNode={} MinMemory{per}={} MinTmpDiskNode={}",
        job.minimum_cpus_per_node.or_zero(),
        exactly(memory),
        exactly(job.minimum_tmp_disk_per_node.or_zero())
    ));
    let delay = spans::full(Entry::at(job.delay_boot));
    record.line(format!("Features={} DelayBoot={delay}", or_null(&job.features)));
    record.some("ClusterFeatures", &job.cluster_features);
    record.some("Prefer", &job.prefer);
    record.some("Reservation", &job.resv_name);
    let shares = crate::squeue::fields::shares(entry);
    let contiguous = u8::from(job.contiguous);
    let (licenses, network) = (or_null(&job.licenses), or_null(&job.network));
    record.line(match entry.view.release {
        Release::V24_11 => format!(
            "OverSubscribe={shares} Contiguous={contiguous} Licenses={licenses} Network={network}"
        ),
        Release::V26_05 => format!(
            "OverSubscribe={shares} Exclusive={} Contiguous={contiguous} Licenses={licenses} \
             LicensesAlloc={} Network={network}",
            alone(job),
            or_null(&job.licenses_allocated)
        ),
    });
}

/// Whether it has its nodes to itself; newer releases don't tell.
fn alone(job: &Job) -> &'static str {
    match job.shared.first().map(String::as_str) {
        Some("none") => "NODE",
        Some("user") => "USER",
        Some("mcs") => "MCS",
        Some("topo") => "TOPO",
        _ => "N/A",
    }
}

fn files(record: &mut Record, entry: &Entry) {
    let job = &entry.job;
    let new = entry.view.release == Release::V26_05;
    record.line(format!("Command={}", or_null(&job.command)));
    if new {
        record.line(format!("SubmitLine={}", or_null(&job.submit_line)));
    }
    record.line(format!("WorkDir={}", or_null(&job.current_working_directory)));
    let comments = [
        ("AdminComment", &job.admin_comment),
        ("SystemComment", &job.system_comment),
        ("Comment", &job.comment),
        ("Extra", &job.extra),
    ];
    for (name, text) in comments.into_iter().filter(|(_, text)| !text.is_empty()) {
        record.line(format!("{name}={text}{}", if new { "" } else { " " }));
    }
    if job.batch_flag {
        let path = |path: &str, expanded: &str| or(expanded, path).to_owned();
        let [error, input, output] = [
            path(&job.standard_error, &job.stderr_expanded),
            path(&job.standard_input, &job.stdin_expanded),
            path(&job.standard_output, &job.stdout_expanded),
        ];
        record.line(format!("StdErr={error}"));
        record.line(format!("StdIn={input}"));
        record.line(format!("StdOut={output}"));
    }
    if new && job.segment_size != 0 {
        record.line(format!("SegmentSize={}", job.segment_size));
    }
    if job.required_switches != 0 {
        let wait = spans::full(job.maximum_switch_wait_time);
        record.line(format!("Switches={}@{wait}", job.required_switches));
    }
    record.some("BurstBuffer", &job.burst_buffer);
    record.some("BurstBufferState", &job.burst_buffer_state);
}

fn devices(record: &mut Record, job: &Job) {
    record.some("CpusPerTres", &job.cpus_per_tres);
    record.some("MemPerTres", &job.memory_per_tres);
    record.some("TresBind", &job.tres_bind);
    record.some("TresFreq", &job.tres_freq);
    record.some("TresPerJob", &job.tres_per_job);
    record.some("TresPerNode", &job.tres_per_node);
    record.some("TresPerSocket", &job.tres_per_socket);
    record.some("TresPerTask", &job.tres_per_task);
    if !job.mail_user.is_empty() && !job.mail_type.is_empty() {
        let types = job.mail_type.join(",");
        record.line(format!("MailUser={} MailType={types}", job.mail_user));
    }
    if let Some(tasks) = job.tasks_per_tres.get().filter(|tasks| *tasks != 0) {
        record.line(format!("NtasksPerTRES={tasks}"));
    }
    record.some("SELinuxContext", &job.selinux_context);
}

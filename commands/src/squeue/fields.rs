//! What `squeue` can show of a job: one table for both format languages.

use drawbridge_bridge::slurm::types::{ExitCode, Number};
use drawbridge_sim::Release;

use super::entry::Entry;
use crate::{
    amounts::{Unit, amount},
    cell::Cell,
    format::{Field, field},
    hosts, spans,
    states::job::JobState,
};

const NO_LETTER: char = '\0';

/// Everything, in the order of Slurm's own list.
#[rustfmt::skip]
pub(crate) static FIELDS: &[Field<Entry>] = &[
    field("Account", 'a', "ACCOUNT", |e| Cell::or_null(&e.job.account)),
    field("AccrueTime", NO_LETTER, "ACCRUE_TIME", |e| time(e, e.job.accrue_time)),
    field("admin_comment", NO_LETTER, "ADMIN_COMMENT", |e| Cell::or_null(&e.job.admin_comment)),
    field("AllocNodes", NO_LETTER, "ALLOC_NODES", |e| Cell::or_null(&e.job.allocating_node)),
    field("AllocSID", NO_LETTER, "ALLOC_SID", none).missing("slurmrestd doesn't tell the session that submitted a job"),
    field("ArrayJobId", 'F', "ARRAY_JOB_ID", array_job_id),
    field("ArrayTaskId", 'K', "ARRAY_TASK_ID", array_task_id),
    field("AssocId", NO_LETTER, "ASSOC_ID", |e| Cell::text(e.job.association_id.to_string())),
    field("BatchFlag", NO_LETTER, "BATCH_FLAG", |e| bit(e.job.batch_flag)),
    field("BatchHost", 'B', "EXEC_HOST", |e| {
        Cell::or(if e.job.batch_flag { &e.job.batch_host } else { &e.job.allocating_node }, "n/a")
    }),
    field("BoardsPerNode", NO_LETTER, "BOARDS_PER_NODE", none).missing("slurmrestd doesn't tell how many boards a job asked for"),
    field("BurstBuffer", NO_LETTER, "BURST_BUFFER", |e| Cell::or_null(&e.job.burst_buffer)),
    field("BurstBufferState", NO_LETTER, "BURST_BUFFER_STATE", |e| Cell::or_null(&e.job.burst_buffer_state)),
    field("Cluster", NO_LETTER, "CLUSTER", |e| Cell::or_null(&e.job.cluster)),
    field("ClusterFeature", NO_LETTER, "CLUSTER_FEATURES", |e| Cell::or_null(&e.job.cluster_features)),
    field("Command", 'o', "COMMAND", |e| Cell::or_null(&e.job.command)),
    field("Comment", 'k', "COMMENT", |e| Cell::or_null(&e.job.comment)),
    field("Container", NO_LETTER, "CONTAINER", |e| Cell::or_null(&e.job.container)),
    field("ContainerId", NO_LETTER, "CONTAINERID", |e| Cell::or_null(&e.job.container_id)),
    field("ContainerType", NO_LETTER, "CONTAINERTYPE", |e| Cell::or_null(&e.job.container_type)),
    field("Contiguous", 'O', "CONTIGUOUS", |e| bit(e.job.contiguous)),
    field("Cores", 'I', "CORES_PER_SOCKET", |e| Cell::text(any(e, e.job.cores_per_socket))),
    field("CoreSpec", 'X', "CORE_SPEC", core_spec),
    field("CPUsPerTask", NO_LETTER, "CPUS_PER_TASK", |e| or_na(e.job.cpus_per_task)),
    field("cpus-per-task", NO_LETTER, "CPUS_PER_TASK", |e| or_na(e.job.cpus_per_task)),
    field("cpus-per-tres", NO_LETTER, "CPUS_PER_TRES", |e| Cell::or(&e.job.cpus_per_tres, "N/A")),
    field("CronJob", NO_LETTER, "CRON_JOB", |e: &Entry| {
        Cell::text(if e.job.flags.iter().any(|flag| flag == "CRON_JOB") { "Yes" } else { "No" })
    }).since(Release::V26_05),
    field("Deadline", NO_LETTER, "DEADLINE", |e| time(e, e.job.deadline)),
    field("DelayBoot", NO_LETTER, "DELAY_BOOT", |e| span(Entry::at(e.job.delay_boot))),
    field("Dependency", 'E', "DEPENDENCY", |e| Cell::or_null(&e.job.dependency)),
    field("DerivedEC", NO_LETTER, "DERIVED_EC", |e| exit_code(&e.job.derived_exit_code)),
    field("EligibleTime", NO_LETTER, "ELIGIBLE_TIME", |e| time(e, e.job.eligible_time)),
    field("EndTime", 'e', "END_TIME", end_time),
    field("ExcNodes", 'x', "EXC_NODES", |e| nodes(&e.job.excluded_nodes)),
    field("Exclusive", NO_LETTER, "EXCLUSIVE", none).since(Release::V26_05).missing("slurmrestd doesn't tell whether a job has its nodes to itself"),
    field("exit_code", NO_LETTER, "EXIT_CODE", |e| exit_code(&e.job.exit_code)),
    field("Feature", 'f', "FEATURES", |e| Cell::or_null(&e.job.features)),
    field("Gres", 'b', "TRES_PER_NODE", |e: &Entry| Cell::or(&e.job.tres_per_node, "N/A")).hidden(),
    field("GroupId", 'G', "GROUP", |e| Cell::text(e.job.group_id.to_string())),
    field("GroupName", 'g', "GROUP", |e| Cell::or(&e.job.group_name, &e.job.group_id.to_string())),
    field("HetJobId", NO_LETTER, "HET_JOB_ID", |e| Cell::text(e.het().map_or_else(|| "N/A".into(), |id| id.to_string()))),
    field("HetJobIdSet", NO_LETTER, "HET_JOB_ID_SET", |e| {
        if e.het().is_some() { Cell::or_null(&e.job.het_job_id_set) } else { Cell::text("N/A") }
    }),
    field("HetJobOffset", NO_LETTER, "HET_JOB_OFFSET", |e| {
        Cell::text(e.het().map_or_else(|| "N/A".into(), |_| e.job.het_job_offset.or_zero().to_string()))
    }),
    field("JobArrayId", 'i', "JOBID", job_id),
    field("JobId", 'A', "JOBID", |e| Cell::text(e.job.job_id.to_string())),
    field("LastSchedEval", NO_LETTER, "LAST_SCHED_EVAL", |e| time(e, e.job.last_sched_evaluation)),
    field("Licenses", 'W', "LICENSES", |e| Cell::or_null(&e.job.licenses)),
    field("LicensesAlloc", NO_LETTER, "LICENSES_ALLOC", |e: &Entry| Cell::or_null(&e.job.licenses_allocated)).since(Release::V26_05),
    field("MaxCPUs", NO_LETTER, "MAX_CPUS", |e| first_of(e.job.max_cpus, e.job.cpus)),
    field("MaxNodes", NO_LETTER, "MAX_NODES", |e| first_of(e.job.max_nodes, e.job.node_count)),
    field("mem-per-tres", NO_LETTER, "MEM_PER_TRES", |e| Cell::or(&e.job.memory_per_tres, "N/A")),
    field("MCSLabel", NO_LETTER, "MCSLABEL", |e| Cell::or_null(&e.job.mcs_label)),
    field("MinCPUs", 'c', "MIN_CPUS", |e| short_amount(e, e.job.minimum_cpus_per_node, Unit::None, 7)),
    field("MinMemory", 'm', "MIN_MEMORY", |e| {
        let per_cpu = e.job.memory_per_cpu;
        let memory = if per_cpu.get().is_some() { per_cpu } else { e.job.memory_per_node };
        short_amount(e, memory, Unit::Mega, 9)
    }),
    field("MinTime", NO_LETTER, "TIME_MIN", |e| span(Entry::at(e.job.time_minimum).saturating_mul(60))),
    field("MinTmpDisk", 'd', "MIN_TMP_DISK", |e| short_amount(e, e.job.minimum_tmp_disk_per_node, Unit::Mega, 9)),
    field("Name", 'j', "NAME", |e| Cell::or_null(&e.job.name)),
    field("Network", NO_LETTER, "NETWORK", |e| Cell::or_null(&e.job.network)),
    field("Nice", 'y', "NICE", |e| Cell::text(e.job.nice.to_string())),
    field("NodeList", 'N', "NODELIST", |e| nodes(&e.job.nodes)),
    field("NTPerCore", NO_LETTER, "NTASKS_PER_CORE", |e| or_na(e.job.tasks_per_core)),
    field("NTPerNode", NO_LETTER, "NTASKS_PER_NODE", |e| or_na(e.job.tasks_per_node)),
    field("NTPerSocket", NO_LETTER, "NTASKS_PER_SOCKET", |e| or_na(e.job.tasks_per_socket)),
    field("NTPerBoard", NO_LETTER, "NTASKS_PER_BOARD", |e| or_na(e.job.tasks_per_board)),
    field("NumCPUs", 'C', "CPUS", |e| Cell::text(e.job.cpus.or_zero().to_string())),
    field("NumNodes", 'D', "NODES", |e| Cell::text(cut(e.job.node_count.or_zero().to_string(), 7))),
    field("NumTasks", NO_LETTER, "TASKS", |e| Cell::text(e.job.tasks.or_zero().to_string())),
    field("Origin", NO_LETTER, "ORIGIN", |e| Cell::or(&e.job.federation_origin, "NA")),
    field("OriginRaw", NO_LETTER, "ORIGIN_RAW", |e| match e.job.job_id >> 26 {
        0 => Cell::text("NA"),
        id => Cell::text(id.to_string()),
    }),
    field("OverSubscribe", 'h', "OVER_SUBSCRIBE", over_subscribe),
    field("PackJobId", NO_LETTER, "HET_JOB_ID", |e: &Entry| Cell::text(e.het().map_or_else(|| "N/A".into(), |id| id.to_string()))).hidden(),
    field("PackJobIdSet", NO_LETTER, "HET_JOB_ID_SET", |e: &Entry| {
        if e.het().is_some() { Cell::or_null(&e.job.het_job_id_set) } else { Cell::text("N/A") }
    }).hidden(),
    field("PackJobOffset", NO_LETTER, "HET_JOB_OFFSET", |e: &Entry| {
        Cell::text(e.het().map_or_else(|| "N/A".into(), |_| e.job.het_job_offset.or_zero().to_string()))
    }).hidden(),
    field("Partition", 'P', "PARTITION", |e| Cell::or_null(&e.job.partition)),
    field("PendingTime", NO_LETTER, "PENDING_TIME", pending_time),
    field("PreemptTime", NO_LETTER, "PREEMPT_TIME", |e| time(e, e.job.preempt_time)),
    field("Prefer", NO_LETTER, "PREFER", |e| Cell::or_null(&e.job.prefer)),
    field("Priority", 'p', "PRIORITY", |e| {
        Cell::text(format!("{:16.14}", e.job.priority.or_zero() as f64 / f64::from(u32::MAX)))
    }),
    field("PriorityLong", 'Q', "PRIORITY", |e| Cell::text(e.job.priority.or_zero().to_string())),
    field("Profile", NO_LETTER, "PROFILE", |e| Cell::text(profile(&e.job.profile))),
    field("QOS", 'q', "QOS", |e| Cell::or_null(&e.job.qos)),
    field("Reason", 'r', "REASON", |e| Cell::text(e.reason())),
    field("ReasonList", 'R', "NODELIST(REASON)", reason_list),
    field("Reboot", NO_LETTER, "REBOOT", |e| bit(e.job.reboot)),
    field("ReqNodes", 'n', "REQ_NODES", |e| nodes(&e.job.required_nodes)),
    field("ReqSwitch", NO_LETTER, "REQ_SWITCH", |e| Cell::text(e.job.required_switches.to_string())),
    field("Requeue", NO_LETTER, "REQUEUE", |e| bit(e.job.requeue)),
    field("Reservation", 'v', "RESERVATION", |e| Cell::or_null(&e.job.resv_name)),
    field("ResizeTime", NO_LETTER, "RESIZE_TIME", |e| match Entry::at(e.job.resize_time) {
        0 => Cell::Whole("N/A".into()),
        minutes => span(minutes.saturating_mul(60)),
    }),
    field("RestartCnt", NO_LETTER, "RESTART_COUNT", |e| Cell::text(e.job.restart_cnt.to_string())),
    field("SchedNodes", 'Y', "SCHEDNODES", |e| match e.job.scheduled_nodes.as_str() {
        "" => Cell::Null,
        nodes => Cell::Whole(nodes.into()),
    }),
    field("SCT", 'z', "S:C:T", |e| {
        let parts = [e.job.sockets_per_node, e.job.cores_per_socket, e.job.threads_per_core];
        Cell::text(parts.map(|part| any(e, part)).join(":"))
    }),
    field("SegmentSize", NO_LETTER, "SEGMENT_SIZE", |e: &Entry| match e.job.segment_size {
        0 => Cell::text("N/A"),
        size => Cell::text(size.to_string()),
    }).since(Release::V26_05),
    field("SiblingsActive", NO_LETTER, "ACTIVE_SIBLINGS", |e| Cell::or(&e.job.federation_siblings_active, "NA")),
    field("SiblingsActiveRaw", NO_LETTER, "ACTIVE_SIBLINGS_RAW", none).missing("slurmrestd names siblings and doesn't number them"),
    field("SiblingsViable", NO_LETTER, "VIABLE_SIBLINGS", |e| Cell::or(&e.job.federation_siblings_viable, "NA")),
    field("SiblingsViableRaw", NO_LETTER, "VIALBLE_SIBLINGS_RAW", none).missing("slurmrestd names siblings and doesn't number them"),
    field("Shared", NO_LETTER, "OVER_SUBSCRIBE", over_subscribe).hidden(),
    field("SLUID", 's', "SLUID", |e: &Entry| Cell::or_null(&e.job.step_id.sluid)).since(Release::V26_05),
    field("Sockets", 'H', "SOCKETS_PER_NODE", |e| Cell::text(any(e, e.job.sockets_per_node))),
    field("SPerBoard", NO_LETTER, "SOCKETS_PER_BOARD", |e| Cell::text(e.job.sockets_per_board.to_string())),
    field("StartTime", 'S', "START_TIME", |e| time(e, e.job.start_time)),
    field("State", 'T', "STATE", |e| Cell::text(e.state.long())),
    field("StateCompact", 't', "ST", |e| Cell::text(e.state.short())),
    field("StdErr", NO_LETTER, "STDERR", |e| match e.view.release {
        // slurmrestd of 24.11 writes standard output's here where it has none of its own.
        Release::V24_11 if e.job.standard_error == e.job.standard_output => Cell::Null,
        Release::V24_11 | Release::V26_05 => stdio(e, &e.job.standard_error, &e.job.stderr_expanded),
    }),
    field("StdIn", NO_LETTER, "STDIN", |e| stdio(e, &e.job.standard_input, &e.job.stdin_expanded)),
    field("StdOut", NO_LETTER, "STDOUT", |e| stdio(e, &e.job.standard_output, &e.job.stdout_expanded)),
    field("SubmitTime", 'V', "SUBMIT_TIME", |e| time(e, e.job.submit_time)),
    field("system_comment", NO_LETTER, "SYSTEM_COMMENT", |e| Cell::or_null(&e.job.system_comment)),
    field("Threads", 'J', "THREADS_PER_CORE", |e| Cell::text(any(e, e.job.threads_per_core))),
    field("TimeLeft", 'L', "TIME_LEFT", |e| limit(e, e.time_left())),
    field("TimeLimit", 'l', "TIME_LIMIT", |e| {
        limit(e, e.job.time_limit.get().and_then(|minutes| i64::try_from(minutes).ok()).map(|minutes| minutes.saturating_mul(60)))
    }),
    field("TimeUsed", 'M', "TIME", |e| whole_span(e.time_used())),
    field("Tres", NO_LETTER, "TRES_ALLOC", tres).hidden(),
    field("tres-alloc", NO_LETTER, "TRES_ALLOC", tres),
    field("tres-bind", NO_LETTER, "TRES_BIND", |e| Cell::or(&e.job.tres_bind, "N/A")),
    field("tres-freq", NO_LETTER, "TRES_FREQ", |e| Cell::or(&e.job.tres_freq, "N/A")),
    field("tres-per-job", NO_LETTER, "TRES_PER_JOB", |e| Cell::or(&e.job.tres_per_job, "N/A")),
    field("tres-per-node", NO_LETTER, "TRES_PER_NODE", |e: &Entry| Cell::or(&e.job.tres_per_node, "N/A")).hidden(),
    field("tres-per-socket", NO_LETTER, "TRES_PER_SOCKET", |e| Cell::or(&e.job.tres_per_socket, "N/A")),
    field("tres-per-task", NO_LETTER, "TRES_PER_TASK", |e| Cell::or(&e.job.tres_per_task, "N/A")),
    field("UserId", 'U', "UID", |e| Cell::text(e.job.user_id.to_string())),
    field("UserName", 'u', "USER", |e| Cell::or(&e.job.user_name, &e.job.user_id.to_string())),
    field("Wait4Switch", NO_LETTER, "WAIT4SWITCH", |e| span(e.job.maximum_switch_wait_time)),
    field("WCKey", 'w', "WCKEY", |e| Cell::or_null(&e.job.wckey)),
    field("WorkDir", 'Z', "WORK_DIR", |e| Cell::or_null(&e.job.current_working_directory)),
];

/// Headers that are never cut.
pub(crate) const WHOLE_HEADERS: &[&str] = &["NODELIST", "NODELIST(REASON)", "SCHEDNODES"];

fn none(_entry: &Entry) -> Cell {
    Cell::text("N/A")
}

fn bit(set: bool) -> Cell {
    Cell::text(if set { "1" } else { "0" })
}

fn cut(mut text: String, bytes: usize) -> String {
    if bytes < text.len() {
        let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text
}

fn time(entry: &Entry, number: Number) -> Cell {
    Cell::text(entry.view.clock.show_or(Entry::at(number), "N/A"))
}

fn span(secs: i64) -> Cell {
    Cell::Text(spans::brief_or_invalid(secs))
}

fn whole_span(secs: i64) -> Cell {
    Cell::Whole(spans::brief_or_invalid(secs))
}

/// A list of nodes is sorted, and never cut while it stands to the right.
fn nodes(list: &str) -> Cell {
    Cell::Whole(hosts::sorted(list))
}

/// A number, or a star where nothing was asked for.
fn any(entry: &Entry, number: Number) -> String {
    let text = number.get().map(|number| amount(number as f64, Unit::None, entry.view.shorten));
    text.unwrap_or_else(|| "*".to_owned())
}

fn or_na(number: Number) -> Cell {
    Cell::text(number.get().map_or_else(|| "N/A".to_owned(), |number| number.to_string()))
}

fn first_of(number: Number, otherwise: Number) -> Cell {
    let number = if number.or_zero() == 0 { otherwise } else { number };
    Cell::text(number.or_zero().to_string())
}

fn short_amount(entry: &Entry, number: Number, unit: Unit, bytes: usize) -> Cell {
    Cell::text(cut(amount(number.or_zero() as f64, unit, entry.view.shorten), bytes))
}

/// The longest id that is shown where `SLURM_BITSTR_LEN` doesn't say otherwise.
const ID_BYTES: usize = 31;

fn job_id(entry: &Entry) -> Cell {
    let job = &entry.job;
    if !job.array_task_string.is_empty() {
        let id = format!("{}_[{}]", job.array_job_id.or_zero(), job.array_task_string);
        return match entry.view.task_bytes {
            Some(_) => Cell::Whole(id),
            None => Cell::Text(cut(id, ID_BYTES)),
        };
    }
    Cell::text(match (entry.task(), entry.het()) {
        (Some(task), _) => format!("{}_{task}", job.array_job_id.or_zero()),
        (None, Some(het)) => format!("{het}+{}", job.het_job_offset.or_zero()),
        (None, None) => job.job_id.to_string(),
    })
}

fn array_job_id(entry: &Entry) -> Cell {
    let job = &entry.job;
    let in_array = !job.array_task_string.is_empty() || entry.task().is_some();
    let id = if in_array { job.array_job_id.or_zero() } else { job.job_id.into() };
    Cell::text(id.to_string())
}

fn array_task_id(entry: &Entry) -> Cell {
    match entry.task() {
        _ if !entry.job.array_task_string.is_empty() => Cell::text(&*entry.job.array_task_string),
        Some(task) => Cell::text(task.to_string()),
        None => Cell::text("N/A"),
    }
}

fn core_spec(entry: &Entry) -> Cell {
    /// What slurmrestd writes where no threads were asked for.
    const UNSET: i64 = 0x7ffe;
    Cell::text(match (entry.job.core_spec, entry.job.thread_spec) {
        (0, UNSET) => "N/A".to_owned(),
        (0, threads) if threads != 0 => format!("{threads} Threads"),
        (cores, _) => cores.to_string(),
    })
}

fn exit_code(code: &ExitCode) -> Cell {
    let (status, signal) = (code.return_code.or_zero(), code.signal.id.or_zero());
    Cell::text(format!("{status}:{signal}"))
}

fn end_time(entry: &Entry) -> Cell {
    let end = Entry::at(entry.job.end_time);
    if entry.job.time_limit.is_infinite() && entry.view.clock.now < end {
        return Cell::text("NONE");
    }
    time(entry, entry.job.end_time)
}

fn limit(entry: &Entry, secs: Option<i64>) -> Cell {
    match secs {
        _ if entry.job.time_limit.is_infinite() => Cell::text("UNLIMITED"),
        Some(secs) => whole_span(secs),
        None => Cell::text("NOT_SET"),
    }
}

fn pending_time(entry: &Entry) -> Cell {
    let (start, submit) = (Entry::at(entry.job.start_time), Entry::at(entry.job.submit_time));
    let now = entry.view.clock.now;
    let until = if start != 0 && start < now { start } else { now };
    Cell::text((until - submit).to_string())
}

fn reason_list(entry: &Entry) -> Cell {
    let shows_reason = [
        JobState::PENDING,
        JobState::STAGE_OUT,
        JobState::TIMEOUT,
        JobState::OUT_OF_MEMORY,
        JobState::DEADLINE,
        JobState::FAILED,
    ];
    let ended = shows_reason.into_iter().any(|state| entry.is(state));
    if ended && !entry.is(JobState::COMPLETING) {
        return Cell::text(format!("({})", entry.reason()));
    }
    nodes(&entry.job.nodes)
}

fn over_subscribe(entry: &Entry) -> Cell {
    Cell::text(shares(entry))
}

/// Whether it shares its resources.
pub(crate) fn shares(entry: &Entry) -> &'static str {
    let word = entry.job.shared.first().map(String::as_str);
    match (word, entry.view.release) {
        (Some("none"), _) => "NO",
        (Some("oversubscribe"), _) => "YES",
        // Since 26.05 the others say how it has nodes to itself, and not whether it shares.
        (_, Release::V26_05) => "NO",
        (Some("user"), _) => "USER",
        (Some("mcs"), _) => "MCS",
        (Some("topo"), _) => "TOPO",
        _ => "OK",
    }
}

fn stdio(entry: &Entry, path: &str, expanded: &str) -> Cell {
    Cell::or_null(if entry.view.expand_patterns && !expanded.is_empty() { expanded } else { path })
}

fn tres(entry: &Entry) -> Cell {
    Cell::or(
        &entry.job.tres_alloc_str,
        Some(entry.job.tres_req_str.as_str()).filter(|text| !text.is_empty()).unwrap_or("N/A"),
    )
}

/// What is measured of a job, in Slurm's words.
fn profile(words: &[String]) -> String {
    let words = words.iter().map(|word| match word.as_str() {
        "NOT_SET" => "NotSet",
        "NONE" => "None",
        "ENERGY" => "Energy",
        "LUSTRE" => "Lustre",
        "NETWORK" => "Network",
        "TASK" => "Task",
        other => other,
    });
    words.collect::<Vec<_>>().join(",")
}

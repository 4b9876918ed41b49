//! `sbatch`'s flags, and what each of them makes of a job.

use drawbridge_bridge::slurm::{calls::JobDescription, types::Number};
use drawbridge_sim::TimeLimit;
use jiff::Zoned;

use crate::{
    flags::{
        Flag, Manual,
        Takes::{Maybe, Nothing, Value},
        flag,
    },
    signals, times,
};

const NOT_SERVED: &str = "slurmrestd has no such thing for a job";
const TOKEN: &str = "a job belongs to whom the token belongs to";

#[rustfmt::skip]
pub(super) static FLAGS: &[Flag] = &[
    flag(&["account"], "A", Value("ACCOUNT"), "charge this account"),
    flag(&["acctg-freq"], "", Value("FREQUENCY"), "how often to sample its use"),
    flag(&["array"], "a", Value("INDEXES"), "an array of jobs: 0-15, 1,3,5-7, 1-7:2, 1-15%4"),
    flag(&["batch"], "", Value("FEATURES"), "features of the node that runs the script"),
    flag(&["bb"], "", Value("SPEC"), "burst buffer"),
    flag(&["bbf"], "", Value("FILE"), "").refused(NOT_SERVED),
    flag(&["begin"], "b", Value("TIME"), "not before: 16:00, now+1hour, 2027-01-20T12:34:00"),
    flag(&["chdir"], "D", Value("DIR"), "run in this directory"),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused("slurmrestd serves one cluster"),
    flag(&["cluster-constraint"], "", Value("LIST"), "features of a federation's cluster"),
    flag(&["comment"], "", Value("TEXT"), "a comment"),
    flag(&["constraint"], "C", Value("LIST"), "features that nodes must have"),
    flag(&["container"], "", Value("PATH"), "path of an OCI bundle"),
    flag(&["container-id"], "", Value("ID"), "id of an OCI container"),
    flag(&["contiguous"], "", Nothing, "nodes next to each other"),
    flag(&["core-spec"], "S", Value("CORES"), "cores to leave to the system"),
    flag(&["cores-per-socket"], "", Value("CORES"), "nodes with so many cores in each socket"),
    flag(&["cpu-freq"], "", Value("SPEC"), "frequency of CPUs"),
    flag(&["cpus-per-gpu"], "", Value("CPUS"), "CPUs for each GPU"),
    flag(&["cpus-per-task"], "c", Value("CPUS"), "CPUs for each task"),
    flag(&["deadline"], "", Value("TIME"), "remove the job if it can't end by then"),
    flag(&["delay-boot"], "", Value("MINUTES"), "how long to wait before nodes are rebooted for features"),
    flag(&["dependency"], "d", Value("LIST"), "wait for other jobs: afterok:7, singleton"),
    flag(&["distribution"], "m", Value("SPEC"), "how tasks are laid out"),
    flag(&["error"], "e", Value("FILE"), "standard error"),
    flag(&["exclude"], "x", Value("HOSTS"), "leave out these nodes"),
    flag(&["exclusive"], "", Maybe("user|mcs|topo"), "share nodes with no other job"),
    flag(&["export"], "", Value("ALL|NIL|NONE|LIST"), "which variables the job gets"),
    flag(&["export-file"], "", Value("FILE"), "").refused("use --export"),
    flag(&["extra"], "", Value("TEXT"), "a text for the site's own use"),
    flag(&["extra-node-info"], "B", Value("S[:C[:T]]"), "sockets, cores and threads that nodes must have"),
    flag(&["get-user-env"], "", Maybe("MODE"), "").refused("use --export=NONE, which reads the user's on the node"),
    flag(&["gid"], "", Value("GROUP"), "").refused(TOKEN),
    flag(&["gpu-bind"], "", Value("SPEC"), "which tasks see which GPUs"),
    flag(&["gpu-freq"], "", Value("SPEC"), "frequency of GPUs"),
    flag(&["gpus"], "G", Value("[TYPE:]N"), "GPUs for the job"),
    flag(&["gpus-per-node"], "", Value("[TYPE:]N"), "GPUs for each node"),
    flag(&["gpus-per-socket"], "", Value("[TYPE:]N"), "GPUs for each socket"),
    flag(&["gpus-per-task"], "", Value("[TYPE:]N"), "GPUs for each task"),
    flag(&["gres"], "", Value("LIST"), "devices for each node: gpu:2,nic"),
    flag(&["help"], "h", Nothing, "print this"),
    flag(&["hint"], "", Value("HINT"), "nomultithread: one thread of each core"),
    flag(&["hold"], "H", Nothing, "hold it until it is released"),
    flag(&["ignore-pbs"], "", Nothing, "#PBS lines count for nothing").no_bearing(),
    flag(&["input"], "i", Value("FILE"), "standard input"),
    flag(&["job-name"], "J", Value("NAME"), "the job's name"),
    flag(&["kill-on-invalid-dep"], "", Value("yes|no"), "whether to end it if it can never start"),
    flag(&["licenses"], "L", Value("LIST"), "licences: matlab:2"),
    flag(&["mail-type"], "", Value("LIST"), "write mail when: BEGIN, END, FAIL, ALL …"),
    flag(&["mail-user"], "", Value("ADDRESS"), "to whom"),
    flag(&["mcs-label"], "", Value("LABEL"), "security label"),
    flag(&["mem"], "", Value("SIZE"), "memory for each node: 4G"),
    flag(&["mem-bind"], "", Value("SPEC"), "how memory is bound"),
    flag(&["mem-per-cpu"], "", Value("SIZE"), "memory for each CPU"),
    flag(&["mem-per-gpu"], "", Value("SIZE"), "memory for each GPU"),
    flag(&["mincpus"], "", Value("CPUS"), "nodes with so many CPUs at least"),
    flag(&["network"], "", Value("SPEC"), "network"),
    flag(&["nice"], "", Maybe("NUMBER"), "less priority"),
    flag(&["no-kill"], "k", Maybe("off"), "go on if a node fails"),
    flag(&["no-requeue"], "", Nothing, "never back into the queue"),
    flag(&["nodefile"], "F", Value("FILE"), "").refused("use -w"),
    flag(&["nodelist"], "w", Value("HOSTS"), "these nodes"),
    flag(&["nodes"], "N", Value("MIN[-MAX]"), "how many nodes"),
    flag(&["ntasks"], "n", Value("TASKS"), "how many tasks"),
    flag(&["ntasks-per-core"], "", Value("TASKS"), "tasks on each core"),
    flag(&["ntasks-per-gpu"], "", Value("TASKS"), "tasks for each GPU"),
    flag(&["ntasks-per-node"], "", Value("TASKS"), "tasks on each node"),
    flag(&["ntasks-per-socket"], "", Value("TASKS"), "tasks on each socket"),
    flag(&["oom-kill-step"], "", Maybe("0|1"), "end the whole step if memory runs out"),
    flag(&["open-mode"], "", Value("append|truncate"), "how files are opened"),
    flag(&["output"], "o", Value("FILE"), "standard output"),
    flag(&["overcommit"], "O", Nothing, "more tasks than CPUs"),
    flag(&["oversubscribe", "share"], "s", Nothing, "share nodes with other jobs"),
    flag(&["parsable"], "", Nothing, "print the number alone"),
    flag(&["partition"], "p", Value("LIST"), "partitions"),
    flag(&["prefer"], "", Value("LIST"), "features that nodes should have"),
    flag(&["priority"], "", Value("NUMBER"), "priority"),
    flag(&["profile"], "", Value("LIST"), "what to measure"),
    flag(&["propagate"], "", Maybe("LIMITS"), "limits of this process").refused(NOT_SERVED),
    flag(&["qos"], "q", Value("QOS"), "quality of service"),
    flag(&["quiet"], "Q", Nothing, "say nothing of success"),
    flag(&["reboot"], "", Nothing, "reboot the nodes first"),
    flag(&["requeue"], "", Nothing, "back into the queue if a node fails"),
    flag(&["reservation"], "", Value("NAME"), "run in this reservation"),
    flag(&["segment"], "", Value("NODES"), "nodes next to each other in groups of so many"),
    flag(&["signal"], "", Value("[R][B:]SIG[@SECS]"), "send a signal before its time is up"),
    flag(&["sockets-per-node"], "", Value("SOCKETS"), "nodes with so many sockets"),
    flag(&["spread-job"], "", Nothing, "over as many nodes as possible"),
    flag(&["switches"], "", Value("N[@TIME]"), "at most so many switches"),
    flag(&["test-only"], "", Nothing, "only ask whether the job would be taken; see below"),
    flag(&["thread-spec"], "", Value("THREADS"), "threads to leave to the system"),
    flag(&["threads-per-core"], "", Value("THREADS"), "nodes with so many threads in each core"),
    flag(&["time"], "t", Value("TIME"), "time limit: 30, 1:00:00, 2-12"),
    flag(&["time-min"], "", Value("TIME"), "the least that the limit may be cut to"),
    flag(&["tmp"], "", Value("SIZE"), "temporary disk on each node"),
    flag(&["tres-bind"], "", Value("SPEC"), "which tasks see which devices"),
    flag(&["tres-per-task"], "", Value("LIST"), "resources for each task"),
    flag(&["uid"], "", Value("USER"), "").refused(TOKEN),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["use-min-nodes"], "", Nothing, "as few nodes as possible"),
    flag(&["verbose"], "v", Nothing, "say more").no_bearing(),
    flag(&["version"], "V", Nothing, "print the version"),
    flag(&["wait"], "W", Nothing, "wait for its end; its exit code is ours"),
    flag(&["wait-all-nodes"], "", Value("0|1"), "wait until every node is booted"),
    flag(&["wckey"], "", Value("WCKEY"), "key to charge"),
    flag(&["wrap"], "", Value("COMMAND"), "a command line instead of a script"),
];

/// `sbatch` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "sbatch",
    about: "Submits a batch script, or a command line.",
    usage: "[OPTIONS] [SCRIPT [ARGS...]]",
    flags: FLAGS,
    notes: "\
Options come from #SBATCH lines, then from SBATCH_* variables, then from the command line; the last one
counts. The token and what else leads to slurmrestd isn't handed on to the job.

--test-only: slurmrestd can't be asked whether a job would be taken without submitting it, so it is
submitted, held, and cancelled at once. When it would start isn't told.
",
};

/// Variables that stand for a flag.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("SBATCH_ACCOUNT", "account"),
    ("SBATCH_ARRAY_INX", "array"),
    ("SBATCH_CHDIR", "chdir"),
    ("SBATCH_CONSTRAINT", "constraint"),
    ("SBATCH_CPUS_PER_GPU", "cpus-per-gpu"),
    ("SBATCH_DEBUG", "verbose"),
    ("SBATCH_DELAY_BOOT", "delay-boot"),
    ("SBATCH_DISTRIBUTION", "distribution"),
    ("SBATCH_ERROR", "error"),
    ("SBATCH_EXCLUSIVE", "exclusive"),
    ("SBATCH_EXPORT", "export"),
    ("SBATCH_GPUS", "gpus"),
    ("SBATCH_GPUS_PER_NODE", "gpus-per-node"),
    ("SBATCH_GPUS_PER_TASK", "gpus-per-task"),
    ("SBATCH_GRES", "gres"),
    ("SBATCH_HINT", "hint"),
    ("SBATCH_INPUT", "input"),
    ("SBATCH_JOB_NAME", "job-name"),
    ("SBATCH_MEM_PER_CPU", "mem-per-cpu"),
    ("SBATCH_MEM_PER_GPU", "mem-per-gpu"),
    ("SBATCH_MEM_PER_NODE", "mem"),
    ("SBATCH_NO_REQUEUE", "no-requeue"),
    ("SBATCH_OPEN_MODE", "open-mode"),
    ("SBATCH_OUTPUT", "output"),
    ("SBATCH_OVERCOMMIT", "overcommit"),
    ("SBATCH_PARTITION", "partition"),
    ("SBATCH_PROFILE", "profile"),
    ("SBATCH_QOS", "qos"),
    ("SBATCH_REQUEUE", "requeue"),
    ("SBATCH_RESERVATION", "reservation"),
    ("SBATCH_SIGNAL", "signal"),
    ("SBATCH_SPREAD_JOB", "spread-job"),
    ("SBATCH_THREADS_PER_CORE", "threads-per-core"),
    ("SBATCH_TIMELIMIT", "time"),
    ("SBATCH_WAIT", "wait"),
    ("SBATCH_WCKEY", "wckey"),
];

/// Whether a flag counts something of which there must be one at least.
pub(super) fn counts(name: &str) -> bool {
    ["ntasks", "cpus-per-task", "ntasks-per-node", "ntasks-per-core", "ntasks-per-socket"]
        .contains(&name)
}

/// Puts a flag into a job; `None` if its value makes no sense.
pub(crate) fn apply(job: &mut JobDescription, name: &str, value: &str, now: &Zoned) -> Option<()> {
    let text = || Some(value.to_owned());
    let number = || value.trim().parse::<u32>().ok();
    match name {
        "account" => job.account = text(),
        "acctg-freq" => job.account_gather_frequency = text(),
        "array" => job.array = text(),
        "batch" => job.batch_features = text(),
        "bb" => job.burst_buffer = text(),
        "begin" => job.begin_time = Some(seconds(value, now)?.into()),
        "chdir" => job.current_working_directory = text(),
        "cluster-constraint" => job.cluster_constraint = text(),
        "comment" => job.comment = text(),
        "constraint" => job.constraints = text(),
        "container" => job.container = text(),
        "container-id" => job.container_id = text(),
        "contiguous" => job.contiguous = Some(true),
        "core-spec" => job.core_specification = Some(number()?),
        "cores-per-socket" => job.cores_per_socket = Some(number()?),
        "cpu-freq" => job.cpu_frequency = text(),
        "cpus-per-gpu" => job.cpus_per_tres = Some(format!("gres/gpu:{}", number()?)),
        "cpus-per-task" => job.cpus_per_task = Some(number().filter(|count| 0 < *count)?),
        "deadline" => job.deadline = Some(seconds(value, now)?),
        "delay-boot" => job.delay_boot = Some(u32::try_from(minutes(value)?.get()? * 60).ok()?),
        "dependency" => job.dependency = text(),
        "distribution" => job.distribution = text(),
        "error" => job.standard_error = text(),
        "exclude" => job.excluded_nodes = Some(vec![value.to_owned()]),
        "exclusive" => job.shared = Some(vec![exclusive(value)?.to_owned()]),
        "extra" => job.extra = text(),
        "extra-node-info" => shape(job, value)?,
        "gpu-bind" => job.tres_bind = Some(format!("gres/gpu:{value}")),
        "gpu-freq" => job.tres_freq = Some(format!("gpu:{value}")),
        "gpus" => job.tres_per_job = Some(devices("gpu:", value)?),
        "gpus-per-node" => add(&mut job.tres_per_node, devices("gpu:", value)?),
        "gpus-per-socket" => job.tres_per_socket = Some(devices("gpu:", value)?),
        "gpus-per-task" => job.tres_per_task = Some(devices("gpu:", value)?),
        "gres" => add(&mut job.tres_per_node, devices("", value)?),
        "hint" if value == "nomultithread" => job.threads_per_core = Some(1),
        "hint" => return None,
        "hold" => job.hold = Some(true),
        "input" => job.standard_input = text(),
        "job-name" => job.name = text(),
        "kill-on-invalid-dep" => flagged(job, invalid_dependency(value)?),
        "licenses" => job.licenses = text(),
        _ => return apply_more(job, name, value),
    }
    Some(())
}

/// The rest of them.
fn apply_more(job: &mut JobDescription, name: &str, value: &str) -> Option<()> {
    let text = || Some(value.to_owned());
    let number = || value.trim().parse::<u32>().ok();
    match name {
        "mail-type" => job.mail_type = Some(mail(value)?),
        "mail-user" => job.mail_user = text(),
        "mcs-label" => job.mcs_label = text(),
        "mem" => job.memory_per_node = Some(megabytes(value)?.into()),
        "mem-bind" => job.memory_binding = text(),
        "mem-per-cpu" => job.memory_per_cpu = Some(megabytes(value)?.into()),
        "mem-per-gpu" => job.memory_per_tres = Some(format!("gres/gpu:{}", megabytes(value)?)),
        "mincpus" => job.minimum_cpus_per_node = Some(number()?),
        "network" => job.network = text(),
        "nice" if value.is_empty() => job.nice = Some(100),
        "nice" => job.nice = Some(value.parse().ok()?),
        "no-kill" => job.kill_on_node_fail = Some(value == "off"),
        "no-requeue" => job.requeue = Some(false),
        "nodelist" => job.required_nodes = Some(vec![value.to_owned()]),
        "nodes" => job.nodes = Some(node_range(value)?),
        "ntasks" => job.tasks = Some(number().filter(|count| 0 < *count)?),
        "ntasks-per-core" => job.tasks_per_core = Some(number()?),
        "ntasks-per-gpu" => job.ntasks_per_tres = Some(number()?),
        "ntasks-per-node" => job.tasks_per_node = Some(number()?),
        "ntasks-per-socket" => job.tasks_per_socket = Some(number()?),
        "oom-kill-step" => job.oom_kill_step = Some(if value == "0" { 0 } else { 1 }),
        "open-mode" => job.open_mode = Some(vec![open_mode(value)?.to_owned()]),
        "output" => job.standard_output = text(),
        "overcommit" => job.overcommit = Some(true),
        "oversubscribe" => job.shared = Some(vec!["oversubscribe".to_owned()]),
        "partition" => job.partition = text(),
        "prefer" => job.prefer = text(),
        "priority" if value.eq_ignore_ascii_case("top") => {
            job.priority = Some(u64::from(u32::MAX - 1).into());
        }
        "priority" => job.priority = Some(u64::from(number()?).into()),
        "profile" => job.profile = Some(value.split(',').map(str::to_ascii_uppercase).collect()),
        "qos" => job.qos = text(),
        "reboot" => job.reboot = Some(true),
        "requeue" => job.requeue = Some(true),
        "reservation" => job.reservation = text(),
        "segment" => job.segment_size = Some(u64::from(number()?).into()),
        "signal" => warn(job, value)?,
        "sockets-per-node" => job.sockets_per_node = Some(number()?),
        "spread-job" => flagged(job, "SPREAD_JOB"),
        "switches" => switches(job, value)?,
        "thread-spec" => job.thread_specification = Some(number()?),
        "threads-per-core" => job.threads_per_core = Some(number()?),
        "time" => job.time_limit = Some(minutes(value)?),
        "time-min" => job.time_minimum = Some(minutes(value)?),
        "tmp" => job.temporary_disk_per_node = Some(u32::try_from(megabytes(value)?).ok()?),
        "tres-bind" => job.tres_bind = text(),
        "tres-per-task" => job.tres_per_task = text(),
        "use-min-nodes" => flagged(job, "USE_MIN_NODES"),
        "wait-all-nodes" => job.wait_all_nodes = Some(number()? != 0),
        "wckey" => job.wckey = text(),
        _ => {}
    }
    Some(())
}

fn seconds(text: &str, now: &Zoned) -> Option<u64> {
    times::moment(text, now).and_then(|secs| u64::try_from(secs).ok())
}

/// A time limit in minutes, rounded up.
fn minutes(text: &str) -> Option<Number> {
    match drawbridge_sim::parse_time_limit(text)? {
        TimeLimit::Unlimited => Some(Number::Infinite),
        TimeLimit::Of(span) => Some(Number::Is(span.as_secs().div_ceil(60))),
    }
}

/// `500`, `4G`, `1T` in MiB.
fn megabytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    match text[end..].to_ascii_lowercase().as_str() {
        "k" | "kb" => Some(number.div_ceil(1024)),
        "" | "m" | "mb" => Some(number),
        "g" | "gb" => number.checked_mul(1024),
        "t" | "tb" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}

fn exclusive(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "" => Some("none"),
        "user" => Some("user"),
        "mcs" => Some("mcs"),
        "topo" => Some("topo"),
        _ => None,
    }
}

/// `gpu:2,nic:1` as `gres/gpu:2,gres/nic:1`.
fn devices(kind: &str, list: &str) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    let each = list.split(',').map(|device| match device.strip_prefix("gres/") {
        Some(device) => format!("gres/{device}"),
        None if device.eq_ignore_ascii_case("none") => device.to_owned(),
        None => format!("gres/{kind}{device}"),
    });
    Some(each.collect::<Vec<_>>().join(","))
}

fn add(list: &mut Option<String>, more: String) {
    *list = Some(match list.take() {
        Some(list) => format!("{list},{more}"),
        None => more,
    });
}

fn flagged(job: &mut JobDescription, flag: &str) {
    job.flags.get_or_insert_default().push(flag.to_owned());
}

fn invalid_dependency(value: &str) -> Option<&'static str> {
    match value {
        "yes" => Some("KILL_INVALID_DEPENDENCY"),
        "no" => Some("NO_KILL_INVALID_DEPENDENCY"),
        _ => None,
    }
}

fn open_mode(value: &str) -> Option<&'static str> {
    match value.chars().next()?.to_ascii_lowercase() {
        'a' => Some("APPEND"),
        't' => Some("TRUNCATE"),
        _ => None,
    }
}

/// `4`, `2-4`.
fn node_range(text: &str) -> Option<String> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most): (u32, u32) = (least.parse().ok()?, most.parse().ok()?);
    (least <= most && 0 < most).then(|| format!("{least}-{most}"))
}

/// `S[:C[:T]]`, where a star is anything.
fn shape(job: &mut JobDescription, text: &str) -> Option<()> {
    let mut parts = text.split(':').map(|part| match part {
        "*" => Some(None),
        part => part.parse::<u32>().ok().map(Some),
    });
    let mut next = || parts.next().unwrap_or(Some(None));
    (job.sockets_per_node, job.cores_per_socket, job.threads_per_core) =
        (next()?, next()?, next()?);
    Some(())
}

fn mail(list: &str) -> Option<Vec<String>> {
    let mut words: Vec<&str> = vec![];
    for word in list.split(',') {
        match word.trim().to_ascii_uppercase().as_str() {
            "NONE" => words.clear(),
            "ALL" => {
                words.extend([
                    "BEGIN",
                    "END",
                    "FAIL",
                    "REQUEUE",
                    "STAGE_OUT",
                    "INVALID_DEPENDENCY",
                ]);
            }
            "BEGIN" => words.push("BEGIN"),
            "END" => words.push("END"),
            "FAIL" => words.push("FAIL"),
            "REQUEUE" => words.push("REQUEUE"),
            "STAGE_OUT" => words.push("STAGE_OUT"),
            "INVALID_DEPEND" => words.push("INVALID_DEPENDENCY"),
            "ARRAY_TASKS" => words.push("ARRAY_TASKS"),
            "TIME_LIMIT" => words.push("TIME=100%"),
            "TIME_LIMIT_90" => words.push("TIME=90%"),
            "TIME_LIMIT_80" => words.push("TIME=80%"),
            "TIME_LIMIT_50" => words.push("TIME=50%"),
            _ => return None,
        }
    }
    Some(words.into_iter().map(str::to_owned).collect())
}

/// `[R][B:]SIG[@SECS]`: a minute before the end unless it says otherwise.
fn warn(job: &mut JobDescription, text: &str) -> Option<()> {
    let (before, signal) = text.split_once(':').unwrap_or(("", text));
    let (signal, delay) = signal.split_once('@').unwrap_or((signal, "60"));
    let mut flags = vec![];
    for letter in before.chars() {
        flags.push(match letter.to_ascii_uppercase() {
            'B' => "BATCH_JOB".to_owned(),
            'R' => "RESERVATION_JOB".to_owned(),
            _ => return None,
        });
    }
    job.kill_warning_signal = Some(signals::named(signal)?);
    job.kill_warning_delay = Some(delay.parse::<u64>().ok()?.into());
    job.kill_warning_flags = Some(flags).filter(|flags| !flags.is_empty());
    Some(())
}

fn switches(job: &mut JobDescription, text: &str) -> Option<()> {
    let (count, wait) = match text.split_once('@') {
        Some((count, wait)) => (count, Some(wait)),
        None => (text, None),
    };
    job.required_switches = Some(count.parse::<u64>().ok()?.into());
    if let Some(wait) = wait {
        job.wait_for_switch = Some(u32::try_from(minutes(wait)?.get()? * 60).ok()?);
    }
    Some(())
}

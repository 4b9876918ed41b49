//! The job description, field by field.

use drawbridge_sim::{
    ArraySpec, Begin, Enforced, JobBehaviour, MemoryAsk, Release, ShapeAsk, Signal, SlurmError,
    SlurmNode, Span, Submission, TimeLimit, UserName, Warning, expand_hostlist,
};

use crate::slurmrestd::{
    call::Call,
    fields::Fields,
    job_desc::{FLAGS, JOB_DESC},
    number::Number,
    reply::Trouble,
};

use super::{Source, devices, quoted};

/// Reads a description. Without a script it is an allocation, which runs until it is ended.
pub(super) fn read(
    call: &Call<'_>,
    source: Source,
    job: &Fields,
    script: Option<&str>,
) -> Result<Submission, Trouble> {
    refuse_what_is_not_modelled(job)?;
    let mut submission = Submission::new(owner(call, source, job)?.as_str());
    submission.submitter = Some(call.request.user.as_str().into());
    check_rights(call, source, job)?;
    check_lengths(source, job)?;
    texts(&mut submission, job);
    surroundings(call, source, &mut submission, job)?;
    match script {
        Some(script) => submission.script = script.into(),
        None => submission.behaviour = Some(JobBehaviour::forever()),
    }
    sizes(&mut submission, job)?;
    check_tasks(call, source, &submission)?;
    shape(&mut submission, job);
    sharing(&mut submission, job);
    when(call, &mut submission, job);
    submission.gres = devices::devices(source, job)?;
    submission.per_gpu = devices::per_gpu(source, job)?;
    submission.required_nodes = node_names(source, job, "required_nodes")?;
    submission.excluded_nodes = node_names(source, job, "excluded_nodes")?;
    charge(call, source, &mut submission)?;
    Ok(submission)
}

/// Whether the job is to have no script: versions that don't know the flag have refused it already.
pub(super) fn is_external(job: &Fields) -> bool {
    job.list("flags").iter().any(|it| it.eq_ignore_ascii_case("EXTERNAL_JOB"))
}

/// Where a script runs, and with which environment; an external job has none.
fn surroundings(
    call: &Call<'_>,
    source: Source,
    submission: &mut Submission,
    job: &Fields,
) -> Result<(), Trouble> {
    submission.external = is_external(job);
    let directory = job.text("current_working_directory");
    if directory.is_none() && !submission.external {
        return Err(source.failed(SlurmError::MissingWorkDir));
    }
    submission.working_directory = directory.unwrap_or_default().into();
    submission.environment = job.list("environment").to_vec();
    if submission.environment.is_empty() && !submission.external {
        return Err(no_environment(call, source));
    }
    Ok(())
}

/// Since 26.05 there must be a task for each node.
fn check_tasks(call: &Call<'_>, source: Source, submission: &Submission) -> Result<(), Trouble> {
    let nodes = submission.max_nodes.max(submission.min_nodes);
    let few = submission.tasks.zip(nodes).is_some_and(|(tasks, nodes)| tasks < nodes);
    match few && call.release() == Release::V26_05 {
        true => Err(source.failed(SlurmError::BadTaskCount)),
        false => Ok(()),
    }
}

fn refuse_what_is_not_modelled(job: &Fields) -> Result<(), Trouble> {
    let not_modelled = |what: String| Err(Trouble::not_modelled("drawbridge", &what));
    if let Some(name) = job.beyond(JOB_DESC) {
        return not_modelled(format!("the field `{name}` of a job"));
    }
    let sharing = ["mcs", "topo"];
    for key in ["shared", "exclusive"] {
        if let Some(word) = job.list(key).iter().find(|word| sharing.contains(&word.as_str())) {
            return not_modelled(format!("`{key}: [\"{word}\"]`"));
        }
    }
    match job.list("flags").iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
        Some(flag) => not_modelled(format!("the job flag `{flag}`")),
        None => Ok(()),
    }
}

/// Only operators may submit for somebody else.
fn owner(call: &Call<'_>, source: Source, job: &Fields) -> Result<String, Trouble> {
    let caller = call.request.user.as_str();
    let user = job.text("user_id").unwrap_or(caller);
    let same = user == caller || user == UserName::from(caller).number().to_string();
    match (same, call.by_operator()) {
        (true, _) => Ok(caller.into()),
        (false, true) => Ok(user.into()),
        (false, false) => Err(source.failed(SlurmError::UserIdMissing)),
    }
}

fn check_rights(call: &Call<'_>, source: Source, job: &Fields) -> Result<(), Trouble> {
    if call.by_operator() {
        return Ok(());
    }
    if job.text("admin_comment").is_some() {
        return Err(source.failed(SlurmError::AccessDenied));
    }
    match job.int("nice") {
        Some(nice) if nice < 0 => Err(source.failed(SlurmError::InvalidNice)),
        Some(_) | None => Ok(()),
    }
}

/// How long texts and paths may be.
fn check_lengths(source: Source, job: &Fields) -> Result<(), Trouble> {
    const TEXTS: &[&str] =
        &["account", "comment", "extra", "mail_user", "name", "partition", "wckey"];
    const PATHS: &[&str] =
        &["current_working_directory", "standard_error", "standard_input", "standard_output"];
    let longer = |keys: &[&str], most: usize| {
        keys.iter().any(|key| job.text(key).is_some_and(|text| most < text.len()))
    };
    match longer(TEXTS, 1024) || longer(PATHS, 4096) {
        true => {
            let text = "Pathname of a file, directory or other parameter too long";
            Err(source.failed_with(2012, text))
        }
        false => Ok(()),
    }
}

fn no_environment(call: &Call<'_>, source: Source) -> Trouble {
    match call.release() {
        Release::V24_11 => source.failed(SlurmError::WritingToFile),
        Release::V26_05 => source.failed_with(2127, "Environment is missing in job"),
    }
}

/// What the job is charged to, where there is accounting.
fn charge(call: &Call<'_>, source: Source, submission: &mut Submission) -> Result<(), Trouble> {
    let Some(dbd) = call.dbd.as_deref() else {
        return Ok(());
    };
    let params = call.ctld.config().params();
    let enforced = Enforced { associations: params.enforce_associations, qos: params.enforce_qos };
    let (account, qos) = (submission.account.as_ref(), submission.qos.as_deref());
    let admitted = dbd.admit(&submission.user, account, qos, enforced);
    let admitted = admitted.map_err(|error| source.failed(error))?;
    submission.defaulted.account = submission.account.is_none();
    submission.defaulted.qos = submission.qos.is_none();
    submission.account = admitted.account;
    submission.qos = admitted.qos;
    Ok(())
}

fn texts(submission: &mut Submission, job: &Fields) {
    let owned = |key| job.text(key).map(str::to_owned);
    // Slurm's REST submissions without a name are called after the script's file; there is none.
    submission.name = owned("name").unwrap_or_default();
    submission.account = job.text("account").map(Into::into);
    let partitions = job.text("partition").unwrap_or_default().split(',');
    submission.partitions = partitions.filter(|name| !name.is_empty()).map(Into::into).collect();
    submission.constraints = owned("constraints");
    submission.dependency = owned("dependency");
    submission.comment = owned("comment").unwrap_or_default();
    submission.admin_comment = owned("admin_comment").unwrap_or_default();
    submission.mcs_label = owned("mcs_label");
    submission.wckey = owned("wckey");
    submission.qos = owned("qos");
    submission.reservation = owned("reservation");
    submission.licenses = owned("licenses");
    submission.array = owned("array").map(|text| ArraySpec { text });
    submission.requeue = job.flag("requeue");
    submission.no_kill = job.flag("kill_on_node_fail") == Some(false);
    let has = |flag: &str| job.list("flags").iter().any(|it| it.eq_ignore_ascii_case(flag));
    submission.kill_on_invalid_dep =
        match (has("KILL_INVALID_DEPENDENCY"), has("NO_KILL_INVALID_DEPENDENCY")) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
    submission.spread = has("SPREAD_JOB");
    submission.use_min_nodes = has("PREFER_MINIMUM_NODE_COUNT");
    submission.enforce_binding = has("GRES_BINDING_ENFORCED");
}

fn sizes(submission: &mut Submission, job: &Fields) -> Result<(), Trouble> {
    submission.tasks = count(job, "tasks");
    submission.cpus_per_task = count(job, "cpus_per_task");
    submission.ntasks_per_node = count(job, "tasks_per_node");
    submission.min_cpus = count(job, "minimum_cpus");
    submission.min_cpus_per_node = count(job, "minimum_cpus_per_node");
    let (least, most) = node_range(job)?;
    submission.min_nodes = count(job, "minimum_nodes").or(least);
    submission.max_nodes = count(job, "maximum_nodes").or(most);
    submission.memory = memory(job);
    Ok(())
}

fn shape(submission: &mut Submission, job: &Fields) {
    submission.shape = ShapeAsk {
        sockets_per_node: count(job, "sockets_per_node"),
        cores_per_socket: count(job, "cores_per_socket"),
        threads_per_core: count(job, "threads_per_core"),
        ntasks_per_socket: count(job, "tasks_per_socket"),
        ntasks_per_core: count(job, "tasks_per_core"),
    };
    submission.overcommit = job.flag("overcommit") == Some(true);
    submission.contiguous = job.flag("contiguous") == Some(true);
}

/// `shared`, or `exclusive` and `oversubscribe` of the older versions.
fn sharing(submission: &mut Submission, job: &Fields) {
    let has = |key: &str, word: &str| job.list(key).iter().any(|it| it.eq_ignore_ascii_case(word));
    submission.exclusive = has("shared", "none") || has("exclusive", "true");
    submission.exclusive_user = has("shared", "user") || has("exclusive", "user");
    submission.oversubscribe =
        has("shared", "oversubscribe") || job.flag("oversubscribe") == Some(true);
}

/// Slurm takes zero and negative counts for "not given".
pub(in crate::slurmrestd) fn count(job: &Fields, key: &str) -> Option<u32> {
    let count = job.int(key).and_then(|count| u32::try_from(count).ok());
    count.filter(|count| 0 < *count)
}

/// `nodes`: `4` or `2-4`.
pub(in crate::slurmrestd) fn node_range(
    job: &Fields,
) -> Result<(Option<u32>, Option<u32>), Trouble> {
    let Some(text) = job.text("nodes") else {
        return Ok((None, None));
    };
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.trim().parse(), most.trim().parse()) {
        (Ok(least), Ok(most)) => Ok((Some(least), Some(most))),
        _ => Err(Trouble {
            number: 9202,
            text: "Unable to convert Data type".into(),
            description: format!("Unknown format: {}", quoted(text)),
            source: "#/job/nodes/".into(),
        }),
    }
}

/// Memory per node is read last and so wins.
fn memory(job: &Fields) -> MemoryAsk {
    let number = |key| job.number(key).and_then(Number::is);
    match (number("memory_per_node"), number("memory_per_cpu")) {
        (Some(mib), _) => MemoryAsk::PerNode(mib),
        (None, Some(mib)) => MemoryAsk::PerCpu(mib),
        (None, None) => MemoryAsk::Default,
    }
}

fn when(call: &Call<'_>, submission: &mut Submission, job: &Fields) {
    let at = |seconds| Begin::At(call.ctld.epoch().time_of_unix(seconds));
    submission.time_limit = job.number("time_limit").map(time_limit);
    let least = job.number("time_minimum").and_then(Number::is).filter(|minutes| 0 < *minutes);
    submission.time_min = least.map(Span::mins);
    let begin = job.number("begin_time").and_then(Number::is);
    submission.begin = begin.filter(|seconds| 0 < *seconds).map(at);
    let deadline = job.int("deadline").and_then(|seconds| u64::try_from(seconds).ok());
    submission.deadline = deadline.filter(|seconds| 0 < *seconds).map(at);
    submission.nice = job.int("nice").and_then(|nice| i32::try_from(nice).ok()).unwrap_or(0);
    let priority = job.number("priority").and_then(Number::is);
    submission.hold = job.flag("hold") == Some(true) || priority == Some(0);
    // Slurm ignores a user's own idea of priority.
    submission.priority = priority
        .filter(|priority| 0 < *priority && call.by_operator())
        .and_then(|priority| u32::try_from(priority).ok());
    submission.warning = warning(job);
}

/// `kill_warning_*`: what `--signal` is for sbatch.
fn warning(job: &Fields) -> Option<Warning> {
    let signal = Signal::parse(job.text("kill_warning_signal")?)?;
    let before = job.number("kill_warning_delay").and_then(Number::is).unwrap_or(60);
    let to_script = job.list("kill_warning_flags").iter().any(|flag| flag == "BATCH_JOB");
    Some(Warning { signal, before: Span::secs(before), to_script })
}

/// Minutes; zero is no limit.
pub(in crate::slurmrestd) fn time_limit(minutes: Number) -> TimeLimit {
    match minutes {
        Number::Is(minutes) if 0 < minutes => TimeLimit::Of(Span::mins(minutes)),
        Number::Is(_) | Number::Infinite | Number::Unset => TimeLimit::Unlimited,
    }
}

/// Each item may be a host list: `n[1-4]`.
fn node_names(source: Source, job: &Fields, key: &str) -> Result<Vec<SlurmNode>, Trouble> {
    let mut names = vec![];
    for item in job.list(key) {
        let expanded = expand_hostlist(item);
        let expanded = expanded.map_err(|_| source.failed(SlurmError::InvalidNodeName))?;
        names.extend(expanded.into_iter().map(SlurmNode::from));
    }
    Ok(names)
}

//! `POST job/submit`: a job description becomes a [`Submission`].

use drawbridge_sim::{
    Begin, GresAsk, GresPer, MemoryAsk, Release, SlurmError, SlurmNode, Span, Submission,
    TimeLimit, expand_hostlist,
};
use serde_json::{Value, json};

use super::{
    call::{Call, UNREADABLE, not_a_dictionary},
    fields::{Fields, Kind, Schema, Use},
    job_desc::JOB_DESC,
    number::Number,
    reply::{NOT_SUPPORTED, Reply, Trouble, Warning},
    users,
};

const SUBMIT_REQUEST: Schema = Schema {
    parser: "DATA_PARSER_JOB_SUBMIT_REQ",
    rows: &[
        ("job", Kind::Object, Use::Honoured),
        ("jobs", Kind::List, Use::NotModelled),
        ("script", Kind::Text, Use::Honoured),
    ],
};

const SOURCE: &str = "slurm_submit_batch_job()";
const HELD: &str = "Job is in held state, pending scheduler release";

/// Submits a job.
pub(super) fn submit(call: &mut Call<'_>) -> Reply {
    let (top, job) = match read(call.request.body.as_ref()) {
        Ok(read) => read,
        Err(trouble) => return Reply::refused(UNREADABLE, trouble),
    };
    let warnings: Vec<Warning> = [job.warnings.as_slice(), &top.warnings].concat();
    let reply = submit_fields(call, &top, &job);
    reply.warnings_first(&warnings).errors(UNREADABLE, job.troubles)
}

fn read(body: Option<&Value>) -> Result<(Fields, Fields), Trouble> {
    let Some(body) = body else {
        return Ok((Fields::default(), Fields::default()));
    };
    if !body.is_object() {
        return Err(not_a_dictionary("#/", body));
    }
    let top = Fields::read(SUBMIT_REQUEST, "#/", body);
    match body.get("job") {
        None | Some(Value::Null) => Ok((top, Fields::default())),
        Some(job) if job.is_object() => Ok((top, Fields::read(JOB_DESC, "#/job/", job))),
        Some(job) => Err(not_a_dictionary("#/job/", job)),
    }
}

fn submit_fields(call: &mut Call<'_>, top: &Fields, job: &Fields) -> Reply {
    // Slurm's oddity: a value that can't be read is no error, and nothing happens.
    if top.broken || job.broken {
        return Reply::ok();
    }
    let Some(script) = top.text("script").or_else(|| job.text("script")) else {
        let what = "Populated \"script\" field is required for job submission";
        return Reply::refused(422, Trouble::query(what, "_job_post"));
    };
    if !top.has("job") {
        let what = "Specifing either \"job\" or \"jobs\" fields are required to submit job";
        return Reply::refused(422, Trouble::query(what, "_job_post"));
    }
    let submission = match submission(call, top, job, script) {
        Ok(submission) => submission,
        Err(trouble) => return Reply::refused(call.refusal(), trouble),
    };
    let held = submission.hold;
    match call.ctld.submit(call.now, submission) {
        Ok(id) => accepted(id.0, held),
        Err(error) => Reply::refused(call.status_of(error), failed(error)),
    }
}

fn accepted(id: u32, held: bool) -> Reply {
    let reply = Reply::ok()
        .with("job_id", id.into())
        .with("step_id", "batch".into())
        .with("job_submit_user_msg", "".into());
    if !held {
        return reply;
    }
    let texts = [format!("Job submission resulted in non-zero return code: {HELD}"), HELD.into()];
    let warnings = texts.map(|description| Warning { description, source: SOURCE.into() });
    reply.warnings(&warnings)
}

fn failed(error: SlurmError) -> Trouble {
    Trouble::slurm(error, "Batch job submission failed", SOURCE)
}

fn failed_with(number: i64, text: &str) -> Trouble {
    Trouble {
        number,
        text: text.into(),
        description: "Batch job submission failed".into(),
        source: SOURCE.into(),
    }
}

pub(super) fn not_modelled(what: &str) -> Trouble {
    Trouble {
        number: NOT_SUPPORTED,
        text: "Requested operation not supported on this system".into(),
        description: format!("drawbridge does not model {what}"),
        source: "drawbridge".into(),
    }
}

fn submission(
    call: &Call<'_>,
    top: &Fields,
    job: &Fields,
    script: &str,
) -> Result<Submission, Trouble> {
    refuse_what_is_not_modelled(top, job)?;
    let mut submission = Submission::new(submitter(call, job)?.as_str());
    check_rights(call, job)?;
    submission.working_directory = job
        .text("current_working_directory")
        .ok_or_else(|| failed(SlurmError::MissingWorkDir))?
        .into();
    submission.environment = job.list("environment").to_vec();
    if submission.environment.is_empty() {
        return Err(no_environment(call));
    }
    submission.script = script.into();
    texts(&mut submission, job);
    sizes(&mut submission, job)?;
    when(call, &mut submission, job);
    submission.gres = generic_resources(job)?;
    submission.required_nodes = node_names(job, "required_nodes")?;
    submission.excluded_nodes = node_names(job, "excluded_nodes")?;
    Ok(submission)
}

fn refuse_what_is_not_modelled(top: &Fields, job: &Fields) -> Result<(), Trouble> {
    if let Some(name) = top.not_modelled.or(job.not_modelled) {
        return Err(not_modelled(&format!("the field `{name}` of a job")));
    }
    if job.flag("kill_on_node_fail") == Some(false) {
        return Err(not_modelled("`kill_on_node_fail: false`"));
    }
    let sharing = ["user", "mcs", "topo"];
    if let Some(word) = job.list("shared").iter().find(|word| sharing.contains(&word.as_str())) {
        return Err(not_modelled(&format!("`shared: [\"{word}\"]`")));
    }
    let known = "KILL_INVALID_DEPENDENCY";
    match job.list("flags").iter().find(|flag| flag.as_str() != known) {
        Some(flag) => Err(not_modelled(&format!("the job flag `{flag}`"))),
        None => Ok(()),
    }
}

/// Only operators may submit for somebody else.
fn submitter(call: &Call<'_>, job: &Fields) -> Result<String, Trouble> {
    let caller = call.request.user.as_str();
    let user = job.text("user_id").unwrap_or(caller);
    let same = user == caller || user == users::id(caller).to_string();
    match (same, call.by_operator()) {
        (true, _) => Ok(caller.into()),
        (false, true) => Ok(user.into()),
        (false, false) => Err(failed(SlurmError::UserIdMissing)),
    }
}

fn check_rights(call: &Call<'_>, job: &Fields) -> Result<(), Trouble> {
    if call.by_operator() {
        return Ok(());
    }
    if job.text("admin_comment").is_some() {
        return Err(failed(SlurmError::AccessDenied));
    }
    match job.int("nice") {
        Some(nice) if nice < 0 => Err(failed_with(2123, "Invalid --nice value")),
        Some(_) | None => Ok(()),
    }
}

fn no_environment(call: &Call<'_>) -> Trouble {
    match call.ctld.config().release() {
        Release::V24_11 => failed(SlurmError::WritingToFile),
        Release::V26_05 => failed_with(2127, "Environment is missing in job"),
    }
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
    submission.requeue = job.flag("requeue");
    submission.kill_on_invalid_dep = (!job.list("flags").is_empty()).then_some(true);
}

fn sizes(submission: &mut Submission, job: &Fields) -> Result<(), Trouble> {
    submission.tasks = count(job, "tasks");
    submission.cpus_per_task = count(job, "cpus_per_task");
    submission.ntasks_per_node = count(job, "tasks_per_node");
    let (least, most) = node_range(job)?;
    submission.min_nodes = count(job, "minimum_nodes").or(least);
    submission.max_nodes = count(job, "maximum_nodes").or(most);
    let exclusive = job.list("shared").iter();
    submission.exclusive = exclusive.clone().any(|word| word.eq_ignore_ascii_case("none"));
    submission.memory = memory(job);
    Ok(())
}

/// Slurm takes zero and negative counts for "not given".
pub(super) fn count(job: &Fields, key: &str) -> Option<u32> {
    let count = job.int(key).and_then(|count| u32::try_from(count).ok());
    count.filter(|count| 0 < *count)
}

/// `nodes`: `4` or `2-4`.
pub(super) fn node_range(job: &Fields) -> Result<(Option<u32>, Option<u32>), Trouble> {
    let Some(text) = job.text("nodes") else {
        return Ok((None, None));
    };
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.trim().parse(), most.trim().parse()) {
        (Ok(least), Ok(most)) => Ok((Some(least), Some(most))),
        _ => Err(Trouble {
            number: 9202,
            text: "Unable to convert Data type".into(),
            description: format!("Unknown format: {}", json!(text)),
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
    submission.time_limit = job.number("time_limit").map(time_limit);
    let begin = job.number("begin_time").and_then(Number::is);
    submission.begin = begin
        .filter(|seconds| 0 < *seconds)
        .map(|seconds| Begin::At(call.ctld.epoch().time_of_unix(seconds)));
    submission.nice = job.int("nice").and_then(|nice| i32::try_from(nice).ok()).unwrap_or(0);
    let priority = job.number("priority").and_then(Number::is);
    submission.hold = job.flag("hold") == Some(true) || priority == Some(0);
    // Slurm ignores a user's own idea of priority.
    submission.priority = priority
        .filter(|priority| 0 < *priority && call.by_operator())
        .and_then(|priority| u32::try_from(priority).ok());
}

/// Minutes; zero is no limit.
pub(super) fn time_limit(minutes: Number) -> TimeLimit {
    match minutes {
        Number::Is(minutes) if 0 < minutes => TimeLimit::Of(Span::mins(minutes)),
        Number::Is(_) | Number::Infinite | Number::Unset => TimeLimit::Unlimited,
    }
}

fn generic_resources(job: &Fields) -> Result<Vec<GresAsk>, Trouble> {
    let fields = [
        ("tres_per_node", GresPer::Node),
        ("tres_per_task", GresPer::Task),
        ("tres_per_job", GresPer::Job),
    ];
    let mut all = vec![];
    for (key, per) in fields {
        let text = job.text(key).unwrap_or_default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            check_tres_name(key, word)?;
            let asks = GresAsk::parse_list(word, per);
            all.extend(asks.map_err(|_| failed(SlurmError::InvalidGres))?);
        }
    }
    all.retain(|ask| 0 < ask.count);
    Ok(all)
}

/// Slurm wants `gres/` in front here; the other kinds (`cpu`, `mem`, `license`) aren't modelled.
fn check_tres_name(key: &str, word: &str) -> Result<(), Trouble> {
    if word.starts_with("gres/") || word.starts_with("gres:") {
        return Ok(());
    }
    let kind = word.split(['/', ':', '=']).next().unwrap_or(word);
    let known = ["cpu", "mem", "energy", "node", "billing", "fs", "vmem", "pages", "license", "bb"];
    if known.contains(&kind) {
        return Err(not_modelled(&format!("`{kind}` in `{key}`")));
    }
    Err(failed_with(2115, "Invalid Trackable RESource (TRES) specification"))
}

/// Each item may be a host list: `n[1-4]`.
pub(super) fn node_names(job: &Fields, key: &str) -> Result<Vec<SlurmNode>, Trouble> {
    let mut names = vec![];
    for item in job.list(key) {
        let expanded = expand_hostlist(item).map_err(|_| failed(SlurmError::InvalidNodeName))?;
        names.extend(expanded.into_iter().map(SlurmNode::from));
    }
    Ok(names)
}

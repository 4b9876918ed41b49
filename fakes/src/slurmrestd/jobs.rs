//! Reading jobs: one, all, or only their states.

use std::collections::BTreeMap;

use drawbridge_sim::{
    AccountName, ArrayTasks, Job, JobId, JobTarget, SlurmError, Slurmdbd, UserName,
};
use serde_json::{Map, Value, json};

use crate::Request;

use super::{
    call::{Answer, Call, UNREADABLE},
    job_json::{JobView, job_json},
    reply::{Reply, Trouble, Warning},
    times::calendar,
};

const FLAGS: &[&str] = &["ALL", "DETAIL", "MIXED", "LOCAL", "SIBLING", "FEDERATION", "FUTURE"];
const QUERY: &str = "DATA_PARSER_OPENAPI_JOB_INFO_QUERY";

/// Job numbers from here on are refused before anybody looks for them.
const JOB_ID_END: u32 = 0x03FF_FFFF;

impl Call<'_> {
    /// The job, the array or the task in the path.
    pub(super) fn job_target(&self, source: &str) -> Result<JobTarget, Reply> {
        // A step (`7.0`, `7.batch`) or a part (`7+0`) of a job names the job: there are no steps.
        let text = self.name.split(['.', '+']).next().unwrap_or(self.name);
        match JobTarget::parse(text) {
            None | Some(JobTarget::Job(JobId(u32::MAX))) => Err(Reply::refused(
                422,
                Trouble::query("Rejecting request. Failure parsing parameters", source),
            )),
            Some(target) if JOB_ID_END <= target.job().0 => {
                let what = format!("Invalid JobID={} rejected", target.job());
                Err(Reply::refused(404, Trouble::slurm(SlurmError::InvalidJobId, what, source)))
            }
            Some(target) => Ok(target),
        }
    }
}

/// What jobs are charged to, by account and user.
#[derive(Clone, Debug, Default)]
pub(super) struct Associations(BTreeMap<(AccountName, UserName), u32>);

impl Associations {
    /// None without accounting.
    pub(super) fn of(dbd: Option<&Slurmdbd>) -> Self {
        let all = dbd.map_or_else(Vec::new, Slurmdbd::associations).into_iter();
        let of_users = all.filter(|it| it.partition.is_none());
        let pairs = of_users.filter_map(|it| Some(((it.account.clone(), it.user.clone()?), it.id)));
        Self(pairs.collect())
    }

    /// The number of what a job is charged to; 0 without accounting.
    pub(super) fn number(&self, job: &Job) -> u32 {
        let Some(account) = job.submission.account.clone().filter(|_| !self.0.is_empty()) else {
            return 0;
        };
        self.0.get(&(account, job.submission.user.clone())).copied().unwrap_or(0)
    }
}

/// `GET jobs`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let rejected = "Rejecting request. Failure parsing query.";
    let since = call.update_time(422, rejected, "op_handler_jobs")?;
    call.connect(no_jobs(), "Unable to query jobs", "slurm_load_jobs()")?;
    let warnings = call.query_warnings(QUERY);
    let changed = call.jobs_changed();
    if let Some(since) = since.filter(|since| changed <= *since) {
        return Ok(nothing_newer(since).warnings(&warnings));
    }
    let (detail, troubles) = detail(call);
    let associations = Associations::of(call.dbd.as_deref());
    let (now, version) = (call.now, call.version());
    let view = JobView { ctld: call.ctld, now, associations: &associations, version, detail };
    let jobs = call.ctld.jobs().filter(|_| !call.listing);
    let jobs: Vec<Value> = jobs.map(|job| job_json(&view, job)).collect();
    Ok(with_jobs(call, jobs).warnings(&warnings).errors(UNREADABLE, troubles))
}

/// `GET job/{id}`: a job, a task of an array, or all of an array.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    // A task's number is passed over: all of the array is shown.
    let target = JobTarget::Job(call.job_target("op_handler_job")?.job());
    let rejected = "Rejecting request. Failure parsing query.";
    call.update_time(UNREADABLE, rejected, "_handle_job_get")?;
    let unknown = format!("Unable to query JobId={}", target.job());
    call.connect(no_jobs(), &unknown, "_handle_job_get")?;
    let (detail, troubles) = detail(call);
    let associations = Associations::of(call.dbd.as_deref());
    let (now, version) = (call.now, call.version());
    let view = JobView { ctld: call.ctld, now, associations: &associations, version, detail };
    let found: Vec<Value> = call.ctld.jobs_of(&target).map(|job| job_json(&view, job)).collect();
    let reply = match found.is_empty() {
        false => with_jobs(call, found),
        true => {
            let error = SlurmError::InvalidJobId;
            no_jobs().error(404, Trouble::slurm(error, unknown, "_handle_job_get"))
        }
    };
    Ok(reply.warnings(&call.query_warnings(QUERY)).errors(UNREADABLE, troubles))
}

/// `GET jobs/state`: the cheap one, for polling.
pub(super) fn states(call: &mut Call<'_>) -> Answer {
    let empty = Reply::ok().with("jobs", json!([]));
    let warnings = call.query_warnings("DATA_PARSER_OPENAPI_JOB_STATE_QUERY");
    let targets = asked(call).ok_or_else(|| {
        let what = "Rejecting request. Failure parsing query";
        Reply::refused(422, Trouble::query(what, "op_handler_job_states"))
    })?;
    call.connect(empty, "Unable to query job states", "slurm_load_job_state()")?;
    let mut states = vec![];
    if targets.is_empty() {
        call.ctld.jobs().for_each(|job| state(job, &mut states));
    }
    for target in &targets {
        call.ctld.jobs_of(target).for_each(|job| state(job, &mut states));
    }
    // The document takes this for another answer.
    Ok(Reply::ok().with_raw("jobs", states.into()).warnings(&warnings))
}

/// `job_id=7&job_id=9_1`; commas are not understood.
fn asked(call: &Call<'_>) -> Option<Vec<JobTarget>> {
    let ids = call.request.query.iter().filter(|(key, _)| key == "job_id");
    ids.map(|(_, id)| JobTarget::parse(id).filter(|_| !id.contains(','))).collect()
}

/// Built by hand: this is the one that is asked for all the time, for every job. Tasks that share a
/// record are listed one by one.
fn state(job: &Job, states: &mut Vec<Value>) {
    let mut push = |name: String| {
        let mut map = Map::new();
        map.insert("job_id".into(), name.into());
        map.insert("state".into(), job.state_flags().collect());
        states.push(Value::Object(map));
    };
    match job.array.as_ref().map(|place| (place.job, &place.tasks)) {
        None => push(job.id.to_string()),
        Some((array, ArrayTasks::One(task))) => push(format!("{array}_{task}")),
        Some((array, ArrayTasks::Several(tasks))) => {
            tasks.iter().for_each(|task| push(format!("{array}_{task}")));
        }
    }
}

fn with_jobs(call: &Call<'_>, jobs: Vec<Value>) -> Reply {
    Reply::ok()
        .with("jobs", jobs.into())
        .with("last_backfill", call.jobs_changed().into())
        .with("last_update", call.jobs_changed().into())
}

fn no_jobs() -> Reply {
    Reply::ok()
        .with("jobs", json!([]))
        .with("last_backfill", 0.into())
        .with("last_update", 0.into())
}

fn nothing_newer(since: u64) -> Reply {
    no_jobs().warning(&Warning {
        description: format!("No job changes since update_time[{since}]={}", calendar(since)),
        source: "op_handler_jobs".into(),
    })
}

/// Whether allocations are printed core by core: without `flags`, or with `DETAIL` among them.
pub(super) fn is_detailed(request: &Request) -> bool {
    let flags = request.query("flags");
    flags.is_none_or(|text| text.split(',').any(|word| word.eq_ignore_ascii_case("DETAIL")))
}

fn detail(call: &Call<'_>) -> (bool, Vec<Trouble>) {
    let words = call.request.query("flags").into_iter().flat_map(|text| text.split(','));
    let is = |word: &str, flag: &str| word.eq_ignore_ascii_case(flag);
    let unknown = words.filter(|word| !FLAGS.iter().any(|flag| is(word, flag)));
    let troubles = unknown.map(|word| Trouble {
        number: 9207,
        text: "Data parser unable to parse invalid flag".into(),
        description: format!("Unknown flag \"{word}\""),
        source: "#/flags/".into(),
    });
    (is_detailed(call.request), troubles.collect())
}

//! Reading jobs: one, all, or only their states.

use drawbridge_sim::{Job, SlurmError};
use serde_json::{Map, Value, json};

use super::{
    call::{Call, UNREADABLE, calendar},
    job_json::job_json,
    number::number,
    reply::{Reply, Trouble, Warning},
};

const FLAGS: &[&str] = &["ALL", "DETAIL", "MIXED", "LOCAL", "SIBLING", "FEDERATION", "FUTURE"];

/// `GET jobs`.
pub(super) fn list(call: &mut Call<'_>) -> Reply {
    let since = match call.update_time() {
        Ok(since) => since,
        Err(trouble) => return bad_query(trouble, "Rejecting request. Failure parsing query."),
    };
    let warnings =
        call.query_warnings("DATA_PARSER_OPENAPI_JOB_INFO_QUERY", &["update_time", "flags"]);
    let changed = call.changed();
    if let Some(since) = since.filter(|since| changed <= *since) {
        return nothing_newer(since).warnings(&warnings);
    }
    let (detail, troubles) = detail(call);
    let jobs: Vec<Value> = call.ctld.jobs().map(|job| job_json(call.ctld, job, detail)).collect();
    let reply = with_jobs(call, jobs).warnings(&warnings);
    reply.errors(UNREADABLE, troubles)
}

/// `GET job/{id}`.
pub(super) fn one(call: &mut Call<'_>, id: &str) -> Reply {
    let id = match call.job_id(id) {
        Ok(id) => id,
        Err(reply) => return reply,
    };
    let (detail, troubles) = detail(call);
    let warnings =
        call.query_warnings("DATA_PARSER_OPENAPI_JOB_INFO_QUERY", &["update_time", "flags"]);
    let reply = match call.ctld.job(id) {
        Some(job) => with_jobs(call, vec![job_json(call.ctld, job, detail)]),
        None => no_jobs().error(
            404,
            Trouble::slurm(
                SlurmError::InvalidJobId,
                format!("Unable to query JobId={id}"),
                "_handle_job_get",
            ),
        ),
    };
    reply.warnings(&warnings).errors(UNREADABLE, troubles)
}

/// `GET jobs/state`: the cheap one, for polling.
pub(super) fn states(call: &mut Call<'_>) -> Reply {
    let warnings = call.query_warnings("DATA_PARSER_OPENAPI_JOB_STATE_QUERY", &["job_id"]);
    let jobs: Vec<Value> = match call.request.query("job_id") {
        None => call.ctld.jobs().map(state).collect(),
        Some(ids) => match asked(call, ids) {
            Some(jobs) => jobs,
            None => {
                let what = "Rejecting request. Failure parsing query";
                return Reply::refused(422, Trouble::query(what, "op_handler_job_states"));
            }
        },
    };
    Reply::ok().with("jobs", jobs.into()).warnings(&warnings)
}

fn asked(call: &Call<'_>, ids: &str) -> Option<Vec<Value>> {
    let ids = ids.split(',').map(|id| call.job_id(id));
    let ids: Vec<_> = ids.collect::<Result<_, _>>().ok()?;
    let jobs = ids.into_iter().filter_map(|id| call.ctld.job(id));
    Some(jobs.map(state).collect())
}

/// Built by hand: this is the one that is asked for all the time, for every job.
fn state(job: &Job) -> Value {
    let mut map = Map::new();
    map.insert("job_id".into(), job.id.0.to_string().into());
    map.insert("state".into(), job.state_flags().collect());
    Value::Object(map)
}

fn with_jobs(call: &Call<'_>, jobs: Vec<Value>) -> Reply {
    Reply::ok()
        .with("jobs", jobs.into())
        .with("last_backfill", number(call.changed()))
        .with("last_update", number(call.changed()))
}

fn no_jobs() -> Reply {
    Reply::ok()
        .with("jobs", json!([]))
        .with("last_backfill", number(0))
        .with("last_update", number(0))
}

fn nothing_newer(since: u64) -> Reply {
    no_jobs().warning(&Warning {
        description: format!("No job changes since update_time[{since}]={}", calendar(since)),
        source: "op_handler_jobs".into(),
    })
}

fn bad_query(trouble: Trouble, what: &str) -> Reply {
    Reply::refused(422, trouble).error(422, Trouble::query(what, "op_handler_jobs"))
}

/// Whether allocations are printed core by core: without `flags`, or with `DETAIL` among them.
fn detail(call: &Call<'_>) -> (bool, Vec<Trouble>) {
    let Some(text) = call.request.query("flags") else {
        return (true, vec![]);
    };
    let words: Vec<&str> = text.split(',').collect();
    let is = |word: &str, flag: &str| word.eq_ignore_ascii_case(flag);
    let unknown = words.iter().filter(|word| !FLAGS.iter().any(|flag| is(word, flag)));
    let troubles = unknown.map(|word| Trouble {
        number: 9207,
        text: "Data parser unable to parse invalid flag".into(),
        description: format!("Unknown flag \"{word}\""),
        source: "#/flags/".into(),
    });
    let detail = words.iter().any(|word| is(word, "DETAIL"));
    (detail, troubles.collect())
}

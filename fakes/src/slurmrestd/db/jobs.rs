//! Jobs, as sacct sees them.

use drawbridge_sim::{JobRecord, JobTarget};
use serde_json::Value;

use crate::slurmrestd::{
    call::{Answer, Call},
    reply::{Reply, Trouble},
};

use super::{listed, record::record_json};

const QUERY: &str = "DATA_PARSER_JOB_CONDITION";
const REJECTED: &str = "Rejecting request. Failure parsing query parameters";

/// `GET jobs`: those that ever could run, in the time that is asked for.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let warnings = call.query_warnings(QUERY);
    let wanted = Condition::read(call)?;
    let records = call.dbd.as_deref().into_iter().flat_map(drawbridge_sim::Slurmdbd::jobs);
    let records = records.filter(|record| record.job.eligible_time.is_some());
    let records = records.filter(|record| wanted.fits(call, record));
    let all: Vec<Value> = records.map(|record| record_json(call, record)).collect();
    Ok(listed("jobs", all, "slurmdb_jobs_get", "_dump_jobs").warnings(&warnings))
}

/// `GET job/{id}`: a job, whether or not it ever could run.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let target = JobTarget::parse(call.name);
    let target =
        target.ok_or_else(|| Reply::refused(422, Trouble::query(REJECTED, "op_handler_job")))?;
    call.db()?;
    let id = target.job();
    let records = call.dbd.as_deref().into_iter().flat_map(drawbridge_sim::Slurmdbd::jobs);
    let own = records.filter(|record| {
        let array = record.job.array.as_ref().map(|place| place.job);
        !record.requeued && (record.job.id == id || array == Some(id))
    });
    let found: Vec<Value> = own.map(|record| record_json(call, record)).collect();
    Ok(listed("jobs", found, "slurmdb_jobs_get", "_dump_jobs"))
}

/// Which jobs: those in all of the lists that are given.
#[derive(Debug)]
struct Condition {
    lists: Vec<(&'static str, Vec<String>)>,
    start: Option<u64>,
    end: Option<u64>,
    duplicates: bool,
}

impl Condition {
    fn read(call: &Call<'_>) -> Result<Self, Reply> {
        let moment = |key: &str| {
            let text = call.request.query(key).filter(|text| !text.is_empty());
            text.map(|text| call.moment_of(key, text)).transpose().map_err(|trouble| {
                Reply::refused(422, trouble).error(422, Trouble::query(REJECTED, "op_handler_jobs"))
            })
        };
        let keys = ["users", "account", "partition", "state", "job_name", "qos", "step", "cluster"];
        let lists = keys.into_iter().filter_map(|key| {
            let words = call.words(key)?;
            Some((key, words.into_iter().map(str::to_owned).collect()))
        });
        Ok(Self {
            lists: lists.collect(),
            start: moment("start_time")?,
            end: moment("end_time")?,
            duplicates: call.switch(&["show_duplicates"]),
        })
    }

    fn fits(&self, call: &Call<'_>, record: &JobRecord) -> bool {
        let ended = record.ended.or(record.job.end_time).map(|time| call.unix(time));
        let began = call.unix(record.job.submit_time);
        let in_time = self.start.is_none_or(|start| ended.is_none_or(|ended| start <= ended))
            && self.end.is_none_or(|end| began <= end);
        let listed = self.lists.iter().all(|(key, words)| {
            let value = value(call, key, record);
            words.iter().any(|word| word.eq_ignore_ascii_case(&value))
        });
        in_time && listed && (self.duplicates || !record.requeued)
    }
}

fn value(call: &Call<'_>, key: &str, record: &JobRecord) -> String {
    let (job, asked) = (&record.job, &record.job.submission);
    match key {
        "users" => asked.user.to_string(),
        "account" => asked.account.as_ref().map_or(String::new(), ToString::to_string),
        "partition" => job.partition.to_string(),
        "state" => job.state.as_str().to_owned(),
        "job_name" => asked.name.clone(),
        "qos" => asked.qos.clone().unwrap_or_default(),
        "cluster" => call.ctld.config().params().cluster_name.clone(),
        _step => job.id.to_string(),
    }
}

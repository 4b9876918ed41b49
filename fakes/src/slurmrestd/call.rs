//! One call: who asks what of which slurmctld, and what any endpoint needs to know about it.

use drawbridge_sim::{Epoch, JobId, Release, SlurmError, Slurmctld, Time};
use serde_json::Value;

use crate::Request;

use super::{
    fields::{Fields, Schema, unknown_field},
    reply::{Reply, Trouble, Warning},
};

/// The status of a body that slurmrestd itself can't read, in every release.
pub(super) const UNREADABLE: u16 = 500;

/// Job numbers from here on are refused before anybody looks for them.
const JOB_ID_END: u32 = 0x03FF_FFFF;

/// One call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The model.
    pub(super) ctld: &'a mut Slurmctld,
    /// When.
    pub(super) now: Time,
    /// What.
    pub(super) request: &'a Request,
}

impl Call<'_> {
    /// May the caller do everything?
    pub(super) fn by_operator(&self) -> bool {
        Slurmctld::is_operator(&self.request.user.as_str().into())
    }

    /// The status that a refusal by slurmctld gets.
    pub(super) fn refusal(&self) -> u16 {
        match self.ctld.config().release() {
            Release::V24_11 => 500,
            Release::V26_05 => 422,
        }
    }

    /// The status for this refusal.
    pub(super) fn status_of(&self, error: SlurmError) -> u16 {
        if error == SlurmError::InvalidJobId {
            return 404;
        }
        self.refusal()
    }

    /// Seconds since 1970.
    pub(super) fn unix(&self, time: Time) -> u64 {
        self.ctld.epoch().unix(time)
    }

    /// When jobs and nodes last changed. The model keeps no such time, so it is always just now: a
    /// client sees too much and misses nothing.
    pub(super) fn changed(&self) -> u64 {
        self.unix(self.now)
    }

    /// Major, minor and micro version of the modelled release.
    pub(super) fn release_parts(&self) -> [&'static str; 3] {
        match self.ctld.config().release() {
            Release::V24_11 => ["24", "11", "5"],
            Release::V26_05 => ["26", "05", "5"],
        }
    }

    /// The job number in the path.
    pub(super) fn job_id(&self, text: &str) -> Result<JobId, Reply> {
        // `7_1` and `7.0` name a task and a step of job 7; there are none, so they name job 7.
        let number = text.split(['_', '.', '+']).next().unwrap_or(text);
        match number.parse::<u32>() {
            Ok(0 | u32::MAX) | Err(_) => Err(Reply::refused(
                422,
                Trouble::query("Rejecting request. Failure parsing parameters", "op_handler_job"),
            )),
            Ok(id) if JOB_ID_END <= id => Err(Reply::refused(
                404,
                Trouble::slurm(
                    SlurmError::InvalidJobId,
                    format!("Invalid JobID={id} rejected"),
                    "op_handler_job",
                ),
            )),
            Ok(id) => Ok(JobId(id)),
        }
    }

    /// The body as a dictionary; no body is an empty one.
    pub(super) fn body(&self, schema: Schema) -> Result<Fields, Trouble> {
        match &self.request.body {
            None => Ok(Fields::default()),
            Some(body) if body.is_object() => Ok(Fields::read(schema, "#/", body)),
            Some(body) => Err(not_a_dictionary("#/", body)),
        }
    }

    /// A warning for each query parameter that `parser` doesn't know.
    pub(super) fn query_warnings(&self, parser: &str, known: &[&str]) -> Vec<Warning> {
        let keys = self.request.query.iter().map(|(key, _)| key);
        keys.filter(|key| !known.contains(&key.as_str()))
            .map(|key| Warning {
                description: unknown_field(parser, key, &Value::String(String::new())),
                source: format!("#/{key}/"),
            })
            .collect()
    }

    /// `update_time`: seconds since 1970, as `1794789398`, `uts1794789398` or `now`.
    pub(super) fn update_time(&self) -> Result<Option<u64>, Trouble> {
        let Some(text) = self.request.query("update_time") else {
            return Ok(None);
        };
        if text == "now" {
            return Ok(Some(self.unix(self.now)));
        }
        let seconds = text.strip_prefix("uts").unwrap_or(text).parse::<i64>();
        // Before 1970 everything is news.
        let since = seconds.map(|secs| Some(u64::try_from(secs).unwrap_or(0)));
        since.map_err(|_| Trouble {
            number: 9202,
            text: "Unable to convert Data type".into(),
            description: format!("Parsing of {text} for timestamp failed"),
            source: "#/update_time/".into(),
        })
    }
}

/// The error about a body (or a part of it) that must be a dictionary.
pub(super) fn not_a_dictionary(path: &str, value: &Value) -> Trouble {
    Trouble {
        number: 9209,
        text: "Data parser expected a dictionary or object".into(),
        description: format!(
            "Rejecting {} when dictionary expected",
            super::fields::slurm_type(value)
        ),
        source: path.into(),
    }
}

/// A moment as slurmrestd prints it in texts: `2026-11-16T00:36:38`.
pub(super) fn calendar(seconds: u64) -> String {
    let text = Epoch::from_unix(seconds).rfc3339(Time::ZERO);
    text.trim_end_matches('Z').to_owned()
}

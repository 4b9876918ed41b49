//! Jobs: listed, read, submitted, changed, cancelled, requeued.

use drawbridge_core::{SlurmFault, slurm::ApiVersion};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Call, Item, JobDescription, Listed, Listing, Unserved, list, served, slurm};
use crate::slurm::{
    http::{HttpRequest, escape},
    reply::{Envelope, Garbled, Reply, Sieve},
    types::{Job, Number, observed::JobSketch, wire},
};

/// Slurm's number for a job that it doesn't know.
const INVALID_JOB_ID: i64 = 2017;

/// All jobs in full. Costs slurmctld and the wire 7 to 30 kB for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs;

/// All jobs, of each what the core looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobSketches;

/// One job in full, by its number as text: an array's number brings its tasks as well. Empty if
/// slurmctld doesn't know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobById(pub String);

/// Numbers and states alone: of these jobs, or of all if none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobStates(pub Vec<String>);

/// Submits a batch job, or one without a script where the flag `EXTERNAL_JOB` is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Submit(pub JobDescription);

/// Changes a job: only what is set.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateJob {
    /// Which.
    pub job: String,
    /// How it shall be.
    pub change: JobDescription,
}

/// Cancels a job, or sends it a signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cancel {
    /// Which.
    pub job: String,
    /// `None` cancels; otherwise a name such as `USR1`.
    pub signal: Option<String>,
    /// For example `FULL_JOB`.
    pub flags: Vec<String>,
}

/// Cancels or signals every job that fits. What is empty doesn't count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "named as on the wire")]
pub struct CancelMany {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_name: Option<String>,
    /// As `scancel` takes them: `7`, `17_3`, `18+1`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub job_state: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// Puts a job back into the queue. Served since v0.0.45.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requeue {
    /// Which.
    pub job: String,
    /// And hold it there.
    pub hold: bool,
    /// And mark its exit as special.
    pub special_exit: bool,
    /// Only if it isn't complete.
    pub incomplete: bool,
}

/// Puts several jobs back into the queue. Served since v0.0.45.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequeueMany {
    /// Which.
    pub jobs: Vec<String>,
    /// `Hold`, `SpecialExit`, `Incomplete`.
    pub flags: Vec<String>,
}

/// A job that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Submitted {
    /// Its number, never 0.
    pub job_id: u32,
    /// `batch`
    pub step_id: String,
    /// What a plugin of the site has to say to the user.
    pub job_submit_user_msg: String,
}

wire! {
    /// A job's state alone.
    JobState {
        /// As `squeue` writes it: `17_0` for a task of an array, `18+1` for a part of a het job.
        job_id: String,
        state: Vec<String>,
    }

    /// What came of cancelling one job.
    Killed {
        error: KillError,
        step_id: String,
        job_id: Number,
    }

    /// Why a job could not be cancelled; code 0 if it could.
    KillError {
        string: String,
        code: i64,
        message: String,
    }

    /// What came of changing one job.
    Changed {
        job_id: Number,
        step_id: String,
        error: String,
        error_code: i64,
        why: String,
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Results {
    results: Option<Vec<Changed>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KillReply {
    status: Vec<Killed>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RequeueReply {
    status: Option<Vec<Changed>>,
}

impl Call for Jobs {
    type Answer = Listing<Job>;
    const NAME: &'static str = "jobs";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, "jobs")))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?)
    }
}

impl JobSketches {
    /// Lets through what is looked at.
    pub(crate) fn sieve() -> Sieve {
        Sieve::new(JobSketch::KEY, JobSketch::KEYS)
    }
}

impl Call for JobSketches {
    type Answer = Listing<JobSketch>;
    const NAME: &'static str = Jobs::NAME;

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Jobs.request(version)
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?)
    }
}

impl Listed for Jobs {
    type Item = Job;
}

impl Call for JobById {
    type Answer = Vec<Job>;
    const NAME: &'static str = "job";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, &format!("job/{}", escape(&self.0)))))
    }

    fn despite(&self, _reply: &Reply<'_>, envelope: &Envelope) -> Option<Self::Answer> {
        let unknown = envelope.errors.first()?.error_number == INVALID_JOB_ID;
        unknown.then(Vec::new)
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?.items)
    }
}

impl Call for JobStates {
    type Answer = Vec<JobState>;
    const NAME: &'static str = "jobs.state";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let jobs = (!self.0.is_empty()).then(|| self.0.join(","));
        Ok(HttpRequest::get(slurm(version, "jobs/state")).with("job_id", jobs))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?.items)
    }
}

impl Call for Submit {
    type Answer = Submitted;
    const NAME: &'static str = "job.submit";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let body = json!({"job": self.0.body(version)?});
        Ok(HttpRequest::post(slurm(version, "job/submit"), body))
    }

    /// A job with a number exists, even if it is held or something about it was ignored.
    fn despite(&self, reply: &Reply<'_>, _envelope: &Envelope) -> Option<Submitted> {
        if !reply.is_good() {
            return None;
        }
        reply.body.read::<Submitted>().ok().filter(|submitted| submitted.job_id != 0)
    }

    /// A value of the wrong type gets 200, no error, no number, and nothing is submitted.
    fn read(&self, reply: &Reply<'_>) -> Result<Submitted, SlurmFault> {
        let envelope: Envelope = reply.body.read()?;
        let why = "the reply to a submit has no job id".to_owned();
        let warnings: Vec<String> =
            envelope.warnings.into_iter().map(|warning| warning.description).collect();
        let why = if warnings.is_empty() { why } else { format!("{why}: {}", warnings.join("; ")) };
        Err(SlurmFault::Unintelligible { why })
    }
}

impl Call for UpdateJob {
    type Answer = ();
    const NAME: &'static str = "job.update";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let path = slurm(version, &format!("job/{}", escape(&self.job)));
        Ok(HttpRequest::post(path, self.change.body(version)?.into()))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<(), SlurmFault> {
        let results: Results = reply.body.read()?;
        all_changed(results.results.unwrap_or_default())
    }
}

impl Call for Cancel {
    type Answer = ();
    const NAME: &'static str = "job.cancel";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        if !served::cancel_says_what_came_of_it(version) {
            return self.as_many().request(version);
        }
        let path = slurm(version, &format!("job/{}", escape(&self.job)));
        let flags = (!self.flags.is_empty()).then(|| self.flags.join(","));
        Ok(HttpRequest::delete(path).with("signal", self.signal.as_ref()).with("flags", flags))
    }

    /// Per-job trouble is listed apart from the errors, with status 200.
    fn read(&self, reply: &Reply<'_>) -> Result<(), SlurmFault> {
        let KillReply { status } = reply.body.read()?;
        let trouble = status.into_iter().find(|job| job.error.code != 0);
        trouble.map_or(Ok(()), |job| {
            let KillError { code, string, .. } = job.error;
            Err(SlurmFault::Refused { number: code, text: string })
        })
    }
}

impl Cancel {
    /// The same by the path that takes many. There a signal goes to the steps alone, and not to the
    /// batch script, unless it is for the whole job.
    fn as_many(&self) -> CancelMany {
        let mut flags = self.flags.clone();
        if flags.is_empty() && self.signal.is_some() {
            flags.push("FULL_JOB".to_owned());
        }
        let (jobs, signal) = (vec![self.job.clone()], self.signal.clone());
        CancelMany { jobs, signal, flags, ..CancelMany::default() }
    }
}

impl Call for CancelMany {
    type Answer = Vec<Killed>;
    const NAME: &'static str = "jobs.cancel";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        let request = HttpRequest::delete(slurm(version, "jobs/"));
        Ok(HttpRequest { body: Some(json!(self)), ..request })
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(reply.body.read::<KillReply>()?.status)
    }
}

impl Call for Requeue {
    type Answer = ();
    const NAME: &'static str = "job.requeue";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        served::since(served::REQUEUE, version)?;
        let path = slurm(version, &format!("job/{}/requeue", escape(&self.job)));
        let flag = |set: bool| set.then_some("true");
        Ok(HttpRequest::get(path)
            .with("Incomplete", flag(self.incomplete))
            .with("Hold", flag(self.hold))
            .with("SpecialExit", flag(self.special_exit)))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<(), SlurmFault> {
        all_changed(reply.body.read::<RequeueReply>()?.status.unwrap_or_default())
    }

    /// It is a GET, and yet it changes the job.
    fn reads_only(&self, _version: ApiVersion) -> bool {
        false
    }
}

impl Call for RequeueMany {
    type Answer = ();
    const NAME: &'static str = "jobs.requeue";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        served::since(served::REQUEUE, version)?;
        let body = json!({"jobs": self.jobs, "flags": self.flags});
        Ok(HttpRequest::post(slurm(version, "jobs/requeue"), body))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<(), SlurmFault> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Many {
            status: Option<Vec<Vec<Changed>>>,
        }
        let many: Many = reply.body.read()?;
        all_changed(many.status.unwrap_or_default().into_iter().flatten().collect())
    }
}

fn all_changed(results: Vec<Changed>) -> Result<(), SlurmFault> {
    let trouble = results.into_iter().find(|job| job.error_code != 0);
    trouble
        .map_or(Ok(()), |job| Err(SlurmFault::Refused { number: job.error_code, text: job.error }))
}

impl JobState {
    /// Its number, unless it is a task of an array or a part of a het job.
    pub fn number(&self) -> Result<Option<u32>, Garbled> {
        if self.job_id.contains(['_', '+', '.']) {
            return Ok(None);
        }
        let number = self.job_id.parse();
        number.map(Some).map_err(|_| Garbled::new("job_id", "a job number"))
    }
}

//! Expectations about Slurm jobs.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    expect::{Amount, Glob, rows},
    frame::{Frame, JobRow},
};

/// Slurm jobs as they are at one moment, native ones and the bridge's.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobsExpect {
    /// Which: their name, with `*`.
    pub name: Option<Glob>,
    /// Which: their user, with `*`.
    pub user: Option<Glob>,
    /// Which: those that the bridge submitted (true) or native ones (false).
    pub bridged: Option<bool>,
    /// As squeue spells it: `PENDING`, `RUNNING`, `COMPLETED`, `CANCELLED`, `FAILED`, `TIMEOUT`.
    pub state: Option<String>,
    /// As squeue spells it, with `*`: `Resources`.
    pub reason: Option<Glob>,
    /// Their partition.
    pub partition: Option<String>,
    /// Their node list as squeue folds it, with `*`: `n[1-3]`.
    pub nodes: Option<Glob>,
    /// CPUs that they ask for or have.
    pub cpus: Option<Amount>,
    /// `0:0`: exit code and signal.
    pub exit_code: Option<String>,
    /// How many of them are so. Without it: all of them, and there is at least one.
    pub count: Option<Amount>,
}

impl JobsExpect {
    pub(crate) fn sentence(&self) -> String {
        let subject = rows::subject(&self.noun(), &self.which(), self.count);
        rows::sentence(&subject, &self.predicates())
    }

    pub(crate) fn judge(&self, frame: &Frame) -> Result<(), String> {
        let rows: Vec<&JobRow> = frame.jobs.iter().filter(|job| self.selects(job)).collect();
        rows::judge(
            &self.noun(),
            &rows,
            self.count,
            |job| format!("job {} {}", job.job_id, job.name),
            |job| self.wrong(job),
        )
    }

    fn noun(&self) -> String {
        match self.bridged {
            Some(true) => "bridged job",
            Some(false) => "native job",
            None => "job",
        }
        .into()
    }

    fn which(&self) -> String {
        let name = self.name.as_ref().map_or("", Glob::as_str);
        match &self.user {
            Some(user) => format!("{name} of user {user}").trim_start().into(),
            None => name.into(),
        }
    }

    fn selects(&self, job: &JobRow) -> bool {
        let fits = |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|g| g.matches(text));
        fits(&self.name, &job.name)
            && fits(&self.user, &job.user)
            && self.bridged.is_none_or(|bridged| bridged == job.bridged)
    }

    fn predicates(&self) -> Vec<String> {
        // Destructured so that a new condition can't be forgotten here.
        let Self {
            name: _,
            user: _,
            bridged: _,
            state,
            reason,
            partition,
            nodes,
            cpus,
            exit_code,
            count: _,
        } = self;
        [
            state.clone(),
            reason.as_ref().map(|it| format!("with the reason {it}")),
            partition.as_ref().map(|it| format!("in partition {it}")),
            nodes.as_ref().map(|it| match it.as_str() {
                "" => "without nodes".into(),
                nodes => format!("on {nodes}"),
            }),
            cpus.map(|it| format!("with {} CPUs", it.short())),
            exit_code.as_ref().map(|it| format!("with exit code {it}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn wrong(&self, job: &JobRow) -> Vec<String> {
        let reason = job.reason.as_deref().unwrap_or("no reason");
        let mut wrong = vec![];
        if self.state.as_ref().is_some_and(|state| *state != job.state) {
            wrong.push(format!("is {} ({reason})", job.state));
        }
        if let Some(glob) = &self.reason
            && !glob.matches(job.reason.as_deref().unwrap_or_default())
        {
            wrong.push(format!("gives {reason}"));
        }
        if self.partition.as_ref().is_some_and(|it| *it != job.partition) {
            wrong.push(format!("is in partition {}", job.partition));
        }
        if self.nodes.as_ref().is_some_and(|it| !it.matches(&job.nodes)) {
            wrong.push(match job.nodes.as_str() {
                "" => "has no nodes".into(),
                nodes => format!("is on {nodes}"),
            });
        }
        if self.cpus.is_some_and(|it| !it.contains(job.cpus.into())) {
            wrong.push(format!("has {} CPUs", job.cpus));
        }
        if self.exit_code.is_some() && self.exit_code != job.exit_code {
            wrong.push(match &job.exit_code {
                Some(code) => format!("ended with {code}"),
                None => "has not ended".into(),
            });
        }
        wrong
    }
}

//! Jobs that a cancellation means without naming them: those that fit all of what it says.

use drawbridge_sim::{ArrayTasks, Job, JobTarget};

use crate::slurmrestd::fields::Fields;

/// What a job must be; nothing said fits every one.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    /// Pairs of a field and what it must be.
    texts: Vec<(&'static str, &'a str)>,
    states: &'a [String],
}

/// What can be asked for.
pub(super) const FIELDS: [&str; 7] =
    ["account", "job_name", "partition", "qos", "reservation", "user_name", "wckey"];

impl<'a> Filter<'a> {
    /// What the body says.
    pub(super) fn of(fields: &'a Fields) -> Self {
        let texts = FIELDS.into_iter().filter_map(|name| Some((name, fields.text(name)?)));
        Self { texts: texts.collect(), states: fields.list("job_state") }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.states.is_empty()
    }

    /// Whether it means a job. Those that are over are left alone.
    pub(super) fn fits(&self, job: &Job) -> bool {
        let asked = &job.submission;
        let is = |(name, wanted): &(&str, &str)| match *name {
            "account" => asked.account.as_ref().is_some_and(|it| it.as_str() == *wanted),
            "job_name" => asked.name.as_str() == *wanted,
            "partition" => job.squeue_partition().split(',').any(|it| it == *wanted),
            "qos" => asked.qos.as_deref() == Some(wanted),
            "user_name" => asked.user.as_str() == *wanted,
            "wckey" => asked.wckey.as_deref() == Some(wanted),
            // Nobody has a reservation.
            _reservation => false,
        };
        let state = || job.state_flags().any(|flag| self.states.iter().any(|it| it == flag));
        !job.state.is_end() && self.texts.iter().all(is) && (self.states.is_empty() || state())
    }
}

/// The record alone: of an array the tasks that it stands for.
pub(super) fn target(job: &Job) -> JobTarget {
    match &job.array {
        None => job.id.into(),
        Some(place) => match &place.tasks {
            ArrayTasks::One(task) => {
                let text = format!("{}_{task}", place.job);
                JobTarget::parse(&text).unwrap_or(JobTarget::Job(job.id))
            }
            ArrayTasks::Several(tasks) => JobTarget::Tasks(place.job, (**tasks).clone()),
        },
    }
}

/// How the answer calls it.
pub(super) fn spelt(job: &Job) -> String {
    job.array.as_ref().map_or_else(|| job.id.to_string(), ToString::to_string)
}

//! Asking the open terms of a dependency, as slurmctld does before each cycle.

use crate::{Job, JobId, JobState, Slurmctld, Time, array::ArrayTasks};

use super::{Dependency, Kind, Met, Term, Whom};

impl Slurmctld {
    /// Decides what can be decided of a job's dependency. One that is fulfilled is forgotten.
    pub(crate) fn test_dependency(&mut self, now: Time, job: JobId) -> Met {
        let Some(record) = self.jobs.get(&job).filter(|record| !record.dependency.is_empty())
        else {
            return Met::Yes;
        };
        let record = record.clone();
        let mut dependency = record.dependency.clone();
        for term in dependency.terms.iter_mut().filter(|term| term.met == Met::NotYet) {
            term.met = self.test_term(now, &record, *term);
        }
        let met = dependency.met();
        if met == Met::Yes {
            dependency = Dependency::default();
        }
        if dependency != record.dependency
            && let Some(record) = self.job_mut(job)
        {
            record.dependency = dependency;
        }
        met
    }

    /// When a term of the form `after:12+5` comes true without anything else happening.
    pub(crate) fn dependency_due(&self, now: Time, job: &Job) -> Option<Time> {
        let open = job.dependency.terms.iter().filter(|term| term.met == Met::NotYet);
        let due = open.filter_map(|term| {
            let began = self.whom(term.whom)?.start_time?;
            Some(began + term.delay).filter(|due| now < *due)
        });
        due.min()
    }

    fn test_term(&self, now: Time, job: &Job, term: Term) -> Met {
        if term.kind == Kind::Singleton {
            return if self.has_namesake(job) { Met::NotYet } else { Met::Yes };
        }
        // Who is forgotten is waited for no longer.
        let Some(other) = self.whom(term.whom) else { return Met::Yes };
        let so_far = match term.whom {
            Whom::Array(array) => self.array_so_far(array),
            Whom::Namesakes | Whom::Job(_) | Whom::Task(..) => SoFar::of(other),
        };
        let (yes, no) = (Met::Yes, Met::Never);
        match term.kind {
            Kind::After => {
                let began = other.start_time.or(other.end_time);
                let late = began.is_some_and(|began| began + term.delay <= now);
                if !so_far.pending && late { yes } else { Met::NotYet }
            }
            Kind::AfterAny | Kind::AfterBurstBuffer => so_far.ended(yes, yes),
            Kind::AfterNotOk if other.special_exit => yes,
            Kind::AfterNotOk => so_far.ended(no, yes),
            Kind::AfterOk => so_far.ended(yes, no),
            Kind::AfterCorr => self.corresponding(job, term, so_far),
            Kind::Singleton => Met::NotYet,
        }
    }

    /// The task of the same number in the other array; without one the other job as a whole.
    fn corresponding(&self, job: &Job, term: Term, whole: SoFar) -> Met {
        let (Whom::Job(other) | Whom::Task(other, _) | Whom::Array(other)) = term.whom else {
            return Met::Yes;
        };
        let task = job.array.as_ref().and_then(|place| match place.tasks {
            ArrayTasks::One(task) => Some(task),
            ArrayTasks::Several(_) => None,
        });
        match task.map(|task| self.whom(Whom::Task(other, task))) {
            Some(Some(its)) => SoFar::of(its).ended(Met::Yes, Met::Never),
            Some(None) => whole.ended(Met::Yes, Met::Never),
            // Its tasks will ask for themselves.
            None if job.array.is_some() => whole.ended(Met::Yes, Met::NotYet),
            None => whole.ended(Met::Yes, Met::Never),
        }
    }

    /// The record that a term is about; of an array the one with the tasks that wait.
    pub(super) fn whom(&self, whom: Whom) -> Option<&Job> {
        match whom {
            Whom::Namesakes => None,
            Whom::Job(job) => self.job(job),
            Whom::Task(array, task) => self.job(self.task_record(array, task)?),
            Whom::Array(array) => {
                let head = self.job(array).filter(|job| job.array.is_some());
                head.or_else(|| self.some_task(array))
            }
        }
    }

    fn array_so_far(&self, array: JobId) -> SoFar {
        let records: Vec<_> = self.array_records(array).filter_map(|id| self.job(id)).collect();
        let all: Vec<_> = records.iter().map(|job| SoFar::of(job)).collect();
        let failed_before = self.arrays.get(&array).is_some_and(|array| array.failed);
        SoFar {
            pending: all.iter().any(|one| one.pending),
            over: all.iter().all(|one| one.over),
            good: all.iter().all(|one| one.good) && !failed_before,
        }
    }

    fn has_namesake(&self, job: &Job) -> bool {
        let name = (job.submission.user.clone(), job.submission.name.clone());
        let others = self.namesakes.get(&name).into_iter().flatten();
        others.filter(|id| **id != job.id).filter_map(|id| self.job(*id)).any(|other| {
            let earlier = other.state == JobState::Pending && other.id < job.id;
            earlier || matches!(other.state, JobState::Running | JobState::Suspended)
        })
    }
}

/// What is known of a job's or an array's end.
#[derive(Clone, Copy)]
struct SoFar {
    pending: bool,
    /// Ended, and its nodes are free.
    over: bool,
    /// Ended well.
    good: bool,
}

impl SoFar {
    fn of(job: &Job) -> Self {
        Self {
            pending: job.state == JobState::Pending,
            over: job.state.is_end() && !job.completing,
            good: job.state == JobState::Completed,
        }
    }

    fn ended(self, good: Met, bad: Met) -> Met {
        match (self.over, self.good) {
            (false, _) => Met::NotYet,
            (true, true) => good,
            (true, false) => bad,
        }
    }
}

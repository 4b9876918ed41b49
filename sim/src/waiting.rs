//! Where a waiting job waits: held, for other jobs, for its array, for its time, or in the queue.
//!
//! ```text
//!   submit, update ───────────────▶ place ──▶ held | Dependency | JobArrayTaskLimit | BeginTime
//!   others end, time passes ──▶ recheck ──▶ (next cycle) ──▶ place        └──▶ the queue
//! ```
//!
//! slurmctld asks every waiting job before each cycle. Here only those are asked whose answer may
//! have changed.

use crate::{Job, JobId, JobState, Reason, Slurmctld, Time, dependency::Met, slurmctld::Event};

impl Slurmctld {
    /// Asks those again whose answer may have changed. Each cycle begins with it.
    pub(crate) fn admit_begun(&mut self, now: Time) {
        while let Some((due, job)) = self.begins.first().copied() {
            if now < due {
                break;
            }
            self.begins.pop_first();
            self.recheck.insert(job);
        }
        self.split_corresponding(now);
        for job in std::mem::take(&mut self.recheck) {
            self.requeue_eligible(now, job);
        }
    }

    /// Whether a cycle would find anybody.
    pub(crate) fn anybody_waits(&self) -> bool {
        !self.queue.is_empty() || !self.recheck.is_empty()
    }

    /// Puts a waiting job where it belongs.
    pub(crate) fn requeue_eligible(&mut self, now: Time, id: JobId) {
        self.dequeue(id);
        let Some(job) = self.job(id).filter(|job| job.state == JobState::Pending) else {
            return;
        };
        if job.completing || job.reason == Reason::DependencyNeverSatisfied {
            return;
        }
        if job.priority == 0 {
            if !job.reason.is_hold() {
                self.set_reason(id, Reason::JobHeldAdmin);
            }
            return;
        }
        match self.test_dependency(now, id) {
            Met::Yes => self.wait_for_others(now, id),
            Met::NotYet => self.wait_for_jobs(now, id),
            Met::Never => self.never(now, id),
        }
    }

    fn wait_for_jobs(&mut self, now: Time, id: JobId) {
        self.lose_eligibility(now, id);
        self.set_reason(id, Reason::Dependency);
        let due = self.job(id).and_then(|job| self.dependency_due(now, job));
        self.wake_at(id, due);
    }

    /// No job stands in the way: perhaps its array does, or the time.
    fn wait_for_others(&mut self, now: Time, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let (startable, begin) = (self.startable(job, 0), job.begin_time);
        if job.reason == Reason::Dependency {
            self.set_reason(id, Reason::None);
        }
        if !startable {
            self.lose_eligibility(now, id);
            self.set_reason(id, Reason::JobArrayTaskLimit);
        } else if let Some(begin) = begin.filter(|begin| now < *begin) {
            self.wake_at(id, Some(begin));
            self.set_reason(id, Reason::BeginTime);
        } else {
            self.enqueue(now, id);
        }
    }

    fn wake_at(&mut self, id: JobId, at: Option<Time>) {
        if let Some(record) = self.job_mut(id) {
            record.timer = at;
            self.begins.extend(at.map(|at| (at, id)));
        }
    }

    /// A begin time that has passed is no longer when the job could have run.
    fn lose_eligibility(&mut self, now: Time, id: JobId) {
        if let Some(record) = self.job_mut(id) {
            record.begin_time = record.begin_time.filter(|begin| now < *begin);
            record.eligible_time = None;
        }
    }

    /// Takes a job out of every place where it could wait.
    pub(crate) fn dequeue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).cloned() else {
            return;
        };
        for key in self.queue_keys(&job) {
            self.queue.remove(&key);
        }
        self.recheck.remove(&id);
        if let Some(at) = job.timer {
            self.begins.remove(&(at, id));
            self.wake_at(id, None);
        }
    }

    /// Whether a job is in the queue.
    pub(crate) fn is_queued(&self, id: JobId) -> bool {
        let keys = self.job(id).map(|job| self.queue_keys(job));
        keys.into_iter().flatten().any(|key| self.queue.contains(&key))
    }

    pub(crate) fn enqueue(&mut self, now: Time, id: JobId) {
        let Some(job) = self.job_mut(id).filter(|job| job.state == JobState::Pending) else {
            return;
        };
        let since = job.begin_time.unwrap_or(now);
        job.eligible_time.get_or_insert(since);
        if job.reason == Reason::BeginTime {
            self.set_reason(id, Reason::None);
        }
        let Some(job) = self.jobs.get(&id).cloned() else {
            return;
        };
        self.note_unseen(now);
        self.queue.extend(self.queue_keys(&job));
        self.unchecked.insert(id);
    }

    /// Its dependency can't come true any more.
    pub(crate) fn never(&mut self, now: Time, id: JobId) {
        self.set_reason(id, Reason::DependencyNeverSatisfied);
        let asked = self.job(id).and_then(|job| job.submission.kill_on_invalid_dep);
        if asked.unwrap_or(self.params().kill_invalid_depend) {
            self.end_pending(now, id, JobState::Cancelled);
        }
    }

    /// Lets those who wait for a job be asked again.
    pub(crate) fn tell_dependents(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let array = record.array.as_ref().map(|place| place.job);
        let mut waiting: Vec<_> = self.namesakes_of(record);
        for target in [Some(job), array].into_iter().flatten() {
            waiting.extend(self.dependents.get(&target).into_iter().flatten());
        }
        for other in waiting {
            let Some(record) = self.job(other).filter(|other| other.state == JobState::Pending)
            else {
                continue;
            };
            if record.reason.is_hold() {
                // Held jobs are asked by the check that forgets old ones.
                let at = now.round_up(super::lifecycle::PURGE_CHECK);
                self.events.push(at, Event::DependencyChecked { job: other });
            } else {
                self.recheck.insert(other);
            }
        }
    }

    /// A held job's dependency is looked at, too, so that nobody waits for what won't come.
    pub(crate) fn check_held(&mut self, now: Time, job: JobId) {
        let held =
            self.job(job).is_some_and(|job| job.state == JobState::Pending && job.reason.is_hold());
        if held && self.test_dependency(now, job) == Met::Never {
            self.never(now, job);
        }
    }

    fn namesakes_of(&self, job: &Job) -> Vec<JobId> {
        // A user may have thousands of one name; where nobody minds they aren't gone through.
        if !self.any_singleton {
            return vec![];
        }
        let name = (job.submission.user.clone(), job.submission.name.clone());
        let all = self.namesakes.get(&name).into_iter().flatten().copied();
        all.filter(|id| self.job(*id).is_some_and(|job| job.dependency.is_singleton())).collect()
    }

    /// Tasks that wait for the tasks of another array each need a record to wait with.
    fn split_corresponding(&mut self, now: Time) {
        const AT_ONCE: usize = 10;
        let waiting: Vec<_> = self.recheck.iter().copied().collect();
        for head in waiting {
            let Some(job) = self.job(head).filter(|job| job.dependency.is_by_task()) else {
                continue;
            };
            let array = job.array.as_ref().map_or(head, |place| place.job);
            // Whoever waits for nobody any more needs none.
            if self.test_dependency(now, head) == Met::Yes {
                continue;
            }
            while self.pending_split(array) < AT_ONCE {
                match self.first_task(array) {
                    Some(task) if task != array => _ = self.recheck.insert(task),
                    _ => break,
                }
            }
        }
    }

    /// How many tasks of an array wait with a record of their own.
    fn pending_split(&self, array: JobId) -> usize {
        let split = self.arrays.get(&array).into_iter().flat_map(|array| array.split.values());
        let waits = |id: &&JobId| self.job(**id).is_some_and(|job| job.state == JobState::Pending);
        split.filter(waits).count()
    }
}

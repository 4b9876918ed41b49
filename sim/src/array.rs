//! Job arrays: one record for the tasks that wait, one for each task that was split off.
//!
//! ```text
//!   sbatch --array=0-3%2  ──▶  job 12: tasks 0-3        12_[0-3%2]
//!   task 0 starts         ──▶  job 13: task 0           12_0
//!                              job 12: tasks 1-3        12_[1-3%2]
//!   the last one          ──▶  job 12: task 3           12_3        keeps the array's number
//! ```

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{IndexSet, Job, JobId, JobState, Reason, Slurmctld, Time, sched::QueueKey};

/// A record's place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayPlace {
    /// The array's number.
    pub job: JobId,
    /// Which of its tasks the record is.
    pub tasks: ArrayTasks,
    /// `%`: how many of them may run at once; 0 is without a limit.
    pub throttle: u32,
}

/// Tasks of an array, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayTasks {
    /// One that was split off, or is left.
    One(u32),
    /// Those that wait together.
    Several(Arc<IndexSet>),
}

/// `--array`: the tasks of an array, and how many may run at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// As given: `0-7:2%3`.
    pub text: String,
}

/// What concerns an array as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Array {
    /// Most that run at once; 0 is without a limit.
    pub(crate) throttle: u32,
    pub(crate) running: u32,
    /// A task ended badly.
    pub(crate) failed: bool,
    /// Records of single tasks.
    pub(crate) split: BTreeMap<u32, JobId>,
}

impl ArraySpec {
    /// Its tasks and the limit; `None` if it can't be read or goes beyond `MaxArraySize`.
    pub(crate) fn read(&self, max: u32) -> Option<(IndexSet, u32)> {
        let (list, throttle) = self.text.split_once('%').unwrap_or((&self.text, "0"));
        let end = throttle.find(|c: char| !c.is_ascii_digit()).unwrap_or(throttle.len());
        Some((read_tasks(list, max)?, throttle[..end].parse().unwrap_or(0)))
    }
}

impl Array {
    /// Whether as many tasks run as may.
    pub(crate) const fn is_full(&self, more: u32) -> bool {
        self.throttle != 0 && self.throttle <= self.running + more
    }
}

impl ArrayPlace {
    /// How many tasks the record is.
    pub fn n_tasks(&self) -> usize {
        match &self.tasks {
            ArrayTasks::One(_) => 1,
            ArrayTasks::Several(tasks) => tasks.len(),
        }
    }
}

impl ArrayPlace {
    /// The tasks that wait together, as the REST API prints them: `4-7%3`.
    pub fn task_text(&self) -> String {
        match &self.tasks {
            ArrayTasks::One(task) => task.to_string(),
            ArrayTasks::Several(tasks) => {
                let limit =
                    if self.throttle == 0 { String::new() } else { format!("%{}", self.throttle) };
                format!("{}{limit}", print_tasks(tasks))
            }
        }
    }
}

/// As squeue prints a job: `12_3`, `12_[4-7%3]`.
impl fmt::Display for ArrayPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tasks {
            ArrayTasks::One(task) => f.pad(&format!("{}_{task}", self.job)),
            ArrayTasks::Several(_) => f.pad(&format!("{}_[{}]", self.job, self.task_text())),
        }
    }
}

/// `0-20:4` where there are many of equal distance, `0-3,7` else, cut as squeue cuts it.
fn print_tasks(tasks: &IndexSet) -> String {
    const LONGEST: usize = 64;
    let all: Vec<_> = tasks.iter().collect();
    if let [first, second, .., last] = all.as_slice() {
        let step = second - first;
        let even = all.windows(2).all(|pair| pair[1] - pair[0] == step);
        if even && 1 < step && 10 < last - first && 5 < all.len() {
            return format!("{first}-{last}:{step}");
        }
    }
    let mut text = tasks.to_string();
    if LONGEST - 1 < text.len() {
        text.truncate(text[..LONGEST].rfind(',').unwrap_or(LONGEST));
        text.push_str(",...");
    }
    text
}

/// Reads `0-7:2,9,[11-12]`, all below `max`.
pub(crate) fn read_tasks(text: &str, max: u32) -> Option<IndexSet> {
    let mut tasks = IndexSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let part = part.trim_start_matches('[').trim_end_matches(']');
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step != 0)?),
            None => (part, 1_usize),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            None if step == 1 => (range.parse().ok()?, range.parse().ok()?),
            None => return None,
        };
        let first: usize = first;
        if last < first || max as usize <= last || max as usize <= step {
            return None;
        }
        for task in (first..=last).step_by(step) {
            tasks.insert(task);
        }
    }
    (!tasks.is_empty()).then_some(tasks)
}

impl Slurmctld {
    /// Whether the number is that of an array.
    pub(crate) fn is_array(&self, job: JobId) -> bool {
        match self.job(job) {
            Some(record) => record.array.as_ref().is_some_and(|place| place.job == job),
            None => self.arrays.contains_key(&job),
        }
    }

    /// Every record of an array: the one with its number first, then the last split off first.
    pub(crate) fn array_records(&self, array: JobId) -> impl Iterator<Item = JobId> + '_ {
        let split = self.arrays.get(&array).into_iter().flat_map(|array| array.split.values());
        let mut split: Vec<_> = split.copied().filter(|id| *id != array).collect();
        split.sort_unstable_by(|a, b| b.cmp(a));
        let head = self.job(array).filter(|job| job.array.is_some()).map(|job| job.id);
        head.into_iter().chain(split)
    }

    /// The record that a task is in.
    pub(crate) fn task_record(&self, array: JobId, task: u32) -> Option<JobId> {
        let split = self.arrays.get(&array).and_then(|array| array.split.get(&task)).copied();
        split.or_else(|| {
            let place = self.job(array)?.array.as_ref()?;
            match &place.tasks {
                ArrayTasks::Several(tasks) => tasks.contains(task as usize).then_some(array),
                ArrayTasks::One(_) => None,
            }
        })
    }

    /// Some task of an array whose own record is gone: one that hasn't ended, if there is one.
    pub(crate) fn some_task(&self, array: JobId) -> Option<&Job> {
        let mut records = self.array_records(array).filter_map(|id| self.job(id)).peekable();
        let any = records.peek().copied();
        records.find(|job| !job.state.is_end()).or(any)
    }

    /// How many tasks of a record could start, as far as its array's limit goes, when `more` have
    /// been started that aren't counted yet.
    pub(crate) fn startable(&self, job: &Job, more: u32) -> bool {
        let array = job.array.as_ref().and_then(|place| self.arrays.get(&place.job));
        array.is_none_or(|array| !array.is_full(more))
    }

    /// The record that starts when a record of several tasks is started: its first task.
    pub(crate) fn first_task(&mut self, job: JobId) -> Option<JobId> {
        let place = self.job(job)?.array.as_ref();
        match place.map(|place| &place.tasks) {
            Some(ArrayTasks::Several(tasks)) => {
                let task = u32::try_from(tasks.iter().next()?).ok()?;
                self.split_task(job, task)
            }
            Some(ArrayTasks::One(_)) | None => Some(job),
        }
    }

    /// Gives a task a record and a number of its own. What is left keeps the array's.
    pub(crate) fn split_task(&mut self, head: JobId, task: u32) -> Option<JobId> {
        let record = self.jobs.get(&head)?.clone();
        let place = record.array.clone()?;
        let ArrayTasks::Several(tasks) = &place.tasks else { return Some(head) };
        if tasks.len() == 1 {
            self.set_tasks(head, ArrayTasks::One(task));
            return Some(head);
        }
        let id = self.next_id().ok()?;
        let mut rest = (**tasks).clone();
        rest.remove(task as usize);
        let run = self.next_run();
        let one = ArrayPlace { tasks: ArrayTasks::One(task), ..place };
        self.remember(Job { id, run, timer: None, array: Some(one), ..(*record).clone() });
        if let Some(worth) = self.weighed.get(&head).cloned() {
            self.weighed.insert(id, worth);
        }
        self.set_tasks(head, ArrayTasks::Several(rest.into()));
        self.facts.push(crate::Fact::JobSplit { job: id, array: head, task });
        Some(id)
    }

    /// A record's tasks become others; the last one is a task like those that were split off.
    pub(crate) fn set_tasks(&mut self, head: JobId, tasks: ArrayTasks) {
        let tasks = match tasks {
            ArrayTasks::Several(tasks) if tasks.len() == 1 => {
                let last = tasks.iter().next().and_then(|task| u32::try_from(task).ok());
                last.map_or(ArrayTasks::Several(tasks), ArrayTasks::One)
            }
            tasks @ (ArrayTasks::One(_) | ArrayTasks::Several(_)) => tasks,
        };
        if let (ArrayTasks::One(task), Some(array)) = (&tasks, self.arrays.get_mut(&head)) {
            array.split.insert(*task, head);
        }
        let keys = self.job(head).map(|job| self.queue_keys(job)).unwrap_or_default();
        let queued: Vec<_> = keys.into_iter().filter(|key| self.queue.remove(key)).collect();
        if let Some(place) = self.job_mut(head).and_then(|job| job.array.as_mut()) {
            let before = place.n_tasks();
            place.tasks = tasks;
            let after = place.n_tasks();
            self.n_unsplit = (self.n_unsplit + after).saturating_sub(before);
        }
        // A single task has another place in the queue than those that wait together.
        let again = self.job(head).map(|job| self.queue_keys(job)).unwrap_or_default();
        let was_queued = |key: &QueueKey| queued.iter().any(|old| old.partition == key.partition);
        self.queue.extend(again.into_iter().filter(was_queued));
    }

    /// Some of the tasks that wait together remain, however few.
    pub(crate) fn keep_tasks(&mut self, head: JobId, tasks: IndexSet) {
        if let Some(place) = self.job_mut(head).and_then(|job| job.array.as_mut()) {
            let (before, after) = (place.n_tasks(), tasks.len());
            place.tasks = ArrayTasks::Several(tasks.into());
            self.n_unsplit = (self.n_unsplit + after).saturating_sub(before);
        }
    }

    /// A task got its nodes. Those who wait may have to wait longer for it.
    pub(crate) fn task_started(&mut self, job: JobId) {
        let Some(array) = self.job(job).and_then(|job| job.array.as_ref()).map(|place| place.job)
        else {
            return;
        };
        let by_task = self.job(array).is_some_and(|job| job.dependency.is_by_task());
        self.recheck.extend(by_task.then_some(array));
        let Some(record) = self.arrays.get_mut(&array) else { return };
        record.running += 1;
        if record.is_full(0) {
            for id in self.waiting_tasks(array) {
                self.hold_back(id);
            }
        }
    }

    /// A task gave its nodes back, or was queued again.
    pub(crate) fn task_stopped(&mut self, job: JobId, ran: bool, requeued: bool) {
        let Some(record) = self.job(job) else { return };
        let Some(array) = record.array.as_ref().map(|place| place.job) else { return };
        let bad = !requeued && record.state != JobState::Completed;
        let Some(record) = self.arrays.get_mut(&array) else { return };
        record.running -= u32::from(ran && 0 < record.running);
        record.failed |= bad;
        let waiting = self.waiting_tasks(array);
        self.recheck.extend(waiting);
    }

    /// Another limit for an array.
    pub(crate) fn set_throttle(&mut self, now: Time, array: JobId, throttle: u32) {
        if let Some(record) = self.arrays.get_mut(&array) {
            record.throttle = throttle;
        }
        if let Some(place) = self.job_mut(array).and_then(|job| job.array.as_mut()) {
            place.throttle = throttle;
        }
        let waiting = self.waiting_tasks(array);
        self.recheck.extend(waiting);
        self.ask_for_cycle(now);
    }

    fn waiting_tasks(&self, array: JobId) -> Vec<JobId> {
        let waits = |id: &JobId| self.job(*id).is_some_and(|job| job.state == JobState::Pending);
        self.array_records(array).filter(waits).collect()
    }

    /// As many tasks run as may: this one waits, and isn't looked at.
    fn hold_back(&mut self, job: JobId) {
        if !self.is_queued(job) {
            return;
        }
        self.dequeue(job);
        if let Some(record) = self.job_mut(job) {
            record.eligible_time = None;
        }
        self.set_reason(job, Reason::JobArrayTaskLimit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read_as_sbatch_writes_them() {
        #[rustfmt::skip]
        let rows = [
            ("0-3",        Some("0-3")),
            ("0-7:2",      Some("0,2,4,6")),
            ("1,5,9-10",   Some("1,5,9-10")),
            ("[2-3]",      Some("2-3")),
            ("3-1",        None),
            ("0-1001",     None),
            ("1-5:0",      None),
            ("a",          None),
            ("",           None),
        ];
        for (text, expected) in rows {
            let found = read_tasks(text, 1001).map(|tasks| tasks.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn tasks_are_printed_as_squeue_prints_them() {
        #[rustfmt::skip]
        let rows = [
            ("4,6",     "12_[4,6%2]"),
            ("0-20:4",  "12_[0-20:4%2]"),
            ("0-8:4",   "12_[0,4,8%2]"),
            ("1-9",     "12_[1-9%2]"),
        ];
        for (text, expected) in rows {
            let tasks = ArrayTasks::Several(read_tasks(text, 1001).unwrap().into());
            let place = ArrayPlace { job: JobId(12), tasks, throttle: 2 };
            assert_eq!(place.to_string(), expected);
        }
    }
}

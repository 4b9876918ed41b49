//! What a replay came to, in numbers.

use std::collections::BTreeMap;

use drawbridge_sim::{Span, Time};
use serde::Serialize;

use crate::{
    outcome::{End, JobOutcome, Outcome},
    trace::{Table, Trace},
};

/// A replay in numbers. Times are seconds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Which scheduler decided.
    pub mode: &'static str,
    /// Jobs that ran.
    pub jobs: usize,
    /// Nodes of the machine.
    pub nodes: u32,
    /// CPUs of the machine.
    pub cpus: u64,
    /// How long jobs waited.
    pub wait: Distribution,
    /// How much longer they took than they ran; run times under 10 s count as 10 s.
    pub bounded_slowdown: Distribution,
    /// Part of the CPU time that jobs held, from the first submission to the last end.
    pub utilisation: f64,
    /// The same, from the first submission to the last.
    pub utilisation_while_arriving: f64,
    /// How many jobs waited, over the time in which jobs arrived.
    pub queue_depth: QueueDepth,
    /// From the first submission to the last end.
    pub makespan: f64,
    /// Jobs that were killed at their limit.
    pub timeouts: usize,
    /// Jobs that backfill started.
    pub backfilled: u64,
    /// Main cycles, or decisions of EASY.
    pub main_cycles: u64,
    /// Backfill cycles.
    pub backfill_cycles: u64,
    /// The hash over every start and end.
    pub start_hash: String,
    /// Per user, those with the most CPU time first.
    pub by_user: Vec<Group>,
    /// Per partition or queue.
    pub by_partition: Vec<Group>,
    /// Per quality of service.
    pub by_qos: Vec<Group>,
    /// What was left out or done otherwise than written.
    pub notes: Vec<String>,
}

/// How values are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// Half are no larger.
    pub median: f64,
    /// 95 % are no larger.
    pub p95: f64,
    /// 99 % are no larger.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// How many jobs waited, by how long that was so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QueueDepth {
    /// The mean.
    pub mean: f64,
    /// Half of the time there were no more.
    pub median: u64,
    /// The most at once.
    pub max: u64,
}

/// The jobs of one user, partition or quality of service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Whose.
    pub name: String,
    /// How many.
    pub jobs: usize,
    /// CPU hours that they held.
    pub cpu_hours: f64,
    /// How long they waited.
    pub wait: Distribution,
    /// The mean of their slowdown.
    pub mean_slowdown: f64,
    /// How many of them waited at once, on average while jobs arrived.
    pub mean_queue_depth: f64,
}

impl Distribution {
    /// Of these values; none at all give zeros.
    pub fn of(mut values: Vec<f64>) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        values.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let place = (values.len() * percent).div_ceil(100).max(1) - 1;
            values[place]
        };
        Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: at(50),
            p95: at(95),
            p99: at(99),
            max: at(100),
        }
    }
}

impl Summary {
    /// Counts everything up; of users and the like the first `top`.
    pub fn new(trace: &Trace, outcome: &Outcome, top: usize) -> Self {
        let jobs = &outcome.jobs;
        let (begin, end) = (outcome.begin(), outcome.end());
        let last = jobs.iter().map(|job| job.submit).max().unwrap_or(begin);
        let arriving = (begin, last);
        let groups = |table: &Table, key: &dyn Fn(&JobOutcome) -> u32| {
            let mut groups = group(jobs, table, key, arriving);
            groups.truncate(top);
            groups
        };
        let of = |job: &JobOutcome| &trace.jobs[job.job as usize];
        let mut notes = trace.notes.lines();
        notes.extend(outcome.notes.lines());
        Self {
            mode: outcome.mode.name(),
            jobs: jobs.len(),
            nodes: outcome.nodes,
            cpus: outcome.cpus,
            wait: waits(jobs.iter()),
            bounded_slowdown: Distribution::of(
                jobs.iter().map(JobOutcome::bounded_slowdown).collect(),
            ),
            utilisation: utilisation(outcome, (begin, end)),
            utilisation_while_arriving: utilisation(outcome, arriving),
            queue_depth: queue_depth(jobs.iter(), arriving),
            makespan: secs(end - begin),
            timeouts: jobs.iter().filter(|job| job.ended == End::Timeout).count(),
            backfilled: outcome.backfilled,
            main_cycles: outcome.cycles.0,
            backfill_cycles: outcome.cycles.1,
            start_hash: outcome.hash().to_string(),
            by_user: groups(&trace.names.users, &|job| of(job).user),
            by_partition: groups(&trace.names.partitions, &|job| of(job).partition),
            by_qos: groups(&trace.names.qos, &|job| of(job).qos),
            notes,
        }
    }
}

fn secs(span: Span) -> f64 {
    span.as_ms() as f64 / 1000.0
}

fn waits<'a>(jobs: impl Iterator<Item = &'a JobOutcome>) -> Distribution {
    Distribution::of(jobs.map(|job| secs(job.wait())).collect())
}

fn utilisation(outcome: &Outcome, (from, to): (Time, Time)) -> f64 {
    let inside = |job: &JobOutcome| job.end.min(to) - job.start.max(from).min(to);
    let held: f64 = outcome.jobs.iter().map(|job| secs(inside(job)) * f64::from(job.cpus)).sum();
    let all = secs(to - from) * outcome.cpus as f64;
    if all == 0.0 { 0.0 } else { held / all }
}

/// How many jobs waited, at each moment between two.
fn queue_depth<'a>(
    jobs: impl Iterator<Item = &'a JobOutcome>,
    (from, to): (Time, Time),
) -> QueueDepth {
    let mut changes: Vec<(Time, i64)> =
        jobs.flat_map(|job| [(job.submit, 1), (job.start, -1)]).collect();
    // At one moment jobs leave before others come: who starts at once never waited.
    changes.sort_unstable();
    let (mut depth, mut since, mut max) = (0_i64, from, 0);
    let mut lasted: BTreeMap<i64, u64> = BTreeMap::new();
    for (at, change) in changes {
        let until = at.clamp(from, to);
        *lasted.entry(depth).or_default() += (until - since).as_ms();
        if since != until {
            max = max.max(depth);
        }
        since = since.max(until);
        depth += change;
    }
    let total: u64 = lasted.values().sum();
    let mut passed = 0;
    let median = lasted.iter().find(|(_, ms)| {
        passed += **ms;
        total <= passed * 2
    });
    let sum: f64 = lasted.iter().map(|(depth, ms)| *depth as f64 * *ms as f64).sum();
    QueueDepth {
        mean: if total == 0 { 0.0 } else { sum / total as f64 },
        median: median.map_or(0, |(depth, _)| depth.unsigned_abs()),
        max: max.unsigned_abs(),
    }
}

fn group(
    jobs: &[JobOutcome],
    table: &Table,
    key: &dyn Fn(&JobOutcome) -> u32,
    arriving: (Time, Time),
) -> Vec<Group> {
    let mut members: BTreeMap<u32, Vec<&JobOutcome>> = BTreeMap::new();
    for job in jobs {
        members.entry(key(job)).or_default().push(job);
    }
    let mut groups: Vec<Group> = members
        .into_iter()
        .map(|(place, jobs)| {
            let slowdowns: f64 = jobs.iter().map(|job| job.bounded_slowdown()).sum();
            let cpu_secs = jobs.iter().map(|job| secs(job.run()) * f64::from(job.cpus));
            Group {
                name: table.name(place).to_owned(),
                jobs: jobs.len(),
                cpu_hours: cpu_secs.sum::<f64>() / 3600.0,
                wait: waits(jobs.iter().copied()),
                mean_slowdown: slowdowns / jobs.len() as f64,
                mean_queue_depth: mean_depth(&jobs, arriving),
            }
        })
        .collect();
    groups.sort_by(|a, b| b.cpu_hours.total_cmp(&a.cpu_hours).then_with(|| a.name.cmp(&b.name)));
    groups
}

/// Time spent waiting in all, over the time: how many waited at once, on average.
fn mean_depth(jobs: &[&JobOutcome], (from, to): (Time, Time)) -> f64 {
    let waited = |job: &&JobOutcome| secs(job.start.min(to) - job.submit.max(from).min(to));
    let all = secs(to - from);
    if all == 0.0 { 0.0 } else { jobs.iter().map(waited).sum::<f64>() / all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(submit: u64, start: u64, end: u64, cpus: u32) -> JobOutcome {
        let at = |secs: u64| Time::from_ms(secs * 1000);
        JobOutcome {
            job: 0,
            submit: at(submit),
            start: at(start),
            end: at(end),
            recorded: None,
            cpus,
            ended: End::Completed,
            nodes: Box::default(),
        }
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let spread = Distribution::of((1..=200).map(f64::from).collect());
        let Distribution { mean, median, p95, p99, max } = spread;
        assert_eq!((mean, median, p95, p99, max), (100.5, 100.0, 190.0, 198.0, 200.0));
        assert_eq!(Distribution::of(vec![]), Distribution::default());
    }

    #[test]
    fn the_depth_of_the_queue_is_weighed_by_time() {
        let jobs =
            [job(0, 0, 100, 1), job(0, 60, 100, 1), job(50, 60, 100, 1), job(100, 100, 100, 1)];
        let span = (Time::ZERO, Time::from_ms(100_000));
        let depth = queue_depth(jobs.iter(), span);
        assert_eq!(depth, QueueDepth { mean: 0.7, median: 1, max: 2 });
        assert_eq!(mean_depth(&jobs.iter().collect::<Vec<_>>(), span), 0.7);
    }

    #[test]
    fn a_short_job_is_not_slowed_down_a_thousandfold() {
        assert_eq!(job(0, 0, 1, 1).bounded_slowdown(), 1.0);
        assert_eq!(job(0, 90, 91, 1).bounded_slowdown(), 9.1);
        assert_eq!(job(0, 100, 200, 1).bounded_slowdown(), 2.0);
    }
}

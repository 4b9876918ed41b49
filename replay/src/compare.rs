//! The replayed starts beside the recorded ones.

use drawbridge_sim::{Span, Time};
use serde::Serialize;

use crate::{
    outcome::{JobOutcome, Outcome},
    trace::Trace,
};

/// How near a replay came to the record. Times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Jobs whose start is recorded.
    pub jobs: usize,
    /// Those that started at the recorded time, give or take `tolerance`.
    pub within: usize,
    /// The tolerance.
    pub tolerance: f64,
    /// The mean of the recorded waits.
    pub recorded_mean_wait: f64,
    /// The mean of the replayed waits of the same jobs.
    pub replayed_mean_wait: f64,
    /// How far the starts lie apart, on average.
    pub mean_difference: f64,
    /// Pearson's correlation of the waits; `None` where one side never waits.
    pub wait_correlation: Option<f64>,
    /// The first job, by time, that starts at another time than recorded.
    pub first_divergence: Option<Divergence>,
}

/// A job whose two starts differ. Times are seconds after the first submission.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Divergence {
    /// As the trace numbers it.
    pub job: String,
    /// When it was submitted.
    pub submit: f64,
    /// When it started, in the record.
    pub recorded_start: f64,
    /// When it started, in the replay.
    pub replayed_start: f64,
    /// CPUs that it held.
    pub cpus: u32,
}

/// Compares; `None` if the trace records no starts.
pub fn compare(trace: &Trace, outcome: &Outcome, tolerance: Span) -> Option<Comparison> {
    let pairs: Vec<(&JobOutcome, Time)> =
        outcome.jobs.iter().filter_map(|job| Some((job, job.recorded?))).collect();
    if pairs.is_empty() {
        return None;
    }
    let apart =
        |(job, recorded): &(&JobOutcome, Time)| (job.start - *recorded).max(*recorded - job.start);
    let n = pairs.len() as f64;
    let recorded: Vec<f64> = pairs.iter().map(|(job, at)| secs(*at - job.submit)).collect();
    let replayed: Vec<f64> = pairs.iter().map(|(job, _)| secs(job.wait())).collect();
    let differing = pairs.iter().filter(|pair| tolerance < apart(pair));
    let first = differing.min_by_key(|(job, at)| (job.start.min(*at), job.submit, job.job));
    Some(Comparison {
        jobs: pairs.len(),
        within: pairs.iter().filter(|pair| apart(pair) <= tolerance).count(),
        tolerance: secs(tolerance),
        recorded_mean_wait: recorded.iter().sum::<f64>() / n,
        replayed_mean_wait: replayed.iter().sum::<f64>() / n,
        mean_difference: pairs.iter().map(|pair| secs(apart(pair))).sum::<f64>() / n,
        wait_correlation: correlation(&recorded, &replayed),
        first_divergence: first.map(|(job, at)| divergence(trace, outcome.begin(), job, *at)),
    })
}

fn divergence(trace: &Trace, begin: Time, job: &JobOutcome, recorded: Time) -> Divergence {
    Divergence {
        job: trace.jobs[job.job as usize].id.clone(),
        submit: secs(job.submit - begin),
        recorded_start: secs(recorded - begin),
        replayed_start: secs(job.start - begin),
        cpus: job.cpus,
    }
}

fn secs(span: Span) -> f64 {
    span.as_ms() as f64 / 1000.0
}

fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut var_a, mut var_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        both += a * b;
        var_a += a * a;
        var_b += b * b;
    }
    let spread = (var_a * var_b).sqrt();
    (0.0 < spread).then(|| both / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, OverLimit, Workload, easy, swf};

    fn replayed(waits: &[i64]) -> Option<Comparison> {
        let line = |(at, wait): (usize, &i64)| {
            format!("{at} {} {wait} 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n", at * 10)
        };
        let text: String = waits.iter().enumerate().map(line).collect();
        let trace = swf::parse(text.as_bytes()).unwrap();
        let workload = Workload::new(&trace, &Options::as_recorded());
        let pool = easy::Pool { cpus: 1, cpus_per_node: 1, nodes: 1, whole_nodes: false };
        let outcome = easy::replay(&trace, &workload, pool, OverLimit::Keep, &mut |_| {});
        compare(&trace, &outcome, Span::secs(5))
    }

    #[test]
    fn the_first_divergence_is_the_first_in_time() {
        let comparison = replayed(&[0, 52, 400, 150]).unwrap();
        assert_eq!((comparison.jobs, comparison.within), (4, 3));
        let first = comparison.first_divergence.unwrap();
        assert_eq!(
            (first.job.as_str(), first.recorded_start, first.replayed_start),
            ("2", 420.0, 120.0)
        );
    }

    #[test]
    fn a_record_that_is_met_has_no_divergence_and_correlates() {
        let comparison = replayed(&[0, 50, 100]).unwrap();
        assert_eq!(comparison.first_divergence, None);
        assert!(comparison.wait_correlation.is_some_and(|it| 0.999 < it));
        assert_eq!(replayed(&[-1, -1]), None);
    }
}

//! The jobs of a trace as they are given to a scheduler: in order, with every unknown filled in.

use drawbridge_sim::{Seed, Span, Time};
use rand::{Rng as _, RngExt as _};

use crate::{
    options::{Limits, Options, RunTimes},
    trace::{Notes, Trace, TraceJob},
};

/// What arrives, and when.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Jobs by arrival; those of one moment as the trace has them.
    pub arrivals: Vec<Arrival>,
    /// [`Time::ZERO`], in seconds since 1970.
    pub epoch: u64,
    /// What was filled in.
    pub notes: Notes,
}

/// One job on its way to the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its place in the trace.
    pub job: u32,
    /// When it is submitted.
    pub at: Time,
    /// How long it runs.
    pub run: Span,
    /// The limit that the scheduler is told.
    pub limit: Option<Span>,
    /// When it started, in the record.
    pub recorded: Option<Time>,
}

impl Workload {
    /// Where [`Time::ZERO`] lies: the whole minute at or before the first submission, in the
    /// trace's own seconds.
    pub(crate) fn trace_zero(trace: &Trace) -> u64 {
        let first = trace.first_submit();
        // A whole minute, so that what is rounded in calendar time is rounded as it was.
        first - ((trace.machine.epoch + first) % 60).min(first)
    }

    /// Where [`Time::ZERO`] lies, in seconds since 1970.
    pub fn zero(trace: &Trace) -> u64 {
        trace.machine.epoch + Self::trace_zero(trace)
    }

    /// The jobs that the options choose.
    pub fn new(trace: &Trace, options: &Options) -> Self {
        let first = trace.first_submit();
        let zero = Self::trace_zero(trace);
        let mut notes = Notes::default();
        let mut rng = options.seed.stream("jitter");
        let limit = fallback_limit(trace);
        let chosen = chosen(trace, options, first);
        let mut arrivals: Vec<Arrival> = chosen
            .map(|(at, job)| {
                let jitter = match options.jitter.as_ms() {
                    0 => 0,
                    most => rng.random_range(0..=most),
                };
                let submitted = Span::secs(job.submit - zero) + Span::ms(jitter);
                let run = run_time(job, options.run_times);
                Arrival {
                    job: at,
                    at: Time::ZERO + submitted,
                    run,
                    limit: limit_of(job, run, options.limits, limit, &mut notes),
                    recorded: job.start.map(|at| Time::ZERO + Span::secs(at.saturating_sub(zero))),
                }
            })
            .collect();
        if !arrivals.is_sorted_by_key(|arrival| arrival.at) {
            if options.jitter == Span::ZERO {
                notes.add("the jobs are not in the order of their submit times: sorted", 0);
            }
            arrivals.sort_by_key(|arrival| arrival.at);
        }
        Self { arrivals, epoch: trace.machine.epoch + zero, notes }
    }
}

/// The jobs to replay, with their places.
fn chosen<'a>(
    trace: &'a Trace,
    options: &Options,
    first: u64,
) -> impl Iterator<Item = (u32, &'a TraceJob)> + use<'a> {
    let from = first + options.from.map_or(0, Span::as_secs);
    let to = options.to.map_or(u64::MAX, |to| first.saturating_add(to.as_secs()));
    let jobs = (0..).zip(&trace.jobs);
    let inside = jobs.filter(move |(_, job)| from <= job.submit && job.submit < to);
    inside.take(options.first_jobs.unwrap_or(usize::MAX))
}

fn run_time(job: &TraceJob, run_times: RunTimes) -> Span {
    let recorded = Span::secs(job.run);
    match run_times {
        RunTimes::Recorded => recorded,
        // Saturates, and is never negative: the factor isn't.
        RunTimes::Scaled(factor) => Span::ms((recorded.as_ms() as f64 * factor) as u64),
    }
}

/// What stands in for a limit that isn't known: the longest that anybody asked for.
fn fallback_limit(trace: &Trace) -> Option<u64> {
    trace.jobs.iter().filter_map(|job| job.limit).max()
}

fn limit_of(
    job: &TraceJob,
    run: Span,
    limits: Limits,
    fallback: Option<u64>,
    notes: &mut Notes,
) -> Option<Span> {
    // A limit is whole minutes to Slurm, and never none.
    let minutes = |span: Span| Span::mins(span.as_ms().div_ceil(60_000).max(1));
    match (limits, job.limit, fallback) {
        (Limits::None, _, _) => None,
        (Limits::RunTime, _, _) => Some(minutes(run)),
        (Limits::Requested, Some(limit), _) => Some(minutes(Span::secs(limit))),
        (Limits::Requested, None, Some(fallback)) => {
            notes.count("asked for no time limit: gets the longest that another job asked for");
            Some(minutes(Span::secs(fallback.max(job.run))))
        }
        (Limits::Requested, None, None) => {
            notes.count("asked for no time limit, nor did any other: its run time is taken");
            Some(minutes(run))
        }
    }
}

/// The seed of one replica; the first has the seed itself.
pub fn replica_seed(seed: Seed, replica: u32) -> Seed {
    if replica == 0 {
        return seed;
    }
    Seed(seed.stream(&format!("replica {replica}")).next_u64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swf;

    fn trace(lines: &[(u64, i64, u64)]) -> Trace {
        let line = |(at, (submit, limit, run)): (usize, &(u64, i64, u64))| {
            format!("{at} {submit} 5 {run} 1 -1 -1 1 {limit} -1 1 1 1 1 1 1 -1 -1\n")
        };
        let text: String = lines.iter().enumerate().map(line).collect();
        swf::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn jobs_come_in_order_and_time_begins_with_the_first() {
        let workload = Workload::new(
            &trace(&[(500, 60, 1), (130, 61, 1), (500, 0, 90)]),
            &Options::as_recorded(),
        );
        let seen: Vec<_> = workload
            .arrivals
            .iter()
            .map(|it| (it.job, it.at.as_secs(), it.limit.unwrap().as_secs()))
            .collect();
        assert_eq!(seen, [(1, 10, 120), (0, 380, 60), (2, 380, 120)]);
        assert_eq!(
            (workload.epoch, workload.arrivals[0].recorded),
            (120, Some(Time::from_ms(15_000)))
        );
        assert_eq!(workload.notes.lines().len(), 2);
    }

    #[test]
    fn options_choose_jobs_run_times_and_limits() {
        let trace = trace(&[(0, 60, 100), (10, 60, 100), (20, 60, 100), (30, 60, 100)]);
        let mut options = Options::as_recorded();
        (options.from, options.to) = (Some(Span::secs(10)), Some(Span::secs(30)));
        (options.run_times, options.limits) = (RunTimes::Scaled(0.5), Limits::RunTime);
        let workload = Workload::new(&trace, &options);
        let seen: Vec<_> =
            workload.arrivals.iter().map(|it| (it.job, it.run.as_secs(), it.limit)).collect();
        assert_eq!(seen, [(1, 50, Some(Span::mins(1))), (2, 50, Some(Span::mins(1)))]);
        options.first_jobs = Some(1);
        assert_eq!(Workload::new(&trace, &options).arrivals.len(), 1);
    }

    #[test]
    fn jitter_moves_arrivals_by_the_seed() {
        let trace = trace(&[(0, 60, 100), (1000, 60, 100)]);
        let at = |seed| {
            let mut options = Options::as_recorded();
            (options.jitter, options.seed) = (Span::secs(5), Seed(seed));
            let workload = Workload::new(&trace, &options);
            workload.arrivals.iter().map(|it| it.at.as_ms()).collect::<Vec<_>>()
        };
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
        assert!((1_000_000..=1_005_000).contains(&at(3)[1]));
    }
}

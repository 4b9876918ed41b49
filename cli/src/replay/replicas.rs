//! Replays once or often, on several threads; which thread did what makes no difference.

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use drawbridge_replay::{
    Distribution, Mode, Options, Outcome, Summary, Workload, easy, grouped, replica_seed, slurm,
};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;

use super::{args::ReplayArgs, load::Loaded};

/// How the results of replicas are spread.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spread {
    pub(super) replicas: usize,
    pub(super) mean_wait: Range,
    pub(super) p95_wait: Range,
    pub(super) mean_slowdown: Range,
    pub(super) utilisation: Range,
    pub(super) makespan: Range,
    pub(super) start_hashes: Vec<String>,
}

/// Of one number in each replica.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Range {
    pub(super) min: f64,
    #[serde(flatten)]
    pub(super) spread: Distribution,
    pub(super) standard_deviation: f64,
}

/// The outcomes, in the order of the replicas.
pub(super) fn replay(args: &ReplayArgs, loaded: &Loaded) -> Vec<Outcome> {
    let options = args.options();
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let workers = args.workers.map_or_else(cores, usize::from).min(args.replicas as usize).max(1);
    let bar = bar(loaded, &options, args.replicas);
    let next = AtomicU32::new(0);
    let done = Mutex::new(vec![]);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let replica = next.fetch_add(1, Ordering::Relaxed);
                    if args.replicas <= replica {
                        return;
                    }
                    let outcome = one(loaded, &options, replica, &bar);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((replica, outcome));
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(replica, _)| *replica);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn one(loaded: &Loaded, options: &Options, replica: u32, bar: &ProgressBar) -> Outcome {
    let mut options = *options;
    options.seed = replica_seed(options.seed, replica);
    let workload = Workload::new(&loaded.trace, &options);
    let mut told = 0;
    let mut progress = |n_ended: u64| {
        if told + 500 <= n_ended {
            bar.inc(n_ended - told);
            told = n_ended;
        }
    };
    match options.mode {
        Mode::SlurmCycles => {
            slurm::replay(&loaded.trace, &workload, loaded.config.clone(), &mut progress)
        }
        Mode::Easy => {
            let pool = easy::Pool::of(&loaded.config);
            easy::replay(&loaded.trace, &workload, pool, options.over_limit, &mut progress)
        }
    }
}

/// A bar on a terminal, nothing elsewhere.
fn bar(loaded: &Loaded, options: &Options, replicas: u32) -> ProgressBar {
    let jobs = loaded.trace.jobs.len().min(options.first_jobs.unwrap_or(usize::MAX));
    let bar = ProgressBar::new(jobs as u64 * u64::from(replicas));
    let template = "{bar:30} {human_pos}/{human_len} jobs  {rate}/s  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = out.write_str(&grouped(state.per_sec() as u64));
        };
        bar.set_style(style.with_key("rate", rate));
    }
    bar
}

/// How the replicas' results are spread; `None` if there is only one.
pub(super) fn spread(loaded: &Loaded, outcomes: &[Outcome]) -> Option<Spread> {
    if outcomes.len() < 2 {
        return None;
    }
    let all: Vec<Summary> =
        outcomes.iter().map(|outcome| Summary::new(&loaded.trace, outcome, 0)).collect();
    let range = |number: &dyn Fn(&Summary) -> f64| Range::of(all.iter().map(number).collect());
    Some(Spread {
        replicas: all.len(),
        mean_wait: range(&|it| it.wait.mean),
        p95_wait: range(&|it| it.wait.p95),
        mean_slowdown: range(&|it| it.bounded_slowdown.mean),
        utilisation: range(&|it| it.utilisation),
        makespan: range(&|it| it.makespan),
        start_hashes: all.iter().map(|it| it.start_hash.clone()).collect(),
    })
}

impl Range {
    fn of(values: Vec<f64>) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>() / n;
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            spread: Distribution::of(values),
            standard_deviation: variance.sqrt(),
        }
    }
}

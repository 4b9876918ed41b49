//! Plays scenarios on several threads; the results come in the order of the files.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use drawbridge_scenarios::{Run, Scenario};
use drawbridge_sim::Seed;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{args::Transport, failure::Failure, files::Loaded};

/// Plays every scenario with `seed`, or with its own.
pub(crate) fn play(
    loaded: &[Loaded],
    seed: Option<Seed>,
    workers: Option<u16>,
    transport: Transport,
) -> Result<Vec<Run>, Failure> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.map_or_else(cores, usize::from).clamp(1, loaded.len().max(1));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(loaded.len()));
    let bar = progress(loaded.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(one) = loaded.get(next.fetch_add(1, Ordering::Relaxed)) {
                    bar.set_message(one.scenario.name.clone());
                    let run = play_one(&one.scenario, seed.unwrap_or(one.scenario.seed), transport);
                    bar.inc(1);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((one.path.clone(), run));
                }
            });
        }
    });
    bar.finish_and_clear();
    in_order(loaded, done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn play_one(scenario: &Scenario, seed: Seed, transport: Transport) -> Result<Run, Failure> {
    match transport {
        Transport::Direct => Ok(drawbridge_scenarios::run(scenario, seed)),
        Transport::Wire => drawbridge_scenarios::wire::run(scenario, seed)
            .map_err(|error| Failure::Process(format!("no runtime: {error}"))),
    }
}

fn in_order(
    loaded: &[Loaded],
    mut done: Vec<(std::path::PathBuf, Result<Run, Failure>)>,
) -> Result<Vec<Run>, Failure> {
    let place = |path: &std::path::Path| loaded.iter().position(|one| one.path == path);
    done.sort_by_key(|(path, _)| place(path));
    done.into_iter().map(|(_, run)| run).collect()
}

/// A bar on a terminal, nothing elsewhere.
fn progress(n_scenarios: usize) -> ProgressBar {
    let bar = ProgressBar::new(n_scenarios as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg} {eta}") {
        bar.set_style(style);
    }
    bar
}

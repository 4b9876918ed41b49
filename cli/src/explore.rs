//! `drawbridge explore`: many runs under faults, each judged.
//!
//! ```text
//!   files ──▶ subjects ──▶ crash points, pairs, seeds on all cores ──▶ tally ──▶ table or JSON
//!                                                    first failure ──▶ made small, told how to repeat
//! ```

pub(crate) mod args;
mod keep;
mod show;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use drawbridge_explore::{
    Outcome, Plan, Shard, Subject, Tally, Trial, explore as play, generate, judge,
};
use drawbridge_scenarios::{Level, format};
use drawbridge_sim::Seed;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use self::args::ExploreArgs;
use crate::{
    args::VerifyOutput,
    failure::{Failure, print},
    files::{self, Loaded},
};

/// What a run that stopped leaves for the next one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Progress {
    /// How many tasks of the plan are done.
    done: u64,
    /// How long that took.
    elapsed_ms: u64,
    /// What they came to.
    tally: Tally,
}

pub(crate) fn explore(args: &ExploreArgs) -> Result<(), Failure> {
    if !args.merge.is_empty() {
        return merge(args);
    }
    let loaded = load(args)?;
    let with_bridge = loaded.iter().filter(|one| one.scenario.bridge.is_some());
    let subjects: Vec<Subject> =
        with_bridge.map(|one| Subject::new(one.scenario.clone())).collect();
    if !args.fault.is_empty() {
        return repeat(args, &subjects);
    }
    let before = args.resume.as_deref().map(read).transpose()?.unwrap_or_default();
    let progress = go(args, &subjects, &before)?;
    finish(args, &loaded, &subjects, &progress)
}

/// The scenarios of the files, and those of the grammar.
fn load(args: &ExploreArgs) -> Result<Vec<Loaded>, Failure> {
    let mut loaded = if args.paths.is_empty() { vec![] } else { files::load(&args.paths)? };
    let many = (0..args.generate).map(|number| args.first_seed + number);
    for seed in many.chain(args.generated.iter().copied()) {
        let path = PathBuf::from(format!("{}{seed}.yaml", keep::GENERATED));
        let text = generate(Seed(seed));
        let scenario = format::parse(&path.display().to_string(), &text, &NoFiles)
            .map_err(|error| Failure::Scenarios(vec![error]))?;
        loaded.push(Loaded { path, scenario });
    }
    Ok(loaded)
}

/// What the grammar makes includes nothing.
struct NoFiles;

impl format::Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: a generated scenario has no files"))
    }
}

/// Plays what is left of the plan; with `--resume`, what is done is written down again and again.
fn go(args: &ExploreArgs, subjects: &[Subject], before: &Progress) -> Result<Progress, Failure> {
    let (plan, begun) = (plan(args, before.done), Instant::now());
    let until = args.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = args.workers.map_or_else(cores, usize::from);
    let bar = bar(until, &plan, subjects);
    let sum = |tally: &Tally, done| {
        let mut progress = before.clone();
        progress.tally.merge(tally);
        progress.done = done;
        progress.elapsed_ms += u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        progress
    };
    let mut written = Ok(());
    let may_go_on = |tally: &Tally| {
        tell(&bar, until, begun, tally);
        until.is_none_or(|until| begun.elapsed() < until)
    };
    let (tally, done) = play(subjects, &plan, threads, may_go_on, |tally, done| {
        if let (Some(path), Ok(())) = (&args.resume, &written) {
            written = write(path, &sum(tally, done));
        }
    });
    bar.finish_and_clear();
    written.map(|()| sum(&tally, done))
}

fn plan(args: &ExploreArgs, done: u64) -> Plan {
    let without_end = if args.minutes.is_some() { u64::MAX / 1_000_000 } else { 20 };
    Plan {
        seeds: args.seeds.unwrap_or(without_end),
        first_seed: args.first_seed,
        crash_points: (!args.no_crash_points).then_some(args.crash_points),
        pairs: args.pairs,
        shard: args.shard.unwrap_or(Shard::WHOLE),
        done,
    }
}

/// A bar on a terminal, nothing elsewhere.
fn bar(until: Option<Duration>, plan: &Plan, subjects: &[Subject]) -> ProgressBar {
    let length = until.map_or_else(|| plan.len(subjects), |until| until.as_secs());
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {wide_msg} {eta}") {
        bar.set_style(style);
    }
    bar
}

fn tell(bar: &ProgressBar, until: Option<Duration>, begun: Instant, tally: &Tally) {
    match until {
        Some(_) => bar.set_position(begun.elapsed().as_secs()),
        None => bar.set_position(tally.tasks),
    }
    let rate = tally.runs as f64 / begun.elapsed().as_secs_f64().max(0.001);
    bar.set_message(format!("{} runs, {rate:.0}/s, {} failed", tally.runs, tally.failed));
}

/// Prints what it came to, and makes the first failure small.
fn finish(
    args: &ExploreArgs,
    loaded: &[Loaded],
    subjects: &[Subject],
    progress: &Progress,
) -> Result<(), Failure> {
    let text = match args.output {
        VerifyOutput::Table => show::table(&progress.tally, progress.elapsed_ms),
        VerifyOutput::Json => show::json(&progress.tally, progress.elapsed_ms),
    };
    print(text.as_bytes())?;
    let Some(first) = progress.tally.failures.first() else { return verdict(&progress.tally) };
    let subject = subjects.iter().find(|one| one.scenario.name == first.scenario);
    let one = loaded.iter().find(|one| one.scenario.name == first.scenario);
    if let (Some(subject), Some(one)) = (subject, one) {
        let told = keep::first_failure(args, one, subject, first)?;
        if args.output == VerifyOutput::Table {
            print(told.as_bytes())?;
        }
    }
    verdict(&progress.tally)
}

fn verdict(tally: &Tally) -> Result<(), Failure> {
    match tally.failed {
        0 => Ok(()),
        n => Err(Failure::Unmet(format!("{n} of {} runs failed", tally.runs))),
    }
}

/// Plays one run with exactly the faults that were given, for each scenario, and prints its story.
fn repeat(args: &ExploreArgs, subjects: &[Subject]) -> Result<(), Failure> {
    let mut failed = 0;
    for subject in subjects {
        let (story, outcome) = story(subject, &Trial::listed(args.fault.clone(), args.shared));
        failed += usize::from(!outcome.findings.is_empty());
        let found: String = outcome.findings.iter().map(|it| format!("✗ {it}\n")).collect();
        let name = &subject.scenario.name;
        print(format!("{name}\n\n{story}\n{found}hash {}\n", outcome.hash).as_bytes())?;
    }
    match failed {
        0 => Ok(()),
        n => Err(Failure::Unmet(format!("{n} of {} runs failed", subjects.len()))),
    }
}

fn story(subject: &Subject, trial: &Trial) -> (String, Outcome) {
    let (mut world, mut story) = (trial.world(subject), String::new());
    loop {
        let more = world.step();
        let records = world.take_records();
        let told = records.iter().filter(|record| record.level == Level::Story);
        story.extend(told.map(|record| format!("{record}\n")));
        if !more {
            return (story, judge(subject, &world));
        }
    }
}

/// Adds up the tallies of shards.
fn merge(args: &ExploreArgs) -> Result<(), Failure> {
    let mut all = Progress::default();
    for path in &args.merge {
        let one = read(path)?;
        all.tally.merge(&one.tally);
        all.elapsed_ms = all.elapsed_ms.max(one.elapsed_ms);
    }
    let text = match args.output {
        VerifyOutput::Table => show::table(&all.tally, all.elapsed_ms),
        VerifyOutput::Json => show::json(&all.tally, all.elapsed_ms),
    };
    print(text.as_bytes())?;
    verdict(&all.tally)
}

fn read(path: &Path) -> Result<Progress, Failure> {
    if !path.exists() {
        return Ok(Progress::default());
    }
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::path(path, error, "give a file that can be read"))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::path(path, error, "give what --resume or --output json wrote"))
}

fn write(path: &Path, progress: &Progress) -> Result<(), Failure> {
    let text = serde_json::to_string(progress).expect("a tally has only text, numbers and lists");
    fs::write(path, text)
        .map_err(|error| Failure::path(path, error, "give a file that can be written"))
}

//! Many cases, several at a time: kept ones first, then seeds.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use drawbridge_sim::Release;
use serde::Serialize;

use crate::{
    case::{Case, CaseError, Cluster, read_all},
    families::{Family, Generated},
    lab::{LabError, LabOptions, install},
    lockstep::{CaseResult, Kept, record_case, replay_case, run_case},
    shrink,
};

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// What to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How to get a Slurm.
    pub lab: LabOptions,
    /// Kept cases, by name.
    pub cases: Vec<(String, Case)>,
    /// Families to draw from.
    pub families: Vec<&'static Family>,
    /// Seeds per family.
    pub seeds: u64,
    /// The first of them.
    pub first_seed: u64,
    /// Begin no case after so long.
    pub time: Option<Duration>,
    /// Cases at a time.
    pub jobs: usize,
    /// Tries to make a difference smaller.
    pub shrink_tries: usize,
    /// Ask only the real Slurm, and record what it shows.
    pub record_only: bool,
    /// A site's own cluster, instead of generated ones.
    pub given: Option<Cluster>,
}

/// Operations, and those after which nothing differed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Operations that both sides did.
    pub operations: usize,
    /// Those after which nothing differed.
    pub equal: usize,
    /// Those that began under contention.
    pub contended: usize,
    /// Those that the model refused as not modelled.
    pub not_modelled: usize,
}

/// Where the model first differed, made small.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstDifference {
    /// The family.
    pub family: String,
    /// The case's name.
    pub name: String,
    /// The seed, or nothing for a kept case.
    pub seed: Option<u64>,
    /// The operation after which it differs.
    pub operation: String,
    /// What differs, a line each.
    pub differences: Vec<String>,
    /// The case as text, to be kept.
    pub case: String,
}

/// What came of it all.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Operations that both sides did.
    pub operations: usize,
    /// Those after which nothing differed.
    pub equal: usize,
    /// Those that began under contention.
    pub contended: usize,
    /// Those that the model refused as not modelled.
    pub not_modelled: usize,
    /// Cases that were run.
    pub cases: usize,
    /// The first seed of each family, and how many.
    pub seeds: (u64, u64),
    /// By family.
    pub families: BTreeMap<String, Tally>,
    /// The first difference, made small.
    pub first_difference: Option<FirstDifference>,
    /// Every difference, in the order in which they were found.
    #[serde(skip)]
    pub differences: Vec<FirstDifference>,
    /// What was not modelled, and how often.
    pub refused: BTreeMap<String, usize>,
    /// Operations of kept cases that differ.
    pub kept_differ: usize,
    /// Differences that did not show a second time.
    pub unsteady: Vec<String>,
}

/// News for whoever waits.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Cases done.
    pub done: usize,
    /// Cases in all.
    pub total: usize,
    /// Operations so far.
    pub operations: usize,
    /// Equal so far.
    pub equal: usize,
    /// What the last case recorded, where only that is wanted.
    pub recorded: Option<Case>,
    /// What the last case found to differ.
    pub found: Option<FirstDifference>,
}

/// The cases that are kept in this crate.
pub fn recorded_cases() -> Result<Vec<(String, Case)>, (String, CaseError)> {
    read_all(CASES)
}

enum Work {
    Keep(String, Box<Case>),
    Recorded(String, Box<Case>),
    Make(&'static Family, u64),
}

/// Runs them all.
pub fn run(options: &RunOptions, mut tell: impl FnMut(&Progress)) -> Result<Report, LabError> {
    let mut report = Report { seeds: (options.first_seed, options.seeds), ..Report::default() };
    let work = report.drop_unavailable(&options.lab, work_list(options))?;
    let total = work.len();
    let work = Mutex::new(work);
    let began = Instant::now();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || {
                while let Some(item) = next_item(options, work, began) {
                    let result = do_work(options, &item, began);
                    if sender.send((item, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (item, result) in receiver {
            let outcome = match result {
                Ok(outcome) => outcome,
                Err(error) => {
                    work.lock().map(|mut list| list.clear()).unwrap_or_default();
                    return Err(error);
                }
            };
            let recorded = options.record_only.then(|| outcome.result.case.clone());
            let known = report.differences.len();
            report.add(&item, outcome);
            let found = report.differences.get(known).cloned();
            let Report { operations, equal, cases: done, .. } = report;
            tell(&Progress { done, total, operations, equal, recorded, found });
        }
        Ok(report)
    })
}

/// Recordings against the model, without any Slurm.
pub fn replay_all(cases: Vec<(String, Case)>) -> Report {
    let mut report = Report::default();
    for (name, case) in cases {
        let result = replay_case(&case);
        let small = (!result.differences.is_empty()).then(|| result.clone());
        let item = Work::Recorded(name, Box::new(case));
        report.add(&item, Outcome { result, small, unsteady: vec![] });
    }
    report
}

fn work_list(options: &RunOptions) -> VecDeque<Work> {
    let kept =
        options.cases.iter().map(|(name, case)| Work::Keep(name.clone(), case.clone().into()));
    let last = options.first_seed.saturating_add(options.seeds);
    let made = (options.first_seed..last)
        .flat_map(|seed| options.families.iter().map(move |family| Work::Make(family, seed)));
    kept.chain(made).collect()
}

impl Work {
    fn release(&self, asked: Release) -> Release {
        match self {
            Self::Keep(_, case) | Self::Recorded(_, case) => case.cluster.release,
            Self::Make(family, _) => family.release.unwrap_or(asked),
        }
    }
}

fn next_item(options: &RunOptions, work: &Mutex<VecDeque<Work>>, began: Instant) -> Option<Work> {
    if options.is_over(began) {
        return None;
    }
    work.lock().ok()?.pop_front()
}

/// A case's result, and whether what differed showed twice.
struct Outcome {
    result: CaseResult,
    small: Option<CaseResult>,
    unsteady: Vec<String>,
}

/// How often a case is tried whose difference did not show again.
const ATTEMPTS: usize = 3;

fn do_work(options: &RunOptions, item: &Work, began: Instant) -> Result<Outcome, LabError> {
    let mut unsteady = vec![];
    let mut result = attempt(options, item)?;
    for _ in 1..ATTEMPTS {
        if result.unsettled.is_some() {
            unsteady.push(unsteady_text(&result));
            result = attempt(options, item)?;
            continue;
        }
        if result.differences.is_empty() {
            return Ok(Outcome { result, small: None, unsteady });
        }
        let again = shrink::confirm(&options.lab, &result)?;
        if !again.differences.is_empty() {
            let tries = if options.is_over(began) { 0 } else { options.shrink_tries };
            let small = shrink::shrink(&options.lab, &again, tries)?;
            return Ok(Outcome { result, small: Some(small), unsteady });
        }
        unsteady.push(unsteady_text(&result));
        result = attempt(options, item)?;
    }
    if !result.differences.is_empty() || result.unsettled.is_some() {
        // Never the same twice: neither equal nor a difference to show.
        unsteady.push(unsteady_text(&result));
        result.operations = result.equal;
        result.differences.clear();
    }
    Ok(Outcome { result, small: None, unsteady })
}

/// A lab that dies, or doesn't start, on a busy machine may live the next time.
fn attempt(options: &RunOptions, item: &Work) -> Result<CaseResult, LabError> {
    let again = |_| attempt_once(options, item);
    attempt_once(options, item).or_else(again).or_else(again)
}

fn attempt_once(options: &RunOptions, item: &Work) -> Result<CaseResult, LabError> {
    let mut result = match item {
        Work::Keep(_, case) | Work::Recorded(_, case) => {
            let mut kept = Kept(case.steps.iter().map(|step| step.operation.clone()).collect());
            match options.record_only {
                true => record_case(&options.lab, &case.cluster, &mut kept)?,
                false => run_case(&options.lab, &case.cluster, &mut kept)?,
            }
        }
        Work::Make(family, seed) => {
            let mut made = Generated::new(family, *seed, options.given.as_ref());
            let cluster = made.cluster(options.lab.release);
            match options.record_only {
                true => record_case(&options.lab, &cluster, &mut made)?,
                false => run_case(&options.lab, &cluster, &mut made)?,
            }
        }
    };
    (result.case.family, result.case.seed) = match item {
        Work::Keep(_, case) | Work::Recorded(_, case) => (case.family.clone(), case.seed),
        Work::Make(family, seed) => (family.name.to_owned(), *seed),
    };
    Ok(result)
}

impl RunOptions {
    fn is_over(&self, began: Instant) -> bool {
        self.time.is_some_and(|time| time < began.elapsed())
    }
}

fn unsteady_text(result: &CaseResult) -> String {
    let CaseResult { case, unsettled, .. } = result;
    if let Some(step) = unsettled {
        return format!("{} seed {}, `{step}`: did not come to rest", case.family, case.seed);
    }
    let found: Vec<_> = result.differences.iter().map(ToString::to_string).collect();
    let step = result.case.steps.last().map_or("", |step| &step.operation);
    format!("{} seed {}, `{step}`: {}", result.case.family, result.case.seed, found.join("; "))
}

impl Report {
    /// Unpacks the Slurm that is asked for. Cases that need another one are left out if it can't be
    /// had, and that is told.
    fn drop_unavailable(
        &mut self,
        lab: &LabOptions,
        mut work: VecDeque<Work>,
    ) -> Result<VecDeque<Work>, LabError> {
        install(lab)?;
        let releases: BTreeSet<_> = work.iter().map(|item| item.release(lab.release)).collect();
        for release in releases.into_iter().filter(|release| *release != lab.release) {
            let why = match lab.slurm {
                Some(_) => format!("another Slurm than {release} was given"),
                None => match install(&lab.released(release)) {
                    Ok(()) => continue,
                    Err(error) => error.to_string(),
                },
            };
            let before = work.len();
            work.retain(|item| item.release(lab.release) != release);
            let why = format!("cases of Slurm {release}: {why}");
            *self.refused.entry(why).or_default() += before - work.len();
        }
        Ok(work)
    }

    fn add(&mut self, item: &Work, outcome: Outcome) {
        let Outcome { result, small, unsteady } = outcome;
        let (family, seed) = match item {
            Work::Keep(..) => ("kept cases".to_owned(), None),
            Work::Recorded(_, case) => (case.family.clone(), Some(case.seed)),
            Work::Make(family, seed) => (family.name.to_owned(), Some(*seed)),
        };
        let tally = self.families.entry(family.clone()).or_default();
        let refused = result.not_modelled.len();
        for (one, more) in [
            (&mut tally.operations, result.operations),
            (&mut tally.equal, result.equal),
            (&mut tally.contended, result.contended),
            (&mut tally.not_modelled, refused),
            (&mut self.operations, result.operations),
            (&mut self.equal, result.equal),
            (&mut self.contended, result.contended),
            (&mut self.not_modelled, refused),
            (&mut self.cases, 1),
            (
                &mut self.kept_differ,
                if seed.is_none() { result.operations - result.equal } else { 0 },
            ),
        ] {
            *one += more;
        }
        self.unsteady.extend(unsteady);
        for why in result.not_modelled {
            *self.refused.entry(why.0).or_default() += 1;
        }
        if let Some(mut small) = small {
            let differences: Vec<_> = small.differences.iter().map(ToString::to_string).collect();
            small.case.why = differences.join("\n");
            let case = small.case.to_string();
            let name = match item {
                Work::Keep(name, _) | Work::Recorded(name, _) => name.clone(),
                Work::Make(family, seed) => format!("{}-{seed}", family.name),
            };
            let operation = small.case.steps.last().map(|step| step.operation.clone());
            let operation = operation.unwrap_or_default();
            let found = FirstDifference { family, name, seed, operation, differences, case };
            self.first_difference.get_or_insert(found.clone());
            self.differences.push(found);
        }
    }
}

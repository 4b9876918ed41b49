//! What many runs came to, in numbers. Tallies of shards add up to the tally of the whole.

use std::collections::BTreeMap;

use drawbridge_sim::fnv1a;
use serde::{Deserialize, Serialize};

use crate::{
    coverage::{meetings, strikes},
    trial::{Outcome, Trial},
};

/// How many failures are kept; the others are counted.
const FAILURES_KEPT: usize = 20;

/// Numbers, and the first failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// Tasks of the plan that are done.
    pub tasks: u64,
    /// Runs that were played.
    pub runs: u64,
    /// Those of them in which a fault struck and a workload finished all the same.
    pub counted: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Time that passed in their worlds.
    pub virtual_ms: u64,
    /// Records that were written.
    pub events: u64,
    /// Crash points tried, by scenario: two for each request.
    pub crash_points: BTreeMap<String, u64>,
    /// Requests of the undisturbed run, by scenario, where crash points were tried.
    pub effects: BTreeMap<String, u64>,
    /// Pairs of crash points tried.
    pub pairs: u64,
    /// Faults that struck, as `request verdict`.
    pub faults: BTreeMap<String, u64>,
    /// What the bridge met in which state, as `stage / news`.
    pub seen: BTreeMap<String, u64>,
    /// The first failures.
    pub failures: Vec<Failure>,
    /// Stands for every run: alike if and only if they all were, whatever their order.
    pub digest: u64,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Its place in the plan.
    pub index: u64,
    /// The scenario's name.
    pub scenario: String,
    /// What the command line has to say to repeat it.
    pub repeat: String,
    /// Whether several replicas shared the work.
    pub shared: bool,
    /// What is wrong.
    pub findings: Vec<String>,
    /// The faults that struck.
    pub faults: Vec<String>,
}

impl Tally {
    /// Adds one run.
    pub fn add(&mut self, index: u64, scenario: &str, trial: &Trial, outcome: &Outcome) {
        let repeat = trial.repeat();
        self.runs += 1;
        self.counted += u64::from(outcome.counts());
        self.virtual_ms += outcome.length.as_ms();
        self.events += outcome.events;
        for ((request, verdict), count) in outcome.faults() {
            *self.faults.entry(format!("{request} {verdict}")).or_default() += count;
        }
        for ((stage, news), count) in &outcome.seen {
            *self.seen.entry(format!("{stage} / {news}")).or_default() += count;
        }
        let name = format!("{index} {scenario} {repeat} {}", outcome.hash);
        self.digest = self.digest.wrapping_add(fnv1a(name.as_bytes()));
        if !outcome.findings.is_empty() {
            self.failed += 1;
            self.failures.push(Failure {
                index,
                scenario: scenario.to_owned(),
                repeat,
                shared: trial.shared,
                findings: outcome.findings.clone(),
                faults: outcome.fired.iter().map(ToString::to_string).collect(),
            });
            self.keep_few();
        }
    }

    /// Adds all of another tally.
    pub fn merge(&mut self, other: &Self) {
        // Destructured so that a new number can't be forgotten here.
        let Self {
            tasks,
            runs,
            counted,
            failed,
            virtual_ms,
            events,
            crash_points,
            effects,
            pairs,
            faults,
            seen,
            failures,
            digest,
        } = other;
        self.tasks += tasks;
        self.runs += runs;
        self.counted += counted;
        self.failed += failed;
        self.virtual_ms += virtual_ms;
        self.events += events;
        add_all(&mut self.crash_points, crash_points);
        self.effects.extend(effects.iter().map(|(name, n)| (name.clone(), *n)));
        self.pairs += pairs;
        add_all(&mut self.faults, faults);
        add_all(&mut self.seen, seen);
        self.failures.extend(failures.iter().cloned());
        self.keep_few();
        self.digest = self.digest.wrapping_add(*digest);
    }

    /// Faults that could strike and never did, as `request verdict`.
    pub fn faults_never_tried(&self) -> Vec<String> {
        strikes().filter(|name| !self.faults.contains_key(name)).collect()
    }

    /// How many faults × requests and how many states × news there are.
    pub fn possible() -> (usize, usize) {
        (strikes().count(), meetings().count())
    }

    /// What the bridge could meet in which state and never did, as `state / news`.
    pub fn never_seen(&self) -> Vec<String> {
        meetings().filter(|name| !self.seen.contains_key(name)).collect()
    }

    fn keep_few(&mut self) {
        self.failures.sort();
        self.failures.truncate(FAILURES_KEPT);
    }
}

fn add_all(to: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    for (name, count) in from {
        *to.entry(name.clone()).or_default() += count;
    }
}

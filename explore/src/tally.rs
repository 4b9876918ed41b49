//! What many runs came to, in numbers. Tallies of shards add up to the tally of the whole.

use std::collections::BTreeMap;

use drawbridge_core::STAGES;
use drawbridge_scenarios::{
    NEWS,
    fault::{REQUESTS, VERDICTS},
};
use drawbridge_sim::fnv1a;
use serde::{Deserialize, Serialize};

use crate::trial::Outcome;

/// How many failures are kept; the others are counted.
const FAILURES_KEPT: usize = 20;

/// Numbers, and the first failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
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
    /// What is wrong.
    pub findings: Vec<String>,
    /// The faults that struck.
    pub faults: Vec<String>,
}

impl Tally {
    /// Adds one run.
    pub fn add(&mut self, index: u64, scenario: &str, repeat: String, outcome: &Outcome) {
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
        let all = REQUESTS.iter().skip(1).flat_map(|request| {
            VERDICTS
                .iter()
                .filter(|verdict| fits(request, verdict))
                .map(move |verdict| (request, verdict))
        });
        let all = all.map(|(request, verdict)| format!("{request} {verdict}"));
        all.filter(|name| !self.faults.contains_key(name)).collect()
    }

    /// What the bridge never met in which state, as `stage / news`.
    pub fn never_seen(&self) -> Vec<String> {
        let all = STAGES.iter().flat_map(|stage| NEWS.iter().map(move |news| (stage, news)));
        // A life begins without workloads, and a workload that is closed is forgotten.
        let all = all.filter(|(stage, news)| **stage != "closed" && **news != "started");
        let all = all.map(|(stage, news)| format!("{stage} / {news}"));
        all.filter(|name| !self.seen.contains_key(name)).collect()
    }

    fn keep_few(&mut self) {
        self.failures.sort();
        self.failures.truncate(FAILURES_KEPT);
    }
}

/// Whether a fault of this kind can strike requests of this kind.
fn fits(request: &str, verdict: &str) -> bool {
    match (request, verdict) {
        ("watch.event", verdict) => matches!(verdict, "delay" | "end" | "gone" | "mute"),
        ("webhook", verdict) => verdict == "refuse",
        (_, "end" | "gone" | "mute") => false,
        ("kube.watch", verdict) => !matches!(
            verdict,
            "delayReply" | "loseRequest" | "loseReply" | "resetReply" | "duplicate"
        ),
        _ => true,
    }
}

fn add_all(to: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    for (name, count) in from {
        *to.entry(name.clone()).or_default() += count;
    }
}

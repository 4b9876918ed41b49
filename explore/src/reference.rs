//! The reference model: which ends a scenario permits each workload, from what people wrote alone.
//!
//! ```text
//!   manifests, behaviours ──▶ how each ends if nobody interferes: Succeeded, Failed, Runs
//!   what people do to it  ──▶ deleted: Gone · its nodes taken away: maybe Gone, Failed
//!   what all want for ever ─▶ is there room for everybody? if not: maybe Waits
//!   faults that struck    ──▶ maybe not created, maybe its nodes taken away
//! ```
//!
//! It knows neither the bridge nor its states nor any order of events, so there is little that could be
//! wrong with it. What it doesn't understand it permits; [`Reference::understood`] says how much that is.

mod demand;
mod people;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_scenarios::{End, Scenario, fault::Fault};

use self::{
    demand::{Cluster, Program, Workload},
    people::Deeds,
};

/// What a scenario permits.
#[derive(Clone, Debug)]
pub struct Reference {
    workloads: BTreeMap<String, Workload>,
    deeds: Deeds,
    /// Whether everybody finds room in the end, whoever came first.
    is_roomy: bool,
}

/// What faults did to a run, as far as its end depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Somebody's creation may have been refused.
    pub creation_refused: bool,
    /// Nodes, or the jobs that hold them, may have been lost.
    pub work_taken: bool,
}

impl Circumstances {
    /// What these faults did; `refused` says whether people were told no more often than without them.
    pub fn of(fired: &[Fault], refused: bool) -> Self {
        let work_taken = fired.iter().any(|fault| !fault.verdict.is_harmless());
        Self { creation_refused: refused, work_taken }
    }
}

impl Reference {
    /// Reads a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let (workloads, deeds) = people::read(scenario);
        let cluster = Cluster::of(scenario, &deeds);
        let is_roomy = cluster.has_room_for_all(&workloads) && !deeds.may_starve;
        Self { workloads, deeds, is_roomy }
    }

    /// How many workloads there are, and for how many of them not every end is permitted.
    pub fn understood(&self) -> (usize, usize) {
        let known = self.workloads.values().filter(|it| it.program != Program::Unknown);
        (self.workloads.len(), known.count())
    }

    /// What is wrong with how things ended, as sentences.
    pub fn judge(&self, ends: &BTreeMap<String, End>, circumstances: Circumstances) -> Vec<String> {
        let mut findings = vec![];
        for (key, workload) in &self.workloads {
            let Some(permitted) = self.permits(workload, circumstances) else { continue };
            let end = ends.get(key).copied().unwrap_or(End::Gone);
            if !permitted.contains(&end) {
                let permitted: Vec<String> =
                    permitted.iter().map(|end| format!("{end:?}")).collect();
                let permitted = permitted.join(" or ");
                findings.push(format!("model: {key} is {end:?}; it should be {permitted}"));
            }
        }
        findings
    }

    /// The ends that a workload may have; `None` if it may have any.
    fn permits(&self, workload: &Workload, around: Circumstances) -> Option<BTreeSet<End>> {
        let own = match workload.program {
            Program::Unknown => return None,
            Program::Forever => End::Runs,
            Program::Ends(0) => End::Succeeded,
            Program::Ends(_) => End::Failed,
        };
        if workload.is_deleted {
            return Some(BTreeSet::from([End::Gone]));
        }
        let mut permitted = BTreeSet::from([own]);
        if !self.is_roomy {
            permitted.insert(End::Waits);
        }
        let work_taken = around.work_taken || self.deeds.take_work || workload.runs_out;
        let is_pod = workload.kind == "Pod";
        if work_taken {
            // Nobody makes a pod anew that belongs to nobody; a Job has so many tries.
            permitted.extend(is_pod.then_some(End::Gone));
            permitted.extend((own != End::Runs || is_pod).then_some(End::Failed));
        }
        if around.creation_refused && is_pod {
            permitted.insert(End::Gone);
        }
        if workload.gang.is_some() && permitted.contains(&End::Gone) {
            permitted.insert(End::Waits);
        }
        permitted.extend(workload.is_tidied_up.then_some(End::Gone));
        Some(permitted)
    }
}

//! I3 for devices that claims hold: none is in two claims, and each is one that Slurm gave the pod's job.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_core::names::{JOB_ID_LABEL, PLACED_SLURM_NODE};
use drawbridge_fakes::{Change, ChangeKind};
use drawbridge_sim::{JobId, JobState, SlurmNode, Slurmctld};
use serde_json::Value;

use crate::object::Object;

/// Who holds which device.
#[derive(Clone, Default)]
pub(super) struct Devices {
    /// `driver/pool/device` to the claims that have it.
    holders: BTreeMap<String, BTreeSet<String>>,
    /// What each claim has.
    claims: BTreeMap<String, Vec<String>>,
    /// Of pods that ask for devices: their job, and their node as Slurm names it.
    pods: BTreeMap<String, (JobId, SlurmNode)>,
}

impl Devices {
    pub(super) fn kube_change(&mut self, change: &Change, slurm: &Slurmctld) -> Vec<String> {
        match change.resource {
            "pods" => self.pod(change),
            "resourceclaims.resource.k8s.io" => return self.claim(change, slurm),
            _ => {}
        }
        vec![]
    }

    fn pod(&mut self, change: &Change) {
        let pod = Object(&change.object);
        let job = pod.label(JOB_ID_LABEL).and_then(|job| job.parse().ok()).map(JobId);
        let place = job.zip(pod.annotation(PLACED_SLURM_NODE).map(SlurmNode::from));
        match place.filter(|_| change.kind != ChangeKind::Deleted) {
            Some(place) => self.pods.insert(pod.uid().to_owned(), place),
            None => self.pods.remove(pod.uid()),
        };
    }

    fn claim(&mut self, change: &Change, slurm: &Slurmctld) -> Vec<String> {
        let claim = Object(&change.object);
        let key = claim.key();
        self.let_go(&key);
        if change.kind == ChangeKind::Deleted {
            return vec![];
        }
        let results = change.object["status"]["allocation"]["devices"]["results"].as_array();
        let results: Vec<&Value> = results.into_iter().flatten().collect();
        let devices: Vec<String> = results.iter().map(|it| name(it)).collect();
        let mut findings = vec![];
        for device in &devices {
            let holders = self.holders.entry(device.clone()).or_default();
            if let Some(other) = holders.iter().next() {
                findings.push(format!("I3: device {device} is in two claims, {other} and {key}"));
            }
            holders.insert(key.clone());
        }
        self.claims.insert(key.clone(), devices);
        let users = change.object["status"]["reservedFor"].as_array();
        for user in users.into_iter().flatten() {
            let place = user["uid"].as_str().and_then(|uid| self.pods.get(uid));
            let strange = results.iter().filter(|it| place.is_some_and(|at| !has(slurm, at, it)));
            findings.extend(strange.map(|it| {
                let device = name(it);
                format!("I3: ResourceClaim {key} has {device}, which its pod's job doesn't have")
            }));
        }
        findings
    }

    fn let_go(&mut self, claim: &str) {
        for device in self.claims.remove(claim).into_iter().flatten() {
            if let Some(holders) = self.holders.get_mut(&device) {
                holders.remove(claim);
            }
        }
    }
}

fn name(result: &Value) -> String {
    let part = |key: &str| result[key].as_str().unwrap_or_default();
    format!("{}/{}/{}", part("driver"), part("pool"), part("device"))
}

/// Whether the job has a device with the number in this one's name, as far as can be told: CPUs are
/// counted elsewhere, and a job that was lost while the claim was written has nothing any more.
fn has(slurm: &Slurmctld, (job, node): &(JobId, SlurmNode), result: &Value) -> bool {
    if result["driver"] == "dra.cpu" {
        return true;
    }
    let device = result["device"].as_str().unwrap_or_default();
    let digits = device.trim_start_matches(|c: char| !c.is_ascii_digit());
    let Ok(index) = digits.parse::<usize>() else { return true };
    let running = slurm.job(*job).filter(|job| job.state == JobState::Running);
    let Some(held) = running.and_then(|job| job.allocation.as_ref()) else { return true };
    let mut here = held.nodes.iter().filter(|it| it.node == *node);
    here.any(|share| share.gres.values().any(|devices| devices.contains(index)))
}

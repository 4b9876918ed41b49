//! What must never happen, looked at after every event, in every build.
//!
//! ```text
//!   facts, changes, requests ──▶ an index for each law ──▶ findings: sentences that start "I3: "
//!                                     │
//!              every 4,096 events ────┴──▶ counted again from nothing; must agree
//! ```
//!
//! | law | in short | where |
//! |---|---|---|
//! | I1 | a pod is bound once, to a node of its job's last observed allocation | [`bindings`] |
//! | I2, I2b | no member of a gang binds early; then all bind, or none stay | [`bindings`], [`bounds`] |
//! | I3 | nothing is held twice, on either side | [`holdings`], [`devices`] |
//! | I4, I4b | one job per workload has pods; surplus and orphans go | [`bindings`], [`bounds`] |
//! | I5 | every pod that we touch can be deleted | [`bounds`] |
//! | I6 | nothing is cancelled, drained or resumed that isn't ours | [`ownership`] |
//! | I7 | a job that Slurm released has no running pod for long | [`bounds`] |
//! | I8 | no workload waits for the bridge because of another | [`bounds`] |
//! | I9 | the reason on the pod is what Slurm said not long ago | [`bounds`] |
//! | I10 | a pod is bound where its volumes are, and no port of a node is taken twice | [`places`] |
//! | I11 | a job that runs has its pods bound soon | [`bounds`] |
//! | I12 | a job whose pods are over ends soon, and not before | [`bounds`] |

mod ability;
mod bindings;
mod bounds;
mod devices;
mod holdings;
mod ownership;
mod places;

use drawbridge_core::{Effect, Input, SlurmReply};
use drawbridge_fakes::{Change, KubeApi};
use drawbridge_sim::{Fact, Slurmctld, Span, Time};

pub(crate) use self::ownership::mark;
use self::{
    bindings::Bindings, bounds::Bounds, devices::Devices, holdings::Holdings, ownership::Ownership,
    places::Places,
};
use crate::{object::Object, scenario::Scenario, world::process::Life};

/// How often everything is counted again.
const RECOUNT_EVERY: u64 = 4096;

/// All laws, and what was found.
#[derive(Clone)]
pub(crate) struct Laws {
    bindings: Bindings,
    bounds: Bounds,
    devices: Devices,
    holdings: Holdings,
    ownership: Ownership,
    places: Places,
    recounted: u64,
    findings: Vec<String>,
    reported: usize,
}

impl Laws {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let config = scenario.bridge.as_ref();
        let scheduler = config.map_or("", |config| &config.scheduler_name);
        let cluster = config.map_or("", |config| &config.cluster_id);
        Self {
            bindings: Bindings::new(scheduler),
            bounds: Bounds::new(scheduler, cluster),
            devices: Devices::default(),
            holdings: Holdings::default(),
            ownership: Ownership::new(cluster),
            places: Places::new(scheduler),
            recounted: 0,
            findings: vec![],
            reported: 0,
        }
    }

    /// When a deadline comes next.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.bounds.next_due()
    }

    /// Everything found so far.
    pub(crate) fn violations(&self) -> &[String] {
        &self.findings
    }

    /// What was found since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<String> {
        let new = self.findings[self.reported..].to_vec();
        self.reported = self.findings.len();
        new
    }

    pub(crate) fn bridge_up(&mut self, now: Time) {
        self.bounds.able.bridge_up(now);
    }

    pub(crate) fn bridge_down(&mut self) {
        self.bounds.able.bridge_down();
    }

    /// Whether the bridge can reach Slurm at all: while it can't, nobody can ask more of it.
    pub(crate) fn slurm_within_reach(&mut self, now: Time, within_reach: bool) {
        self.bounds.able.slurm_within_reach(now, within_reach);
    }

    /// Something went wrong that isn't the bridge's fault, and lasts so long.
    pub(crate) fn disturbed(&mut self, at: Time, lasts: Span) {
        self.bounds.able.disturbed(at, lasts);
    }

    /// How long the bridge suffered from what went wrong.
    pub(crate) fn disturbed_for(&self) -> Span {
        self.bounds.able.disturbed_for()
    }

    /// The bridge heard something, in this life of its, where replies may overtake each other.
    pub(crate) fn told(&mut self, life: Option<Life>, input: &Input) {
        let Input::SlurmReplied { call, outcome: Ok(reply) } = input else { return };
        let asked = life.map(|life| (life, *call));
        if let Some(life) = life {
            self.ownership.told(life, *call, reply);
        }
        match reply {
            SlurmReply::Job(Some(job)) => self.bindings.observed(asked, job),
            SlurmReply::Jobs(jobs) => {
                jobs.iter().for_each(|job| self.bindings.observed(asked, job));
            }
            SlurmReply::Job(None)
            | SlurmReply::Submitted { .. }
            | SlurmReply::States(_)
            | SlurmReply::Nodes(_)
            | SlurmReply::Reservations(_)
            | SlurmReply::Done => {}
        }
    }

    /// The bridge sends a request.
    pub(crate) fn sends(&mut self, life: Life, effect: &Effect, slurm: &Slurmctld) {
        match effect {
            Effect::Kube { request, .. } => self.bindings.sends(request, slurm),
            Effect::Slurm { request, .. } => {
                self.ownership.sends(life, effect);
                self.findings.extend(self.bounds.sends(request));
            }
            Effect::KubeWatch { .. }
            | Effect::Unwatch { .. }
            | Effect::WakeAt(_)
            | Effect::StepDown
            | Effect::Exit => {}
        }
    }

    /// A request of the bridge is about to be performed.
    pub(crate) fn arrives(&mut self, now: Time, life: Life, effect: &Effect, slurm: &Slurmctld) {
        self.findings.extend(self.ownership.arrives(now, life, effect, slurm));
        if let Effect::Slurm { request, .. } = effect {
            self.bounds.requested(request);
        }
    }

    /// slurmctld did something.
    pub(crate) fn slurm_fact(&mut self, now: Time, fact: &Fact, slurm: &Slurmctld) {
        self.findings.extend(self.holdings.slurm_fact(fact, slurm));
        self.bounds.slurm_fact(now, fact, slurm);
    }

    /// The API server changed something.
    pub(crate) fn kube_change(&mut self, now: Time, change: &Change, slurm: &Slurmctld) {
        self.findings.extend(self.holdings.kube_change(change));
        self.findings.extend(self.devices.kube_change(change, slurm));
        self.findings.extend(self.bindings.kube_change(change, slurm));
        self.findings.extend(self.places.kube_change(change));
        self.bounds.kube_change(now, change);
    }

    /// An event is over: deadlines that have come are looked at, and now and then everything.
    pub(crate) fn after_event(&mut self, now: Time, events: u64, slurm: &Slurmctld, api: &KubeApi) {
        self.findings.extend(self.bounds.due(now, slurm, api));
        if self.recounted + RECOUNT_EVERY <= events {
            self.recounted = events;
            self.recount(slurm, api);
        }
    }

    /// The world is over.
    pub(crate) fn at_the_end(&mut self, slurm: &Slurmctld, api: &KubeApi, is_quiet: bool) {
        self.recount(slurm, api);
        if is_quiet {
            self.findings.extend(self.bounds.orphans(slurm, api));
        }
    }

    fn recount(&mut self, slurm: &Slurmctld, api: &KubeApi) {
        // Most pods of a long run are over, and all are read for this.
        let pods = api.list("pods").map(|pod| Object(pod));
        let live: Vec<Object<'_>> = pods.filter(|pod| !pod.is_terminal()).collect();
        self.findings.extend(self.holdings.recount(slurm, &live));
        self.findings.extend(self.bindings.recount(&live));
        self.findings.extend(self.bounds.recount(slurm));
    }
}

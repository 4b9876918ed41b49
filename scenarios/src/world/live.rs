//! A world that others look into while it runs: servers, and through them kubectl and squeue.
//!
//! ```text
//!   real time ──▶ advance: every event up to now ──▶ visit: one request ──▶ what came of it is observed
//! ```
//!
//! Whoever visits says what time it is. Requests from outside are all that isn't determined by the
//! scenario and the seed.

use drawbridge_fakes::{Cluster, Webhooks, slurmrestd::Slurm};
use drawbridge_sim::{Seed, Time};

use super::World;
use crate::{
    record::Record,
    report::{Report, Run},
    scenario::Scenario,
};

impl Run {
    /// What came of a world that was served, as far as it got. Nothing was expected of it.
    pub fn of_live(
        scenario: &Scenario,
        seed: Seed,
        world: &mut World,
        mut records: Vec<Record>,
    ) -> Self {
        records.extend(world.take_records());
        let frame = world.frame();
        let violations = world.violations().to_vec();
        let report = Report {
            scenario: scenario.name.clone(),
            why: scenario.why.clone(),
            seed,
            passed: violations.is_empty(),
            virtual_ms: world.now(),
            events: world.events(),
            event_hash: world.hash(),
            expectations: vec![],
            refused: vec![],
            violations,
            pods: frame.pods,
            jobs: frame.jobs,
            nodes: frame.nodes,
            metrics: frame.metrics,
            permissions: world.permissions(),
            notes: scenario.notes.clone(),
        };
        Self { report, records }
    }
}

impl World {
    /// A world at time zero that has all that a real cluster's own tools expect, and never ends.
    pub fn live(scenario: &Scenario, seed: Seed) -> Self {
        let cluster = Cluster::served(scenario.epoch, seed, scenario.behaviours.clone());
        let empty = Self::empty(scenario, cluster);
        Self { live: true, until: Time::MAX, ..empty }.furnished(scenario)
    }

    /// Lets everything happen that is due up to `now`, in its order.
    pub fn advance(&mut self, now: Time) {
        while self.next_at().is_some_and(|at| at <= now) && self.step() {}
        self.now = self.now.max(now);
    }

    /// The Kubernetes side, to read from.
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Does something on the Kubernetes side. The bridge's webhooks answer at once; those of others are
    /// called elsewhere.
    pub fn visit_cluster<T>(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut Cluster, &mut dyn Webhooks) -> T,
    ) -> T {
        self.advance(now);
        let mut hooks = self.hooks();
        let done = change(&mut self.cluster, &mut hooks);
        self.faults = hooks.faults;
        self.observe();
        done
    }

    /// Does something on the Slurm side.
    pub fn visit_slurm<T>(&mut self, now: Time, change: impl FnOnce(&mut Slurm) -> T) -> T {
        self.advance(now);
        let done = change(&mut self.slurm);
        self.observe();
        done
    }
}

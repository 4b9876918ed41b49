//! A world that is being recorded: which rows changed since the last look, and a story that is told
//! differently from now on.

use std::sync::Arc;

use drawbridge_sim::{JobId, Seed, SlurmNode, Span};

use super::{Process, World};
use crate::{
    frame::{JobRow, NodeRow, PodRow},
    rows::Touched,
    scenario::Scenario,
};

impl World {
    /// A world at time zero that notes which rows change.
    pub(crate) fn noting(scenario: &Scenario, seed: Seed) -> Self {
        let mut world = Self::bare(scenario, seed);
        world.rows.note_changes();
        world.furnished(scenario)
    }

    /// Nodes of Slurm's that nothing has happened to yet are news as well.
    pub(crate) fn note_all(&mut self) {
        let names = self.slurm.ctld().nodes().map(|node| node.name().clone());
        self.rows.note_nodes(names.collect());
    }

    /// The rows that changed since the last call.
    pub(crate) fn take_touched(&mut self) -> Touched {
        self.rows.take_touched()
    }

    /// Scheduling cycles since the last call.
    pub(crate) fn take_cycles(&mut self) -> u64 {
        std::mem::take(&mut self.cycles)
    }

    pub(crate) fn pod_row(&self, uid: &str) -> Option<&Arc<PodRow>> {
        self.rows.pod_row(uid)
    }

    pub(crate) fn job_row(&self, id: JobId) -> Option<&Arc<JobRow>> {
        self.rows.job_row(id)
    }

    /// The row of a node of Slurm's, as long as there is one.
    pub(crate) fn slurm_node_row(&self, name: &SlurmNode) -> Option<NodeRow> {
        self.rows.slurm_node(name, self.slurm.ctld(), self.cluster.api())
    }

    /// The row of a node that only Kubernetes knows: `None` if Slurm does, `Some(None)` if nobody
    /// does any more.
    pub(crate) fn kube_node_row(&self, name: &str) -> Option<Option<NodeRow>> {
        let is_slurm = self.rows.is_in_slurm(name, self.slurm.ctld());
        (!is_slurm).then(|| self.rows.kube_node(name, self.cluster.api()))
    }

    /// Whether any replica of the bridge is alive; `None` without a bridge.
    pub(crate) fn bridge_up(&self) -> Option<bool> {
        match &self.bridges[..] {
            [] => None,
            bridges => Some(bridges.iter().any(Process::is_up)),
        }
    }

    /// How soon a job would start if things went on as another scenario has them; `None` if it doesn't
    /// for so long. Until now both must be the same.
    pub fn starts_if(&self, scenario: &Scenario, job: JobId, patience: Span) -> Option<Span> {
        let mut world = self.clone();
        world.retell(scenario);
        let began = world.now;
        while world.next_at().is_some_and(|at| at <= began + patience) && world.step() {
            world.take_records();
            let started = world.slurm.ctld().job(job).and_then(|job| job.start_time);
            if let Some(at) = started {
                return Some(at - began);
            }
        }
        None
    }

    /// Goes on as this scenario has it. Until now it must be the same as the one so far.
    pub(crate) fn retell(&mut self, scenario: &Scenario) {
        self.script.retell(&scenario.steps);
        self.checks_until = scenario.last_check();
        self.until = scenario.until;
    }
}

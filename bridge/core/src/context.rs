//! What a workload sees and uses while it is driven.

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, SlurmNode, Time};

use crate::{
    candidates::{Field, Rule, own_rules},
    config::Config,
    desk::Desks,
    dra::Shelf,
    ending::{Endings, Farewell},
    gate::Gate,
    jobs::{Jobs, OurJob},
    lanes::Lanes,
    mapping::Mapping,
    names::Uid,
    outbox::Outbox,
    owners::Owners,
    poller::Poller,
    porter::Porter,
    refusals::Refusals,
    requests::Author,
    slurm::NodeInfo,
    states::{self, Row, Standing},
    storage::Storage,
    store::Store,
    tenants::Tenants,
    view::PodView,
};

/// Everything around a workload.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) config: &'a Config,
    pub(crate) author: &'a Author,
    pub(crate) out: &'a mut Outbox,
    pub(crate) store: &'a Store,
    pub(crate) tenants: &'a mut Tenants,
    pub(crate) refusals: &'a Refusals,
    pub(crate) storage: &'a Storage,
    pub(crate) porter: &'a mut Porter,
    pub(crate) mapping: &'a Mapping,
    pub(crate) slurm_nodes: &'a BTreeMap<SlurmNode, NodeInfo>,
    pub(crate) jobs: &'a mut Jobs,
    pub(crate) owners: &'a mut Owners,
    pub(crate) desks: &'a mut Desks,
    pub(crate) endings: &'a mut Endings,
    pub(crate) poller: &'a mut Poller,
    pub(crate) gate: &'a mut Gate,
    pub(crate) lanes: &'a mut Lanes,
    pub(crate) shelf: &'a Shelf,
    /// Slurm can't be asked now; whoever rests for that is woken when it can.
    pub(crate) is_cut_off: bool,
}

impl Context<'_> {
    pub(crate) fn now(&self) -> Time {
        self.out.now()
    }

    pub(crate) fn field(&self) -> Field<'_> {
        Field {
            now: self.now(),
            store: self.store,
            mapping: self.mapping,
            slurm: self.slurm_nodes,
            tenants: self.tenants,
            refusals: self.refusals,
            storage: self.storage,
        }
    }

    /// What the pod's claims say about nodes, whoever uses them.
    pub(crate) fn claim_rules(&self, pod: &PodView) -> Vec<Rule> {
        own_rules(self.storage, pod)
    }

    pub(crate) fn job(&self, workload: &Uid, job: JobId) -> Option<&OurJob> {
        self.jobs.of(workload, job)
    }

    pub(crate) fn standing(&self, workload: &Uid, job: JobId) -> Standing {
        self.row(workload, job).standing
    }

    /// What the job's state means.
    pub(crate) fn row(&self, workload: &Uid, job: JobId) -> &'static Row {
        self.job(workload, job).map_or(&states::GONE, OurJob::row)
    }

    pub(crate) fn end_job(&mut self, job: JobId, workload: &Uid, farewell: Farewell, why: &str) {
        self.endings.begin(self.out, job, workload.clone(), farewell, why);
    }
}

//! The bridge as one state machine: news in, requests out.
//!
//! ```text
//!  Input ─▶ route ─▶ store, jobs, desks … ─▶ who is touched ─▶ drive each once ─▶ Vec<Effect>
//! ```
//!
//! Routing only records what is new and who is touched by it. Deciding happens in
//! [`Workload::drive`](crate::workload::Workload::drive) and in the node keeper, once for each
//! that was touched, so a step costs what it touches.

mod homes;
mod kube_news;
mod slurm_news;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::{Epoch, SlurmNode, Time};

use crate::{
    config::Config,
    context::Context,
    desk::Desks,
    effect::Effect,
    ending::Endings,
    facts::{BridgeFact, FactSubject},
    gate::Gate,
    informer::{Informer, Resource},
    input::Input,
    jobs::Jobs,
    mapping::Mapping,
    names::{KubeNode, Uid},
    nodes::Keeper,
    outbox::{Alarm, Outbox},
    owners::Owners,
    poller::{Need, Poller},
    requests::Author,
    slurm::NodeInfo,
    store::Store,
    workload::{Stage, Workload},
};

/// The whole bridge. A value: cloned, compared and thrown away like any other.
#[derive(Clone, Debug)]
pub struct Bridge {
    config: Config,
    author: Author,
    out: Outbox,
    informers: BTreeMap<Resource, Informer>,
    store: Store,
    mapping: Mapping,
    slurm_nodes: BTreeMap<SlurmNode, NodeInfo>,
    jobs: Jobs,
    owners: Owners,
    desks: Desks,
    endings: Endings,
    poller: Poller,
    gate: Gate,
    keeper: Keeper,
    workloads: BTreeMap<Uid, Workload>,
    /// Which workload a pod belongs to.
    homes: BTreeMap<Uid, Uid>,
    /// Who was touched by the news.
    touched: BTreeSet<Uid>,
    touched_nodes: BTreeSet<KubeNode>,
    mapping_is_stale: bool,
    /// Both sides have said once what there is.
    synced: bool,
    n_waiting: usize,
    n_running: usize,
}

impl Bridge {
    /// A bridge that has just been started and knows nothing.
    pub fn new(config: Config, epoch: Epoch) -> Self {
        let informers = Resource::ALL.map(|resource| (resource, Informer::new(resource, &config)));
        Self {
            author: Author { epoch, component: config.scheduler_name.clone() },
            poller: Poller::new(config.poll_seconds.clone()),
            informers: informers.into(),
            out: Outbox::default(),
            store: Store::default(),
            mapping: Mapping::default(),
            slurm_nodes: BTreeMap::new(),
            jobs: Jobs::default(),
            owners: Owners::default(),
            desks: Desks::default(),
            endings: Endings::default(),
            gate: Gate::default(),
            keeper: Keeper::default(),
            workloads: BTreeMap::new(),
            homes: BTreeMap::new(),
            touched: BTreeSet::new(),
            touched_nodes: BTreeSet::new(),
            mapping_is_stale: true,
            synced: false,
            n_waiting: 0,
            n_running: 0,
            config,
        }
    }

    /// Takes one piece of news and says what is to be done about it.
    #[must_use]
    pub fn step(&mut self, now: Time, input: Input) -> Vec<Effect> {
        self.out.begin(now);
        match input {
            Input::Started => self.start(),
            Input::Woke => self.woke(),
            Input::KubeReplied { call, outcome } => self.kube_replied(call, outcome),
            Input::Watched { stream, event } => self.watched(stream, event),
            Input::SlurmReplied { call, outcome } => self.slurm_replied(call, outcome),
        }
        self.settle();
        self.out.finish()
    }

    /// What was done since the last call, in order.
    pub fn take_facts(&mut self) -> Vec<BridgeFact> {
        self.out.take_facts()
    }

    /// Counters by name: `slurm.submit`, `pods.bind`.
    pub fn metrics(&self) -> &BTreeMap<&'static str, u64> {
        self.out.metrics()
    }

    /// The configuration that it runs with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn start(&mut self) {
        for informer in self.informers.values_mut() {
            informer.list(&mut self.out);
        }
    }

    fn woke(&mut self) {
        for alarm in self.out.due() {
            match alarm {
                Alarm::Informer(resource) => {
                    if let Some(informer) = self.informers.get_mut(&resource) {
                        informer.woke(&mut self.out);
                    }
                }
                // Whatever is due is asked when the step settles.
                Alarm::Poll => {}
                Alarm::Workload(workload) => drop(self.touched.insert(workload)),
                Alarm::Pod(pod) => {
                    self.desks.woke(&pod);
                    self.touch_home_of(&pod);
                }
                Alarm::Node(node) => {
                    self.keeper.woke(&node);
                    self.touched_nodes.insert(node);
                }
                Alarm::Ending(job) => self.endings.woke(&mut self.out, job),
            }
        }
    }

    /// Decides for everybody who was touched.
    fn settle(&mut self) {
        if !self.synced {
            self.synced = self.is_synced();
            if self.synced {
                self.take_stock();
            }
        }
        if self.synced {
            self.remap();
            while let Some(workload) = self.touched.pop_first().or_else(|| self.gate.call()) {
                self.drive(&workload);
            }
            self.tend_nodes();
        }
        self.poller.set_need(self.need());
        self.poller.ask(&mut self.out);
    }

    fn is_synced(&self) -> bool {
        self.informers.values().all(Informer::is_synced) && self.poller.is_synced()
    }

    fn need(&self) -> Need {
        if self.n_waiting > 0 || !self.endings.is_empty() {
            Need::Waiting
        } else if self.n_running > 0 {
            Need::Running
        } else {
            Need::Idle
        }
    }

    fn drive(&mut self, id: &Uid) {
        let Some(mut workload) = self.workloads.remove(id) else {
            return;
        };
        self.count(workload.need(), false);
        workload.drive(&mut self.context());
        self.count(workload.need(), true);
        let strangers = std::mem::take(&mut workload.strangers);
        if workload.stage == Stage::Closed {
            self.close(&workload);
        } else {
            self.workloads.insert(id.clone(), workload);
        }
        for pod in strangers {
            self.house_alone(&pod);
        }
    }

    fn count(&mut self, need: Need, more: bool) {
        let counter = match need {
            Need::Waiting => &mut self.n_waiting,
            Need::Running => &mut self.n_running,
            Need::Idle => return,
        };
        *counter = if more { *counter + 1 } else { counter.saturating_sub(1) };
    }

    fn context(&mut self) -> Context<'_> {
        Context {
            config: &self.config,
            author: &self.author,
            out: &mut self.out,
            store: &self.store,
            mapping: &self.mapping,
            slurm_nodes: &self.slurm_nodes,
            jobs: &mut self.jobs,
            owners: &mut self.owners,
            desks: &mut self.desks,
            endings: &mut self.endings,
            poller: &mut self.poller,
            gate: &mut self.gate,
        }
    }

    /// Weighs the evidence again if some of it changed.
    fn remap(&mut self) {
        if !std::mem::take(&mut self.mapping_is_stale) {
            return;
        }
        let mapping = Mapping::of(&self.store, &self.slurm_nodes);
        for (node, conflict) in mapping.conflicts() {
            if self.mapping.conflicts().get(node) != Some(conflict) {
                self.out.tell(FactSubject::SlurmNode(node.clone()), conflict.to_string());
            }
        }
        if mapping != self.mapping {
            self.mapping = mapping;
            self.touched_nodes.extend(self.store.nodes().map(|node| node.name()));
        }
    }

    fn tend_nodes(&mut self) {
        while let Some(name) = self.touched_nodes.pop_first() {
            if let Some(node) = self.store.node(&name) {
                let slurm = self.mapping.slurm(&name).and_then(|slurm| self.slurm_nodes.get(slurm));
                self.keeper.tend(&mut self.out, &self.config, &self.author, node, slurm);
            }
        }
    }
}

//! The bridge as one state machine: news in, requests out.
//!
//! ```text
//!  Input ─▶ route ─▶ store, jobs, desks … ─▶ who is touched ─▶ drive each once ─▶ Vec<Effect>
//! ```
//!
//! Routing only records what is new and who is touched by it. Deciding happens in
//! [`Workload::drive`](crate::workload::Workload::drive) and in the node keeper, once for each
//! that was touched, so a step costs what it touches.

mod device_news;
mod homes;
mod kube_news;
mod leading;
mod slurm_link;
mod slurm_news;
mod storage_news;
mod tenancy;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::{SlurmNode, Span, Time};

use crate::{
    config::{Config, secs},
    context::Context,
    desk::Desks,
    dra::Shelf,
    effect::Effect,
    election::Election,
    ending::Endings,
    facts::{BridgeFact, FactSubject},
    gate::Gate,
    informer::{Informer, Resource},
    input::{Input, SlurmFault},
    instance::{Duties, Instance},
    jobs::Jobs,
    lanes::Lanes,
    link::Link,
    mapping::Mapping,
    names::{KubeNode, Uid},
    nodes::{Keeper, Surroundings},
    outbox::{Alarm, Outbox},
    owners::Owners,
    plants::{self, Plant},
    poller::{Need, Poller},
    porter::Porter,
    refusals::Refusals,
    requests::Author,
    slurm::{NodeInfo, Reservation},
    storage::Storage,
    store::Store,
    tenants::Tenants,
    workload::{Stage, Workload},
};

/// The whole bridge. A value: cloned, compared and thrown away like any other.
#[derive(Clone, Debug)]
pub struct Bridge {
    config: Config,
    author: Author,
    duties: Duties,
    pub(crate) out: Outbox,
    /// Where several replicas share the work: who leads.
    pub(crate) election: Option<Election>,
    role: Role,
    pub(crate) link: Link,
    /// Why Slurm can't be asked, while it can't.
    shut: Option<SlurmFault>,
    pub(crate) informers: BTreeMap<Resource, Informer>,
    store: Store,
    /// Who lives where, and what kubelets refused.
    tenants: Tenants,
    refusals: Refusals,
    storage: Storage,
    porter: Porter,
    mapping: Mapping,
    slurm_nodes: BTreeMap<SlurmNode, NodeInfo>,
    reservations: Vec<Reservation>,
    jobs: Jobs,
    owners: Owners,
    pub(crate) desks: Desks,
    pub(crate) endings: Endings,
    poller: Poller,
    gate: Gate,
    lanes: Lanes,
    shelf: Shelf,
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

/// What this process is among the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It waits for its turn.
    Waiting,
    /// It does the work.
    Leading,
    /// It lets go, because it was told to end.
    Stopping,
    /// Its life is over.
    Over,
}

impl Bridge {
    /// A bridge that has just been started and knows nothing.
    pub fn new(config: Config, instance: Instance) -> Self {
        let Instance { epoch, identity, namespace, duties } = instance;
        let informers = Resource::of(duties, &config)
            .map(|resource| (resource, Informer::new(resource, &config)))
            .collect();
        let terms = config.leader_election.clone();
        let namespace = terms.namespace.clone().unwrap_or(namespace);
        let election = config
            .features
            .enable_leader_election
            .then(|| Election::new(terms, epoch, &namespace, &identity));
        Self {
            author: Author { epoch, component: config.scheduler_name.clone() },
            poller: Poller::new(config.poll_seconds.clone(), duties.workloads)
                .with_reservations(reservations_every(&config, duties)),
            duties,
            role: Role::Waiting,
            election,
            informers,
            out: Outbox::new(secs(config.slurm_rest.timeout_seconds)),
            link: Link::new(config.slurm_rest_api.0.clone(), config.slurm_rest.version),
            shut: None,
            store: Store::default(),
            tenants: Tenants::default(),
            refusals: Refusals::default(),
            storage: Storage::default(),
            porter: Porter::default(),
            mapping: Mapping::default(),
            slurm_nodes: BTreeMap::new(),
            reservations: Vec::new(),
            jobs: Jobs::default(),
            owners: Owners::default(),
            desks: Desks::default(),
            endings: Endings::new(&config),
            gate: Gate::default(),
            lanes: Lanes::default(),
            shelf: Shelf::default(),
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
        if self.role == Role::Over {
            return Vec::new();
        }
        self.out.begin(now);
        match input {
            Input::Started => self.run_for_leader(),
            Input::Stopping => self.stop(),
            Input::Woke => self.woke(),
            Input::KubeReplied { call, outcome } => self.kube_replied(call, outcome),
            // Who lets go no longer listens.
            Input::Watched { .. } if self.role != Role::Leading => {}
            Input::Watched { stream, event } => self.watched(stream, event),
            Input::SlurmReplied { call, outcome } => self.slurm_replied(call, outcome),
        }
        if self.role == Role::Leading {
            self.settle();
        }
        let mut effects = self.out.finish();
        plants::spoil(&self.config, &mut effects);
        effects
    }

    /// What was done since the last call, in order.
    pub fn take_facts(&mut self) -> Vec<BridgeFact> {
        self.out.take_facts()
    }

    /// Counters by name: `slurm.submit`, `pods.bind`.
    pub fn metrics(&self) -> &BTreeMap<&'static str, u64> {
        self.out.metrics()
    }

    /// Whether both sides have said once what there is.
    pub fn is_synced_up(&self) -> bool {
        self.synced
    }

    /// The stages that its workloads are in, for those who count what was tried.
    pub fn stages(&self) -> impl Iterator<Item = &'static str> {
        self.workloads.values().map(|workload| workload.stage.name())
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
                Alarm::NotReady(node) => drop(self.touched_nodes.insert(node)),
                Alarm::Claim(claim) => {
                    self.porter.woke(&claim);
                    self.touch_users_of(&claim);
                }
                Alarm::Ending(job) => self.endings.woke(&mut self.out, job),
                Alarm::Deadline => self.give_up_waiting(),
                Alarm::Lease => self.mind_the_lease(),
                // Found out when the step settles.
                Alarm::Link => {}
            }
        }
    }

    /// Decides for everybody who was touched, also by hearing that Slurm can't be asked.
    fn settle(&mut self) {
        self.find_the_way();
        loop {
            self.decide();
            self.poller.set_need(self.need());
            if !self.is_cut_off() {
                self.poller.ask(&mut self.out);
            }
            if !self.turn_away() {
                break;
            }
        }
    }

    fn decide(&mut self) {
        if !self.synced {
            self.synced = self.is_synced();
            if self.synced {
                self.take_stock();
            }
        }
        if self.synced {
            self.remap();
            while let Some(workload) = self.next_touched() {
                self.drive(&workload);
            }
            self.tend_nodes();
        }
    }

    /// Who is touched, then whose turn has come.
    fn next_touched(&mut self) -> Option<Uid> {
        let touched = self.touched.pop_first();
        touched.or_else(|| self.gate.call()).or_else(|| self.lanes.call())
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
        if self.config.has(Plant::BlocksTheLine) && !workload.stage.is_before_running() {
            self.gate.leave(id);
        }
        let strangers = std::mem::take(&mut workload.strangers);
        if let Some(roster) = workload.leaves_for.take() {
            self.count(workload.need(), false);
            return self.move_to_gang(workload.members, &roster);
        }
        if workload.stage == Stage::Closed {
            self.lanes.forget(id);
            self.close(&workload);
        } else {
            self.lanes.settle(id, workload.stage.is_submitted());
            self.workloads.insert(id.clone(), workload);
        }
        for pod in strangers {
            self.part(&pod);
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
            tenants: &mut self.tenants,
            refusals: &self.refusals,
            storage: &self.storage,
            porter: &mut self.porter,
            mapping: &self.mapping,
            slurm_nodes: &self.slurm_nodes,
            jobs: &mut self.jobs,
            owners: &mut self.owners,
            desks: &mut self.desks,
            endings: &mut self.endings,
            poller: &mut self.poller,
            gate: &mut self.gate,
            lanes: &mut self.lanes,
            shelf: &self.shelf,
            is_cut_off: self.shut.is_some(),
        }
    }

    /// Weighs the evidence again if some of it changed.
    fn remap(&mut self) {
        if !std::mem::take(&mut self.mapping_is_stale) {
            return;
        }
        let evidence = plants::evidence(&self.config, &self.store);
        let mapping = Mapping::of(&evidence, &self.slurm_nodes);
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
        if !self.duties.nodes {
            return self.touched_nodes.clear();
        }
        while let Some(name) = self.touched_nodes.pop_first() {
            let (keeper, out, around) = self.keeper();
            // Slurm is asked about nodes that it has or shall have, and about no others.
            if around.store.node(&name).cloned().is_some_and(|node| keeper.tend(out, around, &node))
                || self.config.has(Plant::AsksForEveryNode)
            {
                self.poller.want_nodes(self.out.now());
            }
        }
    }

    /// The keeper of the nodes, and what it looks at.
    fn keeper(&mut self) -> (&mut Keeper, &mut Outbox, Surroundings<'_>) {
        let around = Surroundings {
            config: &self.config,
            author: &self.author,
            store: &self.store,
            mapping: &self.mapping,
            slurm: &self.slurm_nodes,
            reservations: &self.reservations,
        };
        (&mut self.keeper, &mut self.out, around)
    }
}

/// How often reservations are read: as often as set, by whoever keeps the nodes.
fn reservations_every(config: &Config, duties: Duties) -> Option<Span> {
    let every = config.nodes.reservation_seconds;
    (duties.nodes && every > 0).then(|| secs(every))
}

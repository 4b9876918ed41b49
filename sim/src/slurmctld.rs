//! slurmctld: what it keeps, and the order in which things happen to it.
//!
//! ```text
//!   submit, cancel, update …          wake(now)
//!          │                             │  due, by time: script ends, limits, purges
//!          ▼                             │              then the main cycle, then backfill
//!     state, facts ◀──────apply──────────┴──decide(&self) ──▶ decisions
//! ```
//!
//! Nothing costs time that no event touches: the queue, the running jobs and what waits for a
//! time are kept apart, and a cycle runs only when its outcome could differ from the last one's.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    Epoch, EventQueue, ExitCode, Fact, IndexSet, Job, JobId, Node, PartitionName, Reason, Release,
    SlurmConfig, SlurmNode, Span, Time, UserName,
    array::Array,
    census::Census,
    conf::{OverSubscribe, Params, PartitionSpec},
    licenses::Licenses,
    node::Service,
    pings::Pings,
    priority::Weighed,
    rows::{Holder, RowTable},
    sched::{Clock, QueueKey},
    select::{Policy, Share},
};

/// The controller, with everything that it knows. One value: a clone is another world.
#[derive(Clone, Debug)]
pub struct Slurmctld {
    pub(crate) config: SlurmConfig,
    pub(crate) epoch: Epoch,
    pub(crate) nodes: Vec<Node>,
    pub(crate) node_places: Arc<BTreeMap<SlurmNode, usize>>,
    pub(crate) partition_nodes: Arc<[IndexSet]>,
    pub(crate) partition_sizes: Arc<[PartitionSize]>,
    pub(crate) census: Census,
    /// Nodes that take jobs.
    pub(crate) up: IndexSet,
    /// Nodes without a slurmd.
    pub(crate) external: IndexSet,
    /// Nodes that some job holds.
    pub(crate) busy: IndexSet,
    /// Nodes that one job holds as a whole.
    pub(crate) unshared: IndexSet,
    /// Who has which cores in which partition, where that matters.
    pub(crate) rows: RowTable,
    /// Nodes that one user has to themself.
    pub(crate) owned: IndexSet,
    /// Nodes with a job that is ending: nobody else starts there.
    pub(crate) completing: IndexSet,
    pub(crate) jobs: BTreeMap<JobId, Arc<Job>>,
    /// Jobs that could start if there were room, in the order in which they are looked at.
    pub(crate) queue: BTreeSet<QueueKey>,
    /// Jobs in the queue that no cycle has compared with their partitions' limits yet.
    pub(crate) unchecked: BTreeSet<JobId>,
    /// Jobs that backfill expects to start at some time.
    pub(crate) expected: BTreeSet<JobId>,
    /// Nodes that backfill plans to start somebody on.
    pub(crate) planned: IndexSet,
    /// Jobs behind others that backfill tried to start.
    pub(crate) outranked: BTreeSet<JobId>,
    /// Nobody looks at plans.
    pub(crate) plans_hidden: bool,
    /// Jobs that wait for a time, by that time.
    pub(crate) begins: BTreeSet<(Time, JobId)>,
    /// Waiting jobs to be asked again by the next cycle.
    pub(crate) recheck: BTreeSet<JobId>,
    /// Job arrays, by their number.
    pub(crate) arrays: BTreeMap<JobId, Array>,
    /// Tasks that share a record with another task.
    pub(crate) n_unsplit: usize,
    pub(crate) licenses: Licenses,
    /// Who waits for what becomes of a job.
    pub(crate) dependents: BTreeMap<JobId, BTreeSet<JobId>>,
    /// Jobs that have not ended, by user and name: for `singleton`.
    pub(crate) namesakes: BTreeMap<(UserName, String), BTreeSet<JobId>>,
    /// Whether a job ever waited for its namesakes.
    pub(crate) any_singleton: bool,
    pub(crate) running: BTreeSet<JobId>,
    pub(crate) events: EventQueue<Event>,
    pub(crate) clock: Clock,
    pub(crate) next_job_id: u32,
    pub(crate) n_runs: u32,
    pub(crate) next_basic_priority: u32,
    /// Rounds of pings.
    pub(crate) pings: Pings,
    /// Nodes whose slurmd doesn't answer.
    pub(crate) silent: IndexSet,
    /// The configuration as it was read.
    pub(crate) read: SlurmConfig,
    /// How many of the nodes it names: the dynamic ones come after them.
    pub(crate) n_conf_nodes: usize,
    /// What waiting jobs are worth, where there are weights.
    pub(crate) weighed: BTreeMap<JobId, Weighed>,
    /// Qualities of service that jobs may name; any if nobody minds.
    pub(crate) qos: Option<Arc<BTreeSet<String>>>,
    /// How long a script takes that says nothing about it.
    pub(crate) default_run_time: Option<Span>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) stats: Stats,
}

/// What a partition's nodes come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionSize {
    pub(crate) nodes: u32,
    pub(crate) cpus: u64,
}

/// What will happen without anybody asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The script of this run ends.
    ScriptEnds { job: JobId, run: u32, exit: ExitCode },
    /// The check of this job's limit that finds it passed.
    LimitPasses { job: JobId, run: u32 },
    /// The check of limits that finds it time to warn this job.
    Warned { job: JobId, run: u32 },
    /// This run's nodes are ready.
    Configured { job: JobId, run: u32 },
    /// This run's prolog ended.
    PrologEnds { job: JobId, run: u32 },
    /// A check of waiting jobs' deadlines that finds this one's passed.
    DeadlinePasses { job: JobId },
    /// A completing job's last process is gone.
    NodesFree { job: JobId, run: u32 },
    /// The check that forgets old jobs looks at this held one's dependency.
    DependencyChecked { job: JobId },
    /// The check that forgets this job.
    Purge { job: JobId, ended: Time },
    /// The node's slurmd registers.
    NodeRegisters { node: usize },
    /// A message to the node had no answer.
    NodeSilent { node: usize, sent: Time },
    /// A round of pings, while somebody is silent.
    PingRound,
    /// A slurmd registers that was silent.
    SlurmdReturns { node: usize },
    /// The script of this run couldn't be sent to its node.
    LaunchFails { job: JobId, run: u32 },
}

/// Counters, as `sdiag` has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs accepted.
    pub submitted: u64,
    /// Jobs started, by either scheduler.
    pub started: u64,
    /// Jobs that ended.
    pub ended: u64,
    /// Main cycles that had something to look at.
    pub main_cycles: u64,
    /// Backfill cycles.
    pub backfill_cycles: u64,
    /// Jobs that backfill started.
    pub backfilled: u64,
}

impl Slurmctld {
    /// A controller that has just started, at [`Time::ZERO`].
    pub fn new(config: SlurmConfig, epoch: Epoch) -> Self {
        let nodes = build_nodes(&config);
        let places = config.node_names().cloned().zip(0..).collect();
        let partition_nodes: Arc<[IndexSet]> = config
            .partitions()
            .iter()
            .map(|partition| partition.nodes.iter().copied().collect())
            .collect();
        Self {
            up: places_of(&nodes, Node::takes_jobs),
            external: places_of(&nodes, Node::is_external),
            busy: IndexSet::new(),
            unshared: IndexSet::new(),
            rows: RowTable::new(&config),
            owned: IndexSet::new(),
            completing: IndexSet::new(),
            census: Census::new(&nodes),
            nodes,
            node_places: Arc::new(places),
            partition_sizes: sizes(&partition_nodes, &config),
            partition_nodes,
            jobs: BTreeMap::new(),
            queue: BTreeSet::new(),
            unchecked: BTreeSet::new(),
            expected: BTreeSet::new(),
            planned: IndexSet::new(),
            outranked: BTreeSet::new(),
            plans_hidden: false,
            begins: BTreeSet::new(),
            recheck: BTreeSet::new(),
            arrays: BTreeMap::new(),
            n_unsplit: 0,
            licenses: Licenses::new(&config.params().licenses),
            dependents: BTreeMap::new(),
            namesakes: BTreeMap::new(),
            any_singleton: false,
            running: BTreeSet::new(),
            events: EventQueue::default(),
            clock: Clock::default(),
            next_job_id: config.params().first_job_id,
            n_runs: 0,
            next_basic_priority: crate::priority::BASIC_FIRST,
            pings: Pings::begin(Time::ZERO),
            silent: IndexSet::new(),
            read: config.clone(),
            n_conf_nodes: config.nodes().len(),
            weighed: BTreeMap::new(),
            qos: Some(Arc::new(BTreeSet::from(["normal".to_owned()]))),
            default_run_time: None,
            facts: vec![],
            stats: Stats::default(),
            config,
            epoch,
        }
    }

    /// When [`Self::wake`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        let next =
            [self.events.next_at(), self.weighing_due(), self.main_due(), self.backfill_due()];
        next.into_iter().flatten().min()
    }

    /// Does all that is due at `now`.
    pub fn wake(&mut self, now: Time) {
        while let Some(at) = self.next_wake().filter(|at| *at <= now) {
            if let Some((at, event)) = self.events.pop_due(at) {
                self.happen(at, event);
            } else if self.weighing_due() == Some(at) {
                self.weigh_all(at);
            } else if self.main_due() == Some(at) {
                self.run_main_cycle(at);
            } else {
                self.run_backfill_cycle(at);
            }
            self.debug_check();
        }
    }

    /// What happened since the last call, in order.
    pub fn take_facts(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }

    /// Every job that is remembered, by number.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values().map(AsRef::as_ref)
    }

    /// One job.
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id).map(AsRef::as_ref)
    }

    /// One job's record, to keep as it is now.
    pub fn job_record(&self, id: JobId) -> Option<&Arc<Job>> {
        self.jobs.get(&id)
    }

    /// Every job's record by number, to keep as it is now.
    pub fn job_records(&self) -> impl Iterator<Item = &Arc<Job>> {
        self.jobs.values()
    }

    /// Every node that there is, in Slurm's order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.service != Service::Deleted)
    }

    /// One node.
    pub fn node(&self, name: &SlurmNode) -> Option<&Node> {
        self.node_places.get(name).map(|place| &self.nodes[*place])
    }

    /// The configuration.
    pub const fn config(&self) -> &SlurmConfig {
        &self.config
    }

    /// Which moment [`Time::ZERO`] was.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Which qualities of service jobs may name; any at all with `None`, as where nobody enforces
    /// them. They change nothing yet.
    pub fn set_qos(&mut self, names: Option<BTreeSet<String>>) {
        self.qos = names.map(Arc::new);
    }

    /// How long a script takes that says nothing about it; without this it ends at once.
    pub const fn set_default_run_time(&mut self, time: Option<Span>) {
        self.default_run_time = time;
    }

    /// Counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The cluster's licences.
    pub const fn licenses(&self) -> &Licenses {
        &self.licenses
    }

    /// Jobs that wait and could start if there were room.
    pub fn queue_length(&self) -> usize {
        self.queue.len()
    }

    /// Whether this user may do what only operators may: `root` and `slurm`.
    pub fn is_operator(user: &UserName) -> bool {
        matches!(user.as_str(), "root" | "slurm")
    }

    pub(crate) fn params(&self) -> &Params {
        self.config.params()
    }

    pub(crate) fn partition_spec(&self, place: usize) -> &Arc<PartitionSpec> {
        &self.config.partitions()[place]
    }

    pub(crate) fn policy(&self, partition: usize) -> Policy {
        let spec = self.partition_spec(partition);
        let share = match spec.oversubscribe {
            OverSubscribe::No => Share::No,
            OverSubscribe::Exclusive => Share::Exclusive,
            OverSubscribe::Yes(jobs) => Share::Yes(jobs),
            OverSubscribe::Force(jobs) => Share::Force(jobs),
        };
        Policy {
            partition,
            unit: self.params().unit,
            memory: self.params().memory,
            lln: self.params().lln || spec.lln,
            first_of_one: Release::V26_05 <= self.config.release(),
            one_task_per_core: self.params().one_task_per_core,
            block_cores: self.params().block_cores,
            share,
            min_nodes: spec.min_nodes,
            max_nodes: spec.max_nodes.unwrap_or(u32::MAX),
            max_cpus_per_node: spec.max_cpus_per_node,
            max_cpus_per_socket: spec.max_cpus_per_socket,
            mutant: self.config.mutant(),
        }
    }

    /// A job, to change it.
    pub(crate) fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(&id).map(Arc::make_mut)
    }

    pub(crate) fn set_reason(&mut self, job: JobId, reason: Reason) {
        let Some(record) = self.job_mut(job).filter(|record| record.reason != reason) else {
            return;
        };
        record.reason = reason.clone();
        self.facts.push(Fact::JobReasonChanged { job, reason });
    }

    /// The rows anew, after partitions changed: jobs in order of their numbers.
    pub(crate) fn renew_rows(&mut self) {
        self.rows = RowTable::new(&self.config);
        if self.rows.matters() {
            for id in self.running.clone() {
                self.add_to_rows(id);
            }
        }
    }

    /// A job has its cores.
    pub(crate) fn add_to_rows(&mut self, id: JobId) {
        if let Some(holder) = self.holder(id) {
            self.rows.add(&holder);
        }
    }

    /// A job has its cores no more.
    pub(crate) fn leave_rows(&mut self, id: JobId) {
        if !self.rows.matters() {
            return;
        }
        let place = self.job(id).and_then(|job| self.place_of(&job.partition));
        self.rows.remove(place.unwrap_or(usize::MAX), id);
    }

    fn place_of(&self, partition: &PartitionName) -> Option<usize> {
        self.config.partitions().iter().position(|spec| spec.name == *partition)
    }

    /// A job as one that holds what nodes count against it.
    pub(crate) fn holder(&self, id: JobId) -> Option<Holder> {
        let job = self.job(id)?;
        Some(Holder { job: id, partition: self.place_in_rows(job), held: job.held()? })
    }

    /// The place of the job's partition; where there are no rows it doesn't matter.
    pub(crate) fn place_in_rows(&self, job: &Job) -> usize {
        let place = self.rows.matters().then(|| self.place_of(&job.partition)).flatten();
        place.unwrap_or(usize::MAX)
    }

    /// The sets of places, after the nodes were renewed.
    pub(crate) fn index_nodes(&mut self) {
        self.up = places_of(&self.nodes, Node::takes_jobs);
        self.external = places_of(&self.nodes, Node::is_external);
        self.silent = places_of(&self.nodes, |node| node.silent);
        self.busy = places_of(&self.nodes, |node| !node.jobs.is_empty());
        self.completing = places_of(&self.nodes, |node| 0 < node.completing.jobs);
        self.census = Census::new(&self.nodes);
        self.planned = IndexSet::new();
    }

    /// Runs `change` on the nodes and tells whose state it changed.
    pub(crate) fn with_node(&mut self, place: usize, change: impl FnOnce(&mut Node)) {
        let node = &mut self.nodes[place];
        let before = (node.state(), node.reason.clone());
        change(node);
        let after = node.state();
        self.up.set(place, node.takes_jobs());
        self.external.set(place, node.is_external() && !node.is_deleted());
        self.busy.set(place, !node.jobs.is_empty());
        self.completing.set(place, 0 < node.completing.jobs);
        self.census.count(place, node);
        if before != (after, node.reason.clone()) {
            let reason = node.reason.as_ref().map_or(String::new(), |reason| reason.text.clone());
            self.facts.push(Fact::NodeChanged { node: node.name().clone(), state: after, reason });
        }
    }
}

/// The size of each partition.
pub(crate) fn sizes(partition_nodes: &[IndexSet], config: &SlurmConfig) -> Arc<[PartitionSize]> {
    let size = |nodes: &IndexSet| PartitionSize {
        nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
        cpus: nodes.iter().map(|node| u64::from(config.nodes()[node].cpus)).sum(),
    };
    partition_nodes.iter().map(size).collect()
}

fn build_nodes(config: &SlurmConfig) -> Vec<Node> {
    let mut member_of: Vec<Vec<PartitionName>> = vec![vec![]; config.nodes().len()];
    for partition in config.partitions() {
        for place in &partition.nodes {
            member_of[*place].push(partition.name.clone());
        }
    }
    let nodes = config.nodes().iter().zip(member_of);
    nodes.map(|(spec, partitions)| Node::new(spec.clone(), partitions.into())).collect()
}

fn places_of(nodes: &[Node], is: impl Fn(&Node) -> bool) -> IndexSet {
    let found = nodes.iter().enumerate().filter(|(_, node)| is(node));
    found.map(|(place, _)| place).collect()
}

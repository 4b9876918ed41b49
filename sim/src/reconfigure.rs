//! The controller starts again: what it reads, what it remembers, and what it then finds wrong.
//!
//! ```text
//!   nodes        from the file; down, drained, failing and the reason are remembered,
//!                as are the nodes that were made at run time
//!   partitions   from the file; what operators changed is lost, unless ReconfigFlags keep it
//!   jobs         remembered; lost where their nodes or partitions are gone, and where the save
//!                that it starts from is older than they are
//! ```

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Allocation, ExitCode, Job, JobId, JobState, Node, NodeFlags, NodeShare, PartitionName, Reason,
    SlurmConfig, SlurmNode, Slurmctld, Span, Time,
    conf::{InitialState, PartitionSpec},
    node::Service,
    pings::Pings,
    slurmctld::Event,
};

/// From a restart until slurmds register: the first round of pings.
const REGISTER_AFTER: Span = Span::ms(3020);

/// How a job fares with the new configuration.
enum Fate {
    /// It stays.
    Stays,
    /// It lost nodes, and may start anew.
    Lost,
    /// It can't start again either.
    Ends,
}

impl Slurmctld {
    /// Restarts slurmctld with the configuration that it read last.
    pub fn restart(&mut self, now: Time) {
        let config = self.read.clone();
        self.reconfigure(now, config);
    }

    /// Starts again from a save of this time: jobs that came later are unknown, and their numbers are
    /// given out again. What ran of them is killed when its slurmd registers.
    ///
    /// What else changed since then is remembered all the same: slurmctld saves a job at once when it
    /// starts or ends.
    pub fn restart_from(&mut self, now: Time, saved: Time) {
        let is_new = |job: &&Job| saved <= job.submit_time && job.restarts == 0;
        let first = self.jobs().filter(is_new).map(|job| job.id).min();
        if let Some(first) = first {
            let lost: Vec<JobId> = self.jobs.range(first..).map(|(id, _)| *id).collect();
            // The record with an array's number is the lowest, and has to go last.
            for id in lost.into_iter().rev() {
                self.lose(now, id);
            }
            self.next_job_id = first.0;
        }
        self.restart(now);
    }

    fn lose(&mut self, now: Time, id: JobId) {
        let Some(job) = self.job_mut(id) else { return };
        job.requeue = false;
        if job.completing {
            job.state = JobState::NodeFail;
            self.release_nodes(now, id);
        } else if job.holds_nodes() {
            let (state, reason) = (JobState::NodeFail, Reason::NodeDown);
            self.end_running(now, id, state, reason, ExitCode::default(), Span::ZERO);
        } else if job.state == JobState::Pending {
            self.end_pending(now, id, JobState::NodeFail);
        }
        // An epilog takes time, but nobody waits for it.
        if self.job(id).is_some_and(|job| job.completing) {
            self.release_nodes(now, id);
        }
        self.purge(now, id);
    }

    /// Reads another configuration, as `scontrol reconfigure` makes it.
    pub fn reconfigure(&mut self, now: Time, config: SlurmConfig) {
        let old_names: Vec<PartitionName> =
            self.config.partitions().iter().map(|spec| spec.name.clone()).collect();
        let kept = self.kept_partitions(&config);
        self.queue.clear();
        self.read = config.clone();
        self.config = config;
        let shapes = self.nodes.iter().map(|node| (node.name().clone(), shape(node))).collect();
        self.renew_nodes(now);
        if let Some(specs) = kept {
            self.config.set_partitions(specs);
        }
        let fates = self.move_jobs(&old_names, &shapes);
        self.resolve_partitions(now);
        self.renew_owners();
        for (id, fate) in fates {
            self.meet(now, id, &fate);
        }
        self.clock.backfilled = now;
        self.pings = Pings::begin(now);
        if !self.silent.is_empty() {
            self.await_round(now);
        }
        self.ask_for_cycle(now);
    }

    /// The partitions as operators left them, where the new file says so.
    fn kept_partitions(&self, config: &SlurmConfig) -> Option<Vec<Arc<PartitionSpec>>> {
        let flags = config.params().reconfig;
        if !flags.keep_part_info && !flags.keep_part_state {
            return None;
        }
        let old = |spec: &Arc<PartitionSpec>| self.config.partition(&spec.name).cloned();
        let mut specs: Vec<_> = config
            .partitions()
            .iter()
            .map(|spec| match old(spec) {
                Some(old) if flags.keep_part_info => old,
                Some(old) => {
                    let mut spec = spec.clone();
                    Arc::make_mut(&mut spec).state = old.state;
                    spec
                }
                None => spec.clone(),
            })
            .collect();
        if flags.keep_part_info {
            let gone = |spec: &&Arc<PartitionSpec>| config.partition(&spec.name).is_none();
            specs.extend(self.config.partitions().iter().filter(gone).cloned());
        }
        Some(specs)
    }

    /// The nodes of the new file, each with what is remembered of it, then the dynamic ones.
    fn renew_nodes(&mut self, now: Time) {
        let mut old: BTreeMap<SlurmNode, Node> = std::mem::take(&mut self.nodes)
            .into_iter()
            .filter(|node| !node.is_deleted())
            .map(|node| (node.name().clone(), node))
            .collect();
        let specs = self.config.nodes().to_vec();
        let mut nodes: Vec<Node> = specs
            .into_iter()
            .map(|spec| {
                let before = old.remove(&spec.name);
                remembered(Node::new(spec, [].into()), before)
            })
            .collect();
        self.n_conf_nodes = nodes.len();
        let dynamic = old.into_values().filter(|node| node.flags.has(NodeFlags::DYNAMIC_NORM));
        nodes.extend(dynamic);
        for (place, node) in nodes.iter().enumerate().skip(self.n_conf_nodes) {
            self.config.set_node(place, node.spec.clone());
        }
        let places = nodes.iter().map(|node| node.name().clone()).zip(0..);
        self.node_places = Arc::new(places.collect());
        self.nodes = nodes;
        self.index_nodes();
        for place in 0..self.nodes.len() {
            if self.nodes[place].service == Service::Unknown {
                self.events.push(now + REGISTER_AFTER, Event::NodeRegisters { node: place });
            }
        }
    }

    /// Points every job at the new places. What becomes of those that lost theirs.
    fn move_jobs(
        &mut self,
        old_names: &[PartitionName],
        shapes: &BTreeMap<SlurmNode, (u32, u32)>,
    ) -> Vec<(JobId, Fate)> {
        let places: BTreeMap<PartitionName, usize> =
            self.config.partitions().iter().map(|spec| spec.name.clone()).zip(0..).collect();
        let mut fates = vec![];
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            let Some(job) = self.jobs.get(&id).cloned() else { continue };
            let names = job.partitions.iter().filter_map(|at| old_names.get(*at));
            let moved: Option<Vec<usize>> = names.map(|name| places.get(name).copied()).collect();
            let allocation = job.allocation.as_ref().map(|held| self.move_allocation(held, shapes));
            let fate = self.fate(&job, moved.as_ref(), allocation.as_ref());
            let ask = moved.as_ref().and_then(|moved| {
                let fresh = self.ask(&job.submission, *moved.first()?).ok()?;
                let (min_nodes, max_nodes) = (job.ask.min_nodes, job.ask.max_nodes);
                Some(crate::select::Ask { min_nodes, max_nodes, ..fresh })
            });
            if let Some(record) = self.job_mut(id) {
                record.partitions = moved.unwrap_or_default();
                if let Some(first) = record.listed.first() {
                    record.partition = first.clone();
                }
                if let Some((held, _)) = allocation {
                    record.allocation = Some(Arc::new(held));
                }
                if let Some(ask) = ask {
                    record.ask = Arc::new(ask);
                }
            }
            fates.push((id, fate));
        }
        fates
    }

    /// The same with the new places of the nodes that are left, and whether all are, unchanged.
    fn move_allocation(
        &self,
        held: &Allocation,
        shapes: &BTreeMap<SlurmNode, (u32, u32)>,
    ) -> (Allocation, bool) {
        let mut nodes: Vec<_> = held.nodes.clone();
        nodes.retain_mut(|share| {
            let place = self.node_places.get(&share.node);
            share.index = place.copied().unwrap_or_default();
            place.is_some()
        });
        let as_before =
            |share: &NodeShare| shapes.get(&share.node) == Some(&shape(&self.nodes[share.index]));
        let fits = nodes.iter().all(as_before);
        let whole = nodes.len() == held.nodes.len() && fits;
        nodes.sort_by_key(|share| share.index);
        (Allocation::new(nodes), whole)
    }

    fn fate(
        &self,
        job: &Job,
        partitions: Option<&Vec<usize>>,
        allocation: Option<&(Allocation, bool)>,
    ) -> Fate {
        let holds = job.holds_nodes();
        let known = |name: &SlurmNode| self.node_places.contains_key(name);
        let required = job.submission.required_nodes.iter().all(known);
        if job.state.is_end() && !holds {
            Fate::Stays
        } else if partitions.is_none() || !required {
            Fate::Ends
        } else if holds && allocation.is_some_and(|(_, whole)| !whole) {
            Fate::Lost
        } else {
            Fate::Stays
        }
    }

    fn meet(&mut self, now: Time, id: JobId, fate: &Fate) {
        let Some(job) = self.job(id) else { return };
        match fate {
            Fate::Stays => return,
            Fate::Ends | Fate::Lost if job.state == JobState::Pending => {
                self.job_mut(id).into_iter().for_each(|job| job.exit = ExitCode::signal(1));
                self.end_pending(now, id, JobState::NodeFail);
                return self.set_reason(id, Reason::NodeDown);
            }
            Fate::Ends => {
                if let Some(record) = self.job_mut(id) {
                    record.requeue = false;
                }
            }
            Fate::Lost => {}
        }
        // No place is the one that it lost: all that are left count.
        self.lose_node(now, id, usize::MAX);
        self.hear_of_nodes(now, id);
    }

    /// The nodes that are told to end a job say that they are there.
    fn hear_of_nodes(&mut self, now: Time, id: JobId) {
        let allocation = self.job(id).and_then(|job| job.allocation.clone());
        for share in allocation.iter().flat_map(|allocation| &allocation.nodes) {
            self.ping(now, share.index);
        }
    }
}

/// Sockets and their cores: with others, nobody knows any more which cores a job has.
fn shape(node: &Node) -> (u32, u32) {
    (node.spec.sockets, node.spec.cores_per_socket)
}

/// A node of the file with what is remembered of the one of the same name.
fn remembered(mut node: Node, before: Option<Node>) -> Node {
    let Some(before) = before else {
        // It is heard of for the first time.
        if node.service == Service::Up && !node.is_external() {
            node.service = Service::Unknown;
        }
        return node;
    };
    const KEPT: NodeFlags = NodeFlags::DRAIN.with(NodeFlags::FAIL).with(NodeFlags::MAINT);
    if node.spec.initial_state == InitialState::Unknown {
        for flag in [NodeFlags::DRAIN, NodeFlags::FAIL, NodeFlags::MAINT] {
            node.flags = node.flags.set(flag, before.flags.has(flag) && KEPT.has(flag));
        }
        node.service = if before.is_down() { Service::Down } else { Service::Unknown };
    }
    node.reason = node.reason.or(before.reason);
    (node.comment, node.extra) = (before.comment, before.extra);
    (node.usage, node.jobs, node.completing) = (before.usage, before.jobs, before.completing);
    (node.heard, node.silent) = (before.heard, before.silent);
    node
}

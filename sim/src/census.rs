//! Every node in a few bytes: what nobody holds of it, and which others are of its kind.
//!
//! ```text
//!   node      0   1   2   3 …
//!   cores     4   0   1   4        cores that nobody holds
//!   kind      0   0   0   1        slurm.conf says the same of nodes of one kind
//! ```
//!
//! Selection asks thousands of nodes what they could give. Most asks are answered from here, without
//! looking at the nodes themselves.

use std::sync::Arc;

use crate::{IndexSet, Node, conf::NodeSpec, node::Usage};

/// What is kept of every node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census {
    /// Nodes with a core that nobody holds.
    open: IndexSet,
    /// Cores that nobody holds; fewer than none where a node lost some.
    cores: Vec<i32>,
    kind_of: Vec<u32>,
    kinds: Vec<Kind>,
    /// Nodes on which jobs share cores.
    sharing: IndexSet,
    /// Holders, counted once on each node that they hold.
    n_holders: usize,
    holders: Vec<u32>,
}

/// Nodes that differ in nothing but their names.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// One of them.
    pub(crate) spec: Arc<NodeSpec>,
    /// Their weight in slurm.conf.
    pub(crate) planned_weight: u32,
    /// Cores that jobs get.
    pub(crate) cores: u32,
    /// All of them.
    nodes: IndexSet,
}

impl Kind {
    /// Whether a node has one core, for whoever comes first.
    pub(crate) fn is_single(&self) -> bool {
        self.cores == 1 && self.spec.cores() == 1
    }
}

impl Census {
    pub(crate) fn new(nodes: &[Node]) -> Self {
        let mut census = Self::default();
        for (place, node) in nodes.iter().enumerate() {
            census.describe(place, node);
            census.count(place, node);
        }
        census
    }

    /// Notes what a node is: it is new, or slurm.conf says something else of it now.
    pub(crate) fn describe(&mut self, place: usize, node: &Node) {
        if self.cores.len() <= place {
            self.cores.resize(place + 1, 0);
            self.kind_of.resize(place + 1, 0);
            self.holders.resize(place + 1, 0);
        }
        if let Some(before) = self.kinds.get_mut(self.kind_of[place] as usize) {
            before.nodes.remove(place);
        }
        let kind = self.kind(node);
        self.kind_of[place] = kind;
        self.kinds[kind as usize].nodes.insert(place);
    }

    /// Counts again what is held of a node.
    pub(crate) fn count(&mut self, place: usize, node: &Node) {
        let kind = self.kind_at(place);
        debug_assert!(is_like(&kind.spec, &node.spec), "whoever changes a spec describes it");
        self.cores[place] = cores_beside(kind, &node.usage);
        self.open.set(place, has_free_core(&node.spec, &node.usage));
        self.sharing.set(place, 0 < node.usage.n_sharing);
        let holders = u32::try_from(node.jobs.len()).unwrap_or(u32::MAX);
        self.n_holders = self.n_holders + holders as usize - self.holders[place] as usize;
        self.holders[place] = holders;
    }

    fn kind(&mut self, node: &Node) -> u32 {
        let (spec, planned_weight) = (&node.spec, node.planned_weight);
        let known = self
            .kinds
            .iter()
            .position(|kind| is_like(&kind.spec, spec) && kind.planned_weight == planned_weight);
        let at = known.unwrap_or_else(|| {
            let cores = spec.n_usable_cores();
            let (spec, nodes) = (spec.clone(), IndexSet::new());
            self.kinds.push(Kind { spec, planned_weight, cores, nodes });
            self.kinds.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Nodes with a core that nobody holds.
    pub(crate) const fn open(&self) -> &IndexSet {
        &self.open
    }

    /// Cores of a node that nobody holds.
    pub(crate) fn cores(&self, place: usize) -> u32 {
        u32::try_from(self.cores[place]).unwrap_or(0)
    }

    /// Cores that nobody holds, by node; fewer than none where a node lost some.
    pub(crate) fn all_cores(&self) -> &[i32] {
        &self.cores
    }

    /// The cores that something else would leave of a node.
    pub(crate) fn cores_beside(&self, place: usize, usage: &Usage) -> i32 {
        cores_beside(self.kind_at(place), usage)
    }

    /// The kinds of nodes.
    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Takes out nodes that don't suit.
    pub(crate) fn keep(&self, nodes: &mut IndexSet, suits: impl Fn(&NodeSpec) -> bool) {
        for kind in self.kinds.iter().filter(|kind| !suits(&kind.spec)) {
            nodes.subtract(&kind.nodes);
        }
    }

    /// The number of a node's kind.
    pub(crate) fn kind_of(&self, place: usize) -> usize {
        self.kind_of[place] as usize
    }

    /// A node's kind.
    pub(crate) fn kind_at(&self, place: usize) -> &Kind {
        &self.kinds[self.kind_of(place)]
    }

    /// Whether jobs share cores anywhere.
    pub(crate) const fn anybody_shares(&self) -> bool {
        !self.sharing.is_empty()
    }

    /// Holders, counted once on each node that they hold.
    pub(crate) const fn n_holders(&self) -> usize {
        self.n_holders
    }
}

fn cores_beside(kind: &Kind, usage: &Usage) -> i32 {
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    number(kind.cores as usize) - number(usage.cores.len())
}

/// Whether a core is left that a job could have.
fn has_free_core(spec: &NodeSpec, usage: &Usage) -> bool {
    if spec.spec_cores.is_empty() {
        return usage.cores.len() < spec.cores() as usize;
    }
    let mut left = IndexSet::below(spec.cores() as usize);
    left.subtract(&spec.spec_cores);
    left.subtract(&usage.cores);
    !left.is_empty()
}

/// Whether selection can't tell two nodes apart.
fn is_like(a: &NodeSpec, b: &NodeSpec) -> bool {
    // What isn't named here is of no interest to selection; a new field has to be thought about.
    let NodeSpec {
        name: _,
        address: _,
        hostname: _,
        port: _,
        cpus,
        boards,
        sockets,
        cores_per_socket,
        threads_per_core,
        threads,
        memory_mib,
        mem_spec_mib,
        spec_cores,
        tmp_disk_mib,
        gres,
        devices,
        links,
        features,
        active_features,
        weight,
        initial_state: _,
        reason: _,
    } = a;
    (*cpus, *boards, *sockets) == (b.cpus, b.boards, b.sockets)
        && *cores_per_socket == b.cores_per_socket
        && (*threads_per_core, *threads) == (b.threads_per_core, b.threads)
        && (*memory_mib, *mem_spec_mib) == (b.memory_mib, b.mem_spec_mib)
        && (*weight, *tmp_disk_mib) == (b.weight, b.tmp_disk_mib)
        && *spec_cores == b.spec_cores
        && (gres, devices, links) == (&b.gres, &b.devices, &b.links)
        && (features, active_features) == (&b.features, &b.active_features)
}

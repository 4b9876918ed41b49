//! Nodes, kept in step both ways.
//!
//! ```text
//!  Kubernetes                                          Slurm
//!  mapped to a Slurm node   ──▶ taint: only our pods
//!  cordoned, not ready, gone ─────────────────────▶   DRAIN, with our reason
//!  back                     ──────────────────────▶   UNDRAIN, if the reason is ours
//!  labelled as external     ──────────────────────▶   made, described, made anew, deleted
//!  condition SlurmSchedulable ◀──────────────────────  drained or down by somebody else
//!  condition SlurmMaintenance ◀──────────────────────  reserved for maintenance
//! ```
//!
//! Slurm nodes are changed only on the strength of a node list that was just read, one request at a
//! time for each: what somebody else drained in the meantime stays drained. Start at
//! [`want`](want::want) for what is decided, at [`show`] for what is shown.

mod external;
mod show;
mod want;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::{Epoch, SlurmNode, Time};

use self::{external::Description, want::Move};
use crate::{
    backoff::Backoff,
    config::{Config, secs},
    effect::{NodeTarget, SlurmRequest},
    facts::{BridgeFact, FactSubject, Weight},
    input::{KubeReply, Lost, SlurmFault},
    mapping::Mapping,
    names::KubeNode,
    outbox::{Alarm, Outbox, Purpose},
    plants::Plant,
    requests::{self, Author, Claim},
    slurm::{NodeInfo, Reservation},
    store::Store,
    view::NodeView,
};

/// What is under way for nodes, and what must be remembered of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keeper {
    /// Kubernetes nodes that a request is out for, or that rest after one failed.
    busy: BTreeSet<KubeNode>,
    failures: BTreeMap<KubeNode, u32>,
    /// Slurm nodes that a request is out for.
    updating: BTreeMap<SlurmNode, Told>,
    memory: Memory,
}

/// What nobody else remembers. All of it may be lost: then something is said twice, or made once more.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Slurm nodes for which the last request failed.
    resting: BTreeMap<SlurmNode, Rest>,
    /// Slurm nodes whose Kubernetes node went while we looked.
    departed: BTreeMap<SlurmNode, KubeNode>,
    /// When Kubernetes nodes that aren't ready were first seen so.
    unready: BTreeMap<KubeNode, Time>,
    /// The size and the features with which external nodes were last made.
    made: BTreeMap<SlurmNode, (String, Vec<String>)>,
    /// External nodes that were given other features while jobs held them.
    outdated: BTreeSet<SlurmNode>,
    /// The place in the topology that they were last given.
    placed: BTreeMap<SlurmNode, String>,
}

#[derive(Clone, Debug)]
struct Rest {
    failures: u32,
    until: Time,
    said: String,
}

/// What is told of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    /// Once it is done: `drained Slurm node n1: …`.
    done: String,
    /// If it is refused: `drain`.
    verb: &'static str,
}

/// Everything that is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) config: &'a Config,
    pub(crate) author: &'a Author,
    pub(crate) store: &'a Store,
    pub(crate) mapping: &'a Mapping,
    pub(crate) slurm: &'a BTreeMap<SlurmNode, NodeInfo>,
    pub(crate) reservations: &'a [Reservation],
}

/// The same with what is remembered, at one moment.
#[derive(Clone, Copy, Debug)]
struct Scene<'a> {
    now: Time,
    epoch: Epoch,
    config: &'a Config,
    store: &'a Store,
    mapping: &'a Mapping,
    slurm: &'a BTreeMap<SlurmNode, NodeInfo>,
    reservations: &'a [Reservation],
    memory: &'a Memory,
}

/// Something to do to a Slurm node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    node: SlurmNode,
    request: SlurmStep,
    told: Told,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SlurmStep {
    Set(NodeTarget, String),
    Create {
        made: (String, Vec<String>),
        words: String,
    },
    /// It moves if it is to be in other partitions.
    Describe {
        features: Option<Vec<String>>,
        topology: Option<String>,
        moves: bool,
    },
    Delete,
}

impl Keeper {
    /// Gives a Kubernetes node the taints and the conditions that it should have. Says whether
    /// something is to be done in Slurm, for which its nodes should be read now.
    pub(crate) fn tend(
        &mut self,
        out: &mut Outbox,
        around: Surroundings<'_>,
        node: &NodeView,
    ) -> bool {
        self.memory.watch_readiness(out.now(), node);
        let scene = self.memory.scene(out.now(), around);
        let slurm = around.mapping.slurm(&node.name()).and_then(|name| around.slurm.get(name));
        scene.await_readiness(out, node);
        let due = slurm.and_then(|info| step(&scene, info)).or_else(|| register(&scene, node));
        let is_due = due.is_some_and(|step| self.is_free(out.now(), &step.node));
        if self.busy.contains(&node.name()) {
            return is_due;
        }
        let taints = show::taints(&scene, node, slurm).map(|it| requests::taint(node, &it));
        let request = taints.or_else(|| {
            let shown = show::condition(&scene, node, slurm)?;
            tell_condition(out, node, &shown);
            let show::Shown { kind, status, reason, message } = &shown;
            let claim = Claim { kind, status: *status, reason, message };
            Some(around.author.node_condition(out.now(), node, claim))
        });
        if let Some(request) = request {
            out.count("nodes.patch");
            out.kube(Purpose::Node(node.name()), request);
            self.busy.insert(node.name());
        }
        is_due
    }

    /// Takes the reply. Returns the node's new state.
    pub(crate) fn tended(
        &mut self,
        out: &mut Outbox,
        name: &KubeNode,
        outcome: Result<KubeReply, Lost>,
    ) -> Option<NodeView> {
        match outcome {
            Ok(KubeReply { status: 200..=299, body }) => {
                self.busy.remove(name);
                self.failures.remove(name);
                serde_json::from_value((*body).clone()).ok()
            }
            Ok(_) | Err(_) => {
                let failures = self.failures.entry(name.clone()).or_default();
                *failures += 1;
                out.wake_in(Backoff::REQUEST.after(*failures), Alarm::Node(name.clone()));
                None
            }
        }
    }

    /// The pause is over.
    pub(crate) fn woke(&mut self, name: &KubeNode) {
        self.busy.remove(name);
    }

    /// A Kubernetes node is gone; this was its Slurm node.
    pub(crate) fn departs(&mut self, out: &mut Outbox, kube: &KubeNode, slurm: Option<&SlurmNode>) {
        self.failures.remove(kube);
        self.memory.unready.remove(kube);
        out.cancel_alarm(&Alarm::NotReady(kube.clone()));
        if let Some(slurm) = slurm {
            self.memory.departed.insert(slurm.clone(), kube.clone());
        }
    }

    /// Does whatever is due to Slurm's nodes, on the strength of a list that was just read.
    pub(crate) fn sync(&mut self, out: &mut Outbox, around: Surroundings<'_>) {
        self.memory.tidy(around);
        let scene = self.memory.scene(out.now(), around);
        let standing = around.slurm.values().filter_map(|info| step(&scene, info));
        let wanted = around.store.nodes().filter_map(|node| register(&scene, node));
        let steps: Vec<Step> = standing.chain(wanted).collect();
        for step in steps {
            if self.is_free(out.now(), &step.node) {
                self.take(out, step);
            }
        }
    }

    fn is_free(&self, now: Time, node: &SlurmNode) -> bool {
        !self.updating.contains_key(node)
            && self.memory.resting.get(node).is_none_or(|rest| rest.until <= now)
    }

    fn take(&mut self, out: &mut Outbox, step: Step) {
        let Step { node, request, told } = step;
        let request = match request {
            SlurmStep::Set(state, reason) => {
                SlurmRequest::UpdateNode { node: node.clone(), state, reason }
            }
            SlurmStep::Create { made, words } => {
                self.memory.made.insert(node.clone(), made);
                self.memory.outdated.remove(&node);
                SlurmRequest::CreateNode { node: node.clone(), words }
            }
            SlurmStep::Describe { features, topology, moves } => {
                if moves {
                    self.memory.outdated.insert(node.clone());
                }
                if let Some(topology) = &topology {
                    self.memory.placed.insert(node.clone(), topology.clone());
                }
                SlurmRequest::DescribeNode { node: node.clone(), features, topology }
            }
            SlurmStep::Delete => SlurmRequest::DeleteNode(node.clone()),
        };
        self.updating.insert(node.clone(), told);
        out.slurm(Purpose::UpdateNode(node), request);
    }

    /// Slurm answered. What failed is decided again with a later node list. Says whether it was done.
    pub(crate) fn synced(
        &mut self,
        out: &mut Outbox,
        node: &SlurmNode,
        outcome: Result<(), &SlurmFault>,
    ) -> bool {
        let Some(told) = self.updating.remove(node) else { return false };
        let subject = FactSubject::SlurmNode(node.clone());
        let Err(fault) = outcome else {
            self.memory.resting.remove(node);
            out.tell(subject, told.done);
            return true;
        };
        let before = self.memory.resting.get(node);
        let failures = before.map_or(0, |rest| rest.failures) + 1;
        let refused = matches!(fault, SlurmFault::Refused { .. });
        let backoff = if refused { Backoff::REFUSAL } else { Backoff::REQUEST };
        let said = fault.to_string();
        if refused && before.is_none_or(|rest| rest.said != said) {
            out.tell(subject, format!("could not {} Slurm node {node}: {said}", told.verb));
        }
        let until = out.now() + backoff.after(failures);
        self.memory.resting.insert(node.clone(), Rest { failures, until, said });
        false
    }
}

/// What is due for a Slurm node that is there.
fn step(scene: &Scene<'_>, info: &NodeInfo) -> Option<Step> {
    let node = info.name.clone();
    match want::step(scene, info)? {
        Move::Set { state, reason, why } => {
            let (verb, past) = match state {
                NodeTarget::Drain => ("drain", "drained"),
                NodeTarget::Undrain => ("undrain", "undrained"),
            };
            let told = Told { done: format!("{past} Slurm node {node}: {why}"), verb };
            Some(Step { node, request: SlurmStep::Set(state, reason), told })
        }
        Move::Delete { why } => {
            let done = format!("removed external node {node} from Slurm: {why}");
            Some(Step { node, request: SlurmStep::Delete, told: Told { done, verb: "delete" } })
        }
    }
}

/// What is due for a Kubernetes node that Slurm shall have, or has with another description.
fn register(scene: &Scene<'_>, node: &NodeView) -> Option<Step> {
    let description = node.is_external().then(|| Description::of(scene.config, node))?.ok()?;
    let name = SlurmNode::from(description.name.as_str());
    let Some(info) = scene.slurm.get(&name) else {
        let (size, words) = (description.size(), description.words());
        let done = format!("made {} an external node of Slurm: {size}", node.name());
        let made = (size, description.features);
        let told = Told { done, verb: "make" };
        return Some(Step { node: name, request: SlurmStep::Create { made, words }, told });
    };
    // Neither a node with slurmd nor somebody else's, nor one that is about to be made anew.
    if !external::is_made(info)
        || external::marked_by_another(scene.config, info).is_some()
        || matches!(want::want(scene, info), want::Want::Remove(_))
    {
        return None;
    }
    let features = (sorted(&info.features) != sorted(&description.features))
        .then(|| description.features.clone());
    let topology = description.topology.filter(|topology| {
        *topology != info.topology && scene.memory.placed.get(&name) != Some(topology)
    });
    if features.is_none() && topology.is_none() {
        return None;
    }
    let said = features.iter().flatten().chain(&topology).cloned().collect::<Vec<_>>().join(",");
    let done = format!("described external node {name} of Slurm: {said}");
    let told = Told { done, verb: "describe" };
    let ours = external::mark(scene.config);
    let listed = |all: &[String]| -> Vec<String> {
        sorted(all).into_iter().filter(|it| **it != ours).cloned().collect()
    };
    let moves = features.as_ref().is_some_and(|it| listed(it) != listed(&info.features));
    Some(Step { node: name, request: SlurmStep::Describe { features, topology, moves }, told })
}

fn sorted(features: &[String]) -> Vec<&String> {
    let mut features: Vec<&String> = features.iter().collect();
    features.sort_unstable();
    features
}

fn tell_condition(out: &mut Outbox, node: &NodeView, shown: &show::Shown) {
    let (name, kind, message) = (&node.metadata.name, shown.kind, &shown.message);
    let status = if shown.status { "True" } else { "False" };
    out.record(BridgeFact {
        subject: FactSubject::KubeNode(node.name()),
        weight: Weight::Echo,
        text: format!("wrote on node {name}: {kind}={status}: {message}"),
    });
}

impl Memory {
    fn scene<'a>(&'a self, now: Time, around: Surroundings<'a>) -> Scene<'a> {
        let Surroundings { config, author, store, mapping, slurm, reservations } = around;
        let (epoch, memory) = (author.epoch, self);
        Scene { now, epoch, config, store, mapping, slurm, reservations, memory }
    }

    fn watch_readiness(&mut self, now: Time, node: &NodeView) {
        match node.not_ready_since() {
            Some(_) => drop(self.unready.entry(node.name()).or_insert(now)),
            None => drop(self.unready.remove(&node.name())),
        }
    }

    /// Forgets what is over.
    fn tidy(&mut self, around: Surroundings<'_>) {
        let Surroundings { mapping, slurm, .. } = around;
        self.departed.retain(|node, _| {
            mapping.kube(node).is_none() && slurm.get(node).is_some_and(|info| !info.has("DRAIN"))
        });
    }
}

impl Scene<'_> {
    /// Whether a node hasn't been ready for too long.
    fn is_lost(&self, node: &NodeView) -> bool {
        self.lost_at(node).is_some_and(|at| at <= self.now)
    }

    /// When a node that isn't ready has been so for too long.
    fn lost_at(&self, node: &NodeView) -> Option<Time> {
        let bound = self.config.nodes.drain_not_ready_seconds;
        let since = node.not_ready_since().filter(|_| bound > 0)?;
        // A clock that is ahead of ours must not put it off without end.
        let seen = self.memory.unready.get(&node.name()).copied().unwrap_or(self.now);
        Some(self.epoch.time_of_unix(since).min(seen) + secs(bound))
    }

    fn await_readiness(&self, out: &mut Outbox, node: &NodeView) {
        let alarm = Alarm::NotReady(node.name());
        match self.lost_at(node).filter(|at| self.now < *at) {
            Some(at) => out.wake_at(at, alarm),
            None => out.cancel_alarm(&alarm),
        }
    }

    /// Whether an external node has to be made anew to be in its partitions: Slurm looks at the features
    /// of a NodeSet when a node is made, and not when they change. That waits until no job holds it.
    fn is_moved(&self, node: &NodeView, info: &NodeInfo) -> bool {
        let Ok(Description { features, .. }) = Description::of(self.config, node) else {
            return false;
        };
        if !want::is_empty(info) {
            return want::is_made_anew(info);
        }
        let listed = features.iter().skip(1);
        let outside = |name: &&String| !info.partitions.iter().any(|it| it.as_str() == **name);
        let made = self.memory.made.get(&info.name).is_some_and(|(_, made)| *made == features);
        sorted(&features) != sorted(&info.features)
            || self.memory.outdated.contains(&info.name)
            || (!made && listed.clone().any(|name| outside(&name)))
    }

    /// Whether an external node has to be made anew for its size. One that Slurm made something else of than it
    /// was told isn't: it would be so each time.
    fn is_resized(&self, node: &NodeView, info: &NodeInfo) -> bool {
        let Ok(description) = Description::of(self.config, node) else { return false };
        let made = self.memory.made.get(&info.name);
        let made = made.is_some_and(|(size, _)| *size == description.size());
        let compared = if self.config.has(Plant::ComparesAnotherSize) {
            Description { cpus: description.cpus + 1, ..description }
        } else if made {
            return false;
        } else {
            description
        };
        compared.is_resized(info)
    }
}

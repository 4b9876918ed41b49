//! Nodes, kept in step both ways.
//!
//! ```text
//!  Kubernetes                                          Slurm
//!  mapped to a Slurm node   ──▶ taint: only our pods
//!  cordoned                 ──────────────────────▶   DRAIN, with our reason
//!  uncordoned               ──────────────────────▶   UNDRAIN, if the reason is ours
//!  condition SlurmSchedulable ◀──────────────────────  drained or down by somebody else
//! ```
//!
//! Slurm nodes are changed only on the strength of a node list that was just read: what somebody
//! else drained in the meantime stays drained.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::SlurmNode;

use crate::{
    backoff::Backoff,
    config::Config,
    effect::{KubeRequest, NodeTarget, SlurmRequest},
    facts::{BridgeFact, FactSubject, Weight},
    input::{KubeReply, Lost},
    mapping::Mapping,
    names::{KubeNode, MANAGED_TAINT, NODE_CONDITION, REASON_PREFIX},
    outbox::{Alarm, Outbox, Purpose},
    plants::Plant,
    requests::{self, Author, Claim},
    slurm::NodeInfo,
    view::{NodeView, Taint},
};

/// What is under way for nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keeper {
    /// Kubernetes nodes that a request is out for, or that rest after one failed.
    busy: BTreeSet<KubeNode>,
    failures: BTreeMap<KubeNode, u32>,
    updating: BTreeMap<SlurmNode, String>,
}

impl Keeper {
    /// Gives a Kubernetes node the taint and the condition that it should have.
    pub(crate) fn tend(
        &mut self,
        out: &mut Outbox,
        config: &Config,
        author: &Author,
        node: &NodeView,
        slurm: Option<&NodeInfo>,
    ) {
        let name = node.name();
        if self.busy.contains(&name) {
            return;
        }
        let request = taints(config, node, slurm.is_some())
            .map(|taints| requests::taint(node, &taints))
            .or_else(|| condition(out, author, node, slurm));
        if let Some(request) = request {
            out.count("nodes.patch");
            out.kube(Purpose::Node(name.clone()), request);
            self.busy.insert(name);
        }
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

    /// Drains what is cordoned and undrains what we drained, on the strength of a fresh node list.
    pub(crate) fn sync(
        &mut self,
        out: &mut Outbox,
        config: &Config,
        mapping: &Mapping,
        node: &NodeView,
        info: &NodeInfo,
    ) {
        let kube = node.name();
        if mapping.slurm(&kube) != Some(&info.name) || self.updating.contains_key(&info.name) {
            return;
        }
        let drained = has(info, "DRAIN");
        let (state, what) = match (node.spec.unschedulable, drained) {
            // Somebody has taken it out, and nothing starts there: to drain it would write over his
            // reason, and to resume it later would undo what he did.
            (true, false) if has(info, "DOWN") && !info.reason.is_empty() && !is_ours(info) => {
                return;
            }
            (true, false) => (NodeTarget::Drain, "unschedulable"),
            (false, true) if is_ours(info) || config.has(Plant::UndrainsAnything) => {
                (NodeTarget::Undrain, "schedulable")
            }
            (true, true) if is_ours(info) && config.has(Plant::UndrainsAtOnce) => {
                (NodeTarget::Undrain, "schedulable")
            }
            (true, true) | (false, true | false) => return,
        };
        let reason = format!("{REASON_PREFIX} Corresponding Kubernetes node ({kube}) is {what}");
        let verb = match state {
            NodeTarget::Drain => "drained",
            NodeTarget::Undrain => "undrained",
        };
        let fact = format!("{verb} Slurm node {}: Kubernetes node {kube} is {what}", info.name);
        self.updating.insert(info.name.clone(), fact);
        let node = info.name.clone();
        let request = SlurmRequest::UpdateNode { node: node.clone(), state, reason };
        out.slurm(Purpose::UpdateNode(node), request);
    }

    /// Slurm answered. What failed is decided again with the next node list.
    pub(crate) fn synced(&mut self, out: &mut Outbox, node: &SlurmNode, done: bool) {
        if let Some(fact) = self.updating.remove(node)
            && done
        {
            out.tell(FactSubject::SlurmNode(node.clone()), fact);
        }
    }
}

/// The taints that the node should have, if it has others.
fn taints(config: &Config, node: &NodeView, is_mapped: bool) -> Option<Vec<Taint>> {
    let ours = Taint {
        key: MANAGED_TAINT.into(),
        value: config.scheduler_name.clone(),
        effect: "NoExecute".into(),
        time_added: None,
    };
    let same = |taint: &Taint| taint.key == ours.key && taint.effect == ours.effect;
    let has_ours = node.spec.taints.iter().any(|taint| same(taint) && taint.value == ours.value);
    let wanted = config.taint_nodes && is_mapped;
    if wanted == has_ours {
        return None;
    }
    let others = node.spec.taints.iter().filter(|taint| !same(taint)).cloned();
    Some(others.chain(wanted.then(|| ours.clone())).collect())
}

/// Tells Kubernetes what Slurm thinks of the node, if that changed.
fn condition(
    out: &mut Outbox,
    author: &Author,
    node: &NodeView,
    slurm: Option<&NodeInfo>,
) -> Option<KubeRequest> {
    let info = slurm?;
    let known = node.condition(NODE_CONDITION);
    let (status, reason, message) = match trouble(info) {
        Some(reason) => (false, reason, sentence(info)),
        None => (true, "SlurmReady", format!("Slurm places jobs on node {}", info.name)),
    };
    let text = if status { "True" } else { "False" };
    let same = known.map_or(status, |known| known.status == text && known.message == message);
    if same {
        return None;
    }
    let subject = FactSubject::KubeNode(node.name());
    let name = &node.metadata.name;
    out.record(BridgeFact {
        subject,
        weight: Weight::Echo,
        text: format!("wrote on node {name}: {NODE_CONDITION}={text}: {message}"),
    });
    let claim = Claim { kind: NODE_CONDITION, status, reason, message: &message };
    Some(author.node_condition(out.now(), node, claim))
}

/// Why Slurm places nothing there, unless it is because of us.
fn trouble(info: &NodeInfo) -> Option<&'static str> {
    let down = ["DOWN", "FAIL", "NOT_RESPONDING"].iter().any(|flag| has(info, flag));
    if down {
        return Some("SlurmDown");
    }
    (has(info, "DRAIN") && !is_ours(info)).then_some("SlurmDrained")
}

fn sentence(info: &NodeInfo) -> String {
    let NodeInfo { name, state, reason, .. } = info;
    let state = state.join("+");
    let reason = if reason.is_empty() { "no reason given" } else { reason };
    format!("Slurm node {name} is {state}: {reason}")
}

fn has(info: &NodeInfo, flag: &str) -> bool {
    info.state.iter().any(|state| state == flag)
}

fn is_ours(info: &NodeInfo) -> bool {
    info.reason.starts_with(REASON_PREFIX)
}

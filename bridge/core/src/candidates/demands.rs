//! The one predicate: can this pod be on that node?

use drawbridge_sim::Quantity;

use super::{
    Field,
    company::Company,
    labels::{suits, untolerated},
    obstacle::Obstacle,
    peers::Peers,
    volumes::{self, Hold, Rule, one_node_claims, rules},
};
use crate::{
    names::{KubeNode, ObjectKey},
    tenants::{HostPort, Load},
    translate::is_told,
    view::{NodeView, PodView},
};

/// What a pod is to be placed among.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    pub(crate) field: Field<'a>,
    pub(crate) company: Company<'a>,
}

/// What a pod demands, worked out once for all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Demands<'a> {
    pub(crate) pod: &'a PodView,
    pub(crate) load: Load,
    ports: Vec<HostPort>,
    pub(crate) peers: Peers,
    rules: Vec<Rule>,
    /// Its claims that one node alone can have.
    sole: Vec<ObjectKey>,
    /// Why it can't go anywhere.
    pub(crate) hold: Option<Hold>,
}

impl<'a> Demands<'a> {
    pub(crate) fn of(around: Around<'a>, pod: &'a PodView) -> Self {
        let storage = around.field.storage;
        let (rules, hold) = match rules(storage, around.company, pod) {
            Ok(rules) => (rules, None),
            Err(hold) => (Vec::new(), Some(hold)),
        };
        Self {
            rules,
            hold,
            sole: one_node_claims(storage, pod),
            pod,
            load: Load::of(pod),
            ports: HostPort::of(pod),
            peers: Peers::of(around.field, around.company, pod),
        }
    }
}

/// Whether a pod can be on a node, or what is in the way.
pub(crate) fn fits(
    demands: &Demands<'_>,
    node: &NodeView,
    around: Around<'_>,
) -> Result<(), Obstacle> {
    let Demands { pod, load, ports, peers, rules, hold, .. } = demands;
    if let Some(Hold::Wait(words) | Hold::Never(words)) = hold {
        return Err(Obstacle::NotYet(words.clone()));
    }
    if node.spec.unschedulable {
        return Err(Obstacle::Cordoned);
    }
    suits(pod, node)?;
    if let Some(taint) = untolerated(pod, node) {
        return Err(Obstacle::Taint(taint.key.clone()));
    }
    volumes::judge(rules, node, around.company)?;
    let name = node.name();
    if let Some(reason) = around.field.refusals.against(&name, around.field.now, pod, load) {
        return Err(Obstacle::Refused { reason: reason.into() });
    }
    has_room(demands, node, &name, around.company)?;
    free_ports(pod, ports, &name, around.company)?;
    peers.judge(node)
}

/// Whether the node has what the pod asks for, beside those who are there.
fn has_room(
    demands: &Demands<'_>,
    node: &NodeView,
    name: &KubeNode,
    company: Company<'_>,
) -> Result<(), Obstacle> {
    let allocatable = Load::read(&node.status.allocatable);
    for (resource, asks) in demands.load.iter().filter(|(name, _)| counts(&allocatable, name)) {
        let (resource, has) = (resource.to_owned(), allocatable.get(resource));
        if has < asks {
            return Err(Obstacle::TooSmall { resource, asks, has });
        }
        let held = company.held(name, demands.pod.uid(), &resource);
        if has < held + asks {
            return Err(Obstacle::Full { resource, asks, held, has });
        }
    }
    Ok(())
}

/// Whether the node's word about a resource counts. A node that says nothing isn't known yet; what
/// Slurm is told and the node doesn't name is handed out by somebody else than its kubelet.
fn counts(allocatable: &Load, resource: &str) -> bool {
    !allocatable.is_empty() && (allocatable.has(resource) || !is_told(resource))
}

/// How many such pods the node has room for, as far as it says.
pub(crate) fn room_for(demands: &Demands<'_>, node: &NodeView, company: Company<'_>) -> u64 {
    let (name, allocatable) = (node.name(), Load::read(&node.status.allocatable));
    let known = demands.load.iter().filter(|(name, _)| counts(&allocatable, name));
    let times = |(resource, asks): (&str, Quantity)| {
        let held = company.held(&name, demands.pod.uid(), resource);
        allocatable.get(resource).times_above(held, asks)
    };
    known.map(times).min().unwrap_or(u64::MAX)
}

fn free_ports(
    pod: &PodView,
    ports: &[HostPort],
    node: &KubeNode,
    company: Company<'_>,
) -> Result<(), Obstacle> {
    if ports.is_empty() {
        return Ok(());
    }
    for tenant in company.on(node, pod.uid()) {
        let taken = |port: &&HostPort| tenant.ports.iter().any(|other| other.clashes(port));
        if let Some(port) = ports.iter().find(taken) {
            return Err(Obstacle::Port { number: port.number, who: tenant.key.clone() });
        }
    }
    Ok(())
}

/// Whether two such pods must share a node because of a claim.
pub(crate) fn share_a_claim(one: &Demands<'_>, other: &Demands<'_>) -> bool {
    one.sole.iter().any(|claim| other.sole.contains(claim))
}

/// Whether two such pods can't share a node because of their ports.
pub(crate) fn ports_clash(one: &Demands<'_>, other: &Demands<'_>) -> bool {
    one.ports.iter().any(|port| other.ports.iter().any(|it| it.clashes(port)))
}

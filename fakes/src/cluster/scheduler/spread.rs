//! Pods spread evenly over zones, racks, nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{demand::Spread, node::Node, object::uid, pod::Pod},
    filter::{Objection, objects},
    view::View,
};
use crate::LabelSelector;

const HOSTNAME: &str = "kubernetes.io/hostname";

/// The constraints of a pod that must hold, with what is there.
pub(super) struct Spreads {
    all: Vec<Counted>,
}

/// One constraint, with the number of pods that it's about in each place.
struct Counted {
    spread: Spread,
    counts: BTreeMap<String, u64>,
    /// The pod itself is one of those that it's about.
    own: bool,
}

fn counts(view: &View<'_>, pod: &Pod, node: &Node, selector: &LabelSelector) -> u64 {
    let fits = |it: &Pod| {
        it.key.namespace == pod.key.namespace
            && it.deleting.is_none()
            && selector.matches(&it.object["metadata"]["labels"])
    };
    view.pods_on(&node.name).filter(|it| fits(it)).count() as u64
}

/// Whether a node counts as one of the places.
fn counts_in(spread: &Spread, pod: &Pod, node: &Node) -> bool {
    let affine = spread.ignores_affinity || node.suits(&pod.demand);
    let taints = ["NoSchedule", "NoExecute"];
    let tolerated = || node.untolerated(&pod.demand, &taints).is_none();
    affine && (!spread.honours_taints || tolerated())
}

impl Spreads {
    /// The constraints that must hold.
    pub(super) fn required(view: &View<'_>, pod: &Pod) -> Self {
        let Some(peers) = &pod.demand.peers else { return Self { all: vec![] } };
        let spreads: Vec<&Spread> = peers.spreads.iter().filter(|it| it.required).collect();
        let has_all = |node: &Node| spreads.iter().all(|it| node.label(&it.topology).is_some());
        let labels = &pod.object["metadata"]["labels"];
        let all = spreads.iter().map(|spread| {
            let mut places: BTreeMap<String, u64> = BTreeMap::new();
            let nodes = view.index.nodes().map(|(node, _)| node);
            for node in nodes.filter(|node| has_all(node) && counts_in(spread, pod, node)) {
                let place = node.label(&spread.topology).unwrap_or_default().to_owned();
                *places.entry(place).or_default() += counts(view, pod, node, &spread.selector);
            }
            let own = spread.selector.matches(labels);
            Counted { spread: (*spread).clone(), counts: places, own }
        });
        Self { all: all.collect() }
    }

    /// Why the pod would make the spread uneven on a node.
    pub(super) fn objection(&self, node: &Node) -> Option<Objection> {
        const REASON: &str = "node(s) didn't match pod topology spread constraints";
        for Counted { spread, counts, own } in &self.all {
            let Some(place) = node.label(&spread.topology) else {
                let why = format!("{REASON} (missing required label)");
                return Some(objects(&why, false));
            };
            // With fewer places than there must be, an empty one is missing.
            let few = (counts.len() as u64) < spread.min_domains;
            let least = if few { 0 } else { counts.values().min().copied().unwrap_or(0) };
            let here = counts.get(place).copied().unwrap_or(0) + u64::from(*own);
            if spread.max_skew < here.saturating_sub(least) {
                return Some(objects(REASON, true));
            }
        }
        None
    }
}

/// The scores of nodes by constraints that may be broken: what the pod says, or else what is usual
/// for pods of one controller. None if there is nothing to spread.
pub(super) fn scores(view: &View<'_>, pod: &Pod, nodes: &[&Node]) -> Option<Vec<i64>> {
    let own = pod.demand.peers.as_ref().map_or(&[][..], |peers| &peers.spreads);
    let (spreads, explicit) = match own.is_empty() {
        false => (own.iter().filter(|it| !it.required).cloned().collect::<Vec<_>>(), true),
        true => (usual(view, pod)?, false),
    };
    if spreads.is_empty() {
        return None;
    }
    let ignored =
        |node: &Node| explicit && !spreads.iter().all(|it| node.label(&it.topology).is_some());
    let mut raw = vec![0.0_f64; nodes.len()];
    for spread in &spreads {
        let places = places(view, pod, spread, nodes, explicit);
        let size = match spread.topology == HOSTNAME {
            true => nodes.iter().filter(|node| !ignored(node)).count(),
            false => places.len(),
        };
        let weight = libm::log(size as f64 + 2.0);
        for (score, node) in raw.iter_mut().zip(nodes) {
            let Some(place) = node.label(&spread.topology) else { continue };
            let count = match spread.topology == HOSTNAME {
                true => counts(view, pod, node, &spread.selector),
                false => places.get(place).copied().unwrap_or(0),
            };
            *score += count as f64 * weight + (spread.max_skew as f64 - 1.0);
        }
    }
    let raw: Vec<Option<i64>> = raw
        .iter()
        .zip(nodes)
        .map(|(score, node)| (!ignored(node)).then(|| libm::round(*score) as i64))
        .collect();
    Some(normalize(&raw))
}

/// The number of pods in each place that any of the nodes is in.
fn places(
    view: &View<'_>,
    pod: &Pod,
    spread: &Spread,
    nodes: &[&Node],
    explicit: bool,
) -> BTreeMap<String, u64> {
    let place = |node: &Node| node.label(&spread.topology).map(str::to_owned);
    let known = |node: &Node| match explicit {
        true => place(node),
        false => Some(place(node).unwrap_or_default()),
    };
    if spread.topology == HOSTNAME {
        return BTreeMap::new();
    }
    let wanted: BTreeSet<String> = nodes.iter().filter_map(|node| known(node)).collect();
    let mut counted: BTreeMap<String, u64> = wanted.into_iter().map(|place| (place, 0)).collect();
    for (node, _) in view.index.nodes().filter(|(node, _)| counts_in(spread, pod, node)) {
        if let Some(count) = known(node).and_then(|place| counted.get_mut(&place)) {
            *count += counts(view, pod, node, &spread.selector);
        }
    }
    counted
}

/// The fewer, the better: the best gets 100.
fn normalize(raw: &[Option<i64>]) -> Vec<i64> {
    let known = || raw.iter().flatten().copied();
    let (least, most) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
    raw.iter()
        .map(|score| match (score, most) {
            (None, _) => 0,
            (Some(_), 0) => 100,
            (Some(score), most) => 100 * (most + least - score) / most,
        })
        .collect()
}

/// Pods of one ReplicaSet or StatefulSet are spread over nodes and zones.
fn usual(view: &View<'_>, pod: &Pod) -> Option<Vec<Spread>> {
    let owner = view.api.by_uid(pod.owner.as_ref()?)?;
    let kinds = ["ReplicaSet", "StatefulSet"];
    if !kinds.iter().any(|kind| owner["kind"] == *kind) || uid(owner).is_empty() {
        return None;
    }
    let selector = LabelSelector::from_object(&owner["spec"]["selector"]).ok()?;
    Some(Spread::usual(&selector).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_place_gets_most() {
        assert_eq!(normalize(&[Some(0), Some(0)]), [100, 100]);
        assert_eq!(normalize(&[Some(4), Some(8), None]), [100, 50, 0]);
        assert_eq!(normalize(&[Some(2), Some(5)]), [100, 40]);
    }
}

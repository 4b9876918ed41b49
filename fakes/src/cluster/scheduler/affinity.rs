//! Pods that want to be near others, or far from them.

use std::collections::BTreeMap;

use super::{
    super::{demand::PodTerm, node::Node, pod::Pod},
    filter::{Objection, objects},
    view::View,
};

/// A label and its value: a place.
type Place = (String, String);

/// Who is where, as far as a pod's terms and those of others are about it.
#[derive(Default)]
pub(super) struct Near {
    /// For each term of its affinity: the places with pods that it means.
    affinity: Vec<(String, BTreeMap<String, u64>)>,
    /// It's the first of its kind: it would be near itself.
    first: bool,
    /// The places that its own anti-affinity forbids.
    anti: Vec<(String, BTreeMap<String, u64>)>,
    /// The places that the anti-affinity of others forbids.
    forbidden: BTreeMap<Place, u64>,
}

fn place(node: &Node, topology: &str) -> Option<String> {
    node.label(topology).map(str::to_owned)
}

impl Near {
    pub(super) fn of(view: &View<'_>, pod: &Pod) -> Self {
        let mut near = Self::default();
        let labels = &pod.object["metadata"]["labels"];
        let home = view.namespace(&pod.key.namespace);
        for (other, node) in view.social() {
            let terms = other.demand.peers.iter().flat_map(|peers| &peers.anti);
            for term in terms.filter(|term| term.means(&pod.key.namespace, home, labels)) {
                if let Some(value) = place(node, &term.topology) {
                    *near.forbidden.entry((term.topology.clone(), value)).or_default() += 1;
                }
            }
        }
        let Some(peers) = &pod.demand.peers else { return near };
        let means = |term: &PodTerm, pod: &Pod| {
            let (namespace, labels) = (&pod.key.namespace, &pod.object["metadata"]["labels"]);
            term.means(namespace, view.namespace(namespace), labels)
        };
        let with_all = |other: &Pod| peers.affinity.iter().all(|term| means(term, other));
        near.affinity =
            peers.affinity.iter().map(|term| (term.topology.clone(), BTreeMap::new())).collect();
        near.anti =
            peers.anti.iter().map(|term| (term.topology.clone(), BTreeMap::new())).collect();
        if peers.affinity.is_empty() && peers.anti.is_empty() {
            return near;
        }
        for (node, _) in view.index.nodes() {
            for other in view.pods_on(&node.name) {
                if with_all(other) {
                    near.affinity.iter_mut().for_each(|(key, places)| count(places, node, key));
                }
                for (term, (key, places)) in peers.anti.iter().zip(&mut near.anti) {
                    if means(term, other) {
                        count(places, node, key);
                    }
                }
            }
        }
        near.first = near.affinity.iter().all(|(_, places)| places.is_empty()) && with_all(pod);
        near
    }

    /// Why the pod can't be on a node because of others.
    pub(super) fn objection(&self, node: &Node) -> Option<Objection> {
        let has = |(key, places): &(String, BTreeMap<String, u64>)| {
            place(node, key).is_some_and(|value| places.contains_key(&value))
        };
        let labelled = self.affinity.iter().all(|(key, _)| node.label(key).is_some());
        // `all` holds for no terms at all.
        let near = self.affinity.iter().all(has) || (self.first && labelled);
        if !near {
            return Some(objects("node(s) didn't match pod affinity rules", false));
        }
        if self.anti.iter().any(has) {
            return Some(objects("node(s) didn't match pod anti-affinity rules", true));
        }
        let forbidden = self.forbidden.keys().any(|(key, value)| node.label(key) == Some(value));
        forbidden.then(|| Objection {
            personal: true,
            ..objects("node(s) didn't satisfy existing pods anti-affinity rules", true)
        })
    }
}

fn count(places: &mut BTreeMap<String, u64>, node: &Node, key: &str) {
    if let Some(value) = place(node, key) {
        *places.entry(value).or_default() += 1;
    }
}

/// The scores of nodes by what the pod would rather be near, and who would rather be near it.
/// None if nobody minds.
pub(super) fn scores(view: &View<'_>, pod: &Pod, nodes: &[&Node]) -> Option<Vec<i64>> {
    let mut places: BTreeMap<Place, i64> = BTreeMap::new();
    let mut add = |node: &Node, term: &PodTerm, weight: i64| {
        if let Some(value) = place(node, &term.topology) {
            *places.entry((term.topology.clone(), value)).or_default() += weight;
        }
    };
    let home = view.namespace(&pod.key.namespace);
    let labels = &pod.object["metadata"]["labels"];
    let own = pod.demand.peers.as_ref().map_or(&[][..], |peers| &peers.preferences);
    if !own.is_empty() {
        for (node, _) in view.index.nodes() {
            for other in view.pods_on(&node.name) {
                let (namespace, labels) =
                    (&other.key.namespace, &other.object["metadata"]["labels"]);
                let home = view.namespace(namespace);
                for (weight, term) in own.iter().filter(|(_, it)| it.means(namespace, home, labels))
                {
                    add(node, term, *weight);
                }
            }
        }
    }
    for (other, node) in view.social() {
        let Some(peers) = &other.demand.peers else { continue };
        let required = peers.affinity.iter().map(|term| (1, term));
        let preferred = peers.preferences.iter().map(|(weight, term)| (*weight, term));
        for (weight, term) in required.chain(preferred) {
            if term.means(&pod.key.namespace, home, labels) {
                add(node, term, weight);
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let raw: Vec<i64> = nodes
        .iter()
        .map(|node| {
            let here = places.iter().filter(|((key, value), _)| node.label(key) == Some(value));
            here.map(|(_, weight)| weight).sum()
        })
        .collect();
    let (least, most) = (raw.iter().min().copied()?, raw.iter().max().copied()?);
    let scaled = |score: i64| match most - least {
        0 => 0,
        range => (100.0 * ((score - least) as f64 / range as f64)) as i64,
    };
    Some(raw.into_iter().map(scaled).collect())
}

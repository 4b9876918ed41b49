//! Neighbours: whom a pod must be near, whom it must not, and how evenly it must be spread.
//!
//! What its terms come to is worked out once for a pod; each node is then a look at its labels.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Field,
    company::Company,
    labels::{suits, untolerated},
    obstacle::Obstacle,
};
use crate::{
    names::{KubeNode, ObjectKey},
    store::Store,
    tenants::Tenant,
    view::{NodeView, PodTerm, PodView, SpreadConstraint},
};

type Labels = BTreeMap<String, String>;
/// A node's label and its value.
type Place = (String, String);

/// The places that a pod can be in for the sake of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    /// By the pod's own anti-affinity: because of whom.
    apart: BTreeMap<Place, ObjectKey>,
    /// By somebody else's.
    kept_off: BTreeMap<Place, ObjectKey>,
    /// Where those are that each term of its affinity asks for.
    near: Vec<(String, BTreeSet<String>)>,
    /// Nobody is there yet, and it is one of those that it asks for itself.
    is_first: bool,
    spreads: Vec<Spread>,
}

/// A constraint, and in which places it holds.
#[derive(Clone, Debug)]
struct Spread {
    key: String,
    max_skew: u64,
    even: BTreeSet<String>,
}

impl Peers {
    pub(crate) fn of<'a>(field: Field<'a>, company: Company<'a>, pod: &'a PodView) -> Self {
        let (store, affinity) = (field.store, &pod.spec.affinity);
        let mut peers = Self { kept_off: kept_off(store, company, pod), ..Self::default() };
        for term in &affinity.pod_anti_affinity.required {
            let there = company.neighbours(pod.uid());
            for (node, tenant) in there.filter(|(_, tenant)| is_meant(term, pod, tenant)) {
                let place = value(store, node, &term.topology_key);
                let place = place.map(|value| (term.topology_key.clone(), value));
                peers.apart.extend(place.map(|place| (place, tenant.key.clone())));
            }
        }
        let wanted = affinity.pod_affinity.required.iter().filter(|term| is_readable(term));
        let wanted: Vec<&PodTerm> = wanted.collect();
        let all = |tenant: &Tenant| wanted.iter().all(|term| is_meant(term, pod, tenant));
        for term in &wanted {
            let there = company.neighbours(pod.uid()).filter(|(_, tenant)| all(tenant));
            let places = there.filter_map(|(node, _)| value(store, node, &term.topology_key));
            peers.near.push((term.topology_key.clone(), places.collect()));
        }
        let nobody = peers.near.iter().all(|(_, places)| places.is_empty());
        let own = |term: &&PodTerm| company.crew(pod).any(|mate| means_pod(term, pod, mate));
        peers.is_first = nobody && wanted.iter().all(own);
        let spreads = pod.spec.topology_spread_constraints.iter().filter(|it| it.is_required());
        peers.spreads = spreads.map(|it| Spread::of(field, company, pod, it)).collect();
        peers
    }

    /// Whether others who are there already say where it goes, by this term of its affinity.
    pub(crate) fn is_settled(&self, term: usize) -> bool {
        !self.is_first && self.near.get(term).is_some_and(|(_, places)| places.len() == 1)
    }

    /// Whether there is nobody anywhere whom it must be near to.
    pub(crate) fn waits_for_company(&self) -> bool {
        !self.is_first && self.near.iter().any(|(_, places)| places.is_empty())
    }

    /// Why a pod can't be on a node because of others.
    pub(crate) fn judge(&self, node: &NodeView) -> Result<(), Obstacle> {
        let labels = &node.metadata.labels;
        let among = |places: &BTreeMap<Place, ObjectKey>| {
            let here = |place: &&Place| labels.get(&place.0) == Some(&place.1);
            let place = places.keys().find(here)?;
            Some((place.0.clone(), places[place].clone()))
        };
        if let Some((key, who)) = among(&self.apart) {
            return Err(Obstacle::Apart { key, who });
        }
        if let Some((key, who)) = among(&self.kept_off) {
            return Err(Obstacle::KeptOff { key, who });
        }
        for (key, places) in &self.near {
            let value = labels.get(key).ok_or_else(|| Obstacle::NoPlace { key: key.clone() })?;
            if !self.is_first && !places.contains(value) {
                return Err(Obstacle::Alone { key: key.clone() });
            }
        }
        for Spread { key, max_skew, even } in &self.spreads {
            let value = labels.get(key).ok_or_else(|| Obstacle::NoPlace { key: key.clone() })?;
            if !even.contains(value) {
                return Err(Obstacle::Uneven { key: key.clone(), max_skew: *max_skew });
            }
        }
        Ok(())
    }
}

impl Spread {
    fn of<'a>(
        field: Field<'a>,
        company: Company<'a>,
        pod: &'a PodView,
        constraint: &SpreadConstraint,
    ) -> Self {
        let SpreadConstraint { max_skew, topology_key: key, min_domains, .. } = constraint;
        let offered = |node: &NodeView| field.mapping.slurm(&node.name()).is_some();
        let nodes = field.store.nodes().map(|node| &**node);
        let domains = nodes.filter(|node| offered(node) && is_domain(constraint, pod, node));
        let values = domains.filter_map(|node| node.metadata.labels.get(key));
        let mut counts: BTreeMap<String, u64> = values.map(|value| (value.clone(), 0)).collect();
        let there = company.neighbours(pod.uid());
        for (node, _) in there.filter(|(_, it)| !it.is_leaving && is_spread(constraint, pod, it)) {
            let node = field.store.node(node).filter(|node| is_domain(constraint, pod, node));
            let value = node.and_then(|node| node.metadata.labels.get(key));
            if let Some(count) = value.and_then(|value| counts.get_mut(value)) {
                *count += 1;
            }
        }
        let few = (counts.len() as u64) < min_domains.unwrap_or(1);
        let least = if few { 0 } else { counts.values().min().copied().unwrap_or(0) };
        let own = u64::from(spreads_itself(constraint, pod));
        let even = counts.into_iter().filter(|(_, count)| count + own <= least + max_skew);
        let even = even.map(|(value, _)| value).collect();
        Self { key: key.clone(), max_skew: *max_skew, even }
    }
}

/// Whether a node is one of the places that are compared. Slurm could never choose one that it
/// doesn't know: those are none.
fn is_domain(constraint: &SpreadConstraint, pod: &PodView, node: &NodeView) -> bool {
    let ignores = constraint.node_affinity_policy.as_deref() == Some("Ignore");
    let honours = constraint.node_taints_policy.as_deref() == Some("Honor");
    (ignores || suits(pod, node).is_ok()) && !(honours && untolerated(pod, node).is_some())
}

/// The places that somebody keeps the pod off.
fn kept_off<'a>(
    store: &'a Store,
    company: Company<'a>,
    pod: &'a PodView,
) -> BTreeMap<Place, ObjectKey> {
    let mut places = BTreeMap::new();
    for (node, tenant) in company.aloof(pod.uid()) {
        let them = Owner { namespace: tenant.key.namespace(), labels: &tenant.labels };
        for term in tenant.keeps_off.iter().filter(|term| means(term, them, owner(pod))) {
            if let Some(value) = value(store, node, &term.topology_key) {
                places.insert((term.topology_key.clone(), value), tenant.key.clone());
            }
        }
    }
    places
}

/// The value of a node's label.
fn value(store: &Store, node: &KubeNode, key: &str) -> Option<String> {
    store.node(node)?.metadata.labels.get(key).cloned()
}

/// A pod, as far as terms look at it.
#[derive(Clone, Copy)]
struct Owner<'a> {
    namespace: &'a str,
    labels: &'a Labels,
}

fn owner(pod: &PodView) -> Owner<'_> {
    Owner { namespace: &pod.metadata.namespace, labels: &pod.metadata.labels }
}

/// Whether it can be told whom the term means: the labels of namespaces aren't known.
pub(crate) fn is_readable(term: &PodTerm) -> bool {
    term.namespace_selector.as_ref().is_none_or(|it| it.is_empty())
}

fn is_meant(term: &PodTerm, pod: &PodView, tenant: &Tenant) -> bool {
    let other = Owner { namespace: tenant.key.namespace(), labels: &tenant.labels };
    means(term, owner(pod), other)
}

/// Whether a pod's term is about another pod.
pub(crate) fn means_pod(term: &PodTerm, pod: &PodView, other: &PodView) -> bool {
    means(term, owner(pod), owner(other))
}

fn means(term: &PodTerm, of: Owner<'_>, other: Owner<'_>) -> bool {
    let everywhere = term.namespace_selector.as_ref().is_some_and(|it| it.is_empty());
    let own = term.namespaces.is_empty() && term.namespace_selector.is_none();
    let there = everywhere
        || term.namespaces.iter().any(|name| name == other.namespace)
        || (own && of.namespace == other.namespace);
    let same = |key: &String| of.labels.get(key) == other.labels.get(key);
    let named = |key: &&String| of.labels.contains_key(*key);
    there
        && term.label_selector.as_ref().is_some_and(|it| it.matches(other.labels))
        && term.match_label_keys.iter().filter(named).all(same)
        && !term.mismatch_label_keys.iter().filter(named).any(same)
}

fn is_spread(constraint: &SpreadConstraint, pod: &PodView, tenant: &Tenant) -> bool {
    tenant.key.namespace() == pod.metadata.namespace
        && is_counted(constraint, &pod.metadata.labels, &tenant.labels)
}

/// Whether a pod's constraint counts pods like itself.
pub(crate) fn spreads_itself(constraint: &SpreadConstraint, pod: &PodView) -> bool {
    is_counted(constraint, &pod.metadata.labels, &pod.metadata.labels)
}

fn is_counted(constraint: &SpreadConstraint, own: &Labels, other: &Labels) -> bool {
    let same = |key: &String| own.get(key) == other.get(key);
    let named = |key: &&String| own.contains_key(*key);
    constraint.label_selector.as_ref().is_some_and(|it| it.matches(other))
        && constraint.match_label_keys.iter().filter(named).all(same)
}

//! What a pod asks of the pods near it: affinity, anti-affinity, an even spread.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::{
    super::object::{items, text},
    PREFERRED, REQUIRED,
};
use crate::LabelSelector;

/// All that is asked of other pods, and what others may ask of this one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    /// Stands for all of it when pods are compared.
    text: String,
    pub(crate) affinity: Vec<PodTerm>,
    pub(crate) anti: Vec<PodTerm>,
    /// With weights; those of anti-affinity are negative.
    pub(crate) preferences: Vec<(i64, PodTerm)>,
    pub(crate) spreads: Vec<Spread>,
}

/// Pods in the same place: on a node with the same value of a label.
#[derive(Clone, Debug)]
pub(crate) struct PodTerm {
    pub(crate) selector: LabelSelector,
    pub(crate) namespaces: Namespaces,
    pub(crate) topology: String,
}

/// Whose pods a term is about.
#[derive(Clone, Debug)]
pub(crate) struct Namespaces {
    names: Vec<String>,
    selector: Option<LabelSelector>,
}

/// Pods spread evenly over places.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) max_skew: u64,
    pub(crate) topology: String,
    /// Or else the pod isn't placed.
    pub(crate) required: bool,
    pub(crate) selector: LabelSelector,
    pub(crate) min_domains: u64,
    /// Nodes that the pod's own node affinity rules out count, too.
    pub(crate) ignores_affinity: bool,
    /// Nodes whose taints keep the pod away don't count.
    pub(crate) honours_taints: bool,
}

impl PartialEq for Peers {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Peers {}

impl PartialOrd for Peers {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Peers {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Peers {
    /// What a pod asks of others; none if it asks nothing.
    pub(crate) fn read(pod: &Value) -> Option<Box<Self>> {
        let spec = &pod["spec"];
        let (near, far) = (&spec["affinity"]["podAffinity"], &spec["affinity"]["podAntiAffinity"]);
        let spread = &spec["topologySpreadConstraints"];
        if near.is_null() && far.is_null() && items(spread).is_empty() {
            return None;
        }
        let labels = &pod["metadata"]["labels"];
        let namespace = text(&pod["metadata"]["namespace"]);
        let term = |value: &Value| PodTerm::read(value, namespace, labels);
        let terms = |of: &Value| items(&of[REQUIRED]).iter().map(term).collect();
        let weighed = |of: &Value, sign: i64| -> Vec<(i64, PodTerm)> {
            let all = items(&of[PREFERRED]).iter();
            all.map(|it| {
                let weight = it["weight"].as_i64().unwrap_or(1);
                (sign * weight, term(&it["podAffinityTerm"]))
            })
            .collect()
        };
        let mut preferences = weighed(near, 1);
        preferences.extend(weighed(far, -1));
        Some(Box::new(Self {
            text: json!([near, far, spread, namespace, labels]).to_string(),
            affinity: terms(near),
            anti: terms(far),
            preferences,
            spreads: items(spread).iter().map(|it| Spread::read(it, labels)).collect(),
        }))
    }
}

/// A selector with the values that the pod itself has of these labels.
fn selector(value: &Value, labels: &Value, equal: &Value, other: &Value) -> LabelSelector {
    let mut whole = value["labelSelector"].clone();
    let mut expressions = items(&whole["matchExpressions"]).to_vec();
    for (keys, operator) in [(equal, "In"), (other, "NotIn")] {
        for key in items(keys).iter().map(text) {
            if let Some(own) = labels[key].as_str() {
                expressions.push(json!({"key": key, "operator": operator, "values": [own]}));
            }
        }
    }
    if !expressions.is_empty() {
        whole["matchExpressions"] = expressions.into();
    }
    LabelSelector::from_object(&whole).unwrap_or_default()
}

impl PodTerm {
    fn read(term: &Value, namespace: &str, labels: &Value) -> Self {
        let names = items(&term["namespaces"]).iter().map(|it| text(it).to_owned());
        let mut names: Vec<String> = names.collect();
        let by_labels = &term["namespaceSelector"];
        if names.is_empty() && by_labels.is_null() {
            names.push(namespace.to_owned());
        }
        let chosen = LabelSelector::from_object(by_labels).unwrap_or_default();
        Self {
            selector: selector(term, labels, &term["matchLabelKeys"], &term["mismatchLabelKeys"]),
            namespaces: Namespaces { names, selector: by_labels.is_object().then_some(chosen) },
            topology: text(&term["topologyKey"]).to_owned(),
        }
    }

    /// Whether a pod with these labels in this namespace is meant.
    pub(crate) fn means(&self, namespace: &str, home: &Value, labels: &Value) -> bool {
        self.namespaces.contain(namespace, home) && self.selector.matches(labels)
    }
}

impl Namespaces {
    /// Whether a namespace with these labels is meant.
    fn contain(&self, namespace: &str, labels: &Value) -> bool {
        self.names.iter().any(|name| name == namespace)
            || self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

impl Spread {
    fn read(it: &Value, labels: &Value) -> Self {
        Self {
            max_skew: it["maxSkew"].as_u64().unwrap_or(1),
            topology: text(&it["topologyKey"]).to_owned(),
            required: it["whenUnsatisfiable"] != "ScheduleAnyway",
            selector: selector(it, labels, &it["matchLabelKeys"], &Value::Null),
            min_domains: it["minDomains"].as_u64().unwrap_or(1),
            ignores_affinity: it["nodeAffinityPolicy"] == "Ignore",
            honours_taints: it["nodeTaintsPolicy"] == "Honor",
        }
    }

    /// How pods of one controller are spread where nothing is said.
    pub(crate) fn usual(selector: &LabelSelector) -> [Self; 2] {
        [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5)].map(|(key, skew)| {
            Self {
                max_skew: skew,
                topology: key.to_owned(),
                required: false,
                selector: selector.clone(),
                min_domains: 1,
                ignores_affinity: false,
                honours_taints: false,
            }
        })
    }
}

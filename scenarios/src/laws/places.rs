//! I10: a pod is bound where it can be: its claims have their volumes, and no port is taken twice.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_fakes::{Change, ChangeKind};
use serde_json::Value;

use crate::object::Object;

/// Address, protocol and number of a port.
type Port = (String, String, u64);

/// Who has which port, and which claims have their volumes.
#[derive(Clone)]
pub(super) struct Places {
    scheduler: String,
    /// Ports of running pods on each node, by uid.
    ports: BTreeMap<String, BTreeMap<String, Vec<Port>>>,
    /// Claims that have their volumes, by `namespace/name`.
    claims: BTreeSet<String>,
    /// Pods of ours that were seen bound.
    bound: BTreeSet<String>,
}

impl Places {
    pub(super) fn new(scheduler: &str) -> Self {
        Self {
            scheduler: scheduler.to_owned(),
            ports: BTreeMap::new(),
            claims: BTreeSet::new(),
            bound: BTreeSet::new(),
        }
    }

    pub(super) fn kube_change(&mut self, change: &Change) -> Vec<String> {
        let object = Object(&change.object);
        match change.resource {
            "persistentvolumeclaims" => {
                let completed =
                    object.at(&["metadata", "annotations", "pv.kubernetes.io/bind-completed"]);
                let key = object.key();
                if change.kind != ChangeKind::Deleted && completed.is_some() {
                    self.claims.insert(key);
                } else {
                    self.claims.remove(&key);
                }
                vec![]
            }
            "pods" => self.pod(object, change.kind),
            _ => vec![],
        }
    }

    fn pod(&mut self, pod: Object<'_>, kind: ChangeKind) -> Vec<String> {
        let Some(node) = pod.node() else { return vec![] };
        if kind == ChangeKind::Deleted {
            self.bound.remove(pod.uid());
        }
        let mut findings = self.without_volume(pod, kind);
        let held = self.ports.entry(node.to_owned()).or_default();
        if kind == ChangeKind::Deleted || pod.phase() != "Running" {
            held.remove(pod.uid());
        } else if !held.contains_key(pod.uid()) {
            let ports = ports(pod.0);
            let taken = |port: &&Port| held.values().flatten().any(|other| clash(port, other));
            if let Some((_, _, number)) = ports.iter().find(taken) {
                findings.push(format!("I10: port {number} of {node} is taken twice"));
            }
            held.insert(pod.uid().to_owned(), ports);
        }
        findings
    }

    /// Looks at a pod of ours the first time that it is seen bound.
    fn without_volume(&mut self, pod: Object<'_>, kind: ChangeKind) -> Vec<String> {
        let is_ours = pod.scheduler() == self.scheduler;
        let is_news = kind != ChangeKind::Deleted && self.bound.insert(pod.uid().to_owned());
        if !is_ours || !is_news || pod.is_terminal() {
            return vec![];
        }
        let missing = claims(pod).into_iter().filter(|claim| !self.claims.contains(claim));
        let pod = pod.key();
        missing
            .map(|claim| format!("I10: pod {pod} is bound and its claim {claim} isn't"))
            .collect()
    }
}

fn clash(one: &Port, other: &Port) -> bool {
    let any = |address: &str| address == "0.0.0.0";
    one.1 == other.1 && one.2 == other.2 && (one.0 == other.0 || any(&one.0) || any(&other.0))
}

fn claims(pod: Object<'_>) -> Vec<String> {
    let volumes = pod.at(&["spec", "volumes"]).and_then(Value::as_array);
    let claim = |volume: &Value| {
        let named = volume["persistentVolumeClaim"]["claimName"].as_str().map(str::to_owned);
        let own = || format!("{}-{}", pod.name(), volume["name"].as_str().unwrap_or_default());
        let name = named.or_else(|| volume["ephemeral"].is_object().then(own))?;
        Some(format!("{}/{name}", pod.namespace()))
    };
    volumes.into_iter().flatten().filter_map(claim).collect()
}

fn ports(pod: &Value) -> Vec<Port> {
    let containers = Object(pod).at(&["spec", "containers"]).and_then(Value::as_array);
    let all = containers.into_iter().flatten().flat_map(|it| it["ports"].as_array()).flatten();
    let or = |port: &Value, key: &str, usual: &str| port[key].as_str().unwrap_or(usual).to_owned();
    all.filter_map(|port| {
        let number = port["hostPort"].as_u64().filter(|number| *number > 0)?;
        Some((or(port, "hostIP", "0.0.0.0"), or(port, "protocol", "TCP"), number))
    })
    .collect()
}

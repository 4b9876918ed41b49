//! On which nodes a DaemonSet has pods.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    super::{
        demand::Demand,
        node::Node,
        object::{items, text},
        plan::Act,
        pod::Pod,
        revision::HASH,
        template,
    },
    ByNode, COMPONENT, USER, generation,
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Taints that the pods of every DaemonSet put up with.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// The pods by the node that they run on or were made for. One that has ended and was asked to go
/// counts no more.
pub(super) fn by_node(pods: &[Arc<Pod>]) -> ByNode {
    let mut all = ByNode::new();
    for pod in pods.iter().filter(|pod| !(pod.terminal() && pod.deleting.is_some())) {
        if let Some(node) = target(pod) {
            all.entry(node).or_default().push(pod.clone());
        }
    }
    all
}

fn target(pod: &Pod) -> Option<Arc<str>> {
    if let Some(node) = &pod.node {
        return Some(node.clone());
    }
    let terms = &pod.object["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    let fields = items(terms).iter().flat_map(|term| items(&term["matchFields"]));
    let named = fields.filter(|it| it["key"] == "metadata.name").find_map(|it| {
        let first = items(&it["values"]).first()?;
        first.as_str()
    });
    named.map(Into::into)
}

/// Bound before unbound, then by age.
pub(super) fn oldest_first(pods: &mut [Arc<Pod>]) {
    pods.sort_by_key(|pod| (pod.node.is_none(), pod.created));
}

/// Where the pods of a DaemonSet should be.
pub(super) struct Wanted {
    demand: Demand,
    /// The one node that it names, if it does.
    named: String,
}

impl Wanted {
    pub(super) fn read(set: &Value) -> Self {
        let mut pod = set["spec"]["template"].clone();
        tolerate(&mut pod["spec"]);
        Self { demand: Demand::read(&pod), named: text(&pod["spec"]["nodeName"]).to_owned() }
    }

    /// Whether a pod should be on a node, and whether one that is there may stay.
    pub(super) fn fits(&self, node: &Node) -> (bool, bool) {
        let named = self.named.is_empty() || *self.named == *node.name;
        if !named || !node.suits(&self.demand) {
            return (false, false);
        }
        match node.untolerated(&self.demand, &["NoSchedule", "NoExecute"]) {
            None => (true, true),
            Some(_) => (false, node.untolerated(&self.demand, &["NoExecute"]).is_none()),
        }
    }
}

fn tolerate(spec: &mut Value) {
    let mut tolerations = items(&spec["tolerations"]).to_vec();
    let network = [("node.kubernetes.io/network-unavailable", "NoSchedule")];
    let more = network.into_iter().filter(|_| spec["hostNetwork"] == true);
    for (key, effect) in TOLERATED.into_iter().chain(more) {
        let new = json!({"key": key, "operator": "Exists", "effect": effect});
        let same = |it: &&mut Value| it["key"] == key && it["effect"] == effect;
        match tolerations.iter_mut().find(same) {
            Some(known) => *known = new,
            None => tolerations.push(new),
        }
    }
    spec["tolerations"] = tolerations.into();
}

/// Makes the pod for a node: only that node can take it.
pub(super) fn create(set: &Value, hash: &str, node: &str) -> Act {
    let prefix = format!("{}-", text(&set["metadata"]["name"]));
    template::create(USER, COMPONENT, set, &prefix, |pod| {
        pod["metadata"]["labels"][HASH] = hash.into();
        if !generation(set).is_empty() {
            pod["metadata"]["labels"]["pod-template-generation"] = generation(set).into();
        }
        tolerate(&mut pod["spec"]);
        pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = json!([{
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}],
        }]);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_runs_where_it_fits_and_stays_under_taints_that_only_keep_new_pods_away() {
        let node = |labels: &Value, taint: Option<(&str, &str)>| {
            let taints: Vec<Value> = taint
                .into_iter()
                .map(|(key, effect)| json!({"key": key, "effect": effect}))
                .collect();
            Node::read(&Arc::new(json!({
                "metadata": {"name": "n1", "labels": labels}, "spec": {"taints": taints},
            })))
        };
        let gpu = json!({"gpu": "yes"});
        let unreachable = Some(("node.kubernetes.io/unreachable", "NoExecute"));
        #[rustfmt::skip]
        let rows = [
            (json!({}),                           node(&gpu, None),                        (true, true)),
            (json!({"nodeSelector": {"gpu": "yes"}}), node(&gpu, None),                    (true, true)),
            (json!({"nodeSelector": {"gpu": "no"}}),  node(&gpu, None),                    (false, false)),
            (json!({"nodeName": "n2"}),           node(&gpu, None),                        (false, false)),
            (json!({}),                           node(&gpu, Some(("a", "NoSchedule"))),   (false, true)),
            (json!({}),                           node(&gpu, Some(("a", "NoExecute"))),    (false, false)),
            (json!({}),                           node(&gpu, unreachable),                 (true, true)),
        ];
        for (spec, node, expected) in rows {
            let set = json!({"spec": {"template": {"spec": spec}}});
            assert_eq!(Wanted::read(&set).fits(&node), expected, "{spec} {:?}", node.taints);
        }
    }
}

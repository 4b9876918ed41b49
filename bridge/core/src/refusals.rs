//! What kubelets refused: such a pod isn't sent to such a node again for a while.
//!
//! A kubelet has the last word. It may know what neither Slurm nor we do: a device that is broken, a
//! pod that nobody listed yet. Rebuilt from the failed pods themselves after a crash.

use std::collections::BTreeMap;

use drawbridge_sim::{Quantity, Span, Time, fnv1a};

use crate::{
    names::{KubeNode, Uid},
    tenants::Load,
    view::PodView,
};

/// How long a refusal counts: longer than a Job waits before it replaces the pod, or all its tries
/// would go to one node.
const MEMORY: Span = Span::mins(15);
/// Refusals that are remembered of a node, the latest.
const MOST: usize = 16;

/// The words by which kubelets refuse, besides `OutOf…`.
const WORDS: [&str; 14] = [
    "AppArmor",
    "InvalidNodeInfo",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeShutdown",
    "PodFeatureUnsupported",
    "PodOSNotSupported",
    "PodOSSelectorNodeLabelDoesNotMatch",
    "ResourceAllocationError",
    "SMTAlignmentError",
    "TaintToleration",
    "TopologyAffinityError",
    "UnexpectedAdmissionError",
];

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    pod: Uid,
    reason: String,
    /// If something ran out: how much of it was too much.
    lacking: Option<(String, Quantity)>,
    shape: u64,
    until: Time,
}

/// What kubelets refused lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    nodes: BTreeMap<KubeNode, Vec<Refusal>>,
}

/// The reason for which a kubelet refused the pod, if one did.
pub(crate) fn refused(pod: &PodView) -> Option<&str> {
    let reason = pod.status.reason.as_str();
    let is_refusal = reason.starts_with("OutOf") || WORDS.contains(&reason);
    (pod.status.phase == "Failed" && pod.is_bound() && is_refusal).then_some(reason)
}

impl Refusals {
    /// A kubelet refused a pod at this time. Returns until when such pods are kept away, if this is
    /// news.
    pub(crate) fn note(&mut self, pod: &PodView, at: Time, now: Time) -> Option<Time> {
        let (node, reason) = (pod.node()?, refused(pod)?);
        let until = at + MEMORY;
        let known = self.nodes.entry(node).or_default();
        known.retain(|one| now < one.until);
        if until <= now || known.iter().any(|one| one.pod == *pod.uid()) {
            self.nodes.retain(|_, known| !known.is_empty());
            return None;
        }
        let load = Load::of(pod);
        let lacking = reason.strip_prefix("OutOf").filter(|name| load.has(name));
        let lacking = lacking.map(|name| (name.to_owned(), load.get(name)));
        if known.len() == MOST {
            known.remove(0);
        }
        let (pod, shape) = (pod.uid().clone(), shape(pod, &load));
        known.push(Refusal { pod, reason: reason.into(), lacking, shape, until });
        Some(until)
    }

    /// Why such a pod would be refused there again.
    pub(crate) fn against(
        &self,
        node: &KubeNode,
        now: Time,
        pod: &PodView,
        load: &Load,
    ) -> Option<&str> {
        let known = self.nodes.get(node)?;
        let own = shape(pod, load);
        let applies = |one: &&Refusal| {
            now < one.until
                && match &one.lacking {
                    Some((resource, amount)) => *amount <= load.get(resource),
                    None => one.shape == own,
                }
        };
        known.iter().find(applies).map(|one| one.reason.as_str())
    }
}

/// What pods that a kubelet treats alike have in common.
fn shape(pod: &PodView, load: &Load) -> u64 {
    fnv1a(format!("{load:?} {:?}", pod.spec.node_selector).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(uid: &str, cpu: &str, reason: &str) -> PodView {
        let container = json!({ "name": "c", "resources": { "requests": { "cpu": cpu } } });
        serde_json::from_value(json!({
            "metadata": { "name": uid, "uid": uid },
            "spec": { "nodeName": "n1", "containers": [container] },
            "status": { "phase": "Failed", "reason": reason },
        }))
        .unwrap()
    }

    fn against(refused: &[PodView], secs: u64, next: &PodView) -> String {
        let mut refusals = Refusals::default();
        for pod in refused {
            refusals.note(pod, Time::ZERO, Time::ZERO);
        }
        let now = Time::from_ms(secs * 1000);
        let reason = refusals.against(&"n1".into(), now, next, &Load::of(next));
        reason.unwrap_or("fine").into()
    }

    #[test]
    fn a_refusal_counts_for_a_while_for_pods_that_ask_as_much() {
        let full = [pod("a", "4", "OutOfcpu")];
        let odd = [pod("a", "4", "UnexpectedAdmissionError")];
        let rows = [
            (&full, 0, "4", "OutOfcpu"),
            (&full, 0, "5", "OutOfcpu"),
            (&full, 0, "3", "fine"),
            (&full, 899, "4", "OutOfcpu"),
            (&full, 900, "4", "fine"),
            (&odd, 0, "4", "UnexpectedAdmissionError"),
            (&odd, 0, "5", "fine"),
            (&[pod("a", "4", "Evicted")], 0, "4", "fine"),
        ];
        for (refused, secs, cpu, expected) in rows {
            assert_eq!(against(refused, secs, &pod("b", cpu, "")), expected, "{secs} s, {cpu}");
        }
    }

    #[test]
    fn a_refusal_is_news_once_and_memory_has_a_bound() {
        let mut refusals = Refusals::default();
        let until = Some(Time::ZERO + MEMORY);
        assert_eq!(refusals.note(&pod("a", "1", "OutOfpods"), Time::ZERO, Time::ZERO), until);
        assert_eq!(refusals.note(&pod("a", "1", "OutOfpods"), Time::ZERO, Time::ZERO), None);
        for n in 0..100 {
            refusals.note(&pod(&n.to_string(), "1", "OutOfcpu"), Time::ZERO, Time::ZERO);
        }
        assert_eq!(refusals.nodes["n1"].len(), MOST);
        let late = Time::ZERO + MEMORY;
        assert_eq!(refusals.note(&pod("old", "1", "OutOfcpu"), Time::ZERO, late), None);
        assert!(refusals.nodes.is_empty(), "nothing is kept for ever");
    }
}

//! Which of the nodes that can take a pod is the best, as the default plugins weigh it.
//!
//! ```text
//!   3 × TaintToleration   2 × NodeAffinity   2 × PodTopologySpread   2 × InterPodAffinity
//!   1 × least allocated   1 × balanced       1 × ImageLocality        each 0 to 100
//! ```
//!
//! The real scheduler draws lots among the best. Here the emptiest of them is taken, and of equally
//! empty ones the first by name.

use super::{
    super::{
        demand::Demand,
        index::Held,
        node::Node,
        object::{count, items, text},
        pod::Pod,
    },
    affinity, spread,
    view::View,
};

/// A node that can take the pod, and what is taken there.
pub(super) type Candidate<'a> = (&'a Node, std::borrow::Cow<'a, Held>);

/// The best of several nodes, which come by name.
pub(super) fn best<'a>(view: &View<'_>, pod: &Pod, all: &[Candidate<'a>]) -> Option<&'a Node> {
    if let [(only, _)] = all {
        return Some(only);
    }
    let nodes: Vec<&Node> = all.iter().map(|(node, _)| *node).collect();
    let mut totals: Vec<i64> = all
        .iter()
        .map(|(node, held)| {
            least_allocated(&pod.demand, node, held) + balanced(&pod.demand, node, held)
        })
        .collect();
    let mut add = |weight: i64, scores: Option<Vec<i64>>| {
        for (total, score) in totals.iter_mut().zip(scores.unwrap_or_default()) {
            *total += weight * score;
        }
    };
    add(3, taints(&pod.demand, &nodes));
    add(2, node_affinity(&pod.demand, &nodes));
    add(2, spread::scores(view, pod, &nodes));
    add(2, affinity::scores(view, pod, &nodes));
    add(1, images(view, &pod.demand, &nodes));
    let ranked = totals.iter().zip(all).enumerate();
    let best = ranked.max_by_key(|(at, (total, (node, held)))| {
        (**total, emptiness(&pod.demand, node, held), std::cmp::Reverse(*at))
    });
    best.map(|(_, (_, (node, _)))| *node)
}

const WEIGHED: [&str; 2] = ["cpu", "memory"];

/// How much of a node would be left, in parts of `whole`, resource by resource.
fn left(demand: &Demand, node: &Node, held: &Held, whole: u64) -> [u64; 2] {
    let mut left = [0; 2];
    for (at, resource) in WEIGHED.iter().enumerate() {
        let all = node.allocatable.get(resource);
        let used = held.weight[at].saturating_add(demand.weight[at]);
        let free = u128::from(all.saturating_sub(used)) * u128::from(whole);
        left[at] = u64::try_from(free.checked_div(u128::from(all)).unwrap_or(0)).unwrap_or(0);
    }
    left
}

/// The emptier, the better.
fn least_allocated(demand: &Demand, node: &Node, held: &Held) -> i64 {
    let sum: u64 = left(demand, node, held, 100).iter().sum();
    i64::try_from(sum / 2).unwrap_or(0)
}

/// The same to the thousandth, to tell nodes apart that are alike otherwise.
fn emptiness(demand: &Demand, node: &Node, held: &Held) -> u64 {
    left(demand, node, held, 1000).iter().sum()
}

/// The pod makes the node more even, or less: 75 if neither. Nothing for a pod that asks nothing.
fn balanced(demand: &Demand, node: &Node, held: &Held) -> i64 {
    if WEIGHED.iter().all(|resource| demand.requests.get(resource) == 0) {
        return 0;
    }
    let evenness = |with: bool| {
        let shares: Vec<f64> = WEIGHED
            .iter()
            .filter(|resource| node.allocatable.get(resource) > 0)
            .map(|resource| {
                let own = if with { demand.requests.get(resource) } else { 0 };
                let used = held.requests.get(resource).saturating_add(own) as f64;
                (used / node.allocatable.get(resource) as f64).min(1.0)
            })
            .collect();
        let uneven = match shares.as_slice() {
            [cpu, memory] => (cpu - memory).abs() / 2.0,
            _ => 0.0,
        };
        ((1.0 - uneven) * 100.0) as i64
    };
    50 + (50 + evenness(true) - evenness(false)) / 2
}

/// Scores from 0 to 100 in proportion to the most.
fn proportional(raw: &[i64]) -> Option<Vec<i64>> {
    let most = raw.iter().max().copied().filter(|most| *most > 0)?;
    Some(raw.iter().map(|score| score * 100 / most).collect())
}

/// Taints that would rather keep the pod away.
fn taints(demand: &Demand, nodes: &[&Node]) -> Option<Vec<i64>> {
    let disliked = |node: &Node| {
        let soft = node.taints.iter().filter(|it| it.effect == "PreferNoSchedule");
        let minded = soft.filter(|taint| !demand.tolerations.iter().any(|it| it.covers(taint)));
        i64::try_from(minded.count()).unwrap_or(i64::MAX)
    };
    let raw: Vec<i64> = nodes.iter().map(|node| disliked(node)).collect();
    let scores = proportional(&raw)?;
    Some(scores.into_iter().map(|score| 100 - score).collect())
}

fn node_affinity(demand: &Demand, nodes: &[&Node]) -> Option<Vec<i64>> {
    if demand.preferences.is_empty() {
        return None;
    }
    let liked = |node: &Node| {
        let fits = demand.preferences.iter().filter(|(_, term)| node.fits_term(term));
        fits.map(|(weight, _)| weight).sum()
    };
    let raw: Vec<i64> = nodes.iter().map(|node| liked(node)).collect();
    proportional(&raw)
}

/// Images that are there already, if they are large and many nodes have them.
fn images(view: &View<'_>, demand: &Demand, nodes: &[&Node]) -> Option<Vec<i64>> {
    const LEAST: i64 = 23 * 1024 * 1024;
    const MOST: i64 = 1000 * 1024 * 1024;
    let all = || view.index.nodes().map(|(node, _)| node);
    if nodes.iter().all(|node| items(&node.object["status"]["images"]).is_empty()) {
        return None;
    }
    let size = |node: &Node, image: &str| {
        let image = full_name(image);
        let there = items(&node.object["status"]["images"]).iter();
        let mut found =
            there.filter(|it| items(&it["names"]).iter().any(|name| text(name) == image));
        found.next().map(|it| count(&it["sizeBytes"]))
    };
    let total = view.index.n_nodes().max(1) as f64;
    let score = |node: &Node| {
        let sum: i64 = demand
            .images
            .iter()
            .filter_map(|image| {
                let bytes = size(node, image)?;
                let spread = all().filter(|it| size(it, image).is_some()).count() as f64 / total;
                Some((bytes as f64 * spread) as i64)
            })
            .sum();
        let most = MOST * i64::try_from(demand.images.len()).unwrap_or(1);
        100 * (sum.clamp(LEAST, most) - LEAST) / (most - LEAST)
    };
    Some(nodes.iter().map(|node| score(node)).collect())
}

/// An image without a tag is the latest.
fn full_name(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) { image.to_owned() } else { format!("{image}:latest") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn node(spec: &Value) -> Node {
        Node::read(&Arc::new(json!({
            "metadata": {"name": "n1"}, "spec": spec,
            "status": {"allocatable": {"cpu": "10", "memory": "10Gi", "pods": 110}},
        })))
    }

    fn demand(cpu: &str, memory: &str) -> Demand {
        Demand::read(&json!({"spec": {"containers": [
            {"resources": {"requests": {"cpu": cpu, "memory": memory}}}
        ]}}))
    }

    #[test]
    fn nodes_score_by_what_is_left_and_how_even_they_become() {
        let node = node(&json!({}));
        let empty = Held::NONE;
        #[rustfmt::skip]
        let rows = [
            // asks               least allocated  balanced
            (demand("1", "1Gi"),   90,             75),
            (demand("5", "1Gi"),   70,             65),
            (demand("10", "10Gi"), 0,              75),
        ];
        for (demand, least, even) in rows {
            assert_eq!(least_allocated(&demand, &node, &empty), least, "{demand:?}");
            assert_eq!(balanced(&demand, &node, &empty), even, "{demand:?}");
        }
    }

    #[test]
    fn soft_taints_push_a_node_back() {
        let soft = node(&json!({"taints": [{"key": "a", "effect": "PreferNoSchedule"}]}));
        let plain = node(&json!({}));
        assert_eq!(taints(&demand("1", "1Gi"), &[&soft, &plain]), Some(vec![0, 100]));
        assert_eq!(taints(&demand("1", "1Gi"), &[&plain, &plain]), None);
    }

    #[test]
    fn an_image_without_a_tag_is_the_latest() {
        assert_eq!(full_name("registry:5000/a/b"), "registry:5000/a/b:latest");
        assert_eq!(full_name("nginx:1.27"), "nginx:1.27");
    }
}

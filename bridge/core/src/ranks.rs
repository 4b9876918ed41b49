//! Who sits where: pods in rank order, over the nodes of an allocation.

use crate::{annotations::Distribution, slurm::NodeAllocation, view::PodView};

const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
const JOB_INDEX: &str = "jobset.sigs.k8s.io/job-global-index";

/// Orders pods by rank: JobSet's job, then completion or worker index, then name. Names compare as
/// people count: `w-2` comes before `w-10`.
pub(crate) fn rank(pod: &PodView) -> impl Ord + use<> {
    let meta = &pod.metadata;
    let index = |key: &str| {
        let value = meta.labels.get(key).or_else(|| meta.annotations.get(key))?;
        value.parse::<u64>().ok()
    };
    let job = index(JOB_INDEX).unwrap_or(u64::MAX);
    let pod = index(COMPLETION_INDEX).or_else(|| index(WORKER_INDEX)).unwrap_or(u64::MAX);
    (job, pod, natural(&meta.name), meta.name.clone())
}

/// The pod's index in its Job.
pub(crate) fn completion_index(pod: &PodView) -> Option<usize> {
    let meta = &pod.metadata;
    let index =
        meta.labels.get(COMPLETION_INDEX).or_else(|| meta.annotations.get(COMPLETION_INDEX));
    index?.parse().ok()
}

/// The name as text and numbers in turn.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        parts.push((text.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = tail;
    }
    parts
}

/// Gives each of so many ranks a node of the allocation, by its index. `None` if they don't fit.
pub(crate) fn seats(
    ranks: usize,
    allocation: &[NodeAllocation],
    cpus_per_task: u32,
    per_node: Option<u32>,
    distribution: Distribution,
) -> Option<Vec<usize>> {
    let most = per_node.map_or(usize::MAX, |most| most.max(1) as usize);
    let room = room(ranks, allocation, cpus_per_task).into_iter().map(|room| room.min(most));
    let room: Vec<_> = room.collect();
    let counts = counts(ranks, &room)?;
    Some(match distribution {
        Distribution::Block => block(&counts),
        Distribution::Cyclic => cyclic(&counts),
    })
}

/// How many tasks each node has room for.
fn room(ranks: usize, allocation: &[NodeAllocation], cpus_per_task: u32) -> Vec<usize> {
    let even = ranks.div_ceil(allocation.len().max(1));
    let untold = allocation.iter().all(|node| node.cpus == 0);
    let fits = |node: &NodeAllocation| (node.cpus / cpus_per_task.max(1)).max(1) as usize;
    allocation.iter().map(|node| if untold { even } else { fits(node) }).collect()
}

/// One task to each node first, then each node filled in turn: no allocated node stays empty.
fn counts(ranks: usize, room: &[usize]) -> Option<Vec<usize>> {
    if ranks > room.iter().sum() {
        return None;
    }
    let mut left = ranks;
    let mut counts: Vec<usize> = room.iter().map(|_| take(&mut left, 1)).collect();
    for (count, room) in counts.iter_mut().zip(room) {
        *count += take(&mut left, room - *count);
    }
    Some(counts)
}

fn take(left: &mut usize, most: usize) -> usize {
    let taken = most.min(*left);
    *left -= taken;
    taken
}

fn block(counts: &[usize]) -> Vec<usize> {
    let nodes = counts.iter().enumerate();
    nodes.flat_map(|(node, count)| std::iter::repeat_n(node, *count)).collect()
}

fn cyclic(counts: &[usize]) -> Vec<usize> {
    let rounds = counts.iter().copied().max().unwrap_or(0);
    let round = |round: usize| (0..counts.len()).filter(move |node| round < counts[*node]);
    (0..rounds).flat_map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seated(
        ranks: usize,
        cpus: &[u32],
        per_task: u32,
        most: Option<u32>,
        distribution: Distribution,
    ) -> String {
        let allocation: Vec<_> =
            cpus.iter().map(|cpus| NodeAllocation { node: "n".into(), cpus: *cpus }).collect();
        let Some(seats) = seats(ranks, &allocation, per_task, most, distribution) else {
            return "no room".into();
        };
        seats.iter().map(ToString::to_string).collect::<Vec<_>>().join("")
    }

    #[test]
    fn ranks_go_to_nodes_in_order() {
        use Distribution::{Block, Cyclic};
        #[rustfmt::skip]
        let rows = [
            // ranks  CPUs on nodes  per task  how     node of each rank
            (1,       vec![4],       4,        Block,  "0"),
            (4,       vec![2, 2],    1,        Block,  "0011"),
            (4,       vec![2, 2],    1,        Cyclic, "0101"),
            (4,       vec![1, 3],    1,        Block,  "0111"),
            (4,       vec![1, 3],    1,        Cyclic, "0111"),
            (5,       vec![3, 2],    1,        Cyclic, "01010"),
            (3,       vec![8, 8],    2,        Block,  "001"), // whole nodes: none stays empty
            (3,       vec![2, 2],    1,        Block,  "001"), // rounded up to a core
            (3,       vec![0, 0],    4,        Block,  "001"), // an API that doesn't tell CPUs
            (2,       vec![4, 4, 4], 4,        Block,  "01"),
            (4,       vec![4, 4],    4,        Block,  "no room"),
            (1,       vec![],        4,        Block,  "no room"),
        ];
        for (ranks, cpus, per_task, how, expected) in rows {
            assert_eq!(
                seated(ranks, &cpus, per_task, None, how),
                expected,
                "{ranks} on {cpus:?} {how:?}"
            );
        }
    }

    #[test]
    fn no_node_gets_more_ranks_than_the_bound() {
        let seated = |cpus: &[u32], most| seated(3, cpus, 1, Some(most), Distribution::Block);
        assert_eq!(seated(&[8, 8, 8], 1), "012");
        assert_eq!(seated(&[8, 8], 2), "001");
        assert_eq!(seated(&[8, 8], 1), "no room");
    }

    #[test]
    fn pods_are_ranked_by_index_then_by_name_as_people_count() {
        let pod = |name: &str, labels: serde_json::Value| -> PodView {
            let metadata = json!({ "name": name, "uid": name, "labels": labels });
            serde_json::from_value(json!({ "metadata": metadata })).unwrap()
        };
        let mut pods = [
            pod("w-10", json!({})),
            pod("w-9", json!({})),
            pod("a", json!({})),
            pod("z", json!({ COMPLETION_INDEX: "1" })),
            pod("y", json!({ WORKER_INDEX: "0" })),
            pod("x", json!({ JOB_INDEX: "3", COMPLETION_INDEX: "0" })),
        ];
        pods.sort_by_key(rank);
        let names: Vec<_> = pods.iter().map(|pod| pod.metadata.name.as_str()).collect();
        assert_eq!(names, ["x", "y", "z", "a", "w-9", "w-10"]);
    }
}

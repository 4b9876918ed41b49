//! Who a pod is among the pods of its job: its rank, its node, the others' nodes.
//!
//! ```text
//!   allocation ─▶ Placement ─▶ annotations on the pod, in the patch that names its node
//!                                   │ fieldRef
//!                                   ▼
//!                    SLURM_PROCID … in its containers (admission::environment)
//! ```
//!
//! Written before the pod is bound, so a container never starts without it.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{JobId, SlurmNode, fold_hostlist};

use crate::{
    names::{
        KubeNode, NODE_ANNOTATION, ObjectKey, PLACED_FIRST_POD, PLACED_JOB, PLACED_LOCAL_ID,
        PLACED_NODE_COUNT, PLACED_NODE_ID, PLACED_NODE_LIST, PLACED_NODES, PLACED_RANK,
        PLACED_RANKS, PLACED_SLURM_NODE,
    },
    view::PodView,
};

/// All annotations of an object may have 256 KiB; a list longer than this is left out.
const LONGEST_LIST: usize = 64 * 1024;

/// One pod's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) slurm: SlurmNode,
    pub(crate) node: KubeNode,
    pub(crate) rank: usize,
    /// The node's place in the allocation.
    pub(crate) node_id: usize,
    /// Its place among the job's pods on that node.
    pub(crate) local_id: usize,
    pub(crate) whole: Arc<Whole>,
}

/// What all pods of a job share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    job: JobId,
    ranks: usize,
    n_nodes: usize,
    node_list: String,
    /// `None` where some node isn't known to Kubernetes.
    nodes: Option<String>,
    first: String,
}

impl Whole {
    /// Of a job with these pods, in rank order, on these nodes.
    pub(crate) fn new<'a>(
        job: JobId,
        pods: &[ObjectKey],
        nodes: impl Iterator<Item = (&'a SlurmNode, Option<&'a KubeNode>)>,
    ) -> Arc<Self> {
        let (slurm, kube): (Vec<_>, Vec<_>) = nodes.unzip();
        let kube: Option<Vec<&str>> = kube.into_iter().map(|it| Some(it?.as_str())).collect();
        Arc::new(Self {
            job,
            ranks: pods.len(),
            n_nodes: slurm.len(),
            node_list: fold_hostlist(&slurm.iter().map(|node| node.as_str()).collect::<Vec<_>>()),
            nodes: kube.map(|names| names.join(",")),
            first: pods.first().map_or(String::new(), |pod| pod.name().to_owned()),
        })
    }
}

impl Placement {
    /// What is written on the pod. What doesn't fit isn't there: `None` takes it away.
    pub(crate) fn annotations(&self) -> BTreeMap<&'static str, Option<String>> {
        let Whole { job, ranks, n_nodes, node_list, nodes, first } = &*self.whole;
        let short = |list: &String| list.len() <= LONGEST_LIST;
        BTreeMap::from([
            (NODE_ANNOTATION, Some(self.node.to_string())),
            (PLACED_JOB, Some(job.to_string())),
            (PLACED_NODE_LIST, Some(node_list.clone()).filter(short)),
            (PLACED_NODES, nodes.clone().filter(short)),
            (PLACED_NODE_COUNT, Some(n_nodes.to_string())),
            (PLACED_SLURM_NODE, Some(self.slurm.to_string())),
            (PLACED_RANK, Some(self.rank.to_string())),
            (PLACED_RANKS, Some(ranks.to_string())),
            (PLACED_NODE_ID, Some(self.node_id.to_string())),
            (PLACED_LOCAL_ID, Some(self.local_id.to_string())),
            (PLACED_FIRST_POD, Some(first.clone())),
        ])
    }

    /// Whether the pod says all of it.
    pub(crate) fn is_written(&self, pod: &PodView) -> bool {
        let written = &pod.metadata.annotations;
        self.annotations().into_iter().all(|(key, value)| written.get(key) == value.as_ref())
    }
}

/// The place of each rank on its node: how many before it are there.
pub(crate) fn local_ids(places: &[usize]) -> Vec<usize> {
    let mut seated: BTreeMap<usize, usize> = BTreeMap::new();
    let mut next = |place: &usize| {
        let count = seated.entry(*place).or_default();
        *count += 1;
        *count - 1
    };
    places.iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_ids_count_from_zero_on_each_node() {
        assert_eq!(local_ids(&[0, 0, 1, 1, 1]), [0, 1, 0, 1, 2]);
        assert_eq!(local_ids(&[0, 1, 0, 1]), [0, 0, 1, 1]);
    }

    #[test]
    fn a_pod_is_told_who_it_is_among_the_others() {
        let pods = [ObjectKey::new("a", "r-0"), ObjectKey::new("a", "r-1")];
        let slurm: Vec<SlurmNode> = vec!["n1".into(), "n2".into()];
        let kube: Vec<KubeNode> = vec!["worker-a".into(), "worker-b".into()];
        let whole = Whole::new(JobId(7), &pods, slurm.iter().zip(kube.iter().map(Some)));
        let (node, slurm) = (kube[1].clone(), slurm[1].clone());
        let placement = Placement { slurm, node, rank: 1, node_id: 1, local_id: 0, whole };
        let lines = placement.annotations().into_iter().map(|(key, value)| match value {
            Some(value) => format!("{key}: {value}"),
            None => format!("{key} is left out"),
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
        drawbridge.dev/job-id: 7
        drawbridge.dev/local-id: 0
        drawbridge.dev/node-count: 2
        drawbridge.dev/node-id: 1
        drawbridge.dev/nodes: worker-a,worker-b
        drawbridge.dev/rank: 1
        drawbridge.dev/rank-0-pod: r-0
        drawbridge.dev/ranks: 2
        drawbridge.dev/slurm-node: n2
        drawbridge.dev/slurm-nodelist: n[1-2]
        slinky.slurm.net/slurm-node: worker-b
        ");
    }
}

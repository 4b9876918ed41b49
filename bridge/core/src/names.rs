//! The names that users, Slurm and other tools see. They stay as the existing bridge spells them.

use drawbridge_sim::name_type;

/// Label on a pod: the number of its Slurm job.
pub const JOB_ID_LABEL: &str = "scheduler.slinky.slurm.net/slurm-jobid";
/// Annotation on a pod: the Kubernetes node that it was given.
pub const NODE_ANNOTATION: &str = "slinky.slurm.net/slurm-node";
/// Finalizer on a pod: keeps it until its job has been told.
pub const FINALIZER: &str = "scheduler.slinky.slurm.net/finalizer";
/// Label on a Kubernetes node: its name in Slurm.
pub const SLURM_NODE_LABEL: &str = "slinky.slurm.net/slurm-nodename";
/// Label on a NodeSet's worker pod: its name in Slurm.
pub const WORKER_LABEL: &str = "nodeset.slinky.slurm.net/pod-hostname";
/// Taint on a Kubernetes node that Slurm also knows; its value is the scheduler's name.
pub const MANAGED_TAINT: &str = "slinky.slurm.net/managed-node";
/// Label on a pod: the PodGroup that it belongs to, in its own namespace.
pub const POD_GROUP_LABEL: &str = "scheduling.x-k8s.io/pod-group";
/// Label on a Kubernetes node, whatever its value: Slurm shall have it as an external node.
pub const EXTERNAL_LABEL: &str = "scheduler.slinky.slurm.net/external-node";
/// Annotation on an external node: partitions that it shall be in, which become its features.
pub const EXTERNAL_PARTITIONS: &str = "scheduler.slinky.slurm.net/external-node-partitions";
/// Annotation on an external node: where it is in Slurm's topology.
pub const TOPOLOGY_SPEC: &str = "topology.slinky.slurm.net/spec";
/// Taint on a Kubernetes node on which Slurm places nothing.
pub const UNAVAILABLE_TAINT: &str = "slinky.slurm.net/slurm-unavailable";
/// How the reason of a drained node begins if the drain is ours.
pub const REASON_PREFIX: &str = "slurm-bridge:";
/// Annotation: how ranks go to nodes, `block` or `cyclic`.
pub const DISTRIBUTION: &str = "drawbridge.dev/distribution";
/// Annotation: whether the pods of a workload start together or not at all, `true` or `false`.
pub const GANG: &str = "drawbridge.dev/gang";
/// Annotation on a pod that has its node: the number of its Slurm job.
pub const PLACED_JOB: &str = "drawbridge.dev/job-id";
/// The same: the job's nodes, as Slurm folds them.
pub const PLACED_NODE_LIST: &str = "drawbridge.dev/slurm-nodelist";
/// The same: the job's nodes as Kubernetes names them, with commas between.
pub const PLACED_NODES: &str = "drawbridge.dev/nodes";
/// The same: how many nodes the job has.
pub const PLACED_NODE_COUNT: &str = "drawbridge.dev/node-count";
/// The same: the pod's own node as Slurm names it.
pub const PLACED_SLURM_NODE: &str = "drawbridge.dev/slurm-node";
/// The same: the pod's rank.
pub const PLACED_RANK: &str = "drawbridge.dev/rank";
/// The same: how many ranks there are.
pub const PLACED_RANKS: &str = "drawbridge.dev/ranks";
/// The same: which of the job's nodes the pod is on.
pub const PLACED_NODE_ID: &str = "drawbridge.dev/node-id";
/// The same: which of the job's pods on that node it is.
pub const PLACED_LOCAL_ID: &str = "drawbridge.dev/local-id";
/// The same: the pod that has rank 0.
pub const PLACED_FIRST_POD: &str = "drawbridge.dev/rank-0-pod";
/// All annotations that say where a pod was placed.
pub const PLACED: [&str; 10] = [
    PLACED_JOB,
    PLACED_NODE_LIST,
    PLACED_NODES,
    PLACED_NODE_COUNT,
    PLACED_SLURM_NODE,
    PLACED_RANK,
    PLACED_RANKS,
    PLACED_NODE_ID,
    PLACED_LOCAL_ID,
    PLACED_FIRST_POD,
];
/// The user under which the bridge talks to the twin's API server; elsewhere its credentials say.
pub const BRIDGE_USER: &str = "system:serviceaccount:drawbridge-system:drawbridge";
/// The namespace that the bridge itself lives in, unless an operator chooses another. Never a managed
/// one: its own pods would wait for webhooks that they have yet to serve.
pub const BRIDGE_NAMESPACE: &str = "drawbridge-system";
/// Condition on a pod: whether its job is suspended.
pub const SUSPENDED_CONDITION: &str = "SlurmSuspended";
/// Condition on a Kubernetes node: whether Slurm would place something on it.
pub const NODE_CONDITION: &str = "SlurmSchedulable";

/// Condition on a Kubernetes node: whether a maintenance reservation of Slurm has it, or will.
pub const MAINTENANCE_CONDITION: &str = "SlurmMaintenance";
/// Condition on a Kubernetes node that shall be an external node: whether it is.
pub const REGISTERED_CONDITION: &str = "SlurmRegistered";

name_type! {
    /// A node as Kubernetes names it. A Slurm node is another type: the two names differ.
    KubeNode
}
name_type! {
    /// The uid of a Kubernetes object. A pod is its uid; its name may come back as another pod.
    Uid
}
name_type! {
    /// `namespace/name` of an object, to find and to print it.
    ObjectKey
}

impl ObjectKey {
    /// The key of an object in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        format!("{namespace}/{name}").into()
    }

    /// The part before the slash.
    pub fn namespace(&self) -> &str {
        self.as_str().split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The part after the slash.
    pub fn name(&self) -> &str {
        self.as_str().split_once('/').map_or(self.as_str(), |(_, name)| name)
    }
}

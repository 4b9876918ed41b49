//! Reading Kubernetes objects: the few paths that the twin looks at.

use drawbridge_core::names::JOB_ID_LABEL;
use serde_json::Value;

/// The label by which a pod names its PodGroup.
const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";
/// The label by which a pod names its JobSet.
const JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";
/// The label by which a pod names its LeaderWorkerSet, and the annotation by which it names its leader.
const LEADER_WORKER_SET: &str = "leaderworkerset.sigs.k8s.io/name";
const LEADER: &str = "leaderworkerset.sigs.k8s.io/leader-name";
/// The annotation of a LeaderWorkerSet's pod that says how many its group has.
const GROUP_SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
/// The annotation that the Binding leaves on the pod.
const SLURM_NODE: &str = "slurm.node";

/// An object of the API, to be asked for what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a>(pub(crate) &'a Value);

impl<'a> Object<'a> {
    /// The value at a path. `Value::pointer` would do, but it makes a text of each step.
    pub(crate) fn at(self, path: &[&str]) -> Option<&'a Value> {
        path.iter().try_fold(self.0, |value, key| value.get(key))
    }

    /// The text at a path.
    pub(crate) fn text(self, path: &[&str]) -> Option<&'a str> {
        self.at(path)?.as_str()
    }

    /// A field of its metadata, or nothing at all.
    fn metadata(self, field: &str) -> &'a str {
        self.text(&["metadata", field]).unwrap_or_default()
    }

    pub(crate) fn label(self, name: &str) -> Option<&'a str> {
        self.text(&["metadata", "labels", name])
    }

    pub(crate) fn annotation(self, name: &str) -> Option<&'a str> {
        self.text(&["metadata", "annotations", name])
    }

    pub(crate) fn name(self) -> &'a str {
        self.metadata("name")
    }

    pub(crate) fn namespace(self) -> &'a str {
        self.metadata("namespace")
    }

    pub(crate) fn uid(self) -> &'a str {
        self.metadata("uid")
    }

    /// `namespace/name`, or the name alone.
    pub(crate) fn key(self) -> String {
        match self.namespace() {
            "" => self.name().to_owned(),
            namespace => format!("{namespace}/{}", self.name()),
        }
    }

    /// The node a pod is bound to.
    pub(crate) fn node(self) -> Option<&'a str> {
        self.text(&["spec", "nodeName"]).filter(|name| !name.is_empty())
    }

    pub(crate) fn phase(self) -> &'a str {
        self.text(&["status", "phase"]).unwrap_or("Pending")
    }

    /// Whether a pod's containers have ended for good.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self.phase(), "Succeeded" | "Failed")
    }

    pub(crate) fn is_terminating(self) -> bool {
        self.at(&["metadata", "deletionTimestamp"]).is_some()
    }

    pub(crate) fn scheduler(self) -> &'a str {
        self.text(&["spec", "schedulerName"]).unwrap_or_default()
    }

    /// The Slurm job that a pod's label names.
    pub(crate) fn job(self) -> Option<drawbridge_sim::JobId> {
        self.label(JOB_ID_LABEL)?.parse().ok().map(drawbridge_sim::JobId)
    }

    /// The PodGroup that a pod names, of either API.
    pub(crate) fn pod_group(self) -> Option<&'a str> {
        self.text(&["spec", "schedulingGroup", "podGroupName"]).or_else(|| self.label(POD_GROUP))
    }

    /// The gang that a pod seems to be part of.
    pub(crate) fn gang(self) -> Option<&'a str> {
        let leader = || self.label(LEADER_WORKER_SET).map(|_| self.name());
        self.pod_group()
            .or_else(|| self.annotation(LEADER))
            .or_else(leader)
            .or_else(|| self.label(JOB_SET))
    }

    /// How many pods its group of a LeaderWorkerSet has.
    pub(crate) fn group_size(self) -> Option<u64> {
        self.annotation(GROUP_SIZE)?.parse().ok()
    }

    /// How many pods a PodGroup, of either API, has to have.
    pub(crate) fn least_members(self) -> u64 {
        let gang = self.at(&["spec", "schedulingPolicy", "gang", "minCount"]);
        let least = gang.or_else(|| self.at(&["spec", "minMember"]));
        least.and_then(Value::as_u64).unwrap_or(1)
    }

    /// The Slurm node that the Binding named.
    pub(crate) fn slurm_node(self) -> Option<&'a str> {
        self.annotation(SLURM_NODE)
    }

    pub(crate) fn has_finalizer(self, name: &str) -> bool {
        let finalizers = self.at(&["metadata", "finalizers"]).and_then(Value::as_array);
        finalizers.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)))
    }

    /// One of the conditions in its status.
    pub(crate) fn condition(self, kind: &str) -> Option<Self> {
        let all = self.at(&["status", "conditions"])?.as_array()?;
        all.iter().find(|it| it["type"] == kind).map(Object)
    }

    /// The conditions that the bridge writes, each as `Type=Status: message`.
    pub(crate) fn slurm_conditions(self) -> Vec<String> {
        let all = self.at(&["status", "conditions"]).and_then(Value::as_array);
        let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let ours = all.into_iter().flatten().filter(|it| text(it, "type").starts_with("Slurm"));
        ours.map(|it| {
            let [kind, status, message] = ["type", "status", "message"].map(|key| text(it, key));
            format!("{kind}={status}: {message}")
        })
        .collect()
    }

    /// A node's taints, as kubectl prints them.
    pub(crate) fn taints(self) -> Vec<String> {
        let all = self.at(&["spec", "taints"]).and_then(Value::as_array);
        let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let shown = all.into_iter().flatten().map(|it| {
            let [key, value, effect] = ["key", "value", "effect"].map(|key| text(it, key));
            let equals = if value.is_empty() { "" } else { "=" };
            format!("{key}{equals}{value}:{effect}")
        });
        shown.collect()
    }

    /// Why a pod isn't scheduled: the message of its `PodScheduled` condition.
    pub(crate) fn waits_because(self) -> Option<&'a str> {
        let scheduled = self.condition("PodScheduled")?;
        if scheduled.text(&["status"]) == Some("False") {
            scheduled.text(&["message"])
        } else {
            None
        }
    }

    /// Whether scheduling gates keep it from every scheduler.
    pub(crate) fn is_gated(self) -> bool {
        let gates = self.at(&["spec", "schedulingGates"]).and_then(|it| it.as_array());
        gates.is_some_and(|gates| !gates.is_empty())
    }

    /// The controller that made it: its uid, and its name as `Kind/name`.
    pub(crate) fn controller(self) -> Option<(&'a str, String)> {
        let owners = self.at(&["metadata", "ownerReferences"])?.as_array()?;
        let owner = owners.iter().find(|it| it["controller"] == true)?;
        let name = format!("{}/{}", owner["kind"].as_str()?, owner["name"].as_str()?);
        Some((owner["uid"].as_str()?, name))
    }

    /// Who last wrote it, as its managed fields say; nobody if they don't.
    pub(crate) fn last_writer(self) -> &'a str {
        let fields = self.at(&["metadata", "managedFields"]).and_then(Value::as_array);
        let last = fields.into_iter().flatten().max_by_key(|it| it["time"].as_str());
        last.and_then(|it| it["manager"].as_str()).unwrap_or_default()
    }

    /// When the last of a pod's containers ended.
    pub(crate) fn ended_at(self) -> Option<&'a str> {
        let all = self.at(&["status", "containerStatuses"])?.as_array()?;
        all.iter().filter_map(|it| it["state"]["terminated"]["finishedAt"].as_str()).max()
    }

    pub(crate) fn is_cordoned(self) -> bool {
        self.at(&["spec", "unschedulable"]) == Some(&Value::Bool(true))
    }
}

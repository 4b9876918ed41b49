//! Reading Kubernetes objects: the few paths that the twin looks at.

use serde_json::Value;

/// The label by which a pod names its Slurm job.
const JOB_LABEL: &str = "/metadata/labels/scheduler.slinky.slurm.net~1slurm-jobid";
/// The label by which a pod names its gang.
const GANG_LABEL: &str = "/metadata/labels/scheduling.x-k8s.io~1pod-group";
/// The annotation that the Binding leaves on the pod.
const SLURM_NODE: &str = "/metadata/annotations/slurm.node";

/// An object of the API, to be asked for what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a>(pub(crate) &'a Value);

impl<'a> Object<'a> {
    /// The text at a JSON pointer.
    pub(crate) fn text(self, pointer: &str) -> Option<&'a str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// The text at a JSON pointer, or nothing at all.
    fn or_empty(self, pointer: &str) -> &'a str {
        self.text(pointer).unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'a str {
        self.or_empty("/metadata/name")
    }

    pub(crate) fn namespace(self) -> &'a str {
        self.or_empty("/metadata/namespace")
    }

    pub(crate) fn uid(self) -> &'a str {
        self.or_empty("/metadata/uid")
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
        self.text("/spec/nodeName").filter(|name| !name.is_empty())
    }

    pub(crate) fn phase(self) -> &'a str {
        self.text("/status/phase").unwrap_or("Pending")
    }

    /// Whether a pod's containers have ended for good.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self.phase(), "Succeeded" | "Failed")
    }

    pub(crate) fn is_terminating(self) -> bool {
        self.0.pointer("/metadata/deletionTimestamp").is_some()
    }

    pub(crate) fn scheduler(self) -> &'a str {
        self.or_empty("/spec/schedulerName")
    }

    /// The Slurm job that a pod's label names.
    pub(crate) fn job(self) -> Option<drawbridge_sim::JobId> {
        self.text(JOB_LABEL)?.parse().ok().map(drawbridge_sim::JobId)
    }

    /// The gang that a pod's label names.
    pub(crate) fn gang(self) -> Option<&'a str> {
        self.text(GANG_LABEL)
    }

    /// The Slurm node that the Binding named.
    pub(crate) fn slurm_node(self) -> Option<&'a str> {
        self.text(SLURM_NODE)
    }

    pub(crate) fn has_finalizer(self, name: &str) -> bool {
        let finalizers = self.0.pointer("/metadata/finalizers").and_then(Value::as_array);
        finalizers.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)))
    }

    /// One of the conditions in its status.
    pub(crate) fn condition(self, kind: &str) -> Option<Self> {
        let all = self.0.pointer("/status/conditions")?.as_array()?;
        all.iter().find(|it| it["type"] == kind).map(Object)
    }

    /// Why a pod isn't scheduled: the message of its `PodScheduled` condition.
    pub(crate) fn waits_because(self) -> Option<&'a str> {
        let scheduled = self.condition("PodScheduled")?;
        if scheduled.text("/status") == Some("False") { scheduled.text("/message") } else { None }
    }

    /// The controller that made it, as `Kind/name`.
    pub(crate) fn controller(self) -> Option<String> {
        let owners = self.0.pointer("/metadata/ownerReferences")?.as_array()?;
        let owner = owners.iter().find(|it| it["controller"] == true)?;
        Some(format!("{}/{}", owner["kind"].as_str()?, owner["name"].as_str()?))
    }

    pub(crate) fn is_cordoned(self) -> bool {
        self.0.pointer("/spec/unschedulable") == Some(&Value::Bool(true))
    }
}

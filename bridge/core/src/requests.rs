//! The requests that we send to the Kubernetes API server.
//!
//! Each is safe late or twice: patches carry the object's uid and the resourceVersion that they
//! were decided on, a Binding carries the uid, evictions and deletions have it as a precondition.

use drawbridge_sim::{Epoch, JobId, SlurmNode, Time, fnv1a};
use serde_json::{Map, Value, json};

use crate::{
    effect::{KubeRequest, Method},
    names::{FINALIZER, JOB_ID_LABEL, KubeNode},
    placement::Placement,
    view::{Meta, NodeView, PodGroupView, PodView, SCHEDULED, SELECTED_NODE, Taint},
};

/// Writes times, and our name, into what we send.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    pub(crate) epoch: Epoch,
    pub(crate) component: String,
}

/// An event about a pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note<'a> {
    pub(crate) reason: &'static str,
    pub(crate) message: &'a str,
    pub(crate) warning: bool,
    /// It is said once in the life of the pod, whoever says it.
    pub(crate) once: bool,
}

/// A condition to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: bool,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

/// Reads a pod.
pub(crate) fn read(pod: &PodView) -> KubeRequest {
    request(Method::Get, pod_path(pod, ""), None)
}

/// Labels a pod with its job and holds it with our finalizer.
pub(crate) fn mark(pod: &PodView, job: JobId) -> KubeRequest {
    let mut finalizers = pod.metadata.finalizers.clone();
    if !pod.has_finalizer() {
        finalizers.push(FINALIZER.into());
    }
    let labels = json!({ JOB_ID_LABEL: job.to_string() });
    patch_meta(pod, json!({ "labels": labels, "finalizers": finalizers }))
}

/// Writes the node that a pod was given, and who it is there.
pub(crate) fn place(pod: &PodView, placement: &Placement) -> KubeRequest {
    patch_meta(pod, json!({ "annotations": placement.annotations() }))
}

/// Lets a pod go.
pub(crate) fn release(pod: &PodView) -> KubeRequest {
    let finalizers: Vec<_> =
        pod.metadata.finalizers.iter().filter(|name| *name != FINALIZER).collect();
    patch_meta(pod, json!({ "finalizers": finalizers }))
}

/// Binds a pod to a node.
pub(crate) fn bind(pod: &PodView, job: JobId, slurm: &SlurmNode, node: &KubeNode) -> KubeRequest {
    let body = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": pod.metadata.name,
            "namespace": pod.metadata.namespace,
            "uid": pod.uid().as_str(),
            "annotations": {
                "slurm.job.id": job.to_string(),
                "slurm.node": slurm.as_str(),
            },
        },
        "target": { "apiVersion": "v1", "kind": "Node", "name": node.as_str() },
    });
    request(Method::Post, pod_path(pod, "/binding"), Some(body))
}

/// Asks a pod to leave, if its disruption budget permits.
pub(crate) fn evict(pod: &PodView, grace: Option<u64>) -> KubeRequest {
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "name": pod.metadata.name, "namespace": pod.metadata.namespace },
        "deleteOptions": options(pod, grace),
    });
    request(Method::Post, pod_path(pod, "/eviction"), Some(body))
}

/// Deletes a pod.
pub(crate) fn delete(pod: &PodView, grace: Option<u64>) -> KubeRequest {
    let mut body = options(pod, grace);
    body["apiVersion"] = json!("v1");
    body["kind"] = json!("DeleteOptions");
    request(Method::Delete, pod_path(pod, ""), Some(body))
}

fn options(pod: &PodView, grace: Option<u64>) -> Value {
    let mut options = json!({ "preconditions": { "uid": pod.uid().as_str() } });
    if let Some(secs) = grace {
        options["gracePeriodSeconds"] = json!(secs);
    }
    options
}

/// Replaces a node's taints.
pub(crate) fn taint(node: &NodeView, taints: &[Taint]) -> KubeRequest {
    let mut body = patch(&node.metadata, Map::new());
    body["spec"] = json!({ "taints": taints });
    request(Method::MergePatch, node_path(node, ""), Some(body))
}

/// Says on a claim for which node its volume is to be made.
pub(crate) fn select_node(claim: &Meta, node: &KubeNode) -> KubeRequest {
    let mut fields = Map::new();
    fields.insert("annotations".into(), json!({ SELECTED_NODE: node.as_str() }));
    let Meta { namespace, name, .. } = claim;
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
    request(Method::MergePatch, path, Some(patch(claim, fields)))
}

/// Gives a volume to a claim, as whoever binds them would.
pub(crate) fn give_volume(volume: &Meta, claim: &Meta) -> KubeRequest {
    let mut fields = Map::new();
    fields.insert("annotations".into(), json!({ "pv.kubernetes.io/bound-by-controller": "yes" }));
    let mut body = patch(volume, fields);
    body["spec"] = json!({ "claimRef": {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace, "name": claim.name, "uid": claim.uid.as_str(),
    } });
    request(Method::MergePatch, format!("/api/v1/persistentvolumes/{}", volume.name), Some(body))
}

impl Author {
    /// Writes a condition on a pod.
    pub(crate) fn pod_condition(&self, now: Time, pod: &PodView, claim: Claim<'_>) -> KubeRequest {
        let body = self.condition(now, &pod.metadata, claim);
        request(Method::StrategicPatch, pod_path(pod, "/status"), Some(body))
    }

    /// Writes a condition on a node.
    pub(crate) fn node_condition(
        &self,
        now: Time,
        node: &NodeView,
        claim: Claim<'_>,
    ) -> KubeRequest {
        let body = self.condition(now, &node.metadata, claim);
        request(Method::StrategicPatch, node_path(node, "/status"), Some(body))
    }

    /// Writes on a group of `scheduling.k8s.io` that its pods have been placed.
    pub(crate) fn group_scheduled(&self, now: Time, group: &PodGroupView) -> Option<KubeRequest> {
        let message = format!("Pod group admitted by {}", self.component);
        let claim = Claim { kind: SCHEDULED, status: true, reason: "Scheduled", message: &message };
        let (api, Meta { namespace, name, .. }) = (group.api()?, &group.metadata);
        let path = format!("{api}/namespaces/{namespace}/podgroups/{name}/status");
        let body = self.condition(now, &group.metadata, claim);
        Some(request(Method::StrategicPatch, path, Some(body)))
    }

    fn condition(&self, now: Time, meta: &Meta, claim: Claim<'_>) -> Value {
        let mut body = patch(meta, Map::new());
        body["status"] = json!({ "conditions": [{
            "type": claim.kind,
            "status": if claim.status { "True" } else { "False" },
            "reason": claim.reason,
            "message": claim.message,
            "lastTransitionTime": self.epoch.rfc3339(now),
        }] });
        body
    }

    /// Writes an event about a pod. Its name follows from what it says, so twice is once.
    pub(crate) fn event(&self, now: Time, pod: &PodView, note: Note<'_>) -> KubeRequest {
        let Meta { name, namespace, uid, resource_version, .. } = &pod.metadata;
        let time = self.epoch.rfc3339(now);
        let at = if note.once { 0 } else { now.as_ms() };
        let said = format!("{uid} {} {} {at}", note.reason, note.message);
        let digest = fnv1a(said.as_bytes());
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "name": format!("{name}.{digest:016x}"), "namespace": namespace },
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "name": name, "namespace": namespace,
                "uid": uid.as_str(), "resourceVersion": resource_version,
            },
            "reason": note.reason,
            "message": note.message,
            "type": if note.warning { "Warning" } else { "Normal" },
            "count": 1,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "source": { "component": self.component },
            "reportingComponent": self.component,
            "reportingInstance": "",
        });
        request(Method::Post, format!("/api/v1/namespaces/{namespace}/events"), Some(body))
    }
}

fn patch_meta(pod: &PodView, fields: Value) -> KubeRequest {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    request(Method::MergePatch, pod_path(pod, ""), Some(patch(&pod.metadata, fields)))
}

/// A patch that applies only to the state that it was decided on.
fn patch(meta: &Meta, mut fields: Map<String, Value>) -> Value {
    fields.insert("uid".into(), json!(meta.uid.as_str()));
    fields.insert("resourceVersion".into(), json!(meta.resource_version));
    json!({ "metadata": fields })
}

fn pod_path(pod: &PodView, subresource: &str) -> String {
    let Meta { namespace, name, .. } = &pod.metadata;
    format!("/api/v1/namespaces/{namespace}/pods/{name}{subresource}")
}

fn node_path(node: &NodeView, subresource: &str) -> String {
    format!("/api/v1/nodes/{}{subresource}", node.metadata.name)
}

fn request(method: Method, path: String, body: Option<Value>) -> KubeRequest {
    KubeRequest { method, path, query: Vec::new(), body }
}

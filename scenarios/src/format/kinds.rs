//! The Kubernetes kinds that a scenario may have, as data: one row each.
//!
//! A kind that the twin's API server doesn't serve is refused here, with its place in the file.

use serde_json::{Value, json};

/// One kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// As manifests write it.
    pub(crate) api_version: &'static str,
    /// As manifests write it.
    pub(crate) kind: &'static str,
    /// As paths write it.
    pub(crate) plural: &'static str,
    /// Whether it lives in namespaces.
    pub(crate) namespaced: bool,
    /// Whether it has replicas to scale.
    pub(crate) scalable: bool,
}

#[rustfmt::skip]
static KINDS: &[Kind] = &[
    row("v1",                           "Namespace",     "namespaces",      false, false),
    row("v1",                           "Node",          "nodes",           false, false),
    row("v1",                           "Pod",           "pods",            true,  false),
    row("v1",                           "ConfigMap",     "configmaps",      true,  false),
    row("v1",                           "ServiceAccount", "serviceaccounts", true, false),
    row("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false, false),
    row("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false, false),
    row("batch/v1",                     "Job",           "jobs",            true,  false),
    row("apps/v1",                      "Deployment",    "deployments",     true,  true),
    row("apps/v1",                      "ReplicaSet",    "replicasets",     true,  true),
    row("apps/v1",                      "StatefulSet",   "statefulsets",    true,  true),
    row("apps/v1",                      "DaemonSet",     "daemonsets",      true,  false),
    row("batch/v1",                     "CronJob",       "cronjobs",        true,  false),
    row("autoscaling/v2",               "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, false),
    row("policy/v1",                    "PodDisruptionBudget", "poddisruptionbudgets", true, false),
    row("v1",                           "Service",       "services",        true,  false),
    row("v1",                           "PersistentVolumeClaim", "persistentvolumeclaims", true, false),
    row("v1",                           "PersistentVolume", "persistentvolumes", false, false),
    row("storage.k8s.io/v1",            "StorageClass",  "storageclasses",  false, false),
    row("resource.k8s.io/v1",           "DeviceClass",   "deviceclasses",   false, false),
    row("resource.k8s.io/v1",           "ResourceClaim", "resourceclaims",  true,  false),
    row("resource.k8s.io/v1",           "ResourceClaimTemplate", "resourceclaimtemplates", true, false),
    row("resource.k8s.io/v1",           "ResourceSlice", "resourceslices",  false, false),
    row("jobset.x-k8s.io/v1alpha2",     "JobSet",        "jobsets",         true,  false),
    row("leaderworkerset.x-k8s.io/v1",  "LeaderWorkerSet", "leaderworkersets", true, true),
    row("apiextensions.k8s.io/v1",      "CustomResourceDefinition", "customresourcedefinitions", false, false),
    row("scheduling.k8s.io/v1",         "PriorityClass", "priorityclasses", false, false),
    row("scheduling.x-k8s.io/v1alpha1", "PodGroup",      "podgroups",       true,  false),
    row("scheduling.k8s.io/v1beta1",    "PodGroup",      "podgroups",       true,  false),
    row("scheduling.k8s.io/v1alpha3",   "PodGroup",      "podgroups",       true,  false),
    row("scheduling.k8s.io/v1alpha2",   "PodGroup",      "podgroups",       true,  false),
    row("scheduling.k8s.io/v1beta1",    "Workload",      "workloads",       true,  false),
    row("slinky.slurm.net/v1beta1",     "NodeSet",       "nodesets",        true,  true),
    row("slinky.slurm.net/v1alpha1",    "NodeSet",       "nodesets",        true,  true),
];

/// Kinds of other people's operators, which aren't part of the twin: their objects are kept as they are, and
/// nobody makes pods of them.
#[rustfmt::skip]
static FOREIGN: &[Kind] = &[
    row("kubeflow.org/v2beta1",         "MPIJob",        "mpijobs",         true,  false),
    row("kubeflow.org/v1",              "PyTorchJob",    "pytorchjobs",     true,  false),
    row("trainer.kubeflow.org/v1alpha1", "TrainJob",     "trainjobs",       true,  false),
    row("ray.io/v1",                    "RayCluster",    "rayclusters",     true,  false),
];

const fn row(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    scalable: bool,
) -> Kind {
    Kind { api_version, kind, plural, namespaced, scalable }
}

/// The kind with this version and name.
pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static Kind> {
    all().find(|it| it.api_version == api_version && it.kind == kind)
}

/// The kind with this name, in the first version that is known.
pub(crate) fn by_name(kind: &str) -> Option<&'static Kind> {
    all().find(|it| it.kind == kind)
}

fn all() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(FOREIGN)
}

/// All names, each once.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let again = |at: usize| at > 0 && KINDS[at - 1].kind == KINDS[at].kind;
    let ours = (0..KINDS.len()).filter(move |at| !again(*at)).map(|at| KINDS[at].kind);
    ours.chain(FOREIGN.iter().map(|it| it.kind))
}

impl Kind {
    /// What has to be defined before the twin serves it.
    pub(crate) fn definition(&self) -> Option<Value> {
        if !FOREIGN.contains(self) {
            return None;
        }
        let (group, version) = self.api_version.split_once('/')?;
        let Self { kind, plural, .. } = self;
        let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        Some(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "versions": [{
                    "name": version, "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": anything },
                }],
            },
        }))
    }

    /// `/apis/apps/v1/namespaces/a/deployments`.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let root = match self.api_version.contains('/') {
            true => format!("/apis/{}", self.api_version),
            false => format!("/api/{}", self.api_version),
        };
        match self.namespaced {
            true => format!("{root}/namespaces/{namespace}/{}", self.plural),
            false => format!("{root}/{}", self.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_fakes::{KubeApi, Method, NoWebhooks, Request};
    use drawbridge_sim::{Epoch, Seed, Time};

    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let path = |kind: &str| by_name(kind).unwrap().collection("a");
        assert_eq!(path("Pod"), "/api/v1/namespaces/a/pods");
        assert_eq!(path("Node"), "/api/v1/nodes");
        assert_eq!(path("Deployment"), "/apis/apps/v1/namespaces/a/deployments");
    }

    #[test]
    fn the_twin_serves_every_kind() {
        let mut api = KubeApi::new(Epoch::DEFAULT, Seed(0));
        for kind in KINDS {
            let list = Request::new("test", Method::Get, kind.collection("default"));
            let response = api.handle(Time::ZERO, &list, &mut NoWebhooks);
            assert_eq!(response.status, 200, "{kind:?}");
        }
    }

    #[test]
    fn names_come_once() {
        assert_eq!(names().filter(|name| *name == "NodeSet").count(), 1);
    }
}

//! The kinds that are served, as data: one row each. A new kind is a new row and its strategy.

use super::strategy::Strategy;

/// One kind of object and how the server treats it.
pub(crate) struct Kind {
    /// `pods`, `jobs.batch`: what the store, changes and error texts call it.
    pub(crate) key: &'static str,
    /// `""` for core.
    pub(crate) group: &'static str,
    /// Served versions; objects are stored as the first.
    pub(crate) versions: &'static [&'static str],
    /// The plural in paths.
    pub(crate) resource: &'static str,
    /// The kind in bodies.
    pub(crate) kind: &'static str,
    /// Whether objects live in namespaces.
    pub(crate) namespaced: bool,
    /// Whether it comes from a CustomResourceDefinition on a real server.
    pub(crate) custom: bool,
    /// What `…/status` may write, if there is such a path.
    pub(crate) status: StatusWrites,
    /// Whether `…/scale` exists.
    pub(crate) scale: bool,
    /// Whether `metadata.generation` counts changes of the desired state.
    pub(crate) generation: bool,
    /// Whether a delete answers with the object even if it is gone at once.
    pub(crate) returns_deleted: bool,
    /// Whether a PUT without a resourceVersion overwrites whatever is there.
    pub(crate) unconditional: bool,
    /// Field selectors beside `metadata.name` and `metadata.namespace`.
    pub(crate) fields: &'static [&'static str],
    /// Defaults and validation.
    pub(crate) strategy: Strategy,
}

/// What a write to `…/status` takes from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusWrites {
    /// There is no status subresource.
    None,
    /// The status and the metadata.
    WithMetadata,
    /// The status and the metadata without labels.
    WithoutLabels,
    /// The status alone.
    Alone,
}

impl Kind {
    /// The kind served under this path part.
    pub(crate) fn find(group: &str, version: &str, resource: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| {
            kind.resource == resource && kind.group == group && kind.versions.contains(&version)
        })
    }

    /// The kind with this key.
    pub(crate) fn by_key(key: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.key == key)
    }

    /// `apps/v1`, or `v1` for core.
    pub(crate) fn api_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// The version that objects are stored as.
    pub(crate) fn stored_version(&self) -> &'static str {
        self.versions[0]
    }

    /// `Deployment.apps`, or `Pod` for core: how texts about invalid objects call it.
    pub(crate) fn qualified(&self) -> String {
        match self.group {
            "" => self.kind.to_owned(),
            group => format!("{}.{group}", self.kind),
        }
    }
}

/// Whether anything is served under this group and version.
pub(crate) fn serves(group: &str, version: &str) -> bool {
    KINDS.iter().any(|kind| kind.group == group && kind.versions.contains(&version))
}

/// A namespaced core kind with nothing special; rows say how they differ.
const PLAIN: Kind = Kind {
    key: "",
    group: "",
    versions: &["v1"],
    resource: "",
    kind: "",
    namespaced: true,
    custom: false,
    status: StatusWrites::None,
    scale: false,
    generation: false,
    returns_deleted: false,
    unconditional: true,
    fields: &[],
    strategy: Strategy::PLAIN,
};

/// Every kind that is served.
pub(crate) static KINDS: &[Kind] = &[
    Kind {
        key: "namespaces",
        resource: "namespaces",
        kind: "Namespace",
        namespaced: false,
        status: StatusWrites::WithMetadata,
        fields: &["status.phase"],
        strategy: Strategy::NAMESPACE,
        ..PLAIN
    },
    Kind {
        key: "nodes",
        resource: "nodes",
        kind: "Node",
        namespaced: false,
        status: StatusWrites::WithMetadata,
        fields: &["spec.unschedulable"],
        strategy: Strategy::NODE,
        ..PLAIN
    },
    Kind {
        key: "pods",
        resource: "pods",
        kind: "Pod",
        status: StatusWrites::WithMetadata,
        generation: true,
        returns_deleted: true,
        fields: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        strategy: Strategy::POD,
        ..PLAIN
    },
    Kind {
        key: "events",
        resource: "events",
        kind: "Event",
        fields: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        strategy: Strategy::EVENT,
        ..PLAIN
    },
    Kind {
        key: "configmaps",
        resource: "configmaps",
        kind: "ConfigMap",
        strategy: Strategy::CONFIG_MAP,
        ..PLAIN
    },
    Kind {
        key: "serviceaccounts",
        resource: "serviceaccounts",
        kind: "ServiceAccount",
        returns_deleted: true,
        ..PLAIN
    },
    Kind {
        key: "jobs.batch",
        group: "batch",
        resource: "jobs",
        kind: "Job",
        status: StatusWrites::WithMetadata,
        generation: true,
        fields: &["status.successful"],
        strategy: Strategy::JOB,
        ..PLAIN
    },
    Kind {
        key: "deployments.apps",
        group: "apps",
        resource: "deployments",
        kind: "Deployment",
        status: StatusWrites::WithoutLabels,
        scale: true,
        generation: true,
        strategy: Strategy::DEPLOYMENT,
        ..PLAIN
    },
    Kind {
        key: "replicasets.apps",
        group: "apps",
        resource: "replicasets",
        kind: "ReplicaSet",
        status: StatusWrites::WithoutLabels,
        scale: true,
        generation: true,
        fields: &["status.replicas"],
        strategy: Strategy::REPLICA_SET,
        ..PLAIN
    },
    Kind {
        key: "leases.coordination.k8s.io",
        group: "coordination.k8s.io",
        resource: "leases",
        kind: "Lease",
        unconditional: false,
        strategy: Strategy::LEASE,
        ..PLAIN
    },
    Kind {
        key: "priorityclasses.scheduling.k8s.io",
        group: "scheduling.k8s.io",
        resource: "priorityclasses",
        kind: "PriorityClass",
        namespaced: false,
        generation: true,
        strategy: Strategy::PRIORITY_CLASS,
        ..PLAIN
    },
    Kind {
        key: MUTATING,
        group: "admissionregistration.k8s.io",
        resource: "mutatingwebhookconfigurations",
        kind: "MutatingWebhookConfiguration",
        namespaced: false,
        generation: true,
        unconditional: false,
        strategy: Strategy::WEBHOOKS,
        ..PLAIN
    },
    Kind {
        key: VALIDATING,
        group: "admissionregistration.k8s.io",
        resource: "validatingwebhookconfigurations",
        kind: "ValidatingWebhookConfiguration",
        namespaced: false,
        generation: true,
        unconditional: false,
        strategy: Strategy::WEBHOOKS,
        ..PLAIN
    },
    Kind {
        key: "podgroups.scheduling.x-k8s.io",
        group: "scheduling.x-k8s.io",
        versions: &["v1alpha1"],
        resource: "podgroups",
        kind: "PodGroup",
        custom: true,
        status: StatusWrites::Alone,
        generation: true,
        unconditional: false,
        strategy: Strategy::POD_GROUP,
        ..PLAIN
    },
    Kind {
        key: "nodesets.slinky.slurm.net",
        group: "slinky.slurm.net",
        versions: &["v1beta1", "v1alpha1"],
        resource: "nodesets",
        kind: "NodeSet",
        custom: true,
        status: StatusWrites::Alone,
        scale: true,
        generation: true,
        unconditional: false,
        strategy: Strategy::NODE_SET,
        ..PLAIN
    },
];

/// The key of mutating webhook configurations.
pub(crate) const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
/// The key of validating webhook configurations.
pub(crate) const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_resource_qualified_by_its_group() {
        for kind in KINDS {
            let expected = match kind.group {
                "" => kind.resource.to_owned(),
                group => format!("{}.{group}", kind.resource),
            };
            assert_eq!(kind.key, expected);
            assert!(!kind.versions.is_empty(), "{} has no version", kind.key);
        }
    }
}

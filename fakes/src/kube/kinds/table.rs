//! Every kind that is served from the start, a row each.

use super::{Kind, StatusWrites, VERBS, convert};
use crate::kube::strategy::Strategy;

/// The key of mutating webhook configurations.
pub(crate) const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
/// The key of CustomResourceDefinitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The key of validating webhook configurations.
pub(crate) const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// A namespaced core kind with nothing special; rows say how they differ.
pub(super) const PLAIN: Kind = Kind {
    key: "",
    group: "",
    versions: &["v1"],
    stored: "",
    resource: "",
    kind: "",
    short: &[],
    categories: &[],
    namespaced: true,
    custom: false,
    status: StatusWrites::None,
    scale: false,
    generation: false,
    returns_deleted: false,
    unconditional: true,
    fields: &[],
    strategy: Strategy::PLAIN,
    definition: None,
    alias: "",
    convert: |_, _, _| {},
    verbs: VERBS,
    refuses: "",
};

/// What `kubectl get all` shows.
pub(super) const ALL: &[&str] = &["all"];

/// What extends the API.
pub(super) const EXTENSIONS: &[&str] = &["api-extensions"];

/// Roles and who has them.
const RBAC: Kind = Kind { group: "rbac.authorization.k8s.io", ..PLAIN };

/// Devices that pods may claim.
const DEVICES: Kind = Kind { group: "resource.k8s.io", ..PLAIN };

/// Every kind that is served from the start.
pub(super) static KINDS: &[Kind] = &[
    Kind {
        key: "namespaces",
        resource: "namespaces",
        kind: "Namespace",
        short: &["ns"],
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
        short: &["no"],
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
        short: &["po"],
        categories: ALL,
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
        short: &["ev"],
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
        short: &["cm"],
        strategy: Strategy::CONFIG_MAP,
        ..PLAIN
    },
    Kind {
        key: "serviceaccounts",
        resource: "serviceaccounts",
        kind: "ServiceAccount",
        short: &["sa"],
        returns_deleted: true,
        ..PLAIN
    },
    Kind {
        key: "jobs.batch",
        group: "batch",
        resource: "jobs",
        kind: "Job",
        categories: ALL,
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
        short: &["deploy"],
        categories: ALL,
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
        short: &["rs"],
        categories: ALL,
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
        short: &["pc"],
        namespaced: false,
        generation: true,
        strategy: Strategy::PRIORITY_CLASS,
        ..PLAIN
    },
    Kind {
        key: "podgroups.scheduling.k8s.io",
        group: "scheduling.k8s.io",
        versions: &["v1alpha2", "v1alpha3", "v1beta1"],
        stored: "v1beta1",
        resource: "podgroups",
        kind: "PodGroup",
        status: StatusWrites::WithMetadata,
        generation: true,
        strategy: Strategy::GROUP,
        convert: convert::pod_group,
        ..PLAIN
    },
    Kind {
        key: "workloads.scheduling.k8s.io",
        group: "scheduling.k8s.io",
        versions: &["v1alpha2", "v1alpha3", "v1beta1"],
        stored: "v1beta1",
        resource: "workloads",
        kind: "Workload",
        generation: true,
        strategy: Strategy::WORKLOAD,
        convert: convert::workload,
        ..PLAIN
    },
    Kind {
        key: MUTATING,
        group: "admissionregistration.k8s.io",
        resource: "mutatingwebhookconfigurations",
        kind: "MutatingWebhookConfiguration",
        categories: EXTENSIONS,
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
        categories: EXTENSIONS,
        namespaced: false,
        generation: true,
        unconditional: false,
        strategy: Strategy::WEBHOOKS,
        ..PLAIN
    },
    Kind {
        key: "secrets",
        resource: "secrets",
        kind: "Secret",
        fields: &["type"],
        strategy: Strategy::SECRET,
        ..PLAIN
    },
    Kind {
        key: "services",
        resource: "services",
        kind: "Service",
        short: &["svc"],
        categories: ALL,
        status: StatusWrites::WithMetadata,
        returns_deleted: true,
        fields: &["spec.clusterIP", "spec.type"],
        strategy: Strategy::SERVICE,
        ..PLAIN
    },
    Kind { key: "endpoints", resource: "endpoints", kind: "Endpoints", short: &["ep"], ..PLAIN },
    Kind {
        key: "limitranges",
        resource: "limitranges",
        kind: "LimitRange",
        short: &["limits"],
        refuses: "limits of namespaces are not enforced here",
        ..PLAIN
    },
    Kind {
        key: "resourcequotas",
        resource: "resourcequotas",
        kind: "ResourceQuota",
        short: &["quota"],
        status: StatusWrites::WithMetadata,
        returns_deleted: true,
        refuses: "quotas are not enforced here",
        ..PLAIN
    },
    Kind {
        key: "persistentvolumeclaims",
        resource: "persistentvolumeclaims",
        kind: "PersistentVolumeClaim",
        short: &["pvc"],
        status: StatusWrites::WithMetadata,
        returns_deleted: true,
        strategy: Strategy::CLAIM,
        ..PLAIN
    },
    Kind {
        key: "persistentvolumes",
        resource: "persistentvolumes",
        kind: "PersistentVolume",
        short: &["pv"],
        namespaced: false,
        status: StatusWrites::WithMetadata,
        returns_deleted: true,
        strategy: Strategy::VOLUME,
        ..PLAIN
    },
    Kind {
        key: "statefulsets.apps",
        group: "apps",
        resource: "statefulsets",
        kind: "StatefulSet",
        short: &["sts"],
        categories: ALL,
        status: StatusWrites::WithoutLabels,
        scale: true,
        generation: true,
        strategy: Strategy::STATEFUL_SET,
        ..PLAIN
    },
    Kind {
        key: "daemonsets.apps",
        group: "apps",
        resource: "daemonsets",
        kind: "DaemonSet",
        short: &["ds"],
        categories: ALL,
        status: StatusWrites::WithoutLabels,
        generation: true,
        strategy: Strategy::DAEMON_SET,
        ..PLAIN
    },
    Kind {
        key: "controllerrevisions.apps",
        group: "apps",
        resource: "controllerrevisions",
        kind: "ControllerRevision",
        ..PLAIN
    },
    Kind {
        key: "cronjobs.batch",
        group: "batch",
        resource: "cronjobs",
        kind: "CronJob",
        short: &["cj"],
        categories: ALL,
        status: StatusWrites::WithMetadata,
        generation: true,
        strategy: Strategy::CRON_JOB,
        ..PLAIN
    },
    Kind {
        key: "poddisruptionbudgets.policy",
        group: "policy",
        resource: "poddisruptionbudgets",
        kind: "PodDisruptionBudget",
        short: &["pdb"],
        status: StatusWrites::WithMetadata,
        generation: true,
        strategy: Strategy::BUDGET,
        ..PLAIN
    },
    Kind {
        key: "horizontalpodautoscalers.autoscaling",
        group: "autoscaling",
        versions: &["v2", "v1"],
        resource: "horizontalpodautoscalers",
        kind: "HorizontalPodAutoscaler",
        short: &["hpa"],
        categories: ALL,
        status: StatusWrites::WithMetadata,
        strategy: Strategy::AUTOSCALER,
        convert: convert::autoscaler,
        ..PLAIN
    },
    Kind {
        key: "roles.rbac.authorization.k8s.io",
        resource: "roles",
        kind: "Role",
        strategy: Strategy::ROLE,
        ..RBAC
    },
    Kind {
        key: "rolebindings.rbac.authorization.k8s.io",
        resource: "rolebindings",
        kind: "RoleBinding",
        strategy: Strategy::BINDING,
        ..RBAC
    },
    Kind {
        key: "clusterroles.rbac.authorization.k8s.io",
        resource: "clusterroles",
        kind: "ClusterRole",
        namespaced: false,
        strategy: Strategy::ROLE,
        ..RBAC
    },
    Kind {
        key: "clusterrolebindings.rbac.authorization.k8s.io",
        resource: "clusterrolebindings",
        kind: "ClusterRoleBinding",
        namespaced: false,
        strategy: Strategy::BINDING,
        ..RBAC
    },
    Kind {
        key: DEFINITIONS,
        group: "apiextensions.k8s.io",
        resource: "customresourcedefinitions",
        kind: "CustomResourceDefinition",
        short: &["crd", "crds"],
        categories: EXTENSIONS,
        namespaced: false,
        status: StatusWrites::WithMetadata,
        generation: true,
        unconditional: false,
        returns_deleted: true,
        strategy: Strategy::DEFINITION,
        ..PLAIN
    },
    Kind {
        key: "resourceslices.resource.k8s.io",
        resource: "resourceslices",
        kind: "ResourceSlice",
        namespaced: false,
        fields: &["spec.nodeName", "spec.driver"],
        strategy: Strategy::DEVICE_SLICE,
        ..DEVICES
    },
    Kind {
        key: "resourceclaims.resource.k8s.io",
        resource: "resourceclaims",
        kind: "ResourceClaim",
        status: StatusWrites::WithMetadata,
        strategy: Strategy::DEVICE_CLAIM,
        ..DEVICES
    },
    Kind {
        key: "resourceclaimtemplates.resource.k8s.io",
        resource: "resourceclaimtemplates",
        kind: "ResourceClaimTemplate",
        strategy: Strategy::DEVICE_CLAIM_TEMPLATE,
        ..DEVICES
    },
    Kind {
        key: "deviceclasses.resource.k8s.io",
        resource: "deviceclasses",
        kind: "DeviceClass",
        namespaced: false,
        generation: true,
        ..DEVICES
    },
    Kind {
        key: "podgroups.scheduling.x-k8s.io",
        group: "scheduling.x-k8s.io",
        versions: &["v1alpha1"],
        resource: "podgroups",
        kind: "PodGroup",
        short: &["pg", "pgs"],
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
        short: &["nss"],
        custom: true,
        status: StatusWrites::Alone,
        scale: true,
        generation: true,
        unconditional: false,
        strategy: Strategy::NODE_SET,
        ..PLAIN
    },
    Kind {
        key: "jobsets.jobset.x-k8s.io",
        group: "jobset.x-k8s.io",
        versions: &["v1alpha2"],
        resource: "jobsets",
        kind: "JobSet",
        custom: true,
        status: StatusWrites::Alone,
        generation: true,
        unconditional: false,
        ..PLAIN
    },
    Kind {
        key: "leaderworkersets.leaderworkerset.x-k8s.io",
        group: "leaderworkerset.x-k8s.io",
        resource: "leaderworkersets",
        kind: "LeaderWorkerSet",
        short: &["lws"],
        custom: true,
        status: StatusWrites::Alone,
        scale: true,
        generation: true,
        unconditional: false,
        ..PLAIN
    },
];

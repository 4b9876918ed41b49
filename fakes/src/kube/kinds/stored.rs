//! Kinds that are stored and shown, and on which nothing here acts: as on a cluster without the program
//! that would. Where a real API server itself would act, making one is refused instead.

use super::{
    Kind, StatusWrites, convert,
    table::{ALL, EXTENSIONS, PLAIN},
};
use crate::kube::strategy::Strategy;

const ADMISSION: Kind = Kind {
    group: "admissionregistration.k8s.io",
    categories: EXTENSIONS,
    namespaced: false,
    generation: true,
    refuses: "admission policies are not modelled; webhooks are",
    ..PLAIN
};
const FLOW: Kind = Kind {
    group: "flowcontrol.apiserver.k8s.io",
    namespaced: false,
    generation: true,
    status: StatusWrites::WithMetadata,
    refuses: "fair queueing of requests is not modelled; every request is answered at once",
    ..PLAIN
};
const NETWORK: Kind = Kind { group: "networking.k8s.io", ..PLAIN };
const STORAGE: Kind = Kind { group: "storage.k8s.io", namespaced: false, ..PLAIN };

/// The rows.
pub(super) static KINDS: &[Kind] = &[
    Kind { key: "bindings", resource: "bindings", kind: "Binding", verbs: &["create"], ..PLAIN },
    Kind {
        key: "componentstatuses",
        resource: "componentstatuses",
        kind: "ComponentStatus",
        short: &["cs"],
        namespaced: false,
        verbs: &["get", "list"],
        ..PLAIN
    },
    Kind {
        key: "podtemplates",
        resource: "podtemplates",
        kind: "PodTemplate",
        generation: true,
        returns_deleted: true,
        strategy: Strategy::POD_TEMPLATE,
        ..PLAIN
    },
    Kind {
        key: "replicationcontrollers",
        resource: "replicationcontrollers",
        kind: "ReplicationController",
        short: &["rc"],
        categories: ALL,
        status: StatusWrites::WithoutLabels,
        scale: true,
        generation: true,
        fields: &["status.replicas"],
        refuses: "no controller here acts on ReplicationControllers; use a ReplicaSet or a Deployment",
        ..PLAIN
    },
    Kind {
        key: "events.events.k8s.io",
        group: "events.k8s.io",
        resource: "events",
        kind: "Event",
        short: &["ev"],
        fields: &[
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
        strategy: Strategy::EVENT,
        alias: "events",
        convert: convert::event,
        ..PLAIN
    },
    Kind {
        key: "mutatingadmissionpolicies.admissionregistration.k8s.io",
        resource: "mutatingadmissionpolicies",
        kind: "MutatingAdmissionPolicy",
        ..ADMISSION
    },
    Kind {
        key: "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        resource: "mutatingadmissionpolicybindings",
        kind: "MutatingAdmissionPolicyBinding",
        ..ADMISSION
    },
    Kind {
        key: "validatingadmissionpolicies.admissionregistration.k8s.io",
        resource: "validatingadmissionpolicies",
        kind: "ValidatingAdmissionPolicy",
        status: StatusWrites::WithMetadata,
        ..ADMISSION
    },
    Kind {
        key: "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        resource: "validatingadmissionpolicybindings",
        kind: "ValidatingAdmissionPolicyBinding",
        ..ADMISSION
    },
    Kind {
        key: "apiservices.apiregistration.k8s.io",
        group: "apiregistration.k8s.io",
        resource: "apiservices",
        kind: "APIService",
        categories: EXTENSIONS,
        namespaced: false,
        status: StatusWrites::WithMetadata,
        refuses: "requests can't be handed on to other API servers; use a CustomResourceDefinition",
        ..PLAIN
    },
    Kind {
        key: "certificatesigningrequests.certificates.k8s.io",
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        kind: "CertificateSigningRequest",
        short: &["csr"],
        namespaced: false,
        status: StatusWrites::WithMetadata,
        fields: &["spec.signerName"],
        refuses: "nobody here signs certificates",
        ..PLAIN
    },
    Kind {
        key: "endpointslices.discovery.k8s.io",
        group: "discovery.k8s.io",
        resource: "endpointslices",
        kind: "EndpointSlice",
        generation: true,
        strategy: Strategy::ENDPOINT_SLICE,
        ..PLAIN
    },
    Kind {
        key: "flowschemas.flowcontrol.apiserver.k8s.io",
        resource: "flowschemas",
        kind: "FlowSchema",
        ..FLOW
    },
    Kind {
        key: "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        resource: "prioritylevelconfigurations",
        kind: "PriorityLevelConfiguration",
        ..FLOW
    },
    Kind {
        key: "ingressclasses.networking.k8s.io",
        resource: "ingressclasses",
        kind: "IngressClass",
        namespaced: false,
        generation: true,
        ..NETWORK
    },
    Kind {
        key: "ingresses.networking.k8s.io",
        resource: "ingresses",
        kind: "Ingress",
        short: &["ing"],
        status: StatusWrites::WithMetadata,
        generation: true,
        strategy: Strategy::INGRESS,
        ..NETWORK
    },
    Kind {
        key: "ipaddresses.networking.k8s.io",
        resource: "ipaddresses",
        kind: "IPAddress",
        short: &["ip"],
        namespaced: false,
        ..NETWORK
    },
    Kind {
        key: "networkpolicies.networking.k8s.io",
        resource: "networkpolicies",
        kind: "NetworkPolicy",
        short: &["netpol"],
        generation: true,
        ..NETWORK
    },
    Kind {
        key: "servicecidrs.networking.k8s.io",
        resource: "servicecidrs",
        kind: "ServiceCIDR",
        namespaced: false,
        status: StatusWrites::WithMetadata,
        refuses: "addresses of Services come from one range here",
        ..NETWORK
    },
    Kind {
        key: "runtimeclasses.node.k8s.io",
        group: "node.k8s.io",
        resource: "runtimeclasses",
        kind: "RuntimeClass",
        namespaced: false,
        ..PLAIN
    },
    Kind { key: "csidrivers.storage.k8s.io", resource: "csidrivers", kind: "CSIDriver", ..STORAGE },
    Kind { key: "csinodes.storage.k8s.io", resource: "csinodes", kind: "CSINode", ..STORAGE },
    Kind {
        key: "csistoragecapacities.storage.k8s.io",
        resource: "csistoragecapacities",
        kind: "CSIStorageCapacity",
        namespaced: true,
        ..STORAGE
    },
    Kind {
        key: "storageclasses.storage.k8s.io",
        resource: "storageclasses",
        kind: "StorageClass",
        short: &["sc"],
        returns_deleted: true,
        strategy: Strategy::STORAGE_CLASS,
        ..STORAGE
    },
    Kind {
        key: "volumeattachments.storage.k8s.io",
        resource: "volumeattachments",
        kind: "VolumeAttachment",
        status: StatusWrites::WithMetadata,
        returns_deleted: true,
        ..STORAGE
    },
    Kind {
        key: "volumeattributesclasses.storage.k8s.io",
        resource: "volumeattributesclasses",
        kind: "VolumeAttributesClass",
        short: &["vac"],
        ..STORAGE
    },
];

//! What a kind does beyond storing: defaults, validation, and what an update may change.
//!
//! A strategy is three functions. They see plain JSON and never panic on odd shapes: the shapes
//! that they rely on are checked when the body is decoded.

mod budget;
mod containers;
mod groups;
mod job;
mod placing;
mod pod;
mod pod_spec;
mod resources;
mod secret;
mod service;
mod small;
mod storage;
mod volumes;
mod workload;

use serde_json::Value;

pub(crate) use self::resources::undecodable;

use super::validate::{FieldError, NameRule};

/// How a kind differs from plain storage.
#[derive(Clone, Copy)]
pub(crate) struct Strategy {
    /// What names may look like.
    pub(crate) names: NameRule,
    /// Fills in what the client left open.
    pub(crate) defaults: fn(&mut Value),
    /// Sets what only the server says when an object is made: the first status.
    pub(crate) prepare: fn(&mut Value),
    /// What is wrong with the object.
    pub(crate) validate: fn(&Value) -> Vec<FieldError>,
    /// What is wrong with the change from the second to the first.
    pub(crate) validate_update: fn(&Value, &Value) -> Vec<FieldError>,
}

impl Strategy {
    /// Storage and nothing else.
    pub(crate) const PLAIN: Self = Self {
        names: NameRule::Subdomain,
        defaults: |_| {},
        prepare: |_| {},
        validate: |_| vec![],
        validate_update: |_, _| vec![],
    };
    /// What a definition brings: its schema says the rest.
    pub(crate) const CUSTOM: Self = Self::PLAIN;
    pub(crate) const POD: Self = Self {
        defaults: pod::defaults,
        prepare: pod::prepare,
        validate: pod::validate,
        validate_update: pod::validate_update,
        ..Self::PLAIN
    };
    pub(crate) const NAMESPACE: Self = Self {
        names: NameRule::Label,
        defaults: small::namespace_defaults,
        prepare: small::namespace_prepare,
        ..Self::PLAIN
    };
    pub(crate) const NODE: Self = Self { validate: small::node_validate, ..Self::PLAIN };
    pub(crate) const EVENT: Self = Self { validate: small::event_validate, ..Self::PLAIN };
    pub(crate) const CONFIG_MAP: Self = Self {
        validate: secret::config_map_validate,
        validate_update: secret::config_map_update,
        ..Self::PLAIN
    };
    pub(crate) const LEASE: Self = Self { validate: small::lease_validate, ..Self::PLAIN };
    pub(crate) const PRIORITY_CLASS: Self = Self {
        defaults: small::priority_class_defaults,
        validate: small::priority_class_validate,
        validate_update: small::priority_class_update,
        ..Self::PLAIN
    };
    pub(crate) const POD_GROUP: Self = Self { validate: small::pod_group_validate, ..Self::PLAIN };
    pub(crate) const NODE_SET: Self = Self { validate: small::node_set_validate, ..Self::PLAIN };
    pub(crate) const WEBHOOKS: Self = Self {
        defaults: super::admission::defaults,
        validate: super::admission::validate,
        ..Self::PLAIN
    };
    pub(crate) const DEFINITION: Self = Self {
        defaults: super::definition::defaults,
        prepare: super::definition::prepare,
        validate: super::definition::validate,
        validate_update: super::definition::validate_update,
        ..Self::PLAIN
    };
    pub(crate) const SERVICE: Self = Self {
        names: NameRule::Dns1035,
        defaults: service::defaults,
        prepare: service::prepare,
        validate: service::validate,
        validate_update: service::validate_update,
    };
    pub(crate) const SECRET: Self = Self {
        defaults: secret::defaults,
        validate: secret::validate,
        validate_update: secret::validate_update,
        ..Self::PLAIN
    };
    pub(crate) const CLAIM: Self = Self {
        defaults: storage::claim_defaults,
        prepare: storage::claim_prepare,
        validate: storage::claim_validate,
        validate_update: storage::claim_update,
        ..Self::PLAIN
    };
    pub(crate) const VOLUME: Self = Self {
        defaults: storage::volume_defaults,
        prepare: storage::volume_prepare,
        validate: storage::volume_validate,
        validate_update: storage::volume_update,
        ..Self::PLAIN
    };
    pub(crate) const STORAGE_CLASS: Self = Self {
        defaults: storage::class_defaults,
        validate: storage::class_validate,
        validate_update: storage::class_update,
        ..Self::PLAIN
    };
    pub(crate) const ROLE: Self =
        Self { names: NameRule::PathSegment, validate: small::role_validate, ..Self::PLAIN };
    pub(crate) const BINDING: Self = Self {
        names: NameRule::PathSegment,
        defaults: small::binding_defaults,
        validate: small::binding_validate,
        validate_update: small::binding_update,
        ..Self::PLAIN
    };
    pub(crate) const BUDGET: Self =
        Self { prepare: budget::budget_prepare, validate: budget::budget_validate, ..Self::PLAIN };
    pub(crate) const AUTOSCALER: Self = Self {
        defaults: budget::autoscaler_defaults,
        prepare: budget::autoscaler_prepare,
        validate: budget::autoscaler_validate,
        ..Self::PLAIN
    };
    /// Groups of pods of `scheduling.k8s.io`.
    pub(crate) const GROUP: Self = Self {
        defaults: groups::group_defaults,
        validate: groups::group_validate,
        validate_update: groups::spec_update,
        ..Self::PLAIN
    };
    pub(crate) const WORKLOAD: Self = Self { validate: groups::workload_validate, ..Self::PLAIN };
    pub(crate) const DEVICE_CLAIM: Self = Self {
        defaults: groups::claim_defaults,
        validate: groups::claim_validate,
        validate_update: groups::claim_update,
        ..Self::PLAIN
    };
    pub(crate) const DEVICE_CLAIM_TEMPLATE: Self = Self {
        defaults: groups::template_defaults,
        validate: groups::template_validate,
        validate_update: groups::spec_update,
        ..Self::PLAIN
    };
    pub(crate) const DEVICE_SLICE: Self = Self { validate: groups::slice_validate, ..Self::PLAIN };
    pub(crate) const INGRESS: Self =
        Self { prepare: small::ingress_prepare, validate: small::ingress_validate, ..Self::PLAIN };
    pub(crate) const ENDPOINT_SLICE: Self =
        Self { defaults: small::slice_defaults, validate: small::slice_validate, ..Self::PLAIN };
    pub(crate) const POD_TEMPLATE: Self = Self {
        defaults: workload::pod_template_defaults,
        validate: workload::pod_template_validate,
        ..Self::PLAIN
    };
    pub(crate) const STATEFUL_SET: Self = Self {
        defaults: workload::stateful_set_defaults,
        prepare: workload::set_prepare,
        validate: workload::stateful_set_validate,
        validate_update: workload::stateful_set_update,
        ..Self::PLAIN
    };
    pub(crate) const DAEMON_SET: Self = Self {
        defaults: workload::daemon_set_defaults,
        prepare: workload::set_prepare,
        validate: workload::daemon_set_validate,
        validate_update: workload::set_update,
        ..Self::PLAIN
    };
    pub(crate) const JOB: Self = Self {
        defaults: job::defaults,
        prepare: job::prepare,
        validate: job::validate,
        validate_update: job::validate_update,
        ..Self::PLAIN
    };
    pub(crate) const CRON_JOB: Self = Self {
        defaults: job::cron_defaults,
        prepare: job::cron_prepare,
        validate: job::cron_validate,
        ..Self::PLAIN
    };
    pub(crate) const DEPLOYMENT: Self = Self {
        defaults: workload::deployment_defaults,
        prepare: workload::set_prepare,
        validate: workload::deployment_validate,
        validate_update: workload::set_update,
        ..Self::PLAIN
    };
    pub(crate) const REPLICA_SET: Self = Self {
        defaults: workload::replica_set_defaults,
        prepare: workload::set_prepare,
        validate: workload::set_validate,
        validate_update: workload::set_update,
        ..Self::PLAIN
    };
}

//! What a kind does beyond storing: defaults, validation, and what an update may change.
//!
//! A strategy is three functions. They see plain JSON and never panic on odd shapes: the shapes
//! that they rely on are checked when the body is decoded.

mod pod;
mod pod_spec;
mod resources;
mod small;
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
        validate: small::config_map_validate,
        validate_update: small::config_map_update,
        ..Self::PLAIN
    };
    pub(crate) const LEASE: Self = Self { validate: small::lease_validate, ..Self::PLAIN };
    pub(crate) const PRIORITY_CLASS: Self = Self {
        defaults: small::priority_class_defaults,
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
        ..Self::PLAIN
    };
    pub(crate) const SERVICE: Self =
        Self { names: NameRule::Label, defaults: small::service_defaults, ..Self::PLAIN };
    pub(crate) const BINDING: Self = Self { defaults: small::binding_defaults, ..Self::PLAIN };
    pub(crate) const STATEFUL_SET: Self = Self {
        defaults: workload::stateful_set_defaults,
        prepare: workload::set_prepare,
        validate: workload::set_validate,
        ..Self::PLAIN
    };
    pub(crate) const DAEMON_SET: Self = Self {
        defaults: workload::daemon_set_defaults,
        prepare: workload::set_prepare,
        validate: workload::set_validate,
        ..Self::PLAIN
    };
    pub(crate) const JOB: Self = Self {
        defaults: workload::job_defaults,
        prepare: workload::job_prepare,
        validate: workload::job_validate,
        validate_update: workload::job_update,
        ..Self::PLAIN
    };
    pub(crate) const DEPLOYMENT: Self = Self {
        defaults: workload::deployment_defaults,
        prepare: workload::set_prepare,
        validate: workload::set_validate,
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

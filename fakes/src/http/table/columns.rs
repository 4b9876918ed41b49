//! Which columns each kind has, and which function fills them in.

use serde_json::{Value, json};

use super::{At, Row, pods, small, text, workloads};
use crate::kube::{Kind, Printed};

/// One column of a built-in kind.
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    wide: bool,
}

impl Column {
    /// The column as a table defines it.
    pub(super) fn head(&self) -> Value {
        let format = if self.name == "Name" { "name" } else { "" };
        json!({
            "name": self.name, "type": self.kind, "format": format,
            "description": "", "priority": u8::from(self.wide),
        })
    }
}

const fn shown(name: &'static str) -> Column {
    Column { name, kind: "string", wide: false }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: "integer", wide: false }
}

const fn wide(name: &'static str) -> Column {
    Column { name, kind: "string", wide: true }
}

macro_rules! heads {
    ($($made:ident $name:literal),* $(,)?) => { const { &[$($made($name)),*] } };
}

/// A kind's columns and what fills them.
pub(super) fn columns(kind: &Kind) -> (&'static [Column], Row) {
    match kind.key {
        "pods" => (POD, pods::row),
        "nodes" => (NODE, small::node),
        "namespaces" => (heads![shown "Name", shown "Status", shown "Age"], small::namespace),
        "events" => (EVENT, small::event),
        "configmaps" => (heads![shown "Name", shown "Data", shown "Age"], small::config_map),
        "secrets" => (heads![shown "Name", shown "Type", shown "Data", shown "Age"], small::secret),
        "services" => (SERVICE, small::service),
        "persistentvolumeclaims" => (CLAIM, small::claim),
        "deployments.apps" => (DEPLOYMENT, workloads::deployment),
        "replicasets.apps" => (REPLICA_SET, workloads::replica_set),
        "statefulsets.apps" => (
            heads![shown "Name", shown "Ready", shown "Age", wide "Containers", wide "Images"],
            workloads::stateful_set,
        ),
        "daemonsets.apps" => (DAEMON_SET, workloads::daemon_set),
        "jobs.batch" => (JOB, workloads::job),
        "cronjobs.batch" => (CRON_JOB, workloads::cron_job),
        "poddisruptionbudgets.policy" => (BUDGET, small::budget),
        "leases.coordination.k8s.io" => {
            (heads![shown "Name", shown "Holder", shown "Age"], small::lease)
        }
        "priorityclasses.scheduling.k8s.io" => (PRIORITY, small::priority_class),
        "rolebindings.rbac.authorization.k8s.io"
        | "clusterrolebindings.rbac.authorization.k8s.io" => (BINDING, small::role_binding),
        "roles.rbac.authorization.k8s.io"
        | "clusterroles.rbac.authorization.k8s.io"
        | "customresourcedefinitions.apiextensions.k8s.io" => {
            (heads![shown "Name", shown "Created At"], small::created)
        }
        "mutatingwebhookconfigurations.admissionregistration.k8s.io"
        | "validatingwebhookconfigurations.admissionregistration.k8s.io" => {
            (heads![shown "Name", number "Webhooks", shown "Age"], small::webhooks)
        }
        _ => (heads![shown "Name", shown "Age"], small::plain),
    }
}

const POD: &[Column] = heads![
    shown "Name", shown "Ready", shown "Status", shown "Restarts", shown "Age", wide "IP",
    wide "Node", wide "Nominated Node", wide "Readiness Gates",
];
const NODE: &[Column] = heads![
    shown "Name", shown "Status", shown "Roles", shown "Age", shown "Version", wide "Internal-IP",
    wide "External-IP", wide "OS-Image", wide "Kernel-Version", wide "Container-Runtime",
];
const EVENT: &[Column] = heads![
    shown "Last Seen", shown "Type", shown "Reason", shown "Object", wide "Subobject",
    wide "Source", shown "Message", wide "First Seen", wide "Count", wide "Name",
];
const SERVICE: &[Column] = heads![
    shown "Name", shown "Type", shown "Cluster-IP", shown "External-IP", shown "Port(s)",
    shown "Age", wide "Selector",
];
const CLAIM: &[Column] = heads![
    shown "Name", shown "Status", shown "Volume", shown "Capacity", shown "Access Modes",
    shown "StorageClass", shown "VolumeAttributesClass", shown "Age", wide "VolumeMode",
];
const DEPLOYMENT: &[Column] = heads![
    shown "Name", shown "Ready", shown "Up-to-date", shown "Available", shown "Age",
    wide "Containers", wide "Images", wide "Selector",
];
const REPLICA_SET: &[Column] = heads![
    shown "Name", number "Desired", number "Current", number "Ready", shown "Age",
    wide "Containers", wide "Images", wide "Selector",
];
const DAEMON_SET: &[Column] = heads![
    shown "Name", number "Desired", number "Current", number "Ready", number "Up-to-date",
    number "Available", shown "Node Selector", shown "Age", wide "Containers", wide "Images",
    wide "Selector",
];
const JOB: &[Column] = heads![
    shown "Name", shown "Status", shown "Completions", shown "Duration", shown "Age",
    wide "Containers", wide "Images", wide "Selector",
];
const CRON_JOB: &[Column] = heads![
    shown "Name", shown "Schedule", shown "Timezone", shown "Suspend", number "Active",
    shown "Last Schedule", shown "Age", wide "Containers", wide "Images", wide "Selector",
];
const BUDGET: &[Column] = heads![
    shown "Name", shown "Min Available", shown "Max Unavailable", number "Allowed Disruptions",
    shown "Age",
];
const PRIORITY: &[Column] = heads![
    shown "Name", number "Value", shown "Global-Default", shown "Age", shown "PreemptionPolicy",
];
const BINDING: &[Column] = heads![
    shown "Name", shown "Role", shown "Age", wide "Users", wide "Groups", wide "ServiceAccounts",
];

/// A column that a CustomResourceDefinition prints.
pub(super) fn custom(column: &Printed) -> Value {
    json!({
        "name": column.name, "type": column.kind, "format": column.format,
        "description": column.description, "priority": column.priority,
    })
}

/// The cells of a custom resource.
pub(super) fn custom_cells(at: At, columns: &[Printed], object: &Value) -> Vec<Value> {
    columns
        .iter()
        .map(|column| match column.value(object) {
            Some(value) if column.kind == "date" => at.since(value).into(),
            Some(Value::String(word)) => word.as_str().into(),
            Some(value) if column.kind == "string" => value.to_string().into(),
            Some(value) => value.clone(),
            None => Value::Null,
        })
        .map(|cell| if text(&cell) == "<unknown>" { Value::Null } else { cell })
        .collect()
}

//! Which columns each kind has, and which function fills them in.
//!
//! What the columns are comes from `schema/columns.txt`; the descriptions of many of them lie in the
//! schemas of the fields that they show.

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::{Value, json};

use super::{At, Row, pods, small, stored, workloads};
use crate::kube::{Kind, Printed, schemas};

/// The columns of every kind, as tables define them.
fn heads() -> &'static BTreeMap<&'static str, Vec<Value>> {
    static HEADS: OnceLock<BTreeMap<&'static str, Vec<Value>>> = OnceLock::new();
    HEADS.get_or_init(|| {
        let mut all: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
        for line in include_str!("../../../schema/columns.txt").lines() {
            if let Some((kind, head)) = head(line) {
                all.entry(kind).or_default().push(head);
            }
        }
        all
    })
}

fn head(line: &'static str) -> Option<(&'static str, Value)> {
    let mut parts = line.splitn(6, '|');
    let kind = parts.next()?;
    let (name, of, format) = (parts.next()?, parts.next()?, parts.next()?);
    let priority: u8 = parts.next()?.parse().ok()?;
    let description = parts.next()?;
    let description = match description.strip_prefix('@') {
        Some(place) => described(place),
        None => description,
    };
    Some((
        kind,
        json!({
            "name": name, "type": of, "format": format, "description": description,
            "priority": priority,
        }),
    ))
}

/// What a schema says of one of its fields, or of itself.
fn described(place: &str) -> &'static str {
    let (schema, field) = place.split_once(' ').unwrap_or((place, ""));
    let schema = schema.replace(".v1beta1.", ".v1.");
    let found = schemas::all().get(&schema).map(|schema| match field {
        "" => &schema["description"],
        field => &schema["properties"][field]["description"],
    });
    found.and_then(Value::as_str).unwrap_or("")
}

/// A kind's columns and what fills them.
pub(super) fn columns(kind: &Kind) -> (Vec<Value>, Row) {
    let row: Row = match kind.key {
        "pods" => pods::row,
        "nodes" => small::node,
        "namespaces" => small::namespace,
        "events" | "events.events.k8s.io" => small::event,
        "configmaps" => small::config_map,
        "secrets" => small::secret,
        "services" => small::service,
        "persistentvolumeclaims" => stored::claim,
        "persistentvolumes" => stored::volume,
        "storageclasses.storage.k8s.io" => stored::storage_class,
        "volumeattributesclasses.storage.k8s.io" => stored::attributes_class,
        "volumeattachments.storage.k8s.io" => stored::attachment,
        "csidrivers.storage.k8s.io" => stored::csi_driver,
        "csinodes.storage.k8s.io" => stored::csi_node,
        "csistoragecapacities.storage.k8s.io" => stored::capacity,
        "deployments.apps" => workloads::deployment,
        "replicasets.apps" | "replicationcontrollers" => workloads::replica_set,
        "statefulsets.apps" => workloads::stateful_set,
        "daemonsets.apps" => workloads::daemon_set,
        "controllerrevisions.apps" => workloads::revision,
        "jobs.batch" => workloads::job,
        "cronjobs.batch" => workloads::cron_job,
        "podtemplates" => workloads::pod_template,
        "horizontalpodautoscalers.autoscaling" => workloads::autoscaler,
        "poddisruptionbudgets.policy" => small::budget,
        "leases.coordination.k8s.io" => small::lease,
        "priorityclasses.scheduling.k8s.io" => small::priority_class,
        "podgroups.scheduling.k8s.io" => workloads::pod_group,
        "rolebindings.rbac.authorization.k8s.io"
        | "clusterrolebindings.rbac.authorization.k8s.io" => small::role_binding,
        "mutatingwebhookconfigurations.admissionregistration.k8s.io"
        | "validatingwebhookconfigurations.admissionregistration.k8s.io" => small::webhooks,
        "ingresses.networking.k8s.io" => stored::ingress,
        "ingressclasses.networking.k8s.io" => stored::ingress_class,
        "networkpolicies.networking.k8s.io" => stored::network_policy,
        "ipaddresses.networking.k8s.io" => stored::ip_address,
        "endpoints" => stored::endpoints,
        "endpointslices.discovery.k8s.io" => stored::endpoint_slice,
        "runtimeclasses.node.k8s.io" => stored::runtime_class,
        "resourceclaims.resource.k8s.io" => stored::device_claim,
        "resourceslices.resource.k8s.io" => stored::device_slice,
        "serviceaccounts"
        | "workloads.scheduling.k8s.io"
        | "deviceclasses.resource.k8s.io"
        | "resourceclaimtemplates.resource.k8s.io" => small::plain,
        _ => return (fallback(), small::created),
    };
    (heads().get(kind.kind).cloned().unwrap_or_else(fallback), row)
}

/// What a kind has for which nobody thought of columns.
fn fallback() -> Vec<Value> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let described = |field: &str| described(&format!("{META} {field}"));
    vec![
        json!({
            "name": "Name", "type": "string", "format": "name", "description": described("name"),
            "priority": 0,
        }),
        json!({
            "name": "Created At", "type": "date", "format": "",
            "description": described("creationTimestamp"), "priority": 0,
        }),
    ]
}

/// A column that a CustomResourceDefinition prints.
pub(super) fn custom(column: &Printed) -> Value {
    json!({
        "name": column.name, "type": column.kind, "format": column.format,
        "description": column.description, "priority": column.priority,
    })
}

/// The cells of a custom resource.
pub(super) fn custom_cells(at: At, columns: &[Printed], object: &Value) -> Vec<Value> {
    let cell = |column: &Printed| {
        let values = column.values(object);
        let first = *values.first()?;
        match column.kind.as_str() {
            "date" => Some(at.since(first)).filter(|it| it != "<unknown>").map(Into::into),
            "string" => {
                let words: Vec<String> = values
                    .iter()
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), Into::into))
                    .collect();
                Some(words.join(" ").into())
            }
            "integer" | "number" => Some(first).filter(|it| it.is_number()).cloned(),
            "boolean" => Some(first).filter(|it| it.is_boolean()).cloned(),
            _ => Some(first.clone()),
        }
    };
    columns.iter().map(|column| cell(column).unwrap_or(Value::Null)).collect()
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::{Epoch, Seed};

    use super::*;
    use crate::KubeApi;

    #[test]
    fn every_kind_has_as_many_cells_as_columns() {
        let api = KubeApi::new(Epoch::DEFAULT, Seed(1));
        for kind in api.kinds().iter() {
            let (heads, row) = columns(kind);
            let cells = row(At { now: 0 }, &json!({"metadata": {"name": "x"}}));
            assert_eq!(heads.len(), cells.len(), "{}", kind.key);
        }
    }
}

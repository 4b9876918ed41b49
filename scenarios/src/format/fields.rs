//! The fields that manifests may have, as data: one row for each of Kubernetes' types.
//!
//! `kubectl apply` refuses a field that its type doesn't have, and so does this. A type that has no
//! row isn't looked into.

use drawbridge_bridge::yaml::path;
use serde_json::{Map, Value};

use crate::format::{ScenarioError, source::Source, suggest};

/// A type and its fields; `field:Type` where the field's own fields are known too.
#[rustfmt::skip]
const TYPES: &[(&str, &str)] = &[
    ("Pod", "apiVersion kind metadata:ObjectMeta spec:PodSpec status"),
    ("Job", "apiVersion kind metadata:ObjectMeta spec:JobSpec status"),
    ("Deployment", "apiVersion kind metadata:ObjectMeta spec:DeploymentSpec status"),
    ("ReplicaSet", "apiVersion kind metadata:ObjectMeta spec:ReplicaSetSpec status"),
    ("PodGroup", "apiVersion kind metadata:ObjectMeta spec:PodGroupSpec status"),
    ("Namespace", "apiVersion kind metadata:ObjectMeta spec:NamespaceSpec status"),
    ("Node", "apiVersion kind metadata:ObjectMeta spec:NodeSpec status"),
    ("ConfigMap", "apiVersion kind metadata:ObjectMeta data binaryData immutable"),
    ("ServiceAccount", "apiVersion kind metadata:ObjectMeta secrets imagePullSecrets automountServiceAccountToken"),
    ("PriorityClass", "apiVersion kind metadata:ObjectMeta value globalDefault description preemptionPolicy"),
    ("NodeSet", "apiVersion kind metadata:ObjectMeta spec status"),
    ("ObjectMeta", "name generateName namespace selfLink uid resourceVersion generation creationTimestamp \
      deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences:OwnerReference finalizers \
      managedFields"),
    ("OwnerReference", "apiVersion kind name uid controller blockOwnerDeletion"),
    ("LabelSelector", "matchLabels matchExpressions:Requirement"),
    ("Requirement", "key operator values"),
    ("NamespaceSpec", "finalizers"),
    ("NodeSpec", "podCIDR podCIDRs providerID unschedulable taints:Taint configSource externalID"),
    ("Taint", "key value effect timeAdded"),
    ("PodTemplateSpec", "metadata:ObjectMeta spec:PodSpec"),
    ("JobSpec", "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit \
      backoffLimitPerIndex maxFailedIndexes selector:LabelSelector manualSelector template:PodTemplateSpec \
      ttlSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy"),
    ("DeploymentSpec", "replicas selector:LabelSelector template:PodTemplateSpec strategy:DeploymentStrategy \
      minReadySeconds revisionHistoryLimit paused progressDeadlineSeconds"),
    ("DeploymentStrategy", "type rollingUpdate:RollingUpdate"),
    ("RollingUpdate", "maxUnavailable maxSurge"),
    ("ReplicaSetSpec", "replicas minReadySeconds selector:LabelSelector template:PodTemplateSpec"),
    ("PodGroupSpec", "minMember minResources scheduleTimeoutSeconds schedulingPolicy schedulingConstraints podGroupTemplateRef \
      resourceClaims priorityClassName priority disruptionMode"),
    ("PodSpec", "volumes initContainers:Container containers:Container ephemeralContainers restartPolicy \
      terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount \
      automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace securityContext \
      imagePullSecrets hostname subdomain affinity:Affinity schedulerName tolerations:Toleration hostAliases \
      priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks preemptionPolicy \
      overhead topologySpreadConstraints:TopologySpreadConstraint setHostnameAsFQDN os hostUsers \
      schedulingGates:SchedulingGate resourceClaims resources:ResourceRequirements hostnameOverride workloadRef schedulingGroup"),
    ("Container", "name image command args workingDir ports:ContainerPort envFrom env:EnvVar \
      resources:ResourceRequirements resizePolicy restartPolicy restartPolicyRules volumeMounts volumeDevices \
      livenessProbe readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy \
      imagePullPolicy securityContext stdin stdinOnce tty"),
    ("ContainerPort", "name hostPort containerPort protocol hostIP"),
    ("EnvVar", "name value valueFrom"),
    ("ResourceRequirements", "limits requests claims"),
    ("SchedulingGate", "name"),
    ("Toleration", "key operator value effect tolerationSeconds"),
    ("TopologySpreadConstraint", "maxSkew topologyKey whenUnsatisfiable labelSelector:LabelSelector minDomains \
      nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys"),
    ("Affinity", "nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAffinity"),
    ("NodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector \
      preferredDuringSchedulingIgnoredDuringExecution:PreferredTerm"),
    ("NodeSelector", "nodeSelectorTerms:NodeSelectorTerm"),
    ("NodeSelectorTerm", "matchExpressions:Requirement matchFields:Requirement"),
    ("PreferredTerm", "weight preference:NodeSelectorTerm"),
    ("PodAffinity", "requiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm \
      preferredDuringSchedulingIgnoredDuringExecution:WeightedTerm"),
    ("PodAffinityTerm", "labelSelector:LabelSelector namespaces topologyKey namespaceSelector:LabelSelector \
      matchLabelKeys mismatchLabelKeys"),
    ("WeightedTerm", "weight podAffinityTerm:PodAffinityTerm"),
];

/// Numbers below the first or above the second make no sense.
const RANGES: &[(&str, &str, i64, i64)] = &[
    ("JobSpec", "parallelism", 0, MOST_PODS),
    ("JobSpec", "completions", 0, MOST_PODS),
    ("JobSpec", "backoffLimit", 0, i32::MAX as i64),
    ("JobSpec", "activeDeadlineSeconds", 0, i64::MAX),
    ("JobSpec", "ttlSecondsAfterFinished", 0, i32::MAX as i64),
    ("DeploymentSpec", "replicas", 0, MOST_PODS),
    ("ReplicaSetSpec", "replicas", 0, MOST_PODS),
    ("PodGroupSpec", "minMember", 1, MOST_PODS),
    ("PodSpec", "terminationGracePeriodSeconds", 0, i64::MAX),
    ("PodSpec", "activeDeadlineSeconds", 1, i32::MAX as i64),
];

/// More pods of one workload than this aren't played.
pub(crate) const MOST_PODS: i64 = 1_000_000;

/// Checks the fields of an object, or of a patch to one, that stands at `at`.
pub(crate) fn check(
    kind: &str,
    value: &Value,
    at: &str,
    source: &Source,
) -> Result<(), ScenarioError> {
    let Some((of, fields)) = TYPES.iter().find(|(name, _)| *name == kind) else {
        return Ok(());
    };
    match value {
        Value::Object(mapping) => each_field((of, fields), mapping, at, source),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| check(of, item, &path::index(at, index), source))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn each_field(
    (of, fields): (&str, &str),
    mapping: &Map<String, Value>,
    at: &str,
    source: &Source,
) -> Result<(), ScenarioError> {
    let known = || fields.split_whitespace().map(|it| it.split_once(':').unwrap_or((it, "")));
    for (field, value) in mapping {
        let here = path::key(at, field);
        match known().find(|(name, _)| name == field) {
            Some((_, below)) => check(below, value, &here, source)?,
            None => {
                let hint = suggest::one_of(field, known().map(|(name, _)| name));
                let what = format!("{} has no field `{field}`", with_article(of));
                return Err(source.at_key(&here, what).hinted(hint));
            }
        }
        in_range(of, field, value).map_err(|(what, hint)| source.at(&here, what).hinted(hint))?;
    }
    Ok(())
}

fn in_range(of: &str, field: &str, value: &Value) -> Result<(), (String, String)> {
    let range = RANGES.iter().find(|row| (row.0, row.1) == (of, field));
    match (range, value) {
        (None, _) | (_, Value::Null) => Ok(()),
        (Some((_, _, least, most)), Value::Number(number)) => within(field, number, *least, *most),
        (Some((_, _, least, _)), _) => {
            Err((format!("`{field}` is a whole number"), format!("write {least} or more")))
        }
    }
}

fn within(
    field: &str,
    number: &serde_json::Number,
    least: i64,
    most: i64,
) -> Result<(), (String, String)> {
    let hint = || format!("write {least} or more");
    match number.as_i64() {
        Some(it) if it < least => Err((format!("`{field}` can't be {it}"), hint())),
        Some(it) if it <= most => Ok(()),
        None if !number.is_u64() => Err((format!("`{field}` is a whole number"), hint())),
        Some(_) | None if most == MOST_PODS => Err(too_many(field, number)),
        Some(_) | None => Err((format!("{number} is too large"), format!("write at most {most}"))),
    }
}

/// What is said about a workload of too many pods.
pub(crate) fn too_many(field: &str, number: impl std::fmt::Display) -> (String, String) {
    let what = format!("`{field}: {number}` is more than the twin plays");
    (what, format!("write at most {MOST_PODS}"))
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['A', 'E', 'O']) { "an" } else { "a" };
    format!("{article} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_row_names_has_a_row() {
        let has = |name: &str| TYPES.iter().any(|(it, _)| *it == name);
        for (of, fields) in TYPES {
            let below = fields.split_whitespace().filter_map(|it| it.split_once(':'));
            below.for_each(|(field, below)| assert!(has(below), "{of}.{field}"));
        }
        for (of, field, ..) in RANGES {
            let (_, fields) = TYPES.iter().find(|(it, _)| it == of).unwrap();
            assert!(fields.split_whitespace().any(|it| it == *field), "{of}.{field}");
        }
    }
}

//! Between versions of one kind that differ in more than their name.

use serde_json::{Map, Value, json};

use super::{From, To};
use crate::kube::object::{self, items};

/// Moves a field to another name.
fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}

/// Events of the core group, and of a group of their own, which names everything anew.
pub(super) fn event(event: &mut Value, from: From<'_>, _: To<'_>) {
    const NAMES: [(&str, &str); 7] = [
        ("involvedObject", "regarding"),
        ("message", "note"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        ("reportingComponent", "reportingController"),
    ];
    // Both versions are called v1: which is which, the names of fields say.
    let core = from == STORED;
    let Some(map) = event.as_object_mut() else { return };
    for (old, new) in NAMES {
        match core {
            true => rename(map, old, new),
            false => rename(map, new, old),
        }
    }
}

/// How events are stored.
pub(crate) const STORED: From<'static> = From("");

/// Groups of pods: v1alpha2 names its template in a longer way, and its mode by a word.
pub(super) fn pod_group(group: &mut Value, from: From<'_>, to: To<'_>) {
    let (old, new) = (from.0 == "v1alpha2", to.0 == "v1alpha2");
    let spec = object::map_mut(group, "spec");
    if old && !new {
        if let Some(Value::Object(mut reference)) = spec.remove("podGroupTemplateRef") {
            let workload = reference.remove("workload").unwrap_or_default();
            let name = workload["podGroupTemplateName"].clone();
            let reference = json!({"templateName": name, "workloadName": workload["workloadName"]});
            spec.insert("workloadRef".into(), reference);
        }
        mode_to_object(spec);
    } else if new && !old {
        if let Some(reference) = spec.remove("workloadRef") {
            let workload = json!({
                "podGroupTemplateName": reference["templateName"],
                "workloadName": reference["workloadName"],
            });
            spec.insert("podGroupTemplateRef".into(), json!({"workload": workload}));
        }
        mode_to_word(spec);
        for key in ["preemptionPolicy", "parentCompositePodGroupName"] {
            spec.remove(key);
        }
    }
}

/// Workloads hold templates of such groups.
pub(super) fn workload(workload: &mut Value, from: From<'_>, to: To<'_>) {
    let (old, new) = (from.0 == "v1alpha2", to.0 == "v1alpha2");
    let spec = object::map_mut(workload, "spec");
    let templates = spec.get_mut("podGroupTemplates").and_then(Value::as_array_mut);
    for template in templates.into_iter().flatten().filter_map(Value::as_object_mut) {
        if old && !new {
            mode_to_object(template);
        } else if new && !old {
            mode_to_word(template);
            template.remove("preemptionPolicy");
        }
    }
    if new && !old {
        spec.remove("compositePodGroupTemplates");
    }
}

fn mode_to_object(map: &mut Map<String, Value>) {
    let mode = match map.get("disruptionMode").and_then(Value::as_str) {
        Some("Pod") => json!({"single": {}}),
        Some("PodGroup") => json!({"all": {}}),
        _ => return,
    };
    map.insert("disruptionMode".into(), mode);
}

fn mode_to_word(map: &mut Map<String, Value>) {
    let word = match map.get("disruptionMode") {
        Some(mode) if mode.get("single").is_some() => "Pod",
        Some(mode) if mode.get("all").is_some() => "PodGroup",
        _ => return,
    };
    map.insert("disruptionMode".into(), word.into());
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CPU: &str = "targetCPUUtilizationPercentage";

/// Autoscalers: v1 knows the share of CPUs alone, and keeps other metrics in an annotation.
pub(super) fn autoscaler(scaler: &mut Value, from: From<'_>, to: To<'_>) {
    match (from.0, to.0) {
        ("v1", "v2") => {
            let annotation = object::text(scaler, &["metadata", "annotations", METRICS]);
            let kept: Vec<Value> = serde_json::from_str(annotation).unwrap_or_default();
            let cpu = object::map_mut(scaler, "spec").remove(CPU);
            let cpu = cpu.map(|share| {
                let target = json!({"type": "Utilization", "averageUtilization": share});
                json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
            });
            let metrics: Vec<Value> = cpu.into_iter().chain(kept).collect();
            if !metrics.is_empty() {
                object::map_mut(scaler, "spec").insert("metrics".into(), metrics.into());
            }
            if let Some(Value::Object(all)) = object::metadata_mut(scaler).get_mut("annotations") {
                all.remove(METRICS);
            }
        }
        ("v2", "v1") => {
            let is_cpu = |metric: &Value| {
                metric["resource"]["name"] == "cpu"
                    && metric["resource"]["target"]["type"] == "Utilization"
            };
            let metrics = items(scaler, &["spec", "metrics"]).to_vec();
            let (cpu, others): (Vec<Value>, Vec<Value>) = metrics.into_iter().partition(is_cpu);
            let spec = object::map_mut(scaler, "spec");
            spec.remove("metrics");
            spec.remove("behavior");
            if let Some(share) = cpu.first() {
                let share = &share["resource"]["target"]["averageUtilization"];
                spec.insert(CPU.into(), share.clone());
            }
            if !others.is_empty() {
                let metadata = object::metadata_mut(scaler);
                let annotations = metadata.entry("annotations").or_insert(json!({}));
                annotations[METRICS] = Value::from(others).to_string().into();
            }
            let status = object::map_mut(scaler, "status");
            status.remove("currentMetrics");
            status.remove("conditions");
        }
        _ => {}
    }
}

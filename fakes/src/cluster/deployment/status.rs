//! The status of a Deployment: counts, and whether it's available and progressing.

use std::sync::Arc;

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::super::{
    object::{Moment, condition, count, items, set_condition, text, time},
    plan::{Act, patch},
    replica_set::replicas,
};
use super::{USER, path, strategy};

/// The status as it should be.
pub(super) fn write(at: Moment, it: &Value, new: Option<&Value>, sets: &[Arc<Value>]) -> Value {
    let sum = |field: &str| -> u64 { sets.iter().map(|set| count(&set["status"][field])).sum() };
    let available = sum("availableReplicas");
    let total = sum("replicas");
    let mut status = json!({
        "observedGeneration": it["metadata"]["generation"],
        "replicas": total,
        "updatedReplicas": new.map_or(0, |set| count(&set["status"]["replicas"])),
        "readyReplicas": sum("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": replicas(it).max(total).saturating_sub(available),
        "terminatingReplicas": sum("terminatingReplicas"),
    });
    let mut conditions = items(&it["status"]["conditions"]).to_vec();
    set_condition(&mut conditions, availability(it, available), &at.stamp());
    if let Some(new) = new {
        let progress = progress(at, it, new, &status);
        set_condition(&mut conditions, progress, &at.stamp());
    }
    status["conditions"] = conditions.into();
    status
}

/// Sends the status, if it differs from what is there.
pub(super) fn send(it: &Value, status: &Value) -> Option<Act> {
    let old = &it["status"];
    let changed = status.as_object()?.iter().any(|(field, value)| {
        old[field] != *value && !(old[field].is_null() && *value == json!(0))
    });
    let body = json!({"status": status});
    changed.then(|| Act::Send(patch(USER, path(it) + "/status", body)))
}

fn availability(it: &Value, available: u64) -> Value {
    let least = replicas(it).saturating_sub(strategy(it).unavailable);
    if least <= available {
        json!({
            "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability.",
        })
    } else {
        json!({
            "type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable",
            "message": "Deployment does not have minimum availability.",
        })
    }
}

fn progress(at: Moment, it: &Value, new: &Value, status: &Value) -> Value {
    let name = text(&new["metadata"]["name"]);
    let want = replicas(it);
    let complete = ["replicas", "updatedReplicas", "availableReplicas"]
        .iter()
        .all(|field| count(&status[*field]) == want);
    let before = condition(it, "Progressing");
    let moved = ["updatedReplicas", "readyReplicas", "availableReplicas"]
        .iter()
        .any(|field| count(&it["status"][*field]) < count(&status[*field]));
    let late = deadline(at, it, &it["status"]).is_some_and(|deadline| deadline <= at.now)
        || before.is_some_and(|it| it["reason"] == "ProgressDeadlineExceeded");
    let (is, reason, message) = if complete {
        (
            "True",
            "NewReplicaSetAvailable",
            format!("ReplicaSet \"{name}\" has successfully progressed."),
        )
    } else if late && !moved {
        (
            "False",
            "ProgressDeadlineExceeded",
            format!("ReplicaSet \"{name}\" has timed out progressing."),
        )
    } else {
        ("True", "ReplicaSetUpdated", format!("ReplicaSet \"{name}\" is progressing."))
    };
    let mut new = json!({
        "type": "Progressing", "status": is, "reason": reason, "message": message,
    });
    if moved || before.is_none_or(|old| old["reason"] != reason) {
        new["lastUpdateTime"] = at.stamp().into();
    }
    new
}

/// When the rollout counts as stuck, unless it moves before.
pub(super) fn deadline(at: Moment, it: &Value, status: &Value) -> Option<Time> {
    let secs = it["spec"]["progressDeadlineSeconds"].as_u64().unwrap_or(600);
    let progressing = items(&status["conditions"])
        .iter()
        .find(|it| it["type"] == "Progressing" && it["reason"] == "ReplicaSetUpdated")?;
    Some(time(at.epoch, &progressing["lastUpdateTime"])? + Span::secs(secs))
}

//! Reading and shaping JSON objects.

use std::{fmt, sync::Arc};

use drawbridge_sim::{Epoch, Time};
use serde_json::{Map, Value, json};

/// `namespace/name`; the namespace is empty for cluster-wide objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    pub(crate) fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self::new(text(&metadata["namespace"]), text(&metadata["name"]))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The time of a decision, and where it lies in the calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Time,
    pub(crate) epoch: Epoch,
}

impl Moment {
    /// The moment as objects carry it.
    pub(crate) fn stamp(self) -> String {
        self.stamp_of(self.now)
    }

    pub(crate) fn stamp_of(self, at: Time) -> String {
        self.epoch.rfc3339(at)
    }
}

/// A time that an object carries; whole seconds.
pub(crate) fn time(epoch: Epoch, value: &Value) -> Option<Time> {
    let secs = Epoch::parse(value.as_str()?).ok()?.unix(Time::ZERO);
    Some(epoch.time_of_unix(secs))
}

/// The text, or nothing.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The count, or nothing.
pub(crate) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The items of a list; none where there is no list.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The pairs of an object; none where there is no object.
pub(crate) fn pairs(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Whether an object was asked to go.
pub(crate) fn deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(crate) fn uid(object: &Value) -> &str {
    text(&object["metadata"]["uid"])
}

/// The reference to the object's controller.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    items(&object["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true)
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    items(&object["status"]["conditions"]).iter().find(|condition| condition["type"] == kind)
}

/// Whether the condition of this type is there and `True`.
pub(crate) fn holds(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|it| it["status"] == "True")
}

/// Writes a condition into a list. The time of its last transition stays while its status does.
pub(crate) fn set_condition(conditions: &mut Vec<Value>, mut new: Value, stamp: &str) {
    let at = conditions.iter().position(|it| it["type"] == new["type"]);
    let since = at
        .map(|at| &conditions[at])
        .filter(|old| old["status"] == new["status"])
        .map(|old| old["lastTransitionTime"].clone());
    new["lastTransitionTime"] = since.unwrap_or_else(|| stamp.into());
    match at {
        Some(at) => {
            for key in ["lastProbeTime", "lastUpdateTime", "observedGeneration"] {
                let old = conditions[at].get(key).cloned();
                if let Some(old) = old.filter(|_| new.get(key).is_none()) {
                    new[key] = old;
                }
            }
            conditions[at] = new;
        }
        None => conditions.push(new),
    }
}

/// Whether any of the new fields differs from what is there; one that is null isn't there.
pub(crate) fn changed(old: &Value, new: &Value) -> bool {
    pairs(new).any(|(field, value)| old[field] != *value)
}

/// A number that isn't written if it's nothing.
pub(crate) fn some(number: impl TryInto<u64>) -> Option<u64> {
    number.try_into().ok().filter(|number| *number > 0)
}

/// The object without fields that are null.
pub(crate) fn prune(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            value
        }
    }
}

/// A reference that makes `object` the controller of what carries it.
pub(crate) fn owned_by(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_transition_time_while_its_status_stays() {
        let mut all = vec![json!({"type": "Other", "status": "True"})];
        let ready = |status: &str| json!({"type": "Ready", "status": status});
        set_condition(&mut all, ready("False"), "t1");
        set_condition(&mut all, ready("False"), "t2");
        assert_eq!(all[1]["lastTransitionTime"], "t1");
        set_condition(&mut all, ready("True"), "t3");
        assert_eq!(all[1]["lastTransitionTime"], "t3");
        assert_eq!(all.len(), 2);
        assert_eq!(all[0], json!({"type": "Other", "status": "True"}));
    }
}

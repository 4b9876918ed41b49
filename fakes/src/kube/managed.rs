//! Who manages which field: `metadata.managedFields`, kept up with every write.
//!
//! ```text
//!  update: what changed belongs to the writer now, and to nobody else
//!  apply:  what is applied belongs to the applier; conflicts are refused, or forced
//! ```
//!
//! A set of fields is a set of paths, whose parts are written as in `FieldsV1`: `f:spec`,
//! `k:{"name":"web"}`. Only served clusters keep them: the twin's own parts never ask.

mod apply;
mod compare;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use self::compare::compare;
use super::{
    Call, KubeApi,
    kinds::{Kind, StatusWrites},
    object,
    write::Part,
};
use crate::Method;

/// Paths of fields.
type Set = BTreeSet<Vec<String>>;

/// One entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    manager: String,
    operation: String,
    version: String,
    subresource: String,
    time: String,
    fields: Set,
}

impl Entry {
    fn read(value: &Value) -> Self {
        let word = |key: &str| value[key].as_str().unwrap_or("").to_owned();
        let mut fields = Set::new();
        read_set(&value["fieldsV1"], &mut vec![], &mut fields);
        Self {
            manager: word("manager"),
            operation: word("operation"),
            version: word("apiVersion"),
            subresource: word("subresource"),
            time: word("time"),
            fields,
        }
    }

    fn write(&self) -> Value {
        let mut entry = json!({
            "manager": self.manager, "operation": self.operation, "apiVersion": self.version,
            "fieldsType": "FieldsV1", "fieldsV1": write_set(&self.fields),
        });
        for (key, value) in [("time", &self.time), ("subresource", &self.subresource)] {
            if !value.is_empty() {
                entry[key] = value.as_str().into();
            }
        }
        entry
    }

    /// Whether both are about the same manager in the same role.
    fn is(&self, other: &Self) -> bool {
        let role = |it: &Self| {
            (it.manager.clone(), it.operation.clone(), it.version.clone(), it.subresource.clone())
        };
        role(self) == role(other)
    }
}

fn read_set(value: &Value, path: &mut Vec<String>, to: &mut Set) {
    let Some(map) = value.as_object() else { return };
    if map.is_empty() && !path.is_empty() {
        to.insert(path.clone());
    }
    for (key, inner) in map {
        if key == "." {
            to.insert(path.clone());
            continue;
        }
        path.push(key.clone());
        read_set(inner, path, to);
        path.pop();
    }
}

fn write_set(set: &Set) -> Value {
    let mut root = Map::new();
    for path in set {
        write_path(&mut root, path);
    }
    let mut root = Value::Object(root);
    drop_lone_dots(&mut root);
    root
}

fn write_path(map: &mut Map<String, Value>, path: &[String]) {
    let Some((first, rest)) = path.split_first() else {
        map.insert(".".into(), json!({}));
        return;
    };
    let slot = map.entry(first.clone()).or_insert_with(|| json!({}));
    if let Some(inner) = slot.as_object_mut() {
        write_path(inner, rest);
    }
}

/// A field without fields in it needs no dot.
fn drop_lone_dots(value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    if map.len() == 1 && map.contains_key(".") {
        map.clear();
    }
    map.values_mut().for_each(drop_lone_dots);
}

fn read_all(object: &Value) -> Vec<Entry> {
    object::items(object, &["metadata", "managedFields"]).iter().map(Entry::read).collect()
}

fn write_all(mut entries: Vec<Entry>) -> Value {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|a, b| {
        let key = |it: &Entry| (it.operation.clone(), it.time.clone(), it.manager.clone());
        key(a).cmp(&key(b))
    });
    entries.iter().map(Entry::write).collect()
}

/// Fields that belong to the server, or to another part than the one that is written.
fn strip(kind: &Kind, part: Part, set: &mut Set) {
    const METADATA: [&str; 11] = [
        "f:creationTimestamp",
        "f:deletionGracePeriodSeconds",
        "f:deletionTimestamp",
        "f:generation",
        "f:managedFields",
        "f:name",
        "f:namespace",
        "f:resourceVersion",
        "f:selfLink",
        "f:uid",
        "",
    ];
    let other = match part {
        Part::Main if kind.status != StatusWrites::None => "f:status",
        Part::Main => "",
        Part::Status => "f:spec",
    };
    set.retain(|path| match path.first().map(String::as_str) {
        Some("f:apiVersion" | "f:kind") => false,
        Some("f:metadata") => !METADATA.contains(&path.get(1).map_or("", |second| second.as_str())),
        Some(first) => first != other,
        None => false,
    });
}

impl KubeApi {
    /// Who writes, as an entry without fields.
    fn writer(&self, call: &Call<'_>, part: Part) -> Entry {
        let kind = call.target.kind;
        let named = call.request.query("fieldManager").filter(|name| !name.is_empty());
        let manager = match (named, call.request.agent.as_str(), &*call.user) {
            (Some(name), _, _) => name.to_owned(),
            (None, "", user) if user.starts_with("system:node:") => "kubelet".to_owned(),
            (None, "", "system:kube-scheduler") => "kube-scheduler".to_owned(),
            (None, "", "system:apiserver") => "kube-apiserver".to_owned(),
            (None, "", _) => "kube-controller-manager".to_owned(),
            (None, agent, _) => agent.to_owned(),
        };
        let applies = call.request.method == Method::Apply;
        Entry {
            manager,
            operation: if applies { "Apply".into() } else { "Update".into() },
            version: kind.api_version(call.target.version),
            subresource: match part {
                Part::Main => String::new(),
                Part::Status => "status".into(),
            },
            time: self.epoch.rfc3339(call.now),
            fields: Set::new(),
        }
    }

    /// The `managedFields` of a new object.
    pub(crate) fn managed_when_created(&self, call: &Call<'_>, object: &Value) -> Option<Value> {
        if !self.full {
            return None;
        }
        let kind = call.target.kind;
        let mut writer = self.writer(call, Part::Main);
        let schema = compare::root(kind);
        if call.request.method == Method::Apply {
            let config = call.request.body.as_ref().unwrap_or(&Value::Null);
            compare::leaves(schema, config, &mut vec![], &mut writer.fields);
        } else {
            let mut given = object.clone();
            // Admission sets these, not the client.
            if kind.key == "pods" && call.request.body.as_ref().is_some_and(unaccounted) {
                let spec = object::map_mut(&mut given, "spec");
                spec.remove("serviceAccountName");
                spec.remove("serviceAccount");
            }
            if kind.key == "namespaces" {
                object::map_mut(&mut given, "spec").remove("finalizers");
            }
            writer.fields = compare(schema, &compare::skeleton(kind), &given).set;
        }
        strip(kind, Part::Main, &mut writer.fields);
        Some(write_all(vec![writer]))
    }

    /// Gives an object that changes the managers that it had, or those that the client gave.
    pub(crate) fn keep_managers(&self, old: &Value, new: &mut Value, given: Option<Value>) {
        if !self.full {
            return;
        }
        let given = given.filter(Value::is_array);
        let managed = given.or_else(|| object::at(old, &["metadata", "managedFields"]).cloned());
        let metadata = object::metadata_mut(new);
        match managed {
            Some(managed) => metadata.insert("managedFields".into(), managed),
            None => metadata.remove("managedFields"),
        };
    }

    /// Attributes what changed to the writer. What is applied was attributed already.
    pub(crate) fn attribute(&self, call: &Call<'_>, old: &Value, new: &mut Value, part: Part) {
        if !self.full || call.request.method == Method::Apply {
            return;
        }
        let managed = self.managed_after(call, old, new, part);
        object::metadata_mut(new).insert("managedFields".into(), managed);
    }

    /// The `managedFields` after `old` became `new`.
    fn managed_after(&self, call: &Call<'_>, old: &Value, new: &Value, part: Part) -> Value {
        let kind = call.target.kind;
        let difference = compare(compare::root(kind), &compare::completed(kind, old), new);
        let mut entries = read_all(new);
        let mut writer = self.writer(call, part);
        let (mut changed, removed) = (difference.set, difference.removed);
        strip(kind, part, &mut changed);
        for entry in &mut entries {
            entry.fields.retain(|path| !removed.contains(path));
            if !entry.is(&writer) {
                entry.fields.retain(|path| !changed.contains(path));
            }
        }
        if !changed.is_empty() {
            match entries.iter_mut().find(|entry| entry.is(&writer)) {
                Some(own) => {
                    own.fields.append(&mut changed);
                    own.time = writer.time;
                }
                None => {
                    writer.fields = changed;
                    entries.push(writer);
                }
            }
        }
        write_all(entries)
    }
}

fn unaccounted(pod: &Value) -> bool {
    object::text(pod, &["spec", "serviceAccountName"]).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_what_was_written() {
        let fields = json!({
            "f:data": {".": {}, "f:a": {}},
            "f:spec": {"f:containers": {"k:{\"name\":\"x\"}": {".": {}, "f:image": {}}}},
        });
        let mut set = Set::new();
        read_set(&fields, &mut vec![], &mut set);
        assert_eq!(set.len(), 4);
        assert_eq!(write_set(&set), fields);
    }
}

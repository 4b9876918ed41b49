//! ControllerRevisions: the templates that a StatefulSet or DaemonSet had, to go back to.
//!
//! ```text
//!   template is the newest revision's ──▶ nothing
//!             is an older one's       ──▶ that one becomes the newest
//!             is new                  ──▶ one more revision
//! ```

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    controllers::Sight,
    deployment::spelled,
    object::{Key, count, owned_by, text},
    plan::{Plan, patch},
};
use crate::{Method, Request};

const RESOURCE: &str = "controllerrevisions.apps";
/// The label that pods carry, and whose value says which template they were made from.
pub(crate) const HASH: &str = "controller-revision-hash";

/// One template that a set has or had.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Revision {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) number: u64,
    pub(crate) template: Value,
}

/// The revisions of a set, the newest last.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) all: Vec<Revision>,
}

impl Revision {
    fn read(object: &Value) -> Self {
        let mut template = object["data"]["spec"]["template"].clone();
        if let Some(template) = template.as_object_mut() {
            template.remove("$patch");
        }
        Self {
            name: text(&object["metadata"]["name"]).to_owned(),
            hash: text(&object["metadata"]["labels"][HASH_OF_DATA]).to_owned(),
            number: count(&object["revision"]),
            template,
        }
    }
}

const HASH_OF_DATA: &str = "controller.kubernetes.io/hash";

impl History {
    /// The revisions that are there.
    pub(crate) fn of(sight: Sight<'_>, set: &Value) -> Self {
        let mut all: Vec<Revision> =
            sight.owned(set, RESOURCE).map(|object| Revision::read(object)).collect();
        all.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
        Self { all }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Revision> {
        self.all.iter().find(|it| it.name == name)
    }

    /// The revision of today's template, which is made or renumbered if need be.
    pub(crate) fn today(&self, plan: &mut Plan, user: &'static str, set: &Value) -> Revision {
        let template = &set["spec"]["template"];
        let next = self.all.last().map_or(1, |newest| newest.number + 1);
        match self.all.iter().rev().find(|it| it.template == *template) {
            Some(it) if it.number + 1 == next => it.clone(),
            Some(it) => {
                let body = json!({"revision": next});
                plan.send(patch(user, path(set, &it.name), body));
                Revision { number: next, ..it.clone() }
            }
            None => self.create(plan, user, set, next),
        }
    }

    fn create(&self, plan: &mut Plan, user: &'static str, set: &Value, number: u64) -> Revision {
        let template = set["spec"]["template"].clone();
        let collisions = count(&set["status"]["collisionCount"]);
        let hash = spelled(&format!("{template}{collisions}"));
        let name = format!("{}-{hash}", text(&set["metadata"]["name"]));
        let mut data = template.clone();
        data["$patch"] = "replace".into();
        let mut labels = template["metadata"]["labels"].clone();
        labels[HASH_OF_DATA] = hash.as_str().into();
        let body = json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": set["metadata"]["annotations"],
                "ownerReferences": [owned_by(set)],
            },
            "data": {"spec": {"template": data}},
            "revision": number,
        });
        plan.send(Request::new(user, Method::Post, collection(set)).with_body(body));
        Revision { name, hash, number, template }
    }

    /// Removes the oldest revisions that nobody uses, beyond the number that is kept.
    pub(crate) fn truncate(
        &self,
        plan: &mut Plan,
        user: &'static str,
        set: &Value,
        used: &BTreeSet<&str>,
    ) {
        let keep = set["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
        let idle: Vec<&Revision> =
            self.all.iter().filter(|it| !used.contains(it.name.as_str())).collect();
        let surplus = idle.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
        for it in &idle[..surplus] {
            plan.send(Request::new(user, Method::Delete, path(set, &it.name)));
        }
    }
}

/// The revision label of a pod.
pub(crate) fn label(pod: &Value) -> &str {
    text(&pod["metadata"]["labels"][HASH])
}

fn collection(set: &Value) -> String {
    let Key { namespace, .. } = Key::of(set);
    format!("/apis/apps/v1/namespaces/{namespace}/controllerrevisions")
}

fn path(set: &Value, name: &str) -> String {
    format!("{}/{name}", collection(set))
}

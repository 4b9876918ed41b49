//! The templates that a LeaderWorkerSet has and had. A group keeps that of its leader.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    super::{
        controllers::Sight,
        deployment::spelled,
        object::{Key, count, owned_by, text},
        plan::{Plan, Subject, patch},
    },
    COMPONENT, NAME, REVISION, USER, revision_of,
};
use crate::{Method, Request};

const RESOURCE: &str = "controllerrevisions.apps";

/// One template.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    name: String,
    pub(super) key: String,
    number: u64,
    pub(super) data: Value,
}

/// All that are kept, the newest last.
#[derive(Clone, Debug)]
pub(super) struct Revisions {
    all: Vec<Revision>,
}

impl Revisions {
    pub(super) fn of(sight: Sight<'_>, it: &Value) -> Self {
        let read = |object: &Arc<Value>| Revision {
            name: text(&object["metadata"]["name"]).to_owned(),
            key: revision_of(object).to_owned(),
            number: count(&object["revision"]),
            data: object["data"].clone(),
        };
        let mut all: Vec<Revision> = sight.owned(it, RESOURCE).map(read).collect();
        all.sort_by_key(|it| it.number);
        Self { all }
    }

    pub(super) fn find(&self, key: &str) -> Option<&Revision> {
        self.all.iter().rev().find(|it| it.key == key)
    }

    /// The revision of today's template, and whether the leaders don't have it yet.
    pub(super) fn today(
        &self,
        plan: &mut Plan,
        it: &Value,
        set: Option<&Arc<Value>>,
    ) -> (Revision, bool) {
        let data = data(it);
        let current = set.and_then(|set| self.find(revision_of(set)));
        if let Some(current) = current.filter(|it| it.data == data) {
            return (current.clone(), false);
        }
        let next = self.all.last().map_or(1, |it| it.number + 1);
        if let Some(old) = self.all.iter().find(|it| it.data == data) {
            if old.number + 1 < next {
                let path = format!("{}/{}", collection(it), old.name);
                plan.send(patch(USER, path, json!({"revision": next})));
            }
            return (old.clone(), set.is_some());
        }
        let new = Revision::new(it, data, next);
        plan.send(new.create(it));
        let which = match set {
            None => "a newly created LeaderWorkerSet",
            Some(_) => "updated LWS",
        };
        let message = format!("Creating revision with key {} for {which}", new.key);
        plan.tell(Subject::of(it).notes(COMPONENT, "CreatingRevision", message));
        (new, set.is_some())
    }

    /// Removes all but one.
    pub(super) fn truncate(&self, plan: &mut Plan, it: &Value, key: &str) {
        for old in self.all.iter().filter(|it| it.key != key) {
            let path = format!("{}/{}", collection(it), old.name);
            plan.send(Request::new(USER, Method::Delete, path));
        }
    }
}

impl Revision {
    fn new(it: &Value, data: Value, number: u64) -> Self {
        let key = spelled(&data.to_string());
        let name = format!("{}-{key}-{number}", Key::of(it).name);
        Self { name, key, number, data }
    }

    fn create(&self, it: &Value) -> Request {
        let body = json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": self.name,
                "labels": {NAME: it["metadata"]["name"], REVISION: self.key},
                "ownerReferences": [owned_by(it)],
            },
            "data": self.data,
            "revision": self.number,
        });
        Request::new(USER, Method::Post, collection(it)).with_body(body)
    }

    /// The set as it was when it had this template.
    pub(super) fn apply(&self, it: &Value) -> Value {
        let mut then = it.clone();
        for part in PARTS {
            then["spec"][part] = self.data["spec"][part].clone();
            if let Some(part) = then["spec"][part].as_object_mut() {
                part.remove("$patch");
            }
        }
        then
    }
}

const PARTS: [&str; 2] = ["leaderWorkerTemplate", "networkConfig"];

fn data(it: &Value) -> Value {
    let mut data = json!({"spec": {}});
    for part in PARTS {
        data["spec"][part] = it["spec"][part].clone();
        data["spec"][part]["$patch"] = "replace".into();
    }
    data
}

fn collection(it: &Value) -> String {
    format!("/apis/apps/v1/namespaces/{}/controllerrevisions", Key::of(it).namespace)
}

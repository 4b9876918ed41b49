//! Real clusters as a recording: what is seen of them becomes rows and sentences.
//!
//! ```text
//!   objects of Kubernetes, as lists and watches bring them ─┐
//!                                                           ├─▶ Watched ──▶ Chunk
//!   jobs and nodes of Slurm, as slurmrestd lists them ──────┘
//! ```
//!
//! The sentences are those of the twin. What was there before anybody looked isn't told.

mod slurm;
mod times;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_core::names::BRIDGE_USER;
use drawbridge_fakes::{Change as Written, ChangeKind};
use drawbridge_sim::{JobId, Time};
use serde_json::Value;

use super::{Change, Chunk};
use crate::{
    frame::{JobRow, NodeRow, PodRow},
    log::{Line, Log},
    names::Names,
    object::Object,
    record::{Actor, Subject},
    rows,
    world::story,
};

/// What is known of real clusters.
#[derive(Debug)]
pub struct Watched {
    /// Unix time of [`Time::ZERO`], in milliseconds.
    zero_unix_ms: u64,
    now: Time,
    log: Log,
    changes: Vec<(u64, Change)>,
    objects: BTreeMap<(&'static str, String), Arc<Value>>,
    pods: BTreeMap<String, Arc<PodRow>>,
    jobs: BTreeMap<JobId, Arc<JobRow>>,
    /// Slurm's nodes as slurmrestd lists them, and all rows as they were last told.
    slurm_nodes: BTreeMap<String, NodeRow>,
    nodes: BTreeMap<String, Arc<NodeRow>>,
    names: Names,
    tops: BTreeMap<String, String>,
    /// Which sides have been seen once: what comes after that is news.
    seen: BTreeSet<&'static str>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It is there, new or changed.
    Applied,
    /// It is gone.
    Deleted,
}

impl Watched {
    /// Nothing is known yet. Time zero is at this Unix time, in milliseconds.
    pub fn new(zero_unix_ms: u64) -> Self {
        Self {
            zero_unix_ms,
            now: Time::ZERO,
            log: Log::default(),
            changes: vec![],
            objects: BTreeMap::new(),
            pods: BTreeMap::new(),
            jobs: BTreeMap::new(),
            slurm_nodes: BTreeMap::new(),
            nodes: BTreeMap::new(),
            names: Names::default(),
            tops: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    /// What is so at this Unix time, in milliseconds.
    pub fn at(&mut self, unix_ms: u64) {
        self.now = self.now.max(times::since(self.zero_unix_ms, unix_ms));
    }

    /// Everything of a resource has been listed: what isn't there any more is gone.
    pub fn kube_listed(&mut self, resource: &'static str, objects: Vec<Value>) {
        let uids: BTreeSet<String> =
            objects.iter().map(|object| Object(object).uid().to_owned()).collect();
        let known = self.objects.keys().filter(|(of, _)| *of == resource);
        let gone: Vec<String> =
            known.map(|(_, uid)| uid.clone()).filter(|uid| !uids.contains(uid)).collect();
        for uid in gone {
            if let Some(object) = self.objects.get(&(resource, uid)).cloned() {
                self.kube(resource, Happened::Deleted, (*object).clone());
            }
        }
        for object in objects {
            self.kube(resource, Happened::Applied, object);
        }
        self.seen.insert(resource);
    }

    /// Something happened to an object.
    pub fn kube(&mut self, resource: &'static str, happened: Happened, object: Value) {
        let object = Arc::new(object);
        let seen = Object(&object);
        let key = (resource, seen.uid().to_owned());
        let previous = match happened {
            Happened::Applied => self.objects.insert(key, object.clone()),
            Happened::Deleted => self.objects.remove(&key),
        };
        if previous.as_deref() == Some(&*object) && happened == Happened::Applied {
            return;
        }
        let kind = match (happened, previous.is_some()) {
            (Happened::Deleted, _) => ChangeKind::Deleted,
            (Happened::Applied, true) => ChangeKind::Modified,
            (Happened::Applied, false) => ChangeKind::Added,
        };
        let change = Written {
            rv: 0,
            kind,
            resource,
            namespace: seen.namespace().into(),
            name: seen.name().into(),
            object: object.clone(),
            previous,
            user: user_of(Object(&object).last_writer()).into(),
        };
        self.tell_kube(&change);
        self.learn(&change);
    }

    fn tell_kube(&mut self, change: &Written) {
        if self.seen.contains(change.resource) {
            self.log.add(self.now, story::kube_change(change));
        }
    }

    fn learn(&mut self, change: &Written) {
        let object = Object(&change.object);
        match change.resource {
            "nodes" => {
                self.names.learn_node(object);
                self.tell_nodes();
            }
            "pods" => {
                let moved = self.names.learn_worker(object);
                self.pod(object, change.kind);
                if moved || object.node().is_some() {
                    self.tell_nodes();
                }
            }
            _ => {
                if let Some((uid, name)) = object.controller() {
                    let top = self.tops.get(uid).cloned().unwrap_or(name);
                    self.tops.insert(object.uid().to_owned(), top);
                }
            }
        }
    }

    fn pod(&mut self, pod: Object<'_>, kind: ChangeKind) {
        let mut row = rows::pod_row(pod);
        row.owner = pod.controller().map(|(uid, name)| self.tops.get(uid).cloned().unwrap_or(name));
        times::put(&mut row, pod, self.zero_unix_ms, self.now);
        if kind == ChangeKind::Deleted {
            row.phase = "Deleted".to_owned();
            row.terminating = false;
        }
        let row = Arc::new(row);
        let before = self.pods.insert(row.uid.clone(), row.clone());
        if before.as_ref() != Some(&row) {
            self.note(Change::Pod(row));
        }
    }

    /// Rows of nodes that look different now.
    fn tell_nodes(&mut self) {
        let rows = self.node_rows();
        let gone: Vec<String> =
            self.nodes.keys().filter(|name| !rows.contains_key(*name)).cloned().collect();
        for name in gone {
            self.nodes.remove(&name);
            self.note(Change::NodeGone(name));
        }
        for (name, row) in rows {
            if self.nodes.get(&name).is_none_or(|before| **before != row) {
                let row = Arc::new(row);
                self.nodes.insert(name, row.clone());
                self.note(Change::Node(row));
            }
        }
    }

    fn node_rows(&self) -> BTreeMap<String, NodeRow> {
        let kube: BTreeMap<&str, Object<'_>> = self
            .objects
            .iter()
            .filter(|((resource, _), _)| *resource == "nodes")
            .map(|(_, object)| (Object(object).name(), Object(object)))
            .collect();
        let mut rows: BTreeMap<String, NodeRow> = BTreeMap::new();
        for (slurm_name, node) in &self.slurm_nodes {
            let name = self.names.by_slurm().get(slurm_name).filter(|it| kube.contains_key(&***it));
            let mut row = node.clone();
            if let Some(object) = name.and_then(|name| kube.get(name.as_str())) {
                rows::join(&mut row, *object);
            }
            rows.insert(row.name.clone(), row);
        }
        for (name, object) in kube {
            let known = rows.contains_key(name);
            if !known {
                rows.insert(name.to_owned(), rows::kube_node_row(object));
            }
        }
        for pod in self.pods.values() {
            if let Some(row) = pod.node.as_ref().and_then(|node| rows.get_mut(node))
                && matches!(pod.phase.as_str(), "Pending" | "Running")
            {
                row.pods.push(format!("{}/{}", pod.namespace, pod.name));
            }
        }
        rows.values_mut().for_each(|row| row.pods.sort());
        rows
    }

    fn note(&mut self, change: Change) {
        self.changes.push((self.log.count(), change));
    }

    fn story(&mut self, actor: Actor, subject: Subject, text: String) {
        self.log.add(self.now, Line::story(actor, subject, text));
    }

    /// Says something about the looking itself.
    pub fn remark(&mut self, text: String) {
        self.story(Actor::Twin, Subject::Twin, text);
    }

    /// What is new since the last call. Time goes on also where nothing happens.
    pub fn take(&mut self) -> Chunk {
        let records = self.log.take();
        let changes = std::mem::take(&mut self.changes);
        Chunk { records, changes, now: self.now, ending: None }
    }
}

/// The user that a field manager stands for, as the sentences know them.
fn user_of(manager: &str) -> &'static str {
    match manager {
        "kubelet" => "system:node:",
        it if it.starts_with("kubectl") || it == "helm" => story::ADMIN,
        it if it.contains("drawbridge") || it.contains("slurm-bridge") => BRIDGE_USER,
        _ => "",
    }
}

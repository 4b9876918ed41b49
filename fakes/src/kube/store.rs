//! The objects, what happened to them, and the indices that keep reads fast.
//!
//! ```text
//!   write ──▶ table[resource][namespace][name] = Arc<object>     one resourceVersion each
//!        ├──▶ log[resource]       what watches replay
//!        ├──▶ changes             what controllers are told
//!        └──▶ by uid, by owner, pods by node
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{
    kinds::{Kind, Kinds},
    log::{Entry, Log},
    object,
};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It was made.
    Added,
    /// It was written.
    Modified,
    /// It is gone.
    Deleted,
}

/// One write, as controllers are told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The resourceVersion that the write made.
    pub rv: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// `pods`, `jobs.batch`.
    pub resource: &'static str,
    /// Empty for cluster-wide objects.
    pub namespace: Arc<str>,
    /// The object's name.
    pub name: Arc<str>,
    /// The object after the write; its last state if it is gone.
    pub object: Arc<Value>,
    /// The object before the write.
    pub previous: Option<Arc<Value>>,
    /// Who wrote.
    pub user: Arc<str>,
}

/// Where an object lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// `pods`, `jobs.batch`.
    pub resource: &'static str,
    /// Empty for cluster-wide objects.
    pub namespace: Arc<str>,
    /// The object's name.
    pub name: Arc<str>,
}

type Names = BTreeMap<Arc<str>, Arc<Value>>;

/// The objects of one kind.
#[derive(Clone)]
pub(crate) struct Table {
    objects: BTreeMap<Arc<str>, Names>,
    pub(crate) log: Log,
}

/// Everything that is stored.
#[derive(Clone)]
pub(crate) struct Store {
    version: u64,
    tables: BTreeMap<&'static str, Table>,
    /// How many writes the log of a kind that comes later keeps.
    window: usize,
    by_uid: BTreeMap<Arc<str>, ObjectKey>,
    by_owner: BTreeMap<Arc<str>, BTreeSet<ObjectKey>>,
    by_node: BTreeMap<Arc<str>, BTreeSet<ObjectKey>>,
    changes: Vec<Change>,
}

impl Table {
    /// One object.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(namespace)?.get(name)
    }

    /// Objects in order of namespace and name; of one namespace if it is given.
    pub(crate) fn list<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let all = namespace.is_empty();
        let one = self.objects.get(namespace).into_iter().filter(move |_| !all);
        let every = self.objects.values().filter(move |_| all);
        one.chain(every).flat_map(Names::values)
    }
}

impl Store {
    /// An empty store whose logs keep so many events of each kind.
    pub(crate) fn new(kinds: &Kinds, window: usize) -> Self {
        let table = Table { objects: BTreeMap::new(), log: Log::new(window) };
        Self {
            version: 0,
            tables: kinds.iter().map(|kind| (kind.table(), table.clone())).collect(),
            window,
            by_uid: BTreeMap::new(),
            by_owner: BTreeMap::new(),
            by_node: BTreeMap::new(),
            changes: vec![],
        }
    }

    /// Makes room for the objects of a kind that is new.
    pub(crate) fn admit(&mut self, kind: &'static Kind) {
        let log = Log::new(self.window);
        self.tables.entry(kind.key).or_insert(Table { objects: BTreeMap::new(), log });
    }

    /// Forgets what happened; what is there stays.
    pub(crate) fn forget_history(&mut self) {
        let version = self.version;
        self.tables.values_mut().for_each(|table| table.log.forget(version));
    }

    /// The resourceVersion of the last write.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// The objects of a kind.
    pub(crate) fn table(&self, kind: &Kind) -> &Table {
        &self.tables[kind.table()]
    }

    /// The objects of a kind named by its key, if it is served.
    pub(crate) fn table_of(&self, key: &str) -> Option<&Table> {
        self.tables.get(key)
    }

    /// One object.
    pub(crate) fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.table(kind).get(namespace, name)
    }

    /// The object at a place.
    pub(crate) fn at(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.table_of(key.resource)?.get(&key.namespace, &key.name)
    }

    /// Where the object with this uid lies.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<&ObjectKey> {
        self.by_uid.get(uid)
    }

    /// The objects whose ownerReferences name this uid.
    pub(crate) fn dependents<'a>(
        &'a self,
        uid: &str,
    ) -> impl Iterator<Item = &'a ObjectKey> + use<'a> {
        self.by_owner.get(uid).into_iter().flatten()
    }

    /// The pods bound to a node, in order of namespace and name.
    pub(crate) fn pods_on<'a>(
        &'a self,
        node: &str,
    ) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let keys = self.by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| self.at(key))
    }

    /// What was written since the last call.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Takes what was written since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Stores an object, new or changed, under a new resourceVersion.
    pub(crate) fn put(
        &mut self,
        kind: &'static Kind,
        object: Value,
        user: &Arc<str>,
    ) -> Arc<Value> {
        let object = self.stamped(object);
        let key = key_of(kind, &object, self.existing_key(&object));
        let previous = self.names(kind, &key).insert(key.name.clone(), object.clone());
        self.reindex(&key, previous.as_deref(), Some(&object));
        let change = match previous {
            Some(_) => ChangeKind::Modified,
            None => ChangeKind::Added,
        };
        self.record(change, key, object.clone(), previous, user);
        object
    }

    /// Takes an object out; gives back its last state, under a new resourceVersion.
    pub(crate) fn remove(
        &mut self,
        kind: &'static Kind,
        object: &Arc<Value>,
        user: &Arc<str>,
    ) -> Arc<Value> {
        let key = key_of(kind, object, self.existing_key(object));
        let previous = self.names(kind, &key).remove(&key.name);
        self.reindex(&key, previous.as_deref(), None);
        let last = self.stamped(Value::clone(object));
        self.record(ChangeKind::Deleted, key, last.clone(), previous, user);
        last
    }

    fn existing_key(&self, object: &Value) -> Option<&ObjectKey> {
        self.by_uid.get(object::uid(object))
    }

    fn names(&mut self, kind: &Kind, key: &ObjectKey) -> &mut Names {
        let table = self.tables.get_mut(kind.table()).expect("every kind has a table");
        table.objects.entry(key.namespace.clone()).or_default()
    }

    fn stamped(&mut self, mut object: Value) -> Arc<Value> {
        self.version += 1;
        let version = self.version.to_string();
        object::metadata_mut(&mut object).insert("resourceVersion".into(), version.into());
        Arc::new(object)
    }

    fn record(
        &mut self,
        kind: ChangeKind,
        key: ObjectKey,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
        user: &Arc<str>,
    ) {
        let table = self.tables.get_mut(key.resource).expect("every kind has a table");
        table.log.push(Entry {
            version: self.version,
            kind,
            object: object.clone(),
            previous: previous.clone(),
        });
        self.changes.push(Change {
            rv: self.version,
            kind,
            resource: key.resource,
            namespace: key.namespace,
            name: key.name,
            object,
            previous,
            user: user.clone(),
        });
    }

    fn reindex(&mut self, key: &ObjectKey, old: Option<&Value>, new: Option<&Value>) {
        let (was, is) = (owners(old), owners(new));
        if was != is {
            reindex_set(&mut self.by_owner, key, &was, &is);
        }
        if key.resource == "pods" && node(old) != node(new) {
            reindex_set(&mut self.by_node, key, &node(old), &node(new));
        }
        match (old, new) {
            (None, Some(new)) => {
                self.by_uid.insert(object::uid(new).into(), key.clone());
            }
            (Some(old), None) => {
                self.by_uid.remove(object::uid(old));
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
    }
}

/// Where `object` lies; shares the names of `known`, which is its place if it is stored.
fn key_of(kind: &'static Kind, object: &Value, known: Option<&ObjectKey>) -> ObjectKey {
    known.cloned().unwrap_or_else(|| ObjectKey {
        resource: kind.table(),
        namespace: object::namespace(object).into(),
        name: object::name(object).into(),
    })
}

fn owners(object: Option<&Value>) -> Vec<&str> {
    object.into_iter().flat_map(object::owners).collect()
}

/// The node of a pod, if it has one.
fn node(pod: Option<&Value>) -> Vec<&str> {
    let node = pod.map_or("", |pod| object::text(pod, &["spec", "nodeName"]));
    Some(node).filter(|node| !node.is_empty()).into_iter().collect()
}

/// Moves `key` from the sets that only `old` names to those that only `new` names.
fn reindex_set(
    index: &mut BTreeMap<Arc<str>, BTreeSet<ObjectKey>>,
    key: &ObjectKey,
    old: &[&str],
    new: &[&str],
) {
    for gone in old.iter().filter(|name| !new.contains(name)) {
        if let Some(set) = index.get_mut(*gone) {
            set.remove(key);
            if set.is_empty() {
                index.remove(*gone);
            }
        }
    }
    for come in new {
        index.entry((*come).into()).or_default().insert(key.clone());
    }
}

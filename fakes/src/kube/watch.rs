//! Watches: cursors over the history. They hold no connection; whoever polls, decides when.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    KubeApi,
    kinds::Kind,
    log::Entry,
    object, options,
    read::{Selection, version_parameter},
    status::Refusal,
    store::ChangeKind,
};
use crate::{Method, Request, Response};

/// A place in the history of one kind of objects, and which of them are of interest.
#[derive(Clone)]
pub struct Watch {
    kind: &'static Kind,
    version: String,
    selection: Selection,
    /// Told first: what was there when a watch began without a resourceVersion.
    initial: Vec<Arc<Value>>,
    /// Whether the client is told when it knows all that was there.
    ends_initial: bool,
    /// Everything up to here was told.
    seen: u64,
    /// The version that the watcher can know of: of the last object or bookmark.
    told: u64,
    bookmarks: bool,
    timeout_secs: Option<u64>,
}

/// One thing that a watch says.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// An object appeared, or entered the selection.
    Added(Arc<Value>),
    /// An object changed.
    Modified(Arc<Value>),
    /// An object is gone, or left the selection.
    Deleted(Arc<Value>),
    /// Nothing more happened up to this resourceVersion.
    Bookmark(u64),
    /// All that was there has been told; the state at this resourceVersion is known.
    InitialEnd(u64),
    /// 410: the history doesn't reach back to where the watch stands. List again.
    Expired,
}

/// A bookmark comes when the watcher's knowledge is so many versions old.
const BOOKMARK_EVERY: u64 = 1000;

impl Watch {
    /// How long the client wants the watch to stay open.
    pub const fn timeout_secs(&self) -> Option<u64> {
        self.timeout_secs
    }

    /// What is watched.
    pub(crate) const fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// An empty object at this version: what a bookmark carries.
    pub(crate) fn bookmark(&self, version: u64, initial: bool) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        json!({
            "kind": self.kind.kind, "apiVersion": self.kind.api_version(&self.version),
            "metadata": metadata,
        })
    }

    fn event(&self, entry: &Entry) -> Option<WatchEvent> {
        let is = |object: &Arc<Value>| self.selection.matches(object);
        let was = entry.previous.as_ref().is_some_and(is);
        let show = |object: &Arc<Value>| shown(self.kind, &self.version, object);
        match (was, entry.kind) {
            (true, ChangeKind::Deleted) => Some(WatchEvent::Deleted(show(&entry.object))),
            (false, ChangeKind::Deleted) => None,
            (_, ChangeKind::Added | ChangeKind::Modified) => match (was, is(&entry.object)) {
                (true, true) => Some(WatchEvent::Modified(show(&entry.object))),
                (false, true) => Some(WatchEvent::Added(show(&entry.object))),
                (true, false) => Some(WatchEvent::Deleted(show(&left(entry)))),
                (false, false) => None,
            },
        }
    }
}

/// The state in which an object left the selection: as it was, under the version of the write.
fn left(entry: &Entry) -> Arc<Value> {
    let mut last = Value::clone(entry.previous.as_ref().unwrap_or(&entry.object));
    let version = entry.version.to_string();
    object::metadata_mut(&mut last).insert("resourceVersion".into(), version.into());
    Arc::new(last)
}

/// The object in the version that was asked for; shared unless it must be rewritten.
pub(super) fn shown(kind: &Kind, version: &str, object: &Arc<Value>) -> Arc<Value> {
    match kind.is_stored_as(version) {
        true => object.clone(),
        false => Arc::new(kind.in_version(version, object)),
    }
}

impl KubeApi {
    /// Opens a watch: the path of a collection (or object) with `watch=true`.
    pub fn watch(&self, request: &Request) -> Result<Watch, Response> {
        self.open(request).map_err(Refusal::response)
    }

    fn open(&self, request: &Request) -> Result<Watch, Refusal> {
        let target = self.target(&request.path)?;
        if request.method != Method::Get || target.subresource.is_some() {
            return Err(Refusal::method_not_allowed());
        }
        options::check_watch(request)?;
        let streamed = request.query("sendInitialEvents") == Some("true");
        let selection = Selection::of(&target, request)?;
        let from = version_parameter(request)?;
        let table = self.store.table(target.kind);
        if from != 0 && from < table.log.forgotten() {
            return Err(Refusal::gone(from, table.log.forgotten()));
        }
        // Without a version a watch begins with what is there, unless the client knows better.
        let fresh = streamed || from == 0 && request.query("sendInitialEvents") != Some("false");
        let initial = match fresh {
            true => self.select(&target, &selection).cloned().collect(),
            false => vec![],
        };
        let seen = if fresh { self.store.version() } else { from };
        Ok(Watch {
            kind: target.kind,
            version: target.version.to_owned(),
            selection,
            initial,
            ends_initial: streamed,
            seen,
            told: seen,
            bookmarks: request.query("allowWatchBookmarks") == Some("true"),
            timeout_secs: request.query("timeoutSeconds").and_then(|secs| secs.parse().ok()),
        })
    }

    /// A bookmark for where the watch stands, if its client takes any.
    pub fn bookmark(&self, watch: &mut Watch) -> Option<WatchEvent> {
        watch.told = watch.seen;
        watch.bookmarks.then_some(WatchEvent::Bookmark(watch.seen))
    }

    /// What the watch has to say since the last call.
    pub fn poll(&self, watch: &mut Watch) -> Vec<WatchEvent> {
        let log = &self.store.table(watch.kind).log;
        let initial = std::mem::take(&mut watch.initial);
        let show = |object| WatchEvent::Added(shown(watch.kind, &watch.version, object));
        let mut events: Vec<WatchEvent> = initial.iter().map(show).collect();
        if std::mem::take(&mut watch.ends_initial) {
            events.push(WatchEvent::InitialEnd(watch.seen));
        }
        if watch.seen < log.forgotten() {
            events.push(WatchEvent::Expired);
            return events;
        }
        for entry in log.after(watch.seen) {
            if let Some(event) = watch.event(entry) {
                watch.told = entry.version;
                events.push(event);
            }
        }
        // A client may wait for what hasn't happened yet.
        watch.seen = watch.seen.max(self.store.version());
        if watch.bookmarks && watch.seen >= watch.told + BOOKMARK_EVERY {
            watch.told = watch.seen;
            events.push(WatchEvent::Bookmark(watch.seen));
        }
        events
    }
}

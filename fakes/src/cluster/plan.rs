//! What a controller decided to do: requests to send and events to tell, in order.

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use crate::{Method, Request};

use super::{memo::Memo, object::Key};

/// Acts in order. The first request that fails stops the rest; the whole is decided again later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) acts: Vec<Act>,
    /// When to decide again even if nothing changes.
    pub(crate) again: Option<Time>,
    /// What to remember until then.
    pub(crate) memo: Option<Memo>,
}

/// One thing to do.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Send this.
    Send(Request),
    /// Record this event.
    Tell(Note),
    /// Send this, and record how it went if it is to be told; what the API server said is added to
    /// `failed`.
    Telling(Box<Telling>),
    /// Create this pod for its controller, and tell of it either way.
    CreatePod(PodOrder),
    /// Delete this pod for its controller, and tell of it.
    DeletePod { user: &'static str, component: &'static str, owner: Subject, pod: Key, uid: String },
}

/// A request and what to tell of it.
#[derive(Clone, Debug)]
pub(crate) struct Telling {
    pub(crate) request: Request,
    pub(crate) done: Option<Note>,
    pub(crate) failed: Note,
}

/// A pod to create.
#[derive(Clone, Debug)]
pub(crate) struct PodOrder {
    pub(crate) user: &'static str,
    /// Who tells of it.
    pub(crate) component: &'static str,
    pub(crate) owner: Subject,
    pub(crate) namespace: String,
    pub(crate) body: Value,
}

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Note {
    /// Who tells: `default-scheduler`, `kubelet`.
    pub(crate) component: &'static str,
    /// The node whose kubelet tells; empty for the others.
    pub(crate) host: String,
    pub(crate) about: Subject,
    pub(crate) warning: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) key: Key,
    pub(crate) uid: String,
    /// The part of it: `spec.containers{main}`.
    pub(crate) part: String,
}

impl Plan {
    /// Nothing to do.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// Decide again at `at` at the latest.
    pub(crate) fn wake_at(&mut self, at: Time) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }

    pub(crate) fn send(&mut self, request: Request) {
        self.acts.push(Act::Send(request));
    }

    pub(crate) fn send_telling(&mut self, request: Request, done: Note, failed: Note) {
        self.acts.push(Act::Telling(Box::new(Telling { request, done: Some(done), failed })));
    }

    pub(crate) fn send_or_warn(&mut self, request: Request, failed: Note) {
        self.acts.push(Act::Telling(Box::new(Telling { request, done: None, failed })));
    }

    pub(crate) fn tell(&mut self, note: Note) {
        self.acts.push(Act::Tell(note));
    }
}

impl Subject {
    pub(crate) fn of(object: &Value) -> Self {
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: part(&object["apiVersion"]),
            kind: part(&object["kind"]),
            key: Key::of(object),
            uid: part(&object["metadata"]["uid"]),
            part: String::new(),
        }
    }

    /// A part of this object.
    pub(crate) fn part(self, part: String) -> Self {
        Self { part, ..self }
    }

    /// An event about this object in which all went well.
    pub(crate) fn notes(&self, component: &'static str, reason: &str, message: String) -> Note {
        Note {
            component,
            host: String::new(),
            about: self.clone(),
            warning: false,
            reason: reason.into(),
            message,
        }
    }

    /// An event about this object that should worry somebody.
    pub(crate) fn warns(&self, component: &'static str, reason: &str, message: String) -> Note {
        Note { warning: true, ..self.notes(component, reason, message) }
    }
}

impl Note {
    /// The same, told by the kubelet of this node.
    pub(crate) fn on(mut self, node: &str) -> Self {
        self.host = node.into();
        self
    }
}

/// A merge patch.
pub(crate) fn patch(user: &str, path: String, body: Value) -> Request {
    Request::new(user, Method::MergePatch, path).with_body(body)
}

/// The path of a pod.
pub(crate) fn pod_path(pod: &Key) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}

/// Deletes a pod, if it's still the one with this uid.
pub(crate) fn delete_pod(user: &str, pod: &Key, uid: &str, grace: Option<Span>) -> Request {
    let mut options = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": uid},
    });
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.as_secs().into();
    }
    Request::new(user, Method::Delete, pod_path(pod)).with_body(options)
}

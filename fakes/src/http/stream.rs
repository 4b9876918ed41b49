//! A watch as frames: one JSON line for each event.

use serde_json::{Value, json};

use super::{accept::Form, table};
use crate::{KubeApi, Watch, WatchEvent};
use drawbridge_sim::Time;

/// A watch that somebody listens to.
pub struct Stream {
    watch: Watch,
    form: Form,
    /// Only the first table of a stream says what its columns are.
    headed: bool,
}

/// What a stream has to say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Lines of JSON, maybe none.
    pub bytes: Vec<u8>,
    /// Nothing will follow.
    pub ended: bool,
}

impl Stream {
    pub(crate) fn new(watch: Watch, form: Form) -> Self {
        Self { watch, form, headed: false }
    }

    /// How long the client wants to listen.
    pub fn timeout_secs(&self) -> Option<u64> {
        self.watch.timeout_secs()
    }

    /// What happened since the last call.
    pub fn frames(&mut self, api: &KubeApi, now: Time) -> Frames {
        let mut frames = Frames::default();
        for event in api.poll(&mut self.watch) {
            frames.ended |= event == WatchEvent::Expired;
            self.write(api, now, &event, &mut frames.bytes);
        }
        frames
    }

    /// A bookmark, if the client takes any: the last thing before a stream ends.
    pub fn farewell(&mut self, api: &KubeApi, now: Time) -> Vec<u8> {
        let mut bytes = vec![];
        if let Some(event) = api.bookmark(&mut self.watch) {
            self.write(api, now, &event, &mut bytes);
        }
        bytes
    }

    fn write(&mut self, api: &KubeApi, now: Time, event: &WatchEvent, to: &mut Vec<u8>) {
        let (kind, object) = match event {
            WatchEvent::Added(object) => ("ADDED", self.shaped(api, now, object)),
            WatchEvent::Modified(object) => ("MODIFIED", self.shaped(api, now, object)),
            WatchEvent::Deleted(object) => ("DELETED", self.shaped(api, now, object)),
            WatchEvent::Bookmark(version) => {
                let empty = self.watch.bookmark(*version, false);
                ("BOOKMARK", self.shaped(api, now, &empty))
            }
            WatchEvent::InitialEnd(version) => {
                let empty = self.watch.bookmark(*version, true);
                ("BOOKMARK", self.shaped(api, now, &empty))
            }
            WatchEvent::Expired => ("ERROR", expired()),
        };
        to.extend(json!({"type": kind, "object": object}).to_string().into_bytes());
        to.push(b'\n');
    }

    fn shaped(&mut self, api: &KubeApi, now: Time, object: &Value) -> Value {
        match self.form {
            Form::Plain => object.clone(),
            Form::Partial => table::partial(object),
            Form::Table(include) => {
                let mut table = table::of(api, now, self.watch.kind(), object, include);
                if std::mem::replace(&mut self.headed, true) {
                    table["columnDefinitions"] = Value::Null;
                }
                table
            }
        }
    }
}

fn expired() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "The resourceVersion for the provided watch is too old.",
        "reason": "Expired", "code": 410,
    })
}

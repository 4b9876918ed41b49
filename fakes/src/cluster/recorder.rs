//! Event objects: written once, counted after that, and not too many of them.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time, fnv1a};
use serde_json::json;

use super::{
    node,
    object::{Key, Moment, prune},
    plan::{Note, Subject, patch},
    pod::DEFAULT_SCHEDULER,
    scheduler,
};
use crate::{Method, Request};

/// How many events one component tells about one object before it falls silent.
const BURST: u32 = 25;
/// After this time it may tell one more. Both as in a real client's spam filter.
const REFILL: Span = Span::mins(5);

/// What was told so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    /// By the hash of the note: the object's name and how often it was told.
    told: BTreeMap<u64, (Arc<str>, u32)>,
    /// By the hash of teller and object: how many may still be told, and since when.
    left: BTreeMap<u64, (u32, Time)>,
}

impl Recorder {
    /// The request that records a note, unless there were too many like it.
    pub(crate) fn record(&mut self, at: Moment, note: &Note) -> Option<Request> {
        let uid = &note.about.uid;
        let component = note.component;
        if !self.may_tell(at.now, fnv1a(format!("{component}/{uid}").as_bytes())) {
            return None;
        }
        let part = &note.about.part;
        let seen = format!("{component}/{uid}/{part}/{}/{}", note.reason, note.message);
        let hash = fnv1a(seen.as_bytes());
        let user = user(note);
        let Subject { key, .. } = &note.about;
        let namespace = match &*key.namespace {
            "" => "default",
            namespace => namespace,
        };
        let path = format!("/api/v1/namespaces/{namespace}/events");
        if let Some((name, count)) = self.told.get_mut(&hash) {
            *count += 1;
            let body = json!({"count": *count, "lastTimestamp": at.stamp()});
            return Some(patch(&user, format!("{path}/{name}"), body));
        }
        let name: Arc<str> = format!("{}.{hash:016x}", key.name).into();
        self.told.insert(hash, (name.clone(), 1));
        let body = event(at, note, namespace, &name);
        Some(Request::new(&user, Method::Post, path).with_body(body))
    }

    fn may_tell(&mut self, now: Time, who: u64) -> bool {
        let (left, since) = self.left.entry(who).or_insert((BURST, now));
        let refilled = (now - *since).as_ms() / REFILL.as_ms();
        if refilled > 0 {
            let more = u32::try_from(refilled).unwrap_or(BURST);
            *left = left.saturating_add(more).min(BURST);
            *since = *since + REFILL.times(refilled);
        }
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }
}

fn user(note: &Note) -> String {
    match (note.host.as_str(), note.component) {
        ("", DEFAULT_SCHEDULER) => scheduler::USER.into(),
        ("", component) => format!("system:serviceaccount:kube-system:{component}"),
        (host, _) => node::user(host),
    }
}

fn event(at: Moment, note: &Note, namespace: &str, name: &str) -> serde_json::Value {
    let Subject { api_version, kind, key: Key { namespace: home, name: about }, uid, part } =
        &note.about;
    let part = (!part.is_empty()).then_some(part);
    let home = (!home.is_empty()).then_some(&**home);
    let host = (!note.host.is_empty()).then_some(&note.host);
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": prune(json!({
            "apiVersion": api_version,
            "kind": kind,
            "namespace": home,
            "name": &**about,
            "uid": uid,
            "fieldPath": part,
        })),
        "type": if note.warning { "Warning" } else { "Normal" },
        "reason": note.reason,
        "message": note.message,
        "source": prune(json!({"component": note.component, "host": host})),
        "reportingComponent": note.component,
        "reportingInstance": note.host,
        "firstTimestamp": at.stamp(),
        "lastTimestamp": at.stamp(),
        "count": 1,
    })
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::Epoch;

    use super::*;

    fn note(message: &str) -> Note {
        let about = Subject {
            api_version: "v1".into(),
            kind: "Pod".into(),
            key: Key::new("d", "p"),
            uid: "u".into(),
            part: String::new(),
        };
        about.notes("kubelet", "Started", message.into()).on("n1")
    }

    fn at(now: Time) -> Moment {
        Moment { now, epoch: Epoch::DEFAULT }
    }

    #[test]
    fn the_same_event_is_counted_and_not_written_again() {
        let mut recorder = Recorder::default();
        let first = recorder.record(at(Time::ZERO), &note("a")).unwrap();
        assert_eq!(first.method, Method::Post);
        assert_eq!(first.user, "system:node:n1");
        let second = recorder.record(at(Time::ZERO), &note("a")).unwrap();
        assert_eq!(second.method, Method::MergePatch);
        assert_eq!(second.body.unwrap()["count"], 2);
    }

    #[test]
    fn a_talkative_component_falls_silent_about_an_object() {
        let mut recorder = Recorder::default();
        let told =
            (0..100).filter_map(|n| recorder.record(at(Time::ZERO), &note(&n.to_string()))).count();
        assert_eq!(told, 25);
        let later = at(Time::ZERO + REFILL);
        assert!(recorder.record(later, &note("x")).is_some());
        assert!(recorder.record(later, &note("y")).is_none());
    }
}

//! A watch as frames: one JSON line for each event. What happened is collected with the cluster at
//! hand, and written down without it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use drawbridge_sim::{Epoch, Time};
use serde_json::{Value, json};

use super::{accept::Form, log::LogStream, table};
use crate::{Cluster, KubeApi, Watch, WatchEvent};

/// Something that somebody listens to until it ends.
#[derive(Clone)]
pub enum Stream {
    /// A watch.
    Watch(Box<WatchStream>),
    /// The log of a container, as it grows.
    Log(Box<LogStream>),
}

/// A watch that somebody listens to.
#[derive(Clone)]
pub struct WatchStream {
    watch: Watch,
    form: Form,
    epoch: Epoch,
    /// Only the first table of a stream says what its columns are.
    headed: bool,
}

/// What a stream has to say, not yet written down.
pub struct News {
    events: Vec<WatchEvent>,
    text: Vec<u8>,
    /// Nothing will follow.
    pub ended: bool,
}

impl News {
    /// Whether there is nothing to write down.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.text.is_empty()
    }
}

/// Objects as text, kept for a while: many watches say the same.
#[derive(Default)]
pub struct Texts(Mutex<Kept>);

/// By version and by place in memory, at which nothing else can be while the object is kept.
type Kept = BTreeMap<(u64, usize), (Arc<Value>, Arc<str>)>;

/// How many of them are kept.
const KEPT: usize = 1024;

impl Texts {
    /// The text of an object that is stored; `version` is its resourceVersion.
    fn of(&self, version: u64, object: &Arc<Value>) -> Arc<str> {
        let key = (version, Arc::as_ptr(object).addr());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = kept.get(&key) {
            return text.clone();
        }
        drop(kept);
        let text: Arc<str> = object.to_string().into();
        kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, (object.clone(), text.clone()));
        while kept.len() > KEPT {
            kept.pop_first();
        }
        text
    }
}

impl Stream {
    /// How long the client wants to listen.
    pub fn timeout_secs(&self) -> Option<u64> {
        match self {
            Self::Watch(stream) => stream.watch.timeout_secs(),
            Self::Log(_) => None,
        }
    }

    /// `application/json`, or plain text for a log.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Watch(_) => "application/json",
            Self::Log(_) => "text/plain",
        }
    }

    /// What happened since the last call.
    pub fn collect(&mut self, cluster: &Cluster) -> News {
        match self {
            Self::Watch(stream) => {
                let events = cluster.api().poll(&mut stream.watch);
                let ended = events.contains(&WatchEvent::Expired);
                News { events, text: vec![], ended }
            }
            Self::Log(stream) => {
                let (text, ended) = stream.more(cluster);
                News { events: vec![], text, ended }
            }
        }
    }

    /// A bookmark, if the client takes any: the last thing before a stream ends.
    pub fn farewell(&mut self, cluster: &Cluster) -> News {
        let events = match self {
            Self::Watch(stream) => cluster.api().bookmark(&mut stream.watch).into_iter().collect(),
            Self::Log(_) => vec![],
        };
        News { events, text: vec![], ended: false }
    }

    /// The bytes that say what happened.
    pub fn write(&mut self, now: Time, news: News, texts: &Texts) -> Vec<u8> {
        let mut bytes = news.text;
        if let Self::Watch(stream) = self {
            for event in &news.events {
                stream.write(now, event, texts, &mut bytes);
            }
        }
        bytes
    }
}

impl WatchStream {
    pub(crate) fn new(api: &KubeApi, watch: Watch, form: Form) -> Self {
        Self { watch, form, epoch: api.epoch(), headed: false }
    }

    fn write(&mut self, now: Time, event: &WatchEvent, texts: &Texts, to: &mut Vec<u8>) {
        let (word, object) = match event {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            WatchEvent::Bookmark(version) => {
                let empty = Arc::new(self.watch.bookmark(*version, false));
                return self.line("BOOKMARK", &self.shaped(now, &empty).to_string(), to);
            }
            WatchEvent::InitialEnd(version) => {
                let empty = Arc::new(self.watch.bookmark(*version, true));
                return self.line("BOOKMARK", &self.shaped(now, &empty).to_string(), to);
            }
            WatchEvent::Expired => return self.line("ERROR", &expired().to_string(), to),
        };
        match self.form {
            Form::Plain => {
                let version = object["metadata"]["resourceVersion"].as_str();
                let version = version.and_then(|it| it.parse().ok()).unwrap_or(0);
                self.line(word, &texts.of(version, object), to);
            }
            Form::Partial | Form::Table(_) => {
                let shaped = self.shaped(now, object).to_string();
                self.headed |= matches!(self.form, Form::Table(_));
                self.line(word, &shaped, to);
            }
        }
    }

    fn line(&self, word: &str, object: &str, to: &mut Vec<u8>) {
        to.extend(format!("{{\"type\":\"{word}\",\"object\":").into_bytes());
        to.extend(object.as_bytes());
        to.extend(b"}\n");
    }

    fn shaped(&self, now: Time, object: &Value) -> Value {
        match self.form {
            Form::Plain => object.clone(),
            Form::Partial => table::partial(object),
            Form::Table(include) => {
                let at = self.epoch.unix(now);
                let mut table = table::of(at, self.watch.kind(), object, include);
                if self.headed {
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

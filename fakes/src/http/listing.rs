//! A list on its way out: what is in it was settled with the cluster at hand; it is written down piece by
//! piece without it, so that a large one takes neither the cluster's time nor much memory.

use drawbridge_sim::Time;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{Reply, accept::Form, table};
use crate::{KubeApi, kube::Listed};

/// How many objects make a piece.
const PIECE: usize = 500;

/// A list that is being written.
pub struct Listing {
    listed: Listed,
    form: Form,
    pretty: bool,
    /// Seconds since 1970.
    now: u64,
    written: usize,
    ended: bool,
}

impl Listing {
    pub(crate) fn new(api: &KubeApi, now: Time, listed: Listed, form: Form, pretty: bool) -> Self {
        let now = api.epoch().unix(now);
        Self { listed, form, pretty, now, written: 0, ended: false }
    }

    /// Whether one piece will do.
    pub fn is_small(&self) -> bool {
        self.listed.items.len() <= PIECE || self.pretty
    }

    /// All of it at once.
    pub fn reply(mut self) -> Reply {
        let mut body = vec![];
        while let Some(mut piece) = self.next_piece() {
            body.append(&mut piece);
        }
        Reply::new(200, "application/json", body)
    }

    /// The next bytes; nothing after the last.
    pub fn next_piece(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        if self.pretty {
            self.ended = true;
            return Some(format!("{:#}\n", self.shaped(&self.listed.body())).into_bytes());
        }
        let begin = self.written;
        let end = (begin + PIECE).min(self.listed.items.len());
        self.written = end;
        self.ended = end == self.listed.items.len();
        let mut bytes = vec![];
        match self.form {
            Form::Plain => self.plain(begin, end, &mut bytes),
            Form::Partial | Form::Table(_) => self.formed(begin, end, &mut bytes),
        }
        Some(bytes)
    }

    fn plain(&self, begin: usize, end: usize, to: &mut Vec<u8>) {
        let listed = &self.listed;
        if begin == 0 {
            let (kind, version) = (listed.list_kind(), listed.api_version());
            let metadata = &listed.metadata;
            let head = format!(
                "{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{metadata},\"items\":["
            );
            to.extend(head.into_bytes());
        }
        for (place, object) in listed.items[begin..end].iter().enumerate() {
            if begin + place > 0 {
                to.push(b',');
            }
            let written = match listed.kind.is_stored_as(&listed.version) {
                true => self.item(object, to),
                false => self.item(&listed.kind.in_version(&listed.version, object), to),
            };
            debug_assert!(written.is_ok(), "values are JSON");
        }
        if self.ended {
            to.extend(b"]}\n");
        }
    }

    fn item(&self, object: &Value, to: &mut Vec<u8>) -> serde_json::Result<()> {
        match (object, self.listed.kind.custom) {
            (Value::Object(map), false) => serde_json::to_writer(to, &Bare(map)),
            (object, _) => serde_json::to_writer(to, object),
        }
    }

    /// Tables and metadata alone: the first piece has the head, the rest are rows.
    fn formed(&self, begin: usize, end: usize, to: &mut Vec<u8>) {
        let kind = self.listed.kind;
        let items: Vec<Value> = self.listed.items[begin..end]
            .iter()
            .map(|object| kind.in_version(&self.listed.version, object))
            .collect();
        let part = serde_json::json!({
            "kind": self.listed.list_kind(), "apiVersion": self.listed.api_version(),
            "metadata": self.listed.metadata, "items": items,
        });
        let mut shaped = self.shaped(&part);
        let key = if matches!(self.form, Form::Partial) { "items" } else { "rows" };
        let rows = shaped[key].take();
        let rows: Vec<String> =
            rows.as_array().into_iter().flatten().map(Value::to_string).collect();
        if begin == 0 {
            to.push(b'{');
            for (name, value) in shaped.as_object().into_iter().flatten() {
                if name != key {
                    to.extend(format!("\"{name}\":{value},").into_bytes());
                }
            }
            to.extend(format!("\"{key}\":[").into_bytes());
        } else if !rows.is_empty() {
            to.push(b',');
        }
        to.extend(rows.join(",").into_bytes());
        if self.ended {
            to.extend(b"]}\n");
        }
    }

    fn shaped(&self, body: &Value) -> Value {
        match self.form {
            Form::Plain => body.clone(),
            Form::Partial => table::partial(body),
            Form::Table(include) => table::of(self.now, self.listed.kind, body, include),
        }
    }
}

/// An object without what its list says of all of them.
struct Bare<'a>(&'a Map<String, Value>);

impl Serialize for Bare<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.0 {
            if key != "kind" && key != "apiVersion" {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

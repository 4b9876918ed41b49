//! Reading: get, and list with selectors, pages and resourceVersions.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    KubeApi, base64,
    kinds::Kind,
    object, options,
    path::Target,
    selector::{FieldSelector, LabelSelector},
    status::Refusal,
    store::ChangeKind,
    watch::shown,
};
use crate::{Request, Response};

/// Which objects of a collection are meant.
#[derive(Clone)]
pub(crate) struct Selection {
    namespace: String,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// Reads path and query.
    pub(crate) fn of(target: &Target<'_>, request: &Request) -> Result<Self, Refusal> {
        let labels = request.query("labelSelector").unwrap_or("");
        let mut fields = request.query("fieldSelector").unwrap_or("").to_owned();
        if let Some(name) = target.name {
            fields = format!("metadata.name={name}");
        }
        Ok(Self {
            namespace: target.namespace.to_owned(),
            labels: LabelSelector::parse(labels).map_err(Refusal::bad_request)?,
            fields: FieldSelector::parse(&fields, target.kind.fields)
                .map_err(Refusal::bad_request)?
                .renamed(target.kind.key),
        })
    }

    /// Whether every object of the path is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is meant.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        (self.namespace.is_empty() || self.namespace == object::namespace(object))
            && self.labels.matches(&object["metadata"]["labels"])
            && self.fields.matches(object)
    }
}

/// Where a list stopped.
struct Continue {
    version: u64,
    /// Namespace and name of the last object that was given out.
    after: (String, String),
}

impl KubeApi {
    pub(crate) fn read_one(&self, target: &Target<'_>, name: &str) -> Result<Response, Refusal> {
        let object = self.existing(target, name)?;
        let body = shown(target.kind, target.version, object);
        Ok(Response { status: 200, body })
    }

    /// The object that the path names.
    pub(crate) fn existing(&self, target: &Target<'_>, name: &str) -> Result<&Arc<Value>, Refusal> {
        self.store
            .get(target.kind, target.namespace, name)
            .ok_or_else(|| Refusal::not_found(target.kind, name))
    }

    /// The objects that are meant, in order; by an index where one helps.
    pub(crate) fn select<'a>(
        &'a self,
        target: &Target<'_>,
        selection: &'a Selection,
    ) -> Box<dyn Iterator<Item = &'a Arc<Value>> + 'a> {
        let table = self.store.table(target.kind);
        let name = selection.fields.required("metadata.name");
        let node = selection.fields.required("spec.nodeName");
        let found: Box<dyn Iterator<Item = &Arc<Value>>> = match (name, node) {
            (Some(name), _) if !target.namespace.is_empty() || !target.kind.namespaced => {
                Box::new(table.get(target.namespace, name).into_iter())
            }
            (_, Some(node)) if target.kind.key == "pods" && !node.is_empty() => {
                Box::new(self.store.pods_on(node))
            }
            _ => Box::new(table.list(target.namespace)),
        };
        Box::new(found.filter(|object| selection.matches(object)))
    }

    pub(crate) fn read_many(
        &self,
        target: &Target<'_>,
        request: &Request,
    ) -> Result<Response, Refusal> {
        let listed = self.listed(target, request)?;
        Ok(Response { status: 200, body: Arc::new(listed.body()) })
    }

    /// One page of the objects that a request lists.
    pub(crate) fn listed(&self, target: &Target<'_>, request: &Request) -> Result<Listed, Refusal> {
        options::check_list(request)?;
        let selection = Selection::of(target, request)?;
        let token = request.query("continue").filter(|token| !token.is_empty());
        let token = token.map(decode_continue).transpose()?;
        let asked = version_parameter(request)?;
        if asked > self.store.version() {
            return Err(Refusal::too_large(asked, self.store.version()));
        }
        let limit = limit_parameter(request)?;
        // A page from a version is exactly from there, unless the client says otherwise.
        let exact = match request.query("resourceVersionMatch") {
            Some("Exact") => true,
            Some(_) => false,
            None => limit != usize::MAX && asked > 0,
        };
        let version = match &token {
            Some(token) => token.version,
            None if exact => asked,
            None => self.store.version(),
        };
        let objects: Vec<Arc<Value>> = if version == self.store.version() {
            self.select(target, &selection).cloned().collect()
        } else {
            self.as_of(target, &selection, version, token.is_some())?
        };
        // From version 0 a real server answers out of its cache, which knows no pages.
        let cached = request.query("resourceVersion") == Some("0") && token.is_none();
        let limit = if cached { usize::MAX } else { limit };
        let selective = !selection.is_everything();
        Ok(page(target, objects, version, token.as_ref(), limit, selective))
    }

    /// The objects that were meant at a version: now, with what came after undone.
    fn as_of(
        &self,
        target: &Target<'_>,
        selection: &Selection,
        version: u64,
        continued: bool,
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        let table = self.store.table(target.kind);
        if version < table.log.forgotten() {
            return Err(match continued {
                true => Refusal::continue_expired(),
                false => Refusal::gone(version, table.log.forgotten()),
            });
        }
        let key = |object: &Value| {
            let (namespace, name) = (object::namespace(object), object::name(object));
            (namespace.to_owned(), name.to_owned())
        };
        let now = table.list("").map(|object| (key(object), object.clone()));
        let mut objects: BTreeMap<_, _> = now.collect();
        for entry in table.log.after(version).rev() {
            match (entry.kind, &entry.previous) {
                (ChangeKind::Added, _) | (_, None) => objects.remove(&key(&entry.object)),
                (_, Some(previous)) => objects.insert(key(previous), previous.clone()),
            };
        }
        let meant = objects.into_values().filter(|object| selection.matches(object));
        Ok(meant.collect())
    }
}

/// One page of a list: the objects as they are stored, and what is said about them.
pub(crate) struct Listed {
    pub(crate) kind: &'static Kind,
    pub(crate) version: String,
    pub(crate) items: Vec<Arc<Value>>,
    pub(crate) metadata: Value,
}

impl Listed {
    /// The list as one value.
    pub(crate) fn body(&self) -> Value {
        let items: Vec<Value> = self.items.iter().map(|object| self.item(object)).collect();
        json!({
            "kind": self.list_kind(), "apiVersion": self.api_version(),
            "metadata": self.metadata, "items": items,
        })
    }

    /// `PodList`.
    pub(crate) fn list_kind(&self) -> String {
        format!("{}List", self.kind.kind)
    }

    /// `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        self.kind.api_version(&self.version)
    }

    /// An object inside a list. Built-in kinds don't repeat what the list says of all of them.
    fn item(&self, object: &Arc<Value>) -> Value {
        let mut item = Value::clone(&shown(self.kind, &self.version, object));
        if let (false, Some(map)) = (self.kind.custom, item.as_object_mut()) {
            map.remove("kind");
            map.remove("apiVersion");
        }
        item
    }
}

fn page(
    target: &Target<'_>,
    mut objects: Vec<Arc<Value>>,
    version: u64,
    token: Option<&Continue>,
    limit: usize,
    selective: bool,
) -> Listed {
    let place =
        |object: &Value| (object::namespace(object).to_owned(), object::name(object).to_owned());
    let start =
        token.map_or(0, |token| objects.partition_point(|object| place(object) <= token.after));
    objects.drain(..start);
    let left = objects.len().saturating_sub(limit);
    objects.truncate(limit);
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let (Some(last), true) = (objects.last(), left > 0) {
        metadata["continue"] = encode_continue(version, place(last)).into();
        // With a selector a real server doesn't know how many are left.
        if !selective {
            metadata["remainingItemCount"] = left.into();
        }
    }
    Listed { kind: target.kind, version: target.version.to_owned(), items: objects, metadata }
}

fn encode_continue(version: u64, (namespace, name): (String, String)) -> String {
    let start = format!("{namespace}/{name}");
    base64::encode(
        json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}).to_string().as_bytes(),
    )
}

fn decode_continue(token: &str) -> Result<Continue, Refusal> {
    let bad = |why: &str| {
        Refusal::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
    };
    let bytes = base64::decode(token).ok_or_else(|| bad("illegal base64 data"))?;
    if let Some(first) = bytes.first().filter(|byte| **byte != b'{') {
        return Err(bad(&format!(
            "invalid character {} looking for beginning of value",
            quoted(*first)
        )));
    }
    let token: Value = serde_json::from_slice(&bytes).map_err(|error| bad(&error.to_string()))?;
    let version =
        token["rv"].as_u64().ok_or_else(|| bad("incorrect encoded start resourceVersion"))?;
    let start = object::text(&token, &["start"]);
    let (namespace, name) = start.split_once('/').ok_or_else(|| bad("no start"))?;
    let after = (namespace.to_owned(), name.to_owned());
    Ok(Continue { version, after })
}

/// A byte as Go quotes it.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        other => format!("'\\u{other:04x}'"),
    }
}

fn limit_parameter(request: &Request) -> Result<usize, Refusal> {
    let text = request.query("limit").unwrap_or("0");
    let limit: usize = text.parse().map_err(|_| {
        Refusal::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))
    })?;
    Ok(if limit == 0 { usize::MAX } else { limit })
}

/// `resourceVersion`, 0 where it isn't given.
pub(crate) fn version_parameter(request: &Request) -> Result<u64, Refusal> {
    let text = request.query("resourceVersion").unwrap_or("");
    match text {
        "" => Ok(0),
        text => text.parse().map_err(|_| {
            Refusal::bad_request(format!(
                "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": \
                 invalid syntax"
            ))
        }),
    }
}

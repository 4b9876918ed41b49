//! A Kubernetes API server in process: store, REST semantics, admission, watch. No wire, no clock.
//!
//! ```text
//!  Request ─▶ path ─▶ read ───────────────────────────────────▶ store ─▶ Response
//!                └──▶ decode ─▶ defaults ─▶ mutate ─▶ validate ─▶ validating hooks ─▶ store
//!                                                                                      ├▶ log ─▶ Watch
//!                                                                                      └▶ changes, garbage
//! ```
//!
//! Start at [`KubeApi::handle`]. What a kind is lies in `kinds` as data; what it does beyond
//! storing lies in `strategy`. Not here: RBAC, schemas, server-side apply, CEL, protobuf.

mod addresses;
mod admission;
mod base64;
mod cel;
mod decode;
mod definition;
mod delete;
mod evict;
mod fields;
mod furnish;
mod garbage;
mod identity;
mod kinds;
mod log;
mod managed;
mod object;
mod options;
mod patch;
mod path;
mod rbac;
mod read;
pub(crate) mod schemas;
mod selector;
mod status;
mod store;
mod strategic;
mod strategy;
mod subresource;
mod terminate;
mod tokens;
mod validate;
mod watch;
mod write;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use drawbridge_sim::{Epoch, Seed, Time};
use serde_json::{Value, json};

pub use admission::{Asked, Attempt, Elsewhere, Located, NoWebhooks, Place, ReviewCall, Webhooks};
pub use base64::{decode as base64_decode, encode as base64_encode};
pub use selector::LabelSelector;
pub use store::{Change, ChangeKind, ObjectKey};
pub use watch::{Watch, WatchEvent};

pub(crate) use self::{
    definition::Printed,
    kinds::{Kind, StatusWrites},
    path::Target,
    rbac::Access,
    read::Listed,
    status::Refusal,
};
use self::{garbage::Garbage, identity::Identities, kinds::Kinds, store::Store};
use crate::{Method, Request, Response};

/// How many writes of each kind watches can look back on. A version of a pod takes about 12 kB.
const WINDOW: usize = 20_000;

/// How often a request is tried while webhooks answer and its object changes all the time.
const MOST_RUNS: u32 = 50;

/// How often (user, verb, resource or resource/subresource) was asked for.
pub type Audit = BTreeMap<(String, &'static str, String), u64>;

/// The API server and all that it stores.
#[derive(Clone)]
pub struct KubeApi {
    epoch: Epoch,
    kinds: Kinds,
    store: Store,
    identities: Identities,
    hooks: Arc<[admission::Hook]>,
    garbage: Garbage,
    audit: Audit,
    /// Whether it does all that a real server does to objects: who manages which field, what every
    /// pod gets. The twin does without, for speed.
    full: bool,
    /// What the last request should be told beside its answer.
    warnings: Vec<String>,
    /// What is known about the request that is underway.
    attempt: Attempt,
    /// Nothing is stored: the request that is underway is a dry run.
    dry: bool,
    documents: Arc<Documents>,
    tokens: tokens::Tokens,
    /// The certificates that clients inside should believe, in PEM.
    authority: Arc<str>,
}

/// Documents about all kinds: made when somebody asks, until a kind comes or goes.
#[derive(Default)]
pub(crate) struct Documents {
    json: OnceLock<Vec<u8>>,
    protobuf: OnceLock<Vec<u8>>,
}

impl Documents {
    pub(crate) fn json(&self, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        self.json.get_or_init(make).clone()
    }

    pub(crate) fn protobuf(&self, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        self.protobuf.get_or_init(make).clone()
    }
}

/// One request on its way.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    now: Time,
    user: Arc<str>,
    target: Target<'a>,
    request: &'a Request,
}

impl KubeApi {
    /// A server with the namespaces that every cluster has.
    pub fn new(epoch: Epoch, seed: Seed) -> Self {
        Self::with_window(epoch, seed, WINDOW)
    }

    /// A server whose watches can look back on so many writes of each kind.
    pub fn with_window(epoch: Epoch, seed: Seed, window: usize) -> Self {
        Self::build(epoch, seed, window, false)
    }

    fn build(epoch: Epoch, seed: Seed, window: usize, full: bool) -> Self {
        let kinds = Kinds::builtin();
        let mut api = Self {
            epoch,
            store: Store::new(&kinds, window),
            kinds,
            identities: Identities::new(seed),
            hooks: Arc::new([]),
            garbage: Garbage::default(),
            audit: Audit::new(),
            full,
            warnings: vec![],
            attempt: Attempt::default(),
            dry: false,
            documents: Arc::default(),
            tokens: tokens::Tokens::default(),
            authority: Arc::from(""),
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            api.install("/api/v1/namespaces", json!({"metadata": {"name": name}}));
        }
        let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
        for (name, value) in
            [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
        {
            api.install(classes, json!({"metadata": {"name": name}, "value": value}));
        }
        api.audit.clear();
        api
    }

    /// A server as people's own tools know it: custom kinds come from definitions that are stored.
    pub fn served(epoch: Epoch, seed: Seed) -> Self {
        let mut api = Self::build(epoch, seed, WINDOW, true);
        api.kinds = api.kinds.without_custom();
        let definitions: Vec<Value> =
            serde_json::from_str(include_str!("../schema/definitions.json"))
                .expect("the definitions that are shipped are JSON");
        for definition in definitions {
            api.install("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
        }
        api.furnish();
        api.audit.clear();
        api
    }

    /// Makes an object that every cluster starts with.
    fn install(&mut self, path: &str, object: Value) {
        let request = Request::new("system:apiserver", Method::Post, path).with_body(object);
        let response = self.handle(Time::ZERO, &request, &mut NoWebhooks);
        debug_assert!(response.status < 300, "what is installed is good: {}", response.body);
    }

    /// Answers a request: everything except watch, which is opened with [`KubeApi::watch`].
    pub fn handle(&mut self, now: Time, request: &Request, hooks: &mut dyn Webhooks) -> Response {
        self.attempt(now, request, &mut Attempt::default(), hooks).unwrap_or_else(|| {
            Refusal::internal("a webhook did not answer at once, and nobody waits for it")
                .response()
        })
    }

    /// Answers a request, unless it has to wait for webhooks: then the attempt says for which, and
    /// is tried again once it has their answers.
    pub fn attempt(
        &mut self,
        now: Time,
        request: &Request,
        attempt: &mut Attempt,
        hooks: &mut dyn Webhooks,
    ) -> Option<Response> {
        let now = *attempt.began.get_or_insert(now);
        self.attempt = std::mem::take(attempt);
        self.identities.begin(std::mem::take(&mut self.attempt.draws));
        let answer = self.answer(now, request, hooks);
        *attempt = std::mem::take(&mut self.attempt);
        attempt.draws = self.identities.end();
        attempt.runs += 1;
        match answer {
            Err(refusal) if refusal.is_wait() && attempt.runs < MOST_RUNS => None,
            Err(refusal) if refusal.is_wait() => Some(Refusal::restless(&request.path).response()),
            answer => Some(answer.unwrap_or_else(Refusal::response)),
        }
    }

    fn answer(
        &mut self,
        now: Time,
        request: &Request,
        hooks: &mut dyn Webhooks,
    ) -> Result<Response, Refusal> {
        self.warnings.clear();
        let target = self.target(&request.path)?;
        let user = Arc::from(request.user.as_str());
        if self.attempt.runs == 0 {
            let entry = (request.user.clone(), verb(request, &target), target.audited());
            *self.audit.entry(entry).or_default() += 1;
        }
        if target.subresource.is_none() && !target.kind.verbs.contains(&verb(request, &target)) {
            return Err(Refusal::method_not_allowed());
        }
        let call = Call { now, user, target, request };
        self.dry = match request.query("dryRun") {
            None => false,
            Some("All") => true,
            Some(other) => return Err(Refusal::unknown_dry_run(other)),
        };
        let before = self.dry.then(|| self.identities.clone());
        let response = self.route(&call, hooks);
        self.dry = false;
        if let Some(before) = before {
            self.identities.rewind(before);
        }
        response
    }

    /// What a path is about.
    pub(crate) fn target<'a>(&self, path: &'a str) -> Result<Target<'a>, Refusal> {
        Target::parse(&self.kinds, path)
    }

    /// What was made of all kinds that are served now.
    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The kinds that are served now.
    pub(crate) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Whether anything could be at a path: its group and version are served.
    pub(crate) fn serves_path(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            ["api", version, ..] => self.kinds.serves("", version),
            ["apis", group, version, ..] => self.kinds.serves(group, version),
            _ => false,
        }
    }

    /// Whether it does all that a real server does to objects.
    pub(crate) const fn is_full(&self) -> bool {
        self.full
    }

    /// What the last request should be told beside its answer.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn route(&mut self, call: &Call<'_>, hooks: &mut dyn Webhooks) -> Result<Response, Refusal> {
        let target = &call.target;
        match (target.name, target.subresource) {
            (Some(name), Some(sub)) => self.on_subresource(call, hooks, name, sub),
            (Some(name), None) => self.on_object(call, hooks, name),
            (None, _) => self.on_collection(call, hooks),
        }
    }

    fn on_collection(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
    ) -> Result<Response, Refusal> {
        let target = &call.target;
        match call.request.method {
            Method::Get if is_watch(call.request) => Err(Refusal::bad_request(
                "a watch is a stream: it is opened with `watch`, not answered by `handle`",
            )),
            Method::Get => self.read_many(target, call.request),
            Method::Post if target.kind.namespaced && target.namespace.is_empty() => {
                Err(Refusal::method_not_allowed())
            }
            Method::Post if target.kind.key == "bindings" => self.bind_by_name(call, hooks),
            Method::Post => self.create(call, hooks),
            Method::Delete => self.delete_many(call, hooks),
            Method::Put
            | Method::MergePatch
            | Method::JsonPatch
            | Method::StrategicPatch
            | Method::Apply => Err(Refusal::method_not_allowed()),
        }
    }

    fn on_object(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        match call.request.method {
            Method::Get => self.read_one(&call.target, name),
            Method::Post => Err(Refusal::method_not_allowed()),
            Method::Put => self.update(call, hooks, name),
            Method::MergePatch | Method::JsonPatch | Method::StrategicPatch | Method::Apply => {
                self.patch(call, hooks, name)
            }
            Method::Delete => self.delete_one(call, hooks, name),
        }
    }

    /// One object. `resource` is `pods`, `jobs.batch`; the namespace is empty for cluster-wide ones.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.store.table_of(resource)?.get(namespace, name)
    }

    /// All objects of a resource, ordered by namespace and name.
    pub fn list<'a>(&'a self, resource: &str) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        self.list_in(resource, "")
    }

    /// All objects of a resource in one namespace, ordered by name.
    pub fn list_in<'a>(
        &'a self,
        resource: &str,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let table = self.store.table_of(resource);
        table.map(|table| table.list(namespace)).into_iter().flatten()
    }

    /// The object with this uid.
    pub fn by_uid(&self, uid: &str) -> Option<&Arc<Value>> {
        self.store.at(self.store.by_uid(uid)?)
    }

    /// The objects whose ownerReferences name this uid.
    pub fn dependents<'a>(
        &'a self,
        uid: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<Value>)> + use<'a> {
        let keys = self.store.dependents(uid);
        keys.filter_map(|key| self.store.at(key).map(|object| (key, object)))
    }

    /// The pods bound to a node, ordered by namespace and name.
    pub fn pods_on<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        self.store.pods_on(node)
    }

    /// The resourceVersion of the last write.
    pub fn resource_version(&self) -> u64 {
        self.store.version()
    }

    /// Forgets what happened so far, as a server that starts again does: watches from before have to
    /// list again.
    pub fn forget_history(&mut self) {
        self.store.forget_history();
    }

    /// What was written since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.store.take_changes()
    }

    /// What was written since [`KubeApi::take_changes`] was last called, in order.
    pub(crate) fn changes(&self) -> &[Change] {
        self.store.changes()
    }

    /// Who asked for what, how often.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Counts a request that was answered without [`KubeApi::handle`].
    pub(crate) fn count(&mut self, user: &str, verb: &'static str, what: &str) {
        *self.audit.entry((user.to_owned(), verb, what.to_owned())).or_default() += 1;
    }

    /// The calendar that times in objects are written by.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}

pub(crate) fn is_watch(request: &Request) -> bool {
    matches!(request.query("watch"), Some("true" | "1"))
}

/// The verb as RBAC and the audit log name it.
pub(crate) fn verb(request: &Request, target: &Target<'_>) -> &'static str {
    let one = target.name.is_some();
    match request.method {
        Method::Get if is_watch(request) => "watch",
        Method::Get if one => "get",
        Method::Get => "list",
        Method::Post => "create",
        Method::Put => "update",
        Method::MergePatch | Method::JsonPatch | Method::StrategicPatch | Method::Apply => "patch",
        Method::Delete if one => "delete",
        Method::Delete => "deletecollection",
    }
}

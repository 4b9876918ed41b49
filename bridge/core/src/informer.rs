//! One resource, kept in step by a list and a watch.
//!
//! ```text
//!             listed              Failed, Ended
//!  Listing ───────────▶ Watching ───────────────▶ Resting
//!   ▲  │ failed            │ 410                   │   │ again, from the last version
//!   │  └──▶ Resting        ▼                       │   └──▶ Watching
//!   └──────────────────────┴──── no version left ──┘
//!
//!  Listing ── 404, where the cluster may lack the resource ──▶ Absent ── rarely ──▶ Listing
//! ```

use std::sync::Arc;

use drawbridge_sim::Span;
use serde_json::Value;

use crate::{
    backoff::Backoff,
    config::Config,
    effect::{KubeRequest, Method},
    input::{KubeReply, Lost, StreamId, WatchEvent},
    names::WORKER_LABEL,
    outbox::{Alarm, Outbox, Purpose},
};

const ABSENT_PAUSE: Span = Span::mins(5);
/// After so many failures to open a watch, its version is no longer trusted.
const REWATCHES: u32 = 4;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    /// Pods that name our scheduler.
    Pods,
    /// NodeSets' worker pods.
    Workers,
    /// Kubernetes nodes.
    Nodes,
    /// PodGroups of `scheduling.x-k8s.io`.
    PodGroups,
}

/// What an informer learned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// These objects and no others exist: a `List` with `items`.
    Replaced(Arc<Value>),
    /// An object appeared or changed.
    Changed(Arc<Value>),
    /// An object is gone.
    Gone(Arc<Value>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Listing,
    Watching { stream: StreamId, version: String },
    Resting { version: Option<String> },
    Absent,
}

/// One resource's list and watch.
#[derive(Clone, Debug)]
pub(crate) struct Informer {
    resource: Resource,
    selector: Option<(String, String)>,
    state: State,
    failures: u32,
    synced: bool,
}

impl Resource {
    pub(crate) const ALL: [Self; 4] = [Self::Pods, Self::Workers, Self::Nodes, Self::PodGroups];

    const fn path(self) -> &'static str {
        match self {
            Self::Pods | Self::Workers => "/api/v1/pods",
            Self::Nodes => "/api/v1/nodes",
            Self::PodGroups => "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
        }
    }

    fn selector(self, config: &Config) -> Option<(String, String)> {
        match self {
            Self::Pods => {
                let value = format!("spec.schedulerName={}", config.scheduler_name);
                Some(("fieldSelector".into(), value))
            }
            Self::Workers => Some(("labelSelector".into(), WORKER_LABEL.into())),
            Self::Nodes | Self::PodGroups => None,
        }
    }

    /// Whether a cluster may do without it.
    fn may_be_absent(self) -> bool {
        self == Self::PodGroups
    }
}

impl Informer {
    pub(crate) fn new(resource: Resource, config: &Config) -> Self {
        let selector = resource.selector(config);
        Self {
            resource,
            selector,
            state: State::Listing,
            failures: 0,
            synced: false,
        }
    }

    /// Whether the first list has come.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced
    }

    /// Whether events of this stream are for us.
    pub(crate) fn listens_to(&self, stream: StreamId) -> bool {
        matches!(&self.state, State::Watching { stream: mine, .. } if *mine == stream)
    }

    /// Asks for the list.
    pub(crate) fn list(&mut self, out: &mut Outbox) {
        self.state = State::Listing;
        let query = self.selector.iter().cloned().collect();
        out.kube(
            Purpose::List(self.resource),
            get(self.resource.path(), query),
        );
    }

    /// Takes the list.
    pub(crate) fn listed(
        &mut self,
        out: &mut Outbox,
        outcome: Result<KubeReply, Lost>,
    ) -> Option<News> {
        match outcome {
            Ok(reply) if reply.status == 200 => {
                self.failures = 0;
                self.synced = true;
                self.watch(out, version_of(&reply.body).unwrap_or_default());
                Some(News::Replaced(reply.body))
            }
            Ok(reply) if self.resource.may_be_absent() && matches!(reply.status, 403 | 404) => {
                self.synced = true;
                self.state = State::Absent;
                out.wake_in(ABSENT_PAUSE, Alarm::Informer(self.resource));
                None
            }
            Ok(_) | Err(_) => {
                self.rest(out, None);
                None
            }
        }
    }

    /// Takes one line of the watch.
    pub(crate) fn watched(&mut self, out: &mut Outbox, event: WatchEvent) -> Option<News> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.advance(version_of(&object));
                Some(News::Changed(object))
            }
            WatchEvent::Deleted(object) => {
                self.advance(version_of(&object));
                Some(News::Gone(object))
            }
            WatchEvent::Bookmark(version) => {
                self.advance(Some(version));
                None
            }
            WatchEvent::Failed(410) => {
                out.count("kube.watchExpired");
                self.list(out);
                None
            }
            WatchEvent::Failed(_) | WatchEvent::Ended => {
                self.rest_and_rewatch(out);
                None
            }
        }
    }

    /// Tries again.
    pub(crate) fn woke(&mut self, out: &mut Outbox) {
        match self.state.clone() {
            State::Resting {
                version: Some(version),
            } => self.watch(out, version),
            State::Resting { version: None } | State::Absent => self.list(out),
            State::Listing | State::Watching { .. } => {}
        }
    }

    fn watch(&mut self, out: &mut Outbox, version: String) {
        let mut query: Vec<_> = self.selector.iter().cloned().collect();
        query.push(("watch".into(), "true".into()));
        query.push(("allowWatchBookmarks".into(), "true".into()));
        query.push(("resourceVersion".into(), version.clone()));
        let stream = out.watch(get(self.resource.path(), query));
        self.state = State::Watching { stream, version };
    }

    fn advance(&mut self, seen: Option<String>) {
        self.failures = 0;
        if let State::Watching { version, .. } = &mut self.state
            && let Some(seen) = seen
        {
            *version = seen;
        }
    }

    fn rest_and_rewatch(&mut self, out: &mut Outbox) {
        let version = match &self.state {
            State::Watching { version, .. } if self.failures < REWATCHES => Some(version.clone()),
            State::Watching { .. } | State::Resting { .. } | State::Listing | State::Absent => None,
        };
        self.rest(out, version);
    }

    fn rest(&mut self, out: &mut Outbox, version: Option<String>) {
        self.failures += 1;
        self.state = State::Resting { version };
        out.wake_in(
            Backoff::CONFLICT.after(self.failures),
            Alarm::Informer(self.resource),
        );
    }
}

fn get(path: &str, query: Vec<(String, String)>) -> KubeRequest {
    KubeRequest {
        method: Method::Get,
        path: path.into(),
        query,
        body: None,
    }
}

fn version_of(object: &Value) -> Option<String> {
    object["metadata"]["resourceVersion"]
        .as_str()
        .map(Into::into)
}

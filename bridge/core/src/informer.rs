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
//!
//! A server sends a bookmark every minute, so a watch that says nothing for long is dead, whatever the
//! connection looks like: it is opened anew.

use std::sync::Arc;

use drawbridge_sim::{Span, Time};
use serde_json::Value;

use crate::{
    backoff::Backoff,
    config::Config,
    effect::{KubeRequest, Method},
    input::{KubeReply, Lost, StreamId, WatchEvent},
    instance::Duties,
    names::WORKER_LABEL,
    outbox::{Alarm, Outbox, Purpose},
};

const ABSENT_PAUSE: Span = Span::mins(5);
/// A watch that says nothing for so long is dead.
const SILENCE: Span = Span::mins(5);
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
    /// PodGroups of `scheduling.k8s.io`, in the newest version that is served.
    SchedulingGroups,
    /// ResourceClaims, once a pod needs devices.
    Claims,
    /// ResourceSlices, once a pod needs devices.
    Slices,
    /// DeviceClasses, once a pod needs devices.
    Classes,
    /// Pods of other schedulers that have a place and aren't over.
    Others,
    /// PersistentVolumeClaims.
    VolumeClaims,
    /// PersistentVolumes.
    Volumes,
    /// StorageClasses.
    StorageClasses,
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
    Watching { stream: StreamId, version: String, heard: Time },
    Resting { version: Option<String> },
    Absent,
}

/// One resource's list and watch.
#[derive(Clone, Debug)]
pub(crate) struct Informer {
    resource: Resource,
    /// Which of its paths is used.
    version: usize,
    selector: Option<(String, String)>,
    state: State,
    failures: u32,
    synced: bool,
}

impl Resource {
    const ALL: [Self; 9] = [
        Self::Pods,
        Self::Workers,
        Self::Nodes,
        Self::PodGroups,
        Self::SchedulingGroups,
        Self::Others,
        Self::VolumeClaims,
        Self::Volumes,
        Self::StorageClasses,
    ];

    /// Those that a process with these duties has to know.
    pub(crate) fn of(duties: Duties, config: &Config) -> impl Iterator<Item = Self> {
        let counts_others = config.count_other_pods;
        Self::ALL.into_iter().filter(move |resource| match resource {
            Self::Pods | Self::PodGroups | Self::SchedulingGroups => duties.workloads,
            Self::VolumeClaims | Self::Volumes | Self::StorageClasses => duties.workloads,
            Self::Others => duties.workloads && counts_others,
            Self::Workers | Self::Nodes => duties.workloads || duties.nodes,
            Self::Claims | Self::Slices | Self::Classes => false,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Workers => "worker pods",
            Self::Nodes => "nodes",
            Self::PodGroups => "pod groups",
            Self::SchedulingGroups => "scheduling groups",
            Self::Claims => "resource claims",
            Self::Slices => "resource slices",
            Self::Classes => "device classes",
            Self::Others => "pods of other schedulers",
            Self::VolumeClaims => "persistent volume claims",
            Self::Volumes => "persistent volumes",
            Self::StorageClasses => "storage classes",
        }
    }

    /// Where it is served: the first of these that is there counts.
    const fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Pods | Self::Workers | Self::Others => &["/api/v1/pods"],
            Self::Nodes => &["/api/v1/nodes"],
            Self::PodGroups => &["/apis/scheduling.x-k8s.io/v1alpha1/podgroups"],
            Self::SchedulingGroups => &[
                "/apis/scheduling.k8s.io/v1beta1/podgroups",
                "/apis/scheduling.k8s.io/v1alpha3/podgroups",
                "/apis/scheduling.k8s.io/v1alpha2/podgroups",
            ],
            Self::Claims => &["/apis/resource.k8s.io/v1/resourceclaims"],
            Self::Slices => &["/apis/resource.k8s.io/v1/resourceslices"],
            Self::Classes => &["/apis/resource.k8s.io/v1/deviceclasses"],
            Self::VolumeClaims => &["/api/v1/persistentvolumeclaims"],
            Self::Volumes => &["/api/v1/persistentvolumes"],
            Self::StorageClasses => &["/apis/storage.k8s.io/v1/storageclasses"],
        }
    }

    fn selector(self, config: &Config) -> Option<(String, String)> {
        match self {
            Self::Pods => {
                let value = format!("spec.schedulerName={}", config.scheduler_name);
                Some(("fieldSelector".into(), value))
            }
            Self::Workers => Some(("labelSelector".into(), WORKER_LABEL.into())),
            Self::Claims | Self::Slices | Self::Classes => None,
            Self::Others => {
                let value = format!(
                    "spec.schedulerName!={},spec.nodeName!=,status.phase!=Succeeded,\
                     status.phase!=Failed",
                    config.scheduler_name
                );
                Some(("fieldSelector".into(), value))
            }
            Self::Nodes | Self::PodGroups | Self::SchedulingGroups => None,
            Self::VolumeClaims | Self::Volumes | Self::StorageClasses => None,
        }
    }

    /// Whether a cluster may do without it, or without our reading it.
    fn may_be_absent(self) -> bool {
        match self {
            Self::Claims | Self::Slices | Self::Classes => true,
            Self::PodGroups | Self::SchedulingGroups => true,
            Self::VolumeClaims | Self::Volumes | Self::StorageClasses => true,
            Self::Pods | Self::Workers | Self::Nodes | Self::Others => false,
        }
    }
}

impl Informer {
    pub(crate) fn new(resource: Resource, config: &Config) -> Self {
        let selector = resource.selector(config);
        let (state, version, failures) = (State::Listing, 0, 0);
        Self { resource, version, selector, state, failures, synced: false }
    }

    /// Whether the first list has come.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced
    }

    /// Whether the cluster doesn't have it, or we may not see it.
    pub(crate) fn is_absent(&self) -> bool {
        self.state == State::Absent
    }

    /// Where it stands.
    pub(crate) const fn state_name(&self) -> &'static str {
        match self.state {
            State::Listing => "informer listing",
            State::Watching { .. } => "informer watching",
            State::Resting { .. } => "informer resting",
            State::Absent => "informer absent",
        }
    }

    /// Why nothing new is heard, if so.
    pub(crate) fn trouble(&self) -> Option<String> {
        let name = self.resource.name();
        match (&self.state, self.synced) {
            (State::Resting { .. }, _) if self.failures > 1 => {
                Some(format!("{name} can't be listed or watched, {} times in a row", self.failures))
            }
            (_, false) => Some(format!("{name} haven't been listed yet")),
            (_, true) => None,
        }
    }

    /// Where its objects are: a path without a namespace.
    pub(crate) fn path(&self) -> &'static str {
        self.resource.paths()[self.version]
    }

    /// Whether events of this stream are for us.
    pub(crate) fn listens_to(&self, stream: StreamId) -> bool {
        matches!(&self.state, State::Watching { stream: mine, .. } if *mine == stream)
    }

    /// Asks for the list.
    pub(crate) fn list(&mut self, out: &mut Outbox) {
        self.state = State::Listing;
        let query = self.selector.iter().cloned().collect();
        out.kube(Purpose::List(self.resource), get(self.path(), query));
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
            Ok(reply) if reply.status == 404 && self.version + 1 < self.resource.paths().len() => {
                self.version += 1;
                self.list(out);
                None
            }
            Ok(reply) if self.resource.may_be_absent() && matches!(reply.status, 403 | 404) => {
                self.version = 0;
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
        if let State::Watching { heard, .. } = &mut self.state {
            *heard = out.now();
        }
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
            State::Resting { version: Some(version) } => self.watch(out, version),
            State::Resting { version: None } | State::Absent => self.list(out),
            State::Watching { stream, version, heard } if heard + SILENCE <= out.now() => {
                out.count("kube.watchSilent");
                out.unwatch(stream);
                self.watch(out, version);
            }
            State::Watching { heard, .. } => self.listen(out, heard),
            State::Listing => {}
        }
    }

    fn listen(&self, out: &mut Outbox, heard: Time) {
        out.wake_at(heard + SILENCE, Alarm::Informer(self.resource));
    }

    fn watch(&mut self, out: &mut Outbox, version: String) {
        let mut query: Vec<_> = self.selector.iter().cloned().collect();
        query.push(("watch".into(), "true".into()));
        query.push(("allowWatchBookmarks".into(), "true".into()));
        query.push(("resourceVersion".into(), version.clone()));
        let stream = out.watch(get(self.path(), query));
        let heard = out.now();
        self.state = State::Watching { stream, version, heard };
        self.listen(out, heard);
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
        out.wake_in(Backoff::CONFLICT.after(self.failures), Alarm::Informer(self.resource));
    }
}

fn get(path: &str, query: Vec<(String, String)>) -> KubeRequest {
    KubeRequest { method: Method::Get, path: path.into(), query, body: None }
}

fn version_of(object: &Value) -> Option<String> {
    object["metadata"]["resourceVersion"].as_str().map(Into::into)
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::{Span, Time};
    use serde_json::json;

    use super::*;
    use crate::effect::Effect;

    /// Tells an informer so many things, one a second, and reads what it asks for.
    fn talk(resource: Resource, news: impl IntoIterator<Item = Said>) -> String {
        let mut informer = Informer::new(resource, &Config::as_shipped());
        let mut out = Outbox::new(Span::secs(30));
        informer.list(&mut out);
        let mut lines = said(&mut out);
        for (second, news) in news.into_iter().enumerate() {
            out.begin(Time::from_ms(1000 * (second as u64 + 1)));
            lines.push(format!("< {news:?}"));
            let heard = match news {
                Said::Listed(status, version) => {
                    let body = json!({ "metadata": { "resourceVersion": version }, "items": [] });
                    informer.listed(&mut out, Ok(KubeReply { status, body: Arc::new(body) }))
                }
                Said::Lost => informer.listed(&mut out, Err(Lost { why: "timed out".into() })),
                Said::Event(event) => informer.watched(&mut out, event),
                Said::Woke => {
                    informer.woke(&mut out);
                    None
                }
            };
            lines.extend(heard.map(|heard| format!("  = {}", name(&heard))));
            lines.extend(said(&mut out));
        }
        lines.join("\n")
    }

    #[derive(Debug)]
    enum Said {
        Listed(u16, &'static str),
        Lost,
        Event(WatchEvent),
        Woke,
    }

    fn name(news: &News) -> &'static str {
        match news {
            News::Replaced(_) => "replaced",
            News::Changed(_) => "changed",
            News::Gone(_) => "gone",
        }
    }

    fn said(out: &mut Outbox) -> Vec<String> {
        let effects = out.finish();
        let mut overdue = None;
        for effect in &effects {
            if let Effect::Kube { call, limits, .. } = effect {
                out.answered(*call);
                overdue = Some(Effect::WakeAt(limits.reply_by));
            }
        }
        let line = |effect| match effect {
            Effect::Kube { request, .. } => format!("  > list {}", request.path),
            Effect::KubeWatch { request, .. } => {
                let version = request.query.last().map_or("", |(_, version)| version);
                format!("  > watch {} from {version}", request.path)
            }
            Effect::WakeAt(at) => format!("  > wake at {at}"),
            Effect::Unwatch { .. } => "  > close the watch".into(),
            Effect::Slurm { .. } | Effect::StepDown | Effect::Exit => "  > else".into(),
        };
        effects.into_iter().filter(|effect| Some(effect) != overdue.as_ref()).map(line).collect()
    }

    fn object(version: &str) -> Arc<Value> {
        Arc::new(json!({ "metadata": { "resourceVersion": version } }))
    }

    #[test]
    fn a_watch_goes_on_where_it_ended_and_a_gap_is_followed_by_a_list() {
        let dialogue = talk(
            Resource::Nodes,
            [
                Said::Listed(200, "10"),
                Said::Event(WatchEvent::Added(object("11"))),
                Said::Event(WatchEvent::Bookmark("15".into())),
                Said::Event(WatchEvent::Ended),
                Said::Woke,
                Said::Event(WatchEvent::Failed(410)),
                Said::Listed(200, "99"),
                Said::Event(WatchEvent::Deleted(object("100"))),
            ],
        );
        insta::assert_snapshot!(dialogue, @r#"
          > list /api/v1/nodes
        < Listed(200, "10")
          = replaced
          > watch /api/v1/nodes from 10
          > wake at 00:05:01.000
        < Event(Added(Object {"metadata": Object {"resourceVersion": String("11")}}))
          = changed
        < Event(Bookmark("15"))
        < Event(Ended)
          > wake at 00:00:04.100
        < Woke
          > watch /api/v1/nodes from 15
          > wake at 00:05:05.000
        < Event(Failed(410))
          > list /api/v1/nodes
        < Listed(200, "99")
          = replaced
          > watch /api/v1/nodes from 99
          > wake at 00:05:07.000
        < Event(Deleted(Object {"metadata": Object {"resourceVersion": String("100")}}))
          = gone
        "#);
    }

    #[test]
    fn a_watch_that_says_nothing_for_long_is_opened_anew_where_it_stood() {
        let mut informer = Informer::new(Resource::Nodes, &Config::as_shipped());
        let mut out = Outbox::new(Span::secs(30));
        informer.watch(&mut out, "10".into());
        let mut lines = said(&mut out);
        for (secs, news) in [(60, Some("11")), (300, None), (360, None)] {
            out.begin(Time::from_ms(secs * 1000));
            match news {
                Some(version) => {
                    informer.watched(&mut out, WatchEvent::Bookmark(version.into()));
                }
                None => {
                    out.due();
                    informer.woke(&mut out);
                }
            }
            lines.extend(said(&mut out));
        }
        insta::assert_snapshot!(lines.join("\n"), @"
        > watch /api/v1/nodes from 10
        > wake at 00:05:00.000
        > wake at 00:06:00.000
        > close the watch
        > watch /api/v1/nodes from 11
        > wake at 00:11:00.000
        ");
    }

    #[test]
    fn a_list_that_fails_is_tried_again_less_and_less_often() {
        let lost = [Said::Lost, Said::Woke, Said::Listed(500, ""), Said::Woke, Said::Lost];
        insta::assert_snapshot!(talk(Resource::Pods, lost), @r#"
          > list /api/v1/pods
        < Lost
          > wake at 00:00:01.100
        < Woke
          > list /api/v1/pods
        < Listed(500, "")
          > wake at 00:00:03.200
        < Woke
          > list /api/v1/pods
        < Lost
          > wake at 00:00:05.400
        "#);
    }

    #[test]
    fn a_cluster_without_pod_groups_is_asked_again_rarely() {
        let dialogue = talk(Resource::PodGroups, [Said::Listed(404, ""), Said::Woke]);
        insta::assert_snapshot!(dialogue, @r#"
          > list /apis/scheduling.x-k8s.io/v1alpha1/podgroups
        < Listed(404, "")
          > wake at 00:05:01.000
        < Woke
          > list /apis/scheduling.x-k8s.io/v1alpha1/podgroups
        "#);
    }
}

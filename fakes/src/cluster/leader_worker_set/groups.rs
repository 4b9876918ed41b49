//! One group: its leader, its workers, and what becomes of all when one fails.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    super::{
        controllers::Sight,
        object::{Key, count, deleting, items, owned_by, text, uid},
        plan::{Plan, Subject, pod_path},
        pod::{Phase, Pod},
    },
    COMPONENT, EXCLUSIVE, GROUP_INDEX, GROUP_KEY, LEADER, NAME, REVISION, SETS, USER, claims,
    marks, merge, owns, revision_of,
    revisions::Revisions,
    rollout::State,
    serve, sets_path, shares_subdomain, size,
};
use crate::{Method, Request};

/// The annotation by which a group that hasn't started yet is left alone.
const AFTER_START: &str = "leaderworkerset.sigs.k8s.io/experimental-recreate-group-after-start";

/// A leader that should be there, and what it leads.
pub(super) struct Group<'a> {
    /// Its index.
    pub(super) index: u64,
    pub(super) leader: Option<Arc<Pod>>,
    pub(super) workers: Option<&'a Arc<Value>>,
    worker_pods: Vec<Arc<Pod>>,
}

impl<'a> Group<'a> {
    /// The groups of all leaders that the leaders' set should have or has.
    pub(super) fn all(sight: Sight<'a>, it: &Value, set: Option<&Arc<Value>>) -> Vec<Self> {
        let Some(set) = set else { return vec![] };
        let leaders = sight.pods_of(set);
        let index = |pod: &Pod| text(&pod.object["metadata"]["labels"][GROUP_INDEX]).parse::<u64>();
        let beyond = leaders.iter().filter_map(|pod| Some(index(pod).ok()? + 1)).max();
        let wanted = count(&set["spec"]["replicas"]).max(beyond.unwrap_or(0));
        let Key { namespace, name } = Key::of(it);
        let group = |at: u64| {
            let leader = leaders.iter().find(|pod| index(pod) == Ok(at)).cloned();
            let workers = sight.api.get(SETS, &namespace, &format!("{name}-{at}"));
            let worker_pods = workers.map(|set| sight.pods_of(set)).unwrap_or_default();
            Self { index: at, leader, workers, worker_pods }
        };
        (0..wanted).map(group).collect()
    }

    fn is_ready(&self, it: &Value) -> bool {
        let leader = self.leader.as_ref();
        let leads = leader.is_some_and(|pod| pod.phase == Phase::Running && pod.ready.is_some());
        leads && (size(it) == 1 || self.workers.is_some_and(|set| workers_ready(set)))
    }

    /// How far it is on the way to a revision.
    pub(super) fn state(&self, it: &Value, key: &str) -> State {
        let (Some(leader), true) = (&self.leader, size(it) == 1 || self.workers.is_some()) else {
            return State::default();
        };
        let updated = |object: &Value| revision_of(object) == key;
        State {
            ready: self.is_ready(it),
            updated: updated(&leader.object) && self.workers.is_none_or(|set| updated(set)),
        }
    }

    /// Sees to its workers, or removes it as a whole.
    pub(super) fn look(&self, plan: &mut Plan, sight: Sight<'_>, it: &Value, all: &Revisions) {
        let Some(leader) = &self.leader else { return };
        if self.recreate(plan, it, leader) || leader.deleting.is_some() {
            return;
        }
        let name = &leader.key.name;
        if !shares_subdomain(it) {
            let labels = &leader.object["metadata"]["labels"];
            let selector = json!({NAME: labels[NAME], GROUP_INDEX: labels[GROUP_INDEX]});
            serve(plan, sight, it, &leader.object, name, &selector);
        }
        let waits = it["spec"]["startupPolicy"] == "LeaderReady" && leader.ready.is_none();
        if size(it) == 1 || waits || self.workers.is_some() {
            return;
        }
        let Some(then) = all.find(revision_of(&leader.object)).map(|it_was| it_was.apply(it))
        else {
            return;
        };
        let mut set = worker_set(it, &then, leader);
        if let Some(topology) = it["metadata"]["annotations"][EXCLUSIVE].as_str() {
            let node = leader.node.as_ref().and_then(|node| sight.index.node(node));
            let Some(value) = node.and_then(|node| node.label(topology)) else { return };
            set["spec"]["template"]["spec"]["nodeSelector"][topology] = value.into();
        }
        let about = Subject::of(it);
        let done = format!("Created worker statefulset for leader pod {name}");
        let failed = format!("Failed to create worker statefulset for leader pod {name}: ");
        plan.send_telling(
            Request::new(USER, Method::Post, sets_path(it)).with_body(set),
            about.notes(COMPONENT, "GroupsProgressing", done),
            about.warns(COMPONENT, "FailedCreate", failed),
        );
    }

    /// Removes the whole group if one of its pods restarted or goes. Says whether it's going.
    fn recreate(&self, plan: &mut Plan, it: &Value, leader: &Pod) -> bool {
        let policy = text(&it["spec"]["leaderWorkerTemplate"]["restartPolicy"]);
        if !["RecreateGroupOnPodRestart", "RecreateGroupAfterStart"].contains(&policy) {
            return false;
        }
        let ours = self.workers.filter(|set| owns(&leader.object, set)).is_some();
        let same = |pod: &&Arc<Pod>| revision_of(&pod.object) == revision_of(&leader.object);
        let workers = self.worker_pods.iter().filter(|_| ours).filter(same);
        let mut all = workers.map(|pod| &**pod).chain([leader]);
        let failed = |pod: &Pod| pod.deleting.is_some() || has_restarted(pod);
        let Some(pod) = all.find(|pod| failed(pod)) else { return false };
        let late = policy == "RecreateGroupAfterStart"
            || !it["metadata"]["annotations"][AFTER_START].is_null();
        if late && self.is_pending(it, leader) {
            return false;
        }
        if leader.deleting.is_some() {
            return true;
        }
        let body = json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
            "preconditions": {"uid": &*leader.uid},
        });
        let request = Request::new(USER, Method::Delete, pod_path(&leader.key)).with_body(body);
        let message = format!(
            "Worker pod {} failed, deleted leader pod {} to recreate group {}",
            pod.key.name, leader.key.name, self.index
        );
        let about = Subject::of(it);
        let done = about.notes(COMPONENT, "RecreateGroup", message);
        let failed = "Failed to delete leader pod: ".to_owned();
        plan.send_telling(request, done, about.warns(COMPONENT, "FailedDelete", failed));
        true
    }

    fn is_pending(&self, it: &Value, leader: &Pod) -> bool {
        let there = self.worker_pods.len() as u64 + 1;
        let mut all = self.worker_pods.iter().map(|pod| &**pod).chain([leader]);
        there != size(it) || all.any(|pod| pod.phase == Phase::Pending)
    }
}

fn has_restarted(pod: &Pod) -> bool {
    let status = &pod.object["status"];
    let init = items(&status["initContainerStatuses"]);
    let all = init.iter().chain(items(&status["containerStatuses"]));
    !pod.terminal() && all.into_iter().any(|it| count(&it["restartCount"]) > 0)
}

fn workers_ready(set: &Value) -> bool {
    let status = &set["status"];
    !deleting(set)
        && count(&set["spec"]["replicas"]) == count(&status["availableReplicas"])
        && status["currentRevision"] == status["updateRevision"]
}

fn worker_set(it: &Value, then: &Value, leader: &Pod) -> Value {
    let (name, object) = (&leader.key.name, &leader.object);
    let template = &then["spec"]["leaderWorkerTemplate"];
    let selector = json!({
        GROUP_INDEX: object["metadata"]["labels"][GROUP_INDEX],
        NAME: it["metadata"]["name"],
        GROUP_KEY: object["metadata"]["labels"][GROUP_KEY],
    });
    let mut labels = selector.clone();
    labels[REVISION] = revision_of(object).into();
    let mut pods = template["workerTemplate"].clone();
    merge(&mut pods["metadata"]["labels"], &labels);
    merge(&mut pods["metadata"]["annotations"], &marks(it, then));
    pods["metadata"]["annotations"][LEADER] = (&**name).into();
    let service = match shares_subdomain(then) {
        true => it["metadata"]["name"].clone(),
        false => (&**name).into(),
    };
    let mut own = it["metadata"]["labels"].clone();
    merge(&mut own, &labels);
    let owner = owned_by(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": &**name, "uid": uid(object)},
    }));
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": &**name, "labels": own, "annotations": it["metadata"]["annotations"],
            "ownerReferences": [owner],
        },
        "spec": {
            "serviceName": service,
            "replicas": size(then) - 1,
            "podManagementPolicy": "Parallel",
            "template": pods,
            "ordinals": {"start": 1},
            "selector": {"matchLabels": selector},
        },
    });
    claims(&mut set, template);
    set
}

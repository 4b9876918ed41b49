//! A pod as the controllers see it: the few facts they decide by, read once per change.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Epoch, Time};
use serde_json::Value;

use super::{
    demand::Demand,
    object::{Key, condition, controller, count, items, text, time},
};

/// The finalizer that holds a Job's pod until it's counted.
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// The annotation and label that says which index of an Indexed Job a pod is.
pub(crate) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The scheduler of pods that name none.
pub(crate) const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The facts about one pod.
#[derive(Clone, Debug)]
pub(crate) struct Pod {
    pub(crate) key: Key,
    pub(crate) uid: Arc<str>,
    /// The resource version at creation: a total order of age.
    pub(crate) created: u64,
    /// The uid of its controller.
    pub(crate) owner: Option<Arc<str>>,
    /// Its controller's selector doesn't fit its labels any more.
    pub(crate) stray: bool,
    pub(crate) node: Option<Arc<str>>,
    /// The node on which room is being made for it.
    pub(crate) nominated: Option<Arc<str>>,
    /// Whether the default scheduler may place it now: it's the one named, and no gate is shut.
    pub(crate) schedulable: bool,
    pub(crate) priority: i64,
    pub(crate) phase: Phase,
    /// Since when it's ready.
    pub(crate) ready: Option<Time>,
    /// The grace in seconds, once its deletion was asked for.
    pub(crate) deleting: Option<u64>,
    /// When it failed or succeeded, as far as its containers say.
    pub(crate) finished: Option<Time>,
    pub(crate) restarts: u64,
    pub(crate) deletion_cost: i64,
    /// Its index in an Indexed Job.
    pub(crate) index: Option<u64>,
    /// Whether the Job controller hasn't counted it yet.
    pub(crate) tracked: bool,
    /// What it asks of a node.
    pub(crate) demand: Arc<Demand>,
    pub(crate) object: Arc<Value>,
}

/// How far a pod got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Pod {
    /// Reads a pod. `before` is what was known of it: creation and demand are kept from there.
    pub(crate) fn read(epoch: Epoch, object: &Arc<Value>, rv: u64, before: Option<&Self>) -> Self {
        let metadata = &object["metadata"];
        let spec = &object["spec"];
        let uid = text(&metadata["uid"]);
        let before = before.filter(|pod| &*pod.uid == uid);
        // A pod's spec changes its generation, and its labels what others ask of it.
        let same = |pod: &&Self| {
            let old = &pod.object["metadata"];
            let kept =
                metadata["generation"].is_u64() && old["generation"] == metadata["generation"];
            kept && (pod.demand.peers.is_none() || old["labels"] == metadata["labels"])
        };
        let demand = before
            .filter(same)
            .map_or_else(|| Arc::new(Demand::read(object)), |pod| pod.demand.clone());
        let annotation = |name: &str| metadata["annotations"][name].as_str();
        let number = |text: &str| text.parse::<i64>().ok();
        Self {
            key: before.map_or_else(|| Key::of(object), |pod| pod.key.clone()),
            uid: before.map_or_else(|| uid.into(), |pod| pod.uid.clone()),
            created: before.map_or(rv, |pod| pod.created),
            owner: controller(object).map(|owner| text(&owner["uid"]).into()),
            stray: before.is_some_and(|pod| pod.stray),
            node: spec["nodeName"].as_str().map(Into::into),
            nominated: object["status"]["nominatedNodeName"].as_str().map(Into::into),
            schedulable: spec["schedulerName"].as_str().unwrap_or(DEFAULT_SCHEDULER)
                == DEFAULT_SCHEDULER
                && items(&spec["schedulingGates"]).is_empty(),
            priority: spec["priority"].as_i64().unwrap_or_default(),
            phase: Phase::read(&object["status"]["phase"]),
            ready: condition(object, "Ready")
                .filter(|it| it["status"] == "True")
                .map(|it| time(epoch, &it["lastTransitionTime"]).unwrap_or_default()),
            deleting: metadata["deletionTimestamp"]
                .is_string()
                .then(|| count(&metadata["deletionGracePeriodSeconds"])),
            finished: finished(epoch, object),
            restarts: restarts(object),
            deletion_cost: annotation("controller.kubernetes.io/pod-deletion-cost")
                .and_then(number)
                .unwrap_or_default(),
            index: annotation(COMPLETION_INDEX).and_then(|text| text.parse().ok()),
            tracked: items(&metadata["finalizers"]).iter().any(|it| it == TRACKING),
            demand,
            object: object.clone(),
        }
    }

    /// Whether it has ended.
    pub(crate) fn terminal(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Whether a controller counts on it: it hasn't ended and nobody asked it to go.
    pub(crate) fn active(&self) -> bool {
        !self.terminal() && self.deleting.is_none()
    }

    /// Whether it was asked to go and hasn't ended yet.
    pub(crate) fn terminating(&self) -> bool {
        !self.terminal() && self.deleting.is_some()
    }

    /// Whether two readings of a pod say the same about whose it is.
    pub(crate) fn belongs_as(&self, before: &Self) -> bool {
        let labels =
            |pod: &Self| pod.object["metadata"]["labels"] == self.object["metadata"]["labels"];
        self.uid == before.uid && self.owner == before.owner && labels(before)
    }

    /// Whether it takes up room on its node, as the scheduler counts.
    pub(crate) fn holds(&self) -> Option<&Arc<str>> {
        self.node.as_ref().filter(|_| !self.terminal())
    }
}

impl Phase {
    fn read(value: &Value) -> Self {
        match text(value) {
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

fn statuses(object: &Value) -> &[Value] {
    items(&object["status"]["containerStatuses"])
}

fn finished(epoch: Epoch, object: &Value) -> Option<Time> {
    statuses(object)
        .iter()
        .filter_map(|it| time(epoch, &it["state"]["terminated"]["finishedAt"]))
        .max()
}

fn restarts(object: &Value) -> u64 {
    statuses(object).iter().map(|it| count(&it["restartCount"])).sum()
}

/// The order in which surplus pods go: unbound before bound, pending before running, not ready
/// before ready, cheaper before dearer, from nodes with more `related` pods first, ready for a
/// shorter time first, restarted more often first, younger first.
///
/// The real controllers draw lots among pods whose ages are of the same power of two; here the
/// younger goes.
pub(crate) fn in_order_of_removal(pods: &mut [Arc<Pod>], related: &[Arc<Pod>]) {
    let crowd: BTreeMap<&Arc<str>, u64> = related
        .iter()
        .filter(|pod| pod.active())
        .filter_map(|pod| pod.node.as_ref())
        .fold(BTreeMap::new(), |mut crowd, node| {
            *crowd.entry(node).or_default() += 1;
            crowd
        });
    let on_node = |pod: &Pod| pod.node.as_ref().and_then(|node| crowd.get(node)).copied();
    let more_first = |at: u64| u64::MAX - at;
    pods.sort_by_cached_key(|pod| {
        (
            pod.node.is_some(),
            pod.phase,
            pod.ready.is_some(),
            pod.deletion_cost,
            more_first(on_node(pod).unwrap_or(0)),
            more_first(pod.ready.unwrap_or_default().as_ms()),
            more_first(pod.restarts),
            more_first(pod.created),
        )
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, created: u64, node: Option<&str>, phase: &str, ready: bool) -> Arc<Pod> {
        let ready = if ready { "True" } else { "False" };
        let object = json!({
            "metadata": {"name": name, "namespace": "d", "uid": name},
            "spec": {"nodeName": node},
            "status": {"phase": phase, "conditions": [
                {"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:05Z"}
            ]},
        });
        Arc::new(Pod::read(Epoch::DEFAULT, &Arc::new(object), created, None))
    }

    #[test]
    fn surplus_pods_go_unbound_first_and_old_ready_ones_last() {
        let mut pods = [
            pod("old", 1, Some("n1"), "Running", true),
            pod("young", 2, Some("n2"), "Running", true),
            pod("unready", 3, Some("n3"), "Running", false),
            pod("starting", 4, Some("n4"), "Pending", false),
            pod("unbound", 5, None, "Pending", false),
        ];
        let related = pods.to_vec();
        in_order_of_removal(&mut pods, &related);
        let names: Vec<&str> = pods.iter().map(|pod| &*pod.key.name).collect();
        assert_eq!(names, ["unbound", "starting", "unready", "young", "old"]);
    }

    #[test]
    fn of_two_on_one_node_one_goes_before_the_lonely() {
        let mut pods = [
            pod("lonely", 9, Some("n1"), "Running", true),
            pod("one", 1, Some("n2"), "Running", true),
            pod("two", 2, Some("n2"), "Running", true),
        ];
        let related = pods.to_vec();
        in_order_of_removal(&mut pods, &related);
        assert_eq!(&*pods[0].key.name, "two");
        assert_eq!(&*pods[2].key.name, "lonely");
    }
}

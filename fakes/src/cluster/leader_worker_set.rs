//! The LeaderWorkerSet controller: groups of a leader and its workers, as release 0.8 keeps them.
//!
//! ```text
//!   set ──▶ StatefulSet of leaders   set-0          set-1
//!                                     │ owns         │
//!           StatefulSets of workers  set-0 (1…n-1)  set-1 (1…n-1)
//! ```
//!
//! Workers come with their leader, or once it is ready (`LeaderReady`). A pod that restarts or goes
//! takes its whole group along, unless the restart policy says otherwise. A new template goes from the
//! last group to the first, within surge and what may be unavailable. What its webhooks would fill in
//! is filled in by [`complete`] and [`pods::shape`].

mod groups;
pub(crate) mod pods;
mod revisions;
mod rollout;
mod status;

use std::sync::Arc;

use drawbridge_sim::Span;
use serde_json::{Value, json};

use self::{
    groups::Group,
    revisions::{Revision, Revisions},
    rollout::{Leaders, Limits},
};
use super::{
    controllers::Sight,
    deployment::share,
    object::{Key, count, deleting, items, owned_by, pairs, text, uid},
    plan::{Plan, Subject},
    replica_set::replicas,
};
use crate::{Method, Request};

pub(crate) const RESOURCE: &str = "leaderworkersets.leaderworkerset.x-k8s.io";
const USER: &str = "system:serviceaccount:lws-system:lws-controller-manager";
const COMPONENT: &str = "leaderworkerset";
const SETS: &str = "statefulsets.apps";
/// The label that names the set of a pod, StatefulSet or service.
pub(crate) const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
const REPLICAS: &str = "leaderworkerset.sigs.k8s.io/replicas";
const LEADER: &str = "leaderworkerset.sigs.k8s.io/leader-name";
const EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/exclusive-topology";
const SUB_SIZE: &str = "leaderworkerset.sigs.k8s.io/subgroup-size";
const SUB_TYPE: &str = "leaderworkerset.sigs.k8s.io/subgroup-policy-type";
const SUB_EXCLUSIVE: &str = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
const SUBDOMAIN: &str = "leaderworkerset.sigs.k8s.io/subdomainPolicy";

/// A set of leaders that is going is looked at again after this time.
const PATIENCE: Span = Span::secs(5);

/// Decides what to do about a LeaderWorkerSet.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let mut plan = Plan::nothing();
    if deleting(it) {
        return plan;
    }
    let it = &complete(it);
    let Key { namespace, name } = Key::of(it);
    let set = sight.api.get(SETS, &namespace, &name);
    if set.is_some_and(|set| deleting(set)) {
        plan.wake_at(sight.at.now + PATIENCE);
        return plan;
    }
    let revisions = Revisions::of(sight, it);
    let (revision, updated) = revisions.today(&mut plan, it, set);
    let groups = Group::all(sight, it, set);
    lead(&mut plan, it, set, &revision, updated, &groups);
    if shares_subdomain(it) {
        serve(&mut plan, sight, it, it, &name, &json!({NAME: &*name}));
    }
    for group in &groups {
        group.look(&mut plan, sight, it, &revisions);
    }
    let done = status::write(&mut plan, sight.at, it, set, &groups, &revision.key);
    if done {
        revisions.truncate(&mut plan, it, &revision.key);
    }
    plan
}

/// The set as its webhook completes it.
fn complete(it: &Value) -> Value {
    let mut it = it.clone();
    let fill = |place: &mut Value, value: Value| {
        if place.is_null() {
            *place = value;
        }
    };
    let spec = &mut it["spec"];
    fill(&mut spec["replicas"], 1.into());
    fill(&mut spec["startupPolicy"], "LeaderCreated".into());
    let template = &mut spec["leaderWorkerTemplate"];
    fill(&mut template["size"], 1.into());
    fill(&mut template["restartPolicy"], "RecreateGroupOnPodRestart".into());
    if template["restartPolicy"] == "Default" {
        template["restartPolicy"] = "None".into();
    }
    if template["subGroupPolicy"].is_object() {
        fill(&mut template["subGroupPolicy"]["subGroupPolicyType"], "LeaderWorker".into());
    }
    fill(&mut spec["rolloutStrategy"]["type"], "RollingUpdate".into());
    let rolling = &mut spec["rolloutStrategy"]["rollingUpdateConfiguration"];
    fill(&mut rolling["maxUnavailable"], 1.into());
    fill(&mut rolling["maxSurge"], 0.into());
    fill(&mut rolling["partition"], 0.into());
    fill(&mut spec["networkConfig"]["subdomainPolicy"], "Shared".into());
    it
}

fn size(it: &Value) -> u64 {
    count(&it["spec"]["leaderWorkerTemplate"]["size"])
}

fn shares_subdomain(it: &Value) -> bool {
    it["spec"]["networkConfig"]["subdomainPolicy"] != "UniquePerReplica"
}

/// Sees to the StatefulSet of the leaders.
fn lead(
    plan: &mut Plan,
    it: &Value,
    set: Option<&Arc<Value>>,
    revision: &Revision,
    updated: bool,
    groups: &[Group],
) {
    let limits = Limits::read(it);
    let states: Vec<_> = groups.iter().map(|group| group.state(it, &revision.key)).collect();
    let before = set.map(|set| Leaders::read(set));
    let (partition, replicas) = rollout::next(limits, before.as_ref(), updated, &states);
    let (about, name) = (Subject::of(it), Key::of(it).name);
    let new = leader_set(it, revision, partition, replicas);
    let Some((set, before)) = set.zip(before) else {
        let path = sets_path(it);
        let done = about.notes(
            COMPONENT,
            "GroupsProgressing",
            format!("Created leader statefulset {name}"),
        );
        let failed = format!("Failed to create leader statefulset {name}: ");
        let failed = about.warns(COMPONENT, "FailedCreate", failed);
        let request = Request::new(USER, Method::Post, path).with_body(new);
        return plan.send_telling(request, done, failed);
    };
    if replicas < before.replicas {
        let last = before.replicas - 1;
        let message = match replicas == last {
            true => format!("deleting surge replica {name}-{replicas}"),
            false => format!("deleting surge replicas from {name}-{replicas} to {name}-{last}"),
        };
        plan.tell(about.notes(COMPONENT, "GroupsProgressing", message));
    }
    if is_as(set, &new) {
        return;
    }
    let parts = ["/spec/replicas", "/spec/template", "/spec/updateStrategy"];
    let parts = parts.into_iter().chain(["/metadata/labels", "/metadata/annotations"]);
    let ops: Vec<Value> =
        parts.map(|at| json!({"op": "add", "path": at, "value": new.pointer(at)})).collect();
    let failed = format!("Failed to update leader statefulset {name}: ");
    let request = Request::new(USER, Method::JsonPatch, format!("{}/{name}", sets_path(it)));
    let failed = about.warns(COMPONENT, "FailedUpdate", failed);
    plan.send_or_warn(request.with_body(ops.into()), failed);
    if !updated && partition < before.partition {
        let last = before.partition - 1;
        let message = match partition == last {
            true => format!("Updating replica {partition}"),
            false => format!("Updating replicas {partition} to {last} (inclusive)"),
        };
        plan.tell(about.notes(COMPONENT, "GroupsUpdating", message));
    }
}

/// Whether the StatefulSet of the leaders is as it should be, whatever the server filled in.
fn is_as(set: &Value, new: &Value) -> bool {
    let within = |part: &str| {
        pairs(&new["metadata"][part]).all(|(key, value)| set["metadata"][part][key] == *value)
    };
    set["spec"]["replicas"] == new["spec"]["replicas"]
        && set["spec"]["updateStrategy"] == new["spec"]["updateStrategy"]
        && within("labels")
        && within("annotations")
}

fn leader_set(it: &Value, revision: &Revision, partition: u64, replicas: u64) -> Value {
    let Key { name, .. } = Key::of(it);
    let template = &it["spec"]["leaderWorkerTemplate"];
    let mut pods = match template["leaderTemplate"].is_object() {
        true => template["leaderTemplate"].clone(),
        false => template["workerTemplate"].clone(),
    };
    let labels = json!({WORKER_INDEX: "0", NAME: &*name, REVISION: revision.key});
    merge(&mut pods["metadata"]["labels"], &labels);
    merge(&mut pods["metadata"]["annotations"], &marks(it, it));
    if !shares_subdomain(it) {
        pods["metadata"]["annotations"][SUBDOMAIN] = "UniquePerReplica".into();
    }
    let rolling = &it["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"];
    let total = self::replicas(it);
    let surge = share(&rolling["maxSurge"], total, true).min(total);
    let unavailable = (share(&rolling["maxUnavailable"], total, false) + surge).max(1);
    let mut metadata = json!({
        "name": &*name,
        "labels": it["metadata"]["labels"],
        "annotations": it["metadata"]["annotations"],
        "ownerReferences": [owned_by(it)],
    });
    merge(&mut metadata["labels"], &json!({NAME: &*name, REVISION: revision.key}));
    merge(&mut metadata["annotations"], &json!({REPLICAS: total.to_string()}));
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata,
        "spec": {
            "serviceName": &*name,
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "template": pods,
            "updateStrategy": {
                "type": it["spec"]["rolloutStrategy"]["type"],
                "rollingUpdate": {"maxUnavailable": unavailable, "partition": partition},
            },
            "selector": {"matchLabels": {NAME: &*name, WORKER_INDEX: "0"}},
        },
    });
    claims(&mut set, template);
    set
}

/// Puts in what a template says about claims.
fn claims(set: &mut Value, template: &Value) {
    for part in ["volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy"] {
        if !template[part].is_null() {
            set["spec"][part] = template[part].clone();
        }
    }
}

/// The annotations of every pod. What the template says may be older than the set itself.
fn marks(it: &Value, then: &Value) -> Value {
    let mut marks = json!({SIZE: size(then).to_string()});
    let own = |key: &str| it["metadata"]["annotations"][key].as_str().filter(|it| !it.is_empty());
    if let Some(topology) = own(EXCLUSIVE) {
        marks[EXCLUSIVE] = topology.into();
    }
    let parts = &then["spec"]["leaderWorkerTemplate"]["subGroupPolicy"];
    if parts.is_object() {
        marks[SUB_TYPE] = parts["subGroupPolicyType"].clone();
        marks[SUB_SIZE] = count(&parts["subGroupSize"]).to_string().into();
        if let Some(topology) = own(SUB_EXCLUSIVE) {
            marks[SUB_EXCLUSIVE] = topology.into();
        }
    }
    marks
}

/// Makes a headless service, if there is none of this name.
fn serve(
    plan: &mut Plan,
    sight: Sight<'_>,
    it: &Value,
    owner: &Value,
    name: &str,
    selector: &Value,
) {
    let set = Key::of(it);
    if sight.api.get("services", &set.namespace, name).is_some() {
        return;
    }
    let body = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": name, "labels": {NAME: &*set.name}, "ownerReferences": [owned_by(owner)],
        },
        "spec": {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": true},
    });
    let path = format!("/api/v1/namespaces/{}/services", set.namespace);
    let failed = "Failed to create headless service for error: ".to_owned();
    let failed = Subject::of(it).warns(COMPONENT, "FailedCreate", failed);
    plan.send_or_warn(Request::new(USER, Method::Post, path).with_body(body), failed);
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in pairs(more) {
        into[key] = value.clone();
    }
}

fn sets_path(it: &Value) -> String {
    format!("/apis/apps/v1/namespaces/{}/statefulsets", Key::of(it).namespace)
}

/// The revision that an object was made from.
fn revision_of(object: &Value) -> &str {
    text(&object["metadata"]["labels"][REVISION])
}

/// The controller that an object has is this one.
fn is_owned(object: &Value, owner: &str) -> bool {
    let owners = items(&object["metadata"]["ownerReferences"]);
    owners.iter().any(|it| it["controller"] == true && it["uid"] == owner)
}

fn path(it: &Value) -> String {
    let Key { namespace, name } = Key::of(it);
    format!("/apis/leaderworkerset.x-k8s.io/v1/namespaces/{namespace}/leaderworkersets/{name}")
}

/// Whether an object is owned by this one.
fn owns(owner: &Value, object: &Value) -> bool {
    is_owned(object, uid(owner))
}

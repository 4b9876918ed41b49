//! The volume controller: claims get volumes.
//!
//! ```text
//!   Pending ──▶ a volume that fits and is free ──▶ Bound
//!           ──▶ WaitForFirstConsumer: waits until the scheduler has selected a node
//!           ──▶ a class with a provisioner: a new volume after its delay ──▶ Bound
//!   deleted ──▶ held while a pod uses it ──▶ gone; its volume is Released, and removed or kept
//! ```

use std::sync::Arc;

use drawbridge_sim::Span;
use serde_json::{Value, json};

use super::{
    amounts::Amounts,
    controllers::Sight,
    demand::Term,
    memo::Memo,
    node::Node,
    object::{Key, deleting, items, text, uid},
    plan::{Plan, Subject, patch},
};
use crate::{KubeApi, LabelSelector, Method, Request};

pub(crate) const RESOURCE: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const CLASSES: &str = "storageclasses.storage.k8s.io";
/// The annotation that says on which node the first consumer will be.
pub(crate) const SELECTED: &str = "volume.kubernetes.io/selected-node";
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const PROTECTION: &str = "kubernetes.io/pvc-protection";
/// The provisioner of classes whose volumes somebody makes by hand.
const NOBODY: &str = "kubernetes.io/no-provisioner";

pub(crate) const USER: &str = "system:serviceaccount:kube-system:persistent-volume-binder";
const COMPONENT: &str = "persistentvolume-controller";
const PROTECTOR: &str = "system:serviceaccount:kube-system:pvc-protection-controller";

/// Decides what to do about a claim.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let mut plan = Plan::nothing();
    if protect(&mut plan, sight, it) {
        return plan;
    }
    if is_bound(it) {
        show_bound(&mut plan, sight, it);
        return plan;
    }
    if let Some(class) = default_class(sight.api, it) {
        plan.send(patch(USER, path(it), json!({"spec": {"storageClassName": class}})));
        return plan;
    }
    match find(sight.api, it) {
        Some(volume) => bind(&mut plan, it, volume),
        None => wait(&mut plan, sight, it),
    }
    plan
}

pub(crate) fn is_bound(it: &Value) -> bool {
    it["metadata"]["annotations"][COMPLETED] == "yes" && it["spec"]["volumeName"].is_string()
}

fn class<'a>(api: &'a KubeApi, it: &Value) -> Option<&'a Arc<Value>> {
    api.get(CLASSES, "", text(&it["spec"]["storageClassName"]))
}

/// Whether a claim is bound where its first consumer is.
pub(crate) fn waits_for_consumer(api: &KubeApi, it: &Value) -> bool {
    class(api, it).is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer")
}

/// The class that a claim gets which names none.
fn default_class(api: &KubeApi, it: &Value) -> Option<String> {
    const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
    if !it["spec"]["storageClassName"].is_null() {
        return None;
    }
    let mut classes = api.list(CLASSES);
    let found = classes.find(|class| class["metadata"]["annotations"][DEFAULT] == "true")?;
    Some(text(&found["metadata"]["name"]).to_owned())
}

/// Holds a claim while pods use it. Says whether that is all there is to do.
fn protect(plan: &mut Plan, sight: Sight<'_>, it: &Value) -> bool {
    let finalizers = items(&it["metadata"]["finalizers"]);
    let held = finalizers.iter().any(|name| name == PROTECTION);
    if !deleting(it) {
        if !held {
            let mut all = finalizers.to_vec();
            all.push(PROTECTION.into());
            plan.send(patch(PROTECTOR, path(it), json!({"metadata": {"finalizers": all}})));
        }
        return false;
    }
    let Key { namespace, name } = Key::of(it);
    let mut pods = sight.index.in_namespace(&namespace);
    let uses = |claim: &(String, String)| *claim.1 == *name;
    let used =
        pods.any(|pod| pod.node.is_some() && !pod.terminal() && pod.demand.claims.iter().any(uses));
    if held && !used {
        let kept: Vec<&Value> = finalizers.iter().filter(|name| *name != PROTECTION).collect();
        plan.send(patch(PROTECTOR, path(it), json!({"metadata": {"finalizers": kept}})));
    }
    true
}

/// The volume that a claim should be bound to now.
fn find<'a>(api: &'a KubeApi, it: &Value) -> Option<&'a Arc<Value>> {
    if let Some(name) = it["spec"]["volumeName"].as_str() {
        let volume = api.get(VOLUMES, "", name)?;
        return (is_free(volume) || is_given_to(volume, it)).then_some(volume);
    }
    let given = api.list(VOLUMES).find(|volume| is_given_to(volume, it));
    if given.is_some() || waits_for_consumer(api, it) {
        return given;
    }
    smallest(api, it, |_| true)
}

fn is_free(volume: &Value) -> bool {
    volume["spec"]["claimRef"].is_null() && !deleting(volume)
}

/// Whether a volume was given to this very claim, or to one of its name that wasn't there yet.
pub(crate) fn is_given_to(volume: &Value, it: &Value) -> bool {
    let to = &volume["spec"]["claimRef"];
    let named = ["namespace", "name"].iter().all(|part| to[*part] == it["metadata"][*part]);
    to.is_object() && named && (to["uid"].is_null() || to["uid"] == uid(it))
}

/// The smallest free volume that fits a claim.
pub(crate) fn smallest<'a>(
    api: &'a KubeApi,
    it: &Value,
    also: impl Fn(&Value) -> bool,
) -> Option<&'a Arc<Value>> {
    let size = |value: &Value| Amounts::read(value).get("storage");
    let want = size(&it["spec"]["resources"]["requests"]);
    let selector = LabelSelector::from_object(&it["spec"]["selector"]).unwrap_or_default();
    let fits = |volume: &&Arc<Value>| {
        let modes = items(&volume["spec"]["accessModes"]);
        let mode =
            |value: &Value| value["spec"]["volumeMode"].as_str().unwrap_or("Filesystem").to_owned();
        is_free(volume)
            && text(&volume["spec"]["storageClassName"]) == text(&it["spec"]["storageClassName"])
            && want <= size(&volume["spec"]["capacity"])
            && items(&it["spec"]["accessModes"]).iter().all(|mode| modes.contains(mode))
            && mode(volume) == mode(it)
            && selector.matches(&volume["metadata"]["labels"])
            && also(volume)
    };
    api.list(VOLUMES).filter(fits).min_by_key(|volume| size(&volume["spec"]["capacity"]))
}

/// Whether a volume can be used on a node.
pub(crate) fn can_be_on(volume: &Value, node: &Node) -> bool {
    let terms = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
    !terms.is_array() || items(terms).iter().any(|term| node.fits_term(&Term::read(term)))
}

/// Whether a volume for a claim can be provided on a node.
pub(crate) fn can_be_provided(api: &KubeApi, it: &Value, node: &Node) -> bool {
    let Some(class) = class(api, it) else { return false };
    let topologies = items(&class["allowedTopologies"]);
    let allowed = |term: &Value| {
        items(&term["matchLabelExpressions"]).iter().all(|it| {
            let value = node.label(text(&it["key"]));
            value.is_some_and(|value| items(&it["values"]).iter().any(|one| one == value))
        })
    };
    class["provisioner"] != NOBODY && (topologies.is_empty() || topologies.iter().any(allowed))
}

/// Gives a volume to a claim.
pub(crate) fn give(user: &str, volume: &str, claim: &(String, String)) -> Request {
    let to = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": claim.0, "name": claim.1,
    });
    let path = format!("/api/v1/{VOLUMES}/{volume}");
    let metadata = json!({"annotations": {BY_CONTROLLER: "yes"}});
    patch(user, path, json!({"metadata": metadata, "spec": {"claimRef": to}}))
}

/// Says on a claim where its first consumer will be.
pub(crate) fn select(user: &str, claim: &(String, String), node: &str) -> Request {
    let path = format!("/api/v1/namespaces/{}/{RESOURCE}/{}", claim.0, claim.1);
    patch(user, path, json!({"metadata": {"annotations": {SELECTED: node}}}))
}

/// Binds a claim and a volume to each other.
fn bind(plan: &mut Plan, it: &Value, volume: &Value) {
    let name = text(&volume["metadata"]["name"]);
    let Key { namespace, name: claim } = Key::of(it);
    let to = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": uid(it),
        "namespace": &*namespace, "name": &*claim,
    });
    if volume["spec"]["claimRef"]["uid"] != uid(it) {
        let body = json!({
            "metadata": {"annotations": {BY_CONTROLLER: "yes"}}, "spec": {"claimRef": to},
        });
        plan.send(patch(USER, format!("/api/v1/{VOLUMES}/{name}"), body));
    }
    let body = json!({
        "metadata": {"annotations": {COMPLETED: "yes", BY_CONTROLLER: "yes"}},
        "spec": {"volumeName": name},
    });
    plan.send(patch(USER, path(it), body));
    let status = bound(volume);
    plan.send(patch(USER, path(it) + "/status", json!({"status": status})));
}

fn bound(volume: &Value) -> Value {
    json!({
        "phase": "Bound",
        "accessModes": volume["spec"]["accessModes"],
        "capacity": volume["spec"]["capacity"],
    })
}

fn show_bound(plan: &mut Plan, sight: Sight<'_>, it: &Value) {
    let volume = sight.api.get(VOLUMES, "", text(&it["spec"]["volumeName"]));
    let phase = text(&it["status"]["phase"]);
    match volume {
        Some(volume) if phase != "Bound" => {
            plan.send(patch(USER, path(it) + "/status", json!({"status": bound(volume)})));
        }
        None if phase != "Lost" => {
            plan.send(patch(USER, path(it) + "/status", json!({"status": {"phase": "Lost"}})));
            let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            plan.tell(Subject::of(it).warns(COMPONENT, "ClaimLost", message.into()));
        }
        Some(_) | None => {}
    }
}

/// No volume is there: one is provided, or the claim says what it waits for.
fn wait(plan: &mut Plan, sight: Sight<'_>, it: &Value) {
    let about = Subject::of(it);
    let first = sight.memo.is_none();
    let late = waits_for_consumer(sight.api, it);
    let selected = it["metadata"]["annotations"][SELECTED].as_str();
    let Some(class) = class(sight.api, it).filter(|class| class["provisioner"] != NOBODY) else {
        if late && selected.is_none() {
            return wait_for_consumer(plan, it, first);
        }
        if first {
            let message =
                "no persistent volumes available for this claim and no storage class is set";
            plan.tell(about.notes(COMPONENT, "FailedBinding", message.into()));
        }
        plan.memo = Some(Memo::Told);
        return;
    };
    if late && selected.is_none() {
        return wait_for_consumer(plan, it, first);
    }
    let provisioner = text(&class["provisioner"]);
    if it["metadata"]["annotations"][PROVISIONER] != provisioner {
        let body = json!({"metadata": {"annotations": {PROVISIONER: provisioner}}});
        plan.send(patch(USER, path(it), body));
        let message = format!(
            "Waiting for a volume to be created either by the external provisioner \
             '{provisioner}' or manually by the system administrator. If volume creation is \
             delayed, please verify that the provisioner is running and correctly registered."
        );
        plan.tell(about.notes(COMPONENT, "ExternalProvisioning", message));
    }
    provide(plan, sight, it, class, selected);
}

fn wait_for_consumer(plan: &mut Plan, it: &Value, first: bool) {
    if first {
        let message = "waiting for first consumer to be created before binding";
        plan.tell(Subject::of(it).notes(COMPONENT, "WaitForFirstConsumer", message.into()));
    }
    plan.memo = Some(Memo::Told);
}

/// What a provisioner does, once it's told to.
fn provide(plan: &mut Plan, sight: Sight<'_>, it: &Value, class: &Value, node: Option<&str>) {
    let provisioner = text(&class["provisioner"]);
    let (user, about) = (provisioner_user(provisioner), Subject::of(it));
    let way = sight.provisioners.get(provisioner).cloned().unwrap_or_default();
    let due = match sight.memo {
        Some(Memo::Provided(due)) => *due,
        _ => {
            let name = Key::of(it);
            let message =
                format!("External provisioner is provisioning volume for claim \"{name}\"");
            plan.tell(about.notes(PROVISIONER_COMPONENT, "Provisioning", message));
            sight.at.now + way.delay
        }
    };
    plan.memo = Some(Memo::Provided(due));
    if sight.at.now < due {
        return plan.wake_at(due);
    }
    let full = node.filter(|node| way.full.iter().any(|it| it == node));
    let why = full.map(|node| format!("no room on {node}")).or(way.fails);
    if let Some(why) = why {
        let class = text(&class["metadata"]["name"]);
        let message = format!("failed to provision volume with StorageClass \"{class}\": {why}");
        plan.tell(about.warns(PROVISIONER_COMPONENT, "ProvisioningFailed", message));
        if full.is_some() {
            let body = json!({"metadata": {"annotations": {SELECTED: null}}});
            plan.send(patch(&user, path(it), body));
            plan.memo = None;
            return;
        }
        plan.memo = Some(Memo::Provided(sight.at.now + RETRY));
        return plan.wake_at(sight.at.now + RETRY);
    }
    let volume = new_volume(sight, it, class, node, way.topology.as_deref());
    let name = text(&volume["metadata"]["name"]).to_owned();
    plan.send(Request::new(&user, Method::Post, format!("/api/v1/{VOLUMES}")).with_body(volume));
    let message = format!("Successfully provisioned volume {name}");
    plan.tell(about.notes(PROVISIONER_COMPONENT, "ProvisioningSucceeded", message));
}

const PROVISIONER_COMPONENT: &str = "external-provisioner";
/// A provisioner that failed tries again after this time.
const RETRY: Span = Span::secs(30);

/// How a provisioner works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provisioner {
    /// How long it takes.
    pub delay: Span,
    /// Its volumes can only be used on nodes that have the same value of this label as the one they
    /// were made for.
    pub topology: Option<String>,
    /// It can't, and says why.
    pub fails: Option<String>,
    /// Nodes for which it can't: it says so, and takes the selection off the claim, so that
    /// whoever placed its consumer chooses again.
    pub full: Vec<String>,
}

impl Default for Provisioner {
    fn default() -> Self {
        Self { delay: Span::secs(1), topology: None, fails: None, full: vec![] }
    }
}

/// Who a provisioner is to the API server.
pub(crate) fn provisioner_user(name: &str) -> String {
    format!("system:serviceaccount:kube-system:{name}")
}

fn new_volume(
    sight: Sight<'_>,
    it: &Value,
    class: &Value,
    node: Option<&str>,
    topology: Option<&str>,
) -> Value {
    let Key { namespace, name } = Key::of(it);
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": format!("pvc-{}", uid(it)),
            "annotations": {PROVISIONED_BY: class["provisioner"]},
        },
        "spec": {
            "capacity": it["spec"]["resources"]["requests"],
            "accessModes": it["spec"]["accessModes"],
            "storageClassName": class["metadata"]["name"],
            "persistentVolumeReclaimPolicy": class["reclaimPolicy"].as_str().unwrap_or("Delete"),
            "volumeMode": it["spec"]["volumeMode"].as_str().unwrap_or("Filesystem"),
            "csi": {"driver": class["provisioner"], "volumeHandle": uid(it)},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": uid(it),
                "namespace": &*namespace, "name": &*name,
            },
        },
    });
    let place = node.and_then(|node| sight.index.node(node)).zip(topology);
    if let Some((label, value)) = place.and_then(|(node, key)| Some((key, node.label(key)?))) {
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": label, "operator": "In", "values": [value]}]},
        ]}});
    }
    volume
}

fn path(it: &Value) -> String {
    let Key { namespace, name } = Key::of(it);
    format!("/api/v1/namespaces/{namespace}/{RESOURCE}/{name}")
}

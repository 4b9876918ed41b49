//! What is still to be done to a pod's claims: one request at a time, each decided on what is there.
//!
//! ```text
//!   a claim that exists ── finalizer ──▶ allocation and reservation ──▶ ready
//!   resources by class  ── create ─────▶ allocation and reservation ──▶ written on the pod ──▶ ready
//!   other devices than the pod's ── freed, then allocated anew
//! ```

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use super::{
    assign::Assigned,
    demand::{Demand, Source},
    shelf::Shelf,
    view::{AllocatedDevice, ClaimView, PROTECTION},
};
use crate::{
    effect::{KubeRequest, Method},
    names::ObjectKey,
    placement::Placement,
    view::{Meta, PodView},
};

/// Marks a claim that stands for resources named after a device class.
const EXTENDED: &str = "resource.kubernetes.io/extended-resource-claim";

/// One request about a pod's devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) claim: ObjectKey,
    pub(crate) request: KubeRequest,
    /// The sentence for it, once it is done.
    pub(crate) text: String,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Makes the claim for resources named after device classes.
    Create,
    /// Keeps a claim from being deleted while it is used.
    Protect,
    /// Writes the devices into the claim, and whose it is.
    Allocate,
    /// Takes them out again.
    Free,
    /// Writes the claim's name on the pod.
    Tell,
    /// Deletes the claim that we made.
    Delete,
}

/// What requests are written with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools<'a> {
    pub(crate) shelf: &'a Shelf,
    /// Now, as Kubernetes writes it.
    pub(crate) now: &'a str,
}

/// The next thing to do before the pod may be bound, if there is one.
pub(crate) fn next(
    tools: Tools<'_>,
    pod: &PodView,
    place: &Placement,
    demands: &[Demand],
    assigned: &[Assigned],
) -> Option<Step> {
    let mut by_claim: BTreeMap<ObjectKey, Vec<&Assigned>> = BTreeMap::new();
    for one in assigned {
        let key = match &one.source {
            Source::Claim(key) => key.clone(),
            Source::Extended { .. } => extended_key(pod),
        };
        by_claim.entry(key).or_default().push(one);
    }
    for (key, devices) in &by_claim {
        let Some(claim) = tools.shelf.claim(key) else {
            return (*key == extended_key(pod)).then(|| create(pod, demands));
        };
        if let Some(step) = settle(tools, pod, place, claim, devices) {
            return Some(step);
        }
    }
    let extended = extended_key(pod);
    let told = pod.status.extended_resource_claim_status.as_ref();
    let told = told.is_some_and(|it| it.resource_claim_name == extended.name());
    (by_claim.contains_key(&extended) && !told).then(|| tell(pod, demands))
}

/// The next thing to do to one claim.
fn settle(
    tools: Tools<'_>,
    pod: &PodView,
    place: &Placement,
    claim: &ClaimView,
    devices: &[&Assigned],
) -> Option<Step> {
    let wanted: BTreeSet<_> = devices.iter().map(|it| (it.request.as_str(), &it.device)).collect();
    let results = claim.status.allocation.as_ref().map(|it| &it.devices.results);
    match results {
        Some(results) if results.iter().map(named).collect::<BTreeSet<_>>() == wanted => {
            (!claim.is_reserved_for(pod)).then(|| allocate(tools, pod, place, claim, devices))
        }
        Some(_) => Some(free_step(claim)),
        None if !claim.is_protected() && !is_ours(claim, pod) => Some(protect(claim)),
        None => Some(allocate(tools, pod, place, claim, devices)),
    }
}

fn named(result: &AllocatedDevice) -> (&str, &super::view::DeviceId) {
    (&result.request, &result.device)
}

/// Takes devices out of a claim of a pod that waits and has no place: Slurm may give them to others.
pub(crate) fn free(shelf: &Shelf, pod: &PodView, demands: &[Demand]) -> Option<Step> {
    let keys = demands.iter().map(|demand| match &demand.source {
        Source::Claim(key) => key.clone(),
        Source::Extended { .. } => extended_key(pod),
    });
    let claims = keys.filter_map(|key| shelf.claim(&key));
    let mut stale = claims.filter(|claim| {
        claim.status.allocation.is_some() && claim.is_reserved_for(pod) && !claim.is_shared(pod)
    });
    stale.next().map(|claim| free_step(claim))
}

/// Deletes the claim that we made, of a pod that is over. Other claims are the cluster's to release.
pub(crate) fn release(shelf: &Shelf, pod: &PodView) -> Option<Step> {
    let claim = shelf.claim(&extended_key(pod))?;
    if claim.is_leaving() || !is_ours(claim, pod) {
        return None;
    }
    let body = json!({
        "apiVersion": "v1", "kind": "DeleteOptions",
        "preconditions": { "uid": claim.metadata.uid.as_str() },
    });
    let request = request(Method::Delete, path(&claim.metadata, ""), Some(body));
    let text = format!("deleted ResourceClaim {}", claim.metadata.key());
    Some(Step { kind: Kind::Delete, claim: claim.metadata.key(), request, text })
}

/// Whether we made the claim for this pod.
fn is_ours(claim: &ClaimView, pod: &PodView) -> bool {
    claim.metadata.annotations.contains_key(EXTENDED)
        && claim.metadata.owner_references.iter().any(|owner| owner.uid == *pod.uid())
}

/// The claim that stands for the pod's resources. Its name looks as if the API server had chosen it,
/// but follows from the pod, so that a request whose reply was lost makes no second one.
pub(super) fn extended_key(pod: &PodView) -> ObjectKey {
    let Meta { name, namespace, uid, .. } = &pod.metadata;
    let start: String = name.chars().take(220).collect();
    let digest = fnv1a(uid.as_str().as_bytes()) & 0xf_ffff;
    ObjectKey::new(namespace, &format!("{start}-extended-resources-{digest:05x}"))
}

fn create(pod: &PodView, demands: &[Demand]) -> Step {
    let key = extended_key(pod);
    let Meta { name, namespace, uid, .. } = &pod.metadata;
    let requests: Vec<Value> = extended(demands)
        .map(|(demand, _, _)| {
            let exactly = json!({
                "deviceClassName": demand.class, "allocationMode": "ExactCount",
                "count": demand.count,
            });
            json!({ "name": demand.request, "exactly": exactly })
        })
        .collect();
    let body = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": key.name(),
            "generateName": format!("{name}-extended-resources-"),
            "namespace": namespace,
            "annotations": { EXTENDED: "true" },
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid.as_str(),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": { "devices": { "requests": requests } },
    });
    let path = format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims");
    let text = format!("created ResourceClaim {key}");
    Step { kind: Kind::Create, claim: key, request: request(Method::Post, path, Some(body)), text }
}

fn protect(claim: &ClaimView) -> Step {
    let mut finalizers = claim.metadata.finalizers.clone();
    finalizers.push(PROTECTION.into());
    let mut body = fixed(&claim.metadata);
    body["metadata"]["finalizers"] = json!(finalizers);
    let key = claim.metadata.key();
    let text = format!("keeps ResourceClaim {key} while it is used");
    let request = request(Method::MergePatch, path(&claim.metadata, ""), Some(body));
    Step { kind: Kind::Protect, claim: key, request, text }
}

fn allocate(
    tools: Tools<'_>,
    pod: &PodView,
    place: &Placement,
    claim: &ClaimView,
    devices: &[&Assigned],
) -> Step {
    let results: Vec<Value> = devices
        .iter()
        .map(|it| {
            let super::view::DeviceId { driver, pool, device } = &it.device;
            json!({ "request": it.request, "driver": driver, "pool": pool, "device": device })
        })
        .collect();
    let here =
        json!([{ "key": "metadata.name", "operator": "In", "values": [place.node.as_str()] }]);
    let mut body = fixed(&claim.metadata);
    body["status"] = json!({
        "allocation": {
            "devices": { "results": results, "config": configs(tools.shelf, claim, devices) },
            "nodeSelector": { "nodeSelectorTerms": [{ "matchFields": here }] },
            "allocationTimestamp": tools.now,
        },
        "reservedFor": [{
            "resource": "pods", "name": pod.metadata.name, "uid": pod.uid().as_str(),
        }],
    });
    let names: Vec<_> = devices.iter().map(|it| it.device.device.as_str()).collect();
    let (key, names) = (claim.metadata.key(), names.join(", "));
    let text = format!("gave {names} of {} to pod {} (ResourceClaim {key})", place.node, pod.key());
    let request = request(Method::MergePatch, path(&claim.metadata, "/status"), Some(body));
    Step { kind: Kind::Allocate, claim: key, request, text }
}

/// What drivers are told with the devices: the classes' part, then the claim's own.
fn configs(shelf: &Shelf, claim: &ClaimView, devices: &[&Assigned]) -> Vec<Value> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for one in devices {
        let class = shelf.class(&one.class).filter(|_| seen.insert(one.request.as_str()));
        for config in class.into_iter().flat_map(|class| &class.spec.config) {
            let mut config = config.clone();
            config["source"] = json!("FromClass");
            config["requests"] = json!([one.request]);
            all.push(config);
        }
    }
    for config in &claim.spec.devices.config {
        let mut config = config.clone();
        config["source"] = json!("FromClaim");
        all.push(config);
    }
    all
}

fn free_step(claim: &ClaimView) -> Step {
    let mut body = fixed(&claim.metadata);
    body["status"] = json!({ "allocation": null, "reservedFor": null });
    let key = claim.metadata.key();
    let text = format!("took the devices out of ResourceClaim {key}");
    let request = request(Method::MergePatch, path(&claim.metadata, "/status"), Some(body));
    Step { kind: Kind::Free, claim: key, request, text }
}

fn tell(pod: &PodView, demands: &[Demand]) -> Step {
    let key = extended_key(pod);
    let mappings: Vec<Value> = extended(demands)
        .map(|(demand, container, resource)| {
            json!({
                "containerName": container, "resourceName": resource,
                "requestName": demand.request,
            })
        })
        .collect();
    let mut body = fixed(&pod.metadata);
    body["status"] = json!({ "extendedResourceClaimStatus": {
        "resourceClaimName": key.name(), "requestMappings": mappings,
    } });
    let Meta { namespace, name, .. } = &pod.metadata;
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
    let text = format!("wrote on pod {} that {} is its claim", pod.key(), key.name());
    Step {
        kind: Kind::Tell,
        claim: key,
        request: request(Method::MergePatch, path, Some(body)),
        text,
    }
}

/// The demands that are resources of containers.
fn extended(demands: &[Demand]) -> impl Iterator<Item = (&Demand, &str, &str)> {
    demands.iter().filter_map(|demand| match &demand.source {
        Source::Extended { container, resource } => {
            Some((demand, container.as_str(), resource.as_str()))
        }
        Source::Claim(_) => None,
    })
}

/// A patch that applies only to the state that it was decided on.
fn fixed(meta: &Meta) -> Value {
    json!({ "metadata": { "uid": meta.uid.as_str(), "resourceVersion": meta.resource_version } })
}

fn path(claim: &Meta, subresource: &str) -> String {
    let Meta { namespace, name, .. } = claim;
    format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}{subresource}")
}

fn request(method: Method, path: String, body: Option<Value>) -> KubeRequest {
    KubeRequest { method, path, query: Vec::new(), body }
}

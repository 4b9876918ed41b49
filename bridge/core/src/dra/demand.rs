//! What a pod's claims ask for.
//!
//! A claim can say more than Slurm can be told: alternatives, selectors over attributes, all devices
//! of a node, a claim for several pods. That is refused, with what would do instead.

use std::collections::BTreeMap;

use super::{
    shelf::{Listing, Shelf},
    view::{ClaimView, DeviceRequest},
};
use crate::{
    names::{ObjectKey, Uid},
    translate::CLASS_PREFIX,
    view::{Container, PodClaim, PodView},
};

/// Devices of one class for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) source: Source,
    pub(crate) request: String,
    pub(crate) class: String,
    pub(crate) count: u32,
}

/// Which claim a demand is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// One that exists.
    Claim(ObjectKey),
    /// The one that stands for resources named after a device class, which we create.
    Extended {
        /// The container that asks.
        container: String,
        /// The resource as it names it.
        resource: String,
    },
}

/// Why nothing can be said of a pod's claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Something isn't there yet.
    NotYet(String),
    /// Slurm can't be told.
    Never(String),
}

/// Whether a pod asks for devices that Slurm is to choose.
pub(crate) fn needs_devices(pod: &PodView) -> bool {
    let by_name = |it: &Container| {
        let names = it.resources.limits.keys().chain(it.resources.requests.keys());
        names.into_iter().any(|name| name.starts_with(CLASS_PREFIX))
    };
    let mut containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    !pod.spec.resource_claims.is_empty() || containers.any(by_name)
}

/// What the claims of these pods ask for, by class.
pub(crate) fn claimed(
    shelf: &Shelf,
    pods: &[&PodView],
) -> Result<BTreeMap<Uid, Vec<(String, u32)>>, Lack> {
    let mut all = BTreeMap::new();
    let mut claims: BTreeMap<ObjectKey, &Uid> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| needs_devices(pod)) {
        let demands = demands(shelf, pod)?;
        for demand in &demands {
            if let Source::Claim(key) = &demand.source
                && claims.insert(key.clone(), pod.uid()).is_some_and(|other| other != pod.uid())
            {
                return Err(shared(key));
            }
        }
        let claims = demands.into_iter().filter(|it| matches!(it.source, Source::Claim(_)));
        let by_class = claims.map(|it| (it.class, it.count)).collect();
        all.insert(pod.uid().clone(), by_class);
    }
    Ok(all)
}

/// Everything that a pod asks for, claim by claim, then container by container.
pub(crate) fn demands(shelf: &Shelf, pod: &PodView) -> Result<Vec<Demand>, Lack> {
    if !needs_devices(pod) {
        return Ok(Vec::new());
    }
    match shelf.listing() {
        Listing::Known => {}
        Listing::Unknown => return Err(Lack::NotYet("waiting for the list of devices".into())),
        Listing::Absent => {
            let why = "the cluster doesn't serve resource.k8s.io/v1, or the bridge may not read it";
            return Err(Lack::Never(format!("devices can't be allocated: {why}")));
        }
    }
    let mut demands = Vec::new();
    for claim in &pod.spec.resource_claims {
        let Some(key) = key_of(pod, claim)? else { continue };
        let Some(view) = shelf.claim(&key) else {
            return Err(Lack::NotYet(format!(
                "waiting for ResourceClaim {key}, which doesn't exist"
            )));
        };
        demands.extend(of_claim(pod, &key, view)?);
    }
    demands.extend(extended(pod)?);
    Ok(demands)
}

/// The claim's name: given, or chosen when it was made from a template. None if none is needed.
fn key_of(pod: &PodView, claim: &PodClaim) -> Result<Option<ObjectKey>, Lack> {
    let key = |name: &str| ObjectKey::new(&pod.metadata.namespace, name);
    if let Some(name) = &claim.resource_claim_name {
        return Ok(Some(key(name)));
    }
    let made = pod.status.resource_claim_statuses.iter().find(|it| it.name == claim.name);
    match made {
        Some(made) => Ok(made.resource_claim_name.as_deref().map(key)),
        None => {
            let template = claim.resource_claim_template_name.as_deref().unwrap_or_default();
            Err(Lack::NotYet(format!("waiting for a ResourceClaim of template {template}")))
        }
    }
}

fn of_claim(pod: &PodView, key: &ObjectKey, claim: &ClaimView) -> Result<Vec<Demand>, Lack> {
    if claim.is_leaving() {
        return Err(Lack::NotYet(format!(
            "waiting for ResourceClaim {key}, which is being deleted"
        )));
    }
    if claim.is_shared(pod) {
        return Err(shared(key));
    }
    if !claim.spec.devices.constraints.is_empty() {
        return Err(unable(key, "constraints", "a device class that stands for what they ask for"));
    }
    claim.spec.devices.requests.iter().map(|request| of_request(key, request)).collect()
}

fn of_request(key: &ObjectKey, request: &DeviceRequest) -> Result<Demand, Lack> {
    let Some(exactly) = &request.exactly else {
        return Err(unable(key, "firstAvailable", "exactly, with one device class"));
    };
    if !exactly.selectors.is_empty() {
        return Err(unable(key, "selectors", "a device class that stands for a type of GRES"));
    }
    if exactly.allocation_mode.as_deref() == Some("All") {
        return Err(unable(key, "allocationMode: All", "a count"));
    }
    if exactly.admin_access {
        return Err(unable(key, "adminAccess", "devices of the pod's own"));
    }
    Ok(Demand {
        source: Source::Claim(key.clone()),
        request: request.name.clone(),
        class: exactly.device_class_name.clone(),
        count: exactly.count.unwrap_or(1),
    })
}

fn unable(key: &ObjectKey, what: &str, instead: &str) -> Lack {
    Lack::Never(format!("ResourceClaim {key} has {what}, which Slurm can't be told: use {instead}"))
}

fn shared(key: &ObjectKey) -> Lack {
    Lack::Never(format!(
        "ResourceClaim {key} is used by several pods: Slurm gives devices to each pod; use a template"
    ))
}

/// Resources that are named after a device class, each container's by itself.
fn extended(pod: &PodView) -> Result<Vec<Demand>, Lack> {
    let spec = &pod.spec;
    let containers = spec.init_containers.iter().map(|it| (true, it));
    let containers = containers.chain(spec.containers.iter().map(|it| (false, it)));
    let mut demands = Vec::new();
    for (index, (init, container)) in containers.enumerate() {
        let limits = &container.resources.limits;
        let named = limits.iter().filter(|(name, _)| name.starts_with(CLASS_PREFIX));
        for (position, (resource, amount)) in named.enumerate() {
            if init && container.restart_policy.as_deref() != Some("Always") {
                let what = "device classes in an init container aren't supported";
                return Err(Lack::Never(format!("{what}: {}", container.name)));
            }
            let text = amount.as_str().map_or_else(|| amount.to_string(), Into::into);
            let count = text.parse().unwrap_or(0);
            if 0 < count {
                demands.push(Demand {
                    source: Source::Extended {
                        container: container.name.clone(),
                        resource: resource.clone(),
                    },
                    request: format!("container-{index}-request-{position}"),
                    class: resource[CLASS_PREFIX.len()..].to_owned(),
                    count,
                });
            }
        }
    }
    Ok(demands)
}

//! Volumes: where a pod can be for the sake of its claims.
//!
//! ```text
//!  claim is bound                      ──▶ where its volume can be used
//!  waits for its first consumer        ──▶ where one can be provided, or lies ready
//!   … and a node was selected for it   ──▶ there alone
//!  permits one node, and is in use     ──▶ where its user is
//!  missing, lost, deleted, not bound   ──▶ nowhere yet: the pod waits, and says for what
//! ```

use std::{collections::BTreeSet, sync::Arc};

use super::{company::Company, labels::selects, obstacle::Obstacle};
use crate::{
    names::{KubeNode, ObjectKey},
    storage::Storage,
    view::{ClaimView, ClassView, NodeView, PodView, VolumeView},
};

/// What a claim says about nodes.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// It has its volume.
    Bound { claim: ObjectKey, volume: Arc<VolumeView> },
    /// Its volume is being made for this node.
    Selected { claim: ObjectKey, node: KubeNode },
    /// Its volume is made where the pod comes to be.
    Provided { claim: ObjectKey, class: Arc<ClassView> },
    /// One of the volumes that lie ready has to be given to it.
    ByHand { claim: Arc<ClaimView>, volumes: Vec<Arc<VolumeView>> },
    /// One node alone can have it, and this pod uses it there.
    Held { claim: ObjectKey, node: KubeNode, who: ObjectKey },
}

/// Why a pod can't go anywhere yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Until this comes.
    Wait(String),
    /// This can't come.
    Never(String),
}

/// What the pod's claims say about nodes.
pub(crate) fn rules<'a>(
    storage: &Storage,
    company: Company<'a>,
    pod: &'a PodView,
) -> Result<Vec<Rule>, Hold> {
    let mut rules = Vec::new();
    // One that is yet to come has its claims made with it.
    let is_here = !pod.uid().as_str().is_empty();
    for key in pod.claims().filter(|_| is_here) {
        if !storage.is_known() {
            let why = "the bridge isn't permitted to list PersistentVolumeClaims, \
                       PersistentVolumes and StorageClasses";
            return Err(Hold::Never(format!("claim {key} can't be looked at: {why}")));
        }
        let wait = |why: &str| Hold::Wait(format!("waiting for claim {key}, which {why}"));
        let claim = storage.claim(&key).ok_or_else(|| wait("doesn't exist"))?;
        is_usable(pod, &key, claim).map_err(wait)?;
        rules.extend(in_use(company, pod, &key, claim)?);
        rules.push(rule(storage, &key, claim).map_err(wait)?);
    }
    Ok(rules)
}

fn is_usable(pod: &PodView, key: &ObjectKey, claim: &ClaimView) -> Result<(), &'static str> {
    let meta = &claim.metadata;
    let is_own = |volume: &&crate::view::Volume| {
        volume.persistent_volume_claim.is_none()
            && key.name() == format!("{}-{}", pod.metadata.name, volume.name)
    };
    let ephemeral = pod.spec.volumes.iter().find(is_own).is_some();
    match () {
        () if meta.deletion_timestamp.is_some() => Err("is being deleted"),
        () if claim.is_lost() => Err("has lost its volume"),
        () if ephemeral && meta.controller().is_none_or(|owner| owner.uid != *pod.uid()) => {
            Err("is to belong to the pod, and belongs to another")
        }
        () => Ok(()),
    }
}

/// What its users mean for a claim that not everybody can have at the same time.
fn in_use<'a>(
    company: Company<'a>,
    pod: &'a PodView,
    key: &ObjectKey,
    claim: &ClaimView,
) -> Result<Option<Rule>, Hold> {
    let one_pod = claim.permits_only("ReadWriteOncePod");
    if !one_pod && !claim.permits_only("ReadWriteOnce") {
        return Ok(None);
    }
    let named = |other: &PodView| other.key() != pod.key() && other.claims().any(|it| it == *key);
    if one_pod && company.crew.iter().any(|other| named(other)) {
        let why = "may be used by one pod alone, and several that are placed together name it";
        return Err(Hold::Never(format!("claim {key} {why}")));
    }
    let mut users = company.everybody(pod.uid());
    let Some((node, user)) = users.find(|(_, it)| it.claims.contains(key)) else {
        return Ok(None);
    };
    let who = user.key.clone();
    if one_pod {
        let why =
            format!("waiting for claim {key}, which one pod alone may use, and pod {who} does");
        return Err(Hold::Wait(why));
    }
    Ok(Some(Rule::Held { claim: key.clone(), node: node.clone(), who }))
}

fn rule(storage: &Storage, key: &ObjectKey, claim: &Arc<ClaimView>) -> Result<Rule, &'static str> {
    let name = key.clone();
    if claim.is_bound() {
        let volume = storage.volume(&claim.spec.volume_name).ok_or("lacks its volume")?;
        return Ok(Rule::Bound { claim: name, volume: Arc::clone(volume) });
    }
    let class = storage.class_of(claim).filter(|class| class.waits_for_consumer());
    let class = class.filter(|_| claim.spec.volume_name.is_empty()).ok_or("isn't bound")?;
    if !class.provides() {
        let suits = |volume: &&Arc<VolumeView>| {
            volume.is_given_to(claim) || (volume.is_free() && volume.suits(claim))
        };
        let volumes = storage.volumes().filter(suits).cloned().collect();
        return Ok(Rule::ByHand { claim: Arc::clone(claim), volumes });
    }
    Ok(match claim.selected_node() {
        Some(node) => Rule::Selected { claim: name, node: node.into() },
        None => Rule::Provided { claim: name, class: Arc::clone(class) },
    })
}

/// What the pod's claims say by themselves, whoever uses them.
pub(crate) fn own_rules(storage: &Storage, pod: &PodView) -> Vec<Rule> {
    let rule = |key: ObjectKey| rule(storage, &key, storage.claim(&key)?).ok();
    pod.claims().filter_map(rule).collect()
}

/// The pod's claims that one node alone can have.
pub(crate) fn one_node_claims(storage: &Storage, pod: &PodView) -> Vec<ObjectKey> {
    let alone = |key: &ObjectKey| {
        storage.claim(key).is_some_and(|claim| claim.permits_only("ReadWriteOnce"))
    };
    pod.claims().filter(alone).collect()
}

/// Whether the claims permit that the pod is on a node.
pub(crate) fn judge(rules: &[Rule], node: &NodeView, company: Company<'_>) -> Result<(), Obstacle> {
    let against = |claim: &ObjectKey, why| Err(Obstacle::Volume { claim: claim.clone(), why });
    for rule in rules {
        match rule {
            Rule::Bound { claim, volume } if !is_usable_on(volume, node) => {
                return against(claim, "has a volume that can't be used there");
            }
            Rule::Selected { claim, node: selected }
                if *selected != node.name() && !company.shares(claim, selected) =>
            {
                return against(claim, "gets a volume that is made for another node");
            }
            Rule::Provided { claim, class } if !class.provides_on(&node.metadata.labels) => {
                return against(claim, "can't get a volume there");
            }
            Rule::Held { claim, node: held_on, who } if *held_on != node.name() => {
                return Err(Obstacle::Held { claim: claim.clone(), who: who.clone() });
            }
            Rule::Bound { .. }
            | Rule::Selected { .. }
            | Rule::Provided { .. }
            | Rule::ByHand { .. }
            | Rule::Held { .. } => {}
        }
    }
    match hand_out(rules, node, &mut BTreeSet::new()) {
        Ok(_) => Ok(()),
        Err(claim) => against(&claim, "finds no volume there that fits"),
    }
}

/// A claim, and the volume that it gets.
pub(crate) type Given = (Arc<ClaimView>, Arc<VolumeView>);

/// A volume of the node for each claim that needs one of those that lie ready: the smallest that
/// fits, each once. Fails with the claim that goes without.
pub(crate) fn hand_out(
    rules: &[Rule],
    node: &NodeView,
    taken: &mut BTreeSet<String>,
) -> Result<Vec<Given>, ObjectKey> {
    let mut given = Vec::new();
    for rule in rules {
        let Rule::ByHand { claim, volumes } = rule else { continue };
        let free =
            |it: &&Arc<VolumeView>| is_usable_on(it, node) && !taken.contains(&it.metadata.name);
        let own = volumes.iter().find(|it| it.is_given_to(claim) && is_usable_on(it, node));
        let volume = own.or_else(|| volumes.iter().filter(free).min_by_key(|it| it.size()));
        let volume = volume.ok_or_else(|| claim.metadata.key())?;
        taken.insert(volume.metadata.name.clone());
        given.push((Arc::clone(claim), Arc::clone(volume)));
    }
    Ok(given)
}

/// Zones and regions, as volumes had them before they had an affinity.
const ZONES: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// Whether a volume can be used on a node.
fn is_usable_on(volume: &VolumeView, node: &NodeView) -> bool {
    let labels = &node.metadata.labels;
    let in_zone = |key: &str| match volume.metadata.labels.get(key) {
        None => true,
        Some(zones) => labels.get(key).is_none_or(|zone| zones.split("__").any(|it| it == zone)),
    };
    let affinity = volume.spec.node_affinity.required.as_ref();
    affinity.is_none_or(|required| selects(required, node)) && ZONES.iter().all(|key| in_zone(key))
}

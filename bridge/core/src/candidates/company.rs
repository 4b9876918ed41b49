//! Who counts when it is asked whether a pod can be on a node.

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::Quantity;

use crate::{
    names::{KubeNode, ObjectKey, Uid},
    tenants::{Tenant, Tenants},
    view::PodView,
};

/// When the question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// A job is to be written: what Slurm counts for itself is Slurm's business, since our pods
    /// will have gone by the time that it starts the job.
    Drafted,
    /// Slurm has chosen: the kubelet counts everybody who is there.
    Allocated,
}

/// A pod of the same workload, where it is to be.
#[derive(Clone, Debug)]
pub(crate) struct Mate {
    pub(crate) uid: Uid,
    pub(crate) node: KubeNode,
    pub(crate) tenant: Arc<Tenant>,
}

/// Everybody who counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Company<'a> {
    pub(crate) tenants: &'a Tenants,
    pub(crate) when: When,
    /// These don't: they are about to be placed themselves, or are as good as gone.
    pub(crate) without: &'a BTreeSet<Uid>,
    /// These are to be placed together with the pod, and it is known where.
    pub(crate) mates: &'a [Mate],
    /// Whether what the pod demands of them is looked at: Slurm wasn't told if nothing more than a
    /// warning came of it.
    pub(crate) minds_mates: bool,
    /// All that are placed together with it, wherever that is.
    pub(crate) crew: &'a [&'a PodView],
    /// Those who were told to go don't count.
    pub(crate) without_leaving: bool,
}

impl<'a> Company<'a> {
    fn counts(self, uid: &Uid, tenant: &Tenant) -> bool {
        let left = self.without_leaving && tenant.is_leaving;
        !left && !self.without.contains(uid)
    }

    /// Everybody on a node but the pod itself.
    pub(crate) fn on(
        self,
        node: &'a KubeNode,
        me: &'a Uid,
    ) -> impl Iterator<Item = &'a Arc<Tenant>> {
        let there = self.tenants.on(node).into_iter().flat_map(|lodging| lodging.iter());
        let there = there.filter(move |(uid, tenant)| self.counts(uid, tenant));
        let mates = self.mates.iter().filter(move |mate| mate.node == *node && mate.uid != *me);
        there.map(|(_, tenant)| tenant).chain(mates.map(|mate| &mate.tenant))
    }

    /// Everybody but the pod itself.
    pub(crate) fn everybody(
        self,
        me: &'a Uid,
    ) -> impl Iterator<Item = (&'a KubeNode, &'a Arc<Tenant>)> {
        Self { minds_mates: true, ..self }.neighbours(me)
    }

    /// Whether one of those that are placed together uses the claim on the node.
    pub(crate) fn shares(self, claim: &ObjectKey, node: &KubeNode) -> bool {
        self.mates.iter().any(|mate| mate.node == *node && mate.tenant.claims.contains(claim))
    }

    /// Everybody whom the pod may want near or far.
    pub(crate) fn neighbours(
        self,
        me: &'a Uid,
    ) -> impl Iterator<Item = (&'a KubeNode, &'a Arc<Tenant>)> {
        let placed = self.tenants.iter().filter(move |(_, uid, tenant)| self.counts(uid, tenant));
        placed.map(|(node, _, tenant)| (node, tenant)).chain(self.minded(me))
    }

    /// Those who may want the pod far.
    pub(crate) fn aloof(
        self,
        me: &'a Uid,
    ) -> impl Iterator<Item = (&'a KubeNode, &'a Arc<Tenant>)> {
        let placed = self.tenants.aloof().filter(move |(_, uid, tenant)| self.counts(uid, tenant));
        placed.map(|(node, _, tenant)| (node, tenant)).chain(self.minded(me))
    }

    fn minded(self, me: &'a Uid) -> impl Iterator<Item = (&'a KubeNode, &'a Arc<Tenant>)> {
        let mates = self.mates.iter().filter(move |mate| self.minds_mates && mate.uid != *me);
        mates.map(|mate| (&mate.node, &mate.tenant))
    }

    /// The pod, and those who will come with it.
    pub(crate) fn crew(self, me: &'a PodView) -> impl Iterator<Item = &'a PodView> {
        self.crew.iter().copied().chain([me])
    }

    /// How much of a resource they hold on a node.
    pub(crate) fn held(self, node: &'a KubeNode, me: &'a Uid, resource: &str) -> Quantity {
        if self.when == When::Allocated {
            return self.on(node, me).map(|tenant| tenant.load.get(resource)).sum();
        }
        // Nobody who is being drafted has a place.
        self.tenants.on(node).map_or(Quantity::ZERO, |lodging| lodging.held_beside_slurm(resource))
    }
}

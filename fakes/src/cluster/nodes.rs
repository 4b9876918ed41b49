//! What becomes of nodes: they register, fall silent, come back, get into trouble.

use drawbridge_sim::Time;

use super::{
    Cluster,
    health::{self, HEARTBEAT, Health},
    kubelet::{Kubelets, Trouble},
    node,
    object::Key,
    plan::Plan,
    work::Work,
};

const LEASES: &str = "leases.coordination.k8s.io";
const LEASE_NAMESPACE: &str = "kube-node-lease";

impl Cluster {
    /// Something happens to a node's machine or its kubelet, or it's well again. Says whether there
    /// is such a node.
    pub fn trouble(&mut self, now: Time, name: &str, trouble: Option<Trouble>) -> bool {
        self.now = now;
        self.notice(now);
        let Some(node) = self.index.node(name).cloned() else { return false };
        match &trouble {
            Some(Trouble::NoPower | Trouble::NoNetwork) => {
                let off = trouble == Some(Trouble::NoPower);
                for (key, when) in self.kubelets.cut_off(now, name, off) {
                    self.work.add(when, Work::Kubelet(key));
                }
                let noticed = self.health.falls_silent(now, &node.name);
                self.work.add(noticed, Work::Health(node.name.clone()));
            }
            Some(Trouble::NotReady(_) | Trouble::MemoryPressure) | None => {
                if self.kubelets.is_off(name) {
                    self.booted.insert(node.name.clone());
                }
                self.health.is_heard_of(now, &node.name);
                for key in self.kubelets.come_back(now, name) {
                    self.work.add(now, Work::Kubelet(key));
                }
                let pods: Vec<Key> = self.index.on_node(name).map(|pod| pod.key.clone()).collect();
                for key in pods {
                    self.work.add(now, Work::Kubelet(key));
                }
                self.kubelets.set_trouble(name, trouble);
                self.work.add(now, Work::Node(node.name.clone()));
            }
        }
        true
    }

    pub(super) fn look_at_node(&mut self, name: &str) -> Option<Plan> {
        let node = self.index.node(name)?;
        let mut plan = match self.kubelets.is_heard(name) {
            false => Plan::nothing(),
            true => {
                self.health.registers(self.now, &node.name);
                self.kubelets.post(self.moment(), node)
            }
        };
        if self.booted.remove(name) {
            plan.acts.extend(Kubelets::boot(node, self.now).acts);
        }
        if self.api.is_full() {
            plan.acts.extend(node::remember(node));
            if self.kubelets.is_heard(name) {
                let there = self.api.get(LEASES, LEASE_NAMESPACE, name).is_some();
                plan.send(node::beat(self.moment(), node, there));
                plan.wake_at(self.now + HEARTBEAT);
            }
        }
        if let Some((key, when)) = self.kubelets.evicts(self.now, node, &self.index) {
            plan.wake_at(when);
            if let Some(key) = key {
                self.work.add(self.now, Work::Kubelet(key));
            }
        }
        Some(plan)
    }

    pub(super) fn look_at_health(&mut self, name: &str) -> Option<Plan> {
        let node = self.index.node(name)?;
        let at = self.moment();
        let all = self.index.nodes().map(|(node, _)| node);
        let pods = self.index.on_node(name);
        Some(self.health.look(at, node, all, pods))
    }

    pub(super) fn look_at_conditions(&self, name: &str) -> Option<Plan> {
        health::mark(self.index.node(name)?)
    }

    /// A node's condition `Ready` is another: taints follow, and those of others may have to.
    pub(super) fn notice_readiness(&mut self, now: Time) {
        let next = Health::next_look(now);
        let nodes: Vec<_> = self
            .index
            .nodes()
            .filter(|(node, _)| !node.is_ready() || super::taint::evicts(node))
            .map(|(node, _)| node.name.clone())
            .collect();
        for name in nodes {
            self.work.add(next, Work::Health(name));
        }
    }
}

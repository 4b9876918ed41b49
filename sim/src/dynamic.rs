//! Nodes that come and go while the controller runs.
//!
//! ```text
//!   scontrol create nodename=… state=future|cloud ──▶ there, but its slurmd is not
//!                                    external     ──▶ idle, and there never is one (26.05)
//!   slurmd -Z --conf "…"                          ──▶ idle
//!   scontrol delete nodename=…                    ──▶ its place waits for the next one
//! ```

use std::sync::Arc;

use crate::{
    AdminError, Node, NodeFlags, Release, SlurmConfig, SlurmError, SlurmNode, Slurmctld, Time,
    UserName,
    conf::{InitialState, NodeSpec},
    node::Service,
};

impl Slurmctld {
    /// Makes nodes, as `scontrol create` does: `NodeName=d[1-2] CPUs=4 State=CLOUD Feature=x`.
    pub fn create_nodes(
        &mut self,
        now: Time,
        words: &str,
        by: &UserName,
    ) -> Result<(), AdminError> {
        if !Self::is_operator(by) {
            return Err(SlurmError::UserIdMissing.into());
        }
        let specs = SlurmConfig::read_nodes(words, self.config.release())?;
        let external = self.config.release() == Release::V26_05;
        for spec in &specs {
            let allowed = match spec.initial_state {
                InitialState::Future | InitialState::Cloud => true,
                InitialState::External => external,
                InitialState::Unknown
                | InitialState::Idle
                | InitialState::Down
                | InitialState::Drain
                | InitialState::Fail => false,
            };
            if !allowed {
                return Err(SlurmError::InvalidNodeState.into());
            }
        }
        for spec in specs {
            let cloud = spec.initial_state == InitialState::Cloud;
            self.add_node(spec, NodeFlags::NONE.set(NodeFlags::POWERED_DOWN, cloud))?;
        }
        self.resolve_partitions(now);
        Ok(())
    }

    /// A node's slurmd announces itself, as `slurmd -Z --conf` does.
    pub fn register_dynamic_node(&mut self, now: Time, words: &str) -> Result<(), AdminError> {
        for spec in SlurmConfig::read_nodes(words, self.config.release())? {
            self.add_node(spec, NodeFlags::NONE)?;
        }
        self.resolve_partitions(now);
        Ok(())
    }

    /// A node's slurmd registers: one that was FUTURE, powered down or silent is there now.
    pub fn register_node(&mut self, now: Time, node: &SlurmNode) -> Result<(), SlurmError> {
        let place = *self.node_places.get(node).ok_or(SlurmError::InvalidNodeName)?;
        self.with_node(place, |node| {
            node.flags = node.flags.without(NodeFlags::POWERED_DOWN);
            if node.service == Service::Future {
                node.service = Service::Up;
            }
        });
        self.node_registers(now, place);
        self.ask_for_cycle(now);
        Ok(())
    }

    /// Deletes a dynamic node that no job uses.
    pub fn delete_node(
        &mut self,
        now: Time,
        node: &SlurmNode,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        if !Self::is_operator(by) {
            return Err(SlurmError::UserIdMissing);
        }
        let place = *self.node_places.get(node).ok_or(SlurmError::InvalidNodeName)?;
        let record = &self.nodes[place];
        if !record.flags.has(NodeFlags::DYNAMIC_NORM) && !record.is_external() {
            return Err(SlurmError::InvalidNodeState);
        }
        if !record.jobs.is_empty() {
            return Err(SlurmError::NodesBusy);
        }
        Arc::make_mut(&mut self.node_places).remove(node);
        self.with_node(place, |node| node.service = Service::Deleted);
        self.resolve_partitions(now);
        Ok(())
    }

    fn add_node(&mut self, spec: NodeSpec, flags: NodeFlags) -> Result<(), SlurmError> {
        if self.node_places.contains_key(&spec.name) {
            return Err(SlurmError::NodeAlreadyExists);
        }
        let free = self.nodes.iter().position(Node::is_deleted);
        let place = free.unwrap_or(self.nodes.len());
        let room = self.params().max_node_count.unwrap_or(0) as usize;
        if free.is_none() && room.max(self.n_conf_nodes) <= self.nodes.len() {
            return Err(SlurmError::NodeTableFull);
        }
        let spec = Arc::new(spec);
        let mut node = Node::new(spec.clone(), [].into());
        node.flags = node.flags.with(flags).with(NodeFlags::DYNAMIC_NORM);
        if free.is_some() {
            self.nodes[place] = node;
        } else {
            self.nodes.push(node);
        }
        self.census.describe(place, &self.nodes[place]);
        self.config.set_node(place, spec.clone());
        Arc::make_mut(&mut self.node_places).insert(spec.name.clone(), place);
        self.with_node(place, |_| {});
        Ok(())
    }
}

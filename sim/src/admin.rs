//! What operators change: nodes that go out of and into service.

use crate::{
    JobId, NodeReason, NodeUpdate, SlurmError, SlurmNode, Slurmctld, Span, Time, UserName,
    slurmctld::Event,
};

/// From `state=down` until the node's slurmd registers again, where `ReturnToService=2`.
const REGISTERS_AFTER: Span = Span::secs(1);

impl Slurmctld {
    /// Changes a node, as `root` does with `scontrol update node`.
    pub fn update_node(
        &mut self,
        now: Time,
        node: &SlurmNode,
        update: NodeUpdate,
    ) -> Result<(), SlurmError> {
        self.update_node_by(now, node, update, &"root".into())
    }

    /// Changes a node. Only operators may.
    pub fn update_node_by(
        &mut self,
        now: Time,
        node: &SlurmNode,
        update: NodeUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let place = *self.node_places.get(node).ok_or(SlurmError::InvalidNodeName)?;
        if !Self::is_operator(by) {
            return Err(SlurmError::UserIdMissing);
        }
        let reason = |text| Some(NodeReason { text, by: by.to_string(), at: now });
        match update {
            NodeUpdate::Drain { reason: text } => self.with_node(place, |node| {
                (node.drain, node.reason) = (true, reason(text));
            }),
            NodeUpdate::Down { reason: text } => self.take_down(now, place, reason(text)),
            NodeUpdate::Resume => self.resume(place, true)?,
            NodeUpdate::Undrain => self.resume(place, false)?,
            NodeUpdate::Comment(text) => self.nodes[place].comment = text,
        }
        self.ask_for_cycle(now);
        Ok(())
    }

    fn resume(&mut self, place: usize, from_down: bool) -> Result<(), SlurmError> {
        let node = &self.nodes[place];
        let out_of_service = node.drain || (node.down && from_down);
        if !out_of_service {
            return Err(SlurmError::InvalidNodeState);
        }
        self.with_node(place, |node| {
            node.drain = false;
            node.down &= !from_down;
            if !node.down {
                node.reason = None;
            }
        });
        Ok(())
    }

    fn take_down(&mut self, now: Time, place: usize, reason: Option<NodeReason>) {
        self.with_node(place, |node| (node.down, node.reason) = (true, reason));
        let lost: Vec<JobId> = self.nodes[place].jobs.iter().copied().collect();
        for job in lost {
            self.lose_node(now, job, place);
        }
        if self.params().return_to_service == 2 {
            let node = place;
            self.events.push(now + REGISTERS_AFTER, Event::NodeRegisters { node });
        }
    }

    pub(crate) fn node_registers(&mut self, now: Time, place: usize) {
        // Its reason stays to be read, as Slurm leaves it.
        self.with_node(place, |node| node.down = false);
        self.ask_for_cycle(now);
    }
}

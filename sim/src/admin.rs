//! What operators change of nodes: into service, out of it, and what they are.
//!
//! ```text
//!   resume, undrain ──▶ idle* ──the next ping, within a second──▶ idle
//!   noresp          ──▶ idle* ──the next round of pings─────────▶ idle
//!   down            ──▶ down  ──a ping, if ReturnToService=2────▶ idle
//! ```

use std::sync::Arc;

use crate::{
    JobId, NodeFlags, NodeReason, NodeUpdate, SlurmError, SlurmNode, Slurmctld, Time, UserName,
    conf::{DeviceGroup, NodeSpec, comma_words},
    node::Service,
};

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
        if !Self::is_operator(by) {
            return Err(SlurmError::UserIdMissing);
        }
        // Slurm looks at the queue again whether or not it could do it.
        self.ask_for_cycle(now);
        let place = *self.node_places.get(node).ok_or(SlurmError::InvalidNodeName)?;
        let by = Operator { now, by };
        match update {
            NodeUpdate::Drain { reason } => self.drain(place, NodeFlags::DRAIN, &reason, &by),
            NodeUpdate::Fail { reason } => self.drain(place, NodeFlags::FAIL, &reason, &by),
            NodeUpdate::Down { reason } => self.down_by_hand(place, &reason, &by),
            NodeUpdate::Resume => return self.resume(now, place),
            NodeUpdate::Undrain => return self.undrain(now, place),
            NodeUpdate::Idle => return self.make_idle(place),
            NodeUpdate::Future => return self.make_future(now, place),
            NodeUpdate::NoResp => self.make_silent(now, place),
            NodeUpdate::Allocated => {
                let runs = self.nodes[place].has_running_jobs();
                return runs.then_some(()).ok_or(SlurmError::InvalidNodeState);
            }
            NodeUpdate::Power => return Err(SlurmError::InvalidNodeState),
            NodeUpdate::Reason(text) => self.with_node(place, |node| by.set_reason(node, &text)),
            NodeUpdate::Comment(text) => self.nodes[place].comment = text,
            NodeUpdate::Extra(text) => self.nodes[place].extra = text,
            NodeUpdate::Gres(text) => return self.update_gres(place, &text),
            NodeUpdate::Weight(weight) => self.with_spec(place, |spec| spec.weight = weight),
            NodeUpdate::Features { available, active } => {
                return self.update_features(place, available.as_deref(), active.as_deref());
            }
        }
        Ok(())
    }

    fn drain(&mut self, place: usize, flag: NodeFlags, reason: &str, by: &Operator<'_>) {
        const BOTH: NodeFlags = NodeFlags::DRAIN.with(NodeFlags::FAIL);
        self.with_node(place, |node| {
            by.set_reason(node, reason);
            node.flags = node.flags.without(BOTH).with(flag);
        });
    }

    fn down_by_hand(&mut self, place: usize, reason: &str, by: &Operator<'_>) {
        let same = self.nodes[place].reason.as_ref().is_some_and(|old| old.text == reason);
        if self.nodes[place].is_down() && same {
            return;
        }
        self.with_node(place, |node| {
            by.set_reason(node, reason);
            node.service = Service::Down;
        });
        self.take_down(by.now, place, Service::Down);
    }

    /// Out of service, and its jobs are lost.
    pub(crate) fn take_down(&mut self, now: Time, place: usize, service: Service) {
        self.with_node(place, |node| node.service = service);
        let lost: Vec<JobId> = self.nodes[place].jobs.iter().copied().collect();
        let told = self.nodes[place].has_running_jobs();
        for job in lost {
            self.lose_node(now, job, place);
        }
        if service == Service::Down && self.params().return_to_service == 2 {
            // Its answer to being told that a job is over is as good as one to a ping.
            let at = if told { now } else { self.next_ping_of(now, place) };
            self.ping(at, place);
        }
    }

    fn resume(&mut self, now: Time, place: usize) -> Result<(), SlurmError> {
        const CLEARED: NodeFlags = NodeFlags::DRAIN
            .with(NodeFlags::FAIL)
            .with(NodeFlags::REBOOT_REQUESTED)
            .with(NodeFlags::REBOOT_ISSUED);
        let node = &self.nodes[place];
        let away = matches!(node.service, Service::Down | Service::Future);
        let flagged = node
            .flags
            .has_any(NodeFlags::DRAIN.with(NodeFlags::FAIL).with(NodeFlags::REBOOT_REQUESTED));
        if node.flags.has(NodeFlags::INVALID_REG) || !(away || flagged) {
            return Err(SlurmError::InvalidNodeState);
        }
        let unheard = (away || node.is_drained()) && !node.is_external();
        self.with_node(place, |node| {
            node.flags = node.flags.without(CLEARED);
            if away {
                node.service = Service::Up;
            }
            if unheard {
                node.flags = node.flags.with(NodeFlags::NOT_RESPONDING);
            }
        });
        self.node_is_up(place);
        if unheard {
            self.must_register(now, place);
        }
        Ok(())
    }

    fn undrain(&mut self, now: Time, place: usize) -> Result<(), SlurmError> {
        if self.nodes[place].flags.has(NodeFlags::INVALID_REG) {
            return Err(SlurmError::InvalidNodeState);
        }
        self.with_node(place, |node| node.flags = node.flags.without(NodeFlags::DRAIN));
        self.node_is_up(place);
        if self.nodes[place].service != Service::Future {
            self.must_register(now, place);
        }
        Ok(())
    }

    fn make_idle(&mut self, place: usize) -> Result<(), SlurmError> {
        let node = &self.nodes[place];
        let there = match node.service {
            Service::Down => true,
            Service::Up => !node.has_running_jobs(),
            Service::Unknown | Service::Future | Service::Deleted => false,
        };
        if node.flags.has(NodeFlags::INVALID_REG) || !there {
            return Err(SlurmError::InvalidNodeState);
        }
        self.with_node(place, |node| {
            node.flags = node.flags.without(NodeFlags::DRAIN.with(NodeFlags::FAIL));
            node.service = Service::Up;
        });
        self.node_is_up(place);
        Ok(())
    }

    fn make_future(&mut self, now: Time, place: usize) -> Result<(), SlurmError> {
        let node = &self.nodes[place];
        if node.service != Service::Down && (node.service != Service::Up || node.has_running_jobs())
        {
            return Err(SlurmError::InvalidNodeState);
        }
        self.take_down(now, place, Service::Future);
        self.with_node(place, |node| {
            let dynamic = node.flags.has(NodeFlags::DYNAMIC_NORM);
            node.flags = NodeFlags::NONE.set(NodeFlags::DYNAMIC_NORM, dynamic);
        });
        Ok(())
    }

    fn make_silent(&mut self, now: Time, place: usize) {
        self.with_node(place, |node| node.flags = node.flags.with(NodeFlags::NOT_RESPONDING));
        let at = self.next_round(now);
        self.ping(at, place);
    }

    fn update_features(
        &mut self,
        place: usize,
        available: Option<&str>,
        active: Option<&str>,
    ) -> Result<(), SlurmError> {
        let spec = &self.nodes[place].spec;
        let all = available.map_or_else(|| spec.features.clone(), comma_words);
        let given = active.map(comma_words);
        let used = given.clone().unwrap_or_else(|| spec.active_features.clone());
        if !used.iter().all(|feature| all.contains(feature)) {
            return Err(SlurmError::ActiveFeatureNotSubset);
        }
        self.with_spec(place, |spec| {
            spec.active_features = given.unwrap_or_else(|| all.clone());
            spec.features = all;
        });
        Ok(())
    }

    /// Devices that are files stay as many as they are, or none of them is left.
    fn update_gres(&mut self, place: usize, text: &str) -> Result<(), SlurmError> {
        let wanted = |name: &str| -> usize {
            let words = text.split(',').map(|word| word.split(':').collect::<Vec<_>>());
            let mine = words.filter(|parts| parts.first() == Some(&name));
            mine.map(|parts| parts.last().and_then(|last| last.parse().ok()).unwrap_or(1)).sum()
        };
        let spec = self.nodes[place].spec.clone();
        let changed = |name: &str| wanted(name) != spec.gres_count(name, None);
        let is_refused =
            |group: &DeviceGroup| group.file && wanted(&group.name) != 0 && changed(&group.name);
        // Whether they are files is known of the name, not of the node.
        if self.nodes.iter().flat_map(|node| &node.spec.devices).any(is_refused) {
            return Err(SlurmError::InvalidGres);
        }
        self.with_spec(place, |spec| {
            for gres in spec.gres.iter_mut().filter(|gres| changed(&gres.name)) {
                gres.count = wanted(&gres.name);
            }
            for group in spec.devices.iter_mut().filter(|group| changed(&group.name)) {
                group.count = wanted(&group.name);
            }
            spec.gres.retain(|gres| gres.count != 0);
        });
        Ok(())
    }

    /// With accounting, whoever is in service again has no reason any more; without it the reason
    /// stays to be read until a job starts there.
    pub(crate) fn node_is_up(&mut self, place: usize) {
        let out = NodeFlags::DRAIN.with(NodeFlags::FAIL);
        let node = &self.nodes[place];
        if self.params().priority.slurmdbd && !node.is_down() && !node.flags.has_any(out) {
            self.with_node(place, |node| node.reason = None);
        }
    }

    /// Takes no jobs before its slurmd answered a ping that goes out at once.
    fn must_register(&mut self, now: Time, place: usize) {
        if self.nodes[place].is_external() {
            return;
        }
        self.with_node(place, |node| node.flags = node.flags.with(NodeFlags::NOT_RESPONDING));
        let at = self.ping_at_once(now);
        self.ping(at, place);
    }

    /// Changes what is known of a node's make, here and in the configuration.
    pub(crate) fn with_spec(&mut self, place: usize, change: impl FnOnce(&mut NodeSpec)) {
        let node = &mut self.nodes[place];
        change(Arc::make_mut(&mut node.spec));
        let spec = node.spec.clone();
        self.census.describe(place, node);
        self.census.count(place, node);
        self.config.set_node(place, spec);
    }
}

/// Who changes something, and when.
struct Operator<'a> {
    now: Time,
    by: &'a UserName,
}

impl Operator<'_> {
    /// An empty reason leaves the old one.
    fn set_reason(&self, node: &mut crate::Node, text: &str) {
        if !text.is_empty() {
            let (text, by) = (text.into(), self.by.to_string());
            node.reason = Some(NodeReason { text, by, at: self.now });
        }
    }
}

//! One node: what it has, what is held of it, and whether it takes jobs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{IndexSet, JobId, NodeShare, PartitionName, SlurmNode, Time, conf::NodeSpec};

/// A node as slurmctld knows it.
#[derive(Clone, Debug)]
pub struct Node {
    /// What slurm.conf says of it.
    pub spec: Arc<NodeSpec>,
    /// Partitions that it belongs to.
    pub partitions: Arc<[PartitionName]>,
    /// What is held of it.
    pub usage: Usage,
    /// Jobs that hold something of it.
    pub jobs: BTreeSet<JobId>,
    /// Taken out of service.
    pub down: bool,
    /// Takes no new jobs.
    pub drain: bool,
    /// Why it is drained or down.
    pub reason: Option<NodeReason>,
    /// Free text.
    pub comment: String,
    /// How many of its jobs are completing.
    pub(crate) completing: usize,
}

/// Why a node is drained or down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReason {
    /// What was given.
    pub text: String,
    /// Who gave it.
    pub by: String,
    /// When.
    pub at: Time,
}

/// What is held of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Cores, by index.
    pub cores: IndexSet,
    /// CPUs of these cores: a node counts a core as a whole, also where jobs count single CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Devices by resource name.
    pub gres: BTreeMap<String, IndexSet>,
}

/// A change that an operator makes to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeUpdate {
    /// `state=drain`: no new jobs.
    Drain {
        /// Why.
        reason: String,
    },
    /// `state=resume`: takes jobs again, whether it was drained or down.
    Resume,
    /// `state=undrain`: takes jobs again.
    Undrain,
    /// `state=down`: its jobs are lost.
    Down {
        /// Why.
        reason: String,
    },
    /// Another comment.
    Comment(String),
}

impl Node {
    pub(crate) fn new(spec: Arc<NodeSpec>, partitions: Arc<[PartitionName]>) -> Self {
        let (down, drain) = (spec.starts_down, spec.starts_drained);
        Self {
            spec,
            partitions,
            usage: Usage::default(),
            jobs: BTreeSet::new(),
            down,
            drain,
            reason: None,
            comment: String::new(),
            completing: 0,
        }
    }

    /// Its name.
    pub fn name(&self) -> &SlurmNode {
        &self.spec.name
    }

    /// Whether new jobs may start on it.
    pub const fn takes_jobs(&self) -> bool {
        !self.down && !self.drain
    }

    /// The state as the REST API lists it: base state, then flags.
    pub fn state_flags(&self) -> Vec<&'static str> {
        let mut flags = vec![self.base_state()];
        if self.drain {
            flags.push("DRAIN");
        }
        if 0 < self.completing {
            flags.push("COMPLETING");
        }
        flags
    }

    /// The state as `sinfo -o %t` prints it.
    pub fn sinfo_state(&self) -> &'static str {
        let busy = !self.jobs.is_empty();
        match (self.down, self.drain) {
            (true, true) => "drain",
            (true, false) => "down",
            (false, true) if busy => "drng",
            (false, true) => "drain",
            (false, false) if 0 < self.completing && self.completing == self.jobs.len() => "comp",
            (false, false) => match self.base_state() {
                "ALLOCATED" => "alloc",
                "MIXED" => "mix",
                _ => "idle",
            },
        }
    }

    fn base_state(&self) -> &'static str {
        if self.down {
            "DOWN"
        } else if self.jobs.len() == self.completing {
            // Slurm counts a completing job's CPUs as free, though nobody gets them yet.
            "IDLE"
        } else if self.spec.cpus <= self.usage.cpus {
            "ALLOCATED"
        } else {
            "MIXED"
        }
    }

    /// Configured resources as Slurm prints them: `gpu:a100:4`; empty if there are none.
    pub fn gres(&self) -> String {
        let words: Vec<_> = self.spec.gres.iter().map(ToString::to_string).collect();
        words.join(",")
    }

    /// Held resources in the same form: `gpu:a100:1`.
    pub fn gres_used(&self) -> String {
        let words: Vec<_> = self
            .spec
            .gres
            .iter()
            .map(|gres| {
                let used = self.usage.gres.get(&gres.name);
                let count = used.map_or(0, |set| set.count_in(gres.first, gres.first + gres.count));
                gres.with_count(count)
            })
            .collect();
        words.join(",")
    }
}

impl Usage {
    /// Takes what a job got.
    pub(crate) fn take(&mut self, share: &NodeShare) {
        self.cores.add(&share.cores);
        self.cpus += threads(share);
        self.memory_mib += share.memory_mib;
        for (name, devices) in &share.gres {
            self.gres.entry(name.clone()).or_default().add(devices);
        }
    }

    /// Gives back what a job had.
    pub(crate) fn give_back(&mut self, share: &NodeShare) {
        self.cores.subtract(&share.cores);
        self.cpus = self.cpus.saturating_sub(threads(share));
        self.memory_mib = self.memory_mib.saturating_sub(share.memory_mib);
        for (name, devices) in &share.gres {
            if let Some(used) = self.gres.get_mut(name) {
                used.subtract(devices);
            }
        }
        self.gres.retain(|_, used| !used.is_empty());
    }
}

fn threads(share: &NodeShare) -> u32 {
    u32::try_from(share.cpu_ids.len()).unwrap_or(u32::MAX)
}

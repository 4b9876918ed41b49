//! One node: what it has, what is held of it, and whether it takes jobs.

mod usage;

use std::{collections::BTreeSet, sync::Arc};

pub use usage::Usage;

use crate::{IndexSet, JobId, PartitionName, SlurmNode, Time, conf::NodeSpec};

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

    /// Held resources in the same form: `gpu:1`. Where devices are told apart, with their type and
    /// which they are: `gpu:a100:1(IDX:0)`, `gpu:(null):2(IDX:0-1)`.
    pub fn gres_used(&self) -> String {
        let mut words: Vec<String> = vec![];
        for gres in &self.spec.gres {
            let groups = self.spec.devices.iter().filter(|group| group.name == gres.name);
            let told_apart = groups.clone().any(|group| group.told_apart);
            let mut held = self.usage.gres.get(&gres.name).cloned().unwrap_or_default();
            let kind = groups.clone().find(|group| group.kind == gres.kind || !told_apart);
            let kind = kind.or(groups.clone().next()).and_then(|group| group.kind.clone());
            let mine: IndexSet = groups
                .filter(|group| group.kind == kind)
                .flat_map(|group| group.first..group.first + group.count)
                .collect();
            held.keep(&mine);
            words.push(match (told_apart, held.len()) {
                (false, count) => gres.with_count(count),
                (true, count) => {
                    let which = if count == 0 { "N/A".into() } else { held.to_string() };
                    let kind = kind.as_deref().unwrap_or("(null)");
                    format!("{}:{kind}:{count}(IDX:{which})", gres.name)
                }
            });
        }
        words.join(",")
    }
}

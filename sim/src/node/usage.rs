//! What is held of a node.

use std::collections::BTreeMap;

use crate::{IndexSet, NodeShare};

/// What is held of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Cores, by index.
    pub cores: IndexSet,
    /// Cores that more than one job holds, more than two, and so on: where jobs share cores.
    pub shared: Vec<IndexSet>,
    /// CPUs of these cores: a node counts a core as a whole, also where jobs count single CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Devices by resource name.
    pub gres: BTreeMap<String, IndexSet>,
    /// Jobs that share their cores.
    pub n_sharing: u32,
    /// Jobs that don't.
    pub n_alone: u32,
}

impl Usage {
    /// Nothing is held.
    pub(crate) const fn nothing() -> Self {
        Self {
            cores: IndexSet::new(),
            shared: vec![],
            cpus: 0,
            memory_mib: 0,
            gres: BTreeMap::new(),
            n_sharing: 0,
            n_alone: 0,
        }
    }

    /// Takes what a job got.
    pub(crate) fn take(&mut self, share: &NodeShare) {
        if share.shared {
            self.n_sharing += 1;
            self.stack(&share.cores);
        } else {
            self.n_alone += 1;
            self.cores.add(&share.cores);
        }
        self.count_cpus(share);
        self.memory_mib += share.memory_mib;
        for (name, devices) in &share.gres {
            self.gres.entry(name.clone()).or_default().add(devices);
        }
    }

    /// Gives back what a job had.
    pub(crate) fn give_back(&mut self, share: &NodeShare) {
        if share.shared {
            self.n_sharing = self.n_sharing.saturating_sub(1);
            self.unstack(&share.cores);
        } else {
            self.n_alone = self.n_alone.saturating_sub(1);
            self.cores.subtract(&share.cores);
        }
        self.count_cpus(share);
        self.memory_mib = self.memory_mib.saturating_sub(share.memory_mib);
        for (name, devices) in &share.gres {
            if let Some(used) = self.gres.get_mut(name) {
                used.subtract(devices);
            }
        }
        self.gres.retain(|_, used| !used.is_empty());
    }

    fn count_cpus(&mut self, share: &NodeShare) {
        if share.cores.is_empty() {
            return;
        }
        let threads = share.cpu_ids.len() / share.cores.len().max(1);
        self.cpus = u32::try_from(self.cores.len() * threads).unwrap_or(u32::MAX);
    }

    fn stack(&mut self, cores: &IndexSet) {
        let mut rest = cores.clone();
        for row in std::iter::once(&mut self.cores).chain(&mut self.shared) {
            let mut both = rest.clone();
            both.keep(row);
            row.add(&rest);
            rest = both;
        }
        if !rest.is_empty() {
            self.shared.push(rest);
        }
    }

    fn unstack(&mut self, cores: &IndexSet) {
        let mut rest = cores.clone();
        for row in self.shared.iter_mut().rev() {
            let mut both = rest.clone();
            both.keep(row);
            row.subtract(&both);
            rest.subtract(&both);
        }
        self.cores.subtract(&rest);
        while self.shared.last().is_some_and(IndexSet::is_empty) {
            self.shared.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(cores: &[usize]) -> NodeShare {
        let cores: IndexSet = cores.iter().copied().collect();
        NodeShare {
            node: "n1".into(),
            index: 0,
            tasks: 1,
            cpus: 1,
            counted_cpus: 1,
            cpu_ids: cores.clone(),
            cores,
            memory_mib: 0,
            gres: BTreeMap::new(),
            shared: true,
            sharing: true,
        }
    }

    #[test]
    fn shared_cores_are_free_when_their_last_job_ends_in_whatever_order() {
        let (a, b, c) = (share(&[0, 1]), share(&[1, 2]), share(&[1]));
        let mut usage = Usage::default();
        for one in [&a, &b, &c] {
            usage.take(one);
        }
        let rows = |usage: &Usage| {
            let rows = std::iter::once(&usage.cores).chain(&usage.shared);
            rows.map(ToString::to_string).collect::<Vec<_>>().join(" | ")
        };
        assert_eq!((rows(&usage).as_str(), usage.cpus), ("0-2 | 1 | 1", 3));
        usage.give_back(&a);
        assert_eq!((rows(&usage).as_str(), usage.cpus), ("1-2 | 1", 2));
        usage.give_back(&c);
        usage.give_back(&b);
        assert_eq!(usage, Usage::default());
    }
}

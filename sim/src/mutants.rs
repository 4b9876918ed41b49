//! Faults that the oracle puts into the model, to see whether it notices.
//!
//! Without the feature `mutants` no configuration has one, and the questions cost nothing.

use crate::{SlurmConfig, Slurmctld};

/// A fault in the model's decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Where one node is enough, one that fits exactly is passed over.
    BestFitOffByOne,
    /// Where one node is enough, the first that fits is taken.
    FirstFits,
    /// Neighbouring nodes are no better than scattered ones.
    RunsIgnored,
    /// Heavy nodes come before light ones.
    HeavyFirst,
    /// A blocked job leaves its nodes to those behind it in other partitions.
    NothingWithdrawn,
    /// Jobs behind a blocked one are tried all the same.
    NobodyBlocked,
    /// Of equal jobs the last one submitted comes first.
    YoungestFirst,
    /// Cores are given out from as few sockets as possible, always.
    NeverCyclic,
}

impl SlurmConfig {
    /// The same cluster, decided about with a fault.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with_mutant(mut self, mutant: Mutant) -> Self {
        self.mutant = Some(mutant);
        self
    }

    /// The fault with which this cluster is decided about, if any.
    pub(crate) const fn mutant(&self) -> Option<Mutant> {
        if cfg!(feature = "mutants") { self.mutant } else { None }
    }
}

impl Slurmctld {
    /// Whether the oracle put this fault in.
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.config.mutant() == Some(mutant)
    }
}

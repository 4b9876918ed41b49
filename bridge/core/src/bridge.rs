//! The bridge as one state machine.

use std::collections::BTreeMap;

use drawbridge_sim::{Epoch, Time};

use crate::{config::Config, effect::Effect, facts::BridgeFact, input::Input};

/// The whole bridge. A value: cloned, compared and thrown away like any other.
#[derive(Clone, Debug)]
pub struct Bridge {
    config: Config,
    #[expect(dead_code, reason = "the state machines that write times come next")]
    epoch: Epoch,
    facts: Vec<BridgeFact>,
    metrics: BTreeMap<&'static str, u64>,
}

impl Bridge {
    /// A bridge that has just been started and knows nothing.
    pub fn new(config: Config, epoch: Epoch) -> Self {
        Self {
            config,
            epoch,
            facts: Vec::new(),
            metrics: BTreeMap::new(),
        }
    }

    /// Takes one piece of news and says what is to be done about it.
    #[must_use]
    pub fn step(&mut self, _now: Time, _input: Input) -> Vec<Effect> {
        Vec::new()
    }

    /// What was done since the last call, in order.
    pub fn take_facts(&mut self) -> Vec<BridgeFact> {
        std::mem::take(&mut self.facts)
    }

    /// Counters by name: `slurm.submit`, `kube.patch`.
    pub fn metrics(&self) -> &BTreeMap<&'static str, u64> {
        &self.metrics
    }

    /// The configuration that it runs with.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

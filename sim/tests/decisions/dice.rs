//! Choices, drawn from one stream of a seed.

use drawbridge_sim::Seed;
use rand_chacha::{ChaCha8Rng, rand_core::Rng as _};

/// Where choices come from.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: Seed, purpose: &str) -> Self {
        Self(seed.stream(purpose))
    }

    /// A number from `first` to `last`.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.0.next_u64() % (last - first + 1)
    }

    /// True so many times in a hundred.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.between(1, 100) <= chance
    }

    /// One of these.
    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.between(1, from.len() as u64) as usize - 1]
    }
}

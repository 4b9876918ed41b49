//! One seed, one stream of random numbers per purpose.
//!
//! Drawing once more for `"arrivals"` doesn't move `"runtimes"`, so a change in one model doesn't
//! rewrite every outcome.

use std::fmt;

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde::{Deserialize, Serialize};

/// The one number that a run's randomness comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator reserved for `purpose`.
    pub fn stream(self, purpose: &str) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.0);
        rng.set_stream(fnv1a(purpose.as_bytes()));
        rng
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// FNV-1a, 64 bits: fixed by definition, where the standard library's hashers may change.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::Rng;

    use super::*;

    #[test]
    fn streams_of_one_seed_do_not_touch_each_other() {
        let mut alone = Seed(7).stream("runtimes");
        let expected = alone.next_u64();
        let mut other = Seed(7).stream("arrivals");
        other.next_u64();
        assert_eq!(Seed(7).stream("runtimes").next_u64(), expected);
        assert_ne!(other.next_u64(), expected);
    }

    #[test]
    fn the_hash_agrees_with_its_published_vectors() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}

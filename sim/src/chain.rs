//! The hash chain over everything that happened.
//!
//! ```text
//!   h0 = 0      h(n+1) = SHA-256(h(n) ‖ record(n))
//! ```
//!
//! Two runs with the same last hash did the same things in the same order.

use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A running hash. `Display` prints its first 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashChain([u8; 32]);

impl HashChain {
    /// Adds one record.
    pub fn add(&mut self, record: &[u8]) {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(record);
        self.0 = hasher.finalize().into();
    }
}

impl fmt::Display for HashChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for HashChain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_knows_the_order() {
        let of = |records: &[&[u8]]| {
            let mut chain = HashChain::default();
            records.iter().for_each(|record| chain.add(record));
            chain
        };
        assert_eq!(of(&[b"a", b"b"]), of(&[b"a", b"b"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        assert_ne!(of(&[b"ab"]), of(&[b"a", b"b"]));
    }
}

//! Uids and name suffixes: random to look at, the same in every run of one seed.

use drawbridge_sim::Seed;
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

/// The letters of generated names: no vowels, so no words; no 0, 1 and 3, which look like letters.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// What a generated name may be long, without its suffix.
const LONGEST_BASE: usize = 58;

/// The streams that identities are drawn from.
#[derive(Clone)]
pub(crate) struct Identities {
    names: ChaCha8Rng,
    uids: ChaCha8Rng,
    reviews: ChaCha8Rng,
}

impl Identities {
    /// The streams of a seed.
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            names: seed.stream("names"),
            uids: seed.stream("uids"),
            reviews: seed.stream("reviews"),
        }
    }

    /// A new object's uid.
    pub(crate) fn uid(&mut self) -> String {
        uuid(&mut self.uids)
    }

    /// A uid for an admission review.
    pub(crate) fn review(&mut self) -> String {
        uuid(&mut self.reviews)
    }

    /// `base` with five letters behind it.
    pub(crate) fn name(&mut self, base: &str) -> String {
        let cut = (0..=LONGEST_BASE.min(base.len())).rev();
        let end = cut.into_iter().find(|at| base.is_char_boundary(*at));
        let mut name = base[..end.unwrap_or(0)].to_owned();
        for _ in 0..5 {
            let draw = self.names.next_u32() as usize % LETTERS.len();
            name.push(char::from(LETTERS[draw]));
        }
        name
    }
}

/// A version 4 uuid.
fn uuid(rng: &mut ChaCha8Rng) -> String {
    let (high, low) = (rng.next_u64(), rng.next_u64());
    let version = (high & 0x0fff) | 0x4000;
    let variant = (low >> 48 & 0x3fff) | 0x8000;
    format!(
        "{:08x}-{:04x}-{version:04x}-{variant:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_shaped_like_version_4() {
        let uid = Identities::new(Seed(1)).uid();
        let lengths: Vec<usize> = uid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&uid[14..15], "4");
        assert!("89ab".contains(&uid[19..20]));
    }

    #[test]
    fn generated_names_fit_into_a_label() {
        let mut identities = Identities::new(Seed(1));
        let name = identities.name(&"x".repeat(80));
        assert_eq!(name.len(), 63);
        assert_ne!(identities.name("a-"), identities.name("a-"));
    }
}

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
    drawn: Draws,
}

/// What one request drew, so that it draws the same if it is tried again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draws {
    names: Drawn,
    uids: Drawn,
    reviews: Drawn,
}

#[derive(Clone, Debug, Default)]
struct Drawn {
    all: Vec<String>,
    next: usize,
}

impl Drawn {
    /// What was drawn at this place before, or something new.
    fn or(&mut self, new: impl FnOnce() -> String) -> String {
        if self.next == self.all.len() {
            self.all.push(new());
        }
        self.next += 1;
        self.all[self.next - 1].clone()
    }
}

impl Identities {
    /// The streams of a seed.
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            names: seed.stream("names"),
            uids: seed.stream("uids"),
            reviews: seed.stream("reviews"),
            drawn: Draws::default(),
        }
    }

    /// Begins a request that may have drawn before.
    pub(crate) fn begin(&mut self, mut drawn: Draws) {
        for stream in [&mut drawn.names, &mut drawn.uids, &mut drawn.reviews] {
            stream.next = 0;
        }
        self.drawn = drawn;
    }

    /// What the request that ends here has drawn.
    pub(crate) fn end(&mut self) -> Draws {
        std::mem::take(&mut self.drawn)
    }

    /// Takes back what was drawn since: whoever draws next gets it. The request itself keeps it.
    pub(crate) fn rewind(&mut self, before: Self) {
        *self = Self { drawn: std::mem::take(&mut self.drawn), ..before };
    }

    /// A new object's uid.
    pub(crate) fn uid(&mut self) -> String {
        self.drawn.uids.or(|| uuid(&mut self.uids))
    }

    /// A uid for an admission review.
    pub(crate) fn review(&mut self) -> String {
        self.drawn.reviews.or(|| uuid(&mut self.reviews))
    }

    /// `base` with five letters behind it.
    pub(crate) fn name(&mut self, base: &str) -> String {
        let cut = (0..=LONGEST_BASE.min(base.len())).rev();
        let end = cut.into_iter().find(|at| base.is_char_boundary(*at));
        let suffix = self.drawn.names.or(|| {
            let mut letter = || LETTERS[self.names.next_u32() as usize % LETTERS.len()];
            (0..5).map(|_| char::from(letter())).collect()
        });
        base[..end.unwrap_or(0)].to_owned() + &suffix
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

//! States of jobs.

/// A job's state: its base in the low byte, a bit for each flag above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobState(u32);

/// Base states by number: the word, and its short form.
const BASES: [(&str, &str); 12] = [
    ("PENDING", "PD"),
    ("RUNNING", "R"),
    ("SUSPENDED", "S"),
    ("COMPLETED", "CD"),
    ("CANCELLED", "CA"),
    ("FAILED", "F"),
    ("TIMEOUT", "TO"),
    ("NODE_FAIL", "NF"),
    ("PREEMPTED", "PR"),
    ("BOOT_FAIL", "BF"),
    ("DEADLINE", "DL"),
    ("OUT_OF_MEMORY", "OOM"),
];

/// Flags by bit; the first that is set is what is printed. Without a short form the base's is used;
/// without either it is never printed.
const FLAGS: [(&str, Option<&str>); 16] = [
    ("COMPLETING", Some("CG")),
    ("STAGE_OUT", Some("SO")),
    ("CONFIGURING", Some("CF")),
    ("EXPEDITING", None),
    ("RESIZING", Some("RS")),
    ("REQUEUED", Some("RQ")),
    ("REQUEUE_FED", Some("RF")),
    ("REQUEUE_HOLD", Some("RH")),
    ("SPECIAL_EXIT", Some("SE")),
    ("STOPPED", Some("ST")),
    ("REVOKED", Some("RV")),
    ("RESV_DEL_HOLD", Some("RD")),
    ("SIGNALING", Some("SI")),
    ("LAUNCH_FAILED", None),
    ("POWER_UP_NODE", None),
    ("RECONFIG_FAIL", None),
];

/// From here on flags have no word of their own in print.
const PRINTED: usize = 13;
const BASE: u32 = 0xff;
const UNKNOWN: u32 = BASE;

macro_rules! bases {
    ($($name:ident $number:literal),*) => {$(
        #[allow(missing_docs, reason = "a base state")]
        pub const $name: Self = Self($number);
    )*};
}

impl JobState {
    bases! {
        PENDING 0, RUNNING 1, SUSPENDED 2, COMPLETED 3, CANCELLED 4, FAILED 5, TIMEOUT 6, NODE_FAIL 7,
        PREEMPTED 8, BOOT_FAIL 9, DEADLINE 10, OUT_OF_MEMORY 11
    }
    #[allow(missing_docs, reason = "a flag")]
    pub const COMPLETING: Self = Self(1 << 8);
    #[allow(missing_docs, reason = "a flag")]
    pub const STAGE_OUT: Self = Self(1 << 9);
    #[allow(missing_docs, reason = "a flag")]
    pub const CONFIGURING: Self = Self(1 << 10);
    #[allow(missing_docs, reason = "a flag")]
    pub const RESIZING: Self = Self(1 << 12);

    /// The state that a list of words means.
    pub fn of(words: &[String]) -> Self {
        let mut state = Self(0);
        let mut base = None;
        for word in words {
            let word = word.as_str();
            if let Some(number) = BASES.iter().position(|(name, _)| *name == word) {
                base = u32::try_from(number).ok();
            } else if let Some(bit) = FLAGS.iter().position(|(name, _)| *name == word) {
                state.0 |= 1 << (8 + bit);
            }
        }
        state.0 |= base.unwrap_or(UNKNOWN);
        state
    }

    /// The state that a user means: a word or its short form, in any case.
    pub fn named(word: &str) -> Option<Self> {
        let is = |name: &str| name.eq_ignore_ascii_case(word);
        let number = |at: usize| u32::try_from(at).ok();
        if let Some(at) = BASES.iter().position(|(long, short)| is(long) || is(short)) {
            return number(at).map(Self);
        }
        let flag = |(long, short): &(&str, Option<&str>)| is(long) || short.is_some_and(is);
        let bit = FLAGS[..PRINTED].iter().position(flag)?;
        number(bit).map(|bit| Self(1 << (8 + bit)))
    }

    /// Every word that [`named`](Self::named) takes, as Slurm lists them.
    pub fn names() -> Vec<String> {
        const LISTED: [&str; 13] = [
            "COMPLETING",
            "CONFIGURING",
            "EXPEDITING",
            "RESIZING",
            "RESV_DEL_HOLD",
            "REQUEUED",
            "REQUEUE_FED",
            "REQUEUE_HOLD",
            "REVOKED",
            "SIGNALING",
            "SPECIAL_EXIT",
            "STAGE_OUT",
            "STOPPED",
        ];
        let bases = BASES.iter().map(|(name, _)| *name);
        bases.chain(LISTED).map(str::to_ascii_lowercase).collect()
    }

    /// The base state alone.
    pub fn base(self) -> Self {
        Self(self.0 & BASE)
    }

    /// Whether it has one of these flags, or is exactly this base state without any.
    pub fn fits(self, wanted: Self) -> bool {
        if wanted.0 & !BASE != 0 { self.0 & wanted.0 & !BASE != 0 } else { self == wanted }
    }

    /// Whether this is its base state, or one of its flags.
    pub fn is(self, what: Self) -> bool {
        if what.0 & !BASE != 0 { self.0 & what.0 & !BASE != 0 } else { self.base() == what }
    }

    /// The word that is printed.
    pub fn long(self) -> &'static str {
        let flag = (0..PRINTED).find(|bit| self.has(*bit)).map(|bit| FLAGS[bit].0);
        flag.unwrap_or_else(|| self.named_base().0)
    }

    /// The short form that is printed.
    pub fn short(self) -> &'static str {
        let flag = (0..PRINTED).filter(|bit| self.has(*bit)).find_map(|bit| FLAGS[bit].1);
        flag.unwrap_or_else(|| self.named_base().1)
    }

    fn has(self, bit: usize) -> bool {
        self.0 & (1 << (8 + bit)) != 0
    }

    fn named_base(self) -> (&'static str, &'static str) {
        let at = usize::try_from(self.0 & BASE).ok();
        at.and_then(|at| BASES.get(at)).copied().unwrap_or(("?", "?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(words: &str) -> JobState {
        JobState::of(&words.split('+').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_word_in_print_goes_by_rank() {
        let rows = [
            ("RUNNING", "RUNNING", "R"),
            ("OUT_OF_MEMORY", "OUT_OF_MEMORY", "OOM"),
            ("FAILED+COMPLETING", "COMPLETING", "CG"),
            ("RUNNING+CONFIGURING+POWER_UP_NODE", "CONFIGURING", "CF"),
            ("PENDING+REQUEUE_HOLD", "REQUEUE_HOLD", "RH"),
            ("PENDING+LAUNCH_FAILED", "PENDING", "PD"),
            ("CONJURED", "?", "?"),
        ];
        for (words, long, short) in rows {
            assert_eq!((state(words).long(), state(words).short()), (long, short), "{words}");
        }
    }

    #[test]
    fn a_filter_means_a_flag_or_exactly_a_base_state() {
        let fits = |words: &str, wanted: &str| state(words).fits(JobState::named(wanted).unwrap());
        assert!(fits("RUNNING", "r"));
        assert!(!fits("RUNNING+COMPLETING", "RUNNING"));
        assert!(fits("CANCELLED+COMPLETING", "cg"));
        assert_eq!(JobState::named("nope"), None);
    }
}

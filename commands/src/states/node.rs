//! States of nodes. The numbers are Slurm's: `sinfo` sorts by them.

use drawbridge_bridge::slurm::types::Node;
use drawbridge_sim::Release;

/// A node's state: its base in the low four bits, a bit for each flag above them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeState(pub u32);

const BASE: u32 = 0xf;
const BASES: [&str; 7] = ["UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"];

macro_rules! flags {
    ($($name:ident $bit:literal $word:literal),* $(,)?) => {
        $(#[allow(missing_docs, reason = "a flag")]
        pub const $name: NodeState = NodeState(1 << $bit);)*
        const FLAGS: &[(NodeState, &str)] = &[$(($name, $word)),*];
    };
}

flags! {
    BLOCKED 27 "BLOCKED", CLOUD 7 "CLOUD", COMPLETING 10 "COMPLETING", DRAIN 9 "DRAIN",
    DYNAMIC_FUTURE 19 "DYNAMIC_FUTURE", DYNAMIC_NORM 26 "DYNAMIC_NORM", EXTERNAL 4 "EXTERNAL",
    INVALID_REG 22 "INVALID_REG", FAIL 13 "FAIL", MAINTENANCE 15 "MAINTENANCE",
    POWER_DOWN 23 "POWER_DOWN", POWER_UP 24 "POWER_UP", POWERED_DOWN 12 "POWERED_DOWN",
    REBOOT_REQUESTED 16 "REBOOT_REQUESTED", REBOOT_ISSUED 20 "REBOOT_ISSUED", RESERVED 5 "RESERVED",
    RESUME 8 "RESUME", NOT_RESPONDING 11 "NOT_RESPONDING", PLANNED 21 "PLANNED",
    POWERING_UP 14 "POWERING_UP", POWERING_DOWN 18 "POWERING_DOWN",
    // On the wire alone: what is printed doesn't name them.
    UNDRAIN 6 "UNDRAIN", REBOOT_CANCELED 17 "REBOOT_CANCELED", POWER_DRAIN 25 "POWER_DRAIN",
}

/// How many of the flags are printed after a `+`.
const PRINTED: usize = 21;

#[allow(missing_docs, reason = "base states")]
impl NodeState {
    pub const UNKNOWN: Self = Self(0);
    pub const DOWN: Self = Self(1);
    pub const IDLE: Self = Self(2);
    pub const ALLOCATED: Self = Self(3);
    pub const ERROR: Self = Self(4);
    pub const MIXED: Self = Self(5);
    pub const FUTURE: Self = Self(6);
    /// How many base states there are.
    pub const BASES: u32 = 7;
}

/// The words that `sinfo -t` takes, as it lists them.
pub const ALL_WORDS: &[&str] = &[
    "unknown",
    "down",
    "idle",
    "allocated",
    "mixed",
    "future",
    "drain",
    "drained",
    "draining",
    "no_respond",
    "reserved",
    "planned",
    "blocked",
    "cloud",
    "completing",
    "powering_down",
    "powered_down",
    "power_down",
    "powering_up",
    "power_up",
    "inval",
    "fail",
    "maint",
    "reboot",
    "reboot^",
    "external",
    "dynamic_future",
    "dynamic_norm",
];

/// What users call states, in the order in which Slurm looks: the beginning of a word is enough, and
/// the first that begins so is meant.
const NAMED: &[(&[&str], NodeState)] = &[
    (&["UNK", "UNKNOWN"], NodeState::UNKNOWN),
    (&["DOWN"], NodeState::DOWN),
    (&["IDLE"], NodeState::IDLE),
    (&["ALLOC", "ALLOCATED"], NodeState::ALLOCATED),
    (&["MIX", "MIXED"], NodeState::MIXED),
    (&["FUTR", "FUTURE"], NodeState::FUTURE),
    (&["BLOCKED"], BLOCKED),
    (&["INVALID_REG", "INVAL"], INVALID_REG),
    (&["PLANNED", "PLND"], PLANNED),
    (&["DRAIN"], DRAIN),
    (&["DRAINED"], NodeState(DRAIN.0 | NodeState::IDLE.0)),
    (&["RESV", "RESERVED"], RESERVED),
    (&["DRAINING", "DRNG"], NodeState(DRAIN.0 | NodeState::ALLOCATED.0)),
    (&["DYNAMIC_FUTURE"], DYNAMIC_FUTURE),
    (&["DYNAMIC_NORM"], DYNAMIC_NORM),
    (&["COMP", "COMPLETING"], COMPLETING),
    (&["NO_RESPOND"], NOT_RESPONDING),
    (&["POW_UP", "POWER_UP"], POWER_UP),
    (&["POWRING_DN", "POWERING_DOWN"], POWERING_DOWN),
    (&["POWERED_DN", "POWERED_DOWN"], POWERED_DOWN),
    (&["POW_DN", "POWER_DOWN"], POWER_DOWN),
    (&["POWERING_UP"], POWERING_UP),
    (&["FAIL"], FAIL),
    (&["MAINT", "MAINTENANCE"], MAINTENANCE),
    (&["BOOT", "REBOOT", "REBOOT_REQUESTED"], REBOOT_REQUESTED),
    (&["BOOT^", "REBOOT^", "REBOOT_ISSUED"], REBOOT_ISSUED),
    (&["CLOUD"], CLOUD),
    (&["EXT", "EXTERNAL"], EXTERNAL),
];

/// Whether a word is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// `ALLOCATED`
    Long,
    /// `ALLOC`
    Short,
}

impl NodeState {
    /// The state of a node on the wire.
    pub fn of(node: &Node) -> Self {
        Self::of_words(&node.state)
    }

    /// The state that a list of words means.
    pub fn of_words(words: &[String]) -> Self {
        let mut state = 0;
        for word in words {
            if let Some(base) = BASES.iter().position(|name| name == word) {
                state |= u32::try_from(base).unwrap_or(0);
            } else if let Some((flag, _)) = FLAGS.iter().find(|(_, name)| name == word) {
                state |= flag.0;
            }
        }
        Self(state)
    }

    /// The state that a user means: the beginning of a word, in any case.
    pub fn named(word: &str) -> Option<Self> {
        let begins = |name: &&str| {
            name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        NAMED.iter().find(|(names, _)| names.iter().any(begins)).map(|(_, state)| *state)
    }

    /// Whether a node in this state is meant by the one that was asked for.
    pub fn fits(self, wanted: Self) -> bool {
        match wanted {
            DRAIN => self.has(DRAIN),
            wanted if wanted.is_draining() => self.is_draining(),
            wanted if wanted.is_drained() => self.is_drained(),
            wanted if wanted.flags().0 != 0 => self.has(wanted),
            wanted => self.base() == wanted,
        }
    }

    /// The base state alone.
    pub const fn base(self) -> Self {
        Self(self.0 & BASE)
    }

    /// The flags alone.
    pub const fn flags(self) -> Self {
        Self(self.0 & !BASE)
    }

    /// Whether it has this flag.
    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 & !BASE != 0
    }

    /// Whether it is drained while it works.
    pub fn is_draining(self) -> bool {
        self.has(DRAIN) && [Self::ALLOCATED, Self::MIXED].contains(&self.base())
    }

    /// Whether it is drained and does nothing.
    pub fn is_drained(self) -> bool {
        self.has(DRAIN) && !self.is_draining()
    }

    /// The words of its flags.
    pub fn flag_words(self) -> impl Iterator<Item = &'static str> {
        FLAGS[..PRINTED].iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, word)| *word)
    }

    /// Every word: `IDLE+DRAIN+NOT_RESPONDING`.
    pub fn complete(self) -> String {
        let base = usize::try_from(self.base().0).ok().and_then(|at| BASES.get(at));
        let mut text = (*base.unwrap_or(&"INVALID")).to_owned();
        for word in self.flag_words() {
            text.push('+');
            text.push_str(word);
        }
        text
    }

    /// The word that is printed, with the sign of its most important flag.
    pub fn word(self, length: Length, release: Release) -> String {
        let pick = |long: &'static str, short: &'static str| match length {
            Length::Long => long,
            Length::Short => short,
        };
        let base = self.base();
        let works = base == Self::ALLOCATED || base == Self::MIXED;
        let reboots = self.has(REBOOT_REQUESTED) || self.has(REBOOT_ISSUED);
        let star = if self.has(NOT_RESPONDING) { "*" } else { "" };
        if self.has(INVALID_REG) {
            return "INVAL".to_owned();
        }
        if self.has(MAINTENANCE) && !self.has(DRAIN) && !works && base != Self::DOWN {
            return format!("MAINT{star}");
        }
        if reboots && !works {
            let sign = if self.has(REBOOT_ISSUED) { "^" } else { star };
            return format!("{}{sign}", pick("REBOOT", "BOOT"));
        }
        if self.has(DRAIN) {
            let word = if self.has(COMPLETING) || works {
                pick("DRAINING", "DRNG")
            } else {
                pick("DRAINED", "DRAIN")
            };
            return format!("{word}{}", self.sign().unwrap_or(""));
        }
        if self.has(FAIL) {
            let mixed = base == Self::MIXED && release >= Release::V26_05;
            let failing = self.has(COMPLETING) || base == Self::ALLOCATED || mixed;
            let word = if failing { pick("FAILING", "FAILG") } else { "FAIL" };
            return format!("{word}{star}");
        }
        self.lone_flag(length)
            .map_or_else(|| self.ordinary(length), |(long, short)| pick(long, short).to_owned())
    }

    /// A state that is one flag and nothing else: what users filter by.
    fn lone_flag(self, length: Length) -> Option<(&'static str, &'static str)> {
        // The short form looks at the base alone, so it never finds one.
        if length == Length::Short && self.base() != self {
            return None;
        }
        Some(match self {
            REBOOT_ISSUED => ("REBOOT_ISSUED", "BOOT^"),
            REBOOT_CANCELED => ("CANCEL_REBOOT", "CANC_R"),
            CLOUD => ("CLOUD", "CLOUD"),
            EXTERNAL => ("EXTERNAL", "EXT"),
            POWER_DOWN => ("POWER_DOWN", "POW_DN"),
            POWER_UP => ("POWER_UP", "POW_UP"),
            POWERING_DOWN => ("POWERING_DOWN", "POWRING_DN"),
            POWERED_DOWN => ("POWERED_DOWN", "POWERED_DN"),
            POWERING_UP => ("POWERING_UP", "POWERING_UP"),
            UNDRAIN => ("UNDRAIN", "UNDRAIN"),
            DYNAMIC_FUTURE => ("DYNAMIC_FUTURE", "DYNAMIC_FUTURE"),
            DYNAMIC_NORM => ("DYNAMIC_NORM", "DYNAMIC_NORM"),
            _ => return None,
        })
    }

    /// The base state's word, with a sign.
    fn ordinary(self, length: Length) -> String {
        let word = |long: &str, short: &str| {
            if length == Length::Long { long.to_owned() } else { short.to_owned() }
        };
        let signed =
            |long, short, otherwise: &str| word(long, short) + self.sign().unwrap_or(otherwise);
        let (completes, planned) = (self.has(COMPLETING), self.has(PLANNED));
        match self.base() {
            Self::DOWN => signed("DOWN", "DOWN", ""),
            Self::ALLOCATED => signed("ALLOCATED", "ALLOC", if completes { "+" } else { "" }),
            _ if completes => signed("COMPLETING", "COMP", ""),
            Self::IDLE if self.sign().is_some() => signed("IDLE", "IDLE", ""),
            Self::IDLE if self.has(RESERVED) => word("RESERVED", "RESV"),
            Self::IDLE if self.has(BLOCKED) => word("BLOCKED", "BLOCK"),
            Self::IDLE if planned => word("PLANNED", "PLND"),
            Self::IDLE => word("IDLE", "IDLE"),
            Self::MIXED => signed("MIXED", "MIX", if planned { "-" } else { "" }),
            Self::FUTURE => signed("FUTURE", "FUTR", ""),
            _ if self.has(RESUME) => word("RESUME", "RESM"),
            Self::UNKNOWN if self.has(NOT_RESPONDING) => word("UNKNOWN*", "UNK*"),
            Self::UNKNOWN => word("UNKNOWN", "UNK"),
            _ => "?".to_owned(),
        }
    }

    /// The sign of the most important flag.
    fn sign(self) -> Option<&'static str> {
        const SIGNS: [(NodeState, &str); 8] = [
            (MAINTENANCE, "$"),
            (REBOOT_ISSUED, "^"),
            (REBOOT_REQUESTED, "@"),
            (POWERING_UP, "#"),
            (POWERING_DOWN, "%"),
            (POWERED_DOWN, "~"),
            (POWER_DOWN, "!"),
            (NOT_RESPONDING, "*"),
        ];
        SIGNS.iter().find(|(flag, _)| self.has(*flag)).map(|(_, sign)| *sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_print_goes_by_rank() {
        let rows = [
            ("IDLE", "IDLE", "IDLE"),
            ("MIXED+PLANNED", "MIXED-", "MIX-"),
            ("ALLOCATED+COMPLETING", "ALLOCATED+", "ALLOC+"),
            ("IDLE+COMPLETING", "COMPLETING", "COMP"),
            ("IDLE+DRAIN", "DRAINED", "DRAIN"),
            ("MIXED+DRAIN+NOT_RESPONDING", "DRAINING*", "DRNG*"),
            ("DOWN+NOT_RESPONDING", "DOWN*", "DOWN*"),
            ("IDLE+MAINTENANCE+RESERVED", "MAINT", "MAINT"),
            ("ALLOCATED+MAINTENANCE", "ALLOCATED$", "ALLOC$"),
            ("IDLE+REBOOT_REQUESTED", "REBOOT", "BOOT"),
            ("IDLE+RESERVED", "RESERVED", "RESV"),
            ("IDLE+POWERED_DOWN+CLOUD", "IDLE~", "IDLE~"),
            ("DOWN+INVALID_REG", "INVAL", "INVAL"),
            ("UNKNOWN+NOT_RESPONDING", "UNKNOWN*", "UNK*"),
            ("FUTURE", "FUTURE", "FUTR"),
        ];
        for (words, long, short) in rows {
            let words: Vec<String> = words.split('+').map(str::to_owned).collect();
            let state = NodeState::of_words(&words);
            assert_eq!(state.word(Length::Long, Release::V24_11), long, "{words:?}");
            assert_eq!(state.word(Length::Short, Release::V24_11), short, "{words:?}");
        }
        assert_eq!(NodeState(2 | (1 << 9) | (1 << 11)).complete(), "IDLE+DRAIN+NOT_RESPONDING");
    }
}

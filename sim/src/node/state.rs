//! A node's state: one base state, any number of flags, and the texts that Slurm prints for them.
//!
//! ```text
//!   IDLE + DRAIN + NOT_RESPONDING ──▶ sinfo %t `drain*`   sinfo %T `drained*`
//!                                     scontrol `IDLE+DRAIN+NOT_RESPONDING`
//!                                     REST ["IDLE", "DRAIN", "NOT_RESPONDING"]
//! ```

use std::fmt;

use serde::{Serialize, Serializer};

/// Base states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeBase {
    /// Never heard of since the controller started.
    Unknown,
    /// Out of service; its jobs are lost.
    Down,
    /// Nothing of it is held.
    Idle,
    /// All of its CPUs are held.
    Allocated,
    /// Slurm keeps the name; nothing gets there any more.
    Error,
    /// Some of its CPUs are held.
    Mixed,
    /// Configured for later: takes no jobs and isn't shown.
    Future,
}

impl NodeBase {
    /// As scontrol and the REST API spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Down => "DOWN",
            Self::Idle => "IDLE",
            Self::Allocated => "ALLOCATED",
            Self::Error => "ERROR",
            Self::Mixed => "MIXED",
            Self::Future => "FUTURE",
        }
    }

    /// `sinfo %t` and `sinfo %T`.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unknown => ("unk", "unknown"),
            Self::Down => ("down", "down"),
            Self::Idle => ("idle", "idle"),
            Self::Allocated => ("alloc", "allocated"),
            Self::Error => ("?", "?"),
            Self::Mixed => ("mix", "mixed"),
            Self::Future => ("futr", "future"),
        }
    }
}

/// Flags beside the base state, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeFlags(u32);

/// A set of flags, one for each name; the array gives Slurm's two orders.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal),* $(,)?) => {
        impl NodeFlags {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*
        }
    };
}

flags! {
    /// Another job of its block has the block to itself.
    BLOCKED = 0,
    /// Comes from a cloud.
    CLOUD = 1,
    /// A job is being cleaned up.
    COMPLETING = 2,
    /// Takes no new jobs.
    DRAIN = 3,
    /// Was FUTURE until a slurmd took it over.
    DYNAMIC_FUTURE = 4,
    /// Was created while the controller ran.
    DYNAMIC_NORM = 5,
    /// Registered with less than is configured.
    INVALID_REG = 6,
    /// About to fail; takes no new jobs.
    FAIL = 7,
    /// In a maintenance reservation.
    MAINT = 8,
    /// To be powered down.
    POWER_DOWN = 9,
    /// To be powered up.
    POWER_UP = 10,
    /// Powered down.
    POWERED_DOWN = 11,
    /// To be rebooted.
    REBOOT_REQUESTED = 12,
    /// Being rebooted.
    REBOOT_ISSUED = 13,
    /// In a reservation.
    RESERVED = 14,
    /// Its slurmd doesn't answer.
    NOT_RESPONDING = 15,
    /// Backfill keeps it for a job.
    PLANNED = 16,
    /// On its way up.
    POWERING_UP = 17,
    /// On its way down.
    POWERING_DOWN = 18,
    /// 26.05: has no slurmd; somebody else runs what is placed there.
    EXTERNAL = 19,
}

impl NodeFlags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// Whether all of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set but for `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// This set with or without `other`.
    #[must_use]
    pub const fn set(self, other: Self, on: bool) -> Self {
        if on { self.with(other) } else { self.without(other) }
    }

    /// Names in the order in which scontrol joins them.
    const SCONTROL: [(Self, &'static str); 20] = [
        (Self::BLOCKED, "BLOCKED"),
        (Self::CLOUD, "CLOUD"),
        (Self::COMPLETING, "COMPLETING"),
        (Self::DRAIN, "DRAIN"),
        (Self::DYNAMIC_FUTURE, "DYNAMIC_FUTURE"),
        (Self::DYNAMIC_NORM, "DYNAMIC_NORM"),
        (Self::EXTERNAL, "EXTERNAL"),
        (Self::INVALID_REG, "INVALID_REG"),
        (Self::FAIL, "FAIL"),
        (Self::MAINT, "MAINTENANCE"),
        (Self::POWER_DOWN, "POWER_DOWN"),
        (Self::POWER_UP, "POWER_UP"),
        (Self::POWERED_DOWN, "POWERED_DOWN"),
        (Self::REBOOT_REQUESTED, "REBOOT_REQUESTED"),
        (Self::REBOOT_ISSUED, "REBOOT_ISSUED"),
        (Self::RESERVED, "RESERVED"),
        (Self::NOT_RESPONDING, "NOT_RESPONDING"),
        (Self::PLANNED, "PLANNED"),
        (Self::POWERING_UP, "POWERING_UP"),
        (Self::POWERING_DOWN, "POWERING_DOWN"),
    ];

    /// The order in which the REST API lists them.
    const REST: [Self; 20] = [
        Self::EXTERNAL,
        Self::RESERVED,
        Self::CLOUD,
        Self::DRAIN,
        Self::COMPLETING,
        Self::NOT_RESPONDING,
        Self::POWERED_DOWN,
        Self::FAIL,
        Self::POWERING_UP,
        Self::MAINT,
        Self::REBOOT_REQUESTED,
        Self::POWERING_DOWN,
        Self::DYNAMIC_FUTURE,
        Self::REBOOT_ISSUED,
        Self::PLANNED,
        Self::INVALID_REG,
        Self::POWER_DOWN,
        Self::POWER_UP,
        Self::DYNAMIC_NORM,
        Self::BLOCKED,
    ];

    fn name(self) -> &'static str {
        let named = Self::SCONTROL.into_iter().find(|(flag, _)| *flag == self);
        named.map_or("?", |(_, name)| name)
    }
}

/// A base state and its flags. Displayed, and serialized, as `sinfo -o %t` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeState {
    /// The base state.
    pub base: NodeBase,
    /// The flags.
    pub flags: NodeFlags,
}

impl NodeState {
    /// `drng*`: as `sinfo -o %t` prints it.
    pub fn short(self) -> String {
        self.text(|(short, _)| short)
    }

    /// `draining*`: as `sinfo -o %T` prints it.
    pub fn long(self) -> String {
        self.text(|(_, long)| long)
    }

    /// `MIXED+DRAIN`: as `scontrol show node` prints it.
    pub fn scontrol(self) -> String {
        let mut text = self.base.as_str().to_owned();
        for (flag, name) in NodeFlags::SCONTROL {
            if self.flags.has(flag) {
                text.push('+');
                text.push_str(name);
            }
        }
        text
    }

    /// `["MIXED", "DRAIN"]`: as the REST API lists it.
    pub fn rest(self) -> Vec<&'static str> {
        let flags = NodeFlags::REST.into_iter().filter(|flag| self.flags.has(*flag));
        std::iter::once(self.base.as_str()).chain(flags.map(NodeFlags::name)).collect()
    }

    fn text(self, form: impl Fn((&'static str, &'static str)) -> &'static str) -> String {
        let (words, suffix) = self.word_and_suffix();
        format!("{}{suffix}", form(words))
    }

    /// The first that applies, as Slurm asks in turn.
    fn word_and_suffix(self) -> ((&'static str, &'static str), &'static str) {
        let is = |flag| self.flags.has(flag);
        let busy = matches!(self.base, NodeBase::Allocated | NodeBase::Mixed);
        let silent = if is(NodeFlags::NOT_RESPONDING) { "*" } else { "" };
        if is(NodeFlags::INVALID_REG) {
            return (("inval", "inval"), "");
        }
        if is(NodeFlags::MAINT) && !is(NodeFlags::DRAIN) && !busy && self.base != NodeBase::Down {
            return (("maint", "maint"), silent);
        }
        if self.flags.has_any(NodeFlags::REBOOT_REQUESTED.with(NodeFlags::REBOOT_ISSUED)) && !busy {
            let suffix = if is(NodeFlags::REBOOT_ISSUED) { "^" } else { silent };
            return (("boot", "reboot"), suffix);
        }
        if is(NodeFlags::DRAIN) {
            let draining = busy || is(NodeFlags::COMPLETING);
            let words = if draining { ("drng", "draining") } else { ("drain", "drained") };
            return (words, self.suffix());
        }
        if is(NodeFlags::FAIL) {
            let failing = is(NodeFlags::COMPLETING) || self.base == NodeBase::Allocated;
            return (if failing { ("failg", "failing") } else { ("fail", "fail") }, silent);
        }
        self.by_base()
    }

    fn by_base(self) -> ((&'static str, &'static str), &'static str) {
        let is = |flag| self.flags.has(flag);
        let words = self.base.words();
        let suffix = self.suffix();
        match self.base {
            NodeBase::Allocated if suffix.is_empty() && is(NodeFlags::COMPLETING) => (words, "+"),
            NodeBase::Down | NodeBase::Allocated => (words, suffix),
            _ if is(NodeFlags::COMPLETING) => (("comp", "completing"), suffix),
            NodeBase::Idle if suffix.is_empty() && is(NodeFlags::RESERVED) => {
                (("resv", "reserved"), "")
            }
            NodeBase::Idle if suffix.is_empty() && is(NodeFlags::BLOCKED) => {
                (("block", "blocked"), "")
            }
            NodeBase::Idle if suffix.is_empty() && is(NodeFlags::PLANNED) => {
                (("plnd", "planned"), "")
            }
            NodeBase::Mixed if suffix.is_empty() && is(NodeFlags::PLANNED) => (words, "-"),
            NodeBase::Unknown if is(NodeFlags::NOT_RESPONDING) => (words, "*"),
            NodeBase::Unknown | NodeBase::Error => (words, ""),
            NodeBase::Idle | NodeBase::Mixed | NodeBase::Future => (words, suffix),
        }
    }

    fn suffix(self) -> &'static str {
        const SUFFIXES: [(NodeFlags, &str); 8] = [
            (NodeFlags::MAINT, "$"),
            (NodeFlags::REBOOT_ISSUED, "^"),
            (NodeFlags::REBOOT_REQUESTED, "@"),
            (NodeFlags::POWERING_UP, "#"),
            (NodeFlags::POWERING_DOWN, "%"),
            (NodeFlags::POWERED_DOWN, "~"),
            (NodeFlags::POWER_DOWN, "!"),
            (NodeFlags::NOT_RESPONDING, "*"),
        ];
        let first = SUFFIXES.into_iter().find(|(flag, _)| self.flags.has(*flag));
        first.map_or("", |(_, suffix)| suffix)
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.short())
    }
}

impl Serialize for NodeState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `idle+drain`, in the words of the constants.
    fn state(base: NodeBase, flags: &[NodeFlags]) -> NodeState {
        let flags = flags.iter().fold(NodeFlags::NONE, |all, flag| all.with(*flag));
        NodeState { base, flags }
    }

    #[test]
    fn sinfo_prints_the_first_text_that_applies() {
        use NodeBase::{Allocated, Down, Future, Idle, Mixed, Unknown};
        type F = NodeFlags;
        #[rustfmt::skip]
        let rows: &[(NodeBase, &[F], &str, &str)] = &[
            (Idle, &[], "idle", "idle"),
            (Allocated, &[], "alloc", "allocated"),
            (Mixed, &[], "mix", "mixed"),
            (Unknown, &[], "unk", "unknown"),
            (Unknown, &[F::NOT_RESPONDING], "unk*", "unknown*"),
            (Future, &[], "futr", "future"),
            (Down, &[F::NOT_RESPONDING], "down*", "down*"),
            (Down, &[F::COMPLETING], "down", "down"),
            (Down, &[F::DRAIN], "drain", "drained"),
            (Idle, &[F::DRAIN], "drain", "drained"),
            (Mixed, &[F::DRAIN], "drng", "draining"),
            (Idle, &[F::DRAIN, F::COMPLETING], "drng", "draining"),
            (Allocated, &[F::DRAIN, F::NOT_RESPONDING], "drng*", "draining*"),
            (Idle, &[F::FAIL], "fail", "fail"),
            (Allocated, &[F::FAIL, F::NOT_RESPONDING], "failg*", "failing*"),
            (Mixed, &[F::FAIL], "fail", "fail"),
            (Idle, &[F::COMPLETING], "comp", "completing"),
            (Mixed, &[F::COMPLETING], "comp", "completing"),
            (Allocated, &[F::COMPLETING], "alloc+", "allocated+"),
            (Idle, &[F::PLANNED], "plnd", "planned"),
            (Mixed, &[F::PLANNED], "mix-", "mixed-"),
            (Allocated, &[F::PLANNED], "alloc", "allocated"),
            (Idle, &[F::RESERVED, F::PLANNED], "resv", "reserved"),
            (Idle, &[F::BLOCKED], "block", "blocked"),
            (Idle, &[F::MAINT], "maint", "maint"),
            (Idle, &[F::MAINT, F::NOT_RESPONDING], "maint*", "maint*"),
            (Mixed, &[F::MAINT], "mix$", "mixed$"),
            (Down, &[F::MAINT], "down$", "down$"),
            (Idle, &[F::MAINT, F::DRAIN], "drain$", "drained$"),
            (Idle, &[F::CLOUD, F::POWERED_DOWN], "idle~", "idle~"),
            (Allocated, &[F::POWERING_UP], "alloc#", "allocated#"),
            (Idle, &[F::POWERING_DOWN], "idle%", "idle%"),
            (Mixed, &[F::POWER_DOWN], "mix!", "mixed!"),
            (Mixed, &[F::REBOOT_REQUESTED], "mix@", "mixed@"),
            (Idle, &[F::REBOOT_REQUESTED], "boot", "reboot"),
            (Down, &[F::REBOOT_ISSUED], "boot^", "reboot^"),
            (Idle, &[F::INVALID_REG, F::DRAIN], "inval", "inval"),
        ];
        for (base, flags, short, long) in rows {
            let state = state(*base, flags);
            assert_eq!((state.short().as_str(), state.long().as_str()), (*short, *long));
        }
    }

    #[test]
    fn scontrol_and_rest_name_every_flag_in_their_own_order() {
        let state = state(
            NodeBase::Idle,
            &[NodeFlags::NOT_RESPONDING, NodeFlags::DRAIN, NodeFlags::DYNAMIC_NORM],
        );
        assert_eq!(state.scontrol(), "IDLE+DRAIN+DYNAMIC_NORM+NOT_RESPONDING");
        assert_eq!(state.rest(), ["IDLE", "DRAIN", "NOT_RESPONDING", "DYNAMIC_NORM"]);
    }

    #[test]
    fn every_flag_has_a_name_and_a_place_in_both_orders() {
        for bit in 0..20 {
            let flag = NodeFlags(1 << bit);
            assert_ne!(flag.name(), "?", "bit {bit}");
            assert!(NodeFlags::REST.contains(&flag), "bit {bit}");
        }
    }
}

//! How many leaders there should be, and down to which a new template goes.
//!
//! ```text
//!   at rest            partition 0, as many leaders as groups are wanted
//!   new template       partition at the end; with a surge, more leaders for a while
//!   on the way         the partition falls as groups become ready, and never rises
//! ```

use serde_json::Value;

use super::{
    super::{
        deployment::share,
        object::{count, text},
        replica_set::replicas,
    },
    REPLICAS,
};

/// What a set asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    replicas: u64,
    surge: u64,
    unavailable: u64,
    /// Groups below this one stay as they are.
    partition: u64,
}

/// The StatefulSet of the leaders, as it is.
#[derive(Clone, Debug)]
pub(super) struct Leaders {
    pub(super) replicas: u64,
    pub(super) partition: u64,
    /// How many groups were wanted when it was last written.
    wanted: u64,
}

/// How far a group is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) ready: bool,
    pub(super) updated: bool,
}

impl Limits {
    pub(super) fn read(it: &Value) -> Self {
        let replicas = replicas(it);
        let rolling = &it["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"];
        Self {
            replicas,
            surge: share(&rolling["maxSurge"], replicas, true).min(replicas),
            unavailable: share(&rolling["maxUnavailable"], replicas, false),
            partition: count(&rolling["partition"]),
        }
    }

    /// So many leaders while so many of the wanted groups aren't ready with the new template.
    fn leaders(self, unready: u64) -> u64 {
        match unready <= self.surge {
            true => self.replicas + unready.saturating_sub(self.unavailable),
            false => self.replicas + self.surge,
        }
    }
}

impl Leaders {
    pub(super) fn read(set: &Value) -> Self {
        Self {
            replicas: replicas(set),
            partition: count(&set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]),
            wanted: text(&set["metadata"]["annotations"][REPLICAS]).parse().unwrap_or(0),
        }
    }
}

/// The partition and the number of leaders.
pub(super) fn next(
    limits: Limits,
    set: Option<&Leaders>,
    updated: bool,
    states: &[State],
) -> (u64, u64) {
    let (partition, leaders) = match set {
        None => (0, limits.replicas),
        Some(set) => on_the_way(limits, set, updated, states),
    };
    (partition.max(limits.partition), leaders)
}

fn on_the_way(limits: Limits, set: &Leaders, updated: bool, states: &[State]) -> (u64, u64) {
    if updated {
        let partition = limits.replicas.min(set.replicas);
        let grows = set.replicas < limits.replicas;
        return (partition, if grows { limits.replicas } else { limits.leaders(limits.replicas) });
    }
    let at_rest = set.partition == 0 && set.replicas == limits.replicas;
    if at_rest || set.replicas < limits.replicas {
        return (set.partition, limits.replicas);
    }
    let state = |index: u64| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        states.get(index).copied().unwrap_or_default()
    };
    let well = |index: &u64| state(*index).ready && state(*index).updated;
    let unready = (0..limits.replicas).filter(|index| !well(index)).count() as u64;
    let most = limits.replicas + limits.surge;
    if set.wanted != limits.replicas {
        return (set.partition.min(most), limits.leaders(unready));
    }
    let step =
        (limits.unavailable + limits.surge).saturating_sub(most.saturating_sub(set.replicas));
    (partition(set, step, &state), limits.leaders(unready))
}

fn partition(set: &Leaders, step: u64, state: &dyn Fn(u64) -> State) -> u64 {
    let well = |index: &u64| state(*index).ready && state(*index).updated;
    let tail = (0..set.replicas).rev().take_while(well).count() as u64;
    let least = set.replicas.saturating_sub(tail).saturating_sub(step);
    let lost = (0..least).filter(|index| !state(*index).ready).count() as u64;
    let mut partition = least + lost;
    let from = partition.min(set.replicas.saturating_sub(1));
    for index in (least..=from).rev() {
        let it = state(index);
        if it.ready && !it.updated {
            break;
        }
        partition = index;
    }
    partition.min(set.partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `R`: ready and updated, `r`: ready, `u`: updated, `.`: neither.
    fn states(text: &str) -> Vec<State> {
        let state = |it| State { ready: "Rr".contains(it), updated: "Ru".contains(it) };
        text.chars().map(state).collect()
    }

    #[test]
    fn a_new_template_goes_from_the_last_group_to_the_first() {
        #[rustfmt::skip]
        let rows = [
            // surge unavail. leaders partition wanted updated states       partition leaders
            (0,      1,       4,      0,        4,     false, "RRRR",       0,        4),
            (0,      1,       4,      0,        4,     true,  "rrrr",       4,        4),
            (0,      1,       4,      4,        4,     false, "rrrr",       3,        4),
            (0,      1,       4,      3,        4,     false, "rrr.",       3,        4),
            (0,      1,       4,      3,        4,     false, "rrrR",       2,        4),
            (0,      2,       4,      4,        4,     false, "rrrr",       2,        4),
            (0,      1,       4,      4,        4,     false, "r.rr",       4,        4),
            (0,      1,       4,      4,        4,     false, "....",       3,        4),
            (1,      0,       4,      0,        4,     true,  "rrrr",       4,        5),
            (1,      0,       5,      4,        4,     false, "rrrr.",      4,        5),
            (1,      0,       5,      4,        4,     false, "rrrrR",      3,        5),
            (1,      0,       5,      0,        4,     false, "RRRRR",      0,        4),
            (0,      1,       6,      0,        6,     false, "RRRRRR",     0,        4),
            (0,      1,       2,      0,        2,     false, "RR",         0,        4),
        ];
        for (surge, unavailable, n, at, wanted, updated, is, partition, leaders) in rows {
            let limits = Limits { replicas: 4, surge, unavailable, partition: 0 };
            let set = Leaders { replicas: n, partition: at, wanted };
            let found = next(limits, Some(&set), updated, &states(is));
            assert_eq!(found, (partition, leaders), "{is} {limits:?} {set:?}");
        }
    }

    #[test]
    fn groups_below_the_partition_of_the_set_stay() {
        let limits = Limits { replicas: 4, surge: 0, unavailable: 1, partition: 2 };
        let set = Leaders { replicas: 4, partition: 2, wanted: 4 };
        assert_eq!(next(limits, Some(&set), false, &states("rrRR")), (2, 4));
        assert_eq!(next(limits, None, false, &[]), (2, 4));
    }
}

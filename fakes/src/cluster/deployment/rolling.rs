//! One step of a rollout: how many pods each ReplicaSet should have next.

use serde_json::Value;

use super::super::object::text;

/// How far a rollout may stray from the wanted number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) want: u64,
    /// How many pods more are allowed meanwhile.
    pub(super) surge: u64,
    /// How many may be unavailable meanwhile.
    pub(super) unavailable: u64,
    /// All old pods go before the first new one comes.
    pub(super) recreate: bool,
}

/// What a ReplicaSet was asked for and how much of it is usable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) replicas: u64,
    pub(super) available: u64,
}

/// How many pods each ReplicaSet should have next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    pub(super) new: u64,
    /// In the order in which the old ones were given.
    pub(super) old: Vec<u64>,
}

impl Limits {
    pub(super) fn read(spec: &Value, want: u64) -> Self {
        let strategy = &spec["strategy"];
        let rolling = &strategy["rollingUpdate"];
        let recreate = strategy["type"] == "Recreate";
        let surge = share(&rolling["maxSurge"], want, true);
        let unavailable = share(&rolling["maxUnavailable"], want, false);
        Self {
            want,
            surge: if recreate { 0 } else { surge },
            // Without any leeway nothing could ever move.
            unavailable: if surge == 0 { unavailable.max(1) } else { unavailable },
            recreate,
        }
    }
}

/// A number, or a percentage of the wanted number; a quarter if nothing is said.
fn share(value: &Value, want: u64, up: bool) -> u64 {
    let percent = match value {
        Value::Number(number) => return number.as_u64().unwrap_or(0),
        Value::String(percent) => percent.trim_end_matches('%').parse().unwrap_or(25),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => 25,
    };
    debug_assert!(text(value).is_empty() || text(value).ends_with('%'));
    let parts = want.saturating_mul(percent);
    if up { parts.div_ceil(100) } else { parts / 100 }
}

/// A paused Deployment only follows its own size, with the ReplicaSet that it has.
pub(super) fn paused(want: u64, new: Counts, old: &[Counts]) -> Scaling {
    let others: u64 = old.iter().map(|it| it.replicas).sum();
    Scaling {
        new: if others == 0 { want } else { new.replicas },
        old: old.iter().map(|it| it.replicas).collect(),
    }
}

/// The next step.
pub(super) fn step(limits: Limits, new: Counts, old: &[Counts], old_pods: bool) -> Scaling {
    if limits.recreate {
        return Scaling {
            new: if old_pods { new.replicas } else { limits.want },
            old: vec![0; old.len()],
        };
    }
    let all_old: u64 = old.iter().map(|it| it.replicas).sum();
    let room = (limits.want + limits.surge).saturating_sub(new.replicas + all_old);
    let grown = limits.want.min(new.replicas.saturating_add(room));
    Scaling {
        new: if limits.want < new.replicas { limits.want } else { grown },
        old: shrink(limits, new, old),
    }
}

/// Takes from the old ReplicaSets what may go: first what isn't usable anyway, then the rest.
fn shrink(limits: Limits, new: Counts, old: &[Counts]) -> Vec<u64> {
    let least = limits.want.saturating_sub(limits.unavailable);
    let total: u64 = new.replicas + old.iter().map(|it| it.replicas).sum::<u64>();
    let unusable_new = new.replicas.saturating_sub(new.available);
    let mut may_go = total.saturating_sub(least + unusable_new);
    let mut left: Vec<u64> = vec![];
    for it in old {
        let unusable = it.replicas.saturating_sub(it.available).min(may_go);
        may_go -= unusable;
        left.push(it.replicas - unusable);
    }
    let usable: u64 =
        new.available + old.iter().map(|it| it.available.min(it.replicas)).sum::<u64>();
    let mut may_go = may_go.min(usable.saturating_sub(least));
    for replicas in &mut left {
        let gone = may_go.min(*replicas);
        may_go -= gone;
        *replicas -= gone;
    }
    left
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counts(replicas: u64, available: u64) -> Counts {
        Counts { replicas, available }
    }

    #[test]
    fn limits_round_surge_up_and_unavailable_down() {
        #[rustfmt::skip]
        let rows = [
            (json!({}),                                                                  10, 3, 2),
            (json!({}),                                                                  1,  1, 0),
            (json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}), 5,  0, 1),
            (json!({"strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 2}}}), 5, 3, 2),
        ];
        for (spec, want, surge, unavailable) in rows {
            let limits = Limits::read(&spec, want);
            assert_eq!((limits.surge, limits.unavailable), (surge, unavailable), "{spec}");
        }
    }

    #[test]
    fn a_rollout_moves_over_within_its_limits() {
        let limits = Limits::read(&json!({}), 4); // one more, one less
        #[rustfmt::skip]
        let rows = [
            // new           old               new  old
            (counts(0, 0),   vec![counts(4, 4)], 1, vec![3]),
            (counts(1, 0),   vec![counts(3, 3)], 2, vec![3]),
            (counts(2, 0),   vec![counts(3, 3)], 2, vec![3]),
            (counts(2, 2),   vec![counts(3, 3)], 2, vec![1]),
            (counts(4, 4),   vec![counts(1, 1)], 4, vec![0]),
            (counts(4, 4),   vec![],             4, vec![]),
            (counts(6, 6),   vec![],             4, vec![]),
            (counts(0, 0),   vec![counts(4, 0)], 1, vec![3]),
        ];
        for (new, old, want_new, want_old) in rows {
            let next = step(limits, new, &old, true);
            assert_eq!((next.new, next.old), (want_new, want_old), "{new:?} {old:?}");
        }
    }

    #[test]
    fn recreate_waits_until_the_old_are_gone() {
        let limits = Limits::read(&json!({"strategy": {"type": "Recreate"}}), 3);
        let old = [counts(3, 3)];
        assert_eq!(step(limits, counts(0, 0), &old, true).new, 0);
        assert_eq!(step(limits, counts(0, 0), &old, true).old, [0]);
        assert_eq!(step(limits, counts(0, 0), &[counts(0, 0)], false).new, 3);
    }
}

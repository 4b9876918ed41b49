//! One step of a rollout: how many pods each ReplicaSet should have next.

use serde_json::Value;

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

impl Limits {
    pub(super) fn read(spec: &Value, want: u64) -> Self {
        let strategy = &spec["strategy"];
        let rolling = &strategy["rollingUpdate"];
        let recreate = strategy["type"] == "Recreate";
        let surge = share(&rolling["maxSurge"], want, true);
        let unavailable = share(&rolling["maxUnavailable"], want, false);
        // Without any leeway nothing could ever move.
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        Self {
            want,
            surge: if recreate { 0 } else { surge },
            unavailable: if recreate { 0 } else { unavailable.min(want) },
            recreate,
        }
    }

    /// How many pods the new ReplicaSet should have, when there are so many of all.
    pub(super) fn grow(self, new: u64, all: u64) -> u64 {
        if self.recreate {
            return self.want;
        }
        let room = (self.want + self.surge).saturating_sub(all);
        new + room.min(self.want.saturating_sub(new))
    }

    /// How many pods each of the old ReplicaSets should keep: first goes what isn't usable
    /// anyway, then the rest, oldest first.
    pub(super) fn shrink(self, new: Counts, old: &[Counts]) -> Vec<u64> {
        let kept = || old.iter().map(|it| it.replicas).collect::<Vec<u64>>();
        let least = self.want.saturating_sub(self.unavailable);
        let total: u64 = new.replicas + kept().iter().sum::<u64>();
        let unusable_new = new.replicas.saturating_sub(new.available);
        let mut may_go = total.saturating_sub(least + unusable_new);
        if may_go == 0 {
            return kept();
        }
        let mut left = kept();
        for (replicas, it) in left.iter_mut().zip(old) {
            let unusable = it.replicas.saturating_sub(it.available).min(may_go);
            may_go -= unusable;
            *replicas -= unusable;
        }
        let usable = new.available + old.iter().map(|it| it.available).sum::<u64>();
        let mut may_go = usable.saturating_sub(least);
        for replicas in &mut left {
            let gone = may_go.min(*replicas);
            may_go -= gone;
            *replicas -= gone;
        }
        left
    }
}

/// A number, or a percentage of the wanted number; a quarter if nothing is said.
pub(crate) fn share(value: &Value, want: u64, up: bool) -> u64 {
    let percent = match value {
        Value::Number(number) => return number.as_u64().unwrap_or(0),
        Value::String(percent) => percent.trim_end_matches('%').parse().unwrap_or(25),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => 25,
    };
    let parts = want.saturating_mul(percent);
    if up { parts.div_ceil(100) } else { parts / 100 }
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
            (json!({"strategy": {"type": "Recreate"}}),                                  5,  0, 0),
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
            // new           old                 new  old
            (counts(0, 0),   vec![counts(4, 4)], 1,   vec![3]),
            (counts(1, 0),   vec![counts(3, 3)], 2,   vec![3]),
            (counts(2, 0),   vec![counts(3, 3)], 2,   vec![3]),
            (counts(2, 2),   vec![counts(3, 3)], 2,   vec![1]),
            (counts(4, 4),   vec![counts(1, 1)], 4,   vec![0]),
            (counts(4, 4),   vec![],             4,   vec![]),
            (counts(0, 0),   vec![counts(4, 0)], 1,   vec![3]),
        ];
        for (new, old, grown, kept) in rows {
            let all = new.replicas + old.iter().map(|it| it.replicas).sum::<u64>();
            assert_eq!(limits.grow(new.replicas, all), grown, "{new:?} {old:?}");
            assert_eq!(limits.shrink(new, &old), kept, "{new:?} {old:?}");
        }
    }
}

//! Scaling in the middle of a rollout: every ReplicaSet grows or shrinks by its share, so that a
//! bad template doesn't get ahead of a good one.

/// A ReplicaSet that has pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) replicas: i64,
    /// How many pods all of them could have before: its annotation `max-replicas`.
    pub(super) most_before: i64,
    /// The lower, the older.
    pub(super) age: u64,
}

/// How many pods each should have, if there should be `want` in all and at most `surge` more.
pub(super) fn sizes(want: i64, surge: i64, parts: &[Part]) -> Vec<i64> {
    let allowed = if want > 0 { want + surge } else { 0 };
    let to_add = allowed - parts.iter().map(|part| part.replicas).sum::<i64>();
    let mut sizes: Vec<i64> = parts.iter().map(|part| part.replicas).collect();
    if to_add == 0 {
        return sizes;
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // The largest first; of equal ones the newer when growing, the older when shrinking.
    order.sort_by_key(|at| {
        let Part { replicas, age, .. } = parts[*at];
        let age = if to_add > 0 { u64::MAX - age } else { age };
        (std::cmp::Reverse(replicas), age)
    });
    let mut added = 0;
    for at in &order {
        let share = share(want, surge, parts[*at]);
        let left = to_add - added;
        let change = if to_add > 0 { share.min(left) } else { share.max(left) };
        sizes[*at] += change;
        added += change;
    }
    if let Some(largest) = order.first() {
        sizes[*largest] = (sizes[*largest] + to_add - added).max(0);
    }
    sizes
}

fn share(want: i64, surge: i64, part: Part) -> i64 {
    if want == 0 {
        return -part.replicas;
    }
    if part.most_before == 0 {
        return 0;
    }
    let scaled = part.replicas * (want + surge) * 2 + part.most_before;
    scaled.div_euclid(part.most_before * 2) - part.replicas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replica_sets_grow_and_shrink_by_their_share() {
        #[rustfmt::skip]
        let rows = [
            // want  surge  before  sizes            sizes after
            (15,     3,     13,     vec![8, 5],      vec![11, 7]),
            (5,      2,     13,     vec![8, 5],      vec![4, 3]),
            (0,      0,     13,     vec![8, 5],      vec![0, 0]),
            (10,     3,     13,     vec![8, 5],      vec![8, 5]),
            (20,     0,     10,     vec![5, 5],      vec![10, 10]),
            (11,     0,     10,     vec![5, 5],      vec![5, 6]),
        ];
        for (want, surge, most_before, before, after) in rows {
            let parts: Vec<Part> = before
                .iter()
                .zip(1..)
                .map(|(replicas, age)| Part { replicas: *replicas, most_before, age })
                .collect();
            assert_eq!(sizes(want, surge, &parts), after, "{want} {surge} {before:?}");
        }
    }
}

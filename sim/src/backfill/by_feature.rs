//! When and where a job could start whose nodes must have features.
//!
//! ```text
//!   a&b         nodes that have both, as for any other job
//!   [a|b]       each by itself; the one with the earliest start
//!   [a*2&b*1]   each by itself, of nodes that the others left; then the rest. The latest start
//! ```

use crate::{
    IndexSet,
    census::Census,
    select::{Ask, Group, Quest, Share},
};

use super::future::{Future, Wish};

/// When and where the job could start.
pub(super) fn will_run(
    future: &mut Future<'_>,
    census: &Census,
    wish: Wish<'_>,
    counts: &mut Vec<usize>,
) -> Option<(u64, IndexSet)> {
    let features = &wish.ask.features;
    if features.counts() || features.each() {
        return with_counts(future, census, wish);
    }
    if !features.alternatives() {
        return without_features(future, wish, counts);
    }
    let mut best: Option<(u64, IndexSet)> = None;
    for part in features.parts() {
        let with = having(wish.nodes, census, &part);
        if with.len() < wish.quest.min_nodes as usize {
            continue;
        }
        let found = future.will_run(Wish { nodes: &with, ..wish }, &mut vec![]);
        let Some((start, nodes)) = found else { continue };
        if best.as_ref().is_none_or(|(earliest, _)| start < *earliest) {
            best = Some((start, nodes));
        }
    }
    best
}

/// A job that may share its cores is first tried with cores of its own.
fn without_features(
    future: &mut Future<'_>,
    wish: Wish<'_>,
    counts: &mut Vec<usize>,
) -> Option<(u64, IndexSet)> {
    let chooses = matches!(wish.policy.share, Share::Yes(_)) && wish.ask.oversubscribe;
    if chooses && wish.ask.features.parts().is_empty() {
        let ask = Ask { oversubscribe: false, ..wish.ask.clone() };
        let alone = future.will_run(Wish { ask: &ask, ..wish }, counts);
        if alone.as_ref().is_some_and(|(start, _)| *start <= wish.from) {
            return alone;
        }
    }
    future.will_run(wish, counts)
}

fn with_counts(
    future: &mut Future<'_>,
    census: &Census,
    wish: Wish<'_>,
) -> Option<(u64, IndexSet)> {
    let mut found = IndexSet::new();
    let mut left = wish.nodes.clone();
    let mut latest = None;
    let mut all = true;
    for part in wish.ask.features.parts() {
        let with = having(&left, census, &part);
        let count = part.count.max(1);
        let quest = Quest { min_nodes: count, req_nodes: count, ..wish.quest.clone() };
        let enough = count as usize <= with.len();
        let wish = Wish { nodes: &with, quest: &quest, ..wish };
        let got = enough.then(|| future.will_run(wish, &mut vec![]));
        let Some((start, got)) = got.flatten() else {
            all = false;
            break;
        };
        latest = latest.max(Some(start));
        found.add(&got);
        left.subtract(&got);
    }
    let n_found = u32::try_from(found.len()).unwrap_or(u32::MAX);
    if n_found < wish.quest.req_nodes {
        let less = |count: u32| count.saturating_sub(n_found);
        let quest = Quest {
            min_nodes: less(wish.quest.min_nodes),
            max_nodes: less(wish.quest.max_nodes),
            req_nodes: less(wish.quest.req_nodes),
            ..wish.quest.clone()
        };
        // When these come counts for nothing, and they make up for a feature that wasn't found.
        let (_, got) =
            future.will_run(Wish { nodes: &left, quest: &quest, ..wish }, &mut vec![])?;
        found.add(&got);
        all = true;
    }
    latest.filter(|_| all).map(|start| (start, found))
}

fn having(nodes: &IndexSet, census: &Census, part: &Group<'_>) -> IndexSet {
    let mut nodes = nodes.clone();
    census.keep(&mut nodes, |spec| part.matched_by(&spec.active_features));
    nodes
}

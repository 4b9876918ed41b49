//! Making room: less important pods leave for a more important one.
//!
//! ```text
//!   every node that could take it without some others
//!     ──▶ all less important pods away: does it fit?  ──no──▶ not this node
//!     ──▶ put back as many as can stay, the most important first, those with a budget before
//!   of those nodes: fewest broken budgets, least important victims, fewest, youngest
//! ```

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use super::{
    super::{budget, index::Held, node::Node, object::text, pod::Pod},
    filter::{Pre, Verdict, check},
    view::View,
};

/// A node and who would have to leave it.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) node: Arc<str>,
    pub(crate) victims: Vec<Arc<Pod>>,
    broken: usize,
}

/// What comes of looking for room.
pub(super) enum Outcome {
    Room(Room),
    /// There is none, and this is why.
    None(String),
}

/// Looks for room for a pod among nodes that could have it.
pub(super) fn find(view: &View<'_>, pod: &Pod, nodes: &[(&Node, &Held)], all: usize) -> Outcome {
    if text(&pod.object["spec"]["preemptionPolicy"]) == "Never" {
        return Outcome::None("not eligible due to preemptionPolicy=Never.".into());
    }
    let leaving = |node: &Arc<str>| {
        let mut pods = view.pods_on(node);
        pods.any(|it| it.deleting.is_some() && it.priority < pod.priority)
    };
    if pod.nominated.as_ref().is_some_and(leaving) {
        return Outcome::None(
            "not eligible due to a terminating pod on the nominated node.".into(),
        );
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut rooms = vec![];
    for (node, held) in nodes {
        match on_node(view, pod, node, held) {
            Ok(room) => rooms.push(room),
            Err(why) => why.into_iter().for_each(|why| *reasons.entry(why).or_default() += 1),
        }
    }
    if let Some(best) = best(rooms) {
        return Outcome::Room(best);
    }
    let others = all - nodes.len();
    if others > 0 {
        reasons.insert("Preemption is not helpful for scheduling".into(), others);
    }
    Outcome::None(super::nowhere(all, &reasons))
}

/// The pods that leave first are the least important, and of those the youngest.
fn importance(pod: &Pod) -> (Reverse<i64>, u64) {
    (Reverse(pod.priority), pod.created)
}

fn on_node(view: &View<'_>, pod: &Pod, node: &Node, held: &Held) -> Result<Room, Vec<String>> {
    let less = |it: &&Arc<Pod>| it.priority < pod.priority;
    let mut lesser: Vec<Arc<Pod>> = view.pods_on(&node.name).filter(less).cloned().collect();
    if lesser.is_empty() {
        return Err(vec!["No preemption victims found for incoming pod".into()]);
    }
    let fits = |gone: &[Arc<Pod>]| {
        let view = view.without(gone.iter());
        let pre = Pre::of(&view, pod).map_err(|why| vec![why])?;
        match check(&view, &pre, pod, node, &view.held(pod, node, held)) {
            Verdict::Fits => Ok(()),
            Verdict::No(objection) => Err(objection.reasons),
        }
    };
    fits(&lesser)?;
    lesser.sort_by_key(|it| importance(it));
    let broken = budget::broken(view.api, &lesser);
    let (with_budget, without): (Vec<Arc<Pod>>, Vec<Arc<Pod>>) =
        lesser.iter().cloned().partition(|it| broken.contains(&it.key));
    let mut gone = lesser;
    let mut violations = 0;
    for it in with_budget.iter().chain(&without) {
        let fewer: Vec<Arc<Pod>> =
            gone.iter().filter(|other| other.key != it.key).cloned().collect();
        if fits(&fewer).is_ok() {
            gone = fewer;
        } else {
            violations += usize::from(broken.contains(&it.key));
        }
    }
    Ok(Room { node: node.name.clone(), victims: gone, broken: violations })
}

fn best(rooms: Vec<Room>) -> Option<Room> {
    rooms.into_iter().min_by_key(|room| {
        let priorities = || room.victims.iter().map(|it| it.priority);
        let most = priorities().max().unwrap_or(i64::MIN);
        // Of the most important victims the one that started first; the later, the better.
        let first = room.victims.iter().filter(|it| it.priority == most).map(|it| it.created).min();
        (room.broken, most, priorities().sum::<i64>(), room.victims.len(), Reverse(first))
    })
}

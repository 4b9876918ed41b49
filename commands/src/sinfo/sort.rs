//! The order of `sinfo`'s lines: the last key first, each keeping the order of the one before.

use std::cmp::Ordering;

use super::{
    options::Options,
    row::{Row, or_most},
};
use crate::{hosts, merge_sort::merge_sort};

/// Sorts: by node if there is a line for each, otherwise by the order of partitions, and in them by
/// state, largest first.
pub(crate) fn sort(options: &Options, mut rows: Vec<Row>) -> Vec<Row> {
    let usual = if options.by_node { "N" } else { "#P,-t" };
    let keys = options.sort.as_deref().unwrap_or(usual).as_bytes();
    for (at, key) in keys.iter().enumerate().rev() {
        let before = at.checked_sub(1).map(|before| keys[before]);
        if !b",#+-".contains(key) {
            rows = by_letter(rows, char::from(*key), before == Some(b'-'), before == Some(b'#'));
        }
    }
    rows
}

fn by_letter(rows: Vec<Row>, letter: char, turned: bool, by_place: bool) -> Vec<Row> {
    let key: fn(&Row, &Row) -> Ordering = match letter {
        'P' | 'R' if by_place => |a, b| a.place.cmp(&b.place),
        'P' | 'R' => |a, b| a.partition.name.cmp(&b.partition.name),
        'a' => |a, b| up(a).cmp(&up(b)),
        'A' | 'F' => |a, b| a.node_counts().0.cmp(&b.node_counts().0),
        'b' => |a, b| node(a, b, |node| node.active_features.join(",")),
        'c' => |a, b| least(a, b, |node| node.cpus.into()),
        'd' => |a, b| least(a, b, |node| count(node.temporary_disk)),
        'D' => |a, b| a.nodes.len().cmp(&b.nodes.len()),
        'e' => |a, b| least(a, b, |node| or_most(node.free_mem)),
        'E' => |a, b| node(a, b, |node| node.reason.clone()),
        'f' => |a, b| node(a, b, |node| node.features.join(",")),
        'g' => |a, b| a.partition.groups.allowed.cmp(&b.partition.groups.allowed),
        'h' => |a, b| a.partition.maximums.shares.cmp(&b.partition.maximums.shares),
        'H' => |a, b| least(a, b, |node| node.reason_changed_at.or_zero()),
        'l' => |a, b| or_most(a.partition.maximums.time).cmp(&or_most(b.partition.maximums.time)),
        'm' => |a, b| least(a, b, |node| node.real_memory),
        'n' => |a, b| first(a, b, |node| node.hostname.clone()),
        'N' => |a, b| first(a, b, |node| node.name.clone()),
        'o' => |a, b| first(a, b, |node| node.address.clone()),
        'O' => |a, b| least(a, b, |node| count(node.cpu_load)),
        'p' => |a, b| a.partition.priority.tier.cmp(&b.partition.priority.tier),
        'r' => |a, b| a.flagged("ROOT_ONLY").cmp(&b.flagged("ROOT_ONLY")),
        's' => |a, b| size(a).cmp(&size(b)),
        'S' => |a, b| a.partition.priority.job_factor.cmp(&b.partition.priority.job_factor),
        't' | 'T' => |a, b| a.state().cmp(&b.state()),
        'u' | 'U' => |a, b| node(a, b, |node| node.reason_set_by_user.clone()),
        'w' => |a, b| least(a, b, |node| count(node.weight)),
        'X' => |a, b| least(a, b, |node| count(node.sockets)),
        'Y' => |a, b| least(a, b, |node| count(node.cores)),
        'Z' => |a, b| least(a, b, |node| count(node.threads)),
        'z' => |a, b| shape(a).cmp(&shape(b)),
        // Slurm passes over what it doesn't know.
        _ => return rows,
    };
    merge_sort(rows, &mut |a, b| {
        let order = key(a, b) as i32;
        if turned { -order } else { order }
    })
}

type Node = drawbridge_bridge::slurm::types::Node;

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn least(a: &Row, b: &Row, of: fn(&Node) -> u64) -> Ordering {
    a.range(of).0.cmp(&b.range(of).0)
}

fn node(a: &Row, b: &Row, of: fn(&Node) -> String) -> Ordering {
    let text = |row: &Row| row.first().map(of).unwrap_or_default();
    text(a).cmp(&text(b))
}

fn first(a: &Row, b: &Row, of: fn(&Node) -> String) -> Ordering {
    let names = |row: &Row| row.nodes.iter().map(|node| of(node)).collect::<Vec<_>>();
    let text = |row: &Row| names(row).into_iter().min_by(|a, b| hosts::compare(a, b));
    hosts::compare(&text(a).unwrap_or_default(), &text(b).unwrap_or_default())
}

/// The number of a partition's state.
fn up(row: &Row) -> u8 {
    match row.partition.partition.state.first().map(String::as_str) {
        Some("UP") => 3,
        Some("DRAIN") => 2,
        Some("DOWN") => 1,
        _ => 0,
    }
}

fn size(row: &Row) -> u64 {
    let (least, most) = (row.partition.minimums.nodes, row.partition.maximums.nodes);
    most.get().map_or(u64::MAX, |most| most + count(least))
}

fn shape(row: &Row) -> (u64, u64, u64) {
    let part = |of: fn(&Node) -> i64| row.range(|node| count(of(node))).0;
    (part(|node| node.sockets), part(|node| node.cores), part(|node| node.threads))
}

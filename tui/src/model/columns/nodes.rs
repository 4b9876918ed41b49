//! Columns of nodes, for the list that the map becomes when it is zoomed in far enough.

use drawbridge_scenarios::NodeRow;

use super::{Column, Shown, Sort};
use crate::{
    model::{
        groups,
        scene::{Scene, is_usable},
    },
    theme::Tone,
};

/// The columns.
pub(crate) const COLUMNS: [Column<NodeRow>; 10] = [
    column("NAME", |_, node| node.name.clone()),
    column("SLURM", |_, node| slurm(node)),
    column("STATE", |_, node| state(node)).tone(|_, node| tone_of(node)),
    column("CPUS", |_, node| format!("{}/{}", node.cpus_alloc, node.cpus))
        .right(|_, node| Sort::number(node.cpus_alloc)),
    column("MEMORY", |_, node| of_gib(node.memory_alloc_mb, node.memory_mb))
        .right(|_, node| Sort::number(node.memory_alloc_mb)),
    column("GRES", |_, node| gres(node)),
    column("PODS", |_, node| node.pods.len().to_string())
        .right(|_, node| Sort::number(node.pods.len())),
    column("SWITCH", |_, node| groups::group_of(node).to_owned()).shown(Shown::Wide),
    column("PARTITIONS", |_, node| node.partitions.join(",")).shown(Shown::Wide),
    column("REASON", |_, node| node.reason.clone().unwrap_or_default()),
];

const fn column(name: &'static str, text: fn(Scene<'_>, &NodeRow) -> String) -> Column<NodeRow> {
    Column::new(name, text)
}

/// Everything that a filter may look for.
pub(crate) fn hay(node: &NodeRow, hay: &mut String) {
    let texts = [
        node.name.as_str(),
        node.slurm_name.as_deref().unwrap_or_default(),
        &node.state,
        node.reason.as_deref().unwrap_or_default(),
        &node.gres,
        if node.cordoned { "cordoned" } else { "" },
        node.switch.as_deref().unwrap_or_default(),
        &node.partitions.join(" "),
    ];
    for text in texts {
        hay.push_str(text);
        hay.push('\n');
    }
}

fn slurm(node: &NodeRow) -> String {
    node.slurm_name.clone().unwrap_or_else(|| "-".to_owned())
}

fn state(node: &NodeRow) -> String {
    match (node.slurm_name.is_some(), node.cordoned) {
        (false, false) => "not in Slurm".to_owned(),
        (false, true) => "cordoned".to_owned(),
        (true, false) => node.state.clone(),
        (true, true) => format!("{},cordoned", node.state),
    }
}

/// What a node's state means.
pub(crate) fn tone_of(node: &NodeRow) -> Tone {
    match (is_usable(node), node.slurm_name.is_some()) {
        (true, _) => Tone::Plain,
        (false, true) => Tone::Bad,
        (false, false) => Tone::Faint,
    }
}

fn gres(node: &NodeRow) -> String {
    match (node.gres.is_empty(), node.gres_alloc.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("0 of {}", node.gres),
        (false, false) => format!("{} of {}", node.gres_alloc, node.gres),
    }
}

/// `3.5/16`: memory in GiB, with a decimal only where it says something.
pub(crate) fn of_gib(held: u64, total: u64) -> String {
    let gib = |mib: u64| match (mib % 1024 * 10) / 1024 {
        0 => (mib / 1024).to_string(),
        tenth => format!("{}.{tenth}", mib / 1024),
    };
    format!("{}/{}", gib(held), gib(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_decimals_only_where_they_say_something() {
        assert_eq!(of_gib(1536, 16_384), "1.5/16");
        assert_eq!(of_gib(100, 16_000), "0/15.6");
    }
}

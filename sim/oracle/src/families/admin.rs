//! What operators change: nodes, partitions, and slurm.conf itself.

use crate::{
    dice::Dice,
    site::{NodeLine, Site},
    view::View,
};

/// Partitions: their states, limits and nodes; new ones and gone ones.
pub(super) fn partitions(dice: &mut Dice, site: &Site, _seen: &View) -> String {
    let name = site.any_partition(dice);
    let (from, last) = (dice.between(1, site.n_nodes()), site.n_nodes());
    let to = dice.between(from, last);
    let node = site.any_node(dice);
    let change = match dice.below(18) {
        0..=3 => {
            let state = dice.pick(&["UP", "UP", "UP", "DOWN", "DRAIN", "INACTIVE"]);
            format!("State={state}")
        }
        4 => format!("MaxTime={}", dice.pick(&["100", "500", "UNLIMITED"])),
        5 => format!("MaxNodes={}", dice.pick(&["1", "2", "3", "UNLIMITED"])),
        6 => format!("MinNodes={}", dice.between(1, 2)),
        7 => format!("PriorityTier={}", dice.between(1, 3)),
        8 => format!("DefaultTime={}", dice.pick(&["60", "240", "UNLIMITED"])),
        9 => format!("Nodes=n[{from}-{to}]"),
        10 => format!("Nodes=+{node}"),
        11 => format!("Nodes=-{node}"),
        12 => format!("OverSubscribe={}", dice.pick(&["NO", "EXCLUSIVE", "YES:2", "FORCE:2"])),
        13 => format!("LLN={}", dice.pick(&["YES", "NO"])),
        14 => format!("ExclusiveUser={}", dice.pick(&["YES", "NO"])),
        15 => format!("Default={}", dice.pick(&["YES", "YES", "NO"])),
        16 => {
            let more = dice.pick(&["", " PriorityTier=3", " MaxTime=100", " State=DOWN"]);
            return format!("scontrol create PartitionName=new Nodes=n[{from}-{to}]{more}");
        }
        _ => {
            return format!("scontrol delete PartitionName={}", dice.pick(&["new", "low", "high"]));
        }
    };
    format!("scontrol update PartitionName={name} {change}")
}

/// Nodes: what they are worth, what they have, and their states.
pub(super) fn nodes(dice: &mut Dice, site: &Site, seen: &View) -> String {
    let node = site.any_node(dice);
    let state = seen.get(&format!("node {node}"), "state");
    let change = match dice.below(10) {
        0..=1 => format!("Weight={}", dice.one_of(&[1, 5, 10])),
        2..=3 => format!("Features={}", dice.pick(&["a", "b", "a,b", "a,b,c"])),
        4 => format!("ActiveFeatures={}", dice.pick(&["a", "b", "a,b"])),
        5 => "State=FAIL Reason=test".to_owned(),
        6 => "State=UNDRAIN".to_owned(),
        7 => "State=IDLE".to_owned(),
        8 => format!("Gres=gpu:{}", dice.between(1, 3)),
        _ if state.contains("DRAIN") || state.contains("DOWN") || state.contains("FAIL") => {
            "State=RESUME".to_owned()
        }
        _ => "State=DRAIN Reason=test Weight=7".to_owned(),
    };
    format!("scontrol update NodeName={node} {change}")
}

/// slurm.conf: another line or two, then `scontrol reconfigure` or a restart.
pub(super) fn files(dice: &mut Dice, site: &Site, _seen: &View) -> String {
    let verb = dice.pick(&["reconfigure", "restart"]);
    let n_edits = dice.one_of(&[0, 0, 1, 1, 2]);
    let edits: Vec<String> = (0..n_edits).map(|_| edit(dice, site)).collect();
    format!("{verb} {}", edits.join("; ")).trim_end().to_owned()
}

fn edit(dice: &mut Dice, site: &Site) -> String {
    let last = site.n_nodes();
    match dice.below(8) {
        0..=1 => {
            let mut line = site.line(dice.below(site.lines.len()));
            line += dice.pick(&["", " Weight=5", " Weight=20", " Feature=a", " Feature=a,b"]);
            line
        }
        2 => {
            let new = NodeLine::new(1, 1, dice.between(1, 4));
            site.line_of(last + 1, &new)
        }
        3..=4 => {
            let (name, to) = (site.any_partition(dice), dice.between(1, last));
            let default = if name == "main" { " Default=YES" } else { "" };
            let more = dice.pick(&["", " MaxTime=100", " MaxNodes=1", " PriorityTier=3"]);
            format!("PartitionName={name} Nodes=n[1-{to}]{default}{more}")
        }
        5 => format!("-PartitionName={}", dice.pick(&["low", "high"])),
        6 => format!("PartitionName=new Nodes=n[1-{last}] PriorityTier={}", dice.between(1, 2)),
        _ => format!("DefMemPerCPU={}", dice.one_of(&[100, 200])),
    }
}

/// Anything of these.
pub(super) fn anything(dice: &mut Dice, site: &Site, seen: &View) -> String {
    match dice.below(6) {
        0..=2 => partitions(dice, site, seen),
        3..=4 => nodes(dice, site, seen),
        _ => files(dice, site, seen),
    }
}

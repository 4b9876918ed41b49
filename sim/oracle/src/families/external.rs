//! External nodes and jobs of Slurm 26.05: some nodes have no slurmd, some jobs no script, and either
//! kind of job may come to ordinary nodes.

use super::{Mix, table::uneven};
use crate::{dice::Dice, site::Site, view::View};

pub(super) const MIX: Mix =
    Mix { finish: 14, cancel: 24, node: 8, requeue: 3, admin: 10, ..Mix::JOBS };

/// Nodes that can be made while slurmctld runs.
const NEW: [&str; 2] = ["x1", "x2"];

/// Some of the nodes, but not the last ones, have no slurmd.
pub(super) fn site(dice: &mut Dice) -> Site {
    let mut site = uneven(dice).param("MaxNodeCount=16");
    let n_lines = site.lines.len();
    for line in &mut site.lines[..n_lines - 1] {
        if dice.percent(60) {
            line.more = "State=EXTERNAL Feature=outside".into();
        }
    }
    site.last = vec!["NodeSet=outside Feature=outside".into()];
    site.partition("outside Nodes=outside").partition("high PriorityTier=2")
}

/// Jobs with a script and without.
pub(super) fn jobs(dice: &mut Dice, site: &Site) -> String {
    let (nodes, cpus) = (site.n_nodes(), site.cpus());
    let shape = match dice.below(6) {
        0..=1 => format!("-n{}", dice.between(1, cpus)),
        2 => format!("-N{}", dice.between(1, nodes.min(3))),
        3 => format!("-n{} -c{}", dice.between(1, 2), dice.between(1, 2)),
        4 => format!("-N1 --exclusive -t{}", dice.one_of(&[60, 240])),
        _ => format!("-n{} -t{}", dice.between(1, cpus), dice.one_of(&[60, 240])),
    };
    let shape = match dice.below(8) {
        0..=2 => format!("{shape} -p outside"),
        3 => format!("{shape} -p high"),
        4 => format!("{shape} -w {}", site.any_node(dice)),
        _ => shape,
    };
    if dice.percent(60) { format!("--external {shape}") } else { shape }
}

/// Nodes come and go; external ones need nobody to start them.
pub(super) fn admin(dice: &mut Dice, site: &Site, seen: &View) -> String {
    let node = dice.pick(&NEW);
    match dice.below(10) {
        0 => "reconfigure".into(),
        1 => "restart".into(),
        2 => format!("scontrol delete NodeName={}", site.any_node(dice)),
        _ if seen.things.contains_key(&format!("node {node}")) => {
            format!("scontrol delete NodeName={node}")
        }
        _ => {
            let feature = dice.pick(&[" Feature=outside", ""]);
            let cpus = dice.between(1, 4);
            format!(
                "scontrol create NodeName={node} CPUs={cpus} RealMemory=8000 State=EXTERNAL{feature}"
            )
        }
    }
}

//! The next operation, by what there is to operate on.

use super::{Family, Mix};
use crate::{dice::Dice, site::Site, view::View};

pub(crate) fn operation(family: &Family, site: &Site, dice: &mut Dice, seen: &View) -> String {
    let (running, pending) = (seen.jobs_in("RUNNING"), seen.jobs_in("PENDING"));
    let Mix { submit, finish, cancel, hold, node, update, requeue, suspend, admin, wait } =
        family.mix;
    let suspended = seen.jobs_in("SUSPENDED");
    let weights = [
        // A long queue needs no more of it.
        if pending.len() < 8 { submit } else { submit / 6 },
        if running.is_empty() { 0 } else { finish },
        if running.len() + pending.len() == 0 { 0 } else { cancel },
        if pending.is_empty() { 0 } else { hold },
        node,
        if pending.is_empty() { 0 } else { update },
        if running.is_empty() { 0 } else { requeue },
        if running.len() + suspended.len() == 0 { 0 } else { suspend },
        admin,
        wait,
    ];
    match weighted(dice, &weights) {
        0 => format!("sbatch {}", (family.submit)(dice, site)).trim_end().to_owned(),
        1 => finish_one(dice, &running),
        2 => {
            let all: Vec<u32> = running.iter().chain(&pending).copied().collect();
            format!("scancel {}", dice.one_of(&all))
        }
        3 => hold_one(dice, &pending, seen),
        4 => change_node(dice, site, seen),
        5 => update_one(dice, site, &pending),
        6 => {
            let verb = dice.pick(&["requeue", "requeue", "requeuehold"]);
            format!("scontrol {verb} {}", dice.one_of(&running))
        }
        7 => suspend_one(dice, &running, &suspended),
        8 => (family.admin)(dice, site, seen),
        _ => format!("wait {}", dice.one_of(&[2, 10, 40])),
    }
}

fn weighted(dice: &mut Dice, weights: &[usize]) -> usize {
    let mut draw = dice.below(weights.iter().sum());
    for (index, weight) in weights.iter().enumerate() {
        if draw < *weight {
            return index;
        }
        draw -= weight;
    }
    0
}

fn finish_one(dice: &mut Dice, running: &[u32]) -> String {
    let job = dice.one_of(running);
    match dice.below(8) {
        0 => format!("finish {job} 1"),
        1 => format!("finish {job} 3"),
        _ => format!("finish {job}"),
    }
}

fn hold_one(dice: &mut Dice, pending: &[u32], seen: &View) -> String {
    let is_held = |job: &&u32| seen.get(&format!("job {job}"), "reason").starts_with("JobHeld");
    let held: Vec<u32> = pending.iter().filter(is_held).copied().collect();
    if !held.is_empty() && dice.percent(60) {
        return format!("scontrol release {}", dice.one_of(&held));
    }
    format!("scontrol hold {}", dice.one_of(pending))
}

fn change_node(dice: &mut Dice, site: &Site, seen: &View) -> String {
    let node = site.any_node(dice);
    let state = seen.get(&format!("node {node}"), "state");
    if state.contains("DRAIN") || state.contains("DOWN") {
        return format!("scontrol update NodeName={node} State=RESUME");
    }
    let state = if dice.percent(35) { "DOWN" } else { "DRAIN" };
    format!("scontrol update NodeName={node} State={state} Reason=test")
}

fn update_one(dice: &mut Dice, site: &Site, pending: &[u32]) -> String {
    let job = dice.one_of(pending);
    let change = match dice.below(9) {
        0 => format!("Priority={}", dice.between(1, 20) * 1000),
        1 => format!("TimeLimit={}", dice.one_of(&[60, 240, 960])),
        2 => format!("Partition={}", site.any_partition(dice)),
        3 => format!("NumNodes={}", dice.between(1, 3)),
        4 => format!("NumTasks={}", dice.between(1, 6)),
        5 => format!("NumNodes={}-{}", dice.between(1, 2), dice.between(2, 4)),
        6 => format!("Nice={}", dice.between(1, 100)),
        7 => format!("Partition={},{}", site.any_partition(dice), site.any_partition(dice)),
        _ => format!("Priority={}", dice.between(1, 3) * 10_000),
    };
    format!("scontrol update JobId={job} {change}")
}

fn suspend_one(dice: &mut Dice, running: &[u32], suspended: &[u32]) -> String {
    if running.is_empty() || (!suspended.is_empty() && dice.percent(55)) {
        return format!("scontrol resume {}", dice.one_of(suspended));
    }
    format!("scontrol suspend {}", dice.one_of(running))
}

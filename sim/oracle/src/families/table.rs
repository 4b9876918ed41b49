//! The families, and the jobs that each submits.

use drawbridge_sim::Release;

use super::{Family, Mix, admin, corners, external, more};
use crate::{
    dice::Dice,
    site::{NodeLine, Site},
};

const NODES: Mix = Mix { node: 18, hold: 2, ..Mix::JOBS };
const HOLDS: Mix = Mix { hold: 25, ..Mix::JOBS };
const UPDATES: Mix = Mix { update: 25, ..Mix::JOBS };

#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    Family { name: "packing", about: "tasks, nodes and CPUs per task on equal nodes", ..Family::BASE },
    Family { name: "uneven", about: "the same on nodes of several sizes", site: uneven, ..Family::BASE },
    Family { name: "weights", about: "node weights", site: weights, ..Family::BASE },
    Family { name: "sockets", about: "sockets and cores; CR_Core, CR_Socket, CR_CPU", site: sockets, ..Family::BASE },
    Family { name: "threads", about: "hardware threads", site: threads, ..Family::BASE },
    Family { name: "memory", about: "memory per node and per CPU, defaults, whole nodes", site: memory, submit: memories, ..Family::BASE },
    Family { name: "gpus", about: "GPUs per node, task and job", site: gpus, submit: gpu_jobs, ..Family::BASE },
    Family { name: "features", about: "constraints with and, or", site: features, submit: constrained, ..Family::BASE },
    Family { name: "partitions", about: "partitions that share nodes, tiers, jobs in several", site: partitions, submit: in_partitions, ..Family::BASE },
    Family { name: "limits", about: "partitions' limits of nodes and time", site: limits, submit: in_partitions, ..Family::BASE },
    Family { name: "exclusive", about: "whole nodes", submit: exclusive, ..Family::BASE },
    Family { name: "lln", about: "least loaded nodes", site: lln, ..Family::BASE },
    Family { name: "nodelist", about: "nodes asked for and excluded", site: uneven, submit: named_nodes, ..Family::BASE },
    Family { name: "dependencies", about: "what a job waits for", submit: dependent, mix: Mix { finish: 34, ..Mix::JOBS }, ..Family::BASE },
    Family { name: "priorities", about: "priority by size, partition and nice", site: priorities, submit: nice, ..Family::BASE },
    Family { name: "holds", about: "hold and release", mix: HOLDS, ..Family::BASE },
    Family { name: "node_events", about: "nodes drained, down and back", site: corners::node_events, mix: NODES, ..Family::BASE },
    Family { name: "updates", about: "waiting jobs changed", site: partitions, submit: in_partitions, mix: UPDATES, ..Family::BASE },
    Family { name: "gpu_types", about: "GPUs of several types, bound to cores", site: more::gpu_types, submit: more::typed_gpus, ..Family::BASE },
    Family { name: "gpu_shapes", about: "CPUs, memory and tasks per GPU, GPUs per socket", site: gpus, submit: more::gpu_shapes, ..Family::BASE },
    Family { name: "spread", about: "spread, contiguous, fewest nodes, CR_Pack_Nodes", site: more::spread, submit: more::layouts, ..Family::BASE },
    Family { name: "tasks", about: "tasks per socket and core, distribution, hints, overcommit", site: sockets, submit: more::tasks, ..Family::BASE },
    Family { name: "feature_counts", about: "constraints with counts and one-of sets", site: features, submit: more::counted, ..Family::BASE },
    Family { name: "partition_memory", about: "DefMem and MaxMem of partitions and cluster", site: more::partition_memory, submit: more::memory_in, ..Family::BASE },
    Family { name: "special", about: "MemSpecLimit and CoreSpecCount", site: more::special, submit: memories, ..Family::BASE },
    Family { name: "sharing", about: "OverSubscribe, ExclusiveUser, LLN of partitions; --exclusive, -s", site: more::sharing, submit: corners::shared_jobs, ..Family::BASE },
    Family { name: "permits", about: "AllowAccounts, DenyAccounts, AllowGroups, states of partitions", site: more::permits, submit: more::users, mix: more::PARTITIONS, admin: admin::partitions, ..Family::BASE },
    Family { name: "arrays", about: "job arrays, with and without a throttle", submit: more::arrays, mix: Mix { finish: 34, ..Mix::JOBS }, ..Family::BASE },
    Family { name: "licenses", about: "licences", site: more::licenses, submit: more::licensed, ..Family::BASE },
    Family { name: "requeues", about: "requeue, requeuehold, node failures with and without requeue", site: corners::requeues, submit: more::requeued, mix: more::REQUEUES, ..Family::BASE },
    Family { name: "begins", about: "begin times", submit: more::begins, mix: more::WAITS, ..Family::BASE },
    Family { name: "builtin", about: "sched/builtin", site: more::builtin, submit: in_partitions, ..Family::BASE },
    Family { name: "depths", about: "limits of what a cycle looks at", site: more::depths, submit: timed, ..Family::BASE },
    Family { name: "changes", about: "nodes, partitions and slurm.conf changed", site: corners::restarted, submit: in_partitions, mix: corners::FILES, admin: admin::anything, ..Family::BASE },
    Family { name: "backfill", about: "time limits that let small jobs pass", submit: timed, ..Family::BASE },
    Family { name: "boards", about: "boards, sockets and threads", site: corners::boards, submit: more::tasks, ..Family::BASE },
    Family { name: "gpu_cores", about: "GPUs near cores, enforce-binding", site: corners::gpu_cores, submit: corners::near_gpus, ..Family::BASE },
    Family { name: "gpu_defaults", about: "DefCpuPerGPU and DefMemPerGPU", site: corners::gpu_defaults, submit: gpu_jobs, ..Family::BASE },
    Family { name: "cpu_limits", about: "MaxCPUsPerNode and MaxCPUsPerSocket", site: corners::cpu_limits, submit: in_partitions, ..Family::BASE },
    Family { name: "enforced", about: "EnforcePartLimits, Alternate", site: corners::enforced, submit: corners::users_with_memory, ..Family::BASE },
    Family { name: "node_sets", about: "NodeSet by feature, DownNodes, State of nodes", site: corners::node_sets, submit: in_partitions, mix: NODES, ..Family::BASE },
    Family { name: "core_orders", about: "CR_CORE_DEFAULT_DIST_BLOCK, CpuSpecList, LLN with CR_Pack_Nodes", site: corners::core_orders, submit: more::tasks, ..Family::BASE },
    Family { name: "quotas", about: "bf_max_job_user and other limits of plans, bf_licenses, defer", site: corners::quotas, submit: corners::quota_jobs, ..Family::BASE },
    Family { name: "more_dependencies", about: "aftercorr, delays, any of several, kill-on-invalid-dep", submit: corners::dependencies, mix: Mix { finish: 34, ..Mix::JOBS }, ..Family::BASE },
    Family { name: "deadlines", about: "deadlines and --time-min", submit: corners::deadlines, mix: more::WAITS, ..Family::BASE },
    Family { name: "weights_of_jobs", about: "PriorityWeightTRES, PriorityFlags, PriorityFavorSmall", site: corners::mixed_priorities, submit: nice, ..Family::BASE },
    Family { name: "suspends", about: "suspend and resume", site: uneven, mix: corners::SUSPENDS, ..Family::BASE },
    Family { name: "partition_admin", about: "partitions updated, created and deleted", site: partitions, submit: more::users, mix: corners::ADMIN, admin: admin::partitions, ..Family::BASE },
    Family { name: "node_admin", about: "weights, features, generic resources and states of nodes updated", site: more::gpu_features, submit: more::gpus_or_features, mix: corners::ADMIN, admin: admin::nodes, ..Family::BASE },
    Family { name: "files", about: "slurm.conf changed, then reconfigure or restart", site: corners::restarted, submit: in_partitions, mix: corners::FILES, admin: admin::files, ..Family::BASE },
    Family { name: "rhythms", about: "how often schedulers look, bf_min_age_reserve, bf_window, bf_resolution", site: corners::rhythms, submit: corners::quota_jobs, ..Family::BASE },
    Family { name: "dynamic", about: "nodes that come with slurmd -Z and are deleted, NodeSet by feature", site: corners::dynamic, submit: in_partitions, mix: corners::DYNAMIC, admin: corners::dynamic_nodes, ..Family::BASE },
    Family { name: "external", about: "nodes without slurmd, jobs without script (26.05)", site: external::site, submit: external::jobs, mix: external::MIX, admin: external::admin, release: Some(Release::V26_05) },
];

pub(super) fn plain(dice: &mut Dice) -> Site {
    let line = NodeLine::new(dice.between(2, 5), dice.between(1, 2), dice.between(2, 4));
    Site::new("CR_Core_Memory").param("DefMemPerCPU=100").nodes(line).partition("main Default=YES")
}

pub(super) fn uneven(dice: &mut Dice) -> Site {
    let mut site = Site::new("CR_Core_Memory").param("DefMemPerCPU=100");
    for _ in 0..dice.between(2, 4) {
        let (count, sockets) = (dice.between(1, 2), dice.between(1, 2));
        site = site.nodes(NodeLine::new(count, sockets, dice.between(1, 5)));
    }
    site.partition("main Default=YES")
}

fn weights(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    for line in &mut site.lines {
        line.more = format!("Weight={}", dice.one_of(&[1, 1, 5, 10, 20]));
    }
    site
}

fn sockets(dice: &mut Dice) -> Site {
    let unit = dice.pick(&[
        "CR_Core_Memory",
        "CR_Socket_Memory",
        "CR_CPU_Memory",
        "CR_Core",
        "CR_Socket",
        "CR_CPU",
    ]);
    let mut site = Site::new(unit).param("DefMemPerCPU=100");
    for _ in 0..dice.between(1, 3) {
        let (count, sockets) = (dice.between(1, 2), dice.between(1, 4));
        site = site.nodes(NodeLine::new(count, sockets, dice.between(1, 4)));
    }
    site.partition("main Default=YES")
}

fn threads(dice: &mut Dice) -> Site {
    let unit =
        dice.pick(&["CR_Core_Memory", "CR_CPU_Memory", "CR_Core_Memory,CR_ONE_TASK_PER_CORE"]);
    let mut site = Site::new(unit).param("DefMemPerCPU=100");
    for _ in 0..dice.between(1, 3) {
        let (count, sockets) = (dice.between(1, 2), dice.between(1, 2));
        let mut line = NodeLine::new(count, sockets, dice.between(1, 3));
        line.threads = 2;
        site = site.nodes(line);
    }
    site.partition("main Default=YES")
}

fn memory(dice: &mut Dice) -> Site {
    let mut site = Site::new("CR_Core_Memory");
    match dice.below(3) {
        0 => site = site.param("DefMemPerCPU=500"),
        1 => site = site.param("DefMemPerNode=3000"),
        _ => {}
    }
    for _ in 0..dice.between(1, 3) {
        let mut line = NodeLine::new(dice.between(1, 2), 1, dice.between(2, 6));
        line.memory = dice.one_of(&[4000, 8000, 10000]);
        site = site.nodes(line);
    }
    site.partition("main Default=YES")
}

pub(super) fn gpus(dice: &mut Dice) -> Site {
    let mut site = Site::new("CR_Core_Memory").param("DefMemPerCPU=100");
    for _ in 0..dice.between(1, 3) {
        let (count, sockets) = (dice.between(1, 2), dice.between(1, 2));
        let mut line = NodeLine::new(count, sockets, dice.between(2, 4));
        if dice.percent(85) {
            line.gres = format!("gpu:{}", dice.between(1, 4));
        }
        site = site.nodes(line);
    }
    site.lines[0].gres = format!("gpu:{}", dice.between(1, 4));
    site.partition("main Default=YES")
}

pub(super) fn features(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    for (index, line) in site.lines.iter_mut().enumerate() {
        let names = ["a", "b", "c"].iter().filter(|_| dice.percent(50));
        let mut names: Vec<_> = names.copied().collect();
        if index == 0 {
            names = vec!["a", "b", "c"];
        }
        if !names.is_empty() {
            line.more = format!("Feature={}", names.join(","));
        }
    }
    site
}

pub(super) fn partitions(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    let last = site.n_nodes();
    site.partitions = vec!["main Default=YES".into()];
    let mut range = |tier: &str, name: &str| {
        let from = dice.between(1, last);
        let to = dice.between(from, last);
        format!("{name} Nodes=n[{from}-{to}]{tier}")
    };
    site.partitions.push(range(" PriorityTier=2", "high"));
    site.partitions.push(range("", "low"));
    site
}

fn limits(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    for words in &mut site.partitions {
        match dice.below(4) {
            0 => *words += &format!(" MaxNodes={}", dice.between(1, 3)),
            1 => *words += &format!(" MaxTime={}", dice.one_of(&[100, 500])),
            2 => *words += &format!(" MinNodes={} MaxTime=600 DefaultTime=60", dice.between(1, 2)),
            _ => {}
        }
    }
    site
}

fn lln(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    site.params[1] = "SelectTypeParameters=CR_Core_Memory,CR_LLN".into();
    site
}

fn priorities(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    let weight = |dice: &mut Dice| dice.one_of(&[0, 100, 1000, 12345]);
    if dice.percent(20) {
        return site.param("PriorityType=priority/basic");
    }
    for (index, words) in site.partitions.iter_mut().enumerate() {
        *words += &format!(" PriorityJobFactor={}", (index * 7) % 11);
    }
    let (size, part) = (weight(dice), weight(dice));
    site.param("PriorityType=priority/multifactor")
        .param(&format!("PriorityWeightJobSize={size}"))
        .param(&format!("PriorityWeightPartition={part}"))
}

/// Tasks, nodes, CPUs per task: any mixture of them; now and then more than there is.
pub(super) fn shapes(dice: &mut Dice, site: &Site) -> String {
    let (nodes, cpus) = (site.n_nodes(), site.cpus());
    let per_task = if dice.percent(30) { dice.between(1, cpus.min(4)) } else { 1 };
    let too_much = dice.percent(3);
    let mut words: Vec<String> = vec![];
    let mut room = site.room(nodes, per_task);
    if dice.percent(45) {
        let min = dice.between(1, nodes.min(4)) + usize::from(too_much);
        let most = dice.between(min, nodes.max(min));
        let max = if dice.percent(25) { format!("-{most}") } else { String::new() };
        words.push(format!("-N{min}{max}"));
        room = site.room(if max.is_empty() { min } else { most }, per_task);
    }
    if dice.percent(65) {
        let most = (cpus + cpus / 2).min(if too_much { 99 } else { room.max(1) });
        words.push(format!("-n{}", dice.between(1, most)));
    }
    if 1 < per_task {
        words.push(format!("-c{per_task}"));
    }
    if dice.percent(12) {
        words.push(format!("--ntasks-per-node={}", dice.between(1, (cpus / per_task).clamp(1, 4))));
    }
    if dice.percent(30) {
        words.push(format!("-t{}", dice.one_of(&[60, 240, 960])));
    }
    words.join(" ")
}

fn memories(dice: &mut Dice, site: &Site) -> String {
    let memory = site.memory();
    let amount = match dice.below(5) {
        0 => String::new(),
        1 => format!("--mem={}", dice.between(1, 8) * memory / 8),
        2 => format!("--mem={}", dice.between(1, 30) * 100),
        3 => format!("--mem-per-cpu={}", dice.between(1, 12) * 250),
        _ => format!("--mem-per-cpu={}", dice.between(1, 4) * 1000),
    };
    let few = ["-n1", "-n2", "-n3", "-N2", "-N2 -n3", "-c2", "-n2 -c2"];
    format!("{} {amount}", dice.pick(&few))
}

pub(super) fn gpu_jobs(dice: &mut Dice, site: &Site) -> String {
    let count = dice.between(1, 3);
    let wish = match dice.below(6) {
        0 => format!("--gres=gpu:{count}"),
        1 => format!("--gpus-per-node={count}"),
        2 => format!("--gpus={}", dice.between(1, 5)),
        3 => format!("-n{} --gpus-per-task=1", dice.between(1, 3)),
        4 => format!("-N{} --gres=gpu:{count}", dice.between(1, 2)),
        _ => return shapes(dice, site),
    };
    let cpus = if wish.contains("-n") || dice.percent(50) {
        String::new()
    } else {
        format!(" -c{}", dice.between(1, 3))
    };
    format!("{wish}{cpus}")
}

pub(super) fn constrained(dice: &mut Dice, site: &Site) -> String {
    let wish = dice.pick(&["a", "b", "c", "'a&b'", "'a|b'", "'b&c'", "'b|c'", "'a&b&c'", "'a,b'"]);
    format!("{} -C {wish}", shapes(dice, site)).trim_start().to_owned()
}

pub(super) fn in_partitions(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    let name = site.any_partition(dice);
    match dice.below(10) {
        0..=1 => shape,
        2 => format!("{shape} -p {name},{}", site.any_partition(dice)),
        _ => format!("{shape} -p {name}"),
    }
}

fn exclusive(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    if dice.percent(40) { format!("{shape} --exclusive") } else { shape }
}

fn named_nodes(dice: &mut Dice, site: &Site) -> String {
    let (shape, node) = (shapes(dice, site), site.any_node(dice));
    match dice.below(4) {
        0 => format!("{shape} -w {node}"),
        1 => format!("{shape} -x {node}"),
        2 => format!("{shape} -w {node},{}", site.any_node(dice)),
        _ => shape,
    }
}

fn dependent(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    let kind = dice.pick(&["after", "afterok", "afternotok", "afterany", "singleton"]);
    match dice.below(10) {
        0..=3 => shape,
        _ if kind == "singleton" => format!("{shape} -d singleton -J same"),
        4..=5 => format!("{shape} -d {kind}:{},{kind}:{}", dice.between(1, 4), dice.between(1, 8)),
        _ => format!("{shape} -d {kind}:{}", dice.between(1, 8)),
    }
}

pub(super) fn nice(dice: &mut Dice, site: &Site) -> String {
    let job = in_partitions(dice, site);
    match dice.below(4) {
        0 => format!("{job} --nice={}", dice.between(1, 500)),
        1 => format!("{job} --priority={}", dice.between(1, 9) * 100),
        _ => job,
    }
}

fn timed(dice: &mut Dice, site: &Site) -> String {
    let (nodes, cpus) = (site.n_nodes(), site.cpus());
    let limit = dice.one_of(&[60, 240, 960, 3840]);
    match dice.below(3) {
        0 => format!("-N{} --exclusive -t{limit}", dice.between(1, nodes)),
        1 => format!("-n{} -t{limit}", dice.between(1, cpus)),
        _ => format!("-N{} -n{} -t{limit}", dice.between(1, 2), dice.between(2, cpus.max(2))),
    }
}

//! Clusters and jobs for what the plain families leave out.

use super::{
    Mix,
    more::{self, gpu_shapes},
    table::{gpus, in_partitions, partitions, plain, shapes, uneven},
};
use crate::{
    dice::Dice,
    site::{NodeLine, Site},
    view::View,
};

pub(super) const SUSPENDS: Mix = Mix { suspend: 22, finish: 16, ..Mix::JOBS };
pub(super) const ADMIN: Mix = Mix { admin: 30, ..Mix::JOBS };
pub(super) const FILES: Mix = Mix { admin: 14, ..Mix::JOBS };
pub(super) const DYNAMIC: Mix = Mix { admin: 20, node: 4, ..Mix::JOBS };

/// Partitions on a controller that starts anew now and then. Its first backfill cycle comes after the
/// first round of pings: with as many seconds to both, chance says which is first.
pub(super) fn restarted(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    for word in site.scheduler.iter_mut().filter(|word| word.starts_with("bf_interval")) {
        *word = "bf_interval=7".into();
    }
    site
}

/// Schedulers in another rhythm, and jobs that are too young to hold others back.
pub(super) fn rhythms(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    // A main scheduler that looks seldom has no backfill beside it: chance would say which is first.
    let main: &[&str] = &["sched_interval=3", "sched_min_interval=2000000", "batch_sched_delay=2"];
    let backfill: &[&str] = &[
        "bf_interval=8",
        "bf_min_age_reserve=6000",
        "bf_min_age_reserve=1",
        "bf_max_job_start=2",
        "bf_resolution=300",
        "bf_window=120",
    ];
    let builtin = dice.percent(35);
    let words = if builtin { main } else { backfill };
    if builtin {
        site = site.param("SchedulerType=sched/builtin");
    }
    for _ in 0..dice.between(1, 3) {
        let word = dice.pick(words);
        let key = word.split('=').next().unwrap_or_default();
        site.scheduler.retain(|other| other.split('=').next() != Some(key));
        site.scheduler.push(word.to_owned());
    }
    site
}

/// Nodes of which no file knows come and go with their slurmds.
pub(super) fn dynamic(dice: &mut Dice) -> Site {
    let mut site = uneven(dice).param("MaxNodeCount=16");
    site.last = vec!["NodeSet=dyn Feature=dyn".into()];
    site.partition("dyn Nodes=dyn").partition("high PriorityTier=2")
}

pub(super) fn dynamic_nodes(dice: &mut Dice, site: &Site, seen: &View) -> String {
    let node = dice.pick(&["d1", "d2", "d3"]);
    match dice.below(12) {
        0 => "reconfigure".into(),
        1 => "restart".into(),
        2 => format!("scontrol delete NodeName={}", site.any_node(dice)),
        3 => format!("scontrol update NodeName={} Weight=7", site.any_node(dice)),
        _ if seen.things.contains_key(&format!("node {node}")) => {
            format!("scontrol delete NodeName={node}")
        }
        _ => {
            let feature = dice.pick(&[" Feature=dyn", " Feature=dyn,fast", ""]);
            let (sockets, cores) = (dice.between(1, 2), dice.between(1, 4));
            let cpus = sockets * cores;
            format!(
                "dynamic_slurmd {node} CPUs={cpus} Sockets={sockets} CoresPerSocket={cores} \
                 RealMemory=8000{feature}"
            )
        }
    }
}

/// Boards of sockets.
pub(super) fn boards(dice: &mut Dice) -> Site {
    let mut site = Site::new(dice.pick(&["CR_Core_Memory", "CR_Socket_Memory", "CR_CPU_Memory"]))
        .param("DefMemPerCPU=100");
    for _ in 0..dice.between(1, 3) {
        let mut line = NodeLine::new(dice.between(1, 2), dice.between(1, 2), dice.between(1, 3));
        line.boards = dice.between(1, 2);
        line.threads = dice.between(1, 2);
        site = site.nodes(line);
    }
    site.partition("main Default=YES")
}

/// GPUs with cores near them, by socket, in order or crossed.
pub(super) fn gpu_cores(dice: &mut Dice) -> Site {
    let mut site = Site::new("CR_Core_Memory").param("DefMemPerCPU=100");
    let mut first = 1;
    for _ in 0..dice.between(1, 3) {
        let (count, cores) = (dice.between(1, 2), dice.between(2, 4));
        let mut line = NodeLine::new(count, 2, cores);
        let each = dice.between(1, 2);
        line.gres = format!("gpu:{}", 2 * each);
        let names = site.names(first, count);
        first += count;
        let sides = [format!("0-{}", cores - 1), format!("{cores}-{}", 2 * cores - 1)];
        let crossed = dice.percent(30);
        for (at, side) in sides.iter().enumerate() {
            let (from, to) = (at * each, at * each + each - 1);
            let files = if each == 1 { from.to_string() } else { format!("[{from}-{to}]") };
            let near = if crossed { &sides[1 - at] } else { side };
            site.gres_conf +=
                &format!("NodeName={names} Name=gpu File=/dev/g{files} Cores={near}\n");
        }
        site = site.nodes(line);
    }
    site.partition("main Default=YES")
}

pub(super) fn near_gpus(dice: &mut Dice, site: &Site) -> String {
    let job =
        if dice.percent(60) { super::table::gpu_jobs(dice, site) } else { gpu_shapes(dice, site) };
    if dice.percent(15) { format!("{job} --gres-flags=enforce-binding") } else { job }
}

/// CPUs and memory that come with a GPU.
pub(super) fn gpu_defaults(dice: &mut Dice) -> Site {
    let mut site = gpus(dice);
    let words = ["DefCpuPerGPU=1", "DefCpuPerGPU=2", "DefMemPerGPU=1000", "DefMemPerGPU=3000"];
    match dice.below(3) {
        0 => site = site.param(dice.pick(&words)),
        1 => site.partitions[0] += &format!(" {}", dice.pick(&words)),
        _ => {
            site = site.param(dice.pick(&words[..2]));
            site.partitions[0] += &format!(" {}", dice.pick(&words));
        }
    }
    site
}

/// CPUs of a node that a partition may use.
pub(super) fn cpu_limits(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    for words in &mut site.partitions {
        match dice.below(4) {
            0 => *words += &format!(" MaxCPUsPerNode={}", dice.between(1, 5)),
            1 => *words += &format!(" MaxCPUsPerSocket={}", dice.between(1, 3)),
            _ => {}
        }
    }
    site
}

/// Limits of partitions that are looked at when a job comes in.
pub(super) fn enforced(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    // Where alternates lead round in a circle, slurmctld hangs.
    let alternates = [" State=DRAIN Alternate=high", " State=DRAIN Alternate=low"];
    for (at, words) in site.partitions.iter_mut().enumerate() {
        *words += match dice.below(8) {
            0 => " MaxNodes=1",
            1 => " MaxTime=100",
            2 => " MinNodes=2",
            3 => " AllowGroups=alice,bob",
            4 => " MaxMemPerCPU=150",
            5 => " State=DOWN",
            6 => alternates.get(at).unwrap_or(&" State=DRAIN"),
            _ => "",
        };
    }
    site.param(dice.pick(&["EnforcePartLimits=ANY", "EnforcePartLimits=ALL"]))
}

pub(super) fn users_with_memory(dice: &mut Dice, site: &Site) -> String {
    let job = more::users(dice, site);
    if dice.percent(25) {
        format!("{job} --mem-per-cpu={}", dice.one_of(&[50, 150, 300, 20000]))
    } else {
        job
    }
}

/// Nodes by feature, and nodes that aren't in service from the start.
pub(super) fn node_sets(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    for line in &mut site.lines {
        line.more = match dice.below(6) {
            0..=1 => "Feature=big".into(),
            2..=3 => "Feature=big,new".into(),
            4 => "State=DRAIN Reason=test".into(),
            _ => String::new(),
        };
    }
    site.lines[0].more = "Feature=big".into();
    let set = dice.pick(&["NodeSet=few Feature=big", "NodeSet=few Nodes=n1 Feature=big"]);
    site.last = vec![set.to_owned(), "DownNodes=n2 State=DOWN Reason=test".to_owned()];
    site.partition("high Nodes=few PriorityTier=2").partition("low Nodes=few,n2")
}

/// A job's nodes to itself or to its user, and CPUs that it lets others have.
pub(super) fn shared_jobs(dice: &mut Dice, site: &Site) -> String {
    let job = more::users(dice, site);
    match dice.below(6) {
        0 => format!("{job} --exclusive=user"),
        1 => format!("{job} --exclusive"),
        2..=3 => format!("{job} -s"),
        _ => job,
    }
}

/// Cores dealt out in another way, and cores kept from jobs.
pub(super) fn core_orders(dice: &mut Dice) -> Site {
    let unit = dice.pick(&[
        "CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK",
        "CR_Core_Memory,CR_ONE_TASK_PER_CORE",
        "CR_Core_Memory,CR_LLN,CR_Pack_Nodes",
        "CR_Socket_Memory,CR_CORE_DEFAULT_DIST_BLOCK",
    ]);
    let mut site = Site::new(unit).param("DefMemPerCPU=100");
    for _ in 0..dice.between(1, 3) {
        let mut line = NodeLine::new(dice.between(1, 2), dice.between(1, 2), dice.between(2, 4));
        line.threads = dice.between(1, 2);
        if dice.percent(30) {
            line.more = dice.pick(&["CpuSpecList=0", "CoreSpecCount=1", "MemSpecLimit=500"]).into();
        }
        site = site.nodes(line);
    }
    site.partition("main Default=YES")
}

/// What keeps backfill from planning, by user, partition, age and worth.
pub(super) fn quotas(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    let words = [
        "bf_max_job_user=2",
        "bf_max_job_user_part=1",
        "bf_max_job_part=2",
        "bf_job_part_count_reserve=1",
        "bf_min_prio_reserve=5000",
        "bf_max_job_array_resv=1",
        "bf_node_space_size=4",
        "bf_window_linear=60",
        "bf_running_job_reserve",
        "bf_licenses",
        "bf_busy_nodes",
        "defer",
        "defer_batch",
    ];
    for _ in 0..dice.between(1, 2) {
        site.scheduler.push(dice.pick(&words).to_owned());
    }
    site.scheduler.dedup();
    site.param("Licenses=cad:2,db:6")
}

pub(super) fn quota_jobs(dice: &mut Dice, site: &Site) -> String {
    let job = match dice.below(3) {
        0 => more::users(dice, site),
        1 => more::licensed(dice, site),
        _ => in_partitions(dice, site),
    };
    let limit = dice.one_of(&[60, 240, 960, 3840]);
    let job = if job.contains("-t") { job } else { format!("{job} -t{limit}") };
    match dice.below(6) {
        0 => format!("{job} --priority={}", dice.between(1, 9) * 1000),
        1 if !job.contains("-a") => format!("{job} --array=0-{}", dice.between(1, 3)),
        2 => format!("{job} --time-min=30"),
        _ => job,
    }
}

/// Dependencies of every kind.
pub(super) fn dependencies(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    let (one, other) = (dice.between(1, 6), dice.between(1, 9));
    let kind = dice.pick(&["after", "afterok", "afternotok", "afterany", "aftercorr"]);
    match dice.below(9) {
        0..=2 => shape,
        3 => format!("{shape} --array=0-2"),
        4 => format!("{shape} --array=0-2 -d {}:{one}", dice.pick(&["afterok", "afterany"])),
        5 => format!("{shape} -d after:{one}+1"),
        6 => format!("{shape} -d {kind}:{one}?afterok:{other}"),
        7 => format!("{shape} -d {kind}:{one}:{other} --kill-on-invalid-dep=yes"),
        _ => format!("{shape} -d {kind}:{one},singleton -J same"),
    }
}

/// Jobs that must have ended at some time.
pub(super) fn deadlines(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    let shape = shape.split(" -t").next().unwrap_or_default().to_owned();
    match dice.below(6) {
        0 => format!("{shape} -t60 --deadline=now+{}", dice.pick(&["2hours", "1minute"])),
        1 => format!("{shape} -t240 --time-min=60 --deadline=now+2hours"),
        2 => format!("{shape} --deadline=now+3hours"),
        3 => format!("{shape} -t240 --deadline=now+2hours"),
        _ => format!("{shape} -t{}", dice.one_of(&[60, 240])),
    }
}

pub(super) fn mixed_priorities(dice: &mut Dice) -> Site {
    let mut site = partitions(dice).param("PriorityType=priority/multifactor");
    let flags = ["SMALL_RELATIVE_TO_TIME", "NO_NORMAL_PART", "NO_NORMAL_TRES", "ACCRUE_ALWAYS"];
    let weight = |dice: &mut Dice| dice.one_of(&[0, 100, 1000, 12345]);
    for (index, words) in site.partitions.iter_mut().enumerate() {
        *words += &format!(" PriorityJobFactor={}", (index * 7) % 11);
    }
    if dice.percent(50) {
        site = site.param(&format!("PriorityFlags={}", dice.pick(&flags)));
    }
    if dice.percent(40) {
        site = site.param("PriorityFavorSmall=YES");
    }
    let (cpu, mem) = (weight(dice), weight(dice));
    let (size, part) = (weight(dice), weight(dice));
    site.param(&format!("PriorityWeightTRES=CPU={cpu},Mem={mem}"))
        .param(&format!("PriorityWeightJobSize={size}"))
        .param(&format!("PriorityWeightPartition={part}"))
}

pub(super) fn node_events(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    site.requeues = true;
    site
}

pub(super) fn requeues(dice: &mut Dice) -> Site {
    let mut site = plain(dice).param("AuthInfo=cred_expire=5");
    site.requeues = true;
    if dice.percent(40) {
        site = site.param(dice.pick(&["RequeueExit=1", "RequeueExitHold=3", "RequeueExit=1-3"]));
    }
    site
}

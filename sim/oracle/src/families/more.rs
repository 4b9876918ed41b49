//! Clusters and jobs of the families that vary one thing at a time.

use super::{
    Mix,
    table::{
        constrained, features, gpu_jobs, gpus, in_partitions, partitions, plain, shapes, uneven,
    },
};
use crate::{
    dice::Dice,
    site::{NodeLine, Site},
};

pub(super) const PARTITIONS: Mix = Mix { admin: 12, ..Mix::JOBS };
pub(super) const REQUEUES: Mix = Mix { requeue: 14, node: 8, wait: 12, ..Mix::JOBS };
pub(super) const WAITS: Mix = Mix { wait: 20, ..Mix::JOBS };

pub(super) fn gpu_types(dice: &mut Dice) -> Site {
    let mut site = gpus(dice);
    for (index, line) in site.lines.iter_mut().enumerate() {
        line.gres = match (index + dice.below(3)) % 3 {
            0 => format!("gpu:a100:{}", dice.between(1, 3)),
            1 => format!("gpu:a100:{},gpu:k80:{}", dice.between(1, 2), dice.between(1, 2)),
            _ => format!("gpu:k80:{}", dice.between(1, 4)),
        };
    }
    site.lines[0].gres = "gpu:a100:2,gpu:k80:2".into();
    site
}

pub(super) fn typed_gpus(dice: &mut Dice, site: &Site) -> String {
    let (kind, count) = (dice.pick(&["a100", "k80"]), dice.between(1, 2));
    match dice.below(6) {
        0 => format!("--gres=gpu:{kind}:{count}"),
        1 => format!("--gpus-per-node={kind}:{count}"),
        2 => format!("--gpus={kind}:{count}"),
        3 => format!("--gres=gpu:{count}"),
        4 => format!("-n{} --gpus-per-task={kind}:1", dice.between(1, 3)),
        _ => gpu_jobs(dice, site),
    }
}

pub(super) fn gpu_shapes(dice: &mut Dice, _site: &Site) -> String {
    let count = dice.between(1, 3);
    match dice.below(7) {
        0 => format!("--gpus={count} --cpus-per-gpu={}", dice.between(1, 3)),
        1 => format!("--gres=gpu:{count} --mem-per-gpu={}", dice.between(1, 4) * 500),
        2 => format!("--gpus={count} --mem-per-gpu={}", dice.between(1, 4) * 500),
        3 => format!("--gpus={count} --ntasks-per-gpu={}", dice.between(1, 2)),
        4 => format!("-N1 --gpus-per-socket=1 --sockets-per-node={}", dice.between(1, 2)),
        5 => format!("-n{} --gpus={count}", dice.between(1, 4)),
        _ => format!("-N{} --gpus={count}", dice.between(1, 2)),
    }
}

pub(super) fn spread(dice: &mut Dice) -> Site {
    let mut site = uneven(dice);
    if dice.percent(50) {
        site.params[1] = "SelectTypeParameters=CR_Core_Memory,CR_Pack_Nodes".into();
    }
    site
}

pub(super) fn layouts(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    match dice.below(5) {
        0 => format!("{shape} --spread-job"),
        1 => format!("{shape} --contiguous"),
        2 => format!("{shape} --use-min-nodes"),
        _ => shape,
    }
}

pub(super) fn tasks(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    match dice.below(9) {
        0 => format!("{shape} --ntasks-per-socket={}", dice.between(1, 2)),
        1 => format!("{shape} --ntasks-per-core=1"),
        2 => {
            format!("{shape} -m {}", dice.pick(&["block", "cyclic", "block:block", "block:cyclic"]))
        }
        3 => format!("{shape} --sockets-per-node={}", dice.between(1, 2)),
        4 => format!("{shape} --cores-per-socket={}", dice.between(1, 2)),
        5 => format!("{shape} --mincpus={}", dice.between(1, 4)),
        6 => format!("{shape} -O"),
        _ => shape,
    }
}

pub(super) fn counted(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    let wish =
        dice.pick(&["'[a|b]'", "'a*1&b*1'", "'[a*1&b*1]'", "'[a|b|c]'", "'(a|b)&c'", "'a&b*1'"]);
    format!("{shape} -C {wish}")
}

pub(super) fn partition_memory(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    site.params.retain(|line| !line.starts_with("DefMem"));
    if dice.percent(50) {
        site = site.param(dice.pick(&["DefMemPerCPU=300", "DefMemPerNode=2000"]));
    }
    if dice.percent(40) {
        site = site.param(dice.pick(&["MaxMemPerCPU=2000", "MaxMemPerNode=6000"]));
    }
    for words in &mut site.partitions {
        let more = [
            "",
            " DefMemPerCPU=700",
            " DefMemPerNode=3000",
            " MaxMemPerCPU=1500",
            " MaxMemPerNode=5000",
        ];
        *words += dice.pick(&more);
    }
    for line in &mut site.lines {
        line.memory = 8000;
    }
    site
}

pub(super) fn memory_in(dice: &mut Dice, site: &Site) -> String {
    let job = in_partitions(dice, site);
    match dice.below(5) {
        0 => format!("{job} --mem={}", dice.between(1, 8) * 1000),
        1 => format!("{job} --mem-per-cpu={}", dice.between(1, 10) * 300),
        2 => format!("{job} --mem=0"),
        _ => job,
    }
}

pub(super) fn special(dice: &mut Dice) -> Site {
    let mut site = Site::new("CR_Core_Memory").param("DefMemPerCPU=500");
    for _ in 0..dice.between(1, 3) {
        let mut line = NodeLine::new(dice.between(1, 2), dice.between(1, 2), dice.between(2, 4));
        line.memory = 8000;
        line.more = match dice.below(3) {
            0 => format!("MemSpecLimit={}", dice.between(1, 4) * 500),
            1 => "CoreSpecCount=1".into(),
            _ => String::new(),
        };
        site = site.nodes(line);
    }
    site.partition("main Default=YES")
}

pub(super) fn sharing(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    for words in &mut site.partitions {
        let more = [
            "",
            " OverSubscribe=EXCLUSIVE",
            " OverSubscribe=NO",
            " ExclusiveUser=YES",
            " LLN=YES",
            " OverSubscribe=YES:2",
            " OverSubscribe=FORCE:2",
        ];
        *words += dice.pick(&more);
    }
    site
}

pub(super) fn users(dice: &mut Dice, site: &Site) -> String {
    let job = in_partitions(dice, site);
    let user = dice.pick(&["alice", "bob", "carol"]);
    match dice.below(6) {
        0..=2 => format!("{job} --uid={user}"),
        3 => format!("{job} --uid={user} -A {}", dice.pick(&["phys", "chem"])),
        4 => format!("{job} -A {}", dice.pick(&["phys", "chem"])),
        _ => job,
    }
}

pub(super) fn permits(dice: &mut Dice) -> Site {
    let mut site = partitions(dice);
    for words in &mut site.partitions {
        let more = [
            "",
            " AllowAccounts=phys",
            " DenyAccounts=chem",
            " AllowGroups=alice,bob",
            " State=DOWN",
            " State=DRAIN",
            " RootOnly=YES",
            " DisableRootJobs=YES",
        ];
        *words += dice.pick(&more);
    }
    site
}

pub(super) fn arrays(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    let last = dice.between(1, 4);
    match dice.below(5) {
        0 => shape,
        1 => format!("{shape} --array=0-{last}%{}", dice.between(1, 2)),
        2 => format!("{shape} --array=1,3,{}", 4 + last),
        _ => format!("{shape} --array=0-{last}"),
    }
}

pub(super) fn licenses(dice: &mut Dice) -> Site {
    let counts = (dice.between(1, 4), dice.between(2, 8));
    plain(dice).param(&format!("Licenses=cad:{},db:{}", counts.0, counts.1))
}

pub(super) fn licensed(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    match dice.below(5) {
        0 => format!("{shape} -L cad"),
        1 => format!("{shape} -L cad:{}", dice.between(1, 3)),
        2 => format!("{shape} -L db:{},cad:1", dice.between(1, 3)),
        3 => format!("{shape} -L db:{}", dice.between(1, 5)),
        _ => shape,
    }
}

pub(super) fn requeued(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    match dice.below(3) {
        0 => format!("{shape} --requeue"),
        1 => format!("{shape} --no-requeue"),
        _ => shape,
    }
}

pub(super) fn begins(dice: &mut Dice, site: &Site) -> String {
    let shape = shapes(dice, site);
    match dice.below(3) {
        0 => format!("{shape} --begin=now+{}", dice.one_of(&[20, 30])),
        1 => format!("{shape} --begin=now+1hour"),
        _ => shape,
    }
}

pub(super) fn builtin(dice: &mut Dice) -> Site {
    partitions(dice).param("SchedulerType=sched/builtin")
}

pub(super) fn depths(dice: &mut Dice) -> Site {
    let mut site = plain(dice);
    let words = [
        "default_queue_depth=3",
        "partition_job_depth=2",
        "bf_max_job_test=2",
        "bf_max_job_part=2",
        "bf_max_job_start=1",
        "bf_continue",
        "bf_window=300",
        "bf_resolution=600",
        "sched_max_job_start=1",
        "bf_busy_nodes",
        "bf_one_resv_per_job",
    ];
    for _ in 0..dice.between(1, 2) {
        site.scheduler.push(dice.pick(&words).to_owned());
    }
    site.scheduler.dedup();
    site
}

pub(super) fn gpu_features(dice: &mut Dice) -> Site {
    let mut site = features(dice);
    for line in &mut site.lines {
        if dice.percent(60) {
            line.gres = format!("gpu:{}", dice.between(1, 3));
        }
    }
    site.lines[0].gres = "gpu:2".into();
    site
}

pub(super) fn gpus_or_features(dice: &mut Dice, site: &Site) -> String {
    if dice.percent(35) { gpu_jobs(dice, site) } else { constrained(dice, site) }
}

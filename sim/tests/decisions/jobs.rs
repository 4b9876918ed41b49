//! Jobs of every shape, as sbatch's flags.

use crate::{cluster::Cluster, dice::Dice};

const LIMITS: &[&str] = &["5", "10", "30", "60", "60", "120", "240", "600"];

pub(crate) fn job(dice: &mut Dice, cluster: &Cluster) -> String {
    let mut words = vec![size(dice, cluster)];
    let limit = dice.pick(LIMITS);
    if !dice.percent(5) {
        words.push(format!("-t {limit}"));
    }
    if dice.percent(if cluster.plain { 4 } else { 45 }) {
        words.push(more(dice, cluster));
    }
    if cluster.gpus && dice.percent(30) {
        words.push(
            dice.pick(&[
                "--gres=gpu:1",
                "--gres=gpu:2",
                "--gpus=3",
                "--gpus-per-task=1",
                "--gpus-per-node=1",
                "--gpus=2 --cpus-per-gpu=2",
                "--gpus=2 --mem-per-gpu=500",
            ])
            .to_owned(),
        );
    }
    if 1 < cluster.partitions && dice.percent(60) {
        let one = dice.between(1, cluster.partitions as u64) - 1;
        let other = dice.between(1, cluster.partitions as u64) - 1;
        words.push(match one == other || dice.percent(60) {
            true => format!("-p p{one}"),
            false => format!("-p p{one},p{other}"),
        });
    }
    let minutes: u64 = limit.parse().unwrap();
    let seconds = match dice.between(1, 10) {
        1 => 5,
        2 => minutes * 60 + 100,
        part => minutes * 60 * part / 10,
    };
    words.push(format!("--wrap 'sleep {seconds}'"));
    words.join(" ")
}

fn size(dice: &mut Dice, cluster: &Cluster) -> String {
    // Most are small, some take a good part of the machine.
    let part = |dice: &mut Dice, all: u64| {
        let most = if dice.percent(15) { all } else { all.div_ceil(8) };
        dice.between(1, most.max(2))
    };
    let (nodes, cpus) = (part(dice, cluster.nodes), part(dice, cluster.cpus));
    if cluster.plain && dice.percent(90) {
        return format!("-n{cpus}");
    }
    match dice.between(1, 10) {
        1 => format!("-N{nodes}"),
        2 => format!("-N{nodes} --exclusive"),
        3 => format!("-N{}-{nodes}", nodes.div_ceil(2)),
        4 => format!("-N{nodes} -n{}", nodes + cpus / 2),
        5 => format!("-n{} -c{}", cpus.div_ceil(2), dice.between(2, 3)),
        6 => format!("-N{nodes} --ntasks-per-node={}", dice.between(1, 2)),
        _ => format!("-n{cpus}"),
    }
}

fn more(dice: &mut Dice, cluster: &Cluster) -> String {
    let node = dice.between(1, cluster.nodes);
    match dice.between(1, 20) {
        1 => "--exclusive".to_owned(),
        2 => "--exclusive=user".to_owned(),
        3 => "--contiguous".to_owned(),
        4 => "--spread-job".to_owned(),
        5 => "--use-min-nodes".to_owned(),
        6 => "--oversubscribe".to_owned(),
        7 => "--overcommit".to_owned(),
        8 => format!("-w n{node}"),
        9 => format!("-x n{node}"),
        10 => format!("-C {}", dice.pick(&["a", "b", "'a&b'", "'a|b'", "'[a*1&b*1]'"])),
        11 => format!("--mem={}", dice.between(1, 10) * 400),
        12 => format!("--mem-per-cpu={}", dice.between(1, 10) * 200),
        13 => "--mem=0".to_owned(),
        14 => format!("--array=1-{}{}", dice.between(2, 8), dice.pick(&["", "%2"])),
        15 => format!("-d {}:{}", dice.pick(&["afterany", "afterok"]), dice.between(1, 300)),
        16 => format!("--begin=now+{}", dice.between(60, 4000)),
        17 => format!("--time-min={}", dice.pick(&["1", "5", "20"])),
        18 => "-L lic:2".to_owned(),
        19 => format!("--nice={}", dice.between(0, 1000)),
        _ => dice
            .pick(&[
                "--ntasks-per-core=1",
                "--ntasks-per-socket=1",
                "--threads-per-core=1",
                "--sockets-per-node=1",
                "-m plane=2",
                "-m block:block",
            ])
            .to_owned(),
    }
}

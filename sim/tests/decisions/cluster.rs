//! A cluster as slurm.conf describes it.

use crate::dice::Dice;

/// A cluster, and what there is to ask it for.
pub(crate) struct Cluster {
    pub(crate) conf: String,
    pub(crate) partitions: usize,
    pub(crate) nodes: u64,
    pub(crate) cpus: u64,
    pub(crate) gpus: bool,
    /// Nothing but CPUs, of many small nodes.
    pub(crate) plain: bool,
}

const UNITS: &[&str] = &[
    "CR_CPU",
    "CR_CPU",
    "CR_CPU_Memory",
    "CR_Core",
    "CR_Core_Memory",
    "CR_Core_Memory",
    "CR_Core_Memory,CR_LLN",
    "CR_Core_Memory,CR_ONE_TASK_PER_CORE",
    "CR_Core,CR_CORE_DEFAULT_DIST_BLOCK",
    "CR_Core,CR_Pack_Nodes",
    "CR_Socket",
    "CR_Socket_Memory",
];

const SCHEDULER: &[&str] = &[
    "bf_max_job_test=20",
    "bf_max_job_user=10",
    "bf_max_job_part=15",
    "bf_max_job_start=3",
    "bf_window=120",
    "bf_window=2880",
    "bf_resolution=300",
    "bf_resolution=1",
    "bf_interval=10",
    "bf_interval=120",
    "bf_window_linear=300",
    "bf_running_job_reserve",
    "bf_licenses,bf_running_job_reserve",
    "bf_busy_nodes",
    "bf_one_resv_per_job",
    "bf_job_part_count_reserve=3",
    "bf_min_age_reserve=600",
    "bf_min_prio_reserve=4294901000",
    "bf_max_job_array_resv=4",
    "bf_node_space_size=40",
    "batch_sched_delay=20",
    "default_queue_depth=5",
    "partition_job_depth=4",
    "sched_interval=30",
    "sched_max_job_start=2",
    "defer",
];

pub(crate) fn cluster(dice: &mut Dice) -> Cluster {
    if dice.percent(25) {
        return plain(dice);
    }
    let unit = dice.pick(UNITS);
    let mut conf = format!("SelectType=select/cons_tres\nSelectTypeParameters={unit}\n");
    let mut words: Vec<&str> = vec![];
    for _ in 0..dice.between(0, 4) {
        words.push(dice.pick(SCHEDULER));
    }
    if !words.is_empty() {
        conf += &format!("SchedulerParameters={}\n", words.join(","));
    }
    conf += dice.pick(&["", "", "DefMemPerCPU=500\n", "DefMemPerNode=2000\n"]);
    conf += dice.pick(&["", "", "OverTimeLimit=UNLIMITED\n", "OverTimeLimit=30\n"]);
    conf += dice.pick(&["", "", PRIORITY]);
    conf += "Licenses=lic:4\nMinJobAge=300\n";
    let gpus = dice.percent(40);
    if gpus {
        conf += "GresTypes=gpu\n";
    }
    // Now and then one that fills several words of a set.
    let most = if dice.percent(25) { 120 } else { 12 };
    let (mut nodes, mut cpus) = (0, 0);
    for _ in 0..dice.between(1, 3) {
        let count = dice.between(1, most);
        let (line, each) = node_line(dice, nodes + 1, nodes + count, gpus);
        conf += &line;
        nodes += count;
        cpus += count * each;
    }
    let partitions = partitions(dice, &mut conf, nodes);
    Cluster { conf, partitions, nodes, cpus, gpus, plain: false }
}

fn plain(dice: &mut Dice) -> Cluster {
    let unit = dice.pick(&["CR_CPU", "CR_CPU", "CR_Core", "CR_CPU_Memory"]);
    let mut conf = format!("SelectType=select/cons_tres\nSelectTypeParameters={unit}\n");
    if dice.percent(30) {
        conf += &format!("SchedulerParameters={}\n", dice.pick(SCHEDULER));
    }
    conf += dice.pick(&["", "OverTimeLimit=UNLIMITED\n"]);
    conf += "Licenses=lic:4\nMinJobAge=300\nMaxJobCount=10000\n";
    let (mut nodes, mut cpus) = (0, 0);
    for weight in 1..=dice.between(1, 2) {
        let (count, each) = (dice.between(20, 200), dice.between(1, 4));
        let last = nodes + count;
        conf += &format!(
            "NodeName=n[{}-{last}] CPUs={each} RealMemory=8000 Weight={weight} Feature=a,b\n",
            nodes + 1
        );
        (nodes, cpus) = (last, cpus + count * each);
    }
    conf += &format!("PartitionName=p0 Nodes=n[1-{nodes}] Default=YES\n");
    Cluster { conf, partitions: 1, nodes, cpus, gpus: false, plain: true }
}

const PRIORITY: &str = "PriorityType=priority/multifactor\nPriorityWeightAge=1000\n\
    PriorityWeightJobSize=500\nPriorityWeightPartition=300\nPriorityMaxAge=0-6\n";

fn node_line(dice: &mut Dice, first: u64, last: u64, gpus: bool) -> (String, u64) {
    let (sockets, cores) = (dice.between(1, 2), dice.between(1, 6));
    let threads = if dice.percent(25) { 2 } else { 1 };
    let memory = dice.between(2, 16) * 1000;
    let mut line = format!(
        "NodeName=n[{first}-{last}] Sockets={sockets} CoresPerSocket={cores} \
         ThreadsPerCore={threads} RealMemory={memory}"
    );
    if gpus && dice.percent(60) {
        line += &format!(" Gres=gpu:{}", dice.between(1, 4));
    }
    line += dice.pick(&["", "", " Weight=5", " Weight=20"]);
    line += dice.pick(&["", " Feature=a", " Feature=b", " Feature=a,b"]);
    line += dice.pick(&["", "", "", "", " CoreSpecCount=1 MemSpecLimit=200"]);
    if sockets * cores < 2 {
        line = line.replace("CoreSpecCount=1 ", "");
    }
    (line + "\n", sockets * cores * threads)
}

fn partitions(dice: &mut Dice, conf: &mut String, nodes: u64) -> usize {
    let count = if dice.percent(50) { 1 } else { dice.between(2, 4) };
    for at in 0..count {
        let from = if at == 0 { 1 } else { dice.between(1, nodes) };
        let to = if at == 0 { nodes } else { dice.between(from, nodes) };
        let mut line = format!("PartitionName=p{at} Nodes=n[{from}-{to}]");
        line += if at == 0 { " Default=YES" } else { "" };
        line += dice.pick(&["", "", "", " PriorityTier=2", " PriorityJobFactor=10"]);
        line += dice.pick(&["", "", "", " MaxTime=300", " MaxTime=600 DefaultTime=30"]);
        line += dice.pick(&["", "", "", "", " MaxNodes=3", " MaxCPUsPerNode=2", " LLN=YES"]);
        line += dice.pick(&[
            "",
            "",
            "",
            "",
            " OverSubscribe=EXCLUSIVE",
            " OverSubscribe=YES:1",
            " OverSubscribe=FORCE:1",
            " OverSubscribe=YES:2",
            " OverSubscribe=FORCE:2",
            " ExclusiveUser=YES",
        ]);
        *conf += &(line + "\n");
    }
    count as usize
}

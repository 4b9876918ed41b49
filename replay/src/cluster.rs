//! A cluster for a trace that comes without a slurm.conf.
//!
//! ```text
//!   node names in the log ─▶ header (MaxNodes, MaxProcs) ─▶ the most that was in use at once
//! ```
//!
//! The first of these that the trace has. What comes out is slurm.conf text: print it, change it,
//! give it back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use drawbridge_sim::{ConfError, Parsed, Release, SlurmConfig, fold_hostlist};

use crate::trace::{Trace, TraceJob};

/// A slurm.conf that was made up, and from what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The text.
    pub conf: String,
    /// Where its numbers come from.
    pub why: String,
}

/// The smallest backfill window: what Slurm uses when nothing is said.
const BF_WINDOW_MINUTES: u64 = 1440;

/// Makes up a cluster that could have run the trace.
pub fn derive(trace: &Trace) -> Derived {
    let (nodes, why) = nodes(trace);
    let longest = trace.jobs.iter().filter_map(|job| job.limit).max().unwrap_or(0);
    let window = longest.div_ceil(60).max(BF_WINDOW_MINUTES);
    let mut conf = String::new();
    // Writing to a String can't fail.
    let _ = writeln!(conf, "ClusterName=replay");
    let _ = writeln!(conf, "SelectType=select/cons_tres");
    let _ = writeln!(conf, "SelectTypeParameters=CR_CPU");
    let _ = writeln!(conf, "SchedulerType=sched/backfill");
    let _ = writeln!(conf, "SchedulerParameters=bf_window={window}");
    let _ = writeln!(conf, "PriorityType=priority/basic");
    let _ = writeln!(conf, "MaxJobCount=1000000");
    if trace.jobs.iter().any(|job| 0 < job.gpus) {
        let _ = writeln!(conf, "GresTypes=gpu");
    }
    conf.push_str(&nodes);
    Derived { conf, why }
}

/// Reads a slurm.conf for a replay; with `keep`, no job is killed at its limit.
pub fn configure(conf: &str, gres_conf: Option<&str>, keep: bool) -> Result<Parsed, ConfError> {
    if !keep {
        return SlurmConfig::parse(conf, gres_conf, Release::V24_11);
    }
    let is_limit = |line: &str| line.trim().to_ascii_lowercase().starts_with("overtimelimit");
    // Lines stay where they are: mistakes are told by their numbers.
    let lines = conf.lines().map(|line| if is_limit(line) { "" } else { line });
    let conf = format!("{}\nOverTimeLimit=UNLIMITED\n", lines.collect::<Vec<_>>().join("\n"));
    SlurmConfig::parse(&conf, gres_conf, Release::V24_11)
}

/// `NodeName=` and `PartitionName=` lines, and where they come from.
fn nodes(trace: &Trace) -> (String, String) {
    let gres = gpus_per_node(trace).map_or(String::new(), |gpus| format!(" Gres=gpu:{gpus}"));
    if !trace.machine.node_names.is_empty() {
        return named_nodes(trace, &gres);
    }
    let (nodes, cpus, why) = size(trace);
    let per_node = cpus.div_ceil(nodes.max(1)).max(1);
    let (full, rest) = (cpus / per_node, cpus % per_node);
    let mut text = format!("NodeName=n[1-{full}] CPUs={per_node}{gres}\n");
    if full == 1 {
        text = format!("NodeName=n1 CPUs={per_node}{gres}\n");
    }
    if 0 < rest {
        let _ = writeln!(text, "NodeName=n{} CPUs={rest}{gres}", full + 1);
    }
    let whole = if counts_nodes(trace) { " OverSubscribe=EXCLUSIVE" } else { "" };
    let _ = writeln!(text, "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED{whole}");
    (text, why)
}

fn named_nodes(trace: &Trace, gres: &str) -> (String, String) {
    let names = &trace.machine.node_names;
    let all: BTreeSet<&str> = names.values().flatten().map(String::as_str).collect();
    let cpus = trace.jobs.iter().map(cpus_per_node).max().unwrap_or(1);
    let listed = fold_hostlist(&all.iter().copied().collect::<Vec<_>>());
    let mut text = format!("NodeName={listed} CPUs={cpus}{gres}\n");
    for (place, (partition, nodes)) in names.iter().enumerate() {
        let nodes: Vec<_> = nodes.iter().map(String::as_str).collect();
        let name = partition_name(trace.names.partitions.name(*partition));
        let default = if place == 0 { " Default=YES" } else { "" };
        let nodes = fold_hostlist(&nodes);
        let _ = writeln!(text, "PartitionName={name} Nodes={nodes}{default} MaxTime=UNLIMITED");
    }
    let why = format!(
        "{} nodes that the log names, with as many CPUs as a job had on one of them",
        all.len()
    );
    (text, why)
}

/// The name of a partition as slurm.conf can write it.
pub(crate) fn partition_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    match name {
        "-" | "" => "main".to_owned(),
        name => name.chars().map(plain).collect(),
    }
}

/// Whether jobs were counted in nodes, and so took whole ones.
fn counts_nodes(trace: &Trace) -> bool {
    trace.jobs.iter().any(|job| job.nodes.is_some())
}

fn cpus_per_node(job: &TraceJob) -> u32 {
    job.cpus.div_ceil(job.nodes.unwrap_or(1).max(1))
}

fn gpus_per_node(trace: &Trace) -> Option<u32> {
    let most = trace.jobs.iter().map(|job| job.gpus.div_ceil(job.nodes.unwrap_or(1).max(1))).max();
    most.filter(|gpus| 0 < *gpus)
}

/// Nodes and CPUs.
fn size(trace: &Trace) -> (u32, u32, String) {
    let machine = &trace.machine;
    match (machine.nodes, machine.cpus) {
        (Some(nodes), Some(cpus)) => {
            (nodes, cpus.max(nodes), "MaxNodes and MaxProcs of the header".to_owned())
        }
        (Some(nodes), None) => (nodes, nodes, "MaxNodes of the header".to_owned()),
        (None, Some(cpus)) => (cpus, cpus, "MaxProcs of the header".to_owned()),
        (None, None) => peak(trace),
    }
}

/// The most that was in use at once, by the recorded starts; without them what the largest job took.
fn peak(trace: &Trace) -> (u32, u32, String) {
    let in_nodes = counts_nodes(trace);
    let amount = |job: &TraceJob| {
        if in_nodes { job.nodes.unwrap_or(1) } else { job.cpus }
    };
    let per_node =
        if in_nodes { trace.jobs.iter().map(cpus_per_node).max().unwrap_or(1) } else { 1 };
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for job in &trace.jobs {
        if let Some(start) = job.start {
            *changes.entry(start).or_default() += i64::from(amount(job));
            *changes.entry(start + job.run).or_default() -= i64::from(amount(job));
        }
    }
    let mut in_use = 0;
    let peak = changes.values().map(|change| {
        in_use += change;
        in_use
    });
    let peak = u32::try_from(peak.max().unwrap_or(0)).unwrap_or(u32::MAX);
    let largest = trace.jobs.iter().map(amount).max().unwrap_or(1);
    let nodes = peak.max(largest).max(1);
    let what = if in_nodes { "nodes" } else { "CPUs" };
    let why = match largest <= peak {
        true => format!("the most {what} that the record has in use at once"),
        false => format!("the {what} of the largest job: the record says no more of the machine"),
    };
    (nodes, nodes.saturating_mul(per_node), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sacct, swf};

    fn check(derived: &Derived) {
        let parsed = configure(&derived.conf, None, true).unwrap();
        assert_eq!(parsed.notes, vec![], "every parameter is honoured");
    }

    fn swf(header: &str) -> Derived {
        let job = "1 0 0 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
        derive(&swf::parse(format!("{header}{job}{job}").as_bytes()).unwrap())
    }

    #[test]
    fn the_header_or_the_record_gives_the_size() {
        #[rustfmt::skip]
        let rows = [
            ("; MaxNodes: 100\n; MaxProcs: 100\n", "NodeName=n[1-100] CPUs=1\n"),
            ("; MaxNodes: 3\n; MaxProcs: 8\n",     "NodeName=n[1-2] CPUs=3\nNodeName=n3 CPUs=2\n"),
            ("; MaxNodes: 5\n",                    "NodeName=n[1-5] CPUs=1\n"),
            ("; MaxProcs: 9\n",                    "NodeName=n[1-9] CPUs=1\n"),
            ("",                                   "NodeName=n[1-8] CPUs=1\n"),
        ];
        for (header, nodes) in rows {
            let derived = swf(header);
            assert!(derived.conf.contains(nodes), "{header}: {}", derived.conf);
            check(&derived);
        }
    }

    #[test]
    fn node_names_in_the_log_make_its_partitions() {
        let dump = "JobID|Partition|Submit|Start|Elapsed|ReqTRES|NodeList\n\
            1|main|0|5|00:01:00|cpu=8,node=2|n[1-2]\n\
            2|gpu|0|5|00:01:00|cpu=8,node=1,gres/gpu=2|g1\n";
        let derived = derive(&sacct::parse(dump).unwrap());
        insta::assert_snapshot!(derived.conf, @r"
        ClusterName=replay
        SelectType=select/cons_tres
        SelectTypeParameters=CR_CPU
        SchedulerType=sched/backfill
        SchedulerParameters=bf_window=1440
        PriorityType=priority/basic
        MaxJobCount=1000000
        GresTypes=gpu
        NodeName=g1,n[1-2] CPUs=8 Gres=gpu:2
        PartitionName=main Nodes=n[1-2] Default=YES MaxTime=UNLIMITED
        PartitionName=gpu Nodes=g1 MaxTime=UNLIMITED
        ");
        check(&derived);
    }

    #[test]
    fn keeping_jobs_past_their_limit_leaves_the_line_numbers_alone() {
        let conf = "OverTimeLimit=5\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\nOops=1\n";
        assert_eq!(configure(conf, None, true).unwrap_err().line, 4);
        let conf = conf.replace("Oops=1\n", "");
        assert_eq!(configure(&conf, None, true).unwrap().config.params().over_time_limit, None);
        assert!(configure(&conf, None, false).unwrap().config.params().over_time_limit.is_some());
    }
}

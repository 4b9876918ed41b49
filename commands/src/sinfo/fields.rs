//! What `sinfo` can show of nodes in a partition: one table for both format languages.

use drawbridge_bridge::slurm::types::{Node, Number, Partition};
use drawbridge_sim::Release;

use super::row::{Row, or_most};
use crate::{
    amounts::{Unit, amount},
    cell::Cell,
    format::{Field, field},
    spans,
    states::node::Length,
};

const NO_LETTER: char = '\0';

/// Everything, in the order of Slurm's own list.
#[rustfmt::skip]
pub(crate) static FIELDS: &[Field<Row>] = &[
    field("AllocMem", NO_LETTER, "ALLOCMEM", |r| {
        Cell::text(r.nodes.last().map_or(0, |node| node.alloc_memory).to_string())
    }),
    field("AllocNodes", 'S', "ALLOCNODES", |r| Cell::or(&r.partition.nodes.allowed_allocation, "all")),
    field("Available", 'a', "AVAIL", available),
    field("Cluster", 'V', "CLUSTER", |_| Cell::text("N/A")),
    field("Comment", NO_LETTER, "COMMENT", |r| node_text(r, |node| node.comment.clone())),
    field("Cores", 'Y', "CORES", |r| shortened(r, |node| count(node.cores))),
    field("CPUs", 'c', "CPUS", |r| shortened(r, |node| u64::from(node.cpus))),
    field("CPUsLoad", 'O', "CPU_LOAD", cpu_load),
    field("CPUsState", 'C', "CPUS(A/I/O/T)", |r| {
        let (works, idle, out, all) = r.cpu_counts();
        Cell::text(format!("{works}/{idle}/{out}/{all}"))
    }),
    field("DefaultTime", 'L', "DEFAULTTIME", |r| minutes(r.partition.defaults.time)),
    field("Disk", 'd', "TMP_DISK", |r| plain(r, |node| count(node.temporary_disk))),
    field("Extra", NO_LETTER, "EXTRA", |r| node_text(r, |node| node.extra.clone())),
    field("Features", 'f', "AVAIL_FEATURES", |r| node_text(r, |node| node.features.join(","))),
    field("features_act", 'b', "ACTIVE_FEATURES", |r| node_text(r, |node| node.active_features.join(","))),
    field("FreeMem", 'e', "FREE_MEM", free_memory),
    field("Gres", 'G', "GRES", |r| node_text(r, |node| node.gres.clone())),
    field("GresUsed", 'G', "GRES_USED", |r| node_text(r, |node| node.gres_used.clone())),
    field("Groups", 'g', "GROUPS", |r| Cell::or(&r.partition.groups.allowed, "all")),
    field("MaxCPUsPerNode", 'B', "MAX_CPUS_PER_NODE", |r| match r.partition.maximums.cpus_per_node {
        Number::Is(cpus) => Cell::text(cpus.to_string()),
        Number::Infinite | Number::Unset => Cell::text("UNLIMITED"),
    }),
    field("Memory", 'm', "MEMORY", |r| plain(r, |node| node.real_memory)),
    field("NodeAddr", 'o', "NODE_ADDR", |r| Cell::text(r.names(|node| &node.address))),
    field("NodeAI", 'A', "NODES(A/I)", |r| {
        let (works, idle, _) = r.node_counts();
        Cell::text(format!("{works}/{idle}"))
    }),
    field("NodeAIOT", 'F', "NODES(A/I/O/T)", |r| {
        let (works, idle, out) = r.node_counts();
        Cell::text(format!("{works}/{idle}/{out}/{}", r.nodes.len()))
    }),
    field("NodeHost", 'n', "HOSTNAMES", |r| Cell::text(r.names(|node| &node.hostname))),
    field("NodeList", 'N', "NODELIST", |r| Cell::text(r.names(|node| &node.name))),
    field("Nodes", 'D', "NODES", |r| Cell::text(r.nodes.len().to_string())),
    field("OverSubscribe", 'h', "OVERSUBSCRIBE", over_subscribe),
    field("Partition", 'P', "PARTITION", |r| {
        let name = r.partition.name.clone();
        if r.is_default() { Cell::Starred(name) } else { Cell::Text(name) }
    }),
    field("PartitionName", 'R', "PARTITION", |r| Cell::text(&*r.partition.name)),
    field("Port", NO_LETTER, "PORT", |r| {
        Cell::text(amount(r.first().map_or(0, |node| node.port) as f64, Unit::None, r.view.shorten))
    }),
    field("PreemptMode", 'M', "PREEMPT_MODE", |_| Cell::text("n/a"))
        .missing("slurmrestd doesn't tell the PreemptMode that partitions take over from slurm.conf"),
    field("PriorityJobFactor", 'I', "PRIO_JOB_FACTOR", |r| {
        Cell::text(amount(r.partition.priority.job_factor as f64, Unit::None, r.view.shorten))
    }),
    field("PriorityTier", 'p', "PRIO_TIER", |r| {
        Cell::text(amount(r.partition.priority.tier as f64, Unit::None, r.view.shorten))
    }),
    field("Reason", 'E', "REASON", |r| Cell::or(r.first().map_or("", |node| &node.reason), "none")),
    field("Reservation", 'i', "RESERVATION", |r| Cell::text(r.first().map_or("", |node| &node.reservation))),
    field("Root", 'r', "ROOT", root),
    field("Share", 'h', "OVERSUBSCRIBE", over_subscribe).hidden(),
    field("Size", 's', "JOB_SIZE", size),
    field("Sockets", 'X', "SOCKETS", |r| shortened(r, |node| count(node.sockets))),
    field("SocketCoreThread", 'z', "S:C:T", |r| {
        let part = |of: fn(&Node) -> i64| at_least(r.range(|node| count(of(node))), |number| short(r, number));
        Cell::text([part(|node| node.sockets), part(|node| node.cores), part(|node| node.threads)].join(":"))
    }),
    field("StateCompact", 't', "STATE", |r| state(r, |r| r.state().word(Length::Short, r.view.release))),
    field("StateComplete", NO_LETTER, "STATECOMPLETE", |r| state(r, |r| r.state().complete())),
    field("StateLong", 'T', "STATE", |r| state(r, |r| r.state().word(Length::Long, r.view.release))),
    field("Threads", 'Z', "THREADS", |r| shortened(r, |node| count(node.threads))),
    field("Time", 'l', "TIMELIMIT", |r| minutes(r.partition.maximums.time)),
    field("TimeStamp", 'H', "TIMESTAMP", |r| {
        let at = r.first().and_then(|node| node.reason_changed_at.get());
        Cell::text(r.view.clock.show(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(0)))
    }),
    field("User", 'u', "USER", |r| Cell::or(reasoner(r), "Unknown")),
    field("UserLong", 'U', "USER", user_long),
    field("Version", 'v', "VERSION", |r| Cell::or(r.first().map_or("", |node| &node.version), "N/A")),
    field("Weight", 'w', "WEIGHT", |r| plain(r, |node| count(node.weight))),
];

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn node_text(row: &Row, of: impl Fn(&Node) -> String) -> Cell {
    Cell::or_null(&row.first().map(of).unwrap_or_default())
}

fn short(row: &Row, number: u64) -> String {
    amount(number as f64, Unit::None, row.view.shorten)
}

/// `8`, or `8+` where some have more.
fn at_least((least, most): (u64, u64), show: impl Fn(u64) -> String) -> String {
    if least == most { show(most) } else { show(least) + "+" }
}

fn between((least, most): (u64, u64), show: impl Fn(u64) -> String) -> String {
    if least == most { show(most) } else { format!("{}-{}", show(least), show(most)) }
}

fn shortened(row: &Row, of: impl Fn(&Node) -> u64) -> Cell {
    Cell::Text(at_least(row.range(of), |number| short(row, number)))
}

fn plain(row: &Row, of: impl Fn(&Node) -> u64) -> Cell {
    Cell::Text(at_least(row.range(of), |number| number.to_string()))
}

fn cpu_load(row: &Row) -> Cell {
    /// What slurmctld says of a node that hasn't told.
    const UNKNOWN: u64 = 0xffff_fffe;
    let show = |load: u64| match load {
        UNKNOWN => "N/A".to_owned(),
        hundredths => format!("{:.2}", hundredths as f64 / 100.0),
    };
    Cell::Text(between(row.range(|node| count(node.cpu_load)), show))
}

fn free_memory(row: &Row) -> Cell {
    let show = |free: u64| match free {
        u64::MAX => "N/A".to_owned(),
        free => free.to_string(),
    };
    Cell::Text(between(row.range(|node| or_most(node.free_mem)), show))
}

fn available(row: &Row) -> Cell {
    let word = row.partition.partition.state.first().map_or("UNKNOWN", String::as_str);
    Cell::text(word.to_ascii_lowercase())
}

fn minutes(number: Number) -> Cell {
    Cell::text(match number {
        Number::Is(minutes) => {
            spans::brief(i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60))
        }
        Number::Infinite => "infinite".to_owned(),
        Number::Unset => "n/a".to_owned(),
    })
}

fn root(row: &Row) -> Cell {
    let told = !row.partition.partition.oversubscribe.is_empty();
    Cell::text(match (row.flagged("ROOT_ONLY"), told) {
        (true, _) => "yes",
        (false, true) => "no",
        // Before v0.0.45 slurmrestd doesn't tell.
        (false, false) => "n/a",
    })
}

fn over_subscribe(row: &Row) -> Cell {
    Cell::Text(shared(&row.partition, row.view.release))
}

/// How many jobs may share a resource of a partition.
pub(crate) fn shared(partition: &Partition, release: Release) -> String {
    let (part, most) = (&partition.partition, &partition.maximums);
    let forced = most.oversubscribe.flags.iter().any(|flag| flag == "force");
    match most.oversubscribe.jobs {
        _ if !part.oversubscribe.is_empty() => part.oversubscribe.clone(),
        0 if release < Release::V26_05 => "EXCLUSIVE".to_owned(),
        jobs if forced => format!("FORCE:{jobs}"),
        0 | 1 => "NO".to_owned(),
        jobs => format!("YES:{jobs}"),
    }
}

fn size(row: &Row) -> Cell {
    let (least, most) = (row.partition.minimums.nodes, row.partition.maximums.nodes);
    let least = if least < 1 && most.get() != Some(0) { 1 } else { count(least) };
    Cell::text(match most.get() {
        Some(most) => between((least, most), |number| short(row, number)),
        None => format!("{}-infinite", short(row, least)),
    })
}

fn state(row: &Row, word: impl Fn(&Row) -> String) -> Cell {
    Cell::text(if row.nodes.is_empty() { "n/a".to_owned() } else { word(row).to_ascii_lowercase() })
}

fn reasoner(row: &Row) -> &str {
    row.first().map_or("root", |node| &node.reason_set_by_user)
}

fn user_long(row: &Row) -> Cell {
    let name = reasoner(row);
    if name.is_empty() {
        return Cell::text("Unknown");
    }
    Cell::text(match row.view.users.get(name).or((name == "root").then_some(&0)) {
        Some(number) => format!("{name}({number})"),
        None => name.to_owned(),
    })
}

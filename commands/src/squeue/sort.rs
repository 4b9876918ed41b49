//! The order of `squeue`'s lines: the last key first, each keeping the order of the one before.

use std::cmp::Ordering;

use drawbridge_bridge::slurm::types::Number;

use super::entry::Entry;
use crate::{
    hosts,
    merge_sort::merge_sort,
    shell::{Outcome, Shell},
    states::job::JobState,
};

/// The order that is in force unless another is asked for: partition, state, priority.
const DEFAULT: &str = "P,t,-p";

/// Sorts. Before anything else the jobs that started last come first.
pub(crate) fn sort(
    shell: &mut Shell<'_>,
    keys: Option<&str>,
    entries: Vec<Entry>,
) -> Outcome<Vec<Entry>> {
    let mut entries = merge_sort(entries, &mut |a, b| by_start(a, b, 0, true));
    let keys = keys.unwrap_or(DEFAULT).as_bytes();
    let mut at = keys.len();
    while 0 < at {
        at -= 1;
        let key = keys[at];
        if [b',', b'+', b'-'].contains(&key) {
            continue;
        }
        let mut turned = 0 < at && keys[at - 1] == b'-';
        let word = keys[..=at].to_ascii_lowercase();
        if let Some(before) = word.strip_suffix(b"cluster") {
            turned |= before.ends_with(b"-");
            at = before.len();
            entries = by(entries, turned, |a, b| a.job.cluster.cmp(&b.job.cluster));
        } else {
            entries = by_letter(shell, entries, char::from(key), turned)?;
        }
    }
    Ok(entries)
}

fn by(
    entries: Vec<Entry>,
    turned: bool,
    compare: impl Fn(&Entry, &Entry) -> Ordering,
) -> Vec<Entry> {
    merge_sort(entries, &mut |a, b| {
        let order = compare(a, b) as i32;
        if turned { -order } else { order }
    })
}

fn by_letter(
    shell: &mut Shell<'_>,
    entries: Vec<Entry>,
    letter: char,
    turned: bool,
) -> Outcome<Vec<Entry>> {
    let key: fn(&Entry, &Entry) -> Ordering = match letter {
        'B' => |a, b| a.job.batch_host.cmp(&b.job.batch_host),
        'C' => |a, b| a.job.cpus.or_zero().cmp(&b.job.cpus.or_zero()),
        'd' => |a, b| {
            let disk = |e: &Entry| e.job.minimum_tmp_disk_per_node.or_zero();
            disk(a).cmp(&disk(b))
        },
        'D' => |a, b| a.job.node_count.or_zero().cmp(&b.job.node_count.or_zero()),
        'e' => |a, b| Entry::at(a.job.end_time).cmp(&Entry::at(b.job.end_time)),
        'g' => |a, b| a.job.group_name.cmp(&b.job.group_name),
        'G' => |a, b| a.job.group_id.cmp(&b.job.group_id),
        'H' => |a, b| asked(a.job.sockets_per_node).cmp(&asked(b.job.sockets_per_node)),
        'i' => |a, b| id(a).cmp(&id(b)),
        'I' => |a, b| asked(a.job.cores_per_socket).cmp(&asked(b.job.cores_per_socket)),
        'j' => |a, b| a.job.name.cmp(&b.job.name),
        'J' => |a, b| asked(a.job.threads_per_core).cmp(&asked(b.job.threads_per_core)),
        'l' => |a, b| limit(a).cmp(&limit(b)),
        'L' => |a, b| left(a).cmp(&left(b)),
        'm' => |a, b| memory(a).cmp(&memory(b)),
        'M' => |a, b| a.time_used().cmp(&b.time_used()),
        'p' | 'Q' => |a, b| priority(a).cmp(&priority(b)),
        'P' => |a, b| a.job.partition.cmp(&b.job.partition),
        't' => |a, b| a.state.short().cmp(b.state.short()),
        'T' => |a, b| a.state.long().cmp(b.state.long()),
        'u' => |a, b| a.job.user_name.cmp(&b.job.user_name),
        'U' => |a, b| a.job.user_id.cmp(&b.job.user_id),
        'v' => |a, b| a.job.resv_name.cmp(&b.job.resv_name),
        'V' => |a, b| Entry::at(a.job.submit_time).cmp(&Entry::at(b.job.submit_time)),
        'z' => |a, b| shape(a).cmp(&shape(b)),
        'S' => {
            let now = entries.first().map_or(0, |entry| entry.view.clock.now);
            return Ok(merge_sort(entries, &mut |a, b| by_start(a, b, now, turned)));
        }
        'N' => {
            return Ok(merge_sort(entries, &mut |a, b| {
                let order = first_node(a, b);
                if turned { -order } else { order }
            }));
        }
        // Slurm takes these and does nothing about them.
        'c' | 'f' | 'h' | 'n' | 'O' => return Ok(entries),
        'b' => {
            let name = shell.name.clone();
            shell.say(&format!("{name}: Invalid sort specification: b"));
            return Ok(entries);
        }
        other => return shell.fail(&format!("Invalid sort specification: {other}")),
    };
    Ok(by(entries, turned, key))
}

/// A job without a start comes after every other, even after another of its kind.
fn by_start(a: &Entry, b: &Entry, now: i64, turned: bool) -> i32 {
    let (start_a, start_b) = (Entry::at(a.job.start_time), Entry::at(b.job.start_time));
    if start_a == 0 {
        return 1;
    }
    if start_b == 0 {
        return -1;
    }
    let expected = |entry: &Entry, start: i64| {
        if entry.state == JobState::PENDING && start < now { now } else { start }
    };
    let order = expected(a, start_a).cmp(&expected(b, start_b)) as i32;
    if turned { -order } else { order }
}

/// What nobody asked for comes last, as Slurm's number for it is the largest.
fn asked(number: Number) -> u64 {
    number.get().unwrap_or(u64::MAX)
}

fn id(entry: &Entry) -> (u64, u64) {
    match (entry.het(), entry.task()) {
        (Some(het), _) => (het, entry.job.het_job_offset.or_zero()),
        (None, None) => (entry.job.job_id.into(), u64::MAX),
        (None, Some(task)) => (entry.job.array_job_id.or_zero(), task),
    }
}

fn limit(entry: &Entry) -> u64 {
    match entry.job.time_limit {
        Number::Is(minutes) => minutes,
        Number::Unset => u64::MAX - 1,
        Number::Infinite => u64::MAX,
    }
}

fn left(entry: &Entry) -> i64 {
    entry.time_left().unwrap_or(i64::from(u32::MAX))
}

fn memory(entry: &Entry) -> u64 {
    let (cpu, node) = (entry.job.memory_per_cpu, entry.job.memory_per_node);
    cpu.get().or(node.get()).unwrap_or(0)
}

fn priority(entry: &Entry) -> (i64, u64) {
    (entry.tier, entry.job.priority.or_zero())
}

fn shape(entry: &Entry) -> (u64, u64, u64) {
    let job = &entry.job;
    (asked(job.sockets_per_node), asked(job.cores_per_socket), asked(job.threads_per_core))
}

/// A job without nodes comes after every other, even after another of its kind.
fn first_node(a: &Entry, b: &Entry) -> i32 {
    let first = |entry: &Entry| {
        let mut names = hosts::expand(&entry.job.nodes);
        hosts::sort(&mut names);
        names.into_iter().next().filter(|name| !name.is_empty())
    };
    match (first(a), first(b)) {
        (None, _) => 1,
        (_, None) => -1,
        (Some(a), Some(b)) => hosts::compare(&a, &b) as i32,
    }
}

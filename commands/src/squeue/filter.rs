//! Which jobs `squeue` shows.

use std::collections::BTreeSet;

use super::{
    entry::Entry,
    options::{JobWanted, Options, States},
};
use crate::{arrays, hosts, states::job::JobState};

/// Whether a job is shown. Of an array's record only the tasks that were asked for stay.
pub(crate) fn keep(options: &Options, me: Option<&str>, entry: &mut Entry) -> bool {
    let Some(tasks) = named(options, entry) else { return false };
    let job = &entry.job;
    let among = |list: &Option<Vec<String>>, value: &str| {
        list.as_ref().is_none_or(|list| {
            !value.is_empty() && list.iter().any(|word| word.eq_ignore_ascii_case(value))
        })
    };
    let kept = licensed(options, &job.licenses)
        && among(&options.accounts, &job.account)
        && among(&options.qos, &job.qos)
        && in_state(options, entry)
        && on_nodes(options, &job.nodes)
        && !(options.notme && me == Some(job.user_name.as_str()))
        && of_users(options, entry)
        && reserved(options, &job.resv_name)
        && among(&options.names, &job.name)
        && has_run(options, entry);
    if kept && let Some(tasks) = tasks {
        narrow(entry, &tasks);
    }
    kept
}

/// Whether it is in one of the partitions that were asked for.
pub(crate) fn keep_partition(options: &Options, partition: &str) -> bool {
    let Some(wanted) = &options.partitions else { return true };
    partition.split(',').any(|name| wanted.iter().any(|wanted| wanted == name))
}

/// Whether a job was named: `None` if not, and otherwise the tasks that were if some were.
#[expect(clippy::option_option, reason = "no, all of it, these tasks of it")]
fn named(options: &Options, entry: &Entry) -> Option<Option<BTreeSet<u32>>> {
    let Some(wanted) = &options.jobs else { return Some(None) };
    let (id, array) = (u64::from(entry.job.job_id), entry.job.array_job_id.or_zero());
    for JobWanted { id: wanted_id, task } in wanted {
        let whole = task.is_none() && (*wanted_id == array || *wanted_id == id);
        let one = task.is_some() && *task == entry.task() && *wanted_id == array;
        if whole || one || Some(*wanted_id) == entry.het() {
            return Some(None);
        }
        let in_record = |task: &u64| {
            let task = u32::try_from(*task).ok();
            entry.tasks.as_ref().zip(task).is_some_and(|(tasks, task)| tasks.contains(&task))
        };
        if *wanted_id == array && task.as_ref().is_some_and(in_record) {
            let of_array = wanted.iter().filter(|job| job.id == array);
            let tasks = of_array.filter_map(|job| u32::try_from(job.task?).ok());
            return Some(Some(tasks.collect()));
        }
    }
    None
}

/// Leaves only these tasks in an array's record.
fn narrow(entry: &mut Entry, wanted: &BTreeSet<u32>) {
    let tasks: BTreeSet<u32> =
        entry.tasks.take().unwrap_or_default().intersection(wanted).copied().collect();
    match tasks.iter().next() {
        Some(task) if tasks.len() == 1 => {
            entry.job.array_task_id = u64::from(*task).into();
            entry.job.array_task_string.clear();
        }
        _ => {
            entry.job.array_task_string = arrays::list(&tasks);
            entry.tasks = Some(tasks);
        }
    }
}

fn licensed(options: &Options, licenses: &str) -> bool {
    let Some(wanted) = &options.licenses else { return true };
    let mut names = licenses.split(',').filter_map(|license| license.split(':').next());
    names.any(|name| wanted.iter().any(|wanted| wanted == name))
}

fn in_state(options: &Options, entry: &Entry) -> bool {
    match &options.states {
        Some(States::All) => true,
        Some(States::These(states)) => states.iter().any(|state| entry.state.fits(*state)),
        None => {
            let shown = [
                JobState::PENDING,
                JobState::RUNNING,
                JobState::STAGE_OUT,
                JobState::SUSPENDED,
                JobState::COMPLETING,
            ];
            shown.into_iter().any(|state| entry.is(state))
        }
    }
}

fn on_nodes(options: &Options, nodes: &str) -> bool {
    let Some(wanted) = &options.nodes else { return true };
    !nodes.is_empty() && hosts::expand(nodes).iter().any(|node| wanted.contains(node))
}

fn of_users(options: &Options, entry: &Entry) -> bool {
    let Some(wanted) = &options.users else { return true };
    let id = entry.job.user_id.to_string();
    wanted.iter().any(|user| *user == entry.job.user_name || *user == id)
}

fn reserved(options: &Options, reservation: &str) -> bool {
    let Some(wanted) = &options.reservation else { return true };
    let mut names = reservation.split(',').filter(|name| !name.is_empty());
    names.any(|name| wanted.split(',').any(|wanted| wanted == name))
}

fn has_run(options: &Options, entry: &Entry) -> bool {
    let used = entry.time_used();
    let asked = options.running_over.is_some() || options.running_under.is_some();
    !asked
        || (entry.is(JobState::RUNNING)
            && options.running_over.is_none_or(|over| over <= used)
            && options.running_under.is_none_or(|under| used < under))
}

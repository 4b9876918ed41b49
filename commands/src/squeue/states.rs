//! `squeue --only-job-state`: numbers and states, which slurmctld tells at little cost.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use drawbridge_bridge::slurm::{
    calls::JobStates,
    session::Session,
    types::{Job, Number},
};

use super::{entry::Entry, fields::WHOLE_HEADERS, filter, options::Options};
use crate::{
    arrays,
    json::Tree,
    shell::{Outcome, Shell},
    states::job::JobState,
};

pub(super) fn show(shell: &mut Shell<'_>, session: &Session, options: &Options) -> Outcome {
    let jobs = options.jobs.iter().flatten().map(|job| match job.task {
        Some(task) => format!("{}_{task}", job.id),
        None => job.id.to_string(),
    });
    let call = JobStates(jobs.collect());
    let (states, text) = match session.ask_text(&call) {
        Ok(answer) => answer,
        Err(error) => return shell.perror("slurm_load_jobs error", &error),
    };
    if let Some(form) = options.data {
        let printed = Tree::parse(&text).map_or(text.clone(), |tree| form.print(&tree));
        shell.print(&printed);
        return Ok(());
    }
    let view = Rc::new(super::view(shell, options, ""));
    let format = super::format(shell, options, view.release)?;
    let mut out = std::mem::take(&mut shell.out);
    if !options.noheader {
        format.put_header(&mut out, WHOLE_HEADERS);
    }
    shell.out = out;
    let mut entries = vec![];
    for state in states {
        let mut entry = Entry::new(job(&state.job_id, state.state), &view);
        if filter::keep(options, None, &mut entry) {
            entries.push(entry);
        }
    }
    if !options.array {
        gather(&mut entries);
    }
    for entry in super::sort::sort(shell, options.sort.as_deref(), entries)? {
        super::put(&mut shell.out, options, &format, entry);
    }
    Ok(())
}

/// Puts the tasks of an array that wait into one record: slurmrestd lists each by itself.
fn gather(entries: &mut Vec<Entry>) {
    let mut arrays: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.is(JobState::PENDING)) {
        let tasks = arrays.entry(entry.job.array_job_id.or_zero()).or_default();
        tasks.extend(entry.task().and_then(|task| u32::try_from(task).ok()));
    }
    entries.retain_mut(|entry| {
        if !entry.is(JobState::PENDING) || entry.task().is_none() {
            return true;
        }
        // The first of them stands for all.
        let Some(tasks) = arrays.remove(&entry.job.array_job_id.or_zero()) else { return false };
        if 1 < tasks.len() {
            entry.job.array_task_id = Number::Unset;
            entry.job.array_task_string = arrays::list(&tasks);
        }
        true
    });
}

/// A job of which only this is known. Its id is as `squeue` writes it: `7`, `17_3`, `17_[4-9]`, `18+1`.
fn job(id: &str, job_state: Vec<String>) -> Job {
    let mut job = Job { job_state, ..Job::default() };
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    if let Some((array, task)) = id.split_once('_') {
        job.array_job_id = number(array).into();
        match task.strip_prefix('[') {
            Some(tasks) => job.array_task_string = tasks.trim_end_matches(']').to_owned(),
            None => job.array_task_id = number(task).into(),
        }
        job.job_id = u32::try_from(number(array)).unwrap_or(0);
    } else if let Some((het, offset)) = id.split_once('+') {
        job.het_job_id = number(het).into();
        job.het_job_offset = number(offset).into();
        job.job_id = u32::try_from(number(het)).unwrap_or(0);
    } else {
        job.job_id = u32::try_from(number(id)).unwrap_or(0);
    }
    job
}

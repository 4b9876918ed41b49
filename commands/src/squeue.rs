//! `squeue`: jobs that wait, run or end.
//!
//! ```text
//!   options ──▶ slurmrestd: jobs, one job, or states alone ──▶ filter ──▶ arrays ──▶ sort ──▶ lines
//! ```

pub(crate) mod entry;
pub(crate) mod fields;
mod filter;
mod options;
mod sort;
mod states;

use std::{collections::BTreeSet, rc::Rc};

use drawbridge_bridge::slurm::{
    calls::{Jobs, Nodes, Partitions, Show, Showing},
    reply::Answered,
    session::Session,
    types::Job,
};

use drawbridge_sim::Release;

use self::{
    entry::{Entry, View},
    fields::{FIELDS, WHOLE_HEADERS},
    options::Options,
};
use crate::{
    amounts::Shorten,
    arrays,
    format::Format,
    json::Tree,
    moments::Clock,
    releases,
    repeat::Repeat,
    shell::{Outcome, Quit, Shell},
    states::job::JobState,
};

pub(crate) use options::MANUAL;

const LONG: &str = "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,state:.8 ,timeused:.10 ,timelimit:.9 ,numnodes:.6 ,reasonlist:0";
const USUAL: &str = "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,statecompact:.2 ,timeused:.10 ,numnodes:.6 ,reasonlist:0";

/// Runs `squeue`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let Some(options) = Options::read(shell, args)? else { return Ok(()) };
    let session = shell.connect()?;
    let options = checked(shell, &session, options)?;
    let Options { iterate: every, long, noheader, .. } = options;
    Repeat { every, long, noheader }.run(shell, |shell| show(shell, &session, &options))
}

/// Nodes and users that were named must be there.
fn checked(shell: &mut Shell<'_>, session: &Session, mut options: Options) -> Outcome<Options> {
    if let Some(wanted) = options.nodes.take() {
        let call = Showing { call: Nodes, show: vec![Show::All] };
        let nodes = match session.ask(&call) {
            Ok(nodes) => nodes.items,
            Err(error) => return shell.perror("slurm_load_node error", &error),
        };
        let mut found = vec![];
        for name in wanted {
            let node = nodes.iter().find(|node| node.name == name || node.hostname == name);
            match node {
                Some(node) => found.push(node.name.clone()),
                None => return shell.fail(&format!("Invalid node name {name}")),
            }
        }
        options.nodes = Some(found);
    }
    Ok(options)
}

fn show(shell: &mut Shell<'_>, session: &Session, options: &Options) -> Outcome {
    if options.only_state {
        return states::show(shell, session, options);
    }
    let call = Showing { call: Jobs, show: wanted(options) };
    if let Some(form) = options.data {
        return show_data(shell, session, options, form);
    }
    let loaded = match options.lone_job() {
        Some(id) => load_one(shell, session, id)?,
        None => session.ask_fully(&call).map(|answer| Answered {
            value: answer.value.items,
            warnings: answer.warnings,
            meta: answer.meta,
        }),
    };
    let jobs = match loaded {
        Ok(jobs) => jobs,
        Err(error) => return shell.perror("slurm_load_jobs error", &error),
    };
    let view = Rc::new(view(shell, options, &jobs.meta.slurm.release));
    let format = format(shell, options, view.release)?;
    print(shell, session, options, &format, &view, jobs.value)
}

/// What slurmctld shall put into the list.
fn wanted(options: &Options) -> Vec<Show> {
    let mut show = vec![];
    if options.all || options.jobs.is_some() {
        show.push(Show::All);
    }
    // Only then does slurmctld count the CPUs of jobs that run.
    let counts = options.format.as_deref().is_some_and(|format| format.contains('C'));
    if counts || options.data.is_some() {
        show.push(Show::Detail);
    }
    show
}

type Loaded = Result<Answered<Vec<Job>>, drawbridge_bridge::slurm::session::SessionError>;

/// One job, and the tasks of an array that are told apart. Slurm doesn't know it if it is gone.
fn load_one(shell: &mut Shell<'_>, session: &Session, id: u64) -> Outcome<Loaded> {
    use drawbridge_bridge::slurm::calls::JobById;
    let loaded = session.ask_fully(&JobById(id.to_string()));
    match &loaded {
        Ok(answer) if answer.value.is_empty() => {
            shell.say("slurm_load_jobs error: Invalid job id specified");
            Err(Quit(1))
        }
        _ => Ok(loaded),
    }
}

fn view(shell: &mut Shell<'_>, options: &Options, release: &str) -> View {
    View {
        clock: Clock::of(shell),
        release: releases::nearest(release),
        shorten: if options.noconvert { Shorten::Never } else { Shorten::Exactly },
        expand_patterns: options.expand_patterns,
        task_bytes: options.task_bytes,
    }
}

fn format(shell: &mut Shell<'_>, options: &Options, release: Release) -> Outcome<Format<Entry>> {
    let format = match (&options.format, &options.format_long) {
        (Some(short), _) => Format::short(FIELDS, short, release),
        (None, Some(long)) => Format::long(FIELDS, long, release),
        (None, None) if options.only_state => Format::short(FIELDS, "%.18i %.2t", release),
        (None, None) => Format::long(FIELDS, if options.long { LONG } else { USUAL }, release),
    };
    for unknown in &format.unknown {
        shell.error(&format!("Invalid job format specification: {unknown}"));
    }
    match format.missing() {
        Some((name, why)) => shell.unsupported(&format!("the field {name}"), why),
        None => Ok(format),
    }
}

fn print(
    shell: &mut Shell<'_>,
    session: &Session,
    options: &Options,
    format: &Format<Entry>,
    view: &Rc<View>,
    jobs: Vec<Job>,
) -> Outcome {
    known_users(shell, options, &jobs);
    let me = if options.notme { Some(crate::start::me(shell)?) } else { None };
    let mut out = std::mem::take(&mut shell.out);
    if !options.noheader {
        format.put_header(&mut out, WHOLE_HEADERS);
    }
    shell.out = out;
    let tiers = if options.priority { tiers(shell, session) } else { vec![] };
    let mut entries = vec![];
    for job in jobs {
        let mut entry = Entry::new(job, view);
        if entry.job.job_id == 0 || !filter::keep(options, me.as_deref(), &mut entry) {
            continue;
        }
        if options.priority {
            entries.extend(by_partition(options, &tiers, &entry));
        } else if filter::keep_partition(options, &entry.job.partition) {
            entries.push(entry);
        }
    }
    if !options.array {
        combine(&mut entries, options.task_bytes);
    }
    let entries = sort::sort(shell, options.sort.as_deref(), entries)?;
    let out = &mut shell.out;
    for entry in entries {
        put(out, options, format, entry);
    }
    Ok(())
}

/// Complains of users that nobody knows.
fn known_users(shell: &mut Shell<'_>, options: &Options, jobs: &[Job]) {
    for user in options.users.iter().flatten() {
        let by_number = user.bytes().all(|byte| byte.is_ascii_digit());
        let has_jobs = || jobs.iter().any(|job| job.user_name == *user);
        let own = || shell.world.me().as_ref() == Some(user);
        if !by_number && !has_jobs() && !own() && shell.world.user_id(user).is_none() {
            shell.error(&format!("Invalid user: {user}\n"));
        }
    }
}

fn tiers(shell: &mut Shell<'_>, session: &Session) -> Vec<(String, i64)> {
    match session.ask(&Showing { call: Partitions, show: vec![Show::All] }) {
        Ok(partitions) => {
            let tiers = partitions.items.into_iter().map(|part| (part.name, part.priority.tier));
            tiers.collect()
        }
        Err(error) => {
            let _ = shell.perror::<()>("slurm_load_partitions", &error);
            vec![]
        }
    }
}

/// A job once for each partition that it may run in.
fn by_partition(options: &Options, tiers: &[(String, i64)], entry: &Entry) -> Vec<Entry> {
    let waiting = entry.is(JobState::PENDING);
    let priorities = &entry.job.priority_by_partition;
    let names: Vec<(String, Option<i64>)> = if waiting && !priorities.is_empty() {
        priorities.iter().map(|part| (part.partition.clone(), Some(part.priority))).collect()
    } else {
        entry.job.partition.split(',').map(|name| (name.to_owned(), None)).collect()
    };
    let kept = names.into_iter().filter(|(name, _)| filter::keep_partition(options, name));
    let of = |(name, priority): (String, Option<i64>)| {
        let mut entry = entry.clone();
        let tier = tiers.iter().find(|(tier, _)| *tier == name).map_or(1, |(_, tier)| *tier);
        entry.tier = tier;
        entry.job.partition = name;
        if let Some(priority) = priority.and_then(|priority| u64::try_from(priority).ok()) {
            entry.job.priority = priority.into();
        }
        entry
    };
    kept.map(of).collect()
}

/// Puts tasks of an array that wait each by themselves back into the array's record.
fn combine(entries: &mut Vec<Entry>, task_bytes: Option<usize>) {
    let is_record = |entry: &Entry| entry.is(JobState::PENDING) && entry.tasks.is_some();
    let records: Vec<usize> = (0..entries.len()).filter(|at| is_record(&entries[*at])).collect();
    let mut gone = BTreeSet::new();
    for at in records {
        if gone.contains(&at) {
            continue;
        }
        let joined = joined(entries, at, &gone);
        if joined.is_empty() {
            continue;
        }
        let mut tasks = entries[at].tasks.take().unwrap_or_default();
        for other in &joined {
            tasks.extend(entries[*other].task().and_then(|task| u32::try_from(task).ok()));
            let reason = entries[*other].job.state_reason.clone();
            merge_reason(&mut entries[at].job, &reason);
        }
        let record = &mut entries[at];
        record.job.array_task_string = shortened(arrays::list(&tasks), task_bytes);
        record.tasks = Some(tasks);
        gone.extend(joined);
    }
    let mut at = 0;
    entries.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}

/// The tasks that belong to the record at this place.
fn joined(entries: &[Entry], at: usize, gone: &BTreeSet<usize>) -> Vec<usize> {
    let record = &entries[at];
    let last = record.tasks.iter().flatten().next_back().copied().unwrap_or(0);
    let array = record.job.array_job_id;
    // The record's bitmap ends at a multiple of four; tasks beyond it stay apart.
    let size = u64::from(last) / 4 * 4 + 4;
    let belongs = |entry: &Entry| {
        entry.is(JobState::PENDING)
            && entry.job.array_job_id == array
            && entry.task().is_some_and(|task| task < size)
            && entry.job.name == record.job.name
            && entry.job.partition == record.job.partition
    };
    let others = (0..entries.len()).filter(|other| *other != at && !gone.contains(other));
    others.filter(|other| belongs(&entries[*other])).collect()
}

fn merge_reason(job: &mut Job, reason: &str) {
    if job.state_reason == reason {
        return;
    }
    if job.state_description.is_empty() {
        job.state_description = job.state_reason.clone();
    }
    if !job.state_description.contains(reason) {
        job.state_description.push(',');
        job.state_description.push_str(reason);
    }
}

fn shortened(mut text: String, bytes: Option<usize>) -> String {
    match bytes.unwrap_or(64) {
        0 => {}
        bytes => text.truncate(bytes - 1),
    }
    text
}

/// Prints a job, or each task of an array's record by itself.
fn put(out: &mut Vec<u8>, options: &Options, format: &Format<Entry>, mut entry: Entry) {
    match entry.tasks.take() {
        Some(tasks) if options.array => {
            entry.job.array_task_string.clear();
            for task in tasks {
                entry.job.array_task_id = u64::from(task).into();
                format.put(out, &entry);
            }
        }
        _ => format.put(out, &entry),
    }
}

/// `--json` and `--yaml`: slurmrestd's reply, with the jobs that weren't asked for left out.
fn show_data(
    shell: &mut Shell<'_>,
    session: &Session,
    options: &Options,
    form: crate::json::DataForm,
) -> Outcome {
    use drawbridge_bridge::slurm::calls::JobById;
    let call = Showing { call: Jobs, show: wanted(options) };
    let text = match options.lone_job() {
        Some(id) => session.ask_text(&JobById(id.to_string())),
        None => session.ask_text(&call).map(|(list, text)| (list.items, text)),
    };
    let (jobs, text) = match text {
        Ok(answer) => answer,
        Err(error) => return shell.perror("slurm_load_jobs error", &error),
    };
    let me = if options.notme { Some(crate::start::me(shell)?) } else { None };
    let view = Rc::new(view(shell, options, ""));
    let kept = |job: Job| {
        let mut entry = Entry::new(job, &view);
        filter::keep(options, me.as_deref(), &mut entry)
            && filter::keep_partition(options, &entry.job.partition)
    };
    let kept: Vec<bool> = jobs.into_iter().map(kept).collect();
    let Some(mut tree) = Tree::parse(&text) else {
        shell.print(&text);
        return Ok(());
    };
    tree.retain("jobs", &kept);
    shell.print(&form.print(&tree));
    Ok(())
}

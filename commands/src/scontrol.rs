//! `scontrol`: shows everything about jobs, nodes, partitions and reservations, and changes jobs and
//! nodes.

mod job;
mod record;
mod site;
mod update;

use std::rc::Rc;

use drawbridge_bridge::slurm::{
    calls::{Call, JobById, Jobs, Listed, Nodes, Partitions, Pings, Reservations, Show, Showing},
    session::Session,
};
use drawbridge_sim::Release;

use crate::{
    amounts::Shorten,
    flags::{
        Flag, Manual,
        Takes::{Maybe, Nothing, Value},
        flag,
    },
    hosts,
    json::{DataForm, Tree},
    moments::Clock,
    releases,
    shell::{Outcome, Quit, Shell},
    squeue::entry::{Entry, View},
    start::{self, Started},
};

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["all"], "a", Nothing, "what hidden partitions have as well"),
    flag(&["details"], "d", Nothing, "which devices of a node are used"),
    flag(&["federation"], "", Nothing, "").refused("slurmrestd serves one cluster and no federation"),
    flag(&["future"], "F", Nothing, "nodes that aren't there yet as well"),
    flag(&["help"], "h", Nothing, "print this"),
    flag(&["hide"], "", Nothing, "nothing that hidden partitions have"),
    flag(&["json"], "", Maybe("VERSION"), "show: the reply of slurmrestd as JSON"),
    flag(&["yaml"], "", Maybe("VERSION"), "show: the same as YAML"),
    flag(&["local"], "", Nothing, "this cluster alone").no_bearing(),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused("slurmrestd serves one cluster"),
    flag(&["oneliner"], "o", Nothing, "a line for each record"),
    flag(&["quiet"], "Q", Nothing, "say nothing of what isn't there"),
    flag(&["sibling"], "", Nothing, "").refused("slurmrestd serves one cluster and no federation"),
    flag(&["uid"], "u", Value("USER"), "").refused("who asks is whom the token belongs to"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["verbose"], "v", Nothing, "say more").no_bearing(),
    flag(&["version"], "V", Nothing, "print the version"),
];

/// `scontrol` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "scontrol",
    about: "Shows everything about jobs, nodes, partitions and reservations; changes jobs and nodes.",
    usage: "[OPTIONS] COMMAND",
    flags: FLAGS,
    notes: "\
Commands:
  show job [ID]                    everything about jobs; ID_TASK is a task of an array
  show node [HOSTS]                about nodes
  show partition [NAME]            about partitions
  show reservation [NAME]          about reservations
  show hostnames|hostlist LIST     a list of hosts, taken apart or put together
  hold|release JOB...              hold jobs, or let them go; name=NAME means all of that name
  requeue|requeuehold JOB...       back into the queue (needs v0.0.45)
  update jobid=JOB NAME=VALUE...   change a job: TimeLimit, Partition, Priority, Nice, Comment …
  update nodename=HOSTS NAME=VALUE...  change nodes: State, Reason, Weight, Comment …
  ping                             whether slurmctld answers

What slurmrestd doesn't tell is `N/A`: the session that submitted a job, the PreemptMode that partitions
take over from slurm.conf; before v0.0.45 every YES or NO of a partition.
",
};

#[derive(Debug, Default)]
struct Options {
    all: bool,
    details: bool,
    future: bool,
    one_line: bool,
    quiet: bool,
    data: Option<DataForm>,
}

/// Runs `scontrol`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let parsed = match start::parse(shell, &MANUAL, args)? {
        Started::Done => return Ok(()),
        Started::With(parsed) => parsed,
    };
    let mut options = Options::default();
    for (name, value) in parsed.flags {
        let value = value.unwrap_or_default();
        match name {
            "all" => options.all = true,
            "hide" => options.all = false,
            "details" => options.details = true,
            "future" => options.future = true,
            "oneliner" => options.one_line = true,
            "quiet" => options.quiet = true,
            "json" => options.data = Some(DataForm::json(shell, &value)?),
            "yaml" => options.data = Some(DataForm::yaml(shell, &value)?),
            _ => {}
        }
    }
    let words = parsed.words;
    let Some((keyword, rest)) = words.split_first() else {
        shell.error("no command is given");
        shell.print(&MANUAL.usage());
        return Err(Quit(1));
    };
    command(shell, &options, keyword, rest)
}

fn command(shell: &mut Shell<'_>, options: &Options, keyword: &str, rest: &[String]) -> Outcome {
    let lower = keyword.to_ascii_lowercase();
    let takes = ["hold", "uhold", "release", "requeue", "requeuehold", "update", "show"];
    if takes.contains(&lower.as_str()) && rest.is_empty() {
        shell.say(&format!("too few arguments for keyword:{keyword}"));
        return Err(Quit(1));
    }
    match lower.as_str() {
        "show" => show(shell, options, &rest[0], rest.get(1).map(String::as_str)),
        "hold" => update::hold(shell, rest, true),
        "release" => update::hold(shell, rest, false),
        "requeue" => update::requeue(shell, rest, false),
        "requeuehold" => update::requeue(shell, rest, true),
        "update" => update::update(shell, rest),
        "ping" => ping(shell),
        "version" => {
            shell.print(concat!("drawbridge ", env!("CARGO_PKG_VERSION"), "\n"));
            Ok(())
        }
        "help" => {
            shell.print(&MANUAL.help());
            Ok(())
        }
        "uhold" | "suspend" | "resume" | "reconfigure" | "reconfig" | "shutdown" | "takeover"
        | "token" | "create" | "delete" | "abort" | "top" | "notify" | "reboot" | "write"
        | "completing" | "listjobs" | "listpids" | "liststeps" | "setdebug" | "bb_status"
        | "cancel_reboot" | "power" | "fsdampeningfactor" | "schedloglevel" | "setdebugflags"
        | "callerid" | "errnumstr" | "pidinfo" | "checkpoint" => {
            shell.unsupported(&format!("`{lower}`"), "it has no call for it")
        }
        _ => {
            shell.say(&format!("invalid keyword: {keyword}"));
            Err(Quit(1))
        }
    }
}

fn show(shell: &mut Shell<'_>, options: &Options, what: &str, which: Option<&str>) -> Outcome {
    let begins = |word: &str| {
        let least = 3.min(word.len());
        let what = what.to_ascii_lowercase();
        least <= what.len() && word.starts_with(&what)
    };
    let all = what.to_ascii_lowercase();
    match () {
        () if begins("hostnames") || all == "hostname" => hostnames(shell, which),
        () if begins("hostlist") || begins("hostlistsorted") => hostlist(shell, &all, which),
        () if begins("jobs") => show_jobs(shell, options, which),
        () if begins("nodes") => show_nodes(shell, options, which),
        () if begins("partitions") => show_partitions(shell, options, which),
        () if begins("reservations") => show_reservations(shell, options, which),
        () => {
            let known = [
                "aliases",
                "assoc_mgr",
                "bbstat",
                "burstbuffer",
                "config",
                "daemons",
                "dwstat",
                "federations",
                "licenses",
                "slurmd",
                "steps",
                "topology",
                "topoconf",
            ];
            if known.contains(&all.as_str()) {
                return shell
                    .unsupported(&format!("`show {all}`"), "use `squeue`, `sinfo` or `sdiag`");
            }
            let blank = match release(shell) {
                Some(Release::V24_11) => " ",
                _ => "",
            };
            shell.say(&format!("invalid entity:{what} for keyword:show{blank}"));
            Err(Quit(1))
        }
    }
}

/// Whose server it is, if it answers.
fn release(shell: &mut Shell<'_>) -> Option<Release> {
    let session = shell.world.connect().ok()?;
    let pings = session.ask_fully(&Pings).ok()?;
    Some(releases::nearest(&pings.meta.slurm.release))
}

fn wanted(options: &Options) -> Vec<Show> {
    let mut show = vec![];
    show.extend(options.all.then_some(Show::All));
    show.extend(options.details.then_some(Show::Detail));
    show.extend(options.future.then_some(Show::Future));
    show
}

/// Prints a reply as it came.
fn data<C: Call>(
    shell: &mut Shell<'_>,
    session: &Session,
    call: &C,
    form: DataForm,
    what: &str,
) -> Outcome {
    match session.ask_text(call) {
        Ok((_, text)) => {
            let printed = Tree::parse(&text).map_or(text.clone(), |tree| form.print(&tree));
            shell.print(&printed);
            Ok(())
        }
        Err(error) => shell.perror(what, &error),
    }
}

/// Items of a list, and whose server they are from; data is printed at once.
fn list<C: Listed, T>(
    shell: &mut Shell<'_>,
    options: &Options,
    (call, what): (C, &str),
    items: impl Fn(C::Answer) -> Vec<T>,
) -> Outcome<Option<(Vec<T>, Release)>> {
    let session = shell.connect()?;
    let mut show = wanted(options);
    if what.contains("node") {
        show.push(Show::Mixed);
    }
    let call = Showing { call, show };
    if let Some(form) = options.data {
        data(shell, &session, &call, form, what)?;
        return Ok(None);
    }
    match session.ask_fully(&call) {
        Ok(answer) => {
            let release = releases::nearest(&answer.meta.slurm.release);
            Ok(Some((items(answer.value), release)))
        }
        Err(error) => shell.perror(what, &error),
    }
}

fn show_jobs(shell: &mut Shell<'_>, options: &Options, which: Option<&str>) -> Outcome {
    const ERROR: &str = "slurm_load_jobs error";
    let fine = |byte: u8| byte.is_ascii_digit() || byte == b'_' || byte == b'+';
    if which.is_some_and(|id| !id.bytes().all(fine)) {
        shell.say("scontrol_print_job error: Invalid job id specified");
        return Err(Quit(1));
    }
    if options.details && options.data.is_none() {
        let why = "its CPUs and devices are told in terms of sockets and cores (--json has them)";
        return shell.unsupported("-d for jobs", why);
    }
    let session = shell.connect()?;
    let id = which.map(|id| id.split(['_', '+']).next().unwrap_or(id).to_owned());
    let task = which.and_then(|id| id.split_once('_')).and_then(|(_, task)| task.parse().ok());
    if let Some(form) = options.data {
        return match id {
            Some(id) => data(shell, &session, &JobById(id), form, ERROR),
            None => {
                data(shell, &session, &Showing { call: Jobs, show: wanted(options) }, form, ERROR)
            }
        };
    }
    let loaded = match &id {
        Some(id) => session.ask_fully(&JobById(id.clone())).map(|jobs| (jobs.value, jobs.meta)),
        None => {
            let call = Showing { call: Jobs, show: wanted(options) };
            session.ask_fully(&call).map(|jobs| (jobs.value.items, jobs.meta))
        }
    };
    let (jobs, meta) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return shell.perror(ERROR, &error),
    };
    if id.is_some() && jobs.is_empty() {
        if !options.quiet {
            shell.say(&format!("{ERROR}: Invalid job id specified"));
        }
        return Err(Quit(1));
    }
    let view = Rc::new(View {
        clock: Clock::of(shell),
        release: releases::nearest(&meta.slurm.release),
        shorten: Shorten::Exactly,
        expand_patterns: true,
        task_bytes: None,
    });
    let mut shown = 0;
    for job in jobs {
        let mut entry = Entry::new(job, &view);
        if !narrowed(&mut entry, task) {
            continue;
        }
        shown += 1;
        shell.print(&job::text(&entry, options.one_line));
    }
    missing(shell, options, shown, which, ("Job", "jobs"))
}

/// Whether this task is in a record, which then shows it alone.
fn narrowed(entry: &mut Entry, task: Option<u64>) -> bool {
    let Some(task) = task else { return true };
    if entry.task() == Some(task) {
        return true;
    }
    let within = u32::try_from(task)
        .ok()
        .is_some_and(|task| entry.tasks.as_ref().is_some_and(|tasks| tasks.contains(&task)));
    if within {
        entry.job.array_task_id = task.into();
        entry.job.array_task_string.clear();
    }
    within
}

/// Says that there is nothing to show.
fn missing(
    shell: &mut Shell<'_>,
    options: &Options,
    shown: usize,
    which: Option<&str>,
    (one, many): (&str, &str),
) -> Outcome {
    match which {
        _ if 0 < shown => Ok(()),
        Some(name) => {
            if !options.quiet {
                shell.print(&format!("{one} {name} not found\n"));
            }
            Err(Quit(1))
        }
        None => {
            if !options.quiet {
                shell.print(&format!("No {many} in the system\n"));
            }
            Ok(())
        }
    }
}

fn show_nodes(shell: &mut Shell<'_>, options: &Options, which: Option<&str>) -> Outcome {
    let call = (Nodes, "slurm_load_node error");
    let Some((nodes, release)) = list(shell, options, call, |nodes| nodes.items)? else {
        return Ok(());
    };
    let clock = Clock::of(shell);
    let mut outcome = Ok(());
    let Some(which) = which else {
        for node in &nodes {
            shell.print(&site::node(node, &clock, release, options.one_line));
        }
        return missing(shell, options, nodes.len(), None, ("Node", "nodes"));
    };
    for name in hosts::expand(which) {
        let node = nodes.iter().find(|node| node.name == name);
        if let Some(node) = node {
            shell.print(&site::node(node, &clock, release, options.one_line));
        } else {
            outcome = missing(shell, options, 0, Some(&name), ("Node", "nodes"));
        }
    }
    outcome
}

fn show_partitions(shell: &mut Shell<'_>, options: &Options, which: Option<&str>) -> Outcome {
    let call = (Partitions, "slurm_load_partitions error");
    let Some((parts, release)) = list(shell, options, call, |parts| parts.items)? else {
        return Ok(());
    };
    let mut shown = 0;
    for part in parts.iter().filter(|part| which.is_none_or(|name| name == part.name)) {
        shown += 1;
        shell.print(&site::partition(part, release, options.one_line));
    }
    missing(shell, options, shown, which, ("Partition", "partitions"))
}

fn show_reservations(shell: &mut Shell<'_>, options: &Options, which: Option<&str>) -> Outcome {
    const ERROR: &str = "slurm_load_reservations error";
    let session = shell.connect()?;
    if let Some(form) = options.data {
        return data(shell, &session, &Reservations, form, ERROR);
    }
    let (all, release) = match session.ask_fully(&Reservations) {
        Ok(all) => (all.value.items, releases::nearest(&all.meta.slurm.release)),
        Err(error) => return shell.perror(ERROR, &error),
    };
    let clock = Clock::of(shell);
    let mut shown = 0;
    for one in all.iter().filter(|one| which.is_none_or(|name| name == one.name)) {
        shown += 1;
        shell.print(&site::reservation(one, &clock, release, options.one_line));
    }
    missing(shell, options, shown, which, ("Reservation", "reservations"))
}

fn hostnames(shell: &mut Shell<'_>, list: Option<&str>) -> Outcome {
    let list = list.map(str::to_owned).or_else(|| shell.env.get("SLURM_JOB_NODELIST").cloned());
    let Some(list) = list else { return shell.fail("host list is empty") };
    for name in hosts::expand(&list) {
        shell.print(&format!("{name}\n"));
    }
    Ok(())
}

fn hostlist(shell: &mut Shell<'_>, what: &str, list: Option<&str>) -> Outcome {
    let Some(list) = list else { return shell.fail("host list is empty") };
    let folded = if what == "hostlistsorted" {
        hosts::sorted(list)
    } else {
        drawbridge_sim::fold_hostlist(&hosts::expand(list))
    };
    shell.print(&format!("{folded}\n"));
    Ok(())
}

fn ping(shell: &mut Shell<'_>) -> Outcome {
    let session = shell.connect()?;
    let pings = match session.ask(&Pings) {
        Ok(pings) => pings,
        Err(error) => return shell.perror("slurm_ping error", &error),
    };
    let mut up = false;
    for (number, ping) in pings.iter().enumerate() {
        let mode = if number == 0 { "primary" } else { "backup" };
        let state = if ping.is_up() { "UP" } else { "DOWN" };
        up |= ping.is_up();
        shell.print(&format!("Slurmctld({mode}) at {} is {state}\n", ping.hostname));
    }
    if up { Ok(()) } else { Err(Quit(1)) }
}

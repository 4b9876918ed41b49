//! `scontrol update`, `hold`, `release` and `requeue`.

use drawbridge_bridge::slurm::{
    calls::{JobDescription, Jobs, NodeChange, Pings, Requeue, UpdateJob, UpdateNode},
    session::{Session, SessionError},
    types::Number,
};
use drawbridge_sim::Release;

use crate::{
    moments::Clock,
    releases, sbatch,
    shell::{self, Outcome, Quit, Shell},
};

/// What can be changed of a job, and the flag of `sbatch` that says the same.
#[rustfmt::skip]
const OF_JOB: &[(&str, &str)] = &[
    ("Comment", "comment"), ("Extra", "extra"), ("TimeLimit", "time"), ("TimeMin", "time-min"),
    ("Priority", "priority"), ("Nice", "nice"), ("CPUsPerTask", "cpus-per-task"), ("NumTasks", "ntasks"),
    ("NumNodes", "nodes"), ("ReqNodes", "nodes"), ("TasksPerNode", "ntasks-per-node"),
    ("ReqSockets", "sockets-per-node"), ("ReqCores", "cores-per-socket"), ("ReqThreads", "threads-per-core"),
    ("MinCPUsNode", "mincpus"), ("MinMemoryNode", "mem"), ("MinMemoryCPU", "mem-per-cpu"),
    ("MinTmpDiskNode", "tmp"), ("Partition", "partition"), ("QOS", "qos"), ("ReservationName", "reservation"),
    ("JobName", "job-name"), ("Name", "job-name"), ("WCKey", "wckey"), ("StdErr", "error"), ("StdIn", "input"),
    ("StdOut", "output"), ("Switches", "switches"), ("CoreSpec", "core-spec"), ("ThreadSpec", "thread-spec"),
    ("ClusterFeatures", "cluster-constraint"), ("ExcNodeList", "exclude"), ("ReqNodeList", "nodelist"),
    ("NodeList", "nodelist"), ("Features", "constraint"), ("Prefer", "prefer"), ("Gres", "gres"),
    ("TresPerNode", "gres"), ("TresPerTask", "tres-per-task"), ("TresBind", "tres-bind"),
    ("Account", "account"), ("BurstBuffer", "bb"), ("Dependency", "dependency"), ("Licenses", "licenses"),
    ("EligibleTime", "begin"), ("StartTime", "begin"), ("Deadline", "deadline"), ("WorkDir", "chdir"),
    ("MailType", "mail-type"), ("MailUser", "mail-user"), ("MCSLabel", "mcs-label"),
    ("DelayBoot", "delay-boot"),
];

/// `update`: the first of these names says what it is about.
pub(super) fn update(shell: &mut Shell<'_>, words: &[String]) -> Outcome {
    let named = |names: &[&str]| {
        words.iter().find_map(|word| {
            let (tag, value) = word.split_once('=')?;
            names.iter().any(|name| name.eq_ignore_ascii_case(tag)).then(|| value.to_owned())
        })
    };
    if let Some(nodes) = named(&["NodeName", "Node"]) {
        return update_node(shell, &nodes, words);
    }
    for (names, what) in [
        (&["PartitionName", "Partition"][..], "a change of partitions"),
        (&["ReservationName", "Reservation"], "a change of reservations"),
    ] {
        if named(names).is_some() && named(&["JobId", "Job", "JobName"]).is_none() {
            return shell.unsupported(what, "it has no call for it");
        }
    }
    if let Some(jobs) = named(&["JobId", "Job"]) {
        return update_jobs(shell, &jobs, words);
    }
    shell.say("No valid entity in update command");
    shell.say(
        "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"",
    );
    Err(Quit(1))
}

fn update_jobs(shell: &mut Shell<'_>, jobs: &str, words: &[String]) -> Outcome {
    let change = job_change(shell, words)?;
    if change == JobDescription::default() {
        shell.say("No changes specified");
        return Err(Quit(1));
    }
    let session = shell.connect()?;
    let mut outcome = Ok(());
    for job in jobs.split(',').filter(|job| !job.is_empty()) {
        let call = UpdateJob { job: job.to_owned(), change: change.clone() };
        if let Err(error) = session.ask(&call) {
            outcome = complain(shell, job, &error);
        }
    }
    outcome
}

fn job_change(shell: &mut Shell<'_>, words: &[String]) -> Outcome<JobDescription> {
    let clock = Clock::of(shell);
    let Some(now) = clock.zoned(clock.now) else { return shell.fail("the clock is out of range") };
    let mut change = JobDescription::default();
    for word in words {
        let (tag, value) = word.split_once('=').unwrap_or((word, ""));
        let is = |name: &str| name.eq_ignore_ascii_case(tag);
        if is("JobId") || is("Job") {
            continue;
        }
        let Some((name, flag)) = OF_JOB.iter().find(|(name, _)| begins(name, tag)) else {
            match tag.to_ascii_lowercase().as_str() {
                "admincomment" => change.admin_comment = Some(value.to_owned()),
                "requeue" => change.requeue = Some(value != "0"),
                "contiguous" => change.contiguous = Some(yes(value)),
                "oversubscribe" | "shared" => {
                    let word = if yes(value) { "oversubscribe" } else { "none" };
                    change.shared = Some(vec![word.to_owned()]);
                }
                "numcpus" | "reqprocs" => change.minimum_cpus = value.parse().ok(),
                _ => {
                    shell.say(&format!("Update of this parameter is not supported: {word}"));
                    shell.say("Request aborted");
                    return Err(Quit(1));
                }
            }
            continue;
        };
        if tag.ends_with(['+', '-']) || sbatch::apply(&mut change, flag, value, &now).is_none() {
            return shell.fail(&format!("Invalid {name} value"));
        }
    }
    Ok(change)
}

/// Whether a tag is a name, or long enough a beginning of it.
fn begins(name: &str, tag: &str) -> bool {
    const LEAST: usize = 3;
    let tag = tag.trim_end_matches(['+', '-']);
    let enough = LEAST.min(name.len()) <= tag.len();
    enough && name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

fn yes(value: &str) -> bool {
    ["yes", "y", "1", "true"].iter().any(|word| word.eq_ignore_ascii_case(value))
}

fn update_node(shell: &mut Shell<'_>, nodes: &str, words: &[String]) -> Outcome {
    let mut change = NodeChange::default();
    let list = |value: &str| Some(value.split(',').map(str::to_owned).collect());
    for word in words {
        let (tag, value) = word.split_once('=').unwrap_or((word, ""));
        match tag.to_ascii_lowercase().as_str() {
            "nodename" | "node" => {}
            "state" => {
                change.state = vec![value.to_ascii_uppercase().replace("NORESP", "NOT_RESPONDING")];
            }
            "reason" => change.reason = Some(value.to_owned()),
            "comment" => change.comment = Some(value.to_owned()),
            "extra" => change.extra = Some(value.to_owned()),
            "availablefeatures" | "features" => change.features = list(value),
            "activefeatures" => change.features_act = list(value),
            "gres" => change.gres = Some(value.to_owned()),
            "weight" => change.weight = value.parse::<u64>().ok().map(Number::Is),
            "resumeafter" => change.resume_after = value.parse::<u64>().ok().map(Number::Is),
            _ => {
                shell.say(&format!("Update of this parameter is not supported: {word}"));
                shell.say("Request aborted");
                return Err(Quit(1));
            }
        }
    }
    let out = ["DOWN", "DRAIN", "FAIL"];
    if change.state.iter().any(|state| out.contains(&state.as_str())) && change.reason.is_none() {
        shell.say("You must specify a reason when DOWNING a node");
        shell.say("Request denied");
        return Err(Quit(1));
    }
    let session = shell.connect()?;
    match session.ask(&UpdateNode { node: nodes.to_owned(), change }) {
        Ok(_) => Ok(()),
        Err(error) => shell.perror("slurm_update error", &error),
    }
}

fn complain(shell: &mut Shell<'_>, job: &str, error: &SessionError) -> Outcome {
    shell.say(&format!("{} for job {job}", shell::reason(error)));
    Err(shell.quit(error))
}

/// Jobs that were named: `7,8`, `17_3`, or `name=…`.
fn named_jobs(shell: &mut Shell<'_>, session: &Session, words: &[String]) -> Outcome<Vec<String>> {
    let mut jobs = vec![];
    for word in words {
        let Some((_, name)) = word.split_once('=') else {
            jobs.extend(word.split(',').filter(|job| !job.is_empty()).map(str::to_owned));
            continue;
        };
        let all = match session.ask(&Jobs) {
            Ok(all) => all.items,
            Err(error) => return shell.perror("slurm_load_jobs error", &error),
        };
        let of_name = all.into_iter().filter(|job| job.name == name);
        jobs.extend(of_name.map(|job| job.job_id.to_string()));
    }
    Ok(jobs)
}

/// `hold` and `release`.
pub(super) fn hold(shell: &mut Shell<'_>, words: &[String], held: bool) -> Outcome {
    let session = shell.connect()?;
    let mut outcome = Ok(());
    for job in named_jobs(shell, &session, words)? {
        let change = JobDescription { hold: Some(held), ..JobDescription::default() };
        let number = job.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
        let done = if number {
            session.ask(&UpdateJob { job: job.clone(), change }).map(drop).map_err(Some)
        } else {
            Err(None)
        };
        let Err(error) = done else { continue };
        let reason =
            error.as_ref().map_or_else(|| "Invalid job id specified".into(), shell::reason);
        shell.say(&format!("{reason} for job {job}"));
        let release =
            session.ask_fully(&Pings).map(|pings| releases::nearest(&pings.meta.slurm.release));
        let blank = if release.is_ok_and(|release| release == Release::V24_11) { " " } else { "" };
        shell.say(&format!("slurm_suspend error:{blank}{reason}"));
        outcome = Err(error.as_ref().map_or(Quit(1), |error| shell.quit(error)));
    }
    outcome
}

/// `requeue` and `requeuehold`.
pub(super) fn requeue(shell: &mut Shell<'_>, words: &[String], held: bool) -> Outcome {
    let session = shell.connect()?;
    let mut outcome = Ok(());
    for job in named_jobs(shell, &session, words)? {
        let call = Requeue { job: job.clone(), hold: held, ..Requeue::default() };
        if let Err(error) = session.ask(&call) {
            outcome = complain(shell, &job, &error);
        }
    }
    outcome
}

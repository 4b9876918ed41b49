//! `sbatch`: submits a script.
//!
//! ```text
//!   #SBATCH lines ─▶ SBATCH_* ─▶ command line ─▶ one description ─▶ slurmrestd ─▶ Submitted batch job N
//! ```

mod options;
mod script;

use std::{collections::BTreeMap, time::Duration};

use drawbridge_bridge::slurm::{
    calls::{Cancel, JobById, JobDescription, Submit},
    session::{Session, SessionError},
    types::Job,
};

use self::script::Script;
use crate::{
    getopt,
    moments::Clock,
    shell::{self, Outcome, Quit, Shell},
    start::{self, Started},
    states::job::JobState,
};

pub(crate) use options::{MANUAL, apply};

/// What isn't about the job itself.
#[derive(Debug, Default)]
struct Manner {
    export: Option<String>,
    parsable: bool,
    quiet: bool,
    test_only: bool,
    wait: bool,
    wrap: Option<String>,
}

/// Exit code of a command line that makes no sense: -1, as a byte.
const WRONG: u8 = 255;

/// Runs `sbatch`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let parsed = match start::parse_until_word(shell, &MANUAL, args) {
        Ok(Started::Done) => return Ok(()),
        Ok(Started::With(parsed)) => parsed,
        Err(Quit(1)) => return Err(Quit(WRONG)),
        Err(quit) => return Err(quit),
    };
    let wrap = parsed.flags.iter().rev().find(|(name, _)| *name == "wrap");
    let script = match wrap.and_then(|(_, command)| command.clone()) {
        Some(_) if !parsed.words.is_empty() => {
            return shell.fail("Script arguments not permitted with --wrap option");
        }
        Some(command) => Script::wrapped(&command),
        None => Script::read(shell, parsed.words.first().map(String::as_str))?,
    };
    let flags = all_flags(shell, &script, parsed.flags)?;
    let (mut job, manner) = described(shell, flags)?;
    complete(shell, &mut job, &manner, script, parsed.words);
    let session = shell.connect()?;
    submit(shell, &session, job, &manner)
}

type Flags = Vec<(&'static str, Option<String>)>;

/// Flags in the order in which they count: the script's, the environment's, the command line's.
fn all_flags(shell: &mut Shell<'_>, script: &Script, own: Flags) -> Outcome<Flags> {
    let mut flags = vec![];
    let words = script.options(shell)?;
    match getopt::parse(MANUAL.flags, &words) {
        Ok(parsed) => flags.extend(parsed.flags),
        Err(wrong) => {
            let name = shell.name.clone();
            shell.say(&format!("{name}: {wrong}"));
            shell.say("Try \"sbatch --help\" for more information");
            return Err(Quit(WRONG));
        }
    }
    for (name, _) in &flags {
        start::refuse(shell, &MANUAL, name)?;
    }
    for (variable, flag) in options::VARIABLES {
        if let Some(value) = shell.env.get(*variable) {
            flags.push((*flag, Some(value.clone())));
        }
    }
    flags.extend(own);
    Ok(flags)
}

fn described(shell: &mut Shell<'_>, flags: Flags) -> Outcome<(JobDescription, Manner)> {
    let clock = Clock::of(shell);
    let Some(now) = clock.zoned(clock.now) else { return shell.fail("the clock is out of range") };
    let mut job = JobDescription::default();
    let mut manner = Manner::default();
    for (name, value) in flags {
        let given = value.clone();
        let value = value.unwrap_or_default();
        match name {
            "export" => manner.export = Some(value),
            "parsable" => manner.parsable = true,
            "quiet" => manner.quiet = true,
            "test-only" => manner.test_only = true,
            "wait" => manner.wait = true,
            "wrap" => manner.wrap = given,
            name => {
                // Of devices for each node only the last list of each kind counts.
                if name == "gres" {
                    job.tres_per_node = None;
                }
                if options::counts(name) && value.parse::<u32>().is_ok_and(|count| count == 0) {
                    return shell.fail(&format!("Invalid numeric value \"{value}\" for --{name}."));
                }
                if options::apply(&mut job, name, &value, &now).is_none() {
                    shell.error(&format!("Invalid --{name} specification"));
                    return Err(Quit(WRONG));
                }
            }
        }
    }
    Ok((job, manner))
}

/// What the job gets that nobody asked for.
fn complete(
    shell: &Shell<'_>,
    job: &mut JobDescription,
    manner: &Manner,
    script: Script,
    words: Vec<String>,
) {
    let name = job.name.get_or_insert(script.name).clone();
    let cwd = match job.current_working_directory.take() {
        Some(path) if path.starts_with('/') => path,
        Some(path) => format!("{}/{path}", shell.cwd),
        None => shell.cwd.clone(),
    };
    job.environment = Some(environment(shell, manner, job, &name));
    job.current_working_directory = Some(cwd);
    job.script = Some(script.text);
    if !words.is_empty() {
        job.argv = Some(words);
    }
    if let Some(tasks) = job.tasks {
        job.minimum_cpus = Some(tasks.saturating_mul(job.cpus_per_task.unwrap_or(1)));
    }
}

/// The job's variables: ours, without what leads to slurmrestd, or those that `--export` names.
fn environment(
    shell: &Shell<'_>,
    manner: &Manner,
    job: &JobDescription,
    name: &str,
) -> Vec<String> {
    let secret = |name: &str| name.starts_with("SLURM_JWT") || name.starts_with("SLURM_REST_");
    let ours = || shell.env.iter().filter(|(name, _)| !secret(name));
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut of_node = false;
    for word in manner.export.as_deref().unwrap_or("ALL").split(',') {
        match word.split_once('=') {
            Some((name, value)) => {
                all.insert(name.to_owned(), value.to_owned());
            }
            None if word.eq_ignore_ascii_case("all") => {
                all.extend(ours().map(|(name, value)| (name.clone(), value.clone())));
            }
            None if word.eq_ignore_ascii_case("none") => of_node = true,
            None if word.eq_ignore_ascii_case("nil") => {}
            None => all.extend(shell.env.get(word).map(|value| (word.to_owned(), value.clone()))),
        }
    }
    if of_node
        || manner.export.as_deref().is_some_and(|list| !list.to_ascii_uppercase().contains("ALL"))
    {
        all.insert("SLURM_GET_USER_ENV".into(), "1".into());
    }
    all.insert("SLURM_SUBMIT_DIR".into(), shell.cwd.clone());
    all.insert("SLURM_JOB_NAME".into(), name.to_owned());
    for (variable, value) in [
        ("SLURM_NTASKS", job.tasks),
        ("SLURM_CPUS_PER_TASK", job.cpus_per_task),
        ("SLURM_NTASKS_PER_NODE", job.tasks_per_node),
    ] {
        all.extend(value.map(|value| (variable.to_owned(), value.to_string())));
    }
    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn submit(
    shell: &mut Shell<'_>,
    session: &Session,
    mut job: JobDescription,
    manner: &Manner,
) -> Outcome {
    if manner.test_only {
        job.hold = Some(true);
        job.mail_type = None;
    }
    let submitted = match session.ask(&Submit(job)) {
        Ok(submitted) => submitted,
        Err(error) => return refused(shell, manner, &error),
    };
    let name = shell.name.clone();
    for line in submitted.job_submit_user_msg.lines() {
        shell.say(&format!("{name}: {line}"));
    }
    let id = submitted.job_id;
    if manner.test_only {
        return tested(shell, session, id);
    }
    if manner.parsable {
        shell.print(&format!("{id}\n"));
    } else if !manner.quiet {
        shell.print(&format!("Submitted batch job {id}\n"));
    }
    if manner.wait { wait(shell, session, id) } else { Ok(()) }
}

fn refused(shell: &mut Shell<'_>, manner: &Manner, error: &SessionError) -> Outcome {
    let reason = shell::reason(error);
    if manner.test_only {
        shell.say(&format!("allocation failure: {reason}"));
    } else {
        shell.error(&format!("Batch job submission failed: {reason}"));
    }
    Err(shell.quit(error))
}

/// Says what a held job looks like, and cancels it.
fn tested(shell: &mut Shell<'_>, session: &Session, id: u32) -> Outcome {
    let job = session.ask(&JobById(id.to_string())).ok().and_then(|jobs| jobs.into_iter().next());
    let cancel = Cancel { job: id.to_string(), ..Cancel::default() };
    if let Err(error) = session.ask(&cancel) {
        shell.error(&format!(
            "Job {id} is held and could not be cancelled: {}",
            shell::reason(&error)
        ));
        return Err(shell.quit(&error));
    }
    let Job { cpus, partition, .. } = job.unwrap_or_default();
    let (name, cpus) = (shell.name.clone(), cpus.or_zero());
    shell.say(&format!(
        "{name}: Job {id} would be taken, with {cpus} processors in partition {partition}"
    ));
    Ok(())
}

/// Waits for a job's end, and ends as it did.
fn wait(shell: &mut Shell<'_>, session: &Session, id: u32) -> Outcome {
    shell.flush()?;
    let mut pause = Duration::from_secs(1);
    loop {
        let jobs = match session.ask(&JobById(id.to_string())) {
            Ok(jobs) => jobs,
            Err(error) => return shell.perror("slurm_load_jobs error", &error),
        };
        let over = |job: &Job| {
            let state = JobState::of(&job.job_state);
            let going =
                [JobState::PENDING, JobState::RUNNING, JobState::SUSPENDED, JobState::COMPLETING];
            !going.into_iter().any(|base| state.is(base))
        };
        if jobs.iter().all(over) {
            let code = jobs.iter().map(exit_code).max().unwrap_or(0);
            return if code == 0 { Ok(()) } else { Err(Quit(code)) };
        }
        shell.world.sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(30));
    }
}

fn exit_code(job: &Job) -> u8 {
    let code = job.exit_code.return_code.or_zero();
    let signalled = job.exit_code.signal.id.or_zero() != 0;
    u8::try_from(code & 0xff).unwrap_or(1).max(u8::from(signalled))
}

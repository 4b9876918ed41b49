//! `scancel`: cancels jobs, or sends them signals.

use drawbridge_bridge::slurm::{
    calls::{Cancel, Jobs, Show, Showing},
    session::Session,
    types::Job,
};

use crate::{
    flags::{
        Flag, Manual,
        Takes::{Nothing, Value},
        flag,
    },
    hosts,
    shell::{self, Outcome, Quit, Shell},
    signals,
    start::{self, Started},
    states::job::JobState,
};

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["account"], "A", Value("ACCOUNT"), "jobs of this account"),
    flag(&["batch"], "b", Nothing, "signal the batch script alone"),
    flag(&["cron"], "c", Nothing, "jobs of scrontab as well"),
    flag(&["ctld"], "", Nothing, "let slurmctld send the signals").no_bearing(),
    flag(&["full"], "f", Nothing, "signal the batch script and every step"),
    flag(&["help"], "", Nothing, "print this"),
    flag(&["hurry"], "H", Nothing, "leave burst buffers as they are"),
    flag(&["interactive"], "i", Nothing, "ask before each"),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused("slurmrestd serves one cluster"),
    flag(&["me"], "", Nothing, "my jobs: those of the token's user"),
    flag(&["jobname", "name"], "n", Value("NAME"), "jobs of this name"),
    flag(&["nodelist"], "w", Value("HOSTS"), "jobs on these nodes"),
    flag(&["partition"], "p", Value("PARTITION"), "jobs in this partition"),
    flag(&["quiet"], "Q", Nothing, "say nothing of jobs that have ended"),
    flag(&["qos"], "q", Value("QOS"), "jobs of this QOS"),
    flag(&["reservation"], "R", Value("NAME"), "jobs in this reservation"),
    flag(&["sibling"], "", Value("CLUSTER"), "").refused("slurmrestd serves one cluster"),
    flag(&["signal"], "s", Value("SIGNAL"), "send this signal instead"),
    flag(&["state"], "t", Value("STATE"), "jobs in this state: pending, running, suspended"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["user"], "u", Value("USER"), "jobs of this user"),
    flag(&["verbose"], "v", Nothing, "say what is done"),
    flag(&["version"], "V", Nothing, "print the version"),
    flag(&["wckey"], "", Value("WCKEY"), "jobs with this key"),
];

/// `scancel` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "scancel",
    about: "Cancels jobs, or sends them signals.",
    usage: "[OPTIONS] [JOB[_TASK]...]",
    flags: FLAGS,
    notes: "Steps can't be cancelled by themselves: slurmrestd knows jobs alone.\n",
};

#[derive(Debug, Default)]
struct Options {
    account: Option<String>,
    flags: Vec<String>,
    interactive: bool,
    name: Option<String>,
    nodes: Option<Vec<String>>,
    partition: Option<String>,
    qos: Option<String>,
    reservation: Option<String>,
    signal: Option<String>,
    state: Option<JobState>,
    user: Option<String>,
    verbose: bool,
    wckey: Option<String>,
    jobs: Vec<String>,
}

/// Runs `scancel`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let parsed = match start::parse(shell, &MANUAL, args)? {
        Started::Done => return Ok(()),
        Started::With(parsed) => parsed,
    };
    let mut options = Options::default();
    for (name, value) in parsed.flags {
        options.take(shell, name, value.unwrap_or_default())?;
    }
    for word in parsed.words {
        options.jobs.push(job_id(shell, &word)?);
    }
    if options.jobs.is_empty() && !options.filters() {
        return shell.fail("No job identification provided");
    }
    let session = shell.connect()?;
    let jobs = if options.filters() || options.interactive {
        filtered(shell, &session, &options)?
    } else {
        options.jobs.clone()
    };
    let mut code = 0;
    for job in jobs {
        code = code.max(cancel(shell, &session, &options, &job)?);
    }
    if code == 0 { Ok(()) } else { Err(Quit(code)) }
}

impl Options {
    fn take(&mut self, shell: &mut Shell<'_>, name: &str, value: String) -> Outcome {
        match name {
            "account" => self.account = Some(value),
            "batch" => self.flags.push("BATCH_JOB".into()),
            "cron" => self.flags.push("CRON_JOBS".into()),
            "full" => self.flags.push("FULL_JOB".into()),
            "hurry" => self.flags.push("HURRY".into()),
            "interactive" => self.interactive = true,
            "me" => self.user = Some(start::me(shell)?),
            "jobname" => self.name = Some(value),
            "nodelist" => self.nodes = Some(hosts::expand(&value)),
            "partition" => self.partition = Some(value),
            "qos" => self.qos = Some(value.to_ascii_lowercase()),
            "reservation" => self.reservation = Some(value),
            "signal" => self.signal = Some(signal(shell, &value)?),
            "state" => self.state = Some(state(shell, &value)?),
            "user" => self.user = Some(value),
            "verbose" => self.verbose = true,
            "wckey" => self.wckey = Some(value),
            _ => {}
        }
        Ok(())
    }

    /// What jobs must be like, as it is said when there are none.
    fn described(&self) -> String {
        let state = self.state.map(|state| state.long().to_owned());
        let nodes = self.nodes.as_ref().map(|nodes| hosts::ranged(nodes.clone()));
        let parts = [
            ("account", self.account.clone()),
            ("job_name", self.name.clone()),
            ("nodelist", nodes),
            ("partition", self.partition.clone()),
            ("qos", self.qos.clone()),
            ("reservation", self.reservation.clone()),
            ("state", state),
            ("user_name", self.user.clone()),
            ("wckey", self.wckey.clone()),
        ];
        let parts =
            parts.into_iter().filter_map(|(name, value)| Some(format!("{name}={} ", value?)));
        parts.collect()
    }

    fn filters(&self) -> bool {
        !self.described().is_empty()
    }

    fn keeps(&self, job: &Job) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        let state = JobState::of(&job.job_state);
        let active = [JobState::PENDING, JobState::RUNNING, JobState::SUSPENDED];
        let named = |id: &String| {
            let array = job.array_job_id.or_zero().to_string();
            let own = job.job_id.to_string();
            *id == own || *id == array || *id == spelt(job) || id.starts_with(&format!("{array}_"))
        };
        active.into_iter().any(|base| state.is(base))
            && is(&self.account, &job.account)
            && is(&self.name, &job.name)
            && self
                .partition
                .as_ref()
                .is_none_or(|name| job.partition.split(',').any(|p| p == name))
            && is(&self.qos, &job.qos)
            && is(&self.reservation, &job.resv_name)
            && is(&self.wckey, &job.wckey)
            && self.state.is_none_or(|wanted| state.is(wanted))
            && self
                .user
                .as_ref()
                .is_none_or(|user| *user == job.user_name || *user == job.user_id.to_string())
            && self.nodes.as_ref().is_none_or(|nodes| {
                hosts::expand(&job.nodes).iter().any(|node| nodes.contains(node))
            })
            && (self.jobs.is_empty() || self.jobs.iter().any(named))
    }
}

/// A job as users write it.
fn spelt(job: &Job) -> String {
    match (job.array_task_id.get(), job.array_task_string.is_empty()) {
        (Some(task), _) => format!("{}_{task}", job.array_job_id.or_zero()),
        (None, false) => job.array_job_id.or_zero().to_string(),
        (None, true) => job.job_id.to_string(),
    }
}

fn filtered(shell: &mut Shell<'_>, session: &Session, options: &Options) -> Outcome<Vec<String>> {
    let call = Showing { call: Jobs, show: vec![Show::All] };
    let jobs = match session.ask(&call) {
        Ok(jobs) => jobs.items,
        Err(error) => return shell.perror("slurm_load_jobs error", &error),
    };
    let known = |user: &String| jobs.iter().any(|job| job.user_name == *user);
    if let Some(user) = options.user.as_ref().filter(|user| !known(user)) {
        let own = shell.world.me().as_ref() == Some(user);
        if !own && user.parse::<u32>().is_err() && shell.world.user_id(user).is_none() {
            return shell.fail(&format!("Invalid user name: {user}"));
        }
    }
    let mut chosen = vec![];
    for job in jobs.iter().filter(|job| options.keeps(job)) {
        if !options.interactive || confirmed(shell, job)? {
            chosen.push(spelt(job));
        }
    }
    if chosen.is_empty() && options.verbose {
        let filters = options.described();
        shell.error(&format!("No active jobs match ALL job filters, including: {filters}"));
    }
    Ok(chosen)
}

fn confirmed(shell: &mut Shell<'_>, job: &Job) -> Outcome<bool> {
    let (id, name, partition) = (spelt(job), &job.name, &job.partition);
    shell.print(&format!("Cancel job_id={id} name={name} partition={partition} [y/n]? "));
    shell.flush()?;
    let mut answer = vec![];
    let mut byte = [0];
    while shell.world.stdin().read(&mut byte).is_ok_and(|read| read == 1) && byte[0] != b'\n' {
        answer.push(byte[0]);
    }
    Ok(answer.first().is_some_and(|first| first.eq_ignore_ascii_case(&b'y')))
}

/// Cancels one job; the exit code is the low byte of the error's number.
fn cancel(shell: &mut Shell<'_>, session: &Session, options: &Options, job: &str) -> Outcome<u8> {
    /// Slurm's number for a job that it doesn't know,
    const INVALID_JOB_ID: i64 = 2017;
    /// and for one that has ended.
    const ALREADY_DONE: i64 = 2021;
    if options.verbose {
        let name = shell.name.clone();
        shell.say(&match &options.signal {
            Some(signal) => {
                let number = signals::number(signal).unwrap_or(0);
                format!("{name}: Signal {number} to job {job}")
            }
            None => format!("{name}: Terminating job {job}"),
        });
    }
    let signal = options.signal.clone();
    let call = Cancel { job: job.to_owned(), signal, flags: options.flags.clone() };
    let Err(error) = session.ask(&call) else { return Ok(0) };
    let number = shell::number(&error);
    let ended = number.is_some_and(|number| [INVALID_JOB_ID, ALREADY_DONE].contains(&number));
    if options.verbose || !ended || options.signal.is_some() {
        shell.error(&format!("Kill job error on job id {job}: {}", shell::reason(&error)));
    }
    match number {
        Some(_) if ended => Ok(u8::from(options.signal.is_some())),
        Some(number) => Ok(u8::try_from(number & 0xff).unwrap_or(1)),
        None => Err(shell.quit(&error)),
    }
}

/// `7`, `17_3`, `17_[1-4]`.
fn job_id(shell: &mut Shell<'_>, text: &str) -> Outcome<String> {
    if text.contains('.') {
        return shell.unsupported(&format!("the step {text}"), "it knows jobs alone");
    }
    let (id, task) = text.split_once('_').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let tasks = task.strip_prefix('[').and_then(|task| task.strip_suffix(']'));
    let tasks = tasks.is_some_and(|tasks| !crate::arrays::tasks(tasks).is_empty());
    if digits(id) && (digits(task) || tasks || task == "*") {
        return Ok(text.to_owned());
    }
    shell.fail(&format!("Invalid job id {text}"))
}

fn signal(shell: &mut Shell<'_>, text: &str) -> Outcome<String> {
    signals::named(text).ok_or_else(|| {
        shell.say(&format!("Unknown job signal: {text}"));
        Quit(1)
    })
}

fn state(shell: &mut Shell<'_>, text: &str) -> Outcome<JobState> {
    let all = [JobState::PENDING, JobState::RUNNING, JobState::SUSPENDED];
    let meant = |state: &JobState| {
        let word = state.long();
        let begins = word.get(..text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(text));
        begins || state.short().eq_ignore_ascii_case(text)
    };
    all.into_iter().find(meant).ok_or_else(|| {
        shell.say(&format!("Invalid job state specified: {text}"));
        shell.say("Valid job states are PENDING, RUNNING, and SUSPENDED");
        Quit(1)
    })
}

//! `squeue`'s command line and environment.

use crate::{
    flags::{
        Flag, Manual,
        Takes::{Maybe, Nothing, Value},
        flag,
    },
    json::DataForm,
    shell::{Outcome, Quit, Shell},
    spans,
    start::{self, Started},
    states::job::JobState,
};

const NO_FEDERATION: &str = "slurmrestd serves one cluster and no federation";
const NO_STEPS: &str = "slurmrestd lists no job steps; `sacct` shows those in the records";

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["accounts"], "AU", Value("LIST"), "jobs of these accounts"),
    flag(&["all"], "a", Nothing, "jobs in hidden partitions as well"),
    flag(&["array"], "r", Nothing, "one line for each task of an array"),
    flag(&["expand-patterns"], "", Nothing, "fill in the patterns in names of files"),
    flag(&["Format"], "O", Value("FIELDS"), "what a line holds, by names; --helpFormat lists them"),
    flag(&["format"], "o", Value("FORMAT"), "what a line holds, by letters; --helpformat lists them"),
    flag(&["federation"], "", Nothing, "").refused(NO_FEDERATION),
    flag(&["help"], "", Nothing, "print this"),
    flag(&["helpstate"], "", Nothing, "list the states that -t takes"),
    flag(&["helpformat"], "", Nothing, "list the letters that -o takes"),
    flag(&["helpFormat"], "", Nothing, "list the names that -O takes"),
    flag(&["hide"], "", Nothing, "no jobs in hidden partitions"),
    flag(&["iterate"], "i", Value("SECONDS"), "again and again, so many seconds apart"),
    flag(&["jobs"], "j", Maybe("LIST"), "these jobs: 7, 17_3"),
    flag(&["local"], "", Nothing, "this cluster alone").no_bearing(),
    flag(&["long"], "l", Nothing, "longer lines: the state in full, the time limit"),
    flag(&["licenses"], "L", Value("LIST"), "jobs that use one of these licences"),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused(NO_FEDERATION),
    flag(&["me"], "", Nothing, "my jobs: those of the token's user"),
    flag(&["name"], "n", Value("LIST"), "jobs of these names"),
    flag(&["noconvert"], "", Nothing, "leave amounts in the units they are in"),
    flag(&["node", "nodes", "nodelist"], "w", Value("HOSTS"), "jobs on these nodes"),
    flag(&["noheader"], "h", Nothing, "no line above the others"),
    flag(&["notme"], "", Nothing, "everybody's jobs but mine"),
    flag(&["only-job-state"], "", Nothing, "numbers and states alone, which cost slurmctld little"),
    flag(&["partitions"], "p", Value("LIST"), "jobs in these partitions, hidden or not"),
    flag(&["priority"], "P", Nothing, "a job that may run in several partitions once for each"),
    flag(&["qos"], "q", Value("LIST"), "jobs of these QOS"),
    flag(&["reservation"], "R", Value("NAME"), "jobs in this reservation"),
    flag(&["running-over"], "", Value("TIME"), "jobs that have run at least so long (Slurm 26.05)"),
    flag(&["running-under"], "", Value("TIME"), "jobs that have run less than that (Slurm 26.05)"),
    flag(&["sib", "sibling"], "", Nothing, "").refused(NO_FEDERATION),
    flag(&["sort"], "S", Value("FIELDS"), "sort by these letters; - in front turns it round"),
    flag(&["start"], "", Nothing, "when waiting jobs are expected to start"),
    flag(&["steps"], "s", Maybe("LIST"), "").refused(NO_STEPS),
    flag(&["states"], "t", Value("LIST"), "jobs in these states, or `all`; --helpstate lists them"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["user", "users"], "u", Value("LIST"), "jobs of these users, by name or number"),
    flag(&["verbose"], "v", Nothing, "say more").no_bearing(),
    flag(&["version"], "V", Nothing, "print the version"),
    flag(&["json"], "", Maybe("VERSION"), "the reply of slurmrestd as JSON"),
    flag(&["yaml"], "", Maybe("VERSION"), "the same as YAML"),
];

/// `squeue` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "squeue",
    about: "Shows jobs that wait, run or end.",
    usage: "[OPTIONS]",
    flags: FLAGS,
    notes: "\
Environment: SQUEUE_ACCOUNT, SQUEUE_ALL, SQUEUE_ARRAY, SQUEUE_FORMAT, SQUEUE_FORMAT2, SQUEUE_LICENSES,
SQUEUE_NAMES, SQUEUE_PARTITION, SQUEUE_PRIORITY, SQUEUE_QOS, SQUEUE_SORT, SQUEUE_STATES, SQUEUE_USERS,
SLURM_BITSTR_LEN and SLURM_TIME_FORMAT do what they do in Slurm.
",
};

/// What a user wants to see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) accounts: Option<Vec<String>>,
    pub(crate) all: bool,
    pub(crate) array: bool,
    pub(crate) expand_patterns: bool,
    pub(crate) format: Option<String>,
    pub(crate) format_long: Option<String>,
    pub(crate) iterate: Option<u64>,
    pub(crate) jobs: Option<Vec<JobWanted>>,
    pub(crate) long: bool,
    pub(crate) licenses: Option<Vec<String>>,
    pub(crate) names: Option<Vec<String>>,
    pub(crate) noconvert: bool,
    pub(crate) nodes: Option<Vec<String>>,
    pub(crate) noheader: bool,
    pub(crate) notme: bool,
    pub(crate) only_state: bool,
    pub(crate) partitions: Option<Vec<String>>,
    pub(crate) priority: bool,
    pub(crate) qos: Option<Vec<String>>,
    pub(crate) reservation: Option<String>,
    pub(crate) running_over: Option<i64>,
    pub(crate) running_under: Option<i64>,
    pub(crate) sort: Option<String>,
    pub(crate) start: bool,
    pub(crate) states: Option<States>,
    pub(crate) users: Option<Vec<String>>,
    pub(crate) data: Option<DataForm>,
    pub(crate) task_bytes: Option<usize>,
    /// `-j` was there, with or without a list.
    jobs_asked: bool,
}

/// The states to show.
#[derive(Clone, Debug)]
pub(crate) enum States {
    All,
    These(Vec<JobState>),
}

/// A job that was named: `7`, or one task of an array: `17_3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobWanted {
    pub(crate) id: u64,
    pub(crate) task: Option<u64>,
}

/// A list with commas in it; empty parts count for nothing.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Options {
    /// Reads the command line and the environment; `None` if there is nothing more to do.
    pub(crate) fn read(shell: &mut Shell<'_>, args: &[String]) -> Outcome<Option<Self>> {
        let parsed = match start::parse(shell, &MANUAL, args)? {
            Started::Done => return Ok(None),
            Started::With(parsed) => parsed,
        };
        let mut options = Self::of_environment(shell);
        let mut override_environment = false;
        for (name, value) in parsed.flags {
            override_environment |= ["long", "Format", "format", "start"].contains(&name);
            if !options.take(shell, name, value.unwrap_or_default())? {
                return Ok(None);
            }
        }
        let mut words = parsed.words.into_iter();
        if options.jobs_asked
            && let Some(word) = words.next()
        {
            options.jobs = Some(jobs(shell, &word)?);
        }
        if let Some(word) = words.next() {
            shell.error(&format!("Unrecognized option: {word}"));
            shell.print(&MANUAL.usage());
            return Err(Quit(1));
        }
        options.complete(shell, override_environment)?;
        Ok(Some(options))
    }

    fn of_environment(shell: &Shell<'_>) -> Self {
        let set = |name: &str| shell.env.contains_key(name);
        Self {
            all: set("SQUEUE_ALL"),
            array: set("SQUEUE_ARRAY"),
            priority: set("SQUEUE_PRIORITY"),
            sort: shell.env.get("SQUEUE_SORT").cloned(),
            ..Self::default()
        }
    }

    /// Takes one flag; `false` if there is nothing more to do.
    fn take(&mut self, shell: &mut Shell<'_>, name: &str, value: String) -> Outcome<bool> {
        match name {
            "accounts" => self.accounts = Some(list(&value)),
            "all" => self.all = true,
            "hide" => self.all = false,
            "array" => self.array = true,
            "expand-patterns" => self.expand_patterns = true,
            "Format" if self.format.is_some() => {
                return shell.fail("-O (--Format) is incompatible with -o (--format)");
            }
            "Format" => self.format_long = Some(value),
            "format" if self.format_long.is_some() => {
                return shell.fail("-o (--format) is incompatible with -O (--Format)");
            }
            "format" => self.format = Some(value),
            "iterate" => self.iterate = Some(seconds(shell, &value)?),
            "jobs" => {
                self.jobs_asked = true;
                if !value.is_empty() {
                    self.jobs = Some(jobs(shell, &value)?);
                }
            }
            "long" => self.long = true,
            "licenses" => self.licenses = Some(list(&value)),
            "me" => self.users = Some(vec![start::me(shell)?]),
            "name" => self.names = Some(list(&value)),
            "noconvert" => self.noconvert = true,
            "node" => self.nodes = Some(nodes(shell, &value)?),
            "noheader" => self.noheader = true,
            "notme" => self.notme = true,
            "only-job-state" => self.only_state = true,
            "partitions" => (self.partitions, self.all) = (Some(list(&value)), true),
            "priority" => self.priority = true,
            "qos" => self.qos = Some(list(&value)),
            "reservation" => self.reservation = Some(value),
            "running-over" => self.running_over = Some(running(shell, &value)?),
            "running-under" => self.running_under = Some(running(shell, &value)?),
            "sort" => self.sort = Some(value),
            "start" => self.start = true,
            "states" => self.states = Some(states(shell, &value)?),
            "user" => self.users = Some(list(&value)),
            "json" => self.data = Some(DataForm::json(shell, &value)?),
            "yaml" => self.data = Some(DataForm::yaml(shell, &value)?),
            "helpstate" => {
                shell.print(&(JobState::names().join("\n") + "\n"));
                return Ok(false);
            }
            "helpformat" => {
                shell.print(&crate::format::list_letters(super::fields::FIELDS));
                return Ok(false);
            }
            "helpFormat" => {
                shell.print(&crate::format::list_names(super::fields::FIELDS));
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }

    /// What the environment says where the command line is silent, and what doesn't fit together.
    fn complete(&mut self, shell: &mut Shell<'_>, override_environment: bool) -> Outcome {
        if self.long && self.format.is_some() {
            return shell.fatal(
                "Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.",
            );
        }
        if let (Some(over), Some(under)) = (self.running_over, self.running_under)
            && under < over
        {
            let (over, under) = (spans::full(over), spans::full(under));
            return shell.fatal(&format!(
                "--running-over={over} and --running-under={under} will return 0 jobs."
            ));
        }
        if !override_environment {
            match shell.env.get("SQUEUE_FORMAT") {
                Some(format) => self.format = Some(format.clone()),
                None => self.format_long = shell.env.get("SQUEUE_FORMAT2").cloned(),
            }
        }
        let var = |name: &str| shell.env.get(name).map(|text| list(text));
        self.accounts = self.accounts.take().or_else(|| var("SQUEUE_ACCOUNT"));
        self.names = self.names.take().or_else(|| var("SQUEUE_NAMES"));
        self.licenses = self.licenses.take().or_else(|| var("SQUEUE_LICENSES"));
        self.qos = self.qos.take().or_else(|| var("SQUEUE_QOS"));
        self.users = self.users.take().or_else(|| var("SQUEUE_USERS"));
        if self.partitions.is_none() {
            self.partitions = var("SQUEUE_PARTITION");
            self.all |= self.partitions.is_some();
        }
        if self.states.is_none()
            && let Some(text) = shell.env.get("SQUEUE_STATES").cloned()
        {
            self.states = Some(states(shell, &text)?);
        }
        let bytes = shell.var("SLURM_BITSTR_LEN").map(|text| text.parse().unwrap_or(64));
        self.task_bytes = if self.array { Some(0) } else { bytes };
        if self.start {
            self.expect_starts();
        }
        Ok(())
    }

    /// What `--start` shows unless something else is asked for.
    fn expect_starts(&mut self) {
        if self.format.is_none() {
            self.format = Some("%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R".to_owned());
        }
        self.sort.get_or_insert_with(|| "S".to_owned());
        self.states.get_or_insert_with(|| States::These(vec![JobState::PENDING]));
    }

    /// The only job that was asked for.
    pub(crate) fn lone_job(&self) -> Option<u64> {
        match self.jobs.as_deref() {
            Some([job]) => Some(job.id),
            _ => None,
        }
    }
}

fn seconds(shell: &mut Shell<'_>, text: &str) -> Outcome<u64> {
    match text.trim().parse::<u64>() {
        Ok(seconds) if 0 < seconds => Ok(seconds),
        _ => shell.fail(&format!("--iterate={text}\n")),
    }
}

fn running(shell: &mut Shell<'_>, text: &str) -> Outcome<i64> {
    use drawbridge_sim::TimeLimit;
    match drawbridge_sim::parse_time_limit(text) {
        Some(TimeLimit::Unlimited) => Ok(i64::MAX),
        Some(TimeLimit::Of(span)) if 0 < span.as_secs() => {
            Ok(i64::try_from(span.as_secs()).unwrap_or(i64::MAX))
        }
        _ => shell.fatal("Invalid time limit specification"),
    }
}

fn states(shell: &mut Shell<'_>, text: &str) -> Outcome<States> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(States::All);
    }
    let mut states = vec![];
    for word in list(text) {
        let Some(state) = JobState::named(&word) else {
            shell.error(&format!("Invalid job state specified: {word}"));
            let names = JobState::names().join(",");
            return shell.fail(&format!("Valid job states include: {names}\n"));
        };
        states.push(state);
    }
    Ok(States::These(states))
}

fn jobs(shell: &mut Shell<'_>, text: &str) -> Outcome<Vec<JobWanted>> {
    let mut jobs = vec![];
    for word in list(text) {
        let (id, task) = match word.split_once('_') {
            Some((id, task)) => (id, Some(leading_number(task).unwrap_or(0))),
            None => (word.as_str(), None),
        };
        match leading_number(id) {
            Some(id) if 0 < id => jobs.push(JobWanted { id, task }),
            _ => return shell.fail(&format!("Invalid job id: {word}")),
        }
    }
    Ok(jobs)
}

/// The number that a text begins with, as C reads it.
fn leading_number(text: &str) -> Option<u64> {
    let digits = text.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

fn nodes(shell: &mut Shell<'_>, text: &str) -> Outcome<Vec<String>> {
    match drawbridge_sim::expand_hostlist(text) {
        Ok(names) => Ok(names),
        Err(_) => shell.fail(&format!("'{text}' invalid entry for --nodelist")),
    }
}

//! `sacct`: jobs in the records that slurmdbd keeps.

mod fields;

use std::collections::BTreeSet;

use drawbridge_bridge::slurm::{calls::AccountingJobs, types::AccountingJob};

use self::fields::{FIELDS, Field, MISSING, Row, View, spelt};
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
    shell::{Outcome, Quit, Shell},
    start::{self, Started},
    states::job::JobState,
    times,
};

const NO_LONG: &str = "it lacks what was measured; name fields with --format";

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["allusers"], "a", Nothing, "everybody's jobs"),
    flag(&["accounts", "account"], "A", Value("LIST"), "jobs of these accounts"),
    flag(&["allocations"], "X", Nothing, "jobs without their steps"),
    flag(&["brief"], "b", Nothing, "number, state and exit code alone"),
    flag(&["cluster", "clusters", "allclusters"], "M", Value("LIST"), "").refused("slurmrestd serves one cluster"),
    flag(&["delimiter"], "", Value("TEXT"), "what stands between fields with -p and -P"),
    flag(&["duplicates"], "D", Nothing, "every run of a job that was requeued"),
    flag(&["endtime"], "E", Value("TIME"), "jobs until then"),
    flag(&["format"], "o", Value("FIELDS"), "what a line holds: name, or name%width; --helpformat lists them"),
    flag(&["help"], "h", Nothing, "print this"),
    flag(&["helpformat"], "e", Nothing, "list the fields"),
    flag(&["jobs"], "j", Value("LIST"), "these jobs: 7, 17_3"),
    flag(&["json"], "", Maybe("VERSION"), "the reply of slurmrestd as JSON"),
    flag(&["yaml"], "", Maybe("VERSION"), "the same as YAML"),
    flag(&["local"], "L", Nothing, "this cluster alone").no_bearing(),
    flag(&["long"], "l", Nothing, "").refused(NO_LONG),
    flag(&["name"], "", Value("LIST"), "jobs of these names"),
    flag(&["noconvert"], "", Nothing, "leave amounts in the units they are in"),
    flag(&["nodelist"], "N", Value("HOSTS"), "jobs on these nodes"),
    flag(&["noheader"], "n", Nothing, "no lines above the others"),
    flag(&["parsable"], "p", Nothing, "fields with | after each"),
    flag(&["parsable2"], "P", Nothing, "fields with | between them"),
    flag(&["partition"], "r", Value("LIST"), "jobs in these partitions"),
    flag(&["qos"], "q", Value("LIST"), "jobs of these QOS"),
    flag(&["starttime"], "S", Value("TIME"), "jobs from then on [default: midnight]"),
    flag(&["state"], "s", Value("LIST"), "jobs in these states"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["uid", "user"], "u", Value("LIST"), "jobs of these users"),
    flag(&["verbose"], "v", Nothing, "say more").no_bearing(),
    flag(&["version"], "V", Nothing, "print the version"),
];

/// `sacct` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "sacct",
    about: "Shows jobs in the records that slurmdbd keeps.",
    usage: "[OPTIONS]",
    flags: FLAGS,
    notes: "\
Without -a root sees everybody's jobs, others their own. SACCT_FORMAT and SLURM_TIME_FORMAT do what they
do in Slurm.
",
};

/// How fields are set apart.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Apart {
    Columns,
    After(String),
    Between(String),
}

struct Options {
    all_users: bool,
    allocations: bool,
    noheader: bool,
    noconvert: bool,
    parsable: Option<bool>,
    delimiter: String,
    format: String,
    data: Option<DataForm>,
    jobs: Option<Vec<String>>,
    users: Option<Vec<String>>,
    accounts: Option<Vec<String>>,
    names: Option<Vec<String>>,
    nodes: Option<Vec<String>>,
    partitions: Option<Vec<String>>,
    qos: Option<Vec<String>>,
    states: Option<Vec<JobState>>,
    duplicates: bool,
    start: Option<i64>,
    end: Option<i64>,
}

/// Runs `sacct`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let parsed = match start::parse(shell, &MANUAL, args)? {
        Started::Done => return Ok(()),
        Started::With(parsed) => parsed,
    };
    let usual = "jobid,jobname,partition,account,alloccpus,state,exitcode";
    let format = shell.var("SACCT_FORMAT").unwrap_or(usual).to_owned();
    let mut options = Options::new(format);
    for (name, value) in parsed.flags {
        if name == "helpformat" {
            let names: Vec<String> =
                FIELDS.iter().map(|field| format!("{:<20}", field.name)).collect();
            let lines: Vec<String> = names.chunks(4).map(<[String]>::concat).collect();
            shell.print(&(lines.join("\n") + "\n"));
            return Ok(());
        }
        options.take(shell, name, value.unwrap_or_default())?;
    }
    let columns = columns(shell, &options.format)?;
    options.settle_users(shell)?;
    show(shell, &options, &columns)
}

fn list(text: &str) -> Option<Vec<String>> {
    Some(text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

impl Options {
    fn new(format: String) -> Self {
        Self {
            all_users: false,
            allocations: false,
            noheader: false,
            noconvert: false,
            parsable: None,
            delimiter: "|".to_owned(),
            format,
            data: None,
            jobs: None,
            users: None,
            accounts: None,
            names: None,
            nodes: None,
            partitions: None,
            qos: None,
            states: None,
            duplicates: false,
            start: None,
            end: None,
        }
    }

    fn take(&mut self, shell: &mut Shell<'_>, name: &str, value: String) -> Outcome {
        match name {
            "allusers" => self.all_users = true,
            "accounts" => self.accounts = list(&value),
            "allocations" => self.allocations = true,
            "brief" => self.format = "jobid,state,exitcode".to_owned(),
            "delimiter" => self.delimiter = value,
            "duplicates" => self.duplicates = true,
            "endtime" => self.end = Some(moment(shell, &value)?),
            "format" => self.format = value,
            "jobs" => self.jobs = list(&value),
            "json" => self.data = Some(DataForm::json(shell, &value)?),
            "yaml" => self.data = Some(DataForm::yaml(shell, &value)?),
            "name" => self.names = list(&value),
            "noconvert" => self.noconvert = true,
            "nodelist" => self.nodes = Some(hosts::expand(&value)),
            "noheader" => self.noheader = true,
            "parsable" => self.parsable = Some(true),
            "parsable2" => self.parsable = Some(false),
            "partition" => self.partitions = list(&value),
            "qos" => self.qos = list(&value),
            "starttime" => self.start = Some(moment(shell, &value)?),
            "state" => self.states = Some(states(shell, &value)?),
            "uid" => self.users = list(&value),
            _ => {}
        }
        Ok(())
    }

    /// Whose jobs: those of the users who are named, otherwise one's own unless one is root.
    fn settle_users(&mut self, shell: &mut Shell<'_>) -> Outcome {
        if self.all_users || self.jobs.is_some() && self.users.is_none() {
            return Ok(());
        }
        if self.users.is_none() {
            let me = start::me(shell)?;
            self.users = (me != "root").then(|| vec![me]);
        }
        Ok(())
    }

    fn apart(&self) -> Apart {
        match self.parsable {
            None => Apart::Columns,
            Some(true) => Apart::After(self.delimiter.clone()),
            Some(false) => Apart::Between(self.delimiter.clone()),
        }
    }

    /// What slurmdbd is asked.
    fn query(&self, clock: &Clock) -> Vec<(String, String)> {
        let mut query: Vec<(String, String)> = vec![];
        let mut pair = |name: &str, value: String| query.push((name.to_owned(), value));
        let midnight = clock.zoned(clock.now).and_then(|now| now.start_of_day().ok());
        let midnight = midnight.map_or(0, |midnight| midnight.timestamp().as_second());
        // Named jobs are looked for in all the records.
        let usual = if self.jobs.is_some() { 1 } else { midnight };
        let start = match (self.start, &self.states) {
            (Some(start), _) => start,
            (None, Some(_)) if self.jobs.is_none() => clock.now,
            (None, _) => usual,
        };
        pair("start_time", format!("uts{start}"));
        if let Some(end) = self.end {
            pair("end_time", format!("uts{end}"));
        }
        if let Some(jobs) = &self.jobs {
            pair("step", jobs.join(","));
        }
        if let Some(users) = &self.users {
            pair("users", users.join(","));
        }
        if self.duplicates {
            pair("show_duplicates", "true".to_owned());
        }
        query
    }

    fn keeps(&self, job: &AccountingJob) -> bool {
        let among = |wanted: &Option<Vec<String>>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|word| word == value))
        };
        let state = JobState::of(&job.state.current);
        let named = |jobs: &Vec<String>| {
            let (own, array) = (job.job_id.to_string(), job.array.job_id.to_string());
            let (spelt, het) = (spelt(job), job.het.job_id.to_string());
            jobs.iter().any(|id| {
                let id = id.split('.').next().unwrap_or(id);
                *id == own || *id == spelt || (id != "0" && (*id == array || *id == het))
            })
        };
        self.jobs.as_ref().is_none_or(named)
            && among(&self.accounts, &job.account)
            && among(&self.names, &job.name)
            && among(&self.qos, &job.qos)
            && self.partitions.as_ref().is_none_or(|wanted| {
                job.partition.split(',').any(|name| wanted.iter().any(|word| word == name))
            })
            && self.nodes.as_ref().is_none_or(|nodes| {
                hosts::expand(&job.nodes).iter().any(|node| nodes.contains(node))
            })
            && self
                .states
                .as_ref()
                .is_none_or(|states| states.iter().any(|wanted| state.is(*wanted)))
    }
}

fn moment(shell: &mut Shell<'_>, text: &str) -> Outcome<i64> {
    let clock = Clock::of(shell);
    let at = clock.zoned(clock.now).and_then(|now| times::moment(text, &now));
    at.ok_or_else(|| {
        shell.say(&format!("Invalid time specification (pos=0): {text}"));
        Quit(1)
    })
}

fn states(shell: &mut Shell<'_>, text: &str) -> Outcome<Vec<JobState>> {
    let mut states = vec![];
    for word in text.split(',').filter(|word| !word.is_empty()) {
        match JobState::named(word) {
            Some(state) => states.push(state),
            None => return shell.fatal(&format!("unrecognized job state value '{word}'")),
        }
    }
    Ok(states)
}

type Columns = Vec<(&'static Field, i32)>;

/// `jobid,state%20`: the beginning of a name is enough.
fn columns(shell: &mut Shell<'_>, format: &str) -> Outcome<Columns> {
    let mut columns = vec![];
    for word in format.split(',').filter(|word| !word.is_empty()) {
        let (name, width) = match word.split_once('%') {
            Some((name, width)) => (name, width.parse::<i32>().ok()),
            None => (word, None),
        };
        if name.eq_ignore_ascii_case("all") {
            columns.extend(FIELDS.iter().map(|field| (field, field.width)));
            continue;
        }
        let begins = |known: &str| {
            known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let exact = FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        let missing = MISSING.iter().find(|known| known.eq_ignore_ascii_case(name));
        if let (None, Some(missing)) = (exact, missing) {
            let why = "it isn't in the records as they are read here";
            return shell.unsupported(&format!("the field {missing}"), why);
        }
        match exact.or_else(|| FIELDS.iter().find(|field| begins(field.name))) {
            Some(field) => columns.push((field, width.unwrap_or(field.width))),
            None => return shell.fail(&format!("Invalid field requested: \"{name}\"")),
        }
    }
    Ok(columns)
}

fn show(shell: &mut Shell<'_>, options: &Options, columns: &Columns) -> Outcome {
    let session = shell.connect()?;
    let clock = Clock::of(shell);
    let call = AccountingJobs(options.query(&clock));
    let (jobs, text) = match session.ask_text(&call) {
        Ok(answer) => answer,
        Err(error) => return shell.perror("Problem with the job query", &error),
    };
    if let Some(form) = options.data {
        let kept: Vec<bool> = jobs.iter().map(|job| options.keeps(job)).collect();
        match Tree::parse(&text) {
            Some(mut tree) => {
                tree.retain("jobs", &kept);
                shell.print(&form.print(&tree));
            }
            None => shell.print(&text),
        }
        return Ok(());
    }
    let killers = jobs.iter().map(|job| job.kill_request_user.clone());
    let killers = killers.filter_map(|name| Some((name.clone(), shell.world.user_id(&name)?)));
    let shorten = if options.noconvert { Shorten::Never } else { Shorten::Exactly };
    let view = View { clock, shorten, users: killers.collect() };
    let mut out = String::new();
    let apart = options.apart();
    if !options.noheader {
        put_header(&mut out, columns, &apart);
    }
    for job in ordered(options, &jobs) {
        let steps = if options.allocations { &[][..] } else { &job.steps };
        let rows = std::iter::once(None).chain(steps.iter().map(Some));
        for step in rows {
            put_row(&mut out, columns, &apart, &Row { job, step, view: &view });
        }
    }
    shell.print(&out);
    Ok(())
}

/// The jobs to show: those that were submitted first come first, and of those that were requeued only
/// the last run unless all are asked for.
fn ordered<'a>(options: &Options, jobs: &'a [AccountingJob]) -> Vec<&'a AccountingJob> {
    let mut kept: Vec<&AccountingJob> = jobs.iter().filter(|job| options.keeps(job)).collect();
    let key = |job: &&AccountingJob| {
        let task = job.array.task_id.get().unwrap_or(u64::MAX);
        (job.time.submission, job.array.job_id, task, job.job_id)
    };
    kept.sort_by_key(key);
    if !options.duplicates {
        let mut seen = BTreeSet::new();
        kept.reverse();
        kept.retain(|job| seen.insert(job.job_id));
        kept.reverse();
    }
    kept
}

fn put_header(out: &mut String, columns: &Columns, apart: &Apart) {
    let names = columns.iter().map(|(field, _)| field.name);
    match apart {
        Apart::Between(delimiter) => out.push_str(&names.collect::<Vec<_>>().join(delimiter)),
        Apart::After(delimiter) => {
            names.for_each(|name| out.push_str(&format!("{name}{delimiter}")));
        }
        Apart::Columns => {
            for (field, width) in columns {
                let most = usize::try_from(width.unsigned_abs()).unwrap_or(0);
                let name = &field.name[..field.name.len().min(most)];
                out.push_str(&match *width < 0 {
                    true => format!("{name:<most$} "),
                    false => format!("{name:>most$} "),
                });
            }
            out.push('\n');
            for (_, width) in columns {
                let most = usize::try_from(width.unsigned_abs()).unwrap_or(0);
                out.push_str(&"-".repeat(most));
                out.push(' ');
            }
        }
    }
    out.push('\n');
}

fn put_row(out: &mut String, columns: &Columns, apart: &Apart, row: &Row<'_>) {
    let values = || columns.iter().map(|(field, _)| field.value(row));
    match apart {
        Apart::Between(delimiter) => out.push_str(&values().collect::<Vec<_>>().join(delimiter)),
        Apart::After(delimiter) => {
            values().for_each(|value| out.push_str(&format!("{value}{delimiter}")));
        }
        Apart::Columns => columns.iter().for_each(|(field, width)| field.put(out, row, *width)),
    }
    out.push('\n');
}

//! `sprio`: priorities of jobs that wait.
//!
//! slurmrestd tells a job's priority and none of the factors that it is made of, so those columns
//! can't be shown, and say so.

use drawbridge_bridge::slurm::{
    calls::{Jobs, Show, Showing},
    types::Job,
};
use drawbridge_sim::Release;

use crate::{
    cell::Cell,
    flags::{
        Flag, Manual,
        Takes::{Maybe, Nothing, Value},
        flag,
    },
    format::{Field, Format, field},
    merge_sort::merge_sort,
    shell::{Outcome, Shell},
    start::{self, Started},
    states::job::JobState,
};

const NO_FACTORS: &str = "it tells priorities and none of their factors";

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["federation"], "", Nothing, "").refused("slurmrestd serves one cluster and no federation"),
    flag(&["help"], "", Nothing, "print this"),
    flag(&["noheader"], "h", Nothing, "no line above the others"),
    flag(&["jobs"], "j", Maybe("LIST"), "these jobs"),
    flag(&["local"], "", Nothing, "this cluster alone").no_bearing(),
    flag(&["long"], "l", Nothing, "user, account, QOS and nice value as well"),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused("slurmrestd serves one cluster"),
    flag(&["norm"], "n", Nothing, "").refused(NO_FACTORS),
    flag(&["format"], "o", Value("FORMAT"), "what a line holds: %i %r %u %o %n %N %y %Y"),
    flag(&["sibling"], "", Nothing, "").refused("slurmrestd serves one cluster and no federation"),
    flag(&["sort"], "S", Value("FIELDS"), "sort by these letters; - in front turns it round"),
    flag(&["partition"], "p", Value("LIST"), "jobs in these partitions"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["user", "users"], "u", Value("LIST"), "jobs of these users"),
    flag(&["verbose"], "v", Nothing, "say more").no_bearing(),
    flag(&["version"], "V", Nothing, "print the version"),
    flag(&["weights"], "w", Nothing, "").refused(NO_FACTORS),
];

/// `sprio` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "sprio",
    about: "Shows priorities of jobs that wait.",
    usage: "[OPTIONS]",
    flags: FLAGS,
    notes: "slurmrestd tells priorities and none of their factors: columns for those are refused.\n",
};

/// A job in one of its partitions.
struct Row {
    job: Job,
    partition: String,
    priority: u64,
}

#[rustfmt::skip]
static FIELDS: &[Field<Row>] = &[
    field("Age", 'a', "AGE", none).missing(NO_FACTORS),
    field("AgeWeighted", 'A', "AGE", none).missing(NO_FACTORS),
    field("Assoc", 'b', "ASSOC", none).missing(NO_FACTORS),
    field("AssocWeighted", 'B', "ASSOC", none).missing(NO_FACTORS),
    field("Cluster", 'c', "CLUSTER", |r| Cell::or(&r.job.cluster, "N/A")),
    field("Fairshare", 'f', "FAIRSHARE", none).missing(NO_FACTORS),
    field("FairshareWeighted", 'F', "FAIRSHARE", none).missing(NO_FACTORS),
    field("JobId", 'i', "JOBID", |r| Cell::text(r.job.job_id.to_string())),
    field("JobSize", 'j', "JOBSIZE", none).missing(NO_FACTORS),
    field("JobSizeWeighted", 'J', "JOBSIZE", none).missing(NO_FACTORS),
    field("QOSName", 'n', "QOSNAME", |r| Cell::text(&*r.job.qos)),
    field("Nice", 'N', "NICE", |r| Cell::text(r.job.nice.to_string())),
    field("Account", 'o', "ACCOUNT", |r| Cell::text(&*r.job.account)),
    field("PartitionFactor", 'p', "PARTITION", none).missing(NO_FACTORS),
    field("PartitionWeighted", 'P', "PARTITION", none).missing(NO_FACTORS),
    field("Partition", 'r', "PARTITION", |r| Cell::text(&*r.partition)),
    field("Site", 'S', "SITE", none).missing(NO_FACTORS),
    field("QOS", 'q', "QOS", none).missing(NO_FACTORS),
    field("QOSWeighted", 'Q', "QOS", none).missing(NO_FACTORS),
    field("User", 'u', "USER", |r| Cell::text(&*r.job.user_name)),
    field("Priority", 'y', "PRIORITY", |r| {
        Cell::text(format!("{:16.14}", r.priority as f64 / f64::from(u32::MAX)))
    }),
    field("PriorityWeighted", 'Y', "PRIORITY", |r| Cell::text(r.priority.to_string())),
    field("Tres", 't', "TRES", none).missing(NO_FACTORS),
    field("TresWeighted", 'T', "TRES", none).missing(NO_FACTORS),
];

fn none(_row: &Row) -> Cell {
    Cell::text("N/A")
}

#[derive(Default)]
struct Options {
    noheader: bool,
    long: bool,
    format: Option<String>,
    sort: Option<String>,
    jobs: Option<Vec<String>>,
    partitions: Option<Vec<String>>,
    users: Option<Vec<String>>,
}

/// Runs `sprio`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let parsed = match start::parse(shell, &MANUAL, args)? {
        Started::Done => return Ok(()),
        Started::With(parsed) => parsed,
    };
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut options =
        Options { format: shell.env.get("SPRIO_FORMAT").cloned(), ..Options::default() };
    for (name, value) in parsed.flags {
        let value = value.unwrap_or_default();
        match name {
            "noheader" => options.noheader = true,
            "long" => options.long = true,
            "format" => options.format = Some(value),
            "sort" => options.sort = Some(value),
            "jobs" => options.jobs = (!value.is_empty()).then(|| list(&value)),
            "partition" => options.partitions = Some(list(&value)),
            "user" => options.users = Some(list(&value)),
            _ => {}
        }
    }
    if let Some(word) = parsed.words.first() {
        options.jobs = Some(list(word));
    }
    show(shell, &options)
}

fn show(shell: &mut Shell<'_>, options: &Options) -> Outcome {
    let usual =
        if options.long { "%.15i %9r %.8u %.8o %.10Y %.10n %.11N" } else { "%.15i %9r %.10Y" };
    let format = Format::short(FIELDS, options.format.as_deref().unwrap_or(usual), Release::V26_05);
    for unknown in &format.unknown {
        shell.say(&format!("Invalid job format specification: {unknown}"));
    }
    if let Some((name, why)) = format.missing() {
        return shell.unsupported(&format!("the field {name}"), why);
    }
    let session = shell.connect()?;
    let jobs = match session.ask(&Showing { call: Jobs, show: vec![Show::All] }) {
        Ok(jobs) => jobs.items,
        Err(error) => return shell.perror("Couldn't get priority factors from controller", &error),
    };
    let now = u64::try_from(shell.world.now()).unwrap_or(0);
    let waiting: Vec<Job> = jobs.into_iter().filter(|job| waits(job, now)).collect();
    // Slurm's looks whether anybody waits, not whether those do that were asked for.
    if waiting.is_empty() && options.jobs.is_some() {
        shell.print("Unable to find jobs matching user/id(s) specified\n");
        return Ok(());
    }
    let rows = waiting.iter().filter(|job| options.keeps(job)).flat_map(rows);
    let rows = rows.filter(|row| {
        options.partitions.as_ref().is_none_or(|names| names.contains(&row.partition))
    });
    let rows = sorted(rows.collect(), options.sort.as_deref().unwrap_or("i"));
    if !options.noheader {
        format.put_header(&mut shell.out, &[]);
    }
    for row in &rows {
        format.put(&mut shell.out, row);
    }
    Ok(())
}

impl Options {
    fn keeps(&self, job: &Job) -> bool {
        let (id, array) = (job.job_id.to_string(), job.array_job_id.or_zero().to_string());
        let named = |jobs: &Vec<String>| jobs.iter().any(|job| *job == id || *job == array);
        let user = |users: &Vec<String>| {
            let number = job.user_id.to_string();
            users.iter().any(|user| *user == job.user_name || *user == number)
        };
        self.jobs.as_ref().is_none_or(named) && self.users.as_ref().is_none_or(user)
    }
}

/// Whether a job could run by now and isn't held, as its priority would be nought.
fn waits(job: &Job, now: u64) -> bool {
    JobState::of(&job.job_state).is(JobState::PENDING)
        && job.priority.or_zero() != 0
        && (1..=now).contains(&job.eligible_time.or_zero())
}

/// A job once for each of its partitions.
fn rows(job: &Job) -> Vec<Row> {
    let told = &job.priority_by_partition;
    job.partition
        .split(',')
        .map(|name| {
            let own = told.iter().find(|part| part.partition == name).map(|part| part.priority);
            let own = own.and_then(|priority| u64::try_from(priority).ok());
            let priority = own.unwrap_or_else(|| job.priority.or_zero());
            Row { job: job.clone(), partition: name.to_owned(), priority }
        })
        .collect()
}

fn sorted(mut rows: Vec<Row>, keys: &str) -> Vec<Row> {
    let keys = keys.as_bytes();
    for (at, key) in keys.iter().enumerate().rev() {
        let turned = 0 < at && keys[at - 1] == b'-';
        let compare: fn(&Row, &Row) -> std::cmp::Ordering = match key {
            b'i' => |a, b| a.job.job_id.cmp(&b.job.job_id),
            b'u' => |a, b| a.job.user_name.cmp(&b.job.user_name),
            b'o' => |a, b| a.job.account.cmp(&b.job.account),
            b'r' => |a, b| a.partition.cmp(&b.partition),
            b'N' => |a, b| a.job.nice.cmp(&b.job.nice),
            b'y' | b'Y' => |a, b| a.priority.cmp(&b.priority),
            _ => continue,
        };
        rows = merge_sort(rows, &mut |a, b| {
            let order = compare(a, b) as i32;
            if turned { -order } else { order }
        });
    }
    rows
}

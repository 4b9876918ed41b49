//! `drawbridge oracle`: the model against a real Slurm.

mod timed;

use std::{
    fs,
    io::{IsTerminal, stderr},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use drawbridge_oracle::{
    Case, CaseError, Cluster, Family, FirstDifference, LabError, LabOptions, Report, RunOptions,
    Tally, default_cache, families, family, recorded_cases, replay_all, run,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    args::{OracleArgs, VerifyOutput},
    failure::{Failure, print},
    table::{Cell, Table},
};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

pub(crate) fn oracle(args: &OracleArgs) -> Result<(), Failure> {
    if args.family.iter().any(|name| name == "list") {
        return list();
    }
    if args.timed {
        return timed::timed(args);
    }
    if !args.replay.is_empty() {
        let report = replay_all(recordings(&args.replay)?);
        if let Some(folder) = &args.keep {
            for found in &report.differences {
                write(folder, &format!("{}.txt", found.name), &found.case)?;
            }
        }
        print(render(args.output, &report, false).as_bytes())?;
        return judge(&report, args.floor);
    }
    let options = options(args)?;
    let bar = progress();
    let mut failed: Option<Failure> = None;
    let report = run(&options, |news| {
        bar.set_length(news.total as u64);
        bar.set_position(news.done as u64);
        bar.set_message(format!("{} of {} operations equal", news.equal, news.operations));
        if let (Some(folder), Some(case)) = (&args.record, &news.recorded) {
            let name = format!("{}-{}.txt", case.family, case.seed);
            failed = failed.take().or(write(folder, &name, &case.to_string()).err());
        }
        if let (Some(folder), Some(found)) = (&args.keep, &news.found) {
            let name = format!("{}.txt", found.name);
            failed = failed.take().or(write(folder, &name, &found.case).err());
        }
    });
    bar.finish_and_clear();
    let report = report.map_err(no_slurm)?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    if args.record.is_some() {
        return Ok(());
    }
    print(render(args.output, &report, true).as_bytes())?;
    judge(&report, args.floor)
}

/// Kept cases must be equal; of the others as many operations as the floor says.
fn judge(report: &Report, floor: Option<f64>) -> Result<(), Failure> {
    let Report { operations, equal, kept_differ, .. } = *report;
    let share = 100.0 * equal as f64 / operations.max(1) as f64;
    let good = match floor {
        _ if operations == 0 => return Err(Failure::Unmet("nothing could be compared".into())),
        Some(floor) => kept_differ == 0 && floor <= share,
        None => equal == operations,
    };
    if good {
        return Ok(());
    }
    let differ = operations - equal;
    let kept = format!("{kept_differ} of them in kept cases");
    Err(Failure::Unmet(format!(
        "{differ} of {operations} operations differ, {kept}; {share:.2} % equal"
    )))
}

fn list() -> Result<(), Failure> {
    let mut table = Table::new(&["FAMILY", "VARIES"]);
    for family in families() {
        table.row(vec![Cell::new(family.name), Cell::new(family.about)]);
    }
    print(table.render(100).as_bytes())
}

pub(crate) fn no_slurm(error: LabError) -> Failure {
    Failure::Server { what: error.what, hint: error.hint }
}

fn options(args: &OracleArgs) -> Result<RunOptions, Failure> {
    let lab = lab(args)?;
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let given = args.conf.as_deref().map(read_conf).transpose()?;
    let given = given.map(|cluster| Cluster { release: args.release, ..cluster });
    let mut cases = vec![];
    if !args.case.is_empty() {
        cases = args.case.iter().map(|path| read_case(path)).collect::<Result<_, _>>()?;
    } else if !args.no_kept && args.family.is_empty() && args.conf.is_none() {
        cases = recorded_cases().map_err(|(name, error)| unreadable(&name, &error))?;
    }
    Ok(RunOptions {
        lab,
        cases,
        families: if args.case.is_empty() { chosen(&args.family)? } else { vec![] },
        seeds: args.seeds,
        first_seed: args.first_seed,
        time: args.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        jobs: args.jobs.map_or_else(cores, usize::from),
        shrink_tries: args.shrink,
        record_only: args.record.is_some(),
        given,
    })
}

fn lab(args: &OracleArgs) -> Result<LabOptions, Failure> {
    Ok(LabOptions {
        cache: args.cache.clone().unwrap_or_else(default_cache),
        slurm: args.slurm.clone().map(|path| check_slurm(&path)).transpose()?,
        speed: args.speed,
        lockstep: true,
        ..LabOptions::of(args.release)
    })
}

fn chosen(names: &[String]) -> Result<Vec<&'static Family>, Failure> {
    if names.is_empty() {
        return Ok(families().iter().collect());
    }
    let find = |name: &String| {
        family(name).ok_or_else(|| Failure::Input {
            place: "--family".into(),
            what: format!("there is no family `{name}`"),
            hint: "`drawbridge oracle --family list` prints them".into(),
        })
    };
    names.iter().map(find).collect()
}

fn unreadable(name: &str, error: &CaseError) -> Failure {
    Failure::Input {
        place: format!("kept case {name}"),
        what: error.to_string(),
        hint: "mend it in sim/oracle".into(),
    }
}

pub(crate) fn check_slurm(path: &Path) -> Result<PathBuf, Failure> {
    let hint = "give the folder that has sbin/slurmctld, sbin/slurmd and bin/sbatch";
    let whole = fs::canonicalize(path).map_err(|error| Failure::path(path, error, hint))?;
    if ["/", "/usr"].iter().any(|shared| whole == Path::new(shared)) {
        return Err(Failure::path(path, "a Slurm needs a folder of its own to be used here", hint));
    }
    if whole.join("sbin/slurmctld").exists() {
        return Ok(whole);
    }
    Err(Failure::path(path, "there is no sbin/slurmctld in it", hint))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::path(path, error, "give a readable file"))
}

fn read_case(path: &Path) -> Result<(String, Case), Failure> {
    let case = Case::parse(&read(path)?)
        .map_err(|error| Failure::path(path, error, "see sim/oracle/cases for the form"))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, case))
}

/// A site's slurm.conf, with the gres.conf that lies beside it.
pub(crate) fn read_conf(path: &Path) -> Result<Cluster, Failure> {
    let gres = path.with_file_name("gres.conf");
    let gres_conf = if gres.exists() { read(&gres)? } else { String::new() };
    Ok(Cluster { slurm_conf: read(path)?, gres_conf, given: true, ..Cluster::default() })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::path(folder, error, "give a folder that can be written");
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(folder.join(name), text).map_err(failed)
}

/// The recordings in these files and folders, by name.
fn recordings(paths: &[PathBuf]) -> Result<Vec<(String, Case)>, Failure> {
    let mut files = vec![];
    for path in paths {
        let failed = |error| Failure::path(path, error, "give a recording, or a folder of them");
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        for entry in fs::read_dir(path).map_err(failed)? {
            files.push(entry.map_err(failed)?.path());
        }
    }
    files.sort();
    files.iter().map(|path| read_case(path)).collect()
}

fn render(output: VerifyOutput, report: &Report, whole: bool) -> String {
    if output == VerifyOutput::Json {
        let text = serde_json::to_string(report);
        return format!("{}\n", text.expect("a report has only text and numbers"));
    }
    let mut table =
        Table::new(&["FAMILY", "OPERATIONS", "EQUAL", "CONTENDED", "NOT MODELLED", "RESULT"]);
    for (name, tally) in &report.families {
        table.row(row(name, *tally));
    }
    let Report { operations, equal, contended, not_modelled, .. } = *report;
    table.row(row("in all", Tally { operations, equal, contended, not_modelled }));
    let mut text = table.render(110);
    let (first, count) = report.seeds;
    if 0 < count {
        text += &format!("\nseeds {first} to {} of each family\n", first + count - 1);
    }
    for found in &report.unsteady {
        text += &format!("not seen twice: {found}\n");
    }
    for (why, count) in &report.refused {
        text += &format!("not modelled, {count} times: {why}\n");
    }
    for found in &report.differences {
        text += &difference(found, whole);
    }
    text
}

/// A case that differs: all of it, or what differs after its last operation.
fn difference(found: &FirstDifference, whole: bool) -> String {
    let FirstDifference { name, family, seed, differences, operation, case } = found;
    let again = seed.map_or(String::new(), |seed| {
        format!(": drawbridge oracle --family {family} --seeds 1 --first-seed {seed}")
    });
    if whole {
        return format!("\n=== {name}{again}\n{case}");
    }
    format!("\n=== {name}, `{operation}`\n    {}\n", differences.join("\n    "))
}

fn row(name: &str, tally: Tally) -> Vec<Cell> {
    let Tally { operations, equal, contended, not_modelled } = tally;
    let percent = |part: usize| format!("{} %", part * 100 / operations.max(1));
    let result = match operations - equal {
        0 => Cell::styled("equal", GOOD),
        n => Cell::styled(format!("{n} DIFFER"), BAD),
    };
    vec![
        Cell::new(name),
        Cell::new(operations.to_string()),
        Cell::new(equal.to_string()),
        Cell::new(percent(contended)),
        Cell::new(not_modelled.to_string()),
        result,
    ]
}

fn progress() -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} cases, {msg}, {eta} left");
    bar.set_style(style.expect("the template is well formed"));
    bar
}

//! `drawbridge run`: plays, judges, prints, and writes what was asked for.

use std::path::{Path, PathBuf};

use drawbridge_scenarios::Run;

use crate::{
    args::{Output, RunArgs},
    events,
    failure::{Failure, print},
    files, junit, play, rerun, show, snapshots,
};

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let recordings = rerun::recordings(args)?;
    if !recordings.is_empty() {
        let runs: Vec<Run> =
            recordings.iter().map(|path| rerun::run(path)).collect::<Result<_, _>>()?;
        let paths: Vec<&Path> = recordings.iter().map(PathBuf::as_path).collect();
        return finish(args, &paths, &runs, &[]);
    }
    let loaded = files::load(&args.paths)?;
    let runs = play::play(&loaded, args.seed, args.workers, args.transport)?;
    let differing = match (&args.check_snapshots, &args.update_snapshots) {
        (Some(folder), _) => snapshots::check(folder, &runs),
        (None, Some(folder)) => snapshots::update(folder, &loaded, &runs)?,
        (None, None) => vec![],
    };
    let paths: Vec<&Path> = loaded.iter().map(|one| one.path.as_path()).collect();
    finish(args, &paths, &runs, &differing)
}

/// Writes and prints what was asked for.
fn finish(
    args: &RunArgs,
    paths: &[&Path],
    runs: &[Run],
    differing: &[String],
) -> Result<(), Failure> {
    if let Some(path) = &args.events {
        events::write(path, runs)?;
    }
    if let Some(path) = &args.junit {
        junit::write(path, runs, differing)?;
    }
    print(render(args, paths, runs, differing).as_bytes())?;
    verdict(runs, differing)
}

fn render(args: &RunArgs, paths: &[&Path], runs: &[Run], differing: &[String]) -> String {
    match args.output {
        Output::Table => show::table(paths, runs, differing),
        Output::Json => runs.iter().map(json_line).collect(),
        Output::Story => runs.iter().map(Run::story_text).collect::<Vec<_>>().join("\n"),
    }
}

fn json_line(run: &Run) -> String {
    let document =
        serde_json::to_string(&run.report).expect("a report has only text, numbers and lists");
    format!("{document}\n")
}

fn verdict(runs: &[Run], differing: &[String]) -> Result<(), Failure> {
    let n_failed = runs.iter().filter(|run| !run.report.passed).count();
    match (n_failed, differing.len()) {
        (0, 0) => Ok(()),
        (0, n) => Err(Failure::Unmet(format!("{n} of {} snapshots differ", runs.len()))),
        (n, _) => Err(Failure::Unmet(format!("{n} of {} scenarios failed", runs.len()))),
    }
}

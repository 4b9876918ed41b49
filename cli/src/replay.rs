//! `drawbridge replay`: reads a trace, replays it once or often, prints what came of it.
//!
//! ```text
//!   file ──▶ load ──▶ trace, cluster ──▶ replicas ──▶ show, csv, report
//!                └──▶ journal ──▶ the bridge's core, step by step
//! ```

pub(crate) mod args;
mod journal;
mod load;
mod replicas;
mod show;

use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
    time::Instant,
};

use drawbridge_replay::{Outcome, Summary, compare, grouped, report};

use crate::failure::{Failure, print};
use args::{ReplayArgs, ReplayOutput};
use load::Input;

pub(crate) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let loaded = match load::load(args)? {
        Input::Trace(loaded) => loaded,
        Input::Journal { path, bytes } => return journal::replay(args, &path, &bytes),
    };
    for path in args.csv.iter().chain(&args.report) {
        check_folder(path)?;
    }
    let began = Instant::now();
    let outcomes = replicas::replay(args, &loaded);
    say_how_long(&outcomes, began);
    let outcome = &outcomes[0];
    if outcome.jobs.is_empty() {
        let hint = "look at the notes with --output json, or give another --conf, --from or --to";
        return Err(Failure::path(&loaded.path, "no job of it ran", hint));
    }
    let summary = Summary::new(&loaded.trace, outcome, args.top);
    let comparison = compare::compare(&loaded.trace, outcome, args.tolerance);
    if let Some(path) = &args.csv {
        write(path, |out| report::csv(out, &loaded.trace, outcome))?;
    }
    if let Some(path) = &args.report {
        let title = loaded.path.display().to_string();
        let page = report::html(&title, &loaded.trace, outcome, &summary, comparison.as_ref());
        write(path, |out| out.write_all(page.as_bytes()))?;
    }
    let spread = replicas::spread(&loaded, &outcomes);
    let shown = show::Shown { args, loaded: &loaded, summary, comparison, spread };
    print(
        match args.output {
            ReplayOutput::Table => shown.table(),
            ReplayOutput::Json => shown.json(),
        }
        .as_bytes(),
    )
}

fn say_how_long(outcomes: &[Outcome], began: Instant) {
    let jobs: usize = outcomes.iter().map(|outcome| outcome.jobs.len()).sum();
    let secs = began.elapsed().as_secs_f64();
    let rate = grouped((jobs as f64 / secs.max(0.001)) as u64);
    let text = format!("replayed {} jobs in {secs:.2} s: {rate} jobs/s\n", grouped(jobs as u64));
    // Not a result: the same replay prints the same, but it doesn't take as long.
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// A long replay isn't done for a file that can't be written.
fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let found = fs::metadata(folder.unwrap_or(Path::new("."))).map(|_| ());
    found.map_err(|error| Failure::path(path, error, "give a file that can be written"))
}

fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<fs::File>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let write = || {
        let mut file = BufWriter::new(fs::File::create(path)?);
        content(&mut file)?;
        file.flush()
    };
    write().map_err(|error| Failure::path(path, error, "give a file that can be written"))
}

//! What there is to open: scenarios, recorded runs, the demo, and the same scenario otherwise.

use std::{
    fs::{self, File},
    io::{BufReader, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use drawbridge_bridge::slurm::session::{SessionError, SessionSettings};
use drawbridge_scenarios::{
    format::{self, Files},
    recording::tape,
};
use drawbridge_sim::Seed;
use drawbridge_tui::{Feed, LiveSettings, Opening, Play};

use super::TuiArgs;
use crate::{
    failure::Failure,
    files::{self, Beside},
};

/// Everything that is asked for, the first of which is shown first.
pub(super) fn openings(args: &TuiArgs) -> Result<Vec<Opening>, Failure> {
    if args.live {
        return Ok(vec![live(args)?]);
    }
    let mut openings = match args.demo {
        true => vec![drawbridge_tui::demo(args.seed)],
        false => {
            let mut openings = vec![];
            for path in found(args)? {
                openings.push(open(&path, args)?);
            }
            openings
        }
    };
    if let Some(other) = otherwise(args)? {
        openings.insert(1.min(openings.len()), other);
    }
    if let (Some(path), Some(first)) = (&args.record, openings.first_mut()) {
        record(first, path)?;
    }
    Ok(openings)
}

/// Real clusters. Whoever can't be reached is told on the screen; what can't be meant is told here.
fn live(args: &TuiArgs) -> Result<Opening, Failure> {
    let mut settings = LiveSettings::new();
    settings.kubeconfig.clone_from(&args.kubeconfig);
    settings.poll = Duration::from_secs(args.poll);
    settings.write = args.write;
    settings.slurm = match SessionSettings::from_env(args.slurm.as_deref()) {
        Ok(slurm) => Some(slurm),
        // Kubernetes alone is worth looking at as well.
        Err(SessionError::NoAddress) => None,
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| "see `drawbridge tui --help`".to_owned());
            let (place, what) = ("--slurm".to_owned(), error.to_string());
            return Err(Failure::Input { place, what, hint });
        }
    };
    let title = if args.write { "live, may be changed" } else { "live, read only" };
    let why = "Real clusters, since they were opened.".to_owned();
    Ok(Opening { title: title.to_owned(), why, feed: Feed::Live(settings) })
}

/// Recorded runs as they are, and the scenarios that the other paths name.
fn found(args: &TuiArgs) -> Result<Vec<PathBuf>, Failure> {
    files::find(&args.paths)
}

fn open(path: &Path, args: &TuiArgs) -> Result<Opening, Failure> {
    if is_tape(path) {
        return open_tape(path);
    }
    let text = read(path)?;
    scenario(path, text, args.seed, "")
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::path(path, error, "give a readable text file"))
}

fn is_tape(path: &Path) -> bool {
    let mut beginning = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && tape::is_tape(&beginning)
}

fn open_tape(path: &Path) -> Result<Opening, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::path(path, error, "give a readable recorded run"))?;
    let reader = tape::Reader::open(BufReader::new(file))
        .map_err(|error| Failure::whole(path, &error, error.hint()))?;
    let header = reader.header();
    Ok(Opening { title: header.title.clone(), why: header.why.clone(), feed: Feed::Tape(reader) })
}

/// A scenario with this text, and what tells it from the same one otherwise.
fn scenario(path: &Path, text: String, seed: Option<Seed>, how: &str) -> Result<Opening, Failure> {
    let name = path.display().to_string();
    let files = Beside::of(path);
    let scenario =
        format::parse(&name, &text, &files).map_err(|error| Failure::Scenarios(vec![error]))?;
    let seed = seed.unwrap_or(scenario.seed);
    let (title, why) = (format!("{}{how}", scenario.name), scenario.why.clone());
    let files: Box<dyn Files + Send> = Box::new(files);
    let play = Play { name, text, scenario, seed, files, record: None };
    Ok(Opening { title, why, feed: Feed::Scenario(Box::new(play)) })
}

/// The first scenario, otherwise: with another seed, or on another cluster.
fn otherwise(args: &TuiArgs) -> Result<Option<Opening>, Failure> {
    let is_asked =
        args.against_seed.is_some() || args.against_conf.is_some() || !args.against_set.is_empty();
    if !is_asked {
        return Ok(None);
    }
    if args.demo {
        return Ok(args.against_seed.map(|seed| drawbridge_tui::demo(Some(seed))));
    }
    let paths = found(args)?;
    let Some(path) = paths.first().filter(|path| !is_tape(path)) else {
        let path = args.paths.first().cloned().unwrap_or_default();
        let hint = "give a scenario, which can be played again";
        return Err(Failure::path(&path, "what was recorded can't be played otherwise", hint));
    };
    let text = read(path)?;
    if let Some(seed) = args.against_seed {
        return scenario(path, text, Some(seed), &format!(" with seed {seed}")).map(Some);
    }
    let (conf, how) = match &args.against_conf {
        Some(conf) => (read(conf)?, format!(" with {}", conf.display())),
        None => {
            let conf = format::slurm_conf(&text, &Beside::of(path)).unwrap_or_default();
            (
                with_settings(&conf, &args.against_set),
                format!(" with {}", args.against_set.join(" ")),
            )
        }
    };
    let text = format::with_slurm_conf(&path.display().to_string(), &text, &conf)
        .map_err(|error| Failure::Scenarios(vec![error]))?;
    scenario(path, text, args.seed, &how).map(Some)
}

/// The same slurm.conf with other settings.
fn with_settings(conf: &str, settings: &[String]) -> String {
    let mut lines: Vec<String> = conf.lines().map(str::to_owned).collect();
    for setting in settings {
        let key = setting.split('=').next().unwrap_or_default().to_lowercase();
        let is_it = |line: &String| {
            line.split('=').next().is_some_and(|name| name.trim().to_lowercase() == key)
        };
        lines.retain(|line| !is_it(line));
        lines.insert(0, setting.clone());
    }
    lines.join("\n") + "\n"
}

fn record(opening: &mut Opening, path: &Path) -> Result<(), Failure> {
    match &mut opening.feed {
        Feed::Scenario(play) => {
            play.record = Some(path.to_owned());
            Ok(())
        }
        Feed::Tape(_) | Feed::Live(_) => {
            let hint = "give a scenario; a recorded file can be copied";
            Err(Failure::path(path, "only a scenario that is played can be recorded", hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_take_the_place_of_those_that_are_there() {
        let conf = "ClusterName=a\nSchedulerType = sched/backfill\nNodeName=n1\n";
        let set = with_settings(conf, &["schedulertype=sched/builtin".to_owned()]);
        assert_eq!(set, "schedulertype=sched/builtin\nClusterName=a\nNodeName=n1\n");
    }
}

//! `drawbridge verify`: the same scenarios in processes that have nothing in common but the input.
//!
//! ```text
//!   this process ──▶ child: UTC, C, here, 1 worker      ──▶ events, hash ─┐
//!                ──▶ child: Auckland, Turkish, /, 2     ──▶ events, hash ─┼──▶ all equal?
//!                ──▶ child: St. John's, Japanese, tmp, 5 ─▶ events, hash ─┤
//!                ──▶ child: over the wire, N times      ──▶ events, hash ─┘
//! ```

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{VerifyArgs, VerifyOutput},
    failure::{Failure, print},
    files,
    table::{Cell, Table},
};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// What differs between the processes.
struct Setting {
    zone: &'static str,
    language: &'static str,
    workers: u16,
    transport: &'static str,
}

const SETTINGS: [Setting; 3] = [
    Setting { zone: "UTC", language: "C", workers: 1, transport: "direct" },
    Setting { zone: "Pacific/Auckland", language: "tr_TR.UTF-8", workers: 2, transport: "direct" },
    Setting { zone: "America/St_Johns", language: "ja_JP.UTF-8", workers: 5, transport: "direct" },
];

const WIRE: Setting =
    Setting { zone: "Asia/Kathmandu", language: "C", workers: 2, transport: "wire" };

/// What came of one scenario.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    scenario: String,
    deterministic: bool,
    events: u64,
    event_hash: String,
    processes: usize,
    first_difference: Option<String>,
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    // Read here first, so that a mistake in a file is told as `run` tells it.
    let loaded = files::load(&args.paths)?;
    let paths: Vec<PathBuf> =
        loaded.iter().map(|one| absolute(&one.path)).collect::<Result<_, _>>()?;
    let folder = Folder::new()?;
    let settings = SETTINGS.iter().chain((0..args.wire).map(|_| &WIRE));
    let runs: Vec<Events> = settings
        .enumerate()
        .map(|(index, setting)| play(args, &paths, setting, &folder.0.join(index.to_string())))
        .collect::<Result<_, _>>()?;
    let names = loaded.iter().map(|one| one.scenario.name.as_str());
    let verdicts: Vec<Verdict> = names.map(|name| compare(name, &runs)).collect();
    print(render(args, &verdicts).as_bytes())?;
    match verdicts.iter().filter(|verdict| !verdict.deterministic).count() {
        0 => Ok(()),
        n => Err(Failure::Unmet(format!(
            "{n} of {} scenarios are not deterministic",
            verdicts.len()
        ))),
    }
}

/// What one process said: per scenario its hash and its events.
struct Events {
    hashes: BTreeMap<String, String>,
    lines: BTreeMap<String, Vec<String>>,
}

fn play(
    args: &VerifyArgs,
    paths: &[PathBuf],
    setting: &Setting,
    folder: &Path,
) -> Result<Events, Failure> {
    let failed =
        |what: String| Failure::Process(format!("a process that plays the scenarios: {what}"));
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    let events = folder.join("events.jsonl");
    let program = env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("run").args(paths).args(["--output", "json", "--events"]).arg(&events);
    command.args(["--workers", &setting.workers.to_string(), "--transport", setting.transport]);
    command.args(args.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
    command.env_clear().env("TZ", setting.zone).env("LANG", setting.language);
    command.env("LC_ALL", setting.language).current_dir(folder).stdin(Stdio::null());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    // A failed expectation is `run`'s business: the events are there all the same.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let hashes = hashes(&String::from_utf8_lossy(&output.stdout)).map_err(failed)?;
    let text = fs::read_to_string(&events).map_err(|error| failed(error.to_string()))?;
    Ok(Events { hashes, lines: by_scenario(&text).map_err(failed)? })
}

fn hashes(stdout: &str) -> Result<BTreeMap<String, String>, String> {
    let read = |line: &str| {
        let report: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = |key: &str| report[key].as_str().map(str::to_owned).ok_or(format!("no {key}"));
        Ok((text("scenario")?, text("eventHash")?))
    };
    stdout.lines().map(read).collect()
}

fn by_scenario(events: &str) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let name = event["scenario"].as_str().ok_or("an event without a scenario")?;
        lines.entry(name.to_owned()).or_default().push(line.to_owned());
    }
    Ok(lines)
}

fn compare(name: &str, runs: &[Events]) -> Verdict {
    let none = vec![];
    let lines: Vec<&Vec<String>> =
        runs.iter().map(|run| run.lines.get(name).unwrap_or(&none)).collect();
    let hash = |run: &Events| run.hashes.get(name).cloned().unwrap_or_default();
    let first = lines.first().copied().unwrap_or(&none);
    let difference = lines.iter().find_map(|other| first_difference(first, other));
    let same_hash = runs.windows(2).all(|pair| hash(&pair[0]) == hash(&pair[1]));
    let event_hash = runs.first().map(hash).unwrap_or_default();
    let first_difference = difference
        .or_else(|| (!same_hash).then(|| "the hashes differ, the events don't".to_owned()));
    Verdict {
        scenario: name.to_owned(),
        deterministic: first_difference.is_none() && !event_hash.is_empty(),
        events: first.len() as u64,
        event_hash,
        processes: runs.len(),
        first_difference,
    }
}

/// The first event in which two processes differ.
fn first_difference(one: &[String], other: &[String]) -> Option<String> {
    let length = one.len().max(other.len());
    let index = (0..length).find(|index| one.get(*index) != other.get(*index))?;
    let text = |events: &[String]| events.get(index).cloned().unwrap_or("(no event)".to_owned());
    Some(format!("event {index}\n    {}\n    {}", text(one), text(other)))
}

fn render(args: &VerifyArgs, verdicts: &[Verdict]) -> String {
    match args.output {
        VerifyOutput::Json => verdicts
            .iter()
            .map(|it| {
                format!(
                    "{}\n",
                    serde_json::to_string(it).expect("a verdict has only text and numbers")
                )
            })
            .collect(),
        VerifyOutput::Table => {
            let mut table = Table::new(&["SCENARIO", "RESULT", "EVENTS", "HASH"]);
            for it in verdicts {
                let result = if it.deterministic {
                    Cell::styled("same", GOOD)
                } else {
                    Cell::styled("DIFFERS", BAD)
                };
                let events = Cell::new(it.events.to_string());
                table.row(vec![Cell::new(&it.scenario), result, events, Cell::new(&it.event_hash)]);
            }
            let differences = verdicts.iter().filter_map(|it| {
                it.first_difference.as_ref().map(|text| format!("\n{}: {text}\n", it.scenario))
            });
            let differences: String = differences.collect();
            let (direct, wire) = (SETTINGS.len(), args.wire);
            format!(
                "{}{differences}\n{direct} processes with other time zones, languages, folders and \
                 workers, and {wire} over the wire\n",
                table.render(100)
            )
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| Failure::path(path, error, "give a readable file"))
}

/// A folder of our own that goes away again.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("drawbridge-verify-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| {
            Failure::path(&path, error, "set TMPDIR to a folder that can be written")
        })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &[&str]) -> Events {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Events {
            hashes: [("a".to_owned(), lines.join("+"))].into(),
            lines: [("a".to_owned(), lines)].into(),
        }
    }

    #[test]
    fn equal_processes_are_deterministic() {
        assert!(compare("a", &[run(&["x", "y"]), run(&["x", "y"])]).deterministic);
    }

    #[test]
    fn the_first_event_that_differs_is_told() {
        let verdict = compare("a", &[run(&["x", "y"]), run(&["x", "z"])]);
        assert!(!verdict.deterministic);
        assert_eq!(verdict.first_difference.unwrap(), "event 1\n    y\n    z");
    }

    #[test]
    fn a_process_that_stops_early_differs() {
        let verdict = compare("a", &[run(&["x", "y"]), run(&["x"])]);
        assert_eq!(verdict.first_difference.unwrap(), "event 1\n    y\n    (no event)");
    }

    #[test]
    fn a_scenario_that_no_process_played_is_not_deterministic() {
        assert!(!compare("b", &[run(&["x"]), run(&["x"])]).deterministic);
    }
}

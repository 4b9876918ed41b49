//! The table of results, and what to say about those that failed.

use std::{fmt::Write, path::Path};

use anstyle::{AnsiColor, Style};
use drawbridge_scenarios::{Report, Run};

use crate::table::{Cell, Table};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();
const WIDTH: usize = 130;

/// Everything that `run` prints for people.
pub(crate) fn table(paths: &[&Path], runs: &[Run], differing: &[String]) -> String {
    let mut table =
        Table::new(&["SCENARIO", "RESULT", "SEED", "VIRTUAL TIME", "EVENTS", "HASH", "WHY"]);
    for Run { report, .. } in runs {
        table.row(vec![
            Cell::new(&report.scenario),
            if report.passed { Cell::styled("pass", GOOD) } else { Cell::styled("FAIL", BAD) },
            Cell::new(report.seed.to_string()),
            Cell::new(report.virtual_ms.to_string()),
            Cell::new(report.events.to_string()),
            Cell::styled(report.event_hash.to_string(), FAINT),
            Cell::new(&report.why),
        ]);
    }
    let mut text = table.render(WIDTH);
    for (path, run) in paths.iter().zip(runs) {
        explain(&mut text, path, &run.report);
    }
    // Writing to a String can't fail.
    for difference in differing {
        let _ = write!(text, "\n{BAD}differs{BAD:#}  {difference}\n");
    }
    let n_passed = runs.iter().filter(|run| run.report.passed).count();
    let _ = write!(text, "\n{n_passed} passed, {} failed\n", runs.len() - n_passed);
    text
}

/// Notes, and what failed with the command that repeats it.
fn explain(text: &mut String, path: &Path, report: &Report) {
    for note in &report.notes {
        let _ = writeln!(text, "\n{FAINT}note{FAINT:#}  {}: {note}", report.scenario);
    }
    if report.passed {
        return;
    }
    let _ = writeln!(text, "\n{BAD}{}{BAD:#}", report.scenario);
    for outcome in report.expectations.iter().filter(|outcome| !outcome.passed) {
        let _ = writeln!(text, "  expected  {}", outcome.text);
        let _ =
            writeln!(text, "  but       {}", outcome.detail.as_deref().unwrap_or("it was not so"));
    }
    for refusal in &report.refused {
        let _ = writeln!(text, "  refused   {}:{refusal}", path.display());
    }
    for violation in &report.violations {
        let _ = writeln!(text, "  broken    {violation}");
    }
    let path = path.display();
    let _ =
        writeln!(text, "  repeat    drawbridge run {path} --seed {} --output story", report.seed);
}

//! What is printed of a tally.

use std::collections::BTreeMap;

use drawbridge_explore::Tally;
use serde_json::json;

use crate::table::{Cell, Table};

/// A year has so many milliseconds.
const YEAR_MS: f64 = 365.25 * 86_400_000.0;

/// The document that `--output json` prints, and `--merge` and `--resume` read.
pub(crate) fn json(tally: &Tally, elapsed_ms: u64) -> String {
    let document = json!({
        "elapsedMs": elapsed_ms,
        "runsPerSecond": rate(tally, elapsed_ms),
        "virtualYears": years(tally),
        "faultsNeverTried": tally.faults_never_tried(),
        "neverMet": tally.never_seen(),
        "tally": tally,
    });
    format!("{document}\n")
}

/// For people.
pub(crate) fn table(tally: &Tally, elapsed_ms: u64) -> String {
    let mut text = summary(tally, elapsed_ms);
    text += "\n";
    text += &by_kind(tally).render(100);
    text += "\n";
    text += &never(tally);
    text
}

fn summary(tally: &Tally, elapsed_ms: u64) -> String {
    let effects: u64 = tally.effects.values().sum();
    let points: u64 = tally.crash_points.values().sum();
    let mut text = format!(
        "{} runs in {:.1} s, {:.0} a second; {:.2} virtual years, {} events\n\
         {} of them count: a fault struck, and a workload finished\n",
        tally.runs,
        elapsed_ms as f64 / 1000.0,
        rate(tally, elapsed_ms),
        years(tally),
        tally.events,
        tally.counted,
    );
    if effects > 0 {
        text += &format!(
            "{points} crash points: before and after each of {effects} requests of {} scenarios\n",
            tally.effects.len()
        );
    }
    if tally.pairs > 0 {
        text += &format!("{} pairs of crashes\n", tally.pairs);
    }
    text += &format!("{} failed; digest {:016x}\n", tally.failed, tally.digest);
    text
}

/// Faults by what they do, and how many kinds of requests they struck.
fn by_kind(tally: &Tally) -> Table {
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, count) in &tally.faults {
        let verdict = name.split(' ').nth(1).unwrap_or(name);
        let (faults, requests) = kinds.entry(verdict).or_default();
        *faults += count;
        *requests += 1;
    }
    let mut table = Table::new(&["FAULT", "STRUCK", "KINDS OF REQUESTS"]);
    for (verdict, (faults, requests)) in kinds {
        table.row(vec![
            Cell::new(verdict),
            Cell::new(faults.to_string()),
            Cell::new(requests.to_string()),
        ]);
    }
    table
}

fn never(tally: &Tally) -> String {
    let (faults, seen) = (tally.faults_never_tried(), tally.never_seen());
    let (all_faults, all_seen) = Tally::possible();
    let mut text = format!(
        "faults × requests: {} of {all_faults} tried; states × news: {} of {all_seen} met\n",
        all_faults - faults.len(),
        all_seen - seen.len(),
    );
    if !faults.is_empty() {
        text += &format!("never tried: {}\n", few(&faults));
    }
    if !seen.is_empty() {
        text += &format!("never met: {}\n", few(&seen));
    }
    text
}

fn few(names: &[String]) -> String {
    let shown = names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0..=8 => shown,
        n => format!("{shown} and {} more (all with -o json)", n - 8),
    }
}

fn rate(tally: &Tally, elapsed_ms: u64) -> f64 {
    tally.runs as f64 * 1000.0 / elapsed_ms.max(1) as f64
}

fn years(tally: &Tally) -> f64 {
    tally.virtual_ms as f64 / YEAR_MS
}

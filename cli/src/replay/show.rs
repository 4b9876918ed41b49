//! What `replay` prints, for people and for programs.

use std::fmt::Write;

use anstyle::Style;
use drawbridge_replay::{Distribution, Group, Summary, compare::Comparison, grouped};
use serde::Serialize;

use super::{
    args::{ReplayArgs, ReplayOutput},
    load::Loaded,
    replicas::{Range, Spread},
};
use crate::table::{Cell, Table};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const WIDTH: usize = 120;

/// Everything there is to print.
pub(super) struct Shown<'a> {
    pub(super) args: &'a ReplayArgs,
    pub(super) loaded: &'a Loaded,
    pub(super) summary: Summary,
    pub(super) comparison: Option<Comparison>,
    pub(super) spread: Option<Spread>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    file: String,
    seed: u64,
    cluster: Cluster<'a>,
    #[serde(flatten)]
    summary: &'a Summary,
    recorded: Option<&'a Comparison>,
    replicas: Option<&'a Spread>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cluster<'a> {
    from: &'a str,
    slurm_conf: Option<&'a str>,
    notes: &'a [String],
}

impl Shown<'_> {
    pub(super) fn json(&self) -> String {
        let Self { loaded, .. } = self;
        let derived = loaded.derived.as_ref();
        let document = Document {
            file: loaded.path.display().to_string(),
            seed: self.args.seed.0,
            cluster: Cluster {
                from: derived.map_or("--conf", |derived| &derived.why),
                slurm_conf: derived.map(|derived| derived.conf.as_str()),
                notes: &loaded.notes,
            },
            summary: &self.summary,
            recorded: self.comparison.as_ref(),
            replicas: self.spread.as_ref(),
        };
        let text = serde_json::to_string(&document);
        format!("{}\n", text.expect("a summary has only text and numbers"))
    }

    pub(super) fn table(&self) -> String {
        debug_assert_eq!(self.args.output, ReplayOutput::Table);
        let mut text = String::new();
        // Writing to a String can't fail.
        self.write(&mut text).unwrap_or_default();
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Self { loaded, summary, .. } = self;
        let Summary { mode, jobs, nodes, cpus, .. } = summary;
        let (jobs, cpus) = (grouped(*jobs as u64), grouped(*cpus));
        let file = loaded.path.display();
        writeln!(text, "{BOLD}{file}{BOLD:#}: {jobs} jobs on {nodes} nodes, {cpus} CPUs, {mode}")?;
        if let Some(derived) = &loaded.derived {
            writeln!(text, "\n{FAINT}cluster{FAINT:#}  {}", derived.why)?;
            derived.conf.lines().try_for_each(|line| writeln!(text, "  {line}"))?;
        }
        let notes = loaded.notes.iter().chain(&summary.notes);
        for (at, note) in notes.enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            writeln!(text, "{gap}{FAINT}note{FAINT:#}  {note}")?;
        }
        self.write_numbers(text)?;
        self.write_groups(text)?;
        self.write_comparison(text)?;
        self.write_spread(text)?;
        let (hash, seed) = (&summary.start_hash, self.args.seed);
        writeln!(text, "\nseed {seed}, hash of all starts {hash}")
    }

    fn write_numbers(&self, text: &mut String) -> std::fmt::Result {
        let summary = &self.summary;
        let mut table = Table::new(&["", "MEAN", "MEDIAN", "95 %", "99 %", "MAX"]);
        table.row(spread_row("wait", &summary.wait, clock));
        table.row(spread_row("bounded slowdown", &summary.bounded_slowdown, plain));
        let depth = summary.queue_depth;
        let dash = || Cell::new("-");
        table.row(vec![
            Cell::new("queue depth"),
            Cell::new(plain(depth.mean)),
            Cell::new(grouped(depth.median)),
            dash(),
            dash(),
            Cell::new(grouped(depth.max)),
        ]);
        write!(text, "\n{}\n", table.render(WIDTH))?;
        let percent = |part: f64| format!("{:.2} %", part * 100.0);
        let arriving = percent(summary.utilisation_while_arriving);
        writeln!(
            text,
            "utilisation  {} ({arriving} while jobs arrive)",
            percent(summary.utilisation)
        )?;
        writeln!(text, "makespan     {}", clock(summary.makespan))?;
        let Summary { main_cycles, backfill_cycles, backfilled, timeouts, .. } = summary;
        let cycles = (grouped(*main_cycles), grouped(*backfill_cycles), grouped(*backfilled));
        let timeouts = grouped(*timeouts as u64);
        let (main, backfill, backfilled) = cycles;
        writeln!(
            text,
            "cycles       {main} main, {backfill} backfill; {backfilled} jobs backfilled"
        )?;
        writeln!(text, "timeouts     {timeouts}")
    }

    fn write_groups(&self, text: &mut String) -> std::fmt::Result {
        let Summary { by_user, by_partition, by_qos, .. } = &self.summary;
        for (title, groups) in [("USER", by_user), ("PARTITION", by_partition), ("QOS", by_qos)] {
            // One group says nothing that the whole doesn't.
            if 1 < groups.len() {
                write!(text, "\n{}", group_table(title, groups).render(WIDTH))?;
            }
        }
        Ok(())
    }

    fn write_comparison(&self, text: &mut String) -> std::fmt::Result {
        let Some(it) = &self.comparison else {
            return writeln!(text, "\nrecorded     the trace records no starts");
        };
        let (jobs, within) = (grouped(it.jobs as u64), grouped(it.within as u64));
        let share = it.within as f64 / it.jobs.max(1) as f64 * 100.0;
        let tolerance = it.tolerance;
        writeln!(
            text,
            "\nrecorded     {within} of {jobs} jobs ({share:.1} %) start within {tolerance} s of their record"
        )?;
        let (was, is) = (clock(it.recorded_mean_wait), clock(it.replayed_mean_wait));
        writeln!(text, "             mean wait {was} recorded, {is} replayed")?;
        if let Some(correlation) = it.wait_correlation {
            writeln!(text, "             correlation of the waits {correlation:.3}")?;
        }
        match &it.first_divergence {
            None => writeln!(text, "             no divergence"),
            Some(it) => writeln!(
                text,
                "             first divergence: job {} ({} CPUs), submitted at {}: started at {} recorded, {} replayed",
                it.job,
                it.cpus,
                clock(it.submit),
                clock(it.recorded_start),
                clock(it.replayed_start)
            ),
        }
    }

    fn write_spread(&self, text: &mut String) -> std::fmt::Result {
        let Some(spread) = &self.spread else {
            return Ok(());
        };
        let header = ["", "MEAN", "SD", "MIN", "MEDIAN", "95 %", "MAX"];
        let title = format!("{} REPLICAS", spread.replicas);
        let mut table = Table::new(&[&[title.as_str()], &header[1..]].concat());
        let mut row = |name: &str, range: &Range, shape: fn(f64) -> String| {
            let Distribution { mean, median, p95, max, .. } = range.spread;
            let numbers = [mean, range.standard_deviation, range.min, median, p95, max];
            let cells = numbers.into_iter().map(|number| Cell::new(shape(number)));
            table.row(std::iter::once(Cell::new(name)).chain(cells).collect());
        };
        row("mean wait", &spread.mean_wait, clock);
        row("95 % wait", &spread.p95_wait, clock);
        row("mean slowdown", &spread.mean_slowdown, plain);
        row("utilisation", &spread.utilisation, |part| format!("{:.3} %", part * 100.0));
        row("makespan", &spread.makespan, clock);
        write!(text, "\n{}", table.render(WIDTH))
    }
}

fn spread_row(name: &str, spread: &Distribution, shape: fn(f64) -> String) -> Vec<Cell> {
    let Distribution { mean, median, p95, p99, max } = *spread;
    let cells = [mean, median, p95, p99, max].map(|number| Cell::new(shape(number)));
    std::iter::once(Cell::new(name)).chain(cells).collect()
}

fn group_table(title: &str, groups: &[Group]) -> Table {
    let mut table = Table::new(&[
        title,
        "JOBS",
        "CPU HOURS",
        "MEAN WAIT",
        "95 % WAIT",
        "SLOWDOWN",
        "WAITING AT ONCE",
    ]);
    for group in groups {
        table.row(vec![
            Cell::new(&group.name),
            Cell::new(grouped(group.jobs as u64)),
            Cell::new(grouped(group.cpu_hours as u64)),
            Cell::new(clock(group.wait.mean)),
            Cell::new(clock(group.wait.p95)),
            Cell::new(plain(group.mean_slowdown)),
            Cell::new(plain(group.mean_queue_depth)),
        ]);
    }
    table
}

fn plain(number: f64) -> String {
    format!("{number:.2}")
}

/// Seconds as `1-02:03:04`.
fn clock(secs: f64) -> String {
    let total = secs.round() as u64;
    let (days, rest) = (total / 86_400, total % 86_400);
    let (hours, minutes, secs) = (rest / 3600, rest / 60 % 60, rest % 60);
    let days = if days == 0 { String::new() } else { format!("{days}-") };
    format!("{days}{hours:02}:{minutes:02}:{secs:02}")
}

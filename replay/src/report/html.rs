//! The page: numbers, the utilisation over time and a Gantt chart, as one file without scripts.
//!
//! Everything is inline: it opens from a mail or an artefact store, light or dark as the reader's
//! system is, and says in words what the pictures show.

use std::fmt::Write;

use super::svg;
use crate::{
    compare::Comparison,
    outcome::Outcome,
    summary::{Distribution, Group, Summary},
    trace::{Trace, grouped},
};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1b1f;--paper:#fff;--faint:#5c5c66;--line:#d9d9e0;--fill:#2563a8;--wait:#b3541e}
@media(prefers-color-scheme:dark){:root{--ink:#ececf1;--paper:#17171b;--faint:#a3a3ad;--line:#3a3a42;--fill:#6aa9ec;--wait:#e79a5f}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.15rem .8rem;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}
caption{text-align:left;color:var(--faint)}
svg{width:100%;height:auto;background:transparent}
svg text{fill:var(--faint);font:11px system-ui,sans-serif}
figcaption,.faint{color:var(--faint)}figure{margin:1rem 0}pre{overflow-x:auto}";

/// The page as text.
pub fn html(
    title: &str,
    trace: &Trace,
    outcome: &Outcome,
    summary: &Summary,
    comparison: Option<&Comparison>,
) -> String {
    let mut page = String::new();
    // Writing to a String can't fail.
    let _ = write(&mut page, title, (trace, outcome), summary, comparison);
    page
}

fn write(
    page: &mut String,
    title: &str,
    (trace, outcome): (&Trace, &Outcome),
    summary: &Summary,
    comparison: Option<&Comparison>,
) -> std::fmt::Result {
    let title = escaped(title);
    let Summary { mode, nodes, .. } = summary;
    let (jobs, cpus) = (grouped(summary.jobs as u64), grouped(summary.cpus));
    writeln!(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")?;
    writeln!(page, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">")?;
    writeln!(page, "<title>Replay of {title}</title><style>{STYLE}</style></head><body><main>")?;
    writeln!(page, "<h1>Replay of {title}</h1>")?;
    writeln!(page, "<p>{jobs} jobs on {nodes} nodes, {cpus} CPUs, {mode}.</p>")?;
    write_numbers(page, summary)?;
    write_comparison(page, comparison)?;
    writeln!(page, "<h2>Utilisation</h2>\n{}", svg::utilisation(outcome))?;
    writeln!(page, "<h2>Jobs on the machine</h2>\n{}", svg::gantt(trace, outcome))?;
    for (name, groups) in
        [("User", &summary.by_user), ("Partition", &summary.by_partition), ("QOS", &summary.by_qos)]
    {
        write_groups(page, name, groups)?;
    }
    if !summary.notes.is_empty() {
        writeln!(page, "<h2>Notes</h2><ul>")?;
        for note in &summary.notes {
            writeln!(page, "<li>{}</li>", escaped(note))?;
        }
        writeln!(page, "</ul>")?;
    }
    let hash = &summary.start_hash;
    writeln!(page, "<p class=\"faint\">Hash of all starts: {hash}</p></main></body></html>")
}

fn write_numbers(page: &mut String, summary: &Summary) -> std::fmt::Result {
    writeln!(page, "<h2>In numbers</h2><table><thead><tr><th scope=\"col\"></th>")?;
    for name in ["mean", "median", "95 %", "99 %", "largest"] {
        write!(page, "<th scope=\"col\">{name}</th>")?;
    }
    writeln!(page, "</tr></thead><tbody>")?;
    let mut row = |name: &str, it: &Distribution, shape: fn(f64) -> String| {
        write!(page, "<tr><th scope=\"row\">{name}</th>")?;
        for number in [it.mean, it.median, it.p95, it.p99, it.max] {
            write!(page, "<td>{}</td>", shape(number))?;
        }
        writeln!(page, "</tr>")
    };
    row("wait", &summary.wait, clock)?;
    row("bounded slowdown", &summary.bounded_slowdown, |it| format!("{it:.2}"))?;
    writeln!(page, "</tbody></table>")?;
    let depth = summary.queue_depth;
    let (used, arriving) =
        (summary.utilisation * 100.0, summary.utilisation_while_arriving * 100.0);
    writeln!(
        page,
        "<p>Utilisation {used:.2} % ({arriving:.2} % while jobs arrive), makespan {}. Jobs waiting at \
         once: {:.1} on average, {} half of the time, {} at the most. {} jobs were backfilled, {} \
         were killed at their limit.</p>",
        clock(summary.makespan),
        depth.mean,
        grouped(depth.median),
        grouped(depth.max),
        grouped(summary.backfilled),
        grouped(summary.timeouts as u64),
    )
}

fn write_comparison(page: &mut String, comparison: Option<&Comparison>) -> std::fmt::Result {
    let Some(it) = comparison else {
        return Ok(());
    };
    let (jobs, within) = (grouped(it.jobs as u64), grouped(it.within as u64));
    let (was, is) = (clock(it.recorded_mean_wait), clock(it.replayed_mean_wait));
    writeln!(
        page,
        "<h2>Beside the record</h2><p>{within} of {jobs} jobs start within {} s of their record. The \
         mean wait was {was} and is {is}.",
        it.tolerance
    )?;
    if let Some(first) = &it.first_divergence {
        let (recorded, replayed) = (clock(first.recorded_start), clock(first.replayed_start));
        let job = escaped(&first.job);
        write!(
            page,
            " First divergence: job {job} started at {recorded} in the record, at {replayed} in the replay."
        )?;
    }
    writeln!(page, "</p>")
}

fn write_groups(page: &mut String, name: &str, groups: &[Group]) -> std::fmt::Result {
    if groups.len() < 2 {
        return Ok(());
    }
    writeln!(page, "<h2>{name}s</h2><table><caption>Those with the most CPU time first</caption>")?;
    write!(page, "<thead><tr>")?;
    for column in
        [name, "jobs", "CPU hours", "mean wait", "95 % wait", "slowdown", "waiting at once"]
    {
        write!(page, "<th scope=\"col\">{column}</th>")?;
    }
    writeln!(page, "</tr></thead><tbody>")?;
    for group in groups {
        writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td><td>{:.2}</td></tr>",
            escaped(&group.name),
            grouped(group.jobs as u64),
            grouped(group.cpu_hours as u64),
            clock(group.wait.mean),
            clock(group.wait.p95),
            group.mean_slowdown,
            group.mean_queue_depth,
        )?;
    }
    writeln!(page, "</tbody></table>")
}

/// Seconds as `1-02:03:04`.
pub(super) fn clock(secs: f64) -> String {
    let total = secs.round() as u64;
    let (days, rest) = (total / 86_400, total % 86_400);
    let (hours, minutes, secs) = (rest / 3600, rest / 60 % 60, rest % 60);
    let days = if days == 0 { String::new() } else { format!("{days}-") };
    format!("{days}{hours:02}:{minutes:02}:{secs:02}")
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

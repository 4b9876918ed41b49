//! Who held what when: jobs that wait, then a lane for each node; or a lane for each job.
//!
//! ```text
//!   2 mpi-job  ·········░░░░░░░▷╌╌╌╌╌╌     submitted, waits, expected to start, its limit
//!   n1         AAAAAAAAAAA╌╌╌╌             held by job A, which may stay until its limit
//!   n2         AAAAAAA»BBB                 B was started by backfill
//!                        │ now
//! ```
//!
//! Everything is as it is known now: to the right of the line stands what is planned, and what is
//! blank there is free.

use drawbridge_scenarios::JobRow;
use drawbridge_sim::{Span as Length, Time};
use ratatui::{
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
};

use super::{
    Canvas, Screen,
    table::{fit, width, window},
};
use crate::{
    model::{lanes::Stay, rows::Item, scene::is_usable},
    theme::{Tone, letter},
};

/// Columns of what a lane is.
const LABEL: u16 = 18;

/// Time on the screen: from, to, and over how many columns.
#[derive(Clone, Copy)]
struct Scale {
    from: Time,
    to: Time,
    columns: u16,
}

impl Scale {
    /// What is shown: the whole run, or a part of it around now.
    fn new(screen: &Screen<'_>, columns: u16) -> Self {
        let model = screen.model;
        let plans = screen.scene.jobs().filter_map(|(_, job)| job.expected_start_ms).max();
        let (start, end) = model.scale();
        let end = end.max(plans.unwrap_or(Time::ZERO)).max(Time::from_ms(1));
        let length = (end.since(start).as_ms() >> model.time_zoom).max(u64::from(columns));
        // More of what was than of what will be.
        let from = model.playhead.now.as_ms().saturating_sub(length / 3 * 2);
        let from = from.min(end.as_ms().saturating_sub(length)).max(start.as_ms());
        Self { from: Time::from_ms(from), to: Time::from_ms(from + length), columns }
    }

    /// The time at the left edge of a column.
    fn at(self, column: u16) -> Time {
        let length = u128::from((self.to - self.from).as_ms());
        let ms = length * u128::from(column) / u128::from(self.columns.max(1));
        self.from + Length::ms(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    /// The column that a time lies in, if it is shown.
    fn column(self, at: Time) -> Option<u16> {
        let length = u128::from((self.to - self.from).as_ms().max(1));
        let along = u128::from(at.as_ms().checked_sub(self.from.as_ms())?);
        let column = along * u128::from(self.columns) / length;
        u16::try_from(column).ok().filter(|column| *column < self.columns)
    }
}

/// Draws the lanes.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let what = if model.all { "every job · a: nodes" } else { "nodes · a: every job" };
    let inside = canvas.framed(format!(" Timeline · {what} {}", screen.narrowed()), area);
    let [lanes, axis, legend] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(1)])
            .areas(inside);
    let scale = Scale::new(screen, inside.width.saturating_sub(LABEL));
    let shown = window(model.rows.items.len(), lanes.height, model.selected());
    for (i, row) in shown.zip(lanes.rows()) {
        let line = match &model.rows.items[i] {
            Item::Node(slot) => node_lane(screen, *slot, scale),
            Item::Job(slot) => job_lane(screen, *slot, scale),
            Item::Gang(..) | Item::Pod(..) | Item::Pair(_) => Line::default(),
        };
        canvas.line(line, row);
        if model.selected() == Some(i) {
            let label = Rect { width: LABEL.min(row.width), ..row };
            canvas.buf.set_style(label, screen.theme.selected());
        }
        canvas.areas.rows.push((row, i));
    }
    draw_now(screen, scale, lanes, canvas);
    canvas.line(axis_line(screen, scale), axis);
    let text =
        "A job   ░ waits   ▷ expected   ╌ until its limit   » by backfill   x off   z Z zoom";
    canvas.line(Line::styled(text, screen.theme.tone(Tone::Faint)), legend);
}

/// The line that is now, where nothing else stands.
fn draw_now(screen: &Screen<'_>, scale: Scale, lanes: Rect, canvas: &mut Canvas<'_>) {
    let Some(column) = scale.column(screen.model.playhead.now) else { return };
    let x = lanes.x + LABEL + column;
    for row in lanes.rows() {
        if let Some(cell) = canvas.buf.cell_mut((x, row.y))
            && matches!(cell.symbol(), " " | "·" | "╌")
        {
            cell.set_symbol("│").set_style(screen.theme.tone(Tone::Key));
        }
    }
}

fn axis_line(screen: &Screen<'_>, scale: Scale) -> Line<'static> {
    let mut text = " ".repeat(usize::from(LABEL));
    let step = 16;
    for column in (0..scale.columns).step_by(step) {
        let time = screen.scene.brief(scale.at(column));
        let word = format!("╵{time}");
        if column + 10 <= scale.columns {
            text.push_str(&format!("{word:<step$}"));
        }
    }
    Line::raw(text)
}

fn label(text: &str, style: Style) -> Vec<Span<'static>> {
    let room = usize::from(LABEL) - 1;
    let text = fit(text, room);
    let blank = " ".repeat(room - width(&text).min(room) + 1);
    vec![Span::styled(text, style), Span::raw(blank)]
}

fn node_lane(screen: &Screen<'_>, slot: usize, scale: Scale) -> Line<'static> {
    let name = screen.scene.still.node(slot).map(|node| node.name.clone()).unwrap_or_default();
    let mut spans = label(&name, screen.theme.tone(Tone::Heading));
    let now = screen.model.playhead.now;
    let stays: Vec<&Stay> = screen.model.reel.lanes.on(slot).collect();
    for column in 0..scale.columns {
        let (from, to) = (scale.at(column), scale.at(column + 1));
        let here = stays.iter().filter(|stay| is_here(screen, stay, from, to, now));
        let here: Vec<&&Stay> = here.collect();
        spans.push(match here.len() {
            0 => empty_cell(screen, slot, from, now),
            // Several share the node: they take turns.
            n => stay_cell(screen, here[usize::from(column) % n], from, to, now),
        });
    }
    Line::from(spans)
}

/// Whether a run holds its nodes between these times, as is known now: one that has not ended may
/// stay until its limit.
fn is_here(screen: &Screen<'_>, stay: &Stay, from: Time, to: Time, now: Time) -> bool {
    if now < stay.start {
        return false;
    }
    let ended = stay.end.filter(|end| *end <= now);
    let until = ended.or_else(|| limit(screen, stay)).unwrap_or_else(|| now.max(stay.start));
    stay.start < to && from < until.max(stay.start + Length::ms(1))
}

fn limit(screen: &Screen<'_>, stay: &Stay) -> Option<Time> {
    let job = screen.scene.still.job(stay.job)?;
    job.time_limit_ms.map(|limit| stay.start + limit)
}

fn stay_cell(screen: &Screen<'_>, stay: &Stay, from: Time, to: Time, now: Time) -> Span<'static> {
    let style = screen.theme.job(stay.job);
    let begins = from <= stay.start && stay.start < to;
    if now <= from && stay.end.is_none_or(|end| now < end) {
        Span::styled("╌", style)
    } else if stay.backfilled && begins {
        Span::styled("»", style)
    } else {
        Span::styled(letter(stay.job).to_string(), style)
    }
}

/// Nothing is held: free, or not to be had.
fn empty_cell(screen: &Screen<'_>, slot: usize, at: Time, now: Time) -> Span<'static> {
    let film = screen.scene.film;
    let event = film.event_at(at.min(now));
    let node = film.nodes().at(slot, event);
    let off = node.is_some_and(|node| node.slurm_name.is_some() && !is_usable(node));
    match (off, at <= now) {
        (true, _) => Span::styled("x", screen.theme.tone(Tone::Faint)),
        (false, true) => Span::styled("·", screen.theme.tone(Tone::Faint)),
        (false, false) => Span::raw(" "),
    }
}

fn job_lane(screen: &Screen<'_>, slot: usize, scale: Scale) -> Line<'static> {
    let Some(job) = screen.scene.still.job(slot) else { return Line::default() };
    let name = format!("{} {} {}", letter(slot), job.job_id, job.name);
    let mut spans = label(&name, screen.theme.job(slot));
    for column in 0..scale.columns {
        let (from, to) = (scale.at(column), scale.at(column + 1));
        let (sign, style) = job_cell(screen, slot, job, (from, to));
        spans.push(Span::styled(sign, style));
    }
    Line::from(spans)
}

fn job_cell(
    screen: &Screen<'_>,
    slot: usize,
    job: &JobRow,
    (from, to): (Time, Time),
) -> (String, Style) {
    let now = screen.model.playhead.now;
    let (its, faint) = (screen.theme.job(slot), screen.theme.tone(Tone::Waiting));
    let sign = |sign: &str, style| (sign.to_owned(), style);
    let holds = |at: Time| at < to;
    match (job.start_ms, job.end_ms) {
        (_, Some(end)) if end <= from => sign(" ", its),
        (Some(start), _) if from <= start && holds(start) && job.backfilled => sign("»", its),
        (Some(start), None) if start < to && now <= from => {
            let until = job.time_limit_ms.map(|limit| start + limit);
            sign(if until.is_some_and(|until| from < until) { "╌" } else { " " }, its)
        }
        (Some(start), _) if start < to => (letter(slot).to_string(), its),
        (None, None) => match job.expected_start_ms {
            Some(at) if from <= at && at < to => sign("▷", its),
            Some(at) if at < from => {
                let until = job.time_limit_ms.map(|limit| at + limit);
                sign(if until.is_some_and(|until| from < until) { "╌" } else { " " }, its)
            }
            Some(_) | None if job.submit_ms < to && from <= now => sign("░", faint),
            Some(_) | None => sign(" ", its),
        },
        (_, _) if job.submit_ms < to && from <= now => sign("░", faint),
        (_, _) => sign(" ", its),
    }
}

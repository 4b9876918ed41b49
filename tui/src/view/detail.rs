//! The selected thing explained: why, what would help, how far it has come, and its chain of events.

use drawbridge_scenarios::recording::RecordRef;
use ratatui::{
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use super::{
    Canvas, Screen, events,
    table::{plain, wrap},
};
use crate::{
    model::{explain::Explanation, moment::kubectl},
    theme::Tone,
};

/// Events of a chain that are shown at most; the rest is on the events tab.
const CHAIN_MAX: usize = 200;
/// Columns of the names of facts.
const NAMES: usize = 11;

/// Draws the pane.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    canvas.areas.detail = area;
    let explanation = screen.model.explanation.as_ref();
    let title = explanation.map_or("nothing is selected", |it| &it.title);
    let block = Block::bordered().title(format!(" Why: {} ", plain(title)));
    let inside = block.inner(area);
    let lines = explanation.map(|it| lines(screen, it, inside.width)).unwrap_or_default();
    let height = usize::from(inside.height);
    // The last page is as far as scrolling goes.
    let last_page = lines.len().saturating_sub(height);
    let first = usize::from(screen.model.detail_scroll).min(last_page);
    let more = lines.len().saturating_sub(first + height);
    let block = match more {
        0 => block,
        n => block.title_bottom(Line::from(format!(" {n} more, J K scroll ")).right_aligned()),
    };
    block.render(area, canvas.buf);
    for (line, row) in lines.into_iter().skip(first).zip(inside.rows()) {
        canvas.line(line, row);
    }
}

fn lines(screen: &Screen<'_>, it: &Explanation, room: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (i, sentence) in it.why.iter().enumerate() {
        let tone = if i == 0 { Tone::Heading } else { Tone::Plain };
        lines.extend(wrapped(screen, sentence, room, tone));
    }
    lines.extend(help(screen, it, room));
    lines.push(Line::default());
    if !it.stages.is_empty() {
        lines.extend(stages(screen, it, room));
        lines.push(Line::default());
    }
    for (name, value) in &it.facts {
        lines.extend(fact(screen, name, value, room));
    }
    lines.push(Line::default());
    lines.extend(chain(screen, it, room));
    lines
}

fn wrapped(screen: &Screen<'_>, text: &str, room: u16, tone: Tone) -> Vec<Line<'static>> {
    let style = screen.theme.tone(tone);
    wrap(text, usize::from(room)).into_iter().map(|piece| Line::styled(piece, style)).collect()
}

/// What would let it start now: counted, and where that was asked for, tried.
fn help(screen: &Screen<'_>, it: &Explanation, room: u16) -> Vec<Line<'static>> {
    let mut lines = vec![];
    let tried = screen.model.tried.as_ref().filter(|tried| {
        tried.event == screen.model.playhead.event
            && it.subjects.contains(&drawbridge_scenarios::Subject::Job(tried.job))
    });
    if it.needs.is_empty() && tried.is_none() {
        return lines;
    }
    lines.push(Line::default());
    let heading = match tried {
        Some(_) => "To start now",
        None => "To start now (! tries it)",
    };
    lines.push(Line::styled(heading, screen.theme.tone(Tone::Heading)));
    for need in &it.needs {
        lines.extend(wrapped(screen, need, room, Tone::Plain));
    }
    match tried.map(|tried| &tried.verdicts) {
        None => {}
        Some(None) => lines.extend(wrapped(screen, "Trying …", room, Tone::Faint)),
        Some(Some(verdicts)) => {
            for verdict in verdicts {
                let (text, tone) = match verdict.starts_after {
                    Some(after) => {
                        (format!("✓ if {}: in {}", verdict.text, kubectl(after)), Tone::Good)
                    }
                    None => (format!("✗ not if {}", verdict.text), Tone::Faint),
                };
                lines.extend(wrapped(screen, &text, room, tone));
            }
        }
    }
    lines
}

/// The way that it goes: `created 00:30 ▸ submitted +1s ▸ allocated …`.
fn stages(screen: &Screen<'_>, it: &Explanation, room: u16) -> Vec<Line<'static>> {
    let mut spans: Vec<Span<'static>> = vec![];
    let mut lines = vec![];
    let mut before = None;
    for stage in &it.stages {
        let (text, tone) = match (stage.at, before) {
            (Some(at), None) => (format!("{} {}", stage.name, screen.scene.stamp(at)), Tone::Good),
            (Some(at), Some(earlier)) => {
                (format!("{} +{}", stage.name, kubectl(at - earlier)), Tone::Good)
            }
            (None, _) => (stage.name.to_owned(), Tone::Faint),
        };
        before = stage.at.or(before);
        let taken: usize = spans.iter().map(Span::width).sum();
        if usize::from(room) < taken + text.chars().count() + 3 {
            lines.push(Line::from(std::mem::take(&mut spans)));
        }
        if !(spans.is_empty() && lines.is_empty()) {
            spans.push(Span::styled("▸ ", screen.theme.tone(Tone::Faint)));
        }
        spans.push(Span::styled(text + " ", screen.theme.tone(tone)));
    }
    lines.push(Line::from(spans));
    lines
}

fn fact(screen: &Screen<'_>, name: &str, value: &str, room: u16) -> Vec<Line<'static>> {
    let room = usize::from(room).saturating_sub(NAMES);
    let mut name = name;
    let mut lines = Vec::new();
    for piece in wrap(value, room) {
        lines.push(Line::from(vec![
            Span::styled(format!("{name:<NAMES$}"), screen.theme.tone(Tone::Faint)),
            Span::raw(piece),
        ]));
        name = "";
    }
    lines
}

/// The chain of events; of a long one the end.
fn chain(screen: &Screen<'_>, it: &Explanation, room: u16) -> Vec<Line<'static>> {
    let left_out = it.chain.len().saturating_sub(CHAIN_MAX);
    let heading = match left_out {
        0 => "So far".to_owned(),
        n => format!("So far, after {n} earlier events (f shows all)"),
    };
    let mut lines = vec![Line::styled(heading, screen.theme.tone(Tone::Heading))];
    for seq in &it.chain[left_out..] {
        let record = screen.model.reel.film.record(u64::from(*seq));
        lines.extend(record.map(|it| told(screen, it, room)).unwrap_or_default());
    }
    lines
}

/// A record over as many lines as it needs.
fn told(screen: &Screen<'_>, record: RecordRef<'_>, room: u16) -> Vec<Line<'static>> {
    let mut at = events::head(screen, record);
    let taken = at.iter().map(Span::width).sum();
    let room = usize::from(room).saturating_sub(taken);
    let mut lines = Vec::new();
    for piece in wrap(record.text, room) {
        at.push(Span::styled(piece, events::style(record, screen.theme)));
        lines.push(Line::from(at));
        at = vec![Span::raw(" ".repeat(taken))];
    }
    lines
}

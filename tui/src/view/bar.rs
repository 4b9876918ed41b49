//! The two lines at the bottom: where in time we are, and what can be done.

use drawbridge_sim::Time;
use ratatui::{
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{
    Canvas, Screen,
    table::{columns, fit},
};
use crate::{
    model::{
        prompt::{Note, Prompt},
        reel::Mark,
    },
    theme::Tone,
};

/// Time, position and events.
pub(super) fn scrub(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let head = &screen.model.playhead;
    let (mode, tone) = match (head.playing, head.following) {
        (true, _) => ("▶ play ", Tone::Good),
        (false, true) => ("▶▶ live", Tone::Good),
        (false, false) => ("‖ pause", Tone::Heading),
    };
    let left = format!(" {mode} {:>5}  {} ", head.speed(), screen.scene.stamp(head.now));
    let goes_on = if screen.model.reel.is_over() { "" } else { "…" };
    let right =
        format!(" {}  event {}/{}{goes_on} ", screen.scene.stamp(head.end), head.event, head.len);
    let [left_area, track_area, right_area] = Layout::horizontal([
        Constraint::Length(columns(&left)),
        Constraint::Fill(1),
        Constraint::Length(columns(&right)),
    ])
    .areas(area);
    canvas.line(Line::styled(left, screen.theme.tone(tone)), left_area);
    canvas.line(track(screen, usize::from(track_area.width)), track_area);
    canvas.areas.track = track_area;
    canvas.line(right, right_area);
}

/// The track with its marks: what was kept, changed, or went wrong.
fn track(screen: &Screen<'_>, room: usize) -> Line<'static> {
    let model = screen.model;
    let place = |at: Time| along(at, model.scale(), room);
    let here = place(model.playhead.now);
    let known = place(model.playhead.end);
    let tone = |tone| screen.theme.tone(tone);
    let mut cells: Vec<Span<'static>> = (0..room)
        .map(|i| match i {
            i if i < here => Span::styled("━", tone(Tone::Good)),
            i if known < i => Span::styled("·", tone(Tone::Faint)),
            _ => Span::styled("─", tone(Tone::Faint)),
        })
        .collect();
    let mut put = |at: Time, sign: &'static str, meaning: Tone| {
        if let Some(cell) = cells.get_mut(place(at)) {
            *cell = Span::styled(sign, tone(meaning));
        }
    };
    for (at, mark) in &model.reel.marks {
        match mark {
            Mark::Step => put(*at, "┿", Tone::Faint),
            Mark::Trouble => put(*at, "╋", Tone::Bad),
        }
    }
    model.changes.iter().for_each(|changed| put(changed.at, "✎", Tone::Waiting));
    model.bookmarks.iter().for_each(|(_, at)| put(*at, "◆", Tone::Key));
    if let Some(seq) = model.divergence() {
        put(model.reel.film.time_of(seq + 1), "≠", Tone::Waiting);
    }
    put(model.playhead.now, "●", Tone::Key);
    Line::from(cells)
}

/// Where on a track of so many cells a time lies.
fn along(at: Time, (start, end): (Time, Time), room: usize) -> usize {
    let last = room.saturating_sub(1);
    let (at, length) = (at.since(start).as_ms(), end.since(start).as_ms().max(1));
    let place = u128::from(at) * last as u128 / u128::from(length);
    usize::try_from(place).unwrap_or(last).min(last)
}

/// The most useful keys, the prompt, or what is to be said.
pub(super) fn keys(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let line = match (&model.prompt, &model.said) {
        (Some(prompt), _) => prompt_line(screen, prompt),
        (None, Some((tone, text))) => {
            let text = fit(&format!(" {text}"), usize::from(area.width));
            Line::styled(text, screen.theme.tone(*tone))
        }
        (None, None) => key_line(screen),
    };
    canvas.line(line, area);
}

fn key_line(screen: &Screen<'_>) -> Line<'static> {
    const KEYS: [(&str, &str); 9] = [
        ("?", "help"),
        ("space", "play"),
        ("← →", "step"),
        ("n", "next"),
        ("t", "time"),
        ("w", "why"),
        ("/", "filter"),
        ("e", "change"),
        ("q", "quit"),
    ];
    let mut spans = Vec::new();
    for (key, does) in KEYS {
        spans.push(Span::styled(format!(" {key}"), screen.theme.tone(Tone::Key)));
        spans.push(Span::raw(format!(" {does} ")));
    }
    Line::from(spans)
}

fn prompt_line(screen: &Screen<'_>, prompt: &Prompt) -> Line<'static> {
    let (note, tone) = match (&prompt.note, prompt.text.is_empty()) {
        (Some(Note::Wrong(wrong)), _) => (wrong.clone(), Tone::Bad),
        (Some(Note::Choices(choices)), _) => (choices.join(" "), Tone::Faint),
        (None, true) => (prompt.question.example().to_owned(), Tone::Faint),
        (None, false) => (String::new(), Tone::Faint),
    };
    let before: String = prompt.text.chars().take(prompt.cursor).collect();
    let after: String = prompt.text.chars().skip(prompt.cursor).collect();
    Line::from(vec![
        Span::styled(format!(" {}", prompt.question.label()), screen.theme.tone(Tone::Key)),
        Span::raw(before),
        Span::styled("▏", screen.theme.tone(Tone::Heading)),
        Span::raw(after),
        Span::raw(" "),
        Span::styled(note, screen.theme.tone(tone)),
    ])
}

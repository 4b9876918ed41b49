//! The two lines at the bottom: where in time we are, and what can be done.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Widget,
};

use super::Screen;
use crate::theme::Tone;

/// Time, position and events.
pub(super) struct Scrub<'a>(pub(super) Screen<'a>);

/// The most useful keys, or the prompt.
pub(super) struct Keys<'a>(pub(super) Screen<'a>);

impl Widget for Scrub<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let head = &self.0.model.playhead;
        let playing = if head.playing { "▶ play " } else { "‖ pause" };
        let left = format!(" {playing} {:>5}  {} ", head.speed(), head.now);
        let right = format!(" {}  event {}/{} ", head.end, head.event, head.len);
        let [left_area, track, right_area] = Layout::horizontal([
            Constraint::Length(columns(&left)),
            Constraint::Fill(1),
            Constraint::Length(columns(&right)),
        ])
        .areas(area);
        let tone = if head.playing { Tone::Good } else { Tone::Heading };
        Line::styled(left, self.0.theme.tone(tone)).render(left_area, buf);
        self.track(track, buf);
        Line::from(right).render(right_area, buf);
    }
}

impl Scrub<'_> {
    fn track(&self, area: Rect, buf: &mut Buffer) {
        let head = &self.0.model.playhead;
        let cells = u64::from(area.width.saturating_sub(1));
        // Widened, so that no length of run overflows.
        let done = u128::from(head.now.as_ms()) * u128::from(cells);
        let done = done / u128::from(head.end.as_ms().max(1));
        let done = usize::try_from(done.min(u128::from(cells))).unwrap_or(0);
        let rest = usize::from(area.width).saturating_sub(done + 1);
        Line::from(vec![
            Span::styled("━".repeat(done), self.0.theme.tone(Tone::Good)),
            Span::styled("●", self.0.theme.tone(Tone::Key)),
            Span::styled("─".repeat(rest), self.0.theme.tone(Tone::Faint)),
        ])
        .render(area, buf);
    }
}

impl Widget for Keys<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let line = match &self.0.model.prompt {
            Some(prompt) => self.prompt(prompt),
            None => self.keys(),
        };
        line.render(area, buf);
    }
}

impl Keys<'_> {
    fn keys(&self) -> Line<'static> {
        const KEYS: [(&str, &str); 8] = [
            ("?", "help"),
            ("space", "play"),
            ("← →", "step"),
            ("n", "next"),
            ("t", "time"),
            ("w", "why"),
            ("/", "filter"),
            ("q", "quit"),
        ];
        let mut spans = Vec::new();
        for (key, does) in KEYS {
            spans.push(Span::styled(format!(" {key}"), self.0.theme.tone(Tone::Key)));
            spans.push(Span::raw(format!(" {does} ")));
        }
        Line::from(spans)
    }

    fn prompt(&self, prompt: &crate::model::Prompt) -> Line<'static> {
        let (note, tone) = match (&prompt.error, prompt.text.is_empty()) {
            (Some(error), _) => (error.clone(), Tone::Bad),
            (None, true) => (prompt.question.example().to_owned(), Tone::Faint),
            (None, false) => (String::new(), Tone::Faint),
        };
        Line::from(vec![
            Span::styled(format!(" {}", prompt.question.label()), self.0.theme.tone(Tone::Key)),
            Span::raw(prompt.text.clone()),
            Span::styled("▏", self.0.theme.tone(Tone::Heading)),
            Span::raw(" "),
            Span::styled(note, self.0.theme.tone(tone)),
        ])
    }
}

fn columns(text: &str) -> u16 {
    u16::try_from(super::table::width(text)).unwrap_or(u16::MAX)
}

//! What happened, one record per line, up to now.

use drawbridge_scenarios::{Actor, Level, Record};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use super::{
    Screen, nothing,
    table::{fit, plain, window},
};
use crate::{
    model::rows::Rows,
    theme::{Theme, Tone},
};

/// The list.
pub(super) struct Events<'a>(pub(super) Screen<'a>);

impl Widget for Events<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let Rows::Events(rows) = &self.0.model.rows else {
            return;
        };
        let block = Block::bordered().title(self.title());
        let inside = block.inner(area);
        block.render(area, buf);
        if rows.is_empty() {
            let text = "Nothing to tell yet. Space plays the run, → goes on by one event.";
            let text = nothing(self.0.model, text);
            Line::styled(text, self.0.theme.tone(Tone::Faint)).render(inside, buf);
        }
        let selected = self.0.model.selected();
        let shown = window(rows.len(), inside.height, selected);
        for (i, line) in shown.zip(inside.rows()) {
            let record = &self.0.records[rows[i]];
            record_line(record, self.0.theme, line.width).render(line, buf);
            if selected == Some(i) {
                buf.set_style(line, self.0.theme.selected());
            }
        }
    }
}

impl Events<'_> {
    fn title(&self) -> String {
        let model = self.0.model;
        let which = if model.all { "every event" } else { "the story · a shows every event" };
        let mut title = format!(" Events {} · {which} ", model.rows.len());
        if let Some(focus) = &model.focus {
            title.push_str(&format!("· only {} (f: all) ", focus.title));
        }
        title.push_str(&self.0.filter());
        title
    }
}

/// A record as one line: when, who, what.
fn record_line(record: &Record, theme: Theme, room: u16) -> Line<'static> {
    let mut line = record_head(record, theme);
    let taken: usize = line.iter().map(Span::width).sum();
    let text = fit(&plain(&record.text), usize::from(room).saturating_sub(taken));
    line.push(Span::styled(text, record_style(record, theme)));
    Line::from(line)
}

/// When and who.
pub(super) fn record_head(record: &Record, theme: Theme) -> Vec<Span<'static>> {
    let who = format!(" {:<7} ", record.actor.name());
    vec![
        Span::styled(record.at.to_string(), theme.tone(Tone::Faint)),
        Span::styled(who, actor(record.actor, theme)),
    ]
}

/// How its sentence is written.
pub(super) fn record_style(record: &Record, theme: Theme) -> Style {
    match record.level {
        Level::Story => theme.tone(Tone::Plain),
        Level::Detail => theme.tone(Tone::Faint),
    }
}

fn actor(actor: Actor, theme: Theme) -> Style {
    theme.tone(match actor {
        Actor::User => Tone::Key,
        Actor::Kube | Actor::Kubelet | Actor::Slurm => Tone::Plain,
        Actor::Bridge => Tone::Good,
        Actor::Twin => Tone::Waiting,
    })
}

//! What happened, one record per line, up to now.

use drawbridge_scenarios::{Actor, Level, recording::RecordRef};
use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    Canvas, Screen,
    lists::is_marked,
    table::{fit, plain, window},
};
use crate::theme::{Theme, Tone};

/// Draws the list.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let inside = canvas.framed(title(screen), area);
    let n_records = model.rows.n_records;
    if n_records == 0 {
        let text = "Nothing to tell yet. Space plays the run, → goes on by one event.";
        let text = screen.nothing(text).to_owned();
        return canvas.line(Line::styled(text, screen.theme.tone(Tone::Faint)), inside);
    }
    let shown = window(n_records, inside.height, model.selected());
    for (i, row) in shown.zip(inside.rows()) {
        let record = model.logged(i).and_then(|seq| model.reel.film.record(seq));
        let Some(record) = record else { continue };
        canvas.line(line(screen, record, row.width), row);
        if is_marked(screen, i) {
            canvas.buf.set_style(row, screen.theme.marked());
        }
        if model.selected() == Some(i) {
            canvas.buf.set_style(row, screen.theme.selected());
        }
        canvas.areas.rows.push((row, i));
    }
}

fn title(screen: &Screen<'_>) -> String {
    let model = screen.model;
    let which = if model.all { "every event" } else { "the story · a shows every event" };
    let mut title = format!(" Events {} · {which} ", model.rows.n_records);
    if let Some(focus) = &model.focus {
        title.push_str(&format!("· only {} (f: all) ", focus.title));
    }
    if model.is_busy() {
        title.push_str("· still looking … ");
    }
    title + &screen.narrowed()
}

/// A record as one line: when, who, what.
fn line(screen: &Screen<'_>, record: RecordRef<'_>, room: u16) -> Line<'static> {
    let mut line = head(screen, record);
    let taken: usize = line.iter().map(Span::width).sum();
    let text = fit(&plain(record.text), usize::from(room).saturating_sub(taken));
    line.push(Span::styled(text, style(record, screen.theme)));
    Line::from(line)
}

/// When and who.
pub(super) fn head(screen: &Screen<'_>, record: RecordRef<'_>) -> Vec<Span<'static>> {
    let theme = screen.theme;
    let who = format!(" {:<7} ", record.actor.name());
    vec![
        Span::styled(screen.scene.stamp(record.at), theme.tone(Tone::Faint)),
        Span::styled(who, actor(record.actor, theme)),
    ]
}

/// How its sentence is written.
pub(super) fn style(record: RecordRef<'_>, theme: Theme) -> Style {
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

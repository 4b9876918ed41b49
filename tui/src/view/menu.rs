//! A menu in the middle of the screen.

use ratatui::{
    layout::Rect,
    text::Line,
    widgets::{Clear, Widget},
};

use super::{
    Canvas, Screen,
    table::{columns, window},
};
use crate::theme::Tone;

/// Draws the menu, if one is open.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let Some(menu) = &screen.model.menu else { return };
    let widest = menu.choices.iter().map(|choice| columns(&choice.text)).max().unwrap_or(0);
    let width = widest.max(columns(&menu.title)).saturating_add(4).clamp(30, area.width);
    let n_choices = u16::try_from(menu.choices.len()).unwrap_or(u16::MAX);
    let height = n_choices.saturating_add(3).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, canvas.buf);
    canvas.buf.set_style(place, screen.theme.ground());
    let inside = canvas.framed(format!(" {} ", menu.title), place);
    let list = Rect { height: inside.height.saturating_sub(1), ..inside };
    let shown = window(menu.choices.len(), list.height, Some(menu.at));
    canvas.areas.menu.clear();
    for (i, row) in shown.zip(list.rows()) {
        canvas.line(Line::raw(format!(" {}", menu.choices[i].text)), row);
        if i == menu.at {
            canvas.buf.set_style(row, screen.theme.selected());
        }
        canvas.areas.menu.push((row, i));
    }
    let hint = Rect { y: list.bottom(), height: 1, ..inside }.intersection(inside);
    canvas.line(Line::styled(" Enter chooses, Esc closes", screen.theme.tone(Tone::Faint)), hint);
}

//! Every key and command and what it does, from their tables.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use super::{Canvas, Screen};
use crate::{
    command,
    input::{Group, TABLE},
    theme::Tone,
};

/// Draws the help.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let lines = lines(screen);
    let block = Block::bordered().title(" Keys and commands · ? or Esc closes ");
    let inside = block.inner(area);
    let height = usize::from(inside.height);
    let last_page = lines.len().saturating_sub(height);
    let first = usize::from(screen.model.help.unwrap_or(0)).min(last_page);
    let more = lines.len().saturating_sub(first + height);
    let block = match more {
        0 => block,
        n => block.title_bottom(Line::from(format!(" {n} more, j k scroll ")).right_aligned()),
    };
    block.render(area, canvas.buf);
    for (line, row) in lines.into_iter().skip(first).zip(inside.rows()) {
        canvas.line(line, row);
    }
}

fn lines(screen: &Screen<'_>) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        let mut heading = group.name();
        for binding in TABLE.iter().filter(|binding| binding.group == group) {
            lines.push(line(screen, heading, binding.label, binding.does, 24));
            heading = "";
        }
    }
    lines.push(Line::default());
    let mut heading = "Type :";
    for command in command::TABLE {
        let usage = format!("{} {}", command.names.join(" "), command.wants);
        lines.push(line(screen, heading, usage.trim_end(), command.does, 33));
        heading = "";
    }
    lines
}

fn line(
    screen: &Screen<'_>,
    heading: &str,
    label: &str,
    does: &'static str,
    room: usize,
) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!(" {heading:<7}"), screen.theme.tone(Tone::Heading)),
        Span::styled(format!("{label:<room$} "), screen.theme.tone(Tone::Key)),
        Span::raw(does),
    ])
}

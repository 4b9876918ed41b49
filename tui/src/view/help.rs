//! Every key and what it does, from the key table.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use crate::{
    input::{Binding, Group, TABLE},
    theme::{Theme, Tone},
};

/// The help.
pub(super) struct Help(pub(super) Theme);

impl Widget for Help {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let block = Block::bordered().title(" Keys ");
        let inside = block.inner(area);
        block.render(area, buf);
        for (line, row) in self.lines().into_iter().zip(inside.rows()) {
            line.render(row, buf);
        }
    }
}

impl Help {
    fn lines(&self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for group in Group::ALL {
            let mut heading = group.name();
            for binding in TABLE.iter().filter(|binding| binding.group == group) {
                lines.push(self.line(heading, binding));
                heading = "";
            }
        }
        lines
    }

    fn line(&self, heading: &str, binding: &Binding) -> Line<'static> {
        Line::from(vec![
            Span::styled(format!(" {heading:<7}"), self.0.tone(Tone::Heading)),
            Span::styled(format!("{:<16}", binding.label), self.0.tone(Tone::Key)),
            Span::raw(binding.does),
        ])
    }
}

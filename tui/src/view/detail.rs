//! The selected thing explained: why, facts, and its chain of events so far.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use super::{
    Screen,
    events::record_line,
    table::{fit, plain, width},
};
use crate::{model::explain::Explanation, theme::Tone};

/// The pane.
pub(super) struct Detail<'a>(pub(super) Screen<'a>);

impl Widget for Detail<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let explanation = self.0.model.explanation.as_ref();
        let title = explanation.map_or("nothing is selected", |it| &it.title);
        let block = Block::bordered().title(format!(" Why: {} ", plain(title)));
        let inside = block.inner(area);
        let more = explanation.map_or(0, |it| self.explain(it, inside, buf));
        let block = match more {
            0 => block,
            n => block.title_bottom(Line::from(format!(" {n} more, J K scroll ")).right_aligned()),
        };
        block.render(area, buf);
    }
}

impl Detail<'_> {
    /// Draws what there is room for. Returns how many lines are still to come.
    fn explain(&self, it: &Explanation, area: Rect, buf: &mut Buffer) -> usize {
        let height = usize::from(area.height);
        let text = self.text(it, area.width);
        let n_lines = text.len() + it.chain.len();
        // The last page is as far as scrolling goes.
        let last_page = n_lines.saturating_sub(height);
        let first = usize::from(self.0.model.detail_scroll).min(last_page);
        for (i, row) in (first..n_lines).zip(area.rows()) {
            match text.get(i) {
                Some(line) => line.render(row, buf),
                None => {
                    let record = &self.0.records[it.chain[i - text.len()]];
                    record_line(record, self.0.theme, area.width).render(row, buf);
                }
            }
        }
        n_lines.saturating_sub(first + height)
    }

    /// Everything but the chain, which may be long.
    fn text(&self, it: &Explanation, room: u16) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (i, sentence) in it.why.iter().enumerate() {
            let style = self
                .0
                .theme
                .tone(if i == 0 { Tone::Heading } else { Tone::Plain });
            let pieces = wrap(sentence, usize::from(room)).into_iter();
            lines.extend(pieces.map(|piece| Line::styled(piece, style)));
        }
        lines.push(Line::default());
        for (name, value) in &it.facts {
            lines.extend(self.fact(name, value, room));
        }
        lines.push(Line::default());
        lines.push(Line::styled("So far", self.0.theme.tone(Tone::Heading)));
        lines
    }

    fn fact(&self, name: &str, value: &str, room: u16) -> Vec<Line<'static>> {
        const NAMES: usize = 11;
        let room = usize::from(room).saturating_sub(NAMES);
        let mut name = name;
        let mut lines = Vec::new();
        for piece in wrap(value, room) {
            lines.push(Line::from(vec![
                Span::styled(format!("{name:<NAMES$}"), self.0.theme.tone(Tone::Faint)),
                Span::raw(piece),
            ]));
            name = "";
        }
        lines
    }
}

/// Breaks a text between words so that each line fits; a word that never fits is cut.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in plain(text).split_whitespace() {
        let word = fit(word, room);
        let last = lines.len() - 1;
        let taken = width(&lines[last]);
        if taken == 0 {
            lines[last] = word;
        } else if taken + 1 + width(&word) <= room {
            lines[last] = format!("{} {word}", lines[last]);
        } else {
            lines.push(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_between_words() {
        assert_eq!(
            wrap("job 7 waits for room", 12),
            ["job 7 waits", "for room"]
        );
        assert_eq!(wrap("averyverylongword", 6), ["avery…"]);
        assert_eq!(wrap("", 6), [""]);
    }
}

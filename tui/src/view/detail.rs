//! The selected thing explained: why, facts, and its chain of events so far.

use drawbridge_scenarios::Record;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use super::{
    Screen,
    events::{record_head, record_style},
    table::{fit, plain, width},
};
use crate::{model::explain::Explanation, theme::Tone};

/// Events of a chain that are shown at most; the rest is on the events tab.
const CHAIN_MAX: usize = 200;

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
        let lines = self.lines(it, area.width);
        // The last page is as far as scrolling goes.
        let last_page = lines.len().saturating_sub(height);
        let first = usize::from(self.0.model.detail_scroll).min(last_page);
        for (line, row) in lines.iter().skip(first).zip(area.rows()) {
            line.render(row, buf);
        }
        lines.len().saturating_sub(first + height)
    }

    fn lines(&self, it: &Explanation, room: u16) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (i, sentence) in it.why.iter().enumerate() {
            let style = self.0.theme.tone(if i == 0 { Tone::Heading } else { Tone::Plain });
            let pieces = wrap(sentence, usize::from(room)).into_iter();
            lines.extend(pieces.map(|piece| Line::styled(piece, style)));
        }
        lines.push(Line::default());
        for (name, value) in &it.facts {
            lines.extend(self.fact(name, value, room));
        }
        lines.push(Line::default());
        lines.extend(self.chain(it, room));
        lines
    }

    /// The chain of events; of a long one the end.
    fn chain(&self, it: &Explanation, room: u16) -> Vec<Line<'static>> {
        let left_out = it.chain.len().saturating_sub(CHAIN_MAX);
        let heading = match left_out {
            0 => "So far".to_owned(),
            n => format!("So far, after {n} earlier events (f shows all)"),
        };
        let mut lines = vec![Line::styled(heading, self.0.theme.tone(Tone::Heading))];
        for &i in &it.chain[left_out..] {
            lines.extend(self.record(&self.0.records[i], room));
        }
        lines
    }

    /// A record over as many lines as it needs.
    fn record(&self, record: &Record, room: u16) -> Vec<Line<'static>> {
        let mut at = record_head(record, self.0.theme);
        let taken = at.iter().map(Span::width).sum();
        let room = usize::from(room).saturating_sub(taken);
        let mut lines = Vec::new();
        for piece in wrap(&record.text, room) {
            at.push(Span::styled(piece, record_style(record, self.0.theme)));
            lines.push(Line::from(at));
            at = vec![Span::raw(" ".repeat(taken))];
        }
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
        assert_eq!(wrap("job 7 waits for room", 12), ["job 7 waits", "for room"]);
        assert_eq!(wrap("averyverylongword", 6), ["avery…"]);
        assert_eq!(wrap("", 6), [""]);
    }
}

//! Columns that line up whatever is written in them.
//!
//! A column is as wide as its widest cell. Where that is too much, the widest columns give way
//! first, and what doesn't fit ends in `…`. Widths are those on the screen: a wide letter takes
//! two cells.

use std::ops::Range;

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Widget},
};

use crate::theme::{Theme, Tone};

/// A table in a box.
pub(crate) struct Table<'a> {
    /// What stands in the box's frame.
    pub(crate) title: String,
    /// The columns' names; `>` in front of one puts its cells to the right.
    pub(crate) headers: &'a [&'static str],
    /// The cells.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The row that is selected.
    pub(crate) selected: Option<usize>,
    /// What stands there when there are no rows.
    pub(crate) empty: &'a str,
    /// How to paint it.
    pub(crate) theme: Theme,
}

/// A piece of text in one style.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text on a single line: line breaks and other control characters become blanks.
    pub(crate) fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: plain(text.as_ref()), style }
    }
}

impl Widget for &Table<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let block = Block::bordered().title(self.title.as_str());
        let inside = block.inner(area);
        block.render(area, buf);
        let [head, body] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(inside);
        if self.rows.is_empty() {
            Line::styled(self.empty, self.theme.tone(Tone::Faint)).render(body, buf);
            return;
        }
        let widths = self.widths(inside.width);
        self.header(&widths).render(head, buf);
        let shown = window(self.rows.len(), body.height, self.selected);
        for (i, line) in shown.zip(body.rows()) {
            self.line(&self.rows[i], &widths).render(line, buf);
            if self.selected == Some(i) {
                buf.set_style(line, self.theme.selected());
            }
        }
    }
}

impl Table<'_> {
    fn header(&self, widths: &[usize]) -> Line<'static> {
        let style = self.theme.tone(Tone::Heading);
        let names = self.headers.iter().map(|header| name(header).0);
        self.line(&names.map(|name| Cell::new(name, style)).collect::<Vec<_>>(), widths)
    }

    fn line(&self, cells: &[Cell], widths: &[usize]) -> Line<'static> {
        let mut spans = Vec::with_capacity(cells.len() * 2);
        for ((cell, header), &room) in cells.iter().zip(self.headers).zip(widths) {
            let text = fit(&cell.text, room);
            let blank = " ".repeat(room - width(&text).min(room));
            let text = Span::styled(text, cell.style);
            match name(header).1 {
                true => spans.extend([Span::raw(blank), text]),
                false => spans.extend([text, Span::raw(blank)]),
            }
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    }

    fn widths(&self, room: u16) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let longest = cells.map(|cell| width(&cell.text)).max();
            longest.unwrap_or(0).max(width(name(self.headers[column]).0))
        };
        let widths = (0..self.headers.len()).map(widest).collect();
        squeeze(widths, usize::from(room).saturating_sub(self.headers.len() - 1))
    }
}

/// Lets the widest columns give way until all fit, down to one cell each.
fn squeeze(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while 0 < excess {
        let widest = widths.iter().copied().max().unwrap_or(0);
        let Some(column) = widths.iter().rposition(|&w| w == widest && 1 < w) else {
            break;
        };
        widths[column] -= 1;
        excess -= 1;
    }
    widths
}

fn name(header: &'static str) -> (&'static str, bool) {
    match header.strip_prefix('>') {
        Some(name) => (name, true),
        None => (header, false),
    }
}

/// The rows to show so that the selected one is among them, in the middle where possible.
pub(crate) fn window(n_rows: usize, height: u16, selected: Option<usize>) -> Range<usize> {
    let height = usize::from(height).min(n_rows);
    let first = selected.unwrap_or(0).saturating_sub(height / 2).min(n_rows - height);
    first..first + height
}

/// Cells that a text takes on the screen.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The text, or as much of it as fits, with `…` for the rest.
pub(crate) fn fit(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (mut fitted, mut taken) = (String::new(), 0);
    for piece in Span::raw(text).styled_graphemes(Style::new()) {
        taken += width(piece.symbol);
        if room < taken + 1 {
            break;
        }
        fitted.push_str(piece.symbol);
    }
    if 0 < room {
        fitted.push('…');
    }
    fitted
}

/// The text on one line.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_by_its_width_on_the_screen() {
        #[rustfmt::skip]
        let rows = [
            ("worker", 6, "worker"),
            ("worker", 5, "work…"),
            ("worker", 1, "…"),
            ("worker", 0, ""),
            ("模型训练", 8, "模型训练"),
            ("模型训练", 7, "模型训…"),
            ("模型训练", 6, "模型…"),
        ];
        for (text, room, want) in rows {
            assert_eq!(fit(text, room), want);
            assert!(width(want) <= room);
        }
    }

    #[test]
    fn the_widest_columns_give_way_first() {
        assert_eq!(squeeze(vec![3, 20, 10], 40), [3, 20, 10]);
        assert_eq!(squeeze(vec![3, 20, 10], 25), [3, 12, 10]);
        assert_eq!(squeeze(vec![3, 20, 10], 15), [3, 6, 6]);
        assert_eq!(squeeze(vec![3, 20, 10], 0), [1, 1, 1]);
    }

    #[test]
    fn the_selected_row_is_always_in_the_window() {
        for (n_rows, height) in [(0, 5), (3, 5), (9, 4), (9, 0), (100, 7)] {
            for selected in 0..n_rows {
                let shown = window(n_rows, height, Some(selected));
                assert!(height == 0 || shown.contains(&selected), "{n_rows} {height} {selected}");
                assert!(shown.end <= n_rows);
            }
        }
    }
}

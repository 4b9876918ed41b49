//! Columns that line up whatever is written in them.
//!
//! A column is as wide as the widest cell that is shown. Where that is too much, the widest columns
//! give way first, and what doesn't fit ends in `…`. Widths are those on the screen: a wide letter
//! takes two cells.

use std::ops::Range;

use ratatui::{
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
};

use super::{Canvas, Screen};
use crate::{
    model::{columns::Column, scene::Scene},
    theme::Tone,
};

/// A table in a box.
pub(super) struct Table<'a> {
    /// What stands in the box's frame.
    pub(super) title: String,
    /// The columns' names, and whether their cells stand to the right.
    pub(super) headers: Vec<(&'static str, bool)>,
    /// How many rows there are.
    pub(super) n_rows: usize,
    /// The row that is selected.
    pub(super) selected: Option<usize>,
    /// What the cells of a row are.
    pub(super) cells: &'a dyn Fn(usize) -> Vec<Cell>,
    /// Whether a row is marked.
    pub(super) marked: &'a dyn Fn(usize) -> bool,
    /// What stands there when there are no rows.
    pub(super) empty: &'a str,
}

/// A piece of text in one style.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text on a single line: line breaks and other control characters become blanks.
    pub(super) fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: plain(text.as_ref()), style }
    }
}

/// The cells of a row, by its columns.
pub(super) fn cells<T: ?Sized>(
    screen: &Screen<'_>,
    scene: Scene<'_>,
    columns: &[&Column<T>],
    row: &T,
) -> Vec<Cell> {
    let cell = |column: &&Column<T>| {
        let style = screen.theme.tone((column.tone)(scene, row));
        Cell::new((column.text)(scene, row), style)
    };
    columns.iter().map(cell).collect()
}

/// What is above the columns.
pub(super) fn headers<T: ?Sized>(columns: &[&Column<T>]) -> Vec<(&'static str, bool)> {
    columns.iter().map(|column| (column.name, column.right)).collect()
}

impl Table<'_> {
    /// Draws it. Rows can be clicked if this is the list in front.
    pub(super) fn draw(&self, screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
        let inside = canvas.framed(self.title.clone(), area);
        self.draw_inside(screen, inside, canvas);
    }

    /// Draws it without its box.
    pub(super) fn draw_inside(&self, screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
        let [head, body] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        if self.n_rows == 0 {
            let style = screen.theme.tone(Tone::Faint);
            return canvas.line(Line::styled(self.empty.to_owned(), style), body);
        }
        let shown = window(self.n_rows, body.height, self.selected);
        let rows: Vec<Vec<Cell>> = shown.clone().map(self.cells).collect();
        let widths = self.widths(&rows, area.width);
        self.header(screen, &widths, head, canvas);
        for ((i, cells), line) in shown.zip(&rows).zip(body.rows()) {
            canvas.line(self.line(cells, &widths), line);
            if (self.marked)(i) {
                canvas.buf.set_style(line, screen.theme.marked());
            }
            if self.selected == Some(i) {
                canvas.buf.set_style(line, screen.theme.selected());
            }
            canvas.areas.rows.push((line, i));
        }
    }

    fn header(&self, screen: &Screen<'_>, widths: &[usize], area: Rect, canvas: &mut Canvas<'_>) {
        let style = screen.theme.tone(Tone::Heading);
        let sort = screen.model.list().sort;
        let named = |name: &'static str| match sort {
            Some((by, false)) if by == name => format!("{name}↑"),
            Some((by, true)) if by == name => format!("{name}↓"),
            Some(_) | None => name.to_owned(),
        };
        let names = self.headers.iter().map(|(name, _)| Cell::new(named(name), style));
        canvas.line(self.line(&names.collect::<Vec<_>>(), widths), area);
        let mut x = area.x;
        for ((name, _), &width) in self.headers.iter().zip(widths) {
            let width = u16::try_from(width).unwrap_or(0);
            let place = Rect { x, width, ..area }.intersection(area);
            canvas.areas.headers.push((place, name));
            x = x.saturating_add(width + 1);
        }
    }

    fn line(&self, cells: &[Cell], widths: &[usize]) -> Line<'static> {
        let mut spans = Vec::with_capacity(cells.len() * 2);
        for ((cell, (_, right)), &room) in cells.iter().zip(&self.headers).zip(widths) {
            let text = fit(&cell.text, room);
            let blank = " ".repeat(room - width(&text).min(room));
            let text = Span::styled(text, cell.style);
            match right {
                true => spans.extend([Span::raw(blank), text]),
                false => spans.extend([text, Span::raw(blank)]),
            }
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    }

    fn widths(&self, rows: &[Vec<Cell>], room: u16) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let longest = cells.map(|cell| width(&cell.text)).max();
            // One more than its name: the arrow of the order goes there.
            longest.unwrap_or(0).max(width(self.headers[column].0))
        };
        let widths = (0..self.headers.len()).map(widest).collect();
        squeeze(widths, usize::from(room).saturating_sub(self.headers.len().saturating_sub(1)))
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

/// The rows to show so that the selected one is among them, in the middle where possible.
pub(super) fn window(n_rows: usize, height: u16, selected: Option<usize>) -> Range<usize> {
    let height = usize::from(height).min(n_rows);
    let first = selected.unwrap_or(0).saturating_sub(height / 2).min(n_rows - height);
    first..first + height
}

/// The same for lines that aren't all equally high: how many to leave out at the top.
pub(super) fn first_of(heights: &[u16], room: u16, selected: Option<usize>) -> usize {
    let room = usize::from(room);
    let high = |lines: &[u16]| lines.iter().map(|it| usize::from(*it)).sum::<usize>();
    let Some(selected) = selected.filter(|_| room < high(heights)) else { return 0 };
    let below = high(&heights[selected..=selected]);
    // As many above the selected one as fit into half of the room.
    let mut first = selected;
    while 0 < first && high(&heights[first - 1..=selected]) <= (room / 2).max(below) {
        first -= 1;
    }
    // The end needs no blank lines below it.
    while 0 < first && high(&heights[first - 1..]) <= room {
        first -= 1;
    }
    first
}

/// Cells that a text takes on the screen.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The same as a number of columns.
pub(super) fn columns(text: &str) -> u16 {
    u16::try_from(width(text)).unwrap_or(u16::MAX)
}

/// The text, or as much of it as fits, with `…` for the rest.
pub(super) fn fit(text: &str, room: usize) -> String {
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
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Breaks a text between words so that each line fits; a word that never fits is cut.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
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

    #[test]
    fn the_selected_line_is_shown_however_high_the_others_are() {
        let heights = [1, 5, 5, 1, 5, 5, 5];
        for room in 5..30 {
            for selected in 0..heights.len() {
                let first = first_of(&heights, room, Some(selected));
                let end: u16 = heights[first..=selected].iter().sum();
                assert!(first <= selected && end <= room.max(5), "{room} {selected}: {first}");
            }
        }
        assert_eq!(first_of(&heights, 27, Some(6)), 0, "all fit");
        assert_eq!(first_of(&heights, 10, None), 0);
    }

    #[test]
    fn text_breaks_between_words() {
        assert_eq!(wrap("job 7 waits for room", 12), ["job 7 waits", "for room"]);
        assert_eq!(wrap("averyverylongword", 6), ["avery…"]);
        assert_eq!(wrap("", 6), [""]);
    }
}

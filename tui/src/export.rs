//! The screen as a file: text, a picture, or what a terminal would be sent.

mod svg;

use ratatui::{
    Terminal,
    backend::{CrosstermBackend, TestBackend},
    buffer::{Buffer, Cell},
    text::Span,
};

pub(crate) use svg::svg;

use crate::{model::Model, view};

/// The screen as cells with their styles.
pub(crate) fn picture(model: &Model) -> Buffer {
    let (width, height) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height))
        .expect("a terminal in memory has nothing to fail");
    terminal
        .draw(|frame| {
            view::draw(model, frame);
        })
        .expect("a terminal in memory has nothing to fail");
    terminal.backend().buffer().clone()
}

/// The screen as text, blanks at the ends of lines cut off.
pub(crate) fn text(picture: &Buffer) -> String {
    let lines = rows(picture).map(|cells| {
        let mut line = String::new();
        for (_, cell) in visible(cells) {
            line.push_str(cell.symbol());
        }
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a terminal would be sent to show it.
pub(crate) fn ansi(picture: &Buffer) -> Vec<u8> {
    let mut bytes = b"\x1b[2J\x1b[H".to_vec();
    let blank = Buffer::empty(picture.area);
    let mut backend = CrosstermBackend::new(&mut bytes);
    let all = blank.diff(picture);
    ratatui::backend::Backend::draw(&mut backend, all.into_iter())
        .expect("memory has nothing to fail");
    bytes
}

/// The lines of a picture.
fn rows(picture: &Buffer) -> impl Iterator<Item = &[Cell]> {
    picture.content.chunks(usize::from(picture.area.width.max(1)))
}

/// The cells of a line that are seen, each with its place: a wide letter takes that of the next.
fn visible(cells: &[Cell]) -> impl Iterator<Item = (usize, &Cell)> {
    let mut taken = 0;
    cells.iter().enumerate().filter(move |(column, cell)| {
        let seen = taken <= *column;
        if seen {
            taken = column + Span::raw(cell.symbol()).width().max(1);
        }
        seen
    })
}

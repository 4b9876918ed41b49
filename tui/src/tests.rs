//! The screens, the updates and what is always true, over a small run made by hand.

mod always;
mod cluster;
mod explains;
mod recorded;
mod screens;
mod session;
mod updates;

use cluster::Cluster;
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};

use crate::{
    Source,
    model::{Model, Msg},
    theme::Theme,
    view,
};

/// The model after these messages.
fn after(source: &dyn Source, msgs: &[Msg]) -> Model {
    let mut model = Model::new(source, "ring_waits".to_owned());
    for msg in msgs {
        model.update(source, *msg);
    }
    model
}

/// The screen as cells with their styles.
fn buffer(source: &dyn Source, model: &Model, theme: Theme, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let draw = |frame: &mut ratatui::Frame<'_>| view::draw(model, source.records(), theme, frame);
    terminal.draw(draw).unwrap();
    terminal.backend().buffer().clone()
}

/// The screen as text, one string per line, blanks at the end of a line cut off.
fn text(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width.max(1));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let mut line = String::new();
        let mut taken = 0;
        for (column, cell) in cells.iter().enumerate() {
            // A wide letter takes the place of the cell that follows it.
            if column < taken {
                continue;
            }
            line.push_str(cell.symbol());
            taken = column + ratatui::text::Span::raw(cell.symbol()).width().max(1);
        }
        line.trim_end().to_owned()
    };
    buffer.content.chunks(width).map(line).collect()
}

/// The text screen after these messages.
fn screen(size: (u16, u16), msgs: &[Msg]) -> String {
    let source = Cluster::new();
    let model = after(&source, msgs);
    text(&buffer(&source, &model, Theme::new(true), size)).join("\n")
}

//! The screen as a picture that every browser shows alike: each run of letters has its exact place.

use std::fmt::Write;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
    text::Span,
};

use super::{rows, visible};
use crate::theme::ThemeName;

/// The size of a cell, and the space around all of them.
const WIDTH: usize = 8;
const HEIGHT: usize = 17;
const MARGIN: usize = 10;

/// Letters in one style, one after the other.
struct Run {
    column: usize,
    columns: usize,
    text: String,
    look: Look,
}

/// How letters look.
#[derive(Clone, PartialEq, Eq)]
struct Look {
    ink: String,
    ground: Option<String>,
    bold: bool,
    dim: bool,
    underlined: bool,
}

/// The picture.
pub(crate) fn svg(picture: &Buffer, theme: ThemeName, title: &str) -> String {
    let (ink, ground) = match theme {
        ThemeName::Light => ("#141414", "#fafaf5"),
        ThemeName::Contrast => ("#ffffff", "#000000"),
        ThemeName::Terminal | ThemeName::ColourBlind | ThemeName::Mono => ("#d0d4d8", "#16191d"),
    };
    let width = usize::from(picture.area.width) * WIDTH + 2 * MARGIN;
    let height = usize::from(picture.area.height) * HEIGHT + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{ground}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"13\" fill=\"{ink}\" xml:space=\"preserve\">\n",
        escape(title)
    );
    for (row, cells) in rows(picture).enumerate() {
        for run in runs(cells, ink, ground) {
            draw(&mut out, &run, row, ink);
        }
    }
    out + "</g>\n</svg>\n"
}

fn runs(cells: &[Cell], ink: &str, ground: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    for (column, cell) in visible(cells) {
        let look = look(cell, ink, ground);
        let columns = Span::raw(cell.symbol()).width().max(1);
        match runs.last_mut().filter(|run| run.look == look) {
            Some(run) => {
                run.text.push_str(cell.symbol());
                run.columns += columns;
            }
            None => runs.push(Run { column, columns, text: cell.symbol().to_owned(), look }),
        }
    }
    runs
}

fn look(cell: &Cell, ink: &str, ground: &str) -> Look {
    let (mut front, mut back) = (hex(cell.fg), hex(cell.bg));
    if cell.modifier.contains(Modifier::REVERSED) {
        let was = front.take();
        front = Some(back.unwrap_or_else(|| ground.to_owned()));
        back = Some(was.unwrap_or_else(|| ink.to_owned()));
    }
    Look {
        ink: front.unwrap_or_else(|| ink.to_owned()),
        ground: back,
        bold: cell.modifier.contains(Modifier::BOLD),
        dim: cell.modifier.contains(Modifier::DIM),
        underlined: cell.modifier.contains(Modifier::UNDERLINED),
    }
}

fn draw(out: &mut String, run: &Run, row: usize, usual: &str) {
    let (x, y) = (MARGIN + run.column * WIDTH, MARGIN + row * HEIGHT);
    let width = run.columns * WIDTH;
    let look = &run.look;
    if let Some(ground) = &look.ground {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{ground}\"/>"
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    if look.ink != usual {
        let _ = write!(style, " fill=\"{}\"", look.ink);
    }
    for (on, attribute) in [
        (look.bold, " font-weight=\"bold\""),
        (look.dim, " opacity=\"0.6\""),
        (look.underlined, " text-decoration=\"underline\""),
    ] {
        style.push_str(if on { attribute } else { "" });
    }
    let base = y + HEIGHT - 4;
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{base}\" textLength=\"{width}\" \
         lengthAdjust=\"spacingAndGlyphs\"{style}>{}</text>",
        escape(&run.text)
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A colour as the web writes it; `None` is the terminal's own.
fn hex(colour: Color) -> Option<String> {
    let named = match colour {
        Color::Reset => return None,
        Color::Rgb(red, green, blue) => return Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Indexed(index) => return Some(indexed(index)),
        Color::Black => "#2d3135",
        Color::Red => "#e5534b",
        Color::Green => "#57ab5a",
        Color::Yellow => "#c69026",
        Color::Blue => "#539bf5",
        Color::Magenta => "#b083f0",
        Color::Cyan => "#39c5cf",
        Color::Gray => "#9aa0a6",
        Color::DarkGray => "#6e7681",
        Color::LightRed => "#ff938a",
        Color::LightGreen => "#6bc46d",
        Color::LightYellow => "#daaa3f",
        Color::LightBlue => "#6cb6ff",
        Color::LightMagenta => "#dcbdfb",
        Color::LightCyan => "#56d4dd",
        Color::White => "#f0f3f6",
    };
    Some(named.to_owned())
}

/// The colours of the 256 that are computed; the first sixteen are used by name alone.
fn indexed(index: u8) -> String {
    let level = |it: u8| if it == 0 { 0 } else { 55 + it * 40 };
    match index {
        0..=15 => "#9aa0a6".to_owned(),
        16..=231 => {
            let it = index - 16;
            let (red, green, blue) = (level(it / 36), level(it / 6 % 6), level(it % 6));
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        232..=255 => {
            let grey = 8 + (index - 232) * 10;
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

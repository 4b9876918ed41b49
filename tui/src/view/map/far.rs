//! Nodes from afar: a word, a letter, or a letter for several.

use drawbridge_scenarios::NodeRow;
use drawbridge_sim::JobId;
use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{Placed, nodes, placed};
use crate::{
    model::groups,
    theme::Tone,
    view::{
        Canvas, Screen,
        cells::{holder, is_off, most, spark},
        table::{fit, window},
    },
};

/// A word takes this much, with the blank behind it.
const WORD: u16 = 12;

/// A word each: the name, how full it is, and whose most of it is.
pub(super) fn words<'a>(
    screen: &Screen<'a>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) -> Vec<&'a NodeRow> {
    scattered(screen, area, canvas, WORD, 1, |these| {
        let Some(node) = these.first() else { return vec![] };
        let name = node.slurm_name.as_ref().unwrap_or(&node.name);
        let full = spark(&[node.cpus_alloc.into()], node.cpus.into());
        vec![
            Span::raw(format!("{:<8}", tail(name, 8))),
            Span::raw(full),
            holder(screen, most(&node.cpu_holders), is_off(node)),
        ]
    })
}

/// A letter for each so many.
pub(super) fn letters<'a>(
    screen: &Screen<'a>,
    area: Rect,
    per_cell: usize,
    canvas: &mut Canvas<'_>,
) -> Vec<&'a NodeRow> {
    scattered(screen, area, canvas, 1, per_cell, |these| {
        let holders: Vec<Option<JobId>> =
            these.iter().map(|node| most(&node.cpu_holders)).collect();
        let off = these.iter().all(|node| is_off(node));
        vec![holder(screen, most(&holders), off)]
    })
}

/// Every node on one screen.
pub(super) fn all<'a>(
    screen: &Screen<'a>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) -> Vec<&'a NodeRow> {
    let room = usize::from(area.width) * usize::from(area.height.saturating_sub(1)).max(1);
    let n_nodes = screen.model.rows.items.len();
    let per_cell = n_nodes.div_ceil(room.max(1)).max(1);
    let rest = Rect { height: area.height.saturating_sub(1), ..area };
    if 1 < per_cell {
        let note = format!("each letter stands for {per_cell} nodes; z zooms in");
        let row = Rect { y: rest.bottom(), height: 1, ..area }.intersection(area);
        canvas.line(Line::styled(note, screen.theme.tone(Tone::Faint)), row);
    }
    letters(screen, rest, per_cell, canvas)
}

/// Draws what there is room for, so many nodes in a place of so many columns.
fn scattered<'a>(
    screen: &Screen<'a>,
    area: Rect,
    canvas: &mut Canvas<'_>,
    wide: u16,
    per_cell: usize,
    draw: impl Fn(&[&NodeRow]) -> Vec<Span<'static>>,
) -> Vec<&'a NodeRow> {
    let all = nodes(screen);
    let across = usize::from(area.width / wide).max(1);
    let selected = screen.model.selected();
    // A switch's nodes share no letter with another's, unless letters stand for many.
    let headings = per_cell == 1 && groups::any(screen.scene);
    let lines = placed(&all, across * per_cell, headings);
    let has = |line: &Placed| matches!(line, Placed::Nodes(range) if selected.is_some_and(|at| range.contains(&at)));
    let shown = window(lines.len(), area.height, lines.iter().position(has));
    let mut seen = vec![];
    for (line, row) in lines[shown].iter().zip(area.rows()) {
        match line {
            Placed::Heading(text) => {
                let style = screen.theme.tone(Tone::Key);
                canvas.line(Line::styled(format!("── {text} "), style), row);
            }
            Placed::Nodes(range) => {
                for (column, first) in (0_u16..).zip(range.clone().step_by(per_cell)) {
                    let x = row.x + column * wide;
                    let these = &all[first..(first + per_cell).min(range.end)];
                    let place = Rect { x, width: wide, ..row }.intersection(row);
                    canvas.line(Line::from(draw(these)), place);
                    if selected.is_some_and(|at| (first..first + these.len()).contains(&at)) {
                        canvas.buf.set_style(place, screen.theme.selected());
                    }
                    canvas.areas.rows.push((place, first));
                    seen.extend(these);
                }
            }
        }
    }
    seen
}

/// The end of a name, where nodes differ.
fn tail(name: &str, room: usize) -> String {
    let letters = name.chars().count();
    match letters <= room {
        true => name.to_owned(),
        false => fit(&name.chars().skip(letters - room).collect::<String>(), room),
    }
}

//! Nodes from near: a block or a line each.

use drawbridge_scenarios::NodeRow;
use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{Placed, nodes, placed};
use crate::{
    model::{
        columns::nodes::{of_gib, tone_of},
        groups,
    },
    theme::Tone,
    view::{
        Canvas, Screen,
        cells::{bar, holders},
        table::{first_of, fit, plain, width},
    },
};

/// Blocks are at least this wide.
const BLOCK_WIDTH: u16 = 38;
/// Lines of a block; the last is blank unless there is something to say.
const BLOCK_HEIGHT: u16 = 5;
/// Lines are at least this wide.
const LINE_WIDTH: u16 = 60;
/// Columns of what a resource is called, and of how much of it is held.
const LABEL: usize = 4;
const AMOUNT: usize = 14;

/// A block each. Returns the nodes that are on the screen.
pub(super) fn blocks<'a>(
    screen: &Screen<'a>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) -> Vec<&'a NodeRow> {
    grid(screen, area, canvas, (BLOCK_WIDTH, BLOCK_HEIGHT), |node, place, canvas| {
        let room = usize::from(place.width);
        let lines = [
            heading(screen, node, room),
            cpus(screen, node, room),
            memory(screen, node, room),
            gpus(screen, node, room),
            flags(screen, node, room),
        ];
        for (line, row) in lines.into_iter().zip(place.rows()) {
            canvas.line(line, row);
        }
    })
}

/// A line each. Returns the nodes that are on the screen.
pub(super) fn lines<'a>(
    screen: &Screen<'a>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) -> Vec<&'a NodeRow> {
    grid(screen, area, canvas, (LINE_WIDTH, 1), |node, place, canvas| {
        canvas.line(line(screen, node, usize::from(place.width)), place);
    })
}

/// Draws what there is room for around the selected node, each in a place of this size.
fn grid<'a>(
    screen: &Screen<'a>,
    area: Rect,
    canvas: &mut Canvas<'_>,
    (least_width, height): (u16, u16),
    draw: impl Fn(&NodeRow, Rect, &mut Canvas<'_>),
) -> Vec<&'a NodeRow> {
    let all = nodes(screen);
    let across = (area.width / least_width).max(1);
    let each = area.width / across;
    let selected = screen.model.selected();
    let lines = placed(&all, usize::from(across), groups::any(screen.scene));
    let has = |line: &Placed| matches!(line, Placed::Nodes(range) if selected.is_some_and(|at| range.contains(&at)));
    let heights: Vec<u16> = lines.iter().map(|line| line.height(height)).collect();
    let first = first_of(&heights, area.height, lines.iter().position(has));
    let (mut y, mut seen) = (area.y, vec![]);
    for placed in &lines[first..] {
        // What is cut off at the bottom would only confuse.
        if area.bottom() < y + placed.height(height).min(area.height) {
            break;
        }
        match placed {
            Placed::Heading(text) => {
                let row = Rect { y, height: 1, ..area }.intersection(area);
                let style = screen.theme.tone(Tone::Key);
                canvas.line(Line::styled(format!("── {text} "), style), row);
                y += 1;
            }
            Placed::Nodes(range) => {
                for (column, i) in (0_u16..).zip(range.clone()) {
                    let x = area.x + column * each;
                    let place = Rect { x, y, width: each.saturating_sub(2), height };
                    let place = place.intersection(area);
                    draw(all[i], place, canvas);
                    if selected == Some(i) {
                        let first = Rect { height: place.height.min(1), ..place };
                        canvas.buf.set_style(first, screen.theme.selected());
                    }
                    canvas.areas.rows.push((place, i));
                    seen.push(all[i]);
                }
                y += height;
            }
        }
    }
    seen
}

fn names(node: &NodeRow) -> String {
    match &node.slurm_name {
        Some(slurm) if *slurm != node.name => format!("{} ({slurm})", node.name),
        Some(_) | None => node.name.clone(),
    }
}

fn state(node: &NodeRow) -> &str {
    match node.slurm_name {
        Some(_) => node.state.as_str(),
        None => "not in Slurm",
    }
}

fn heading(screen: &Screen<'_>, node: &NodeRow, room: usize) -> Line<'static> {
    let state = state(node);
    let name = fit(&names(node), room.saturating_sub(width(state) + 1));
    let blank = " ".repeat(room.saturating_sub(width(&name) + width(state)));
    Line::from(vec![
        Span::styled(name, screen.theme.tone(Tone::Heading)),
        Span::raw(blank),
        Span::styled(state.to_owned(), screen.theme.tone(tone_of(node))),
    ])
}

/// Cordoned or not, and why it is drained or down.
fn flags(screen: &Screen<'_>, node: &NodeRow, room: usize) -> Line<'static> {
    let cordoned = node.cordoned.then_some("cordoned");
    let flags: Vec<&str> = cordoned.into_iter().chain(node.reason.as_deref()).collect();
    let text = fit(&plain(&flags.join(": ")), room);
    Line::styled(text, screen.theme.tone(Tone::Waiting))
}

fn cpus(screen: &Screen<'_>, node: &NodeRow, room: usize) -> Line<'static> {
    let amount = format!("{}/{}", node.cpus_alloc, node.cpus);
    let total = node.cpus as usize;
    let (cells, per_cell) =
        holders(screen, node, &node.cpu_holders, total, room.saturating_sub(LABEL + AMOUNT));
    measured(screen, "cpu", cells, amount, per_cell, room)
}

fn gpus(screen: &Screen<'_>, node: &NodeRow, room: usize) -> Line<'static> {
    let all = &node.gpu_holders;
    if all.is_empty() {
        return Line::default();
    }
    let amount = format!("{}/{}", all.iter().flatten().count(), all.len());
    let (cells, per_cell) =
        holders(screen, node, all, all.len(), room.saturating_sub(LABEL + AMOUNT));
    measured(screen, "gpu", cells, amount, per_cell, room)
}

fn memory(screen: &Screen<'_>, node: &NodeRow, room: usize) -> Line<'static> {
    let amount = format!("{} GiB", of_gib(node.memory_alloc_mb, node.memory_mb));
    let cells =
        bar(screen, node.memory_alloc_mb, node.memory_mb, room.saturating_sub(LABEL + AMOUNT));
    measured(screen, "mem", cells, amount, 1, room)
}

fn measured(
    screen: &Screen<'_>,
    label: &str,
    cells: Vec<Span<'static>>,
    amount: String,
    per_cell: usize,
    room: usize,
) -> Line<'static> {
    let amount = match per_cell {
        1 => amount,
        n => format!("{amount} ({n}x)"),
    };
    let taken: usize = LABEL + cells.iter().map(Span::width).sum::<usize>();
    let blank = room.saturating_sub(taken + width(&amount));
    let mut spans = vec![Span::styled(format!("{label:<LABEL$}"), screen.theme.tone(Tone::Faint))];
    spans.extend(cells);
    spans.push(Span::raw(" ".repeat(blank)));
    spans.push(Span::raw(amount));
    Line::from(spans)
}

/// A node in one line: name, state, CPUs, memory, GPUs.
fn line(screen: &Screen<'_>, node: &NodeRow, room: usize) -> Line<'static> {
    const NAME: usize = 18;
    const STATE: usize = 6;
    const MEMORY: usize = 6;
    let gpus = node.gpu_holders.len().min(8);
    let cpus = room.saturating_sub(NAME + STATE + MEMORY + gpus + 5);
    let name = fit(&names(node), NAME);
    let blank = " ".repeat(NAME - width(&name).min(NAME));
    let state = fit(state(node), STATE);
    let mut spans = vec![
        Span::styled(name, screen.theme.tone(Tone::Heading)),
        Span::raw(blank + " "),
        Span::styled(format!("{state:<STATE$} "), screen.theme.tone(tone_of(node))),
    ];
    let (cells, _) = holders(screen, node, &node.cpu_holders, node.cpus as usize, cpus);
    let taken = cells.len();
    spans.extend(cells);
    spans.push(Span::raw(" ".repeat(cpus.saturating_sub(taken) + 1)));
    spans.extend(bar(screen, node.memory_alloc_mb, node.memory_mb, MEMORY));
    spans.push(Span::raw(" "));
    spans.extend(holders(screen, node, &node.gpu_holders, node.gpu_holders.len(), gpus).0);
    Line::from(spans)
}

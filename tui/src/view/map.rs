//! Who holds what on which node, nearer or farther.
//!
//! ```text
//!   0  worker-node-0 (compute-0)   mix    a block each: both names, state, a letter per CPU and job
//!      cpu AAAABBBB········       8/16
//!      mem ▓▓▓▓▓▓░░░░       12/32 GiB
//!      gpu A·                      1/2
//!   1  n1 mix AAAABBBB········ A·         a line each
//!   2  n1 ▆A  n2 ▂B  n3 ·                 a word each: how full, and whose most of it is
//!   3  AAAABBBB··xC                       a letter each
//!   4  ABBC··                             a letter for several
//! ```
//!
//! A job keeps its letter and colour for the whole run. Nodes on one switch stand together, where
//! somebody has written down which those are.

mod far;
mod near;

use drawbridge_scenarios::NodeRow;
use drawbridge_sim::JobId;
use ratatui::{
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{Canvas, Screen, table::fit};
use crate::{
    model::{groups, rows::Item},
    theme::{Tone, letter},
};

/// Draws the map.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let zoom = model.map_zoom.unwrap_or_else(|| model.fitting_zoom());
    let title = screen.title(model.rows.items.len(), "");
    let inside = canvas.framed(title, area);
    if model.rows.items.is_empty() {
        let text = screen.nothing("No nodes.").to_owned();
        return canvas.line(Line::styled(text, screen.theme.tone(Tone::Faint)), inside);
    }
    let [map, legend] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inside);
    let shown = match zoom {
        0 => near::blocks(screen, map, canvas),
        1 => near::lines(screen, map, canvas),
        2 => far::words(screen, map, canvas),
        3 => far::letters(screen, map, 1, canvas),
        _ => far::all(screen, map, canvas),
    };
    canvas.line(legend_line(screen, &shown, zoom), legend);
}

/// The nodes of the list, in its order.
fn nodes<'a>(screen: &Screen<'a>) -> Vec<&'a NodeRow> {
    let slots = screen.model.rows.items.iter().filter_map(|item| match item {
        Item::Node(slot) => Some(*slot),
        Item::Gang(..) | Item::Pod(..) | Item::Job(_) | Item::Pair(_) => None,
    });
    slots.filter_map(|slot| screen.scene.still.node(slot)).collect()
}

/// What is placed on lines: places in the list, with a heading where another switch begins.
enum Placed {
    Heading(String),
    Nodes(std::ops::Range<usize>),
}

impl Placed {
    /// How high it is, where nodes are so high.
    const fn height(&self, nodes: u16) -> u16 {
        match self {
            Self::Heading(_) => 1,
            Self::Nodes(_) => nodes,
        }
    }
}

/// Puts nodes on lines of so many, switches apart.
fn placed(nodes: &[&NodeRow], across: usize, headings: bool) -> Vec<Placed> {
    let across = across.max(1);
    let mut lines = vec![];
    let mut first = 0;
    while first < nodes.len() {
        let group = groups::group_of(nodes[first]);
        let same = |node: &&&NodeRow| !headings || groups::group_of(node) == group;
        let end = first + nodes[first..].iter().take_while(same).count();
        if headings {
            let group: String = group.to_owned();
            lines.push(Placed::Heading(format!("{group} ({})", end - first)));
        }
        for start in (first..end).step_by(across) {
            lines.push(Placed::Nodes(start..(start + across).min(end)));
        }
        first = end;
    }
    lines
}

/// Which letter is which job, for the nodes on the screen.
fn legend_line(screen: &Screen<'_>, shown: &[&NodeRow], zoom: u8) -> Line<'static> {
    let holders = shown.iter().flat_map(|node| node.cpu_holders.iter().chain(&node.gpu_holders));
    let mut ids: Vec<JobId> = holders.flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let mut spans = Vec::new();
    // Nobody reads more, and there is no room for them.
    for (slot, job) in ids.into_iter().take(12).filter_map(|id| screen.scene.job(id)) {
        spans.push(Span::styled(letter(slot).to_string(), screen.theme.job(slot)));
        spans.push(Span::raw(format!(" {} {}   ", job.job_id, fit(&job.name, 16))));
    }
    let zoom = match screen.model.map_zoom {
        Some(_) => format!("   z Z zoom ({zoom})"),
        None => String::new(),
    };
    let text = format!("· free   x takes no new work{zoom}");
    spans.push(Span::styled(text, screen.theme.tone(Tone::Faint)));
    Line::from(spans)
}

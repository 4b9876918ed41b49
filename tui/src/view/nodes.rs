//! Who holds what on which node.
//!
//! ```text
//!   worker-node-0 (compute-0)            mix    both names, Slurm's state, flags
//!   cpu AAAABBBB········                8/16    a letter per CPU and job
//!   mem ▓▓▓▓▓▓░░░░░░░░░░             12/32 GiB
//!   gpu A·                               1/2
//! ```
//!
//! A job keeps its letter and colour for the whole run. Where a node has more CPUs than there is
//! room, a cell stands for several and shows who holds the most of them.

use drawbridge_scenarios::{JobRow, NodeRow};
use drawbridge_sim::JobId;
use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, Widget},
};

use super::{
    Screen, nothing,
    table::{fit, plain, width, window},
};
use crate::{
    model::{explain::waiting::usable, rows::Rows},
    theme::{Tone, letter},
};

/// Blocks are at least this wide.
const BLOCK_WIDTH: u16 = 38;
/// Lines of a block; the last is blank unless there is something to say.
const BLOCK_HEIGHT: u16 = 5;
/// Columns of what a resource is called, and of how much of it is held.
const LABEL: usize = 4;
const AMOUNT: usize = 14;

/// The map.
pub(super) struct Nodes<'a>(pub(super) Screen<'a>);

impl Widget for Nodes<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let Rows::Nodes(rows) = &self.0.model.rows else {
            return;
        };
        let block =
            Block::bordered().title(self.0.title(rows.len(), self.0.model.frame.nodes.len(), ""));
        let inside = block.inner(area);
        block.render(area, buf);
        if rows.is_empty() {
            let text = nothing(self.0.model, "No nodes.");
            Line::styled(text, self.0.theme.tone(Tone::Faint)).render(inside, buf);
            return;
        }
        let [map, legend] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inside);
        let shown = self.map(rows, map, buf);
        self.legend(&shown).render(legend, buf);
    }
}

impl Nodes<'_> {
    /// Draws the blocks around the selected one. Returns the nodes that are on the screen.
    fn map(&self, rows: &[usize], area: Rect, buf: &mut Buffer) -> Vec<&NodeRow> {
        let columns = (area.width / BLOCK_WIDTH).max(1);
        let across = usize::from(columns);
        let selected = self.0.model.selected();
        let lines = window(
            rows.len().div_ceil(across),
            (area.height / BLOCK_HEIGHT).max(1),
            selected.map(|at| at / across),
        );
        let mut shown = Vec::new();
        for (i, &row) in rows.iter().enumerate().take(lines.end * across).skip(lines.start * across)
        {
            let node = &self.0.model.frame.nodes[row];
            let place = i - lines.start * across;
            let place = (u16::try_from(place % across), u16::try_from(place / across));
            let (Ok(column), Ok(line)) = place else { break };
            let block = Rect {
                x: area.x + column * (area.width / columns),
                y: area.y + line * BLOCK_HEIGHT,
                width: (area.width / columns).saturating_sub(2),
                height: BLOCK_HEIGHT,
            };
            self.node(node, selected == Some(i), block.intersection(area), buf);
            shown.push(node);
        }
        shown
    }

    fn node(&self, node: &NodeRow, selected: bool, area: Rect, buf: &mut Buffer) {
        let room = usize::from(area.width);
        let lines = [
            self.heading(node, room),
            self.cpus(node, room),
            self.memory(node, room),
            self.gpus(node, room),
            self.flags(node, room),
        ];
        for (i, (line, row)) in lines.into_iter().zip(area.rows()).enumerate() {
            line.render(row, buf);
            if selected && i == 0 {
                buf.set_style(row, self.0.theme.selected());
            }
        }
    }

    fn heading(&self, node: &NodeRow, room: usize) -> Line<'static> {
        let state = match node.slurm_name {
            Some(_) => node.state.as_str(),
            None => "not in Slurm",
        };
        let name = match &node.slurm_name {
            Some(slurm) if *slurm != node.name => format!("{} ({slurm})", node.name),
            Some(_) | None => node.name.clone(),
        };
        let tone = match (usable(node), node.slurm_name.is_some()) {
            (true, _) => Tone::Plain,
            (false, true) => Tone::Bad,
            (false, false) => Tone::Faint,
        };
        let name = fit(&name, room.saturating_sub(width(state) + 1));
        let blank = " ".repeat(room.saturating_sub(width(&name) + width(state)));
        Line::from(vec![
            Span::styled(name, self.0.theme.tone(Tone::Heading)),
            Span::raw(blank),
            Span::styled(state.to_owned(), self.0.theme.tone(tone)),
        ])
    }

    /// Cordoned or not, and why it is drained or down.
    fn flags(&self, node: &NodeRow, room: usize) -> Line<'static> {
        let cordoned = node.cordoned.then_some("cordoned");
        let flags: Vec<&str> = cordoned.into_iter().chain(node.reason.as_deref()).collect();
        let text = fit(&plain(&flags.join(": ")), room);
        Line::styled(text, self.0.theme.tone(Tone::Waiting))
    }

    fn cpus(&self, node: &NodeRow, room: usize) -> Line<'static> {
        let total = usize::try_from(node.cpus).unwrap_or(usize::MAX);
        let amount = format!("{}/{}", node.cpus_alloc, node.cpus);
        self.cells("cpu", &node.cpu_holders, total, off(node), amount, room)
    }

    fn gpus(&self, node: &NodeRow, room: usize) -> Line<'static> {
        let holders = &node.gpu_holders;
        if holders.is_empty() {
            return Line::default();
        }
        let amount = format!("{}/{}", holders.iter().flatten().count(), holders.len());
        self.cells("gpu", holders, holders.len(), off(node), amount, room)
    }

    fn cells(
        &self,
        label: &str,
        holders: &[Option<JobId>],
        total: usize,
        off: bool,
        amount: String,
        room: usize,
    ) -> Line<'static> {
        let n_cells = room.saturating_sub(LABEL + AMOUNT).max(1);
        let per_cell = total.div_ceil(n_cells).max(1);
        let mut spans =
            vec![Span::styled(format!("{label:<LABEL$}"), self.0.theme.tone(Tone::Faint))];
        for first in (0..total).step_by(per_cell) {
            let held = first.min(holders.len())..(first + per_cell).min(holders.len());
            spans.push(self.cell(most(&holders[held]), off));
        }
        let amount = match per_cell {
            1 => amount,
            n => format!("{amount} ({n}x)"),
        };
        let taken = LABEL + total.div_ceil(per_cell);
        let blank = room.saturating_sub(taken + width(&amount));
        spans.push(Span::raw(" ".repeat(blank)));
        spans.push(Span::raw(amount));
        Line::from(spans)
    }

    fn cell(&self, holder: Option<JobId>, off: bool) -> Span<'static> {
        let theme = self.0.theme;
        match (holder, off) {
            (Some(job), _) => match place(&self.0.model.frame.jobs, job) {
                Some(place) => Span::styled(letter(place).to_string(), theme.job(place)),
                None => Span::raw("?"),
            },
            (None, false) => Span::styled("·", theme.tone(Tone::Faint)),
            (None, true) => Span::styled("x", theme.tone(Tone::Faint)),
        }
    }

    fn memory(&self, node: &NodeRow, room: usize) -> Line<'static> {
        let cells = room.saturating_sub(LABEL + AMOUNT);
        let amount = format!("{} GiB", of_gib(node.memory_alloc_mb, node.memory_mb));
        let held = match node.memory_mb {
            0 => 0,
            // Rounded up: a little is not nothing.
            total => (node.memory_alloc_mb.min(total) * cells as u64).div_ceil(total),
        };
        let held = usize::try_from(held).unwrap_or(cells).min(cells);
        let blank = room.saturating_sub(LABEL + cells + width(&amount));
        Line::from(vec![
            Span::styled(format!("{:<LABEL$}", "mem"), self.0.theme.tone(Tone::Faint)),
            Span::styled("▓".repeat(held), self.0.theme.tone(Tone::Plain)),
            Span::styled("░".repeat(cells - held), self.0.theme.tone(Tone::Faint)),
            Span::raw(" ".repeat(blank)),
            Span::raw(amount),
        ])
    }

    /// Which letter is which job, for those on the screen.
    fn legend(&self, shown: &[&NodeRow]) -> Line<'static> {
        let jobs = &self.0.model.frame.jobs;
        let mut ids: Vec<JobId> = shown
            .iter()
            .flat_map(|node| node.cpu_holders.iter().chain(&node.gpu_holders))
            .flatten()
            .copied()
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut spans = Vec::new();
        for place in ids.into_iter().filter_map(|id| place(jobs, id)) {
            let job = &jobs[place];
            spans.push(Span::styled(letter(place).to_string(), self.0.theme.job(place)));
            spans.push(Span::raw(format!(" {} {}   ", job.job_id, fit(&job.name, 16))));
        }
        spans.push(Span::styled("· free   x takes no new work", self.0.theme.tone(Tone::Faint)));
        Line::from(spans)
    }
}

/// Whether what is free there stays free.
fn off(node: &NodeRow) -> bool {
    node.slurm_name.is_some() && !usable(node)
}

/// Where a job stands among all jobs, which are in order of their numbers.
fn place(jobs: &[JobRow], id: JobId) -> Option<usize> {
    jobs.binary_search_by_key(&id, |job| job.job_id).ok()
}

/// Who holds the most of these; of equals the one with the lowest number.
fn most(holders: &[Option<JobId>]) -> Option<JobId> {
    let count = |id: &JobId| holders.iter().flatten().filter(|other| *other == id).count();
    let mut ids: Vec<JobId> = holders.iter().flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().rev().max_by_key(count)
}

/// `3.5/16`: memory in GiB, with a decimal only where it says something.
fn of_gib(held: u64, total: u64) -> String {
    let gib = |mib: u64| match (mib % 1024 * 10) / 1024 {
        0 => (mib / 1024).to_string(),
        tenth => format!("{}.{tenth}", mib / 1024),
    };
    format!("{}/{}", gib(held), gib(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_who_holds_the_most_of_it() {
        let (a, b) = (Some(JobId(1)), Some(JobId(2)));
        assert_eq!(most(&[None, b, b, a]), b);
        assert_eq!(most(&[b, a, None, None]), a, "of equals the lowest number");
        assert_eq!(most(&[None, None]), None);
    }

    #[test]
    fn memory_has_decimals_only_where_they_say_something() {
        assert_eq!(of_gib(1536, 16_384), "1.5/16");
        assert_eq!(of_gib(100, 16_000), "0/15.6");
    }
}

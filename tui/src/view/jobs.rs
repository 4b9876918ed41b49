//! The jobs as squeue lists them, each with its letter on the node map.

use drawbridge_scenarios::JobRow;
use drawbridge_sim::{Span, expand_hostlist};
use ratatui::{buffer::Buffer, layout::Rect, widgets::Widget};

use super::{
    Screen, nothing,
    table::{Cell, Table},
};
use crate::{
    model::{moment::squeue, rows::Rows},
    theme::{Tone, letter},
};

const HEADERS: [&str; 10] =
    ["", ">JOBID", "PARTITION", "NAME", "USER", "ST", ">TIME", ">NODES", "NODELIST(REASON)", "FOR"];

/// The list.
pub(super) struct Jobs<'a>(pub(super) Screen<'a>);

impl Widget for Jobs<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let Rows::Jobs(rows) = &self.0.model.rows else {
            return;
        };
        let total = self.0.model.frame.jobs.len();
        let table = Table {
            title: self.0.title(rows.len(), total, "a shows ended ones"),
            headers: &HEADERS,
            rows: rows.iter().map(|&i| self.row(i)).collect(),
            selected: self.0.model.selected(),
            empty: nothing(self.0.model, "No jobs in the queue now; a also shows ended ones."),
            theme: self.0.theme,
        };
        table.render(area, buf);
    }
}

impl Jobs<'_> {
    fn row(&self, place: usize) -> Vec<Cell> {
        let (theme, job) = (self.0.theme, &self.0.model.frame.jobs[place]);
        let over = job.end_ms.is_some();
        let plain = theme.tone(if over { Tone::Faint } else { Tone::Plain });
        let state = state_code(&job.state);
        vec![
            Cell::new(letter(place).to_string(), theme.job(place)),
            Cell::new(job.job_id.to_string(), plain),
            Cell::new(&job.partition, plain),
            Cell::new(&job.name, plain),
            Cell::new(&job.user, plain),
            Cell::new(state, theme.tone(tone(state))),
            Cell::new(squeue(self.run_time(job)), plain),
            Cell::new(n_nodes(job), plain),
            Cell::new(nodelist_or_reason(job), plain),
            Cell::new(if job.bridged { "kube" } else { "slurm" }, plain),
        ]
    }

    fn run_time(&self, job: &JobRow) -> Span {
        match job.start_ms {
            Some(start) => job.end_ms.unwrap_or(self.0.model.now()) - start,
            None => Span::ZERO,
        }
    }
}

/// How many nodes it has or had; nothing before that.
fn n_nodes(job: &JobRow) -> String {
    match expand_hostlist(&job.nodes) {
        Ok(names) if !names.is_empty() => names.len().to_string(),
        Ok(_) | Err(_) => String::new(),
    }
}

fn nodelist_or_reason(job: &JobRow) -> String {
    match (&job.reason, job.start_ms) {
        (Some(reason), None) => format!("({reason})"),
        (None, None) => "(None)".to_owned(),
        (_, Some(_)) => job.nodes.clone(),
    }
}

/// The state as squeue abbreviates it. What has no abbreviation stays as it is.
pub(super) fn state_code(state: &str) -> &str {
    match state.split_whitespace().next().unwrap_or_default() {
        "BOOT_FAIL" => "BF",
        "CANCELLED" => "CA",
        "COMPLETED" => "CD",
        "CONFIGURING" => "CF",
        "COMPLETING" => "CG",
        "DEADLINE" => "DL",
        "FAILED" => "F",
        "NODE_FAIL" => "NF",
        "OUT_OF_MEMORY" => "OOM",
        "PENDING" => "PD",
        "PREEMPTED" => "PR",
        "RUNNING" => "R",
        "REQUEUED" => "RQ",
        "RESIZING" => "RS",
        "SIGNALING" => "SI",
        "STAGE_OUT" => "SO",
        "STOPPED" => "ST",
        "SUSPENDED" => "S",
        "TIMEOUT" => "TO",
        _ => state,
    }
}

fn tone(code: &str) -> Tone {
    match code {
        "R" => Tone::Good,
        "PD" | "CF" | "CG" | "S" | "RQ" => Tone::Waiting,
        "F" | "NF" | "TO" | "OOM" | "BF" | "DL" => Tone::Bad,
        "CD" | "CA" => Tone::Faint,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_abbreviated_as_in_squeue() {
        let rows = [
            ("PENDING", "PD"),
            ("RUNNING", "R"),
            ("CANCELLED by 0", "CA"),
            ("R", "R"),
            ("NEW_STATE", "NEW_STATE"),
        ];
        for (state, code) in rows {
            assert_eq!(state_code(state), code);
        }
    }
}

//! The pods, gangs above their members.

use drawbridge_scenarios::PodRow;
use ratatui::{buffer::Buffer, layout::Rect, widgets::Widget};

use super::{
    Screen, nothing,
    table::{Cell, Table},
};
use crate::{
    model::{
        explain,
        moment::kubectl,
        rows::{PodLine, Rows},
    },
    theme::Tone,
};

const HEADERS: [&str; 7] = ["NAMESPACE", "NAME", "PHASE", "NODE", ">JOB", ">AGE", "REASON"];

/// The list.
pub(super) struct Pods<'a>(pub(super) Screen<'a>);

impl Widget for Pods<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let Rows::Pods(lines) = &self.0.model.rows else {
            return;
        };
        let table = Table {
            title: self.title(lines),
            headers: &HEADERS,
            rows: lines.iter().map(|line| self.row(line)).collect(),
            selected: self.0.model.selected(),
            empty: nothing(
                self.0.model,
                "No pods here now. Space plays the run, → goes on by one event.",
            ),
            theme: self.0.theme,
        };
        table.render(area, buf);
    }
}

impl Pods<'_> {
    /// Counts pods, not lines: a gang's own line is none.
    fn title(&self, lines: &[PodLine]) -> String {
        let is_pod = |line: &&PodLine| matches!(line, PodLine::Pod { .. });
        let pods = lines.iter().filter(is_pod).count();
        let total = self.0.model.frame.pods.len();
        self.0.title(pods, total, "a shows those that are gone")
    }

    fn row(&self, line: &PodLine) -> Vec<Cell> {
        let pods = &self.0.model.frame.pods;
        match line {
            PodLine::Gang(members) => {
                self.gang(&members.iter().map(|&i| &pods[i]).collect::<Vec<_>>())
            }
            PodLine::Pod { index, member } => self.pod(&pods[*index], *member),
        }
    }

    fn gang(&self, members: &[&PodRow]) -> Vec<Cell> {
        let (plain, heading) = (self.0.theme.tone(Tone::Plain), self.0.theme.tone(Tone::Heading));
        let Some(first) = members.first() else {
            return Vec::new();
        };
        let name = format!("▾ {}", first.gang.as_deref().unwrap_or_default());
        let job = members.iter().find_map(|pod| pod.job_id);
        vec![
            Cell::new(&first.namespace, plain),
            Cell::new(name, heading),
            Cell::new(explain::phases(members), plain),
            Cell::new("", plain),
            Cell::new(job.map(|job| job.to_string()).unwrap_or_default(), plain),
            Cell::new("", plain),
            Cell::new("gang", self.0.theme.tone(Tone::Faint)),
        ]
    }

    fn pod(&self, pod: &PodRow, member: bool) -> Vec<Cell> {
        let theme = self.0.theme;
        let plain = theme.tone(if pod.phase == "Deleted" { Tone::Faint } else { Tone::Plain });
        let phase = explain::phase(pod);
        let name = if member { format!("  {}", pod.name) } else { pod.name.clone() };
        let age = kubectl(self.0.model.now() - pod.created_ms);
        vec![
            Cell::new(&pod.namespace, plain),
            Cell::new(name, plain),
            Cell::new(phase, theme.tone(tone(phase))),
            Cell::new(pod.node.as_deref().unwrap_or("-"), plain),
            Cell::new(pod.job_id.map_or("-".to_owned(), |job| job.to_string()), plain),
            Cell::new(age, plain),
            Cell::new(pod.reason.as_deref().unwrap_or_default(), plain),
        ]
    }
}

fn tone(phase: &str) -> Tone {
    match phase {
        "Running" => Tone::Good,
        "Pending" | "Terminating" => Tone::Waiting,
        "Failed" => Tone::Bad,
        "Succeeded" | "Deleted" => Tone::Faint,
        _ => Tone::Plain,
    }
}

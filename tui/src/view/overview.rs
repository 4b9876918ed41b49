//! The cluster, the queue and how busy they were, and what is wrong.

use ratatui::{
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{
    Canvas, Screen,
    cells::{bar, spark},
    table::{fit, plain, window},
};
use crate::{
    model::{Load, columns::nodes::of_gib, look::WIDE},
    theme::Tone,
};

/// Columns of what is counted, and of how much there is of it.
const LABEL: usize = 9;
const AMOUNT: usize = 16;

/// Draws it all.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let load = screen.model.reel.series.at(screen.model.playhead.event);
    let gpus = u16::from(load.gpus != 0);
    let [top, sparks, alerts] = Layout::vertical([
        Constraint::Length(6 + gpus),
        Constraint::Length(5 + gpus),
        Constraint::Fill(1),
    ])
    .areas(area);
    let [cluster, queue] =
        Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(top);
    draw_cluster(screen, load, cluster, canvas);
    draw_queue(screen, load, queue, canvas);
    draw_sparks(screen, sparks, canvas);
    draw_alerts(screen, alerts, canvas);
}

fn draw_cluster(screen: &Screen<'_>, load: Load, area: Rect, canvas: &mut Canvas<'_>) {
    let inside = canvas.framed(" Cluster ", area);
    let room = usize::from(inside.width);
    let only_kube = screen.scene.nodes().filter(|(_, node)| node.slurm_name.is_none()).count();
    let beside = match only_kube {
        0 => String::new(),
        n => format!("; {n} in Kubernetes alone"),
    };
    let nodes = format!(
        "{} in Slurm: {} busy, {} off{beside}",
        load.nodes, load.nodes_busy, load.nodes_off
    );
    let memory = format!("{} GiB", of_gib(load.memory_alloc, load.memory));
    let mut lines = vec![
        named(screen, "nodes", &nodes, room),
        gauge(screen, "CPUs", load.cpus_alloc, load.cpus, None, room),
        gauge(screen, "memory", load.memory_alloc, load.memory, Some(memory), room),
    ];
    if load.gpus != 0 {
        lines.push(gauge(screen, "GPUs", load.gpus_alloc, load.gpus, None, room));
    }
    let model = screen.model;
    let bridge = match screen.scene.bridge_up() {
        Some(true) => ("up", Tone::Good),
        Some(false) => ("down", Tone::Bad),
        None if model.reel.is_live() => ("not looked at", Tone::Faint),
        None => ("none", Tone::Faint),
    };
    lines.push(Line::from(vec![
        label(screen, "bridge"),
        Span::styled(bridge.0, screen.theme.tone(bridge.1)),
    ]));
    for (line, row) in lines.into_iter().zip(inside.rows()) {
        canvas.line(line, row);
    }
}

fn draw_queue(screen: &Screen<'_>, load: Load, area: Rect, canvas: &mut Canvas<'_>) {
    let inside = canvas.framed(" Queue ", area);
    let room = usize::from(inside.width);
    let jobs = format!("{} wait, {} run", load.waiting, load.running);
    let pods = format!("{} wait, {} run", load.pods_pending, load.pods_running);
    let over = format!("{} well, {} failed", load.pods_succeeded, load.pods_failed);
    let lines = [
        named(screen, "jobs", &jobs, room),
        named(screen, "  ended", &load.ended.to_string(), room),
        named(screen, "pods", &pods, room),
        named(screen, "  ended", &over, room),
    ];
    for (line, row) in lines.into_iter().zip(inside.rows()) {
        canvas.line(line, row);
    }
}

/// How busy it was, from the beginning to what is known, with a line where we are.
fn draw_sparks(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let inside = canvas.framed(" Over time ", area);
    let room = usize::from(inside.width).saturating_sub(LABEL + AMOUNT);
    let (start, _) = model.scale();
    let end = model.playhead.end;
    let loads = model.reel.series.sample(&model.reel.film, start, end, room);
    type Of = fn(&Load) -> u64;
    let mut kinds: Vec<(&str, Of, Option<Of>)> = vec![
        ("CPUs", |load| load.cpus_alloc, Some(|load| load.cpus)),
        ("waiting", |load| load.waiting, None),
        ("pods run", |load| load.pods_running, None),
    ];
    if loads.iter().any(|load| load.gpus != 0) {
        kinds.insert(1, ("GPUs", |load| load.gpus_alloc, Some(|load| load.gpus)));
    }
    let (done, length) = (model.playhead.now.since(start).as_ms(), end.since(start).as_ms().max(1));
    let here = u128::from(done) * room as u128 / u128::from(length);
    let here = usize::try_from(here).unwrap_or(room).min(room);
    for ((name, of, total), row) in kinds.into_iter().zip(inside.rows()) {
        let values: Vec<u64> = loads.iter().map(of).collect();
        let seen = values.iter().copied().max().unwrap_or(0);
        let most = total.and_then(|total| loads.iter().map(total).max()).unwrap_or(seen);
        let drawn: Vec<char> = spark(&values, most).chars().collect();
        let (past, future) = drawn.split_at(here.min(drawn.len()));
        let line = vec![
            label(screen, name),
            Span::styled(String::from_iter(past), screen.theme.tone(Tone::Good)),
            Span::styled(String::from_iter(future), screen.theme.tone(Tone::Faint)),
            Span::raw(format!(" {seen} at most")),
        ];
        canvas.line(Line::from(line), row);
    }
}

fn draw_alerts(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let wide = WIDE <= area.width;
    let why = fit(&plain(&model.reel.why), usize::from(area.width).saturating_sub(4));
    let title = match (model.alerts.len(), wide) {
        (0, _) => format!(" {why} "),
        (n, _) => format!(" To know: {n} "),
    };
    let inside = canvas.framed(title, area);
    if model.alerts.is_empty() {
        let text = "Nothing is wrong. Space plays the run, → goes on by one event, ? helps.";
        return canvas.line(Line::styled(text, screen.theme.tone(Tone::Faint)), inside);
    }
    let shown = window(model.alerts.len(), inside.height, model.selected());
    for (i, row) in shown.zip(inside.rows()) {
        let alert = &model.alerts[i];
        let text = fit(&plain(&alert.text), usize::from(row.width));
        canvas.line(Line::styled(text, screen.theme.tone(alert.tone)), row);
        if model.selected() == Some(i) {
            canvas.buf.set_style(row, screen.theme.selected());
        }
        canvas.areas.rows.push((row, i));
    }
}

fn label(screen: &Screen<'_>, name: &str) -> Span<'static> {
    Span::styled(format!("{name:<LABEL$}"), screen.theme.tone(Tone::Faint))
}

fn named(screen: &Screen<'_>, name: &str, text: &str, room: usize) -> Line<'static> {
    Line::from(vec![label(screen, name), Span::raw(fit(text, room.saturating_sub(LABEL)))])
}

/// A bar with how much of something is held.
fn gauge(
    screen: &Screen<'_>,
    name: &str,
    held: u64,
    total: u64,
    amount: Option<String>,
    room: usize,
) -> Line<'static> {
    let amount = amount.unwrap_or_else(|| format!("{held}/{total}"));
    let mut spans = vec![label(screen, name)];
    spans.extend(bar(screen, held, total, room.saturating_sub(LABEL + AMOUNT)));
    spans.push(Span::raw(format!(" {amount}")));
    Line::from(spans)
}

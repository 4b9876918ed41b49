//! Gangs, and below them the ranks of the one that is selected: who is where, who waits for whom.

use ratatui::{
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{
    Canvas, Screen,
    lists::is_marked,
    table::{Table, cells, headers},
};
use crate::{
    model::{
        columns::{self, gangs::Rank},
        gang::{Gang, waits_at_barrier},
        rows::{Item, pod_line},
    },
    theme::Tone,
};

/// Draws both.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let n_gangs = u16::try_from(screen.model.rows.items.len()).unwrap_or(u16::MAX);
    let list = n_gangs.saturating_add(3).min(area.height / 2).max(4);
    let [gangs, ranks] =
        Layout::vertical([Constraint::Length(list), Constraint::Fill(1)]).areas(area);
    draw_gangs(screen, gangs, canvas);
    match screen.model.selected().and_then(|at| gang_at(screen, at)) {
        Some(gang) => draw_ranks(screen, &gang, ranks, canvas),
        None => {
            canvas.framed(" Ranks ", ranks);
        }
    }
}

fn gang_at<'a>(screen: &Screen<'a>, at: usize) -> Option<Gang<'a>> {
    let item: &Item = screen.model.rows.items.get(at)?;
    match pod_line(screen.scene, item)? {
        columns::pods::PodLine::Gang(gang, _) => Some(gang),
        columns::pods::PodLine::Pod(..) => None,
    }
}

fn draw_gangs(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let all = columns::gangs::columns();
    let shown = columns::shown(&all, model.list(), model.room());
    let table = Table {
        title: screen.title(model.rows.items.len(), "a shows those that are gone"),
        headers: headers(&shown),
        n_rows: model.rows.items.len(),
        selected: model.selected(),
        cells: &|i| {
            let gang = gang_at(screen, i);
            gang.map(|gang| cells(screen, screen.scene, &shown, &gang)).unwrap_or_default()
        },
        marked: &|i| is_marked(screen, i),
        empty: screen.nothing("No gangs now."),
    };
    table.draw(screen, area, canvas);
}

fn draw_ranks(screen: &Screen<'_>, gang: &Gang<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let title = format!(" Ranks of {}/{} ", gang.namespace, gang.name);
    let inside = canvas.framed(title, area);
    let [picture, list] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(inside);
    canvas.line(barrier_line(screen, gang), picture);
    let all = columns::gangs::rank_columns();
    let shown: Vec<_> = all.iter().collect();
    // Clicks select gangs, not ranks.
    let (rows, headings) = (canvas.areas.rows.len(), canvas.areas.headers.len());
    let table = Table {
        title: String::new(),
        headers: headers(&shown),
        n_rows: gang.ranks.len(),
        selected: None,
        cells: &|number| {
            let rank = Rank { number, pod: gang.ranks[number], gang };
            cells(screen, screen.scene, &shown, &rank)
        },
        marked: &|_| false,
        empty: "No pods.",
    };
    table.draw_inside(screen, list, canvas);
    canvas.areas.rows.truncate(rows);
    canvas.areas.headers.truncate(headings);
}

/// The barrier: who is past it, who waits at it, who isn't there.
fn barrier_line(screen: &Screen<'_>, gang: &Gang<'_>) -> Line<'static> {
    let tone = |tone| screen.theme.tone(tone);
    let is_mpi = gang.ranks.iter().any(|pod| pod.mpi.is_some());
    let mut spans =
        vec![Span::styled(if is_mpi { "barrier  " } else { "ranks  " }, tone(Tone::Faint))];
    for pod in gang.ranks.iter().take(64) {
        let met = pod.mpi.as_ref().is_some_and(|mpi| mpi.met);
        let runs = pod.phase == "Running";
        spans.push(match (met, waits_at_barrier(pod)) {
            (true, _) => Span::styled("● ", tone(Tone::Good)),
            (false, true) => Span::styled("◐ ", tone(Tone::Waiting)),
            (false, false) if runs && !is_mpi => Span::styled("● ", tone(Tone::Good)),
            (false, false) => Span::styled("○ ", tone(Tone::Faint)),
        });
    }
    for _ in gang.ranks.len()..gang.size.min(64) {
        spans.push(Span::styled("? ", tone(Tone::Bad)));
    }
    let text = match is_mpi {
        true => "  ● past it  ◐ waits at it  ○ not there",
        false => "  ● runs  ○ doesn't",
    };
    spans.push(Span::styled(text, tone(Tone::Faint)));
    Line::from(spans)
}

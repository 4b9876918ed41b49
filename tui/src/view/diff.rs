//! Two runs side by side: where they part, what they come to, and the jobs that differ.

use drawbridge_scenarios::recording::Film;
use ratatui::{
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{
    Canvas, Screen,
    lists::is_marked,
    table::{Table, cells, fit, headers, plain},
};
use crate::{
    model::{
        columns,
        divergence::{pairs, sum},
        moment::kubectl,
        reel::Reel,
        rows::Item,
        scene::Scene,
    },
    theme::Tone,
};

/// Draws them.
pub(super) fn draw(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let (Some(other), Some(there)) = (&screen.model.other, screen.model.other_scene()) else {
        return;
    };
    let [top, list] = Layout::vertical([Constraint::Length(8), Constraint::Fill(1)]).areas(area);
    draw_sums(screen, other, there, top, canvas);
    draw_jobs(screen, there, list, canvas);
}

fn draw_sums(
    screen: &Screen<'_>,
    other: &Reel,
    there: Scene<'_>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let model = screen.model;
    let inside = canvas.framed(" Two runs · D goes to the first difference ", area);
    let room = usize::from(inside.width);
    let mut lines = vec![
        run_line(screen, "here", &model.reel, screen.scene),
        run_line(screen, "there", other, there),
        Line::default(),
    ];
    match model.divergence() {
        None if model.is_busy() || !(model.reel.is_over() && other.is_over()) => {
            lines.push(Line::raw("No difference so far; still comparing."));
        }
        None => lines.push(Line::styled("They are the same.", screen.theme.tone(Tone::Good))),
        Some(seq) => {
            let at = model.reel.film.time_of(seq + 1);
            let text = format!("First difference: event {} at {at}", seq + 1);
            lines.push(Line::styled(text, screen.theme.tone(Tone::Heading)));
            lines.push(record_line(screen, "here", &model.reel.film, seq, room));
            lines.push(record_line(screen, "there", &other.film, seq, room));
        }
    }
    for (line, row) in lines.into_iter().zip(inside.rows()) {
        canvas.line(line, row);
    }
}

/// A run in one line: what it is, and what it has come to by now.
fn run_line(screen: &Screen<'_>, which: &str, reel: &Reel, scene: Scene<'_>) -> Line<'static> {
    let sum = sum(scene);
    let text = format!(
        "{}: {} jobs started, wait {} on average, {} at most",
        fit(&reel.title, 30),
        sum.started,
        kubectl(sum.mean_wait),
        kubectl(sum.longest_wait),
    );
    Line::from(vec![
        Span::styled(format!("{which:<6}"), screen.theme.tone(Tone::Key)),
        Span::raw(text),
    ])
}

fn record_line(
    screen: &Screen<'_>,
    which: &str,
    film: &Film,
    seq: u64,
    room: usize,
) -> Line<'static> {
    let text = match film.record(seq) {
        Some(record) => {
            format!("{} {:<7} {}", record.at, record.actor.name(), plain(record.text))
        }
        None => "it is over".to_owned(),
    };
    Line::from(vec![
        Span::styled(format!("{which:<6}"), screen.theme.tone(Tone::Key)),
        Span::raw(fit(&text, room.saturating_sub(6))),
    ])
}

fn draw_jobs(screen: &Screen<'_>, there: Scene<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let all = columns::pairs::columns();
    let shown = columns::shown(&all, model.list(), model.room());
    let pairs = pairs(screen.scene, there);
    let pair_at = |i: usize| match model.rows.items.get(i)? {
        Item::Pair(name) => pairs.iter().find(|pair| pair.name == *name),
        Item::Gang(..) | Item::Pod(..) | Item::Job(_) | Item::Node(_) => None,
    };
    let table = Table {
        title: screen.title(model.rows.items.len(), "a shows those that are the same"),
        headers: headers(&shown),
        n_rows: model.rows.items.len(),
        selected: model.selected(),
        cells: &|i| {
            pair_at(i).map(|pair| cells(screen, screen.scene, &shown, pair)).unwrap_or_default()
        },
        marked: &|i| is_marked(screen, i),
        empty: screen.nothing("No job differs at this time."),
    };
    table.draw(screen, area, canvas);
}

//! Pods and jobs, one line each.

use ratatui::layout::Rect;

use super::{
    Canvas, Screen,
    table::{Cell, Table, cells, headers},
};
use crate::{
    model::{
        columns,
        rows::{Item, pod_line},
    },
    theme::letter,
};

/// The pods, gangs above their members.
pub(super) fn pods(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let all = columns::pods::columns();
    let shown = columns::shown(&all, model.list(), model.room());
    // A gang's own line is no pod.
    let n_pods = model.rows.items.iter().map(|item| match item {
        Item::Gang(_, _, members, false) => members.len(),
        Item::Pod(..) => 1,
        Item::Gang(..) | Item::Job(_) | Item::Node(_) | Item::Pair(_) => 0,
    });
    let table = Table {
        title: screen.title(n_pods.sum(), "a shows those that are gone"),
        headers: headers(&shown),
        n_rows: model.rows.items.len(),
        selected: model.selected(),
        cells: &|i| {
            let line = model.rows.items.get(i).and_then(|item| pod_line(screen.scene, item));
            line.map(|line| cells(screen, screen.scene, &shown, &line)).unwrap_or_default()
        },
        marked: &|i| is_marked(screen, i),
        empty: screen.nothing("No pods here now. Space plays the run, → goes on by one event."),
    };
    table.draw(screen, area, canvas);
}

/// The jobs as squeue lists them, each with its letter on the map.
pub(super) fn jobs(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    let model = screen.model;
    let shown = columns::shown(&columns::jobs::COLUMNS, model.list(), model.room());
    let row = |i: usize| match model.rows.items.get(i)? {
        Item::Job(slot) => Some((*slot, screen.scene.still.job(*slot)?)),
        Item::Gang(..) | Item::Pod(..) | Item::Node(_) | Item::Pair(_) => None,
    };
    let mut names = headers(&shown);
    names.insert(0, ("", false));
    let table = Table {
        title: screen.title(model.rows.items.len(), "a shows ended ones"),
        headers: names,
        n_rows: model.rows.items.len(),
        selected: model.selected(),
        cells: &|i| {
            let Some((slot, job)) = row(i) else { return vec![] };
            let mut cells = cells(screen, screen.scene, &shown, job);
            cells.insert(0, Cell::new(letter(slot).to_string(), screen.theme.job(slot)));
            cells
        },
        marked: &|i| is_marked(screen, i),
        empty: screen.nothing("No jobs in the queue now; a also shows ended ones."),
    };
    table.draw(screen, area, canvas);
}

/// Whether the user has marked a row.
pub(super) fn is_marked(screen: &Screen<'_>, row: usize) -> bool {
    let marked = &screen.model.list().marked;
    !marked.is_empty() && screen.model.key_at(row).is_some_and(|key| marked.contains(&key))
}

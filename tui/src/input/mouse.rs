//! The mouse: what is where on the screen, and what a click there means.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::model::msg::{Msg, Tab};

/// What stands where, as it was last drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    /// The tabs.
    pub(crate) tabs: Vec<(Rect, Tab)>,
    /// Headings of columns, with their names.
    pub(crate) headers: Vec<(Rect, &'static str)>,
    /// Rows of the list, each with its place.
    pub(crate) rows: Vec<(Rect, usize)>,
    /// The track of the scrub bar.
    pub(crate) track: Rect,
    /// The explanation.
    pub(crate) detail: Rect,
    /// Rows of a menu.
    pub(crate) menu: Vec<(Rect, usize)>,
}

/// What the mouse asks for. `selected` is the row that is selected now.
pub(crate) fn msgs(areas: &Areas, event: MouseEvent, selected: Option<usize>) -> Vec<Msg> {
    let at = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => click(areas, at, selected),
        MouseEventKind::Drag(MouseButton::Left) => scrub(areas, at).into_iter().collect(),
        MouseEventKind::Down(MouseButton::Right) => vec![Msg::Back],
        MouseEventKind::ScrollDown if areas.detail.contains(at) => vec![Msg::Scroll(3)],
        MouseEventKind::ScrollUp if areas.detail.contains(at) => vec![Msg::Scroll(-3)],
        MouseEventKind::ScrollDown => vec![Msg::Move(3)],
        MouseEventKind::ScrollUp => vec![Msg::Move(-3)],
        MouseEventKind::Down(MouseButton::Middle)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => vec![],
    }
}

fn click(areas: &Areas, at: Position, selected: Option<usize>) -> Vec<Msg> {
    fn under<T: Copy>(areas: &[(Rect, T)], at: Position) -> Option<T> {
        areas.iter().find(|(area, _)| area.contains(at)).map(|(_, it)| *it)
    }
    if !areas.menu.is_empty() {
        return match under(&areas.menu, at) {
            Some(choice) => vec![Msg::Select(choice), Msg::Accept],
            None => vec![Msg::Back],
        };
    }
    if let Some(tab) = under(&areas.tabs, at) {
        return vec![Msg::Tab(tab)];
    }
    if let Some(name) = under(&areas.headers, at) {
        return vec![Msg::SortBy(name.to_owned())];
    }
    match under(&areas.rows, at) {
        // Clicking what is selected asks about it.
        Some(row) if selected == Some(row) => vec![Msg::Why],
        Some(row) => vec![Msg::Select(row)],
        None => scrub(areas, at).into_iter().collect(),
    }
}

fn scrub(areas: &Areas, at: Position) -> Option<Msg> {
    let track = areas.track;
    let last = u64::from(track.width.saturating_sub(1)).max(1);
    let along = u64::from(at.x.saturating_sub(track.x)).min(last);
    track.contains(at).then(|| Msg::Scrub(along * 1000 / last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyModifiers;

    #[test]
    fn a_click_means_what_is_drawn_there() {
        let areas = Areas {
            tabs: vec![(Rect::new(0, 0, 5, 1), Tab::Pods)],
            headers: vec![(Rect::new(1, 2, 4, 1), "NAME")],
            rows: vec![(Rect::new(1, 3, 70, 1), 7), (Rect::new(1, 4, 70, 1), 8)],
            track: Rect::new(20, 22, 11, 1),
            detail: Rect::new(0, 10, 80, 10),
            menu: vec![],
        };
        let down = MouseEventKind::Down(MouseButton::Left);
        #[rustfmt::skip]
        let rows = [
            (down,                                  (2, 0),   vec![Msg::Tab(Tab::Pods)]),
            (down,                                  (2, 2),   vec![Msg::SortBy("NAME".to_owned())]),
            (down,                                  (9, 3),   vec![Msg::Why]),
            (down,                                  (9, 4),   vec![Msg::Select(8)]),
            (down,                                  (25, 22), vec![Msg::Scrub(500)]),
            (MouseEventKind::Drag(MouseButton::Left), (30, 22), vec![Msg::Scrub(1000)]),
            (MouseEventKind::ScrollDown,            (9, 4),   vec![Msg::Move(3)]),
            (MouseEventKind::ScrollUp,              (9, 12),  vec![Msg::Scroll(-3)]),
            (down,                                  (79, 0),  vec![]),
            (MouseEventKind::Moved,                 (2, 0),   vec![]),
        ];
        for (kind, (column, row), want) in rows {
            let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
            assert_eq!(msgs(&areas, event, Some(7)), want, "{kind:?} at {column},{row}");
        }
    }
}

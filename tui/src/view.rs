//! Where everything stands on the screen. Nothing here decides what is shown.
//!
//! ```text
//!   tabs                                    title
//!   ┌ list ───────────────┐┌ detail ────────────┐   below the list where it is narrow
//!   └─────────────────────┘└────────────────────┘
//!   scrub bar
//!   keys, the prompt, or what is to be said
//! ```
//!
//! What stands where is handed back, for the mouse.

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, Widget},
};

mod bar;
mod cells;
mod detail;
mod diff;
mod events;
mod gangs;
mod help;
mod lists;
mod map;
mod menu;
mod overview;
mod table;
mod timeline;

use crate::{
    input::mouse::Areas,
    model::{Model, look::WIDE, msg::Tab, scene::Scene},
    theme::{Theme, Tone},
};

const LEAST_WIDTH: u16 = 80;
const LEAST_HEIGHT: u16 = 24;

/// Draws everything. Returns what stands where.
pub(crate) fn draw(model: &Model, frame: &mut Frame<'_>) -> Areas {
    let screen = Screen { model, scene: model.scene(), theme: Theme::new(model.theme) };
    let mut areas = Areas::default();
    let area = frame.area();
    let mut canvas = Canvas { buf: frame.buffer_mut(), areas: &mut areas };
    canvas.buf.set_style(area, screen.theme.ground());
    screen.draw(area, &mut canvas);
    areas
}

/// What is drawn.
#[derive(Clone, Copy)]
struct Screen<'a> {
    model: &'a Model,
    scene: Scene<'a>,
    theme: Theme,
}

/// What it is drawn on.
struct Canvas<'a> {
    buf: &'a mut Buffer,
    areas: &'a mut Areas,
}

impl Canvas<'_> {
    /// Writes a line.
    fn line(&mut self, line: impl Into<Line<'static>>, area: Rect) {
        line.into().render(area, self.buf);
    }

    /// Draws a box with a title. Returns what is inside of it.
    fn framed(&mut self, title: impl Into<Line<'static>>, area: Rect) -> Rect {
        let block = Block::bordered().title(title.into());
        let inside = block.inner(area);
        block.render(area, self.buf);
        inside
    }
}

impl Screen<'_> {
    fn draw(&self, area: Rect, canvas: &mut Canvas<'_>) {
        if area.width < LEAST_WIDTH || area.height < LEAST_HEIGHT {
            return too_small(area, canvas);
        }
        let [top, middle, scrub, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(1),
        ])
        .areas(area);
        self.tabs(top, canvas);
        self.middle(middle, canvas);
        bar::scrub(self, scrub, canvas);
        bar::keys(self, keys, canvas);
        menu::draw(self, middle, canvas);
    }

    fn tabs(&self, area: Rect, canvas: &mut Canvas<'_>) {
        let roomy = WIDE <= area.width;
        let mut at = area.x;
        for tab in self.model.tabs() {
            let style = match tab == self.model.tab {
                true => self.theme.selected(),
                false => self.theme.tone(Tone::Faint),
            };
            let (before, after) = if roomy { (" ", " ") } else { ("", "") };
            let text = format!("{before}{} {}{after}", tab.place() + 1, tab.name());
            let width = table::columns(&text);
            let place = Rect { x: at, width: width.min(area.right() - at), ..area };
            canvas.line(Line::styled(text, style), place);
            canvas.areas.tabs.push((place, tab));
            at = (at + width + u16::from(!roomy)).min(area.right());
        }
        let rest = Rect { x: at, width: area.right() - at, ..area };
        self.title_line(rest, canvas);
    }

    /// What run this is, and what is wrong with it, as far as there is room.
    fn title_line(&self, area: Rect, canvas: &mut Canvas<'_>) {
        let mut spans = vec![];
        if self.scene.bridge_up() == Some(false) {
            spans.push(Span::styled(" bridge down ", self.theme.tone(Tone::Bad)));
        }
        if self.model.casting {
            spans.push(Span::styled(" ● rec ", self.theme.tone(Tone::Bad)));
        }
        let taken: usize = spans.iter().map(Span::width).sum();
        let title = match self.model.changes.len() {
            0 => self.model.reel.title.clone(),
            n => format!("{}, changed {n}x", self.model.reel.title),
        };
        if taken + table::width(&title) < usize::from(area.width) {
            spans.push(Span::styled(format!(" {title}"), self.theme.tone(Tone::Heading)));
        }
        canvas.line(Line::from(spans).right_aligned(), area);
    }

    fn middle(&self, area: Rect, canvas: &mut Canvas<'_>) {
        if self.model.help.is_some() {
            return help::draw(self, area, canvas);
        }
        if !self.model.detail || self.model.tab == Tab::Why {
            return self.front(area, canvas);
        }
        let [list, pane] = match WIDE <= area.width {
            true => Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area),
            false => Layout::vertical([Constraint::Fill(2), Constraint::Fill(3)]).areas(area),
        };
        self.front(list, canvas);
        detail::draw(self, pane, canvas);
    }

    fn front(&self, area: Rect, canvas: &mut Canvas<'_>) {
        match self.model.tab {
            Tab::Overview => overview::draw(self, area, canvas),
            Tab::Pods => lists::pods(self, area, canvas),
            Tab::Jobs => lists::jobs(self, area, canvas),
            Tab::Nodes => map::draw(self, area, canvas),
            Tab::Timeline => timeline::draw(self, area, canvas),
            Tab::Gangs => gangs::draw(self, area, canvas),
            Tab::Events => events::draw(self, area, canvas),
            Tab::Why => detail::draw(self, area, canvas),
            Tab::Diff => diff::draw(self, area, canvas),
        }
    }

    /// The title of a list: what it shows, how much of it, and how to see the rest.
    fn title(&self, shown: usize, rest: &str) -> String {
        let (name, total) = (self.model.tab.name(), self.model.rows.total);
        let mut title = match shown == total {
            true => format!(" {name} {total} "),
            false => format!(" {name} {shown} of {total} "),
        };
        if shown < total && !self.model.all && !rest.is_empty() {
            title.push_str(&format!("· {rest} "));
        }
        title + &self.narrowed()
    }

    /// What the list is narrowed to, as titles show it; nothing where it isn't.
    fn narrowed(&self) -> String {
        let list = self.model.list();
        let mut text = String::new();
        if !list.filter.text().is_empty() {
            text.push_str(&format!("· /{} ", list.filter.text()));
        }
        if self.model.faults {
            text.push_str("· F: only what waits or failed ");
        }
        if !list.marked.is_empty() {
            text.push_str(&format!("· {} marked ", list.marked.len()));
        }
        text
    }

    /// What an empty list says.
    fn nothing<'t>(&self, otherwise: &'t str) -> &'t str {
        match (self.model.list().filter.is_empty(), self.model.faults) {
            (false, _) => "Nothing matches the filter; Esc takes it away.",
            (true, true) => "Nothing waits or has failed; F shows everything again.",
            (true, false) => otherwise,
        }
    }
}

fn too_small(area: Rect, canvas: &mut Canvas<'_>) {
    let lines = [
        format!("This needs {LEAST_WIDTH}x{LEAST_HEIGHT} characters;"),
        format!("there are {}x{}. Please", area.width, area.height),
        "make the window larger (q quits).".to_owned(),
    ];
    for (line, row) in lines.into_iter().zip(area.rows()) {
        canvas.line(line, row);
    }
}

//! Where everything stands on the screen. Nothing here decides what is shown.
//!
//! ```text
//!   tabs                                    title
//!   ┌ list ───────────────┐┌ detail ────────────┐   below the list where it is narrow
//!   └─────────────────────┘└────────────────────┘
//!   scrub bar
//!   keys, or the prompt
//! ```

use drawbridge_scenarios::Record;
use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Widget,
};

mod bar;
mod detail;
mod events;
mod help;
mod jobs;
mod nodes;
mod pods;
mod table;

use crate::{
    model::{Model, Tab},
    theme::{Theme, Tone},
};

const LEAST_WIDTH: u16 = 80;
const LEAST_HEIGHT: u16 = 24;
/// From this width on, list and detail stand side by side.
const WIDE: u16 = 110;

/// Draws everything.
pub(crate) fn draw(model: &Model, records: &[Record], theme: Theme, frame: &mut Frame<'_>) {
    let screen = Screen { model, records, theme };
    frame.render_widget(&screen, frame.area());
}

/// What a widget needs to know.
#[derive(Clone, Copy)]
struct Screen<'a> {
    model: &'a Model,
    records: &'a [Record],
    theme: Theme,
}

impl Widget for &Screen<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        if area.width < LEAST_WIDTH || area.height < LEAST_HEIGHT {
            return too_small(area, buf);
        }
        let [top, middle, scrub, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(1),
        ])
        .areas(area);
        self.tabs(top, buf);
        self.middle(middle, buf);
        bar::Scrub(*self).render(scrub, buf);
        bar::Keys(*self).render(keys, buf);
    }
}

impl Screen<'_> {
    fn tabs(&self, area: Rect, buf: &mut Buffer) {
        let mut spans = Vec::new();
        for (i, tab) in Tab::ALL.into_iter().enumerate() {
            let style = match tab == self.model.tab {
                true => self.theme.selected(),
                false => self.theme.tone(Tone::Faint),
            };
            spans.push(Span::styled(format!(" {} {} ", i + 1, tab.name()), style));
        }
        Line::from(spans).render(area, buf);
        let mut title =
            vec![Span::styled(self.model.title.clone(), self.theme.tone(Tone::Heading))];
        if self.model.frame.bridge_up == Some(false) {
            title.insert(0, Span::styled("bridge down  ", self.theme.tone(Tone::Bad)));
        }
        let [_, right] =
            Layout::horizontal([Constraint::Length(40), Constraint::Fill(1)]).areas(area);
        Line::from(title).right_aligned().render(right, buf);
    }

    fn middle(&self, area: Rect, buf: &mut Buffer) {
        if self.model.help {
            return help::Help(self.theme).render(area, buf);
        }
        if !self.model.detail {
            return self.list(area, buf);
        }
        let [list, pane] = match WIDE <= area.width {
            true => Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area),
            false => Layout::vertical([Constraint::Fill(2), Constraint::Fill(3)]).areas(area),
        };
        self.list(list, buf);
        detail::Detail(*self).render(pane, buf);
    }

    fn list(&self, area: Rect, buf: &mut Buffer) {
        match self.model.tab {
            Tab::Pods => pods::Pods(*self).render(area, buf),
            Tab::Jobs => jobs::Jobs(*self).render(area, buf),
            Tab::Nodes => nodes::Nodes(*self).render(area, buf),
            Tab::Events => events::Events(*self).render(area, buf),
        }
    }

    /// The title of a list: what it shows, how much of it, and how to see the rest.
    fn title(&self, shown: usize, total: usize, rest: &str) -> String {
        let name = self.model.tab.name();
        let mut title = match shown == total {
            true => format!(" {name} {total} "),
            false => format!(" {name} {shown} of {total} "),
        };
        if shown < total && !self.model.all && !rest.is_empty() {
            title.push_str(&format!("· {rest} "));
        }
        title.push_str(&self.filter());
        title
    }

    /// The filter as titles show it; nothing where there is none.
    fn filter(&self) -> String {
        match self.model.list().filter.as_str() {
            "" => String::new(),
            filter => format!("· filter: {filter} "),
        }
    }
}

/// What an empty list says.
fn nothing<'a>(model: &Model, otherwise: &'a str) -> &'a str {
    match model.list().filter.is_empty() {
        true => otherwise,
        false => "Nothing matches the filter; Esc takes it away.",
    }
}

fn too_small(area: Rect, buf: &mut Buffer) {
    let lines = [
        format!("This needs {LEAST_WIDTH}x{LEAST_HEIGHT} characters;"),
        format!("there are {}x{}. Please", area.width, area.height),
        "make the window larger (q quits).".to_owned(),
    ];
    for (line, row) in lines.into_iter().zip(area.rows()) {
        Line::from(line).render(row, buf);
    }
}

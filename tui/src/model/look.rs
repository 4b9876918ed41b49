//! What is shown, and how.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the model's update says which messages come here"
)]

use super::{
    Focus, Model, columns,
    menu::{Choice, Does, Menu},
    msg::{Effect, MenuKind, Msg, Tab},
    scene::Scene,
};
use crate::theme::{ThemeName, Tone};

/// How far the timeline can be zoomed in: each step halves what is shown.
const TIME_ZOOM_MAX: u8 = 20;
/// Ways to draw the map of nodes, the nearest first.
pub(crate) const MAP_ZOOMS: u8 = 5;

impl Model {
    pub(super) fn look(&mut self, msg: &Msg) {
        match msg {
            Msg::Focus => self.focus_on_selection(),
            Msg::All => self.all = !self.all,
            Msg::Faults => self.faults = !self.faults,
            Msg::Wide => self.wide = !self.wide,
            Msg::Zoom(nearer) => self.zoom(*nearer),
            Msg::Theme(None) => self.theme = self.theme.next(),
            Msg::Theme(Some(theme)) => self.set_theme(*theme),
            Msg::Sort(by_next) => self.sort(*by_next),
            Msg::SortBy(name) => self.sort_by(name),
            _ => {}
        }
    }

    fn set_theme(&mut self, theme: ThemeName) {
        self.theme = theme;
    }

    fn focus_on_selection(&mut self) {
        let undo = self.tab == Tab::Events && self.focus.is_some();
        let selected = self
            .explanation
            .as_ref()
            .map(|it| Focus { title: it.title.clone(), subjects: it.subjects.clone() });
        self.focus = if undo { None } else { selected };
        if self.focus.is_some() {
            self.go_to_tab(Tab::Events);
        }
    }

    fn zoom(&mut self, nearer: bool) {
        match self.tab {
            Tab::Pods => self.fold(nearer),
            Tab::Timeline => {
                let zoom = self.time_zoom;
                self.time_zoom =
                    if nearer { (zoom + 1).min(TIME_ZOOM_MAX) } else { zoom.saturating_sub(1) };
            }
            Tab::Nodes => {
                let zoom = self.map_zoom.unwrap_or_else(|| self.fitting_zoom());
                let farther = (zoom + 1).min(MAP_ZOOMS - 1);
                self.map_zoom = Some(if nearer { zoom.saturating_sub(1) } else { farther });
            }
            Tab::Overview | Tab::Jobs | Tab::Gangs | Tab::Events | Tab::Why | Tab::Diff => {
                self.say(Tone::Waiting, "Nodes and the timeline can be zoomed, gangs folded.");
            }
        }
    }

    /// The nearest way to draw the map at which all nodes have room.
    pub(crate) fn fitting_zoom(&self) -> u8 {
        let (width, height) = (usize::from(self.size.0), usize::from(self.size.1));
        let sizes = self.group_sizes();
        let headings = if sizes.len() < 2 { 0 } else { sizes.len() };
        let fits = |&(wide, high): &(usize, usize)| {
            let across = (width.saturating_sub(2) / wide).max(1);
            let lines: usize = sizes.iter().map(|size| size.div_ceil(across)).sum();
            lines * high + headings <= height.saturating_sub(6)
        };
        let zooms = [(38, 5), (60, 1), (12, 1), (1, 1)];
        u8::try_from(zooms.iter().position(fits).unwrap_or(zooms.len())).unwrap_or(0)
    }

    /// How many nodes stand together.
    fn group_sizes(&self) -> Vec<usize> {
        use super::{groups::group_of, rows::Item};
        let nodes = self.rows.items.iter().filter_map(|item| match item {
            Item::Node(slot) => self.still.node(*slot),
            Item::Gang(..) | Item::Pod(..) | Item::Job(_) | Item::Pair(_) => None,
        });
        let mut sizes: Vec<(&str, usize)> = vec![];
        for node in nodes {
            match sizes.last_mut().filter(|(group, _)| *group == group_of(node)) {
                Some((_, size)) => *size += 1,
                None => sizes.push((group_of(node), 1)),
            }
        }
        sizes.into_iter().map(|(_, size)| size).collect()
    }

    /// Folds or unfolds the gang that is selected, or all of them.
    fn fold(&mut self, one: bool) {
        use super::{list::Key, rows::Item};
        let gang_of_selection = match self.selected().and_then(|at| self.key_at(at)) {
            Some(Key::Gang(namespace, name)) => Some((namespace, name)),
            Some(Key::Pod(uid)) => self
                .scene()
                .pod(&uid)
                .and_then(|pod| Some((pod.namespace.clone(), super::gang::gang_of(pod)?))),
            Some(Key::Job(_) | Key::Node(_) | Key::Record(_) | Key::Pair(_)) | None => None,
        };
        if one {
            let Some(gang) = gang_of_selection else { return };
            self.want(Key::Gang(gang.0.clone(), gang.1.clone()));
            if !self.folded.remove(&gang) {
                self.folded.insert(gang);
            }
        } else if self.folded.is_empty() {
            let gangs = self.rows.items.iter().filter_map(|item| match item {
                Item::Gang(namespace, name, ..) => Some((namespace.clone(), name.clone())),
                Item::Pod(..) | Item::Job(_) | Item::Node(_) | Item::Pair(_) => None,
            });
            self.folded = gangs.collect();
        } else {
            self.folded.clear();
        }
        self.shown = None;
    }

    /// The names of the columns that the list in front has, and which are shown.
    fn columns_here(&self) -> Vec<(&'static str, bool)> {
        fn named<T>(model: &Model, all: &[columns::Column<T>]) -> Vec<(&'static str, bool)> {
            let shown = columns::shown(all, model.list(), model.room());
            let is_shown = |name| shown.iter().any(|column| column.name == name);
            all.iter().map(|column| (column.name, is_shown(column.name))).collect()
        }
        match self.tab {
            Tab::Pods => named(self, &columns::pods::columns()),
            Tab::Jobs => named(self, &columns::jobs::COLUMNS),
            Tab::Nodes => named(self, &columns::nodes::COLUMNS),
            Tab::Gangs => named(self, &columns::gangs::columns()),
            Tab::Diff => named(self, &columns::pairs::columns()),
            Tab::Overview | Tab::Timeline | Tab::Events | Tab::Why => vec![],
        }
    }

    /// How much room columns have.
    pub(crate) fn room(&self) -> columns::Room {
        columns::Room { wide: WIDE <= self.size.0 && !self.detail, all: self.wide }
    }

    /// By the next column, in its natural order; or from the other end.
    fn sort(&mut self, next: bool) {
        let columns = self.columns_here();
        let shown: Vec<&'static str> =
            columns.iter().filter(|(_, shown)| *shown).map(|(name, _)| *name).collect();
        let sort = self.list().sort;
        let sort = match (next, sort) {
            (true, None) => shown.first().map(|name| (*name, false)),
            (true, Some((name, _))) => {
                let here = shown.iter().position(|it| *it == name);
                here.and_then(|here| shown.get(here + 1)).map(|name| (*name, false))
            }
            (false, sort) => sort.map(|(name, reverse)| (name, !reverse)),
        };
        self.list_mut().sort = sort;
        match sort {
            Some((name, false)) => self.say(Tone::Plain, format!("Ordered by {name}.")),
            Some((name, true)) => {
                self.say(Tone::Plain, format!("Ordered by {name}, from the end."));
            }
            None => self.say(Tone::Plain, "In the usual order."),
        }
    }

    fn sort_by(&mut self, wanted: &str) {
        let columns = self.columns_here();
        let found = columns.iter().find(|(name, _)| name.trim() == wanted);
        let Some((name, _)) = found else {
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.trim()).collect();
            let text = format!("There is no column {wanted}: {}", names.join(" "));
            return self.say(Tone::Bad, text);
        };
        let reverse = self.list().sort == Some((name, false));
        self.list_mut().sort = Some((name, reverse));
    }

    pub(super) fn columns_menu(&mut self) -> Option<Menu> {
        let columns = self.columns_here();
        if columns.is_empty() {
            self.say(Tone::Waiting, "This tab has no columns to choose from.");
            return None;
        }
        let choice = |(name, shown): (&'static str, bool)| Choice {
            text: format!("[{}] {name}", if shown { 'x' } else { ' ' }),
            does: Does::Column(name),
        };
        let choices = columns.into_iter().map(choice).collect();
        let at = self.menu.as_ref().filter(|it| it.kind == MenuKind::Columns).map_or(0, |it| it.at);
        Some(Menu { kind: MenuKind::Columns, title: "Columns".to_owned(), choices, at })
    }

    pub(super) fn bookmarks_menu(&mut self) -> Option<Menu> {
        if self.bookmarks.is_empty() {
            self.say(Tone::Waiting, "No moment was kept yet: m keeps this one.");
            return None;
        }
        let choice = |(name, at): &(String, drawbridge_sim::Time)| Choice {
            text: format!("{at}  {name}"),
            does: Does::Msg(Box::new(Msg::GoTo(*at))),
        };
        let choices = self.bookmarks.iter().map(choice).collect();
        Some(Menu { kind: MenuKind::Bookmarks, title: "Bookmarks".to_owned(), choices, at: 0 })
    }

    pub(super) fn keep(&mut self, msg: &Msg) {
        match msg {
            Msg::Bookmark(name) => {
                self.bookmarks.push((name.clone(), self.playhead.now));
                self.bookmarks.sort_by_key(|(_, at)| *at);
                self.say(Tone::Good, format!("Kept: {name}. ' lists what is kept."));
            }
            Msg::Copy(everything) => {
                let text = if *everything { self.explained_text() } else { self.marked_text() };
                self.say(Tone::Good, format!("Copied: {}", text.lines().next().unwrap_or("")));
                self.effects.push(Effect::Copy(text));
            }
            Msg::Screenshot(path) => {
                let path = path.clone().unwrap_or_else(|| self.file_name("txt").into());
                self.effects.push(Effect::Screenshot(path));
            }
            Msg::Cast(path) => {
                let named = || path.clone().unwrap_or_else(|| self.file_name("cast").into());
                let path = (!self.casting).then(named);
                self.casting = path.is_some();
                self.effects.push(Effect::Cast(path));
            }
            _ => {}
        }
    }

    /// `mpi_podgroup-00h05m00s.txt`: a name that says what and when.
    fn file_name(&self, extension: &str) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let title: String = self.reel.title.chars().map(word).collect();
        let secs = self.playhead.now.as_secs();
        let (hours, mins) = (secs / 3600, secs / 60 % 60);
        format!("{title}-{hours:02}h{mins:02}m{:02}s.{extension}", secs % 60)
    }

    /// The names of what is marked, or of what is selected.
    fn marked_text(&self) -> String {
        let marked = self.list().marked.iter().cloned().collect::<Vec<_>>();
        let keys = if marked.is_empty() { self.selection().into_iter().collect() } else { marked };
        let names: Vec<String> = keys.iter().map(|key| name_of(self.scene(), key)).collect();
        names.join("\n")
    }

    fn explained_text(&self) -> String {
        let Some(it) = &self.explanation else { return self.marked_text() };
        let facts = it.facts.iter().map(|(name, value)| format!("{name}: {value}"));
        let chain = it.chain.iter().filter_map(|seq| self.reel.film.record(u64::from(*seq)));
        let chain = chain.map(|it| format!("{}  {:<7}  {}", it.at, it.actor.name(), it.text));
        let lines = [it.title.clone()].into_iter().chain(it.why.iter().cloned());
        lines
            .chain(it.needs.iter().cloned())
            .chain(facts)
            .chain(chain)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// From this width on there is room for more.
pub(crate) const WIDE: u16 = 110;

/// What somebody would paste.
fn name_of(scene: Scene<'_>, key: &super::list::Key) -> String {
    use super::list::Key;
    match key {
        Key::Pod(uid) => {
            scene.pod(uid).map(|pod| format!("{}/{}", pod.namespace, pod.name)).unwrap_or_default()
        }
        Key::Gang(namespace, name) => format!("{namespace}/{name}"),
        Key::Job(id) => id.to_string(),
        Key::Node(name) | Key::Pair(name) => name.clone(),
        Key::Record(seq) => {
            scene.film.record(*seq).map(|it| it.text.to_owned()).unwrap_or_default()
        }
    }
}

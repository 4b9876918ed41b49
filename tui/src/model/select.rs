//! Moving the selection, and from tab to tab.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the model's update says which messages come here"
)]

use drawbridge_scenarios::NodeRow;

use super::{
    Model,
    gang::gang_of,
    list::Key,
    msg::{MenuKind, Msg, Tab},
    prompt::{Prompt, Question},
};
use crate::theme::Tone;

/// Tabs that are remembered.
const TABS_BEFORE: usize = 20;

/// What is said where two runs are needed.
pub(super) const NO_OTHER: &str =
    "There is no other run: start with --against-seed, or give two scenarios.";

impl Model {
    pub(super) fn switch(&mut self, msg: &Msg) {
        match msg {
            Msg::Tab(tab) => self.go_to_tab(*tab),
            Msg::NextTab(by) => {
                let tabs: Vec<Tab> = self.tabs().collect();
                let here = tabs.iter().position(|tab| *tab == self.tab).unwrap_or(0);
                let n = tabs.len().cast_signed();
                let there = (here.cast_signed() + by).rem_euclid(n.max(1));
                self.go_to_tab(tabs[there.unsigned_abs()]);
            }
            Msg::LastTab => {
                if let Some(tab) = self.tabs_before.pop() {
                    self.tab = tab;
                }
            }
            Msg::Related => self.go_to_related(),
            _ => {}
        }
    }

    pub(super) fn go_to_tab(&mut self, tab: Tab) {
        if tab == Tab::Diff && self.other.is_none() {
            return self.say(Tone::Waiting, NO_OTHER);
        }
        if tab != self.tab {
            self.tabs_before.push(self.tab);
            let excess = self.tabs_before.len().saturating_sub(TABS_BEFORE);
            self.tabs_before.drain(..excess);
        }
        self.tab = tab;
        self.help = None;
    }

    /// From a pod to its job, from a job to its nodes, from a node to what runs there.
    fn go_to_related(&mut self) {
        let scene = self.scene();
        let job_on = |node: &NodeRow| node.cpu_holders.iter().flatten().next().copied();
        let related = match self.selection() {
            Some(Key::Pod(uid)) => {
                let pod = scene.pod(&uid);
                let job = pod.and_then(|pod| pod.job_id).map(|job| (Tab::Jobs, Key::Job(job)));
                job.or_else(|| Some((Tab::Nodes, Key::Node(pod?.node.clone()?))))
            }
            Some(Key::Gang(namespace, name)) => Some((Tab::Gangs, Key::Gang(namespace, name)))
                .filter(|_| self.tab != Tab::Gangs)
                .or_else(|| {
                    let Some(Key::Gang(namespace, name)) = self.selection() else { return None };
                    Some((Tab::Pods, Key::Gang(namespace, name)))
                }),
            Some(Key::Job(id)) => {
                let pod = scene.pods_of(id).next();
                let of_pod = pod.map(|pod| match gang_of(pod) {
                    Some(gang) => (Tab::Pods, Key::Gang(pod.namespace.clone(), gang)),
                    None => (Tab::Pods, Key::Pod(pod.uid.clone())),
                });
                let holds = |node: &NodeRow| node.cpu_holders.contains(&Some(id));
                let node = scene.nodes().find(|(_, node)| holds(node));
                of_pod.or_else(|| Some((Tab::Nodes, Key::Node(node?.1.name.clone()))))
            }
            Some(Key::Node(name)) => {
                let job = scene.node(&name).and_then(job_on);
                job.map(|job| (Tab::Jobs, Key::Job(job)))
            }
            Some(Key::Record(_) | Key::Pair(_)) | None => None,
        };
        match related {
            Some((tab, key)) => {
                self.go_to_tab(tab);
                self.want(key);
            }
            None => self.say(Tone::Waiting, "Nothing else belongs to it now."),
        }
    }

    /// What is selected: what a record is about, rather than the record.
    pub(crate) fn selection(&self) -> Option<Key> {
        let key =
            self.selected().and_then(|at| self.key_at(at)).or_else(|| self.subject.clone())?;
        match key {
            Key::Record(seq) => {
                let record = self.reel.film.record(seq)?;
                super::explain::subject_key(self.scene(), record.subject)
            }
            Key::Pod(_) | Key::Gang(..) | Key::Job(_) | Key::Node(_) | Key::Pair(_) => Some(key),
        }
    }

    /// Selects this on the tab in front as soon as it is there.
    pub(super) fn want(&mut self, key: Key) {
        self.subject = Some(key.clone());
        self.list_mut().wanted = Some(key);
        self.detail_scroll = 0;
    }

    pub(super) fn choose(&mut self, msg: &Msg) {
        if let Some(menu) = &mut self.menu {
            match msg {
                Msg::Move(by) | Msg::Page(by) => menu.go(*by),
                Msg::First => menu.at = 0,
                Msg::Last => menu.go(isize::MAX),
                Msg::Select(at) => menu.at = (*at).min(menu.choices.len().saturating_sub(1)),
                _ => {}
            }
            return;
        }
        if let Some(scroll) = self.help {
            self.help = Some(match msg {
                Msg::Move(by) => scroll.saturating_add_signed(clamp(*by)),
                Msg::Page(by) => scroll.saturating_add_signed(clamp(by.saturating_mul(10))),
                Msg::First => 0,
                Msg::Last => u16::MAX,
                _ => scroll,
            });
            return;
        }
        if self.tab == Tab::Why {
            return self.scroll_by(match msg {
                Msg::Move(by) => clamp(*by),
                Msg::Page(by) => clamp(by.saturating_mul(10)),
                Msg::First => i16::MIN,
                Msg::Last => i16::MAX,
                _ => 0,
            });
        }
        let half_page = usize::from(self.size.1 / 2).max(1).cast_signed();
        let at = self.list().at;
        self.move_to(match msg {
            Msg::Move(by) => at.saturating_add_signed(*by),
            Msg::Page(by) => at.saturating_add_signed(by.saturating_mul(half_page)),
            Msg::First => 0,
            Msg::Last => usize::MAX,
            Msg::Select(at) => *at,
            _ => at,
        });
    }

    fn move_to(&mut self, at: usize) {
        let last = self.rows.len().saturating_sub(1);
        let at = at.min(last);
        // At the last event the log goes on following the time.
        let follows = self.tab == Tab::Events && at == last;
        let key = self.key_at(at);
        self.subject = key.clone().or(self.subject.take());
        let list = self.list_mut();
        list.at = at;
        list.wanted = if follows { None } else { key };
        self.detail_scroll = 0;
    }

    fn scroll_by(&mut self, lines: i16) {
        self.detail_scroll = self.detail_scroll.saturating_add_signed(lines);
    }

    pub(super) fn open(&mut self, msg: &Msg) {
        match msg {
            Msg::Why => self.detail = !self.detail,
            Msg::Scroll(by) => self.scroll_by(*by),
            Msg::Help => self.help = if self.help.is_some() { None } else { Some(0) },
            Msg::Back => self.back(),
            _ => {}
        }
    }

    fn back(&mut self) {
        if let Some(prompt) = self.prompt.take() {
            if prompt.question == Question::Filter {
                self.set_filter(&prompt.before);
            }
        } else if self.menu.take().is_some() || self.help.take().is_some() {
        } else if self.tab == Tab::Events && self.focus.is_some() {
            self.focus = None;
        } else if !self.list().filter.is_empty() {
            self.set_filter("");
        } else if self.detail {
            self.detail = false;
        } else if !self.list().marked.is_empty() {
            self.list_mut().marked.clear();
        } else if let Some(tab) = self.tabs_before.pop() {
            self.tab = tab;
        }
    }

    pub(super) fn set_filter(&mut self, text: &str) {
        self.list_mut().filter = super::filter::Filter::new(text);
    }

    pub(super) fn mark(&mut self, msg: &Msg) {
        if *msg == Msg::Unmark {
            return self.list_mut().marked.clear();
        }
        let Some(key) = self.selected().and_then(|at| self.key_at(at)) else { return };
        let marked = &mut self.list_mut().marked;
        if !marked.remove(&key) {
            marked.insert(key);
        }
        self.choose(&Msg::Move(1));
    }

    pub(super) fn ask(&mut self, question: Question) {
        let before = self.list().filter.text().to_owned();
        let text = match question {
            Question::Filter => before.clone(),
            Question::Bookmark => format!("at {}", self.playhead.now),
            Question::Time | Question::Command => String::new(),
        };
        self.menu = None;
        self.prompt = Some(Prompt::new(question, text, before));
    }

    pub(super) fn open_menu(&mut self, kind: MenuKind) {
        self.menu = match kind {
            MenuKind::Deeds => self.deeds_menu(),
            MenuKind::Columns => self.columns_menu(),
            MenuKind::Bookmarks => self.bookmarks_menu(),
        };
    }
}

fn clamp(by: isize) -> i16 {
    i16::try_from(by).unwrap_or(if by < 0 { i16::MIN } else { i16::MAX })
}

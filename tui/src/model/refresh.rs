//! What follows from what the user decided: worked out anew only where something it rests on changed.

use drawbridge_scenarios::Level;

use super::{
    Model, alerts,
    explain::{self, Explanation},
    list::{Key, List},
    log::{Ask, about},
    msg::Tab,
    rows::{Item, Rows, Wish},
};

/// What the rows were worked out for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    tab: Tab,
    event: u64,
    cuts: (u64, u64),
    other_event: u64,
    list: List,
    all: bool,
    faults: bool,
    notices: usize,
    over: bool,
}

impl Model {
    pub(super) fn refresh(&mut self) {
        self.follow_reel();
        let moved = self.still.seek(&self.reel.film, self.playhead.event);
        let other_moved = match &self.other {
            Some(other) => {
                let event = other.film.event_at(self.playhead.now);
                self.divergence.follow(&self.reel.film, &other.film);
                self.other_still.seek(&other.film, event)
            }
            None => false,
        };
        self.find_records();
        let shown = self.shown_now();
        let list_matters = |shown: &Shown| Shown { list: settings(&shown.list), ..shown.clone() };
        let same = self.shown.as_ref().map(list_matters) == Some(list_matters(&shown));
        if moved || other_moved || !same {
            self.list_rows();
            self.shown = Some(shown);
        }
        self.find_selection();
        self.explanation = self.explain();
        let lines = self.explanation.as_ref().map_or(0, Explanation::n_lines);
        self.detail_scroll = self.detail_scroll.min(lines);
    }

    fn shown_now(&self) -> Shown {
        Shown {
            tab: self.tab,
            event: self.playhead.event,
            cuts: (self.reel.film.cuts(), self.other.as_ref().map_or(0, |it| it.film.cuts())),
            other_event: self.other_still.event(),
            list: self.list().clone(),
            all: self.all,
            faults: self.faults,
            notices: self.notices.len(),
            over: self.reel.is_over(),
        }
    }

    /// The run may have grown.
    fn follow_reel(&mut self) {
        let head = &mut self.playhead;
        head.len = self.reel.film.len();
        head.end = self.reel.film.now();
        head.event = head.event.min(head.len);
        head.now = head.now.min(head.end);
        if head.following {
            (head.event, head.now) = (head.len, head.end);
        }
    }

    /// What the events list, wherever we are: `n` goes to its moments.
    fn find_records(&mut self) {
        let ask = Ask {
            filter: self.lists[Tab::Events.place()].filter.clone(),
            all: self.all,
            subjects: self.focus.as_ref().map(|focus| focus.subjects.clone()),
        };
        self.log.look(&self.reel.film, &ask);
    }

    fn list_rows(&mut self) {
        let wish = Wish {
            list: &self.lists[self.tab.place()],
            all: self.all,
            faults: self.faults,
            folded: &self.folded,
        };
        self.rows = Rows::of(self.tab, self.scene(), self.other_scene(), wish);
        if self.tab == Tab::Timeline {
            self.rows.items = self.lanes();
        }
        self.alerts = match self.tab == Tab::Overview {
            true => alerts::alerts(self.scene(), &self.reel, &self.notices),
            false => vec![],
        };
        self.count_records();
    }

    fn count_records(&mut self) {
        self.rows.n_records = match self.tab {
            Tab::Events => self.log.found(self.playhead.event).len(),
            Tab::Overview => self.alerts.len(),
            Tab::Pods
            | Tab::Jobs
            | Tab::Nodes
            | Tab::Timeline
            | Tab::Gangs
            | Tab::Why
            | Tab::Diff => 0,
        };
    }

    fn find_selection(&mut self) {
        if self.tab == Tab::Events {
            // What is being looked for may have grown.
            self.count_records();
        }
        let list = self.list();
        let last = self.rows.len().saturating_sub(1);
        let at = match (&list.wanted, self.tab) {
            (Some(Key::Record(seq)), Tab::Events) => {
                let found = self.log.found(self.playhead.event);
                found.partition_point(|it| u64::from(*it) < *seq).min(last)
            }
            (None, Tab::Events) => last,
            (Some(key), _) => {
                self.rows.position(self.scene(), key).unwrap_or_else(|| list.at.min(last))
            }
            (None, _) => list.at.min(last),
        };
        self.list_mut().at = at;
        if let Some(key) = self.selected().and_then(|at| self.key_at(at)) {
            self.subject = Some(key);
        }
    }

    fn explain(&self) -> Option<Explanation> {
        let listed = self.selected().and_then(|at| self.key_at(at));
        let key = match self.tab {
            Tab::Why => self.subject.clone(),
            Tab::Overview
            | Tab::Pods
            | Tab::Jobs
            | Tab::Nodes
            | Tab::Timeline
            | Tab::Gangs
            | Tab::Events => listed,
            Tab::Diff => match listed? {
                Key::Pair(name) => self.paired(&name),
                other @ (Key::Pod(_)
                | Key::Gang(..)
                | Key::Job(_)
                | Key::Node(_)
                | Key::Record(_)) => Some(other),
            },
        }?;
        let mut explanation = explain::explain(self.scene(), &key)?;
        let n_records = usize::try_from(self.playhead.event).unwrap_or(usize::MAX);
        let chain = about(&self.reel.film, &explanation.subjects, n_records);
        let told = |seq: &u32| {
            let record = self.reel.film.record(u64::from(*seq));
            self.all || record.is_some_and(|record| record.level == Level::Story)
        };
        explanation.chain = chain.into_iter().filter(told).collect();
        Some(explanation)
    }

    /// The job of this run that a pair is about.
    fn paired(&self, name: &str) -> Option<Key> {
        let pairs = super::divergence::pairs(self.scene(), self.other_scene()?);
        let pair = pairs.iter().find(|pair| pair.name == name)?;
        pair.this.map(|job| Key::Job(job.job_id))
    }

    /// What the timeline has lanes for: jobs that wait, then nodes; or every job.
    fn lanes(&self) -> Vec<Item> {
        /// Waiting jobs that have a lane; the nodes come below them.
        const WAITING_MAX: usize = 6;
        let scene = self.scene();
        let passes = |job: &drawbridge_scenarios::JobRow| {
            let mut text = String::new();
            super::columns::jobs::hay(job, &mut text);
            let filter = &self.list().filter;
            filter.is_empty() || filter.passes(super::filter::Hay { text: &text, labels: None })
        };
        if self.all {
            let jobs = scene.jobs().filter(|(_, job)| passes(job));
            return jobs.map(|(slot, _)| Item::Job(slot)).collect();
        }
        let mut waiting: Vec<_> =
            scene.jobs().filter(|(_, job)| super::scene::is_waiting(job)).collect();
        waiting.sort_by_key(|(_, job)| (std::cmp::Reverse(job.priority), job.job_id));
        let jobs = waiting.into_iter().take(WAITING_MAX).map(|(slot, _)| Item::Job(slot));
        let nodes = self.rows.items.iter().filter(|item| matches!(item, Item::Node(_))).cloned();
        jobs.chain(nodes).collect()
    }
}

/// What of a list's settings its rows depend on.
fn settings(list: &List) -> List {
    List { at: 0, wanted: None, marked: Default::default(), ..list.clone() }
}

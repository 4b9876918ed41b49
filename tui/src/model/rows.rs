//! What a list holds at the moment: which rows, in which order.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_scenarios::{JobRow, NodeRow, PodRow};

use super::{
    columns::{self, Column, Sort, pods::PodLine},
    divergence::{self, Pair},
    filter::{Filter, Hay},
    gang::{Gang, gang_of},
    groups,
    list::{Key, List},
    msg::Tab,
    scene::{Scene, is_active, is_usable, is_waiting},
};

/// The rows of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    /// What the rows are.
    pub(crate) items: Vec<Item>,
    /// How many there would be without filters.
    pub(crate) total: usize,
    /// How many records are listed, where records are.
    pub(crate) n_records: usize,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A gang with the slots of its members, and whether they stand below it.
    Gang(String, String, Vec<usize>, bool),
    /// A pod by its slot, and whether it stands below its gang.
    Pod(usize, bool),
    /// A job by its slot.
    Job(usize),
    /// A node by its slot.
    Node(usize),
    /// A job in two runs.
    Pair(String),
}

/// What the rows depend on, beside the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// Filter and order.
    pub(crate) list: &'a List,
    /// Also what is over.
    pub(crate) all: bool,
    /// Only what waits or has failed.
    pub(crate) faults: bool,
    /// Gangs whose pods aren't listed.
    pub(crate) folded: &'a BTreeSet<(String, String)>,
}

impl Rows {
    /// What a tab lists. Records are found elsewhere.
    pub(crate) fn of(tab: Tab, scene: Scene<'_>, other: Option<Scene<'_>>, wish: Wish<'_>) -> Self {
        match tab {
            Tab::Pods => pods(scene, wish),
            Tab::Jobs => jobs(scene, wish),
            Tab::Nodes | Tab::Timeline => nodes(scene, wish),
            Tab::Gangs => gangs(scene, wish),
            Tab::Diff => other.map(|other| diff(scene, other, wish)).unwrap_or_default(),
            Tab::Overview | Tab::Events | Tab::Why => Self::default(),
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.items.len().max(self.n_records)
    }

    /// What the row at this place is.
    pub(crate) fn key(&self, scene: Scene<'_>, at: usize) -> Option<Key> {
        Some(match self.items.get(at)? {
            Item::Gang(namespace, name, ..) => Key::Gang(namespace.clone(), name.clone()),
            Item::Pod(slot, _) => Key::Pod(scene.still.pod(*slot)?.uid.clone()),
            Item::Job(slot) => Key::Job(scene.still.job(*slot)?.job_id),
            Item::Node(slot) => Key::Node(scene.still.node(*slot)?.name.clone()),
            Item::Pair(name) => Key::Pair(name.clone()),
        })
    }

    /// Where a row is.
    pub(crate) fn position(&self, scene: Scene<'_>, key: &Key) -> Option<usize> {
        let wanted = match key {
            Key::Pod(uid) => (scene.film.pods().slot(uid.as_str()), None, None),
            Key::Job(id) => (None, scene.film.jobs().slot(id), None),
            Key::Node(name) => (None, None, scene.film.nodes().slot(name.as_str())),
            Key::Gang(..) | Key::Record(_) | Key::Pair(_) => (None, None, None),
        };
        self.items.iter().position(|item| match (item, key) {
            (Item::Gang(a, b, ..), Key::Gang(c, d)) => a == c && b == d,
            (Item::Pod(slot, _), _) => wanted.0 == Some(*slot),
            (Item::Job(slot), _) => wanted.1 == Some(*slot),
            (Item::Node(slot), _) => wanted.2 == Some(*slot),
            (Item::Pair(a), Key::Pair(b)) => a == b,
            (Item::Gang(..) | Item::Pair(_), _) => false,
        })
    }
}

/// The line that an item of pods is.
pub(crate) fn pod_line<'a>(scene: Scene<'a>, item: &Item) -> Option<PodLine<'a>> {
    match item {
        Item::Gang(_, name, members, open) => {
            let ranks: Vec<&PodRow> =
                members.iter().filter_map(|slot| scene.still.pod(*slot)).collect();
            Some(PodLine::Gang(Gang::new(name.clone(), ranks)?, *open))
        }
        Item::Pod(slot, member) => scene.still.pod(*slot).map(|pod| PodLine::Pod(pod, *member)),
        Item::Job(_) | Item::Node(_) | Item::Pair(_) => None,
    }
}

/// Looks through rows with one piece of text for all.
struct Sieve<'a> {
    filter: &'a Filter,
    text: String,
}

impl<'a> Sieve<'a> {
    const fn new(filter: &'a Filter) -> Self {
        Self { filter, text: String::new() }
    }

    fn keeps(
        &mut self,
        say: impl FnOnce(&mut String),
        labels: Option<&BTreeMap<String, String>>,
    ) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        self.text.clear();
        say(&mut self.text);
        self.filter.passes(Hay { text: &self.text, labels })
    }
}

/// Pods as they are listed; a gang stands where its first member would.
fn pods(scene: Scene<'_>, wish: Wish<'_>) -> Rows {
    let mut sieve = Sieve::new(&wish.list.filter);
    let mut total = 0;
    let mut lines: Vec<Item> = vec![];
    let mut places: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (slot, pod) in scene.pods() {
        total += 1;
        let wanted = (wish.all || pod.phase != "Deleted") && (!wish.faults || is_fault(pod));
        if !wanted || !sieve.keeps(|text| columns::pods::hay(pod, text), Some(&pod.labels)) {
            continue;
        }
        let Some(gang) = gang_of(pod) else {
            lines.push(Item::Pod(slot, false));
            continue;
        };
        let place = *places.entry((&pod.namespace, gang.clone())).or_insert_with(|| {
            let open = !wish.folded.contains(&(pod.namespace.clone(), gang.clone()));
            lines.push(Item::Gang(pod.namespace.clone(), gang, vec![], open));
            lines.len() - 1
        });
        if let Item::Gang(_, _, members, _) = &mut lines[place] {
            members.push(slot);
        }
    }
    sort(&mut lines, &columns::pods::columns(), scene, wish.list, |item| pod_line(scene, item));
    let items = lines.into_iter().flat_map(|line| with_members(scene, line)).collect();
    Rows { items, total, n_records: 0 }
}

fn is_fault(pod: &PodRow) -> bool {
    matches!(pod.phase.as_str(), "Pending" | "Failed") || super::gang::waits_at_barrier(pod)
}

/// A gang with its members below it, in the order of their ranks.
fn with_members(scene: Scene<'_>, line: Item) -> Vec<Item> {
    let Item::Gang(namespace, name, members, open) = line else { return vec![line] };
    let pods = members.iter().filter_map(|slot| Some((*slot, scene.still.pod(*slot)?)));
    let ranked = super::gang::ranked(pods.collect());
    let members: Vec<usize> = ranked.into_iter().map(|(slot, _)| slot).collect();
    let below: Vec<Item> = match open {
        true => members.iter().map(|slot| Item::Pod(*slot, true)).collect(),
        false => vec![],
    };
    std::iter::once(Item::Gang(namespace, name, members, open)).chain(below).collect()
}

fn jobs(scene: Scene<'_>, wish: Wish<'_>) -> Rows {
    let mut sieve = Sieve::new(&wish.list.filter);
    let is_fault =
        |job: &JobRow| is_waiting(job) || (job.end_ms.is_some() && job.state != "COMPLETED");
    let mut total = 0;
    let mut items = vec![];
    for (slot, job) in scene.jobs() {
        total += 1;
        let wanted = match wish.faults {
            true => is_fault(job),
            false => wish.all || is_active(job),
        };
        if wanted && sieve.keeps(|text| columns::jobs::hay(job, text), None) {
            items.push(Item::Job(slot));
        }
    }
    sort(&mut items, &columns::jobs::COLUMNS, scene, wish.list, |item| match item {
        Item::Job(slot) => scene.still.job(*slot),
        Item::Gang(..) | Item::Pod(..) | Item::Node(_) | Item::Pair(_) => None,
    });
    Rows { items, total, n_records: 0 }
}

fn nodes(scene: Scene<'_>, wish: Wish<'_>) -> Rows {
    let mut sieve = Sieve::new(&wish.list.filter);
    let mut total = 0;
    let mut kept: Vec<(usize, &NodeRow)> = vec![];
    for (slot, node) in scene.nodes() {
        total += 1;
        let wanted = !wish.faults || (node.slurm_name.is_some() && !is_usable(node));
        if wanted && sieve.keeps(|text| columns::nodes::hay(node, text), None) {
            kept.push((slot, node));
        }
    }
    // Slurm's first, then those that only Kubernetes knows.
    kept.sort_by_key(|(_, node)| node.slurm_name.is_none());
    if groups::any(scene) {
        kept.sort_by_cached_key(|(_, node)| super::gang::natural(groups::group_of(node)));
    }
    let mut items: Vec<Item> = kept.into_iter().map(|(slot, _)| Item::Node(slot)).collect();
    sort(&mut items, &columns::nodes::COLUMNS, scene, wish.list, |item| match item {
        Item::Node(slot) => scene.still.node(*slot),
        Item::Gang(..) | Item::Pod(..) | Item::Job(_) | Item::Pair(_) => None,
    });
    Rows { items, total, n_records: 0 }
}

fn gangs(scene: Scene<'_>, wish: Wish<'_>) -> Rows {
    let mut sieve = Sieve::new(&wish.list.filter);
    let all = super::gang::gangs(scene, wish.all);
    let total = all.len();
    let mut kept = all;
    kept.retain(|gang| {
        (!wish.faults || gang.is_stuck() || gang.placed() < gang.size)
            && sieve.keeps(|text| columns::gangs::hay(gang, text), None)
    });
    let column = sorted_by(&columns::gangs::columns(), wish.list);
    if let Some((name, reverse)) = column {
        let columns = columns::gangs::columns();
        if let Some(column) = columns.iter().find(|column| column.name == name) {
            kept.sort_by_cached_key(|gang| column.key(scene, gang));
        }
        if reverse {
            kept.reverse();
        }
    }
    let item = |gang: Gang<'_>| {
        let slots = gang.ranks.iter().filter_map(|pod| scene.film.pods().slot(pod.uid.as_str()));
        Item::Gang(gang.namespace.to_owned(), gang.name.clone(), slots.collect(), false)
    };
    Rows { items: kept.into_iter().map(item).collect(), total, n_records: 0 }
}

fn diff(scene: Scene<'_>, other: Scene<'_>, wish: Wish<'_>) -> Rows {
    let mut sieve = Sieve::new(&wish.list.filter);
    let mut pairs = divergence::pairs(scene, other);
    let total = pairs.len();
    pairs.retain(|pair| {
        (wish.all || !pair.is_same()) && sieve.keeps(|text| text.push_str(&pair.name), None)
    });
    let columns = columns::pairs::columns();
    let by = sorted_by(&columns, wish.list);
    if let Some((name, reverse)) = by
        && let Some(column) = columns.iter().find(|column| column.name == name)
    {
        pairs.sort_by_cached_key(|pair| column.key(scene, pair));
        if reverse {
            pairs.reverse();
        }
    }
    let items = pairs.into_iter().map(|pair: Pair<'_>| Item::Pair(pair.name)).collect();
    Rows { items, total, n_records: 0 }
}

fn sorted_by<T: ?Sized>(columns: &[Column<T>], list: &List) -> Option<(&'static str, bool)> {
    list.sort.filter(|(name, _)| columns.iter().any(|column| column.name == *name))
}

/// Orders rows by the column that the user chose, if one was.
fn sort<'a, T: 'a, L: std::borrow::Borrow<T>>(
    items: &mut [Item],
    columns: &[Column<T>],
    scene: Scene<'a>,
    list: &List,
    row: impl Fn(&Item) -> Option<L>,
) {
    let Some((name, reverse)) = sorted_by(columns, list) else { return };
    let Some(column) = columns.iter().find(|column| column.name == name) else { return };
    let key =
        |item: &Item| -> Option<Sort> { row(item).map(|row| column.key(scene, row.borrow())) };
    items.sort_by_cached_key(key);
    if reverse {
        items.reverse();
    }
}

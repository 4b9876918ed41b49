//! What the columns of each list say, and how rows are ordered by them.

pub(crate) mod gangs;
pub(crate) mod jobs;
pub(crate) mod nodes;
pub(crate) mod pairs;
pub(crate) mod pods;

use super::{list::List, scene::Scene};
use crate::theme::Tone;

/// A column of a list of `T`.
pub(crate) struct Column<T: ?Sized> {
    /// Its heading.
    pub(crate) name: &'static str,
    /// Whether its cells stand to the right.
    pub(crate) right: bool,
    /// When it is shown.
    pub(crate) shown: Shown,
    /// What a cell says.
    pub(crate) text: fn(Scene<'_>, &T) -> String,
    /// What a cell means.
    pub(crate) tone: fn(Scene<'_>, &T) -> Tone,
    /// What rows are ordered by; `None` is by what the cells say.
    pub(crate) sort: Option<fn(Scene<'_>, &T) -> Sort>,
}

impl<T: ?Sized> Column<T> {
    /// A column of texts that is always shown and means nothing special.
    const fn new(name: &'static str, text: fn(Scene<'_>, &T) -> String) -> Self {
        let tone: fn(Scene<'_>, &T) -> Tone = plain;
        Self { name, right: false, shown: Shown::Always, text, tone, sort: None }
    }

    /// The same, to the right, ordered by a number.
    const fn right(self, sort: fn(Scene<'_>, &T) -> Sort) -> Self {
        Self { right: true, sort: Some(sort), ..self }
    }

    /// The same, shown at other times.
    const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// The same, with a meaning.
    const fn tone(self, tone: fn(Scene<'_>, &T) -> Tone) -> Self {
        Self { tone, ..self }
    }

    /// What a row is ordered by.
    pub(crate) fn key(&self, scene: Scene<'_>, row: &T) -> Sort {
        match self.sort {
            Some(sort) => sort(scene, row),
            None => Sort::text(&(self.text)(scene, row)),
        }
    }
}

/// When a column is shown, unless the user has chosen otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Always.
    Always,
    /// Where there is room, or everything wide is asked for.
    Wide,
    /// When everything wide is asked for.
    Asked,
}

/// What rows are ordered by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    /// A number; what there is none of comes first.
    Number(Option<i64>),
    /// A text, numbers in it as people count.
    Natural(Vec<(String, u64)>),
}

impl Sort {
    /// By a text.
    pub(crate) fn text(text: &str) -> Self {
        Self::Natural(super::gang::natural(text))
    }

    /// By a number.
    pub(crate) fn number(number: impl TryInto<i64>) -> Self {
        Self::Number(number.try_into().ok())
    }

    /// By a time that may not have come.
    pub(crate) fn time(time: Option<drawbridge_sim::Time>) -> Self {
        Self::Number(time.and_then(|time| i64::try_from(time.as_ms()).ok()))
    }
}

/// How much of the columns there is room or a wish for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// The terminal is wide.
    pub(crate) wide: bool,
    /// Everything is asked for.
    pub(crate) all: bool,
}

/// The columns to show.
pub(crate) fn shown<'c, T: ?Sized>(
    columns: &'c [Column<T>],
    list: &List,
    room: Room,
) -> Vec<&'c Column<T>> {
    let usual = |column: &Column<T>| match column.shown {
        Shown::Always => true,
        Shown::Wide => room.wide || room.all,
        Shown::Asked => room.all,
    };
    let is_shown = |column: &&Column<T>| usual(column) != list.columns.contains(column.name);
    columns.iter().filter(is_shown).collect()
}

/// A column whose cells mean nothing special.
const fn plain<T: ?Sized>(_: Scene<'_>, _: &T) -> Tone {
    Tone::Plain
}

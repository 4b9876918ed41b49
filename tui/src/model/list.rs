//! What the user decided about one list: filter, order, columns, marks, and what is selected.

use std::collections::BTreeSet;

use drawbridge_sim::JobId;

use super::filter::Filter;

/// A list's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct List {
    /// Which rows.
    pub(crate) filter: Filter,
    /// The column to order by, by its name, and whether from the end.
    pub(crate) sort: Option<(&'static str, bool)>,
    /// Columns that the user wants to see or not, other than usual.
    pub(crate) columns: BTreeSet<&'static str>,
    /// Rows that are marked.
    pub(crate) marked: BTreeSet<Key>,
    /// Where the selection stands.
    pub(crate) at: usize,
    /// What was selected, to be found again wherever it stands.
    pub(crate) wanted: Option<Key>,
}

/// What a row is, whatever its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A pod, by its uid.
    Pod(String),
    /// A gang, by namespace and name.
    Gang(String, String),
    /// A job.
    Job(JobId),
    /// A node, by the name that its row has.
    Node(String),
    /// A record, by its number.
    Record(u64),
    /// A job or pod of two runs, by what both call it.
    Pair(String),
}

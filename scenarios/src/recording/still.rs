//! All rows at one moment.
//!
//! A still moves: from one moment to another only the rows that differ are looked up, unless so
//! many do that looking at all of them is less work.

use std::{hash::Hash, sync::Arc};

use super::{Film, RowKind, Versions};
use crate::frame::{JobRow, NodeRow, PodRow};

/// The rows of a film at one moment, by their slots.
#[derive(Clone, Debug, Default)]
pub struct Still {
    event: u64,
    /// How many alterations of the film, and how many of its cuts, it knows of.
    altered: usize,
    cuts: u64,
    pods: Vec<Option<Arc<PodRow>>>,
    jobs: Vec<Option<Arc<JobRow>>>,
    nodes: Vec<Option<Arc<NodeRow>>>,
}

impl Still {
    /// Moves to the moment after so many records. Returns whether any row is another one.
    pub fn seek(&mut self, film: &Film, event: u64) -> bool {
        let to = film.altered().partition_point(|it| it.from <= event);
        let (from, all) = (self.altered, film.pods().len() + film.jobs().len());
        let moved = from.max(to) - from.min(to);
        if self.cuts != film.cuts() || all + film.nodes().len() < moved {
            fill(&mut self.pods, film.pods(), event);
            fill(&mut self.jobs, film.jobs(), event);
            fill(&mut self.nodes, film.nodes(), event);
        } else {
            self.resize(film);
            for it in &film.altered()[from.min(to)..from.max(to)] {
                let slot = it.slot as usize;
                match it.kind {
                    RowKind::Pod => self.pods[slot] = film.pods().at(slot, event).cloned(),
                    RowKind::Job => self.jobs[slot] = film.jobs().at(slot, event).cloned(),
                    RowKind::Node => self.nodes[slot] = film.nodes().at(slot, event).cloned(),
                }
            }
        }
        let is_new = moved != 0 || self.cuts != film.cuts();
        (self.event, self.altered, self.cuts) = (event, to, film.cuts());
        is_new
    }

    fn resize(&mut self, film: &Film) {
        self.pods.resize(film.pods().len(), None);
        self.jobs.resize(film.jobs().len(), None);
        self.nodes.resize(film.nodes().len(), None);
    }

    /// After how many records this is.
    pub const fn event(&self) -> u64 {
        self.event
    }

    /// The pod in this slot, if it is there now.
    pub fn pod(&self, slot: usize) -> Option<&PodRow> {
        self.pods.get(slot)?.as_deref()
    }

    /// The job in this slot, if it is there now.
    pub fn job(&self, slot: usize) -> Option<&JobRow> {
        self.jobs.get(slot)?.as_deref()
    }

    /// The node in this slot, if it is there now.
    pub fn node(&self, slot: usize) -> Option<&NodeRow> {
        self.nodes.get(slot)?.as_deref()
    }

    /// Pods that are there now, each with its slot.
    pub fn pods(&self) -> impl Iterator<Item = (usize, &PodRow)> {
        numbered(&self.pods)
    }

    /// Jobs that are there now, each with its slot.
    pub fn jobs(&self) -> impl Iterator<Item = (usize, &JobRow)> {
        numbered(&self.jobs)
    }

    /// Nodes that are there now, each with its slot.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &NodeRow)> {
        numbered(&self.nodes)
    }
}

fn numbered<T>(rows: &[Option<Arc<T>>]) -> impl Iterator<Item = (usize, &T)> {
    rows.iter().enumerate().filter_map(|(slot, row)| Some((slot, row.as_deref()?)))
}

fn fill<K: Eq + Hash, T>(rows: &mut Vec<Option<Arc<T>>>, versions: &Versions<K, T>, event: u64) {
    rows.clear();
    rows.extend((0..versions.len()).map(|slot| versions.at(slot, event).cloned()));
}

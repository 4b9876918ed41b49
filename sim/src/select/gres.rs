//! Generic resources of a node: which a job could have, near which cores, and which it gets.
//!
//! ```text
//!   stock ──▶ supply by socket ──usable──▶ ──filter──▶ cores near devices ──pick──▶ devices
//! ```

mod filter;
mod pick;
mod stock;
mod tally;
mod usable;

use crate::IndexSet;

pub(super) use filter::{Filtered, filter};
pub(super) use pick::{Chosen, pick};
pub(super) use stock::{enough_in_all, supplies};
pub(super) use tally::Tally;
pub(super) use usable::usable;

/// What a node has of one need, by socket.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// Which of the job's needs.
    pub(super) need: usize,
    /// Devices are told apart, by their cores or their type.
    pub(super) told_apart: bool,
    /// Devices near each socket; empty where none is near any.
    pub(super) by_socket: Vec<u64>,
    pub(super) bits_by_socket: Vec<IndexSet>,
    /// Devices near every socket.
    pub(super) anywhere: u64,
    pub(super) bits_anywhere: IndexSet,
    pub(super) total: u64,
    /// `total`, before cores were looked at.
    pub(super) unfiltered: Option<u64>,
    /// Most that the job could use on the node; 0 is without limit.
    pub(super) most: u64,
}

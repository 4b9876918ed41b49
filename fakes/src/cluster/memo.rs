//! What a controller remembers from one look to the next and doesn't write down.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time};

use super::autoscaler::Past;

/// A controller's memory of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Memo {
    /// Since when the failed pods of a DaemonSet are removed no more often than so, by node.
    Daemons(BTreeMap<Arc<str>, (Time, Span)>),
    /// What an autoscaler wanted and did.
    Scaled(Past),
    /// What there is to say was said.
    Told,
    /// When a claim's volume will be there.
    Provided(Time),
    /// How many pods of a Job failed since one last succeeded, and when the last did.
    Failures(u32, Time),
}

//! Where frames come from: the one seam between the screens and a run.

use drawbridge_scenarios::{Frame, Record};
use drawbridge_sim::Time;

/// A run that can be looked at from any of its events.
pub trait Source {
    /// Events in the run, which are its records. There is a frame for each of `0..=len()`:
    /// before the first event, after the first, and so on.
    fn len(&self) -> u64;

    /// The world after this many events. More than there are means all of them. Where several
    /// things happen at once, the frame may show the end of it before all are told.
    fn frame(&self, event: u64) -> Frame;

    /// Everything that happened, in order.
    fn records(&self) -> &[Record];

    /// How many events had happened at this time.
    fn event_at(&self, time: Time) -> u64;

    /// Whether nothing happens at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A recorded run: going back costs no more than going forward.
impl Source for drawbridge_scenarios::Recording {
    fn len(&self) -> u64 {
        Self::len(self)
    }

    fn frame(&self, event: u64) -> Frame {
        Self::frame(self, event)
    }

    fn records(&self) -> &[Record] {
        Self::records(self)
    }

    fn event_at(&self, at: Time) -> u64 {
        Self::event_at(self, at)
    }
}

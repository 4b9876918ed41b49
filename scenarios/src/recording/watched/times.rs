//! Times that objects say, as distances from the time at which the looking began.

use drawbridge_sim::Time;
use jiff::Timestamp;

use crate::{frame::PodRow, object::Object};

/// A Unix time in milliseconds as a point since zero; what was before zero is at zero.
pub(super) const fn since(zero_unix_ms: u64, unix_ms: u64) -> Time {
    Time::from_ms(unix_ms.saturating_sub(zero_unix_ms))
}

/// Puts the times that a pod says into its row.
pub(super) fn put(row: &mut PodRow, pod: Object<'_>, zero_unix_ms: u64, now: Time) {
    let read = |text: &str| {
        let at: Timestamp = text.parse().ok()?;
        Some(since(zero_unix_ms, u64::try_from(at.as_millisecond()).ok()?))
    };
    let at = |path: &[&str]| pod.text(path).and_then(read);
    row.created_ms = at(&["metadata", "creationTimestamp"]).unwrap_or(now);
    let scheduled = pod.condition("PodScheduled");
    let scheduled = scheduled.filter(|it| it.text(&["status"]) == Some("True"));
    let bound = scheduled.and_then(|it| it.text(&["lastTransitionTime"])).and_then(read);
    row.bound_ms = row.node.as_ref().map(|_| bound.unwrap_or(row.created_ms));
    let begun = matches!(row.phase.as_str(), "Running" | "Succeeded" | "Failed");
    row.started_ms = at(&["status", "startTime"]).filter(|_| begun);
    let finished = pod.ended_at().and_then(read);
    row.finished_ms = pod.is_terminal().then(|| finished.unwrap_or(now));
}

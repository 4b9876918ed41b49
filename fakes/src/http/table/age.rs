//! How long ago, in the words of kubectl.

use drawbridge_sim::{Epoch, Time};
use serde_json::Value;

use super::{At, text};

impl At {
    /// How long ago a time was, or that nobody knows.
    pub(super) fn since(self, time: &Value) -> String {
        match Epoch::parse(text(time)) {
            Ok(then) => human(self.now.saturating_sub(then.unix(Time::ZERO))),
            Err(_) => "<unknown>".to_owned(),
        }
    }

    /// The age of an object.
    pub(super) fn age(self, object: &Value) -> Value {
        self.since(&object["metadata"]["creationTimestamp"]).into()
    }
}

/// The seconds from one time to another.
pub(super) fn between(from: &Value, to: &Value) -> Option<u64> {
    let unix = |time: &Value| Epoch::parse(text(time)).ok().map(|at| at.unix(Time::ZERO));
    Some(unix(to)?.saturating_sub(unix(from)?))
}

/// `90s`, `5m3s`, `4h12m`, `2d3h`: two digits of what matters.
pub(super) fn human(secs: u64) -> String {
    let (mins, hours, days) = (secs / 60, secs / 3600, secs / 86_400);
    let pair = |big: u64, unit: &str, small: u64, sub: &str| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{sub}"),
    };
    if secs < 120 {
        format!("{secs}s")
    } else if mins < 10 {
        pair(mins, "m", secs % 60, "s")
    } else if mins < 180 {
        format!("{mins}m")
    } else if hours < 8 {
        pair(hours, "h", mins % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if hours < 192 {
        pair(days, "d", hours % 24, "h")
    } else if days < 730 {
        format!("{days}d")
    } else if days < 8 * 365 {
        pair(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_kubectl_writes_them() {
        let table = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (660, "11m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (36_000, "10h"),
            (180_000, "2d2h"),
            (864_000, "10d"),
        ];
        for (secs, wanted) in table {
            assert_eq!(human(secs), wanted, "{secs}");
        }
    }
}

//! Points in time as sbatch writes them: `now+10minutes`, `16:00`, `2026-02-01T08:00`, `tomorrow`.

use jiff::{civil::DateTime, tz::TimeZone};

use crate::{Begin, Span};

/// What [`read`] takes, in words for an error.
pub(super) const FORMS: &str = "write now+10minutes, HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], MMDDYY, \
     midnight, noon, teatime, today or tomorrow";

/// Reads a point in time. The calendar's are UTC.
pub(super) fn read(text: &str) -> Option<Begin> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "midnight" => return Some(Begin::TimeOfDay(Span::ZERO)),
        "noon" => return Some(Begin::TimeOfDay(Span::hours(12))),
        "teatime" | "fika" | "elevenses" => return Some(Begin::TimeOfDay(tea(&lower))),
        "today" => return Some(Begin::After(Span::ZERO)),
        "tomorrow" => return Some(Begin::TimeOfDay(Span::ZERO)),
        _ => {}
    }
    if let Some(rest) = lower.strip_prefix("now") {
        return from_now(rest).map(Begin::After);
    }
    if let Some(seconds) = lower.strip_prefix("uts") {
        return seconds.parse().ok().map(Begin::Unix);
    }
    time_of_day(&lower).map(Begin::TimeOfDay).or_else(|| calendar(text).map(Begin::Unix))
}

fn tea(word: &str) -> Span {
    match word {
        "elevenses" => Span::hours(11),
        "fika" => Span::hours(15),
        _ => Span::hours(16),
    }
}

/// `+60`, `+10minutes`.
fn from_now(rest: &str) -> Option<Span> {
    if rest.is_empty() {
        return Some(Span::ZERO);
    }
    let rest = rest.strip_prefix('+')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, unit) = rest.split_at(end);
    let unit = match unit.trim_end_matches('s') {
        "" | "second" => Span::secs(1),
        "minute" => Span::mins(1),
        "hour" => Span::hours(1),
        "day" => Span::hours(24),
        "week" => Span::hours(168),
        _ => return None,
    };
    Some(unit.times(number.parse().ok()?))
}

/// `16:00`, `4:00pm`, `16:00:30`.
fn time_of_day(text: &str) -> Option<Span> {
    let (clock, noon) = match (text.strip_suffix("pm"), text.strip_suffix("am")) {
        (Some(clock), _) => (clock.trim(), Some(true)),
        (None, Some(clock)) => (clock.trim(), Some(false)),
        (None, None) => (text, None),
    };
    let parts: Vec<u64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hours, minutes] => (*hours, *minutes, 0),
        [hours, minutes, seconds] => (*hours, *minutes, *seconds),
        _ => return None,
    };
    let hours = match noon {
        Some(true) if hours < 12 => hours + 12,
        Some(false) if hours == 12 => 0,
        _ => hours,
    };
    let sound = hours < 24 && minutes < 60 && seconds < 60;
    sound.then(|| Span::secs(hours * 3600 + minutes * 60 + seconds))
}

/// `2026-02-01`, `2026-02-01T08:00[:30]`, `020126`, `02/01/26`; seconds since 1970.
fn calendar(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let american = text.len() == 6 && digits.len() == 6 || text.matches(['/', '.']).count() == 2;
    let iso = if american && digits.len() == 6 {
        format!("20{}-{}-{}T00:00:00", &digits[4..], &digits[..2], &digits[2..4])
    } else if text.contains('T') {
        text.into()
    } else {
        format!("{text}T00:00:00")
    };
    let date: DateTime = iso.parse().ok()?;
    let at = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    u64::try_from(at).ok()
}

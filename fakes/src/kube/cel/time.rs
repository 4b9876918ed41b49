//! Times and spans: read as Go reads them, and taken apart.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz};

/// A time in RFC 3339.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    let zoned = text.ends_with(['Z', 'z']) || text.rfind(['+', '-']).is_some_and(|at| at > 10);
    zoned.then(|| text.parse().ok()).flatten()
}

/// A span as Go writes it: `1h30m`, `-1.5s`, `100ms`.
pub(super) fn duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut nanos = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, more) = rest.split_at(end);
        let unit_end = more.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(more.len());
        let (unit, more) = more.split_at(unit_end);
        nanos = nanos.checked_add(scaled(number, nanos_in(unit)?)?)?;
        rest = more;
    }
    if text.trim_start_matches(['-', '+']).is_empty() {
        return None;
    }
    let nanos = if negative { -nanos } else { nanos };
    i64::try_from(nanos).ok().map(SignedDuration::from_nanos)
}

fn nanos_in(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A decimal number of units, exactly, cut off below one.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    let fraction = fraction.get(..fraction.len().min(18))?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = digits(fraction)?.checked_mul(unit)? / scale;
    digits(whole)?.checked_mul(unit)?.checked_add(part)
}

/// A span as the language writes it: in seconds.
pub(super) fn seconds(span: SignedDuration) -> String {
    let nanos = span.subsec_nanos().unsigned_abs();
    let sign = if span.is_negative() { "-" } else { "" };
    let whole = span.as_secs().unsigned_abs();
    match nanos {
        0 => format!("{sign}{whole}s"),
        nanos => format!("{sign}{whole}.{}s", format!("{nanos:09}").trim_end_matches('0')),
    }
}

/// A part of a time, in UTC or in a zone: `getHours`, `getDayOfWeek`.
pub(super) fn part(time: Timestamp, what: &str, zone: Option<&str>) -> Result<i64, String> {
    let at = civil(time, zone)?;
    Ok(i64::from(match what {
        "getFullYear" => at.year(),
        "getMonth" => i16::from(at.month()) - 1,
        "getDate" => i16::from(at.day()),
        "getDayOfMonth" => i16::from(at.day()) - 1,
        "getDayOfWeek" => i16::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => at.day_of_year() - 1,
        "getHours" => i16::from(at.hour()),
        "getMinutes" => i16::from(at.minute()),
        "getSeconds" => i16::from(at.second()),
        "getMilliseconds" => at.millisecond(),
        other => return Err(format!("no such overload: {other}")),
    }))
}

fn civil(time: Timestamp, zone: Option<&str>) -> Result<DateTime, String> {
    let zone = match zone {
        None | Some("UTC" | "") => tz::TimeZone::UTC,
        Some(text) => offset(text)
            .or_else(|| crate::cluster::zone(text))
            .ok_or_else(|| format!("unknown time zone {text}"))?,
    };
    Ok(time.to_zoned(zone).datetime())
}

fn offset(text: &str) -> Option<tz::TimeZone> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok().map(tz::TimeZone::fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_go_reads_them() {
        let table = [
            ("1h30m", Some("5400s")),
            ("-1.5s", Some("-1.5s")),
            ("100ms", Some("0.1s")),
            ("0", Some("0s")),
            ("1d", None),
            ("", None),
            ("5", None),
            (".s", None),
        ];
        for (text, wanted) in table {
            assert_eq!(duration(text).map(seconds).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_time_without_a_zone_is_none() {
        assert!(timestamp("2026-01-02T03:04:05Z").is_some());
        assert!(timestamp("2026-01-02T03:04:05.5+02:00").is_some());
        assert!(timestamp("2026-01-02T03:04:05").is_none());
        assert!(timestamp("2026-01-02").is_none());
    }
}

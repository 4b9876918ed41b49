//! Moments as users write them: `2026-11-16T17:46:40`, `now+1hour`, `tomorrow`, `16:00`, `11/20-08:00`.

use jiff::{ToSpan, Zoned, civil};

/// The moment that a text means; seconds since the epoch.
pub fn moment(text: &str, now: &Zoned) -> Option<i64> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if let Some(rest) = lower.strip_prefix("now") {
        return offset(rest).map(|secs| now.timestamp().as_second() + secs);
    }
    if let Some(epoch) = lower.strip_prefix("uts") {
        return epoch.parse().ok();
    }
    let (date, time) = apart(&lower)?;
    let today = now.date();
    let named = |time: Option<civil::Time>| time.unwrap_or(civil::Time::midnight());
    let (day, time, past) = match (date, time) {
        (None, None) => return None,
        // A time of day alone is the next such time.
        (None, Some(time)) => (today, time, today.to_datetime(time) <= now.datetime()),
        (Some(date), time) => (day(date, today)?, named(time), false),
    };
    let day = if past { day.checked_add(1.day()).ok()? } else { day };
    let zoned = day.to_datetime(time).to_zoned(now.time_zone().clone()).ok()?;
    Some(zoned.timestamp().as_second())
}

/// `+1hour`, `-30minutes`, `+90`; nothing is 0.
fn offset(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let digits: String = text[1..].chars().take_while(char::is_ascii_digit).collect();
    let unit = match &text[1 + digits.len()..] {
        "" | "second" | "seconds" => 1,
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3600,
        "day" | "days" => 86_400,
        "week" | "weeks" => 604_800,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(unit).map(|secs| sign * secs)
}

/// A date and a time of day, as far as they are there.
fn apart(text: &str) -> Option<(Option<&str>, Option<civil::Time>)> {
    if let Some(time) = of_day(text) {
        return Some((None, Some(time)));
    }
    let at =
        text.find('t').filter(|at| text.as_bytes()[..*at].last().is_some_and(u8::is_ascii_digit));
    let at = at.or_else(|| text.find(' '));
    let at = at.or_else(|| text.rfind('-').filter(|at| text[at + 1..].contains(':')));
    match at {
        Some(at) => Some((Some(&text[..at]), Some(of_day(&text[at + 1..])?))),
        None => Some((Some(text), None)),
    }
}

fn of_day(text: &str) -> Option<civil::Time> {
    let (text, afternoon) = match (text.strip_suffix("pm"), text.strip_suffix("am")) {
        (Some(text), _) => (text.trim(), Some(true)),
        (None, Some(text)) => (text.trim(), Some(false)),
        (None, None) => (text, None),
    };
    match text {
        "midnight" => return civil::Time::new(0, 0, 0, 0).ok(),
        "noon" => return civil::Time::new(12, 0, 0, 0).ok(),
        "fika" => return civil::Time::new(15, 0, 0, 0).ok(),
        "teatime" => return civil::Time::new(16, 0, 0, 0).ok(),
        _ => {}
    }
    let mut parts = text.split(':').map(|part| part.parse::<i8>().ok());
    let hour = parts.next()??;
    let minute = match parts.next() {
        Some(minute) => minute?,
        None if afternoon.is_some() => 0,
        None => return None,
    };
    let second = parts.next().unwrap_or(Some(0))?;
    let hour = match afternoon {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        _ => hour,
    };
    parts.next().is_none().then(|| civil::Time::new(hour, minute, second, 0).ok())?
}

/// `2026-11-16`, `11/16/26`, `11/16`, `today`, `tomorrow`.
fn day(text: &str, today: civil::Date) -> Option<civil::Date> {
    match text {
        "today" => return Some(today),
        "tomorrow" => return today.checked_add(1.day()).ok(),
        _ => {}
    }
    let numbers = |separator: char| -> Option<Vec<i16>> {
        text.split(separator).map(|part| part.parse().ok()).collect()
    };
    let date = |year: i16, month: i16, day: i16| {
        civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    };
    if let Some(&[year, month, day]) = numbers('-').as_deref() {
        return date(year, month, day);
    }
    let slashed = numbers('/').or_else(|| numbers('.'))?;
    match slashed.as_slice() {
        [month, day] => date(today.year(), *month, *day),
        [month, day, year] if *year < 100 => date(2000 + year, *month, *day),
        [month, day, year] => date(*year, *month, *day),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, tz::TimeZone};

    use super::*;

    #[test]
    fn moments_are_read_as_users_write_them() {
        // Monday, 2026-11-16 17:46:40.
        let now = Timestamp::from_second(1_794_851_200).unwrap().to_zoned(TimeZone::UTC);
        let rows = [
            ("now", Some("2026-11-16T17:46:40")),
            ("now+1hour", Some("2026-11-16T18:46:40")),
            ("now-2days", Some("2026-11-14T17:46:40")),
            ("now+90", Some("2026-11-16T17:48:10")),
            ("16:00", Some("2026-11-17T16:00:00")),
            ("18:30:05", Some("2026-11-16T18:30:05")),
            ("6pm", Some("2026-11-16T18:00:00")),
            ("midnight", Some("2026-11-17T00:00:00")),
            ("tomorrow", Some("2026-11-17T00:00:00")),
            ("today", Some("2026-11-16T00:00:00")),
            ("2026-12-01", Some("2026-12-01T00:00:00")),
            ("2026-12-01T08:15", Some("2026-12-01T08:15:00")),
            ("12/24", Some("2026-12-24T00:00:00")),
            ("12/24/27-10:00", Some("2027-12-24T10:00:00")),
            ("yesterday", None),
            ("now+1fortnight", None),
            ("2026-13-01", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let got = moment(text, &now).map(|secs| {
                let at = Timestamp::from_second(secs).unwrap().to_zoned(TimeZone::UTC);
                at.strftime("%FT%T").to_string()
            });
            assert_eq!(got.as_deref(), expected, "{text}");
        }
    }
}

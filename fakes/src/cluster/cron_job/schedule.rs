//! Cron schedules, as `robfig/cron` reads them: five fields, names, steps, `@daily`, `@every 1h30m`.
//!
//! Times are seconds since 1970; the fields are read on the clock of a time zone. In the hour that
//! summer time skips nothing starts; in the one that comes twice, what names that hour starts twice.

use jiff::{
    Timestamp, ToSpan, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};

/// When something is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    Fields(Box<Fields>),
    /// So many seconds after the last time.
    Every(i64),
}

/// The minutes, hours and days that fit, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Days of the month and of the week both say something: either will do.
    either_day: bool,
}

/// How far ahead a day is looked for that may never come, such as 31 February.
const YEARS: i16 = 5;

impl Schedule {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(word) = text.strip_prefix('@') {
            return named(word);
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            let n = fields.len();
            return Err(format!("expected exactly 5 fields, found {n}: {text:?}"));
        };
        let any = |field: &str| field.starts_with(['*', '?']);
        Ok(Self::Fields(Box::new(Fields {
            minutes: field(minute, 0, 59, &[])?,
            hours: field(hour, 0, 23, &[])?,
            days: field(day, 1, 31, &[])?,
            months: field(month, 1, 12, &MONTHS)?,
            weekdays: field(weekday, 0, 6, &WEEKDAYS)?,
            either_day: !any(day) && !any(weekday),
        })))
    }

    /// The first time after `after`, if there is one in the next years.
    pub(crate) fn next(&self, after: i64, zone: &TimeZone) -> Option<i64> {
        match self {
            Self::Every(secs) => Some(after + secs),
            Self::Fields(fields) => fields.next(after, zone),
        }
    }
}

impl Schedule {
    /// The first time after `now`, counted from `from`, which isn't later.
    pub(crate) fn next_from(&self, from: i64, now: i64, zone: &TimeZone) -> Option<i64> {
        match self {
            Self::Every(secs) => Some(from + ((now - from).div_euclid(*secs) + 1) * secs),
            Self::Fields(fields) => fields.next(now, zone),
        }
    }
}

/// The time zone of this name, from the data that is built in.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    match name {
        "" | "UTC" => Some(TimeZone::UTC),
        name => TimeZoneDatabase::bundled().get(name).ok(),
    }
}

fn named(word: &str) -> Result<Schedule, String> {
    if let Some(text) = word.strip_prefix("every ") {
        let secs = duration(text.trim())
            .ok_or_else(|| format!("failed to parse duration @every {text}"))?;
        return Ok(Schedule::Every(secs.max(1)));
    }
    let fields = match word {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        _ => return Err(format!("unrecognized descriptor: @{word}")),
    };
    Schedule::parse(fields)
}

/// Go's `1h30m`, in seconds.
fn duration(text: &str) -> Option<i64> {
    let (mut rest, mut total) = (text, 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        let units = &rest[digits..];
        let end = units.find(|it: char| it.is_ascii_digit()).unwrap_or(units.len());
        let secs = match &units[..end] {
            "h" => 3600,
            "m" => 60,
            "s" => 1,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(secs)?)?;
        rest = &units[end..];
    }
    (total > 0).then_some(total)
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Reads `*/5`, `1-10/2`, `mon,wed`.
fn field(text: &str, least: u64, most: u64, names: &[&str]) -> Result<u64, String> {
    let mut bits = 0;
    for part in text.split(',') {
        bits |= range(part, least, most, names)?;
    }
    Ok(bits)
}

fn range(text: &str, least: u64, most: u64, names: &[&str]) -> Result<u64, String> {
    let (bounds, step) = text.split_once('/').map_or((text, None), |(it, step)| (it, Some(step)));
    let value = |text: &str| {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        match named {
            Some(at) => Ok(at as u64 + least),
            None => text.parse::<u64>().map_err(|_| format!("failed to parse int from {text}")),
        }
    };
    let (from, to) = match bounds {
        "*" | "?" => (least, most),
        _ => match bounds.split_once('-') {
            Some((from, to)) => (value(from)?, value(to)?),
            // `5/15` goes on to the end.
            None if step.is_some() => (value(bounds)?, most),
            None => (value(bounds)?, value(bounds)?),
        },
    };
    let step = step.map_or(Ok(1), |step| {
        step.parse::<u64>()
            .ok()
            .filter(|step| *step > 0)
            .ok_or_else(|| format!("step of range should be a positive number: {text}"))
    })?;
    if from < least {
        return Err(format!("beginning of range ({from}) below minimum ({least}): {text}"));
    }
    if most < to {
        return Err(format!("end of range ({to}) above maximum ({most}): {text}"));
    }
    if to < from {
        return Err(format!("beginning of range ({from}) beyond end of range ({to}): {text}"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Ok((from..=to).step_by(step).fold(0, |bits, at| bits | 1 << at))
}

impl Fields {
    fn fits_day(&self, at: &Zoned) -> bool {
        let month = self.days >> at.day() & 1 == 1;
        let week = self.weekdays >> at.weekday().to_sunday_zero_offset() & 1 == 1;
        if self.either_day { month || week } else { month && week }
    }

    fn next(&self, after: i64, zone: &TimeZone) -> Option<i64> {
        let minute = after.div_euclid(60) * 60 + 60;
        let mut at = Timestamp::from_second(minute).ok()?.to_zoned(zone.clone());
        let last_year = at.year() + YEARS;
        while at.year() <= last_year {
            if self.months >> at.month() & 1 == 0 {
                at = at.last_of_month().ok()?.tomorrow().ok()?.start_of_day().ok()?;
            } else if !self.fits_day(&at) {
                at = at.tomorrow().ok()?.start_of_day().ok()?;
            } else if self.hours >> at.hour() & 1 == 0 {
                let into = i64::from(at.minute()) * 60 + i64::from(at.second());
                at = at.checked_add((3600 - into).seconds()).ok()?;
            } else if self.minutes >> at.minute() & 1 == 0 {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return Some(at.timestamp().as_second());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(schedule: &str, zone_name: &str, from: &str, n: usize) -> String {
        let schedule = Schedule::parse(schedule).unwrap();
        let zone = zone(zone_name).unwrap();
        let mut at = from.parse::<Timestamp>().unwrap().as_second();
        let times = (0..n).map_while(|_| {
            at = schedule.next(at, &zone)?;
            Some(Timestamp::from_second(at).unwrap().to_string())
        });
        times.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn schedules_start_when_cron_says() {
        let new_year = "2026-01-01T00:00:00Z"; // a Thursday
        #[rustfmt::skip]
        let rows = [
            ("*/20 * * * *",   "2026-01-01T00:20:00Z 2026-01-01T00:40:00Z"),
            ("30 6-16/4 * * 1-5", "2026-01-01T06:30:00Z 2026-01-01T10:30:00Z"),
            ("0 0 13 * FRI",   "2026-01-02T00:00:00Z 2026-01-09T00:00:00Z"),
            ("0 0 13 * *",     "2026-01-13T00:00:00Z 2026-02-13T00:00:00Z"),
            ("5 4 * feb mon",  "2026-02-02T04:05:00Z 2026-02-09T04:05:00Z"),
            ("@daily",         "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z"),
            ("@every 1h30m",   "2026-01-01T01:30:00Z 2026-01-01T03:00:00Z"),
            ("59 23 31 2 *",   ""),
        ];
        for (schedule, expected) in rows {
            assert_eq!(starts(schedule, "", new_year, 2), expected, "{schedule}");
        }
    }

    #[test]
    fn a_time_zone_has_its_own_clock_also_when_it_changes() {
        // Berlin goes from 01:59 to 03:00 on 29 March, and back from 02:59 to 02:00 on 25 October.
        assert_eq!(
            starts("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 2),
            "2026-03-28T01:30:00Z 2026-03-30T00:30:00Z"
        );
        assert_eq!(
            starts("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3),
            "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-10-26T01:30:00Z"
        );
        assert!(zone("Europe/Atlantis").is_none());
    }

    #[test]
    fn what_is_no_schedule_says_why() {
        #[rustfmt::skip]
        let rows = [
            ("* * * *",      "expected exactly 5 fields, found 4: \"* * * *\""),
            ("60 * * * *",   "end of range (60) above maximum (59): 60"),
            ("* * 0 * *",    "beginning of range (0) below minimum (1): 0"),
            ("*/0 * * * *",  "step of range should be a positive number: */0"),
            ("x * * * *",    "failed to parse int from x"),
            ("@sometimes",   "unrecognized descriptor: @sometimes"),
            ("@every 5x",    "failed to parse duration @every 5x"),
        ];
        for (text, expected) in rows {
            assert_eq!(Schedule::parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}

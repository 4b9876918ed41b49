//! Times as Slurm writes them: `30`, `90:00`, `1-12:00:00`, `UNLIMITED`.

use crate::{Span, TimeLimit};

/// Reads a limit: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
/// days-hours:minutes, days-hours:minutes:seconds, or `UNLIMITED`/`INFINITE`/`-1`.
pub fn parse_time_limit(text: &str) -> Option<TimeLimit> {
    if ["unlimited", "infinite", "-1"].contains(&text.to_ascii_lowercase().as_str()) {
        return Some(TimeLimit::Unlimited);
    }
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts: Vec<u64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let secs = match (days, parts.as_slice()) {
        (None, [minutes]) => minutes * 60,
        (None, [minutes, seconds]) => minutes * 60 + seconds,
        (None, [hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
        (Some(days), [hours]) => days * 86_400 + hours * 3600,
        (Some(days), [hours, minutes]) => days * 86_400 + hours * 3600 + minutes * 60,
        (Some(days), [hours, minutes, seconds]) => {
            days * 86_400 + hours * 3600 + minutes * 60 + seconds
        }
        _ => return None,
    };
    Some(TimeLimit::Of(Span::secs(secs)))
}

/// What [`parse_time_limit`] takes, in words for an error.
pub(crate) const TIME_LIMIT_FORMS: &str = "write minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED";

/// At most nine digits: years in seconds still fit everywhere.
fn number(text: &str) -> Option<u64> {
    let sound = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_in_every_form() {
        #[rustfmt::skip]
        let rows = [
            ("30",            Some(TimeLimit::Of(Span::mins(30)))),
            ("1:30",          Some(TimeLimit::Of(Span::secs(90)))),
            ("2:00:00",       Some(TimeLimit::Of(Span::hours(2)))),
            ("1-12",          Some(TimeLimit::Of(Span::hours(36)))),
            ("1-00:30",       Some(TimeLimit::Of(Span::mins(1470)))),
            ("1-00:00:01",    Some(TimeLimit::Of(Span::secs(86_401)))),
            ("UNLIMITED",     Some(TimeLimit::Unlimited)),
            ("infinite",      Some(TimeLimit::Unlimited)),
            ("",              None),
            ("1h",            None),
            ("1-2-3",         None),
            ("1:2:3:4",       None),
            ("99999999999",   None),
        ];
        for (text, limit) in rows {
            assert_eq!(parse_time_limit(text), limit, "{text}");
        }
    }
}

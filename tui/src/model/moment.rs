//! Moments and distances as people write them: `1h30m`, `00:10:00`, `+30s`.

use drawbridge_sim::{Span, Time};

/// What [`parse`] understands, for prompts and errors.
pub(crate) const EXAMPLES: &str = "1h30m, 00:10:00, 90 (seconds), +30s, -5m";

/// Reads a moment; with a sign it counts from `now`.
pub(crate) fn parse(text: &str, now: Time) -> Result<Time, String> {
    let text = text.trim();
    let unknown = || format!("`{text}` is no time; write {EXAMPLES}");
    let (sign, distance) = match text.split_at_checked(1) {
        Some((sign @ ("+" | "-"), rest)) => (sign, rest),
        Some(_) | None => ("", text),
    };
    let ms = distance_ms(distance.trim()).ok_or_else(unknown)?;
    Ok(match sign {
        "+" => now + Span::ms(ms),
        "-" => Time::from_ms(now.as_ms().saturating_sub(ms)),
        _ => Time::from_ms(ms),
    })
}

fn distance_ms(text: &str) -> Option<u64> {
    match text.contains(':') {
        true => clock_ms(text),
        false => units_ms(text),
    }
}

/// `[D-][HH:]MM:SS[.mmm]`.
fn clock_ms(text: &str) -> Option<u64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (number(days)?, clock),
        None => (0, text),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let parts = clock.split(':').map(number).collect::<Option<Vec<u64>>>()?;
    let (hours, mins, secs) = match parts[..] {
        [mins, secs] => (0, mins, secs),
        [hours, mins, secs] => (hours, mins, secs),
        _ => return None,
    };
    let hours = days.checked_mul(24)?.checked_add(hours)?;
    let mins = hours.checked_mul(60)?.checked_add(mins)?;
    let secs = mins.checked_mul(60)?.checked_add(secs)?;
    secs.checked_mul(1000)?.checked_add(fraction_ms(fraction)?)
}

/// Milliseconds of what follows the point: `5` is 500, `004` is 4.
fn fraction_ms(digits: &str) -> Option<u64> {
    match digits.len() {
        0 => Some(0),
        n @ 1..=3 => Some(number(digits)? * [100, 10, 1][n - 1]),
        _ => None,
    }
}

/// `1h30m`, `90s`, `250ms`; a bare number is seconds.
fn units_ms(text: &str) -> Option<u64> {
    let (mut rest, mut total) = (text, 0_u64);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (amount, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        total = total.checked_add(number(amount)?.checked_mul(unit_ms(unit)?)?)?;
        if tail.is_empty() {
            return Some(total);
        }
        rest = tail;
    }
}

fn unit_ms(unit: &str) -> Option<u64> {
    match unit.trim() {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    }
}

fn number(digits: &str) -> Option<u64> {
    digits.trim().parse().ok()
}

/// A run time as squeue prints it: `0:05`, `1:02:03`, `2-00:00:00`.
pub(crate) fn squeue(span: Span) -> String {
    let secs = span.as_secs();
    let (days, hours, mins) = (secs / 86_400, secs / 3600 % 24, secs / 60 % 60);
    let secs = secs % 60;
    match (days, hours) {
        (0, 0) => format!("{mins}:{secs:02}"),
        (0, hours) => format!("{hours}:{mins:02}:{secs:02}"),
        (days, hours) => format!("{days}-{hours:02}:{mins:02}:{secs:02}"),
    }
}

/// An age as kubectl prints it: `42s`, `5m10s`, `2h5m`, `3d4h`.
pub(crate) fn kubectl(span: Span) -> String {
    let secs = span.as_secs();
    let two = |big: u64, unit: char, small: u64, part: char| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{part}"),
    };
    match secs {
        0..120 => format!("{secs}s"),
        120..600 => two(secs / 60, 'm', secs % 60, 's'),
        600..10_800 => format!("{}m", secs / 60),
        10_800..28_800 => two(secs / 3600, 'h', secs / 60 % 60, 'm'),
        28_800..172_800 => format!("{}h", secs / 3600),
        172_800..691_200 => two(secs / 86_400, 'd', secs / 3600 % 24, 'h'),
        _ => format!("{}d", secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_write_them() {
        #[rustfmt::skip]
        let rows = [
            ("1h30m",        Some(5_400_000)),
            ("90",           Some(90_000)),
            ("250ms",        Some(250)),
            ("2d 1h",        Some(176_400_000)),
            ("10:00",        Some(600_000)),
            ("00:10:00",     Some(600_000)),
            ("00:00:01.5",   Some(1_500)),
            ("00:00:01.004", Some(1_004)),
            ("1-00:00:00",   Some(86_400_000)),
            ("+30s",         Some(90_000)),
            ("-30s",         Some(30_000)),
            ("-2m",          Some(0)),
            ("",             None),
            ("soon",         None),
            ("5x",           None),
            ("1:2:3:4",      None),
            ("99999999999999999999", None),
            ("é",            None),
            ("1h99999999999999999d", None),
        ];
        for (text, ms) in rows {
            let got = parse(text, Time::from_ms(60_000));
            assert_eq!(got.ok(), ms.map(Time::from_ms), "{text}");
        }
    }

    #[test]
    fn a_moment_that_is_none_says_what_would_be() {
        assert_eq!(
            parse("soon", Time::ZERO),
            Err("`soon` is no time; write 1h30m, 00:10:00, 90 (seconds), +30s, -5m".to_owned())
        );
    }

    #[test]
    fn run_times_print_as_in_squeue() {
        let rows = [(5, "0:05"), (3723, "1:02:03"), (172_800, "2-00:00:00")];
        for (secs, text) in rows {
            assert_eq!(squeue(Span::secs(secs)), text);
        }
    }

    #[test]
    fn ages_print_as_in_kubectl() {
        let rows = [
            (42, "42s"),
            (119, "119s"),
            (310, "5m10s"),
            (600, "10m"),
            (11_100, "3h5m"),
            (90_000, "25h"),
            (266_400, "3d2h"),
        ];
        for (secs, text) in rows {
            assert_eq!(kubectl(Span::secs(secs)), text);
        }
    }
}

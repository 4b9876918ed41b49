//! What the cells mean: moments, durations, counts, memory, trackable resources.

use jiff::{civil::DateTime, tz::TimeZone};

/// A value that the log knows, or doesn't.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<T> {
    Known(T),
    Unknown,
}

impl<T> Value<T> {
    pub(super) fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown => None,
        }
    }
}

/// What an amount of memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    Cpu,
    Node,
    Job,
}

/// The parts of a TRES list that a replay uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tres {
    pub(super) cpus: Option<u64>,
    pub(super) nodes: Option<u64>,
    pub(super) memory_mib: Option<u64>,
    pub(super) gpus: Option<u64>,
}

type Read<T> = Result<Value<T>, &'static str>;

fn unknown(text: &str) -> bool {
    let blank = ["", "unknown", "none", "n/a", "invalid", "partition_limit", "unlimited", "-1"];
    blank.contains(&text.to_ascii_lowercase().as_str())
}

/// `2026-01-01T08:55:55` (or a space for the `T`), or seconds since 1970; without a zone it is UTC.
pub(super) fn instant(text: &str) -> Read<u64> {
    let hint = "write 2026-01-31T08:00:00, seconds since 1970, or Unknown";
    if unknown(text) {
        return Ok(Value::Unknown);
    }
    if let Ok(secs) = text.parse::<u64>() {
        return Ok(Value::Known(secs));
    }
    let civil: DateTime = text.parse().map_err(|_| hint)?;
    let zoned = civil.to_zoned(TimeZone::UTC).map_err(|_| hint)?;
    u64::try_from(zoned.timestamp().as_second()).map(Value::Known).map_err(|_| hint)
}

/// `[days-]HH:MM:SS` or `MM:SS`, with or without a fraction.
pub(super) fn span(text: &str) -> Read<u64> {
    let hint = "write [days-]hours:minutes:seconds, or Unknown";
    if unknown(text) {
        return Ok(Value::Unknown);
    }
    let (days, clock) = text.split_once('-').map_or(("0", text), |(days, clock)| (days, clock));
    let clock = clock.split('.').next().unwrap_or_default();
    let mut secs = days.parse::<u64>().map_err(|_| hint)?;
    let parts: Vec<&str> = clock.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return Err(hint);
    }
    let hours = if parts.len() == 3 { parts[0].parse::<u64>().map_err(|_| hint)? } else { 0 };
    secs = secs.checked_mul(24).and_then(|days| days.checked_add(hours)).ok_or(hint)?;
    for part in &parts[parts.len() - 2..] {
        let part = part.parse::<u64>().map_err(|_| hint)?;
        secs = secs.checked_mul(60).and_then(|secs| secs.checked_add(part)).ok_or(hint)?;
    }
    Ok(Value::Known(secs))
}

/// Whole or decimal seconds.
pub(super) fn seconds(text: &str) -> Read<u64> {
    if unknown(text) {
        return Ok(Value::Unknown);
    }
    let whole = text.split('.').next().unwrap_or_default();
    whole.parse().map(Value::Known).map_err(|_| "write a number of seconds")
}

/// Whole minutes, in seconds.
pub(super) fn minutes(text: &str) -> Read<u64> {
    if unknown(text) {
        return Ok(Value::Unknown);
    }
    let minutes = text.parse::<u64>().ok().and_then(|minutes| minutes.checked_mul(60));
    minutes.map(Value::Known).ok_or("write a number of minutes")
}

/// A count, with `K` for a thousand as sacct shortens it.
pub(super) fn count(text: &str) -> Read<u64> {
    if unknown(text) {
        return Ok(Value::Unknown);
    }
    scaled(text, 1000).map(Value::Known).ok_or("write a whole number")
}

/// `4000M`, `2G`, and of older Slurms `2Gc` (each CPU) or `4Gn` (each node).
pub(super) fn memory(text: &str) -> Read<(u64, Per)> {
    if unknown(text) || text == "0" {
        return Ok(Value::Unknown);
    }
    let (amount, per) = match text.as_bytes().last() {
        Some(b'c') => (&text[..text.len() - 1], Per::Cpu),
        Some(b'n') => (&text[..text.len() - 1], Per::Node),
        _ => (text, Per::Job),
    };
    let mib = mebibytes(amount).ok_or("write an amount of memory: 4000M, 16G")?;
    Ok(Value::Known((mib, per)))
}

/// `cpu=4,mem=16G,node=2,gres/gpu=1,billing=4`.
pub(super) fn tres(text: &str) -> Read<Tres> {
    let hint = "write a list of resources: cpu=4,mem=16G,node=1";
    if unknown(text) {
        return Ok(Value::Unknown);
    }
    let mut tres = Tres::default();
    for word in text.split(',') {
        let (key, value) = word.split_once('=').ok_or(hint)?;
        match key {
            "cpu" => tres.cpus = Some(scaled(value, 1000).ok_or(hint)?),
            "node" => tres.nodes = Some(scaled(value, 1000).ok_or(hint)?),
            "gres/gpu" => tres.gpus = Some(scaled(value, 1000).ok_or(hint)?),
            "mem" => tres.memory_mib = Some(mebibytes(value).ok_or(hint)?),
            _ => {}
        }
    }
    Ok(Value::Known(tres))
}

fn mebibytes(text: &str) -> Option<u64> {
    let (number, bytes_per) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 1_u64 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        b'T' => (&text[..text.len() - 1], 1 << 40),
        _ => (text, 1 << 20),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = fraction
        .as_bytes()
        .first()
        .map_or(Some(0), |digit| digit.is_ascii_digit().then(|| u64::from(digit - b'0')))?;
    let bytes = whole.parse::<u64>().ok()?.checked_mul(bytes_per)?;
    Some((bytes.checked_add(bytes_per / 10 * tenths)?) >> 20)
}

fn scaled(text: &str, thousand: u64) -> Option<u64> {
    let (number, factor) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], thousand),
        b'M' => (&text[..text.len() - 1], thousand * thousand),
        _ => (text, 1),
    };
    let whole = number.split('.').next()?;
    whole.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_sacct_prints_them() {
        #[rustfmt::skip]
        let rows = [
            ("00:00:05", Some(5)), ("10:00", Some(600)), ("1-02:03:04", Some(93_784)),
            ("00:01.500", Some(1)), ("UNLIMITED", None), ("Partition_Limit", None), ("", None),
        ];
        for (text, secs) in rows {
            assert_eq!(span(text).unwrap().known(), secs, "{text}");
        }
        for text in ["5", "a:b", "1:2:3:4", "1-"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_read_in_each_spelling() {
        #[rustfmt::skip]
        let rows = [
            ("1970-01-02T00:00:00", Some(86_400)), ("1970-01-02 00:00:01", Some(86_401)),
            ("123", Some(123)), ("Unknown", None), ("None", None),
        ];
        for (text, secs) in rows {
            assert_eq!(instant(text).unwrap().known(), secs, "{text}");
        }
        assert!(instant("yesterday").is_err());
        assert!(instant("1969-01-01T00:00:00").is_err());
    }

    #[test]
    fn memory_and_resources_are_read() {
        assert_eq!(memory("4000M").unwrap().known(), Some((4000, Per::Job)));
        assert_eq!(memory("2Gc").unwrap().known(), Some((2048, Per::Cpu)));
        assert_eq!(memory("1.5Gn").unwrap().known(), Some((1535, Per::Node)));
        let all = tres("billing=4,cpu=4,gres/gpu=2,mem=16G,node=1").unwrap().known().unwrap();
        assert_eq!(
            (all.cpus, all.gpus, all.memory_mib, all.nodes),
            (Some(4), Some(2), Some(16_384), Some(1))
        );
        assert!(tres("cpu").is_err());
    }
}

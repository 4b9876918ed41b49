//! Values: numbers, yes and no, times, hostlists, each wrong one with what would be right.

use crate::{Span, TimeLimit, expand_hostlist, parse_time_limit, time_spec::TIME_LIMIT_FORMS};

use super::{ConfError, line::Word};

/// Most memory that anything may name, MiB: sums over all nodes still fit.
const MEMORY_MAX: u64 = 1 << 50;

pub(super) fn number<T: std::str::FromStr>(word: &Word) -> Result<T, ConfError> {
    let digits = !word.value.is_empty() && word.value.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| word.value.parse().ok())
        .flatten()
        .ok_or_else(|| word.bad("write a whole number that isn't negative"))
}

/// A number of at least 1.
pub(super) fn positive(word: &Word) -> Result<u32, ConfError> {
    match number(word)? {
        0 => Err(word.bad("write a whole number of at least 1")),
        n => Ok(n),
    }
}

/// A number from 1 to `most`.
pub(super) fn up_to(word: &Word, most: u32) -> Result<u32, ConfError> {
    positive(word).and_then(|n| if n <= most { Ok(n) } else { Err(too_large(word, most)) })
}

/// A number of at most `most`.
pub(super) fn at_most(word: &Word, most: u32) -> Result<u32, ConfError> {
    number(word).and_then(|n: u64| {
        u32::try_from(n).ok().filter(|n| *n <= most).ok_or_else(|| too_large(word, most))
    })
}

fn too_large(word: &Word, most: impl std::fmt::Display) -> ConfError {
    let what = format!("{}={} is too large", word.key, word.value);
    word.value_place.error(what, format!("write at most {most}"))
}

pub(super) fn yes_no(word: &Word) -> Result<bool, ConfError> {
    match word.value.to_ascii_lowercase().as_str() {
        "yes" | "1" | "true" => Ok(true),
        "no" | "0" | "false" => Ok(false),
        _ => Err(word.bad("write YES or NO")),
    }
}

pub(super) fn seconds(word: &Word) -> Result<Span, ConfError> {
    number(word).map(Span::secs)
}

/// A limit in Slurm's time format; `None` is without one.
pub(super) fn limit(word: &Word) -> Result<Option<Span>, ConfError> {
    match parse_time_limit(&word.value) {
        Some(TimeLimit::Of(span)) => Ok(Some(span)),
        Some(TimeLimit::Unlimited) => Ok(None),
        None => Err(word.bad(TIME_LIMIT_FORMS)),
    }
}

/// A count; `None` for UNLIMITED.
pub(super) fn count_or_unlimited(word: &Word) -> Result<Option<u32>, ConfError> {
    if is_unlimited(word) { Ok(None) } else { number(word).map(Some) }
}

/// Memory in MB; `None` for UNLIMITED.
pub(super) fn megabytes_or_unlimited(word: &Word) -> Result<Option<u64>, ConfError> {
    if is_unlimited(word) { Ok(None) } else { megabytes(word).map(Some) }
}

fn is_unlimited(word: &Word) -> bool {
    ["unlimited", "infinite", "-1"].contains(&word.value.to_ascii_lowercase().as_str())
}

/// Memory in MB, with or without a suffix.
pub(super) fn megabytes(word: &Word) -> Result<u64, ConfError> {
    match parse_megabytes(&word.value) {
        Some(mib) if mib <= MEMORY_MAX => Ok(mib),
        Some(_) => Err(too_large(word, MEMORY_MAX)),
        None => Err(word.bad("write megabytes, such as 64000")),
    }
}

/// `64000`, `64000M`, `64G`, `1T`, `512K`: in MB, rounded up.
pub(crate) fn parse_megabytes(text: &str) -> Option<u64> {
    let upper = text.to_ascii_uppercase();
    let upper = upper.strip_suffix('B').unwrap_or(&upper);
    let end = upper.find(|c: char| !c.is_ascii_digit()).unwrap_or(upper.len());
    let (digits, suffix) = upper.split_at(end);
    let amount: u64 = digits.parse().ok()?;
    match suffix {
        "K" => Some(amount.div_ceil(1024)),
        "" | "M" => Some(amount),
        "G" => amount.checked_mul(1024),
        "T" => amount.checked_mul(1024 * 1024),
        _ => None,
    }
}

pub(super) fn hostlist(word: &Word) -> Result<Vec<String>, ConfError> {
    expand_hostlist(&word.value).map_err(|error| {
        word.value_place.error(error.to_string(), "write names such as `n[001-032],login`")
    })
}

/// One of a few words; the index of the one that it is.
pub(super) fn one_of(word: &Word, known: &[&str]) -> Result<usize, ConfError> {
    known
        .iter()
        .position(|name| name.eq_ignore_ascii_case(&word.value))
        .ok_or_else(|| word.bad(format!("write one of {}", known.join(", "))))
}

//! Amounts as Kubernetes writes them: `500m`, `8Gi`, `1e3`.
//!
//! Kept exactly, in billionths. What is finer is rounded up, as the API server does, and so is
//! every conversion: Slurm counts whole CPUs and whole MiB, and less than was asked for would be
//! wrong.

use std::{fmt, ops};

/// An amount that isn't negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nano: i128,
}

/// Why a quantity can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a number with a known suffix.
    #[error(
        "`{0}` is no quantity: a number, then nothing or one of m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei"
    )]
    Malformed(String),
    /// Below zero.
    #[error("`{0}` is negative")]
    Negative(String),
    /// Beyond what Kubernetes itself can hold.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

const UNIT: i128 = 1_000_000_000;
const MIB: i128 = 1 << 20;
/// Kubernetes caps amounts at 2^63 - 1.
const NANO_MAX: i128 = i64::MAX as i128 * UNIT;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nano: 0 };

    /// So many whole units.
    pub const fn units(units: u64) -> Self {
        Self { nano: units as i128 * UNIT }
    }

    /// Reads `500m`, `0.5`, `8Gi`, `12e6`.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let malformed = || QuantityError::Malformed(text.into());
        let body = text.strip_prefix('+').unwrap_or(text);
        if let Some(positive) = body.strip_prefix('-') {
            return match Self::parse(positive) {
                Ok(zero) if zero.is_zero() => Ok(zero),
                Ok(_) => Err(QuantityError::Negative(text.into())),
                Err(_) => Err(malformed()),
            };
        }
        let end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
        let (number, suffix) = body.split_at(end);
        let (digits, places) = mantissa(number).ok_or_else(malformed)?;
        let scale = Scale::parse(suffix).ok_or_else(malformed)?;
        let nano = scale
            .apply(digits, places)
            .filter(|nano| *nano <= NANO_MAX)
            .ok_or_else(|| QuantityError::TooLarge(text.into()))?;
        Ok(Self { nano })
    }

    /// Whole units, rounded up: `500m` is 1.
    pub fn ceil_units(self) -> u64 {
        self.ceil(UNIT)
    }

    /// Whole MiB, rounded up.
    pub fn ceil_mib(self) -> u64 {
        self.ceil(UNIT * MIB)
    }

    /// Whole units, rounded down: `3900m` is 3.
    pub fn floor_units(self) -> u64 {
        self.floor(UNIT)
    }

    /// Whole MiB, rounded down.
    pub fn floor_mib(self) -> u64 {
        self.floor(UNIT * MIB)
    }

    /// Thousandths, rounded up.
    pub fn milli(self) -> u64 {
        self.ceil(UNIT / 1000)
    }

    /// How often `each` fits into what is left of this once `taken` is.
    pub fn times_above(self, taken: Self, each: Self) -> u64 {
        let left = (self.nano - taken.nano).max(0);
        let times = left.checked_div(each.nano).unwrap_or(i128::MAX);
        u64::try_from(times).unwrap_or(u64::MAX)
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.nano == 0
    }

    fn floor(self, step: i128) -> u64 {
        u64::try_from(self.nano / step).unwrap_or(u64::MAX)
    }

    fn ceil(self, step: i128) -> u64 {
        u64::try_from((self.nano + step - 1) / step).unwrap_or(u64::MAX)
    }
}

impl ops::Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { nano: self.nano.saturating_add(other.nano) }
    }
}

impl std::iter::Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, ops::Add::add)
    }
}

/// Plain decimal, in the largest unit of `n`, `u`, `m` or none that keeps it whole.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, suffix) = [(UNIT, ""), (1_000_000, "m"), (1000, "u")]
            .into_iter()
            .find(|(unit, _)| self.nano % unit == 0)
            .map_or((self.nano, "n"), |(unit, suffix)| (self.nano / unit, suffix));
        write!(f, "{value}{suffix}")
    }
}

/// What the suffix multiplies by: 2^shift or 10^exponent.
enum Scale {
    Binary(u32),
    Decimal(i32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        let decimal = |exponent| Some(Self::Decimal(exponent));
        match suffix {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => Some(Self::Binary(10)),
            "Mi" => Some(Self::Binary(20)),
            "Gi" => Some(Self::Binary(30)),
            "Ti" => Some(Self::Binary(40)),
            "Pi" => Some(Self::Binary(50)),
            "Ei" => Some(Self::Binary(60)),
            _ => suffix
                .strip_prefix(['e', 'E'])?
                .parse()
                .ok()
                .filter(|exponent: &i32| (-100..=100).contains(exponent))
                .map(Self::Decimal),
        }
    }

    /// `digits / 10^places` of this scale in billionths, rounded up; `None` if it doesn't fit.
    fn apply(self, digits: i128, places: i32) -> Option<i128> {
        match self {
            Self::Decimal(exponent) => shift10(digits, exponent + 9 - places),
            Self::Binary(shift) => {
                let whole = digits.checked_mul(1_i128 << shift)?;
                shift10(whole, 9 - places)
            }
        }
    }
}

/// `value * 10^by`, rounded up.
fn shift10(value: i128, by: i32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    match u32::try_from(by) {
        Ok(up) => value.checked_mul(10_i128.checked_pow(up)?),
        Err(_) => match 10_i128.checked_pow(by.unsigned_abs()) {
            Some(divisor) => Some((value + divisor - 1) / divisor),
            None => Some(1),
        },
    }
}

/// Digits without the point, and how many stood behind it.
fn mantissa(number: &str) -> Option<(i128, i32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let sound = number.bytes().any(|byte| byte.is_ascii_digit()) && !fraction.contains('.');
    // So many digits fit an i128 with every suffix that doesn't make them too large anyway.
    if !sound || 28 < whole.len() + fraction.len() {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let digits = if digits.is_empty() { "0" } else { &digits };
    Some((digits.parse().ok()?, i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        #[rustfmt::skip]
        let rows = [
            // text      units          milli               MiB
            ("0",            0,              0,               0),
            ("1",            1,           1000,               1),
            ("500m",         1,            500,               1),
            ("1500m",        2,           1500,               1),
            ("0.1",          1,            100,               1),
            (".5",           1,            500,               1),
            ("1.",           1,           1000,               1),
            ("100u",         1,              1,               1),
            ("1n",           1,              1,               1),
            ("2k",        2000,      2_000_000,               1),
            ("8Gi", 8_589_934_592, 8_589_934_592_000,      8192),
            ("1.5Gi", 1_610_612_736, 1_610_612_736_000,    1536),
            ("100Mi", 104_857_600, 104_857_600_000,         100),
            ("100M",  100_000_000, 100_000_000_000,          96),
            ("1e3",       1000,      1_000_000,               1),
            ("1E3",       1000,      1_000_000,               1),
            ("12e-1",        2,           1200,               1),
            ("1Ki",       1024,      1_024_000,               1),
            ("+3",           3,           3000,               1),
            ("-0",           0,              0,               0),
        ];
        for (text, units, milli, mib) in rows {
            let amount = Quantity::parse(text).unwrap();
            let found = (amount.ceil_units(), amount.milli(), amount.ceil_mib());
            assert_eq!(found, (units, milli, mib), "{text}");
        }
    }

    #[test]
    fn every_suffix_has_its_size() {
        #[rustfmt::skip]
        let rows = [
            ("1k", 1_000), ("1M", 1_000_000), ("1G", 1_000_000_000), ("1T", 1_000_000_000_000),
            ("1P", 1_000_000_000_000_000), ("1E", 1_000_000_000_000_000_000),
            ("1Ki", 1 << 10), ("1Mi", 1 << 20), ("1Gi", 1 << 30), ("1Ti", 1 << 40),
            ("1Pi", 1 << 50), ("1Ei", 1 << 60),
        ];
        for (text, units) in rows {
            assert_eq!(Quantity::parse(text).unwrap().ceil_units(), units, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "m", "1.2.3", "8 Gi", "8gi", "1K", "1e", "e3", "--1", "0x10", "1Mi5"] {
            let refused = Quantity::parse(text);
            assert!(matches!(refused, Err(QuantityError::Malformed(_))), "{text}");
        }
        assert!(matches!(Quantity::parse("-1"), Err(QuantityError::Negative(_))));
        assert!(matches!(Quantity::parse("100E"), Err(QuantityError::TooLarge(_))));
        assert!(matches!(Quantity::parse("1e99"), Err(QuantityError::TooLarge(_))));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(units in 0..u64::MAX / 4, milli in 0..1000_u64) {
            let half = Quantity::parse(&format!("{milli}m")).unwrap();
            let amount = Quantity::units(units) + half;
            prop_assert_eq!(Quantity::parse(&amount.to_string()).unwrap(), amount);
        }

        #[test]
        fn rounding_up_never_gives_less(milli in 0..10_000_000_u64) {
            let amount = Quantity::parse(&format!("{milli}m")).unwrap();
            prop_assert_eq!(amount.milli(), milli);
            prop_assert!(milli <= amount.ceil_units() * 1000);
            prop_assert!(amount.ceil_units() * 1000 < milli + 1000);
        }

        #[test]
        fn no_text_makes_parsing_panic(text in "[-+]?[0-9.]{0,24}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,4}") {
            let _ = Quantity::parse(&text);
        }
    }
}

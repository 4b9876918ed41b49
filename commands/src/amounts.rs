//! Amounts with units, as Slurm shortens them: `1000M`, `16G`, `2.50T`.

/// The unit that an amount is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// None.
    None,
    /// KiB.
    Kilo,
    /// MiB.
    Mega,
    /// GiB.
    Giga,
    /// TiB.
    Tera,
    /// PiB.
    Peta,
}

/// When an amount gets a larger unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shorten {
    /// While nothing is lost; a half is fine.
    #[default]
    Exactly,
    /// As far as possible.
    Always,
    /// Never.
    Never,
}

const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "?"];

impl Unit {
    /// The unit of this letter.
    pub fn of(letter: char) -> Option<Self> {
        let letter = letter.to_ascii_uppercase();
        let all = [Self::Kilo, Self::Mega, Self::Giga, Self::Tera, Self::Peta];
        all.into_iter().find(|unit| UNITS[*unit as usize].starts_with(letter))
    }
}

/// Writes an amount.
pub fn amount(number: f64, unit: Unit, shorten: Shorten) -> String {
    let (mut number, mut unit) = (number, unit as usize);
    if (number as i64) == 0 {
        return "0".to_owned();
    }
    let goes_on = |number: f64| match shorten {
        Shorten::Exactly => 1024.0 <= number && (number as u64).is_multiple_of(512),
        Shorten::Always => 1024.0 <= number,
        Shorten::Never => false,
    };
    while goes_on(number) {
        number /= 1024.0;
        unit += 1;
    }
    write(number, unit)
}

/// Writes an amount in this unit, whatever is lost.
pub fn amount_in(number: f64, unit: Unit, wanted: Unit) -> String {
    if (number as i64) == 0 {
        return "0".to_owned();
    }
    let steps = wanted as i32 - unit as i32;
    write(number * 1024f64.powi(-steps), wanted as usize)
}

fn write(number: f64, unit: usize) -> String {
    let unit = UNITS[unit.min(UNITS.len() - 1)];
    let whole = number as u64;
    if whole as f64 == number { format!("{whole}{unit}") } else { format!("{number:.2}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shortened_while_nothing_is_lost() {
        let rows = [
            (0.0, Unit::Mega, Shorten::Exactly, "0"),
            (1000.0, Unit::Mega, Shorten::Exactly, "1000M"),
            (1024.0, Unit::Mega, Shorten::Exactly, "1G"),
            (1536.0, Unit::Mega, Shorten::Exactly, "1.50G"),
            (1600.0, Unit::Mega, Shorten::Exactly, "1600M"),
            (1600.0, Unit::Mega, Shorten::Always, "1.56G"),
            (2048.0, Unit::Mega, Shorten::Never, "2048M"),
            (8.0, Unit::None, Shorten::Exactly, "8"),
            (2048.0, Unit::None, Shorten::Exactly, "2K"),
        ];
        for (number, unit, shorten, expected) in rows {
            assert_eq!(amount(number, unit, shorten), expected, "{number}");
        }
        assert_eq!(amount_in(1600.0, Unit::Mega, Unit::Giga), "1.56G");
        assert_eq!(amount_in(2.0, Unit::Giga, Unit::Kilo), "2097152K");
    }
}

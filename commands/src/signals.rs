//! Signals by name and number, as Slurm's commands take them.

const NAMES: &[(&str, u32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// The signal that a user means: `USR1`, `SIGUSR1`, `10`; as slurmrestd takes it.
pub fn named(text: &str) -> Option<String> {
    if let Ok(number) = text.parse::<u32>() {
        return (0 < number && number < 128)
            .then(|| name(number).unwrap_or_else(|| text.to_owned()));
    }
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    NAMES.iter().find(|(name, _)| *name == bare).map(|(name, _)| (*name).to_owned())
}

fn name(number: u32) -> Option<String> {
    NAMES.iter().find(|(_, known)| *known == number).map(|(name, _)| (*name).to_owned())
}

/// The number of a signal that [`named`] gave.
pub fn number(name: &str) -> Option<u32> {
    let by_name = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    by_name.or_else(|| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_and_numbers() {
        let rows = [
            ("USR1", Some("USR1")),
            ("sigterm", Some("TERM")),
            ("9", Some("KILL")),
            ("64", Some("64")),
            ("0", None),
            ("NOPE", None),
        ];
        for (text, expected) in rows {
            assert_eq!(named(text).as_deref(), expected, "{text}");
        }
        assert_eq!(number("USR2"), Some(12));
    }
}

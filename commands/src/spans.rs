//! Lengths of time, in each of the forms that Slurm's commands have.

const YEAR: i64 = 365 * 86_400;

/// `0:05`, `12:03`, `1:02:03`, `1-02:03:04`: `squeue` and `sinfo`.
pub fn brief(secs: i64) -> String {
    let (days, hours, minutes, seconds) = parts(secs);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (days, hours) => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// The same, for what can't be less than nothing nor more than a year.
pub fn brief_or_invalid(secs: i64) -> String {
    if (0..=YEAR).contains(&secs) { brief(secs) } else { "INVALID".to_owned() }
}

/// `00:00:05`, `1-02:03:04`: everybody else.
pub fn full(secs: i64) -> String {
    let (days, hours, minutes, seconds) = parts(secs);
    match days {
        _ if secs < 0 => "INVALID".to_owned(),
        0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        days => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

fn parts(secs: i64) -> (i64, i64, i64, i64) {
    (secs / 86_400, secs / 3600 % 24, secs / 60 % 60, secs % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_its_form() {
        let rows = [
            (0, "0:00", "00:00:00"),
            (65, "1:05", "00:01:05"),
            (3723, "1:02:03", "01:02:03"),
            (93_784, "1-02:03:04", "1-02:03:04"),
        ];
        for (secs, short, long) in rows {
            assert_eq!((brief(secs).as_str(), full(secs).as_str()), (short, long));
        }
        assert_eq!(brief_or_invalid(-1), "INVALID");
        assert_eq!(brief_or_invalid(YEAR + 1), "INVALID");
        assert_eq!(full(-5), "INVALID");
    }
}

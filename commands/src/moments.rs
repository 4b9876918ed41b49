//! Moments as Slurm prints them: local time, `2026-11-16T16:45:24`, or as `SLURM_TIME_FORMAT` says.

use jiff::{Timestamp, Zoned, fmt::strtime, tz::TimeZone};

use crate::shell::Shell;

/// What is needed to print a moment.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: TimeZone,
    /// Seconds since the epoch.
    pub now: i64,
    style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Style {
    Standard,
    Relative,
    Own(String),
}

/// The longest pattern that Slurm takes.
const PATTERN_MAX: usize = 31;

impl Clock {
    /// The shell's clock now. Complains of a pattern that can't be used.
    pub fn of(shell: &mut Shell<'_>) -> Self {
        let pattern = shell.var("SLURM_TIME_FORMAT").unwrap_or("standard").to_owned();
        let style = match pattern.as_str() {
            "standard" => Style::Standard,
            "relative" => Style::Relative,
            own if own.contains('%') && own.len() <= PATTERN_MAX => Style::Own(own.to_owned()),
            wrong => {
                shell.error(&format!("invalid SLURM_TIME_FORMAT = '{wrong}'"));
                Style::Standard
            }
        };
        Self { zone: shell.zone.clone(), now: shell.world.now(), style }
    }

    /// Writes a moment; one that isn't known is 0.
    pub fn show(&self, secs: i64) -> String {
        let Some(when) = self.zoned(secs).filter(|_| secs != 0) else {
            return "Unknown".to_owned();
        };
        let pattern = match &self.style {
            Style::Standard => "%FT%T",
            Style::Relative => self.relative(&when),
            Style::Own(pattern) => pattern,
        };
        strtime::format(pattern, &when).unwrap_or_else(|_| pattern.to_owned())
    }

    /// Writes a moment, or this word if it isn't known.
    pub fn show_or(&self, secs: i64, unknown: &str) -> String {
        if secs == 0 { unknown.to_owned() } else { self.show(secs) }
    }

    /// Writes a moment as `date` does: `Mon Nov 16 16:45:25 2026`.
    pub fn date(&self, secs: i64) -> String {
        self.zoned(secs)
            .and_then(|when| strtime::format("%a %b %d %H:%M:%S %Y", &when).ok())
            .unwrap_or_default()
    }

    /// A moment in local time.
    pub fn zoned(&self, secs: i64) -> Option<Zoned> {
        Timestamp::from_second(secs).ok().map(|moment| moment.to_zoned(self.zone.clone()))
    }

    /// The zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The pattern for a day so far away: the nearer, the less has to be said.
    fn relative(&self, when: &Zoned) -> &'static str {
        let day =
            |moment: &Zoned| 1000 * i32::from(moment.year()) + i32::from(moment.day_of_year());
        let Some(today) = self.zoned(self.now) else { return "%FT%T" };
        match day(when) - day(&today) {
            -1 => "Ystday %H:%M",
            0 => "%H:%M:%S",
            1 => "Tomorr %H:%M",
            2..=6 => "%a %H:%M",
            -365..=365 => "%-d %b %H:%M",
            _ => "%-d %b %Y",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_three_styles() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let clock = |style| Clock { zone: zone.clone(), now: 1_794_847_600, style };
        let at = 1_794_847_600;
        assert_eq!(clock(Style::Standard).show(at), "2026-11-16T17:46:40");
        assert_eq!(clock(Style::Standard).show(0), "Unknown");
        let relative = clock(Style::Relative);
        let rows = [
            (0, "17:46:40"),
            (86_400, "Tomorr 17:46"),
            (-86_400, "Ystday 17:46"),
            (4 * 86_400, "Fri 17:46"),
            (-4 * 86_400, "12 Nov 17:46"),
            (400 * 86_400, "21 Dec 2027"),
        ];
        for (away, expected) in rows {
            assert_eq!(relative.show(at + away), expected);
        }
        assert_eq!(clock(Style::Own("%H.%M".into())).show(at), "17.46");
        assert_eq!(clock(Style::Standard).date(at), "Mon Nov 16 17:46:40 2026");
    }
}

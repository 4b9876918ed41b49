//! Values that are more than text or a number: times, signals, switches, lists of nodes.

use drawbridge_sim::{
    Epoch, Signal, SlurmNode, Span, Time, TimeLimit, expand_hostlist, parse_time_limit,
};

use crate::slurm::{Switches, WarningSignal};

/// A point in time as somebody wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Seconds since 1970.
    At(u64),
    /// So long after the pod was created.
    After(Span),
}

impl Moment {
    /// In seconds since 1970, for a pod that was created at `created`.
    pub(crate) fn unix(self, created: u64) -> u64 {
        match self {
            Self::At(secs) => secs,
            Self::After(span) => created.saturating_add(span.as_secs()),
        }
    }
}

/// `2026-01-02T08:00:00Z`, `now`, `now+90`, `now+2hours`.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let Some(rest) = text.strip_prefix("now") else {
        return Epoch::parse(text).ok().map(|at| Moment::At(at.unix(Time::ZERO)));
    };
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(Moment::After(Span::ZERO));
    }
    let rest = rest.strip_prefix('+')?.trim();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (count, unit) = rest.split_at(digits);
    let count = count.parse::<u32>().ok()?;
    let secs = match unit.trim() {
        "" | "second" | "seconds" => 1,
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3_600,
        "day" | "days" => 86_400,
        "week" | "weeks" => 604_800,
        _ => return None,
    };
    Some(Moment::After(Span::secs(u64::from(count) * secs)))
}

/// `TERM@300`; without seconds Slurm's 60.
pub(super) fn signal(text: &str) -> Option<WarningSignal> {
    let (name, secs) = text.split_once('@').unwrap_or((text, "60"));
    let seconds_before = secs.parse().ok().filter(|secs| *secs <= u32::from(u16::MAX))?;
    Some(WarningSignal { signal: Signal::parse(name)?.name().into(), seconds_before })
}

/// `1`, or `1@01:00:00`.
pub(super) fn switches(text: &str) -> Option<Switches> {
    let (count, wait) = match text.split_once('@') {
        Some((count, wait)) => (count, Some(wait)),
        None => (text, None),
    };
    let wait = wait.map(|wait| match parse_time_limit(wait)? {
        TimeLimit::Of(span) => u32::try_from(span.as_secs()).ok(),
        TimeLimit::Unlimited => None,
    });
    let wait_seconds = match wait {
        None => None,
        Some(wait) => Some(wait?),
    };
    Some(Switches { count: count.parse().ok().filter(|count| *count > 0)?, wait_seconds })
}

/// `n[1-4],n9`.
pub(super) fn nodes(text: &str) -> Option<Vec<SlurmNode>> {
    let names = expand_hostlist(text).ok().filter(|names| !names.is_empty())?;
    Some(names.into_iter().map(SlurmNode::from).collect())
}

/// Between ±2147483645, as sbatch has it.
pub(super) fn nice(text: &str) -> Option<i32> {
    text.parse::<i32>().ok().filter(|nice| nice.unsigned_abs() <= 2_147_483_645)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_a_zone_or_count_from_the_pods_creation() {
        #[rustfmt::skip]
        let rows = [
            ("2026-01-01T00:00:10Z",      Some(1_767_225_610)),
            ("2026-01-01T01:00:10+01:00", Some(1_767_225_610)),
            ("now",                       Some(1000)),
            ("now+90",                    Some(1090)),
            ("now + 2hours",              Some(8200)),
            ("now+1week",                 Some(605_800)),
            ("2026-01-01T00:00:10",       None),
            ("now-5",                     None),
            ("now+2fortnights",           None),
            ("tomorrow",                  None),
        ];
        for (text, expected) in rows {
            assert_eq!(moment(text).map(|moment| moment.unix(1000)), expected, "{text}");
        }
    }

    #[test]
    fn signals_and_switches_are_read_as_sbatch_reads_them() {
        let read = |text| signal(text).map(|it| (it.signal, it.seconds_before));
        assert_eq!(read("sigterm@300"), Some(("TERM".into(), 300)));
        assert_eq!(read("10"), Some(("USR1".into(), 60)));
        assert_eq!((read("B:USR1@300"), read("TERM@70000"), read("NONE")), (None, None, None));
        let read = |text| switches(text).map(|it| (it.count, it.wait_seconds));
        assert_eq!(read("2"), Some((2, None)));
        assert_eq!(read("1@01:00:00"), Some((1, Some(3600))));
        assert_eq!((read("0"), read("1@"), read("1@UNLIMITED")), (None, None, None));
    }
}

//! `update_time`: only what is newer than this.

use drawbridge_sim::{Epoch, Time};

use super::{
    api::Version,
    call::Call,
    reply::{Reply, Trouble},
};

/// Slurm doesn't believe in times before this one.
const EARLIEST: u64 = 1_000_000;

impl Call<'_> {
    /// `update_time` in seconds since 1970: `uts1794789398`, `now`, a date, and from v0.0.42 on a plain
    /// number. What can't be read is refused with this status and these words.
    pub(super) fn update_time(
        &self,
        status: u16,
        rejected: &str,
        source: &str,
    ) -> Result<Option<u64>, Reply> {
        let Some(text) = self.request.query("update_time") else {
            return Ok(None);
        };
        let since = self.moment(text);
        since.map(Some).map_err(|trouble| {
            Reply::refused(status, trouble).error(status, Trouble::query(rejected, source))
        })
    }

    /// A moment, in seconds since 1970.
    pub(super) fn moment(&self, text: &str) -> Result<u64, Trouble> {
        self.moment_of("update_time", text)
    }

    /// The same, of another parameter.
    pub(super) fn moment_of(&self, key: &str, text: &str) -> Result<u64, Trouble> {
        if text.is_empty() {
            return Err(unreadable(key, "Invalid or unset timestamp value".into()));
        }
        let plain = text.parse::<i64>().ok().filter(|_| Version::V42 <= self.version());
        let known = plain.map(|seconds| u64::try_from(seconds).unwrap_or(0));
        let known = known
            .or_else(|| text.strip_prefix("uts")?.parse().ok().filter(|secs| EARLIEST <= *secs));
        let known = known.or_else(|| (text == "now").then(|| self.unix(self.now)));
        let known = known.or_else(|| date(text));
        known.ok_or_else(|| unreadable(key, format!("Parsing of {text} for timestamp failed")))
    }

    /// When jobs last changed. Who keeps no such time says that it was just now: a client sees too
    /// much and misses nothing.
    pub(super) fn jobs_changed(&self) -> u64 {
        self.unix(self.memory.map_or(self.now, |memory| memory.jobs_changed))
    }

    /// When nodes last changed.
    pub(super) fn nodes_changed(&self) -> u64 {
        self.unix(self.memory.map_or(self.now, |memory| memory.nodes_changed))
    }

    /// When partitions last changed; those that nobody changes are as old as the run.
    pub(super) fn partitions_changed(&self) -> u64 {
        self.unix(self.memory.map_or(Time::ZERO, |memory| memory.partitions_changed))
    }
}

fn unreadable(key: &str, description: String) -> Trouble {
    Trouble {
        number: 9202,
        text: "Unable to convert Data type".into(),
        description,
        source: format!("#/{key}/"),
    }
}

/// `2026-11-16`, with or without `T00:36:38`.
fn date(text: &str) -> Option<u64> {
    let whole = if text.contains('T') { format!("{text}Z") } else { format!("{text}T00:00:00Z") };
    Epoch::parse(&whole).ok().map(|epoch| epoch.unix(Time::ZERO))
}

/// A moment as slurmrestd prints it in texts: `2026-11-16T00:36:38`.
pub(super) fn calendar(seconds: u64) -> String {
    let text = Epoch::from_unix(seconds).rfc3339(Time::ZERO);
    text.trim_end_matches('Z').to_owned()
}

//! Probes: when a container is found started, ready, or hung.
//!
//! ```text
//!   start ──delay──▶ probe ──period──▶ probe ──period──▶ probe …
//! ```
//!
//! The program answers from `ready` to `hang` after its start; the rest is arithmetic.

use drawbridge_sim::{Span, Time};
use serde_json::Value;

use super::super::{behaviour::Program, object::count};

/// The probes of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Probes {
    startup: Option<Probe>,
    readiness: Option<Probe>,
    liveness: Option<Probe>,
}

/// One probe, as the manifest writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    delay: Span,
    period: Span,
    successes: u64,
    failures: u64,
    /// How long a container that fails it may take to end, if not as long as its pod says.
    grace: Option<Span>,
}

/// What the probes will find, unless the container ends before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    /// When it counts as started.
    pub(crate) started: Option<Time>,
    /// When it becomes ready.
    pub(crate) ready: Option<Time>,
    /// When it's found unready again.
    pub(crate) unready: Option<Time>,
    /// When it's killed, and because of which probe.
    pub(crate) killed: Option<(Time, Kind)>,
    /// The grace that the probe gives.
    pub(crate) grace: Option<Span>,
}

/// Which probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Startup,
    Liveness,
}

impl Kind {
    /// As events name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
        }
    }
}

impl Probes {
    /// The probes of a container; none if it has none.
    pub(crate) fn read(container: &Value) -> Option<Box<Self>> {
        let all = Self {
            startup: Probe::read(&container["startupProbe"]),
            readiness: Probe::read(&container["readinessProbe"]),
            liveness: Probe::read(&container["livenessProbe"]),
        };
        (all != Self::default()).then(|| Box::new(all))
    }

    /// What they find of a container that starts at `since`.
    pub(crate) fn find(&self, since: Time, program: &Program) -> Health {
        let answers = since + program.ready;
        let hangs = program.hang.map(|hang| since + hang);
        let up = |at: Time| answers <= at && hangs.is_none_or(|hangs| at < hangs);
        let started = match self.startup {
            None => since,
            Some(probe) => match probe.first(since, since, probe.failures, up) {
                Ok(at) => at,
                Err(failed) => {
                    let killed = Some((failed, Kind::Startup));
                    return Health { killed, grace: probe.grace, ..Health::default() };
                }
            },
        };
        let mut health = Health { started: Some(started), ..Health::default() };
        health.ready = match self.readiness {
            None => Some(started),
            Some(probe) => probe
                .first(since, started, u64::MAX, up)
                .ok()
                .map(|at| at + probe.period.times(probe.successes - 1)),
        };
        if let (Some(probe), Some(hangs)) = (self.readiness, hangs) {
            health.unready = Some(probe.given_up(since, hangs.max(started)));
        }
        if let Some(probe) = self.liveness {
            health.grace = probe.grace;
            health.killed =
                probe.fails(since, started, answers, hangs).map(|at| (at, Kind::Liveness));
        }
        health
    }
}

impl Probe {
    fn read(probe: &Value) -> Option<Self> {
        let seconds = |key: &str, usual: u64| Span::secs(probe[key].as_u64().unwrap_or(usual));
        probe.is_object().then(|| Self {
            delay: seconds("initialDelaySeconds", 0),
            period: seconds("periodSeconds", 10).max(Span::secs(1)),
            successes: count(&probe["successThreshold"]).max(1),
            failures: probe["failureThreshold"].as_u64().unwrap_or(3).max(1),
            grace: probe["terminationGracePeriodSeconds"].as_u64().map(Span::secs),
        })
    }

    /// The first probe at `from` or later, of a container that started at `since`.
    fn at_or_after(self, since: Time, from: Time) -> Time {
        let first = since + self.delay;
        let behind = from.since(first).as_ms().div_ceil(self.period.as_ms());
        first + self.period.times(behind)
    }

    /// The first probe that is answered, or the one with which patience ends.
    fn first(
        self,
        since: Time,
        from: Time,
        patience: u64,
        up: impl Fn(Time) -> bool,
    ) -> Result<Time, Time> {
        let begin = self.at_or_after(since, from);
        // Programs that answer late are common, those that never do end here.
        for n in 0..patience.min(100_000) {
            let at = begin + self.period.times(n);
            if up(at) {
                return Ok(at);
            }
        }
        Err(begin + self.period.times(patience.saturating_sub(1)))
    }

    /// When so many probes in a row weren't answered, if the first of them is at `from` or later.
    fn given_up(self, since: Time, from: Time) -> Time {
        self.at_or_after(since, from) + self.period.times(self.failures - 1)
    }

    /// When the probe fails for good: because the answers come too late, or stop.
    fn fails(self, since: Time, from: Time, answers: Time, hangs: Option<Time>) -> Option<Time> {
        let early = self.given_up(since, from);
        if early < answers {
            return Some(early);
        }
        hangs.map(|hangs| self.given_up(since, hangs.max(from)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(container: &Value, ready: u64, hang: Option<u64>) -> String {
        let program =
            Program { ready: Span::secs(ready), hang: hang.map(Span::secs), ..Program::default() };
        let health = Probes::read(container).unwrap().find(Time::from_ms(100_000), &program);
        let at = |time: Option<Time>| {
            time.map_or("-".to_owned(), |time| (time.as_secs() - 100).to_string())
        };
        let killed = health.killed.map_or("-".to_owned(), |(time, kind)| {
            format!("{} by {}", time.as_secs() - 100, kind.name())
        });
        let Health { started, ready, unready, .. } = health;
        format!(
            "started {} ready {} unready {} killed {killed}",
            at(started),
            at(ready),
            at(unready)
        )
    }

    #[test]
    fn probes_find_what_the_program_does() {
        let probe = |delay: u64, period: u64, failures: u64| {
            json!({
                "initialDelaySeconds": delay, "periodSeconds": period, "failureThreshold": failures,
            })
        };
        let readiness = json!({"readinessProbe": probe(5, 10, 3)});
        let liveness = json!({"livenessProbe": probe(0, 10, 3)});
        let slow = json!({"startupProbe": probe(0, 10, 6), "livenessProbe": probe(0, 10, 3)});
        #[rustfmt::skip]
        let rows = [
            (&readiness, 0,  None,      "started 0 ready 5 unready - killed -"),
            (&readiness, 20, None,      "started 0 ready 25 unready - killed -"),
            (&readiness, 0,  Some(60),  "started 0 ready 5 unready 85 killed -"),
            (&liveness,  0,  Some(60),  "started 0 ready 0 unready - killed 80 by Liveness"),
            (&liveness,  25, None,      "started 0 ready 0 unready - killed 20 by Liveness"),
            (&slow,      25, None,      "started 30 ready 30 unready - killed -"),
            (&slow,      70, None,      "started - ready - unready - killed 50 by Startup"),
        ];
        for (container, ready, hang, expected) in rows {
            assert_eq!(found(container, ready, hang), expected, "{container} {ready} {hang:?}");
        }
    }
}

//! The life of one pod on its node.

use std::sync::Arc;

use drawbridge_sim::{Span, Time};

use super::{
    super::{behaviour::Behaviour, demand::Demand},
    Group,
};

/// The exit code of a container that TERM ended.
const TERMINATED: i32 = 143;
/// The exit code of a container that was killed.
const KILLED: i32 = 137;
/// The second restart in a row waits this long, the next ones twice as long each.
const CRASH_WAIT: Span = Span::secs(10);
/// The longest wait before a restart.
const CRASH_WAIT_MAX: Span = Span::mins(5);
/// A container that ran this long is no longer crashing.
const CRASH_FORGIVEN: Span = Span::mins(10);

/// One pod on its node.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) uid: Arc<str>,
    pub(crate) node: Arc<str>,
    pub(crate) demand: Arc<Demand>,
    pub(crate) behaviour: Arc<Behaviour>,
    /// The program that it's a rank of.
    pub(crate) group: Option<Group>,
    pub(crate) uses_node: bool,
    pub(crate) admitted: Time,
    /// When it must be over, by its own spec.
    pub(crate) deadline: Option<Time>,
    pub(crate) restarts: u32,
    /// Exits since it last ran for long.
    pub(crate) crashes: u32,
    /// When its containers last started.
    pub(crate) started: Option<Time>,
    /// How they last ended before they were restarted.
    pub(crate) last: Option<Exit>,
    pub(crate) life: Life,
}

/// How far it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Its images are pulled.
    Starting { until: Time },
    /// Its containers run and wait for the other ranks.
    Barrier,
    /// Its containers run.
    Running { ends: Option<Time> },
    /// Its containers ended and are started again later.
    BackOff { until: Time, wait: Span, exit: i32 },
    /// Its containers got TERM.
    Stopping { since: Time, grace: Span, until: Time, exit: i32, ready: bool, late: bool },
    /// Its containers ended for good.
    Ended { at: Time, exit: i32, late: bool },
}

/// One end of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) started: Time,
    pub(crate) finished: Time,
}

/// What a run's next step depends on.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) now: Time,
    /// The grace, if its deletion was asked for.
    pub(crate) grace: Option<Span>,
    /// The grace in its spec.
    pub(crate) own_grace: Span,
    /// Whether all ranks of its program run.
    pub(crate) complete: bool,
    /// How long it runs this time.
    pub(crate) runtime: Option<Span>,
    pub(crate) restart: Restart,
}

/// When containers that ended are started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    pub(crate) fn read(text: &str) -> Self {
        match text {
            "Never" => Self::Never,
            "OnFailure" => Self::OnFailure,
            _ => Self::Always,
        }
    }

    fn after(self, exit: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => exit != 0,
            Self::Never => false,
        }
    }
}

impl Run {
    /// Whether its containers run.
    pub(crate) fn running(&self) -> bool {
        matches!(self.life, Life::Barrier | Life::Running { .. } | Life::Stopping { .. })
    }

    /// How often it was started before the start that is on, or comes next.
    pub(crate) fn attempt(&self) -> u32 {
        match self.life {
            Life::BackOff { .. } => self.restarts + 1,
            Life::Starting { .. }
            | Life::Barrier
            | Life::Running { .. }
            | Life::Stopping { .. }
            | Life::Ended { .. } => self.restarts,
        }
    }

    /// When something happens by itself.
    pub(crate) fn next_change(&self) -> Option<Time> {
        let own = match self.life {
            Life::Starting { until }
            | Life::BackOff { until, .. }
            | Life::Stopping { until, .. } => Some(until),
            Life::Running { ends } => ends,
            Life::Barrier => None,
            Life::Ended { .. } => return None,
        };
        match (own, self.deadline, &self.life) {
            (own, _, Life::Stopping { .. }) => own,
            (Some(own), Some(deadline), _) => Some(own.min(deadline)),
            (own, deadline, _) => own.or(deadline),
        }
    }

    /// Takes a step that [`step`] found.
    pub(crate) fn enter(&mut self, now: Time, next: Life) {
        match (&self.life, &next) {
            (Life::Starting { .. }, Life::Barrier | Life::Running { .. }) => {
                self.started = Some(now);
            }
            (Life::BackOff { .. }, Life::Barrier | Life::Running { .. }) => {
                self.started = Some(now);
                self.restarts += 1;
            }
            (_, Life::BackOff { exit, .. }) => {
                let started = self.started.unwrap_or(now);
                self.crashes = if CRASH_FORGIVEN <= now - started { 1 } else { self.crashes + 1 };
                self.last = Some(Exit { code: *exit, started, finished: now });
            }
            (
                _,
                Life::Starting { .. }
                | Life::Barrier
                | Life::Running { .. }
                | Life::Stopping { .. }
                | Life::Ended { .. },
            ) => {}
        }
        self.life = next;
    }
}

/// The state that comes next at this moment, if another does.
pub(crate) fn step(run: &Run, seen: &Seen) -> Option<Life> {
    let now = seen.now;
    let late = run.deadline.is_some_and(|deadline| deadline <= now);
    let asked = seen.grace.or(late.then_some(seen.own_grace));
    let late = late && seen.grace.is_none();
    match run.life {
        Life::Starting { .. } if asked.is_some() => Some(ended(now, KILLED, late)),
        Life::Starting { until } => (until <= now).then(|| begin(run, seen)),
        Life::Barrier | Life::Running { .. } if asked.is_some() && !over(&run.life, now) => {
            asked.map(|grace| stop(run, now, grace, late))
        }
        Life::Barrier => seen.complete.then(|| running(seen)),
        Life::Running { .. } => over(&run.life, now).then(|| exit(run, seen)),
        Life::BackOff { exit, .. } if asked.is_some() => Some(ended(now, exit, late)),
        Life::BackOff { until, .. } => (until <= now).then(|| begin(run, seen)),
        Life::Stopping { until, exit, late, .. } if until <= now => Some(ended(now, exit, late)),
        Life::Stopping { grace, .. } => {
            let shorter = seen.grace.filter(|asked| *asked < grace)?;
            Some(hurry(&run.life, now, shorter))
        }
        Life::Ended { .. } => None,
    }
}

fn over(life: &Life, now: Time) -> bool {
    matches!(life, Life::Running { ends: Some(ends) } if *ends <= now)
}

fn begin(run: &Run, seen: &Seen) -> Life {
    if run.group.is_some() { Life::Barrier } else { running(seen) }
}

fn running(seen: &Seen) -> Life {
    Life::Running { ends: seen.runtime.map(|runtime| seen.now + runtime) }
}

fn ended(at: Time, exit: i32, late: bool) -> Life {
    Life::Ended { at, exit, late }
}

/// Its time is over: it's started again, or not.
fn exit(run: &Run, seen: &Seen) -> Life {
    let exit = run.behaviour.exit_code;
    if !seen.restart.after(exit) || seen.grace.is_some() {
        return ended(seen.now, exit, false);
    }
    let ran = seen.now - run.started.unwrap_or(seen.now);
    let wait = match run.crashes {
        0 => Span::ZERO,
        _ if CRASH_FORGIVEN <= ran => Span::ZERO,
        n => CRASH_WAIT.times(1 << (n - 1).min(10)).min(CRASH_WAIT_MAX),
    };
    let until = seen.now + wait;
    Life::BackOff { until, wait, exit }
}

/// TERM: it ends after its own time to stop, by itself if that comes first, or is killed.
fn stop(run: &Run, now: Time, grace: Span, late: bool) -> Life {
    let own = match run.life {
        Life::Running { ends: Some(ends) } => (ends, run.behaviour.exit_code),
        Life::Running { ends: None }
        | Life::Starting { .. }
        | Life::Barrier
        | Life::BackOff { .. }
        | Life::Stopping { .. }
        | Life::Ended { .. } => (Time::MAX, 0),
    };
    let kill = (now + grace, KILLED);
    let obey = (now + run.behaviour.stop, TERMINATED);
    // Of equal times the gentlest counts.
    let (until, exit) = [own, obey, kill].into_iter().min_by_key(|(at, _)| *at).unwrap_or(kill);
    Life::Stopping {
        since: now,
        grace,
        until,
        exit,
        ready: matches!(run.life, Life::Running { .. }),
        late,
    }
}

/// Somebody asked again, with less grace.
fn hurry(life: &Life, now: Time, grace: Span) -> Life {
    let mut life = life.clone();
    if let Life::Stopping { since, grace: given, until, exit, .. } = &mut life {
        *given = grace;
        let kill = (*since + grace).max(now);
        if kill < *until {
            *until = kill;
            *exit = KILLED;
        }
    }
    life
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::behaviour::Mpi;

    fn run(life: Life, stop: u64, exit_code: i32) -> Run {
        Run {
            uid: "u".into(),
            node: "n".into(),
            demand: Arc::default(),
            behaviour: Arc::new(Behaviour {
                stop: Span::secs(stop),
                exit_code,
                ..Behaviour::default()
            }),
            group: None,
            uses_node: true,
            admitted: Time::ZERO,
            deadline: None,
            restarts: 0,
            crashes: 0,
            started: Some(Time::ZERO),
            last: None,
            life,
        }
    }

    fn seen(now: u64, grace: Option<u64>) -> Seen {
        Seen {
            now: at(now),
            grace: grace.map(Span::secs),
            own_grace: Span::secs(30),
            complete: true,
            runtime: None,
            restart: Restart::Never,
        }
    }

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::secs(secs)
    }

    #[test]
    fn term_ends_a_container_by_whatever_comes_first() {
        #[rustfmt::skip]
        let rows = [
            // its own end  stop  grace  until  exit
            (None,          1,    30,    11,    143),
            (None,          60,   30,    40,    137),
            (None,          30,   30,    40,    143),
            (Some(15),      60,   30,    15,    7),
            (Some(15),      1,    30,    11,    143),
            (None,          1,    0,     10,    137),
        ];
        for (end, stop, grace, ends_at, code) in rows {
            let life = Life::Running { ends: end.map(at) };
            let next = step(&run(life, stop, 7), &seen(10, Some(grace)));
            let Some(Life::Stopping { until, exit, .. }) = next else {
                panic!("{next:?}");
            };
            assert_eq!((until, exit), (at(ends_at), code), "{end:?} {stop} {grace}");
        }
    }

    #[test]
    fn a_rank_waits_until_all_are_there() {
        let mut rank = run(Life::Starting { until: at(1) }, 1, 0);
        rank.group = Some(("d".into(), "app".into(), "a".into()));
        rank.behaviour = Arc::new(Behaviour {
            mpi: Some(Mpi { group_label: "app".into(), ranks: 2 }),
            ..Behaviour::default()
        });
        let mut alone = seen(1, None);
        alone.complete = false;
        assert_eq!(step(&rank, &alone), Some(Life::Barrier));
        rank.enter(at(1), Life::Barrier);
        assert_eq!(step(&rank, &alone), None);
        assert_eq!(step(&rank, &seen(9, None)), Some(Life::Running { ends: None }));
    }

    #[test]
    fn a_long_run_is_forgiven_earlier_crashes() {
        let mut crashed = run(Life::Running { ends: Some(at(700)) }, 1, 1);
        crashed.crashes = 4;
        let mut news = seen(700, None);
        news.restart = Restart::Always;
        let wait = |run: &Run, news: &Seen| match step(run, news) {
            Some(Life::BackOff { wait, .. }) => wait,
            other => panic!("{other:?}"),
        };
        assert_eq!(wait(&crashed, &news), Span::ZERO);
        crashed.started = Some(at(690));
        assert_eq!(wait(&crashed, &news), Span::secs(80));
        crashed.crashes = 30;
        assert_eq!(wait(&crashed, &news), CRASH_WAIT_MAX);
    }
}

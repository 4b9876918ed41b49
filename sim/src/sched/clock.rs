//! When the schedulers run.
//!
//! ```text
//!   submit, update, end of a script ──asks──▶ next whole second, batch_sched_delay after the last
//!   a killed job's nodes are free   ──────────▶ at once
//!   every sched_interval: the whole queue       otherwise: default_queue_depth jobs
//! ```
//!
//! Slurm runs cycles whether or not anybody waits. Here only those run whose outcome could differ
//! from the last one's; of the others just the time is kept, because the delays count from it.

use crate::{Slurmctld, Span, Time};

/// What decides when the schedulers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Since when somebody asks for a main cycle.
    pub(super) asked: Option<Time>,
    /// Somebody wants a short main cycle at once.
    pub(super) at_once: Option<Time>,
    /// When a tick last ran a main cycle.
    pub(super) last: Time,
    /// When any main cycle last ran.
    pub(super) ran: Time,
    /// Since when the queue holds something that no cycle has looked at.
    pub(super) unseen: Option<Time>,
    /// When ages were last looked at.
    pub(crate) weighed: Time,
    /// When the last backfill cycle was.
    pub(crate) backfilled: Time,
    /// Since when backfill has something new to look at.
    pub(crate) changed: Option<Time>,
}

/// How often the loop that looks for work goes round.
const TICK: Span = Span::secs(1);

impl Slurmctld {
    /// Asks for a main cycle at the next tick that may run one.
    pub(crate) fn ask_for_cycle(&mut self, now: Time) {
        // Requests while nobody waited were served by cycles that had nothing to do.
        if let Some(served) = self.clock.asked.map(|asked| self.after_delay(asked))
            && served < now
        {
            self.clock.last = self.clock.last.max(served);
            self.clock.asked = None;
        }
        self.clock.asked.get_or_insert(now);
        self.note_unseen(now);
        self.tell_backfill(now);
    }

    /// Asks for a short main cycle right now: the last process of a job that was killed is gone.
    pub(crate) fn ask_at_once(&mut self, now: Time) {
        if self.params().defer != crate::Defer::No {
            return self.ask_for_cycle(now);
        }
        self.note_unseen(now);
        self.clock.at_once = Some(now);
        self.tell_backfill(now);
    }

    /// The queue holds what no cycle has looked at: the next full one does.
    pub(crate) fn note_unseen(&mut self, now: Time) {
        // What was wanted while nobody waited is over.
        self.clock.at_once = self.clock.at_once.filter(|at| *at == now);
        let missed = self.queue.is_empty().then_some(now);
        self.clock.weighed = self.clock.weighed.max(missed.unwrap_or_default());
        self.clock.unseen = self.clock.unseen.max(missed).or(Some(now));
    }

    /// When the next main cycle that could matter is.
    pub(crate) fn main_due(&self) -> Option<Time> {
        self.params().sched_interval?;
        let waiting = self.anybody_waits();
        let asked = self.clock.asked.filter(|_| waiting || !self.begins.is_empty());
        let by_request = asked.map(|asked| self.after_delay(asked));
        let at_once = self.clock.at_once.filter(|_| waiting);
        // Whether a job is old enough to block others changes with time alone.
        let ages = self.params().backfill.min_age_reserve != Span::ZERO;
        let unseen = self.clock.unseen.or(ages.then_some(self.clock.ran));
        let whole = unseen.filter(|_| waiting);
        // A job whose time has come is found by the next full cycle, not by a cycle of its own.
        let begin = self.begins.first().map(|(begin, _)| *begin);
        let by_interval =
            whole.into_iter().chain(begin).filter_map(|from| self.next_full(from)).min();
        let due = by_request.into_iter().chain(at_once).chain(by_interval).min();
        due.map(|due| due.max(self.earliest()))
    }

    /// No cycle follows another sooner than `sched_min_interval`.
    fn earliest(&self) -> Time {
        self.clock.ran + self.params().sched_min_interval
    }

    /// The tick at which a request of `asked` is served.
    fn after_delay(&self, asked: Time) -> Time {
        let params = self.params();
        // Full cycles happen whether or not anybody waits, and the delay counts from them too.
        let last_full = params.sched_interval.map_or(Time::ZERO, |step| round_down(asked, step));
        let earliest = self.clock.last.max(last_full) + params.batch_sched_delay;
        let tick = next_tick(asked).max(earliest.round_up(TICK));
        self.next_full(asked).map_or(tick, |full| full.min(tick))
    }

    /// The first full cycle at `from` or later, after the last cycle.
    fn next_full(&self, from: Time) -> Option<Time> {
        let step = self.params().sched_interval?;
        let from = from.max(self.clock.last + Span::ms(1));
        Some(from.round_up(step).max(Time::ZERO + step))
    }

    /// Whether the cycle at `now` looks at the whole queue. Notes that it runs.
    pub(super) fn begin_cycle(&mut self, now: Time) -> bool {
        let full = self.params().sched_interval.map(|step| round_down(now, step));
        let full =
            full.is_some_and(|full| self.clock.ran < full && now <= full.max(self.earliest()));
        let asked = self.clock.asked.is_some_and(|asked| self.after_delay(asked) <= now);
        if full || asked {
            self.clock.last = now;
            self.clock.asked = None;
        }
        self.clock.at_once = None;
        self.clock.ran = now;
        full
    }
}

/// The first whole second after `at`: the loop that looks for work ticks once a second.
pub(crate) fn next_tick(at: Time) -> Time {
    (at + Span::ms(1)).round_up(TICK)
}

fn round_down(at: Time, step: Span) -> Time {
    Time::from_ms(at.as_ms() - at.as_ms() % step.as_ms().max(1))
}

//! Where in the run we are, and how fast we move.
//!
//! ```text
//!   0 ──────────●───────────────────▶ len        events
//!   00:00     now                   end          virtual time
//! ```
//!
//! While a run plays, `now` moves smoothly and the event follows; a step moves the event and
//! `now` follows.

use drawbridge_sim::{Span, Time};

/// Virtual milliseconds per second of ours.
const SPEEDS: [u64; 11] =
    [100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000];
/// At the speed that we choose, a run takes at most this long.
const PATIENCE_SECS: u64 = 60;

/// A place in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Playhead {
    /// Events that have happened here.
    pub(crate) event: u64,
    /// Events in the run.
    pub(crate) len: u64,
    /// Virtual time here.
    pub(crate) now: Time,
    /// Virtual time of the last event.
    pub(crate) end: Time,
    /// Whether time moves by itself.
    pub(crate) playing: bool,
    speed: usize,
}

impl Playhead {
    /// The beginning, paused, at a speed that doesn't try anybody's patience.
    pub(crate) fn new(len: u64, end: Time) -> Self {
        let fast_enough = |speed: &u64| end.as_ms() / speed <= PATIENCE_SECS;
        Self {
            event: 0,
            len,
            now: Time::ZERO,
            end,
            playing: false,
            speed: SPEEDS.iter().position(fast_enough).unwrap_or(SPEEDS.len() - 1).max(2),
        }
    }

    /// So many events on, or back where negative.
    pub(crate) fn step(&mut self, events: i64) {
        self.event = self.event.saturating_add_signed(events).min(self.len);
        self.playing = false;
    }

    /// Starts or stops. At the end there is nothing to play, so it starts over.
    pub(crate) fn toggle(&mut self) {
        self.playing = !self.playing && 0 < self.len;
        if self.playing && self.at_end() {
            (self.event, self.now) = (0, Time::ZERO);
        }
    }

    /// Lets this much of our time pass. Time stands still unless the run plays.
    pub(crate) fn pass(&mut self, real: Span) {
        if self.playing {
            let ms = real.as_ms().saturating_mul(SPEEDS[self.speed]) / 1000;
            self.now = (self.now + Span::ms(ms)).min(self.end);
        }
    }

    /// One speed up.
    pub(crate) fn faster(&mut self) {
        self.speed = (self.speed + 1).min(SPEEDS.len() - 1);
    }

    /// One speed down.
    pub(crate) fn slower(&mut self) {
        self.speed = self.speed.saturating_sub(1);
    }

    /// `0.5x`, `60x`.
    pub(crate) fn speed(&self) -> String {
        match SPEEDS[self.speed] {
            ms if ms < 1000 => format!("0.{}x", ms / 100),
            ms => format!("{}x", ms / 1000),
        }
    }

    /// Whether there is nothing left to play.
    pub(crate) fn at_end(&self) -> bool {
        self.len <= self.event && self.end <= self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_speed_suits_the_length_of_the_run() {
        let speed = |secs: u64| Playhead::new(9, Time::from_ms(secs * 1000)).speed();
        assert_eq!([speed(5), speed(600), speed(86_400)], ["1x", "10x", "3600x"]);
    }

    #[test]
    fn playing_at_the_end_starts_over() {
        let mut playhead = Playhead::new(9, Time::from_ms(1000));
        (playhead.event, playhead.now) = (9, playhead.end);
        playhead.toggle();
        assert_eq!((playhead.event, playhead.now), (0, Time::ZERO));
        assert!(playhead.playing);
    }

    #[test]
    fn time_passes_at_the_chosen_speed_and_stops_at_the_end() {
        let mut playhead = Playhead::new(9, Time::from_ms(60_000));
        playhead.pass(Span::secs(1));
        assert_eq!(playhead.now, Time::ZERO, "paused");
        playhead.toggle();
        playhead.faster();
        playhead.pass(Span::ms(50));
        assert_eq!(playhead.now, Time::from_ms(100), "2x");
        playhead.pass(Span::hours(1));
        assert_eq!(playhead.now, playhead.end);
    }
}

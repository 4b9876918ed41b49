//! Where in the run we are, and how fast we move.
//!
//! ```text
//!   0 ──────────●───────────────────▶ len        events
//!   00:00     now                   end          virtual time
//! ```
//!
//! While a run plays, `now` moves smoothly and the event follows; a step moves the event and
//! `now` follows. Who follows the run is always at its end, as far as it is known.

use drawbridge_sim::{Span, Time};

/// Virtual milliseconds per second of ours.
const SPEEDS: [u64; 12] = [
    100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000, 86_400_000,
];
/// At the speed that we choose, a run takes at most this long.
const PATIENCE_SECS: u64 = 60;

/// A place in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Playhead {
    /// Events that have happened here.
    pub(crate) event: u64,
    /// Virtual time here.
    pub(crate) now: Time,
    /// Events of the run, as far as they are known.
    pub(crate) len: u64,
    /// Virtual time of the last one.
    pub(crate) end: Time,
    /// Whether time moves by itself.
    pub(crate) playing: bool,
    /// Whether it stays at the end while the run goes on.
    pub(crate) following: bool,
    /// Where in [`SPEEDS`]; unset until the user or the run's length has said.
    speed: Option<usize>,
}

impl Playhead {
    /// The beginning, paused.
    pub(crate) const fn new() -> Self {
        Self {
            event: 0,
            now: Time::ZERO,
            len: 0,
            end: Time::ZERO,
            playing: false,
            following: false,
            speed: None,
        }
    }

    /// So many events on, or back where negative.
    pub(crate) fn step(&mut self, events: i64) {
        self.event = self.event.saturating_add_signed(events).min(self.len);
        self.playing = false;
        self.following = false;
    }

    /// Starts or stops. At the end there is nothing to play, so it starts over.
    pub(crate) fn toggle(&mut self, over: bool) {
        self.playing = !self.playing && 0 < self.len;
        self.following = false;
        if self.playing && over && self.at_end() {
            (self.event, self.now) = (0, Time::ZERO);
        }
    }

    /// Lets this much of our time pass. Time stands still unless the run plays.
    pub(crate) fn pass(&mut self, real: Span) {
        if self.playing {
            let ms = u128::from(real.as_ms()) * u128::from(SPEEDS[self.place()]) / 1000;
            let ms = u64::try_from(ms).unwrap_or(u64::MAX);
            self.now = (self.now + Span::ms(ms)).min(self.end);
        }
    }

    /// One speed up, or down.
    pub(crate) fn change_speed(&mut self, faster: bool) {
        let place = self.place();
        let slower = place.saturating_sub(1);
        self.speed = Some(if faster { (place + 1).min(SPEEDS.len() - 1) } else { slower });
    }

    /// The speed that is nearest to so many virtual seconds per second.
    pub(crate) fn set_speed(&mut self, times: u64) {
        let wanted = times.saturating_mul(1000);
        let place = SPEEDS.iter().position(|speed| wanted <= *speed);
        self.speed = Some(place.unwrap_or(SPEEDS.len() - 1));
    }

    fn place(&self) -> usize {
        self.speed.unwrap_or_else(|| {
            // One that doesn't try anybody's patience.
            let fast_enough = |speed: &u64| self.end.as_ms() / speed <= PATIENCE_SECS;
            SPEEDS.iter().position(fast_enough).unwrap_or(SPEEDS.len() - 1).max(2)
        })
    }

    /// `0.5x`, `60x`.
    pub(crate) fn speed(&self) -> String {
        match SPEEDS[self.place()] {
            ms if ms < 1000 => format!("0.{}x", ms / 100),
            ms => format!("{}x", ms / 1000),
        }
    }

    /// Whether there is nothing left to play, as far as is known.
    pub(crate) fn at_end(&self) -> bool {
        self.len <= self.event && self.end <= self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playhead(len: u64, secs: u64) -> Playhead {
        Playhead { len, end: Time::from_ms(secs * 1000), ..Playhead::new() }
    }

    #[test]
    fn the_first_speed_suits_the_length_of_the_run() {
        let speed = |secs: u64| playhead(9, secs).speed();
        assert_eq!([speed(5), speed(600), speed(86_400)], ["1x", "10x", "3600x"]);
    }

    #[test]
    fn a_speed_can_be_named() {
        let mut playhead = playhead(9, 5);
        for (wanted, got) in [(0, "0.1x"), (1, "1x"), (20, "30x"), (999_999, "86400x")] {
            playhead.set_speed(wanted);
            assert_eq!(playhead.speed(), got);
        }
    }

    #[test]
    fn playing_at_the_end_starts_over_unless_the_run_goes_on() {
        for (over, event) in [(true, 0), (false, 9)] {
            let mut playhead = playhead(9, 1);
            (playhead.event, playhead.now) = (9, playhead.end);
            playhead.toggle(over);
            assert_eq!((playhead.event, playhead.playing), (event, true));
        }
    }

    #[test]
    fn time_passes_at_the_chosen_speed_and_stops_at_the_end() {
        let mut playhead = playhead(9, 60);
        playhead.pass(Span::secs(1));
        assert_eq!(playhead.now, Time::ZERO, "paused");
        playhead.toggle(true);
        playhead.change_speed(true);
        playhead.pass(Span::ms(50));
        assert_eq!(playhead.now, Time::from_ms(100), "2x");
        playhead.pass(Span::hours(1));
        assert_eq!(playhead.now, playhead.end);
    }
}

//! Moving in time.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the model's update says which messages come here"
)]

use drawbridge_sim::{Span, Time};

use super::{
    Model,
    log::about,
    msg::{Msg, Stride},
    select::NO_OTHER,
};
use crate::theme::Tone;

impl Model {
    pub(super) fn go(&mut self, msg: &Msg) {
        match msg {
            Msg::Step(Stride::Events(n)) => self.step(*n),
            Msg::Step(Stride::Cycles(n)) => self.step_cycles(*n),
            Msg::Step(Stride::Seconds(n)) => self.step_seconds(*n),
            Msg::Start => self.go_to(self.scale().0, 0),
            Msg::End => self.go_to_end(),
            Msg::GoTo(time) => self.go_to_time(*time),
            Msg::Scrub(thousandths) => self.scrub(*thousandths),
            Msg::Moment(on) => self.next_moment(*on),
            Msg::Selection(on) => self.next_of_selection(*on),
            Msg::Divergence => self.go_to_divergence(),
            Msg::Play => self.playhead.toggle(self.reel.is_over()),
            Msg::Speed(faster) => self.playhead.change_speed(*faster),
            Msg::SetSpeed(times) => self.playhead.set_speed(*times),
            Msg::Tick(real) => self.tick(*real),
            _ => {}
        }
    }

    fn step(&mut self, events: i64) {
        self.playhead.step(events);
        self.playhead.now = self.reel.film.time_of(self.playhead.event);
    }

    /// To the event after which the next cycle's doings are seen, or the last one's before now.
    fn step_cycles(&mut self, cycles: i64) {
        let (all, event) = (self.reel.film.cycles(), self.playhead.event);
        let here = match cycles < 0 {
            true => all.partition_point(|at| *at < event),
            false => all.partition_point(|at| *at <= event).saturating_sub(1),
        };
        let there = usize::try_from(cycles.unsigned_abs()).unwrap_or(usize::MAX);
        let none_yet = cycles > 0 && all.first().is_some_and(|first| event < *first);
        let target = match (cycles < 0, none_yet) {
            (true, _) => here.checked_sub(there),
            (false, true) => Some(there - 1),
            (false, false) => Some(here + there),
        };
        match target.and_then(|place| all.get(place)) {
            Some(&at) => self.go_to_event(at),
            None if cycles < 0 => self.go_to(Time::ZERO, 0),
            None => self.go_to_end(),
        }
    }

    fn step_seconds(&mut self, seconds: i64) {
        let by = Span::secs(seconds.unsigned_abs());
        let now = self.playhead.now;
        self.go_to_time(match seconds < 0 {
            true => Time::from_ms(now.as_ms().saturating_sub(by.as_ms())),
            false => now + by,
        });
    }

    /// To the moment at which so many records have been written.
    pub(super) fn go_to_event(&mut self, event: u64) {
        let event = event.min(self.playhead.len);
        self.go_to(self.reel.film.time_of(event), event);
    }

    fn go_to_time(&mut self, time: Time) {
        let time = time.min(self.playhead.end);
        self.go_to(time, self.reel.film.event_at(time));
    }

    fn go_to(&mut self, now: Time, event: u64) {
        self.playhead.playing = false;
        self.playhead.following = false;
        (self.playhead.now, self.playhead.event) = (now, event);
    }

    fn go_to_end(&mut self) {
        self.go_to(self.playhead.end, self.playhead.len);
        self.playhead.following = !self.reel.is_over();
    }

    fn scrub(&mut self, thousandths: u64) {
        let (start, end) = self.scale();
        let ms = u128::from(end.since(start).as_ms()) * u128::from(thousandths) / 1000;
        self.go_to_time(start + Span::ms(u64::try_from(ms).unwrap_or(u64::MAX)));
    }

    /// Where the scrub bar begins and ends: with the run, also where its end is still to come. What
    /// real clusters did before somebody looked isn't known.
    pub(crate) fn scale(&self) -> (Time, Time) {
        let promised = self.reel.length.map_or(Time::ZERO, |(_, end)| end);
        let end = self.playhead.end.max(promised);
        let start = match self.reel.is_live() {
            true => self.reel.began.unwrap_or(end),
            false => Time::ZERO,
        };
        (start, end)
    }

    fn next_moment(&mut self, on: bool) {
        let (film, now) = (&self.reel.film, self.playhead.now);
        let found = match on {
            true => self.log.next_moment(film, now).unwrap_or(self.playhead.end),
            false => self.log.previous_moment(film, now).unwrap_or(Time::ZERO),
        };
        self.go_to_time(found);
    }

    /// To the next event of what is selected, or to its last state before this one.
    fn next_of_selection(&mut self, on: bool) {
        let Some(explained) = &self.explanation else {
            return self.say(Tone::Waiting, "Nothing is selected.");
        };
        let film = &self.reel.film;
        let chain = about(film, &explained.subjects, usize::MAX);
        let event = self.playhead.event;
        let next = chain.partition_point(|seq| u64::from(*seq) < event);
        // Seen from here the last record is the present state; the one before it was another.
        let place = if on { Some(next) } else { next.checked_sub(2) };
        match place.and_then(|place| chain.get(place)) {
            Some(&seq) => self.go_to_event(u64::from(seq) + 1),
            None if on => {
                let title = explained.title.clone();
                self.say(Tone::Waiting, format!("Nothing more happens to {title}."));
            }
            None => {
                let title = explained.title.clone();
                self.say(Tone::Waiting, format!("Nothing happened to {title} before."));
            }
        }
    }

    fn go_to_divergence(&mut self) {
        match self.divergence() {
            Some(seq) => self.go_to_event(seq + 1),
            None if self.other.is_none() => {
                self.say(Tone::Waiting, NO_OTHER);
            }
            None if self.is_busy() => self.say(Tone::Waiting, "Still comparing."),
            None => self.say(Tone::Good, "The two runs are the same as far as they are known."),
        }
    }

    fn tick(&mut self, real: Span) {
        if !self.playhead.playing {
            return;
        }
        self.playhead.pass(real);
        let reached = self.reel.film.event_at(self.playhead.now).min(self.playhead.len);
        self.playhead.event = reached.max(self.playhead.event);
        // A run that goes on is waited for.
        self.playhead.playing = !(self.playhead.at_end() && self.reel.is_over());
    }
}

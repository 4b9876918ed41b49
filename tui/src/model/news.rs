//! What comes from whoever makes the runs.

use drawbridge_scenarios::recording::Still;
use drawbridge_sim::Time;

use super::{
    Model,
    divergence::Divergence,
    log::Log,
    msg::News,
    reel::{Origin, Reel},
};
use crate::theme::Tone;

impl Model {
    pub(super) fn news(&mut self, news: News) {
        match news {
            News::Chunk(which, chunk) => {
                if let Some(reel) = self.reel_mut(which) {
                    reel.add(chunk);
                }
            }
            News::Length(which, events, end) => {
                if let Some(reel) = self.reel_mut(which) {
                    reel.length = Some((events, end));
                }
            }
            News::Broken(which, why) => {
                if let Some(reel) = self.reel_mut(which) {
                    reel.broken = Some(why);
                }
            }
            News::Retold(events, at, text) => self.retold(events, at, text),
            News::Refused(why) => {
                self.retelling = false;
                self.changes.pop();
                self.say(Tone::Bad, why);
            }
            News::Tried(job, event, verdicts) => {
                let asked = |it: &&mut super::Tried| it.job == job && it.event == event;
                if let Some(tried) = self.tried.as_mut().filter(asked) {
                    tried.verdicts = Some(verdicts);
                }
            }
            News::Notices(notices) => self.notices = notices,
            News::Done(Ok(text)) => self.say(Tone::Good, text),
            News::Done(Err(text)) => self.say(Tone::Bad, text),
        }
    }

    fn reel_mut(&mut self, which: usize) -> Option<&mut Reel> {
        if which == self.reel_id {
            return Some(&mut self.reel);
        }
        if Some(which) == self.other_id {
            return self.other.as_mut();
        }
        self.shelf.iter_mut().find(|(id, _)| *id == which).map(|(_, reel)| reel)
    }

    /// Puts another run in front; what was there is what it is compared with.
    pub(super) fn go_to_run(&mut self, which: Option<usize>) {
        let mut ids: Vec<usize> = self.shelf.iter().map(|(id, _)| *id).collect();
        ids.extend(self.other_id.into_iter().chain([self.reel_id]));
        ids.sort_unstable();
        let here = ids.iter().position(|id| *id == self.reel_id).unwrap_or(0);
        let next = which.unwrap_or(ids[(here + 1) % ids.len()]);
        if next == self.reel_id {
            return self.say(Tone::Waiting, "There is no other run: give several scenarios.");
        }
        if Some(next) != self.other_id {
            let Some(place) = self.shelf.iter().position(|(id, _)| *id == next) else { return };
            let (id, reel) = self.shelf.remove(place);
            let was = self.other.replace(reel);
            self.shelf.extend(self.other_id.replace(id).zip(was));
            self.shelf.sort_by_key(|(id, _)| *id);
        }
        if let Some(other) = &mut self.other {
            std::mem::swap(&mut self.reel, other);
        }
        self.other_id = Some(std::mem::replace(&mut self.reel_id, next));
        self.begin_anew();
    }

    /// Nothing that was worked out of the run before counts any more.
    fn begin_anew(&mut self) {
        self.still = Still::default();
        self.other_still = Still::default();
        self.log = Log::default();
        self.divergence = Divergence::default();
        self.changes.clear();
        self.focus = None;
        self.tried = None;
        self.subject = None;
        self.shown = None;
        self.playhead.event = self.reel.film.event_at(self.playhead.now);
        self.say(Tone::Plain, format!("This is {}.", self.reel.title));
    }

    /// From here on another story is told. The one so far stays beside it, to compare.
    fn retold(&mut self, events: u64, at: Time, text: String) {
        self.retelling = false;
        if self.changes.len() == 1 && self.other.is_none() && self.reel.is_over() {
            let title = format!("{} as it was", self.reel.title);
            self.other = Some(Reel { title, ..self.reel.clone() });
        }
        self.reel.cut(events, at);
        self.reel.origin = Origin::Twin(text);
        self.tried = None;
        self.playhead.event = self.playhead.event.min(events);
        if let Some(changed) = self.changes.last() {
            let text = format!(
                "Changed: {}. Go on with l or space; :save keeps it, u undoes it.",
                changed.words
            );
            self.say(Tone::Good, text);
        }
    }
}

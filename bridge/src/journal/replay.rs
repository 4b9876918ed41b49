//! Goes through a journal again and compares.

use std::fmt;

use drawbridge_core::{Bridge, Effect, Input};
use drawbridge_sim::Time;

use super::{Began, Entry, What};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// How many inputs were given.
    pub inputs: u64,
    /// How many effects were the same.
    pub effects: u64,
    /// How many lives the journal holds.
    pub lives: u64,
    /// The first thing that wasn't; the replay stops there.
    pub difference: Option<Box<Difference>>,
}

/// Where a replay and its journal part.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which entry of the journal, from 0: the effect that differs, or where one is missing.
    pub entry: usize,
    /// When the input was given.
    pub at: Time,
    /// The input; `None` if the journal has an effect before any input.
    pub after: Option<Input>,
    /// The effect in the journal; `None` if the replay wants more than it has.
    pub recorded: Option<Effect>,
    /// The effect that the replay wants; `None` if it wants nothing more.
    pub replayed: Option<Effect>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "line {} differs, at {}", self.entry + 1, self.at)?;
        writeln!(f, "  after    {}", json(&self.after))?;
        writeln!(f, "  recorded {}", json(&self.recorded))?;
        write!(f, "  replayed {}", json(&self.replayed))
    }
}

fn json(part: &Option<impl serde::Serialize>) -> String {
    let text = part.as_ref().map(serde_json::to_string);
    text.and_then(Result::ok).unwrap_or_else(|| "nothing".to_owned())
}

/// A journal that can't be gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: an input before any life has begun")]
pub struct Headless {
    /// Which line, from 1.
    pub line: usize,
}

impl Headless {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "a journal begins with a line `began`, which says how the bridge was configured"
    }
}

/// Steps bridges through the inputs and compares their effects with the recorded ones.
///
/// A journal may hold several lives. The effects of a life's very last input may be cut short, as a
/// crash would.
pub fn replay(entries: &[Entry]) -> Result<Replayed, Headless> {
    let mut bridge: Option<Bridge> = None;
    let mut result = Replayed { inputs: 0, effects: 0, lives: 0, difference: None };
    let mut rest = entries.iter().enumerate().peekable();
    let mut open = Open { at: Time::ZERO, after: None, wanted: Vec::new().into_iter() };
    while let Some((i, entry)) = rest.next() {
        match &entry.what {
            What::Began(began) => {
                let Began { config, instance, .. } = &**began;
                bridge = Some(Bridge::new(config.clone(), instance.clone()));
                result.lives += 1;
                open = Open { at: entry.at, after: None, wanted: Vec::new().into_iter() };
            }
            What::Effect(recorded) => match open.compare(i, recorded) {
                None => result.effects += 1,
                difference => return Ok(Replayed { difference, ..result }),
            },
            What::Input(input) => {
                let bridge = bridge.as_mut().ok_or(Headless { line: i + 1 })?;
                result.inputs += 1;
                let wanted = bridge.step(entry.at, input.clone()).into_iter();
                open = Open { at: entry.at, after: Some(input), wanted };
            }
        }
        let more = matches!(rest.peek(), Some((_, Entry { what: What::Input(_), .. })));
        if let Some(difference) = more.then(|| open.unrecorded(i + 1)).flatten() {
            return Ok(Replayed { difference: Some(difference), ..result });
        }
    }
    Ok(result)
}

/// The effects of one input that the journal has yet to show.
struct Open<'a, I> {
    at: Time,
    after: Option<&'a Input>,
    wanted: I,
}

impl<I: Iterator<Item = Effect>> Open<'_, I> {
    fn compare(&mut self, entry: usize, recorded: &Effect) -> Option<Box<Difference>> {
        let replayed = self.wanted.next();
        let same = replayed.as_ref() == Some(recorded);
        (!same).then(|| self.difference(entry, Some(recorded.clone()), replayed))
    }

    /// An effect that is still wanted although the journal goes on to the next input.
    fn unrecorded(&mut self, entry: usize) -> Option<Box<Difference>> {
        let replayed = self.wanted.next()?;
        Some(self.difference(entry, None, Some(replayed)))
    }

    fn difference(
        &self,
        entry: usize,
        recorded: Option<Effect>,
        replayed: Option<Effect>,
    ) -> Box<Difference> {
        let (at, after) = (self.at, self.after.cloned());
        Box::new(Difference { entry, at, after, recorded, replayed })
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_core::{Config, Instance};
    use drawbridge_sim::Epoch;

    use super::*;

    fn began() -> Entry {
        let began = Began::now(Config::as_shipped(), Instance::alone(Epoch::DEFAULT));
        Entry { at: Time::ZERO, what: What::Began(Box::new(began)) }
    }

    fn told(at: u64, input: Input) -> Entry {
        Entry { at: Time::from_ms(at), what: What::Input(input) }
    }

    fn wanted(at: u64, effect: Effect) -> Entry {
        Entry { at: Time::from_ms(at), what: What::Effect(effect) }
    }

    /// The life of a real bridge that hears nothing but its alarm clock.
    fn life() -> Vec<Entry> {
        let mut bridge = Bridge::new(Config::as_shipped(), Instance::alone(Epoch::DEFAULT));
        let mut entries = vec![began()];
        for (at, input) in [(0, Input::Started), (1000, Input::Woke), (2000, Input::Woke)] {
            entries.push(told(at, input.clone()));
            let effects = bridge.step(Time::from_ms(at), input);
            entries.extend(effects.into_iter().map(|effect| wanted(at, effect)));
        }
        entries
    }

    fn again(entries: &[Entry]) -> Replayed {
        replay(entries).unwrap()
    }

    #[test]
    fn a_life_replays_to_the_same_effects() {
        let mut entries = life();
        entries.extend(life());
        let replayed = again(&entries);
        assert_eq!(replayed.difference, None);
        assert_eq!((replayed.inputs, replayed.lives), (6, 2));
        assert_eq!(replayed.effects as usize, entries.len() - 6 - 2);
    }

    #[test]
    fn an_effect_that_the_core_does_not_want_is_the_first_difference() {
        let mut entries = life();
        let never = Effect::WakeAt(Time::from_ms(77));
        let last = entries.len();
        entries.push(wanted(2000, never.clone()));
        entries.push(wanted(2000, never.clone()));
        let difference = again(&entries).difference.unwrap();
        assert_eq!((difference.entry, &difference.after), (last, &Some(Input::Woke)));
        assert_eq!((difference.recorded.clone(), difference.replayed.clone()), (Some(never), None));
    }

    #[test]
    fn a_difference_shows_both_sides() {
        let difference = Difference {
            entry: 3,
            at: Time::from_ms(2000),
            after: Some(Input::Woke),
            recorded: Some(Effect::WakeAt(Time::from_ms(77))),
            replayed: None,
        };
        insta::assert_snapshot!(difference, @r#"
        line 4 differs, at 00:00:02.000
          after    "woke"
          recorded {"wakeAt":77}
          replayed nothing
        "#);
    }

    #[test]
    fn an_effect_that_the_journal_lacks_is_a_difference_unless_it_is_the_end() {
        let effect = Effect::WakeAt(Time::ZERO);
        let input = Input::Started;
        let mut open =
            Open { at: Time::ZERO, after: Some(&input), wanted: vec![effect.clone()].into_iter() };
        let difference = open.unrecorded(4).unwrap();
        assert_eq!((difference.recorded, difference.replayed), (None, Some(effect)));
        // Whatever the last input leads to, the journal may stop before it.
        let cut = [began(), told(0, Input::Started)];
        assert_eq!(again(&cut).difference, None);
    }

    #[test]
    fn an_input_before_any_life_is_an_error() {
        assert_eq!(replay(&[told(0, Input::Woke)]), Err(Headless { line: 1 }));
    }

    #[test]
    fn an_effect_before_any_input_is_a_difference() {
        let difference = again(&[wanted(0, Effect::WakeAt(Time::ZERO))]).difference.unwrap();
        assert_eq!((difference.entry, difference.after), (0, None));
    }
}

//! Work that waits for webhooks: what is left of a plan, and the attempt of its first request.
//!
//! A controller that waits for an answer does nothing else meanwhile. What concerns it in the time is
//! looked at when it goes on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use drawbridge_sim::Time;
use serde_json::Value;

use super::{Cluster, perform::Failed, plan::Act, work::Work};
use crate::{Attempt, ReviewCall, Webhooks};

/// What came of doing acts in order.
pub(super) enum Progress {
    /// All of them are done.
    Done,
    /// One failed, for this reason, and the rest was left.
    Failed(Failed),
    /// One waits for a webhook.
    Waits(Box<Rest>),
}

/// What is left to do, from the act that waits on.
#[derive(Clone, Default)]
pub(super) struct Rest {
    pub(super) attempt: Attempt,
    pub(super) acts: VecDeque<Act>,
}

#[derive(Clone)]
struct Pause {
    rest: Rest,
    /// Whose plan it is, and when to decide again even if nothing changes.
    work: Option<Work>,
    again: Option<Time>,
}

/// Everything that waits for webhooks.
#[derive(Clone, Default)]
pub(super) struct Paused {
    all: BTreeMap<u64, Pause>,
    held: BTreeSet<Work>,
    missed: BTreeSet<Work>,
    /// Calls that nobody has taken yet.
    calls: Vec<(u64, usize)>,
    last: u64,
}

impl Paused {
    /// Keeps what is left of a plan until its webhooks have answered.
    pub(super) fn keep(&mut self, rest: Rest, work: Option<Work>, again: Option<Time>) {
        self.last += 1;
        self.calls.extend(rest.attempt.waiting().map(|(number, _)| (self.last, number)));
        self.held.extend(work.clone());
        self.all.insert(self.last, Pause { rest, work, again });
    }

    /// Whether a piece of work must wait; it is looked at again afterwards.
    pub(super) fn holds(&mut self, work: &Work) -> bool {
        let held = self.held.contains(work);
        if held {
            self.missed.insert(work.clone());
        }
        held
    }
}

impl Cluster {
    /// The calls of webhooks that controllers wait for and nobody has taken yet. Each is answered
    /// with [`Cluster::answered`], under the two numbers that it has here.
    pub fn take_calls(&mut self) -> Vec<((u64, usize), ReviewCall)> {
        let mut calls: Vec<((u64, usize), ReviewCall)> = vec![];
        for (ticket, number) in std::mem::take(&mut self.paused.calls) {
            let pause = self.paused.all.get(&ticket);
            let found = pause.and_then(|it| it.rest.attempt.waiting().find(|it| it.0 == number));
            calls.extend(found.map(|(_, call)| ((ticket, number), call.clone())));
        }
        let garbage = self.api.take_garbage_calls();
        calls.extend(garbage.into_iter().map(|(number, call)| ((0, number), call)));
        calls
    }

    /// A webhook answered a call; whoever waited for it goes on.
    pub fn answered(
        &mut self,
        now: Time,
        (ticket, number): (u64, usize),
        answer: Result<Value, String>,
        hooks: &mut dyn Webhooks,
    ) {
        self.now = now;
        if ticket == 0 {
            self.api.garbage_answered(number, answer);
            return self.notice(now);
        }
        let Some(pause) = self.paused.all.get_mut(&ticket) else { return };
        pause.rest.attempt.answer(number, answer);
        if pause.rest.attempt.waiting().next().is_some() {
            return;
        }
        if let Some(pause) = self.paused.all.remove(&ticket) {
            self.go_on(now, pause, hooks);
        }
    }

    fn go_on(&mut self, now: Time, pause: Pause, hooks: &mut dyn Webhooks) {
        if let Some(work) = &pause.work {
            self.paused.held.remove(work);
            if self.paused.missed.remove(work) {
                self.work.add(now, work.clone());
            }
        }
        let progress = self.perform_rest(now, pause.rest, hooks);
        match pause.work {
            Some(work) => self.conclude(now, work, pause.again, progress),
            None => {
                if let Progress::Waits(rest) = progress {
                    self.paused.keep(*rest, None, None);
                }
            }
        }
    }

    /// Notes how a plan ended: it is tried again later if it failed, and waits if it must.
    pub(super) fn conclude(
        &mut self,
        now: Time,
        work: Work,
        again: Option<Time>,
        progress: Progress,
    ) {
        match progress {
            Progress::Failed(why) => self.work.failed(now, work, &why),
            Progress::Waits(rest) => self.paused.keep(*rest, Some(work), again),
            Progress::Done => {
                self.work.succeeded(&work);
                if let Some(again) = again {
                    self.work.add(again, work);
                }
            }
        }
    }
}

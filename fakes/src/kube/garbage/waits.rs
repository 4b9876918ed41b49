//! Requests of the garbage collector that wait for webhooks.
//!
//! The collector decides anew from what is there, so only the attempts are kept: a request that it
//! makes again finds the answers of the first time.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::Time;
use serde_json::Value;

use super::Garbage;
use crate::{Attempt, KubeApi, Request, ReviewCall, Webhooks};

/// Why the collector made a request: what it looks at again when there is news.
#[derive(Clone)]
pub(in crate::kube) enum Cause {
    Owner(Arc<str>),
    Namespace(Arc<str>),
}

/// What waits.
#[derive(Clone, Default)]
pub(super) struct Waits {
    attempts: BTreeMap<String, (Attempt, Cause)>,
    /// Calls that nobody has taken yet.
    open: Vec<(String, usize)>,
    /// Calls that somebody has taken, by the number under which they are answered.
    taken: BTreeMap<usize, (String, usize)>,
    last: usize,
}

impl Garbage {
    fn look_again(&mut self, cause: Cause) {
        match cause {
            Cause::Owner(uid) => self.owners.insert(uid),
            Cause::Namespace(name) => self.namespaces.insert(name),
        };
    }
}

impl KubeApi {
    /// Makes a request for the collector, or leaves it until webhooks have answered.
    pub(in crate::kube) fn collect_by(
        &mut self,
        now: Time,
        request: &Request,
        cause: Cause,
        hooks: &mut dyn Webhooks,
    ) {
        if self.hooks.is_empty() {
            self.handle(now, request, hooks);
            return;
        }
        let body = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
        let key = format!("{:?} {} {body}", request.method, request.path);
        let known = self.garbage.waits.attempts.remove(&key);
        let mut attempt = known.map(|(attempt, _)| attempt).unwrap_or_default();
        let asked = attempt.waiting().next().is_some();
        if !asked && self.attempt(now, request, &mut attempt, hooks).is_some() {
            return;
        }
        let waits = &mut self.garbage.waits;
        if !asked {
            waits.open.extend(attempt.waiting().map(|(number, _)| (key.clone(), number)));
        }
        waits.attempts.insert(key, (attempt, cause));
    }

    /// The calls that the collector waits for and nobody has taken yet, with their numbers.
    pub fn take_garbage_calls(&mut self) -> Vec<(usize, ReviewCall)> {
        let waits = &mut self.garbage.waits;
        let mut calls = vec![];
        for (key, number) in std::mem::take(&mut waits.open) {
            let attempt = waits.attempts.get(&key).map(|(attempt, _)| attempt);
            let call = attempt.and_then(|it| it.waiting().find(|it| it.0 == number));
            if let Some((_, call)) = call {
                waits.last += 1;
                calls.push((waits.last, call.clone()));
                waits.taken.insert(waits.last, (key, number));
            }
        }
        calls
    }

    /// A call of the collector was answered.
    pub fn garbage_answered(&mut self, number: usize, answer: Result<Value, String>) {
        let waits = &mut self.garbage.waits;
        let Some((key, call)) = waits.taken.remove(&number) else { return };
        let Some((attempt, cause)) = waits.attempts.get_mut(&key) else { return };
        attempt.answer(call, answer);
        if attempt.waiting().next().is_none() {
            let cause = cause.clone();
            self.garbage.look_again(cause);
        }
    }
}

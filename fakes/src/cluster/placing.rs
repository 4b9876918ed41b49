//! Placing pods: what the default scheduler decides is done here.
//!
//! ```text
//!   choose ──▶ a node ──▶ bind
//!                └──▶ its volumes aren't there: the node is kept for it, and it's bound later
//!          ──▶ room could be made ──▶ others leave, it waits for them
//!          ──▶ nowhere ──▶ it says why
//! ```

use std::sync::Arc;

use drawbridge_sim::Time;

use super::{
    Cluster, claim,
    object::Key,
    paused::Progress,
    plan::Plan,
    pod::Pod,
    scheduler::{self, Choice, Room, Step, View},
    work::Work,
};
use crate::Webhooks;

impl Cluster {
    /// Places what waits, one pod after another, until nothing fits.
    pub(super) fn schedule(&mut self, now: Time, hooks: &mut dyn Webhooks) {
        self.waiting.refresh(now);
        while let Some(key) = self.waiting.next() {
            let Some(pod) = self.index.pod(&key).cloned() else {
                return;
            };
            let mut turn = self.turn;
            let choice = scheduler::choose(&View::new(&self.api, &self.index), &pod, &mut turn);
            self.turn = turn;
            match choice {
                Choice::Node(node, steps) if !steps.is_empty() => {
                    self.assume(now, &pod, &node, &steps, hooks);
                }
                Choice::Node(node, _) => {
                    if !self.bind(now, &pod, &node, hooks) {
                        return;
                    }
                }
                Choice::Preempt(room, why) => self.make_room(now, &pod, &room, &why, hooks),
                Choice::Nowhere { why, alone: true } => {
                    self.waiting.set_apart(&pod);
                    self.do_once(now, scheduler::park(self.moment(), &pod, &why), hooks);
                }
                Choice::Nowhere { why, alone: false } => self.park(now, &pod, &why, hooks),
            }
        }
    }

    /// Does what needs no second try: what can't be written now is written when there is more to
    /// say.
    fn do_once(&mut self, now: Time, plan: Plan, hooks: &mut dyn Webhooks) {
        if let Progress::Waits(rest) = self.perform(now, plan, hooks) {
            self.paused.keep(*rest, None, None);
        }
    }

    /// Binds a pod; says whether the next one can follow. While a webhook is asked about a binding,
    /// nothing else is placed, so that no room is given away twice.
    fn bind(&mut self, now: Time, pod: &Pod, node: &str, hooks: &mut dyn Webhooks) -> bool {
        let retry = Work::Rejoin(pod.key.clone());
        match self.perform(now, scheduler::bind(pod, node), hooks) {
            Progress::Done => self.work.succeeded(&retry),
            Progress::Failed(why) => {
                self.waiting.leave(pod);
                self.work.failed(now, retry, &why);
            }
            Progress::Waits(rest) => {
                self.paused.keep(*rest, Some(Work::Schedule), Some(now));
                return false;
            }
        }
        true
    }

    /// Keeps a node for a pod until its volumes are there.
    fn assume(
        &mut self,
        now: Time,
        pod: &Arc<Pod>,
        node: &Arc<str>,
        steps: &[Step],
        hooks: &mut dyn Webhooks,
    ) {
        self.waiting.leave(pod);
        self.index.assume(pod, node);
        self.do_once(now, scheduler::prepare(node, steps), hooks);
    }

    /// Binds a pod to the node that was kept for it, if its volumes are there.
    pub(super) fn bind_assumed(&mut self, now: Time, key: &Key, hooks: &mut dyn Webhooks) {
        let Some(pod) = self.index.pod(key).cloned() else { return };
        let there = |(namespace, name): &(String, String)| {
            let found = self.api.get(claim::RESOURCE, namespace, name);
            found.is_some_and(|it| claim::is_bound(it))
        };
        if !pod.demand.claims.iter().all(there) {
            return;
        }
        if let Some(node) = self.index.unassume(key) {
            self.waiting.join(&pod);
            self.bind(now, &pod, &node, hooks);
        }
    }

    /// Lets less important pods leave for this one, which waits for them.
    fn make_room(
        &mut self,
        now: Time,
        pod: &Pod,
        room: &Room,
        why: &str,
        hooks: &mut dyn Webhooks,
    ) {
        self.waiting.set_apart(pod);
        self.do_once(now, scheduler::evict(self.moment(), pod, room, why), hooks);
    }

    /// Nothing can take a pod like this one: those that wait say why.
    fn park(&mut self, now: Time, pod: &Pod, why: &str, hooks: &mut dyn Webhooks) {
        let parked = self.waiting.park(now, &pod.demand, why);
        for key in parked.tell {
            if let Some(pod) = self.index.pod(&key).cloned() {
                self.do_once(now, scheduler::park(self.moment(), &pod, why), hooks);
            }
        }
        if let Some(again) = parked.again {
            self.work.add(again, Work::Schedule);
        }
    }

    pub(super) fn rejoin(&mut self, now: Time, key: &Key) {
        if let Some(pod) = self.index.pod(key).filter(|pod| scheduler::waits(pod)) {
            self.waiting.join(pod);
            self.work.add(now, Work::Schedule);
        }
    }
}

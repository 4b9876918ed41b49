//! A cluster in one value: the API server and all that stands behind it.
//!
//! ```text
//!   request ──▶ KubeApi ──change──▶ notice: who is concerned? ──▶ WorkQueue
//!                  ▲                                                  │ after LATENCY
//!                  └──── perform ◀── Plan ◀── decide ◀── objects ◀────┘ wake
//! ```
//!
//! Every controller decides by a pure function from objects to a [`plan::Plan`], and acts through
//! [`KubeApi::handle`] as its own user, so that admission, validation and audit see it as they see
//! everybody. A new controller is a decide function, a [`work::Work`], a line in `notice` and one
//! in [`Cluster::look`].
//!
//! Not here: the bridge's scheduler, node life cycle, volumes, disruption budgets.

mod amounts;
mod behaviour;
mod demand;
mod deployment;
mod index;
mod job;
mod kubelet;
mod node;
mod notice;
mod object;
mod perform;
mod plan;
mod pod;
mod recorder;
mod replica_set;
mod scheduler;
mod stateful_set;
mod taint;
mod template;
mod work;

use std::sync::Arc;

use drawbridge_sim::{Epoch, Seed, Span, Time};
use serde_json::Value;

pub use self::behaviour::{Behaviour, Mpi, PodMatch, Runtime, Spread};
use self::{
    index::Index,
    kubelet::Kubelets,
    object::{Key, Moment, controller, uid},
    plan::Plan,
    recorder::Recorder,
    scheduler::Choice,
    taint::Evictions,
    work::{Work, WorkQueue},
};
use crate::{KubeApi, Request, Response, Webhooks};

/// How long a controller takes to see a change: its watch, its queue.
pub(crate) const LATENCY: Span = Span::ms(10);

/// The API server, the controllers, the kubelets and the default scheduler.
#[derive(Clone)]
pub struct Cluster {
    api: KubeApi,
    epoch: Epoch,
    index: Index,
    kubelets: Kubelets,
    waiting: scheduler::Queue,
    /// There is no default scheduler.
    unscheduled: bool,
    evictions: Evictions,
    recorder: Recorder,
    work: WorkQueue,
    /// The last change that was noticed.
    noticed: u64,
    now: Time,
}

impl Cluster {
    /// A cluster without nodes, whose pods will behave so: the first match counts.
    pub fn new(epoch: Epoch, seed: Seed, behaviours: Vec<Behaviour>) -> Self {
        Self {
            api: KubeApi::new(epoch, seed),
            epoch,
            index: Index::default(),
            kubelets: Kubelets::new(seed, behaviours),
            waiting: scheduler::Queue::default(),
            unscheduled: false,
            evictions: Evictions::default(),
            recorder: Recorder::default(),
            work: WorkQueue::default(),
            noticed: 0,
            now: Time::ZERO,
        }
    }

    /// A cluster that people's own tools talk to: with all that a real one has at its start.
    pub fn served(epoch: Epoch, seed: Seed) -> Self {
        Self { api: KubeApi::served(epoch, seed), ..Self::new(epoch, seed, vec![]) }
    }

    /// Takes the default scheduler away: its pods wait for somebody else to bind them.
    pub fn remove_scheduler(&mut self) {
        self.unscheduled = true;
    }

    /// Takes the kubelets away: what is bound to a node waits for somebody else to run it.
    pub fn remove_kubelets(&mut self) {
        self.kubelets.remove_all();
    }

    /// The API server, to read from and to watch.
    pub fn api(&self) -> &KubeApi {
        &self.api
    }

    /// The API server, to take its changes. What is written this way is noticed at the next call
    /// of anything here; [`Cluster::handle`] notices at once.
    pub fn api_mut(&mut self) -> &mut KubeApi {
        self.notice(self.now);
        &mut self.api
    }

    /// Answers a request.
    pub fn handle(&mut self, now: Time, request: &Request, hooks: &mut dyn Webhooks) -> Response {
        self.now = now;
        let response = self.api.handle(now, request, hooks);
        self.notice(now);
        response
    }

    /// When [`Cluster::wake`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        self.work.next_at()
    }

    /// Lets everybody do what is due at `now`.
    pub fn wake(&mut self, now: Time, hooks: &mut dyn Webhooks) {
        self.now = now;
        self.notice(now);
        while let Some(work) = self.work.pop_due(now) {
            self.look(now, work, hooks);
        }
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now, epoch: self.epoch }
    }

    /// Looks at one thing: decides, then does.
    fn look(&mut self, now: Time, work: Work, hooks: &mut dyn Webhooks) {
        let plan = match &work {
            Work::Node(name) => self.look_at_node(name),
            Work::Deployment(key) => self.look_at_deployment(key),
            Work::ReplicaSet(key) => self.look_at("replicasets.apps", key, replica_set::decide),
            Work::StatefulSet(key) => self.look_at("statefulsets.apps", key, stateful_set::decide),
            Work::Job(key) => self.look_at("jobs.batch", key, job::decide),
            Work::Orphans(uid) => Some(job::release(&self.index.owned(uid))),
            Work::Taint(key) => self.look_at_taints(key),
            Work::Kubelet(key) => self.look_at_pod(key),
            Work::Schedule if self.unscheduled => return,
            Work::Schedule => return self.schedule(now, hooks),
            Work::Rejoin(key) => return self.rejoin(now, key),
            Work::Garbage => {
                self.api.collect_garbage(now, hooks);
                return self.notice(now);
            }
        };
        match plan {
            Some(plan) => self.carry_out(now, work, plan, hooks),
            // It's gone meanwhile.
            None => self.work.succeeded(&work),
        }
    }

    /// Does what was decided, and tries again later if it can't be done.
    fn carry_out(&mut self, now: Time, work: Work, plan: Plan, hooks: &mut dyn Webhooks) {
        let again = plan.again;
        if !self.perform(now, plan, hooks) {
            self.work.failed(now, work);
            return;
        }
        self.work.succeeded(&work);
        if let Some(again) = again {
            self.work.add(again, work);
        }
    }

    /// A controller of pods looks at its object.
    fn look_at(
        &self,
        resource: &str,
        key: &Key,
        decide: fn(Moment, &Value, &[Arc<pod::Pod>]) -> Plan,
    ) -> Option<Plan> {
        let object = self.api.get(resource, &key.namespace, &key.name)?;
        let pods = self.index.owned(uid(object));
        Some(decide(self.moment(), object, &pods))
    }

    fn look_at_deployment(&self, key: &Key) -> Option<Plan> {
        let it = self.api.get("deployments.apps", &key.namespace, &key.name)?;
        let mine = |object: &Value| controller(object).is_some_and(|by| by["uid"] == uid(it));
        let sets: Vec<Arc<Value>> = self
            .api
            .dependents(uid(it))
            .filter(|(key, object)| key.resource == "replicasets.apps" && mine(object))
            .map(|(_, object)| object.clone())
            .collect();
        let hash = deployment::template_hash(it);
        let old_pods = sets
            .iter()
            .filter(|set| !deployment::made_from(set, &hash))
            .any(|set| self.index.owned(uid(set)).iter().any(|pod| !pod.terminal()));
        Some(deployment::decide(self.moment(), it, &sets, old_pods))
    }

    fn look_at_node(&self, name: &str) -> Option<Plan> {
        let node = self.index.node(name)?;
        let mut plan = match self.kubelets.are_removed() {
            true => Plan::nothing(),
            false => node::register(self.moment(), node),
        };
        if self.api.is_full() {
            plan.acts.extend(node::remember(node));
        }
        Some(plan)
    }

    fn look_at_taints(&mut self, key: &Key) -> Option<Plan> {
        let pod = self.index.pod(key)?;
        let node = self.index.node(pod.node.as_ref()?)?;
        let at = self.moment();
        Some(self.evictions.sync(at, pod, node))
    }

    fn look_at_pod(&mut self, key: &Key) -> Option<Plan> {
        if self.kubelets.are_removed() {
            return None;
        }
        let pod = self.index.pod(key)?;
        let node = self.index.node(pod.node.as_ref()?)?;
        let at = Moment { now: self.now, epoch: self.epoch };
        let outcome = self.kubelets.sync(at, pod, node);
        for (other, when) in outcome.look_at {
            self.work.add(when, Work::Kubelet(other));
        }
        Some(outcome.plan)
    }

    /// Places what waits, one pod after another, until nothing fits.
    fn schedule(&mut self, now: Time, hooks: &mut dyn Webhooks) {
        self.waiting.refresh(now);
        while let Some(key) = self.waiting.next() {
            let Some(pod) = self.index.pod(&key).cloned() else {
                return;
            };
            match scheduler::choose(&pod.demand, self.index.nodes()) {
                Choice::Node(node) => self.bind(now, &pod, &node, hooks),
                Choice::Nowhere(why) => self.park(now, &pod, &why, hooks),
            }
        }
    }

    fn bind(&mut self, now: Time, pod: &pod::Pod, node: &str, hooks: &mut dyn Webhooks) {
        let retry = Work::Rejoin(pod.key.clone());
        if self.perform(now, scheduler::bind(pod, node), hooks) {
            self.work.succeeded(&retry);
        } else {
            self.waiting.leave(pod);
            self.work.failed(now, retry);
        }
    }

    /// Nothing can take a pod like this one: those that wait say why.
    fn park(&mut self, now: Time, pod: &pod::Pod, why: &str, hooks: &mut dyn Webhooks) {
        let parked = self.waiting.park(now, &pod.demand, why);
        for key in parked.tell {
            if let Some(pod) = self.index.pod(&key).cloned() {
                let plan = scheduler::park(self.moment(), &pod, why);
                self.perform(now, plan, hooks);
            }
        }
        if let Some(again) = parked.again {
            self.work.add(again, Work::Schedule);
        }
    }

    fn rejoin(&mut self, now: Time, key: &Key) {
        if let Some(pod) = self.index.pod(key).filter(|pod| scheduler::waits(pod)) {
            self.waiting.join(pod);
            self.work.add(now, Work::Schedule);
        }
    }
}

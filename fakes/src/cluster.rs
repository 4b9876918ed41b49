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
//! everybody. A new controller is a decide function and a row in `controllers`; `notice` says whom
//! else a change concerns.
//!
//! Not here: the bridge's scheduler, and what a cloud provider does.

mod adopt;
mod amounts;
mod autoscaler;
mod behaviour;
mod budget;
mod claim;
mod controllers;
mod cron_job;
mod daemon_set;
mod demand;
mod deployment;
mod device_claim;
mod ephemeral;
mod health;
mod index;
mod job;
mod job_set;
mod kubelet;
mod leader_worker_set;
mod memo;
mod node;
mod nodes;
mod notice;
mod object;
mod paused;
mod perform;
mod placing;
mod plan;
mod pod;
mod pod_gc;
mod recorder;
mod replica_set;
mod revision;
mod scheduler;
mod stateful_set;
mod taint;
mod template;
mod volume;
mod work;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub(crate) use self::cron_job::{schedule_error, zone};
use self::{
    autoscaler::Metrics,
    controllers::{Controller, Sight},
    health::Health,
    index::Index,
    kubelet::{Detail, Kubelets},
    memo::Memo,
    object::{Key, Moment},
    paused::Paused,
    plan::Plan,
    pod_gc::PodGc,
    recorder::Recorder,
    taint::Evictions,
    work::{Work, WorkQueue},
};
pub use self::{
    autoscaler::Reading,
    behaviour::{
        Across, Behaviour, Crashes, ImagePull, Mpi, PodMatch, Program, Runtime, Spread, Straggler,
    },
    claim::Provisioner,
    kubelet::{Log, Trouble},
};
use crate::{Attempt, KubeApi, Request, Response, Webhooks};
use drawbridge_sim::{Epoch, Seed, Span, Time};

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
    /// Controllers that somebody else stands in for.
    removed: BTreeSet<Controller>,
    evictions: Evictions,
    health: Health,
    /// Machines that have their power back.
    booted: BTreeSet<Arc<str>>,
    pod_gc: PodGc,
    recorder: Recorder,
    work: WorkQueue,
    memos: BTreeMap<Work, Memo>,
    /// The time zone of schedules that name none.
    zone: Arc<str>,
    provisioners: Arc<BTreeMap<String, Provisioner>>,
    metrics: Arc<Metrics>,
    /// Which node the scheduler asks first.
    turn: usize,
    paused: Paused,
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
            kubelets: Kubelets::new(seed, behaviours, Detail::Brief),
            waiting: scheduler::Queue::default(),
            unscheduled: false,
            removed: BTreeSet::new(),
            evictions: Evictions::default(),
            health: Health::default(),
            booted: BTreeSet::new(),
            pod_gc: PodGc::default(),
            recorder: Recorder::default(),
            work: WorkQueue::default(),
            memos: BTreeMap::new(),
            zone: "UTC".into(),
            provisioners: Arc::default(),
            metrics: Arc::default(),
            turn: 0,
            paused: Paused::default(),
            noticed: 0,
            now: Time::ZERO,
        }
    }

    /// A cluster that people's own tools talk to: with all that a real one has at its start.
    pub fn served(epoch: Epoch, seed: Seed, behaviours: Vec<Behaviour>) -> Self {
        Self {
            api: KubeApi::served(epoch, seed),
            kubelets: Kubelets::new(seed, behaviours, Detail::Full),
            ..Self::new(epoch, seed, vec![])
        }
    }

    /// Sets the time zone of CronJobs that name none; says whether it's known.
    pub fn set_time_zone(&mut self, name: &str) -> bool {
        let known = cron_job::knows_zone(name);
        if known {
            self.zone = name.into();
        }
        known
    }

    /// Says how the provisioner of this name works.
    pub fn set_provisioner(&mut self, name: &str, provisioner: Provisioner) {
        Arc::make_mut(&mut self.provisioners).insert(name.to_owned(), provisioner);
    }

    /// Says what a metric reads from now on: of one workload or object, or in its whole namespace if
    /// `whose` is empty. `cpu` and `memory` are those of pods; others have the names that autoscalers
    /// ask for.
    pub fn set_metric(&mut self, now: Time, key: (&str, &str, &str), reading: Option<Reading>) {
        let (namespace, whose, name) = key;
        let key = (namespace.to_owned(), whose.to_owned(), name.to_owned());
        let metrics = Arc::make_mut(&mut self.metrics);
        match reading {
            Some(reading) => metrics.insert(key, reading),
            None => metrics.remove(&key),
        };
        self.notice_autoscalers(now, namespace);
    }

    /// Takes the default scheduler away: its pods wait for somebody else to bind them.
    pub fn remove_scheduler(&mut self) {
        self.unscheduled = true;
    }

    /// Takes the controller of a kind away, so that somebody else's can do its work; says whether
    /// there is one.
    pub fn remove_controller(&mut self, kind: &str) -> bool {
        let found = Controller::of_kind(kind);
        self.removed.extend(found);
        found.is_some()
    }

    /// The kinds that have a controller.
    pub fn controllers() -> impl Iterator<Item = &'static str> {
        Controller::kinds()
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

    /// What a container has written to its log.
    pub fn log(&self, namespace: &str, pod: &str, container: Option<&str>, previous: bool) -> Log {
        self.kubelets.log(&Key::new(namespace, pod), container, previous)
    }

    /// Answers a request.
    pub fn handle(&mut self, now: Time, request: &Request, hooks: &mut dyn Webhooks) -> Response {
        self.now = now;
        let response = self.api.handle(now, request, hooks);
        self.notice(now);
        response
    }

    /// Answers a request, unless it has to wait for webhooks: see [`KubeApi::attempt`].
    pub fn attempt(
        &mut self,
        now: Time,
        request: &Request,
        attempt: &mut Attempt,
        hooks: &mut dyn Webhooks,
    ) -> Option<Response> {
        self.now = now;
        let response = self.api.attempt(now, request, attempt, hooks);
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
            if !self.paused.holds(&work) {
                self.look(now, work, hooks);
            }
        }
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now, epoch: self.epoch }
    }

    /// Looks at one thing: decides, then does.
    fn look(&mut self, now: Time, work: Work, hooks: &mut dyn Webhooks) {
        let plan = match &work {
            Work::Node(name) => self.look_at_node(name),
            Work::Of(controller, _) if self.removed.contains(controller) => return,
            Work::Of(controller, key) => self.look_at(*controller, key, &work),
            Work::Orphans(uid) => Some(job::release(&self.index.owned(uid))),
            Work::Health(name) => self.look_at_health(name),
            Work::Conditions(name) => self.look_at_conditions(name),
            Work::PodGc => Some(self.pod_gc.look(self.moment(), &self.index)),
            Work::Taint(key) => self.look_at_taints(key),
            Work::Kubelet(key) => self.look_at_pod(key),
            Work::Schedule if self.unscheduled => return,
            Work::Schedule => return self.schedule(now, hooks),
            Work::Rejoin(key) => return self.rejoin(now, key),
            Work::Bind(key) => return self.bind_assumed(now, key, hooks),
            Work::Garbage => {
                self.api.collect_garbage(now, hooks);
                return self.notice(now);
            }
        };
        match plan {
            Some(plan) => self.carry_out(now, work, plan, hooks),
            // It's gone meanwhile.
            None => {
                self.memos.remove(&work);
                self.work.succeeded(&work);
            }
        }
    }

    /// Does what was decided, and tries again later if it can't be done.
    fn carry_out(&mut self, now: Time, work: Work, mut plan: Plan, hooks: &mut dyn Webhooks) {
        let again = plan.again;
        match plan.memo.take() {
            Some(memo) => self.memos.insert(work.clone(), memo),
            None => self.memos.remove(&work),
        };
        let progress = self.perform(now, plan, hooks);
        self.conclude(now, work, again, progress);
    }

    /// A controller looks at its object.
    fn look_at(&self, controller: Controller, key: &Key, work: &Work) -> Option<Plan> {
        let object = self.api.get(controller.resource(), &key.namespace, &key.name)?;
        let failed = self.work.failure(work);
        let sight = Sight {
            at: self.moment(),
            api: &self.api,
            index: &self.index,
            zone: &self.zone,
            provisioners: &self.provisioners,
            metrics: &self.metrics,
            failed: failed.as_deref(),
            memo: self.memos.get(work),
        };
        Some(controller.decide()(sight, object))
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
        let unprepared = device_claim::unprepared(&self.api, pod);
        if let Some(why) = unprepared.filter(|_| !self.kubelets.knows(pod) && !pod.terminal()) {
            return Some(self.kubelets.unprepared(at, pod, node, &why));
        }
        let outcome = self.kubelets.sync(at, pod, node);
        for (other, when) in outcome.look_at {
            self.work.add(when, Work::Kubelet(other));
        }
        Some(outcome.plan)
    }
}

//! Everything on its way out of one step: requests, alarms, facts, counts.
//!
//! A request is remembered by its [`CallId`] with its [`Purpose`]; a reply finds its way back by it.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::{JobId, SlurmNode, Span, Time};

use crate::{
    effect::{Effect, KubeRequest, SlurmRequest},
    facts::{BridgeFact, FactSubject, Weight},
    informer::Resource,
    input::{CallId, StreamId},
    names::{KubeNode, Uid},
};

/// Why a request was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A list for an informer.
    List(Resource),
    /// An owner, to read its annotations.
    Owner(Uid),
    /// Something done to a pod.
    Pod(Uid),
    /// An event about a pod; its fate matters to nobody.
    Note,
    /// Something done to a Kubernetes node.
    Node(KubeNode),
    /// A job for a workload.
    Submit(Uid),
    /// The regular questions to Slurm.
    States,
    /// All jobs in full.
    AllJobs,
    /// One job in full.
    Job(JobId),
    /// All Slurm nodes.
    SlurmNodes,
    /// The end of a job: reading it, then telling it.
    Ending(JobId),
    /// A Slurm node drained or resumed.
    UpdateNode(SlurmNode),
}

/// What an alarm is for. There is one alarm for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// An informer's next try.
    Informer(Resource),
    /// The next regular question to Slurm.
    Poll,
    /// A workload's next try.
    Workload(Uid),
    /// A pod's next try.
    Pod(Uid),
    /// A Kubernetes node's next try.
    Node(KubeNode),
    /// A job's end is due to be looked at again.
    Ending(JobId),
}

/// What a step has to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    now: Time,
    effects: Vec<Effect>,
    calls_made: u64,
    streams_made: u64,
    calls: BTreeMap<CallId, Purpose>,
    alarms: BTreeMap<Alarm, Time>,
    queue: BTreeSet<(Time, Alarm)>,
    announced: Option<Time>,
    facts: Vec<BridgeFact>,
    metrics: BTreeMap<&'static str, u64>,
}

impl Outbox {
    pub(crate) fn begin(&mut self, now: Time) {
        self.now = now;
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Everything to be done, and when to be woken.
    pub(crate) fn finish(&mut self) -> Vec<Effect> {
        let next = self.queue.first().map(|(at, _)| *at);
        if next != self.announced {
            self.effects.extend(next.map(Effect::WakeAt));
            self.announced = next;
        }
        std::mem::take(&mut self.effects)
    }

    /// The number of the last request: a later reply to it knows nothing of what came after.
    pub(crate) fn last_call(&self) -> CallId {
        CallId(self.calls_made)
    }

    pub(crate) fn kube(&mut self, purpose: Purpose, request: KubeRequest) -> CallId {
        self.count("kube.requests");
        let call = self.call(purpose);
        self.effects.push(Effect::Kube { call, request });
        call
    }

    pub(crate) fn slurm(&mut self, purpose: Purpose, request: SlurmRequest) -> CallId {
        self.count(metric_of(&request));
        let call = self.call(purpose);
        self.effects.push(Effect::Slurm { call, request });
        call
    }

    pub(crate) fn watch(&mut self, request: KubeRequest) -> StreamId {
        self.count("kube.watches");
        self.streams_made += 1;
        let stream = StreamId(self.streams_made);
        self.effects.push(Effect::KubeWatch { stream, request });
        stream
    }

    fn call(&mut self, purpose: Purpose) -> CallId {
        self.calls_made += 1;
        let call = CallId(self.calls_made);
        self.calls.insert(call, purpose);
        call
    }

    /// What the request was for; a second reply to it gets `None`.
    pub(crate) fn answered(&mut self, call: CallId) -> Option<Purpose> {
        self.calls.remove(&call)
    }

    /// Sets the alarm, in place of what it was set to.
    pub(crate) fn wake_at(&mut self, at: Time, alarm: Alarm) {
        self.cancel_alarm(&alarm);
        self.queue.insert((at, alarm.clone()));
        self.alarms.insert(alarm, at);
    }

    /// Sets the alarm to so long from now.
    pub(crate) fn wake_in(&mut self, span: Span, alarm: Alarm) {
        self.wake_at(self.now + span, alarm);
    }

    pub(crate) fn cancel_alarm(&mut self, alarm: &Alarm) {
        if let Some(at) = self.alarms.remove(alarm) {
            self.queue.remove(&(at, alarm.clone()));
        }
    }

    /// The alarms whose time has come.
    pub(crate) fn due(&mut self) -> Vec<Alarm> {
        self.announced = None;
        let mut due = Vec::new();
        while let Some((at, _)) = self.queue.first()
            && *at <= self.now
            && let Some((_, alarm)) = self.queue.pop_first()
        {
            self.alarms.remove(&alarm);
            due.push(alarm);
        }
        due
    }

    pub(crate) fn tell(&mut self, subject: FactSubject, text: String) {
        self.record(BridgeFact { subject, weight: Weight::News, text });
    }

    pub(crate) fn record(&mut self, fact: BridgeFact) {
        self.facts.push(fact);
    }

    pub(crate) fn count(&mut self, name: &'static str) {
        *self.metrics.entry(name).or_default() += 1;
    }

    pub(crate) fn take_facts(&mut self) -> Vec<BridgeFact> {
        std::mem::take(&mut self.facts)
    }

    pub(crate) fn metrics(&self) -> &BTreeMap<&'static str, u64> {
        &self.metrics
    }
}

fn metric_of(request: &SlurmRequest) -> &'static str {
    match request {
        SlurmRequest::Submit(_) => "slurm.submit",
        SlurmRequest::JobStates => "slurm.jobStates",
        SlurmRequest::Job(_) => "slurm.job",
        SlurmRequest::Jobs => "slurm.jobs",
        SlurmRequest::Cancel { .. } => "slurm.cancel",
        SlurmRequest::Nodes => "slurm.nodes",
        SlurmRequest::UpdateNode { .. } => "slurm.updateNode",
    }
}

//! Everything on its way out of one step: requests, alarms, facts, counts.
//!
//! A request is remembered by its [`CallId`] with its [`Purpose`]; a reply finds its way back by it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use drawbridge_sim::{JobId, SlurmNode, Span, Time};

use crate::{
    effect::{Effect, KubeRequest, Limits, SlurmRequest},
    facts::{BridgeFact, FactSubject, Weight},
    informer::Resource,
    input::{CallId, StreamId},
    link::{Probe, Question},
    names::{KubeNode, ObjectKey, Uid},
    slurm::Via,
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
    /// Something done for a claim.
    Claim(ObjectKey),
    /// Something done to a Kubernetes node.
    Node(KubeNode),
    /// A job for a workload.
    Submit(Uid),
    /// A change to a workload's job.
    Revise(Uid),
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
    /// Something done to a Slurm node.
    UpdateNode(SlurmNode),
    /// All reservations.
    Reservations,
    /// Whether a slurmrestd can be used.
    Probe,
    /// The lease that says who leads.
    Lease,
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
    /// A claim's next try.
    Claim(ObjectKey),
    /// A Kubernetes node's next try.
    Node(KubeNode),
    /// A Kubernetes node isn't ready for so long that it is drained.
    NotReady(KubeNode),
    /// A job's end is due to be looked at again.
    Ending(JobId),
    /// A reply is overdue.
    Deadline,
    /// The lease is due to be looked at, renewed or given up.
    Lease,
    /// The way to Slurm may be open again.
    Link,
}

/// A request that was sent and not answered yet.
#[derive(Clone, Debug)]
struct Call {
    purpose: Purpose,
    /// For Slurm, once it was sent: by which way.
    via: Option<Via>,
    /// Once it was sent: until when an answer counts.
    reply_by: Option<Time>,
}

/// How long the Kubernetes API server may take to answer.
const KUBE_PATIENCE: Span = Span::secs(30);

/// What a step has to say.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    now: Time,
    effects: Vec<Effect>,
    calls_made: u64,
    streams_made: u64,
    calls: BTreeMap<CallId, Call>,
    /// The way to Slurm, while it is open.
    via: Option<Via>,
    /// How long Slurm may take to answer.
    patience: Span,
    /// Requests to Slurm that wait for the way to open.
    waiting: VecDeque<(CallId, SlurmRequest)>,
    deadlines: BTreeSet<(Time, CallId)>,
    /// Nothing may be sent after this.
    fence: Time,
    /// What ends this life.
    last: Option<Effect>,
    alarms: BTreeMap<Alarm, Time>,
    queue: BTreeSet<(Time, Alarm)>,
    announced: Option<Time>,
    facts: Vec<BridgeFact>,
    metrics: BTreeMap<&'static str, u64>,
}

impl Outbox {
    /// An empty one. Slurm's answers are waited for so long.
    pub(crate) fn new(patience: Span) -> Self {
        Self {
            now: Time::ZERO,
            effects: Vec::new(),
            calls_made: 0,
            streams_made: 0,
            calls: BTreeMap::new(),
            via: None,
            patience,
            waiting: VecDeque::new(),
            deadlines: BTreeSet::new(),
            fence: Time::MAX,
            last: None,
            alarms: BTreeMap::new(),
            queue: BTreeSet::new(),
            announced: None,
            facts: Vec::new(),
            metrics: BTreeMap::new(),
        }
    }

    pub(crate) fn begin(&mut self, now: Time) {
        self.now = now;
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Nothing of what follows may be sent after this.
    pub(crate) fn set_fence(&mut self, fence: Time) {
        self.fence = fence;
    }

    /// Everything to be done, and when to be woken.
    pub(crate) fn finish(&mut self) -> Vec<Effect> {
        if let Some(last) = self.last.take() {
            self.clear();
            return vec![last];
        }
        match self.deadlines.first().map(|(at, _)| *at) {
            Some(at) => self.wake_at(at, Alarm::Deadline),
            None => self.cancel_alarm(&Alarm::Deadline),
        }
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
        let limits = self.limits(call, None, KUBE_PATIENCE);
        self.effects.push(Effect::Kube { call, limits, request });
        call
    }

    /// The request is about to be sent: notes until when it counts.
    fn limits(&mut self, id: CallId, via: Option<Via>, patience: Span) -> Limits {
        let reply_by = self.now + patience;
        if let Some(call) = self.calls.get_mut(&id) {
            (call.via, call.reply_by) = (via, Some(reply_by));
        }
        self.deadlines.insert((reply_by, id));
        Limits { send_by: self.fence, reply_by }
    }

    /// Asks Slurm: now if the way is open, or as soon as it is.
    pub(crate) fn slurm(&mut self, purpose: Purpose, request: SlurmRequest) -> CallId {
        let call = self.call(purpose);
        match self.via {
            Some(via) => self.send(call, via, request),
            None => self.waiting.push_back((call, request)),
        }
        call
    }

    fn send(&mut self, call: CallId, via: Via, request: SlurmRequest) {
        self.count(metric_of(&request));
        let limits = self.limits(call, Some(via), self.patience);
        self.effects.push(Effect::Slurm { call, via, limits, request });
    }

    /// The way to Slurm is open: whatever waits is sent.
    pub(crate) fn open(&mut self, via: Via) {
        self.via = Some(via);
        for (call, request) in std::mem::take(&mut self.waiting) {
            self.send(call, via, request);
        }
    }

    /// The way to Slurm is shut.
    pub(crate) fn shut(&mut self) {
        self.via = None;
    }

    /// Asks what the way to Slurm depends on.
    pub(crate) fn probe(&mut self, probe: Probe) {
        let request = match probe.question {
            Question::Version => SlurmRequest::Ping,
            Question::Token => SlurmRequest::TestToken,
        };
        let call = self.call(Purpose::Probe);
        self.send(call, probe.via, request);
    }

    /// One of the requests that wait, which won't be sent.
    pub(crate) fn drop_waiting(&mut self) -> Option<CallId> {
        self.waiting.pop_front().map(|(call, _)| call)
    }

    /// A request whose answer is overdue, and whether it went to Slurm.
    pub(crate) fn overdue(&self) -> Option<(CallId, bool)> {
        let (_, id) = self.deadlines.first().filter(|(at, _)| *at <= self.now)?;
        Some((*id, self.calls.get(id).is_some_and(|call| call.via.is_some())))
    }

    pub(crate) fn watch(&mut self, request: KubeRequest) -> StreamId {
        self.count("kube.watches");
        self.streams_made += 1;
        let stream = StreamId(self.streams_made);
        self.effects.push(Effect::KubeWatch { stream, request });
        stream
    }

    pub(crate) fn unwatch(&mut self, stream: StreamId) {
        self.effects.push(Effect::Unwatch { stream });
    }

    /// Nothing of what is under way matters any more.
    pub(crate) fn clear(&mut self) {
        self.effects.clear();
        self.calls.clear();
        self.deadlines.clear();
        self.waiting.clear();
        self.alarms.clear();
        self.queue.clear();
    }

    /// Ends this life: nothing but this is to be done.
    pub(crate) fn end(&mut self, with: Effect) {
        self.last = Some(with);
    }

    fn call(&mut self, purpose: Purpose) -> CallId {
        self.calls_made += 1;
        let call = CallId(self.calls_made);
        self.calls.insert(call, Call { purpose, via: None, reply_by: None });
        call
    }

    /// What the request was for, and which way it went if it went to Slurm. A second reply to it, or
    /// one after its deadline, gets `None`.
    pub(crate) fn answered(&mut self, id: CallId) -> Option<(Purpose, Option<Via>)> {
        let Call { purpose, via, reply_by } = self.calls.remove(&id)?;
        if let Some(reply_by) = reply_by {
            self.deadlines.remove(&(reply_by, id));
        }
        Some((purpose, via))
    }

    /// What the request was for, if its answer is still waited for.
    pub(crate) fn purpose_of(&self, id: CallId) -> Option<&Purpose> {
        self.calls.get(&id).map(|call| &call.purpose)
    }

    /// The alarms whose time has come by then.
    pub(crate) fn ringing(&self, now: Time) -> impl Iterator<Item = &Alarm> {
        self.queue.iter().take_while(move |(at, _)| *at <= now).map(|(_, alarm)| alarm)
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
        SlurmRequest::Ping => "slurm.ping",
        SlurmRequest::TestToken => "slurm.testToken",
        SlurmRequest::Submit(_) => "slurm.submit",
        SlurmRequest::JobStates => "slurm.jobStates",
        SlurmRequest::Job(_) => "slurm.job",
        SlurmRequest::Jobs => "slurm.jobs",
        SlurmRequest::Cancel { .. } => "slurm.cancel",
        SlurmRequest::Nodes => "slurm.nodes",
        SlurmRequest::Remark { .. } => "slurm.remark",
        SlurmRequest::Revise { .. } => "slurm.revise",
        SlurmRequest::UpdateNode { .. } => "slurm.updateNode",
        SlurmRequest::CreateNode { .. } => "slurm.createNode",
        SlurmRequest::DescribeNode { .. } => "slurm.describeNode",
        SlurmRequest::DeleteNode(_) => "slurm.deleteNode",
        SlurmRequest::Reservations => "slurm.reservations",
    }
}

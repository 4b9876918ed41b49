//! Laws with a deadline: something must have happened by then, if the bridge was up to do it.
//!
//! ```text
//!   what starts the clock ──▶ Due at now + bound ──▶ looked at: done, or a finding
//!                                  ▲                    │
//!                                  └── bridge was down ─┘
//! ```

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_core::{SlurmRequest, names::FINALIZER};
use drawbridge_fakes::{Change, ChangeKind, KubeApi};
use drawbridge_sim::{EventQueue, Fact, Job, JobId, JobState, Slurmctld, Span, Time};
use serde_json::Value;

use super::{
    ability::Ability,
    ownership::{Mark, is_marked, mark},
};
use crate::object::Object;

/// Twice the slowest poll.
const TWO_POLLS: Span = Span::secs(60);
/// From a gang's first binding to its last; the bridge gives up on a binding after a minute.
const BINDING_WINDOW: Span = Span::secs(75);
/// From being deletable to being without our finalizer.
const DELETABLE: Span = Span::secs(60);
/// From a job's start to its pods' binding, in a Slurm with few jobs.
const PLACED: Span = Span::secs(15);
/// How long that may take where the pod says what it waits for beside: a volume, a device, somebody who leaves.
const HELD_UP: Span = Span::mins(11);
/// So many jobs of ours make that a second longer.
const CROWD: u64 = 1000;
/// From a pod's creation to the first thing that the bridge does for it.
const FIRST_EFFECT: Span = Span::secs(15);
/// How old the reason on a pod may be, while few pods wait.
const REASON_AGE: Span = Span::secs(60);
/// How many waiting jobs the bridge looks at in a second.
const REASONS_PER_SECOND: u64 = 10;

/// `namespace/name` of a pod.
type Key = String;

/// Something that must hold when its time has come.
#[derive(Clone, Debug)]
enum Due {
    /// I2b: all members of the gang behind this job are bound, or none.
    GangBound(JobId),
    /// I4b: the workload has one live job at most.
    OneJob(String),
    /// I5: this pod is without our finalizer, or gone.
    Deletable(Key, String),
    /// I7: the pods that this job had when its nodes were released run no more.
    Ended(JobId, Time, BTreeMap<String, Key>),
    /// I8: the bridge has done something for this pod.
    Served(Key, String),
    /// I9: the pods of this job say what it waits for.
    Explained(JobId),
    /// I11: the pods of this job, which started then, are bound.
    Placed(JobId, Time),
    /// I12: this job, whose last pod may have ended then, has ended too.
    Useless(JobId, Time),
}

/// The deadlines, and what they are judged by.
#[derive(Clone)]
pub(super) struct Bounds {
    scheduler: String,
    cluster: String,
    due: EventQueue<Due>,
    pub(super) able: Ability,
    /// Pods that a submission named.
    submitted: BTreeSet<Key>,
    /// Pods that name a job by their label.
    pods: BTreeMap<JobId, BTreeSet<Key>>,
    /// Pods that are bound for a job and have not ended, by uid.
    bound: BTreeMap<JobId, BTreeMap<String, Key>>,
    /// Jobs of ours that have not ended, by workload.
    live: BTreeMap<String, BTreeSet<JobId>>,
    /// The mark of each of them.
    marks: BTreeMap<JobId, Mark>,
    /// Those of them that were submitted for a pod.
    made_for: BTreeMap<Key, BTreeSet<JobId>>,
    /// When a pod of theirs last ended or went.
    last_end: BTreeMap<JobId, Time>,
    /// What each waiting job of ours has waited for, and since when.
    reasons: BTreeMap<JobId, Vec<(Time, String)>>,
    /// Gangs whose first binding was seen, pods whose deletion was seen.
    running_clocks: BTreeSet<String>,
}

impl Bounds {
    pub(super) fn new(scheduler: &str, cluster: &str) -> Self {
        Self {
            scheduler: scheduler.to_owned(),
            cluster: cluster.to_owned(),
            due: EventQueue::default(),
            able: Ability::new(),
            submitted: BTreeSet::new(),
            pods: BTreeMap::new(),
            bound: BTreeMap::new(),
            live: BTreeMap::new(),
            marks: BTreeMap::new(),
            made_for: BTreeMap::new(),
            last_end: BTreeMap::new(),
            reasons: BTreeMap::new(),
            running_clocks: BTreeSet::new(),
        }
    }

    /// The bridge wants something of Slurm. I12: it ends no job whose pods run.
    pub(super) fn sends(&self, request: &SlurmRequest) -> Option<String> {
        let SlurmRequest::Cancel { job, .. } = request else { return None };
        let key = self.bound.get(job)?.values().next()?;
        Some(format!("I12: the bridge ends job {job}, but its pod {key} still runs"))
    }

    /// The bridge asked Slurm for something.
    pub(super) fn requested(&mut self, request: &SlurmRequest) {
        if let SlurmRequest::Submit(job) = request
            && let Some(mark) = mark(&job.admin_comment)
        {
            self.submitted.extend(mark.pods);
        }
    }

    pub(super) fn slurm_fact(&mut self, now: Time, fact: &Fact, slurm: &Slurmctld) {
        match fact {
            Fact::JobSubmitted { job } | Fact::JobSplit { job, .. } => {
                self.job_appeared(now, *job, slurm);
            }
            Fact::JobReasonChanged { job, reason } => {
                if self.our_mark(*job, slurm).is_some() {
                    self.reason_changed(now, *job, reason.word());
                }
            }
            Fact::JobStarted { job, .. } => {
                self.reasons.remove(job);
                if self.marks.contains_key(job) {
                    let bound = PLACED + Span::secs(self.marks.len() as u64 / CROWD);
                    self.due.push(now + bound, Due::Placed(*job, now));
                }
            }
            Fact::JobEnded { job, .. } | Fact::JobPurged { job } => self.job_ended(*job),
            Fact::JobReleased { job } => {
                if let Some(pods) = self.bound.get(job) {
                    self.due.push(now + TWO_POLLS, Due::Ended(*job, now, pods.clone()));
                }
            }
            Fact::JobPlanned { .. }
            | Fact::JobRequeued { .. }
            | Fact::JobChanged { .. }
            | Fact::NodeChanged { .. } => {}
        }
    }

    pub(super) fn kube_change(&mut self, now: Time, change: &Change) {
        let pod = Object(&change.object);
        if change.resource != "pods" || pod.scheduler() != self.scheduler {
            return;
        }
        if change.kind == ChangeKind::Deleted || pod.is_terminal() {
            self.pod_ended(now, &pod.key());
        }
        if change.kind == ChangeKind::Deleted {
            return self.forget(pod);
        }
        if change.kind == ChangeKind::Added && pod.gang().is_none() {
            let due = Due::Served(pod.key(), pod.uid().to_owned());
            self.due.push(now + FIRST_EFFECT, due);
        }
        if let Some(job) = pod.job() {
            self.pods.entry(job).or_default().insert(pod.key());
            self.watch_gang(now, pod, job);
            self.note_bound(pod, job);
        }
        self.watch_deletion(now, pod);
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.next_at()
    }

    /// Looks at every deadline that has come.
    pub(super) fn due(&mut self, now: Time, slurm: &Slurmctld, api: &KubeApi) -> Vec<String> {
        let mut findings = vec![];
        while let Some((_, due)) = self.due.pop_due(now) {
            match self.able.since() {
                // A bridge that was down, or cut off, gets the whole time again.
                None => self.due.push(now + TWO_POLLS, due),
                Some(up) if now < up + TWO_POLLS && up > Time::ZERO => {
                    self.due.push(up + TWO_POLLS, due);
                }
                Some(_) => findings.extend(self.judge(now, &due, slurm, api)),
            }
        }
        findings
    }

    /// I4b: once everything is quiet, no live job of ours is without a live pod.
    pub(super) fn orphans(&self, slurm: &Slurmctld, api: &KubeApi) -> Vec<String> {
        let jobs = self.live.values().flatten();
        jobs.filter(|job| slurm.job(**job).is_some())
            .filter(|job| !self.pods_of(**job, slurm, api).any(|pod| !pod.is_terminal()))
            .map(|job| format!("I4b: job {job} is left without a live workload"))
            .collect()
    }

    /// Counts the live jobs of ours again, from the model.
    pub(super) fn recount(&self, slurm: &Slurmctld) -> Option<String> {
        let live = slurm.jobs().filter(|job| !job.state.is_end());
        let ours = live.filter(|job| is_marked(&job.submission.admin_comment, &self.cluster));
        let counted: Vec<JobId> = ours.map(|job| job.id).collect();
        let mut kept: Vec<JobId> = self.live.values().flatten().copied().collect();
        kept.sort_unstable();
        (counted != kept)
            .then(|| format!("I4b: the jobs {counted:?} live, the index says {kept:?}"))
    }

    fn judge(&mut self, now: Time, due: &Due, slurm: &Slurmctld, api: &KubeApi) -> Option<String> {
        match due {
            Due::GangBound(job) => self.judge_gang(*job, slurm, api),
            Due::OneJob(workload) => {
                let jobs = self.live.get(workload).filter(|jobs| jobs.len() > 1)?;
                Some(format!("I4b: workload {workload} still has the jobs {jobs:?}"))
            }
            Due::Deletable(key, uid) => {
                let pod = find(api, key).filter(|pod| pod.uid() == uid)?;
                let is_held = pod.has_finalizer(FINALIZER);
                is_held.then(|| format!("I5: pod {key} can't be deleted: our finalizer is on it"))
            }
            Due::Ended(job, released, pods) => self.judge_ended(now, *job, *released, pods, api),
            Due::Served(key, uid) => self.judge_served(key, uid, api),
            Due::Explained(job) => self.judge_explained(now, *job, slurm, api),
            Due::Placed(job, started) => self.judge_placed(now, *job, *started, slurm, api),
            Due::Useless(job, ended) => self.judge_useless(*job, *ended, slurm, api),
        }
    }

    /// I11, if the job still is what it was when it started.
    fn judge_placed(
        &mut self,
        now: Time,
        job: JobId,
        started: Time,
        slurm: &Slurmctld,
        api: &KubeApi,
    ) -> Option<String> {
        let is_same = |it: &&Job| it.state == JobState::Running && it.start_time == Some(started);
        slurm.job(job).filter(is_same)?;
        let pod = self.pods_of(job, slurm, api).find(|pod| {
            pod.node().is_none()
                && !pod.is_terminal()
                && !pod.is_terminating()
                && pod.at(&["spec", "schedulingGates"]).is_none()
        })?;
        let pending = format!("Slurm job {job} is pending");
        let says_more = pod.waits_because().is_some_and(|it| !it.starts_with(&pending));
        if says_more && now < started + HELD_UP {
            self.due.push(started + HELD_UP, Due::Placed(job, started));
            return None;
        }
        Some(format!("I11: job {job} runs, but its pod {} isn't bound", pod.key()))
    }

    /// I12, unless another of its pods ended later: then that one's time counts.
    fn judge_useless(
        &self,
        job: JobId,
        ended: Time,
        slurm: &Slurmctld,
        api: &KubeApi,
    ) -> Option<String> {
        let is_live = self.marks.contains_key(&job) && self.last_end.get(&job) == Some(&ended);
        let is_needed = self.pods_of(job, slurm, api).any(|pod| !pod.is_terminal());
        (is_live && !is_needed).then(|| format!("I12: job {job} lives on, but its pods are over"))
    }

    fn judge_gang(&self, job: JobId, slurm: &Slurmctld, api: &KubeApi) -> Option<String> {
        let live: Vec<_> = self
            .pods_of(job, slurm, api)
            .filter(|pod| !pod.is_terminal() && !pod.is_terminating())
            .collect();
        let n_bound = live.iter().filter(|pod| pod.node().is_some()).count();
        let is_torn = 0 < n_bound && n_bound < live.len();
        is_torn.then(|| format!("I2b: {n_bound} of {} members of job {job} are bound", live.len()))
    }

    fn judge_ended(
        &mut self,
        now: Time,
        job: JobId,
        released: Time,
        pods: &BTreeMap<String, Key>,
        api: &KubeApi,
    ) -> Option<String> {
        let is_left = |(uid, key): &(&String, &Key)| {
            find(api, key).is_some_and(|pod| pod.uid() == *uid && !pod.is_terminal())
        };
        let (_, key) = pods.iter().find(is_left)?;
        let grace = find(api, key)?.at(&["spec", "terminationGracePeriodSeconds"]);
        let grace = grace.and_then(Value::as_u64).unwrap_or(30);
        let bound = released + TWO_POLLS + Span::secs(grace);
        if now < bound {
            self.due.push(bound, Due::Ended(job, released, pods.clone()));
            return None;
        }
        Some(format!("I7: pod {key} still runs, but Slurm released job {job}"))
    }

    fn judge_served(&self, key: &Key, uid: &str, api: &KubeApi) -> Option<String> {
        let pod = find(api, key).filter(|pod| pod.uid() == uid)?;
        let is_served = self.submitted.contains(key)
            || pod.job().is_some()
            || pod.waits_because().is_some()
            || pod.is_terminating()
            || pod.is_terminal()
            || pod.at(&["spec", "schedulingGates"]).is_some();
        (!is_served).then(|| format!("I8: nothing was done for pod {key}"))
    }

    fn judge_explained(
        &mut self,
        now: Time,
        job: JobId,
        slurm: &Slurmctld,
        api: &KubeApi,
    ) -> Option<String> {
        self.running_clocks.remove(&format!("reason {job}"));
        let history = self.reasons.get(&job)?;
        let oldest = now.as_ms().saturating_sub(self.reason_age().as_ms());
        // The reason in force at the oldest allowed moment counts too.
        let from = history.iter().rposition(|(at, _)| at.as_ms() <= oldest).unwrap_or(0);
        let recent: Vec<&str> = history[from..].iter().map(|(_, reason)| reason.as_str()).collect();
        if recent.contains(&"None") {
            return None;
        }
        let is_told = |pod: &Object<'_>| {
            let message = pod.waits_because().unwrap_or_default();
            recent.iter().any(|reason| message.contains(reason))
        };
        let pod = self
            .pods_of(job, slurm, api)
            .filter(|pod| pod.node().is_none() && !pod.is_terminating())
            .find(|pod| !is_told(pod))?;
        Some(format!("I9: pod {} doesn't say that job {job} waits for {recent:?}", pod.key()))
    }

    fn reason_age(&self) -> Span {
        REASON_AGE + Span::secs(self.reasons.len() as u64 / REASONS_PER_SECOND)
    }

    fn job_appeared(&mut self, now: Time, job: JobId, slurm: &Slurmctld) {
        let Some(mark) = self.our_mark(job, slurm) else { return };
        let jobs = self.live.entry(mark.workload.clone()).or_default();
        jobs.insert(job);
        if jobs.len() > 1 {
            self.due.push(now + TWO_POLLS, Due::OneJob(mark.workload.clone()));
        }
        for key in &mark.pods {
            self.made_for.entry(key.clone()).or_default().insert(job);
        }
        self.marks.insert(job, mark);
    }

    fn pod_ended(&mut self, now: Time, key: &Key) {
        for job in self.made_for.get(key).into_iter().flatten() {
            self.last_end.insert(*job, now);
            self.due.push(now + TWO_POLLS, Due::Useless(*job, now));
        }
    }

    fn job_ended(&mut self, job: JobId) {
        self.reasons.remove(&job);
        self.last_end.remove(&job);
        let Some(mark) = self.marks.remove(&job) else { return };
        drop_from(&mut self.live, &mark.workload, job);
        for key in &mark.pods {
            drop_from(&mut self.made_for, key, job);
        }
    }

    fn reason_changed(&mut self, now: Time, job: JobId, reason: &str) {
        self.reasons.entry(job).or_default().push((now, reason.to_owned()));
        if self.running_clocks.insert(format!("reason {job}")) {
            self.due.push(now + self.reason_age(), Due::Explained(job));
        }
    }

    fn watch_gang(&mut self, now: Time, pod: Object<'_>, job: JobId) {
        let is_first = pod.gang().is_some()
            && pod.node().is_some()
            && !pod.is_terminal()
            && self.running_clocks.insert(format!("gang {job}"));
        if is_first {
            self.due.push(now + BINDING_WINDOW, Due::GangBound(job));
        }
    }

    fn note_bound(&mut self, pod: Object<'_>, job: JobId) {
        if pod.node().is_some() && !pod.is_terminal() {
            let pods = self.bound.entry(job).or_default();
            pods.insert(pod.uid().to_owned(), pod.key());
        } else {
            self.unbind(pod, job);
        }
    }

    fn unbind(&mut self, pod: Object<'_>, job: JobId) {
        if let Some(pods) = self.bound.get_mut(&job) {
            pods.remove(pod.uid());
            if pods.is_empty() {
                self.bound.remove(&job);
            }
        }
    }

    fn watch_deletion(&mut self, now: Time, pod: Object<'_>) {
        let is_held = pod.is_terminating()
            && pod.has_finalizer(FINALIZER)
            && (pod.is_terminal() || pod.node().is_none());
        if is_held && self.running_clocks.insert(format!("deletion {}", pod.uid())) {
            let due = Due::Deletable(pod.key(), pod.uid().to_owned());
            self.due.push(now + DELETABLE, due);
        }
    }

    fn forget(&mut self, pod: Object<'_>) {
        self.submitted.remove(&pod.key());
        if let Some(job) = pod.job() {
            self.unbind(pod, job);
        }
        self.running_clocks.remove(&format!("deletion {}", pod.uid()));
        if let Some(job) = pod.job()
            && let Some(pods) = self.pods.get_mut(&job)
        {
            pods.remove(&pod.key());
            if pods.is_empty() {
                self.pods.remove(&job);
            }
        }
    }

    fn our_mark(&self, job: JobId, slurm: &Slurmctld) -> Option<Mark> {
        mark(&slurm.job(job)?.submission.admin_comment).filter(|mark| mark.cluster == self.cluster)
    }

    /// The pods that a job was submitted for or that name it, as they are now.
    fn pods_of<'a>(
        &self,
        job: JobId,
        slurm: &Slurmctld,
        api: &'a KubeApi,
    ) -> impl Iterator<Item = Object<'a>> {
        let named = self.pods.get(&job).into_iter().flatten().cloned();
        let marked = self.our_mark(job, slurm).map(|mark| mark.pods).unwrap_or_default();
        let keys: BTreeSet<Key> = named.chain(marked).collect();
        keys.into_iter().filter_map(|key| find(api, &key))
    }
}

fn drop_from(index: &mut BTreeMap<String, BTreeSet<JobId>>, key: &str, job: JobId) {
    if let Some(jobs) = index.get_mut(key) {
        jobs.remove(&job);
        if jobs.is_empty() {
            index.remove(key);
        }
    }
}

fn find<'a>(api: &'a KubeApi, key: &str) -> Option<Object<'a>> {
    let (namespace, name) = key.split_once('/')?;
    api.get("pods", namespace, name).map(|pod| Object(pod))
}

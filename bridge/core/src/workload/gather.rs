//! Before there is a job: find one that is already there, or gather the pods and submit one.

use std::{cmp::Reverse, collections::BTreeMap};

use drawbridge_sim::{JobId, Span, Time};

use super::{Stage, Workload};
use crate::{
    annotations,
    backoff::Backoff,
    candidates::{self, Hold},
    config::{Config, Placeholder, Surplus},
    context::Context,
    dra::Lack,
    effect::SlurmRequest,
    ending::Farewell,
    explain,
    gang::Roster,
    jobs::OurJob,
    mark::Mark,
    outbox::{Alarm, Purpose},
    owners::{Chain, FRESH, unread},
    plants::{self, Plant},
    ranks::rank,
    requests::Note,
    slurm::Submission,
    states::Standing,
    translate::{Draft, Refusal, Resolved, Shape, Surroundings, Warning, resolve},
    view::{PodGroupView, PodView},
};

/// A gang is complete when nobody came for this long.
pub(super) const QUIET: Span = Span::secs(1);

/// So old may be what is known of the owners of a job that waits.
const RARELY: Span = Span::mins(5);

/// After so long it is looked again whether what a workload waits for has its job.
const LOOK_AGAIN: Span = Span::secs(2);

/// What a workload comes to as a job.
pub(super) enum Drafted {
    /// Pods, owners or the group are missing.
    NotYet,
    /// What it needs isn't there yet; why, in a sentence and in a word.
    Blocked(String, &'static str),
    Refused(Refusal),
    Ready(Ready),
}

/// A job that can be submitted.
pub(super) struct Ready {
    pub(super) mark: Box<Mark>,
    pub(super) job: Box<Submission>,
    /// What isn't as its users may expect.
    warnings: Vec<Warning>,
    /// At most so many jobs of the same controller.
    throttle: Option<u32>,
    /// Which nodes it must not use, and why.
    left_out: Option<String>,
}

impl Workload {
    pub(super) fn gather(&mut self, context: &mut Context<'_>) -> Option<Stage> {
        if let Some(found) = self.adopt(context).or_else(|| self.bound_without_job(context)) {
            return Some(found);
        }
        if let Some(job) = self.ended_meanwhile(context) {
            return self.catch_up(context, job);
        }
        if !self.views(context).any(PodView::wants_a_place) {
            let held = self.views(context).any(PodView::has_finalizer);
            return (!held).then_some(Stage::Closed);
        }
        match self.draft(context) {
            Drafted::NotYet => None,
            Drafted::Blocked(words, reason) => Some(Self::blocked(context.now(), words, reason)),
            Drafted::Refused(refusal) => Some(self.refuse(context.now(), &refusal)),
            Drafted::Ready(Ready { mark, job, warnings, throttle, left_out }) => {
                let one_by_one = context.config.has(Plant::BlocksTheLine);
                let its_turn = self.has_its_turn(context, throttle);
                if !its_turn || !context.gate.enter(&self.id, one_by_one) {
                    return None;
                }
                self.warn(context, &warnings);
                let request = SlurmRequest::Submit(job.clone());
                context.out.slurm(Purpose::Submit(self.id.clone()), request);
                Some(Stage::Submitting { mark, job, left_out })
            }
        }
    }

    /// Whether its controller has room for one more job.
    fn has_its_turn(&self, context: &mut Context<'_>, throttle: Option<u32>) -> bool {
        let Some(pod) = self.views(context).find(|pod| pod.wants_a_place()) else {
            return true;
        };
        if let Some(owner) = pod.metadata.controller() {
            context.lanes.place(&self.id, owner);
        }
        throttle.is_none_or(|limit| context.lanes.admits(&self.id, pod, limit))
    }

    /// Says on every pod what isn't as its users may expect, once.
    fn warn(&mut self, context: &mut Context<'_>, warnings: &[Warning]) {
        if std::mem::replace(&mut self.warned, true) {
            return;
        }
        for Warning { reason, message, is_wish } in warnings {
            let subject = self.subject(context);
            context.out.tell(subject.clone(), format!("says on {subject}: {message}"));
            let note = Note { reason, message, warning: !is_wish, once: true };
            let pods: Vec<_> = self.views(context).filter(|pod| pod.wants_a_place()).collect();
            for pod in pods {
                let event = context.author.event(context.out.now(), pod, note);
                context.out.kube(Purpose::Note, event);
            }
        }
    }

    /// Whether what was refused has changed, or its pause is over.
    pub(super) fn reconsider(
        &mut self,
        context: &mut Context<'_>,
        until: Time,
        words: &str,
        refused: Option<&Submission>,
    ) -> Option<Stage> {
        if until <= context.now() || !self.views(context).any(PodView::wants_a_place) {
            return Some(Stage::Gathering);
        }
        if let Some(found) = self.adopt(context) {
            return Some(found);
        }
        match self.draft(context) {
            Drafted::Ready(Ready { job, .. }) if Some(&*job) != refused => {
                self.failures = 0;
                return Some(Stage::Gathering);
            }
            Drafted::Refused(refusal) if refused.is_some() || refusal.to_string() != words => {
                return Some(self.refuse(context.now(), &refusal));
            }
            Drafted::Blocked(now, reason) if now != words => {
                return Some(Self::blocked(context.now(), now, reason));
            }
            Drafted::NotYet | Drafted::Blocked(..) | Drafted::Refused(_) | Drafted::Ready(_) => {}
        }
        context.out.wake_at(until, Alarm::Workload(self.id.clone()));
        None
    }

    fn refuse(&mut self, now: Time, refusal: &Refusal) -> Stage {
        self.failures += 1;
        let until = now + Backoff::REFUSAL.after(self.failures);
        Stage::Refused { until, words: refusal.to_string(), job: None }
    }

    fn blocked(now: Time, words: String, reason: &'static str) -> Stage {
        Stage::Blocked { until: now + LOOK_AGAIN, words, reason }
    }

    /// Takes up the job that Slurm has for us, whoever submitted it. Of several the one with bound
    /// pods stays, else the one that runs, else the oldest; the others are surplus.
    pub(super) fn adopt(&mut self, context: &mut Context<'_>) -> Option<Stage> {
        if context.config.has(Plant::AdoptsNothing) {
            return None;
        }
        let job = self.best_job(context)?;
        self.end_surplus(context, job);
        self.minimum =
            context.job(&self.id, job)?.mark.as_ref().map_or(self.minimum, Mark::minimum);
        explain::tell_adopted(self, context, job);
        Some(Stage::Marking { job })
    }

    fn best_job(&self, context: &Context<'_>) -> Option<JobId> {
        let live = context.jobs.live_of(&self.id);
        let free = live.filter(|(id, _)| !context.endings.contains(&self.id, *id));
        free.min_by_key(|(id, job)| self.preference(context, *id, job)).map(|(id, _)| id)
    }

    fn preference(&self, context: &Context<'_>, id: JobId, job: &OurJob) -> impl Ord + use<> {
        let label = id.to_string();
        let bound = |pod: &PodView| pod.is_bound() && pod.job_label() == Some(&label);
        let has_pods = self.views(context).any(bound);
        let runs = job.standing() == Standing::Running;
        let submitted = job.seen().map_or(u64::MAX, |job| job.submit_time);
        (Reverse(has_pods), Reverse(runs), submitted, id)
    }

    /// Ends every other job of this workload.
    pub(super) fn end_surplus(&self, context: &mut Context<'_>, keep: JobId) {
        let plants = [Plant::AdoptsNothing, Plant::KeepsSurplus];
        if plants.iter().any(|plant| context.config.has(*plant)) {
            return;
        }
        let live = context.jobs.live_of(&self.id).map(|(id, _)| id);
        let surplus: Vec<_> = live.filter(|id| *id != keep).collect();
        for id in surplus {
            let why = format!("job {keep} already stands for {}", self.subject(context));
            context.end_job(id, &self.id, Farewell::Cancel, &why);
        }
    }

    /// A bound pod whose job nobody has: its label says which job it was; that one is read.
    fn bound_without_job(&mut self, context: &mut Context<'_>) -> Option<Stage> {
        let bound = |pod: &&PodView| pod.is_bound() && !pod.is_terminal();
        let pod = self.views(context).find(bound)?;
        let label = pod.job_label().and_then(|label| label.parse().ok()).map(JobId);
        let known = label.and_then(|job| context.jobs.get(job));
        if known.is_some_and(|known| known.workload != self.id) || label.is_none() {
            let why = explain::bound_without_job(pod);
            return Some(Stage::Evicting { job: None, why });
        }
        let job = label?;
        if known.is_none() {
            let since = context.out.last_call();
            context.jobs.expect(job, self.id.clone(), None, since);
        }
        context.poller.want_job(job);
        Some(Stage::Running { job })
    }

    /// The job that a waiting pod's label names, if it is ours and ended while no bridge ran.
    fn ended_meanwhile(&self, context: &Context<'_>) -> Option<JobId> {
        let waiting = self.views(context).filter(|pod| pod.wants_a_place());
        let labels = waiting.filter_map(|pod| pod.job_label()?.parse().ok()).map(JobId);
        let ended = |job: &JobId| context.standing(&self.id, *job) == Standing::Ended;
        labels.filter(ended).max().filter(|job| !self.was_given_back(context, *job))
    }

    /// The pods that could start, in rank order; none while some are missing.
    fn ready<'a: 'b, 'b>(
        &mut self,
        context: &mut Context<'a>,
        roster: Option<&'b Roster>,
    ) -> Vec<&'b PodView> {
        let pods = self.waiting(context);
        let Some(gang) = &self.gang else {
            return pods;
        };
        let group = gang.group(context.store);
        let Some(minimum) = roster.map(|it| it.needed).or(group.map(PodGroupView::minimum)) else {
            return Vec::new();
        };
        // Owners say how many will come; a group only how many must.
        if roster.is_none() && !self.is_quiet(context.now()) {
            return Vec::new();
        }
        self.minimum = minimum;
        if pods.len() < minimum {
            return Vec::new();
        }
        match roster.filter(|roster| !roster.booked.is_empty()) {
            Some(roster) => with_those_here(&roster.booked, &pods),
            None => self.without_surplus(context.config, pods),
        }
    }

    /// Its pods that want a place and may have one, in rank order.
    fn waiting<'a>(&self, context: &Context<'a>) -> Vec<&'a PodView> {
        let store = context.store;
        let views = self.members.iter().filter_map(|uid| store.pod(uid).map(AsRef::as_ref));
        let mut pods: Vec<&PodView> =
            views.filter(|pod| pod.wants_a_place() && !pod.is_gated()).collect();
        pods.sort_by_cached_key(|pod| rank(pod));
        pods
    }

    /// Where the minimum is to start as soon as it can, the others are workloads of their own.
    fn without_surplus<'a>(
        &mut self,
        config: &Config,
        mut pods: Vec<&'a PodView>,
    ) -> Vec<&'a PodView> {
        if config.gang.surplus == Surplus::Apart {
            for pod in pods.split_off(self.minimum.min(pods.len())) {
                self.members.remove(pod.uid());
                self.strangers.insert(pod.uid().clone());
            }
        }
        pods
    }

    /// What the workload should be as a job.
    pub(super) fn draft(&mut self, context: &mut Context<'_>) -> Drafted {
        if self.gang.is_some() && !self.is_quiet(context.now()) {
            let quiet_at = self.joined_at + QUIET;
            context.out.wake_at(quiet_at, Alarm::Workload(self.id.clone()));
        }
        let Some(first) = self.waiting(context).first().copied().filter(|_| !self.is_parked) else {
            return Drafted::NotYet;
        };
        let owners = match context.owners.chain(context.out, first, &self.id, self.patience()) {
            Chain::Known(owners) => owners,
            Chain::Open(again) => {
                if let Some(at) = again {
                    context.out.wake_at(at, Alarm::Workload(self.id.clone()));
                }
                return Drafted::NotYet;
            }
        };
        let group = self.gang.as_ref().and_then(|gang| gang.group(context.store));
        let mut layers: Vec<&BTreeMap<String, String>> =
            owners.iter().map(|owner| &owner.metadata.annotations).collect();
        layers.extend(group.map(|group| &group.metadata.annotations));
        layers.push(&first.metadata.annotations);
        let wanted = match annotations::gang(&layers) {
            Ok(wanted) => wanted,
            Err(fault) => return Drafted::Refused(fault.into()),
        };
        let roster = match group {
            Some(_) => None,
            None => Roster::of(&context.config.gang, first, &owners, wanted),
        };
        if self.gang.is_none() && !self.stands_alone && roster.is_some() {
            self.leaves_for = roster;
            return Drafted::NotYet;
        }
        let roster = roster.filter(|_| self.gang.is_some());
        let pods = self.ready(context, roster.as_ref());
        if pods.is_empty() {
            self.look_again(context, roster.as_ref());
            return Drafted::NotYet;
        }
        let name = match &self.gang {
            Some(gang) => gang.key.name().to_owned(),
            None => format!("k8s-pod-{}", first.metadata.name),
        };
        let owners_deadline =
            owners.iter().filter_map(|owner| owner.spec.active_deadline_seconds).min();
        let claimed = match Self::claimed(context, &pods) {
            Ok(claimed) => claimed,
            Err(Lack::NotYet(words)) => return Drafted::Blocked(words, "WaitingForDevices"),
            Err(Lack::Never(words)) => return Drafted::Refused(Refusal::Claim(words)),
        };
        let draft = Draft {
            workload: &self.id,
            name: &name,
            pods: &pods,
            layers: &layers,
            claimed: &claimed,
            gang: self.gang.as_ref(),
            minimum: self.minimum,
            owners_deadline,
        };
        let mut drafted = self.write(context, draft);
        if let Drafted::Ready(Ready { warnings, .. }) = &mut drafted {
            let message = unread(first, &owners);
            warnings.extend(message.map(|message| Warning {
                reason: "OwnerNotRead",
                message,
                is_wish: false,
            }));
        }
        drafted
    }

    /// How old what is known of owners may be: a job that waits is looked at rarely.
    fn patience(&self) -> Span {
        if self.job().is_some() { RARELY } else { FRESH }
    }

    /// How many pods come may change without a word to us.
    fn look_again(&self, context: &mut Context<'_>, roster: Option<&Roster>) {
        if roster.is_some() && self.is_quiet(context.now()) {
            let at = context.now() + FRESH;
            context.out.wake_at(at, Alarm::Workload(self.id.clone()));
        }
    }

    fn write(&self, context: &mut Context<'_>, draft: Draft<'_>) -> Drafted {
        let shape = match Shape::of(context.config, draft) {
            Ok(shape) => shape,
            Err(refusal) => return Drafted::Refused(refusal),
        };
        let partition = shape.partition(context.config);
        let (choice, warnings) = match self.choose(context, draft, &shape) {
            Ok(chosen) => chosen,
            Err(refusal) => return Drafted::Refused(refusal),
        };
        match choice.hold {
            // Pods and claims come by different watches: what is missing may be on its way.
            Some(Hold::Wait(_)) if !self.is_quiet(context.now()) => {
                context.out.wake_at(self.quiet_at(), Alarm::Workload(self.id.clone()));
                return Drafted::NotYet;
            }
            Some(Hold::Wait(words)) => return Drafted::Blocked(words, "WaitingForOthers"),
            Some(Hold::Never(words)) => return Drafted::Refused(Refusal::Volume(words)),
            None => {}
        }
        let left_out = explain::left_out(&choice.excluded);
        let excluded_nodes: Vec<_> = choice.excluded.into_iter().map(|(node, _)| node).collect();
        let external = match context.config.placeholder {
            Placeholder::Script => false,
            Placeholder::External => true,
            Placeholder::Auto => {
                candidates::none_has_slurmd(context.slurm_nodes, &excluded_nodes, partition)
            }
        };
        let wanted = shape.annotations.dependency.as_ref();
        let dependency = match wanted.map(|wanted| resolve(wanted, context.store, draft.pods)) {
            None => None,
            Some(Resolved::Tell(text)) => text,
            Some(Resolved::NotYet(words)) => {
                return Drafted::Blocked(words, "WaitingForDependency");
            }
            Some(Resolved::Never(words)) => return Drafted::Refused(Refusal::Dependency(words)),
        };
        let around = Surroundings { excluded_nodes, dependency, layout: choice.layout, external };
        let (mark, mut job) = shape.submission(context.config, draft, around);
        plants::require_candidates(context.config, context.field(), &mut job);
        let (mark, job) = (Box::new(mark), Box::new(job));
        let warnings = shape.warnings.into_iter().chain(warnings).collect();
        let throttle = shape.annotations.array_throttle;
        Drafted::Ready(Ready { mark, job, warnings, throttle, left_out })
    }
}

/// The pods that will be, each as it is if it is here.
fn with_those_here<'a>(booked: &'a [PodView], here: &[&'a PodView]) -> Vec<&'a PodView> {
    let find = |booked: &'a PodView| here.iter().find(|pod| pod.key() == booked.key()).copied();
    booked.iter().map(|booked| find(booked).unwrap_or(booked)).collect()
}

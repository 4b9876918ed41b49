//! Before there is a job: find one that is already there, or gather the pods and submit one.

use std::{cmp::Reverse, collections::BTreeMap};

use drawbridge_sim::{JobId, Span, Time};

use super::{Stage, Workload};
use crate::{
    backoff::Backoff,
    candidates,
    config::Placeholder,
    context::Context,
    effect::SlurmRequest,
    ending::Farewell,
    explain,
    jobs::{OurJob, Standing},
    mark::Mark,
    outbox::{Alarm, Purpose},
    owners::Chain,
    plants::Plant,
    ranks::rank,
    slurm::Submission,
    translate::{Draft, Refusal, Resolved, Shape, Surroundings, resolve},
    view::PodView,
};

/// A gang is complete when nobody came for this long.
pub(super) const QUIET: Span = Span::secs(1);

/// After so long it is looked again whether what a workload waits for has its job.
const LOOK_AGAIN: Span = Span::secs(2);

/// What a workload comes to as a job.
enum Drafted {
    /// Pods, owners or the group are missing.
    NotYet,
    /// What it depends on has no job yet.
    Blocked(String),
    Refused(Refusal),
    Ready(Box<Mark>, Box<Submission>),
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
            Drafted::Blocked(words) => Some(Self::blocked(context.now(), words)),
            Drafted::Refused(refusal) => Some(self.refuse(context.now(), &refusal)),
            Drafted::Ready(mark, job) => {
                let one_by_one = context.config.has(Plant::BlocksTheLine);
                if !context.gate.enter(&self.id, one_by_one) {
                    return None;
                }
                context
                    .out
                    .slurm(Purpose::Submit(self.id.clone()), SlurmRequest::Submit(job.clone()));
                Some(Stage::Submitting { mark, job })
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
            Drafted::Ready(_, job) if Some(&*job) != refused => {
                self.failures = 0;
                return Some(Stage::Gathering);
            }
            Drafted::Refused(refusal) if refused.is_some() || refusal.to_string() != words => {
                return Some(self.refuse(context.now(), &refusal));
            }
            Drafted::Blocked(now) if now != words => {
                return Some(Self::blocked(context.now(), now));
            }
            Drafted::NotYet | Drafted::Blocked(_) | Drafted::Refused(_) | Drafted::Ready(..) => {}
        }
        context.out.wake_at(until, Alarm::Workload(self.id.clone()));
        None
    }

    fn refuse(&mut self, now: Time, refusal: &Refusal) -> Stage {
        self.failures += 1;
        let until = now + Backoff::REFUSAL.after(self.failures);
        Stage::Refused { until, words: refusal.to_string(), job: None }
    }

    fn blocked(now: Time, words: String) -> Stage {
        Stage::Blocked { until: now + LOOK_AGAIN, words }
    }

    /// Takes up the job that Slurm has for us, whoever submitted it. Of several the one with bound
    /// pods stays, else the one that runs, else the oldest; the others are surplus.
    pub(super) fn adopt(&mut self, context: &mut Context<'_>) -> Option<Stage> {
        if context.config.has(Plant::AdoptsNothing) {
            return None;
        }
        let job = self.best_job(context)?;
        self.end_surplus(context, job);
        if let Some(mark) = context.job(&self.id, job).and_then(|job| job.mark.clone()) {
            self.part_from_strangers(context, job, &mark);
        }
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

    /// Pods that came too late for the job that was found.
    fn part_from_strangers(&mut self, context: &Context<'_>, job: JobId, mark: &Mark) {
        if self.group.is_none() {
            return;
        }
        let label = job.to_string();
        let strange =
            |pod: &PodView| !mark.pods.contains(&pod.key()) && pod.job_label() != Some(&label);
        let strangers: Vec<_> =
            self.views(context).filter(|pod| strange(pod)).map(|pod| pod.uid().clone()).collect();
        for uid in strangers {
            self.members.remove(&uid);
            self.strangers.insert(uid);
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
        let ended = |job: &JobId| {
            matches!(context.standing(&self.id, *job), Standing::Ended(_))
        };
        labels.filter(ended).max().filter(|job| !self.was_given_back(context, *job))
    }

    /// The pods that could start, in rank order; none while some are missing.
    fn ready<'a>(&mut self, context: &mut Context<'a>) -> Vec<&'a PodView> {
        let store = context.store;
        let views = self.members.iter().filter_map(|uid| store.pod(uid).map(AsRef::as_ref));
        let mut pods: Vec<&PodView> =
            views.filter(|pod| pod.wants_a_place() && !pod.is_gated()).collect();
        pods.sort_by_cached_key(|pod| rank(pod));
        let Some(group) = &self.group else {
            return pods;
        };
        if !self.is_quiet(context.now()) {
            let quiet_at = self.joined_at + QUIET;
            context.out.wake_at(quiet_at, Alarm::Workload(self.id.clone()));
            return Vec::new();
        }
        let Some(group) = store.group(group) else {
            return Vec::new();
        };
        self.minimum = group.spec.min_member.max(1) as usize;
        if pods.len() < self.minimum { Vec::new() } else { pods }
    }

    fn draft(&mut self, context: &mut Context<'_>) -> Drafted {
        let pods = self.ready(context);
        let Some(first) = pods.first() else {
            return Drafted::NotYet;
        };
        let owners = match context.owners.chain(context.out, first, &self.id) {
            Chain::Known(owners) => owners,
            Chain::Open(again) => {
                if let Some(at) = again {
                    context.out.wake_at(at, Alarm::Workload(self.id.clone()));
                }
                return Drafted::NotYet;
            }
        };
        let group = self.group.as_ref().and_then(|group| context.store.group(group));
        let mut layers: Vec<&BTreeMap<String, String>> =
            owners.iter().map(|owner| &owner.metadata.annotations).collect();
        layers.extend(group.map(|group| &group.metadata.annotations));
        layers.push(&first.metadata.annotations);
        let name = match &self.group {
            Some(group) => group.name().to_owned(),
            None => format!("k8s-pod-{}", first.metadata.name),
        };
        let owners_deadline =
            owners.iter().filter_map(|owner| owner.spec.active_deadline_seconds).min();
        let draft = Draft {
            workload: &self.id,
            name: &name,
            pods: &pods,
            layers: &layers,
            is_gang: self.group.is_some(),
            owners_deadline,
        };
        self.write(context, draft)
    }

    fn write(&self, context: &Context<'_>, draft: Draft<'_>) -> Drafted {
        let shape = match Shape::of(draft) {
            Ok(shape) => shape,
            Err(refusal) => return Drafted::Refused(refusal),
        };
        let partition = shape.partition(context.config);
        let excluded = candidates::excluded(context.field(), draft.pods, partition);
        let excluded_nodes: Vec<_> = excluded.into_iter().map(|(node, _)| node).collect();
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
            Some(Resolved::NotYet(words)) => return Drafted::Blocked(words),
            Some(Resolved::Never(words)) => return Drafted::Refused(Refusal::Dependency(words)),
        };
        let around = Surroundings { excluded_nodes, dependency, external };
        let (mark, job) = shape.submission(context.config, draft, around);
        Drafted::Ready(Box::new(mark), Box::new(job))
    }
}

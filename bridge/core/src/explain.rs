//! Why something waits, was refused or has to leave, in the words that users see.
//!
//! On the pod it is a condition, and an event each time that it changes; Slurm's own words are
//! never translated.

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, SlurmNode, fold_hostlist};

use crate::{
    candidates::Excluded,
    context::Context,
    desk::Errand,
    dra::Kind,
    facts::{BridgeFact, FactSubject, Weight},
    jobs::OurJob,
    names::{ObjectKey, SUSPENDED_CONDITION},
    outbox::Purpose,
    requests::Note,
    slurm::{Memory, ObservedState, Submission},
    states::{self, Standing},
    view::{PodGroupView, PodView},
    workload::{Stage, Workload},
};

/// Reasons against nodes that are told at a time.
const REASONS_TOLD: usize = 8;

/// What is written on waiting pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    pub(crate) message: String,
    reason: &'static str,
    warning: bool,
}

impl Explanation {
    fn waits(reason: &'static str, message: String) -> Self {
        Self { message, reason, warning: false }
    }

    fn fails(reason: &'static str, message: String) -> Self {
        Self { message, reason, warning: true }
    }
}

/// Why the workload's pods wait, if there is something to say.
pub(crate) fn waiting(workload: &Workload, context: &Context<'_>) -> Option<Explanation> {
    match &workload.stage {
        Stage::Gathering => gathering(workload, context),
        Stage::BackingOff { words, .. } => {
            let reason =
                if workload.is_set_back() { "AllocationUnusable" } else { "SlurmUnavailable" };
            Some(Explanation::fails(reason, words.clone()?))
        }
        Stage::Refused { words, .. } => Some(Explanation::fails("SlurmRefused", words.clone())),
        Stage::Blocked { words, reason, .. } => Some(Explanation::waits(reason, words.clone())),
        Stage::Placing { .. } => {
            if let Some(snag) = &workload.snag {
                return Some(Explanation::waits("WaitingForDevices", snag.clone()));
            }
            let (_, words) = workload.trials.lacks.as_ref()?;
            Some(Explanation::waits("WaitingForVolume", words.clone()))
        }
        Stage::Marking { job } | Stage::Waiting { job } => {
            if let Some(snag) = &workload.snag {
                return Some(Explanation::waits("WaitingForDevices", snag.clone()));
            }
            if let Some((_, words)) = &workload.trials.held_up {
                return Some(Explanation::waits("WaitingForNode", words.clone()));
            }
            let (message, is_stuck) = pending(*job, context.job(&workload.id, *job)?)?;
            Some(Explanation { message, reason: "SlurmPending", warning: is_stuck })
        }
        Stage::Submitting { .. }
        | Stage::Doubtful { .. }
        | Stage::Revising { .. }
        | Stage::Binding { .. }
        | Stage::Running { .. }
        | Stage::Evicting { .. }
        | Stage::Ending { .. }
        | Stage::Closed => None,
    }
}

fn gathering(workload: &Workload, context: &Context<'_>) -> Option<Explanation> {
    if let Some(message) = context.lanes.words(&workload.id) {
        return Some(Explanation::waits("WaitingForThrottle", message));
    }
    let gang = workload.gang.as_ref()?;
    // Pods and group come by different watches: what is missing may be on its way.
    if !workload.is_quiet(context.now()) {
        return None;
    }
    let group = gang.group(context.store);
    let message = match group {
        None if gang.needs_a_group() => format!("waiting for {gang}, which doesn't exist"),
        Some(_) | None if workload.is_parked => {
            format!("waiting until the last job of {gang} has ended")
        }
        Some(_) | None => {
            let ready = |pod: &&PodView| pod.wants_a_place() && !pod.is_gated();
            let here = workload.views(context).filter(ready).count();
            let needed = group.map_or(workload.needed(), PodGroupView::minimum);
            if needed <= here {
                return None;
            }
            format!("waiting for pods of {gang}: {here} of {needed} are here")
        }
    };
    Some(Explanation::waits("WaitingForGroup", message))
}

/// `Slurm job 12 is pending: Resources`, and Slurm's sentence if it has one; and whether nothing will
/// change unless somebody does something.
fn pending(id: JobId, job: &OurJob) -> Option<(String, bool)> {
    if job.standing() != Standing::Queued {
        return None;
    }
    let seen = job.seen()?;
    let reason = seen.reason.as_deref().filter(|reason| !matches!(*reason, "" | "None"))?;
    let text = seen.reason_text.as_deref().filter(|text| !text.is_empty() && *text != reason);
    let text = text.map_or(String::new(), |text| format!(" ({text})"));
    let message = format!("Slurm job {id} is pending: {reason}{text}");
    Some((message, states::reason(reason).is_stuck))
}

/// The event that goes with an errand.
pub(crate) fn note<'a>(
    errand: &'a Errand,
    explanation: Option<&'a Explanation>,
) -> Option<Note<'a>> {
    match errand {
        Errand::Explain(_) => {
            let Explanation { message, reason, warning } = explanation?;
            Some(Note { reason, message, warning: *warning, once: false })
        }
        Errand::Disrupt(message) => {
            Some(Note { reason: "SlurmJobEnded", message, warning: true, once: false })
        }
        Errand::Pause { is_paused: true, message } => {
            Some(Note { reason: "SlurmSuspended", message, warning: true, once: false })
        }
        Errand::Pause { is_paused: false, message } => {
            Some(Note { reason: "SlurmResumed", message, warning: false, once: false })
        }
        Errand::Read
        | Errand::Mark(_)
        | Errand::Place(_)
        | Errand::Devices(_)
        | Errand::Bind { .. }
        | Errand::Remove { .. }
        | Errand::Release => None,
    }
}

/// Whether the pod already says so.
pub(crate) fn is_written(pod: &PodView, message: &str) -> bool {
    pod.condition("PodScheduled")
        .is_some_and(|condition| condition.status == "False" && condition.message == message)
}

/// Whether the pod already says that it has to leave.
pub(crate) fn is_disrupted(pod: &PodView) -> bool {
    pod.condition("DisruptionTarget").is_some_and(|condition| condition.status == "True")
}

pub(crate) fn refused(number: i64, text: &str) -> String {
    format!("Slurm refused the job: {text} ({number})")
}

pub(crate) fn unreachable(text: &str) -> String {
    format!("Slurm can't take the job now: {text}")
}

pub(crate) fn uncounted(resource: &str) -> String {
    format!("Slurm doesn't count {resource}: another job may be given a node where none is left")
}

pub(crate) fn ended(job: JobId, state: &ObservedState) -> String {
    format!("Slurm job {job} ended: {}", state.base().word())
}

pub(crate) fn revoked(job: JobId) -> String {
    format!("another cluster of the federation has Slurm job {job}")
}

pub(crate) fn suspended(job: JobId) -> String {
    format!("Slurm job {job} is suspended")
}

pub(crate) fn resumed(job: JobId) -> String {
    format!("Slurm job {job} runs")
}

/// Whether the pod already says that its job is suspended.
pub(crate) fn is_paused(pod: &PodView) -> bool {
    pod.condition(SUSPENDED_CONDITION).is_some_and(|condition| condition.status == "True")
}

pub(crate) fn gone(job: JobId) -> String {
    format!("Slurm no longer knows job {job}")
}

pub(crate) fn runs_out(job: JobId) -> String {
    format!("the time limit of Slurm job {job} comes")
}

pub(crate) fn requeued(job: JobId) -> String {
    format!("Slurm put job {job} back into the queue")
}

pub(crate) fn elsewhere(job: JobId) -> String {
    format!("Slurm runs job {job} on other nodes now")
}

pub(crate) fn too_small(job: JobId) -> String {
    format!("the allocation of Slurm job {job} has no room for all pods")
}

pub(crate) fn unusable(job: JobId, node: &SlurmNode, fault: &str) -> String {
    format!("Slurm job {job} was given node {node}, but {fault}")
}

pub(crate) fn waits_for_volume(claim: &ObjectKey, node: &SlurmNode) -> String {
    format!("waiting for the volume of claim {claim} on node {node}")
}

/// `n[1-2] (it is cordoned), n7 (it is no Kubernetes node)`.
pub(crate) fn left_out(excluded: &[Excluded]) -> Option<String> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (node, obstacle) in excluded {
        reasons.entry(obstacle.to_string()).or_default().push(node.as_str());
    }
    let mut groups: Vec<_> = reasons.into_iter().collect();
    groups.sort_by(|one, other| one.1.cmp(&other.1));
    let more = groups.len().saturating_sub(REASONS_TOLD);
    let told = groups.iter().take(REASONS_TOLD);
    let told: Vec<_> =
        told.map(|(reason, nodes)| format!("{} ({reason})", fold_hostlist(nodes))).collect();
    let more =
        if more > 0 { format!(", and others for {more} more reasons") } else { String::new() };
    (!told.is_empty()).then(|| format!("{}{more}", told.join(", ")))
}

/// Slurm's words, and which nodes it wasn't offered.
pub(crate) fn with_left_out(text: &str, left_out: Option<&str>) -> String {
    left_out.map_or_else(|| text.to_owned(), |nodes| format!("{text}; left out: {nodes}"))
}

pub(crate) fn wishes_unheard(wishes: &str) -> String {
    format!("Slurm chooses the nodes and isn't told of {wishes}")
}

pub(crate) fn bound_without_job(pod: &PodView) -> String {
    format!("pod {} is bound but has no Slurm job", pod.key())
}

/// Tells the story of a submit that Slurm accepted.
pub(crate) fn tell_submitted(
    workload: &Workload,
    context: &mut Context<'_>,
    job: JobId,
    submission: &Submission,
    left_out: Option<&str>,
) {
    let subject = workload.subject(context);
    let not_on = left_out.map_or(String::new(), |nodes| format!(", not on {nodes}"));
    let text = format!("submitted job {job} for {subject} ({}){not_on}", shape(submission));
    context.out.tell(subject, text);
}

/// `1 task of 4 CPUs, 8192 MiB, gres/gpu:1`.
pub(crate) fn shape(job: &Submission) -> String {
    let plural = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let memory = match job.memory {
        Memory::PerNode(mib) => format!("{mib} MiB"),
        Memory::PerCpu(mib) => format!("{mib} MiB per CPU"),
    };
    let tasks = format!("{} of {}", plural(job.tasks, "task"), plural(job.cpus_per_task, "CPU"));
    let gres = job.tres_per_task.iter().chain(&job.tres_per_node).cloned();
    let external = job.script.is_none().then(|| "external".to_owned());
    [tasks, memory].into_iter().chain(gres).chain(external).collect::<Vec<_>>().join(", ")
}

/// Tells the story of a waiting job that is changed.
pub(crate) fn tell_revised(
    workload: &Workload,
    context: &mut Context<'_>,
    job: JobId,
    to: &Submission,
) {
    let subject = workload.subject(context);
    let text = format!("changes job {job} for {subject} ({})", shape(to));
    context.out.tell(subject, text);
}

/// Tells that Slurm leaves a job as it was, in the story and on its pods.
pub(crate) fn tell_revision_refused(
    workload: &Workload,
    context: &mut Context<'_>,
    job: JobId,
    why: &str,
) {
    let message = format!("Slurm job {job} stays as it was: {why}");
    let note = Note { reason: "SlurmRefusedChange", message: &message, warning: true, once: false };
    let waiting = workload.views(context).filter(|pod| pod.wants_a_place());
    let events: Vec<_> =
        waiting.map(|pod| context.author.event(context.out.now(), pod, note)).collect();
    for event in events {
        context.out.kube(Purpose::Note, event);
    }
    let subject = workload.subject(context);
    context.out.tell(subject, message);
}

pub(crate) fn tell_adopted(workload: &Workload, context: &mut Context<'_>, job: JobId) {
    let subject = workload.subject(context);
    let text = format!("adopted job {job} for {subject}");
    context.out.tell(subject, text);
}

/// Tells the story of a workload that enters a stage.
pub(crate) fn tell_entry(workload: &Workload, context: &mut Context<'_>, next: &Stage) {
    let subject = workload.subject(context);
    let text = match next {
        // Looked at again, with the same result.
        Stage::Refused { words, .. } | Stage::Blocked { words, .. } if workload.is_told(words) => {
            return;
        }
        Stage::Blocked { words, .. } => format!("{subject} is {words}"),
        Stage::Refused { words, .. } => format!("could not submit {subject}: {words}"),
        Stage::BackingOff { words: Some(words), .. } => format!("tries {subject} again: {words}"),
        Stage::Doubtful { second: false, .. } => {
            format!("doesn't know whether the job of {subject} arrived: asks for all jobs")
        }
        Stage::Evicting { why, .. } => format!("removes {subject}: {why}"),
        Stage::BackingOff { words: None, .. }
        | Stage::Doubtful { .. }
        | Stage::Gathering
        | Stage::Submitting { .. }
        | Stage::Marking { .. }
        | Stage::Waiting { .. }
        | Stage::Revising { .. }
        | Stage::Placing { .. }
        | Stage::Binding { .. }
        | Stage::Running { .. }
        | Stage::Ending { .. }
        | Stage::Closed => return,
    };
    context.out.tell(subject, text);
}

/// The sentence for something that was done to a pod, if it belongs to the story.
pub(crate) fn done(errand: &Errand, pod: &PodView) -> Option<BridgeFact> {
    let key = pod.key();
    let (weight, text) = match errand {
        Errand::Mark(job) => (Weight::News, format!("labelled pod {key} with job {job}")),
        Errand::Explain(message) => (Weight::Echo, format!("wrote on pod {key}: {message}")),
        Errand::Bind { slurm, node, job } => {
            let text = format!("bound pod {key} to {node} (job {job}, Slurm node {slurm})");
            (Weight::Echo, text)
        }
        Errand::Remove { grace: None } => (Weight::News, format!("evicted pod {key}")),
        Errand::Remove { grace: Some(secs) } => {
            (Weight::News, format!("evicted pod {key} with {secs} s of grace"))
        }
        Errand::Devices(step) => {
            let told = matches!(step.kind, Kind::Allocate | Kind::Free);
            (if told { Weight::News } else { Weight::Echo }, step.text.clone())
        }
        Errand::Release => (Weight::Echo, format!("let go of pod {key}")),
        Errand::Pause { message, .. } => (Weight::Echo, format!("wrote on pod {key}: {message}")),
        Errand::Read | Errand::Place(_) | Errand::Disrupt(_) => return None,
    };
    Some(BridgeFact { subject: FactSubject::Pod(key), weight, text })
}

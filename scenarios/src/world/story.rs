//! Turns what happened into sentences.
//!
//! Facts of Slurm and of the bridge come as they are. Of the many changes in the API server only
//! the turning points of an object's life are told; the rest is detail.

use drawbridge_core::{
    BridgeFact, FactSubject, Weight,
    names::{BRIDGE_USER, NODE_CONDITION},
};
use drawbridge_fakes::{Change, ChangeKind};
use drawbridge_sim::{Fact, JobId, Reason, Slurmctld, fnv1a};

pub(crate) use super::script::ADMIN;
use crate::{
    log::Line,
    object::Object,
    record::{Actor, Level, Subject},
};

/// The variables that the story tells.
const SHOWN: [&str; 5] =
    ["SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID"];
/// The condition by which an MPI rank says that it waits for the others.
const BARRIER: &str = "drawbridge.dev/Barrier";

pub(super) fn bridge_fact(fact: &BridgeFact) -> Line {
    let subject = match &fact.subject {
        FactSubject::Pod(key) => pod(key.namespace(), key.name()),
        FactSubject::Gang(key) => Subject::Object(format!("PodGroup {key}")),
        FactSubject::Job(job) => Subject::Job(*job),
        FactSubject::KubeNode(node) => Subject::KubeNode(node.to_string()),
        FactSubject::SlurmNode(node) => Subject::SlurmNode(node.to_string()),
        FactSubject::Bridge => Subject::Bridge,
    };
    match fact.weight {
        Weight::News => Line::story(Actor::Bridge, subject, &fact.text),
        Weight::Echo => Line::detail(Actor::Bridge, subject, &fact.text),
    }
}

pub(super) fn slurm_fact(fact: &Fact, slurm: &Slurmctld) -> Line {
    let named = |job: &JobId| match slurm.job(*job) {
        Some(it) => format!("job {job} ({})", it.submission.name),
        None => format!("job {job}"),
    };
    let digest = fnv1a(serde_json::to_string(fact).unwrap_or_default().as_bytes());
    let (level, subject, text) = match fact {
        Fact::JobSubmitted { job } => {
            (Level::Story, Subject::Job(*job), format!("queued {}", named(job)))
        }
        Fact::JobReasonChanged { job, reason } => {
            let level = if *reason == Reason::None { Level::Detail } else { Level::Story };
            (level, Subject::Job(*job), format!("job {job} waits: {reason}"))
        }
        Fact::JobPlanned { job, start } => {
            (Level::Detail, Subject::Job(*job), format!("expects to start job {job} at {start}"))
        }
        Fact::JobStarted { job, allocation, backfilled } => {
            let how = if *backfilled { ", by backfill" } else { "" };
            let text = format!("started {} on {}{how}", named(job), allocation.node_list());
            (Level::Story, Subject::Job(*job), text)
        }
        Fact::JobEnded { job, state, exit, completing } => {
            let how = if *completing { ", still holding its nodes" } else { "" };
            (Level::Story, Subject::Job(*job), format!("job {job} ended: {state} {exit}{how}"))
        }
        Fact::JobReleased { job } => {
            (Level::Story, Subject::Job(*job), format!("released the nodes of job {job}"))
        }
        Fact::JobSplit { job, array, task } => {
            (Level::Detail, Subject::Job(*job), format!("job {job} is task {task} of {array}"))
        }
        Fact::JobRequeued { job, begin } => {
            (Level::Story, Subject::Job(*job), format!("requeued job {job}, not before {begin}"))
        }
        Fact::JobChanged { job, change } => {
            (Level::Story, Subject::Job(*job), format!("job {job}: {change}"))
        }
        Fact::JobPurged { job } => (Level::Detail, Subject::Job(*job), format!("forgot job {job}")),
        Fact::NodeChanged { node, state, reason } => {
            let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            (
                Level::Story,
                Subject::SlurmNode(node.to_string()),
                format!("node {node} is {state}{why}"),
            )
        }
    };
    Line { actor: Actor::Slurm, level, subject, text, digest }
}

pub(crate) fn kube_change(change: &Change) -> Line {
    let object = Object(&change.object);
    let kind = object.text(&["kind"]).unwrap_or(change.resource);
    let subject = match kind {
        "Pod" => pod(object.namespace(), object.name()),
        "Node" => Subject::KubeNode(object.name().to_owned()),
        _ => Subject::Object(format!("{kind} {}", object.key())),
    };
    let told = turning_point(change, object, kind);
    let level = if told.is_some() { Level::Story } else { Level::Detail };
    let text = told.unwrap_or_else(|| plain(change, object, kind));
    let digest = fnv1a(change.object.to_string().as_bytes());
    Line { actor: actor(&change.user), level, subject, text, digest }
}

fn pod(namespace: &str, name: &str) -> Subject {
    Subject::Pod { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn actor(user: &str) -> Actor {
    match user {
        ADMIN => Actor::User,
        BRIDGE_USER => Actor::Bridge,
        _ if user.starts_with("system:node:") => Actor::Kubelet,
        _ => Actor::Kube,
    }
}

fn plain(change: &Change, object: Object<'_>, kind: &str) -> String {
    let verb = match change.kind {
        ChangeKind::Added => "created",
        ChangeKind::Modified => "updated",
        ChangeKind::Deleted => "removed",
    };
    let said = object.text(&["message"]).map(|message| format!(": {message}")).unwrap_or_default();
    format!("{verb} {kind} {}{said}", object.key())
}

/// The sentence for a change that people want to read, if it is one.
fn turning_point(change: &Change, object: Object<'_>, kind: &str) -> Option<String> {
    let before = change.previous.as_deref().map(Object);
    match (kind, change.kind) {
        ("Pod", ChangeKind::Added) => Some(format!("created pod {}", object.key())),
        ("Pod", ChangeKind::Deleted) => Some(format!("pod {} is gone", object.key())),
        ("Pod", ChangeKind::Modified) => pod_turn(before?, object, &change.user),
        ("Node", ChangeKind::Modified) => node_turn(before?, object),
        (_, ChangeKind::Added) if is_told(kind) => Some(format!("created {kind} {}", object.key())),
        (_, ChangeKind::Deleted) if is_told(kind) => {
            Some(format!("{kind} {} is gone", object.key()))
        }
        ("Job", ChangeKind::Modified) => end_turn(before?, object, kind, &["Complete", "Failed"]),
        ("JobSet", ChangeKind::Modified) => {
            end_turn(before?, object, kind, &["Completed", "Failed", "Restarting"])
        }
        ("Deployment" | "StatefulSet" | "LeaderWorkerSet", ChangeKind::Modified) => {
            replicas_turn(before?, object, kind)
        }
        ("PersistentVolumeClaim", ChangeKind::Modified) => claim_turn(before?, object),
        _ => None,
    }
}

fn pod_turn(before: Object<'_>, pod: Object<'_>, user: &str) -> Option<String> {
    let key = pod.key();
    if before.phase() != pod.phase() {
        let why =
            pod.text(&["status", "reason"]).map(|reason| format!(": {reason}")).unwrap_or_default();
        let shown = if pod.phase() == "Running" { environment(pod) } else { String::new() };
        return Some(format!("pod {key} is {}{why}{shown}", pod.phase()));
    }
    if let (None, Some(node)) = (before.node(), pod.node()) {
        let job = pod.text(&["metadata", "annotations", "slurm.job.id"]).zip(pod.slurm_node());
        let by = job.map(|(job, node)| format!(" (job {job} on {node})")).unwrap_or_default();
        return Some(format!("bound pod {key} to {node}{by}"));
    }
    // An eviction by the bridge is told by the bridge, with its reason.
    if !before.is_terminating() && pod.is_terminating() && user != BRIDGE_USER {
        return Some(format!("pod {key} is being deleted"));
    }
    let barrier = |pod: Object<'_>| {
        pod.condition(BARRIER).and_then(|it| it.text(&["message"])).map(str::to_owned)
    };
    match barrier(pod) {
        Some(message) if barrier(before).as_ref() != Some(&message) => {
            return Some(format!("pod {key}: {message}"));
        }
        Some(_) | None => {}
    }
    let reason = pod.waits_because().filter(|reason| before.waits_because() != Some(reason))?;
    Some(format!("pod {key} waits: {reason}"))
}

/// What the first container finds of Slurm's variables: a kubelet takes them from annotations.
fn environment(pod: Object<'_>) -> String {
    let env = pod.0["spec"]["containers"][0]["env"].as_array();
    let found = env.into_iter().flatten().filter_map(|it| {
        let name = it["name"].as_str().filter(|name| SHOWN.contains(name))?;
        let path = it["valueFrom"]["fieldRef"]["fieldPath"].as_str()?;
        let key = path.strip_prefix("metadata.annotations['")?.strip_suffix("']")?;
        Some(format!("{name}={}", pod.annotation(key).unwrap_or_default()))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() { String::new() } else { format!(" ({})", found.join(" ")) }
}

fn node_turn(before: Object<'_>, node: Object<'_>) -> Option<String> {
    let name = node.name();
    match (before.is_cordoned(), node.is_cordoned()) {
        (false, true) => return Some(format!("cordoned node {name}")),
        (true, false) => return Some(format!("uncordoned node {name}")),
        (true, true) | (false, false) => {}
    }
    let of = |node: Object<'_>| {
        let condition = node.condition(NODE_CONDITION)?;
        let status = condition.text(&["status"])?.to_owned();
        Some((status, condition.text(&["message"]).unwrap_or_default().to_owned()))
    };
    let (status, message) = of(node).filter(|it| of(before).as_ref() != Some(it))?;
    // A node that starts out fine isn't news.
    (status != "True" || of(before).is_some()).then(|| format!("node {name}: {message}"))
}

/// Whether people want to read when objects of a kind come and go.
fn is_told(kind: &str) -> bool {
    let kinds = ["Job", "Deployment", "PodGroup", "StatefulSet", "DaemonSet", "CronJob"];
    let more = ["JobSet", "LeaderWorkerSet", "HorizontalPodAutoscaler", "PersistentVolumeClaim"];
    kinds.contains(&kind) || more.contains(&kind) || kind == "ResourceClaim"
}

fn end_turn(before: Object<'_>, job: Object<'_>, kind: &str, ends: &[&str]) -> Option<String> {
    let is = |job: Object<'_>, end: &str| {
        job.condition(end).is_some_and(|condition| condition.text(&["status"]) == Some("True"))
    };
    let end = ends.iter().find(|end| is(job, end) && !is(before, end))?;
    Some(format!("{kind} {} is {end}", job.key()))
}

fn replicas_turn(before: Object<'_>, workload: Object<'_>, kind: &str) -> Option<String> {
    let of = |it: Object<'_>| it.at(&["spec", "replicas"]).and_then(serde_json::Value::as_u64);
    let count = of(workload).filter(|count| of(before) != Some(*count))?;
    Some(format!("scaled {kind} {} to {count}", workload.key()))
}

fn claim_turn(before: Object<'_>, claim: Object<'_>) -> Option<String> {
    let phase = claim.text(&["status", "phase"])?;
    let told = before.text(&["status", "phase"]) != Some(phase);
    told.then(|| format!("PersistentVolumeClaim {} is {phase}", claim.key()))
}

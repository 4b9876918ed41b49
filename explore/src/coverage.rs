//! What could be tried: every state of the bridge's machines with every kind of news that it can meet,
//! and every kind of request with every kind of fault that can strike it.

use drawbridge_core::STAGES;
use drawbridge_scenarios::{
    NEWS,
    fault::{REQUESTS, WATCH_EVENT, WEBHOOK, verdicts},
};

/// What a request to the API server can come to.
const KUBE: [&str; 5] =
    ["kube: done", "kube: not found", "kube: conflict", "kube: refused", "kube: lost"];
/// What one can come to that reads, or that nobody else changes.
const READ: [&str; 4] = ["kube: done", "kube: not found", "kube: refused", "kube: lost"];
/// What a request to slurmrestd can come to.
const SLURM: [&str; 6] = [
    "slurm: done",
    "slurm: token",
    "slurm: not served",
    "slurm: unreachable",
    "slurm: riddle",
    "slurm: lost",
];

/// The states of all machines but the workloads, with the news that each can meet there.
#[rustfmt::skip]
fn machines() -> Vec<(&'static str, Vec<&'static str>)> {
    let kube = KUBE.to_vec();
    let read = READ.to_vec();
    let slurm = SLURM.to_vec();
    let or_refused = || [&SLURM[..], &["slurm: refused"]].concat();
    let written = vec!["kube: done", "kube: conflict", "kube: refused", "kube: lost"];
    vec![
        ("informer listing",  vec!["kube: done", "kube: refused", "kube: lost"]),
        ("informer watching", vec!["watch: change", "watch: bookmark", "watch: gone", "watch: ended", "woke"]),
        ("informer resting",  vec!["woke"]),
        ("informer absent",   vec!["woke"]),
        ("owner asked",       read.clone()),
        ("desk reading",      read),
        ("desk marking",      kube.clone()),
        ("desk explaining",   kube.clone()),
        ("desk placing",      kube.clone()),
        ("desk binding",      kube.clone()),
        ("desk disrupting",   kube.clone()),
        ("desk removing",     kube.clone()),
        ("desk releasing",    kube.clone()),
        ("desk settling",     vec!["woke"]),
        ("desk resting",      vec!["woke"]),
        ("node patched",      kube),
        ("node resting",      vec!["woke"]),
        ("node updated",      or_refused()),
        ("job submitted",     or_refused()),
        ("ending reading",    slurm.clone()),
        ("ending noting",     or_refused()),
        ("ending telling",    or_refused()),
        ("ending told",       vec!["woke"]),
        ("ending resting",    vec!["woke"]),
        ("poll states",       slurm.clone()),
        ("poll jobs",         slurm.clone()),
        ("poll job",          slurm.clone()),
        ("poll nodes",        slurm.clone()),
        ("probe sent",        slurm.clone()),
        ("link unknown",      vec!["slurm: done", "slurm: not served", "slurm: unreachable", "slurm: lost"]),
        ("link ready",        slurm),
        ("link resting",      vec!["slurm: done", "slurm: unreachable", "slurm: lost", "woke"]),
        ("link without token", vec!["slurm: done", "slurm: token", "slurm: unreachable", "slurm: lost", "woke"]),
        ("election looking",  READ.to_vec()),
        ("election resting",  vec!["woke"]),
        ("election taking",   written.clone()),
        ("election leading",  vec!["woke"]),
        ("election renewing", [&written[..], &["woke"]].concat()),
        ("election checking", vec!["kube: done", "kube: refused", "kube: lost"]),
        ("election releasing", written),
        ("reply overdue",     vec!["woke"]),
        ("late",              [&KUBE[..4], &SLURM[..1], &["watch: change", "watch: ended"]].concat()),
    ]
}

/// All that the bridge's machines can meet, as `state / news`.
pub(crate) fn meetings() -> impl Iterator<Item = String> {
    // A life begins without workloads, a workload that is closed is forgotten, and one that waits hears
    // what all others hear.
    let stages = STAGES.iter().filter(|stage| **stage != "closed");
    let workloads = stages.flat_map(|stage| {
        let news = NEWS.iter().filter(|news| !matches!(**news, "started" | "stopping"));
        news.map(move |news| format!("{stage} / {news}"))
    });
    let others = machines()
        .into_iter()
        .flat_map(|(state, news)| news.into_iter().map(move |news| format!("{state} / {news}")));
    workloads.chain(others)
}

/// All faults that can strike, as `request verdict`.
pub(crate) fn strikes() -> impl Iterator<Item = String> {
    REQUESTS.iter().skip(1).flat_map(|request| {
        let fitting = verdicts().filter(|verdict| fits(request, verdict));
        fitting.map(move |verdict| format!("{request} {verdict}"))
    })
}

/// Whether a fault of this kind can strike requests of this kind.
fn fits(request: &str, verdict: &str) -> bool {
    let is_question = matches!(
        request,
        "kube.get" | "kube.list" | "slurm.states" | "slurm.job" | "slurm.jobs" | "slurm.nodes"
    );
    match (request, verdict) {
        (WATCH_EVENT, verdict) => matches!(verdict, "delay" | "end" | "gone" | "mute"),
        (WEBHOOK, verdict) => verdict == "refuse",
        (_, "end" | "gone" | "mute") => false,
        (_, "stale") => is_question,
        (request, "conflict") => matches!(request, "kube.patch" | "kube.lease"),
        ("kube.watch", verdict) => !matches!(
            verdict,
            "delayReply" | "loseRequest" | "loseReply" | "resetReply" | "duplicate"
        ),
        _ => true,
    }
}

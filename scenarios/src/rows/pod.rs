//! One pod, as its object says.

use std::collections::BTreeMap;

use drawbridge_fakes::Behaviour;
use drawbridge_sim::Time;

use crate::{
    frame::{MpiRow, PodRow},
    object::Object,
};

/// The condition by which an MPI rank says whom it waits for.
const BARRIER: &str = "drawbridge.dev/Barrier";
/// Where a pod's place among others is written, the first that is there counts.
const INDEXES: [&str; 2] =
    ["batch.kubernetes.io/job-completion-index", "leaderworkerset.sigs.k8s.io/worker-index"];

pub(crate) fn pod_row(pod: Object<'_>) -> PodRow {
    let own = |text: &str| text.to_owned();
    let message = pod.waits_because().or(pod.text(&["status", "message"]));
    PodRow {
        namespace: own(pod.namespace()),
        name: own(pod.name()),
        uid: own(pod.uid()),
        phase: own(pod.phase()),
        reason: pod.text(&["status", "reason"]).map(own).or_else(|| match pod.is_gated() {
            true => Some(own("SchedulingGated")),
            false => message.and_then(reason_word),
        }),
        message: message.map(own),
        node: pod.node().map(own),
        slurm_node: pod.slurm_node().map(own),
        job_id: pod.job(),
        gang: pod.gang().map(own),
        owner: None,
        rank: rank(pod),
        mpi: None,
        labels: labels(pod),
        scheduler: own(pod.scheduler()),
        conditions: pod.slurm_conditions(),
        terminating: pod.is_terminating(),
        created_ms: Time::ZERO,
        bound_ms: None,
        started_ms: None,
        finished_ms: None,
    }
}

/// The one word in `Slurm job 7 is pending: Resources (more)`; `Unschedulable` for other sentences.
fn reason_word(message: &str) -> Option<String> {
    let after = message.split_once(" is pending: ").map(|(_, after)| after);
    let word = after.and_then(|after| after.split([' ', '(', ',']).next());
    Some(word.unwrap_or("Unschedulable").to_owned())
}

fn labels(pod: Object<'_>) -> BTreeMap<String, String> {
    let labels = pod.at(&["metadata", "labels"]).and_then(serde_json::Value::as_object);
    let texts = labels.into_iter().flatten();
    texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn rank(pod: Object<'_>) -> Option<u64> {
    let written = |key: &&str| pod.label(key).or_else(|| pod.annotation(key))?.parse().ok();
    INDEXES.iter().find_map(written)
}

/// What a rank says of its program, if the scenario makes it one.
pub(super) fn mpi(
    pod: Object<'_>,
    before: Option<&MpiRow>,
    behaviours: &[Behaviour],
) -> Option<MpiRow> {
    let known = before.map(|row| (row.program.clone(), row.ranks));
    let (program, ranks) = known.or_else(|| program(pod, behaviours))?;
    let said = pod.condition(BARRIER);
    let barrier = said.and_then(|it| it.text(&["message"])).map(str::to_owned);
    let met = said.is_some_and(|it| it.text(&["status"]) == Some("True"));
    Some(MpiRow { program, ranks, barrier, met })
}

fn program(pod: Object<'_>, behaviours: &[Behaviour]) -> Option<(String, u32)> {
    let label = |key: &str| pod.label(key).map(str::to_owned);
    let its = |it: &&Behaviour| it.matches.matches(pod.namespace(), pod.name(), label);
    let mpi = behaviours.iter().find(its)?.mpi.as_ref()?;
    Some((label(&mpi.group_label)?, mpi.ranks))
}

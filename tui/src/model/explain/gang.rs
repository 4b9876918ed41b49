//! A gang: why it doesn't go on, and who keeps it from that.

use drawbridge_scenarios::PodRow;

use super::{
    Explanation,
    job::job_line,
    pod::{phases, place, pod_subjects, pod_why},
    remedy,
    waiting::{count, some_of},
};
use crate::model::{
    gang::{self, Gang, Standing, deadlocked},
    moment,
    scene::{Scene, is_placeless},
};

/// Explains a gang, if it has pods now.
pub(super) fn gang(scene: Scene<'_>, namespace: &str, name: &str) -> Option<Explanation> {
    let gang = gang::gang(scene, namespace, name)?;
    let job = gang.job().and_then(|id| scene.job(id)).map(|(_, job)| job);
    let waits = gang.ranks.iter().find(|pod| is_placeless(pod));
    let told = waits.or(gang.ranks.first())?;
    let mut facts = vec![("ranks", gang.size.to_string()), ("pods", phases(&gang.ranks))];
    facts.extend(told.message.clone().map(|message| ("message", message)));
    facts.extend(slowest(scene, &gang).map(|it| ("slowest", it)));
    facts.extend(job.map(|job| ("job", job_line(scene.now, job))));
    Some(Explanation {
        title: format!("gang {namespace}/{name}"),
        why: why(scene, &gang),
        needs: job.map(|job| remedy::needs(scene, job)).unwrap_or_default(),
        facts,
        subjects: pod_subjects(&gang.ranks),
        ..Explanation::default()
    })
}

fn why(scene: Scene<'_>, gang: &Gang<'_>) -> Vec<String> {
    let job = gang.job().and_then(|id| scene.job(id)).map(|(_, job)| job);
    let placeless = gang.ranks.iter().find(|pod| is_placeless(pod));
    match (gang.standing(), placeless) {
        (Standing::Split, _) => split(scene, gang),
        (_, Some(pod)) => pod_why(scene, pod, job),
        (Standing::Meeting, None) => meeting(gang),
        (_, None) => members(gang),
    }
}

/// Some ranks have a place and others don't: nobody gets on.
fn split(scene: Scene<'_>, gang: &Gang<'_>) -> Vec<String> {
    let missing: Vec<&PodRow> = gang.ranks.iter().filter(|p| is_placeless(p)).copied().collect();
    let absent = gang.size - gang.ranks.len();
    let mut why = vec![format!(
        "Only {} of {} hold a node; no rank gets past its first barrier before all are there.",
        gang.placed(),
        count(gang.size, "rank")
    )];
    let names = some_of(missing.iter().map(|pod| pod.name.clone())).join(", ");
    why.extend((!missing.is_empty()).then(|| format!("Without a node: {names}.")));
    why.extend((0 < absent).then(|| format!("{} don't exist yet.", count(absent, "rank"))));
    why.extend(
        missing
            .first()
            .and_then(|pod| pod.message.as_ref())
            .map(|message| format!("Why: {}.", message.trim_end_matches('.'))),
    );
    why.extend(deadlock(scene, gang));
    why
}

/// Who else is stuck, and holds nodes.
fn deadlock(scene: Scene<'_>, gang: &Gang<'_>) -> Vec<String> {
    let all = gang::gangs(scene, false);
    let stuck = deadlocked(&all);
    let is_it = |other: &&&Gang<'_>| (other.namespace, &other.name) == (gang.namespace, &gang.name);
    if !stuck.iter().any(|other| is_it(&other)) {
        return vec![];
    }
    let others = stuck.iter().filter(|other| !is_it(other));
    let held = others.map(|other| {
        let nodes = some_of(other.ranks.iter().filter_map(|pod| pod.node.clone())).join(", ");
        format!("gang {}/{} holds {nodes}", other.namespace, other.name)
    });
    let held = some_of(held).join("; ");
    let mut told = vec![format!("Deadlock: {held}, and waits for ranks of its own.")];
    if gang.job().is_none() {
        told.push(
            "Nobody placed the ranks as one: each pod was scheduled for itself. A PodGroup in a \
             namespace of the bridge gets all nodes at once, or none."
                .to_owned(),
        );
    }
    told
}

fn meeting(gang: &Gang<'_>) -> Vec<String> {
    let waiting = gang.ranks.iter().filter(|pod| gang::waits_at_barrier(pod)).count();
    vec![format!(
        "All {} run, and {waiting} of them wait at the first barrier until the last is there.",
        count(gang.size, "rank")
    )]
}

/// Where its members stand: one sentence if it is the same for all.
fn members(gang: &Gang<'_>) -> Vec<String> {
    let mut each: Vec<String> = gang.ranks.iter().map(|pod| place(pod)).collect();
    each.dedup();
    match each.as_slice() {
        [same] if 1 < gang.ranks.len() => vec![format!("All {}: {same}", gang.ranks.len())],
        _ => some_of(gang.ranks.iter().map(|pod| format!("{}: {}", pod.name, place(pod)))),
    }
}

fn slowest(scene: Scene<'_>, gang: &Gang<'_>) -> Option<String> {
    let late = gang.ranks.iter().filter_map(|pod| Some((gang.late_by(pod, scene.now)?, pod)));
    let (by, pod) = late.max_by_key(|(by, _)| *by)?;
    Some(format!("{}, {} after the first", pod.name, moment::kubectl(by)))
}

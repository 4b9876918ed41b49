//! What somebody should know without looking for it.

use super::{
    explain::waiting::{count, some_of},
    gang::{deadlocked, gangs},
    list::Key,
    reel::Reel,
    scene::{Scene, is_usable},
};
use crate::theme::Tone;

/// Something that is wrong, or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    /// How bad it is.
    pub(crate) tone: Tone,
    /// What it is.
    pub(crate) text: String,
    /// What it is about.
    pub(crate) about: Option<Key>,
}

impl Alert {
    fn new(tone: Tone, text: String, about: Option<Key>) -> Self {
        Self { tone, text, about }
    }
}

/// All alerts at the moment, the worst first.
pub(crate) fn alerts(scene: Scene<'_>, reel: &Reel, notices: &[String]) -> Vec<Alert> {
    let bad = |text: String, about| Alert::new(Tone::Bad, text, about);
    let mut all: Vec<Alert> = vec![];
    all.extend(reel.broken.iter().map(|why| bad(format!("The run can't go on: {why}"), None)));
    all.extend(notices.iter().map(|notice| bad(notice.clone(), None)));
    if scene.bridge_up() == Some(false) {
        all.push(bad("The bridge is down: nothing is submitted or bound.".to_owned(), None));
    }
    all.extend(deadlock(scene));
    all.extend(nodes_off(scene));
    all.extend(pods_failed(scene));
    all.extend(longest_wait(scene));
    all.extend(verdict(scene, reel));
    all
}

fn deadlock(scene: Scene<'_>) -> Vec<Alert> {
    let all = gangs(scene, false);
    let stuck = deadlocked(&all);
    let told = stuck.iter().map(|gang| {
        let text = format!(
            "Deadlock: gang {}/{} holds {} and waits for {} that can't be placed.",
            gang.namespace,
            gang.name,
            count(gang.placed(), "node"),
            count(gang.size - gang.placed(), "rank"),
        );
        let about = Key::Gang(gang.namespace.to_owned(), gang.name.clone());
        Alert::new(Tone::Bad, text, Some(about))
    });
    told.collect()
}

fn nodes_off(scene: Scene<'_>) -> Option<Alert> {
    let off = scene.nodes().map(|(_, node)| node);
    let off: Vec<_> = off.filter(|node| node.slurm_name.is_some() && !is_usable(node)).collect();
    let first = off.first()?;
    let reason = |node: &&&drawbridge_scenarios::NodeRow| {
        let why = node.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{} ({}{why})", node.name, node.state)
    };
    let names = some_of(off.iter().map(|node| reason(&node))).join(", ");
    let text = match off.len() {
        1 => format!("1 node takes no new work: {names}."),
        n => format!("{n} nodes take no new work: {names}."),
    };
    Some(Alert::new(Tone::Waiting, text, Some(Key::Node(first.name.clone()))))
}

fn pods_failed(scene: Scene<'_>) -> Option<Alert> {
    let failed: Vec<_> =
        scene.pods().map(|(_, pod)| pod).filter(|pod| pod.phase == "Failed").collect();
    let first = failed.first()?;
    let names = some_of(failed.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)));
    let text = format!("{} failed: {}.", count(failed.len(), "pod"), names.join(", "));
    Some(Alert::new(Tone::Bad, text, Some(Key::Pod(first.uid.clone()))))
}

/// The job that has waited longest.
fn longest_wait(scene: Scene<'_>) -> Option<Alert> {
    let waiting = scene.jobs().map(|(_, job)| job).filter(|job| super::scene::is_waiting(job));
    let job = waiting.min_by_key(|job| (job.submit_ms, job.job_id))?;
    let reason = job.reason.as_deref().unwrap_or("None");
    let text = format!(
        "Job {} {} has waited longest: {}, {reason}.",
        job.job_id,
        job.name,
        super::moment::kubectl(scene.now - job.submit_ms),
    );
    Some(Alert::new(Tone::Plain, text, Some(Key::Job(job.job_id))))
}

/// What came of the run, once its end is shown.
fn verdict(scene: Scene<'_>, reel: &Reel) -> Vec<Alert> {
    let Some(ending) = reel.film.ending().filter(|_| reel.film.len() <= scene.still.event()) else {
        return vec![];
    };
    let broken = ending.violations.iter().map(|law| format!("A law was broken: {law}"));
    let refused = ending.refused.iter().map(|step| format!("A step was refused, line {step}"));
    let unmet = ending.expectations.iter().filter(|it| !it.passed).map(|it| {
        let detail = it.detail.as_deref().unwrap_or_default();
        format!("Not as expected: {} ({detail})", it.text)
    });
    let bad = broken.chain(refused).chain(unmet);
    let mut all: Vec<Alert> = bad.map(|text| Alert::new(Tone::Bad, text, None)).collect();
    if all.is_empty() && !ending.expectations.is_empty() {
        let met = count(ending.expectations.len(), "expectation");
        all.push(Alert::new(Tone::Good, format!("All is as expected: {met} met."), None));
    }
    all
}

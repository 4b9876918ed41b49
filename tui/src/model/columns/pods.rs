//! Columns of pods, and of the gangs above them.

use drawbridge_scenarios::PodRow;

use super::{Column, Shown, Sort};
use crate::{
    model::{
        explain::phases,
        gang::{Gang, gang_of},
        moment::kubectl,
        scene::{Scene, phase},
    },
    theme::Tone,
};

/// A line of the list.
#[derive(Clone, Debug)]
pub(crate) enum PodLine<'a> {
    /// A gang, and whether its pods stand below it.
    Gang(Gang<'a>, bool),
    /// A pod, and whether it stands below its gang.
    Pod(&'a PodRow, bool),
}

/// The columns.
pub(crate) const fn columns<'a>() -> [Column<PodLine<'a>>; 15] {
    [
        Column::new("NAMESPACE", namespace),
        Column::new("NAME", name).tone(name_tone),
        Column::new("PHASE", phase_of).tone(phase_tone),
        Column::new("NODE", |_, it| pod(it, |pod| dash(pod.node.as_ref()))),
        Column::new("SLURM NODE", |_, it| pod(it, |pod| dash(pod.slurm_node.as_ref())))
            .shown(Shown::Asked),
        Column::new("JOB", job).right(|_, it| Sort::Number(job_number(it))),
        Column::new("AGE", age).right(|_, it| Sort::time(first(it).map(|pod| pod.created_ms))),
        Column::new("WAIT", wait).right(wait_key).shown(Shown::Wide),
        Column::new("REASON", reason).tone(reason_tone),
        Column::new("RANK", |_, it| pod(it, |pod| dash(pod.rank.as_ref())))
            .right(|_, it| Sort::Number(first(it).and_then(|pod| i64::try_from(pod.rank?).ok())))
            .shown(Shown::Asked),
        Column::new("OWNER", |_, it| pod(it, |pod| dash(pod.owner.as_ref()))).shown(Shown::Asked),
        Column::new("SCHEDULER", |_, it| pod(it, |pod| pod.scheduler.clone())).shown(Shown::Asked),
        Column::new("STARTED", |scene, it| pod(it, |pod| time(scene, pod.started_ms)))
            .right(|_, it| Sort::time(first(it).and_then(|pod| pod.started_ms)))
            .shown(Shown::Asked),
        Column::new("FINISHED", |scene, it| pod(it, |pod| time(scene, pod.finished_ms)))
            .right(|_, it| Sort::time(first(it).and_then(|pod| pod.finished_ms)))
            .shown(Shown::Asked),
        Column::new("LABELS", |_, it| pod(it, labels)).shown(Shown::Asked),
    ]
}

/// Everything that a filter may look for.
pub(crate) fn hay(pod: &PodRow, hay: &mut String) {
    let job = pod.job_id.map(|job| job.to_string()).unwrap_or_default();
    let gang = gang_of(pod).unwrap_or_default();
    let texts = [
        &pod.namespace,
        &pod.name,
        phase(pod),
        pod.reason.as_deref().unwrap_or_default(),
        pod.node.as_deref().unwrap_or_default(),
        pod.slurm_node.as_deref().unwrap_or_default(),
        &gang,
        pod.owner.as_deref().unwrap_or_default(),
        &job,
    ];
    for text in texts {
        hay.push_str(text);
        hay.push('\n');
    }
}

fn first<'a>(line: &PodLine<'a>) -> Option<&'a PodRow> {
    match line {
        PodLine::Gang(gang, _) => gang.ranks.first().copied(),
        PodLine::Pod(pod, _) => Some(pod),
    }
}

/// What a pod says; a gang says nothing there.
fn pod(line: &PodLine<'_>, text: impl Fn(&PodRow) -> String) -> String {
    match line {
        PodLine::Gang(..) => String::new(),
        PodLine::Pod(pod, _) => text(pod),
    }
}

fn namespace(_: Scene<'_>, line: &PodLine<'_>) -> String {
    first(line).map(|pod| pod.namespace.clone()).unwrap_or_default()
}

fn name(_: Scene<'_>, line: &PodLine<'_>) -> String {
    match line {
        PodLine::Gang(gang, true) => format!("▾ {}", gang.name),
        PodLine::Gang(gang, false) => format!("▸ {}", gang.name),
        PodLine::Pod(pod, true) => format!("  {}", pod.name),
        PodLine::Pod(pod, false) => pod.name.clone(),
    }
}

fn name_tone(_: Scene<'_>, line: &PodLine<'_>) -> Tone {
    match line {
        PodLine::Gang(..) => Tone::Heading,
        PodLine::Pod(pod, _) if pod.phase == "Deleted" => Tone::Faint,
        PodLine::Pod(..) => Tone::Plain,
    }
}

fn phase_of(_: Scene<'_>, line: &PodLine<'_>) -> String {
    match line {
        PodLine::Gang(gang, _) => phases(&gang.ranks),
        PodLine::Pod(pod, _) => phase(pod).to_owned(),
    }
}

fn phase_tone(_: Scene<'_>, line: &PodLine<'_>) -> Tone {
    match line {
        PodLine::Gang(..) => Tone::Plain,
        PodLine::Pod(pod, _) => tone_of(phase(pod)),
    }
}

/// What a phase means.
pub(crate) fn tone_of(phase: &str) -> Tone {
    match phase {
        "Running" => Tone::Good,
        "Pending" | "Terminating" => Tone::Waiting,
        "Failed" => Tone::Bad,
        "Succeeded" | "Deleted" => Tone::Faint,
        _ => Tone::Plain,
    }
}

fn job_number(line: &PodLine<'_>) -> Option<i64> {
    match line {
        PodLine::Gang(gang, _) => gang.job().map(|job| i64::from(job.0)),
        PodLine::Pod(pod, _) => pod.job_id.map(|job| i64::from(job.0)),
    }
}

fn job(_: Scene<'_>, line: &PodLine<'_>) -> String {
    job_number(line).map_or_else(|| "-".to_owned(), |job| job.to_string())
}

fn age(scene: Scene<'_>, line: &PodLine<'_>) -> String {
    pod(line, |pod| kubectl(scene.now - pod.created_ms))
}

/// How long a pod waited for its place, or has waited so far.
fn waited(scene: Scene<'_>, pod: &PodRow) -> Option<drawbridge_sim::Span> {
    let open = pod.phase == "Pending";
    let until = pod.bound_ms.or_else(|| open.then_some(scene.now))?;
    Some(until - pod.created_ms)
}

fn wait(scene: Scene<'_>, line: &PodLine<'_>) -> String {
    pod(line, |pod| waited(scene, pod).map_or_else(|| "-".to_owned(), kubectl))
}

fn wait_key(scene: Scene<'_>, line: &PodLine<'_>) -> Sort {
    let waited = first(line).and_then(|pod| waited(scene, pod));
    Sort::Number(waited.and_then(|span| i64::try_from(span.as_ms()).ok()))
}

fn reason(_: Scene<'_>, line: &PodLine<'_>) -> String {
    match line {
        PodLine::Gang(gang, _) => format!("gang {}", gang.standing().word()),
        PodLine::Pod(pod, _) => {
            let barrier = pod.mpi.as_ref().filter(|mpi| !mpi.met && pod.phase == "Running");
            let barrier = barrier.and_then(|mpi| mpi.barrier.clone());
            pod.reason.clone().or(barrier).unwrap_or_default()
        }
    }
}

fn reason_tone(_: Scene<'_>, line: &PodLine<'_>) -> Tone {
    match line {
        PodLine::Gang(gang, _) if gang.is_stuck() => Tone::Bad,
        PodLine::Gang(..) => Tone::Faint,
        PodLine::Pod(..) => Tone::Plain,
    }
}

fn labels(pod: &PodRow) -> String {
    let pairs: Vec<String> =
        pod.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

fn time(scene: Scene<'_>, at: Option<drawbridge_sim::Time>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| scene.stamp(at))
}

fn dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

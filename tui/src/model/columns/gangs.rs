//! Columns of gangs, and of a gang's ranks.

use std::collections::BTreeSet;

use drawbridge_scenarios::PodRow;

use super::{Column, Sort, pods};
use crate::{
    model::{
        gang::{Gang, Standing, waits_at_barrier},
        groups,
        moment::kubectl,
        scene::{Scene, phase},
    },
    theme::Tone,
};

/// The columns of gangs.
pub(crate) const fn columns<'a>() -> [Column<Gang<'a>>; 8] {
    [
        column("NAMESPACE", |_, it| it.namespace.to_owned()),
        column("GANG", |_, it| it.name.clone()).tone(|_, _| Tone::Heading),
        column("STATE", |_, it| state(it)).tone(state_tone),
        column("PLACED", |_, it| format!("{}/{}", it.placed(), it.size))
            .right(|_, it| Sort::number(it.placed())),
        column("MET", |_, it| met(it)).right(|_, it| Sort::text(&met(it))),
        column("JOB", |_, it| job(it)).right(|_, it| Sort::number(it.job().map_or(0, |job| job.0))),
        column("SWITCHES", switches).right(|scene, it| Sort::text(&switches(scene, it))),
        column("WAITS FOR", |_, it| waits_for(it)),
    ]
}

const fn column<'a>(
    name: &'static str,
    text: fn(Scene<'_>, &Gang<'a>) -> String,
) -> Column<Gang<'a>> {
    Column::new(name, text)
}

/// Everything that a filter may look for.
pub(crate) fn hay(gang: &Gang<'_>, hay: &mut String) {
    for text in [gang.namespace, &gang.name, gang.standing().word()] {
        hay.push_str(text);
        hay.push('\n');
    }
    gang.ranks.iter().for_each(|pod| pods::hay(pod, hay));
}

fn state(gang: &Gang<'_>) -> String {
    if gang.is_stuck() { "stuck".to_owned() } else { gang.standing().word().to_owned() }
}

fn state_tone(_: Scene<'_>, gang: &Gang<'_>) -> Tone {
    match gang.standing() {
        _ if gang.is_stuck() => Tone::Bad,
        Standing::Failed => Tone::Bad,
        Standing::Waiting | Standing::Split | Standing::Starting | Standing::Meeting => {
            Tone::Waiting
        }
        Standing::Running => Tone::Good,
        Standing::Ended => Tone::Faint,
    }
}

/// How many ranks are past their barrier, where there is one.
fn met(gang: &Gang<'_>) -> String {
    match gang.ranks.iter().any(|pod| pod.mpi.is_some()) {
        true => {
            let met = gang.ranks.iter().filter(|pod| pod.mpi.as_ref().is_some_and(|it| it.met));
            format!("{}/{}", met.count(), gang.size)
        }
        false => "-".to_owned(),
    }
}

fn job(gang: &Gang<'_>) -> String {
    gang.job().map_or_else(|| "-".to_owned(), |job| job.to_string())
}

fn switches(scene: Scene<'_>, gang: &Gang<'_>) -> String {
    let nodes = gang.ranks.iter().filter_map(|pod| scene.node(pod.node.as_deref()?));
    let known: BTreeSet<&str> = nodes.filter_map(|node| node.switch.as_deref()).collect();
    if known.is_empty() { "-".to_owned() } else { known.len().to_string() }
}

fn waits_for(gang: &Gang<'_>) -> String {
    match gang.standing() {
        Standing::Waiting => {
            gang.ranks.first().and_then(|pod| pod.reason.clone()).unwrap_or_default()
        }
        Standing::Split | Standing::Starting | Standing::Meeting => {
            let names: Vec<&str> = gang.missing().iter().map(|pod| pod.name.as_str()).collect();
            names.join(" ")
        }
        Standing::Running | Standing::Ended | Standing::Failed => String::new(),
    }
}

/// A rank of a gang, as the table below the gangs has it.
#[derive(Clone, Debug)]
pub(crate) struct Rank<'a> {
    /// Its number.
    pub(crate) number: usize,
    /// The pod.
    pub(crate) pod: &'a PodRow,
    /// Its gang.
    pub(crate) gang: &'a Gang<'a>,
}

/// The columns of ranks.
pub(crate) const fn rank_columns<'a>() -> [Column<Rank<'a>>; 8] {
    [
        rank_column("RANK", |_, it| it.number.to_string()).right(|_, it| Sort::number(it.number)),
        rank_column("POD", |_, it| it.pod.name.clone()),
        rank_column("PHASE", |_, it| phase(it.pod).to_owned())
            .tone(|_, it| pods::tone_of(phase(it.pod))),
        rank_column("NODE", |_, it| it.pod.node.clone().unwrap_or_else(|| "-".to_owned())),
        rank_column("SWITCH", |scene, it| switch(scene, it.pod)),
        rank_column("BARRIER", |_, it| barrier(it.pod)).tone(|_, it| barrier_tone(it.pod)),
        rank_column("LATE", late).right(|_, it| Sort::number(it.number)).tone(|_, _| Tone::Waiting),
        rank_column("WAITS FOR", |_, it| rank_waits(it)),
    ]
}

const fn rank_column<'a>(
    name: &'static str,
    text: fn(Scene<'_>, &Rank<'a>) -> String,
) -> Column<Rank<'a>> {
    Column::new(name, text)
}

fn switch(scene: Scene<'_>, pod: &PodRow) -> String {
    let node = pod.node.as_deref().and_then(|name| scene.node(name));
    node.filter(|node| node.switch.is_some())
        .map_or_else(|| "-".to_owned(), |node| groups::group_of(node).to_owned())
}

fn barrier(pod: &PodRow) -> String {
    match &pod.mpi {
        None => "-".to_owned(),
        Some(mpi) if mpi.met => "met".to_owned(),
        Some(_) if waits_at_barrier(pod) => "waits".to_owned(),
        Some(_) => "not there".to_owned(),
    }
}

fn barrier_tone(pod: &PodRow) -> Tone {
    match barrier(pod).as_str() {
        "met" => Tone::Good,
        "waits" => Tone::Waiting,
        _ => Tone::Faint,
    }
}

fn late(scene: Scene<'_>, rank: &Rank<'_>) -> String {
    let by = rank.gang.late_by(rank.pod, scene.now);
    by.map(|by| format!("+{}", kubectl(by))).unwrap_or_default()
}

fn rank_waits(rank: &Rank<'_>) -> String {
    let pod = rank.pod;
    match (waits_at_barrier(pod), &pod.node) {
        (true, _) => rank.gang.waits_for(pod).join(" "),
        (false, None) if pod.phase == "Pending" => {
            pod.reason.clone().unwrap_or_else(|| "a node".to_owned())
        }
        (false, _) => String::new(),
    }
}

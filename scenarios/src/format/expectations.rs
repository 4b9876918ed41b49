//! The `expect:` part: names in it must exist, words in it must be ones that can occur.

use drawbridge_bridge::yaml::path;
use drawbridge_sim::{Time, expand_hostlist};

use crate::{
    expect::{Check, Expectation, JobsExpect, NodesExpect, PHASES, PodsExpect, StoryExpect, When},
    format::{
        ScenarioError,
        duration::Lasting,
        known::{self, Known, Wrong},
        source::Source,
        steps::ExpectEntry,
    },
    record::Actor,
};

/// As squeue spells them.
const JOB_STATES: [&str; 14] = [
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETING",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
];

/// As sinfo spells them; `-` for a node that Slurm doesn't know.
const NODE_STATES: [&str; 10] =
    ["idle", "mix", "alloc", "comp", "drain", "drng", "down", "resv", "unk", "-"];

const ACTORS: [Actor; 6] =
    [Actor::User, Actor::Kube, Actor::Kubelet, Actor::Bridge, Actor::Slurm, Actor::Twin];

/// The keys that are checks, for hints.
const CHECKS: &str = "pods, jobs, nodes, metric, together, order, story, never";

/// Reads one expectation.
pub(crate) fn read(
    entry: &ExpectEntry,
    at: &str,
    source: &Source,
    known: &Known,
    until: Time,
) -> Result<Expectation, ScenarioError> {
    let when = match entry.at.as_deref() {
        None | Some("end") => When::End,
        Some(text) => match Lasting::parse(text) {
            Ok(lasting) if lasting.from_start() > until => {
                return Err(source.after_the_end(&path::key(at, "at")));
            }
            Ok(lasting) => When::At(lasting.from_start()),
            Err(wrong) => return Err(source.two_lines(&path::key(at, "at"), &wrong)),
        },
    };
    let mut checks = entry.checks();
    match (checks.pop(), checks.pop()) {
        (Some((key, check)), None) => {
            verify(&check, known).map_err(|(inner, (what, hint))| {
                let at = format!("{}{inner}", path::key(at, key));
                source.at(&at, what).hinted(hint)
            })?;
            Ok(Expectation::new(when, check))
        }
        (Some((second, _)), Some((first, _))) => Err(source
            .exclusive(at, [first, second], "an expectation is about one thing")
            .hinted("make them two expectations")),
        (None, _) => {
            Err(source.at(at, "this expects nothing").hinted(format!("add one of: {CHECKS}")))
        }
    }
}

/// Where inside the check, and what is wrong there.
type Misfit = (&'static str, Wrong);

fn verify(check: &Check, known: &Known) -> Result<(), Misfit> {
    match check {
        Check::Pods(it) => pods(it, known),
        Check::Jobs(it) => jobs(it, known),
        Check::Nodes(it) => nodes(it, known),
        Check::Story(it) | Check::Never(it) => story(it),
        Check::Order(items) if items.len() < 2 => Err((
            "",
            (
                "an order has at least two things in it".into(),
                "write `order: [{pods: a-*}, {pods: b-*}]`".into(),
            ),
        )),
        Check::Order(_) | Check::Metric(_) | Check::Together(_) => Ok(()),
    }
}

fn pods(it: &PodsExpect, known: &Known) -> Result<(), Misfit> {
    let at = |key: &'static str| move |wrong: Wrong| (key, wrong);
    if let Some(phase) = &it.phase {
        known::one_of("pod phase", phase, &PHASES).map_err(at(".phase"))?;
    }
    if let Some(node) = &it.node {
        known.kube_nodes_like(node).map_err(at(".node"))?;
    }
    if let Some(node) = &it.slurm_node {
        known.slurm_nodes_like(node).map_err(at(".slurmNode"))?;
    }
    match &it.namespace {
        Some(namespace) => known.namespaces_like(namespace).map_err(at(".namespace")),
        None => Ok(()),
    }
}

fn jobs(it: &JobsExpect, known: &Known) -> Result<(), Misfit> {
    let at = |key: &'static str| move |wrong: Wrong| (key, wrong);
    if let Some(state) = &it.state {
        known::one_of("job state", state, &JOB_STATES).map_err(at(".state"))?;
    }
    if let Some(partition) = &it.partition {
        known.partition(partition).map_err(at(".partition"))?;
    }
    let listed = it.nodes.as_ref().map(|glob| glob.as_str());
    match listed.filter(|text| !text.is_empty() && !text.contains('*')) {
        Some(text) => expand_hostlist(text)
            .map_err(|error| (error.to_string(), "write it as squeue does: `n[1-3]`".into()))
            .and_then(|names| names.iter().try_for_each(|name| known.slurm_node(name)))
            .map_err(at(".nodes")),
        None => Ok(()),
    }
}

fn nodes(it: &NodesExpect, known: &Known) -> Result<(), Misfit> {
    let at = |key: &'static str| move |wrong: Wrong| (key, wrong);
    if let Some(state) = &it.state {
        known::one_of("node state", state, &NODE_STATES).map_err(at(".state"))?;
    }
    match &it.name {
        Some(name) => known.any_nodes_like(name).map_err(at(".name")),
        None => Ok(()),
    }
}

fn story(it: &StoryExpect) -> Result<(), Misfit> {
    match &it.by {
        Some(by) => known::one_of("actor", by, &ACTORS.map(Actor::name)).map_err(|it| (".by", it)),
        None => Ok(()),
    }
}

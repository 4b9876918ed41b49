//! From a file as it is written to a scenario as it is played.

use drawbridge_bridge::{
    config, yaml,
    yaml::{YamlError, path},
};
use drawbridge_core::Config;
use drawbridge_sim::{Epoch, Seed, SlurmConfig};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    format::{
        Files, ScenarioError, behaviours, expectations,
        file::File,
        known::Known,
        kube_side,
        manifests::{self, Manifest},
        slurm_side,
        source::Source,
        text_or::TextOr,
        timeline::Timeline,
    },
    scenario::Scenario,
};

/// Namespaces that every cluster has.
const USUAL_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Reads and checks a scenario. `name` is its path as errors shall show it.
pub(crate) fn parse(name: &str, text: &str, files: &dyn Files) -> Result<Scenario, ScenarioError> {
    let source = Source::new(name, text);
    check_version(&source)?;
    let file: File = yaml::parse(text).map_err(|error| source.yaml(error))?;
    check_why(&file, &source)?;
    scenario(name, &file, &source, files)
}

/// What to do about a file that doesn't begin with its sentence.
const WHY_FIRST: &str = "a scenario begins with `why:` and one sentence: what does it show?";

/// The keys that a file of a later version is sure to have.
#[derive(Deserialize)]
struct Versioned {
    version: Option<Value>,
    why: Option<Value>,
}

fn check_version(source: &Source) -> Result<(), ScenarioError> {
    let file: Versioned = yaml::parse(source.text()).map_err(|error| not_a_file(error, source))?;
    if let Some(version) = file.version.filter(|version| *version != 1) {
        return Err(source
            .at("version", format!("this drawbridge reads format version 1, not {version}"))
            .hinted("write `version: 1`, or use the drawbridge that the file was written for"));
    }
    // Its place is the top of the file, not the end where a reader of YAML misses it.
    file.why.map(drop).ok_or_else(|| source.at("", "missing key `why`").hinted(WHY_FIRST))
}

/// A file that is empty, or a list, or one word, lacks its beginning first of all.
fn not_a_file(error: YamlError, source: &Source) -> ScenarioError {
    let no_mapping = error.what.contains("is empty") || error.what.starts_with("expected a map");
    let error = source.yaml(error);
    if no_mapping { error.hinted(WHY_FIRST) } else { error }
}

fn check_why(file: &File, source: &Source) -> Result<(), ScenarioError> {
    let first = source.locator().locate("");
    if source.locator().locate_key("why") != first {
        return Err(source.at_key("why", "`why` is not the first key").hinted(WHY_FIRST));
    }
    if file.why.trim().is_empty() {
        return Err(source
            .at_key("why", "`why` says nothing")
            .hinted("one sentence: what does the scenario show?"));
    }
    Ok(())
}

fn scenario(
    name: &str,
    file: &File,
    source: &Source,
    files: &dyn Files,
) -> Result<Scenario, ScenarioError> {
    let (slurm, notes) = slurm_side::read(&file.slurm, source, files)?;
    let bridge = bridge(file, &slurm, source)?;
    let bridge_replicas = replicas(file, bridge.as_ref(), source)?;
    let managed = bridge.as_ref().map_or(&[][..], |it| &it.managed_namespaces);
    let namespaces = kube_side::namespaces(&file.kubernetes, managed);
    let nodes = kube_side::nodes(&file.kubernetes, &slurm, source)?;
    let objects =
        manifests::collect(source, "kubernetes.objects", &file.kubernetes.objects, files)?;
    let applied = applied(file, source, files)?;
    let definitions = definitions(objects.iter().chain(&applied));
    let known = known(&slurm, &namespaces, &nodes, &objects, &applied);
    let objects = objects.into_iter().map(|it| it.checked(&known, false));
    let objects = objects.collect::<Result<Vec<_>, _>>()?;
    let until = file.until.from_start();
    let addresses = bridge.as_ref().map(|config| config.slurm_rest_api.0.as_slice());
    let slurm_file = &file.slurm;
    let timeline = Timeline { source, files, known: &known, addresses, until, slurm: slurm_file };
    Ok(Scenario {
        name: stem(name).into(),
        why: file.why.trim().into(),
        seed: Seed(file.seed),
        epoch: epoch(file, source)?,
        until,
        slurm,
        objects: [namespaces, nodes, definitions, objects].concat(),
        provisioners: kube_side::provisioners(&file.kubernetes, source)?,
        behaviours: each(&file.behaviour, "behaviour", |entry, at| {
            behaviours::read(entry, at, source)
        })?,
        steps: timeline.read(&file.steps)?,
        expect: each(&file.expect, "expect", |entry, at| {
            expectations::read(entry, at, source, &known, until)
        })?,
        bridge,
        bridge_replicas,
        notes,
    })
}

fn each<T, U>(
    entries: &[T],
    key: &str,
    read: impl Fn(&T, &str) -> Result<U, ScenarioError>,
) -> Result<Vec<U>, ScenarioError> {
    let indexed = entries.iter().enumerate();
    indexed.map(|(index, entry)| read(entry, &path::index(key, index))).collect()
}

/// The manifests of all steps: they may make namespaces and nodes that others use.
fn applied(
    file: &File,
    source: &Source,
    files: &dyn Files,
) -> Result<Vec<Manifest>, ScenarioError> {
    let mut all = vec![];
    for (index, step) in file.steps.iter().enumerate() {
        if let Some(manifests) = &step.apply {
            let at = path::key(&path::index("steps", index), "apply");
            all.extend(manifests::collect(source, &at, manifests, files)?);
        }
    }
    Ok(all)
}

/// What has to be defined for these manifests, each once.
fn definitions<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> Vec<Value> {
    let mut definitions = vec![];
    for definition in manifests.filter_map(Manifest::definition) {
        if !definitions.contains(&definition) {
            definitions.push(definition);
        }
    }
    definitions
}

fn known(
    slurm: &SlurmConfig,
    namespaces: &[Value],
    nodes: &[Value],
    objects: &[Manifest],
    applied: &[Manifest],
) -> Known {
    let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
    let made = || objects.iter().chain(applied);
    let slurm_nodes: Vec<String> = slurm.node_names().map(ToString::to_string).collect();
    Known {
        partitions: slurm.partitions().iter().map(|it| it.name.to_string()).collect(),
        kube_nodes: nodes
            .iter()
            .filter_map(name)
            .chain(made().filter_map(Manifest::made_node))
            .collect(),
        namespaces: USUAL_NAMESPACES
            .map(str::to_owned)
            .into_iter()
            .chain(namespaces.iter().filter_map(name))
            .chain(made().filter_map(Manifest::made_namespace))
            .collect(),
        slurm_nodes,
    }
}

/// How many replicas of the bridge there are.
fn replicas(file: &File, bridge: Option<&Config>, source: &Source) -> Result<usize, ScenarioError> {
    let count = file.bridge_replicas;
    if !(1..=9).contains(&count) {
        return Err(source
            .at("bridgeReplicas", format!("{count} replicas can't be played"))
            .hinted("write a number from 1 to 9"));
    }
    let elects = bridge.is_some_and(|config| config.features.enable_leader_election);
    if count > 1 && !elects {
        return Err(source
            .at("bridgeReplicas", "several replicas need to know who of them leads")
            .hinted("add `features: {enableLeaderElection: true}` to `bridge`"));
    }
    Ok(usize::from(count))
}

fn bridge(
    file: &File,
    slurm: &SlurmConfig,
    source: &Source,
) -> Result<Option<Config>, ScenarioError> {
    let config = match &file.bridge {
        None => Config::as_shipped(),
        Some(TextOr::Text(text)) if text == "none" => return Ok(None),
        Some(TextOr::Text(text)) => {
            return Err(source
                .at("bridge", format!("`{text}` is not a configuration"))
                .hinted("write keys of the bridge's config.yaml, or `none` for no bridge"));
        }
        Some(TextOr::Full(config)) => config.clone(),
    };
    config::check(&config, source.locator(), "bridge").map_err(|error| source.yaml(error))?;
    if let Some(partition) = &config.partition {
        let known = known(slurm, &[], &[], &[], &[]);
        known
            .partition(partition)
            .map_err(|(what, hint)| source.at("bridge.partition", what).hinted(hint))?;
    }
    Ok(Some(config))
}

fn epoch(file: &File, source: &Source) -> Result<Epoch, ScenarioError> {
    match &file.epoch {
        None => Ok(Epoch::DEFAULT),
        Some(text) if !in_calendar(text) => Err(source
            .at("epoch", format!("`{text}` is outside of the twin's calendar"))
            .hinted("it begins with 1970 and ends with 8999")),
        Some(text) => Epoch::parse(text).map_err(|_| {
            source
                .at("epoch", format!("`{text}` is not a moment"))
                .hinted("write it as `2026-01-01T00:00:00Z`")
        }),
    }
}

/// Whether the year, if there is one, leaves room for a run: a calendar has an end.
fn in_calendar(text: &str) -> bool {
    let year = text.split('-').next().and_then(|year| year.parse::<u64>().ok());
    year.is_none_or(|year| (1970..9000).contains(&year))
}

/// The file's name without folder and extension.
fn stem(name: &str) -> &str {
    let file = name.rsplit_once('/').map_or(name, |(_, file)| file);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

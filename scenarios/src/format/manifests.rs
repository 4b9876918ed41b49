//! Kubernetes manifests in a scenario: where they come from, and what is wrong with them.

use std::collections::BTreeSet;

use drawbridge_bridge::yaml::{self, path};
use drawbridge_sim::Quantity;
use serde_json::{Map, Value, json};

use crate::format::{
    Files, ScenarioError, fields,
    file::Manifests,
    kinds::{self, Kind},
    known::Known,
    source::Source,
    suggest,
};

/// Annotations that name a Slurm partition, in both spellings.
const PARTITION_ANNOTATIONS: [&str; 2] =
    ["slurmjob.slinky.slurm.net/partition", "slinky.slurm.net/partition"];

/// One manifest and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) value: Value,
    source: Source,
    path: String,
}

/// All manifests at `at`: one, a list, or those of the files that are named there.
pub(crate) fn collect(
    source: &Source,
    at: &str,
    manifests: &Manifests,
    files: &dyn Files,
) -> Result<Vec<Manifest>, ScenarioError> {
    match &manifests.0 {
        Value::Array(items) => {
            let parts = items.iter().enumerate().map(|(index, item)| {
                let at = path::index(at, index);
                collect(source, &at, &Manifests(item.clone()), files)
            });
            Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Value::String(file) => from_file(source, at, file, files),
        Value::Object(_) => Ok(vec![Manifest {
            value: manifests.0.clone(),
            source: source.clone(),
            path: at.into(),
        }]),
        Value::Null if at == "kubernetes.objects" => Ok(vec![]),
        Value::Null | Value::Bool(_) | Value::Number(_) => Err(source
            .at(at, "this is not a manifest")
            .hinted("write a manifest, a list of manifests, or the name of a file of manifests")),
    }
}

fn from_file(
    source: &Source,
    at: &str,
    file: &str,
    files: &dyn Files,
) -> Result<Vec<Manifest>, ScenarioError> {
    let included = source.include(at, file, files)?;
    let documents = yaml::documents(included.text()).map_err(|error| included.yaml(error))?;
    let manifests = documents.into_iter().map(|document| Manifest {
        value: document.value,
        source: included.with_locator(document.locator),
        path: String::new(),
    });
    Ok(manifests.collect())
}

impl Manifest {
    /// The namespace that it makes, if it is one.
    pub(crate) fn made_namespace(&self) -> Option<String> {
        (self.value["kind"] == "Namespace")
            .then(|| self.value["metadata"]["name"].as_str().map(str::to_owned))
            .flatten()
    }

    /// What has to be defined before it can be made.
    pub(crate) fn definition(&self) -> Option<Value> {
        let text = |key: &str| self.value[key].as_str();
        kinds::find(text("apiVersion")?, text("kind")?)?.definition()
    }

    /// The node that it makes, if it is one.
    pub(crate) fn made_node(&self) -> Option<String> {
        (self.value["kind"] == "Node")
            .then(|| self.value["metadata"]["name"].as_str().map(str::to_owned))
            .flatten()
    }

    /// The object, checked, with its namespace filled in.
    pub(crate) fn checked(
        mut self,
        known: &Known,
        unchecked: bool,
    ) -> Result<Value, ScenarioError> {
        let kind = self.kind()?;
        self.name()?;
        self.check_quantities()?;
        if !unchecked {
            fields::check(kind.kind, &self.value, &self.path, &self.source)?;
            self.check_partitions(known)?;
        }
        if kind.namespaced {
            self.settle_namespace(&known.namespaces)?;
        }
        Ok(self.value)
    }

    fn kind(&self) -> Result<&'static Kind, ScenarioError> {
        let text = |key: &str| {
            self.value[key].as_str().ok_or_else(|| {
                self.wrong(key, format!("this manifest has no `{key}`"))
                    .hinted(format!("add `{key}:`, as kubectl asks for it"))
            })
        };
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        kinds::find(api_version, kind).ok_or_else(|| match kinds::by_name(kind) {
            Some(known) => self
                .wrong("apiVersion", format!("the twin has no {kind} in `{api_version}`"))
                .hinted(format!("it has {kind} in `{}`", known.api_version)),
            None => self
                .wrong("kind", format!("the twin has no kind `{kind}`"))
                .hinted(suggest::one_of(kind, kinds::names())),
        })
    }

    fn name(&self) -> Result<(), ScenarioError> {
        let metadata = &self.value["metadata"];
        if metadata["name"].is_string() || metadata["generateName"].is_string() {
            return Ok(());
        }
        Err(self.wrong("metadata", "this manifest has no name").hinted("add `metadata.name`"))
    }

    fn settle_namespace(&mut self, namespaces: &BTreeSet<String>) -> Result<(), ScenarioError> {
        let metadata = &mut self.value["metadata"];
        let namespace = metadata["namespace"].as_str().unwrap_or("default").to_owned();
        metadata["namespace"] = json!(namespace);
        if namespaces.contains(&namespace) {
            return Ok(());
        }
        Err(self
            .wrong("metadata.namespace", format!("there is no namespace `{namespace}`"))
            .hinted(format!(
                "{} (new ones go to `kubernetes.namespaces`)",
                suggest::one_of(&namespace, namespaces.iter().map(String::as_str))
            )))
    }

    fn check_quantities(&self) -> Result<(), ScenarioError> {
        self.each_mapping(&mut |at, key, mapping| {
            let amounts = match key {
                "requests" | "limits" => at.contains("resources"),
                "capacity" | "allocatable" | "minResources" | "overhead" => true,
                _ => false,
            };
            if !amounts {
                return Ok(());
            }
            mapping.iter().try_for_each(|(resource, amount)| {
                quantity(amount).map_err(|what| {
                    self.source
                        .at(&path::key(at, resource), what)
                        .hinted("write `4`, `500m`, `8Gi` or `100M`")
                })
            })
        })
    }

    fn check_partitions(&self, known: &Known) -> Result<(), ScenarioError> {
        self.each_mapping(&mut |at, key, mapping| {
            let annotations = (key == "annotations").then_some(PARTITION_ANNOTATIONS);
            annotations.into_iter().flatten().try_for_each(|name| {
                let Some(Value::String(partition)) = mapping.get(name) else {
                    return Ok(());
                };
                known.partition(partition).map_err(|(what, hint)| {
                    let hint = format!("{hint} (`unchecked: true` beside `apply:` lets it pass)");
                    self.source.at(&path::key(at, name), what).hinted(hint)
                })
            })
        })
    }

    /// Calls `look` with the path, the key and the content of every mapping inside.
    fn each_mapping(&self, look: &mut Look<'_>) -> Result<(), ScenarioError> {
        walk(&self.value, &self.path, "", look)
    }

    fn wrong(&self, inner: &str, what: impl Into<String>) -> ScenarioError {
        let at = match self.path.as_str() {
            "" => inner.to_owned(),
            path => format!("{path}.{inner}"),
        };
        self.source.at(&at, what)
    }
}

type Look<'a> = dyn FnMut(&str, &str, &Map<String, Value>) -> Result<(), ScenarioError> + 'a;

fn walk(value: &Value, at: &str, key: &str, look: &mut Look<'_>) -> Result<(), ScenarioError> {
    match value {
        Value::Object(mapping) => {
            look(at, key, mapping)?;
            mapping.iter().try_for_each(|(key, value)| walk(value, &path::key(at, key), key, look))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| walk(item, &path::index(at, index), key, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Says what is wrong with an amount, if anything is.
fn quantity(amount: &Value) -> Result<(), String> {
    let text = match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err("this is not a quantity".into());
        }
    };
    match Quantity::parse(&text) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{text}` is not a quantity")),
    }
}

//! The library beside this crate: every file is read, fits the schema and says what it expects.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{fs, path::PathBuf};

use drawbridge_fakes::{KubeApi, Method, NoWebhooks, Request};
use drawbridge_scenarios::{
    Action, ObjectRef,
    format::{self, Files},
};
use drawbridge_sim::{Seed, Time};
use proptest::prelude::*;
use serde_json::Value;

struct Library;

impl Library {
    fn folder() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
    }

    /// Names and texts of all scenarios, by name.
    fn scenarios() -> Vec<(String, String)> {
        let entries = fs::read_dir(Self::folder()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        all.sort();
        all
    }
}

impl Files for Library {
    fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(Self::folder().join(path)).map_err(|error| error.to_string())
    }
}

#[test]
fn every_scenario_is_read_and_expects_something() {
    let scenarios = Library::scenarios();
    assert!(scenarios.len() >= 11);
    for (name, text) in scenarios {
        match format::parse(&name, &text, &Library) {
            Ok(scenario) => {
                assert!(!scenario.expect.is_empty(), "{name} expects nothing");
                assert!(scenario.notes.is_empty(), "{name}: {:?}", scenario.notes);
                assert!(text.lines().all(|line| line == line.trim_end()), "{name}");
            }
            Err(error) => panic!("{}", error.render()),
        }
    }
}

#[test]
fn every_scenario_fits_the_schema() {
    let validator = jsonschema::validator_for(&format::schema()).unwrap();
    for (name, text) in Library::scenarios() {
        let value: Value = drawbridge_bridge::yaml::parse(&text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = jsonschema::validator_for(&format::schema()).unwrap();
    for wrong in [
        r#"{"slurm": {"conf": ""}}"#,
        r#"{"why": "a", "slurm": {"conf": ""}, "stesp": []}"#,
        r#"{"why": "a", "slurm": {"conf": ""}, "until": "5min"}"#,
        r#"{"why": "a", "slurm": {"conf": ""}, "version": 2}"#,
        r#"{"why": "a", "slurm": {"conf": ""}, "steps": [{"at": "1s"}]}"#,
        r#"{"why": "a", "slurm": {"conf": ""}, "expect": [{"pods": {"cuont": 1}}]}"#,
    ] {
        let value: Value = serde_json::from_str(wrong).unwrap();
        assert!(!validator.is_valid(&value), "{wrong}");
    }
}

#[test]
fn every_key_of_the_schema_has_a_description_and_a_word_in_the_readme() {
    let readme = fs::read_to_string(Library::folder().join("README.md")).unwrap();
    let schema = format::schema();
    let mut undescribed = vec![];
    let mut unexplained = vec![];
    each_property(&schema, &mut |name, property| {
        if property.get("description").is_none() && property.get("$ref").is_none() {
            undescribed.push(name.to_owned());
        }
        if !readme.contains(&format!("`{name}`")) && !readme.contains(&format!("{name}:")) {
            unexplained.push(name.to_owned());
        }
    });
    assert!(undescribed.is_empty(), "no description: {undescribed:?}");
    assert!(unexplained.is_empty(), "not in the README: {unexplained:?}");
}

#[test]
fn the_api_server_takes_every_manifest() {
    for (name, text) in Library::scenarios() {
        let scenario = format::parse(&name, &text, &Library).unwrap();
        let mut api = KubeApi::new(scenario.epoch, Seed(0));
        let applied = scenario.steps.iter().filter_map(|step| {
            if let Action::Apply(objects) = &step.action { Some(objects) } else { None }
        });
        for object in scenario.objects.iter().chain(applied.flatten()) {
            let path = ObjectRef::of(object).unwrap().collection();
            let mut object = object.clone();
            // The twin fills in the owner's uid as it applies the object.
            object["metadata"].as_object_mut().unwrap().remove("ownerReferences");
            let request = Request::new("admin", Method::Post, path).with_body(object.clone());
            let response = api.handle(Time::ZERO, &request, &mut NoWebhooks);
            // What a step puts back after another deleted it is still there.
            let known = response.status == 409 && object["kind"] == "Node";
            assert!(response.status == 201 || known, "{name}: {object}: {}", response.body);
        }
        let nodes: Vec<_> = api.list("nodes").collect();
        assert!(!nodes.is_empty(), "{name}");
        for node in nodes {
            assert!(node["status"]["allocatable"]["cpu"].is_string(), "{name}: {node}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_damaged_file_is_read_or_refused_with_a_place_in_it(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        length in 0_usize..40,
        instead in "[a-z0-9:{}\\[\\]|&*'\", \n-]{0,6}",
    ) {
        let scenarios = Library::scenarios();
        let (name, text) = which.get(&scenarios);
        let letters: Vec<char> = text.chars().collect();
        let at = cut.index(letters.len());
        let end = (at + length).min(letters.len());
        let damaged: String = letters[..at]
            .iter()
            .copied()
            .chain(instead.chars())
            .chain(letters[end..].iter().copied())
            .collect();
        if let Err(error) = format::parse(name, &damaged, &Library) {
            prop_assert!(error.line >= 1 && error.line <= damaged.lines().count() + 1);
            prop_assert!(!error.what.is_empty() && error.render().contains(&error.what));
        }
    }
}

#[test]
fn the_examples_of_the_readme_are_right() {
    let readme = fs::read_to_string(Library::folder().join("README.md")).unwrap();
    let blocks = readme.split("```yaml\n").skip(1);
    let examples: Vec<&str> = blocks.filter_map(|it| it.split("```").next()).collect();
    format::parse("README.md", examples[0], &Library).unwrap();
    // The others are parts of files.
    let validator = jsonschema::validator_for(&format::schema()).unwrap();
    for example in &examples[1..] {
        let mut value: Value = drawbridge_bridge::yaml::parse(example).unwrap();
        value["why"] = "it shows".into();
        if value.get("slurm").is_none() {
            value["slurm"] = serde_json::json!({"conf": ""});
        }
        assert!(validator.is_valid(&value), "{example}");
    }
}

fn each_property(schema: &Value, look: &mut impl FnMut(&str, &Value)) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get("properties") {
                properties.iter().for_each(|(name, it)| look(name, it));
            }
            map.values().for_each(|it| each_property(it, look));
        }
        Value::Array(items) => items.iter().for_each(|it| each_property(it, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

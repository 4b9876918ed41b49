//! Keeping laws, one after the other.

use std::{collections::BTreeMap, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    client::Answer,
    law::{Expected, Law, Step},
    site::{Site, now, until, versions},
};

/// How long a law waits for something to become so.
const LIMIT: Duration = Duration::from_secs(25);

/// Keeps all laws in all versions, and names those that were broken.
pub(crate) fn keep_all(site: &mut Site, laws: &[Law]) -> (usize, Vec<String>) {
    let (mut kept, mut broken) = (0, vec![]);
    for version in versions(site.release) {
        site.version = version;
        for law in laws.iter().filter(|law| applies(law, site)) {
            match keep(site, law) {
                Ok(()) => kept += 1,
                Err(why) => {
                    broken.push(format!("{} {version}: {}\n    {why}", site.release, law.name));
                }
            }
        }
    }
    (kept, broken)
}

/// Whether a law is about this release and this version. What takes long is tried in one version.
fn applies(law: &Law, site: &Site) -> bool {
    let number = |version: &str| version.trim_start_matches("v0.0.").parse::<u32>().unwrap();
    let here = number(site.version);
    law.only.iter().all(|word| match word.as_str() {
        "slow" => versions(site.release).last() == Some(&site.version),
        "24.11" | "26.05" => word == site.release.as_str(),
        "real" => site.is_real(),
        version => {
            let (at_least, at_most) = match version.trim_start_matches('v').split_once('-') {
                Some((first, last)) => (first, last),
                None if version.ends_with('+') => (version.trim_matches(['v', '+']), "99"),
                None => (version.trim_start_matches('v'), version.trim_start_matches('v')),
            };
            (at_least.parse().unwrap()..=at_most.parse().unwrap()).contains(&here)
        }
    })
}

fn keep(site: &Site, law: &Law) -> Result<(), String> {
    let mut names = site.names();
    let done = law.steps.iter().try_for_each(|step| {
        let limit = if step.until { LIMIT } else { Duration::ZERO };
        let took = until(limit, || take(site, step, &mut names));
        took.map_err(|why| format!("{}\n    {why}", step.text))
    });
    // Nobody else's law is to wait for this one's jobs.
    for id in names.get("jobs").map_or("", String::as_str).split_whitespace() {
        site.call("root", "DELETE", &format!("job/{id}"), None);
    }
    done
}

fn take(site: &Site, step: &Step, names: &mut BTreeMap<String, String>) -> Result<(), String> {
    names.insert("NOW".into(), now().to_string());
    let (path, body) = (fill(&step.path, names), step.body.as_ref().map(|body| fill(body, names)));
    let answer = match step.verb.as_str() {
        "pause" => {
            thread::sleep(Duration::from_secs_f64(path.parse().unwrap()));
            return Ok(());
        }
        "submit" => {
            let job: Value = serde_json::from_str(body.as_deref().unwrap_or("{}"))
                .unwrap_or_else(|error| panic!("{}: {error}", step.text));
            site.call(&step.user, "POST", &path, Some(&submission(&job).to_string()))
        }
        method => site.call(&step.user, method, &path, body.as_deref()),
    };
    let value = answer.value();
    if let Some(id) = value["job_id"].as_u64() {
        names.insert("job".into(), id.to_string());
        names.entry("jobs".into()).or_default().push_str(&format!(" {id}"));
    }
    for expected in &step.expected {
        let met = check(site, expected, &answer, &value, names);
        met.map_err(|why| format!("{why}\n    in {} {}", answer.status, brief(&value)))?;
    }
    Ok(())
}

/// A job with what every job needs; `null` takes that away again.
fn submission(job: &Value) -> Value {
    let mut all = json!({
        "name": "law",
        "current_working_directory": "/tmp",
        "environment": ["PATH=/usr/bin:/bin"],
        "standard_output": "/dev/null",
        "standard_error": "/dev/null",
        "partition": "main",
        "tasks": 1,
        "time_limit": { "set": true, "number": 30 },
        "memory_per_node": { "set": true, "number": 100 },
    });
    let mut script = json!("#!/bin/bash\nsleep 1000\n");
    for (key, value) in job.as_object().unwrap() {
        match key.as_str() {
            "script" => script = value.clone(),
            _others => all[key] = value.clone(),
        }
    }
    if let Some(map) = all.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    json!({ "script": script, "job": all })
}

fn fill(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    // The longest first: $job is no beginning of $jobs.
    let mut all: Vec<_> = names.iter().collect();
    all.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in all {
        text = text.replace(&format!("${name}"), value);
    }
    text
}

fn check(
    site: &Site,
    expected: &Expected,
    answer: &Answer,
    value: &Value,
    names: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let at = |pointer: &str| at(value, pointer);
    match expected {
        Expected::Status(old, new) => same(&answer.status, &site.pick(*old, *new), "status"),
        Expected::Errors(numbers) => {
            let found: Vec<i64> =
                list(value, "errors").map(|it| it["error_number"].as_i64().unwrap()).collect();
            same(&found, numbers, "errors")
        }
        Expected::Warnings(count) => same(&list(value, "warnings").count(), count, "warnings"),
        Expected::Is(pointer, wanted) => {
            let wanted = fill(wanted, names);
            let wanted: Value = serde_json::from_str(&wanted).unwrap_or(Value::String(wanted));
            same(&at(pointer), &wanted, pointer)
        }
        Expected::IsNot(pointer, other) => {
            let other: Value = serde_json::from_str(&fill(other, names)).unwrap();
            match at(pointer) == other {
                true => Err(format!("{pointer} is {other}")),
                false => Ok(()),
            }
        }
        Expected::Has(pointer, part) => {
            let (found, part) = (at(pointer).to_string(), fill(part, names));
            let part = part.trim_matches('"');
            found.contains(part).then_some(()).ok_or(format!("{pointer} is {found} without {part}"))
        }
        Expected::Absent(pointer) => match value.pointer(pointer) {
            None => Ok(()),
            Some(found) => Err(format!("{pointer} is {found}")),
        },
        Expected::Count(pointer, count) => {
            let found = at(pointer);
            same(&found.as_array().map_or(0, Vec::len), count, pointer)
        }
        Expected::Header(name, wanted) => {
            same(&answer.header(name).unwrap_or_default(), &wanted.as_str(), name)
        }
        Expected::Name(name, pointer) => {
            let found = at(pointer);
            let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            names.insert(name.clone(), text);
            Ok(())
        }
    }
}

/// What is there; a number without its flags, `.` for all of it.
fn at(value: &Value, pointer: &str) -> Value {
    let found = match pointer {
        "." => value.clone(),
        _ => value.pointer(pointer).cloned().unwrap_or_default(),
    };
    match (found.get("set"), found.get("infinite"), found.get("number")) {
        (Some(Value::Bool(true)), _, Some(number)) => number.clone(),
        (_, Some(Value::Bool(true)), Some(_)) => "infinite".into(),
        (Some(Value::Bool(false)), _, Some(_)) => Value::Null,
        _ => found,
    }
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T, what: &str) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, not {wanted:?}")),
    }
}

fn brief(value: &Value) -> String {
    let mut value = value.clone();
    if let Some(map) = value.as_object_mut() {
        map.remove("meta");
    }
    let text = value.to_string();
    text.chars().take(500).collect()
}

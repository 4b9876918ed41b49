//! The shape of a JSON document: its paths and their types, with list positions left out.

use std::collections::BTreeSet;

use serde_json::Value;

/// Lines such as `jobs[].job_id: integer`.
pub(crate) fn shape(value: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    walk("", value, &mut lines);
    lines
}

fn walk(path: &str, value: &Value, lines: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(items) => {
            for item in items {
                walk(&format!("{path}[]"), item, lines);
            }
            "list"
        }
        Value::Object(map) => {
            for (key, value) in map {
                let dot = if path.is_empty() { "" } else { "." };
                walk(&format!("{path}{dot}{key}"), value, lines);
            }
            "object"
        }
    };
    lines.insert(format!("{path}: {kind}"));
}

/// What the recording has and we don't (`-`), and the other way round (`+`); of a whole branch only
/// its root.
pub(crate) fn differences(recorded: &Value, ours: &Value) -> Vec<String> {
    let (recorded, ours) = (shape(recorded), shape(ours));
    let missing: BTreeSet<&String> = recorded.difference(&ours).collect();
    let more: BTreeSet<&String> = ours.difference(&recorded).collect();
    let missing = roots(&missing).map(|line| format!("- {line}"));
    let more = roots(&more).map(|line| format!("+ {line}"));
    missing.chain(more).collect()
}

fn roots(lines: &BTreeSet<&String>) -> impl Iterator<Item = String> {
    let paths: BTreeSet<&str> = lines.iter().map(|line| path(line)).collect();
    let is_root = |line: &&&String| {
        let mut cuts = path(line).match_indices(['.', '[']);
        !cuts.any(|(at, _)| paths.contains(&line[..at]))
    };
    let roots: Vec<String> = lines.iter().filter(is_root).map(ToString::to_string).collect();
    roots.into_iter()
}

fn path(line: &str) -> &str {
    line.rsplit_once(": ").unwrap().0
}

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
                walk(&child(path, key), value, lines);
            }
            "object"
        }
    };
    lines.insert(format!("{path}: {kind}"));
}

fn child(path: &str, key: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{key}")
}

/// The lines of a tree as `condense.py` writes it: `{jobs:[{job_id:i}],meta:z|{}}`.
pub(crate) fn read_tree(text: &str) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let rest = read_node(text, "", &mut lines);
    assert_eq!(rest, "", "a tree ends where its text ends");
    lines
}

fn read_node<'a>(mut text: &'a str, path: &str, lines: &mut BTreeSet<String>) -> &'a str {
    loop {
        let (kind, rest) = match text.as_bytes().first() {
            Some(b'[') => ("list", read_list(&text[1..], path, lines)),
            Some(b'{') => ("object", read_object(&text[1..], path, lines)),
            Some(letter) => (scalar(*letter), &text[1..]),
            None => panic!("a tree is cut off"),
        };
        lines.insert(format!("{path}: {kind}"));
        match rest.strip_prefix('|') {
            Some(more) => text = more,
            None => return rest,
        }
    }
}

fn read_list<'a>(text: &'a str, path: &str, lines: &mut BTreeSet<String>) -> &'a str {
    match text.strip_prefix(']') {
        Some(rest) => rest,
        None => read_node(text, &format!("{path}[]"), lines).strip_prefix(']').unwrap(),
    }
}

fn read_object<'a>(mut text: &'a str, path: &str, lines: &mut BTreeSet<String>) -> &'a str {
    while !text.starts_with('}') {
        let (key, rest) = text.trim_start_matches(',').split_once(':').unwrap();
        text = read_node(rest, &child(path, key), lines);
    }
    &text[1..]
}

fn scalar(letter: u8) -> &'static str {
    match letter {
        b's' => "string",
        b'i' => "integer",
        b'n' => "number",
        b'b' => "boolean",
        b'z' => "null",
        other => panic!("no type {other}"),
    }
}

/// What the recording has and we don't (`-`), and the other way round (`+`); of a whole branch only
/// its root.
pub(crate) fn differences(recorded: &BTreeSet<String>, ours: &BTreeSet<String>) -> Vec<String> {
    let missing: BTreeSet<&String> = recorded.difference(ours).collect();
    let more: BTreeSet<&String> = ours.difference(recorded).collect();
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

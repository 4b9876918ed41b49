//! What is always true of YAML and its places, whatever the text.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use drawbridge_bridge::{
    config, journal,
    yaml::{self, Locator, YamlError, path},
};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

/// A file of the kind that people write, to be mutilated.
const FILE: &str = "\
# a comment
why: |
  two lines
    of text
slurm: {conf: \"NodeName=a\", release: '24.11'}
steps:
- at: 5s
  sbatch: -N2 --exclusive
- at: &later 6s
  apply:
    labels: {a.b/c: x, <<: *defaults}
---
folded: >-
  a
  b
? [complex]
: key
...
";

/// Pieces that mean something to YAML.
const PIECES: [&str; 24] = [
    "\t",
    "\n",
    "\r\n",
    "  ",
    "- ",
    ": ",
    "? ",
    "|",
    ">",
    "|2-",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "&a ",
    "*a",
    "!t ",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "\u{feff}",
    "\u{2028}é",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "why")]
    _why: String,
    #[serde(rename = "slurm", default)]
    _slurm: BTreeMap<String, String>,
    #[serde(rename = "steps", default)]
    _steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(rename = "at")]
    _at: String,
    #[serde(flatten)]
    _rest: BTreeMap<String, Value>,
}

/// A place is in the text, or just behind its end.
fn in_text(text: &str, (line, column): (usize, usize)) -> bool {
    let lines =
        text.split('\n').count() + text.matches(['\r', '\u{2028}', '\u{2029}', '\u{85}']).count();
    (1..=lines + 1).contains(&line) && (1..=text.chars().count() + 2).contains(&column)
}

fn try_everything(text: &str) -> Result<(), TestCaseError> {
    let check = |error: &YamlError| -> Result<(), TestCaseError> {
        prop_assert!(in_text(text, (error.line, error.column)), "{error:?} in {text:?}");
        prop_assert!(!error.what.is_empty());
        Ok(())
    };
    if let Err(error) = yaml::parse::<File>(text) {
        check(&error)?;
    }
    if let Err(error) = yaml::parse::<Value>(text) {
        check(&error)?;
    }
    if let Err(error) = config::parse(text) {
        check(&error)?;
    }
    match yaml::documents(text) {
        Err(error) => check(&error)?,
        Ok(documents) => {
            for document in &documents {
                prop_assert!(in_text(text, document.locator.nearest("steps[1].at")));
            }
        }
    }
    let locator = Locator::new(text);
    for path in ["", "why", "steps[0].at", "slurm.conf"] {
        prop_assert!(in_text(text, locator.nearest(path)), "{path} in {text:?}");
    }
    Ok(())
}

fn mutilated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..8usize, prop::sample::select(&PIECES[..]));
    prop::collection::vec(change, 1..6).prop_map(|changes| {
        let mut letters: Vec<char> = FILE.chars().collect();
        for (at, cut, piece) in changes {
            let at = at.index(letters.len() + 1).min(letters.len());
            let end = (at + cut).min(letters.len());
            letters.splice(at..end, piece.chars());
        }
        letters.into_iter().collect()
    })
}

/// Data whose YAML has every kind of node.
fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a-zA-Z0-9 .:#'\"\n-]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z./\\[\"]{1,8}", inner, 1..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every path of the data.
fn paths(at: &str, value: &Value, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| paths(&path::key(at, key), value, found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| paths(&path::index(at, i), value, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The letter of a file at a line and column.
fn letter(text: &str, (line, column): (usize, usize)) -> Option<char> {
    text.split('\n').nth(line - 1)?.chars().nth(column - 1)
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_everything(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn no_mutilated_file_makes_it_panic(text in mutilated()) {
        try_everything(&text)?;
    }

    #[test]
    fn no_heap_of_pieces_makes_it_panic(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        try_everything(&pieces.concat())?;
    }

    #[test]
    fn every_part_of_a_valid_file_has_a_place(data in data()) {
        let text = serde_saphyr::to_string(&data).unwrap();
        let (locator, mut found) = (Locator::new(&text), Vec::new());
        paths("", &data, &mut found);
        for path in found {
            let place = locator.locate(&path);
            prop_assert!(place.is_some_and(|place| in_text(&text, place)), "{path} in\n{text}");
        }
    }

    #[test]
    fn each_letter_of_a_block_is_found_in_the_file(
        lines in prop::collection::vec("[ a-z=#é]{0,12}", 1..6),
        indent in 1..5usize,
        before in 0..3usize,
    ) {
        let block: String = lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect();
        let text = format!("{}outer:\n- conf: |{}\n{block}  after: x\n", "# c\n".repeat(before), indent);
        // The block's own indentation counts from its parent, which stands at column 3.
        let text = text.replace(&block, &block.lines().map(|line| format!("  {line}\n")).collect::<String>());
        let value: Value = yaml::parse(&text).unwrap();
        let conf = value["outer"][0]["conf"].as_str().unwrap();
        let locator = Locator::new(&text);
        for (l, line) in conf.lines().enumerate() {
            for (c, inner) in line.chars().enumerate() {
                let outer = locator.inside("outer[0].conf", l + 1, c + 1);
                prop_assert_eq!(letter(&text, outer), Some(inner), "{}:{} of\n{}", l + 1, c + 1, text);
            }
        }
    }

    #[test]
    fn each_letter_of_a_quoted_text_is_found_in_the_file(line in "[ a-zA-Z0-9=:#{}é-]{1,20}") {
        for text in [format!("a:\n  b: \"{line}\"\n"), format!("a: {{b: '{line}'}}")] {
            let locator = Locator::new(&text);
            for (c, inner) in line.chars().enumerate() {
                let outer = locator.inside("a.b", 1, c + 1);
                prop_assert_eq!(letter(&text, outer), Some(inner));
            }
        }
    }

    #[test]
    fn a_journal_of_any_bytes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(lines) = journal::read(&bytes) {
            prop_assert!(lines.whole_bytes <= bytes.len());
        }
    }
}

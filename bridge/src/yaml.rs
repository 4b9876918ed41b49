//! YAML with places: every value and every mistake has a line and a column.
//!
//! ```text
//!             ┌─ parse::<T> ──▶ T, or a YamlError (line, column, what, hint)
//!   text ─────┼─ documents ───▶ one Document (value + locator) per `---` part
//!             └─ Locator ─────▶ "steps[3].sbatch" ─▶ (line, column)
//! ```
//!
//! [`parse`] finds what is wrong with the form. Whoever checks the meaning afterwards asks a
//! [`Locator`] for the place, also inside a text that the file embeds, such as a `slurm.conf`.
//!
//! Lines and columns count from 1, columns in characters.

mod explain;
mod locator;
pub mod path;
mod tree;

use granit_parser::{Event, Parser};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use explain::closest;
pub use locator::Locator;

/// What is said about a text of nothing but blanks and comments.
pub(crate) const EMPTY: &str = "the file is empty";

/// What is wrong with a YAML text, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct YamlError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right, where that is known.
    pub hint: Option<String>,
}

impl YamlError {
    /// A mistake at a place that a [`Locator`] gave.
    pub fn at((line, column): (usize, usize), what: impl Into<String>) -> Self {
        let what = what.into();
        Self { line, column, what, hint: None }
    }

    /// The same mistake, with what would be right.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What would be right, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// One part of a file between `---` lines, as plain data.
#[derive(Clone, Debug)]
pub struct Document {
    /// The data.
    pub value: Value,
    /// Where each part of it is, by lines of the whole file.
    pub locator: Locator,
}

/// Reads a text of one document.
///
/// `yes` and `on` are texts here, not truth values, and a key may be given only once.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    if is_blank(text) {
        return Err(YamlError::at((1, 1), EMPTY).with_hint("write `key: value` lines"));
    }
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| explain::explain(&error, text))
}

/// Reads a text of any number of documents, such as a file of Kubernetes manifests.
///
/// Empty documents are left out. Values read as `kubectl` reads them: `yes` is true, `0644` is 420.
pub fn documents(text: &str) -> Result<Vec<Document>, YamlError> {
    let mut documents = Vec::new();
    for part in split(text)? {
        let value = manifest(part.text).map_err(|error| part.outer(error))?;
        if !value.is_null() {
            let locator = Locator::new(part.text).below(part.first_line);
            documents.push(Document { value, locator });
        }
    }
    Ok(documents)
}

fn manifest(text: &str) -> Result<Value, YamlError> {
    let options = serde_saphyr::options! { with_snippet: false, legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| explain::explain(&error, text))
}

fn is_blank(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#'))
}

/// One document's text and where it begins.
struct Part<'a> {
    text: &'a str,
    first_line: usize,
}

impl Part<'_> {
    fn outer(&self, error: YamlError) -> YamlError {
        YamlError { line: error.line + self.first_line - 1, ..error }
    }
}

/// Cuts where the parser says that a document ends: a `---` inside a block of text is no cut.
fn split(text: &str) -> Result<Vec<Part<'_>>, YamlError> {
    let (mut parts, mut begin, mut first_line) = (Vec::new(), 0, 1);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| explain::syntax(&error, text))?;
        if matches!(event, Event::DocumentEnd) {
            let end = span.end.byte_offset().unwrap_or(text.len());
            let part = text.get(begin..end).unwrap_or_default();
            parts.push(Part { text: part, first_line });
            (begin, first_line) = (end, span.end.line());
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Site {
        #[serde(rename = "partition")]
        _partition: String,
        #[serde(default)]
        #[serde(rename = "nodes")]
        _nodes: Vec<Machine>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Machine {
        #[serde(rename = "cpus")]
        _cpus: u32,
        #[serde(default)]
        #[serde(rename = "shape")]
        _shape: Option<Shape>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Shape {
        Small,
        Large,
        Custom {
            #[serde(rename = "slots")]
            _slots: Even,
        },
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "u32")]
    struct Even;

    impl TryFrom<u32> for Even {
        type Error = String;

        fn try_from(number: u32) -> Result<Self, String> {
            number.is_multiple_of(2).then_some(Self).ok_or(format!("{number} is odd"))
        }
    }

    fn complaint(text: &str) -> String {
        let error = parse::<Site>(text).unwrap_err();
        let hint = error.hint().map(|hint| format!(" ({hint})"));
        format!("{error}{}", hint.unwrap_or_default())
    }

    #[test]
    fn every_mistake_has_a_place_and_says_what_would_be_right() {
        let table = [
            "partitoin: a",
            "partition: a\nnodes:\n- cpus: 1\n- cpu: 2",
            "nodes: []",
            "partition: a\nnodes:\n- {}",
            "partition: a\nnodes:\n- cpus: many",
            "partition: a\nnodes:\n- cpus: -1",
            "partition: a\nnodes:\n- cpus: 1\n  shape: smal",
            "partition: a\nnodes:\n- cpus: 1\n  shape:\n    costum: {}",
            "partition: a\nnodes:\n- cpus: 1\n  shape:\n    custom: {slots: 3}",
            "partition: a\nnodes:\n- cpus: 1\n  shape:\n    custom: {slots: 2}\n    small:",
            "partition: a\nnodes: 3",
            "partition: [a]",
            "partition:",
            "partition: a\n\n# again\npartition: b",
            "",
            "# nothing but a comment\n",
            "- a",
            "partition: a\nnodes:\n\t- cpus: 1",
            "partition: a\n---\npartition: b",
            "partition: 'a",
            "partition: *a",
            "partition: a\nnodes: [",
        ];
        let lines: Vec<String> = table.iter().map(|text| complaint(text)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        1:1: unknown key `partitoin` (did you mean `partition`? allowed here: partition, nodes)
        4:3: unknown key `cpu` in `nodes[1]` (did you mean `cpus`? allowed here: cpus, shape)
        1:1: missing key `partition` (add `partition:`)
        3:3: missing key `cpus` in `nodes[0]` (add `cpus:`)
        3:9: expected a whole number, 0 or more, found `many` (write the number alone, such as `3`)
        3:9: expected a whole number, 0 or more, found `-1` (write the number alone, such as `3`)
        4:10: unknown value `smal` (did you mean `small`? allowed here: small, large, custom)
        5:5: unknown key `costum` in `nodes[0].shape` (did you mean `custom`? allowed here: small, large, custom)
        5:21: 3 is odd
        6:5: one key too many in `nodes[0].shape` (exactly one key is expected here)
        2:8: expected a list, found `3` (write each item on a line after `- `, or all in brackets: `[a, b]`)
        1:12: expected a text, found a list (write one text; quotes make a text of anything)
        1:10: expected a text, found nothing (write "" for an empty text)
        4:1: the key `partition` is given twice (keep one of the two)
        1:1: the file is empty (write `key: value` lines)
        1:1: the file is empty (write `key: value` lines)
        1:1: expected a mapping (`key: value`), found a list (write `key: value` lines, or all in braces: `{key: value}`)
        3:1: a tab in the indentation (YAML indents with spaces only)
        3:1: a second document begins here (one document is expected: remove the line `---` and what follows)
        1:12: unclosed quote
        1:12: this alias names an anchor that isn't defined above it (put the text in quotes if `*` is meant as a letter)
        2:8: unclosed bracket '['
        "#);
    }

    #[test]
    fn documents_are_cut_at_the_dashes_and_keep_the_lines_of_the_file() {
        let text = "a: 1\n---\n# nothing\n---\nb:\n- |\n  ---\n  x\n---\nc: 0644\n";
        let documents = documents(text).unwrap();
        let values: Vec<String> = documents.iter().map(|d| d.value.to_string()).collect();
        assert_eq!(values, [r#"{"a":1}"#, r#"{"b":["---\nx\n"]}"#, r#"{"c":420}"#]);
        assert_eq!(documents[1].locator.locate_key("b"), Some((5, 1)));
        assert_eq!(documents[2].locator.locate("c"), Some((10, 4)));
    }

    #[test]
    fn a_mistake_in_a_later_document_has_the_lines_of_the_file() {
        let error = documents("a: 1\n---\nb: 1\nb: 2\n").unwrap_err();
        assert_eq!((error.line, error.column), (4, 1));
        let error = documents("a: 1\n---\nb: [\n").unwrap_err();
        assert!(error.line >= 3, "{error}");
    }
}

//! Says in the file's own terms what the parser complained about.

use granit_parser::ScanError;
use serde_saphyr::Error;

use super::{
    Locator, YamlError, path,
    tree::{Hit, Kind},
};

/// How many letters two words may differ by and still be taken for each other.
const CLOSE: usize = 3;

const NOT_NEGATIVE: &str = "a whole number, 0 or more";
const MAPPING: &str = "a mapping (`key: value`)";

/// A mistake of syntax.
pub(super) fn syntax(error: &ScanError, text: &str) -> YamlError {
    let place = (error.marker().line().max(1), error.marker().col() + 1);
    let limit = || limit(&error.info(), place);
    tab(text, place.0).or_else(limit).unwrap_or_else(|| YamlError::at(place, error.info()))
}

/// A mistake of syntax or of form.
pub(super) fn explain(error: &Error, text: &str) -> YamlError {
    let error = innermost(error);
    let found = Found::new(error, text);
    form(error, &found).or_else(|| tab(text, found.place.0)).unwrap_or_else(|| {
        let whole = error.to_string();
        let what = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(what, _)| what);
        limit(what, found.place).unwrap_or_else(|| YamlError::at(found.place, what))
    })
}

/// The parser's own limits keep a file from filling the memory; it tells them by text only.
fn limit(what: &str, place: (usize, usize)) -> Option<YamlError> {
    let what = what.to_lowercase();
    if what.contains("recursion limit") || what.contains("depth") {
        let error = YamlError::at(place, "the file is nested too deeply");
        return Some(error.with_hint("no key of ours is so deep: is a bracket or brace missing?"));
    }
    what.contains("budget").then(|| {
        YamlError::at(place, "the file is too large")
            .with_hint("divide it: manifests may stand in files of their own")
    })
}

fn innermost(error: &Error) -> &Error {
    let error = error.without_snippet();
    if let Error::AliasError { error, .. } = error { innermost(error) } else { error }
}

/// What stands where the parser stopped.
struct Found {
    place: (usize, usize),
    hits: Vec<Hit>,
}

impl Found {
    fn new(error: &Error, text: &str) -> Self {
        let place = error.location();
        let place = place.map_or((1, 1), |at| (number(at.line()), number(at.column())));
        let hits = Locator::new(text).at(place);
        Self { place, hits }
    }

    fn error(&self, what: impl Into<String>) -> YamlError {
        YamlError::at(self.place, what)
    }

    /// `` in `nodes[1]` ``: the innermost mapping that begins here, or holds the key here.
    fn within(&self) -> String {
        let holder = self.hits.iter().rev().find_map(|hit| match hit.kind {
            None => Some(path::parent(&hit.path)),
            Some(Kind::Mapping) => Some(hit.path.clone()),
            Some(Kind::Scalar(_) | Kind::List | Kind::Alias) => None,
        });
        match holder {
            None => String::new(),
            Some(path) if path.is_empty() => String::new(),
            Some(path) => format!(" in `{path}`"),
        }
    }

    /// What an unknown word is: a mapping's key, or a value.
    fn word(&self) -> &'static str {
        match self.hits.iter().any(|hit| hit.kind.is_none()) {
            true => "key",
            false => "value",
        }
    }

    /// ``found `x` ``: the outermost value that begins here.
    fn value(&self) -> String {
        match self.hits.iter().find_map(|hit| hit.kind.as_ref()) {
            Some(Kind::Scalar(text)) if text.is_empty() || text == "~" => {
                "found nothing".to_owned()
            }
            Some(Kind::Scalar(text)) => format!("found `{text}`"),
            Some(Kind::Mapping) => "found a mapping".to_owned(),
            Some(Kind::List) => "found a list".to_owned(),
            Some(Kind::Alias) | None => "found something else".to_owned(),
        }
    }
}

fn number(from: u64) -> usize {
    usize::try_from(from).unwrap_or(1).max(1)
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enum is open; the rest speaks for itself"
)]
fn form(error: &Error, found: &Found) -> Option<YamlError> {
    let said = match error {
        Error::SerdeUnknownField { field, expected, .. } => found
            .error(format!("unknown key `{field}`{}", found.within()))
            .with_hint(choice(field, expected)),
        Error::SerdeUnknownVariant { variant, expected, .. } => found
            .error(format!("unknown {} `{variant}`{}", found.word(), found.within()))
            .with_hint(choice(variant, expected)),
        Error::SerdeMissingField { field, .. } => missing(field, found),
        Error::DuplicateMappingKey { key, .. } => duplicate(key.as_deref(), found),
        Error::InvalidScalar { ty, .. } => number_expected(ty, found),
        Error::Unexpected { expected: what, .. } => expected(shape(what), found),
        Error::InvalidBooleanStrict { .. } => expected("`true` or `false`", found),
        Error::NullIntoString { .. } => {
            found.error("expected a text, found nothing").with_hint("write \"\" for an empty text")
        }
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            found.error(format!("expected {expected}, found {unexpected}"))
        }
        Error::MultipleDocuments { .. } => found
            .error("a second document begins here")
            .with_hint("one document is expected: remove the line `---` and what follows"),
        Error::UnknownAnchor { .. } => found
            .error("this alias names an anchor that isn't defined above it")
            .with_hint("put the text in quotes if `*` is meant as a letter"),
        Error::ExpectedMappingEndAfterEnumVariantValue { .. } => found
            .error(format!("one key too many{}", found.within()))
            .with_hint("exactly one key is expected here"),
        Error::Message { msg, .. } => found.error(msg.as_str()),
        _ => return None,
    };
    Some(said)
}

fn missing(field: &str, found: &Found) -> YamlError {
    found
        .error(format!("missing key `{field}`{}", found.within()))
        .with_hint(format!("add `{field}:`"))
}

fn duplicate(key: Option<&str>, found: &Found) -> YamlError {
    found
        .error(format!("the key `{}` is given twice", key.unwrap_or("?")))
        .with_hint("keep one of the two")
}

fn expected(what: &str, found: &Found) -> YamlError {
    found.error(format!("expected {what}, {}", found.value())).with_hint(how_to_write(what))
}

/// What a value of the expected form looks like.
fn how_to_write(what: &str) -> &'static str {
    match what {
        "a list" => "write each item on a line after `- `, or all in brackets: `[a, b]`",
        MAPPING => "write `key: value` lines, or all in braces: `{key: value}`",
        "a text" => "write one text; quotes make a text of anything",
        "a number" | "a whole number" | NOT_NEGATIVE => "write the number alone, such as `3`",
        "`true` or `false`" => "write one of the two, without quotes",
        _ => "write it in this form",
    }
}

/// A number is out of its type's range, or something else stands there.
fn number_expected(ty: &str, found: &Found) -> YamlError {
    let text = found.hits.iter().find_map(|hit| match &hit.kind {
        Some(Kind::Scalar(text)) => Some(text.as_str()),
        Some(Kind::Mapping | Kind::List | Kind::Alias) | None => None,
    });
    let digits = |text: &&str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    match (text.filter(digits), largest(ty)) {
        (Some(text), Some(most)) => {
            found.error(format!("{text} is too large")).with_hint(format!("write at most {most}"))
        }
        (None, _) | (_, None) => expected(scalar_type(ty), found),
    }
}

fn largest(ty: &str) -> Option<u64> {
    match ty {
        "u8" => Some(u64::from(u8::MAX)),
        "u16" => Some(u64::from(u16::MAX)),
        "u32" => Some(u64::from(u32::MAX)),
        "u64" | "usize" => Some(u64::MAX),
        "i32" => Some(u64::from(i32::MAX.unsigned_abs())),
        "i64" => Some(i64::MAX.unsigned_abs()),
        _ => None,
    }
}

fn scalar_type(ty: &str) -> &str {
    match ty {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => NOT_NEGATIVE,
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "bool" => "`true` or `false`",
        other => other,
    }
}

fn shape(what: &str) -> &str {
    match what {
        "sequence start" => "a list",
        "mapping start" => MAPPING,
        "string scalar" => "a text",
        other => other,
    }
}

/// ``did you mean `x`? allowed here: x, y``.
fn choice(word: &str, allowed: &[&str]) -> String {
    let list = format!("allowed here: {}", allowed.join(", "));
    match closest(word, allowed) {
        Some(close) => format!("did you mean `{close}`? {list}"),
        None => list,
    }
}

/// The allowed word that `word` most likely stands for, if any is near enough.
pub fn closest<'a>(word: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let distance =
        |other: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &other.to_lowercase());
    let best = allowed.iter().copied().min_by_key(|other| distance(other))?;
    let limit = CLOSE.min(word.chars().count().max(best.chars().count()) / 2);
    (distance(best) <= limit).then_some(best)
}

/// Tabs can't indent, and the parser notices them late: look for one near where it stopped.
fn tab(text: &str, from: usize) -> Option<YamlError> {
    let mut lines = text.lines().enumerate().skip(from.saturating_sub(1)).take(2);
    let (at, line) = lines.find(|(_, line)| indentation(line).contains('\t'))?;
    let column = indentation(line).chars().take_while(|&letter| letter != '\t').count();
    let error = YamlError::at((at + 1, column + 1), "a tab in the indentation");
    Some(error.with_hint("YAML indents with spaces only"))
}

fn indentation(line: &str) -> &str {
    let content = line.trim_start_matches([' ', '\t']);
    &line[..line.len() - content.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_meant_and_a_far_one_is_not() {
        let allowed = ["partition", "nodes", "at"];
        let table = [
            ("partitoin", Some("partition")),
            ("Partition", Some("partition")),
            ("node", Some("nodes")),
            ("ta", Some("at")),
            ("x", None),
            ("completely", None),
        ];
        for (word, meant) in table {
            assert_eq!(closest(word, &allowed), meant, "{word}");
        }
    }
}

//! The columns that a definition prints, and the paths that lead to their cells.
//!
//! `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a/b']`, `.spec.hosts[*]`.

use serde_json::Value;

use crate::kube::object::{items, text};

/// A column that is printed.
pub(crate) struct Printed {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    path: Vec<Step>,
}

impl Printed {
    /// All columns of a version.
    pub(super) fn all(version: &Value) -> Vec<Self> {
        let given = items(version, &["additionalPrinterColumns"]);
        let mut columns = vec![Self::named("Name", "string", ".metadata.name")];
        columns.extend(given.iter().map(Self::of));
        if given.is_empty() {
            columns.push(Self::named("Age", "date", ".metadata.creationTimestamp"));
        }
        columns
    }

    fn of(column: &Value) -> Self {
        let word = |key: &str| text(column, &[key]).to_owned();
        Self {
            name: word("name"),
            kind: word("type"),
            format: word("format"),
            description: match word("description") {
                given if given.is_empty() => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    word("jsonPath")
                ),
                given => given,
            },
            priority: column["priority"].as_i64().unwrap_or(0),
            path: steps(text(column, &["jsonPath"])).unwrap_or_default(),
        }
    }

    /// What an object has in this column: nothing, one value or several.
    pub(crate) fn values<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![object];
        for step in &self.path {
            found = found.into_iter().flat_map(|value| step.take(value)).collect();
        }
        found.retain(|value| !value.is_null());
        found
    }

    fn named(name: &str, kind: &str, path: &str) -> Self {
        let description = match name {
            "Name" => super::meta_description("name"),
            _ => super::meta_description("creationTimestamp"),
        };
        Self {
            name: name.into(),
            kind: kind.into(),
            format: if name == "Name" { "name".into() } else { String::new() },
            description: description.to_owned(),
            priority: 0,
            path: steps(path).unwrap_or_default(),
        }
    }
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Place(i64),
    All,
    /// Those whose inner path is, isn't, or equals something.
    Where(Vec<Step>, Option<(bool, Value)>),
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), value) => value.get(name).into_iter().collect(),
            (Self::Place(at), Value::Array(list)) => {
                let place = match usize::try_from(*at) {
                    Ok(place) => Some(place),
                    Err(_) => {
                        list.len().checked_sub(usize::try_from(at.unsigned_abs()).unwrap_or(0))
                    }
                };
                place.and_then(|place| list.get(place)).into_iter().collect()
            }
            (Self::All, Value::Array(list)) => list.iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::Where(path, wanted), Value::Array(list)) => {
                list.iter().filter(|item| holds(path, wanted.as_ref(), item)).collect()
            }
            _ => vec![],
        }
    }
}

fn holds(path: &[Step], wanted: Option<&(bool, Value)>, item: &Value) -> bool {
    let mut found = vec![item];
    for step in path {
        found = found.into_iter().flat_map(|value| step.take(value)).collect();
    }
    match wanted {
        None => !found.is_empty(),
        Some((equal, wanted)) => found.iter().any(|value| (*value == wanted) == *equal),
    }
}

/// A path, taken apart; or what about it isn't modelled.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    steps(path).map(drop)
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut rest = path;
    let mut all = vec![];
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[") {
            let close = closing(after).ok_or_else(|| format!("`{path}`: a bracket has no end"))?;
            all.push(bracket(&after[..close], path)?);
            rest = &after[close + 1..];
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            if after.starts_with('.') {
                return Err(format!("`{path}`: searching with `..` is not modelled"));
            }
            let (name, left) = name(after);
            match name.as_str() {
                "" if left.len() == rest.len() => return Err(format!("`{path}` is no path")),
                "" => {}
                "*" => all.push(Step::All),
                _ => all.push(Step::Field(name)),
            }
            rest = left;
        }
    }
    Ok(all)
}

/// A name up to the next dot or bracket; `\.` is a dot in it.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(letter),
        }
    }
    (name, "")
}

/// Where a bracket closes, outside quotes and other brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None | Some(_), _) => {}
        }
    }
    None
}

fn bracket(inside: &str, path: &str) -> Result<Step, String> {
    let inside = inside.trim();
    if inside == "*" {
        return Ok(Step::All);
    }
    if let Ok(place) = inside.parse() {
        return Ok(Step::Place(place));
    }
    if let Some(name) = unquoted(inside) {
        return Ok(Step::Field(name.replace("\\.", ".")));
    }
    let test = inside.strip_prefix("?(").and_then(|it| it.strip_suffix(')'));
    let Some(test) = test.and_then(|it| it.trim().strip_prefix('@')) else {
        return Err(format!("`{path}`: `[{inside}]` is not modelled"));
    };
    for (sign, equal) in [("==", true), ("!=", false)] {
        if let Some((left, right)) = test.split_once(sign) {
            let right = right.trim();
            let wanted = match unquoted(right) {
                Some(text) => Value::String(text.to_owned()),
                None => serde_json::from_str(right)
                    .map_err(|_| format!("`{path}`: `{right}` is neither a text nor a number"))?,
            };
            return Ok(Step::Where(steps(left.trim())?, Some((equal, wanted))));
        }
    }
    match test.contains(['<', '>', '~', '&', '|']) {
        true => Err(format!("`{path}`: `{test}` is not modelled")),
        false => Ok(Step::Where(steps(test.trim())?, None)),
    }
}

fn unquoted(text: &str) -> Option<&str> {
    let inside = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_where_kubectl_looks() {
        let object = json!({
            "metadata": {"labels": {"a/b": "x", "c.d": "y"}},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"}, {"type": "Full", "status": "False"},
            ], "hosts": ["h1", "h2"]},
        });
        let table = [
            (".status.conditions[?(@.type==\"Ready\")].status", vec!["True"]),
            (".status.conditions[?(@.type != 'Ready')].type", vec!["Full"]),
            (".metadata.labels['a/b']", vec!["x"]),
            (".metadata.labels.c\\.d", vec!["y"]),
            (".status.hosts[*]", vec!["h1", "h2"]),
            (".status.hosts[-1]", vec!["h2"]),
            (".status.nothing", vec![]),
        ];
        for (path, wanted) in table {
            let column = Printed::of(&json!({"jsonPath": path}));
            let found: Vec<_> =
                column.values(&object).iter().filter_map(|it| it.as_str()).collect();
            assert_eq!(found, wanted, "{path}");
        }
        for path in ["..name", ".a[?(@.b<1)]", ".a[", ".a[1:2]"] {
            assert!(check_path(path).is_err(), "{path}");
        }
    }
}

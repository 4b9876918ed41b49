//! Match conditions: the part of CEL that the bridge's own webhooks need, and a clear no to the rest.
//!
//! `object.spec.schedulerName == 'x' && request.namespace != 'kube-system'`

use super::review::Subject;

/// A conjunction of comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    all_of: Vec<Comparison>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    root: Root,
    path: Vec<String>,
    equal: bool,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Object,
    OldObject,
    Request,
}

impl Condition {
    /// Reads an expression.
    pub(super) fn parse(expression: &str) -> Result<Self, String> {
        let all_of = conjuncts(expression)
            .into_iter()
            .map(|part| comparison(part.trim()))
            .collect::<Result<_, _>>()?;
        Ok(Self { all_of })
    }

    /// Whether the condition holds; an error if it looks at a field that isn't there.
    pub(super) fn holds(&self, subject: &Subject<'_>) -> Result<bool, String> {
        for comparison in &self.all_of {
            let found = comparison.look(subject)?;
            if (found == comparison.value) != comparison.equal {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Comparison {
    fn look(&self, subject: &Subject<'_>) -> Result<String, String> {
        let target = &subject.call.target;
        let (root, name) = match self.root {
            Root::Object => (subject.object, "object"),
            Root::OldObject => (subject.old.map(|old| &**old), "oldObject"),
            Root::Request => {
                let field = self.path.join(".");
                return match field.as_str() {
                    "namespace" => Ok(target.namespace.to_owned()),
                    "operation" => Ok(subject.operation.as_str().to_owned()),
                    "userInfo.username" => Ok(subject.call.user.to_string()),
                    other => Err(format!("no such key: {other}")),
                };
            }
        };
        let mut value = root.ok_or_else(|| format!("no such key: {name} is null"))?;
        for key in &self.path {
            value = value.get(key).ok_or_else(|| format!("no such key: {key}"))?;
        }
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| format!("no such overload: {value} is not a string"))
    }
}

/// Splits at `&&` outside quotes.
fn conjuncts(expression: &str) -> Vec<&str> {
    let mut parts = vec![];
    let mut quote = None;
    let mut start = 0;
    let bytes = expression.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), _) if open == *byte => quote = None,
            (None, b'&') if bytes.get(at + 1) == Some(&b'&') => {
                parts.push(&expression[start..at]);
                start = at + 2;
            }
            (None | Some(_), _) => {}
        }
    }
    parts.push(&expression[start..]);
    parts
}

fn comparison(text: &str) -> Result<Comparison, String> {
    let not_modelled = || {
        format!(
            "CEL is not modelled yet beyond comparisons like object.spec.schedulerName == 'x' \
             joined by &&; `{text}` is something else"
        )
    };
    let ((left, right), equal) = match text.split_once("==") {
        Some(sides) => (sides, true),
        None => (text.split_once("!=").ok_or_else(not_modelled)?, false),
    };
    let mut path = left.trim().split('.').map(str::to_owned);
    let root = match path.next().as_deref() {
        Some("object") => Root::Object,
        Some("oldObject") => Root::OldObject,
        Some("request") => Root::Request,
        _ => return Err(not_modelled()),
    };
    let path: Vec<String> = path.collect();
    let plain = |part: &String| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let value = literal(right.trim()).ok_or_else(not_modelled)?;
    match !path.is_empty() && path.iter().all(plain) {
        true => Ok(Comparison { root, path, equal, value: value.to_owned() }),
        false => Err(not_modelled()),
    }
}

/// What is between quotes, if nothing in it needs unescaping.
fn literal(text: &str) -> Option<&str> {
    let inside = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    let inner: &str = inside('\'').or_else(|| inside('"'))?;
    (!inner.contains(['\'', '"', '\\'])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_joined_by_and_are_read() {
        for text in [
            "object.spec.schedulerName == 'slurm-bridge-scheduler'",
            "object.spec.schedulerName==\"a\" && request.namespace != 'b'",
            "request.operation == 'CREATE' && object.spec.x != 'a && b'",
        ] {
            assert!(Condition::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_clear_text() {
        for text in [
            "",
            "true",
            "has(object.spec.schedulerName)",
            "object.spec.replicas == 3",
            "object.metadata.labels['a'] == 'b'",
            "object.spec.a == 'x' || object.spec.b == 'y'",
            "!(object.spec.a == 'x')",
            "object == 'x'",
            "self.spec.a == 'x'",
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.starts_with("CEL is not modelled yet"), "{text}: {error}");
        }
    }
}

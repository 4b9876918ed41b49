//! What all versions have in common: numbers with flags, error lists, plain-text refusals.

use drawbridge_core::SlurmFault;
use serde_json::{Value, json};

/// From here on the number says which parser gave up; the description says on what.
const FIRST_REST_ERROR: i64 = 9000;

/// What is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Garbled(String);

impl Garbled {
    /// Says which part is wrong and what was expected there.
    pub(crate) fn new(part: &str, expected: &str) -> Self {
        Self(format!("`{part}` isn't {expected}"))
    }

    /// Says inside what the part lies.
    pub(crate) fn within(self, whole: &str) -> Self {
        Self(format!("{whole}: {}", self.0))
    }
}

impl From<Garbled> for SlurmFault {
    fn from(Garbled(why): Garbled) -> Self {
        Self::Unintelligible { why }
    }
}

/// A number as Slurm likes to have it.
pub(crate) fn flagged(number: u64) -> Value {
    json!({"set": true, "infinite": false, "number": number})
}

/// A number, plain or with flags. `None` if it is unset, infinite or none at all.
pub(crate) fn number(value: &Value) -> Option<u64> {
    let Some(flagged) = value.as_object() else {
        return value.as_u64();
    };
    let flag = |name: &str| flagged.get(name).and_then(Value::as_bool);
    if flag("set") == Some(false) || flag("infinite") == Some(true) {
        return None;
    }
    flagged.get("number").and_then(Value::as_u64)
}

/// A list, which must be there.
pub(crate) fn list<'a>(body: &'a Value, key: &str) -> Result<&'a Vec<Value>, Garbled> {
    body[key].as_array().ok_or_else(|| Garbled::new(key, "a list"))
}

/// A text, which must be there.
pub(crate) fn text<'a>(body: &'a Value, key: &str) -> Result<&'a str, Garbled> {
    body[key].as_str().ok_or_else(|| Garbled::new(key, "a text"))
}

/// A text, or nothing where it is left out.
pub(crate) fn text_or_empty(body: &Value, key: &str) -> String {
    body[key].as_str().unwrap_or_default().to_owned()
}

/// A number that must be there and fit.
pub(crate) fn small(body: &Value, key: &str) -> Result<u32, Garbled> {
    let fits = number(&body[key]).and_then(|number| u32::try_from(number).ok());
    fits.ok_or_else(|| Garbled::new(key, "a whole number of 32 bits"))
}

/// A list of words; anything else in it is left out.
pub(crate) fn words(value: &Value) -> impl Iterator<Item = &str> + Clone {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The refusal in a reply, if it is one: by its status, or by its list of errors.
///
/// A refused list comes with an *empty* list beside the error, so this is asked first.
pub(crate) fn refusal(status: u16, body: &Value) -> Option<SlurmFault> {
    if let Some(first) = body["errors"].as_array().and_then(|errors| errors.first()) {
        return Some(refused(first));
    }
    match (status, body) {
        (200..=299, Value::Object(_)) => None,
        (400..=499, Value::String(text)) => {
            Some(SlurmFault::Refused { number: 0, text: text.trim().to_owned() })
        }
        (status, Value::String(text)) => Some(odd(status, text)),
        (status, _) => Some(odd(status, "no error is given")),
    }
}

/// Slurm's own words. Its `error` says why; the `description` mostly says what was tried, except
/// where there is no number (an unknown node) or slurmrestd itself is the one who refuses.
fn refused(error: &Value) -> SlurmFault {
    let number = error["error_number"].as_i64().unwrap_or(0);
    let (first, second) = match number {
        1..FIRST_REST_ERROR => ("error", "description"),
        _ => ("description", "error"),
    };
    let texts = [first, second].map(|key| error[key].as_str().unwrap_or_default());
    let text = texts.into_iter().find(|text| !text.is_empty());
    SlurmFault::Refused { number, text: text.unwrap_or("no reason given").to_owned() }
}

fn odd(status: u16, text: &str) -> SlurmFault {
    let mut text: String = text.trim().chars().take(200).collect();
    if text.is_empty() {
        text.push_str("an empty body");
    }
    SlurmFault::Unintelligible { why: format!("status {status}: {text}") }
}

/// The warnings of a reply, one after the other.
pub(crate) fn warnings(body: &Value) -> String {
    let warnings = body["warnings"].as_array().into_iter().flatten();
    let texts: Vec<&str> = warnings.filter_map(|warning| warning["description"].as_str()).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_have_flags() {
        let table = [
            (json!(5), Some(5)),
            (json!({"set": true, "infinite": false, "number": 5}), Some(5)),
            (json!({"number": 5}), Some(5)),
            (json!({"set": false, "infinite": false, "number": 5}), None),
            (json!({"set": true, "infinite": true, "number": 5}), None),
            (json!({"set": true, "number": -5}), None),
            (json!("5"), None),
            (json!(null), None),
        ];
        for (value, expected) in table {
            assert_eq!(number(&value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_no_success_is_a_refusal_or_a_riddle() {
        let error = |number: i64| json!({"errors": [{"error_number": number, "error": "why", "description": "what"}], "jobs": []});
        let table = [
            (200, json!({"errors": []}), ""),
            (500, error(2014), "2014 why"),
            (511, error(1007), "1007 why"),
            (422, error(9000), "9000 what"),
            (200, error(0), "0 what"),
            (401, json!("Authentication failure"), "0 Authentication failure"),
            (502, json!("<html>\n"), "? status 502: <html>"),
            (304, json!(""), "? status 304: an empty body"),
            (500, json!({"errors": []}), "? status 500: no error is given"),
            (200, json!("OK"), "? status 200: OK"),
            (200, json!([]), "? status 200: no error is given"),
        ];
        for (status, body, expected) in table {
            let said = match refusal(status, &body) {
                None => String::new(),
                Some(SlurmFault::Refused { number, text }) => format!("{number} {text}"),
                Some(SlurmFault::Unintelligible { why } | SlurmFault::Lost { why }) => {
                    format!("? {why}")
                }
            };
            assert_eq!(said, expected, "{status} {body}");
        }
    }
}

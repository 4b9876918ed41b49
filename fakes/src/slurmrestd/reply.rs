//! A reply in the making: the body, and the `errors`, `warnings` and `meta` that every body carries.

use std::sync::Arc;

use drawbridge_sim::SlurmError;
use serde_json::{Map, Value, json};

use crate::Response;

use super::api::Operation;

/// Slurm's "Requested operation not supported on this system": our word for what isn't modelled.
const NOT_SUPPORTED: i64 = 2036;

/// One reply.
#[derive(Debug)]
pub(super) struct Reply {
    status: u16,
    body: Map<String, Value>,
    /// What is printed as it is, whatever the document says.
    raw: Map<String, Value>,
    errors: Vec<Value>,
    warnings: Vec<Value>,
}

/// One entry of `errors[]`.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    /// Slurm's error number.
    pub(super) number: i64,
    /// Slurm's text for that number.
    pub(super) text: String,
    /// What slurmrestd was doing.
    pub(super) description: String,
    /// Which function or field complains.
    pub(super) source: String,
}

impl Trouble {
    /// A refusal by slurmctld.
    pub(super) fn slurm(error: SlurmError, description: impl Into<String>, source: &str) -> Self {
        Self {
            number: error.number().into(),
            text: error.to_string(),
            description: description.into(),
            source: source.into(),
        }
    }

    /// A token that slurmctld doesn't believe.
    pub(super) fn authentication(description: impl Into<String>, source: &str) -> Self {
        Self {
            number: 1007,
            text: "Protocol authentication error".into(),
            description: description.into(),
            source: source.into(),
        }
    }

    /// An error of number 0, which slurmrestd has for what it doesn't find.
    pub(super) fn nothing(description: impl Into<String>, source: &str) -> Self {
        Self {
            number: 0,
            text: "No error".into(),
            description: description.into(),
            source: source.into(),
        }
    }

    /// Something that Slurm would do and the model doesn't.
    pub(super) fn not_modelled(source: &str, what: &str) -> Self {
        Self {
            number: NOT_SUPPORTED,
            // Clients show the text and drop the description, which mostly says what was tried.
            text: format!(
                "Requested operation not supported on this system: drawbridge does not model {what}"
            ),
            description: format!("drawbridge does not model {what}"),
            source: source.into(),
        }
    }

    /// A request that slurmrestd itself can't read.
    pub(super) fn query(description: impl Into<String>, source: &str) -> Self {
        Self {
            number: 9000,
            text: "Query empty or not RFC7320 compliant".into(),
            description: description.into(),
            source: source.into(),
        }
    }
}

impl Reply {
    /// 200 and nothing else yet.
    pub(super) fn ok() -> Self {
        Self { status: 200, body: Map::new(), raw: Map::new(), errors: vec![], warnings: vec![] }
    }

    /// This status and nothing else yet.
    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::ok() }
    }

    /// A refusal with one error.
    pub(super) fn refused(status: u16, trouble: Trouble) -> Self {
        Self::ok().error(status, trouble)
    }

    /// Something that Slurm would do and the model doesn't.
    pub(super) fn not_modelled(status: u16, source: &str, what: &str) -> Self {
        Self::refused(status, Trouble::not_modelled(source, what))
    }

    /// 304: nothing newer, and no body at all.
    pub(super) fn not_modified() -> Self {
        Self::status(304)
    }

    /// The same reply with these errors more, if there are any.
    pub(super) fn errors(self, status: u16, troubles: Vec<Trouble>) -> Self {
        let add = |reply: Self, trouble| reply.error(status, trouble);
        troubles.into_iter().fold(self, add)
    }

    /// The same reply with these errors, if there are any, before those that it has. They decide the
    /// status.
    pub(super) fn errors_first(mut self, status: u16, troubles: Vec<Trouble>) -> Self {
        if troubles.is_empty() {
            return self;
        }
        let later = std::mem::take(&mut self.errors);
        let mut reply = self.errors(status, troubles);
        reply.errors.extend(later);
        reply
    }

    /// The same reply with a field more.
    pub(super) fn with(mut self, key: &str, value: Value) -> Self {
        self.body.insert(key.into(), value);
        self
    }

    /// The same reply with a field more that is printed as it is.
    pub(super) fn with_raw(mut self, key: &str, value: Value) -> Self {
        self.raw.insert(key.into(), value);
        self
    }

    /// The same reply with an error more, which decides the status.
    pub(super) fn error(mut self, status: u16, trouble: Trouble) -> Self {
        let Trouble { number, text, description, source } = trouble;
        self.status = status;
        self.errors.push(json!({
            "description": description,
            "error_number": number,
            "error": text,
            "source": source,
        }));
        self
    }

    /// The same reply with a warning more.
    pub(super) fn warning(mut self, warning: &Warning) -> Self {
        let Warning { description, source } = warning;
        self.warnings.push(json!({ "description": description, "source": source }));
        self
    }

    /// The same reply with these warnings more.
    pub(super) fn warnings(self, warnings: &[Warning]) -> Self {
        warnings.iter().fold(self, Self::warning)
    }

    /// The same reply with these warnings before those that it has.
    pub(super) fn warnings_first(mut self, warnings: &[Warning]) -> Self {
        let later = std::mem::take(&mut self.warnings);
        let mut reply = self.warnings(warnings);
        reply.warnings.extend(later);
        reply
    }

    /// The response: what the operation's version prints of the body, with `meta`, `errors` and
    /// `warnings`.
    pub(super) fn finish(self, operation: &Operation, meta: Value) -> Response {
        if self.status == 304 {
            return text(304, "");
        }
        let mut body = self.raw;
        for (key, value) in self.body {
            if let Some(shape) = operation.shape.field(&key) {
                body.insert(key, shape.fill(value));
            }
        }
        body.insert("meta".into(), meta);
        body.insert("errors".into(), self.errors.into());
        body.insert("warnings".into(), self.warnings.into());
        Response { status: self.status, body: Arc::new(body.into()) }
    }
}

/// Dictionaries as one.
pub(super) fn merged(parts: impl IntoIterator<Item = Value>) -> Value {
    let mut whole = Map::new();
    for part in parts {
        if let Value::Object(mut map) = part {
            whole.append(&mut map);
        }
    }
    whole.into()
}

/// One entry of `warnings[]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// What is odd.
    pub(super) description: String,
    /// Where.
    pub(super) source: String,
}

/// A body that isn't JSON; empty where there is none.
pub(super) fn text(status: u16, text: &str) -> Response {
    Response { status, body: Arc::new(text.into()) }
}

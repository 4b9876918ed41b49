//! Match conditions: expressions that say whether a webhook is to be called.
//!
//! `object.spec.schedulerName == 'x' && request.namespace != 'kube-system'`

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::review::{self, Subject};
use crate::kube::cel::{Program, Shape, Type, Val};

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    program: Program,
}

/// What `request` is.
fn request_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let text = json!({"type": "string"});
        let of = |names: [&str; 3]| {
            let fields: serde_json::Map<String, Value> =
                names.into_iter().map(|name| (name.to_owned(), text.clone())).collect();
            json!({"type": "object", "properties": fields})
        };
        let kind = of(["group", "version", "kind"]);
        let resource = of(["group", "version", "resource"]);
        let texts = json!({"type": "array", "items": text});
        json!({"type": "object", "properties": {
            "kind": kind, "resource": resource, "subResource": text,
            "requestKind": kind, "requestResource": resource, "requestSubResource": text,
            "name": text, "namespace": text, "operation": text, "dryRun": {"type": "boolean"},
            "userInfo": {"type": "object", "properties": {
                "username": text, "uid": text, "groups": texts,
                "extra": {"type": "object", "additionalProperties": texts},
            }},
            "options": {},
        }})
    })
}

impl Condition {
    /// Reads an expression.
    pub(super) fn parse(expression: &str) -> Result<Self, String> {
        let request = Shape::Schema(request_schema()).kind();
        let variables = [("object", Type::Dyn), ("oldObject", Type::Dyn), ("request", request)];
        let program = Program::compile(expression.trim(), &variables).map_err(|why| {
            match why.contains("undeclared reference to 'authorizer'") {
                true => format!("{why}\nThe authorizer is not modelled."),
                false => why,
            }
        })?;
        match program.gives() {
            "bool" => Ok(Self { program }),
            other => Err(format!("must evaluate to bool but got {other}")),
        }
    }

    /// Whether the condition holds; an error if that can't be said.
    pub(super) fn holds(&self, subject: &Subject<'_>) -> Result<bool, String> {
        let request = match self.program.uses("request") {
            true => review::request("", subject)["request"].take(),
            false => Value::Null,
        };
        let old = subject.old.map(|old| &**old);
        let variables = [
            ("object", subject.object.map_or(Val::Null, |it| Shape::Free.read(it))),
            ("oldObject", old.map_or(Val::Null, |it| Shape::Free.read(it))),
            ("request", Shape::Schema(request_schema()).read(&request)),
        ];
        let Val::Bool(truth) = self.program.run(&variables)? else {
            return Err("no such overload".to_owned());
        };
        Ok(truth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_over_the_object_and_the_request_are_read() {
        for text in [
            "object.spec.schedulerName == 'slurm-bridge-scheduler'",
            "has(object.spec.schedulerName) && request.namespace != 'b'",
            "request.operation in ['CREATE', 'UPDATE'] || 'system:masters' in request.userInfo.groups",
            "!(request.resource.group == '' && request.subResource == 'status')",
            "object.metadata.?labels['a'].orValue('') == 'b'",
        ] {
            assert_eq!(Condition::parse(text).map(drop), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused() {
        for (text, wanted) in [
            ("object.spec.replicas", "must evaluate to bool but got dyn"),
            ("request.nothing == ''", "undefined field 'nothing'"),
            ("self.spec.a == 'x'", "undeclared reference to 'self'"),
            ("authorizer.group('').resource('pods').check('get').allowed()", "is not modelled."),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}

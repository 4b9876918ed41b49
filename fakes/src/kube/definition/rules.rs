//! Rules in schemas (`x-kubernetes-validations`): compiled once, evaluated with every write.

use std::collections::BTreeMap;

use serde_json::Value;

use super::list_item;
use crate::kube::{
    cel::{Program, Shape, Type, Val},
    object::{items, text},
    validate::FieldError,
};

/// The rules of a schema and of the schemas in it; parts without any are left out.
#[derive(Default)]
pub(crate) struct Rules {
    own: Vec<Rule>,
    fields: BTreeMap<String, Rules>,
    items: Option<Box<Rules>>,
    more: Option<Box<Rules>>,
}

struct Rule {
    program: Program,
    message_program: Option<Program>,
    /// What is said where no message is given or can be made.
    message: String,
    /// What is said where the rule itself fails.
    told: String,
    reason: String,
    field_path: String,
    /// It compares with what was there before.
    transition: bool,
    /// It can do without what was there before.
    optional_old: bool,
}

/// Where a schema lies, for rules that look at what was there before.
#[derive(Clone, Copy)]
struct Place<'a> {
    shape: Shape<'a>,
    /// Items of plain lists can't be told apart, so nothing was there before.
    uncorrelated: Option<&'a str>,
}

impl Rules {
    /// Compiles all rules of a schema; what is wrong with those that can't be.
    pub(super) fn compile(schema: &Value, field: &str) -> (Self, Vec<FieldError>) {
        let mut errors = vec![];
        let place = Place { shape: Shape::Root(schema), uncorrelated: None };
        let rules = Self::read(schema, place, field, &mut errors);
        (rules, errors)
    }

    fn read(schema: &Value, place: Place<'_>, field: &str, errors: &mut Vec<FieldError>) -> Self {
        let mut rules = Self::default();
        for (index, rule) in items(schema, &["x-kubernetes-validations"]).iter().enumerate() {
            let field = format!("{field}.x-kubernetes-validations[{index}]");
            match Rule::read(schema, rule, place, &field) {
                Ok(rule) => rules.own.push(rule),
                Err(error) => errors.push(error),
            }
        }
        let below = Place { shape: Shape::Free, ..place };
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let field = format!("{field}.properties[{key}]");
            let found =
                Self::read(inner, Place { shape: Shape::Schema(inner), ..below }, &field, errors);
            if !found.is_empty() {
                rules.fields.insert(key.clone(), found);
            }
        }
        let more = &schema["additionalProperties"];
        if more.is_object() {
            let field = format!("{field}.additionalProperties");
            let found =
                Self::read(more, Place { shape: Shape::Schema(more), ..below }, &field, errors);
            rules.more = Some(found).filter(|it| !it.is_empty()).map(Box::new);
        }
        let inner = &schema["items"];
        if inner.is_object() {
            let plain = schema["x-kubernetes-list-type"] != "map";
            let uncorrelated = place.uncorrelated.or(plain.then_some(field));
            let below = Place { shape: Shape::Schema(inner), uncorrelated };
            let found = Self::read(inner, below, &format!("{field}.items"), errors);
            rules.items = Some(found).filter(|it| !it.is_empty()).map(Box::new);
        }
        rules
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.fields.is_empty() && self.items.is_none() && self.more.is_none()
    }

    /// What rules say against an object.
    pub(crate) fn errors(
        &self,
        schema: &Value,
        new: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let mut errors = vec![];
        self.judge(schema, Shape::Root(schema), new, old, "", &mut errors);
        errors
    }

    fn judge(
        &self,
        schema: &Value,
        shape: Shape<'_>,
        new: &Value,
        old: Option<&Value>,
        path: &str,
        errors: &mut Vec<FieldError>,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        for rule in &self.own {
            errors.extend(rule.judge(schema, shape, new, old, path));
        }
        let inner = |key: &str| match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        match new {
            Value::Object(map) => {
                for (key, value) in map {
                    let before = old.and_then(|old| old.get(key));
                    if let Some(rules) = self.fields.get(key) {
                        let schema = &schema["properties"][key];
                        rules.judge(
                            schema,
                            Shape::Schema(schema),
                            value,
                            before,
                            &inner(key),
                            errors,
                        );
                    } else if let Some(rules) = &self.more {
                        let (schema, path) =
                            (&schema["additionalProperties"], format!("{path}[{key}]"));
                        rules.judge(schema, Shape::Schema(schema), value, before, &path, errors);
                    }
                }
            }
            Value::Array(list) => {
                let Some(rules) = &self.items else { return };
                for (index, value) in list.iter().enumerate() {
                    let before = old.and_then(|old| list_item(schema, old, value));
                    let (inner, path) = (&schema["items"], format!("{path}[{index}]"));
                    rules.judge(inner, Shape::Schema(inner), value, before, &path, errors);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

impl Rule {
    fn read(
        schema: &Value,
        rule: &Value,
        place: Place<'_>,
        field: &str,
    ) -> Result<Self, FieldError> {
        let at = |key: &str| format!("{field}.{key}");
        let word = |key: &str| text(rule, &[key]).trim().to_owned();
        if let Some(error) = form_error(schema, rule, field) {
            return Err(error);
        }
        let (source, message) = (word("rule"), word("message"));
        let optional_old = rule["optionalOldSelf"] == true;
        let own = place.shape.kind();
        let before = match optional_old {
            true => Type::Optional(Box::new(own.clone())),
            false => own.clone(),
        };
        let variables = [("self", own), ("oldSelf", before)];
        let compile = |key: &str, what: &str, wanted: &str| {
            let program = Program::compile(&word(key), &variables);
            let program = program.and_then(|program| match program.gives() == wanted {
                true => Ok(program),
                false => Err(format!("{what} must evaluate to a {wanted}")),
            });
            program.map_err(|why| FieldError::invalid(at(key), &rule[key], &why))
        };
        let program = compile("rule", "cel expression", "bool")?;
        let transition = program.uses("oldSelf");
        if let (true, Some(path)) = (transition, place.uncorrelated) {
            let why = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {path}"
            );
            return Err(FieldError::invalid(at("rule"), &rule["rule"], &why));
        }
        if optional_old && !transition {
            let why = "may not be set if oldSelf is not used in rule";
            return Err(FieldError::invalid(at("optionalOldSelf"), &rule["optionalOldSelf"], why));
        }
        let message_program = match word("messageExpression").is_empty() {
            true => None,
            false => Some(compile("messageExpression", "messageExpression", "string")?),
        };
        Ok(Self {
            program,
            message_program,
            told: if message.is_empty() { source.clone() } else { message.clone() },
            message: if message.is_empty() { format!("failed rule: {source}") } else { message },
            reason: word("reason"),
            field_path: word("fieldPath"),
            transition,
            optional_old,
        })
    }

    /// What the rule says against a value.
    fn judge(
        &self,
        schema: &Value,
        shape: Shape<'_>,
        new: &Value,
        old: Option<&Value>,
        path: &str,
    ) -> Option<FieldError> {
        if self.transition && old.is_none() && !self.optional_old {
            return None;
        }
        let before = match (old, self.optional_old) {
            (Some(old), false) => shape.read(old),
            (Some(old), true) => Val::Optional(Some(Box::new(shape.read(old)))),
            (None, _) => Val::Optional(None),
        };
        let variables = [("self", shape.read(new)), ("oldSelf", before)];
        let kind = schema["type"].as_str().unwrap_or("");
        let outcome = match self.program.run(&variables) {
            Ok(Val::Bool(true)) => return None,
            Ok(_) => Ok(()),
            Err(why) => Err(why),
        };
        // What was wrong before and hasn't changed may stay.
        if !self.transition && old == Some(new) {
            return None;
        }
        let at = |more: &str| {
            if path.is_empty() {
                more.trim_start_matches('.').to_owned()
            } else {
                format!("{path}{more}")
            }
        };
        if let Err(why) = outcome {
            let why = match why.starts_with("no such overload") {
                true => format!(
                    "'{why}': call arguments did not match a supported operator, function or macro \
                     signature for rule: {}",
                    self.told
                ),
                false => format!("{why} evaluating rule: {}", self.told),
            };
            return Some(FieldError::invalid(at(""), &kind.into(), &why));
        }
        let made =
            self.message_program.as_ref().and_then(|program| match program.run(&variables) {
                Ok(Val::Text(text)) => Some(text.trim().to_owned()),
                _ => None,
            });
        let made =
            made.filter(|text| !text.is_empty() && !text.contains('\n') && text.len() <= 5120);
        let detail = made.unwrap_or_else(|| self.message.clone());
        let field = at(&self.field_path);
        Some(match self.reason.as_str() {
            "FieldValueForbidden" => FieldError::forbidden(field, &detail),
            "FieldValueRequired" => FieldError::required(field, &detail),
            "FieldValueDuplicate" => FieldError::duplicate_value(field, new),
            _ if ["object", "array"].contains(&kind) => FieldError::invalid_unshown(field, &detail),
            _ => FieldError::invalid(field, new, &detail),
        })
    }
}

/// What is wrong with a rule before its expression is looked at.
fn form_error(schema: &Value, rule: &Value, field: &str) -> Option<FieldError> {
    let at = |key: &str| format!("{field}.{key}");
    let word = |key: &str| text(rule, &[key]).trim();
    if word("rule").is_empty() {
        return Some(FieldError::required(at("rule"), "rule is not specified"));
    }
    if word("message").contains('\n') {
        let why = "must not contain line breaks";
        return Some(FieldError::invalid(at("message"), &rule["message"], why));
    }
    if word("rule").contains('\n') && word("message").is_empty() {
        let why = "message must be specified if rule contains line breaks";
        return Some(FieldError::required(at("message"), why));
    }
    let reasons =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if !word("reason").is_empty() && !reasons.contains(&word("reason")) {
        return Some(FieldError::unsupported(at("reason"), word("reason"), &reasons));
    }
    let path = word("fieldPath");
    let lost = !path.is_empty() && !is_field(schema, path);
    lost.then(|| FieldError::invalid(at("fieldPath"), &rule["fieldPath"], "must be a valid path"))
}

/// Whether a path like `.spec.name` leads to a field of a schema.
fn is_field(schema: &Value, path: &str) -> bool {
    let found = path.strip_prefix('.').map(|path| {
        path.split('.').try_fold(schema, |schema, key| {
            let known = schema["properties"].get(key);
            known.or(Some(&schema["additionalProperties"]).filter(|it| it.is_object()))
        })
    });
    found.flatten().is_some()
}

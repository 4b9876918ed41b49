//! Where pods may and want to run: tolerations, affinity, spread.

use serde_json::Value;

use crate::kube::{
    object::{at, items, text},
    selector::LabelSelector,
    validate::{FieldError, label_value_error, qualified_error},
};

/// What is wrong with a pod's tolerations.
pub(super) fn toleration_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (index, toleration) in items(spec, &["tolerations"]).iter().enumerate() {
        let field = format!("{field}.tolerations[{index}]");
        let word = |key| text(toleration, &[key]);
        if let Some(why) = qualified_error(word("key")).filter(|_| !word("key").is_empty()) {
            errors.push(FieldError::invalid(format!("{field}.key"), &word("key").into(), &why));
        }
        if word("key").is_empty() && word("operator") != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values \
                       and all keys\"";
            let operator = word("operator").into();
            errors.push(FieldError::invalid(format!("{field}.operator"), &operator, why));
        }
        if at(toleration, &["tolerationSeconds"]).is_some() && word("effect") != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            let effect = word("effect").into();
            errors.push(FieldError::invalid(format!("{field}.effect"), &effect, why));
        }
        if word("operator") == "Exists" && !word("value").is_empty() {
            let why = "value must be empty when `operator` is 'Exists'";
            let value = word("value").into();
            errors.push(FieldError::invalid(format!("{field}.operator"), &value, why));
        }
        let operators = ["Equal", "Exists", "Lt", "Gt"];
        if !word("operator").is_empty() && !operators.contains(&word("operator")) {
            let field = format!("{field}.operator");
            errors.push(FieldError::unsupported(field, word("operator"), &operators));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if !word("effect").is_empty() && !effects.contains(&word("effect")) {
            let field = format!("{field}.effect");
            errors.push(FieldError::unsupported(field, word("effect"), &effects));
        }
    }
    errors
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// What is wrong with a pod's affinity.
pub(super) fn affinity_errors(affinity: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    if let Some(node) = at(affinity, &["nodeAffinity"]) {
        errors.extend(node_errors(node, &format!("{field}.nodeAffinity")));
    }
    for key in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = at(affinity, &[key]) else { continue };
        let field = format!("{field}.{key}");
        for (index, term) in items(pods, &[REQUIRED]).iter().enumerate() {
            errors.extend(pod_term_errors(term, &format!("{field}.{REQUIRED}[{index}]")));
        }
        for (index, term) in items(pods, &[PREFERRED]).iter().enumerate() {
            let field = format!("{field}.{PREFERRED}[{index}]");
            errors.extend(weight_error(term, &field));
            let inner = &term["podAffinityTerm"];
            errors.extend(pod_term_errors(inner, &format!("{field}.podAffinityTerm")));
        }
    }
    errors
}

fn node_errors(node: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    if let Some(required) = at(node, &[REQUIRED]) {
        let field = format!("{field}.{REQUIRED}.nodeSelectorTerms");
        let terms = items(required, &["nodeSelectorTerms"]);
        if terms.is_empty() {
            let why = "must have at least one node selector term";
            errors.push(FieldError::required(field.clone(), why));
        }
        for (index, term) in terms.iter().enumerate() {
            errors.extend(node_term_errors(term, &format!("{field}[{index}]")));
        }
    }
    for (index, term) in items(node, &[PREFERRED]).iter().enumerate() {
        let field = format!("{field}.{PREFERRED}[{index}]");
        errors.extend(weight_error(term, &field));
        errors.extend(node_term_errors(&term["preference"], &format!("{field}.preference")));
    }
    errors
}

fn weight_error(term: &Value, field: &str) -> Option<FieldError> {
    let good = term["weight"].as_i64().is_some_and(|weight| (1..=100).contains(&weight));
    let weight = term["weight"].as_i64().unwrap_or(0).into();
    let why = "must be in the range 1-100";
    (!good).then(|| FieldError::invalid(format!("{field}.weight"), &weight, why))
}

fn node_term_errors(term: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (index, rule) in items(term, &["matchExpressions"]).iter().enumerate() {
        let field = format!("{field}.matchExpressions[{index}]");
        let n_values = items(rule, &["values"]).len();
        let at_values = format!("{field}.values");
        match text(rule, &["operator"]) {
            "In" | "NotIn" if n_values == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(at_values, why));
            }
            "Exists" | "DoesNotExist" if n_values > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(at_values, why));
            }
            "Gt" | "Lt" if n_values != 1 => {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(at_values, why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => {
                let why = "not a valid selector operator";
                let field = format!("{field}.operator");
                errors.push(FieldError::invalid(field, &other.into(), why));
            }
        }
        let key = text(rule, &["key"]);
        if let Some(why) = qualified_error(key) {
            errors.push(FieldError::invalid(format!("{field}.key"), &key.into(), &why));
        }
        for (place, value) in items(rule, &["values"]).iter().enumerate() {
            let word = value.as_str().unwrap_or("");
            if let Some(why) = label_value_error(word) {
                errors.push(FieldError::invalid(format!("{field}.values[{place}]"), value, &why));
            }
        }
    }
    errors
}

fn pod_term_errors(term: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["labelSelector", "namespaceSelector"] {
        if let Err(why) = LabelSelector::from_object(&term[key]) {
            errors.push(FieldError::invalid(format!("{field}.{key}"), &term[key], &why));
        }
    }
    let key = text(term, &["topologyKey"]);
    if key.is_empty() {
        let why = "can not be empty";
        errors.push(FieldError::required(format!("{field}.topologyKey"), why));
    } else if let Some(why) = qualified_error(key) {
        errors.push(FieldError::invalid(format!("{field}.topologyKey"), &key.into(), &why));
    }
    errors
}

/// What is wrong with how a pod wants to be spread.
pub(super) fn spread_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (index, constraint) in items(spec, &["topologySpreadConstraints"]).iter().enumerate() {
        let field = format!("{field}[{index}]");
        if constraint["maxSkew"].as_i64().is_none_or(|skew| skew < 1) {
            let skew = constraint["maxSkew"].as_i64().unwrap_or(0).into();
            let why = "must be greater than zero";
            errors.push(FieldError::invalid(format!("{field}.maxSkew"), &skew, why));
        }
        if text(constraint, &["topologyKey"]).is_empty() {
            let why = "can not be empty";
            errors.push(FieldError::required(format!("{field}.topologyKey"), why));
        }
        let (word, known) =
            (text(constraint, &["whenUnsatisfiable"]), ["DoNotSchedule", "ScheduleAnyway"]);
        if !known.contains(&word) {
            let field = format!("{field}.whenUnsatisfiable");
            errors.push(FieldError::unsupported(field, word, &known));
        }
        if let Err(why) = LabelSelector::from_object(&constraint["labelSelector"]) {
            let field = format!("{field}.labelSelector");
            errors.push(FieldError::invalid(field, &constraint["labelSelector"], &why));
        }
    }
    errors
}

//! Webhook configurations: what is filled in, and what is wrong with them.

use serde_json::{Value, json};

use super::conditions::Condition;
use crate::kube::{
    object::{self, at, items, text},
    selector::LabelSelector,
    validate::{FieldError, NameRule, qualified_error},
};

/// Fills in what a configuration left open.
pub(crate) fn defaults(configuration: &mut Value) {
    let mutating = configuration["kind"] == "MutatingWebhookConfiguration";
    let hooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut);
    let maps = hooks.into_iter().flatten().filter_map(Value::as_object_mut);
    for hook in maps {
        object::default(hook, "failurePolicy", "Fail");
        object::default(hook, "matchPolicy", "Equivalent");
        object::default(hook, "namespaceSelector", json!({}));
        object::default(hook, "objectSelector", json!({}));
        object::default(hook, "timeoutSeconds", 10);
        if mutating {
            object::default(hook, "reinvocationPolicy", "Never");
        }
        let service = hook.get_mut("clientConfig").and_then(|config| config.get_mut("service"));
        if let Some(service) = service.and_then(Value::as_object_mut) {
            object::default(service, "port", 443);
        }
        let rules = hook.get_mut("rules").and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
            object::default(rule, "scope", "*");
        }
    }
}

/// What is wrong with a configuration.
pub(crate) fn validate(configuration: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut names = vec![];
    for (index, hook) in items(configuration, &["webhooks"]).iter().enumerate() {
        let field = format!("webhooks[{index}]");
        errors.extend(check(hook, &field));
        let name = text(hook, &["name"]);
        if !name.is_empty() && names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        names.push(name);
    }
    errors
}

fn check(hook: &Value, field: &str) -> Vec<FieldError> {
    let at_field = |key: &str| format!("{field}.{key}");
    let mut errors = name_errors(text(hook, &["name"]), &at_field("name"));
    for (index, rule) in items(hook, &["rules"]).iter().enumerate() {
        errors.extend(rule_errors(rule, &format!("{field}.rules[{index}]")));
    }
    let known: [(&str, &[&str]); 4] = [
        ("failurePolicy", &["Fail", "Ignore"]),
        ("matchPolicy", &["Equivalent", "Exact"]),
        ("reinvocationPolicy", &["IfNeeded", "Never"]),
        ("sideEffects", &["None", "NoneOnDryRun"]),
    ];
    for (key, values) in known {
        let value = text(hook, &[key]);
        if !value.is_empty() && !values.contains(&value) {
            errors.push(FieldError::unsupported(at_field(key), value, values));
        }
    }
    if text(hook, &["sideEffects"]).is_empty() {
        let why = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(at_field("sideEffects"), why));
    }
    if !hook["timeoutSeconds"].as_i64().is_some_and(|secs| (1..=30).contains(&secs)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(at_field("timeoutSeconds"), &hook["timeoutSeconds"], why));
    }
    for key in ["namespaceSelector", "objectSelector"] {
        if let Err(why) = LabelSelector::from_object(&hook[key]) {
            errors.push(FieldError::invalid(at_field(key), &hook[key], &why));
        }
    }
    errors.extend(client_errors(&hook["clientConfig"], &at_field("clientConfig")));
    errors.extend(condition_errors(hook, &at_field("matchConditions")));
    errors.extend(version_errors(hook, &at_field("admissionReviewVersions")));
    errors
}

fn name_errors(name: &str, field: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(field, "")];
    }
    if let Some(why) = NameRule::Subdomain.check(name) {
        return vec![FieldError::invalid(field, &name.into(), &why)];
    }
    if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        return vec![FieldError::invalid(field, &name.into(), why)];
    }
    vec![]
}

fn rule_errors(rule: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (key, what) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
        ("resources", "resources"),
    ] {
        let words: Vec<&str> = items(rule, &[key]).iter().filter_map(Value::as_str).collect();
        let wild = words.contains(&"*") || key == "resources" && words.contains(&"*/*");
        if words.is_empty() {
            errors.push(FieldError::required(format!("{field}.{key}"), ""));
        } else if words.len() > 1 && wild && key != "resources" {
            let why = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::invalid(format!("{field}.{key}"), &rule[key], &why));
        }
        for (index, word) in words.iter().enumerate() {
            let field = format!("{field}.{key}[{index}]");
            let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
            if key == "operations" && !operations.contains(word) {
                errors.push(FieldError::unsupported(field, word, &operations));
            } else if word.is_empty() && key != "apiGroups" {
                errors.push(FieldError::required(field, ""));
            }
        }
    }
    let scope = text(rule, &["scope"]);
    let scopes = ["*", "Cluster", "Namespaced"];
    if !scope.is_empty() && !scopes.contains(&scope) {
        errors.push(FieldError::unsupported(format!("{field}.scope"), scope, &scopes));
    }
    errors
}

fn client_errors(config: &Value, field: &str) -> Vec<FieldError> {
    let (url, service) = (at(config, &["url"]), at(config, &["service"]));
    match (url, service) {
        (Some(url), None) => url_error(url.as_str().unwrap_or(""), &format!("{field}.url")),
        (None, Some(service)) => service_errors(service, &format!("{field}.service")),
        (Some(_), Some(_)) | (None, None) => {
            vec![FieldError::required(field, "exactly one of url or service is required")]
        }
    }
}

fn url_error(url: &str, field: &str) -> Vec<FieldError> {
    let form = "; desired format: https://host[/path]";
    let refuse = |why: String| vec![FieldError::invalid(field, &url.into(), &why)];
    let Some((scheme, rest)) = url.split_once("://") else {
        return vec![FieldError::required(field, &format!("url must be absolute{form}"))];
    };
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    if scheme != "https" {
        return refuse(format!("'https' is the only allowed URL scheme{form}"));
    }
    if host.is_empty() {
        return refuse(format!("host must be specified{form}"));
    }
    if host.contains('@') {
        return refuse("user information is not permitted in the URL".to_owned());
    }
    if url.contains('#') {
        return refuse("fragments are not permitted in the URL".to_owned());
    }
    if url.contains('?') {
        return refuse("query parameters are not permitted in the URL".to_owned());
    }
    vec![]
}

fn service_errors(service: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["name", "namespace"] {
        if text(service, &[key]).is_empty() {
            errors.push(FieldError::required(format!("{field}.{key}"), "service name is required"));
        }
    }
    if !service["port"].as_i64().is_some_and(|port| (1..=65535).contains(&port)) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(format!("{field}.port"), &service["port"], why));
    }
    let path = text(service, &["path"]);
    if !path.is_empty() && !path.starts_with('/') {
        let why = "must start with a '/'";
        errors.push(FieldError::invalid(format!("{field}.path"), &path.into(), why));
    }
    errors
}

fn condition_errors(hook: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut names = vec![];
    for (index, condition) in items(hook, &["matchConditions"]).iter().enumerate() {
        let field = format!("{field}[{index}]");
        let (name, expression) = (text(condition, &["name"]), text(condition, &["expression"]));
        if expression.trim().is_empty() {
            errors.push(FieldError::required(format!("{field}.expression"), ""));
        } else if let Err(why) = Condition::parse(expression) {
            let value = expression.into();
            errors.push(FieldError::invalid(format!("{field}.expression"), &value, &why));
        }
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        } else if let Some(why) = qualified_error(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        names.push(name);
    }
    errors
}

fn version_errors(hook: &Value, field: &str) -> Vec<FieldError> {
    let versions = items(hook, &["admissionReviewVersions"]);
    if versions.is_empty() {
        return vec![FieldError::required(field, "must specify one of v1, v1beta1")];
    }
    if versions.iter().any(|version| version == "v1") {
        return vec![];
    }
    let why = match versions.iter().any(|version| version == "v1beta1") {
        true => "only v1 is modelled, and v1beta1 alone is not",
        false => "must include at least one of v1, v1beta1",
    };
    vec![FieldError::invalid(field, &hook["admissionReviewVersions"], why)]
}

//! One webhook of a configuration: read, checked, and asked whether a write concerns it.

use serde_json::{Value, json};

use super::{conditions::Condition, review::Subject};
use crate::kube::{
    kinds::Kind,
    object::{self, at, items, text},
    selector::LabelSelector,
    status::Refusal,
    validate::FieldError,
};

/// When a webhook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Mutating,
    Validating,
}

/// One webhook.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) phase: Phase,
    pub(crate) name: String,
    /// The path that is called.
    pub(crate) path: String,
    /// The whole address, for texts.
    address: String,
    pub(crate) ignores_failure: bool,
    /// Whether it wants to see the object again if a later one changed it.
    pub(crate) reinvoke: bool,
    rules: Vec<Rule>,
    namespaces: LabelSelector,
    objects: LabelSelector,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    scope: String,
}

/// The webhooks of a configuration that was accepted.
pub(super) fn of(configuration: &Value, phase: Phase) -> Vec<Hook> {
    let hooks = items(configuration, &["webhooks"]).iter();
    hooks.filter_map(|hook| read(hook, phase, "webhooks").ok()).collect()
}

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
        let name = text(hook, &["name"]);
        if names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        names.push(name);
        errors.extend(read(hook, Phase::Mutating, &field).err().unwrap_or_default());
    }
    errors
}

/// Reads one webhook, or says all that is wrong with it.
fn read(hook: &Value, phase: Phase, field: &str) -> Result<Hook, Vec<FieldError>> {
    let mut errors = check(hook, field);
    let mut selector = |key: &str| {
        LabelSelector::from_object(&hook[key]).unwrap_or_else(|why| {
            errors.push(FieldError::invalid(format!("{field}.{key}"), &hook[key], &why));
            LabelSelector::default()
        })
    };
    let (namespaces, objects) = (selector("namespaceSelector"), selector("objectSelector"));
    let mut conditions = vec![];
    for (index, condition) in items(hook, &["matchConditions"]).iter().enumerate() {
        match Condition::parse(text(condition, &["expression"])) {
            Ok(condition) => conditions.push(condition),
            Err(why) => {
                let field = format!("{field}.matchConditions[{index}].expression");
                errors.push(FieldError::invalid(field, &condition["expression"], &why));
            }
        }
    }
    let (path, address) = address(&hook["clientConfig"]);
    match errors.is_empty() {
        false => Err(errors),
        true => Ok(Hook {
            phase,
            name: text(hook, &["name"]).to_owned(),
            path,
            address,
            ignores_failure: text(hook, &["failurePolicy"]) == "Ignore",
            reinvoke: text(hook, &["reinvocationPolicy"]) == "IfNeeded",
            rules: items(hook, &["rules"]).iter().map(Rule::read).collect(),
            namespaces,
            objects,
            conditions,
        }),
    }
}

fn check(hook: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let name = text(hook, &["name"]);
    if name.split('.').filter(|part| !part.is_empty()).count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), why));
    }
    let url = at(hook, &["clientConfig", "url"]).is_some();
    let service = at(hook, &["clientConfig", "service"]).is_some();
    if url == service {
        let why = "exactly one of url or service is required";
        errors.push(FieldError::required(format!("{field}.clientConfig"), why));
    }
    if !matches!(text(hook, &["sideEffects"]), "None" | "NoneOnDryRun") {
        let why = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(format!("{field}.sideEffects"), why));
    }
    if !items(hook, &["admissionReviewVersions"]).iter().any(|version| version == "v1") {
        let why = "must specify one of v1, v1beta1";
        errors.push(FieldError::required(format!("{field}.admissionReviewVersions"), why));
    }
    let known = [
        ("failurePolicy", ["Fail", "Ignore"]),
        ("matchPolicy", ["Equivalent", "Exact"]),
        ("reinvocationPolicy", ["Never", "IfNeeded"]),
    ];
    for (key, values) in known {
        let value = text(hook, &[key]);
        if !value.is_empty() && !values.contains(&value) {
            errors.push(FieldError::unsupported(format!("{field}.{key}"), value, &values));
        }
    }
    errors
}

/// The path and the whole address of a client configuration.
fn address(config: &Value) -> (String, String) {
    let url = text(config, &["url"]);
    if !url.is_empty() {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.find('/').map_or("/", |start| &rest[start..]);
        return (path.to_owned(), url.to_owned());
    }
    let service = |key| text(config, &["service", key]);
    let path = match service("path") {
        "" => "/",
        path => path,
    };
    let port = config["service"]["port"].as_u64().unwrap_or(443);
    let host = format!("{}.{}.svc:{port}", service("name"), service("namespace"));
    (path.to_owned(), format!("https://{host}{path}"))
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let words = |key: &str| -> Vec<String> {
            let words = items(rule, &[key]).iter().filter_map(Value::as_str);
            words.map(Into::into).collect()
        };
        Self {
            operations: words("operations"),
            groups: words("apiGroups"),
            versions: words("apiVersions"),
            resources: words("resources"),
            scope: text(rule, &["scope"]).to_owned(),
        }
    }

    fn concerns(&self, kind: &Kind, subresource: Option<&str>, operation: &str) -> bool {
        let any =
            |words: &[String], word: &str| words.iter().any(|known| known == "*" || known == word);
        let scope = match self.scope.as_str() {
            "Namespaced" => kind.namespaced,
            "Cluster" => !kind.namespaced,
            _ => true,
        };
        // matchPolicy Equivalent: any version of the kind will do.
        let version = kind.versions.iter().any(|version| any(&self.versions, version));
        let resource = self.resources.iter().any(|rule| names(rule, kind.resource, subresource));
        scope
            && version
            && resource
            && any(&self.operations, operation)
            && any(&self.groups, kind.group)
    }
}

/// Whether `pods`, `pods/*`, `*/status`, `*` or `*/*` names the resource.
fn names(rule: &str, resource: &str, subresource: Option<&str>) -> bool {
    let (main, sub) = match rule.split_once('/') {
        Some((main, sub)) => (main, Some(sub)),
        None => (rule, None),
    };
    let main = main == "*" || main == resource;
    let sub = match (sub, subresource) {
        (None, None) | (Some("*"), _) => true,
        (Some(rule), Some(sub)) => rule == sub,
        (None, Some(_)) | (Some(_), None) => false,
    };
    main && sub
}

impl Hook {
    /// Whether the webhook is to be called. An error is a match condition that has no answer.
    pub(super) fn concerns(
        &self,
        subject: &Subject<'_>,
        namespace_labels: Option<&Value>,
    ) -> Result<bool, String> {
        let target = &subject.call.target;
        let kind = target.kind;
        let operation = subject.operation.as_str();
        let ruled = |rule: &Rule| rule.concerns(kind, target.subresource, operation);
        let labelled = |object: Option<&Value>| {
            object.is_some_and(|object| self.objects.matches(&object["metadata"]["labels"]))
        };
        let concerned = kind.group != "admissionregistration.k8s.io"
            && self.rules.iter().any(ruled)
            && namespace_labels.is_none_or(|labels| self.namespaces.matches(labels))
            && (labelled(subject.object) || labelled(subject.old.map(|old| &**old)));
        if !concerned {
            return Ok(false);
        }
        for condition in &self.conditions {
            if !condition.holds(subject)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How a failed call names its request.
    pub(super) fn post(&self) -> String {
        format!("Post \"{}?timeout=10s\"", self.address)
    }

    /// 500: the webhook could not be asked, and its word matters.
    pub(super) fn failed(&self, why: &str) -> Refusal {
        Refusal::internal(format!("failed calling webhook \"{}\": {why}", self.name))
    }
}

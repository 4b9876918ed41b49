//! One webhook of a configuration, and whether a write concerns it.

use serde_json::Value;

use super::{Place, ReviewCall, conditions::Condition, review::Subject};
use crate::kube::{
    base64,
    object::{items, text},
    path::Target,
    selector::LabelSelector,
    status::Refusal,
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
    place: Place,
    path: String,
    ca_bundle: Vec<u8>,
    timeout_secs: u64,
    pub(crate) ignores_failure: bool,
    /// Only the version that a rule names will do, not one that the kind has too.
    exact: bool,
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
    hooks.filter_map(|hook| read(hook, phase)).collect()
}

/// Reads one webhook of a configuration that was accepted.
fn read(hook: &Value, phase: Phase) -> Option<Hook> {
    let selector = |key: &str| LabelSelector::from_object(&hook[key]).ok();
    let conditions = items(hook, &["matchConditions"]).iter();
    let conditions = conditions.map(|it| Condition::parse(text(it, &["expression"])).ok());
    let (place, path) = address(&hook["clientConfig"]);
    let bundle = base64::decode(text(hook, &["clientConfig", "caBundle"]));
    Some(Hook {
        phase,
        name: text(hook, &["name"]).to_owned(),
        place,
        path,
        ca_bundle: bundle.unwrap_or_default(),
        timeout_secs: hook["timeoutSeconds"].as_u64().unwrap_or(10),
        ignores_failure: text(hook, &["failurePolicy"]) == "Ignore",
        exact: text(hook, &["matchPolicy"]) == "Exact",
        reinvoke: text(hook, &["reinvocationPolicy"]) == "IfNeeded",
        rules: items(hook, &["rules"]).iter().map(Rule::read).collect(),
        namespaces: selector("namespaceSelector")?,
        objects: selector("objectSelector")?,
        conditions: conditions.collect::<Option<_>>()?,
    })
}

/// Where a client configuration leads, and the path there.
fn address(config: &Value) -> (Place, String) {
    let url = text(config, &["url"]);
    if !url.is_empty() {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(443)),
            _ => (authority, 443),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        let path = if path.is_empty() { "/" } else { path };
        return (Place::Url { host, port }, path.to_owned());
    }
    let service = |key| text(config, &["service", key]).to_owned();
    let path = match service("path") {
        path if path.is_empty() => "/".to_owned(),
        path => path,
    };
    let port = config["service"]["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let (namespace, name) = (service("namespace"), service("name"));
    (Place::Service { namespace, name, port: port.unwrap_or(443) }, path)
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

    /// The version in which the webhook sees a request that the rule is about.
    fn matched<'a>(&self, target: &Target<'a>, operation: &str, exact: bool) -> Option<&'a str> {
        let kind = target.kind;
        let any =
            |words: &[String], word: &str| words.iter().any(|known| known == "*" || known == word);
        let scope = match self.scope.as_str() {
            "Namespaced" => kind.namespaced,
            "Cluster" => !kind.namespaced,
            _ => true,
        };
        let names = |rule: &String| names(rule, kind.resource, target.subresource);
        let concerned = scope
            && self.resources.iter().any(names)
            && any(&self.operations, operation)
            && any(&self.groups, kind.group);
        // matchPolicy Equivalent: any version of the kind will do.
        let others = kind.versions.iter().copied().filter(|_| !exact);
        let mut versions = std::iter::once(target.version).chain(others);
        versions.find(|version| any(&self.versions, version)).filter(|_| concerned)
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
    /// The version in which the webhook sees the write, if it is to be called. An error is a match
    /// condition that has no answer.
    pub(super) fn concerns<'a>(
        &self,
        subject: &Subject<'a>,
        namespace_labels: Option<&Value>,
    ) -> Result<Option<&'a str>, String> {
        let target = &subject.call.target;
        let operation = subject.operation.as_str();
        let version = self.rules.iter().find_map(|it| it.matched(target, operation, self.exact));
        let labelled = |object: Option<&Value>| {
            object.is_some_and(|object| self.objects.matches(&object["metadata"]["labels"]))
        };
        let concerned = target.kind.group != "admissionregistration.k8s.io"
            && version.is_some()
            && namespace_labels.is_none_or(|labels| self.namespaces.matches(labels))
            && (labelled(subject.object) || labelled(subject.old.map(|old| &**old)));
        if !concerned {
            return Ok(None);
        }
        // One that doesn't hold settles it, whatever errors the others are.
        let mut errors = vec![];
        for condition in &self.conditions {
            match condition.holds(subject) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(why) => errors.push(why),
            }
        }
        match errors.as_slice() {
            [] => Ok(version),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    /// The call that puts a review to the webhook.
    pub(super) fn call(&self, review: Value) -> ReviewCall {
        ReviewCall {
            hook: self.name.clone(),
            place: self.place.clone(),
            path: self.path.clone(),
            ca_bundle: self.ca_bundle.clone(),
            timeout_secs: self.timeout_secs,
            review,
        }
    }

    /// How a failed call names its request.
    pub(super) fn post(&self) -> String {
        let host = match &self.place {
            Place::Url { host, port } => format!("{host}:{port}"),
            Place::Service { namespace, name, port } => format!("{name}.{namespace}.svc:{port}"),
        };
        format!("Post \"https://{host}{}?timeout={}s\"", self.path, self.timeout_secs)
    }

    /// 500: the webhook could not be asked, and its word matters.
    pub(super) fn failed(&self, why: &str) -> Refusal {
        Refusal::internal(format!("failed calling webhook \"{}\": {why}", self.name))
    }
}

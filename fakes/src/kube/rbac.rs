//! Who may do what: roles and their bindings, evaluated as a real server does.
//!
//! Only requests from outside are asked; controllers in the same process act as themselves.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Call, KubeApi, kinds::Kind, object, path::Target, selector::LabelSelector, status::Refusal,
    verb,
};
use crate::{Request, User};

/// What somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    /// Empty for what lies outside namespaces, and for all of them together.
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// A path that is no resource: `/healthz`.
    pub(crate) path: Option<String>,
}

/// The group that may do everything, whatever the roles say.
const MASTERS: &str = "system:masters";
const ROLES: &str = "roles.rbac.authorization.k8s.io";
const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
const CLUSTER_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

impl Access {
    /// What a request wants.
    pub(crate) fn of(request: &Request, target: &Target<'_>) -> Self {
        Self {
            verb: verb(request, target).to_owned(),
            group: target.kind.group.to_owned(),
            resource: target.kind.resource.to_owned(),
            subresource: target.subresource.unwrap_or("").to_owned(),
            namespace: target.namespace.to_owned(),
            name: target.name.unwrap_or("").to_owned(),
            path: None,
        }
    }

    /// To read (or otherwise ask for) a path that is no resource.
    pub(crate) fn of_path(method: &str, path: &str) -> Self {
        let verb = match method {
            "GET" | "HEAD" => "get".to_owned(),
            other => other.to_lowercase(),
        };
        Self { verb, path: Some(path.to_owned()), ..Self::impersonate("", "") }
    }

    /// To make something.
    pub(crate) fn create(group: &str, resource: &str, namespace: &str) -> Self {
        Self {
            verb: "create".into(),
            group: group.into(),
            namespace: namespace.into(),
            ..Self::impersonate(resource, "")
        }
    }

    /// `pods/log`, `jobs.batch`: as the audit counts it.
    pub(crate) fn audited(&self) -> String {
        let key = match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        };
        if self.subresource.is_empty() { key } else { format!("{key}/{}", self.subresource) }
    }

    /// To speak for somebody else.
    pub(crate) fn impersonate(resource: &str, name: &str) -> Self {
        Self {
            verb: "impersonate".into(),
            group: String::new(),
            resource: resource.into(),
            subresource: String::new(),
            namespace: String::new(),
            name: name.into(),
            path: None,
        }
    }

    fn full_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }
}

impl KubeApi {
    /// Refuses what the user may not do.
    pub(crate) fn authorize(&self, user: &User, access: &Access) -> Result<(), Refusal> {
        match self.allows(user, access) {
            Some(_) => Ok(()),
            None => Err(Refusal::unauthorized(user, access)),
        }
    }

    /// Why the user may do this; nothing if nobody says so.
    pub(crate) fn allows(&self, user: &User, access: &Access) -> Option<String> {
        if user.groups.iter().any(|group| group == MASTERS) {
            return Some(String::new());
        }
        let cluster = self.list(CLUSTER_BINDINGS).find_map(|binding| {
            self.grants(binding, user, access).then(|| reason("ClusterRoleBinding", binding))
        });
        cluster.or_else(|| {
            if access.namespace.is_empty() {
                return None;
            }
            self.list_in(BINDINGS, &access.namespace).find_map(|binding| {
                self.grants(binding, user, access).then(|| reason("RoleBinding", binding))
            })
        })
    }

    fn grants(&self, binding: &Value, user: &User, access: &Access) -> bool {
        let namespace = object::namespace(binding);
        let subjects = object::items(binding, &["subjects"]);
        if !subjects.iter().any(|subject| is(subject, user, namespace)) {
            return false;
        }
        self.rules_by(binding, namespace).iter().any(|rule| covers(rule, access))
    }
}

impl KubeApi {
    /// Collects the rules of roles that are made of others.
    pub(crate) fn aggregate(&mut self, kind: &Kind) {
        if !self.full || kind.key != CLUSTER_ROLES {
            return;
        }
        let roles: Vec<Arc<Value>> = self
            .list(CLUSTER_ROLES)
            .filter(|role| !role["aggregationRule"].is_null())
            .cloned()
            .collect();
        for role in roles {
            let rules = self.collected(&role);
            if role["rules"] != rules {
                let mut changed = Value::clone(&role);
                changed["rules"] = rules;
                if let Some(kind) = self.kinds.by_key(CLUSTER_ROLES) {
                    let user = Arc::from(
                        "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
                    );
                    self.commit(kind, changed, &user);
                }
            }
        }
    }

    fn collected(&self, role: &Value) -> Value {
        let selectors = object::items(role, &["aggregationRule", "clusterRoleSelectors"]);
        let selectors: Vec<LabelSelector> =
            selectors.iter().filter_map(|it| LabelSelector::from_object(it).ok()).collect();
        let mut rules: Vec<Value> = vec![];
        for other in
            self.list(CLUSTER_ROLES).filter(|other| object::uid(other) != object::uid(role))
        {
            if selectors.iter().any(|it| it.matches(&other["metadata"]["labels"])) {
                let more = object::items(other, &["rules"]).iter();
                rules
                    .extend(more.filter(|rule| !rules.contains(rule)).cloned().collect::<Vec<_>>());
            }
        }
        rules.into()
    }

    /// All rules that a user has in a namespace.
    pub(crate) fn rules_of(&self, user: &User, namespace: &str) -> Vec<Value> {
        let cluster = self.list(CLUSTER_BINDINGS);
        let own = self.list_in(BINDINGS, namespace).filter(|_| !namespace.is_empty());
        let mut rules = vec![];
        for binding in cluster.chain(own) {
            let place = object::namespace(binding);
            if object::items(binding, &["subjects"]).iter().any(|it| is(it, user, place)) {
                rules.extend(self.rules_by(binding, place).iter().cloned());
            }
        }
        rules
    }

    fn rules_by(&self, binding: &Value, namespace: &str) -> &[Value] {
        let name = object::text(binding, &["roleRef", "name"]);
        let role = match object::text(binding, &["roleRef", "kind"]) {
            "Role" => self.get(ROLES, namespace, name),
            _ => self.get(CLUSTER_ROLES, "", name),
        };
        role.map_or(&[][..], |role| object::items(role, &["rules"]))
    }

    /// Refuses who would give away more than they have.
    pub(crate) fn check_rights(&self, call: &Call<'_>, object: &Value) -> Result<(), Refusal> {
        let kind = call.target.kind;
        if call.request.groups.is_empty() || kind.group != "rbac.authorization.k8s.io" {
            return Ok(());
        }
        let user = User { name: call.request.user.clone(), groups: call.request.groups.clone() };
        let (verb, resource, name, rules) = match kind.key {
            ROLES | CLUSTER_ROLES => {
                ("escalate", kind.resource, object::name(object), object::items(object, &["rules"]))
            }
            _ => {
                let resource = match object::text(object, &["roleRef", "kind"]) {
                    "Role" => "roles",
                    _ => "clusterroles",
                };
                let name = object::text(object, &["roleRef", "name"]);
                ("bind", resource, name, self.rules_by(object, call.target.namespace))
            }
        };
        let access = |rule: Access| self.allows(&user, &rule).is_some();
        let may = Access {
            verb: verb.into(),
            group: kind.group.into(),
            resource: resource.into(),
            subresource: String::new(),
            namespace: call.target.namespace.into(),
            name: name.into(),
            path: None,
        };
        if access(may) {
            return Ok(());
        }
        let missing: Vec<String> = rules
            .iter()
            .filter(|rule| !wanted_by(rule, call.target.namespace).into_iter().all(access))
            .map(shown)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let groups: Vec<String> = user.groups.iter().map(|it| format!("{it:?}")).collect();
        let why = format!(
            "user \"{}\" (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            groups.join(" "),
            missing.join("\n")
        );
        Err(Refusal::forbidden(kind, object::name(object), &why))
    }
}

/// Everything that a rule allows, one by one.
fn wanted_by(rule: &Value, namespace: &str) -> Vec<Access> {
    let words = |key: &str| -> Vec<String> {
        let all = object::items(rule, &[key]).iter().filter_map(Value::as_str);
        all.map(Into::into).collect()
    };
    let or_any = |mut all: Vec<String>| {
        if all.is_empty() {
            all.push(String::new());
        }
        all
    };
    let mut all = vec![];
    for verb in words("verbs") {
        for path in words("nonResourceURLs") {
            all.push(Access {
                verb: verb.clone(),
                path: Some(path),
                ..Access::impersonate("", "")
            });
        }
        for group in words("apiGroups") {
            for resource in words("resources") {
                let (main, sub) = resource.split_once('/').unwrap_or((&resource, ""));
                for name in or_any(words("resourceNames")) {
                    all.push(Access {
                        verb: verb.clone(),
                        group: group.clone(),
                        resource: main.into(),
                        subresource: sub.into(),
                        namespace: namespace.into(),
                        name,
                        path: None,
                    });
                }
            }
        }
    }
    all
}

/// A rule as refusals show it.
fn shown(rule: &Value) -> String {
    let part = |key: &str, name: &str| {
        let all = object::items(rule, &[key]);
        (!all.is_empty()).then(|| format!("{name}:{}", Value::from(all.to_vec())))
    };
    let parts = [
        part("apiGroups", "APIGroups"),
        part("resources", "Resources"),
        part("resourceNames", "ResourceNames"),
        part("nonResourceURLs", "NonResourceURLs"),
        part("verbs", "Verbs"),
    ];
    format!("{{{}}}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn reason(kind: &str, binding: &Value) -> String {
    let name = object::name(binding);
    let place = match object::namespace(binding) {
        "" => name.to_owned(),
        namespace => format!("{name}/{namespace}"),
    };
    let (role, of) =
        (object::text(binding, &["roleRef", "name"]), object::text(binding, &["roleRef", "kind"]));
    let subject = object::items(binding, &["subjects"]).first();
    let subject = subject.map_or(String::new(), |subject| {
        let (kind, name) = (object::text(subject, &["kind"]), object::text(subject, &["name"]));
        match object::text(subject, &["namespace"]) {
            "" => format!("{kind} \"{name}\""),
            namespace => format!("{kind} \"{name}/{namespace}\""),
        }
    });
    format!("RBAC: allowed by {kind} \"{place}\" of {of} \"{role}\" to {subject}")
}

/// Whether a binding's subject is this user.
fn is(subject: &Value, user: &User, namespace: &str) -> bool {
    let name = object::text(subject, &["name"]);
    match object::text(subject, &["kind"]) {
        "User" => user.name == name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let own = match object::text(subject, &["namespace"]) {
                "" => namespace,
                given => given,
            };
            user.name == format!("system:serviceaccount:{own}:{name}")
        }
        _ => false,
    }
}

/// Whether a rule covers what is wanted.
fn covers(rule: &Value, access: &Access) -> bool {
    let has = |key: &str, wanted: &str| {
        let listed = object::items(rule, &[key]).iter().filter_map(Value::as_str);
        listed.into_iter().any(|word| word == "*" || word == wanted)
    };
    if !has("verbs", &access.verb) {
        return false;
    }
    if let Some(path) = &access.path {
        let urls = object::items(rule, &["nonResourceURLs"]).iter().filter_map(Value::as_str);
        return urls.into_iter().any(|url| match url.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => url == path,
        });
    }
    let names = object::items(rule, &["resourceNames"]);
    let sub_of_any = format!("*/{}", access.subresource);
    let named = names.is_empty() || names.iter().any(|name| *name == access.name.as_str());
    let resource = has("resources", &access.full_resource())
        || !access.subresource.is_empty() && has("resources", &sub_of_any);
    has("apiGroups", &access.group) && resource && named
}

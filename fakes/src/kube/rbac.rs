//! Who may do what: roles and their bindings, evaluated as a real server does.
//!
//! Only requests from outside are asked; controllers in the same process act as themselves.

use serde_json::Value;

use super::{KubeApi, object, path::Target, status::Refusal, verb};
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
        let name = object::text(binding, &["roleRef", "name"]);
        let role = match object::text(binding, &["roleRef", "kind"]) {
            "Role" => self.get(ROLES, namespace, name),
            _ => self.get(CLUSTER_ROLES, "", name),
        };
        let rules = role.map_or(&[][..], |role| object::items(role, &["rules"]));
        rules.iter().any(|rule| covers(rule, access))
    }
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

//! Questions about rights and identity: posted, answered, never stored.

use drawbridge_sim::Time;
use serde_json::{Map, Value, json};

use super::User;
use crate::{
    KubeApi,
    kube::{Access, Refusal},
};

/// A kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// May I?
    SelfAccess,
    /// May they?
    Access,
    /// What may I do in this namespace?
    SelfRules,
    /// Who am I?
    SelfSubject,
    /// Whose token is this?
    Token,
}

/// The question that a path stands for, and what one must be allowed to ask it.
pub(crate) fn of(path: &str) -> Option<(Review, Access)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let ["apis", group @ ("authorization.k8s.io" | "authentication.k8s.io"), "v1", rest @ ..] =
        parts.as_slice()
    else {
        return None;
    };
    let (namespace, resource) = match rest {
        [resource] => ("", *resource),
        ["namespaces", namespace, resource @ "localsubjectaccessreviews"] => {
            (*namespace, *resource)
        }
        _ => return None,
    };
    let review = match (*group, resource) {
        ("authorization.k8s.io", "selfsubjectaccessreviews") => Review::SelfAccess,
        ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews") => {
            Review::Access
        }
        ("authorization.k8s.io", "selfsubjectrulesreviews") => Review::SelfRules,
        ("authentication.k8s.io", "selfsubjectreviews") => Review::SelfSubject,
        ("authentication.k8s.io", "tokenreviews") => Review::Token,
        _ => return None,
    };
    Some((review, Access::create(group, resource, namespace)))
}

impl Review {
    /// The question with its answer.
    pub(crate) fn answer(
        self,
        api: &KubeApi,
        now: Time,
        user: &User,
        method: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        if method != "POST" {
            return Err(Refusal::method_not_allowed());
        }
        if !body.is_object() {
            return Err(Refusal::bad_request("the body is not a review"));
        }
        let mut review = body.clone();
        review["status"] = match self {
            Self::SelfAccess => status(api.allows(user, &wanted(&body["spec"]))),
            Self::Access => {
                let access = wanted(&body["spec"]);
                status(api.allows(&subject(&body["spec"]), &access))
            }
            Self::SelfRules => {
                rules(&api.rules_of(user, body["spec"]["namespace"].as_str().unwrap_or("")))
            }
            Self::Token => api.review_token(now, &body["spec"]),
            Self::SelfSubject => {
                json!({"userInfo": {"username": user.name, "groups": user.groups}})
            }
        };
        if !review["metadata"].is_object() {
            review["metadata"] = json!({});
        }
        Ok(review)
    }
}

fn status(why: Option<String>) -> Value {
    match why {
        Some(reason) if reason.is_empty() => json!({"allowed": true}),
        Some(reason) => json!({"allowed": true, "reason": reason}),
        None => json!({"allowed": false}),
    }
}

/// Rules, those about resources and those about paths apart.
fn rules(all: &[Value]) -> Value {
    let pick = |rule: &Value, keys: &[&str]| -> Value {
        let given = keys.iter().filter(|key| !rule[**key].is_null());
        given.map(|key| ((*key).to_owned(), rule[*key].clone())).collect::<Map<_, _>>().into()
    };
    let of_paths = |rule: &&Value| !rule["nonResourceURLs"].is_null();
    let resources: Vec<Value> = all
        .iter()
        .filter(|rule| !of_paths(rule))
        .map(|rule| pick(rule, &["verbs", "apiGroups", "resources", "resourceNames"]))
        .collect();
    let paths: Vec<Value> =
        all.iter().filter(of_paths).map(|rule| pick(rule, &["verbs", "nonResourceURLs"])).collect();
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}

fn wanted(spec: &Value) -> Access {
    let attributes = &spec["resourceAttributes"];
    let word = |key: &str| attributes[key].as_str().unwrap_or("").to_owned();
    let plain = &spec["nonResourceAttributes"];
    if plain.is_object() {
        let mut access = Access::impersonate("", "");
        access.verb = plain["verb"].as_str().unwrap_or("").to_owned();
        access.path = Some(plain["path"].as_str().unwrap_or("").to_owned());
        return access;
    }
    Access {
        verb: word("verb"),
        group: word("group"),
        resource: word("resource"),
        subresource: word("subresource"),
        namespace: word("namespace"),
        name: word("name"),
        path: None,
    }
}

fn subject(spec: &Value) -> User {
    let groups = spec["groups"].as_array().into_iter().flatten();
    User {
        name: spec["user"].as_str().unwrap_or("").to_owned(),
        groups: groups.filter_map(Value::as_str).map(Into::into).collect(),
    }
}

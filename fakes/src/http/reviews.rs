//! Questions about rights and identity: posted, answered, never stored.

use serde_json::{Value, json};

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
}

/// The question that a path stands for.
pub(crate) fn of(path: &str) -> Option<Review> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["apis", "authorization.k8s.io", "v1", rest @ ..] => match rest {
            ["selfsubjectaccessreviews"] => Some(Review::SelfAccess),
            ["subjectaccessreviews"] | ["namespaces", _, "localsubjectaccessreviews"] => {
                Some(Review::Access)
            }
            ["selfsubjectrulesreviews"] => Some(Review::SelfRules),
            _ => None,
        },
        ["apis", "authentication.k8s.io", "v1", "selfsubjectreviews"] => Some(Review::SelfSubject),
        _ => None,
    }
}

impl Review {
    /// The question with its answer.
    pub(crate) fn answer(
        self,
        api: &KubeApi,
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
            Self::SelfRules => rules(),
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

/// Rules aren't enumerated: the answer says so, as a real server may.
fn rules() -> Value {
    json!({"resourceRules": [], "nonResourceRules": [], "incomplete": true})
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

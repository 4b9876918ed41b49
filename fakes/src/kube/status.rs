//! Refusals, in the words and shape of a real API server: a `Status` with reason, details, causes.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value, json};

use super::{kinds::Kind, object, rbac::Access, validate::FieldError};
use crate::{Response, User};

/// A request that was refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    /// Empty where the real server gives none.
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
}

/// What a write to an object that changed meanwhile is told.
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest \
     version and try again";

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason: Cow::Borrowed(reason), message: message.into(), details: None }
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        self.details = Some(details(kind.resource, kind.group, name));
        self
    }

    /// No refusal at all: a webhook must be asked first. It never leaves the server.
    pub(crate) fn wait() -> Self {
        Self::new(0, "", "the request waits for a webhook")
    }

    /// Whether the request waits for a webhook.
    pub(crate) const fn is_wait(&self) -> bool {
        self.code == 0
    }

    /// 404: no such object.
    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let text = format!("{} \"{name}\" not found", kind.key);
        Self::new(404, "NotFound", text).about(kind, name)
    }

    /// 404: the group and version exist, the resource in it doesn't.
    pub(crate) fn unknown_resource() -> Self {
        let mut refusal =
            Self::new(404, "NotFound", "the server could not find the requested resource");
        refusal.details = Some(json!({}));
        refusal
    }

    /// 409: the name is taken.
    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        let text = format!("{} \"{name}\" already exists", kind.key);
        Self::new(409, "AlreadyExists", text).about(kind, name)
    }

    /// 409: the object changed since the caller read it.
    pub(crate) fn modified(kind: &Kind, name: &str) -> Self {
        Self::conflict(kind, name, MODIFIED)
    }

    /// 409: the object changed each time that webhooks had been asked about it.
    pub(crate) fn restless(path: &str) -> Self {
        let text = format!("Operation cannot be fulfilled on {path}: {MODIFIED}");
        Self::new(409, "Conflict", text)
    }

    /// 409 for another reason.
    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let text = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.key);
        Self::new(409, "Conflict", text).about(kind, name)
    }

    /// 409 on something that isn't called by a kind's key: `pods/binding`, `Pod`.
    pub(crate) fn conflict_on(what: &str, name: &str, why: &str) -> Self {
        let text = format!("Operation cannot be fulfilled on {what} \"{name}\": {why}");
        let mut refusal = Self::new(409, "Conflict", text);
        refusal.details = Some(details(what, "", name));
        refusal
    }

    /// 409: the uid that the caller expects isn't the object's, as the storage layer says it.
    pub(crate) fn other_uid(kind: &Kind, object: &Value, expected: &str) -> Self {
        let (namespace, name) = (object::namespace(object), object::name(object));
        let place = match namespace {
            "" => format!("{}/{name}", kind.resource),
            namespace => format!("{}/{namespace}/{name}", kind.resource),
        };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {expected}, UID in \
             object meta: {}",
            object::uid(object)
        );
        Self::conflict(kind, name, &why)
    }

    /// 422: the object says something that can't be.
    pub(crate) fn invalid(kind: &Kind, name: &str, errors: &[FieldError]) -> Self {
        let about = details(kind.kind, kind.group, name);
        Self::invalid_as(&kind.qualified(), name, errors, about)
    }

    /// 422 on something that isn't stored: a `Binding`.
    pub(crate) fn invalid_part(what: &str, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_as(what, name, errors, details(what, "", name))
    }

    fn invalid_as(what: &str, name: &str, errors: &[FieldError], mut about: Value) -> Self {
        let text = match errors {
            [one] => one.to_string(),
            many => {
                let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!("[{}]", texts.join(", "))
            }
        };
        about["causes"] = errors.iter().map(FieldError::cause).collect();
        let mut refusal =
            Self::new(422, "Invalid", format!("{what} \"{name}\" is invalid: {text}"));
        refusal.details = Some(about);
        refusal
    }

    /// 422: the patch itself can't be applied.
    pub(crate) fn patch_rejected() -> Self {
        let mut refusal = Self::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        );
        refusal.details = Some(json!({}));
        refusal
    }

    /// 400: the request makes no sense.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 400: a dry run of a kind that there isn't.
    pub(crate) fn unknown_dry_run(given: &str) -> Self {
        Self::bad_request(format!(
            "dryRun: Unsupported value: \"{given}\": supported values: \"All\""
        ))
    }

    /// 400: the body isn't an object of the kind.
    pub(crate) fn undecodable(kind: &Kind, version: &str, why: &str) -> Self {
        let kind = kind.kind;
        Self::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    }

    /// Admission said no, in the webhook's own words.
    pub(crate) fn denied(code: u16, reason: String, message: String) -> Self {
        Self { code, reason: Cow::Owned(reason), message, details: None }
    }

    /// 403: not allowed for this object.
    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let text = format!("{} \"{name}\" is forbidden: {why}", kind.key);
        Self::new(403, "Forbidden", text).about(kind, name)
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        let mut refusal = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        refusal.details = Some(json!({}));
        refusal
    }

    /// 410: the history doesn't reach back that far.
    pub(crate) fn gone(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    /// 410: the list can't be continued.
    pub(crate) fn continue_expired() -> Self {
        Self::new(
            410,
            "Expired",
            "The provided continue parameter is too old to display a consistent list result. \
             You must start a new list without the continue parameter.",
        )
    }

    /// 504: the caller has seen the future.
    pub(crate) fn too_large(asked: u64, current: u64) -> Self {
        let text = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut refusal = Self::new(504, "Timeout", text);
        refusal.details = Some(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }));
        refusal
    }

    /// 406: nothing that the client takes can be given.
    pub(crate) fn not_acceptable() -> Self {
        Self::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json",
        )
    }

    /// 404: no such pod.
    pub(crate) fn no_pod(name: &str) -> Self {
        let mut refusal = Self::new(404, "NotFound", format!("pods \"{name}\" not found"));
        refusal.details = Some(details("pods", "", name));
        refusal
    }

    /// 415: this kind can't be patched so.
    pub(crate) fn unsupported_patch(accepted: &str) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types \
                 include: {accepted}"
            ),
        )
    }

    /// 409: somebody else manages what was to be applied.
    pub(crate) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        let mut refusal = Self::new(409, "Conflict", message);
        refusal.details = Some(json!({"causes": causes}));
        refusal
    }

    /// 422: whoever applies must say who they are.
    pub(crate) fn manager_required() -> Self {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        Self::invalid_part("PatchOptions.meta.k8s.io", "", &[error])
    }

    /// 415: a patch of no kind that we know.
    pub(crate) fn unsupported_media() -> Self {
        let mut refusal = Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        refusal.details = Some(json!({}));
        refusal
    }

    /// 415: a body of no type that we know.
    pub(crate) fn unsupported_body() -> Self {
        Self::unsupported_patch(
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )
    }

    /// 400: a body that isn't JSON.
    pub(crate) fn unreadable(kind: &str, why: &str, sent: &str) -> Self {
        Self::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get \
             version/kind; json parse error: {why} ({sent})"
        ))
    }

    /// 403: the user may not do this.
    pub(crate) fn unauthorized(user: &User, access: &Access) -> Self {
        let who = &user.name;
        if let Some(path) = &access.path {
            let text = format!("forbidden: User \"{who}\" cannot {} path \"{path}\"", access.verb);
            let mut refusal = Self::new(403, "Forbidden", text);
            refusal.details = Some(json!({}));
            return refusal;
        }
        let resource = match access.subresource.as_str() {
            "" => access.resource.clone(),
            sub => format!("{}/{sub}", access.resource),
        };
        let place = match access.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace \"{namespace}\""),
        };
        let key = match access.group.as_str() {
            "" => access.resource.clone(),
            group => format!("{}.{group}", access.resource),
        };
        let subject = match access.name.as_str() {
            "" => key,
            name => format!("{key} \"{name}\""),
        };
        let text = format!(
            "{subject} is forbidden: User \"{who}\" cannot {} resource \"{resource}\" in API \
             group \"{}\" {place}",
            access.verb, access.group
        );
        let mut refusal = Self::new(403, "Forbidden", text);
        refusal.details = Some(details(&access.resource, &access.group, &access.name));
        refusal
    }

    /// A response that refuses, as the refusal that it was.
    pub(crate) fn from_response(response: &Response) -> Self {
        let body = &response.body;
        let word = |key: &str| body[key].as_str().unwrap_or("").to_owned();
        Self {
            code: response.status,
            reason: Cow::Owned(word("reason")),
            message: word("message"),
            details: body.get("details").cloned(),
        }
    }

    /// 429: not now.
    pub(crate) fn too_many_requests(message: &str, cause: &str, retry_secs: Option<u64>) -> Self {
        let mut refusal = Self::new(429, "TooManyRequests", message);
        let mut about = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
        if let Some(secs) = retry_secs {
            about["retryAfterSeconds"] = secs.into();
        }
        refusal.details = Some(about);
        refusal
    }

    /// 500.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let message: String = message.into();
        let mut refusal =
            Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        refusal.details = Some(json!({"causes": [{"message": message}]}));
        refusal
    }

    /// 500 without a reason, as errors of the storage layer come out.
    pub(crate) fn storage(message: &str) -> Self {
        Self::new(500, "", message)
    }

    /// 501: real servers can do this, this one can't yet.
    pub(crate) fn not_modelled(what: &str) -> Self {
        Self::new(501, "NotImplemented", format!("{what} is not modelled yet"))
    }

    /// 501: real servers can do this, and there is a reason why this one can't.
    pub(crate) fn unable(what: &str, why: &str) -> Self {
        Self::new(501, "NotImplemented", format!("{what} is not modelled: {why}"))
    }

    /// 501: nothing here would act on an object of this kind.
    pub(crate) fn not_made(kind: &Kind) -> Self {
        let text = format!("{} can't be made here: {}", kind.key, kind.refuses);
        Self::new(501, "NotImplemented", text).about(kind, "")
    }

    /// The refusal as a response.
    pub(crate) fn response(self) -> Response {
        let mut body = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            body["reason"] = self.reason.into_owned().into();
        }
        if let Some(about) = self.details {
            body["details"] = about;
        }
        Response { status: self.code, body: Arc::new(body) }
    }
}

fn details(resource: &str, group: &str, name: &str) -> Value {
    let mut map = Map::new();
    if !name.is_empty() {
        map.insert("name".into(), name.into());
    }
    if !group.is_empty() {
        map.insert("group".into(), group.into());
    }
    map.insert("kind".into(), resource.into());
    Value::Object(map)
}

/// 200 about an object that is gone.
pub(crate) fn deleted(kind: &Kind, name: &str, uid: &str) -> Response {
    let mut about = details(kind.resource, kind.group, name);
    about["uid"] = uid.into();
    Response {
        status: 200,
        body: Arc::new(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": about,
        })),
    }
}

/// 201 for something done that made no object: a binding, an eviction.
pub(crate) fn done() -> Response {
    Response {
        status: 201,
        body: Arc::new(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        })),
    }
}

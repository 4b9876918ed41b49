//! `AdmissionReview` v1: what a webhook is told, and what it answers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Operation;
use crate::{
    Method, Request,
    kube::{
        Call, base64,
        object::{self, text},
    },
};

/// The write that admission is about.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) operation: Operation,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Arc<Value>>,
}

/// What a webhook decided.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Allowed {
        /// A JSON patch.
        patch: Option<Value>,
    },
    Denied {
        code: u16,
        reason: String,
        message: String,
    },
}

/// The review that a webhook gets, in the version that was asked for.
pub(super) fn request(uid: &str, subject: &Subject<'_>) -> Value {
    request_in(uid, subject, subject.call.target.version)
}

/// The review that a webhook gets, in a version that it knows.
pub(super) fn request_in(uid: &str, subject: &Subject<'_>, version: &str) -> Value {
    let target = &subject.call.target;
    let kind = target.kind;
    let group = kind.group;
    // Some parts of objects have a kind of their own.
    let (kind_group, own) = match (kind.key, target.subresource) {
        ("pods", Some("binding")) => ("", "Binding"),
        ("pods", Some("eviction")) => ("policy", "Eviction"),
        (_, Some("scale")) => ("autoscaling", "Scale"),
        _ => (group, kind.kind),
    };
    let gvk = |version: &str| json!({"group": kind_group, "version": version, "kind": own});
    let gvr =
        |version: &str| json!({"group": group, "version": version, "resource": kind.resource});
    let named = subject.object.map_or("", |object| object::name(object));
    let mut request = json!({
        "uid": uid,
        "kind": gvk(version),
        "resource": gvr(version),
        "requestKind": gvk(target.version),
        "requestResource": gvr(target.version),
        "name": target.name.unwrap_or(named),
        "operation": subject.operation.as_str(),
        "userInfo": user_info(subject.call.request),
        "dryRun": subject.call.request.query("dryRun").is_some(),
        "options": options(subject),
    });
    // Large values are set: `json!` would take them apart and build them anew.
    let whole = kind_group == group && own == kind.kind;
    let shown = |object: &Value| match whole {
        true => kind.in_version(version, object),
        false => object.clone(),
    };
    request["object"] = subject.object.map(shown).into();
    request["oldObject"] = subject.old.map(|old| shown(old)).into();
    if !target.namespace.is_empty() {
        request["namespace"] = target.namespace.into();
    }
    if let Some(sub) = target.subresource {
        request["subResource"] = sub.into();
        request["requestSubResource"] = sub.into();
    }
    let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    review["request"] = request;
    review
}

/// What the request asks for beside the object.
fn options(subject: &Subject<'_>) -> Value {
    let request = subject.call.request;
    let kind = match (subject.operation, request.method) {
        (Operation::Delete, _) => "DeleteOptions",
        (_, Method::Post) => "CreateOptions",
        (_, Method::Put) => "UpdateOptions",
        _ => "PatchOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    for key in ["fieldManager", "fieldValidation"] {
        if let Some(value) = request.query(key) {
            options[key] = value.into();
        }
    }
    if request.query("dryRun").is_some() {
        options["dryRun"] = json!(["All"]);
    }
    if let (Operation::Delete, Some(Value::Object(body))) = (subject.operation, &request.body) {
        for key in ["gracePeriodSeconds", "preconditions", "propagationPolicy"] {
            if let Some(value) = body.get(key) {
                options[key] = value.clone();
            }
        }
    }
    options
}

/// Who asks: with the groups that authentication found, or those that everybody has.
fn user_info(request: &Request) -> Value {
    let user = request.user.as_str();
    if !request.groups.is_empty() {
        return json!({"username": user, "groups": request.groups});
    }
    let mut groups = vec![];
    if let Some(account) = user.strip_prefix("system:serviceaccount:") {
        groups.push("system:serviceaccounts".to_owned());
        let namespace = account.split(':').next().unwrap_or("");
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    if user.starts_with("system:node:") {
        groups.push("system:nodes".to_owned());
    }
    groups.push("system:authenticated".to_owned());
    json!({"username": user, "groups": groups})
}

/// What a webhook wants the client to be told.
pub(super) fn warnings(answer: &Value) -> Vec<String> {
    let all = object::items(answer, &["response", "warnings"]).iter();
    all.filter_map(Value::as_str).map(Into::into).collect()
}

/// Reads a webhook's answer.
pub(super) fn verdict(uid: &str, answer: &Value) -> Result<Verdict, String> {
    let Some(response) = object::at(answer, &["response"]) else {
        return Err("webhook response was absent".into());
    };
    let given = text(response, &["uid"]);
    if given != uid {
        return Err(format!("expected response.uid=\"{uid}\", got \"{given}\""));
    }
    let Some(allowed) = response["allowed"].as_bool() else {
        return Err("response.allowed is not a boolean".into());
    };
    if allowed {
        let patch = read_patch(response)?;
        return Ok(Verdict::Allowed { patch });
    }
    let code = response["status"]["code"].as_u64();
    let code = code.and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400);
    Ok(Verdict::Denied {
        code: code.unwrap_or(400),
        reason: text(response, &["status", "reason"]).to_owned(),
        message: text(response, &["status", "message"]).to_owned(),
    })
}

/// The patch: Base64 as Go writes bytes, or a list of numbers as Rust does.
fn read_patch(response: &Value) -> Result<Option<Value>, String> {
    let bytes = match &response["patch"] {
        Value::Null => return Ok(None),
        Value::String(coded) => base64::decode(coded),
        Value::Array(list) => {
            list.iter().map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect()
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let bytes = bytes.ok_or("response.patch is neither base64 nor a list of bytes")?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if response["patchType"] != "JSONPatch" {
        return Err("webhook returned response.patch but not response.patchType".into());
    }
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| format!("response.patch is not JSON: {error}"))
}

/// How a denial reads.
pub(super) fn denial(hook: &str, reason: &str, message: &str) -> String {
    let denied = format!("admission webhook \"{hook}\" denied the request");
    match (message, reason) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_come_as_base64_or_as_bytes() {
        let bytes = br#"[{"op":"remove","path":"/a"}]"#;
        for patch in [json!(base64::encode(bytes)), json!(bytes.to_vec())] {
            let answer = json!({"response": {"uid": "u", "allowed": true, "patch": patch, "patchType": "JSONPatch"}});
            let patch = json!([{"op": "remove", "path": "/a"}]);
            assert_eq!(verdict("u", &answer), Ok(Verdict::Allowed { patch: Some(patch) }));
        }
    }

    #[test]
    fn answers_that_are_none_are_errors() {
        let table = [
            (json!({}), "webhook response was absent"),
            (
                json!({"response": {"uid": "v", "allowed": true}}),
                "expected response.uid=\"u\", got \"v\"",
            ),
            (json!({"response": {"uid": "u"}}), "response.allowed is not a boolean"),
            (
                json!({"response": {"uid": "u", "allowed": true, "patch": "W10="}}),
                "webhook returned response.patch but not response.patchType",
            ),
        ];
        for (answer, expected) in table {
            assert_eq!(verdict("u", &answer), Err(expected.to_owned()));
        }
    }
}

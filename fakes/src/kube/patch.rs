//! Patches of three kinds, applied to a copy of the object; the result is written like a PUT.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Call, KubeApi,
    admission::Webhooks,
    object,
    status::Refusal,
    strategic,
    watch::shown,
    write::{By, Part},
};
use crate::{Method, Response};

const CUSTOM_ACCEPTS: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

impl KubeApi {
    pub(crate) fn patch(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        if call.request.method == Method::Apply {
            return self.apply(call, hooks, name, Part::Main);
        }
        let stored = self.patch_part(call, hooks, name, Part::Main)?;
        let body = shown(call.target.kind, call.target.version, &stored);
        Ok(Response { status: 200, body })
    }

    /// PATCH of an object or of its status.
    pub(crate) fn patch_part(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
        part: Part,
    ) -> Result<Arc<Value>, Refusal> {
        let old = self.existing(&call.target, name)?.clone();
        let current = shown(call.target.kind, call.target.version, &old);
        let patched = apply(call, &current)?;
        let new = self.read_object(call, patched)?;
        if object::name(&new) != name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({name})",
                object::name(&new)
            )));
        }
        self.replace(call, hooks, &old, new, part, By::Patch)
    }
}

/// What the call's patch makes of `current`.
pub(crate) fn apply(call: &Call<'_>, current: &Value) -> Result<Value, Refusal> {
    let empty = Value::Null;
    let body = call.request.body.as_ref().unwrap_or(&empty);
    let mut new = current.clone();
    match call.request.method {
        Method::JsonPatch => apply_json(&mut new, body)?,
        Method::StrategicPatch if call.target.kind.custom => {
            return Err(Refusal::unsupported_patch(CUSTOM_ACCEPTS));
        }
        Method::StrategicPatch | Method::MergePatch if !body.is_object() => {
            return Err(Refusal::bad_request("the patch is not a JSON object"));
        }
        Method::StrategicPatch => {
            strategic::merge(&mut new, body).map_err(Refusal::bad_request)?;
        }
        Method::Apply => return Err(Refusal::not_modelled("server-side apply")),
        Method::MergePatch | Method::Get | Method::Post | Method::Put | Method::Delete => {
            json_patch::merge(&mut new, body);
        }
    }
    Ok(new)
}

/// Applies a JSON patch; used by admission too.
pub(crate) fn apply_json(object: &mut Value, patch: &Value) -> Result<(), Refusal> {
    let patch: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}")))?;
    json_patch::patch(object, &patch).map_err(|_| Refusal::patch_rejected())
}

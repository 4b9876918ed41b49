//! Admission: webhooks in the write path.

use std::sync::Arc;

use drawbridge_sim::Time;
use serde_json::Value;

use super::{Call, KubeApi, kinds::Kind, status::Refusal, validate::FieldError};

/// Whoever answers admission webhooks.
pub trait Webhooks {
    /// Calls the webhook at `path` with an `AdmissionReview`; the answer is one too.
    /// An error means that it could not be reached.
    fn call(&mut self, now: Time, path: &str, review: &Value) -> Result<Value, String>;
}

/// Nobody answers.
pub struct NoWebhooks;

impl Webhooks for NoWebhooks {
    fn call(&mut self, _now: Time, path: &str, _review: &Value) -> Result<Value, String> {
        Err(format!("nobody serves {path}"))
    }
}

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

#[derive(Clone)]
pub(crate) struct Hook;

impl KubeApi {
    pub(crate) fn refresh_hooks(&mut self, _kind: &Kind) {}

    pub(crate) fn mutate(
        &mut self,
        _call: &Call<'_>,
        _hooks: &mut dyn Webhooks,
        _operation: Operation,
        object: Value,
        _old: Option<&Arc<Value>>,
    ) -> Result<Value, Refusal> {
        Ok(object)
    }

    pub(crate) fn validate_by_hooks(
        &mut self,
        _call: &Call<'_>,
        _hooks: &mut dyn Webhooks,
        _operation: Operation,
        _object: Option<&Value>,
        _old: Option<&Arc<Value>>,
    ) -> Result<(), Refusal> {
        Ok(())
    }
}

pub(crate) fn defaults(_object: &mut Value) {}
pub(crate) fn validate(_object: &Value) -> Vec<FieldError> {
    vec![]
}

//! Admission: webhooks in the path of every write.
//!
//! ```text
//!  create, update ─▶ mutating hooks, in order of configuration name ─▶ server validates ─▶ validating hooks
//!  delete ──────────────────────────────────────────────────────────────────────────────▶ validating hooks
//! ```
//!
//! Hooks are found in the store: the webhook configurations that are there apply from the next
//! write on. As on a real server they don't apply to webhook configurations themselves.

mod accounts;
mod builtin;
mod conditions;
mod hook;
mod review;

use std::sync::Arc;

use drawbridge_sim::Time;
use serde_json::Value;

pub(crate) use self::hook::{Hook, defaults, validate};
use self::{
    hook::Phase,
    review::{Subject, Verdict},
};
use super::{
    Call, KubeApi, decode,
    kinds::{Kind, MUTATING, VALIDATING},
    patch,
    status::Refusal,
};

/// Whoever answers admission webhooks.
pub trait Webhooks {
    /// Calls the webhook at `path` with an `AdmissionReview`; the answer is one too.
    /// An error means that it could not be reached.
    fn call(&mut self, now: Time, path: &str, review: &Value) -> Result<Value, String>;
}

/// Nobody answers.
pub struct NoWebhooks;

impl Webhooks for NoWebhooks {
    fn call(&mut self, _now: Time, _path: &str, _review: &Value) -> Result<Value, String> {
        Err("connection refused".into())
    }
}

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// The operation as webhooks name it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

impl KubeApi {
    /// Reads the webhook configurations again if one of them may have changed.
    pub(crate) fn refresh_hooks(&mut self, kind: &Kind) {
        if ![MUTATING, VALIDATING].contains(&kind.key) {
            return;
        }
        let mutating = self.list(MUTATING).flat_map(|it| hook::of(it, Phase::Mutating));
        let validating = self.list(VALIDATING).flat_map(|it| hook::of(it, Phase::Validating));
        self.hooks = mutating.chain(validating).collect();
    }

    /// Lets the mutating webhooks change an object that is about to be written.
    pub(crate) fn mutate(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        operation: Operation,
        mut object: Value,
        old: Option<&Arc<Value>>,
    ) -> Result<Value, Refusal> {
        let all = self.hooks.clone();
        let mine: Vec<&Hook> = all.iter().filter(|hook| hook.phase == Phase::Mutating).collect();
        let mut last_change = 0;
        let mut ran = vec![false; mine.len()];
        for (place, hook) in mine.iter().enumerate() {
            let subject = Subject { call, operation, object: Some(&object), old };
            let Some(verdict) = self.ask(hooks, hook, &subject)? else {
                continue;
            };
            ran[place] = true;
            if let Some(changed) = apply(call, hook, &object, verdict)? {
                object = changed;
                last_change = place;
            }
        }
        // Those that saw an older object and care are asked once more.
        for (place, hook) in mine.iter().enumerate().take(last_change) {
            if !ran[place] || !hook.reinvoke {
                continue;
            }
            let subject = Subject { call, operation, object: Some(&object), old };
            if let Some(verdict) = self.ask(hooks, hook, &subject)?
                && let Some(changed) = apply(call, hook, &object, verdict)?
            {
                object = changed;
            }
        }
        Ok(object)
    }

    /// Asks the validating webhooks whether a write may be.
    pub(crate) fn validate_by_hooks(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&Arc<Value>>,
    ) -> Result<(), Refusal> {
        let all = self.hooks.clone();
        for hook in all.iter().filter(|hook| hook.phase == Phase::Validating) {
            let subject = Subject { call, operation, object, old };
            self.ask(hooks, hook, &subject)?;
        }
        Ok(())
    }

    /// One webhook's verdict; nothing if it isn't concerned or its failure doesn't matter.
    fn ask(
        &mut self,
        hooks: &mut dyn Webhooks,
        hook: &Hook,
        subject: &Subject<'_>,
    ) -> Result<Option<Verdict>, Refusal> {
        let concerned = hook.concerns(subject, self.namespace_labels(subject));
        let answer = match concerned {
            Ok(false) => return Ok(None),
            Ok(true) => {
                let uid = self.identities.review();
                let review = review::request(&uid, subject);
                hooks
                    .call(subject.call.now, &hook.path, &review)
                    .map_err(|why| format!("failed to call webhook: {}: {why}", hook.post()))
                    .and_then(|answer| review::verdict(&uid, &answer))
            }
            Err(why) => Err(why),
        };
        match answer {
            Ok(Verdict::Denied { code, reason, message }) => {
                let message = review::denial(&hook.name, &reason, &message);
                Err(Refusal::denied(code, reason, message))
            }
            Ok(allowed) => Ok(Some(allowed)),
            Err(_) if hook.ignores_failure => Ok(None),
            Err(why) => Err(hook.failed(&why)),
        }
    }

    /// The labels that namespaceSelectors look at; nothing for what lies outside namespaces.
    fn namespace_labels<'a>(&'a self, subject: &Subject<'a>) -> Option<&'a Value> {
        let target = &subject.call.target;
        if target.kind.key == "namespaces" {
            return Some(&subject.object.or(subject.old.map(|old| &**old))?["metadata"]["labels"]);
        }
        if target.namespace.is_empty() {
            return None;
        }
        let namespace = self.get("namespaces", "", target.namespace);
        Some(namespace.map_or(&Value::Null, |namespace| &namespace["metadata"]["labels"]))
    }
}

/// What a verdict's patch makes of the object, if it has one.
fn apply(
    call: &Call<'_>,
    hook: &Hook,
    object: &Value,
    verdict: Verdict,
) -> Result<Option<Value>, Refusal> {
    let Verdict::Allowed { patch: Some(patch) } = verdict else {
        return Ok(None);
    };
    let mut changed = object.clone();
    patch::apply_json(&mut changed, &patch).map_err(|refusal| hook.failed(&refusal.message))?;
    if let Some(map) = changed.as_object_mut() {
        let version = call.target.kind.api_version(call.target.version);
        map.insert("apiVersion".into(), version.into());
    }
    decode::object(call, changed).map(Some).map_err(|refusal| hook.failed(&refusal.message))
}

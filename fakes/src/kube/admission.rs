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
mod attempt;
mod builtin;
mod conditions;
mod configuration;
mod hook;
mod locate;
mod review;

use std::sync::Arc;

use serde_json::Value;

pub use self::{
    attempt::{Asked, Attempt, Elsewhere, NoWebhooks, Place, ReviewCall, Webhooks},
    locate::Located,
};
pub(crate) use self::{
    configuration::{defaults, validate},
    hook::Hook,
};
use self::{
    hook::Phase,
    review::{Subject, Verdict},
};
use super::{
    Call, KubeApi, decode,
    kinds::{Kind, MUTATING, VALIDATING},
    object, patch,
    path::Target,
    status::Refusal,
};

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
            let Some((verdict, version)) = self.ask(hooks, hook, &subject)? else {
                continue;
            };
            ran[place] = true;
            if let Some(changed) = apply(call, hook, version, &object, verdict)? {
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
            if let Some((verdict, version)) = self.ask(hooks, hook, &subject)?
                && let Some(changed) = apply(call, hook, version, &object, verdict)?
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
        let mut outcome = Ok(());
        // All are asked at once: only a verdict ends it, not one that has to be waited for.
        for hook in all.iter().filter(|hook| hook.phase == Phase::Validating) {
            let subject = Subject { call, operation, object, old };
            match self.ask(hooks, hook, &subject) {
                Err(refusal) if refusal.is_wait() => outcome = Err(refusal),
                Err(refusal) => return Err(refusal),
                Ok(_) => {}
            }
        }
        outcome
    }

    /// One webhook's verdict, with the version that it saw; nothing if it isn't concerned or its
    /// failure doesn't matter.
    fn ask<'a>(
        &mut self,
        hooks: &mut dyn Webhooks,
        hook: &Hook,
        subject: &Subject<'a>,
    ) -> Result<Option<(Verdict, &'a str)>, Refusal> {
        let version = match hook.concerns(subject, self.namespace_labels(subject)) {
            Ok(None) => return Ok(None),
            Ok(Some(version)) => version,
            Err(_) if hook.ignores_failure => return Ok(None),
            Err(why) => {
                let name = subject.object.map_or("", |object| object::name(object));
                let name = subject.call.target.name.unwrap_or(name);
                return Err(Refusal::forbidden(subject.call.target.kind, name, &why));
            }
        };
        let uid = self.identities.review();
        let asked = hook.call(review::request_in(&uid, subject, version));
        let answer = self
            .answer_of(hooks, subject, asked)?
            .map_err(|why| format!("failed to call webhook: {}: {why}", hook.post()))
            .and_then(|answer| {
                self.warnings.extend(review::warnings(&answer));
                review::verdict(&uid, &answer)
            });
        match answer {
            Ok(Verdict::Denied { code, reason, message }) => {
                let message = review::denial(&hook.name, &reason, &message);
                Err(Refusal::denied(code, reason, message))
            }
            Ok(allowed) => Ok(Some((allowed, version))),
            Err(_) if hook.ignores_failure => Ok(None),
            Err(why) => Err(hook.failed(&why)),
        }
    }

    /// What a webhook answers, now or from an earlier try; a refusal if it must be waited for.
    fn answer_of(
        &mut self,
        hooks: &mut dyn Webhooks,
        subject: &Subject<'_>,
        call: ReviewCall,
    ) -> Result<Result<Value, String>, Refusal> {
        if let Some(known) = self.attempt.known(&call) {
            return Ok(known);
        }
        match hooks.ask(subject.call.now, &call) {
            Asked::Answered(answer) => Ok(Ok(answer)),
            Asked::Failed(why) => Ok(Err(why)),
            Asked::Later => {
                self.attempt.want(call);
                Err(Refusal::wait())
            }
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

/// What a verdict's patch makes of the object, if it has one. The patch is about the version that the
/// webhook saw.
fn apply(
    call: &Call<'_>,
    hook: &Hook,
    version: &str,
    object: &Value,
    verdict: Verdict,
) -> Result<Option<Value>, Refusal> {
    let Verdict::Allowed { patch: Some(patch) } = verdict else {
        return Ok(None);
    };
    let failed = |refusal: Refusal| hook.failed(&refusal.message);
    let kind = call.target.kind;
    let mut changed = kind.in_version(version, object);
    patch::apply_json(&mut changed, &patch).map_err(failed)?;
    let seen = Call { target: Target { version, ..call.target }, ..call.clone() };
    let mut changed = decode::object(&seen, changed).map_err(failed)?;
    decode::to_stored(kind, version, &mut changed);
    Ok(Some(changed))
}

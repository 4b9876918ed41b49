//! The horizontal pod autoscaler, on metrics that are given instead of measured.
//!
//! ```text
//!   each metric ──▶ how many pods it asks for ──▶ the most of them
//!       ──▶ not less than was asked for a while ago (stabilization)
//!       ──▶ not faster than the policies allow, within min and max ──▶ scale
//! ```
//!
//! The real one looks every 15 s. This one looks at the same times, but only if something may have
//! changed since: a metric, the pods, the target, or a recommendation that is about to lapse.

mod limits;
mod proposal;

use std::collections::BTreeMap;

use drawbridge_sim::{Epoch, Span, Time};
use serde_json::{Value, json};

pub(crate) use self::limits::Past;
use self::{
    limits::Bounds,
    proposal::{Pods, Proposal},
};
use super::{
    controllers::Sight,
    memo::Memo,
    object::{Key, changed, count, deleting, items, set_condition, text, time},
    plan::{Plan, Subject, patch},
};
use crate::{LabelSelector, Method, Request};

pub(crate) const RESOURCE: &str = "horizontalpodautoscalers.autoscaling";
const USER: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";
const COMPONENT: &str = "horizontal-pod-autoscaler";
/// How often it looks.
const PERIOD: Span = Span::secs(15);

/// Which metric: its namespace, whose it is (nobody's in particular if empty), its name.
pub(crate) type Metrics = BTreeMap<(String, String, String), Reading>;

/// What a metric reads, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Every pod has this much.
    PerPod(u64),
    /// All pods together have this much, shared evenly.
    Total(u64),
}

/// Decides what to do about an autoscaler.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    if deleting(it) {
        return Plan::nothing();
    }
    let past = match sight.memo {
        Some(Memo::Scaled(past)) => past.clone(),
        _ => Past::default(),
    };
    let conditions = items(&it["status"]["conditions"]).to_vec();
    let mut round = Round { sight, it, past, plan: Plan::nothing(), conditions, rescaled: false };
    round.go();
    round.plan.memo = Some(Memo::Scaled(round.past));
    round.plan
}

/// When the real one would look next after `now`.
pub(crate) fn next_look(epoch: Epoch, it: &Value, now: Time) -> Time {
    let from = time(epoch, &it["metadata"]["creationTimestamp"]).unwrap_or_default();
    let since = now.as_ms().saturating_sub(from.as_ms());
    from + PERIOD.times(since / PERIOD.as_ms() + 1)
}

/// One look.
struct Round<'a> {
    sight: Sight<'a>,
    it: &'a Value,
    past: Past,
    plan: Plan,
    conditions: Vec<Value>,
    rescaled: bool,
}

/// What is scaled.
struct Target<'a> {
    object: &'a Value,
    path: String,
    replicas: u64,
    pods: Pods,
}

impl<'a> Round<'a> {
    fn go(&mut self) {
        let Some(target) = self.target() else {
            let (what, whom) = self.named();
            let message = format!("{what} \"{whom}\" not found");
            self.warn("FailedGetScale", message.clone());
            let message = format!(
                "the HPA controller was unable to get the target's current scale: {message}"
            );
            self.set("AbleToScale", false, "FailedGetScale", &message);
            return self.write(None, None, &[]);
        };
        let message = "the HPA controller was able to get the target's current scale";
        self.set("AbleToScale", true, "SucceededGetScale", message);
        let now = target.replicas;
        let last = self.sight.at.now.as_ms().saturating_sub(PERIOD.as_ms());
        self.past.begin(Time::from_ms(last), now);
        let bounds = Bounds::read(self.it);
        if now == 0 && bounds.least > 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            self.set("ScalingActive", false, "ScalingDisabled", message);
            return self.write(Some(now), Some(0), &[]);
        }
        if now > bounds.most || now < bounds.least {
            let (to, word) = match now > bounds.most {
                true => (bounds.most, "above Spec.MaxReplicas"),
                false => (bounds.least, "below Spec.MinReplicas"),
            };
            self.rescale(&target, to, &format!("Current number of replicas {word}"));
            return self.write(Some(now), Some(to), &[]);
        }
        self.by_metrics(&target, &bounds);
    }

    fn by_metrics(&mut self, target: &Target<'_>, bounds: &Bounds) {
        let now = target.replicas;
        let all = self.proposals(target);
        let (good, bad): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
        let good: Vec<Proposal> = good.into_iter().flatten().collect();
        let best = good.iter().max_by_key(|it| it.replicas);
        let first = bad.into_iter().find_map(Result::err);
        let Some(best) = best.filter(|best| first.is_none() || best.replicas >= now) else {
            return self.cannot_tell(target, first);
        };
        let message = format!(
            "the HPA was able to successfully calculate a replica count from {}",
            best.name
        );
        self.set("ScalingActive", true, "ValidMetricFound", &message);
        let at = self.sight.at.now;
        let choice = bounds.choose(at, now, best.replicas, &mut self.past);
        let (reason, message) = choice.able;
        self.set("AbleToScale", true, reason, message);
        let (limited, reason, message) = choice.limited;
        self.set("ScalingLimited", limited, reason, message);
        if choice.replicas != now {
            let why = match best.replicas > now {
                true => format!("{} above target", best.name),
                false => "All metrics below target".into(),
            };
            self.rescale(target, choice.replicas, &why);
        }
        if choice.replicas != now || best.replicas != choice.replicas {
            self.plan.wake_at(next_look(self.sight.at.epoch, self.it, at));
        }
        let shown: Vec<Value> = good.into_iter().map(|it| it.status).collect();
        self.write(Some(now), Some(choice.replicas), &shown);
    }

    /// Not all metrics are known, and those that are don't ask for more.
    fn cannot_tell(&mut self, target: &Target<'_>, why: Option<proposal::Unknown>) {
        let Some(proposal::Unknown { reason, message }) = why else { return };
        self.warn(reason, message.clone());
        let said = format!("the HPA was unable to compute the replica count: {message}");
        self.set("ScalingActive", false, reason, &said);
        let n = items(&self.it["spec"]["metrics"]).len().max(1);
        let message =
            format!("invalid metrics ({n} invalid out of {n}), first error is: {message}");
        self.warn("FailedComputeMetricsReplicas", message);
        let desired = count(&self.it["status"]["desiredReplicas"]);
        self.write(Some(target.replicas), Some(desired), &[]);
    }

    fn proposals(&self, target: &Target<'_>) -> Vec<Result<Proposal, proposal::Unknown>> {
        let (namespace, name) =
            (Key::of(self.it).namespace, text(&target.object["metadata"]["name"]));
        let usual = [json!({
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        })];
        let given = items(&self.it["spec"]["metrics"]);
        let all = if given.is_empty() { &usual } else { given };
        let read = |whose: &str, metric: &str| {
            let at = |whose: &str| {
                let key = (namespace.to_string(), whose.to_owned(), metric.to_owned());
                self.sight.metrics.get(&key).copied()
            };
            at(whose).or_else(|| at(""))
        };
        let tolerances =
            [&self.it["spec"]["behavior"]["scaleDown"], &self.it["spec"]["behavior"]["scaleUp"]];
        let ask =
            proposal::Ask { target: name, now: target.replicas, pods: &target.pods, tolerances };
        all.iter().map(|metric| ask.about(metric, &read)).collect()
    }

    fn named(&self) -> (String, String) {
        let to = &self.it["spec"]["scaleTargetRef"];
        let group = text(&to["apiVersion"]).rsplit_once('/').map_or("", |it| it.0);
        let plural = text(&to["kind"]).to_lowercase() + "s";
        let what = if group.is_empty() { plural } else { format!("{plural}.{group}") };
        (what, text(&to["name"]).to_owned())
    }

    fn target(&self) -> Option<Target<'a>> {
        let to = &self.it["spec"]["scaleTargetRef"];
        let (resource, name) = self.named();
        let scaled = ["deployments.apps", "replicasets.apps", "statefulsets.apps"];
        let scaled = scaled.into_iter().chain([super::leader_worker_set::RESOURCE]);
        let resource = scaled.into_iter().find(|it| **it == *resource)?;
        let namespace = Key::of(self.it).namespace;
        let object = self.sight.api.get(resource, &namespace, &name)?;
        let selector = match object["status"]["hpaPodSelector"].as_str() {
            Some(text) => LabelSelector::parse(text).ok()?,
            None => LabelSelector::from_object(&object["spec"]["selector"]).ok()?,
        };
        let plural = resource.split('.').next().unwrap_or_default();
        let version = text(&to["apiVersion"]);
        let all = self.sight.index.in_namespace(&namespace);
        let pods = all.filter(|pod| selector.matches(&pod.object["metadata"]["labels"]));
        Some(Target {
            object,
            path: format!("/apis/{version}/namespaces/{namespace}/{plural}/{name}/scale"),
            replicas: object["spec"]["replicas"].as_u64().unwrap_or(1),
            pods: Pods::of(pods),
        })
    }

    fn rescale(&mut self, target: &Target<'_>, to: u64, why: &str) {
        let body = json!({"spec": {"replicas": to}});
        let about = Subject::of(self.it);
        let done = format!("New size: {to}; reason: {why}");
        let failed = format!("{done}; error: ");
        self.plan.send_telling(
            Request::new(USER, Method::MergePatch, target.path.clone()).with_body(body),
            about.notes(COMPONENT, "SuccessfulRescale", done),
            about.warns(COMPONENT, "FailedRescale", failed),
        );
        self.rescaled = true;
        self.past.scaled(self.sight.at.now, target.replicas, to);
        let message = format!("the HPA controller was able to update the target scale to {to}");
        self.set("AbleToScale", true, "SucceededRescale", &message);
        let next = next_look(self.sight.at.epoch, self.it, self.sight.at.now);
        self.plan.wake_at(next);
    }

    fn warn(&mut self, reason: &str, message: String) {
        self.plan.tell(Subject::of(self.it).warns(COMPONENT, reason, message));
    }

    fn set(&mut self, kind: &str, is: bool, reason: &str, message: &str) {
        let is = if is { "True" } else { "False" };
        let new = json!({"type": kind, "status": is, "reason": reason, "message": message});
        set_condition(&mut self.conditions, new, &self.sight.at.stamp());
    }

    fn write(&mut self, now: Option<u64>, desired: Option<u64>, metrics: &[Value]) {
        let mut new = json!({"conditions": self.conditions});
        if let Some((now, desired)) = now.zip(desired) {
            new["currentReplicas"] = now.into();
            new["desiredReplicas"] = desired.into();
            if self.rescaled {
                new["lastScaleTime"] = self.sight.at.stamp().into();
            }
        }
        if !metrics.is_empty() {
            new["currentMetrics"] = metrics.into();
        }
        if changed(&self.it["status"], &new) {
            let Key { namespace, name } = Key::of(self.it);
            let path = format!(
                "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{name}/status"
            );
            self.plan.send(patch(USER, path, json!({"status": new})));
        }
    }
}

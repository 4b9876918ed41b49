//! Eviction: a delete that asks budgets first.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Call, KubeApi,
    admission::{Operation, Webhooks},
    delete::DeleteOptions,
    object::{self, items, text},
    selector::LabelSelector,
    status::{self, Refusal},
    subresource::{check_named, set_condition},
};
use crate::Response;

const BUDGETS: &str = "poddisruptionbudgets.policy";
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

impl KubeApi {
    /// Deletes a pod with grace, if its budget allows it.
    pub(super) fn evict(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let eviction = call.request.body.clone().unwrap_or(Value::Null);
        check_named(&eviction, "Eviction", name)?;
        self.validate_by_hooks(call, hooks, Operation::Create, Some(&eviction), None)?;
        let options = DeleteOptions::of(call.request, eviction.get("deleteOptions"))?;
        let pod = self.existing(&call.target, name)?.clone();
        let phase = text(&pod, &["status", "phase"]);
        let deleting = object::is_deleting(&pod);
        let ended = matches!(phase, "Succeeded" | "Failed");
        if !ended && !deleting && phase != "Pending" {
            self.spend_budget(call, &pod)?;
        }
        let pod = if ended || deleting {
            pod
        } else {
            let mut told = Value::clone(&pod);
            let condition = json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
                "lastTransitionTime": self.epoch.rfc3339(call.now),
            });
            set_condition(&mut told, condition);
            self.commit(call.target.kind, told, &call.user)
        };
        self.delete(call, &pod, &options)?;
        Ok(status::done())
    }

    /// Takes one disruption from the budget that a pod is under, or refuses.
    fn spend_budget(&mut self, call: &Call<'_>, pod: &Value) -> Result<(), Refusal> {
        let mine = |budget: &&Arc<Value>| {
            let selector = LabelSelector::from_object(&budget["spec"]["selector"]);
            let given = !budget["spec"]["selector"].is_null();
            given && selector.is_ok_and(|it| it.matches(&pod["metadata"]["labels"]))
        };
        let found: Vec<Arc<Value>> =
            self.list_in(BUDGETS, call.target.namespace).filter(mine).cloned().collect();
        let budget = match found.as_slice() {
            [] => return Ok(()),
            [budget] => budget,
            _ => {
                let why = "This pod has more than one PodDisruptionBudget, which the eviction \
                           subresource does not support.";
                return Err(Refusal::storage(why));
            }
        };
        if !is_ready(pod) && may_lose_unready(budget) {
            return Ok(());
        }
        check(budget)?;
        let mut spent = Value::clone(budget);
        let time = self.epoch.rfc3339(call.now);
        let status = object::map_mut(&mut spent, "status");
        let left = status["disruptionsAllowed"].as_i64().unwrap_or(1) - 1;
        status.insert("disruptionsAllowed".into(), left.into());
        let disrupted = status.entry("disruptedPods").or_insert(json!({}));
        disrupted[object::name(pod)] = time.into();
        if let Some(kind) = self.kinds.by_key(BUDGETS) {
            self.commit(kind, spent, &call.user);
        }
        Ok(())
    }
}

fn is_ready(pod: &Value) -> bool {
    let ready = items(pod, &["status", "conditions"]).iter().find(|it| it["type"] == "Ready");
    ready.is_some_and(|it| it["status"] == "True")
}

/// Whether a pod that isn't ready may go without being counted.
fn may_lose_unready(budget: &Value) -> bool {
    let count = |key: &str| budget["status"][key].as_i64().unwrap_or(0);
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0
}

/// Refuses what a budget doesn't allow now.
fn check(budget: &Value) -> Result<(), Refusal> {
    let (name, status) = (object::name(budget), &budget["status"]);
    let count = |key: &str| status[key].as_i64().unwrap_or(0);
    let seen = status["observedGeneration"].as_i64().unwrap_or(0);
    if seen < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Refusal::too_many_requests(REFUSED, &why, Some(10)));
    }
    if count("disruptionsAllowed") > 0 {
        return Ok(());
    }
    let condition = items(status, &["conditions"]).iter();
    let condition = condition.into_iter().find(|it| it["type"] == "DisruptionAllowed");
    let told = condition.filter(|it| it["status"] == "False" && !text(it, &["message"]).is_empty());
    let (wanted, are) = (count("desiredHealthy"), count("currentHealthy"));
    let why = match told {
        Some(it) if text(it, &["reason"]) == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed \
             sync: {}",
            text(it, &["message"])
        ),
        _ if are <= wanted => {
            format!(
                "The disruption budget {name} needs {wanted} healthy pods and has {are} currently"
            )
        }
        Some(it) => format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            text(it, &["reason"]),
            text(it, &["message"])
        ),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    };
    Err(Refusal::too_many_requests(REFUSED, &why, None))
}

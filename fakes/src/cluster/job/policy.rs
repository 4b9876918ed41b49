//! What a Job makes of pods that failed, and of indexes that succeeded.

use serde_json::Value;

use super::{
    super::{
        object::{items, text},
        pod::Pod,
    },
    indexes::Indexes,
};

/// What a failed pod means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    FailJob,
    FailIndex,
    Ignore,
    Count,
}

/// A rule of `podFailurePolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    action: Action,
    on: On,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum On {
    /// A container's exit code, which isn't 0, is listed, or isn't.
    ExitCodes { container: Option<String>, listed: bool, codes: Vec<i64> },
    /// A condition has this status.
    Conditions(Vec<(String, String)>),
}

/// What the rules say about a failed pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) action: Option<Action>,
    /// Why the Job fails, if it does.
    pub(super) message: Option<String>,
}

impl Verdict {
    /// Whether the failure counts.
    pub(super) fn counts(&self) -> bool {
        self.action != Some(Action::Ignore)
    }
}

impl Rule {
    pub(super) fn read_all(policy: &Value) -> Vec<Self> {
        items(&policy["rules"]).iter().filter_map(Self::read).collect()
    }

    fn read(rule: &Value) -> Option<Self> {
        let action = match text(&rule["action"]) {
            "FailJob" => Action::FailJob,
            "FailIndex" => Action::FailIndex,
            "Ignore" => Action::Ignore,
            "Count" => Action::Count,
            // The API server refuses others.
            _ => return None,
        };
        let codes = &rule["onExitCodes"];
        let on = match codes.is_object() {
            true => On::ExitCodes {
                container: codes["containerName"].as_str().map(str::to_owned),
                listed: codes["operator"] == "In",
                codes: items(&codes["values"]).iter().filter_map(Value::as_i64).collect(),
            },
            false => On::Conditions(
                items(&rule["onPodConditions"])
                    .iter()
                    .map(|it| {
                        let status = it["status"].as_str().unwrap_or("True");
                        (text(&it["type"]).to_owned(), status.to_owned())
                    })
                    .collect(),
            ),
        };
        Some(Self { action, on })
    }

    /// Why the rule fits the pod, if it does.
    fn fits(&self, pod: &Pod) -> Option<String> {
        let status = &pod.object["status"];
        match &self.on {
            On::ExitCodes { container, listed, codes } => {
                let lists = ["containerStatuses", "initContainerStatuses"];
                let mut all = lists.iter().flat_map(|list| items(&status[*list]));
                all.find_map(|it| {
                    let code = it["state"]["terminated"]["exitCode"].as_i64()?;
                    let named = container.as_ref().is_none_or(|name| it["name"] == name.as_str());
                    let fits = named && code != 0 && codes.contains(&code) == *listed;
                    let name = text(&it["name"]);
                    fits.then(|| {
                        format!("Container {name} for pod {} failed with exit code {code}", pod.key)
                    })
                })
            }
            On::Conditions(wanted) => items(&status["conditions"]).iter().find_map(|it| {
                let (kind, is) = (text(&it["type"]), text(&it["status"]));
                let fits = wanted.iter().any(|(want, status)| want == kind && status == is);
                fits.then(|| format!("Pod {} has condition {kind}", pod.key))
            }),
        }
    }
}

/// The first rule that fits a failed pod decides.
pub(super) fn judge(rules: &[Rule], pod: &Pod) -> Verdict {
    for (at, rule) in rules.iter().enumerate() {
        if let Some(why) = rule.fits(pod) {
            let message = (rule.action == Action::FailJob)
                .then(|| format!("{why} matching FailJob rule at index {at}"));
            return Verdict { action: Some(rule.action), message };
        }
    }
    Verdict { action: None, message: None }
}

/// The `successPolicy` rule that the indexes which succeeded fulfil.
pub(super) fn success(policy: &Value, completions: u64, done: &Indexes) -> Option<String> {
    if done.len() == 0 {
        return None;
    }
    let met = |rule: &Value| {
        let enough = rule["succeededCount"].as_u64();
        match rule["succeededIndexes"].as_str() {
            Some(text) => {
                let wanted = Indexes::parse(text, completions);
                let common = wanted.common(done);
                wanted.len() > 0
                    && (common == wanted.len() || enough.is_some_and(|enough| enough <= common))
            }
            None => enough.is_some_and(|enough| enough <= done.len()),
        }
    };
    let at = items(&policy["rules"]).iter().position(met)?;
    Some(format!("Matched rules at index {at}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drawbridge_sim::Epoch;
    use serde_json::json;

    use super::*;

    fn failed(code: i64, condition: &str) -> Pod {
        let object = json!({
            "metadata": {"name": "p", "namespace": "d", "uid": "u"},
            "status": {
                "phase": "Failed",
                "conditions": [{"type": condition, "status": "True"}],
                "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": code}}}],
            },
        });
        Pod::read(Epoch::DEFAULT, &Arc::new(object), 1, None)
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = Rule::read_all(&json!({"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 2]}},
        ]}));
        let told = |pod: &Pod| {
            let Verdict { action, message } = judge(&rules, pod);
            let action = action.map_or("-".to_owned(), |it| format!("{it:?}"));
            format!("{action} {}", message.unwrap_or_default())
        };
        assert_eq!(told(&failed(42, "DisruptionTarget")), "Ignore ");
        assert_eq!(
            told(&failed(42, "Ready")),
            "FailJob Container main for pod d/p failed with exit code 42 matching FailJob rule at index 1"
        );
        assert_eq!(told(&failed(3, "Ready")), "FailIndex ");
        assert_eq!(told(&failed(1, "Ready")), "- ");
    }

    #[test]
    fn a_success_policy_names_indexes_a_count_or_both() {
        let done: Indexes = [0, 2, 3].into_iter().collect();
        #[rustfmt::skip]
        let rows = [
            (json!([{"succeededIndexes": "0,2-3"}]),                        Some(0)),
            (json!([{"succeededIndexes": "0-2"}]),                          None),
            (json!([{"succeededIndexes": "0-2", "succeededCount": 2}]),     Some(0)),
            (json!([{"succeededCount": 4}, {"succeededCount": 3}]),         Some(1)),
        ];
        for (rules, expected) in rows {
            let met = success(&json!({"rules": rules}), 5, &done);
            let expected = expected.map(|at: usize| format!("Matched rules at index {at}"));
            assert_eq!(met, expected, "{rules}");
        }
    }
}

//! What a Job asks for.

use serde_json::{Value, json};

use super::{
    super::{
        object::{items, text},
        pod::COMPLETION_INDEX,
    },
    policy::Rule,
};

/// The parts of a Job's spec that its controller decides by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spec {
    pub(super) parallelism: u64,
    /// Without it one success ends the Job.
    pub(super) completions: Option<u64>,
    pub(super) indexed: bool,
    pub(super) backoff_limit: u64,
    /// How often each index may fail; then failures of one don't hold up another.
    pub(super) per_index: Option<u64>,
    pub(super) max_failed_indexes: Option<u64>,
    pub(super) deadline_seconds: Option<u64>,
    /// How long it stays after its end.
    pub(super) ttl_seconds: Option<u64>,
    /// Another controller looks after it.
    pub(super) managed_elsewhere: bool,
    pub(super) suspended: bool,
    /// `podReplacementPolicy: Failed`: a pod on its way out still counts.
    pub(super) replace_only_ended: bool,
    /// Containers restart in place, so restarts count as failures.
    pub(super) restarts_in_place: bool,
    /// What failed pods mean.
    pub(super) rules: Vec<Rule>,
    pub(super) success_policy: Value,
}

impl Spec {
    pub(super) fn read(job: &Value) -> Self {
        let spec = &job["spec"];
        let restart = text(&spec["template"]["spec"]["restartPolicy"]);
        let per_index = spec["backoffLimitPerIndex"].as_u64();
        let rules = Rule::read_all(&spec["podFailurePolicy"]);
        // With a failure policy only pods that ended are replaced.
        let replacement = match spec["podReplacementPolicy"].as_str() {
            Some(policy) => policy == "Failed",
            None => spec["podFailurePolicy"].is_object(),
        };
        Self {
            parallelism: spec["parallelism"].as_u64().unwrap_or(1),
            completions: match (&spec["completions"], &spec["parallelism"]) {
                (Value::Null, Value::Null) => Some(1),
                (completions, _) => completions.as_u64(),
            },
            indexed: spec["completionMode"] == "Indexed",
            backoff_limit: spec["backoffLimit"].as_u64().unwrap_or(if per_index.is_some() {
                i32::MAX as u64
            } else {
                6
            }),
            per_index,
            max_failed_indexes: spec["maxFailedIndexes"].as_u64(),
            deadline_seconds: spec["activeDeadlineSeconds"].as_u64(),
            ttl_seconds: spec["ttlSecondsAfterFinished"].as_u64(),
            managed_elsewhere: spec["managedBy"]
                .as_str()
                .is_some_and(|by| by != "kubernetes.io/job-controller"),
            suspended: spec["suspend"] == true,
            replace_only_ended: replacement,
            restarts_in_place: restart == "OnFailure",
            rules,
            success_policy: spec["successPolicy"].clone(),
        }
    }

    /// How many indexes there are.
    pub(super) fn indexes(&self) -> u64 {
        self.completions.unwrap_or(0)
    }

    /// How many pods should be active.
    pub(super) fn wanted(&self, active: usize, succeeded: u64) -> usize {
        let want = match self.completions {
            Some(completions) => completions.saturating_sub(succeeded).min(self.parallelism),
            // A work queue: after the first success nobody new is started.
            None if succeeded > 0 => active as u64,
            None => self.parallelism,
        };
        usize::try_from(want).unwrap_or(usize::MAX)
    }

    /// Whether so many successes are enough.
    pub(super) fn satisfied(&self, active: usize, succeeded: u64) -> bool {
        match self.completions {
            Some(completions) => completions <= succeeded && active == 0,
            None => succeeded > 0 && active == 0,
        }
    }
}

/// Tells a pod of an Indexed Job which index it is, in the four places where programs look.
pub(super) fn give_index(pod: &mut Value, job: &str, index: u64) {
    let metadata = &mut pod["metadata"];
    metadata["annotations"][COMPLETION_INDEX] = index.to_string().into();
    metadata["labels"][COMPLETION_INDEX] = index.to_string().into();
    let spec = &mut pod["spec"];
    spec["hostname"] = format!("{job}-{index}").into();
    let variable = json!({
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {
            "fieldPath": format!("metadata.labels['{COMPLETION_INDEX}']"),
        }},
    });
    for list in ["initContainers", "containers"] {
        let containers = spec[list].as_array_mut().into_iter().flatten();
        for container in containers {
            let mut env = items(&container["env"]).to_vec();
            if env.iter().all(|it| it["name"] != variable["name"]) {
                env.push(variable.clone());
            }
            container["env"] = env.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pods_are_wanted_as_successes_are_missing() {
        #[rustfmt::skip]
        let rows = [
            // completions  parallelism  active  succeeded  wanted
            (Some(10),      3,           0,      0,         3),
            (Some(10),      3,           3,      8,         2),
            (Some(10),      3,           0,      10,        0),
            (None,          3,           0,      0,         3),
            (None,          3,           2,      1,         2),
        ];
        for (completions, parallelism, active, succeeded, wanted) in rows {
            let job = json!({"spec": {"completions": completions, "parallelism": parallelism}});
            let spec = Spec::read(&job);
            assert_eq!(spec.wanted(active, succeeded), wanted, "{job} {active} {succeeded}");
        }
    }
}

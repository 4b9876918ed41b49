//! A job to submit, as `v0.0.42_job_submit_req`.

use drawbridge_core::slurm::{Memory, Submission};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::slurm::wire::flagged;

/// The whole request body.
pub(super) fn body(job: &Submission) -> Value {
    json!({"job": description(job)})
}

fn description(job: &Submission) -> Value {
    // Destructured so that a new field can't be forgotten here.
    let Submission {
        name,
        script,
        partition,
        account,
        qos,
        reservation,
        wckey,
        licenses,
        constraints,
        user_id,
        group_id,
        tasks,
        cpus_per_task,
        memory,
        tres_per_task,
        tres_per_node,
        min_nodes,
        max_nodes,
        excluded_nodes,
        time_limit_minutes,
        priority,
        exclusive,
        admin_comment,
        mcs_label,
    } = job;
    let mut body = Body(surroundings());
    body.set("name", Some(name));
    body.set("script", Some(script));
    body.set("partition", partition.as_ref().map(|name| name.as_str()));
    body.set("account", account.as_ref());
    body.set("qos", qos.as_ref());
    body.set("reservation", reservation.as_ref());
    body.set("wckey", wckey.as_ref());
    body.set("licenses", licenses.as_ref());
    body.set("constraints", constraints.as_ref());
    body.set("user_id", user_id.as_ref());
    body.set("group_id", group_id.as_ref());
    body.set("tasks", Some(*tasks));
    body.set("cpus_per_task", Some(*cpus_per_task));
    match memory {
        Memory::PerNode(mib) => body.set("memory_per_node", Some(flagged(*mib))),
        Memory::PerCpu(mib) => body.set("memory_per_cpu", Some(flagged(*mib))),
    }
    body.set("tres_per_task", tres_per_task.as_ref());
    body.set("tres_per_node", tres_per_node.as_ref());
    body.set("minimum_nodes", *min_nodes);
    body.set("maximum_nodes", *max_nodes);
    let excluded: Vec<&str> = excluded_nodes.iter().map(|node| node.as_str()).collect();
    body.set("excluded_nodes", (!excluded.is_empty()).then_some(excluded));
    body.set("time_limit", time_limit_minutes.map(|minutes| flagged(minutes.into())));
    body.set("priority", priority.map(|priority| flagged(priority.into())));
    // `exclusive` is an unknown field in this version: ignored with a warning, and the job shares.
    body.set("shared", exclusive.then_some(["none"]));
    body.set("admin_comment", Some(admin_comment));
    body.set("mcs_label", mcs_label.as_ref());
    Value::Object(body.0)
}

/// What a placeholder needs around its script: slurmctld refuses a job without an environment or a
/// directory, and its output interests nobody.
fn surroundings() -> Map<String, Value> {
    let fixed = [
        ("environment", json!(["PATH=/usr/bin:/bin"])),
        ("current_working_directory", json!("/tmp")),
        ("standard_output", json!("/dev/null")),
        ("standard_error", json!("/dev/null")),
    ];
    fixed.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// An object in which what is unset is left out.
struct Body(Map<String, Value>);

impl Body {
    fn set(&mut self, key: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), json!(value));
        }
    }
}

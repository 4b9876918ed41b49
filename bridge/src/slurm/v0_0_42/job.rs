//! Jobs as v0.0.42 describes them.

use drawbridge_core::slurm::{NodeAllocation, ObservedJob, ObservedState};
use drawbridge_sim::{JobId, PartitionName, SlurmNode};
use serde_json::Value;

use crate::slurm::wire::{self, Garbled};

/// The answer of `jobs/state`. Array tasks (`17_0`) and parts of het jobs (`17+1`) are left out:
/// the bridge submits neither, and they have no number of their own here.
pub(super) fn states(body: &Value) -> Result<Vec<(JobId, ObservedState)>, Garbled> {
    let mut states = Vec::new();
    for (i, job) in wire::list(body, "jobs")?.iter().enumerate() {
        let whole = || format!("jobs[{i}]");
        let id = state_id(job).map_err(|error| error.within(&whole()))?;
        if let Some(id) = id {
            let state = observed(&job["state"]).map_err(|error| error.within(&whole()))?;
            states.push((id, state));
        }
    }
    Ok(states)
}

fn state_id(job: &Value) -> Result<Option<JobId>, Garbled> {
    let text = wire::text(job, "job_id")?;
    if text.contains(['_', '+', '.']) {
        return Ok(None);
    }
    let number = text.parse().map_err(|_| Garbled::new("job_id", "a job number"))?;
    Ok(Some(JobId(number)))
}

/// The jobs of `jobs` or `job/{id}`.
pub(super) fn jobs(body: &Value) -> Result<Vec<ObservedJob>, Garbled> {
    let jobs = wire::list(body, "jobs")?.iter().enumerate();
    jobs.map(|(i, job)| one(job).map_err(|error| error.within(&format!("jobs[{i}]")))).collect()
}

fn one(job: &Value) -> Result<ObservedJob, Garbled> {
    Ok(ObservedJob {
        id: JobId(wire::small(job, "job_id")?),
        state: observed(&job["job_state"])?,
        reason: said(job, "state_reason").filter(|reason| reason != "None"),
        reason_text: said(job, "state_description"),
        admin_comment: wire::text_or_empty(job, "admin_comment"),
        submit_time: moment(&job["submit_time"]).unwrap_or(0),
        allocation: allocation(&job["job_resources"])?,
        start_time: moment(&job["start_time"]),
        end_time: moment(&job["end_time"]),
        partition: PartitionName::from(wire::text_or_empty(job, "partition")),
    })
}

fn said(job: &Value, key: &str) -> Option<String> {
    Some(wire::text_or_empty(job, key)).filter(|text| !text.is_empty())
}

/// Seconds since the epoch; Slurm writes 0 for "not known".
fn moment(value: &Value) -> Option<u64> {
    wire::number(value).filter(|&seconds| seconds != 0)
}

/// What the job has on each node, in the order of its node list. Nothing while it waits.
fn allocation(resources: &Value) -> Result<Vec<NodeAllocation>, Garbled> {
    let Some(nodes) = resources["nodes"]["allocation"].as_array() else {
        return Ok(Vec::new());
    };
    let mut nodes: Vec<&Value> = nodes.iter().collect();
    // Stable: where the index is left out, the order of the list is kept.
    nodes.sort_by_key(|node| wire::number(&node["index"]).unwrap_or(0));
    nodes.into_iter().map(on_node).collect()
}

fn on_node(node: &Value) -> Result<NodeAllocation, Garbled> {
    let within = |error: Garbled| error.within("job_resources");
    Ok(NodeAllocation {
        node: SlurmNode::from(wire::text(node, "name").map_err(within)?),
        cpus: wire::small(&node["cpus"], "count").map_err(within)?,
    })
}

/// A state is a list: one base state, and flags beside it.
fn observed(value: &Value) -> Result<ObservedState, Garbled> {
    let words = wire::words(value);
    if words.clone().next().is_none() {
        return Err(Garbled::new("job_state", "a list of words"));
    }
    let flag = |name: &str| words.clone().any(|word| word == name);
    let mut bases = words.clone().filter_map(base);
    let state = match (bases.next(), bases.next()) {
        (Some(one), None) => one,
        _ => ObservedState::Unknown(words.clone().collect::<Vec<_>>().join("+")),
    };
    if flag("COMPLETING") {
        return Ok(ObservedState::Completing(Box::new(state)));
    }
    if state == ObservedState::Running && flag("CONFIGURING") {
        return Ok(ObservedState::Configuring);
    }
    Ok(state)
}

fn base(word: &str) -> Option<ObservedState> {
    Some(match word {
        "PENDING" => ObservedState::Pending,
        "RUNNING" => ObservedState::Running,
        "SUSPENDED" => ObservedState::Suspended,
        "COMPLETED" => ObservedState::Completed,
        "CANCELLED" => ObservedState::Cancelled,
        "FAILED" => ObservedState::Failed,
        "TIMEOUT" => ObservedState::Timeout,
        "NODE_FAIL" => ObservedState::NodeFail,
        "PREEMPTED" => ObservedState::Preempted,
        "BOOT_FAIL" => ObservedState::BootFail,
        "DEADLINE" => ObservedState::Deadline,
        "OUT_OF_MEMORY" => ObservedState::OutOfMemory,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_is_a_base_with_flags() {
        use ObservedState as S;
        let table = [
            (json!(["RUNNING"]), S::Running),
            (json!(["RUNNING", "CONFIGURING"]), S::Configuring),
            (json!(["CONFIGURING", "RUNNING", "POWER_UP_NODE"]), S::Configuring),
            (json!(["CANCELLED", "COMPLETING"]), S::Completing(Box::new(S::Cancelled))),
            (json!(["PENDING", "COMPLETING"]), S::Completing(Box::new(S::Pending))),
            (json!(["PENDING", "REQUEUE_HOLD"]), S::Pending),
            (json!(["RUNNING", "SOMETHING_NEW"]), S::Running),
            (json!(["SOMETHING_NEW"]), S::Unknown("SOMETHING_NEW".into())),
            (json!(["RUNNING", "FAILED"]), S::Unknown("RUNNING+FAILED".into())),
        ];
        for (words, state) in table {
            assert_eq!(observed(&words), Ok(state), "{words}");
        }
        assert!(observed(&json!([])).is_err());
        assert!(observed(&json!("RUNNING")).is_err());
    }

    #[test]
    fn the_allocation_is_in_the_order_of_the_node_list() {
        let node =
            |index: u32, name: &str| json!({"index": index, "name": name, "cpus": {"count": 2}});
        let resources =
            json!({"nodes": {"allocation": [node(1, "b"), node(0, "c"), node(2, "a")]}});
        let order: Vec<String> =
            allocation(&resources).unwrap().iter().map(|on| on.node.to_string()).collect();
        assert_eq!(order, ["c", "b", "a"]);
    }
}

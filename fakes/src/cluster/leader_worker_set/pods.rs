//! What the webhook of LeaderWorkerSets puts into pods: their place in the group, and how to find the
//! leader.

use serde_json::{Value, json};

use super::{
    super::{
        job_set::sha1,
        object::{items, text},
    },
    EXCLUSIVE, GROUP_INDEX, GROUP_KEY, LEADER, NAME, SIZE, SUB_EXCLUSIVE, SUB_SIZE, SUB_TYPE,
    SUBDOMAIN, WORKER_INDEX,
};

const SUB_INDEX: &str = "leaderworkerset.sigs.k8s.io/subgroup-index";
const SUB_KEY: &str = "leaderworkerset.sigs.k8s.io/subgroup-key";

/// Completes a new pod of a set; leaves others as they are.
pub(crate) fn shape(namespace: &str, pod: &mut Value) {
    let metadata = &pod["metadata"];
    let name = text(&metadata["name"]).to_owned();
    let Some((_, ordinal)) = name.rsplit_once('-') else { return };
    let Ok(ordinal) = ordinal.parse::<u64>() else { return };
    if !metadata["labels"][NAME].is_string() || !metadata["annotations"][SIZE].is_string() {
        return;
    }
    match metadata["labels"][WORKER_INDEX] == "0" {
        true => shape_leader(namespace, pod, &name, ordinal),
        false => shape_worker(pod, ordinal),
    }
    add_variables(namespace, pod);
}

fn shape_leader(namespace: &str, pod: &mut Value, name: &str, ordinal: u64) {
    let key = sha1(&format!("{namespace}/{name}"));
    pod["metadata"]["labels"][GROUP_INDEX] = ordinal.to_string().into();
    pod["metadata"]["labels"][GROUP_KEY] = key.as_str().into();
    let notes = pod["metadata"]["annotations"].clone();
    if notes[SUBDOMAIN] == "UniquePerReplica" {
        pod["spec"]["subdomain"] = name.into();
    }
    if let Some(topology) = notes[EXCLUSIVE].as_str() {
        keep_apart(pod, &key, topology, GROUP_KEY);
    }
    if notes[SUB_SIZE].is_string() && notes[SUB_TYPE] != "LeaderExcluded" {
        join_subgroup(pod, name, "0");
    }
}

fn shape_worker(pod: &mut Value, ordinal: u64) {
    pod["metadata"]["labels"][WORKER_INDEX] = ordinal.to_string().into();
    let notes = &pod["metadata"]["annotations"];
    let number = |key: &str| text(&notes[key]).parse::<u64>().ok().filter(|it| *it > 0);
    if let (Some(size), Some(part)) = (number(SIZE), number(SUB_SIZE)) {
        let leader = text(&notes[LEADER]).to_owned();
        join_subgroup(pod, &leader, &subgroup(size, part, ordinal).to_string());
    }
}

/// The subgroup of a worker. The leader is beside them if only the workers divide evenly.
fn subgroup(size: u64, part: u64, worker: u64) -> u64 {
    let extra = (size - 1).is_multiple_of(part) && !size.is_multiple_of(part);
    (worker - u64::from(extra)) / part
}

fn join_subgroup(pod: &mut Value, leader: &str, index: &str) {
    let key = sha1(&format!("{leader}/{index}"));
    pod["metadata"]["labels"][SUB_INDEX] = index.into();
    pod["metadata"]["labels"][SUB_KEY] = key.as_str().into();
    if let Some(topology) = pod["metadata"]["annotations"][SUB_EXCLUSIVE].as_str() {
        let topology = topology.to_owned();
        keep_apart(pod, &key, &topology, SUB_KEY);
    }
}

/// Pods with this key share a place, and with those of other keys they don't.
fn keep_apart(pod: &mut Value, key: &str, topology: &str, label: &str) {
    let term = |expressions: Value| json!({"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology});
    let with = term(json!([{"key": label, "operator": "In", "values": [key]}]));
    let without = term(json!([
        {"key": label, "operator": "Exists"},
        {"key": label, "operator": "NotIn", "values": [key]},
    ]));
    for (kind, term) in [("podAffinity", with), ("podAntiAffinity", without)] {
        let terms =
            &mut pod["spec"]["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"];
        let mut all = items(terms).to_vec();
        all.push(term);
        *terms = all.into();
    }
}

fn add_variables(namespace: &str, pod: &mut Value) {
    let labels = &pod["metadata"]["labels"];
    let leader = format!(
        "{}-{}.{}.{namespace}",
        text(&labels[NAME]),
        text(&labels[GROUP_INDEX]),
        text(&pod["spec"]["subdomain"]),
    );
    let own = [
        json!({"name": "LWS_LEADER_ADDRESS", "value": leader}),
        json!({"name": "LWS_GROUP_SIZE", "value": pod["metadata"]["annotations"][SIZE]}),
        json!({"name": "LWS_WORKER_INDEX", "value": labels[WORKER_INDEX]}),
    ];
    for list in ["containers", "initContainers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let given = items(&container["env"]).iter();
            let other = given.filter(|it| !own.iter().any(|own| own["name"] == it["name"]));
            let all: Vec<Value> = own.iter().chain(other).cloned().collect();
            container["env"] = all.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_divide_evenly_with_or_without_their_leader() {
        let of = |size, part| (1..size).map(|it| subgroup(size, part, it)).collect::<Vec<_>>();
        assert_eq!(of(4, 2), [0, 1, 1], "the leader is in the first");
        assert_eq!(of(5, 2), [0, 0, 1, 1], "the leader is beside the first");
        assert_eq!(of(3, 1), [1, 2]);
    }
}

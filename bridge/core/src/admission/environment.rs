//! Slurm's variables for the containers of a pod that is one of several.
//!
//! Each is a `fieldRef` to an annotation that is written before the pod is bound
//! ([`placement`](crate::placement)). `SLURM_JOBID` and `SLURM_NODELIST`, the older names, are left
//! out: by them Open MPI's `mpirun` takes a pod for a node of an allocation and calls `srun`, which
//! isn't there.

use serde_json::{Value, json};

use crate::{
    config::{Config, SlurmVariables},
    names::{
        PLACED_JOB, PLACED_LOCAL_ID, PLACED_NODE_COUNT, PLACED_NODE_ID, PLACED_NODE_LIST,
        PLACED_RANK, PLACED_RANKS, PLACED_SLURM_NODE, POD_GROUP_LABEL,
    },
};

/// Every variable with the annotation that it shows.
pub(crate) const VARIABLES: [(&str, &str); 10] = [
    ("SLURM_JOB_ID", PLACED_JOB),
    ("SLURM_JOB_NODELIST", PLACED_NODE_LIST),
    ("SLURM_JOB_NUM_NODES", PLACED_NODE_COUNT),
    ("SLURM_NNODES", PLACED_NODE_COUNT),
    ("SLURM_NTASKS", PLACED_RANKS),
    ("SLURM_NPROCS", PLACED_RANKS),
    ("SLURM_PROCID", PLACED_RANK),
    ("SLURM_NODEID", PLACED_NODE_ID),
    ("SLURM_LOCALID", PLACED_LOCAL_ID),
    ("SLURMD_NODENAME", PLACED_SLURM_NODE),
];

/// Labels and annotations of pods that have a rank.
const INDICES: [&str; 5] = [
    "batch.kubernetes.io/job-completion-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "jobset.sigs.k8s.io/job-global-index",
    "training.kubeflow.org/replica-index",
    POD_GROUP_LABEL,
];

/// What is added to the pod's containers, as a JSON patch.
pub(super) fn variables(config: &Config, pod: &Value) -> Vec<Value> {
    let wanted = match config.environment.slurm_variables {
        SlurmVariables::Always => true,
        SlurmVariables::Never => false,
        SlurmVariables::Ranks => is_rank(pod),
    };
    if !wanted {
        return Vec::new();
    }
    ["initContainers", "containers"].iter().flat_map(|list| for_list(pod, list)).collect()
}

fn is_rank(pod: &Value) -> bool {
    let meta = &pod["metadata"];
    let marked = |key: &&str| meta["labels"].get(key).or(meta["annotations"].get(key)).is_some();
    INDICES.iter().any(marked) || pod["spec"].get("schedulingGroup").is_some()
}

fn for_list(pod: &Value, list: &str) -> Vec<Value> {
    let containers = pod["spec"][list].as_array().map_or(&[][..], Vec::as_slice);
    let patch = |(index, container)| for_container(&format!("/spec/{list}/{index}/env"), container);
    containers.iter().enumerate().flat_map(patch).collect()
}

fn for_container(path: &str, container: &Value) -> Vec<Value> {
    let own = container["env"].as_array();
    let is_set = |name: &str| own.is_some_and(|own| own.iter().any(|it| it["name"] == name));
    let missing: Vec<Value> = VARIABLES
        .into_iter()
        .filter(|(name, _)| !is_set(name))
        .map(|(name, annotation)| {
            let field = format!("metadata.annotations['{annotation}']");
            json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": field } } })
        })
        .collect();
    match own {
        _ if missing.is_empty() => Vec::new(),
        None => vec![json!({ "op": "add", "path": path, "value": missing })],
        Some(_) => {
            let path = format!("{path}/-");
            let one = |it| json!({ "op": "add", "path": path, "value": it });
            missing.into_iter().map(one).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    fn patched(variables: SlurmVariables, pod: &Value) -> Vec<String> {
        let environment = Environment { slurm_variables: variables };
        let config = Config { environment, ..Config::as_shipped() };
        let line = |op: &Value| {
            let names = match op["value"].as_array() {
                Some(all) => format!("{} variables", all.len()),
                None => op["value"]["name"].as_str().unwrap_or_default().to_owned(),
            };
            format!("{} {names}", op["path"].as_str().unwrap_or_default())
        };
        super::variables(&config, pod).iter().map(line).collect()
    }

    #[test]
    fn ranks_learn_who_they_are_and_others_only_if_configured() {
        let containers = json!({ "containers": [{ "name": "c" }] });
        let plain = json!({ "metadata": {}, "spec": containers });
        let gang =
            json!({ "metadata": { "labels": { POD_GROUP_LABEL: "g" } }, "spec": containers });
        let indexed = json!({
            "metadata": { "annotations": { "batch.kubernetes.io/job-completion-index": "0" } },
            "spec": containers,
        });
        let all = ["/spec/containers/0/env 10 variables"];
        #[rustfmt::skip]
        let rows = [
            (SlurmVariables::Ranks,  &plain,   &[][..]),
            (SlurmVariables::Ranks,  &gang,    &all[..]),
            (SlurmVariables::Ranks,  &indexed, &all[..]),
            (SlurmVariables::Always, &plain,   &all[..]),
            (SlurmVariables::Never,  &gang,    &[][..]),
        ];
        for (variables, pod, expected) in rows {
            assert_eq!(patched(variables, pod), expected, "{variables:?} {pod}");
        }
    }

    #[test]
    fn what_a_container_sets_itself_stays() {
        let env = json!([{ "name": "SLURM_PROCID", "value": "7" }]);
        let spec = json!({ "initContainers": [{ "name": "i" }], "containers": [{ "name": "c", "env": env }] });
        let pod = json!({ "metadata": {}, "spec": spec });
        let added = patched(SlurmVariables::Always, &pod);
        assert_eq!(added.len(), 10);
        assert_eq!(added[0], "/spec/initContainers/0/env 10 variables");
        assert!(added.iter().all(|line| !line.ends_with("SLURM_PROCID")), "{added:?}");
    }
}

//! The Jobs of a JobSet: which there are, and what each is made of.

use std::sync::Arc;

use serde_json::{Value, json};
use sha1::{Digest, Sha1};

use super::{
    super::{
        object::{Key, count, holds, items, owned_by, pairs, text, uid},
        plan::{Plan, patch},
    },
    BY_SELECTOR, EXCLUSIVE, USER, job_path,
};

/// The label that names a Job's set.
pub(super) const SET: &str = "jobset.sigs.k8s.io/jobset-name";
const GROUP: &str = "jobset.sigs.k8s.io/replicatedjob-name";
const ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";

/// The Jobs of a set, by what became of them.
pub(super) struct Children<'a> {
    pub(super) active: Vec<&'a Arc<Value>>,
    pub(super) successful: Vec<&'a Arc<Value>>,
    pub(super) failed: Vec<&'a Arc<Value>>,
    /// Those of an earlier attempt.
    pub(super) previous: Vec<&'a Arc<Value>>,
}

impl<'a> Children<'a> {
    pub(super) fn sort(it: &Value, jobs: &[&'a Arc<Value>]) -> Self {
        let mut all = Self { active: vec![], successful: vec![], failed: vec![], previous: vec![] };
        let today = count(&it["status"]["restarts"]);
        for job in jobs {
            let attempt = text(&job["metadata"]["labels"][ATTEMPT]).parse::<u64>();
            let list = if attempt.is_ok_and(|attempt| attempt < today) {
                &mut all.previous
            } else if holds(job, "Complete") {
                &mut all.successful
            } else if holds(job, "Failed") {
                &mut all.failed
            } else {
                &mut all.active
            };
            list.push(*job);
        }
        all
    }

    /// Whether there is a Job of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        let all = [&self.active, &self.successful, &self.failed, &self.previous];
        all.into_iter().flatten().any(|job| job["metadata"]["name"] == name)
    }
}

/// The replicated job that a Job was made from, by name.
pub(super) fn group(job: &Value) -> &Value {
    &job["metadata"]["labels"][GROUP]
}

/// The domain in which the pods of a set have names.
pub(super) fn subdomain(it: &Value) -> &str {
    let given = text(&it["spec"]["network"]["subdomain"]);
    if given.is_empty() { text(&it["metadata"]["name"]) } else { given }
}

/// The Job of this index of a replicated job.
pub(super) fn job(it: &Value, group: &Value, index: u64) -> Value {
    let Key { namespace, name: set } = Key::of(it);
    let name = format!("{set}-{}-{index}", text(&group["name"]));
    let template = &group["template"];
    let mut spec = template["spec"].clone();
    let mut metadata = template["metadata"].clone();
    mark(&mut metadata, it, group, index, &name);
    let by_selector =
        [EXCLUSIVE, BY_SELECTOR].iter().all(|it| metadata["annotations"][*it].is_string());
    metadata["name"] = name.as_str().into();
    metadata["ownerReferences"] = json!([owned_by(it)]);
    let pods = &mut spec["template"];
    mark(&mut pods["metadata"], it, group, index, &name);
    if it["spec"]["network"]["enableDNSHostnames"] == true {
        pods["spec"]["subdomain"] = subdomain(it).into();
    }
    if by_selector {
        let value = format!("{namespace}_{name}");
        pods["spec"]["nodeSelector"]["alpha.jobset.sigs.k8s.io/namespaced-job"] = value.into();
        let mut tolerations = items(&pods["spec"]["tolerations"]).to_vec();
        tolerations.push(json!({
            "key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists",
            "effect": "NoSchedule",
        }));
        pods["spec"]["tolerations"] = tolerations.into();
    }
    spec["suspend"] = (it["spec"]["suspend"] == true).into();
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
}

/// Labels and annotations by which Jobs and pods know their place in the set.
fn mark(metadata: &mut Value, it: &Value, group: &Value, index: u64, name: &str) {
    let Key { namespace, name: set } = Key::of(it);
    let groups = items(&it["spec"]["replicatedJobs"]);
    let before = |same: &dyn Fn(&Value) -> bool| -> u64 {
        let earlier = groups.iter().take_while(|it| it["name"] != group["name"]);
        earlier.filter(|it| same(it)).map(|it| count(&it["replicas"])).sum()
    };
    let sum = |same: &dyn Fn(&Value) -> bool| -> u64 {
        groups.iter().filter(|it| same(it)).map(|it| count(&it["replicas"])).sum()
    };
    let (any, alike) = (|_: &Value| true, |other: &Value| other["groupName"] == group["groupName"]);
    let mut marks = vec![
        (SET, set.to_string()),
        ("jobset.sigs.k8s.io/jobset-uid", uid(it).to_owned()),
        (GROUP, text(&group["name"]).to_owned()),
        (ATTEMPT, count(&it["status"]["restarts"]).to_string()),
        ("jobset.sigs.k8s.io/replicatedjob-replicas", count(&group["replicas"]).to_string()),
        ("jobset.sigs.k8s.io/global-replicas", sum(&any).to_string()),
        ("jobset.sigs.k8s.io/job-index", index.to_string()),
        ("jobset.sigs.k8s.io/job-key", sha1(&format!("{namespace}/{name}"))),
        ("jobset.sigs.k8s.io/job-global-index", (before(&any) + index).to_string()),
        ("jobset.sigs.k8s.io/group-name", text(&group["groupName"]).to_owned()),
        ("jobset.sigs.k8s.io/group-replicas", sum(&alike).to_string()),
        ("jobset.sigs.k8s.io/job-group-index", (before(&alike) + index).to_string()),
    ];
    let leader = &it["spec"]["coordinator"];
    if leader.is_object() {
        let (job, pod) = (count(&leader["jobIndex"]), count(&leader["podIndex"]));
        let place =
            format!("{set}-{}-{job}-{pod}.{}", text(&leader["replicatedJob"]), subdomain(it));
        marks.push(("jobset.sigs.k8s.io/coordinator", place));
    }
    for (key, value) in marks {
        metadata["labels"][key] = value.as_str().into();
        metadata["annotations"][key] = value.into();
    }
    let places = [&it["metadata"]["annotations"], &group["template"]["metadata"]["annotations"]];
    for place in places.into_iter().filter(|place| place[EXCLUSIVE].is_string()) {
        for key in [EXCLUSIVE, BY_SELECTOR] {
            if place[key].is_string() {
                metadata["annotations"][key] = place[key].clone();
            }
        }
    }
}

/// Lets a suspended Job go on, with what was changed meanwhile of where its pods may go.
pub(super) fn resume(plan: &mut Plan, job: &Value, group: &Value) {
    let today = &group["template"]["spec"]["template"];
    let pods = &job["spec"]["template"];
    if !job["status"]["startTime"].is_null() {
        let body = json!({"status": {"startTime": null}});
        plan.send(patch(USER, job_path(job) + "/status", body));
    }
    let mut template = json!({});
    for part in ["labels", "annotations"] {
        for (key, value) in pairs(&today["metadata"][part]) {
            template["metadata"][part][key] = value.clone();
        }
    }
    for (key, value) in pairs(&today["spec"]["nodeSelector"]) {
        template["spec"]["nodeSelector"][key] = value.clone();
    }
    for part in ["tolerations", "schedulingGates"] {
        let (old, new) = (items(&pods["spec"][part]), items(&today["spec"][part]));
        if new.iter().any(|it| !old.contains(it)) {
            let more = new.iter().filter(|it| !old.contains(it));
            template["spec"][part] = old.iter().chain(more).cloned().collect();
        }
    }
    plan.send(patch(
        USER,
        job_path(job),
        json!({"spec": {"suspend": false, "template": template}}),
    ));
}

/// The SHA-1 of a text, as hexadecimal digits.
pub(crate) fn sha1(text: &str) -> String {
    Sha1::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

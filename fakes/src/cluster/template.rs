//! Pods from a controller's template.

use serde_json::{Value, json};

use super::{
    object::{owned_by, text},
    plan::{Act, PodOrder, Subject},
};

/// How many pods a controller creates or deletes in one go, as the real ones.
pub(crate) const BURST: usize = 500;

/// How many pods to create now, if `missing` are missing and `there` are there.
///
/// The real controllers try one, then two, then four: a template that is always refused costs one
/// request, not hundreds. It's also why the pods of two workloads applied together come
/// interleaved.
pub(crate) fn slow_start(there: usize, missing: usize) -> usize {
    missing.min(there + 1).min(BURST)
}

/// Creates a pod from `owner`'s template; `shape` makes the last changes to it.
pub(crate) fn create(
    user: &'static str,
    component: &'static str,
    owner: &Value,
    prefix: &str,
    shape: impl FnOnce(&mut Value),
) -> Act {
    let template = &owner["spec"]["template"];
    let mut metadata = json!({
        "generateName": prefix,
        "ownerReferences": [owned_by(owner)],
    });
    for part in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][part].is_null() {
            metadata[part] = template["metadata"][part].clone();
        }
    }
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"],
    });
    shape(&mut body);
    Act::CreatePod(PodOrder {
        user,
        component,
        owner: Subject::of(owner),
        namespace: text(&owner["metadata"]["namespace"]).into(),
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creation_doubles_up_to_a_burst() {
        let mut there = 0;
        let mut batches = vec![];
        while there < 1200 {
            let batch = slow_start(there, 1200 - there);
            batches.push(batch);
            there += batch;
        }
        assert_eq!(batches, [1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 189]);
    }
}

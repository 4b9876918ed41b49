//! Devices that Slurm chooses: claims are written before pods are bound, and never with another's device.

use serde_json::{Value, json};

use crate::{
    kube::pod_path,
    town::{Fate, Town},
};

const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims";

/// A town whose nodes have four GPUs each.
fn town() -> Town {
    let mut town = Town::new();
    for node in ["n1", "n2"] {
        let devices: Vec<_> =
            (0..4).map(|index| json!({ "name": format!("gpu-{index}") })).collect();
        let pool = json!({ "name": node, "generation": 1, "resourceSliceCount": 1 });
        let spec = json!({
            "driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices,
        });
        let slice = json!({ "metadata": { "name": node }, "spec": spec });
        town.kube.create(&format!("/apis/resource.k8s.io/v1/resourceslices/{node}"), slice);
    }
    town.start()
}

/// A pod whose container asks for GPUs by the name of their class.
fn extended(town: &mut Town, name: &str, gpus: u32) {
    let limits = json!({ "deviceclass.resource.kubernetes.io/gpu.nvidia.com": gpus });
    let containers = json!([{ "name": "c", "resources": { "limits": limits } }]);
    create(town, name, &json!({ "containers": containers }));
}

fn create(town: &mut Town, name: &str, spec: &Value) {
    let metadata = json!({ "name": name, "namespace": "a" });
    town.kube.create(&pod_path(name), json!({ "metadata": metadata, "spec": spec }));
    town.pass(1);
}

/// A claim that asks for GPUs.
fn claim(town: &mut Town, name: &str, gpus: u32) {
    let exactly = json!({ "deviceClassName": "gpu.nvidia.com", "count": gpus });
    let spec = json!({ "devices": { "requests": [{ "name": "gpus", "exactly": exactly }] } });
    let metadata = json!({ "name": name, "namespace": "a" });
    town.kube.create(&format!("{CLAIMS}/{name}"), json!({ "metadata": metadata, "spec": spec }));
}

fn claiming(claim: &str) -> Value {
    let claims = json!([{ "name": "gpu", "resourceClaimName": claim }]);
    json!({ "containers": [{ "name": "c" }], "resourceClaims": claims })
}

fn runs(town: &mut Town, job: u32, node: &str, gres: &str) {
    town.slurm(&format!("job {job} runs on {node} with {gres}"), |slurm| {
        slurm.start(job, &[(node, 1)]);
        let job = slurm.jobs.get_mut(&drawbridge_sim::JobId(job)).unwrap();
        job.gres_detail = vec![gres.into()];
    });
    town.pass(8);
}

/// The devices that the claims hold, claim by claim.
fn held(town: &Town) -> Vec<String> {
    let claims = town.kube.objects().filter(|(path, _)| path.starts_with(CLAIMS));
    claims
        .map(|(path, claim)| {
            let results = claim["status"]["allocation"]["devices"]["results"].as_array();
            let devices = results.into_iter().flatten().map(|it| it["device"].as_str().unwrap());
            let users = claim["status"]["reservedFor"].as_array().into_iter().flatten();
            let users: Vec<_> = users.map(|it| it["name"].as_str().unwrap()).collect();
            let name = path.rsplit('/').next().unwrap();
            let name = name.split("-extended").next().unwrap();
            format!("{name}: {} for {}", devices.collect::<Vec<_>>().join(" "), users.join(" "))
        })
        .collect()
}

fn is_bound(town: &Town, pod: &str) -> bool {
    town.kube.pod(pod).unwrap()["spec"]["nodeName"].is_string()
}

fn message(town: &Town, pod: &str) -> String {
    let pod = town.kube.pod(pod).unwrap();
    pod["status"]["conditions"][0]["message"].as_str().unwrap_or("nothing").to_owned()
}

#[test]
fn the_devices_that_slurm_chose_are_written_into_a_claim_before_the_pod_is_bound() {
    let mut town = town();
    extended(&mut town, "p", 2);
    town.dialogue();
    runs(&mut town, 7, "n2", "gpu:gpu.nvidia.com:2(IDX:1,3)");
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:01.000 < job 7 runs on n2 with gpu:gpu.nvidia.com:2(IDX:1,3)
    00:00:02.000     > MergePatch pods/p {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:02.000     > Post /apis/resource.k8s.io/v1/resourceclaims {"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},"generateName":"p-extended-resources-","ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":true,"kind":"Pod","name":"p","uid":"uid-p"}]},"spec":{"devices":{"requests":[{"exactly":{"allocationMode":"ExactCount","count":2,"deviceClassName":"gpu.nvidia.com"},"name":"container-0-request-0"}]}}}
    00:00:02.000     > MergePatch /apis/resource.k8s.io/v1/resourceclaims/p-extended-resources-efd50/status {"metadata":{},"status":{"allocation":{"allocationTimestamp":"2026-01-01T00:00:02Z","devices":{"config":[],"results":[{"device":"gpu-1","driver":"gpu.nvidia.com","pool":"n2","request":"container-0-request-0"},{"device":"gpu-3","driver":"gpu.nvidia.com","pool":"n2","request":"container-0-request-0"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}]}},"reservedFor":[{"name":"p","resource":"pods","uid":"uid-p"}]}}
    00:00:02.000     > MergePatch pods/p/status {"metadata":{},"status":{"extendedResourceClaimStatus":{"requestMappings":[{"containerName":"c","requestName":"container-0-request-0","resourceName":"deviceclass.resource.kubernetes.io/gpu.nvidia.com"}],"resourceClaimName":"p-extended-resources-efd50"}}}
    00:00:02.000     > bind pods/p/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    "#);
}

#[test]
fn a_named_claim_is_protected_allocated_and_reserved() {
    let mut town = town();
    claim(&mut town, "gpus", 1);
    create(&mut town, "p", &claiming("gpus"));
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(IDX:2)");
    assert_eq!(held(&town), ["gpus: gpu-2 for p"]);
    assert!(is_bound(&town, "p"));
}

#[test]
fn whatever_request_meets_its_fate_the_pod_gets_its_devices_once() {
    for fate in Fate::ALL {
        for nth in 1..=14 {
            let mut town = town();
            extended(&mut town, "p", 2);
            let before = town.n_requests();
            town.fate_of_nth(before + nth, fate);
            runs(&mut town, 7, "n2", "gpu:gpu.nvidia.com:2(IDX:0-1)");
            town.restart_if_dead();
            town.pass(60);
            assert_eq!(held(&town), ["p: gpu-0 gpu-1 for p"], "{fate:?} of request {nth}");
            assert!(is_bound(&town, "p"), "{fate:?} of request {nth}");
        }
    }
}

#[test]
fn an_exclusive_job_gets_more_devices_than_it_asked_for_and_the_pod_only_its_own() {
    let mut town = town();
    extended(&mut town, "p", 1);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:4(IDX:0-3)");
    assert_eq!(held(&town), ["p: gpu-0 for p"]);
}

#[test]
fn an_index_that_slurm_does_not_say_is_no_riddle_where_all_devices_are_the_jobs() {
    let mut town = town();
    extended(&mut town, "p", 1);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:4(CNT:4)");
    assert_eq!(held(&town), ["p: gpu-0 for p"]);
    assert!(is_bound(&town, "p"));
}

#[test]
fn an_index_that_slurm_does_not_say_is_told_and_the_job_given_back() {
    let mut town = town();
    extended(&mut town, "p", 1);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(CNT:1)");
    assert!(!is_bound(&town, "p"));
    assert_eq!(
        message(&town, "p"),
        "cannot build a device allocation: missing GRES index for gpu:gpu.nvidia.com on n1; Slurm gave 1 and doesn't say which"
    );
}

#[test]
fn a_device_that_another_claim_holds_is_waited_for() {
    let mut town = town();
    claim(&mut town, "other", 1);
    town.kube.change(&format!("{CLAIMS}/other"), |claim| {
        let result = json!({
            "request": "gpus", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0",
        });
        claim["status"]["allocation"]["devices"]["results"] = json!([result]);
        claim["status"]["reservedFor"] = json!([{ "name": "somebody", "uid": "somebody" }]);
    });
    extended(&mut town, "p", 1);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(IDX:0)");
    assert!(!is_bound(&town, "p"));
    assert_eq!(
        message(&town, "p"),
        "device gpu-0 of pool n1 is still held by ResourceClaim a/other"
    );
    town.kube.change(&format!("{CLAIMS}/other"), |claim| claim["status"] = json!({}));
    town.pass(5);
    assert!(is_bound(&town, "p"), "it has come free");
}

#[test]
fn what_a_claim_says_and_slurm_can_not_be_told_is_refused() {
    let rows = [
        (
            json!({ "firstAvailable": [{ "name": "a", "deviceClassName": "gpu.nvidia.com" }] }),
            "ResourceClaim a/gpus has firstAvailable, which Slurm can't be told: use exactly, with one device class",
        ),
        (
            json!({ "exactly": { "deviceClassName": "gpu.nvidia.com", "selectors": [{}] } }),
            "ResourceClaim a/gpus has selectors, which Slurm can't be told: use a device class that stands for a type of GRES",
        ),
        (
            json!({ "exactly": { "deviceClassName": "gpu.nvidia.com", "allocationMode": "All" } }),
            "ResourceClaim a/gpus has allocationMode: All, which Slurm can't be told: use a count",
        ),
    ];
    for (request, expected) in rows {
        let mut town = town();
        claim(&mut town, "gpus", 1);
        town.kube.change(&format!("{CLAIMS}/gpus"), |claim| {
            claim["spec"]["devices"]["requests"] = json!([request]);
            claim["spec"]["devices"]["requests"][0]["name"] = json!("gpus");
        });
        create(&mut town, "p", &claiming("gpus"));
        town.pass(5);
        assert_eq!(message(&town, "p"), expected);
    }
}

#[test]
fn a_claim_that_is_not_there_yet_is_waited_for() {
    let mut town = town();
    create(&mut town, "p", &claiming("gpus"));
    town.pass(5);
    assert_eq!(message(&town, "p"), "waiting for ResourceClaim a/gpus, which doesn't exist");
    claim(&mut town, "gpus", 1);
    town.pass(5);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(IDX:0)");
    assert!(is_bound(&town, "p"));
}

#[test]
fn the_claim_that_was_made_goes_when_the_pod_is_over() {
    let mut town = town();
    extended(&mut town, "p", 1);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(IDX:0)");
    town.phase("p", "Succeeded");
    town.pass(10);
    assert_eq!(held(&town), Vec::<String>::new());
}

#[test]
fn a_pod_that_loses_its_place_lets_go_of_its_devices() {
    let mut town = town();
    claim(&mut town, "gpus", 1);
    create(&mut town, "p", &claiming("gpus"));
    town.fate("bind", Fate::CrashBefore);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(IDX:2)");
    town.slurm("job 7 is requeued", |slurm| {
        let job = slurm.jobs.get_mut(&drawbridge_sim::JobId(7)).unwrap();
        job.state = drawbridge_core::slurm::ObservedState::PENDING;
        job.allocation.clear();
    });
    town.restart_if_dead();
    town.pass(10);
    assert_eq!(held(&town), ["gpus:  for "]);
    runs(&mut town, 7, "n1", "gpu:gpu.nvidia.com:1(IDX:3)");
    assert_eq!(held(&town), ["gpus: gpu-3 for p"]);
    assert!(is_bound(&town, "p"));
}

//! Which node the default scheduler chooses, and whom it sends away.

use drawbridge_sim::Span;
use serde_json::{Value, json};

use crate::stage::{Stage, deployment, node, pod, stateful_set};

/// `pod node` for every pod.
fn places(stage: &Stage) -> String {
    let told = stage.list("pods").into_iter().map(|pod| {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("-").to_owned();
        format!("{} {node}", pod["metadata"]["name"].as_str().unwrap())
    });
    told.collect::<Vec<_>>().join(", ")
}

/// How many pods each node has.
fn counts(stage: &Stage) -> String {
    let told = stage.list("nodes").into_iter().map(|node| {
        let name = node["metadata"]["name"].as_str().unwrap().to_owned();
        let pods =
            stage.list("pods").into_iter().filter(|it| it["spec"]["nodeName"] == name.as_str());
        format!("{name} {}", pods.count())
    });
    told.collect::<Vec<_>>().join(", ")
}

fn labelled(name: &str, app: &str, spec: &Value) -> Value {
    let mut it = pod(name, 1, "Always");
    it["metadata"]["labels"] = json!({"app": app});
    it["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    it
}

/// Two zones with two nodes each.
fn zones() -> Stage {
    let mut stage = Stage::new(vec![]);
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "b")] {
        let mut node = node(name, 8);
        node["metadata"]["labels"] = json!({"zone": zone});
        stage.apply(node);
    }
    stage.advance(Span::secs(1));
    stage.story();
    stage
}

fn term(app: &str, key: &str) -> Value {
    json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key})
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

#[test]
fn pods_of_one_set_are_spread_over_nodes() {
    let mut stage = Stage::with_nodes(3, 8, vec![]);
    stage.apply(pod("other", 4, "Always"));
    stage.advance(Span::secs(1));
    stage.apply(deployment("web", 3));
    stage.advance(Span::secs(3));
    assert_eq!(counts(&stage), "n1 2, n2 1, n3 1");
}

#[test]
fn anti_affinity_keeps_pods_apart_in_both_directions() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let apart = json!({"affinity": {"podAntiAffinity": {
        REQUIRED: [term("db", "kubernetes.io/hostname")],
    }}});
    for name in ["a", "b", "c"] {
        stage.apply(labelled(name, "db", &apart));
    }
    // It asks for nothing itself, but the others don't want it.
    stage.apply(labelled("plain", "db", &json!({})));
    stage.apply(labelled("stranger", "web", &json!({})));
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(places(&stage), @"a n1, b n2, c -, plain -, stranger n1");
    insta::assert_snapshot!(stage.events("c"), @"Warning FailedScheduling: 0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod. (x1)");
    insta::assert_snapshot!(stage.events("plain"), @"Warning FailedScheduling: 0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod. (x1)");
    stage.delete("/api/v1/namespaces/default/pods/a", json!({}));
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(places(&stage), @"b n2, c n1, plain -, stranger n1");
}

#[test]
fn affinity_brings_pods_together_and_the_first_is_its_own_company() {
    let mut stage = zones();
    let near = |app: &str| json!({"affinity": {"podAffinity": {REQUIRED: [term(app, "zone")]}}});
    stage.apply(labelled("late", "web", &near("cache")));
    stage.advance(Span::secs(1));
    insta::assert_snapshot!(stage.events("late"), @"Warning FailedScheduling: 0/4 nodes are available: 4 node(s) didn't match pod affinity rules. no new claims to deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling. (x1)");
    let mut cache = labelled("cache", "cache", &json!({}));
    cache["spec"]["nodeName"] = json!("n3");
    stage.apply(cache);
    for name in ["w1", "w2"] {
        stage.apply(labelled(name, "pack", &near("pack")));
    }
    stage.advance(Span::secs(2));
    insta::assert_snapshot!(places(&stage), @"cache n3, late n4, w1 n1, w2 n2");
}

#[test]
fn preferences_decide_among_nodes_that_can() {
    let mut stage = zones();
    stage.apply(labelled("cache", "cache", &json!({"nodeName": "n4"})));
    stage.advance(Span::secs(1));
    let soft = |weight: i64, key: &str| {
        let weighed = json!({"weight": weight, "podAffinityTerm": term("cache", key)});
        json!([weighed])
    };
    let near = json!({"affinity": {"podAffinity": {PREFERRED: soft(50, "zone")}}});
    let far = json!({"affinity": {"podAntiAffinity": {PREFERRED: soft(50, "zone")}}});
    let liked = json!({"affinity": {"nodeAffinity": {PREFERRED: [{
        "weight": 10,
        "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
    }]}}});
    stage.apply(labelled("near", "x", &near));
    stage.apply(labelled("far", "x", &far));
    stage.apply(labelled("liked", "x", &liked));
    stage.advance(Span::secs(1));
    insta::assert_snapshot!(places(&stage), @"cache n4, far n1, liked n3, near n3");
}

#[test]
fn a_hard_spread_waits_rather_than_lean() {
    let mut stage = zones();
    stage.patch("/api/v1/nodes/n3", json!({"spec": {"unschedulable": true}}));
    stage.patch("/api/v1/nodes/n4", json!({"spec": {"unschedulable": true}}));
    stage.advance(Span::secs(1));
    let even = json!({"topologySpreadConstraints": [{
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]});
    for name in ["a", "b"] {
        stage.apply(labelled(name, "web", &even));
    }
    stage.advance(Span::secs(2));
    insta::assert_snapshot!(places(&stage), @"a n1, b -");
    insta::assert_snapshot!(stage.events("b"), @"Warning FailedScheduling: 0/4 nodes are available: 2 node(s) didn't match pod topology spread constraints, 2 node(s) were unschedulable. no new claims to deallocate, preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling. (x1)");
    stage.patch("/api/v1/nodes/n3", json!({"spec": {"unschedulable": false}}));
    stage.advance(Span::secs(2));
    insta::assert_snapshot!(places(&stage), @"a n1, b n3");
}

#[test]
fn a_port_of_the_host_is_given_once_per_node() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    for name in ["a", "b", "c"] {
        let mut it = pod(name, 1, "Always");
        it["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 80}]);
        stage.apply(it);
    }
    stage.advance(Span::secs(2));
    insta::assert_snapshot!(places(&stage), @"a n1, b n2, c -");
    insta::assert_snapshot!(stage.events("c"), @"Warning FailedScheduling: 0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod. (x1)");
}

fn with_classes(stage: &mut Stage) {
    for (name, value) in [("low", 1), ("high", 100)] {
        stage.apply(json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value,
        }));
    }
}

fn important(name: &str, cpus: u64, class: &str) -> Value {
    let mut it = pod(name, cpus, "Always");
    it["metadata"]["labels"] = json!({"app": name});
    it["spec"]["priorityClassName"] = json!(class);
    it
}

#[test]
fn an_important_pod_sends_the_least_important_away_and_takes_their_place() {
    let mut stage = Stage::with_nodes(2, 4, vec![]);
    with_classes(&mut stage);
    stage.apply(important("a", 2, "low"));
    stage.apply(important("b", 3, "low"));
    stage.apply(important("c", 2, "low"));
    stage.advance(Span::secs(3));
    stage.story();
    stage.apply(important("vip", 3, "high"));
    stage.advance(Span::ms(100));
    assert_eq!(stage.pod("vip")["status"]["nominatedNodeName"], "n2");
    // Meanwhile nobody less important gets the room.
    stage.apply(important("rival", 2, "low"));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.story(), @"
    00:00:03.050  pod vip: Pending
    00:00:03.060  pod vip: Pending (0/2 nodes are available: 2 Insufficient cpu.)
    00:00:03.060  pod b: Running on n2 ready, going
    00:00:03.150  pod rival: Pending
    00:00:03.160  pod rival: Pending (0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.)
    00:00:04.070  pod b: Failed on n2 exit 143, going
    00:00:04.070  pod b: gone
    00:00:04.080  pod vip: Pending on n2
    00:00:04.090  pod vip: Pending on n2 ContainerCreating
    00:00:05.090  pod vip: Running on n2 ready
    ");
    insta::assert_snapshot!(stage.events("vip"), @"
    Warning FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. (x1)
    Normal Scheduled: Successfully assigned default/vip to n2 (x1)
    Normal Started: Container started (x1)
    ");
    insta::assert_snapshot!(stage.events("b"), @"
    Normal Scheduled: Successfully assigned default/b to n2 (x1)
    Normal Started: Container started (x1)
    Normal Preempted: Preempted by pod b3e3cd9a-d0bd-48f9-af55-0c955f34a8f1 on node n2 (x1)
    Normal Killing: Stopping container main (x1)
    ");
    let conditions = stage.pod("rival")["status"]["conditions"][0]["message"].clone();
    insta::assert_snapshot!(conditions.as_str().unwrap(), @"0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.");
}

#[test]
fn a_pod_that_never_preempts_waits() {
    let mut stage = Stage::with_nodes(1, 2, vec![]);
    stage.apply(json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "polite"}, "value": 100, "preemptionPolicy": "Never",
    }));
    stage.apply(pod("a", 2, "Always"));
    stage.advance(Span::secs(2));
    stage.apply(important("vip", 2, "polite"));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.events("vip"), @"Warning FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never. (x1)");
}

#[test]
fn a_budget_is_broken_only_if_nothing_else_helps() {
    let mut stage = Stage::with_nodes(2, 2, vec![]);
    with_classes(&mut stage);
    stage.apply(json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }));
    stage.apply(important("a", 2, "low"));
    stage.apply(important("b", 2, "low"));
    stage.advance(Span::secs(3));
    stage.apply(important("vip", 2, "high"));
    stage.advance(Span::secs(5));
    // Both are as important, but only one has a budget.
    insta::assert_snapshot!(places(&stage), @"a n1, vip n2");
    stage.apply(important("vip2", 2, "high"));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(places(&stage), @"vip n2, vip2 n1");
}

fn class(name: &str, mode: &str, provisioner: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    })
}

fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

fn with_claim(name: &str, claim: &str) -> Value {
    let mut it = pod(name, 1, "Always");
    it["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    it
}

#[test]
fn a_claim_that_waits_for_its_consumer_is_provided_where_the_pod_goes() {
    let mut stage = zones();
    stage.cluster.set_provisioner(
        "disk.example.com",
        drawbridge_fakes::Provisioner {
            delay: Span::secs(5),
            topology: Some("zone".into()),
            ..drawbridge_fakes::Provisioner::default()
        },
    );
    stage.apply(class("late", "WaitForFirstConsumer", "disk.example.com"));
    stage.apply(claim("data", "late"));
    stage.advance(Span::secs(10));
    stage.apply(with_claim("p", "data"));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(stage.story(), @"
    00:00:01.000  claim data: Pending
    00:00:11.000  pod p: Pending
    00:00:16.030  claim data: Bound
    00:00:16.040  pod p: Pending on n1
    00:00:16.050  pod p: Pending on n1 ContainerCreating
    00:00:17.050  pod p: Running on n1 ready
    ");
    insta::assert_snapshot!(stage.events("data"), @r#"
    Normal WaitForFirstConsumer: waiting for first consumer to be created before binding (x1)
    Normal ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'disk.example.com' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered. (x1)
    Normal Provisioning: External provisioner is provisioning volume for claim "default/data" (x1)
    Normal ProvisioningSucceeded: Successfully provisioned volume pvc-2e1a9f74-d2b0-46cf-b196-ed007e33d4df (x1)
    "#);
    let data = &stage.list("persistentvolumeclaims")[0]["metadata"]["annotations"];
    assert_eq!(data["volume.kubernetes.io/selected-node"], "n1");
    // The volume can only be used in its zone.
    for node in ["n1", "n2"] {
        stage.patch(&format!("/api/v1/nodes/{node}"), json!({"spec": {"unschedulable": true}}));
    }
    stage.apply(with_claim("q", "data"));
    stage.advance(Span::secs(2));
    insta::assert_snapshot!(stage.events("q"), @"Warning FailedScheduling: 0/4 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity, 2 node(s) were unschedulable. no new claims to deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling. (x1)");
    stage.delete("/api/v1/namespaces/default/persistentvolumeclaims/data", json!({}));
    stage.advance(Span::secs(2));
    assert_eq!(stage.list("persistentvolumeclaims").len(), 1, "a pod still uses it");
    for pod in ["p", "q"] {
        stage.delete(&format!("/api/v1/namespaces/default/pods/{pod}"), json!({}));
    }
    stage.advance(Span::secs(5));
    assert_eq!(stage.list("persistentvolumeclaims").len(), 0);
    assert_eq!(stage.list("persistentvolumes").len(), 0);
}

#[test]
fn an_immediate_claim_is_bound_before_anybody_uses_it() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(with_claim("p", "data"));
    stage.advance(Span::secs(1));
    stage.apply(claim("data", "fast"));
    stage.advance(Span::secs(1));
    stage.apply(class("fast", "Immediate", "disk.example.com"));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.events("p"), @r#"
    Warning FailedScheduling: 0/1 nodes are available: persistentvolumeclaim "data" not found. not found (x1)
    Warning FailedScheduling: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found (x1)
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Normal Started: Container started (x1)
    "#);
    assert_eq!(stage.pod("p")["status"]["phase"], "Running");
}

#[test]
fn volumes_made_by_hand_are_bound_by_size_and_place_and_kept() {
    let mut stage = zones();
    stage.apply(class("local", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"));
    for (name, size, node) in [("big", "10Gi", "n2"), ("small", "2Gi", "n4")] {
        stage.apply(json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local", "persistentVolumeReclaimPolicy": "Retain",
                "local": {"path": "/disk"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
                ]}]}},
            },
        }));
    }
    stage.apply(claim("data", "local"));
    let mut picky = with_claim("p", "data");
    picky["spec"]["nodeSelector"] = json!({"zone": "b"});
    stage.apply(picky);
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(places(&stage), @"p n4");
    stage.delete("/api/v1/namespaces/default/pods/p", json!({}));
    stage.advance(Span::secs(2));
    stage.delete("/api/v1/namespaces/default/persistentvolumeclaims/data", json!({}));
    stage.advance(Span::secs(2));
    let phases: Vec<String> = stage
        .list("persistentvolumes")
        .iter()
        .map(|it| format!("{} {}", it["metadata"]["name"], it["status"]["phase"]))
        .collect();
    insta::assert_snapshot!(phases.join(", "), @r#""big" "Available", "small" "Released""#);
}

#[test]
fn the_claims_of_a_stateful_set_follow_its_pods() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(class("late", "WaitForFirstConsumer", "disk.example.com"));
    let mut db = stateful_set("db", 2);
    db["spec"]["volumeClaimTemplates"] =
        json!([{"metadata": {"name": "data"}, "spec": claim("x", "late")["spec"]}]);
    stage.apply(db);
    stage.advance(Span::secs(20));
    insta::assert_snapshot!(places(&stage), @"db-0 n1, db-1 n2");
    let bound = stage.list("persistentvolumeclaims");
    assert!(bound.iter().all(|it| it["status"]["phase"] == "Bound"), "{bound:?}");
}

#[test]
fn a_budget_says_how_many_pods_may_go() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let budget = |name: &str, spec: Value| {
        let mut all = json!({"selector": {"matchLabels": {"app": "web"}}});
        all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name}, "spec": all,
        })
    };
    stage.apply(budget("a", json!({"minAvailable": 2})));
    stage.apply(budget("b", json!({"maxUnavailable": 1})));
    stage.apply(budget("c", json!({"minAvailable": "60%"})));
    let told = |stage: &Stage| {
        let all = stage.list("poddisruptionbudgets.policy").into_iter().map(|it| {
            let status = &it["status"];
            format!(
                "{}: {} of {} healthy, {} wanted, {} may go",
                it["metadata"]["name"].as_str().unwrap(),
                status["currentHealthy"],
                status["expectedPods"],
                status["desiredHealthy"],
                status["disruptionsAllowed"]
            )
        });
        all.collect::<Vec<_>>().join("\n")
    };
    stage.apply(deployment("web", 5));
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(told(&stage), @"
    a: 5 of 5 healthy, 2 wanted, 3 may go
    b: 5 of 5 healthy, 4 wanted, 1 may go
    c: 5 of 5 healthy, 3 wanted, 2 may go
    ");
    let name = stage.list("pods")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    stage.delete(&format!("/api/v1/namespaces/default/pods/{name}"), json!({}));
    stage.advance(Span::ms(50));
    insta::assert_snapshot!(told(&stage), @"
    a: 4 of 6 healthy, 2 wanted, 2 may go
    b: 4 of 5 healthy, 4 wanted, 0 may go
    c: 4 of 5 healthy, 3 wanted, 1 may go
    ");
}

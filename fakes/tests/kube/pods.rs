//! Pods: defaults, what may change, binding, eviction.

use insta::assert_snapshot;
use serde_json::Value;

use crate::talk::{server, talk};

const POD: &str = r#"POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":2,"memory":"1Gi","nvidia.com/gpu":"1"}}}]}}"#;

#[test]
fn a_new_pod_gets_the_defaults_of_a_real_server() {
    let mut api = server();
    talk(&mut api, POD);
    let pod = api.get("pods", "default", "p").unwrap();
    let text = |part: &str| serde_json::to_string_pretty(&pod[part]).unwrap();
    assert_snapshot!(text("spec"), @r#"
    {
      "containers": [
        {
          "image": "a:1",
          "imagePullPolicy": "IfNotPresent",
          "name": "c",
          "resources": {
            "limits": {
              "cpu": "2",
              "memory": "1Gi",
              "nvidia.com/gpu": "1"
            },
            "requests": {
              "cpu": "2",
              "memory": "1Gi",
              "nvidia.com/gpu": "1"
            }
          },
          "terminationMessagePath": "/dev/termination-log",
          "terminationMessagePolicy": "File"
        }
      ],
      "dnsPolicy": "ClusterFirst",
      "enableServiceLinks": true,
      "preemptionPolicy": "PreemptLowerPriority",
      "priority": 0,
      "restartPolicy": "Always",
      "schedulerName": "default-scheduler",
      "securityContext": {},
      "serviceAccount": "default",
      "serviceAccountName": "default",
      "terminationGracePeriodSeconds": 30
    }
    "#);
    assert_snapshot!(text("status"), @r#"
    {
      "phase": "Pending",
      "qosClass": "Guaranteed"
    }
    "#);
}

#[test]
fn the_quality_of_service_follows_from_requests_and_limits() {
    let table = [
        (r#"{}"#, "BestEffort"),
        (r#"{"requests":{"cpu":"1"}}"#, "Burstable"),
        (r#"{"limits":{"cpu":"1"}}"#, "Burstable"),
        (r#"{"limits":{"cpu":"1","memory":"1Gi"}}"#, "Guaranteed"),
        (r#"{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1000m"}}"#, "Guaranteed"),
        (r#"{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}"#, "Burstable"),
        (r#"{"limits":{"nvidia.com/gpu":"1"}}"#, "BestEffort"),
    ];
    for (resources, expected) in table {
        let mut api = server();
        let pod = format!(
            r#"POST /api/v1/namespaces/default/pods {{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{resources}}}]}}}}"#
        );
        talk(&mut api, &pod);
        let pod = api.get("pods", "default", "p").unwrap();
        assert_eq!(pod["status"]["qosClass"], expected, "{resources}");
    }
}

#[test]
fn pods_that_cannot_be_are_refused_with_every_cause() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"restartPolicy":"Sometimes"}} ?? details
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1","resources":{"requests":{"cpu":"lots"}}}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"C"},{"name":"d","image":"a:1"},{"name":"d","image":"a:1"}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1","resources":{"requests":{"cpu":"2","memory":"-1","nvidia.com/gpu":"1"},"limits":{"cpu":"1"}}}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1","resources":{"limits":{"nvidia.com/gpu":"500m"},"requests":{"nvidia.com/gpu":"1"}}}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1"}],"tolerations":[{"effect":"Never"}],"activeDeadlineSeconds":0}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":"none"}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1"}],"priorityClassName":"high"}}
    "#), @r#"
    POST pods: 422 Invalid: Pod "p" is invalid: [spec.containers: Required value, spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"] details={"causes":[{"field":"spec.containers","message":"Required value","reason":"FieldValueRequired"},{"field":"spec.restartPolicy","message":"Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"","reason":"FieldValueNotSupported"}],"kind":"Pod","name":"p"}
    POST pods: 400 BadRequest: Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
    POST pods: 422 Invalid: Pod "p" is invalid: [spec.containers[0].name: Invalid value: "C": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), spec.containers[0].image: Required value, spec.containers[2].name: Duplicate value: "d"]
    POST pods: 422 Invalid: Pod "p" is invalid: [spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0, spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1, spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources]
    POST pods: 422 Invalid: Pod "p" is invalid: [spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer, spec.containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 500m]
    POST pods: 422 Invalid: Pod "p" is invalid: [spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive, spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys", spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"]
    POST pods: 400 BadRequest: Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field containers of type list of objects
    POST pods: 403 Forbidden: pods "p" is forbidden: no PriorityClass with name high was found
    "#);
}

#[test]
fn little_of_a_pods_spec_may_change() {
    let mut api = server();
    talk(&mut api, POD);
    assert_snapshot!(talk(&mut api, r#"
        STRATEGIC /api/v1/namespaces/default/pods/p {"spec":{"containers":[{"name":"c","image":"a:2"}]}} ?? metadata.generation
        MERGE /api/v1/namespaces/default/pods/p {"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}} ?? metadata.generation
        MERGE /api/v1/namespaces/default/pods/p {"spec":{"tolerations":[{"key":"b","operator":"Exists"}]}}
        MERGE /api/v1/namespaces/default/pods/p {"spec":{"nodeName":"n"}} ?? details.causes.0.field
        MERGE /api/v1/namespaces/default/pods/p {"spec":{"schedulingGates":[{"name":"g"}]}}
        MERGE /api/v1/namespaces/default/pods/p {"spec":{"activeDeadlineSeconds":60}}
        MERGE /api/v1/namespaces/default/pods/p {"spec":{"activeDeadlineSeconds":90}}
        STRATEGIC /api/v1/namespaces/default/pods/p {"spec":{"containers":[{"name":"d","image":"a:1"}]}}
        MERGE /api/v1/namespaces/default/pods/p {"status":{"phase":"Running"}} ?? status.phase
        MERGE /api/v1/namespaces/default/pods/p/status {"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}} ?? status.phase spec.nodeName metadata.labels metadata.generation
    "#), @r#"
    STRATEGIC pods/p: 200 Pod p rv 8 metadata.generation=2
    MERGE pods/p: 200 Pod p rv 9 metadata.generation=3
    MERGE pods/p: 422 Invalid: Pod "p" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds
    MERGE pods/p: 422 Invalid: Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative) details.causes.0.field="spec"
    MERGE pods/p: 422 Invalid: Pod "p" is invalid: spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gate 'g'
    MERGE pods/p: 200 Pod p rv 10
    MERGE pods/p: 422 Invalid: Pod "p" is invalid: spec.activeDeadlineSeconds: Invalid value: 90: must be less than or equal to previous value of 60
    STRATEGIC pods/p: 422 Invalid: Pod "p" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers
    MERGE pods/p: 200 Pod p rv 10 status.phase="Pending"
    MERGE pods/p/status: 200 Pod p rv 11 status.phase="Running" spec.nodeName=null metadata.labels={"a":"b"} metadata.generation=4
    "#);
}

#[test]
fn a_pod_is_bound_once_by_whoever_knows_its_uid() {
    let mut api = server();
    talk(&mut api, POD);
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces/default/pods/nope/binding {"target":{"kind":"Node","name":"n1"}}
        POST /api/v1/namespaces/default/pods/p/binding {"metadata":{"name":"q"},"target":{"name":"n1"}}
        POST /api/v1/namespaces/default/pods/p/binding {"metadata":{"name":"p"},"target":{"kind":"Moon"}}
        POST /api/v1/namespaces/default/pods/p/binding {"metadata":{"name":"p","uid":"other"},"target":{"name":"n1"}}
        AT 3
        POST /api/v1/namespaces/default/pods/p/binding {"metadata":{"name":"p","annotations":{"slurm.job.id":"7"}},"target":{"kind":"Node","name":"n1"}}
        POST /api/v1/namespaces/default/pods/p/binding {"metadata":{"name":"p"},"target":{"kind":"Node","name":"n2"}}
        GET /api/v1/namespaces/default/pods/p ?? spec.nodeName metadata.annotations status.conditions metadata.generation
        GET /api/v1/namespaces/default/pods/p/binding
        GET /api/v1/namespaces/default/pods/p/log
    "#), @r#"
    POST pods/nope/binding: 404 NotFound: pods "nope" not found
    POST pods/p/binding: 400 BadRequest: name in URL does not match name in Binding object
    POST pods/p/binding: 422 Invalid: Binding "p" is invalid: [target.kind: Unsupported value: "Moon": supported values: "Node", "<empty>", target.name: Required value]
    POST pods/p/binding: 409 Conflict: Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: 6f238ebe-c9da-4f28-876a-311cc75903eb
    POST pods/p/binding: 201 Success
    POST pods/p/binding: 409 Conflict: Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"
    GET pods/p: 200 Pod p rv 8 spec.nodeName="n1" metadata.annotations={"slurm.job.id":"7"} status.conditions=[{"lastTransitionTime":"2026-01-01T00:00:03Z","status":"True","type":"PodScheduled"}] metadata.generation=1
    GET pods/p/binding: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    GET pods/p/log: 501 NotImplemented: pods/log is not modelled: the log of a pod is asked for over HTTP
    "#);
}

#[test]
fn a_gated_pod_is_not_bound_until_its_gates_are_gone() {
    let mut api = server();
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"g"},"spec":{"schedulingGates":[{"name":"a/b"}],"containers":[{"name":"c","image":"a:1"}]}}
        POST /api/v1/namespaces/default/pods/g/binding {"target":{"name":"n1"}}
        JSON /api/v1/namespaces/default/pods/g [{"op":"remove","path":"/spec/schedulingGates"}]
        POST /api/v1/namespaces/default/pods/g/binding {"target":{"name":"n1"}}
    "#), @r#"
    POST pods: 201 Pod g rv 7
    POST pods/g/binding: 409 Conflict: Operation cannot be fulfilled on pods/binding "g": pod g has non-empty .spec.schedulingGates
    JSON pods/g: 200 Pod g rv 8
    POST pods/g/binding: 201 Success
    "#);
}

#[test]
fn an_eviction_is_a_delete_with_grace_that_says_so() {
    let mut api = server();
    talk(&mut api, POD);
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces/default/pods/p/binding {"target":{"name":"n1"}}
        AT 10
        POST /api/v1/namespaces/default/pods/p/eviction {"metadata":{"name":"p"},"deleteOptions":{"gracePeriodSeconds":5}}
        GET /api/v1/namespaces/default/pods/p ?? metadata.deletionTimestamp metadata.deletionGracePeriodSeconds status.conditions.1
        POST /api/v1/namespaces/default/pods/nope/eviction {}
    "#), @r#"
    POST pods/p/binding: 201 Success
    POST pods/p/eviction: 201 Success
    GET pods/p: 200 Pod p rv 10 metadata.deletionTimestamp="2026-01-01T00:00:15Z" metadata.deletionGracePeriodSeconds=5 status.conditions.1={"lastTransitionTime":"2026-01-01T00:00:10Z","message":"Eviction API: evicting","reason":"EvictionByEvictionAPI","status":"True","type":"DisruptionTarget"}
    POST pods/nope/eviction: 404 NotFound: pods "nope" not found
    "#);
}

#[test]
fn a_pods_priority_is_what_its_class_stands_for() {
    let mut api = server();
    assert_snapshot!(talk(&mut api, r#"
        POST /apis/scheduling.k8s.io/v1/priorityclasses {"metadata":{"name":"high"},"value":1000} ?? metadata.generation
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"a"},"spec":{"priorityClassName":"high","containers":[{"name":"c","image":"a:1"}]}} ?? spec.priority spec.preemptionPolicy
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"a:1"}]}} ?? spec.priority
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"c"},"spec":{"priority":7,"containers":[{"name":"c","image":"a:1"}]}}
        MERGE /apis/scheduling.k8s.io/v1/priorityclasses/high {"value":2000}
    "#), @r#"
    POST /apis/scheduling.k8s.io/v1/priorityclasses: 201 PriorityClass high rv 7 metadata.generation=1
    POST pods: 201 Pod a rv 8 spec.priority=1000 spec.preemptionPolicy="PreemptLowerPriority"
    POST pods: 201 Pod b rv 9 spec.priority=0
    POST pods: 403 Forbidden: pods "c" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name
    MERGE /apis/scheduling.k8s.io/v1/priorityclasses/high: 422 Invalid: PriorityClass.scheduling.k8s.io "high" is invalid: value: Forbidden: may not be changed in an update.
    "#);
}

#[test]
fn pods_are_found_by_node_and_by_owner() {
    let mut api = server();
    talk(
        &mut api,
        r#"
        POST /api/v1/nodes {"metadata":{"name":"n1"}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"a"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"a:1"}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"a:1"}]}}
        POST /api/v1/namespaces/default/pods/b/binding {"target":{"name":"n1"}}
        DELETE /api/v1/namespaces/default/pods/a {"gracePeriodSeconds":0}
    "#,
    );
    let names = |pods: &mut dyn Iterator<Item = &std::sync::Arc<Value>>| -> Vec<String> {
        pods.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut api.pods_on("n1")), ["b"]);
    assert_eq!(names(&mut api.pods_on("n2")), [""; 0]);
    let uid = api.get("pods", "default", "b").unwrap()["metadata"]["uid"].as_str().unwrap();
    assert_eq!(api.by_uid(uid).unwrap()["metadata"]["name"], "b");
}

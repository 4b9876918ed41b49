//! Creating, changing and refusing, whatever the kind.

use insta::assert_snapshot;

use crate::talk::{server, talk};

#[test]
fn an_object_gets_its_identity_from_the_server_and_a_version_from_each_write() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","uid":"mine","creationTimestamp":"1999-01-01T00:00:00Z","generation":7},"data":{"k":"1"}} ?? metadata
        AT 5
        MERGE /api/v1/namespaces/default/configmaps/a {"data":{"k":"2"}} ?? data metadata.creationTimestamp
        MERGE /api/v1/namespaces/default/configmaps/a {"data":{"k":"2"}}
        GET /api/v1/namespaces/default/configmaps/a ?? apiVersion kind data
        POST /api/v1/namespaces/default/configmaps {"metadata":{"generateName":"g-"}} ?? metadata.generateName
    "#), @r#"
    POST configmaps: 201 ConfigMap a rv 7 metadata={"creationTimestamp":"2026-01-01T00:00:00Z","name":"a","namespace":"default","resourceVersion":"7","uid":"6f238ebe-c9da-4f28-876a-311cc75903eb"}
    MERGE configmaps/a: 200 ConfigMap a rv 8 data={"k":"2"} metadata.creationTimestamp="2026-01-01T00:00:00Z"
    MERGE configmaps/a: 200 ConfigMap a rv 8
    GET configmaps/a: 200 ConfigMap a rv 8 apiVersion="v1" kind="ConfigMap" data={"k":"2"}
    POST configmaps: 201 ConfigMap g-4dkdt rv 9 metadata.generateName="g-"
    "#);
}

#[test]
fn a_write_to_an_old_version_conflicts() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}
        PUT /api/v1/namespaces/default/configmaps/a {"metadata":{"name":"a","resourceVersion":"7"},"data":{"k":"1"}}
        PUT /api/v1/namespaces/default/configmaps/a {"metadata":{"name":"a","resourceVersion":"7"},"data":{"k":"2"}} ?? details
        PUT /api/v1/namespaces/default/configmaps/a {"metadata":{"name":"a"},"data":{"k":"3"}}
        MERGE /api/v1/namespaces/default/configmaps/a {"metadata":{"resourceVersion":"7"},"data":{"k":"4"}}
        PUT /api/v1/namespaces/default/configmaps/a {"metadata":{"name":"a","uid":"other"}}
        MERGE /api/v1/namespaces/default/configmaps/a {"metadata":{"uid":"other"}} ?? details.causes
        POST /apis/coordination.k8s.io/v1/namespaces/default/leases {"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}}
        PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l {"metadata":{"name":"l"},"spec":{"holderIdentity":"b"}}
    "#), @r#"
    POST configmaps: 201 ConfigMap a rv 7
    PUT configmaps/a: 200 ConfigMap a rv 8
    PUT configmaps/a: 409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again details={"kind":"configmaps","name":"a"}
    PUT configmaps/a: 200 ConfigMap a rv 9
    MERGE configmaps/a: 409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
    PUT configmaps/a: 409 Conflict: Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: 6f238ebe-c9da-4f28-876a-311cc75903eb
    MERGE configmaps/a: 422 Invalid: ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable details.causes=[{"field":"metadata.uid","message":"Invalid value: \"other\": field is immutable","reason":"FieldValueInvalid"}]
    POST leases: 201 Lease l rv 10
    PUT leases/l: 422 Invalid: Lease.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update
    "#);
}

#[test]
fn requests_that_make_no_sense_are_refused_in_the_real_words() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/nowhere/configmaps {"metadata":{"name":"a"}} ?? details
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","namespace":"other"}}
        POST /api/v1/namespaces/default/configmaps {"kind":"Secret","metadata":{"name":"a"}}
        POST /api/v1/namespaces/default/configmaps {"apiVersion":"v2","metadata":{"name":"a"}}
        POST /api/v1/namespaces/default/configmaps []
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","labels":{"n":1}}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","resourceVersion":"3"}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{}} ?? details
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"Bad_Name","labels":{"-x":"y z"}}}
        POST /api/v1/configmaps {"metadata":{"name":"a"}}
        PUT /api/v1/namespaces/default/configmaps/a {"metadata":{"name":"b"}}
        PUT /api/v1/namespaces/default/configmaps/a {"metadata":{"name":"a"}} ?? details
        GET /api/v1/namespaces/default/widgets
        GET /apis/nope/v1/things
        GET /api/v1/namespaces/default/configmaps/a/status
        POST /api/v1/namespaces {"metadata":{"name":"default"}} ?? details
        GET /api/v1/pods?watch=true
    "#), @r#"
    POST namespaces/nowhere/configmaps: 404 NotFound: namespaces "nowhere" not found details={"kind":"namespaces","name":"nowhere"}
    POST configmaps: 400 BadRequest: the namespace of the provided object does not match the namespace sent on the request
    POST configmaps: 400 BadRequest: Secret in version "" cannot be handled as a ConfigMap: converting (.Secret) to (core.ConfigMap): unknown conversion
    POST configmaps: 400 BadRequest: the API version in the data (v2) does not match the expected API version (v1)
    POST configmaps: 400 BadRequest: the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; the body is not a JSON object
    POST configmaps: 400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal object into Go struct field metadata.labels of type map[string]string
    POST configmaps: 500 : resourceVersion should not be set on objects to be created
    POST configmaps: 422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required details={"causes":[{"field":"metadata.name","message":"Required value: name or generateName is required","reason":"FieldValueRequired"}],"kind":"ConfigMap"}
    POST configmaps: 422 Invalid: ConfigMap "Bad_Name" is invalid: [metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), metadata.labels: Invalid value: "-x": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), metadata.labels: Invalid value: "y z": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]
    POST configmaps: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    PUT configmaps/a: 400 BadRequest: the name of the object (b) does not match the name on the URL (a)
    PUT configmaps/a: 404 NotFound: configmaps "a" not found details={"kind":"configmaps","name":"a"}
    GET widgets: 404 NotFound: the server could not find the requested resource
    GET /apis/nope/v1/things: 404 NotFound: the server could not find the requested resource
    GET configmaps/a/status: 404 NotFound: the server could not find the requested resource
    POST namespaces: 409 AlreadyExists: namespaces "default" already exists details={"kind":"namespaces","name":"default"}
    GET pods?watch=true: 400 BadRequest: a watch is a stream: it is opened with `watch`, not answered by `handle`
    "#);
}

#[test]
fn the_generation_counts_changes_of_what_is_wanted_only() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups {"metadata":{"name":"g"},"spec":{"minMember":4},"status":{"phase":"Running"}} ?? metadata.generation status
        MERGE /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g {"metadata":{"labels":{"a":"b"}}} ?? metadata.generation
        MERGE /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g {"spec":{"minMember":5},"status":{"phase":"x"}} ?? metadata.generation status
        MERGE /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g/status {"metadata":{"labels":{"a":"c"}},"spec":{"minMember":9},"status":{"phase":"Pending"}} ?? metadata.generation metadata.labels spec status
        POST /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups {"metadata":{"name":"h"},"spec":{"minMember":0}}
        STRATEGIC /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g {"spec":{"minMember":6}}
    "#), @r#"
    POST podgroups: 201 PodGroup g rv 7 metadata.generation=1 status=null
    MERGE podgroups/g: 200 PodGroup g rv 8 metadata.generation=1
    MERGE podgroups/g: 200 PodGroup g rv 9 metadata.generation=2 status=null
    MERGE podgroups/g/status: 200 PodGroup g rv 10 metadata.generation=2 metadata.labels={"a":"b"} spec={"minMember":5} status={"phase":"Pending"}
    POST podgroups: 422 Invalid: PodGroup.scheduling.x-k8s.io "h" is invalid: spec.minMember: Invalid value: 0: spec.minMember in body should be greater than or equal to 1
    STRATEGIC podgroups/g: 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
    "#);
}

#[test]
fn patches_of_every_kind_are_applied() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/nodes {"metadata":{"name":"n"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]},"status":{"capacity":{"cpu":"8"}}} ?? status
        STRATEGIC /api/v1/nodes/n {"spec":{"unschedulable":true,"taints":[{"key":"b","effect":"NoExecute"}]}} ?? spec
        MERGE /api/v1/nodes/n {"spec":{"taints":[{"key":"c","effect":"NoExecute"}]}} ?? spec.taints
        JSON /api/v1/nodes/n [{"op":"test","path":"/metadata/name","value":"n"},{"op":"add","path":"/metadata/labels","value":{"x":"y"}}] ?? metadata.labels
        JSON /api/v1/nodes/n [{"op":"test","path":"/metadata/name","value":"m"}] ?? details
        JSON /api/v1/nodes/n [{"op":"dance"}]
        STRATEGIC /api/v1/nodes/n/status {"status":{"conditions":[{"type":"Ready","status":"True"}]}} ?? status
        STRATEGIC /api/v1/nodes/n/status {"status":{"conditions":[{"type":"Ready","status":"False"}]},"spec":{"unschedulable":false}} ?? status.conditions spec.unschedulable
        MERGE /api/v1/nodes/n {"metadata":{"name":"m"}}
        MERGE /api/v1/nodes/n {"spec":{"taints":[{"key":"c","effect":"Sometimes"}]}}
        MERGE /api/v1/nodes/n []
    "#), @r#"
    POST nodes: 201 Node n rv 7 status={"capacity":{"cpu":"8"}}
    STRATEGIC nodes/n: 200 Node n rv 8 spec={"taints":[{"effect":"NoExecute","key":"b"},{"effect":"NoSchedule","key":"a"}],"unschedulable":true}
    MERGE nodes/n: 200 Node n rv 9 spec.taints=[{"effect":"NoExecute","key":"c"}]
    JSON nodes/n: 200 Node n rv 10 metadata.labels={"x":"y"}
    JSON nodes/n: 422 Invalid: the server rejected our request due to an error in our request details={}
    JSON nodes/n: 400 BadRequest: error decoding patch: unknown variant `dance`, expected one of `add`, `remove`, `replace`, `move`, `copy`, `test`
    STRATEGIC nodes/n/status: 200 Node n rv 11 status={"capacity":{"cpu":"8"},"conditions":[{"status":"True","type":"Ready"}]}
    STRATEGIC nodes/n/status: 200 Node n rv 12 status.conditions=[{"status":"False","type":"Ready"}] spec.unschedulable=true
    MERGE nodes/n: 400 BadRequest: the name of the object (m) does not match the name on the URL (n)
    MERGE nodes/n: 422 Invalid: Node "n" is invalid: spec.taints[0].effect: Unsupported value: "Sometimes": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
    MERGE nodes/n: 400 BadRequest: the patch is not a JSON object
    "#);
}

#[test]
fn a_dry_run_leaves_nothing_behind() {
    let mut api = server();
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces/default/configmaps?dryRun=All {"metadata":{"generateName":"a-"}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{"generateName":"a-"}}
        POST /api/v1/namespaces/default/configmaps?dryRun=Some {"metadata":{"name":"b"}}
        GET /api/v1/configmaps
    "#), @r#"
    POST configmaps?dryRun=All: 201 ConfigMap a-4dkdt rv 
    POST configmaps: 201 ConfigMap a-4dkdt rv 7
    POST configmaps?dryRun=Some: 400 BadRequest: dryRun: Unsupported value: "Some": supported values: "All"
    GET configmaps: 200 ConfigMapList [a-4dkdt] rv 7
    "#);
}

#[test]
fn deployments_and_replica_sets_have_a_scale() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}}} ?? spec status
        GET /apis/apps/v1/namespaces/default/deployments/web/scale ?? spec status
        MERGE /apis/apps/v1/namespaces/default/deployments/web/scale {"spec":{"replicas":3}} ?? spec
        PUT /apis/apps/v1/namespaces/default/deployments/web/scale {"metadata":{"name":"web","resourceVersion":"7"},"spec":{"replicas":4}}
        MERGE /apis/apps/v1/namespaces/default/deployments/web/scale {"spec":{"replicas":-1}}
        GET /apis/apps/v1/namespaces/default/deployments/web ?? spec.replicas metadata.generation
        MERGE /apis/apps/v1/namespaces/default/deployments/web {"spec":{"selector":{"matchLabels":{"app":"x"}}}}
        POST /apis/apps/v1/namespaces/default/replicasets {"metadata":{"name":"r"},"spec":{"template":{"spec":{"containers":[],"restartPolicy":"Never"}}}}
    "#), @r#"
    POST deployments: 201 Deployment web rv 7 spec={"progressDeadlineSeconds":600,"replicas":1,"revisionHistoryLimit":10,"selector":{"matchLabels":{"app":"web"}},"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx","imagePullPolicy":"Always","name":"c","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}} status={}
    GET deployments/web/scale: 200 Scale web rv 7 spec={"replicas":1} status={"replicas":0,"selector":"app=web"}
    MERGE deployments/web/scale: 200 Scale web rv 8 spec={"replicas":3}
    PUT deployments/web/scale: 409 Conflict: Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again
    MERGE deployments/web/scale: 422 Invalid: Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0
    GET deployments/web: 200 Deployment web rv 8 spec.replicas=3 metadata.generation=2
    MERGE deployments/web: 422 Invalid: Deployment.apps "web" is invalid: [spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`, spec.selector: Invalid value: {"matchLabels":{"app":"x"}}: field is immutable]
    POST replicasets: 422 Invalid: ReplicaSet.apps "r" is invalid: [spec.selector: Required value, spec.template.spec.containers: Required value, spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"]
    "#);
}

#[test]
fn a_job_selects_its_pods_by_its_own_uid() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /apis/batch/v1/namespaces/default/jobs {"metadata":{"name":"j"},"spec":{"template":{"metadata":{"labels":{"app":"j"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}} ?? metadata.labels spec.selector spec.parallelism spec.completions spec.template.metadata
        POST /apis/batch/v1/namespaces/default/jobs {"metadata":{"name":"k"},"spec":{"completionMode":"Indexed","parallelism":2,"template":{"spec":{"containers":[{"name":"c","image":"a:1"}]}}}}
        MERGE /apis/batch/v1/namespaces/default/jobs/j {"spec":{"completions":3}}
        MERGE /apis/batch/v1/namespaces/default/jobs/j {"spec":{"parallelism":3}} ?? metadata.generation
    "#), @r#"
    POST jobs: 201 Job j rv 7 metadata.labels={"app":"j","batch.kubernetes.io/controller-uid":"6f238ebe-c9da-4f28-876a-311cc75903eb","batch.kubernetes.io/job-name":"j","controller-uid":"6f238ebe-c9da-4f28-876a-311cc75903eb","job-name":"j"} spec.selector={"matchLabels":{"batch.kubernetes.io/controller-uid":"6f238ebe-c9da-4f28-876a-311cc75903eb"}} spec.parallelism=1 spec.completions=1 spec.template.metadata={"labels":{"app":"j","batch.kubernetes.io/controller-uid":"6f238ebe-c9da-4f28-876a-311cc75903eb","batch.kubernetes.io/job-name":"j","controller-uid":"6f238ebe-c9da-4f28-876a-311cc75903eb","job-name":"j"}}
    POST jobs: 422 Invalid: Job.batch "k" is invalid: [spec.completions: Required value: when completion mode is Indexed, spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"]
    MERGE jobs/j: 422 Invalid: Job.batch "j" is invalid: spec.completions: Invalid value: 3: field is immutable
    MERGE jobs/j: 200 Job j rv 8 metadata.generation=2
    "#);
}

#[test]
fn one_object_is_served_in_every_version_of_its_kind() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /apis/slinky.slurm.net/v1alpha1/namespaces/default/nodesets {"apiVersion":"slinky.slurm.net/v1alpha1","kind":"NodeSet","metadata":{"name":"s"},"spec":{"replicas":2}} ?? apiVersion
        GET /apis/slinky.slurm.net/v1beta1/namespaces/default/nodesets/s ?? apiVersion
        MERGE /apis/slinky.slurm.net/v1alpha1/namespaces/default/nodesets/s/scale {"spec":{"replicas":25}} ?? apiVersion spec
        GET /apis/slinky.slurm.net/v1alpha1/nodesets ?? apiVersion items.0.apiVersion items.0.spec
    "#), @r#"
    POST nodesets: 201 NodeSet s rv 7 apiVersion="slinky.slurm.net/v1alpha1"
    GET nodesets/s: 200 NodeSet s rv 7 apiVersion="slinky.slurm.net/v1beta1"
    MERGE nodesets/s/scale: 200 Scale s rv 8 apiVersion="autoscaling/v1" spec={"replicas":25}
    GET /apis/slinky.slurm.net/v1alpha1/nodesets: 200 NodeSetList [s] rv 8 apiVersion="slinky.slurm.net/v1alpha1" items.0.apiVersion="slinky.slurm.net/v1alpha1" items.0.spec={"replicas":25}
    "#);
}

#[test]
fn who_asked_for_what_is_counted() {
    let mut api = server();
    talk(
        &mut api,
        r#"
        POST /api/v1/nodes {"metadata":{"name":"n"}}
        GET /api/v1/nodes/n
        GET /api/v1/nodes/n
        GET /api/v1/nodes
        MERGE /api/v1/nodes/n/status {"status":{}}
        DELETE /api/v1/nodes/n
    "#,
    );
    let counts: Vec<String> = api
        .audit()
        .iter()
        .map(|((user, verb, resource), count)| format!("{user} {verb} {resource} {count}"))
        .collect();
    assert_snapshot!(counts.join("\n"), @r#"
    alice create nodes 1
    alice delete nodes 1
    alice get nodes 2
    alice list nodes 1
    alice patch nodes/status 1
    "#);
}

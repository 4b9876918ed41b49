//! What we send is what the vendor's OpenAPI document of that version allows.

use drawbridge_bridge::slurm::{
    HttpRequest,
    calls::{
        AccountingJobs, Accounts, Associations, Call, Cancel, CancelMany, CreateNode, DeleteNode,
        Diagnostics, JobById, JobDescription, JobStates, Jobs, Licenses, NodeByName, NodeChange,
        Nodes, PartitionByName, Partitions, Pings, QosList, Requeue, RequeueMany,
        ReservationByName, Reservations, Resources, ShareTree, Since, Submit, Unserved, UpdateJob,
        UpdateNode, Users,
    },
    encode,
    types::Number,
};
use drawbridge_core::{
    NodeTarget, SlurmRequest,
    slurm::{ApiVersion, Memory, Submission, Wishes},
};
use drawbridge_sim::JobId;
use serde_json::{Value, json};

use crate::{
    everything::everything,
    recorded::{openapi, submission},
};

/// A job with as little as possible.
fn bare() -> Submission {
    Submission {
        partition: None,
        account: None,
        qos: None,
        reservation: None,
        wckey: None,
        licenses: None,
        constraints: None,
        user_id: None,
        group_id: None,
        memory: Memory::PerCpu(100),
        tres_per_task: None,
        tres_per_node: None,
        min_nodes: None,
        max_nodes: None,
        excluded_nodes: vec![],
        time_limit_minutes: None,
        wishes: Wishes::default(),
        priority: None,
        exclusive: false,
        mcs_label: None,
        ..submission()
    }
}

/// What the core sends.
fn requests() -> Vec<SlurmRequest> {
    let update =
        |state| SlurmRequest::UpdateNode { node: "n001".into(), state, reason: "why".into() };
    vec![
        SlurmRequest::Submit(Box::new(submission())),
        SlurmRequest::Submit(Box::new(bare())),
        SlurmRequest::JobStates,
        SlurmRequest::Job(JobId(7)),
        SlurmRequest::Jobs,
        SlurmRequest::Cancel { job: JobId(7), signal: None },
        SlurmRequest::Cancel { job: JobId(7), signal: Some("USR1".into()) },
        SlurmRequest::Nodes,
        update(NodeTarget::Drain),
        update(NodeTarget::Undrain),
        SlurmRequest::DescribeNode {
            node: "n001".into(),
            features: Some(vec!["gpu".into(), "a b".into()]),
            topology: None,
        },
        SlurmRequest::DeleteNode("e1".into()),
        SlurmRequest::Reservations,
    ]
}

/// Those of external nodes, which came later.
fn later_requests() -> Vec<SlurmRequest> {
    let words = "NodeName=e1 CPUs=4 RealMemory=8000 State=External Feature=drawbridge-c1";
    vec![
        SlurmRequest::CreateNode { node: "e1".into(), words: words.into() },
        SlurmRequest::DescribeNode {
            node: "e1".into(),
            features: None,
            topology: Some("default:s1".into()),
        },
    ]
}

#[test]
fn later_requests_look_like_this_and_are_documented() {
    let openapi = strict(openapi(ApiVersion::V44));
    let lines = later_requests().into_iter().map(|request| {
        assert!(encode(&request, ApiVersion::V42).is_err());
        let http = encode(&request, ApiVersion::V44).unwrap();
        assert_eq!(objections(&openapi, &http), [""; 0]);
        in_words(&http)
    });
    let lines: Vec<String> = lines.collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    POST /slurm/v0.0.44/new/node/
      {"node_conf":"NodeName=e1 CPUs=4 RealMemory=8000 State=External Feature=drawbridge-c1"}
    POST /slurm/v0.0.44/node/e1
      {"topology_str":"default:s1"}
    "#);
}

/// What some versions lack, each by itself.
fn specialities() -> Vec<JobDescription> {
    let flag = |word: &str| JobDescription {
        flags: Some(vec![word.to_owned()]),
        ..JobDescription::default()
    };
    let none = JobDescription::default;
    vec![
        JobDescription { cores_per_socket: Some(1), ..none() },
        JobDescription { segment_size: Some(Number::Is(1)), ..none() },
        JobDescription { oom_kill_step: Some(1), ..none() },
        JobDescription { container_type: Some("x".into()), ..none() },
        flag("STEPMGR_ENABLED"),
        flag("EXTERNAL_JOB"),
        flag("EXPEDITED_REQUEUE"),
        flag("SPREAD_SEGMENTS"),
        flag("CONSOLIDATE_SEGMENTS"),
        flag("SAVE_BATCH_SCRIPT"),
    ]
}

/// Every call, in one version.
fn calls(version: ApiVersion) -> Vec<Result<HttpRequest, Unserved>> {
    let name = || "a b".to_owned();
    let pairs = || vec![("cluster".to_owned(), "c".to_owned())];
    let change = NodeChange {
        comment: Some(name()),
        extra: Some(name()),
        features: Some(vec![name()]),
        features_act: Some(vec![name()]),
        gres: Some(name()),
        state: vec!["DRAIN".into()],
        reason: Some(name()),
        topology_str: None,
        resume_after: Some(Number::Is(1)),
        weight: Some(Number::Is(1)),
    };
    let many = CancelMany {
        account: Some(name()),
        flags: vec!["FULL_JOB".into()],
        job_name: Some(name()),
        jobs: vec!["17_3".into()],
        partition: Some(name()),
        qos: Some(name()),
        reservation: Some(name()),
        signal: Some("USR1".into()),
        job_state: vec!["PENDING".into()],
        user_id: Some(name()),
        user_name: Some(name()),
        wckey: Some(name()),
        nodes: vec![name()],
    };
    let job = || "17_3".to_owned();
    let cancel = Cancel { job: job(), signal: Some("USR1".into()), flags: vec!["FULL_JOB".into()] };
    let mut all: Vec<Result<HttpRequest, Unserved>> =
        requests().iter().map(|request| encode(request, version)).collect();
    all.extend(specialities().into_iter().map(|job| Submit(job).request(version)));
    all.extend([
        Pings.request(version),
        Jobs.request(version),
        Since { call: Jobs, moment: 1_700_000_000 }.request(version),
        Since { call: Nodes, moment: 1_700_000_000 }.request(version),
        Since { call: Partitions, moment: 1_700_000_000 }.request(version),
        Since { call: Reservations, moment: 1_700_000_000 }.request(version),
        JobById(job()).request(version),
        JobStates(vec![job(), job()]).request(version),
        Submit(everything()).request(version),
        UpdateJob { job: job(), change: everything() }.request(version),
        cancel.request(version),
        many.request(version),
        Requeue { job: job(), hold: true, special_exit: true, incomplete: true }.request(version),
        RequeueMany { jobs: vec![job()], flags: vec!["Hold".into()] }.request(version),
        NodeByName(name()).request(version),
        UpdateNode { node: name(), change }.request(version),
        CreateNode(name()).request(version),
        DeleteNode(name()).request(version),
        Partitions.request(version),
        PartitionByName(name()).request(version),
        Reservations.request(version),
        ReservationByName(name()).request(version),
        Licenses.request(version),
        ShareTree { accounts: vec![name()], users: vec![name()] }.request(version),
        Diagnostics.request(version),
        Resources(7).request(version),
        AccountingJobs(pairs()).request(version),
        Accounts.request(version),
        Associations(pairs()).request(version),
        Users.request(version),
        QosList.request(version),
    ]);
    all
}

/// What the document says about this request: the operation whose path fits. It writes some paths
/// with a slash at the end; the daemon takes both.
fn operation<'a>(openapi: &'a Value, request: &HttpRequest) -> Option<&'a Value> {
    let fits = |path: &str, literal: bool| {
        let same = |(ours, theirs): (&str, &&str)| {
            ours == *theirs || (!literal && theirs.starts_with('{'))
        };
        let theirs: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let ours = request.path.trim_end_matches('/').split('/');
        ours.clone().count() == theirs.len() && ours.zip(&theirs).all(same)
    };
    let paths = openapi["paths"].as_object().unwrap();
    // `/job/{id}` also fits `/job/submit`: the literal one is meant.
    let find = |literal| paths.iter().find(|(path, _)| fits(path, literal));
    let (_, path) = find(true).or_else(|| find(false))?;
    path.get(request.method.as_str().to_lowercase())
}

/// The document says nothing about keys that it doesn't know; we want to hear of them.
fn strict(mut openapi: Value) -> Value {
    for schema in openapi["components"]["schemas"].as_object_mut().unwrap().values_mut() {
        if schema["properties"].is_object() {
            schema["additionalProperties"] = json!(false);
        }
    }
    openapi
}

/// What the document has against this request.
fn objections(openapi: &Value, http: &HttpRequest) -> Vec<String> {
    let Some(operation) = operation(openapi, http) else {
        return vec![format!("no operation {} {}", http.method.as_str(), http.path)];
    };
    let known = |name: &str| {
        let mut known = operation["parameters"].as_array().unwrap().iter();
        known.any(|known| known["in"] == "query" && known["name"] == *name)
    };
    let unknown = http.query.iter().filter(|(name, _)| !known(name));
    let mut objections: Vec<String> =
        unknown.map(|(name, _)| format!("no parameter {name} of {}", http.path)).collect();
    if let Some(body) = &http.body {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let root = json!({"$ref": schema["$ref"], "components": openapi["components"]});
        let validator = jsonschema::validator_for(&root).unwrap();
        let mistakes = validator.iter_errors(body);
        objections.extend(mistakes.map(|e| format!("{} in {}: {e}", e.instance_path(), http.path)));
    }
    objections
}

#[test]
fn every_request_is_one_that_the_vendor_documents() {
    for version in ApiVersion::ALL {
        let openapi = strict(openapi(version));
        let requests: Vec<HttpRequest> = calls(version).into_iter().flatten().collect();
        assert!(requests.len() > 38, "{}", requests.len());
        for http in requests {
            assert_eq!(objections(&openapi, &http), [""; 0], "{version}");
        }
    }
}

#[test]
fn what_we_call_unserved_isn_t_documented() {
    // The newest version has the path of every call; ask the others for the same.
    let newest = calls(ApiVersion::NEWEST);
    for version in ApiVersion::ALL {
        let openapi = strict(openapi(version));
        for (ours, newest) in calls(version).into_iter().zip(&newest) {
            let (Err(unserved), Ok(newest)) = (ours, newest) else { continue };
            let text = json!(newest.body).to_string().replace("v0.0.45", version.as_str());
            let http = HttpRequest {
                path: newest.path.replace("v0.0.45", version.as_str()),
                body: newest.body.as_ref().map(|_| serde_json::from_str(&text).unwrap()),
                ..newest.clone()
            };
            assert_ne!(objections(&openapi, &http), [""; 0], "{version}: {unserved}");
        }
    }
}

#[test]
fn the_schema_would_notice_a_wrong_body() {
    let openapi = strict(openapi(ApiVersion::V42));
    let root = json!({
        "$ref": "#/components/schemas/v0.0.42_job_submit_req",
        "components": openapi["components"],
    });
    let validator = jsonschema::validator_for(&root).unwrap();
    for wrong in [json!({"job": {"exclusive": ["true"]}}), json!({"job": {"tasks": "abc"}})] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

fn in_words(request: &HttpRequest) -> String {
    let body = request.body.as_ref().map(|body| format!("\n  {body}")).unwrap_or_default();
    format!("{} {}{body}", request.method.as_str(), request.target())
}

#[test]
fn requests_look_like_this() {
    let lines = requests().into_iter().map(|request| encode(&request, ApiVersion::V42).unwrap());
    let lines: Vec<String> = lines.map(|http| in_words(&http)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r##"
    POST /slurm/v0.0.42/job/submit
      {"job":{"account":"acct","admin_comment":"{\"pods\":[]}","begin_time":{"infinite":false,"number":1767229200,"set":true},"comment":"ticket 17","constraints":"a&b","cpus_per_task":2,"current_working_directory":"/tmp","deadline":1767312000,"dependency":"afterok:7","environment":["PATH=/usr/bin:/bin"],"excluded_nodes":["n001","n002"],"group_id":"users","kill_warning_delay":{"infinite":false,"number":300,"set":true},"kill_warning_signal":"TERM","licenses":"matlab:1","maximum_nodes":4,"mcs_label":"kubernetes","memory_per_node":{"infinite":false,"number":8192,"set":true},"minimum_nodes":1,"name":"pod","nice":10,"partition":"main","prefer":"a100","priority":{"infinite":false,"number":1000,"set":true},"qos":"normal","required_switches":{"infinite":false,"number":1,"set":true},"reservation":"resv1","script":"#!/bin/sh\nsleep infinity & wait\n","shared":["none"],"standard_error":"/dev/null","standard_output":"/dev/null","tasks":4,"time_limit":{"infinite":false,"number":60,"set":true},"tres_per_node":"gres/shard:1","tres_per_task":"gres/gpu:1","user_id":"alice","wait_for_switch":60,"wckey":"key"}}
    POST /slurm/v0.0.42/job/submit
      {"job":{"admin_comment":"{\"pods\":[]}","cpus_per_task":2,"current_working_directory":"/tmp","environment":["PATH=/usr/bin:/bin"],"memory_per_cpu":{"infinite":false,"number":100,"set":true},"name":"pod","script":"#!/bin/sh\nsleep infinity & wait\n","standard_error":"/dev/null","standard_output":"/dev/null","tasks":4}}
    GET /slurm/v0.0.42/jobs/state
    GET /slurm/v0.0.42/job/7
    GET /slurm/v0.0.42/jobs
    DELETE /slurm/v0.0.42/job/7
    DELETE /slurm/v0.0.42/job/7?signal=USR1
    GET /slurm/v0.0.42/nodes
    POST /slurm/v0.0.42/node/n001
      {"reason":"why","state":["DRAIN"]}
    POST /slurm/v0.0.42/node/n001
      {"state":["UNDRAIN"]}
    POST /slurm/v0.0.42/node/n001
      {"features":["gpu","a b"],"features_act":["gpu","a b"]}
    DELETE /slurm/v0.0.42/node/e1
    GET /slurm/v0.0.42/reservations
    "##);
}

#[test]
fn versions_differ_in_this() {
    let words = |version| -> Vec<String> {
        let words = calls(version).into_iter().map(|request| match request {
            Ok(http) => in_words(&http).replace(version.as_str(), "V"),
            Err(unserved) => format!("! {unserved}"),
        });
        words.collect()
    };
    let mut told = Vec::new();
    for version in ApiVersion::ALL {
        let Some(older) = version.older() else { continue };
        told.push(format!("{older} -> {version}"));
        for (before, after) in words(older).iter().zip(words(version)) {
            if *before != after && !(before.starts_with('!') && after.starts_with('!')) {
                let short =
                    |text: &str| text.replace('\n', "").chars().take(150).collect::<String>();
                told.push(format!("  - {}\n  + {}", short(before), short(&after)));
            }
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    v0.0.40 -> v0.0.41
      - POST /slurm/V/job/submit  {"job":{"cores_per_socket":1}}
      + ! `cores_per_socket` of a job needs another version of slurmrestd's API than v0.0.41: v0.0.40, v0.0.45
      - ! `segment_size` of a job needs another version of slurmrestd's API than v0.0.40: v0.0.41, v0.0.42, v0.0.43, v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"segment_size":{"infinite":false,"number":1,"set":true}}}
      - ! `STEPMGR_ENABLED` of a job needs another version of slurmrestd's API than v0.0.40: v0.0.41, v0.0.42, v0.0.43, v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"flags":["STEPMGR_ENABLED"]}}
      - POST /slurm/V/job/submit  {"job":{"flags":["SAVE_BATCH_SCRIPT"]}}
      + ! `SAVE_BATCH_SCRIPT` of a job needs another version of slurmrestd's API than v0.0.41: v0.0.40
      - POST /slurm/V/job/submit  {"job":{"account":"x","account_gather_frequency":"x","admin_comment":"x","argv":["x"],"array":"x","batch_features":"x","begi
      + POST /slurm/V/job/submit  {"job":{"account":"x","account_gather_frequency":"x","admin_comment":"x","argv":["x"],"array":"x","batch_features":"x","begi
      - POST /slurm/V/job/17_3  {"account":"x","account_gather_frequency":"x","admin_comment":"x","argv":["x"],"array":"x","batch_features":"x","begin_time":{
      + POST /slurm/V/job/17_3  {"account":"x","account_gather_frequency":"x","admin_comment":"x","argv":["x"],"array":"x","batch_features":"x","begin_time":{
    v0.0.41 -> v0.0.42
      - DELETE /slurm/V/jobs/  {"jobs":["7"]}
      + DELETE /slurm/V/job/7
      - DELETE /slurm/V/jobs/  {"flags":["FULL_JOB"],"jobs":["7"],"signal":"USR1"}
      + DELETE /slurm/V/job/7?signal=USR1
      - ! `oom_kill_step` of a job needs another version of slurmrestd's API than v0.0.41: v0.0.42, v0.0.43, v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"oom_kill_step":1}}
      - DELETE /slurm/V/jobs/  {"flags":["FULL_JOB"],"jobs":["17_3"],"signal":"USR1"}
      + DELETE /slurm/V/job/17_3?signal=USR1&flags=FULL_JOB
    v0.0.42 -> v0.0.43
      - ! `EXTERNAL_JOB` of a job needs another version of slurmrestd's API than v0.0.42: v0.0.43, v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"flags":["EXTERNAL_JOB"]}}
    v0.0.43 -> v0.0.44
      - ! `EXPEDITED_REQUEUE` of a job needs another version of slurmrestd's API than v0.0.43: v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"flags":["EXPEDITED_REQUEUE"]}}
      - ! `SPREAD_SEGMENTS` of a job needs another version of slurmrestd's API than v0.0.43: v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"flags":["SPREAD_SEGMENTS"]}}
      - ! `CONSOLIDATE_SEGMENTS` of a job needs another version of slurmrestd's API than v0.0.43: v0.0.44, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"flags":["CONSOLIDATE_SEGMENTS"]}}
      - ! creating a node needs another version of slurmrestd's API than v0.0.43: v0.0.44 or newer
      + POST /slurm/V/new/node/  {"node_conf":"a b"}
      - ! the resources of a job needs another version of slurmrestd's API than v0.0.43: v0.0.44 or newer
      + GET /slurm/V/resources/7
    v0.0.44 -> v0.0.45
      - ! `cores_per_socket` of a job needs another version of slurmrestd's API than v0.0.44: v0.0.40, v0.0.45
      + POST /slurm/V/job/submit  {"job":{"cores_per_socket":1}}
      - ! `container_type` of a job needs another version of slurmrestd's API than v0.0.44: v0.0.45
      + POST /slurm/V/job/submit  {"job":{"container_type":"x"}}
      - ! requeueing a job needs another version of slurmrestd's API than v0.0.44: v0.0.45 or newer
      + GET /slurm/V/job/17_3/requeue?Incomplete=true&Hold=true&SpecialExit=true
      - ! requeueing a job needs another version of slurmrestd's API than v0.0.44: v0.0.45 or newer
      + POST /slurm/V/jobs/requeue  {"flags":["Hold"],"jobs":["17_3"]}
    "#);
}

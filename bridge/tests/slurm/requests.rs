//! What we send is what the vendor's OpenAPI document allows.

use drawbridge_bridge::slurm::{HttpRequest, encode};
use drawbridge_core::{
    NodeTarget, SlurmRequest,
    slurm::{Memory, Submission},
};
use drawbridge_sim::JobId;
use serde_json::{Value, json};

use crate::recorded::submission;

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
        priority: None,
        exclusive: false,
        mcs_label: None,
        ..submission()
    }
}

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
        update(NodeTarget::Resume),
    ]
}

/// What the document says about this request: the operation whose path fits. It writes some paths
/// with a slash at the end; the daemon takes both.
fn operation<'a>(openapi: &'a Value, request: &HttpRequest) -> &'a Value {
    let fits = |path: &str, literal: bool| {
        let same = |(ours, theirs): (&str, &&str)| {
            ours == *theirs || (!literal && theirs.starts_with('{'))
        };
        let theirs: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let ours = request.path.split('/');
        ours.clone().count() == theirs.len() && ours.zip(&theirs).all(same)
    };
    let paths = openapi["paths"].as_object().unwrap();
    // `/job/{id}` also fits `/job/submit`: the literal one is meant.
    let find = |literal| paths.iter().find(|(path, _)| fits(path, literal));
    let (_, path) = find(true).or_else(|| find(false)).unwrap();
    &path[request.method.as_str().to_lowercase()]
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

#[test]
fn every_request_is_one_that_the_vendor_documents() {
    let Some(openapi) = crate::recorded::openapi().map(strict) else {
        return;
    };
    for request in requests() {
        let http = encode(&request);
        let operation = operation(&openapi, &http);
        assert!(operation.is_object(), "{http:?}");
        for (name, _) in &http.query {
            let mut known = operation["parameters"].as_array().unwrap().iter();
            assert!(known.any(|known| known["in"] == "query" && known["name"] == **name), "{name}");
        }
        if let Some(body) = &http.body {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let root = json!({"$ref": schema["$ref"], "components": openapi["components"]});
            let validator = jsonschema::validator_for(&root).unwrap();
            let mistakes: Vec<String> =
                validator.iter_errors(body).map(|e| e.to_string()).collect();
            assert_eq!(mistakes, [""; 0], "{body:#}");
        }
    }
}

#[test]
fn the_schema_would_notice_a_wrong_body() {
    let Some(openapi) = crate::recorded::openapi().map(strict) else {
        return;
    };
    let root = json!({
        "$ref": "#/components/schemas/v0.0.42_job_submit_req",
        "components": openapi["components"],
    });
    let validator = jsonschema::validator_for(&root).unwrap();
    for wrong in [json!({"job": {"exclusive": ["true"]}}), json!({"job": {"tasks": "abc"}})] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn requests_look_like_this() {
    let lines: Vec<String> = requests()
        .iter()
        .map(|request| {
            let HttpRequest { method, path, query, body } = encode(request);
            let query: String =
                query.iter().map(|(key, value)| format!("?{key}={value}")).collect();
            let body = body.map(|body| format!("\n  {body}")).unwrap_or_default();
            format!("{} {path}{query}{body}", method.as_str())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r##"
        POST /slurm/v0.0.42/job/submit
          {"job":{"account":"acct","admin_comment":"{\"pods\":[]}","constraints":"a&b","cpus_per_task":2,"current_working_directory":"/tmp","environment":["PATH=/usr/bin:/bin"],"excluded_nodes":["n001","n002"],"group_id":"users","licenses":"matlab:1","maximum_nodes":4,"mcs_label":"kubernetes","memory_per_node":{"infinite":false,"number":8192,"set":true},"minimum_nodes":1,"name":"pod","partition":"main","priority":{"infinite":false,"number":1000,"set":true},"qos":"normal","reservation":"resv1","script":"#!/bin/sh\nsleep infinity & wait\n","shared":["none"],"standard_error":"/dev/null","standard_output":"/dev/null","tasks":4,"time_limit":{"infinite":false,"number":60,"set":true},"tres_per_node":"gres/shard:1","tres_per_task":"gres/gpu:1","user_id":"alice","wckey":"key"}}
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
          {"state":["RESUME"]}
        "##);
}

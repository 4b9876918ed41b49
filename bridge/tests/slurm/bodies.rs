//! Small replies made by hand after the recordings: what each of them means.

use drawbridge_bridge::slurm::{
    decode as decode_reply,
    reply::{Body, Reply},
};
use drawbridge_core::{NodeTarget, SlurmFault, SlurmReply, SlurmRequest};
use drawbridge_sim::JobId;
use serde_json::{Value, json};

use crate::recorded::submission;

fn decode(request: &SlurmRequest, status: u16, body: &Value) -> Result<SlurmReply, SlurmFault> {
    decode_reply(request, &Reply { status, body: Body::Json(body) })
}

/// The outcome as the journal would have it.
fn meaning(request: &SlurmRequest, status: u16, body: &Value) -> String {
    serde_json::to_string(&decode(request, status, body)).unwrap()
}

fn submit() -> SlurmRequest {
    SlurmRequest::Submit(Box::new(submission()))
}

fn cancel() -> SlurmRequest {
    SlurmRequest::Cancel { job: JobId(6), signal: None }
}

fn error(number: i64, error: &str, description: &str) -> Value {
    json!({"errors": [{"error_number": number, "error": error, "description": description}]})
}

#[test]
fn a_submit_needs_a_number_and_a_number_is_enough() {
    let held = [json!({"description": "Job is in held state, pending scheduler release"})];
    let table = [
        (200, json!({"job_id": 7, "errors": [], "warnings": []})),
        (200, json!({"job_id": 7, "errors": [], "warnings": held})),
        (200, json!({"job_id": 7, "errors": [{"error_number": 0, "error": "No error"}]})),
        (200, json!({"job_id": 0, "errors": []})),
        (200, json!({"errors": [], "warnings": [{"description": "Expected type=integer"}]})),
        (200, json!({"job_id": -1})),
        (
            500,
            error(
                2014,
                "Requested node configuration is not available",
                "Batch job submission failed",
            ),
        ),
        (500, json!({"job_id": 7, "errors": []})),
        (400, json!("Unable to parse query.")),
        (502, json!("<html>Bad Gateway</html>")),
    ];
    let lines: Vec<String> =
        table.iter().map(|(status, body)| meaning(&submit(), *status, body)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"Ok":{"submitted":{"job":7}}}
    {"Ok":{"submitted":{"job":7}}}
    {"Ok":{"submitted":{"job":7}}}
    {"Err":{"unintelligible":{"why":"the reply to a submit has no job id"}}}
    {"Err":{"unintelligible":{"why":"the reply to a submit has no job id: Expected type=integer"}}}
    {"Err":{"unintelligible":{"why":"the reply to a submit has no job id"}}}
    {"Err":{"refused":{"number":2014,"text":"Requested node configuration is not available"}}}
    {"Err":{"unintelligible":{"why":"status 500: no error is given"}}}
    {"Err":{"refused":{"number":0,"text":"Unable to parse query."}}}
    {"Err":{"lost":{"why":"status 502: <html>Bad Gateway</html>"}}}
    "#);
}

#[test]
fn an_unknown_job_is_an_answer_and_a_bad_token_is_not() {
    let unknown = error(2017, "Invalid job id specified", "Invalid JobID=6 rejected");
    let mut token = error(1007, "Protocol authentication error", "Unable to query jobs");
    token["jobs"] = json!([]);
    let table = [
        (SlurmRequest::Job(JobId(6)), 404, unknown.clone()),
        (SlurmRequest::Job(JobId(6)), 200, json!({"jobs": [], "errors": []})),
        (SlurmRequest::Job(JobId(6)), 404, json!("Unable find requested URL.")),
        (cancel(), 404, unknown),
        (SlurmRequest::Job(JobId(6)), 511, token.clone()),
        (SlurmRequest::Jobs, 511, token.clone()),
        (SlurmRequest::JobStates, 511, token),
        (SlurmRequest::Jobs, 401, json!("Authentication failure")),
        (SlurmRequest::Jobs, 200, json!({"errors": []})),
        (SlurmRequest::Nodes, 200, error(0, "No error", "Failure to query node nope")),
    ];
    let lines: Vec<String> =
        table.iter().map(|(request, status, body)| meaning(request, *status, body)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"Ok":{"job":null}}
    {"Ok":{"job":null}}
    {"Err":{"notServed":{"why":"Unable find requested URL."}}}
    {"Err":{"refused":{"number":2017,"text":"Invalid job id specified"}}}
    {"Err":{"unauthorized":{"why":"Protocol authentication error"}}}
    {"Err":{"unauthorized":{"why":"Protocol authentication error"}}}
    {"Err":{"unauthorized":{"why":"Protocol authentication error"}}}
    {"Err":{"unauthorized":{"why":"Authentication failure"}}}
    {"Err":{"unintelligible":{"why":"`jobs` isn't in the reply"}}}
    {"Err":{"refused":{"number":0,"text":"Failure to query node nope"}}}
    "#);
}

#[test]
fn a_cancel_that_failed_says_so_in_its_own_list() {
    let status = |code: i64, text: &str| json!({"status": [{"error": {"code": code, "string": text}}], "errors": []});
    let table = [
        json!({"status": [], "errors": []}),
        json!({"errors": []}),
        status(0, "No error"),
        status(2021, "Job/step already completing or completed"),
        status(2002, "Access/permission denied"),
    ];
    let lines: Vec<String> = table.iter().map(|body| meaning(&cancel(), 200, body)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
        {"Ok":"done"}
        {"Ok":"done"}
        {"Ok":"done"}
        {"Err":{"refused":{"number":2021,"text":"Job/step already completing or completed"}}}
        {"Err":{"refused":{"number":2002,"text":"Access/permission denied"}}}
        "#);
}

#[test]
fn a_running_gang_has_its_nodes_in_order() {
    let node = |index: u32, name: &str| json!({"index": index, "name": name, "cpus": {"count": 8, "used": 0}, "memory": {"allocated": 64000}});
    let at = |number: u64| json!({"set": true, "infinite": false, "number": number});
    let body = json!({"jobs": [{
        "job_id": 4,
        "job_state": ["RUNNING"],
        "state_reason": "None",
        "state_description": "",
        "admin_comment": "{\"pods\":[\"a/b\"]}",
        "submit_time": at(1000), "start_time": at(1001), "end_time": {"set": true, "infinite": true, "number": 0},
        "partition": "main",
        "nodes": "n[003-004]",
        "job_resources": {"nodes": {"allocation": [node(1, "n004"), node(0, "n003")]}},
    }], "errors": []});
    let expected = json!({"Ok": {"job": {
        "id": 4, "state": ["RUNNING"], "reason": null, "reasonText": null,
        "adminComment": "{\"pods\":[\"a/b\"]}", "submitTime": 1000, "startTime": 1001, "endTime": null,
        "allocation": [{"node": "n003", "cpus": 8}, {"node": "n004", "cpus": 8}],
        "partition": "main", "cores": ["", ""], "gresDetail": [],
    }}});
    let outcome = decode(&SlurmRequest::Job(JobId(4)), 200, &body);
    assert_eq!(serde_json::to_value(outcome).unwrap(), expected);
}

#[test]
fn a_waiting_job_has_a_reason_and_no_nodes() {
    let body = json!({"jobs": [{
        "job_id": 9,
        "job_state": ["PENDING"],
        "state_reason": "Resources",
        "submit_time": 1000,
        "start_time": {"set": true, "infinite": false, "number": 0},
        "job_resources": null,
    }]});
    let expected = json!({"Ok": {"jobs": [{
        "id": 9, "state": ["PENDING"], "reason": "Resources", "reasonText": null,
        "adminComment": "", "submitTime": 1000, "startTime": null, "endTime": null,
        "allocation": [], "partition": "", "cores": [], "gresDetail": [],
    }]}});
    let outcome = decode(&SlurmRequest::Jobs, 200, &body);
    assert_eq!(serde_json::to_value(outcome).unwrap(), expected);
}

#[test]
fn the_short_list_leaves_array_tasks_out() {
    let body = json!({"jobs": [
        {"job_id": "1", "state": ["RUNNING"]},
        {"job_id": "17_0", "state": ["PENDING"]},
        {"job_id": "18+1", "state": ["PENDING"]},
        {"job_id": "3", "state": ["CANCELLED", "COMPLETING"]},
        {"job_id": "4", "state": ["LATER_INVENTION"]},
    ]});
    let outcome = decode(&SlurmRequest::JobStates, 200, &body);
    let expected = json!({"Ok": {"states": [
        [1, ["RUNNING"]],
        [3, ["CANCELLED", "COMPLETING"]],
        [4, ["LATER_INVENTION"]],
    ]}});
    assert_eq!(serde_json::to_value(outcome).unwrap(), expected);
}

#[test]
fn a_garbled_list_is_named_down_to_the_part() {
    let table = [
        (SlurmRequest::Jobs, json!({"jobs": [{"job_id": "x"}]})),
        (SlurmRequest::Jobs, json!({"jobs": [{"job_id": 1}]})),
        (SlurmRequest::JobStates, json!({"jobs": [{"job_id": 1, "state": ["RUNNING"]}]})),
        (SlurmRequest::Nodes, json!({"nodes": [{"name": "n1", "cpus": 1}]})),
        (SlurmRequest::Nodes, json!({"nodes": {}})),
    ];
    let lines: Vec<String> =
        table.iter().map(|(request, body)| meaning(request, 200, body)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"Err":{"unintelligible":{"why":"jobs[0].job_id: invalid type: string \"x\", expected u32"}}}
    {"Err":{"unintelligible":{"why":"jobs[0]: `job_state` isn't a list of words"}}}
    {"Err":{"unintelligible":{"why":"jobs[0].job_id: invalid type: integer `1`, expected a string"}}}
    {"Err":{"unintelligible":{"why":"nodes[0]: `real_memory` isn't given"}}}
    {"Err":{"unintelligible":{"why":"nodes: invalid type: map, expected a sequence"}}}
    "#);
}

#[test]
fn a_node_has_its_state_as_slurm_lists_it() {
    let body = json!({"nodes": [{
        "name": "n005", "state": ["MIXED", "DRAIN"], "reason": "slurm-bridge: cordoned", "comment": "{}",
        "partitions": ["main", "low"], "cpus": 16, "real_memory": 64000, "gres": "gpu:8",
    }], "errors": []});
    let expected = json!({"Ok": {"nodes": [{
        "name": "n005", "state": ["MIXED", "DRAIN"], "reason": "slurm-bridge: cordoned", "comment": "{}",
        "partitions": ["main", "low"], "cpus": 16, "memoryMib": 64000, "features": [], "topology": "", "gres": "gpu:8",
    }]}});
    let outcome = decode(&SlurmRequest::Nodes, 200, &body);
    assert_eq!(serde_json::to_value(outcome).unwrap(), expected);
    let drain = SlurmRequest::UpdateNode {
        node: "n005".into(),
        state: NodeTarget::Drain,
        reason: "why".into(),
    };
    assert_eq!(meaning(&drain, 200, &json!({"errors": []})), r#"{"Ok":"done"}"#);
}

#[test]
fn a_maintenance_reservation_has_its_nodes_and_its_time() {
    let reservation = |name: &str, flags: &[&str], nodes: &str| {
        json!({
            "name": name, "flags": flags, "node_list": nodes, "node_count": 3,
            "start_time": {"set": true, "infinite": false, "number": 1_794_789_443_u64},
            "end_time": {"set": true, "infinite": false, "number": 1_794_796_643_u64},
        })
    };
    let good = json!({"reservations": [
        reservation("kernel", &["MAINT", "IGNORE_JOBS", "SPEC_NODES"], "n[001-003]"),
        reservation("class", &["DAILY"], ""),
    ], "errors": []});
    let bad = json!({"reservations": [reservation("broken", &[], "n[")], "errors": []});
    let lines = [good, bad].map(|body| meaning(&SlurmRequest::Reservations, 200, &body));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"Ok":{"reservations":[{"name":"kernel","nodes":["n001","n002","n003"],"startTime":1794789443,"endTime":1794796643,"isMaintenance":true},{"name":"class","nodes":[],"startTime":1794789443,"endTime":1794796643,"isMaintenance":false}]}}
    {"Err":{"unintelligible":{"why":"reservations[0]: `node_list` isn't a list of nodes"}}}
    "#);
}

//! Conversations with slurmrestd, as a client has them.

use drawbridge_sim::{Release, Span};
use serde_json::{Value, json};

use crate::cluster::{Cluster, with_needs};

/// A conversation: `+N` lets N seconds go by, `user METHOD path [body]` is a request, and what
/// follows `=>` names the parts of the answer to print.
fn talk(lines: &str) -> String {
    let mut cluster = Cluster::new(Release::V24_11);
    let mut said = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(seconds) = line.strip_prefix('+') {
            cluster.wait(Span::secs(seconds.parse().unwrap()));
            said.push_str(&format!("+{seconds} s\n"));
            continue;
        }
        let (ask, wanted) = line.split_once("=>").unwrap_or((line, ""));
        let answer = speak(&mut cluster, ask.trim(), wanted.trim());
        said.push_str(&format!("> {}\n{answer}", ask.trim()));
    }
    said
}

fn speak(cluster: &mut Cluster, ask: &str, wanted: &str) -> String {
    let mut words = ask.splitn(4, ' ');
    let (user, method, path) =
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let body = words.next().map(|text| serde_json::from_str::<Value>(text).unwrap());
    let body = match path {
        "job/submit" => body
            .map(|job| json!({ "script": "#!/bin/sh\nsleep infinity\n", "job": with_needs(&job) })),
        _others => body,
    };
    let reply = cluster.call(user, &format!("{method} {path}"), body);
    let mut said = format!("  {}\n", reply.status);
    for error in reply.body["errors"].as_array().into_iter().flatten() {
        said.push_str(&format!(
            "  error {}: {} ({})\n",
            error["error_number"], error["error"], error["description"]
        ));
    }
    for warning in reply.body["warnings"].as_array().into_iter().flatten() {
        said.push_str(&format!("  warning: {}\n", warning["description"]));
    }
    for status in reply.body["status"].as_array().into_iter().flatten() {
        said.push_str(&format!("  status {}: {}\n", status["step_id"], status["error"]["string"]));
    }
    for pointer in wanted.split_whitespace() {
        let value = reply.body.pointer(pointer).cloned().unwrap_or(Value::Null);
        said.push_str(&format!("  {pointer} = {}\n", plain(&value)));
    }
    said
}

/// A number with its flags as the number alone.
fn plain(value: &Value) -> Value {
    let number = value.get("number").filter(|_| value["set"] == true);
    number.unwrap_or(value).clone()
}

#[test]
fn a_job_is_submitted_runs_and_is_cancelled() {
    insta::assert_snapshot!(talk(r#"
        alice POST job/submit {"name": "one", "memory_per_node": 1000} => /job_id
        alice GET job/1 => /jobs/0/job_state /jobs/0/state_reason /jobs/0/nodes
        +3
        alice GET job/1 => /jobs/0/job_state /jobs/0/nodes /jobs/0/tres_alloc_str
        alice GET jobs/state => /jobs
        alice DELETE job/1 => /status
        +2
        alice GET job/1 => /jobs/0/job_state /jobs/0/exit_code/signal/name
        alice DELETE job/1
    "#), @r#"
    > alice POST job/submit {"name": "one", "memory_per_node": 1000}
      200
      /job_id = 1
    > alice GET job/1
      200
      /jobs/0/job_state = ["PENDING"]
      /jobs/0/state_reason = "None"
      /jobs/0/nodes = ""
    +3 s
    > alice GET job/1
      200
      /jobs/0/job_state = ["RUNNING"]
      /jobs/0/nodes = "n001"
      /jobs/0/tres_alloc_str = "cpu=1,mem=1000M,node=1,billing=1"
    > alice GET jobs/state
      200
      /jobs = [{"job_id":"1","state":["RUNNING"]}]
    > alice DELETE job/1
      200
      /status = []
    +2 s
    > alice GET job/1
      200
      /jobs/0/job_state = ["CANCELLED"]
      /jobs/0/exit_code/signal/name = "TERM"
    > alice DELETE job/1
      200
      status "1": "Job/step already completing or completed"
    "#);
}

#[test]
fn users_touch_only_their_own_jobs() {
    insta::assert_snapshot!(talk(r#"
        alice POST job/submit {"hold": true} => /job_id
        bob DELETE job/1
        bob POST job/1 {"comment": "mine"}
        bob POST job/submit {"user_id": "alice"}
        bob POST job/submit {"admin_comment": "x"}
        bob POST node/n001 {"state": ["DRAIN"], "reason": "x"}
        root POST job/1 {"comment": "ours"}
        root DELETE job/1
    "#), @r#"
    > alice POST job/submit {"hold": true}
      200
      warning: "Job submission resulted in non-zero return code: Job is in held state, pending scheduler release"
      warning: "Job is in held state, pending scheduler release"
      /job_id = 1
    > bob DELETE job/1
      200
      status "1": "Access/permission denied"
    > bob POST job/1 {"comment": "mine"}
      500
      error 2010: "Invalid user id" ("Job update requested failed")
    > bob POST job/submit {"user_id": "alice"}
      500
      error 2010: "Invalid user id" ("Batch job submission failed")
    > bob POST job/submit {"admin_comment": "x"}
      500
      error 2002: "Access/permission denied" ("Batch job submission failed")
    > bob POST node/n001 {"state": ["DRAIN"], "reason": "x"}
      500
      error 2010: "Invalid user id" ("Failure to update node n001")
    > root POST job/1 {"comment": "ours"}
      200
    > root DELETE job/1
      200
    "#);
}

#[test]
fn unknown_jobs_are_refused_in_three_ways() {
    insta::assert_snapshot!(talk(r#"
        alice GET job/5000
        alice POST job/5000 {"comment": "x"}
        alice DELETE job/5000
        alice GET job/99999999
        alice GET job/abc
        alice DELETE jobs/ {"jobs": ["5000"]}
        alice DELETE jobs/ {"jobs": []}
    "#), @r#"
    > alice GET job/5000
      404
      error 2017: "Invalid job id specified" ("Unable to query JobId=5000")
    > alice POST job/5000 {"comment": "x"}
      404
      error 2017: "Invalid job id specified" ("Job update requested failed")
    > alice DELETE job/5000
      200
      status "5000": "Invalid job id specified"
    > alice GET job/99999999
      404
      error 2017: "Invalid job id specified" ("Invalid JobID=99999999 rejected")
    > alice GET job/abc
      422
      error 9000: "Query empty or not RFC7320 compliant" ("Rejecting request. Failure parsing parameters")
    > alice DELETE jobs/ {"jobs": ["5000"]}
      200
      status "5000": "Invalid job id specified"
    > alice DELETE jobs/ {"jobs": []}
      500
      error 2173: "Invalid signal jobs request, at least one job id or filter is required." ("Signal request failed")
    "#);
}

#[test]
fn what_is_not_modelled_says_so() {
    insta::assert_snapshot!(talk(r#"
        alice POST job/submit {"burst_buffer": "x"}
        alice POST job/submit {"shared": ["mcs"]}
        alice POST job/submit {"tres_per_node": "cpu:2"}
        alice POST job/submit {"flags": ["STEPMGR_ENABLED"]}
        root POST node/n001 {"gres": "gpu:1"}
        root POST node/n001 {"state": ["POWER_DOWN"]}
        alice DELETE jobs/ {"user_id": "1001"}
        alice DELETE jobs/ {"jobs": ["1"], "partition": "main"}
        alice POST job/1 {"burst_buffer": "x"}
    "#), @r#"
    > alice POST job/submit {"burst_buffer": "x"}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model the field `burst_buffer` of a job" ("drawbridge does not model the field `burst_buffer` of a job")
    > alice POST job/submit {"shared": ["mcs"]}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model `shared: [\"mcs\"]`" ("drawbridge does not model `shared: [\"mcs\"]`")
    > alice POST job/submit {"tres_per_node": "cpu:2"}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model `cpu` in `tres_per_node`" ("drawbridge does not model `cpu` in `tres_per_node`")
    > alice POST job/submit {"flags": ["STEPMGR_ENABLED"]}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model the job flag `STEPMGR_ENABLED`" ("drawbridge does not model the job flag `STEPMGR_ENABLED`")
    > root POST node/n001 {"gres": "gpu:1"}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model the field `gres` of a node" ("drawbridge does not model the field `gres` of a node")
    > root POST node/n001 {"state": ["POWER_DOWN"]}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model the node state `POWER_DOWN`" ("drawbridge does not model the node state `POWER_DOWN`")
    > alice DELETE jobs/ {"user_id": "1001"}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model cancelling jobs by `user_id`" ("drawbridge does not model cancelling jobs by `user_id`")
    > alice DELETE jobs/ {"jobs": ["1"], "partition": "main"}
      500
      error 2036: "Requested operation not supported on this system: drawbridge does not model cancelling jobs by number and by what they are at once" ("drawbridge does not model cancelling jobs by number and by what they are at once")
    > alice POST job/1 {"burst_buffer": "x"}
      404
      error 2017: "Invalid job id specified" ("Job update requested failed")
    "#);
}

#[test]
fn what_slurm_does_not_know_is_refused_in_slurms_words() {
    insta::assert_snapshot!(talk(r#"
        alice POST job/submit {"partition": "nope"}
        alice POST job/submit {"tres_per_node": "gpu:1"}
        alice POST job/submit {"tres_per_node": "gres/fpga:1"}
        alice POST job/submit {"nodes": "x"}
        alice POST job/submit {"minimum_nodes": 3, "maximum_nodes": 2}
        alice POST job/submit {"licenses": "foo:1"}
        alice POST job/submit {"reservation": "nope"}
        alice POST job/submit {"required_nodes": ["zzz"]}
        alice POST job/submit {"dependency": "bogus"}
        alice POST job/submit {"nice": -5}
        alice POST job/submit {"tasks": "abc"} => /job_id
        alice POST job/submit {"shared": ["bogus"], "hold": true} => /job_id
    "#), @r#"
    > alice POST job/submit {"partition": "nope"}
      500
      error 2000: "Invalid partition name specified" ("Batch job submission failed")
    > alice POST job/submit {"tres_per_node": "gpu:1"}
      500
      error 2115: "Invalid Trackable RESource (TRES) specification" ("Batch job submission failed")
    > alice POST job/submit {"tres_per_node": "gres/fpga:1"}
      500
      error 2072: "Invalid generic resource (gres) specification" ("Batch job submission failed")
    > alice POST job/submit {"nodes": "x"}
      500
      error 9202: "Unable to convert Data type" ("Unknown format: \"x\"")
    > alice POST job/submit {"minimum_nodes": 3, "maximum_nodes": 2}
      500
      error 2006: "Node count specification invalid" ("Batch job submission failed")
    > alice POST job/submit {"licenses": "foo:1"}
      500
      error 2048: "Invalid license specification" ("Batch job submission failed")
    > alice POST job/submit {"reservation": "nope"}
      500
      error 2053: "Requested reservation is invalid" ("Batch job submission failed")
    > alice POST job/submit {"required_nodes": ["zzz"]}
      500
      error 2018: "Invalid node name specified" ("Batch job submission failed")
    > alice POST job/submit {"dependency": "bogus"}
      500
      error 2038: "Job dependency problem" ("Batch job submission failed")
    > alice POST job/submit {"nice": -5}
      500
      error 2123: "Invalid --nice value" ("Batch job submission failed")
    > alice POST job/submit {"tasks": "abc"}
      200
      warning: "Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): \"abc\""
      /job_id = null
    > alice POST job/submit {"shared": ["bogus"], "hold": true}
      500
      error 9207: "Data parser unable to parse invalid flag" ("Unknown flag \"bogus\"")
      warning: "Job submission resulted in non-zero return code: Job is in held state, pending scheduler release"
      warning: "Job is in held state, pending scheduler release"
      /job_id = 3
    "#);
}

#[test]
fn a_node_is_drained_and_resumed() {
    insta::assert_snapshot!(talk(r#"
        root POST node/n001 {"state": ["DRAIN"], "reason": "disk"}
        alice GET node/n001 => /nodes/0/state /nodes/0/reason /nodes/0/reason_set_by_user
        root POST node/n001 {"state": ["RESUME"]}
        alice GET node/n001 => /nodes/0/state /nodes/0/reason
        root POST node/n001 {"state": ["RESUME"]}
        root POST node/n001 {"state": ["BOGUS"]}
        root POST node/n001 {"comment": "rack 3"}
        alice GET node/n001 => /nodes/0/comment
        root POST nodes/ {"name": ["n[001-002]"], "state": ["DRAIN"], "reason": "both"}
        alice GET node/n002 => /nodes/0/state
        root POST node/nope {"state": ["DRAIN"], "reason": "x"}
        alice GET node/nope
    "#), @r#"
    > root POST node/n001 {"state": ["DRAIN"], "reason": "disk"}
      200
    > alice GET node/n001
      200
      /nodes/0/state = ["IDLE","DRAIN"]
      /nodes/0/reason = "disk"
      /nodes/0/reason_set_by_user = "root"
    > root POST node/n001 {"state": ["RESUME"]}
      200
    > alice GET node/n001
      200
      /nodes/0/state = ["IDLE","NOT_RESPONDING"]
      /nodes/0/reason = "disk"
    > root POST node/n001 {"state": ["RESUME"]}
      500
      error 2028: "Invalid node state specified" ("Failure to update node n001")
    > root POST node/n001 {"state": ["BOGUS"]}
      500
      error 9207: "Data parser unable to parse invalid flag" ("Unknown flag \"BOGUS\"")
      error 2028: "Invalid node state specified" ("Failure to update node n001")
    > root POST node/n001 {"comment": "rack 3"}
      200
    > alice GET node/n001
      200
      /nodes/0/comment = "rack 3"
    > root POST nodes/ {"name": ["n[001-002]"], "state": ["DRAIN"], "reason": "both"}
      200
    > alice GET node/n002
      200
      /nodes/0/state = ["IDLE","DRAIN"]
    > root POST node/nope {"state": ["DRAIN"], "reason": "x"}
      500
      error 2018: "Invalid node name specified" ("Failure to update node nope")
    > alice GET node/nope
      200
      error 0: "No error" ("Failure to query node nope")
    "#);
}

#[test]
fn a_job_is_held_changed_and_released() {
    insta::assert_snapshot!(talk(r#"
        alice POST job/submit {"hold": true, "memory_per_node": 100} => /job_id
        alice GET job/1 => /jobs/0/state_reason /jobs/0/hold /jobs/0/priority
        alice POST job/1 {"time_limit": 30, "comment": "short"}
        alice GET job/1 => /jobs/0/time_limit /jobs/0/comment
        alice POST job/1 {"hold": false}
        +3
        alice GET job/1 => /jobs/0/job_state /jobs/0/hold
        alice POST job/1 {"time_limit": 300}
        root POST job/1 {"time_limit": 300}
        alice GET job/1 => /jobs/0/time_limit
        alice POST job/1 {"partition": "low"}
        alice POST job/1 {"tasks": "abc"}
        alice POST job/1 {"bogus": 1}
    "#), @r#"
    > alice POST job/submit {"hold": true, "memory_per_node": 100}
      200
      warning: "Job submission resulted in non-zero return code: Job is in held state, pending scheduler release"
      warning: "Job is in held state, pending scheduler release"
      /job_id = 1
    > alice GET job/1
      200
      /jobs/0/state_reason = "JobHeldUser"
      /jobs/0/hold = true
      /jobs/0/priority = 0
    > alice POST job/1 {"time_limit": 30, "comment": "short"}
      200
    > alice GET job/1
      200
      /jobs/0/time_limit = 30
      /jobs/0/comment = "short"
    > alice POST job/1 {"hold": false}
      200
    +3 s
    > alice GET job/1
      200
      /jobs/0/job_state = ["RUNNING"]
      /jobs/0/hold = false
    > alice POST job/1 {"time_limit": 300}
      500
      error 2002: "Access/permission denied" ("Job update requested failed")
    > root POST job/1 {"time_limit": 300}
      200
    > alice GET job/1
      200
      /jobs/0/time_limit = 300
    > alice POST job/1 {"partition": "low"}
      500
      error 2073: "Job is no longer pending execution" ("Job update requested failed")
    > alice POST job/1 {"tasks": "abc"}
      422
      error 9000: "Query empty or not RFC7320 compliant" ("Rejecting request. Failure parsing job update request.")
      warning: "Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): \"abc\""
    > alice POST job/1 {"bogus": 1}
      200
      warning: "Ignoring unknown field \"bogus\" of type 64 bit integer in DATA_PARSER_JOB_DESC_MSG"
    "#);
}

#[test]
fn nothing_newer_is_an_empty_list_or_304() {
    insta::assert_snapshot!(talk(r#"
        alice POST job/submit {"hold": true} => /job_id
        alice GET jobs?update_time=1794789398 => /jobs /last_update
        alice GET jobs?update_time=uts1794789398 => /jobs
        alice GET jobs?update_time=1 => /jobs/0/job_id
        alice GET jobs?update_time=abc
        alice GET nodes?update_time=1794789398
        alice GET nodes?update_time=abc
        alice GET partitions?update_time=1794789398
        alice GET jobs?bogus=1 => /jobs/0/job_id
        alice GET jobs/state?job_id=1 => /jobs
        alice GET jobs/state?job_id=7 => /jobs
        alice GET jobs/state?job_id=abc
    "#), @r#"
    > alice POST job/submit {"hold": true}
      200
      warning: "Job submission resulted in non-zero return code: Job is in held state, pending scheduler release"
      warning: "Job is in held state, pending scheduler release"
      /job_id = 1
    > alice GET jobs?update_time=1794789398
      200
      warning: "No job changes since update_time[1794789398]=2026-11-16T00:36:38"
      /jobs = []
      /last_update = 0
    > alice GET jobs?update_time=uts1794789398
      200
      warning: "No job changes since update_time[1794789398]=2026-11-16T00:36:38"
      /jobs = []
    > alice GET jobs?update_time=1
      200
      /jobs/0/job_id = 1
    > alice GET jobs?update_time=abc
      422
      error 9202: "Unable to convert Data type" ("Parsing of abc for timestamp failed")
      error 9000: "Query empty or not RFC7320 compliant" ("Rejecting request. Failure parsing query.")
    > alice GET nodes?update_time=1794789398
      304
    > alice GET nodes?update_time=abc
      500
      error 9202: "Unable to convert Data type" ("Parsing of abc for timestamp failed")
      error 9000: "Query empty or not RFC7320 compliant" ("Rejecting request. Failure parsing query.")
    > alice GET partitions?update_time=1794789398
      304
    > alice GET jobs?bogus=1
      200
      warning: "Ignoring unknown field \"bogus\" of type string in DATA_PARSER_OPENAPI_JOB_INFO_QUERY"
      /jobs/0/job_id = 1
    > alice GET jobs/state?job_id=1
      200
      /jobs = [{"job_id":"1","state":["PENDING"]}]
    > alice GET jobs/state?job_id=7
      200
      /jobs = []
    > alice GET jobs/state?job_id=abc
      422
      error 9000: "Query empty or not RFC7320 compliant" ("Rejecting request. Failure parsing query")
    "#);
}

//! Replies of which one part was replaced: whatever it was, the answer is whole or there is none.
//!
//! A job that silently fell out of a list would be taken for gone, and submitted again.

use drawbridge_bridge::slurm::{
    decode,
    reply::{Body, Reply},
};
use drawbridge_core::{NodeTarget, SlurmReply, SlurmRequest};
use drawbridge_sim::JobId;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::recorded::submission;

fn reply() -> Value {
    let at = |number: u64| json!({"set": true, "infinite": false, "number": number});
    let node = |index: u32, name: &str| json!({"index": index, "name": name, "cpus": {"count": 8}});
    let job = |id: u32| {
        json!({
            "job_id": id,
            "job_state": ["RUNNING"],
            "state_reason": "None",
            "submit_time": at(1000),
            "start_time": at(1001),
            "job_resources": {"nodes": {"allocation": [node(0, "n003"), node(1, "n004")]}},
        })
    };
    let nodes = json!([{"name": "n001", "state": ["IDLE"], "cpus": 1, "real_memory": 2}]);
    json!({
        "job_id": 7,
        "jobs": [job(1), job(2), job(3)],
        "nodes": nodes,
        "status": [],
        "errors": [],
        "warnings": [{"description": "x"}],
    })
}

/// Every place in a value, as JSON pointers.
fn pointers(at: &str, value: &Value, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(&format!("{at}/{key}"), value, found));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(i, value)| pointers(&format!("{at}/{i}"), value, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replacement() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("17_0"),
        json!([]),
        json!([null]),
        json!([[]]),
        json!({}),
        json!({"set": false, "infinite": true, "number": -3}),
        json!([{"error_number": "x", "error": 5, "description": null}]),
    ])
}

fn requests() -> [SlurmRequest; 7] {
    [
        SlurmRequest::Submit(Box::new(submission())),
        SlurmRequest::JobStates,
        SlurmRequest::Job(JobId(2)),
        SlurmRequest::Jobs,
        SlurmRequest::Cancel { job: JobId(2), signal: None },
        SlurmRequest::Nodes,
        SlurmRequest::UpdateNode {
            node: "n001".into(),
            state: NodeTarget::Undrain,
            reason: String::new(),
        },
    ]
}

proptest! {
    #[test]
    fn a_list_is_decoded_whole_or_not_at_all(
        place in any::<prop::sample::Index>(),
        other in replacement(),
        status in prop::sample::select(vec![200, 204, 304, 404, 422, 500, 511]),
    ) {
        let (mut body, mut places) = (reply(), Vec::new());
        pointers("", &body, &mut places);
        let place: &String = place.get(&places);
        *body.pointer_mut(place).unwrap() = other;
        let length = |key: &str| body[key].as_array().map_or(0, Vec::len);
        for request in requests() {
            match decode(&request, &Reply { status, body: Body::Json(&body) }) {
                Ok(SlurmReply::Jobs(jobs)) => prop_assert_eq!(jobs.len(), length("jobs")),
                Ok(SlurmReply::Nodes(nodes)) => prop_assert_eq!(nodes.len(), length("nodes")),
                Ok(_) | Err(_) => {}
            }
        }
    }
}

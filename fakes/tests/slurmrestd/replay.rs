//! The whole recorded sessions, replayed on the model in bytes: the same statuses, media types, error
//! numbers, numbers of warnings, texts and shapes. What differs is named at the end, and in
//! FIDELITY.md.

use std::collections::BTreeMap;

use drawbridge_fakes::slurmrestd::RestResponse;
use drawbridge_sim::{Release, Span};
use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    recorded::{Exchange, exchanges, pairs, whole},
    shape::{differences, read_tree, shape},
};

/// Submissions that the model refuses or starts where the real one didn't; another job takes the
/// number, so that later ones agree.
fn stand_in(name: &str) -> Option<(&'static str, Value)> {
    let found = match name {
        // Its QOS lets one job run, and nobody enforces that here.
        "submit_account_qos_2nd" => ("alice", json!({ "name": "aq2", "hold": true })),
        // First in the queue, so that it gets the node that was reserved for it.
        "submit_reservation" => (
            "root",
            json!({ "name": "resv", "required_nodes": ["n008"], "priority": 99_999, "account": "root" }),
        ),
        _others_as_recorded => return None,
    };
    Some(found)
}

/// What the recorder did beside the recorded requests.
fn before(exchange: &Exchange, cluster: &mut Cluster) {
    let first = exchange.version == "v0.0.40";
    match exchange.name.as_str() {
        "submit_hold" => {
            cluster.submit("alice", &json!({ "cpus_per_task": 2, "memory_per_cpu": 2000 }));
        }
        "submit_reservation" => {
            cluster.submit("alice", &json!({ "hold": true, "nodes": "1" }));
        }
        // The allocation was gone when its client was.
        "submit_gang" if !first => {
            cluster.call("alice", "DELETE job/3", None);
        }
        "job_get_simple" => cluster.wait(Span::ms(2500)),
        "job_get_after_update" => {
            let body = json!({ "minimum_nodes": 2, "maximum_nodes": 2 });
            let line = format!("POST job/{}", if first { 19 } else { 20 });
            cluster.call("alice", &line, Some(body));
        }
        "job_get_cancelled" | "err_unknown_partition" => cluster.wait(Span::secs(1)),
        "node_drain_user" => {
            let body = json!({ "state": ["DRAIN"] });
            cluster.call("root", "POST node/n006", Some(body));
        }
        "jobs_after_cancel" => {
            for id in 1..40 {
                cluster.call("root", &format!("DELETE job/{id}"), None);
            }
            cluster.wait(Span::secs(2));
        }
        _nothing => {}
    }
}

/// An answer of ours, read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// JSON, or a text.
    pub(crate) body: Value,
}

/// Each exchange with what the model answered.
pub(crate) fn replay(release: Release, version: &str) -> Vec<(Exchange, Answer)> {
    let mut cluster = Cluster::accounted(release);
    let mut replayed = vec![];
    for exchange in exchanges(release, version) {
        before(&exchange, &mut cluster);
        if let Some((user, job)) = stand_in(&exchange.name) {
            cluster.submit(user, &job);
            continue;
        }
        let RestResponse { status, content_type, body } = cluster.send(&exchange.request);
        let body = body.whole();
        let body = match content_type {
            "application/json" => serde_json::from_slice(&body).unwrap(),
            _text => String::from_utf8(body).unwrap().into(),
        };
        replayed.push((exchange, Answer { status, content_type, body }));
    }
    replayed
}

fn error_numbers(body: &Value) -> Vec<i64> {
    let errors = body["errors"].as_array().into_iter().flatten();
    errors.map(|error| error["error_number"].as_i64().unwrap()).collect()
}

/// What differs, exchange by exchange, in words.
fn compare(exchange: &Exchange, answer: &Answer) -> Vec<String> {
    let Answer { status, content_type, body } = answer;
    let mut found = vec![];
    if exchange.status != *status {
        found.push(format!("status {} is {status}", exchange.status));
    }
    let media = if *status == 304 { "" } else { content_type };
    if exchange.media != media && exchange.status == *status {
        found.push(format!("type {:?} is {media:?}", exchange.media));
    }
    if let Some(text) = &exchange.text {
        if body.as_str() != Some(text) {
            found.push("another text".into());
        }
        return found;
    }
    let Some(tree) = &exchange.shape else {
        return found;
    };
    let ours = error_numbers(body);
    if exchange.errors != ours {
        found.push(format!("errors {:?} are {ours:?}", exchange.errors));
    }
    let warnings = body["warnings"].as_array().map_or(0, Vec::len);
    if exchange.warnings != warnings {
        found.push(format!("{} warnings are {warnings}", exchange.warnings));
    }
    found.extend(differences(&read_tree(tree), &shape(body)));
    found
}

/// Fields of a job whose values should be the recording's own. Times are left out: the recorder's
/// clock isn't ours.
#[rustfmt::skip]
const SAME_VALUES: &[&str] = &[
    "job_id", "name", "job_state", "state_reason", "state_description", "nodes", "batch_host", "cpus",
    "node_count", "max_nodes", "tasks", "tasks_per_node", "cpus_per_task", "memory_per_cpu",
    "memory_per_node", "minimum_cpus_per_node", "tres_req_str", "tres_alloc_str", "tres_per_node",
    "gres_detail", "job_resources", "hold", "priority", "partition", "shared", "time_limit",
    "exit_code", "comment", "admin_comment", "dependency", "requeue", "restart_cnt", "required_nodes",
    "billable_tres", "account", "qos", "association_id", "array_job_id", "array_task_id",
    "array_max_tasks", "array_task_string", "exclusive", "oversubscribe",
];

fn values() -> Option<String> {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (release, version) in pairs() {
        for (exchange, answer) in replay(release, &version) {
            if !exchange.name.starts_with("job_get") {
                continue;
            }
            let theirs = whole(&exchange)?;
            for field in SAME_VALUES {
                let (theirs, ours) = (&theirs["jobs"][0][field], &answer.body["jobs"][0][field]);
                if theirs != ours {
                    let name = &exchange.name;
                    let line = format!("{name}: {field} {} is {}", brief(theirs), brief(ours));
                    lines.entry(line).or_default().push(pair(release, &version));
                }
            }
        }
    }
    let lines = lines.into_iter().map(|(line, pairs)| format!("{line}{}\n", whose(&pairs)));
    Some(lines.collect())
}

fn pair(release: Release, version: &str) -> String {
    format!("{release}/{}", version.trim_start_matches("v0.0."))
}

/// Which of the pairs, unless it is all.
fn whose(pairs: &[String]) -> String {
    if pairs.len() == 7 { String::new() } else { format!("  [{}]", pairs.join(" ")) }
}

/// A number without its flags; a long value by its length.
fn brief(value: &Value) -> String {
    let text = match value.get("number").filter(|_| value["set"] == true) {
        Some(number) => number.to_string(),
        None => value.to_string(),
    };
    match text.len() {
        0..=200 => text,
        length => format!("({length} characters)"),
    }
}

/// How many exchanges there are, and what differs in how many of them.
fn report() -> String {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut said = String::new();
    for (release, version) in pairs() {
        let replayed = replay(release, &version);
        let mut differing = 0;
        for (exchange, answer) in &replayed {
            let found = compare(exchange, answer);
            differing += usize::from(!found.is_empty());
            for line in found {
                let line = format!("{}: {line}", exchange.name);
                lines.entry(line).or_default().push(pair(release, &version));
            }
        }
        let pair = pair(release, &version);
        said.push_str(&format!("{pair}: {differing} of {} differ\n", replayed.len()));
    }
    for (line, pairs) in lines {
        said.push_str(&format!("{line}{}\n", whose(&pairs)));
    }
    said
}

#[test]
fn the_recorded_sessions_replay_with_these_differences_only() {
    insta::assert_snapshot!(report(), @"
    24.11/40: 3 of 125 differ
    24.11/41: 2 of 125 differ
    24.11/42: 2 of 125 differ
    26.05/42: 2 of 125 differ
    26.05/43: 4 of 125 differ
    26.05/44: 4 of 125 differ
    26.05/45: 4 of 125 differ
    reservation_create: + errors[]: object  [26.05/43 26.05/44 26.05/45]
    reservation_create: - reservations: list  [26.05/43 26.05/44 26.05/45]
    reservation_create: errors [] are [2036]  [26.05/43 26.05/44 26.05/45]
    reservation_create: status 200 is 422  [26.05/43 26.05/44 26.05/45]
    reservation_delete: + errors[]: object  [26.05/43 26.05/44 26.05/45]
    reservation_delete: errors [] are [2053]  [26.05/43 26.05/44 26.05/45]
    reservation_delete: status 200 is 422  [26.05/43 26.05/44 26.05/45]
    reservation_one: + errors[]: object
    reservation_one: - last_update: object
    reservation_one: - reservations: list
    reservation_one: errors [] are [0]
    reservations: - reservations[]: object
    submit_wont_fit_now: - warnings[]: object  [24.11/40]
    submit_wont_fit_now: 2 warnings are 0  [24.11/40]
    ");
}

#[test]
fn jobs_say_what_the_recorded_ones_said_but_for_this() {
    let Some(values) = values() else {
        return;
    };
    insta::assert_snapshot!(values, @r#"
    job_get_account_qos_2nd: hold false is true
    job_get_account_qos_2nd: priority 1 is 0
    job_get_account_qos_2nd: qos "high" is "normal"
    job_get_account_qos_2nd: state_reason "Priority" is "JobHeldUser"
    job_get_hold: max_nodes 1 is 0  [24.11/40 24.11/41 24.11/42]
    job_get_reservation: account "proj" is "root"
    job_get_reservation: association_id 4 is 2
    job_get_reservation: priority 1 is 99999
    job_get_reservation: required_nodes "" is "n008"
    "#);
}

//! What holds for every request, however odd.

use drawbridge_sim::{Release, Span};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cluster::{Cluster, with_needs};

/// Fields that a client may get wrong, and one that doesn't exist.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "account", "admin_comment", "array", "begin_time", "comment", "constraints", "cpus_per_task",
    "dependency", "environment", "excluded_nodes", "flags", "hold", "maximum_nodes",
    "memory_per_cpu", "memory_per_node", "minimum_nodes", "name", "nice", "no_such_field", "nodes",
    "partition", "priority", "qos", "required_nodes", "script", "shared", "state", "tasks",
    "tasks_per_node", "time_limit", "tres_per_job", "tres_per_node", "tres_per_task", "user_id",
];

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..200_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9:/,=\\-\\[\\]]{0,12}".prop_map(Value::from),
        prop::sample::select(
            &["main", "low", "gres/gpu:1", "n[001-004]", "2-4", "none", "DRAIN"][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            (any::<bool>(), any::<bool>(), inner)
                .prop_map(|(set, infinite, number)| json!({ "set": set, "infinite": infinite, "number": number })),
        ]
    })
}

fn jobs() -> impl Strategy<Value = Value> {
    let fields = prop::collection::vec((prop::sample::select(FIELDS), values()), 0..4);
    fields.prop_map(|fields| {
        let pairs = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
        Value::Object(pairs.collect())
    })
}

fn users() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["alice", "root"][..])
}

/// Every answer has the three parts, and one that failed says why.
fn check(status: u16, body: &Value) {
    assert!([200, 404, 422, 500].contains(&status), "{status} {body}");
    assert!(body["meta"].is_object(), "{body}");
    assert!(body["warnings"].is_array(), "{body}");
    let errors = body["errors"].as_array().unwrap();
    assert!(status == 200 || !errors.is_empty(), "{status} {body}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_submission_has_a_number_exactly_if_there_is_a_job(job in jobs(), user in users()) {
        let mut cluster = Cluster::new(Release::V24_11);
        let body = json!({ "script": "#!/bin/sh\n", "job": with_needs(&job) });
        let reply = cluster.call(user, "POST job/submit", Some(body));
        check(reply.status, &reply.body);
        // What is refused as impossible stays to be seen as FAILED.
        let waiting = cluster.ctld().jobs().filter(|job| !job.state.is_end()).count();
        prop_assert_eq!(reply.body["job_id"].is_u64(), waiting == 1);
    }

    #[test]
    fn changes_never_break_what_is_read_afterwards(changes in prop::collection::vec((jobs(), users()), 1..4)) {
        let mut cluster = Cluster::new(Release::V24_11);
        cluster.submit("alice", &json!({ "memory_per_node": 100 }));
        for (change, user) in changes {
            let reply = cluster.call(user, "POST job/1", Some(change.clone()));
            check(reply.status, &reply.body);
            let reply = cluster.call(user, "POST node/n001", Some(change));
            check(reply.status, &reply.body);
            cluster.wait(Span::secs(1));
        }
        for line in ["GET jobs", "GET job/1", "GET jobs/state", "GET nodes", "GET partitions", "GET diag"] {
            let reply = cluster.call("alice", line, None);
            prop_assert_eq!(reply.status, 200);
            check(reply.status, &reply.body);
        }
    }

    #[test]
    fn any_body_at_all_gets_an_answer(body in values()) {
        let mut cluster = Cluster::new(Release::V24_11);
        for line in ["POST job/submit", "POST nodes/", "POST node/n001", "DELETE jobs/", "POST job/1"] {
            let reply = cluster.call("root", line, Some(body.clone()));
            check(reply.status, &reply.body);
        }
    }
}

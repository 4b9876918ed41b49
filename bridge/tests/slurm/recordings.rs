//! Every recorded exchange with the real slurmrestd that the bridge could have had, decoded.

use std::collections::BTreeSet;

use drawbridge_bridge::slurm::{
    decode,
    reply::{Body, Reply},
};
use drawbridge_core::{
    NodeTarget, SlurmFault, SlurmReply, SlurmRequest,
    slurm::{ApiVersion, Base, Flag, ObservedJob, ObservedState},
};
use drawbridge_sim::JobId;
use serde_json::{Value, json};

use crate::recorded::{Exchange, PAIRS, exchanges, openapi, submission};

/// The request of ours that would have got this reply.
fn request(version: ApiVersion, exchange: &Exchange) -> Option<SlurmRequest> {
    let path = exchange.path.split('?').next()?;
    let parts: Vec<&str> = path.strip_prefix(&format!("/slurm/{version}/"))?.split('/').collect();
    Some(match (exchange.method.as_str(), parts.as_slice()) {
        ("POST", ["job", "submit"]) => SlurmRequest::Submit(Box::new(submission())),
        ("GET", ["jobs", "state"]) => SlurmRequest::JobStates,
        ("GET", ["jobs"]) => SlurmRequest::Jobs,
        ("GET", ["job", id]) => SlurmRequest::Job(JobId(id.parse().ok()?)),
        ("DELETE", ["job", id]) => {
            SlurmRequest::Cancel { job: JobId(id.parse().ok()?), signal: None }
        }
        ("GET", ["nodes"] | ["node", _]) => SlurmRequest::Nodes,
        ("GET", ["reservations"]) => SlurmRequest::Reservations,
        ("DELETE", ["node", name]) => SlurmRequest::DeleteNode((*name).into()),
        ("POST", ["node", name]) => SlurmRequest::UpdateNode {
            node: (*name).into(),
            state: NodeTarget::Drain,
            reason: String::new(),
        },
        _ => return None,
    })
}

fn understood(request: &SlurmRequest, exchange: &Exchange) -> Result<SlurmReply, SlurmFault> {
    decode(request, &Reply { status: exchange.status, body: Body::Json(&exchange.body) })
}

fn in_words(outcome: &Result<SlurmReply, SlurmFault>) -> String {
    match outcome {
        Ok(SlurmReply::Submitted { job }) => format!("submitted {job}"),
        Ok(SlurmReply::States(states)) => format!("{} states", states.len()),
        Ok(SlurmReply::Job(None)) => "no such job".into(),
        Ok(SlurmReply::Job(Some(job))) => job_in_words(job),
        Ok(SlurmReply::Jobs(jobs)) => format!("{} jobs", jobs.len()),
        Ok(SlurmReply::Nodes(nodes)) => match nodes.as_slice() {
            [one] => format!("{} {} {:?} {}", one.name, one.state.join("+"), one.reason, one.gres),
            nodes => format!("{} nodes", nodes.len()),
        },
        Ok(SlurmReply::Reservations(all)) => {
            let shown = all.iter().map(|it| {
                let lasts = it.end_time.map(|end| end - it.start_time);
                format!("{} {:?} {lasts:?} {}", it.name, it.nodes, it.is_maintenance)
            });
            shown.collect::<Vec<_>>().join(", ")
        }
        Ok(SlurmReply::Done) => "done".into(),
        Err(SlurmFault::Refused { number, text }) => format!("refused {number}: {text}"),
        Err(fault) => fault.to_string(),
    }
}

fn job_in_words(job: &ObservedJob) -> String {
    let nodes: Vec<String> =
        job.allocation.iter().map(|on| format!("{}:{}", on.node, on.cpus)).collect();
    let reason = job.reason.as_deref().unwrap_or("-");
    let start = if job.start_time.is_some() { "start known" } else { "start unknown" };
    format!("job {} {} {reason} [{}] {start}", job.id, job.state, nodes.join(" "))
}

/// What each recording of 24.11 in v0.0.42 means, one per line, of those that `wanted` picks.
fn meanings(wanted: impl Fn(&str) -> bool) -> String {
    let exchanges = exchanges("24.11", ApiVersion::V42);
    let wanted = exchanges.iter().filter(|exchange| wanted(&exchange.name));
    let lines = wanted.filter_map(|exchange| {
        let outcome = understood(&request(ApiVersion::V42, exchange)?, exchange);
        Some(format!("{}: {}", exchange.name, in_words(&outcome)))
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn recorded_refusals_keep_slurm_s_number_and_words() {
    insta::assert_snapshot!(meanings(|name| name.starts_with("err_")), @r#"
    err_bad_dependency: refused 2038: Job dependency problem
    err_bad_feature: refused 2029: Invalid feature specification
    err_bad_json: refused 0: Unable to parse query.
    err_bad_type_tasks: not understood: the reply to a submit has no job id: Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "abc"
    err_cancel_other_user: refused 2002: Access/permission denied
    err_content_type: refused 0: Unable to parse query.
    err_empty_body: refused 9000: Populated "script" field is required for job submission
    err_environment_empty: refused 2019: I/O error writing script/environment to file
    err_invalid_token: the token is not accepted: Protocol authentication error
    err_job_cancel_unknown: refused 2017: Invalid job id specified
    err_job_unknown: no such job
    err_jobs_bad_query: 3 jobs
    err_jobs_bad_update_time: refused 9202: Parsing of abc for timestamp failed
    err_no_cwd: refused 2063: Job cannot be submitted without the current working directory specified.
    err_no_environment: refused 2019: I/O error writing script/environment to file
    err_no_script: refused 9000: Populated "script" field is required for job submission
    err_no_token: the token is not accepted: Authentication failure
    err_not_object: refused 9209: Rejecting list when dictionary expected
    err_too_many_cpus: refused 2014: Requested node configuration is not available
    err_too_many_gpus: refused 2014: Requested node configuration is not available
    err_too_many_nodes: refused 2014: Requested node configuration is not available
    err_too_much_memory: refused 2014: Requested node configuration is not available
    err_unknown_account: refused 2045: Invalid account or account/partition combination specified
    err_unknown_field: submitted 28
    err_unknown_gres: refused 2072: Invalid generic resource (gres) specification
    err_unknown_node: refused 2018: Invalid node name specified
    err_unknown_partition: refused 2000: Invalid partition name specified
    err_unknown_qos: refused 2066: Invalid qos specification
    err_unknown_reservation: refused 2053: Requested reservation is invalid
    "#);
}

#[test]
fn recorded_answers_mean_what_they_should() {
    insta::assert_snapshot!(meanings(|name| !name.starts_with("err_")), @r#"
    job_cancel: done
    job_cancel_again: refused 2021: Job/step already completing or completed
    job_get_account_qos_2nd: job 14 PENDING Priority [] start known
    job_get_after_update: job 1 RUNNING - [n001:1] start known
    job_get_array: job 17 PENDING Priority [] start known
    job_get_cancelled: job 1 CANCELLED - [n001:1] start known
    job_get_constraints_begin: job 15 PENDING BeginTime [] start known
    job_get_dependency: job 8 PENDING Dependency [] start unknown
    job_get_exclusive: job 9 PENDING Resources [] start known
    job_get_gang: job 4 RUNNING - [n003:8 n004:8 n005:8 n006:8] start known
    job_get_gpu: job 5 RUNNING - [n007:4] start known
    job_get_hold: job 7 PENDING JobHeldUser [] start unknown
    job_get_reservation: job 12 RUNNING - [n008:1] start known
    job_get_simple: job 1 RUNNING - [n001:1] start known
    job_signal: done
    jobs: 20 jobs
    jobs_after_cancel: 29 jobs
    jobs_flags_all: 3 jobs
    jobs_flags_detail: 3 jobs
    jobs_state: 19 states
    jobs_update_time_future: 0 jobs
    jobs_update_time_past: 3 jobs
    node_delete_static: refused 2028: Invalid node state specified
    node_down: done
    node_down_resume: done
    node_drain: done
    node_drain_user: refused 2010: Invalid user id
    node_get_down: n006 MIXED+NOT_RESPONDING+PLANNED "broken" gpu:8
    node_get_drained: n005 MIXED+DRAIN+PLANNED "maintenance test" gpu:8
    node_one: n001 IDLE "" gpu:8
    node_resume: done
    node_resume6: done
    node_unknown: refused 0: Failure to query node nope
    nodes: 3 nodes
    nodes_busy: 3 nodes
    nodes_update_time: not understood: status 304: no error is given
    reservations: resv1 [SlurmNode("n008")] Some(7200) false
    submit_account_qos: submitted 13
    submit_account_qos_2nd: submitted 14
    submit_array: submitted 17
    submit_constraints_begin: submitted 15
    submit_dependency: submitted 8
    submit_exclusive: submitted 9
    submit_exclusive_unknown_field: submitted 10
    submit_gang: submitted 4
    submit_gpu: submitted 5
    submit_hold: submitted 7
    submit_minmax_nodes: submitted 18
    submit_requeue_comment: submitted 19
    submit_required_nodes: submitted 16
    submit_reservation: submitted 12
    submit_script_in_job: submitted 2
    submit_simple: submitted 1
    submit_wont_fit_now: submitted 20
    "#);
}

#[test]
fn a_submit_is_accepted_if_and_only_if_it_got_a_number() {
    for (release, version) in PAIRS {
        let mut seen = 0;
        for exchange in exchanges(release, version) {
            let Some(request @ SlurmRequest::Submit(_)) = request(version, &exchange) else {
                continue;
            };
            seen += 1;
            let numbered = exchange.body["job_id"].as_u64().is_some_and(|id| id != 0);
            let accepted = understood(&request, &exchange).is_ok();
            assert_eq!(accepted, numbered, "{release} {version} {}", exchange.name);
        }
        assert!(seen > 30, "only {seen}");
    }
}

#[test]
fn the_list_of_states_agrees_with_the_list_of_jobs() {
    for (release, version) in PAIRS {
        let exchanges = exchanges(release, version);
        let reply = |name: &str, request: SlurmRequest| {
            let exchange = exchanges.iter().find(|exchange| exchange.name == name).unwrap();
            understood(&request, exchange).unwrap()
        };
        let SlurmReply::States(states) = reply("jobs_state", SlurmRequest::JobStates) else {
            panic!("no states");
        };
        let SlurmReply::Jobs(jobs) = reply("jobs", SlurmRequest::Jobs) else {
            panic!("no jobs");
        };
        let mut compared = 0;
        for (id, state) in states {
            let job = jobs.iter().find(|job| job.id == id).unwrap();
            assert_eq!(job.state, state, "{release} {version} {id}");
            let has_nodes = !job.allocation.is_empty() && state != ObservedState::FAILED;
            assert_eq!(state == ObservedState::RUNNING, has_nodes, "{release} {version} {id}");
            assert!(job.allocation.iter().all(|on| on.cpus > 0) || !has_nodes, "{id}");
            compared += 1;
        }
        assert!(compared > 15, "{release} {version}: only {compared}");
    }
}

#[test]
fn a_gang_has_the_same_cpus_in_every_version() {
    for (release, version) in PAIRS {
        let exchanges = exchanges(release, version);
        let gang = exchanges.iter().find(|exchange| exchange.name == "job_get_gang").unwrap();
        let Ok(SlurmReply::Job(Some(job))) = understood(&request(version, gang).unwrap(), gang)
        else {
            panic!("no job");
        };
        let nodes: Vec<String> =
            job.allocation.iter().map(|on| format!("{}:{}", on.node, on.cpus)).collect();
        assert_eq!(nodes, ["n003:8", "n004:8", "n005:8", "n006:8"], "{release} {version}");
    }
}

#[test]
fn every_word_of_a_job_state_that_the_vendor_documents_is_known() {
    for version in ApiVersion::ALL {
        let mut words = BTreeSet::new();
        state_words(&openapi(version), &mut words);
        assert!(25 < words.len(), "{version}: only {words:?}");
        let known = Base::ALL.iter().map(Base::word).chain(Flag::ALL.iter().map(Flag::word));
        let known: BTreeSet<_> = known.map(str::to_owned).collect();
        assert!(words.is_subset(&known), "{version}: {:?}", words.difference(&known));
    }
}

/// The words of every enumeration that has both `PENDING` and `RUNNING` in it.
fn state_words(schema: &Value, words: &mut BTreeSet<String>) {
    if let Some(listed) = schema["enum"].as_array()
        && ["PENDING", "RUNNING"].iter().all(|word| listed.contains(&json!(word)))
    {
        words.extend(listed.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|field| state_words(field, words)),
        Value::Array(items) => items.iter().for_each(|item| state_words(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

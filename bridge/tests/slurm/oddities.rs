//! What is odd about the real slurmrestd, one test for each oddity, on what it was recorded to say in
//! every release and version.

use drawbridge_bridge::slurm::{
    calls::{Call, Jobs, NodeByName, Nodes, Pings, Since, Submit, UpdateJob},
    encode,
    reply::{Answered, Body, Reply},
};
use drawbridge_core::{SlurmFault, SlurmRequest, slurm::ApiVersion};
use serde_json::json;

use crate::recorded::{Exchange, PAIRS, exchanges, submission};

/// This exchange in every release and version.
fn everywhere(name: &str) -> Vec<(&'static str, ApiVersion, Exchange)> {
    let find = |(release, version)| {
        let mut found = exchanges(release, version).into_iter();
        let exchange = found.find(|exchange| exchange.name == name).unwrap();
        (release, version, exchange)
    };
    PAIRS.into_iter().map(find).collect()
}

fn answer<C: Call>(call: &C, exchange: &Exchange) -> Result<Answered<C::Answer>, SlurmFault> {
    call.answer(&Reply { status: exchange.status, body: Body::Json(&exchange.body) })
}

fn fault<C: Call>(call: &C, exchange: &Exchange) -> SlurmFault {
    answer(call, exchange).err().unwrap()
}

fn submit() -> Submit {
    Submit((&submission()).into())
}

#[test]
fn a_submit_with_200_and_no_number_is_a_failure() {
    for (release, version, exchange) in everywhere("err_bad_type_tasks") {
        assert_eq!(exchange.status, 200);
        assert_eq!(exchange.body["errors"], json!([]));
        let fault = fault(&submit(), &exchange);
        let SlurmFault::Unintelligible { why } = &fault else { panic!("{release}: {fault}") };
        assert!(why.starts_with("the reply to a submit has no job id"), "{version}: {why}");
        assert!(!fault.allows_repeating(false));
    }
}

#[test]
fn an_unknown_node_has_200_and_an_error_without_a_number_and_is_no_node() {
    for (release, version, exchange) in everywhere("node_unknown") {
        assert_eq!(exchange.status, 200);
        assert_eq!(exchange.body["errors"][0]["error_number"], 0);
        let node = answer(&NodeByName("nope".into()), &exchange).unwrap().value;
        assert_eq!(node, None, "{release} {version}");
        // To whoever wants the whole list it is no list.
        assert!(matches!(fault(&Nodes, &exchange), SlurmFault::Refused { number: 0, .. }));
    }
}

#[test]
fn what_24_11_says_with_500_and_26_05_with_422_is_the_same_refusal() {
    for (name, number) in [
        ("err_unknown_partition", 2000),
        ("err_unknown_account", 2045),
        ("err_too_many_cpus", 2014),
        ("err_bad_dependency", 2038),
        ("err_unknown_gres", 2072),
    ] {
        for (release, version, exchange) in everywhere(name) {
            assert_eq!(exchange.status, if release == "24.11" { 500 } else { 422 });
            let SlurmFault::Refused { number: told, .. } = fault(&submit(), &exchange) else {
                panic!("{release} {version} {name}");
            };
            assert_eq!(told, number, "{release} {version} {name}");
        }
    }
    for (release, version, exchange) in everywhere("err_update_pending_partition") {
        let change = UpdateJob { job: "1".into(), change: submit().0 };
        let refused = fault(&change, &exchange);
        let is_told = matches!(refused, SlurmFault::Refused { number: 2000, .. });
        assert!(is_told, "{release} {version}: {refused}");
    }
}

#[test]
fn a_ping_succeeds_for_whoever_may_not_ask_and_calls_slurmctld_down_where_others_say_511() {
    for (release, version, exchange) in everywhere("err_wrong_user") {
        assert!(exchange.path.ends_with("/ping"));
        assert_eq!((exchange.status, &exchange.body["errors"]), (200, &json!([])));
        // So a slurmctld that is said to be down may well be up, and the token be bad.
        let pings = answer(&Pings, &exchange).unwrap().value;
        assert!(!pings[0].is_up(), "{release} {version}");
    }
    for (release, version, exchange) in everywhere("err_invalid_token") {
        assert_eq!((exchange.status, &exchange.body["jobs"]), (511, &json!([])));
        // There is an empty list beside the error. Taken for an answer, every job would be gone.
        let refused = fault(&Jobs, &exchange);
        let is_told = matches!(refused, SlurmFault::Unauthorized { .. });
        assert!(is_told, "{release} {version}: {refused}");
        let refused = fault(&Since { call: Jobs, moment: 1_794_789_398 }, &exchange);
        assert!(matches!(refused, SlurmFault::Unauthorized { .. }));
    }
}

#[test]
fn warnings_are_kept_and_are_no_failure() {
    for (release, version, exchange) in everywhere("err_unknown_field") {
        let submitted = answer(&submit(), &exchange).unwrap();
        assert_ne!(submitted.value.job_id, 0);
        let about = |warning: &String| warning.contains("nknown");
        assert!(submitted.warnings.iter().any(about), "{release} {version}: {submitted:?}");
    }
    for (release, version, exchange) in everywhere("err_jobs_bad_query") {
        let jobs = answer(&Jobs, &exchange).unwrap();
        assert_eq!(jobs.warnings.len(), 1, "{release} {version}");
        assert!(!jobs.value.items.is_empty());
    }
}

#[test]
fn a_plain_text_is_told_as_it_is() {
    let told = |name: &str| -> Vec<SlurmFault> {
        everywhere(name).iter().map(|(_, _, exchange)| fault(&Jobs, exchange)).collect()
    };
    for fault in told("err_no_token") {
        assert_eq!(fault.to_string(), "the token is not accepted: Authentication failure");
    }
    for fault in told("err_path").into_iter().chain(told("err_method")).chain(told("err_version")) {
        assert!(matches!(&fault, SlurmFault::NotServed { .. }), "{fault}");
    }
    for fault in told("err_bad_json") {
        assert!(matches!(&fault, SlurmFault::Refused { number: 0, .. }), "{fault}");
    }
}

#[test]
fn a_job_needs_an_environment_and_a_directory_and_ours_have_both() {
    for (name, numbers) in [
        ("err_no_environment", [2019, 2127]),
        ("err_environment_empty", [2019, 2127]),
        ("err_no_cwd", [2063, 2063]),
    ] {
        for (release, version, exchange) in everywhere(name) {
            let SlurmFault::Refused { number, .. } = fault(&submit(), &exchange) else {
                panic!("{release} {version} {name}");
            };
            assert_eq!(number, numbers[usize::from(release == "26.05")], "{version} {name}");
        }
    }
    for version in ApiVersion::ALL {
        let request = SlurmRequest::Submit(Box::new(submission()));
        let body = encode(&request, version).unwrap().body.unwrap();
        assert!(body["job"]["environment"].as_array().is_some_and(|list| !list.is_empty()));
        assert!(body["job"]["current_working_directory"].is_string(), "{version}");
    }
}

#[test]
fn exclusive_is_ignored_since_v0_0_42_so_whole_nodes_are_asked_for_by_shared() {
    for (release, version, exchange) in everywhere("submit_exclusive_unknown_field") {
        let submitted = answer(&submit(), &exchange).unwrap();
        let ignored = submitted.warnings.iter().any(|text| text.contains("\"exclusive\""));
        assert_eq!(ignored, version >= ApiVersion::V42, "{release} {version}");
    }
    for (release, version, exchange) in everywhere("submit_exclusive") {
        let submitted = answer(&submit(), &exchange).unwrap();
        assert_eq!(submitted.warnings, Vec::<String>::new(), "{release} {version}");
    }
    for version in ApiVersion::ALL {
        let job = &submit().request(version).unwrap().body.unwrap()["job"];
        assert_eq!((&job["shared"], job.get("exclusive")), (&json!(["none"]), None), "{version}");
    }
}

#[test]
fn nothing_newer_is_an_empty_list_of_jobs_and_304_for_nodes_where_the_moment_is_understood() {
    let moment = 1_794_789_398;
    for (release, version, exchange) in everywhere("jobs_update_time_future") {
        let answer = answer(&Since { call: Jobs, moment }, &exchange);
        match version < ApiVersion::V42 {
            // A plain number, which those versions don't take.
            true => assert!(matches!(answer, Err(SlurmFault::Refused { number: 9202, .. }))),
            false => assert_eq!(answer.unwrap().value, None, "{release} {version}"),
        }
    }
    for (release, version, exchange) in everywhere("nodes_update_time") {
        let answer = answer(&Since { call: Nodes, moment }, &exchange);
        match version < ApiVersion::V42 {
            true => assert!(matches!(answer, Err(SlurmFault::Refused { number: 9202, .. }))),
            false => {
                assert_eq!(exchange.status, 304);
                assert_eq!(answer.unwrap().value, None, "{release} {version}");
            }
        }
    }
    for (_, version, exchange) in everywhere("jobs_update_time_past") {
        let answer = answer(&Since { call: Jobs, moment }, &exchange);
        let all = answer.ok().and_then(|answer| answer.value).map(|list| list.items.len());
        assert_eq!(all.is_some_and(|count| count > 0), version >= ApiVersion::V42, "all of them");
    }
    // So ours is written in the form that all of them take.
    for version in ApiVersion::ALL {
        let request = Since { call: Jobs, moment }.request(version).unwrap();
        assert!(request.target().ends_with("/jobs?update_time=uts1794789398"), "{version}");
    }
}

#[test]
fn cancelling_somebody_else_s_job_has_200_and_its_failure_in_a_list() {
    for (release, version, exchange) in everywhere("err_cancel_other_user") {
        assert_eq!((exchange.status, &exchange.body["errors"]), (200, &json!([])));
        let cancel =
            drawbridge_bridge::slurm::calls::Cancel { job: "6".into(), ..Default::default() };
        let outcome = answer(&cancel, &exchange);
        match version < ApiVersion::V42 {
            // Nothing at all is said; that is why these versions are asked by `DELETE jobs/`.
            true => {
                let request = cancel.request(version).unwrap();
                assert!(request.target().ends_with("/jobs/"), "{release} {version}");
            }
            false => {
                let refused = outcome.err().unwrap();
                assert_eq!(
                    refused.to_string(),
                    "Access/permission denied (error 2002)",
                    "{version}"
                );
            }
        }
    }
}

//! Every recorded reply of every release and version means something to the call that it answers.

use drawbridge_bridge::slurm::{
    calls::{
        AccountingJobs, Accounts, Associations, Call, Cancel, CancelMany, CreateNode, DeleteNode,
        Diagnostics, JobById, JobDescription, JobStates, Jobs, Licenses, Listing, NodeByName,
        NodeChange, Nodes, PartitionByName, Partitions, Pings, QosList, Requeue, RequeueMany,
        ReservationByName, Reservations, Resources, ShareTree, Since, Submit, UpdateJob,
        UpdateNode, Users,
    },
    reply::{Body, Reply},
};
use drawbridge_core::{SlurmFault, slurm::ApiVersion};

use crate::recorded::{Exchange, PAIRS, exchanges, full_exchanges};

/// What the reply means to whoever asked so; `None` for requests that we never send.
fn meaning(version: ApiVersion, exchange: &Exchange) -> Meaning {
    let (path, query) = exchange.path.split_once('?').unwrap_or((&exchange.path, ""));
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
    let [service, spoken, rest @ ..] = parts.as_slice() else { return None };
    if *spoken != version.as_str() {
        return None;
    }
    let since = query.contains("update_time");
    match (exchange.method.as_str(), *service, rest) {
        (method, "slurm", [part, ..]) if part.starts_with("job") => {
            about_jobs(method, rest, since, exchange)
        }
        (method, "slurm", _) => about_the_cluster(method, rest, since, exchange),
        ("GET", "slurmdb", [records]) => about_the_past(records, exchange),
        _ => None,
    }
}

type Meaning = Option<Result<String, SlurmFault>>;

fn about_jobs(method: &str, parts: &[&str], since: bool, exchange: &Exchange) -> Meaning {
    Some(match (method, parts) {
        ("GET", ["jobs"]) if since => one(&of(Jobs), exchange, |list| changed(list.as_ref())),
        ("GET", ["jobs"]) => one(&Jobs, exchange, count),
        ("GET", ["jobs", "state"]) => one(&JobStates::default(), exchange, |jobs| many(jobs)),
        ("GET", ["job", id]) => one(&JobById((*id).into()), exchange, |jobs| many(jobs)),
        ("POST", ["job", "submit"]) => {
            one(&Submit(JobDescription::default()), exchange, |job| format!("job {}", job.job_id))
        }
        ("POST", ["job", "allocate"]) => return None,
        ("POST", ["job", id]) => {
            let change = JobDescription::default();
            one(&UpdateJob { job: (*id).into(), change }, exchange, done)
        }
        ("DELETE", ["job", id]) => {
            one(&Cancel { job: (*id).into(), ..Cancel::default() }, exchange, done)
        }
        ("DELETE", ["jobs"]) => one(&CancelMany::default(), exchange, |jobs| many(jobs)),
        ("GET", ["job", id, "requeue"]) => {
            one(&Requeue { job: (*id).into(), ..Requeue::default() }, exchange, done)
        }
        ("POST", ["jobs", "requeue"]) => one(&RequeueMany::default(), exchange, done),
        _ => return None,
    })
}

fn about_the_cluster(method: &str, parts: &[&str], since: bool, exchange: &Exchange) -> Meaning {
    Some(match (method, parts) {
        ("GET", ["ping"]) => one(&Pings, exchange, |pings| format!("up {}", pings[0].is_up())),
        ("GET", ["nodes"]) if since => one(&of(Nodes), exchange, |list| changed(list.as_ref())),
        ("GET", ["nodes"]) => one(&Nodes, exchange, count),
        ("GET", ["node", name]) => one(&NodeByName((*name).into()), exchange, found),
        ("POST", ["node", name]) => {
            let change = NodeChange::default();
            one(&UpdateNode { node: (*name).into(), change }, exchange, done)
        }
        ("DELETE", ["node", name]) => one(&DeleteNode((*name).into()), exchange, done),
        ("POST", ["new", "node"]) => one(&CreateNode(String::new()), exchange, done),
        ("GET", ["partitions"]) => one(&Partitions, exchange, count),
        ("GET", ["partition", name]) => one(&PartitionByName((*name).into()), exchange, found),
        ("GET", ["reservations"]) => one(&Reservations, exchange, count),
        ("GET", ["reservation", name]) => one(&ReservationByName((*name).into()), exchange, found),
        ("GET", ["licenses"]) => one(&Licenses, exchange, count),
        ("GET", ["shares"]) => one(&ShareTree::default(), exchange, |shares| many(shares)),
        ("GET", ["diag"]) => {
            one(&Diagnostics, exchange, |diag| format!("{} threads", diag.server_thread_count))
        }
        ("GET", ["resources", _]) => one(&Resources(1), exchange, |nodes| many(nodes)),
        _ => return None,
    })
}

fn about_the_past(records: &str, exchange: &Exchange) -> Meaning {
    Some(match records {
        "jobs" => one(&AccountingJobs::default(), exchange, |jobs| many(jobs)),
        "accounts" => one(&Accounts, exchange, |found| many(found)),
        "associations" => one(&Associations::default(), exchange, |found| many(found)),
        "users" => one(&Users, exchange, |found| many(found)),
        "qos" => one(&QosList, exchange, |found| many(found)),
        _ => return None,
    })
}

fn one<C: Call>(
    call: &C,
    exchange: &Exchange,
    words: impl Fn(&C::Answer) -> String,
) -> Result<String, SlurmFault> {
    let reply = Reply { status: exchange.status, body: Body::Json(&exchange.body) };
    let read = call.answer(&reply).map(|answer| words(&answer.value));
    // As bytes it means the same.
    let text = exchange.body.as_str().map(str::to_owned);
    let bytes = text.unwrap_or_else(|| exchange.body.to_string()).into_bytes();
    let reply = Reply { status: exchange.status, body: Body::Bytes(&bytes) };
    let same = call.answer(&reply).map(|answer| words(&answer.value));
    assert_eq!(read, same, "{}", exchange.name);
    read
}

fn of<C>(call: C) -> Since<C> {
    Since { call, moment: 1 }
}

fn changed<T>(list: Option<&Listing<T>>) -> String {
    list.map_or_else(|| "unchanged".to_owned(), count)
}

fn count<T>(list: &Listing<T>) -> String {
    many(&list.items)
}

fn many<T>(items: &[T]) -> String {
    items.len().to_string()
}

fn found<T>(item: &Option<T>) -> String {
    format!("found {}", item.is_some())
}

fn done(_: &()) -> String {
    "done".to_owned()
}

#[test]
fn every_reply_of_every_version_is_understood() {
    for (release, version) in PAIRS {
        let all = [Some(exchanges(release, version)), full_exchanges(release, version)];
        for exchanges in all.into_iter().flatten() {
            let (mut answers, mut refusals) = (0, 0);
            for exchange in &exchanges {
                match meaning(version, exchange) {
                    None => {}
                    Some(Ok(_)) => answers += 1,
                    Some(Err(SlurmFault::Unintelligible { why })) => {
                        // A value of the wrong type: 200, no number, nothing submitted.
                        assert_eq!(
                            exchange.name, "err_bad_type_tasks",
                            "{release} {version}: {why}"
                        );
                    }
                    Some(Err(_)) => refusals += 1,
                }
            }
            assert!(answers > 70 && refusals > 25, "{release} {version}: {answers}, {refusals}");
        }
    }
}

#[test]
fn what_the_releases_say_alike_means_the_same_in_every_version() {
    let told: Vec<Vec<String>> = PAIRS
        .iter()
        .map(|(release, version)| {
            let exchanges = exchanges(release, *version);
            let lines = exchanges.iter().filter(|exchange| !exchange.name.starts_with("jobs"));
            let lines = lines.filter_map(|exchange| {
                let words = match meaning(*version, exchange)? {
                    Ok(words) if exchange.name.starts_with("submit") => words[..3].to_owned(),
                    Ok(words) => words,
                    Err(fault) => format!("{fault:?}"),
                };
                Some(format!("{}: {words}", exchange.name))
            });
            lines.collect()
        })
        .collect();
    let different = told[0].iter().filter(|line| !told.iter().all(|lines| lines.contains(line)));
    let mut names: Vec<&str> = different.filter_map(|line| line.split(':').next()).collect();
    names.sort_unstable();
    insta::assert_snapshot!(names.join("\n"), @"
    err_bad_json
    err_bad_type_tasks
    err_cancel_other_user
    err_content_type
    err_environment_empty
    err_no_environment
    err_too_many_nodes
    err_unknown_field
    job_cancel_again
    nodes_update_time
    ");
}

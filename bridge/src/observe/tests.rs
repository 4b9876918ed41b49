//! What the health and metrics pages say.

use std::collections::BTreeMap;

use drawbridge_core::{
    Role, SlurmFault,
    link::{Link, Way},
};
use drawbridge_sim::Time;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;
use crate::slurm::client::{Metrics, Outcome, Tally};

fn status(link: &Link) -> Status {
    Status {
        role: Role::Leading,
        leader: None,
        is_synced: true,
        counters: BTreeMap::from([("kube.requests", 12)]),
        link: link.status(),
        kube_trouble: None,
        slurm: Metrics::default(),
        kube: BTreeMap::new(),
    }
}

fn link() -> Link {
    Link::new(vec!["http://a".into(), "unix:///odd\"name".into()], None)
}

fn board() -> Board {
    Board::new(true, Beside::default)
}

fn said(board: &Board, path: &str) -> String {
    let Page { status, body, .. } = page(Pages::Health, "GET", path, board);
    format!("{status}\n{body}")
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_doesn_t_go_round_is_not_alive() {
    let board = board();
    let code = || page(Pages::Health, "GET", "/healthz", &board).status;
    assert_eq!(code(), 200, "it is only starting");
    board.publish(status(&link()));
    tokio::time::advance(Duration::from_secs(119)).await;
    assert_eq!(code(), 200);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(code(), 503);
    assert_eq!(
        said(&board, "/livez"),
        "503\n[-]loop failed: it last went round 121 s ago\nnot alive\n"
    );
}

#[test]
fn each_address_has_its_own_pages() {
    let board = board();
    let table = [
        (Pages::Metrics, "GET", "/metrics", 200),
        (Pages::Metrics, "HEAD", "/metrics", 200),
        (Pages::Metrics, "POST", "/metrics", 405),
        (Pages::Metrics, "GET", "/healthz", 404),
        (Pages::Health, "GET", "/livez", 200),
        (Pages::Health, "GET", "/readyz", 503),
        (Pages::Health, "GET", "/metrics", 404),
        (Pages::Health, "GET", "/", 404),
    ];
    for (pages, method, path, status) in table {
        assert_eq!(page(pages, method, path, &board).status, status, "{method} {path}");
    }
}

#[tokio::test]
async fn what_is_down_is_named_with_its_reason() {
    let mut link = Link::new(vec!["http://a".into(), "http://b".into()], None);
    let board = board();
    let mut told = vec![];
    let kube_trouble = Some("no list of pods\nyet".to_owned());
    board.publish(Status { kube_trouble, ..status(&link) });
    told.push(said(&board, "/readyz"));
    let mut probe = |outcome: Result<(), SlurmFault>| {
        assert!(matches!(link.way(Time::ZERO), Way::Ask(_)));
        link.probed(Time::ZERO, outcome.as_ref().copied());
        board.publish(status(&link));
        said(&board, "/readyz")
    };
    told.push(probe(Err(SlurmFault::Unreachable { why: "connection refused".into() })));
    told.push(probe(Ok(())));
    let Way::Open(via) = link.way(Time::ZERO) else { panic!("shut") };
    link.heard(Time::ZERO, via, Err(&SlurmFault::Unauthorized { why: "expired".into() }));
    board.publish(status(&link));
    told.push(said(&board, "/readyz"));
    insta::assert_snapshot!(told.join("\n"), @"
    503
    [-]kubernetes failed: no list of pods yet
    [-]slurm failed: http://a is being asked; http://b is being asked
    [+]slurm-token ok
    not ready

    503
    [+]kubernetes ok
    [-]slurm failed: http://a: out of reach: connection refused; http://b is being asked
    [+]slurm-token ok
    not ready

    200
    [+]kubernetes ok
    [+]slurm ok
    [+]slurm-token ok
    ready

    503
    [+]kubernetes ok
    [+]slurm ok
    [-]slurm-token failed: expired
    not ready
    ");
}

#[tokio::test]
async fn a_replica_that_waits_for_its_turn_is_ready_without_slurm() {
    let board = board();
    board.publish(Status { role: Role::Waiting, ..status(&link()) });
    assert_eq!(said(&board, "/readyz"), "200\n[+]kubernetes ok\nready\n");
}

#[test]
fn a_process_without_a_loop_is_ready_by_its_webhooks() {
    let beside = || Beside {
        dependencies: vec![Dependency::down("webhook", "there is no certificate yet")],
        ..Beside::default()
    };
    let board = Board::new(false, beside);
    insta::assert_snapshot!(said(&board, "/readyz"), @"
    503
    [-]webhook failed: there is no certificate yet
    not ready
    ");
}

/// One with something of everything.
fn busy_board() -> Board {
    let mut link = link();
    assert!(matches!(link.way(Time::ZERO), Way::Ask(_)));
    link.probed(Time::ZERO, Ok(()));
    let mut slurm = Metrics::default();
    for ms in [1, 4, 30_000] {
        slurm.count("jobs.state", Outcome::Answered, Duration::from_millis(ms), 100);
    }
    let mut tally = Tally::default();
    tally.count(Duration::from_millis(3), 50);
    let kube = BTreeMap::from([(("bind", "201".to_owned()), tally)]);
    let beside = || Beside {
        dependencies: vec![Dependency::up("webhook")],
        reviews: BTreeMap::from([(("mutate", "allowed"), 2)]),
    };
    let board = Board::new(true, beside);
    board.publish(Status { slurm, kube, ..status(&link) });
    board
}

#[tokio::test]
async fn the_page_of_metrics_reads_like_this() {
    let board = busy_board();
    let text = page(Pages::Metrics, "GET", "/metrics", &board).body;
    // The smaller buckets are like the larger ones.
    let lines = text.lines().filter(|line| !line.contains("le=\"0."));
    let text = lines.filter(|line| !line.starts_with("# HELP")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text, @r#"
    # TYPE drawbridge_build_info gauge
    drawbridge_build_info{version="0.1.0"} 1
    # TYPE drawbridge_leads gauge
    drawbridge_leads 1
    # TYPE drawbridge_slurm_requests_total counter
    drawbridge_slurm_requests_total{call="jobs.state",outcome="answered"} 3
    # TYPE drawbridge_slurm_reply_bytes_total counter
    drawbridge_slurm_reply_bytes_total{call="jobs.state",outcome="answered"} 300
    # TYPE drawbridge_slurm_request_seconds histogram
    drawbridge_slurm_request_seconds_bucket{call="jobs.state",outcome="answered",le="1"} 2
    drawbridge_slurm_request_seconds_bucket{call="jobs.state",outcome="answered",le="5"} 2
    drawbridge_slurm_request_seconds_bucket{call="jobs.state",outcome="answered",le="20"} 2
    drawbridge_slurm_request_seconds_bucket{call="jobs.state",outcome="answered",le="+Inf"} 3
    drawbridge_slurm_request_seconds_sum{call="jobs.state",outcome="answered"} 30.005
    drawbridge_slurm_request_seconds_count{call="jobs.state",outcome="answered"} 3
    # TYPE drawbridge_kube_requests_total counter
    drawbridge_kube_requests_total{verb="bind",status="201"} 1
    # TYPE drawbridge_kube_reply_bytes_total counter
    drawbridge_kube_reply_bytes_total{verb="bind",status="201"} 50
    # TYPE drawbridge_kube_request_seconds histogram
    drawbridge_kube_request_seconds_bucket{verb="bind",status="201",le="1"} 1
    drawbridge_kube_request_seconds_bucket{verb="bind",status="201",le="5"} 1
    drawbridge_kube_request_seconds_bucket{verb="bind",status="201",le="20"} 1
    drawbridge_kube_request_seconds_bucket{verb="bind",status="201",le="+Inf"} 1
    drawbridge_kube_request_seconds_sum{verb="bind",status="201"} 0.003
    drawbridge_kube_request_seconds_count{verb="bind",status="201"} 1
    # TYPE drawbridge_slurm_server_up gauge
    drawbridge_slurm_server_up{server="http://a"} 1
    drawbridge_slurm_server_up{server="unix:///odd\"name"} 0
    # TYPE drawbridge_slurm_server_info gauge
    drawbridge_slurm_server_info{server="http://a",version="v0.0.45"} 1
    # TYPE drawbridge_slurm_server_failures gauge
    drawbridge_slurm_server_failures{server="http://a"} 0
    drawbridge_slurm_server_failures{server="unix:///odd\"name"} 0
    # TYPE drawbridge_slurm_token_accepted gauge
    drawbridge_slurm_token_accepted 1
    # TYPE drawbridge_events_total counter
    drawbridge_events_total{event="kube.requests"} 12
    # TYPE drawbridge_dependency_up gauge
    drawbridge_dependency_up{name="kubernetes"} 1
    drawbridge_dependency_up{name="slurm"} 1
    drawbridge_dependency_up{name="slurm-token"} 1
    drawbridge_dependency_up{name="webhook"} 1
    # TYPE drawbridge_reviews_total counter
    drawbridge_reviews_total{path="mutate",verdict="allowed"} 2
    "#);
}

async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn pages_are_served_while_others_dawdle() {
    let free: Listen = "127.0.0.1:0".parse().unwrap();
    let metrics = Observer::start(free, Pages::Metrics, board()).await.unwrap();
    let _silent = TcpStream::connect(metrics.address()).await.unwrap();
    let text = get(metrics.address(), "/metrics").await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(text.contains("drawbridge_build_info{version="), "{text}");
    let health = Observer::start(free, Pages::Health, board()).await.unwrap();
    let text = get(health.address(), "/readyz?verbose").await;
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    let taken = health.address().to_string().parse().unwrap();
    let taken = Observer::start(taken, Pages::Health, board()).await;
    assert!(taken.unwrap_err().to_string().starts_with("can't listen on 127.0.0.1:"));
}

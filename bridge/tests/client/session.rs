//! The session: version, fail-over and repetition by the core's state machine.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use drawbridge_bridge::slurm::{
    calls::{Call, Jobs, Licenses, Submit},
    client::{Address, Settings, TokenSource},
    session::{Line, SessionError, SessionSettings},
};
use drawbridge_core::{
    SlurmFault,
    slurm::ApiVersion::{V40, V43},
};

use crate::server::{NO_PATH, PONG, Server};

fn line(endpoints: Vec<Address>) -> Line {
    Line::new(SessionSettings::new(Settings::new(endpoints))).unwrap()
}

fn lines(server: &Server) -> Vec<String> {
    let first = |line: String| line.split(" accept").next().unwrap().to_owned();
    server.requests().into_iter().map(first).collect()
}

async fn fault<C: Call>(line: &Line, call: &C) -> SlurmFault {
    match line.ask(call).await {
        Ok(_) => panic!("an answer"),
        Err(SessionError::Fault { fault, .. }) => fault,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_newest_version_that_is_served_is_spoken() {
    let server = Server::speaking(&["v0.0.41", "v0.0.42", "v0.0.43"]);
    let line = line(vec![server.in_memory()]);
    line.ask(&Jobs).await.unwrap();
    line.ask(&Licenses).await.unwrap();
    assert_eq!(
        lines(&server),
        [
            "GET /slurm/v0.0.45/ping",
            "GET /slurm/v0.0.44/ping",
            "GET /slurm/v0.0.43/ping",
            "GET /slurm/v0.0.43/jobs",
            "GET /slurm/v0.0.43/licenses",
        ]
    );
    assert_eq!(line.version().await.unwrap(), V43);
}

#[tokio::test(start_paused = true)]
async fn a_pinned_version_is_the_only_one_tried() {
    let server = Server::speaking(&["v0.0.40", "v0.0.43"]);
    let mut settings = SessionSettings::new(Settings::new(vec![server.in_memory()]));
    settings.pin = Some(V40);
    let line = Line::new(settings).unwrap();
    line.ask(&Licenses).await.unwrap();
    assert_eq!(lines(&server), ["GET /slurm/v0.0.40/ping", "GET /slurm/v0.0.40/licenses"]);
}

#[tokio::test(start_paused = true)]
async fn where_no_version_fits_that_is_said() {
    let server = Server::speaking(&["v0.0.39"]);
    let fault = fault(&line(vec![server.in_memory()]), &Jobs).await;
    assert_eq!(
        fault.to_string(),
        "not served: it serves no version from v0.0.40 to v0.0.45 (Unable find requested URL)"
    );
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn the_next_server_is_asked_if_one_is_out_of_reach() {
    let server = Server::speaking(&["v0.0.45"]);
    let dead = "unix:///nonexistent/socket".parse().unwrap();
    let line = line(vec![dead, server.in_memory()]);
    line.ask(&Licenses).await.unwrap();
    line.ask(&Licenses).await.unwrap();
    assert_eq!(server.requests().len(), 3, "one ping, two questions");
    assert_eq!(line.status().current, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_upgraded_is_asked_anew() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // Speaks v0.0.40 up to its third request, and then only v0.0.43.
    let server = Server::new(move |line| {
        let version = if count.fetch_add(1, Ordering::Relaxed) < 7 { "v0.0.40" } else { "v0.0.43" };
        match (line.contains(version), line.contains("ping")) {
            (true, true) => (200, PONG.to_owned()),
            (true, false) => (200, r#"{"licenses": [], "errors": []}"#.to_owned()),
            (false, _) => (404, NO_PATH.to_owned()),
        }
    });
    let line = line(vec![server.in_memory()]);
    line.ask(&Licenses).await.unwrap();
    assert_eq!(line.version().await.unwrap(), V40);
    line.ask(&Licenses).await.unwrap();
    assert_eq!(line.version().await.unwrap(), V43);
}

#[tokio::test(start_paused = true)]
async fn what_only_reads_is_asked_again_and_what_changes_something_is_not() {
    let server = Server::new(|line| match line.contains("ping") {
        true => (200, PONG.to_owned()),
        false => (0, String::new()),
    });
    let line = line(vec![server.in_memory()]);
    let count = |what: &str| lines(&server).iter().filter(|line| line.contains(what)).count();
    assert!(fault(&line, &Submit(Default::default())).await.leaves_doubt());
    assert_eq!(count("submit"), 1);
    assert!(matches!(fault(&line, &Licenses).await, SlurmFault::Lost { .. }));
    assert_eq!(count("licenses"), 1, "the second loss in a row: the server rests");
}

#[tokio::test(start_paused = true)]
async fn patience_waits_for_a_server_that_comes_back() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = Server::new(move |line| match count.fetch_add(1, Ordering::Relaxed) {
        0..=3 => (502, r#"{"errors": [{"error_number": 1800, "error": "no controller"}]}"#.into()),
        _ if line.contains("ping") => (200, PONG.to_owned()),
        _ => (200, r#"{"licenses": [], "errors": []}"#.to_owned()),
    });
    let mut settings = SessionSettings::new(Settings::new(vec![server.in_memory()]));
    settings.patience = Duration::from_secs(60);
    Line::new(settings).unwrap().ask(&Licenses).await.unwrap();
    let hasty = line(vec![Server::new(|_| (502, String::new())).in_memory()]);
    fault(&hasty, &Licenses).await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_is_not_shown_again_and_again() {
    let server = Server::new(|line| match line.contains("ping") {
        true => (200, PONG.to_owned()),
        false => (511, r#"{"errors": [{"error_number": 1007, "error": "expired"}]}"#.to_owned()),
    });
    let mut settings = Settings::new(vec![server.in_memory()]);
    settings.token = TokenSource::Text("old".to_owned());
    let line = Line::new(SessionSettings::new(settings)).unwrap();
    let error = line.ask(&Licenses).await.unwrap_err();
    assert_eq!(error.to_string(), "the token is not accepted: expired");
    assert!(error.hint().unwrap().contains("SLURM_JWT"));
    assert!(!error.is_unreachable());
    assert_eq!(server.requests().len(), 2);
}

//! The same requests over everything that carries them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use drawbridge_bridge::slurm::{
    calls::{Jobs, Pings},
    client::{Address, Dial, Outcome},
};
use drawbridge_core::SlurmRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{LIMIT, PONG, Server, VIA, client};

#[tokio::test(start_paused = true)]
async fn in_memory_no_time_passes() {
    let server = Server::ponging();
    let client = client(server.in_memory());
    let began = tokio::time::Instant::now();
    for _ in 0..100 {
        assert!(client.send(VIA, &Pings, LIMIT).await.unwrap().value[0].is_up());
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!((server.requests().len(), server.connections()), (100, 1));
}

#[tokio::test]
async fn a_connection_is_kept_between_requests() {
    let server = Server::ponging();
    let (address, _task) = server.on_tcp().await;
    let client = client(address);
    for _ in 0..3 {
        client.send(VIA, &Pings, LIMIT).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_opened_anew() {
    let dialled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dialled);
    // Promises to keep the connection, and hangs up after one reply.
    let address = Address::Memory(Dial::always(move || {
        count.fetch_add(1, Ordering::Relaxed);
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let mut buffer = [0; 1 << 12];
            let _ = theirs.read(&mut buffer).await;
            let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{PONG}", PONG.len());
            let _ = theirs.write_all(reply.as_bytes()).await;
        });
        ours
    }));
    let client = client(address);
    for _ in 0..3 {
        client.send(VIA, &Pings, LIMIT).await.unwrap();
    }
    assert_eq!(dialled.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_unix_socket_will_do() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ponging();
    let client = client(server.on_unix(&folder.path().join("socket")));
    client.send(VIA, &Pings, LIMIT).await.unwrap();
    assert_eq!(server.requests(), ["GET /slurm/v0.0.42/ping accept=application/json"]);
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_by_call_and_outcome() {
    let server = Server::new(|line| match line.contains("ping") {
        true => (200, PONG.to_owned()),
        false => (500, r#"{"errors": [{"error_number": 2002, "error": "no"}]}"#.to_owned()),
    });
    let client = client(server.in_memory());
    client.send(VIA, &Pings, LIMIT).await.unwrap();
    client.send(VIA, &Jobs, LIMIT).await.unwrap_err();
    client.perform(VIA, "7", &SlurmRequest::Jobs).await.unwrap_err();
    let metrics = client.metrics();
    let counts: Vec<_> = metrics
        .by_call
        .iter()
        .map(|((call, outcome), tally)| (*call, *outcome, tally.count))
        .collect();
    assert_eq!(counts, [("jobs", Outcome::Refused, 2), ("ping", Outcome::Answered, 1)]);
    assert_eq!(metrics.by_call[&("ping", Outcome::Answered)].bytes, PONG.len() as u64);
}

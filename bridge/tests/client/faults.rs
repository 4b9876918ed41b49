//! What goes wrong on the way, and what the client makes of it: certain that nothing was done, or not.

use std::time::Duration;

use drawbridge_bridge::slurm::{
    calls::{Pings, Submit},
    client::{Address, Client, Dial, Settings},
};
use drawbridge_core::SlurmFault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{LIMIT, Server, VIA, client};

/// A server that writes this, whatever it is sent, and hangs up.
fn blurting(text: &'static str) -> Address {
    Address::Memory(Dial::always(move || {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let mut buffer = [0; 1 << 12];
            let _ = theirs.read(&mut buffer).await;
            let _ = theirs.write_all(text.as_bytes()).await;
        });
        ours
    }))
}

async fn fault(address: Address) -> SlurmFault {
    client(address).send(VIA, &Pings, LIMIT).await.unwrap_err()
}

#[tokio::test]
async fn nobody_there_means_that_nothing_was_done() {
    // A port that was just given back.
    let (address, task) = Server::ponging().on_tcp().await;
    task.abort();
    let _ = task.await;
    let refused = fault(address).await;
    assert_eq!(
        refused,
        SlurmFault::Unreachable { why: "Connection refused (os error 111)".to_owned() }
    );
    let missing = fault("unix:///nonexistent/socket".parse().unwrap()).await;
    assert!(matches!(missing, SlurmFault::Unreachable { .. }), "{missing}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_doesn_t_come_in_time_leaves_doubt() {
    let server = Server::new(|_| (0, String::new()));
    let client = client(server.in_memory());
    let began = tokio::time::Instant::now();
    let lost = client.send(VIA, &Submit(Default::default()), Duration::from_secs(7)).await;
    assert_eq!(lost, Err(SlurmFault::Lost { why: "nothing came within 7 s".to_owned() }));
    assert_eq!(began.elapsed(), Duration::from_secs(7));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_reply_that_breaks_off_leaves_doubt() {
    for text in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"pings\""] {
        let lost = fault(blurting(text)).await;
        assert!(matches!(lost, SlurmFault::Lost { .. }), "{text:?}: {lost}");
    }
}

#[tokio::test]
async fn what_isn_t_http_leaves_doubt() {
    let lost = fault(blurting("SSH-2.0-OpenSSH_9.2\r\n")).await;
    assert!(matches!(lost, SlurmFault::Lost { .. }), "{lost}");
}

#[tokio::test]
async fn a_reply_that_is_too_large_isn_t_read() {
    let server = Server::new(|_| (200, "x".repeat(3 << 20)));
    let mut settings = Settings::new(vec![server.in_memory()]);
    settings.largest_reply = 1 << 20;
    let fault = Client::new(settings).unwrap().send(VIA, &Pings, LIMIT).await.unwrap_err();
    let why = "the reply is larger than 1 MiB".to_owned();
    assert_eq!(fault, SlurmFault::Unintelligible { why });
}

#[tokio::test]
async fn an_endpoint_that_isn_t_configured_can_t_be_reached() {
    let client = client(Server::ponging().in_memory());
    let via = drawbridge_core::slurm::Via { endpoint: 1, ..VIA };
    let fault = client.send(via, &Pings, LIMIT).await.unwrap_err();
    assert!(matches!(fault, SlurmFault::Unreachable { .. }), "{fault}");
}

//! Who we say we are.

use std::time::Duration;

use drawbridge_bridge::slurm::{
    calls::{JobById, Pings, UpdateJob},
    client::{Client, Settings, SigningKey, TokenSource},
};
use drawbridge_core::SlurmFault;

use crate::server::{LIMIT, Server, VIA};

fn client(server: &Server, token: TokenSource) -> Client {
    let mut settings = Settings::new(vec![server.in_memory()]);
    settings.token = token;
    settings.user = Some("alice".to_owned());
    Client::new(settings).unwrap()
}

#[tokio::test]
async fn a_request_names_the_user_and_shows_the_token() {
    let server = Server::ponging();
    let client = client(&server, TokenSource::Text("abc".to_owned()));
    client.send(VIA, &Pings, LIMIT).await.unwrap();
    let _ =
        client.send(VIA, &UpdateJob { job: "7".into(), change: Default::default() }, LIMIT).await;
    insta::assert_snapshot!(server.requests().join("\n"), @"
        GET /slurm/v0.0.42/ping x-slurm-user-token=abc x-slurm-user-name=alice accept=application/json
        POST /slurm/v0.0.42/job/7 x-slurm-user-token=abc x-slurm-user-name=alice content-type=application/json accept=application/json
        ");
}

#[tokio::test]
async fn a_token_that_is_renewed_in_its_file_is_used_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let server = Server::ponging();
    let client = client(&server, TokenSource::File(file.clone()));
    let missing = client.send(VIA, &Pings, LIMIT).await.unwrap_err();
    assert!(matches!(missing, SlurmFault::Unauthorized { .. }), "{missing}");
    assert_eq!(server.requests().len(), 0, "nothing is sent without a token");
    for token in ["first", "second"] {
        std::fs::write(&file, format!("{token}\n")).unwrap();
        client.send(VIA, &JobById("7".into()), LIMIT).await.unwrap_err();
        assert!(server.requests().pop().unwrap().contains(&format!("user-token={token}")));
    }
}

#[tokio::test]
async fn a_signing_key_makes_tokens() {
    let server = Server::ponging();
    let key = SigningKey::new(b"key", "alice", Duration::from_secs(60));
    let client = client(&server, TokenSource::Key(key));
    client.send(VIA, &Pings, LIMIT).await.unwrap();
    assert!(
        server.requests()[0].contains("x-slurm-user-token=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.")
    );
}

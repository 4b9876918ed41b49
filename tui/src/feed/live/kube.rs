//! Kubernetes: listed once, then watched; listed again when a watch has lost its place.

use std::{sync::Arc, time::Duration};

use drawbridge_bridge::kube::KubeClient;
use drawbridge_core::{KubeRequest, Method, WatchEvent};
use drawbridge_scenarios::recording::Happened;
use serde_json::Value;
use tokio::sync::mpsc;

use super::Seen;

/// What is looked at, and where it is. Owners are only needed to name what pods belong to.
const RESOURCES: [(&str, &str); 4] = [
    ("nodes", "/api/v1/nodes"),
    ("replicasets.apps", "/apis/apps/v1/replicasets"),
    ("jobs.batch", "/apis/batch/v1/jobs"),
    ("pods", "/api/v1/pods"),
];
/// Time between two tries, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long a watch may last: a silent one may be a dead one.
const WATCH_SECS: &str = "300";

/// Watches everything, each on its own.
pub(super) fn watch_all(client: &KubeClient, to: &mpsc::Sender<Seen>) {
    for (resource, path) in RESOURCES {
        tokio::spawn(follow(client.clone(), resource, path, to.clone()));
    }
}

async fn follow(
    client: KubeClient,
    resource: &'static str,
    path: &'static str,
    to: mpsc::Sender<Seen>,
) {
    let who = format!("Kubernetes ({resource})");
    let mut pause = RETRY.0;
    while !to.is_closed() {
        let outcome = match list(&client, path).await {
            Ok((objects, version)) => {
                let _ = to.send(Seen::Trouble(who.clone(), None)).await;
                let _ = to.send(Seen::Listed(resource, objects)).await;
                pause = RETRY.0;
                watch(&client, resource, path, version, &to).await
            }
            Err(why) => Err(why),
        };
        if let Err(why) = outcome {
            let _ = to.send(Seen::Trouble(who.clone(), Some(why))).await;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }
}

/// Everything there is, and the version that it is.
async fn list(client: &KubeClient, path: &str) -> Result<(Vec<Value>, String), String> {
    let reply = client.send("tui", &get(path, vec![])).await.map_err(|lost| lost.why)?;
    if reply.status != 200 {
        let said = reply.body["message"].as_str().unwrap_or("no message").to_owned();
        return Err(format!("{}: {said}", reply.status));
    }
    let version = reply.body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    let mut body = Arc::unwrap_or_clone(reply.body);
    let kind = body["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    let Value::Array(mut items) = body["items"].take() else {
        return Err("the reply has no items".to_owned());
    };
    // What is in a list doesn't say what it is.
    for item in items.iter_mut().filter(|item| item["kind"].is_null()) {
        item["kind"] = kind.clone().map_or(Value::Null, Value::String);
    }
    Ok((items, version))
}

/// Follows a watch from version to version. `Ok` means that all is to be listed again.
async fn watch(
    client: &KubeClient,
    resource: &'static str,
    path: &str,
    mut version: String,
    to: &mpsc::Sender<Seen>,
) -> Result<(), String> {
    loop {
        let request = get(
            path,
            vec![
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                ("timeoutSeconds", WATCH_SECS),
                ("resourceVersion", &version),
            ],
        );
        let (events, mut coming) = mpsc::channel(256);
        let watching = client.watch("tui", &request, events);
        tokio::pin!(watching);
        let mut heard = false;
        let mut ended = false;
        while !ended {
            let event = tokio::select! {
                event = coming.recv() => event,
                () = &mut watching, if !coming.is_closed() => continue,
            };
            let Some(event) = event else { break };
            heard = true;
            let (happened, object) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    (Happened::Applied, object)
                }
                WatchEvent::Deleted(object) => (Happened::Deleted, object),
                WatchEvent::Bookmark(at) => {
                    version = at;
                    continue;
                }
                WatchEvent::Failed(_) => return Ok(()),
                WatchEvent::Ended => {
                    ended = true;
                    continue;
                }
            };
            let at = object["metadata"]["resourceVersion"].as_str();
            version = at.map_or(version, str::to_owned);
            let object = Arc::unwrap_or_clone(object);
            if to.send(Seen::Object(resource, happened, object)).await.is_err() {
                return Ok(());
            }
        }
        // One that ends before it has said anything was none.
        if !heard {
            return Err("the watch ended at once".to_owned());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn get(path: &str, query: Vec<(&str, &str)>) -> KubeRequest {
    let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let query = query.into_iter().map(own).collect();
    KubeRequest { method: Method::Get, path: path.to_owned(), query, body: None }
}

//! Requests to the API server, as its administrator.

use std::{path::Path, time::Duration};

use drawbridge_bridge::kube::KubeClient;
use drawbridge_core::{KubeRequest, Method};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::Trouble;

/// The API server.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    client: KubeClient,
}

impl Api {
    pub(crate) async fn connect(kubeconfig: &Path) -> Result<Self, Trouble> {
        let client = KubeClient::connect(Some(kubeconfig)).await;
        client.map(|client| Self { client }).map_err(|error| error.to_string())
    }

    /// One request; its status and body.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(u16, Value), Trouble> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let request = KubeRequest { method, path: path.to_owned(), query, body };
        let sent = timeout(Duration::from_secs(20), self.client.send("e2e", &request)).await;
        let reply = sent.map_err(|_| format!("no reply to {request}"))?;
        let reply = reply.map_err(|lost| format!("{request}: {}", lost.why))?;
        Ok((reply.status, (*reply.body).clone()))
    }

    /// The object at this path, if there is one.
    pub(crate) async fn find(&self, path: &str) -> Result<Option<Value>, Trouble> {
        match self.send(Method::Get, path, None).await? {
            (200, body) => Ok(Some(body)),
            (404, _) => Ok(None),
            (status, body) => Err(format!("GET {path}: {status} {}", body["message"])),
        }
    }

    /// The objects of a list.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>, Trouble> {
        let list = self.find(path).await?.unwrap_or_default();
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Creates an object, which must not be there yet.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Result<Value, Trouble> {
        match self.send(Method::Post, path, Some(body)).await? {
            (200..=202, body) => Ok(body),
            (status, body) => Err(format!("POST {path}: {status} {}", body["message"])),
        }
    }

    /// Creates an object, unless it is there already.
    pub(crate) async fn ensure(&self, path: &str, body: Value) -> Result<(), Trouble> {
        match self.send(Method::Post, path, Some(body)).await? {
            (200..=202 | 409, _) => Ok(()),
            (status, body) => Err(format!("POST {path}: {status} {}", body["message"])),
        }
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Result<Value, Trouble> {
        match self.send(Method::MergePatch, path, Some(body)).await? {
            (200, body) => Ok(body),
            (status, body) => Err(format!("PATCH {path}: {status} {}", body["message"])),
        }
    }

    /// Deletes an object; none there is as well.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Trouble> {
        match self.send(Method::Delete, path, None).await? {
            (200 | 202 | 404, _) => Ok(()),
            (status, body) => Err(format!("DELETE {path}: {status} {}", body["message"])),
        }
    }
}

/// Rests after a look: at least so long, and four times as long as the look took, so that whoever looks at
/// ten thousand jobs isn't what is measured.
pub(crate) async fn rest(began: Instant, least: Duration) {
    sleep(least.max(began.elapsed() * 4)).await;
}

/// Looks again and again until there is something, for at most so long.
pub(crate) async fn until<T, F>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> F,
) -> Result<T, Trouble>
where
    F: Future<Output = Result<Option<T>, Trouble>>,
{
    let began = Instant::now();
    let mut last = None;
    loop {
        match look().await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // A server that is being restarted, or killed, is asked again.
            Err(trouble) => last = Some(trouble),
        }
        if limit <= began.elapsed() {
            let why = last.map(|trouble| format!(" (last: {trouble})")).unwrap_or_default();
            return Err(format!("{what}: not within {} s{why}", limit.as_secs()));
        }
        sleep(Duration::from_millis(200)).await;
    }
}

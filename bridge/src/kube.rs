//! The Kubernetes side: one request, one reply; watches as streams of lines. Decides nothing.
//!
//! ```text
//!   KubeRequest ─▶ kube::Client (kubeconfig or service account, TLS, tokens, exec plugins) ─▶ API server
//!                     no retry layer, no cache, no reflector: what the core asks for is what is sent
//! ```
//!
//! Only here does anything say `kube::`. Start at [`KubeClient::send`].

mod connect;
mod lines;
mod metrics;

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use drawbridge_core::{KubeReply, KubeRequest, Lost, Method, WatchEvent};
use http_body_util::{BodyExt, Limited};
use hyper::{
    Request, Response,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use kube::client::Body;
use serde_json::Value;
use tokio::{sync::mpsc, time::Instant};

use self::lines::Lines;
use crate::{slurm::client::REQUEST_ID, stream::Dial};

pub use connect::KubeError;
pub use metrics::KubeMetrics;

/// The largest reply that is read.
const LARGEST: usize = 512 << 20;

/// A client of the Kubernetes API server.
#[derive(Clone)]
pub struct KubeClient {
    client: kube::Client,
    namespace: String,
    metrics: Arc<metrics::Counted>,
}

impl KubeClient {
    /// Connects as a kubeconfig says: the one that is named, or that of the environment, or the service
    /// account of the pod that this runs in.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, KubeError> {
        let config = connect::config(kubeconfig).await?;
        let namespace = config.default_namespace.clone();
        let client = kube::Client::try_from(config).map_err(|error| KubeError::client(&error))?;
        Ok(Self::over(client, namespace))
    }

    /// A client of a server in this process.
    pub fn in_memory(dial: Dial) -> Self {
        let namespace = "default".to_owned();
        Self::over(kube::Client::new(connect::in_memory(dial), &*namespace), namespace)
    }

    fn over(client: kube::Client, namespace: String) -> Self {
        Self { client, namespace, metrics: Arc::default() }
    }

    /// The namespace that the kubeconfig, or the pod that this runs in, names.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What was sent so far, by verb and outcome.
    pub fn metrics(&self) -> KubeMetrics {
        self.metrics.read()
    }

    /// Sends one request and takes its reply, whatever its status.
    pub async fn send(&self, id: &str, request: &KubeRequest) -> Result<KubeReply, Lost> {
        let began = Instant::now();
        let outcome = self.exchange(id, request).await;
        let status = outcome.as_ref().ok().map(|(status, _)| *status);
        let bytes = outcome.as_ref().map_or(0, |(_, body)| body.len());
        self.metrics.count(request, status, began.elapsed(), bytes);
        outcome.map(|(status, body)| KubeReply { status, body: Arc::new(json(&body)) })
    }

    async fn exchange(&self, id: &str, request: &KubeRequest) -> Result<(u16, Bytes), Lost> {
        let response = self.ask(id, request).await?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| Lost { why: error.to_string() })?;
        Ok((status, body.to_bytes()))
    }

    /// Opens a watch and tells what it says until it ends, or until nobody listens.
    pub async fn watch(&self, id: &str, request: &KubeRequest, to: mpsc::Sender<WatchEvent>) {
        let began = Instant::now();
        let opened = self.ask(id, request).await;
        let status = opened.as_ref().ok().map(|response| response.status().as_u16());
        self.metrics.count(request, status, began.elapsed(), 0);
        let response = match opened {
            Ok(response) if response.status().is_success() => response,
            Ok(response) => {
                let _ = to.send(WatchEvent::Failed(response.status().as_u16())).await;
                return;
            }
            Err(_) => {
                let _ = to.send(WatchEvent::Ended).await;
                return;
            }
        };
        let mut lines = Lines::new(response.into_body());
        while let Some(line) = lines.next().await {
            let event = lines::event(&line);
            let is_last = matches!(event, WatchEvent::Failed(_));
            if to.send(event).await.is_err() || is_last {
                return;
            }
        }
        let _ = to.send(WatchEvent::Ended).await;
    }

    async fn ask(&self, id: &str, request: &KubeRequest) -> Result<Response<Body>, Lost> {
        let http = http(id, request).map_err(|error| Lost { why: error.to_string() })?;
        self.client.send(http).await.map_err(|error| Lost { why: connect::chain(&error) })
    }
}

impl std::fmt::Debug for KubeClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeClient").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// The request as HTTP has it.
fn http(id: &str, request: &KubeRequest) -> Result<Request<Body>, hyper::http::Error> {
    let KubeRequest { method, path, query, body } = request;
    let (verb, kind) = match method {
        Method::Get => ("GET", "application/json"),
        Method::Post => ("POST", "application/json"),
        Method::Put => ("PUT", "application/json"),
        Method::Delete => ("DELETE", "application/json"),
        Method::MergePatch => ("PATCH", "application/merge-patch+json"),
        Method::JsonPatch => ("PATCH", "application/json-patch+json"),
        Method::StrategicPatch => ("PATCH", "application/strategic-merge-patch+json"),
    };
    let pairs: Vec<String> =
        query.iter().map(|(key, value)| format!("{}={}", escape(key), escape(value))).collect();
    let target = match pairs.is_empty() {
        true => path.clone(),
        false => format!("{path}?{}", pairs.join("&")),
    };
    let mut builder = Request::builder()
        .method(verb)
        .uri(target)
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .header(REQUEST_ID, id);
    if body.is_some() {
        builder = builder.header(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    let bytes = body.as_ref().map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    builder.body(Body::from(bytes))
}

/// A part of a query, with everything escaped that has a meaning there.
fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = text.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    each.collect()
}

/// The body as JSON; a proxy's plain words stay readable as text.
fn json(body: &[u8]) -> Value {
    let text = || Value::String(String::from_utf8_lossy(body).into_owned());
    if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(body).unwrap_or_else(|_| text())
    }
}

/// How long a connection may take.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_written_as_kubernetes_reads_them() {
        let request = KubeRequest {
            method: Method::Get,
            path: "/api/v1/pods".into(),
            query: vec![
                ("fieldSelector".into(), "spec.schedulerName=a b".into()),
                ("watch".into(), "true".into()),
            ],
            body: None,
        };
        let sent = http("7", &request).unwrap();
        assert_eq!(sent.uri(), "/api/v1/pods?fieldSelector=spec.schedulerName%3Da%20b&watch=true");
        assert_eq!(sent.headers().get(CONTENT_TYPE), None);
        assert_eq!(sent.headers()[REQUEST_ID], "7");
        let patch = KubeRequest {
            method: Method::StrategicPatch,
            path: "/api/v1/nodes/n".into(),
            query: vec![],
            body: Some(json!({ "spec": {} })),
        };
        let sent = http("8", &patch).unwrap();
        assert_eq!(sent.method(), "PATCH");
        assert_eq!(sent.headers()[CONTENT_TYPE], "application/strategic-merge-patch+json");
    }

    #[test]
    fn a_body_that_is_no_json_is_kept_as_text() {
        assert_eq!(json(b""), Value::Null);
        assert_eq!(json(b"{\"a\":1}"), json!({ "a": 1 }));
        assert_eq!(json(b"bad gateway"), json!("bad gateway"));
    }
}

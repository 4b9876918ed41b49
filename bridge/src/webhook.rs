//! The webhooks that pods pass when they are written: TLS, bounded bodies, bounded time.
//!
//! ```text
//!   API server ── TLS ──▶ POST /mutate--v1-pod, /validate--v1-pod ──▶ core::admission::review
//!                  ▲
//!                  └── certificate: files that may be renewed · a Secret · made here and kept in one
//! ```
//!
//! The core decides; this moves bytes. Start at [`Webhook::start`].

mod custody;
mod review;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use drawbridge_core::{Config, KubeRequest, Method, admission};
use serde_json::{Value, json};

use crate::{
    front::{FrontError, Server, Shown},
    kube::KubeClient,
    settings::Listen,
};

pub use custody::Custody;
pub(crate) use review::{Counted, ReviewMetrics};

/// Where the certificate of the webhooks comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificates {
    /// `tls.crt` and `tls.key` in this folder; they may be renewed at any time.
    Files(PathBuf),
    /// A Secret of type `kubernetes.io/tls` in the bridge's namespace, which somebody else renews.
    Secret(String),
    /// Made by the bridge and kept in a Secret of its own, which the API server is told to trust.
    SelfSigned,
}

/// What admission needs to know.
#[derive(Clone, Debug)]
pub struct Judge {
    config: Arc<Config>,
    me: Arc<OnceLock<String>>,
}

impl Judge {
    /// One that finds out from the API server who the bridge is. Until it knows, nobody is.
    pub fn new(config: Arc<Config>, kube: KubeClient) -> Self {
        let me = Arc::new(OnceLock::new());
        tokio::spawn(find_out(kube, me.clone()));
        Self { config, me }
    }

    /// The answer to a review at this path.
    fn review(&self, path: &str, review: &Value) -> Value {
        let me = self.me.get().map_or("", String::as_str);
        admission::review(&self.config, me, path, review)
    }
}

/// Asks until the API server says under which user we talk to it.
async fn find_out(kube: KubeClient, me: Arc<OnceLock<String>>) {
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = KubeRequest {
        method: Method::Post,
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned(),
        query: vec![],
        body: Some(body),
    };
    loop {
        if let Ok(reply) = kube.send("who-am-i", &request).await
            && let Some(name) = reply.body["status"]["userInfo"]["username"].as_str()
        {
            // Nobody else sets it.
            let _ = me.set(name.to_owned());
            return;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

/// Webhooks that are served, until this is dropped.
#[derive(Debug)]
pub struct Webhook {
    server: Server,
    counted: Arc<Counted>,
}

impl Webhook {
    /// Serves webhooks with whatever certificate is shown at the time.
    pub async fn start(
        address: Listen,
        http2: bool,
        shown: Shown,
        judge: Judge,
    ) -> Result<Self, FrontError> {
        let counted = Arc::new(Counted::default());
        let front = review::Reviews { judge, counted: counted.clone() };
        let server = Server::start(address, Some(shown), http2, Arc::new(front)).await?;
        Ok(Self { server, counted })
    }

    /// Where it listens.
    pub const fn address(&self) -> std::net::SocketAddr {
        self.server.address()
    }

    /// Reviews so far, by path and verdict.
    pub fn metrics(&self) -> ReviewMetrics {
        self.counted.read()
    }
}

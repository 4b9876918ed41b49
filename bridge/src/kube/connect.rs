//! Where the API server is, and how to speak to it.

use std::{
    io,
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Poll},
};

use hyper::{Request, Response, Uri, body::Incoming};
use hyper_util::{client::legacy, rt::TokioExecutor};
use kube::{
    Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use tower_service::Service;

use super::CONNECT_TIMEOUT;
use crate::stream::{Dial, Stream};

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
pub enum KubeError {
    /// The kubeconfig can't be used.
    #[error("{}: {why}", path.display())]
    Kubeconfig {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Nothing says where the API server is.
    #[error("nothing says where the Kubernetes API server is: {why}")]
    Nowhere {
        /// What was tried.
        why: String,
    },
    /// The client can't be set up.
    #[error("no client for the Kubernetes API server: {why}")]
    Client {
        /// Why.
        why: String,
    },
}

impl KubeError {
    pub(super) fn client(error: &kube::Error) -> Self {
        Self::Client { why: chain(error) }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Kubeconfig { .. } => "give a readable kubeconfig with --kubeconfig or KUBECONFIG",
            Self::Nowhere { .. } => {
                "set --kubeconfig or KUBECONFIG, or run in a pod with a service account"
            }
            Self::Client { .. } => "look at the certificates and credentials of the kubeconfig",
        }
    }
}

/// The kubeconfig that is named, or that of the environment, or the pod's service account.
pub(super) async fn config(path: Option<&Path>) -> Result<Config, KubeError> {
    let mut config = match path {
        Some(path) => from_file(path).await?,
        None => Config::infer().await.map_err(|error| KubeError::Nowhere { why: chain(&error) })?,
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Whether something is tried again is the core's to decide.
    config.default_retry = false;
    Ok(config)
}

async fn from_file(path: &Path) -> Result<Config, KubeError> {
    let failed = |why: String| KubeError::Kubeconfig { path: path.to_owned(), why };
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| failed(chain(&error)))?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    config.map_err(|error| failed(chain(&error)))
}

/// An error and its causes, without those that only repeat the next.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup_by(|later, earlier| earlier.contains(later.as_str()));
    texts.join(": ")
}

/// A service that speaks HTTP to a server in this process.
pub(super) fn in_memory(
    dial: Dial,
) -> impl Service<
    Request<Body>,
    Response = Response<Incoming>,
    Error = legacy::Error,
    Future = impl Future<Output = Result<Response<Incoming>, legacy::Error>> + Send,
> + Send
+ 'static {
    let mut http = legacy::Client::builder(TokioExecutor::new()).build(Dialer(dial));
    AtLocalhost(move |mut request: Request<Body>| {
        if let Ok(uri) = format!("http://localhost{}", request.uri()).parse() {
            *request.uri_mut() = uri;
        }
        http.call(request)
    })
}

/// A function as a service.
struct AtLocalhost<F>(F);

impl<F, T> Service<Request<Body>> for AtLocalhost<F>
where
    F: FnMut(Request<Body>) -> T,
    T: Future<Output = Result<Response<Incoming>, legacy::Error>>,
{
    type Response = Response<Incoming>;
    type Error = legacy::Error;
    type Future = T;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), legacy::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> T {
        (self.0)(request)
    }
}

#[derive(Clone)]
struct Dialer(Dial);

impl Service<Uri> for Dialer {
    type Response = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let dialling = (self.0.0)();
        Box::pin(async { Ok(Stream::new(Box::new(dialling.await?))) })
    }
}

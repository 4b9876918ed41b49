//! Calls of admission webhooks: HTTPS to wherever they are, bounded in time and size.
//!
//! A webhook at a URL is called there. One behind a Service is called where `--service` says, else
//! where the Service itself leads ([`drawbridge_fakes::KubeApi::locate`]). In both cases its certificate
//! must come from the configuration's `caBundle` and be for the name that a real server would use.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use bytes::Bytes;
use drawbridge_fakes::{Located, Place, ReviewCall};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

/// The largest answer that is read, as on a real server.
const LARGEST: usize = 3 * 1024 * 1024;

/// Where Services are, by `namespace/name`: what `--service` says.
pub type Services = BTreeMap<String, Located>;

/// Where a call goes: what the command line says, else what the cluster knows.
pub(crate) fn locate(
    services: &Services,
    place: &Place,
    cluster: impl FnOnce(&Place) -> Result<Located, String>,
) -> Result<Located, String> {
    if let Place::Service { namespace, name, .. } = place
        && let Some(found) = services.get(&format!("{namespace}/{name}"))
    {
        return Ok(found.clone());
    }
    cluster(place)
}

/// Calls a webhook and reads its answer.
pub(crate) async fn call(to: Located, call: &ReviewCall) -> Result<Value, String> {
    let patience = Duration::from_secs(call.timeout_secs.clamp(1, 30));
    timeout(patience, exchange(to, call))
        .await
        .unwrap_or_else(|_| Err("context deadline exceeded".to_owned()))
}

async fn exchange(to: Located, call: &ReviewCall) -> Result<Value, String> {
    let name = server_name(&call.place);
    let tls = connector(&call.ca_bundle)?;
    let stream = TcpStream::connect((to.host.as_str(), to.port)).await;
    let stream = stream.map_err(|error| dial(&to, &error))?;
    let _ = stream.set_nodelay(true);
    let verified = ServerName::try_from(name.clone())
        .map_err(|_| format!("`{name}` is no name that a certificate could be for"))?;
    let stream = tls.connect(verified, stream).await.map_err(|error| handshake(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(text)?;
    let driver = tokio::spawn(connection);
    let response = sender.send_request(request(&name, call)?).await.map_err(text)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LARGEST).collect().await.map_err(text)?;
    driver.abort();
    if !status.is_success() {
        return Err(format!("the server answered with status {}", status.as_u16()));
    }
    serde_json::from_slice(&body.to_bytes())
        .map_err(|error| format!("could not read the answer as JSON: {error}"))
}

fn request(name: &str, call: &ReviewCall) -> Result<Request<Full<Bytes>>, String> {
    let separator = if call.path.contains('?') { '&' } else { '?' };
    Request::builder()
        .method(Method::POST)
        .uri(format!("{}{separator}timeout={}s", call.path, call.timeout_secs))
        .header(header::HOST, name)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::from(call.review.to_string())))
        .map_err(|error| format!("parse \"{}\": {error}", call.path))
}

/// The name that the webhook's certificate must be for.
fn server_name(place: &Place) -> String {
    match place {
        Place::Url { host, .. } => host.clone(),
        Place::Service { namespace, name, .. } => format!("{name}.{namespace}.svc"),
    }
}

/// What verifies a webhook: only the certificates of its own configuration are believed.
fn connector(bundle: &[u8]) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle).flatten() {
        roots.add(certificate).map_err(text)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(text)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Why nobody could be reached, in the words of a real server.
fn dial(to: &Located, error: &io::Error) -> String {
    let place = match to.host.contains(':') {
        true => format!("[{}]:{}", to.host, to.port),
        false => format!("{}:{}", to.host, to.port),
    };
    match error.kind() == io::ErrorKind::ConnectionRefused {
        true => format!("dial tcp {place}: connect: connection refused"),
        false => format!("dial tcp {place}: {error}"),
    }
}

fn handshake(error: &io::Error) -> String {
    let inner = error.get_ref().map(ToString::to_string).unwrap_or_else(|| error.to_string());
    // An authority of the same name with another key is unknown, too.
    match inner.contains("UnknownIssuer") || inner.contains("BadSignature") {
        true => "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            .to_owned(),
        false => format!("tls: {inner}"),
    }
}

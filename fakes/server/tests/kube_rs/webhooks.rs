//! Admission webhooks that really are somewhere else: over TLS, with their own authority, and in time.
//!
//! ```text
//!   kube crate ──create──▶ our server ──AdmissionReview over TLS──▶ a webhook of the test's own
//! ```

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use k8s_openapi::{
    ByteString,
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        core::v1::ConfigMap,
    },
};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, PostParams},
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::start;

/// A webhook that answers: `/label` with a patch, `/deny` with a refusal, `/slow` never.
struct Hook {
    address: SocketAddr,
    authority: String,
}

impl Hook {
    async fn start() -> Self {
        let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a pair");
        let key = pair.signing_key.serialize_pem();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![pair.cert.der().clone()], key)
            .expect("they belong together");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that doesn't believe the certificate hangs up here.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
                });
            }
        });
        Self { address, authority: pair.cert.pem() }
    }

    /// The `webhooks` of a configuration that calls this one for every new ConfigMap.
    fn called(&self, path: &str, more: &Value) -> Value {
        let mut webhook = json!({
            "name": "test.example.com",
            "clientConfig": {
                "url": format!("https://{}{path}", self.address),
                "caBundle": bytes(self.authority.as_bytes()),
            },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"],
            }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (key, value) in more.as_object().expect("an object") {
            webhook[key] = value.clone();
        }
        json!({ "metadata": { "name": "test" }, "webhooks": [webhook] })
    }
}

/// As JSON has bytes: in base64.
fn bytes(bytes: &[u8]) -> Value {
    json!(ByteString(bytes.to_vec()))
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.expect("a whole review").to_bytes();
    let review: Value = serde_json::from_slice(&body).expect("JSON");
    let patch = r#"[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]"#;
    let response = match path.as_str() {
        "/label" => json!({
            "allowed": true, "patchType": "JSONPatch", "patch": bytes(patch.as_bytes()),
        }),
        "/deny" => json!({ "allowed": false, "status": { "message": "not today" } }),
        _ => std::future::pending().await,
    };
    let mut response = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    response["response"]["uid"] = review["request"]["uid"].clone();
    Ok(Response::new(Full::new(Bytes::from(response.to_string()))))
}

/// What comes of a new ConfigMap while this configuration is there: its labels, or the refusal.
async fn outcome<K>(client: &Client, configuration: Value) -> String
where
    K: Resource<DynamicType = (), Scope = kube::core::ClusterResourceScope>,
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let configurations: Api<K> = Api::all(client.clone());
    let configuration = serde_json::from_value(configuration).expect("the shape of its kind");
    configurations.create(&PostParams::default(), &configuration).await.expect("it is new");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map = serde_json::from_value(json!({ "metadata": { "name": "m" } })).expect("a map");
    let text = match maps.create(&PostParams::default(), &map).await {
        Ok(map) => {
            maps.delete("m", &DeleteParams::default()).await.expect("it is there");
            format!("{:?}", map.metadata.labels.unwrap_or_default())
        }
        Err(kube::Error::Api(status)) => status.message.clone(),
        Err(other) => other.to_string(),
    };
    configurations.delete("test", &DeleteParams::default()).await.expect("it is there");
    text
}

#[tokio::test]
async fn a_webhook_elsewhere_changes_refuses_and_is_waited_for_as_its_configuration_says() {
    let (server, client) = start().await;
    let hook = Hook::start().await;
    let stranger = Hook::start().await;
    let mutating = |path: &str, more: Value| {
        outcome::<MutatingWebhookConfiguration>(&client, hook.called(path, &more))
    };
    assert_eq!(mutating("/label", json!({})).await, r#"{"seen": "yes"}"#);
    let none = json!([{ "name": "never", "expression": "object.metadata.name != 'm'" }]);
    assert_eq!(mutating("/label", json!({ "matchConditions": none })).await, "{}");

    let call = format!(r#"Post "https://{}/slow?timeout=1s""#, hook.address);
    let slow = mutating("/slow", json!({ "timeoutSeconds": 1 })).await;
    let expected = "failed calling webhook \"test.example.com\": failed to call webhook: ";
    assert_eq!(
        slow,
        format!("Internal error occurred: {expected}{call}: context deadline exceeded")
    );
    let ignored = json!({ "timeoutSeconds": 1, "failurePolicy": "Ignore" });
    assert_eq!(mutating("/slow", ignored).await, "{}");

    let mut distrusted = hook.called("/label", &json!({}));
    distrusted["webhooks"][0]["clientConfig"]["caBundle"] = bytes(stranger.authority.as_bytes());
    let distrusted = outcome::<MutatingWebhookConfiguration>(&client, distrusted).await;
    assert!(
        distrusted.ends_with(
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        ),
        "{distrusted}"
    );

    let denied = hook.called("/deny", &json!({}));
    let denied = outcome::<ValidatingWebhookConfiguration>(&client, denied).await;
    assert_eq!(denied, "admission webhook \"test.example.com\" denied the request: not today");
    server.stop().await;
}

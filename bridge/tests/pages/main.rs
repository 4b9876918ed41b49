//! What the process serves, met by an API server over TLS: webhooks that it calls, a certificate that it
//! comes to trust, and metrics that it guards.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{path::Path, sync::Arc, time::Duration};

use drawbridge_bridge::{
    clock::SystemClock,
    front::Shown,
    kube::KubeClient,
    observe::{Beside, Board, Guard, Observer, Pages},
    webhook::{Custody, Judge, Webhook},
};
use drawbridge_core::{
    Config, KubeReply, KubeRequest, Method,
    admission::{self, CONFIGURATION},
    custody::Custodian,
};
use drawbridge_server::{Options, Server};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_rustls::TlsConnector;

const HOME: &str = "drawbridge-system";

/// An API server, and its administrator's client.
struct World {
    server: Server,
    kube: KubeClient,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let options = Options {
            address: "127.0.0.1:0".parse().unwrap(),
            speed: 1.0,
            seed: Some(1),
            kubelets: false,
            scheduler: false,
            without: vec![],
            services: Default::default(),
        };
        let server = Server::start(&options).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(
            &path,
            server.kubeconfig().replace("namespace: default", &format!("namespace: {HOME}")),
        )
        .unwrap();
        let kube = KubeClient::connect(Some(Path::new(&path))).await.unwrap();
        let world = Self { server, kube, folder };
        for name in [HOME, "slurm-bridge"] {
            world.post("/api/v1/namespaces", json!({ "metadata": { "name": name } })).await;
        }
        world
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> KubeReply {
        let request = KubeRequest { method, path: path.into(), query: vec![], body };
        self.kube.send("test", &request).await.unwrap()
    }

    async fn post(&self, path: &str, mut body: Value) -> KubeReply {
        let kind = |path: &str| match path.rsplit('/').next().unwrap() {
            "namespaces" => ("v1", "Namespace"),
            "pods" => ("v1", "Pod"),
            "serviceaccounts" => ("v1", "ServiceAccount"),
            "token" => ("authentication.k8s.io/v1", "TokenRequest"),
            other => panic!("{other}"),
        };
        if body["kind"].is_null() {
            let (version, kind) = kind(path);
            body["apiVersion"] = json!(version);
            body["kind"] = json!(kind);
        }
        self.send(Method::Post, path, Some(body)).await
    }

    /// Makes a service account; its token.
    async fn account(&self, name: &str) -> String {
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        self.post(accounts, json!({ "metadata": { "name": name } })).await;
        let given = self.post(&format!("{accounts}/{name}/token"), json!({ "spec": {} })).await;
        given.body["status"]["token"].as_str().unwrap().to_owned()
    }

    /// Lets a service account read metrics.
    async fn let_read(&self, name: &str) {
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let head = |kind: &str| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": "metrics" } });
        let mut role = head("ClusterRole");
        role["rules"] = json!([{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }]);
        self.send(Method::Post, &format!("{rbac}/clusterroles"), Some(role)).await;
        let mut binding = head("ClusterRoleBinding");
        binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics" });
        binding["subjects"] =
            json!([{ "kind": "ServiceAccount", "namespace": "default", "name": name }]);
        let reply =
            self.send(Method::Post, &format!("{rbac}/clusterrolebindings"), Some(binding)).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
    }

    /// Installs the webhooks of a configuration at this port.
    async fn install(&self, config: &Config, port: u16) {
        for mut object in admission::configurations(config) {
            for webhook in object["webhooks"].as_array_mut().unwrap() {
                let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap().to_owned();
                let url = format!("https://127.0.0.1:{port}{path}");
                webhook["clientConfig"] = json!({ "url": url });
            }
            let reply = self.send(Method::Post, &hooks(&object), Some(object)).await;
            assert_eq!(reply.status, 201, "{}", reply.body);
        }
    }
}

fn hooks(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    format!("/apis/admissionregistration.k8s.io/v1/{kind}s")
}

fn pod(name: &str, labels: &Value) -> Value {
    let container = json!({ "name": "main", "image": "busybox" });
    json!({ "metadata": { "name": name, "labels": labels }, "spec": { "containers": [container] } })
}

/// Waits until there is something.
async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(20), found).await.unwrap()
}

fn keeper(world: &World, shown: &Shown) -> Custody {
    let (clock, epoch) = SystemClock::start();
    let names = vec!["drawbridge.svc".to_owned(), "127.0.0.1".to_owned()];
    let custodian = Custodian::self_signed(epoch, HOME, names);
    Custody::start(custodian, world.kube.clone(), clock, shown.clone())
}

#[tokio::test]
async fn the_api_server_comes_to_trust_the_webhooks_and_has_pods_judged() {
    let world = World::new().await;
    let config = Config::as_shipped();
    let shown = Shown::nothing();
    let judge = Judge::new(Arc::new(config.clone()), world.kube.clone());
    let free = "127.0.0.1:0".parse().unwrap();
    let webhook = Webhook::start(free, false, shown.clone(), judge).await.unwrap();
    world.install(&config, webhook.address().port()).await;
    let pods = "/api/v1/namespaces/slurm-bridge/pods";
    let early = world.post(pods, pod("early", &json!({}))).await;
    assert_eq!(early.status, 500, "nobody is trusted yet: {}", early.body);
    let custody = keeper(&world, &shown);
    until(async || custody.trouble().is_none().then_some(())).await;
    let taken = world.post(pods, pod("taken", &json!({}))).await;
    assert_eq!(taken.body["spec"]["schedulerName"], "slurm-bridge-scheduler", "{}", taken.body);
    let spoofed = json!({ "scheduler.slinky.slurm.net/slurm-jobid": "7" });
    let refused = world.post(pods, pod("spoofed", &spoofed)).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    // Somebody takes the trust away; another replica, started later, puts it right with the same Secret.
    let path = format!(
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{CONFIGURATION}"
    );
    let patch = json!([{ "op": "remove", "path": "/webhooks/0/clientConfig/caBundle" }]);
    assert_eq!(world.send(Method::JsonPatch, &path, Some(patch)).await.status, 200);
    drop(custody);
    let custody = keeper(&world, &Shown::nothing());
    until(async || custody.trouble().is_none().then_some(())).await;
    let again = world.post(pods, pod("again", &json!({}))).await;
    assert_eq!(again.status, 201, "the first replica's certificate is still good: {}", again.body);
    world.server.stop().await;
}

/// A page over TLS, from a server that this authority vouches for.
async fn page(port: u16, authority: &str, token: Option<&str>) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let text = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{token}Connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut said = vec![];
    // Without a farewell of TLS's own the end is an error, after all bytes.
    let _ = stream.read_to_end(&mut said).await;
    String::from_utf8(said).unwrap()
}

#[tokio::test]
async fn secure_metrics_are_for_those_whom_the_api_server_lets_read_them() {
    let world = World::new().await;
    let shown = Shown::nothing();
    let _custody = keeper(&world, &shown);
    let secret = format!("/api/v1/namespaces/{HOME}/secrets/drawbridge-webhook-tls");
    let authority = until(async || {
        let reply = world.send(Method::Get, &secret, None).await;
        let coded = reply.body["data"]["ca.crt"].as_str()?.to_owned();
        String::from_utf8(drawbridge_fakes::base64_decode(&coded)?).ok()
    })
    .await;
    let board = Board::new(false, Beside::default);
    let free = "127.0.0.1:0".parse().unwrap();
    let guard = Guard(world.kube.clone());
    let observer =
        Observer::guarded(free, Pages::Metrics, board, (shown, false), guard).await.unwrap();
    let port = observer.address().port();
    let nosy = world.account("nosy").await;
    let prometheus = world.account("prometheus").await;
    world.let_read("prometheus").await;
    // The certificate is shown a moment after it is written.
    sleep(Duration::from_millis(500)).await;
    for (token, expected) in [
        (None, "HTTP/1.1 401"),
        (Some("guessed"), "HTTP/1.1 401"),
        (Some(nosy.as_str()), "HTTP/1.1 403"),
        (Some(prometheus.as_str()), "HTTP/1.1 200"),
    ] {
        let said = page(port, &authority, token).await;
        assert!(said.starts_with(expected), "{token:?}: {said}");
    }
    drop(world.folder);
    world.server.stop().await;
}

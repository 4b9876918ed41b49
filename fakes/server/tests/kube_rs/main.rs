//! Our API server over TLS, as the kube crate sees it, a client that we didn't write.

mod client;
mod webhooks;

use drawbridge_server::{Options, Server, Services};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// A server without kubelets and scheduler, and a client of its administrator.
async fn start() -> (Server, Client) {
    // The server and the client each bring the same provider along; which is installed first is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options {
        address: ([127, 0, 0, 1], 0).into(),
        speed: 1.0,
        seed: Some(1),
        kubelets: false,
        scheduler: false,
        without: vec![],
        services: Services::new(),
    };
    let server = Server::start(&options).await.expect("a free port");
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.expect("a cluster, a user, a context")).expect("a client");
    (server, client)
}

//! A Kubernetes API server in twenty lines: `cargo run -p drawbridge-server --example kube -- FILE`
//! writes a kubeconfig to FILE and serves until it is interrupted.

use drawbridge_server::{Options, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "drawbridge.kubeconfig".into());
    let address = ([127, 0, 0, 1], 0).into();
    let options = Options {
        address,
        speed: 1.0,
        seed: None,
        kubelets: true,
        scheduler: true,
        without: vec![],
        services: drawbridge_server::Services::new(),
    };
    let server = Server::start(&options).await?;
    std::fs::write(&path, server.kubeconfig())?;
    tokio::signal::ctrl_c().await?;
    server.stop().await;
    Ok(())
}

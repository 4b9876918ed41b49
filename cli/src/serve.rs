//! `drawbridge serve`: the fakes as live servers.

use std::{fs, io::Write as _, os::unix::fs::OpenOptionsExt, path::Path};

use drawbridge_server::{Options, Server};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args::ServeArgs,
    failure::{self, Failure},
};

/// Starts the servers and waits until somebody stops them.
pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    if !args.kube_only {
        return Err(Failure::Input {
            place: "serve".into(),
            what: "only the Kubernetes API can be served yet".into(),
            hint: "add --kube-only".into(),
        });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Process(format!("no runtime: {error}")))?;
    runtime.block_on(run(args))
}

async fn run(args: &ServeArgs) -> Result<(), Failure> {
    let options = Options {
        address: args.kube_addr,
        speed: args.speed,
        seed: args.seed.map(|seed| seed.0),
        kubelets: !args.no_kubelets,
        scheduler: !args.no_scheduler,
    };
    let server = Server::start(&options).await.map_err(|error| Failure::Server {
        what: error.to_string(),
        hint: "give another address with --kube-addr; port 0 takes any that is free",
    })?;
    write_private(&args.kubeconfig_out, &server.kubeconfig())?;
    let path = fs::canonicalize(&args.kubeconfig_out).unwrap_or(args.kubeconfig_out.clone());
    let text = format!(
        "Kubernetes API: https://{}\n  export KUBECONFIG={}\n  token {}\nStop with Ctrl-C.\n",
        server.address(),
        path.display(),
        server.token(),
    );
    failure::print(text.as_bytes())?;
    wait_for_end().await?;
    server.stop().await;
    Ok(())
}

/// Writes a file that only its owner may read: it holds a key.
fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::path(path, error, "give a file that can be written with --kubeconfig-out")
    })
}

async fn wait_for_end() -> Result<(), Failure> {
    let failed = |error| Failure::Process(format!("can't wait for signals: {error}"));
    let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(failed),
        _ = terminated.recv() => Ok(()),
    }
}

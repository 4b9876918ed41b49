//! `drawbridge serve`: the fakes as live servers.

pub(crate) mod recording;
pub(crate) mod setting;
pub(crate) mod slurm;
pub(crate) mod state;
pub(crate) mod twin;

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use drawbridge_server::{Hosted, KubeHost, Server, ServerError};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Notify,
};

use self::state::State;
use crate::{
    args::ServeArgs,
    failure::{self, Failure},
};

/// Starts the servers and waits until somebody stops them.
pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Process(format!("no runtime: {error}")))?;
    match (args.kube_only, args.slurm_only) {
        (true, _) => runtime.block_on(run(args)),
        (false, true) => runtime.block_on(slurm::run(args)),
        (false, false) => runtime.block_on(twin::run(args)),
    }
}

async fn run(args: &ServeArgs) -> Result<(), Failure> {
    let state = State::of(args)?;
    let mut cluster = state.setting.cluster(state.epoch(), state.seed)?;
    state.repeat_kube(&mut cluster);
    let host: Arc<Mutex<dyn KubeHost>> = Arc::new(Mutex::new(cluster));
    let hosted = Hosted::new(host, state.clock, Arc::new(Notify::new())).taped(state.tape());
    let services = args.services.iter().cloned().collect();
    let keys = state.keys(args.kube_addr.ip())?;
    let server = Server::over(hosted, args.kube_addr, services, keys).await;
    let server = server.map_err(|error| no_server(&error))?;
    let text = exports(args, &server)? + "Stop with Ctrl-C.\n";
    failure::print(text.as_bytes())?;
    wait_for_end().await?;
    server.stop().await;
    Ok(())
}

fn no_server(error: &ServerError) -> Failure {
    Failure::Server {
        what: error.to_string(),
        hint: "give another address with --kube-addr; port 0 takes any that is free",
    }
}

/// What to tell people about the API server.
fn exports(args: &ServeArgs, server: &Server) -> Result<String, Failure> {
    let path = write_kubeconfig(args, server)?;
    Ok(format!(
        "Kubernetes API: https://{}\n  export KUBECONFIG={}\n  token {}\n",
        server.address(),
        path.display(),
        server.token(),
    ))
}

/// Writes the kubeconfig; where it is.
fn write_kubeconfig(args: &ServeArgs, server: &Server) -> Result<PathBuf, Failure> {
    write_private(&args.kubeconfig_out, server.kubeconfig().as_bytes(), "--kubeconfig-out")?;
    Ok(fs::canonicalize(&args.kubeconfig_out).unwrap_or(args.kubeconfig_out.clone()))
}

/// Writes a file that only its owner may read: it holds a key.
fn write_private(path: &Path, bytes: &[u8], option: &str) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| {
        let hint = format!("give a file that can be written with {option}");
        Failure::whole(path, &error, hint)
    })
}

/// Waits until somebody stops us.
pub(crate) fn until_stopped() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Process(format!("no runtime: {error}")))?;
    runtime.block_on(wait_for_end())
}

async fn wait_for_end() -> Result<(), Failure> {
    let failed = |error| Failure::Process(format!("can't wait for signals: {error}"));
    let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(failed),
        _ = terminated.recv() => Ok(()),
    }
}

/// Says something beside what is printed.
pub(crate) fn eprint(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

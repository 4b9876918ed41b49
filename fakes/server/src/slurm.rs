//! slurmrestd behind sockets: TCP and Unix, HTTP/1.1, real time.
//!
//! ```text
//!   TCP ──┐
//!         ├─▶ hyper ─▶ bytes ─▶ Mutex<SlurmHost> answer ─▶ bytes, or pieces that a thread writes meanwhile
//!   Unix ─┘                          ▲
//!   clock ──▶ driver: wake when it is due
//! ```
//!
//! Nothing is decided here: [`drawbridge_fakes::slurmrestd::Slurm::answer`] does. Start at
//! [`SlurmServer::start`].

mod connection;
mod shared;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use drawbridge_fakes::slurmrestd::{Slurm, token::Key};
use drawbridge_sim::{Epoch, SlurmConfig, Span};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::{
    net::{TcpListener, UnixListener},
    sync::{Notify, watch as signal},
    task::JoinHandle,
};

use self::shared::Shared;
use crate::{
    FAREWELL,
    clock::Clock,
    host::{Hosted, SlurmHost},
};

/// What a server should be like.
#[derive(Clone, Debug)]
pub struct SlurmOptions {
    /// The cluster.
    pub config: SlurmConfig,
    /// Where to listen.
    pub places: SlurmPlaces,
    /// The key that signs tokens.
    pub key: Key,
    /// How many seconds of the cluster pass in one of ours.
    pub speed: f64,
    /// How long a script takes that says nothing about it.
    pub default_run_time: Option<Span>,
}

/// Where slurmrestd listens.
#[derive(Clone, Debug, Default)]
pub struct SlurmPlaces {
    /// An address; port 0 takes any that is free.
    pub address: Option<SocketAddr>,
    /// A Unix socket; the file is made, and removed at the end.
    pub socket: Option<PathBuf>,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum SlurmServerError {
    /// The address can't be listened on.
    #[error("can't listen on {place}: {source}")]
    Listen {
        /// The address or the file.
        place: String,
        /// What the system says.
        source: io::Error,
    },
}

/// A server that runs.
#[derive(Debug)]
pub struct SlurmServer {
    address: Option<SocketAddr>,
    socket: Option<PathBuf>,
    shared: Arc<Shared>,
    stop: signal::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl SlurmServer {
    /// Starts slurmrestd with a Slurm of its own behind it.
    pub async fn start(options: SlurmOptions) -> Result<Self, SlurmServerError> {
        let SlurmOptions { config, places, key, speed, default_run_time } = options;
        let clock = Clock::start(speed);
        let mut slurm = Slurm::new(config, Epoch::from_unix(clock.began_unix()));
        slurm.with_ctld(clock.now(), |ctld| ctld.set_default_run_time(default_run_time));
        let host: Arc<Mutex<dyn SlurmHost>> = Arc::new(Mutex::new(slurm));
        let hosted = Hosted::new(host, clock, Arc::new(Notify::new()));
        let mut server = Self::over(hosted, places, key).await?;
        server.tasks.push(tokio::spawn(server.shared.clone().drive()));
        Ok(server)
    }

    /// Starts slurmrestd over a host's Slurm. Somebody else drives the host.
    pub async fn over(
        hosted: Hosted<dyn SlurmHost>,
        places: SlurmPlaces,
        key: Key,
    ) -> Result<Self, SlurmServerError> {
        let SlurmPlaces { address, socket } = places;
        let tcp = match address {
            Some(address) => Some(TcpListener::bind(address).await.map_err(listen(address))?),
            None => None,
        };
        let unix = socket.as_deref().map(bind_socket).transpose()?;
        let address = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
        let (stop, stopped) = signal::channel(false);
        let shared = Arc::new(Shared::new(hosted, key, stopped.clone()));
        let mut tasks = vec![];
        tasks.extend(tcp.map(|it| tokio::spawn(accept_tcp(it, shared.clone(), stopped.clone()))));
        tasks.extend(unix.map(|it| tokio::spawn(accept_unix(it, shared.clone(), stopped.clone()))));
        Ok(Self { address, socket, shared, stop, tasks })
    }

    /// Where it listens.
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Does something to the Slurm behind it, at the time that it is there.
    pub fn with<T>(&self, change: impl FnOnce(&mut Slurm, drawbridge_sim::Time) -> T) -> T {
        self.shared.with(change)
    }

    /// Lets requests finish, and waits for it.
    pub async fn stop(self) {
        // Nobody listens any more if all tasks have ended, and that is fine too.
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
        if let Some(socket) = self.socket {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn listen(place: impl ToString) -> impl FnOnce(io::Error) -> SlurmServerError {
    move |source| SlurmServerError::Listen { place: place.to_string(), source }
}

/// A socket that nobody listens on any more is in nobody's way.
fn bind_socket(path: &Path) -> Result<UnixListener, SlurmServerError> {
    use std::os::unix::{fs::FileTypeExt, net::UnixStream};
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        let _ = std::fs::remove_file(path);
    }
    UnixListener::bind(path).map_err(listen(path.display()))
}

/// Takes connections until it is told to stop.
macro_rules! accept {
    ($name:ident, $listener:ty, $stream:ident, $peer:ident => $source:expr) => {
        async fn $name(listener: $listener, shared: Arc<Shared>, mut stopped: signal::Receiver<bool>) {
            let graceful = GracefulShutdown::new();
            loop {
                tokio::select! {
                    biased;
                    _ = stopped.changed() => break,
                    accepted = listener.accept() => match accepted {
                        Ok(($stream, $peer)) => {
                            let source = $source;
                            let watcher = graceful.watcher();
                            tokio::spawn(connection::serve(shared.clone(), $stream, source, watcher));
                        }
                        // Too many open files, a client that left: the next one may do better.
                        Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                    },
                }
            }
            drop(listener);
            let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
        }
    };
}

accept!(accept_tcp, TcpListener, stream, peer => {
    let _ = stream.set_nodelay(true);
    format!("[{}]:{}(fd:0)", peer.ip(), peer.port())
});
accept!(accept_unix, UnixListener, stream, _peer => "unix:(fd:0)".to_owned());

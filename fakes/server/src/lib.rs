//! The fakes behind sockets: TLS, HTTP/1.1 and HTTP/2, real time.
//!
//! ```text
//!   socket ─▶ TLS (who?) ─▶ hyper ─▶ bytes ─▶ ┌──────────────────┐
//!                                             │ Mutex<Cluster>   │ answer, frames, wake
//!   clock ──▶ driver: wake when it is due ──▶ └──────────────────┘
//!                                                     │ a new version
//!                                 watches: each a task that sends what is new
//! ```
//!
//! Nothing is decided here: [`drawbridge_fakes::Cluster::answer`] does, and this moves its bytes.
//! Start at [`Server::start`].

mod body;
mod certs;
mod clock;
mod connection;
mod identity;
mod shared;
mod watch;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use drawbridge_fakes::Cluster;
use drawbridge_sim::{Epoch, Seed};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::{net::TcpListener, sync::watch as signal, task::JoinHandle};

use self::{
    certs::Certificates, clock::Clock, connection::Front, identity::Tokens, shared::Shared,
};

/// How long connections may take to end once the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a server should be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes any that is free.
    pub address: SocketAddr,
    /// How many seconds of the cluster pass in one of ours.
    pub speed: f64,
    /// What uids and names are drawn from; from the system if nothing is given.
    pub seed: Option<u64>,
    /// Whether nodes have kubelets, which run the pods that are bound to them.
    pub kubelets: bool,
    /// Whether pods of the default scheduler are placed on nodes.
    pub scheduler: bool,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Certificates or TLS would not be made.
    #[error("can't set up TLS: {0}")]
    Tls(String),
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    certificates: Certificates,
    token: String,
    stop: signal::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts a Kubernetes API server with a cluster behind it.
    pub async fn start(options: &Options) -> Result<Self, ServerError> {
        let listen = |source| ServerError::Listen { address: options.address, source };
        let listener = TcpListener::bind(options.address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let certificates = Certificates::make(address.ip())?;
        let token = identity::random_token()?;
        let (stop, stopped) = signal::channel(false);
        let clock = Clock::start(options.speed);
        let seed = Seed(options.seed.map_or_else(identity::random_number, Ok)?);
        let mut cluster = Cluster::served(Epoch::from_unix(clock.began_unix()), seed);
        if !options.kubelets {
            cluster.remove_kubelets();
        }
        if !options.scheduler {
            cluster.remove_scheduler();
        }
        let shared = Arc::new(Shared::new(cluster, clock, stopped.clone()));
        let driver = tokio::spawn(shared.clone().drive());
        let front = Arc::new(Front {
            shared,
            tls: certificates.acceptor()?,
            tokens: Tokens::admin(&token),
        });
        let accept = tokio::spawn(accept(listener, front, stopped));
        Ok(Self { address, certificates, token, stop, tasks: vec![driver, accept] })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The administrator's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> String {
        self.certificates.kubeconfig(self.address)
    }

    /// Ends every watch, lets requests finish, and waits for it.
    pub async fn stop(self) {
        // Nobody listens any more if all tasks have ended, and that is fine too.
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
    }
}

/// Takes connections until it is told to stop.
async fn accept(listener: TcpListener, front: Arc<Front>, mut stopped: signal::Receiver<bool>) {
    let graceful = GracefulShutdown::new();
    loop {
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(front.clone().serve(stream, graceful.watcher()));
                }
                // Too many open files, a client that left: the next one may do better.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
}

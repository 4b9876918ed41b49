//! The fakes behind sockets: TLS, HTTP/1.1 and HTTP/2, real time.
//!
//! ```text
//!   socket ─▶ TLS (who?) ─▶ hyper ─▶ bytes ─▶ ┌──────────────────┐
//!                                             │ Mutex<KubeHost>  │ answer, frames, wake
//!   clock ──▶ driver: wake when it is due ──▶ └──────────────────┘
//!                                                     │ a new version
//!                                 watches: each a task that sends what is new
//! ```
//!
//! Nothing is decided here: [`drawbridge_fakes::Cluster::answer`] does, and this moves its bytes.
//! A host is a cluster alone or a world that has one ([`KubeHost`], [`SlurmHost`]).
//! Start at [`Server::start`], or at [`SlurmServer::start`] for slurmrestd.

mod body;
mod certs;
mod clock;
mod connection;
mod host;
mod identity;
mod listing;
mod shared;
mod slurm;
mod tape;
mod watch;
mod webhook;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use drawbridge_fakes::Cluster;
use drawbridge_sim::{Epoch, Seed};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::{
    net::TcpListener,
    sync::{Notify, watch as signal},
    task::JoinHandle,
};

pub use self::{
    certs::Keys,
    clock::Clock,
    host::{ClusterVisit, Hosted, KubeHost, SharedTape, SlurmHost},
    tape::{Outside, Player, Tape},
    webhook::Services,
};
pub use drawbridge_fakes::Located;

use self::{connection::Front, identity::Tokens, shared::Shared};

pub use self::identity::{random_key, random_number};
pub use self::slurm::{SlurmOptions, SlurmPlaces, SlurmServer, SlurmServerError};

/// How long connections may take to end once the server stops.
pub(crate) const FAREWELL: Duration = Duration::from_secs(5);

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
    /// Kinds whose controllers are left out, for somebody else's to do their work.
    pub without: Vec<String>,
    /// Where the Services of admission webhooks are, by `namespace/name`.
    pub services: Services,
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
    /// A controller to leave out that isn't there.
    #[error("there is no controller of `{0}` to leave out")]
    Controller(String),
    /// Certificates or TLS would not be made.
    #[error("can't set up TLS: {0}")]
    Tls(String),
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    keys: Keys,
    stop: signal::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts a Kubernetes API server with a cluster of its own behind it.
    pub async fn start(options: &Options) -> Result<Self, ServerError> {
        let clock = Clock::start(options.speed);
        let seed = Seed(options.seed.map_or_else(random_number, Ok)?);
        let mut cluster = Cluster::served(Epoch::from_unix(clock.began_unix()), seed, vec![]);
        if !options.kubelets {
            cluster.remove_kubelets();
        }
        if !options.scheduler {
            cluster.remove_scheduler();
        }
        for kind in &options.without {
            if !cluster.remove_controller(kind) {
                return Err(ServerError::Controller(kind.clone()));
            }
        }
        let host: Arc<Mutex<dyn KubeHost>> = Arc::new(Mutex::new(cluster));
        let hosted = Hosted::new(host, clock, Arc::new(Notify::new()));
        let keys = Keys::make(options.address.ip())?;
        Self::over(hosted, options.address, options.services.clone(), keys).await
    }

    /// Starts a Kubernetes API server over a host's cluster, and drives the host.
    pub async fn over(
        hosted: Hosted<dyn KubeHost>,
        address: SocketAddr,
        services: Services,
        keys: Keys,
    ) -> Result<Self, ServerError> {
        let listen = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, stopped) = signal::channel(false);
        let shared = Arc::new(Shared::new(hosted, services, stopped.clone()));
        let authority = keys.authority();
        let what = || Some(Outside::Authority(authority.to_owned()));
        shared.visit(what, |cluster, _, _| cluster.api_mut().publish_authority(authority));
        let driver = tokio::spawn(shared.clone().drive());
        let front =
            Arc::new(Front { shared, tls: keys.acceptor()?, tokens: Tokens::admin(keys.token()) });
        let accept = tokio::spawn(accept(listener, front, stopped));
        Ok(Self { address, keys, stop, tasks: vec![driver, accept] })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The administrator's token.
    pub fn token(&self) -> &str {
        self.keys.token()
    }

    /// The certificate of the authority that vouches for this server, in PEM.
    pub fn authority(&self) -> &str {
        self.keys.authority()
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> String {
        self.keys.kubeconfig(self.address)
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

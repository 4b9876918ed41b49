//! The whole process: clients, servers, one life of the core after the other, and a graceful end.
//!
//! ```text
//!   settings ─▶ clients ─▶ health, metrics, webhooks ─▶ life ─▶ life ─▶ … ─▶ told to stop ─▶ lets go
//! ```
//!
//! Start at [`run`].

mod identity;
mod rehearsal;

use std::{path::PathBuf, sync::Arc, time::Duration};

use drawbridge_core::{Instance, admission::SERVICE, custody::Custodian};
use drawbridge_sim::Epoch;
use tokio::sync::mpsc;

use crate::{
    clock::SystemClock,
    front::{FrontError, Shown},
    kube::{KubeClient, KubeError},
    observe::{Beside, Board, Dependency, Guard, Observer, Pages},
    scribe::Scribe,
    settings::{Listen, Settings},
    shell::{Ended, Shell, Sides, Voice},
    slurm::client::{Client, SettingsError},
    webhook::{Certificates, Custody, Judge, Webhook},
};

pub use rehearsal::{Rehearsal, rehearse};

/// How long letting go may take.
const FAREWELL: Duration = Duration::from_secs(20);

/// What a process is started with.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is told.
    pub settings: Settings,
    /// The kubeconfig that is named, if one is.
    pub kubeconfig: Option<PathBuf>,
    /// Where metrics are served.
    pub metrics: Option<Listen>,
    /// Where health is served.
    pub health: Option<Listen>,
    /// Where webhooks are served.
    pub webhook: Listen,
    /// Where the journal is kept, if it is.
    pub journal: Option<PathBuf>,
}

/// Why a process can't run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// There is no way to the API server.
    #[error(transparent)]
    Kube(#[from] KubeError),
    /// There is no way to Slurm.
    #[error(transparent)]
    Slurm(#[from] SettingsError),
    /// A page can't be served.
    #[error(transparent)]
    Front(#[from] FrontError),
    /// The journal can't be opened.
    #[error("{}: {source}", path.display())]
    Journal {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Runs until it is told to stop, and has let go.
pub async fn run(plan: Plan, stop: mpsc::Receiver<()>) -> Result<(), DaemonError> {
    let (clock, epoch) = SystemClock::start();
    let sides = connect(&plan).await?;
    let webhooks = Webhooks::start(&plan, &sides.kube, (clock, epoch)).await?;
    let has_loop = plan.settings.duties.workloads || plan.settings.duties.nodes;
    let beside = webhooks.beside();
    let board = Board::new(has_loop, beside);
    let _observers = observers(&plan, &sides.kube, &board, webhooks.shown.clone()).await?;
    let mut scribe = Scribe::new(board);
    if let Some(path) = &plan.journal {
        let failed = |source| DaemonError::Journal { path: path.clone(), source };
        scribe = scribe.with_journal(path).map_err(failed)?;
    }
    let mut stop = stop;
    match has_loop {
        true => lives(&plan.settings, &sides, (clock, epoch), &mut scribe, &mut stop).await,
        false => drop(stop.recv().await),
    }
    Ok(())
}

async fn connect(plan: &Plan) -> Result<Sides, DaemonError> {
    let kube = KubeClient::connect(plan.kubeconfig.as_deref()).await?;
    let slurm = Arc::new(Client::new(plan.settings.slurm.clone())?);
    Ok(Sides { kube, slurm, dry_run: plan.settings.dry_run })
}

/// Lives one life after the other, until one of them was told to stop.
async fn lives(
    settings: &Settings,
    sides: &Sides,
    (clock, epoch): (SystemClock, Epoch),
    voice: &mut impl Voice,
    stop: &mut mpsc::Receiver<()>,
) {
    let name = identity::name();
    for start in 1_u64.. {
        let instance = Instance {
            epoch,
            identity: format!("{name}_{start}"),
            namespace: sides.kube.namespace().to_owned(),
            duties: settings.duties,
        };
        let mut shell = Shell::new(&settings.config, &instance, sides.clone(), clock, &mut *voice);
        if shell.live(stop).await == Ended::Stopped {
            return;
        }
    }
}

/// Waits for the end of a process that was told to stop, and not for ever.
pub async fn farewell<T>(ending: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(FAREWELL, ending).await.ok()
}

async fn observers(
    plan: &Plan,
    kube: &KubeClient,
    board: &Board,
    shown: Shown,
) -> Result<Vec<Observer>, FrontError> {
    let features = plan.settings.config.features;
    let mut all = vec![];
    if let Some(address) = plan.health {
        all.push(Observer::start(address, Pages::Health, board.clone()).await?);
    }
    if let Some(address) = plan.metrics {
        let (pages, board) = (Pages::Metrics, board.clone());
        all.push(match features.secure_metrics {
            false => Observer::start(address, pages, board).await?,
            true => {
                let tls = (shown, features.enable_http2);
                Observer::guarded(address, pages, board, tls, Guard(kube.clone())).await?
            }
        });
    }
    for observer in &all {
        tracing::debug!(address = %observer.address(), "pages are served");
    }
    Ok(all)
}

/// The webhooks of this process, if it serves them, and the certificate that it shows.
struct Webhooks {
    shown: Shown,
    webhook: Option<Arc<Webhook>>,
    custody: Option<Arc<Custody>>,
}

impl Webhooks {
    async fn start(
        plan: &Plan,
        kube: &KubeClient,
        (clock, epoch): (SystemClock, Epoch),
    ) -> Result<Self, DaemonError> {
        let Settings { config, webhook, .. } = &plan.settings;
        let needed = webhook.clone().or_else(|| {
            // Metrics that are to be secure need a certificate, too.
            config.features.secure_metrics.then_some(Certificates::SelfSigned)
        });
        let Some(certificates) = needed else {
            return Ok(Self { shown: Shown::nothing(), webhook: None, custody: None });
        };
        let (shown, custodian) = match certificates {
            Certificates::Files(folder) => (Shown::files(&folder).map_err(FrontError::from)?, None),
            Certificates::Secret(name) => {
                let custodian = Custodian::of_secret(epoch, kube.namespace(), &name);
                (Shown::nothing(), Some(custodian))
            }
            Certificates::SelfSigned => {
                let custodian = Custodian::self_signed(epoch, kube.namespace(), names(kube));
                (Shown::nothing(), Some(custodian))
            }
        };
        let custody = custodian.map(|custodian| {
            Arc::new(Custody::start(custodian, kube.clone(), clock, shown.clone()))
        });
        let webhook = match webhook {
            None => None,
            Some(_) => {
                let judge = Judge::new(Arc::new(config.clone()), kube.clone());
                let http2 = config.features.enable_http2;
                Some(Arc::new(Webhook::start(plan.webhook, http2, shown.clone(), judge).await?))
            }
        };
        Ok(Self { shown, webhook, custody })
    }

    /// What is known of them whenever somebody asks.
    fn beside(&self) -> impl Fn() -> Beside + Send + Sync + use<> {
        let (webhook, custody) = (self.webhook.clone(), self.custody.clone());
        move || {
            let trouble = custody.as_ref().and_then(|custody| custody.trouble());
            let dependency = webhook.as_ref().map(|_| Dependency { name: "webhook", trouble });
            Beside {
                dependencies: dependency.into_iter().collect(),
                reviews: webhook.as_ref().map(|webhook| webhook.metrics()).unwrap_or_default(),
            }
        }
    }
}

/// By which names the API server calls us: the Service's, and this machine's own.
fn names(kube: &KubeClient) -> Vec<String> {
    let (_, service) = SERVICE;
    let namespace = kube.namespace();
    let short = format!("{service}.{namespace}.svc");
    vec![short.clone(), format!("{short}.cluster.local"), "localhost".into(), "127.0.0.1".into()]
}

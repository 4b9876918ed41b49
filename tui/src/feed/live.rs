//! Real clusters, or `drawbridge serve`: looked at as long as somebody does, and read only unless
//! that was asked for.
//!
//! ```text
//!   API server ─ list, watch ─▶ kube ─┐
//!                                     ├─▶ Watched ─▶ News::Chunk, four times a second at most
//!   slurmrestd ─ jobs, nodes ─▶ slurm ┘
//!                                          News::Notices: who can't be reached
//! ```
//!
//! Whoever can't be reached is tried again, and what is known of the others is shown.

mod act;
mod kube;
mod slurm;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use drawbridge_bridge::{
    kube::KubeClient,
    slurm::session::{Line, SessionSettings},
};
use drawbridge_scenarios::{
    JobRow, NodeRow,
    recording::{Happened, Watched},
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Order, Outbox};
use crate::model::msg::News;

/// Time between two looks at what has come in.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How far back times are known: what is older is so old that it doesn't matter how old.
const BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Where real clusters are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveSettings {
    /// Which kubeconfig; that of the environment if unset.
    pub kubeconfig: Option<PathBuf>,
    /// Where slurmrestd is, if anywhere.
    pub slurm: Option<SessionSettings>,
    /// Time between two questions to slurmrestd.
    pub poll: Duration,
    /// Whether anything may be changed.
    pub write: bool,
    /// Unix time in milliseconds of what the run calls zero.
    pub(crate) zero_unix_ms: u64,
}

impl LiveSettings {
    /// Clusters of the environment's kubeconfig, read only.
    pub fn new() -> Self {
        let before = u64::try_from(BEFORE.as_millis()).unwrap_or(u64::MAX);
        Self {
            kubeconfig: None,
            slurm: None,
            poll: Duration::from_secs(2),
            write: false,
            zero_unix_ms: unix_ms().saturating_sub(before),
        }
    }
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// What the askers bring.
enum Seen {
    Object(&'static str, Happened, Value),
    Listed(&'static str, Vec<Value>),
    Slurm(Vec<JobRow>, Vec<NodeRow>),
    /// Who can't be reached, and why; `None` once they can.
    Trouble(String, Option<String>),
}

/// Looks, until nobody listens.
pub(super) fn run(settings: &LiveSettings, out: &Outbox, orders: &Receiver<Order>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(look(settings, out, orders)),
        Err(error) => {
            out.tell(News::Broken(out.which, format!("can't start: {error}")));
        }
    }
}

async fn look(settings: &LiveSettings, out: &Outbox, orders: &Receiver<Order>) {
    let zero = settings.zero_unix_ms;
    let (to, mut from) = mpsc::channel(1024);
    let hands = act::Hands {
        kube: connect(settings, &to).await,
        slurm: settings.slurm.clone().and_then(|settings| Line::new(settings).ok()),
    };
    if let Some(slurm) = settings.slurm.clone() {
        tokio::spawn(slurm::poll(slurm, settings.poll, zero, to.clone()));
    } else {
        let why = "no address: set SLURM_REST_API, or give --slurm".to_owned();
        let _ = to.send(Seen::Trouble("slurmrestd".to_owned(), Some(why))).await;
    }
    let mut watched = Watched::new(zero);
    let mut troubles: BTreeMap<String, String> = BTreeMap::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        watched.at(unix_ms());
        let before = troubles.clone();
        while let Ok(seen) = from.try_recv() {
            take(&mut watched, &mut troubles, seen);
        }
        if before != troubles {
            out.tell(News::Notices(told(&troubles)));
        }
        if !out.tell(News::Chunk(out.which, watched.take())) {
            return;
        }
        loop {
            match orders.try_recv() {
                Ok(Order::Act(deed)) => {
                    out.tell(News::Done(hands.perform(&deed).await));
                }
                Ok(Order::Retell { .. } | Order::Restore { .. } | Order::Try { .. }) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }
}

/// Begins to watch Kubernetes, if there is a way to it.
async fn connect(settings: &LiveSettings, to: &mpsc::Sender<Seen>) -> Option<KubeClient> {
    match KubeClient::connect(settings.kubeconfig.as_deref()).await {
        Ok(client) => {
            kube::watch_all(&client, to);
            Some(client)
        }
        Err(error) => {
            let why = format!("{error}; {}", error.hint());
            let _ = to.send(Seen::Trouble("Kubernetes".to_owned(), Some(why))).await;
            None
        }
    }
}

fn take(watched: &mut Watched, troubles: &mut BTreeMap<String, String>, seen: Seen) {
    match seen {
        Seen::Object(resource, happened, object) => watched.kube(resource, happened, object),
        Seen::Listed(resource, objects) => watched.kube_listed(resource, objects),
        Seen::Slurm(jobs, nodes) => watched.slurm_listed(jobs, nodes),
        Seen::Trouble(who, Some(why)) => {
            if troubles.insert(who.clone(), why.clone()).as_ref() != Some(&why) {
                watched.remark(format!("can't reach {who}: {why}"));
            }
        }
        Seen::Trouble(who, None) => {
            if troubles.remove(&who).is_some() {
                watched.remark(format!("{who} is within reach again"));
            }
        }
    }
}

fn told(troubles: &BTreeMap<String, String>) -> Vec<String> {
    troubles.iter().map(|(who, why)| format!("Can't reach {who}: {why}")).collect()
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

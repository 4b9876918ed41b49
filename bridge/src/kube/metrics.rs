//! How many requests went to the API server, how they ended, and how long they took.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use drawbridge_core::{KubeRequest, Method};

use crate::slurm::client::Tally;

/// Requests by what they do and how they ended: `("bind", "201")`, `("get", "lost")`.
pub type KubeMetrics = BTreeMap<(&'static str, String), Tally>;

/// The counts, shared between whoever sends.
#[derive(Debug, Default)]
pub(super) struct Counted(Mutex<KubeMetrics>);

impl Counted {
    pub(super) fn count(
        &self,
        request: &KubeRequest,
        status: Option<u16>,
        took: Duration,
        bytes: usize,
    ) {
        let ended = status.map_or_else(|| "lost".to_owned(), |status| status.to_string());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((verb(request), ended)).or_default().count(took, bytes);
    }

    pub(super) fn read(&self) -> KubeMetrics {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a request does, in a word.
fn verb(request: &KubeRequest) -> &'static str {
    let is_watch = request.query.iter().any(|(key, value)| key == "watch" && value == "true");
    let ends = |end: &str| request.path.ends_with(end);
    match request.method {
        Method::Get if is_watch => "watch",
        Method::Get => "get",
        Method::Post if ends("/binding") => "bind",
        Method::Post if ends("/eviction") => "evict",
        Method::Post => "create",
        Method::Put => "update",
        Method::MergePatch | Method::JsonPatch | Method::StrategicPatch => "patch",
        Method::Delete => "delete",
    }
}

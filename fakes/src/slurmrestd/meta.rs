//! What every body says of the server: which plugin answered, and for whom.

use drawbridge_sim::Release;
use serde_json::{Value, json};

use super::api::Operation;

/// Where a request comes from, as slurmrestd names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// `[localhost]:51234(fd:9)`.
    pub source: String,
}

impl Default for Peer {
    /// Somebody in this process.
    fn default() -> Self {
        Self { source: "[localhost]:0(fd:0)".into() }
    }
}

/// Major, minor and micro version of a release.
pub(super) const fn parts(release: Release) -> [&'static str; 3] {
    match release {
        Release::V24_11 => ["24", "11", "5"],
        Release::V26_05 => ["26", "05", "5"],
    }
}

/// `24.11.5`.
pub(super) fn full(release: Release) -> String {
    parts(release).join(".")
}

/// `client` names the peer of slurmrestd, not the user of the token.
pub(super) fn meta(
    operation: &Operation,
    release: Release,
    cluster: &str,
    accounting: bool,
    peer: &Peer,
) -> Value {
    let [major, minor, micro] = parts(release);
    let daemon = if operation.path.starts_with("/slurmdb/") { "slurmdbd" } else { "slurmctld" };
    json!({
        "plugin": {
            "type": format!("openapi/{daemon}"),
            "name": format!("Slurm OpenAPI {daemon}"),
            "data_parser": format!("data_parser/{}", operation.version.name()),
            "accounting_storage": if accounting { "accounting_storage/slurmdbd" } else { "" },
        },
        "client": { "source": peer.source, "user": "root", "group": "root" },
        "command": [],
        "slurm": {
            "version": { "major": major, "micro": micro, "minor": minor },
            "release": format!("{major}.{minor}.{micro}"),
            "cluster": cluster,
        },
    })
}

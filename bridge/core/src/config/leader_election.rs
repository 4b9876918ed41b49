//! What is switched on, and how replicas find out who of them leads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Features {
    /// Of several replicas one leads and the others wait, by a Lease. Without this there must be one only.
    pub enable_leader_election: bool,
    /// Webhooks and metrics are served by HTTP/2 as well.
    #[serde(rename = "enableHTTP2")]
    pub enable_http2: bool,
    /// Metrics are served by TLS, to those whom the API server lets read them.
    pub secure_metrics: bool,
}

/// How replicas find out who of them leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default = "LeaderElection::as_shipped")]
pub struct LeaderElection {
    /// The Lease's name. Replicas of one bridge have the same one, and no other bridge has it.
    pub id: String,
    /// The Lease's namespace; the bridge's own if unset.
    pub namespace: Option<String>,
    /// After so long without a sign of the leader another takes over.
    pub lease_duration_seconds: u32,
    /// A leader that could not renew the lease for so long leads no more.
    pub renew_deadline_seconds: u32,
    /// How often the lease is looked at, and renewed.
    pub retry_period_seconds: u32,
}

impl LeaderElection {
    /// The values in force where nothing is set.
    pub fn as_shipped() -> Self {
        Self {
            id: "drawbridge".into(),
            namespace: None,
            lease_duration_seconds: 15,
            renew_deadline_seconds: 10,
            retry_period_seconds: 2,
        }
    }

    /// Whether a leader gives up before others may take over, and has more than one try.
    pub(crate) fn is_safe(&self) -> bool {
        let Self { lease_duration_seconds, renew_deadline_seconds, retry_period_seconds, .. } =
            *self;
        0 < retry_period_seconds
            && retry_period_seconds < renew_deadline_seconds
            && renew_deadline_seconds < lease_duration_seconds
    }
}

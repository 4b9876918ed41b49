//! What isn't the same in every version: the tables.
//!
//! Everything that isn't named here is in all of them, from v0.0.40 on. The tables were read off the
//! vendor's OpenAPI documents; a test compares them.

use drawbridge_core::slurm::ApiVersion::{self, V40, V41, V42, V43, V44, V45};
use serde_json::{Map, Value};

/// What a version lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs another version of slurmrestd's API than {version}: {served}")]
pub struct Unserved {
    /// What was asked for.
    pub what: String,
    /// The version that lacks it.
    pub version: ApiVersion,
    /// Which versions have it, in words.
    pub served: String,
}

/// Paths that came later.
pub(super) const REQUEUE: (&str, ApiVersion) = ("requeueing a job", V45);
/// The resources of one job by node.
pub(super) const RESOURCES: (&str, ApiVersion) = ("the resources of a job", V44);
/// New nodes.
pub(super) const NEW_NODE: (&str, ApiVersion) = ("creating a node", V44);

/// A node's place in the topology.
pub(super) const TOPOLOGY: (&str, ApiVersion) = ("a node's place in the topology", V43);

/// Fields of a job's description that some versions lack. Those would ignore them with a warning,
/// and the job would be another than the one that was meant.
const FIELDS: &[(&str, &[ApiVersion])] = &[
    ("cores_per_socket", &[V41, V42, V43, V44]),
    ("segment_size", &[V40]),
    ("oom_kill_step", &[V40, V41]),
    ("container_type", &[V40, V41, V42, V43, V44]),
    ("memory_update_margin", &[V40, V41, V42, V43, V44]),
    ("memory_update_delay", &[V40, V41, V42, V43, V44]),
];

/// Flags of a job's description that some versions lack.
const FLAGS: &[(&str, &[ApiVersion])] = &[
    ("GRES_ALLOW_TASK_SHARING", &[V41, V42, V43, V44, V45]),
    ("GRES_MULTIPLE_TASKS_PER_SHARING", &[V41, V42, V43, V44, V45]),
    ("GRES_ONE_TASK_PER_SHARING", &[V41, V42, V43, V44, V45]),
    ("SAVE_BATCH_SCRIPT", &[V41, V42, V43, V44, V45]),
    ("STEPMGR_ENABLED", &[V40]),
    ("EXTERNAL_JOB", &[V40, V41, V42]),
    ("CONSOLIDATE_SEGMENTS", &[V40, V41, V42, V43]),
    ("EXPEDITED_REQUEUE", &[V40, V41, V42, V43]),
    ("SPREAD_SEGMENTS", &[V40, V41, V42, V43]),
];

/// Whether a version cancels a job and says what came of it. Before, `DELETE job/{id}` answers 200
/// with nothing, even if the job is somebody else's; `DELETE jobs/` says it in every version.
pub(super) fn cancel_says_what_came_of_it(version: ApiVersion) -> bool {
    V42 <= version
}

/// How a version writes a moment in a query. A plain number is refused by v0.0.40 and v0.0.41; this
/// form is understood by all, but not for the first days of 1970: those are no moment at all.
pub(super) fn moment(seconds: u64) -> Option<String> {
    (1_000_000 < seconds).then(|| format!("uts{seconds}"))
}

/// Whether numbers of which v0.0.40 wants the plain form have flags.
pub(super) fn has_flags(version: ApiVersion) -> bool {
    V41 <= version
}

/// Refuses what came after this version.
pub(super) fn since(
    (what, since): (&str, ApiVersion),
    version: ApiVersion,
) -> Result<(), Unserved> {
    if since <= version {
        return Ok(());
    }
    Err(Unserved { what: what.to_owned(), version, served: format!("{since} or newer") })
}

/// Refuses a description that says what this version doesn't understand.
pub(super) fn check(description: &Map<String, Value>, version: ApiVersion) -> Result<(), Unserved> {
    let field = FIELDS
        .iter()
        .find(|(name, lacking)| description.contains_key(*name) && lacking.contains(&version));
    let has = |flag: &str| {
        let flags = description.get("flags").and_then(Value::as_array);
        flags.is_some_and(|flags| flags.iter().any(|word| word == flag))
    };
    let flag = || FLAGS.iter().find(|(flag, lacking)| lacking.contains(&version) && has(flag));
    let Some((name, lacking)) = field.or_else(flag) else { return Ok(()) };
    let having = ApiVersion::ALL.iter().filter(|version| !lacking.contains(version));
    let having: Vec<&str> = having.map(|version| version.as_str()).collect();
    let what = format!("`{name}` of a job");
    Err(Unserved { what, version, served: having.join(", ") })
}

//! Defects that can be planted in the core, to see whether scenarios and explorer find them.
//!
//! Each names a guard of ours that is taken out. Without the feature `plants` no configuration has
//! one, and the questions cost nothing.

use std::borrow::Cow;

use crate::{
    config::Config,
    gang::Gang,
    input::{SlurmFault, SlurmReply},
    store::Store,
};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Slurm's jobs aren't looked through for one that stands for a workload already, nor for a
    /// second one.
    AdoptsNothing,
    /// A job with a mark of any cluster is taken for ours.
    TrustsAnyMark,
    /// Groups of one name in several namespaces are one group.
    MergesNamespaces,
    /// A reply of the API server that never comes is waited for.
    WaitsForever,
    /// Whatever is drained while its node isn't cordoned is resumed.
    ResumesAnything,
    /// Pods that ended while no bridge ran keep the finalizer.
    ForgetsFinalizers,
    /// An external node that is drained to be removed is resumed, because it should serve otherwise.
    UndrainsWhatItRemoves,
    /// The size of an external node is compared with another than the one that it was made with.
    ComparesAnotherSize,
    /// Every change of a Kubernetes node is a reason to ask Slurm for its nodes.
    AsksForEveryNode,
}

impl Plant {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::AdoptsNothing,
        Self::TrustsAnyMark,
        Self::MergesNamespaces,
        Self::WaitsForever,
        Self::ResumesAnything,
        Self::ForgetsFinalizers,
        Self::UndrainsWhatItRemoves,
        Self::ComparesAnotherSize,
        Self::AsksForEveryNode,
    ];
}

impl Config {
    /// The same configuration for a bridge that has this defect.
    #[cfg(feature = "plants")]
    #[must_use]
    pub fn with_plant(mut self, plant: Plant) -> Self {
        self.plant = Some(plant);
        self
    }

    /// Whether the bridge has this defect.
    pub(crate) fn has(&self, plant: Plant) -> bool {
        cfg!(feature = "plants") && self.plant == Some(plant)
    }
}

/// The cluster whose mark is ours: with [`Plant::TrustsAnyMark`] whichever it is.
pub(crate) fn cluster_of<'a>(config: &'a Config, admin_comment: &str) -> Cow<'a, str> {
    let named = || {
        let value: serde_json::Value = serde_json::from_str(admin_comment).ok()?;
        value.get("cluster")?.as_str().map(str::to_owned)
    };
    let planted = config.has(Plant::TrustsAnyMark).then(named).flatten();
    planted.map_or(Cow::Borrowed(config.cluster_id.as_str()), Cow::Owned)
}

/// The same, for the job that was read before it is told to end.
pub(crate) fn cluster_asked_for<'a>(
    config: &'a Config,
    outcome: &Result<SlurmReply, SlurmFault>,
) -> Cow<'a, str> {
    match outcome {
        Ok(SlurmReply::Job(Some(job))) => cluster_of(config, &job.admin_comment),
        Ok(_) | Err(_) => Cow::Borrowed(config.cluster_id.as_str()),
    }
}

/// The group that a bridge with [`Plant::MergesNamespaces`] takes for this one.
pub(crate) fn namesake(config: &Config, store: &Store, group: &Gang) -> Gang {
    let namesake = || store.groups().find(|it| it.key.name() == group.key.name()).cloned();
    let found = config.has(Plant::MergesNamespaces).then(namesake).flatten();
    found.unwrap_or_else(|| group.clone())
}

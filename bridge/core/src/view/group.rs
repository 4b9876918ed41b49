//! PodGroups, of either API.

use serde::Deserialize;
use serde_json::Value;

use super::{Condition, Meta};

/// A PodGroup of `scheduling.x-k8s.io` or `scheduling.k8s.io`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct PodGroupView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    spec: PodGroupSpec,
    #[serde(default)]
    status: PodGroupStatus,
    /// Where its API is: `/apis/scheduling.k8s.io/v1beta1`.
    #[serde(skip)]
    api: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodGroupSpec {
    /// Of `scheduling.x-k8s.io`.
    min_member: u32,
    /// Of `scheduling.k8s.io`.
    scheduling_policy: Option<Policy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Policy {
    gang: Option<GangPolicy>,
    basic: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GangPolicy {
    min_count: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct PodGroupStatus {
    conditions: Vec<Condition>,
}

/// How a pod names its group of `scheduling.k8s.io`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SchedulingGroup {
    pod_group_name: Option<String>,
}

impl SchedulingGroup {
    pub(crate) fn name(&self) -> Option<&str> {
        self.pod_group_name.as_deref().filter(|name| !name.is_empty())
    }
}

impl PodGroupView {
    /// The same group, from a list at this path.
    pub(crate) fn found_at(self, path: &'static str) -> Self {
        Self { api: path.strip_suffix("/podgroups"), ..self }
    }

    pub(crate) fn api(&self) -> Option<&'static str> {
        self.api
    }

    /// How many pods must start together.
    pub(crate) fn minimum(&self) -> usize {
        let gang = self.spec.scheduling_policy.as_ref().and_then(|policy| policy.gang.as_ref());
        gang.map_or(self.spec.min_member, |gang| gang.min_count).max(1) as usize
    }

    /// Whether its pods need not start together: each is scheduled by itself.
    pub(crate) fn is_basic(&self) -> bool {
        let policy = self.spec.scheduling_policy.as_ref();
        policy.is_some_and(|policy| policy.basic.is_some() && policy.gang.is_none())
    }

    /// Whether it says already that it has been placed.
    pub(crate) fn says_scheduled(&self) -> bool {
        let conditions = self.status.conditions.iter();
        conditions.filter(|it| it.kind == SCHEDULED).any(|it| it.status == "True")
    }
}

/// The condition by which a group of `scheduling.k8s.io` says that its pods have been placed.
pub(crate) const SCHEDULED: &str = "PodGroupScheduled";

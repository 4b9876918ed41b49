//! Claims, slices and classes as far as we read them (`resource.k8s.io/v1`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    names::Uid,
    view::{Meta, PodView},
};

/// The finalizer that keeps a claim while it is allocated.
pub(super) const PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// A ResourceClaim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ClaimView {
    pub(crate) metadata: Meta,
    pub(crate) spec: ClaimSpec,
    #[serde(default)]
    pub(crate) status: ClaimStatus,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimSpec {
    pub(crate) devices: DeviceRequests,
}

/// The requests of a claim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceRequests {
    pub(crate) requests: Vec<DeviceRequest>,
    pub(crate) constraints: Vec<Value>,
    pub(crate) config: Vec<Value>,
}

/// One request of a claim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceRequest {
    pub(crate) name: String,
    pub(crate) exactly: Option<Exactly>,
    pub(crate) first_available: Vec<Value>,
}

/// A request that has no alternatives.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Exactly {
    pub(crate) device_class_name: String,
    pub(crate) allocation_mode: Option<String>,
    pub(crate) count: Option<u32>,
    pub(crate) selectors: Vec<Value>,
    pub(crate) admin_access: bool,
}

/// How a claim is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimStatus {
    pub(crate) allocation: Option<Allocation>,
    pub(crate) reserved_for: Vec<Consumer>,
}

/// What a claim was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Allocation {
    pub(crate) devices: AllocatedDevices,
}

/// The devices of an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct AllocatedDevices {
    pub(crate) results: Vec<AllocatedDevice>,
}

/// One device for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AllocatedDevice {
    pub(crate) request: String,
    #[serde(flatten)]
    pub(crate) device: DeviceId,
    pub(crate) admin_access: bool,
}

/// A device by driver, pool and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceId {
    pub(crate) driver: String,
    pub(crate) pool: String,
    pub(crate) device: String,
}

/// Who uses a claim.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Consumer {
    pub(crate) uid: Uid,
}

/// A ResourceSlice: devices of one driver.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct SliceView {
    pub(crate) metadata: Meta,
    pub(crate) spec: SliceSpec,
}

/// What a slice lists.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SliceSpec {
    pub(crate) driver: String,
    pub(crate) node_name: String,
    pub(crate) pool: Pool,
    pub(crate) devices: Vec<Device>,
}

/// What a slice is a part of. Only the newest generation counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) generation: u64,
}

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// By name, with or without the driver's domain before it.
    pub(crate) attributes: BTreeMap<String, Value>,
}

/// A DeviceClass.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ClassView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: ClassSpec,
}

/// What a class adds to its claims.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ClassSpec {
    pub(crate) config: Vec<Value>,
}

impl ClaimView {
    /// What it holds, unless others may hold it too.
    pub(super) fn held(&self) -> impl Iterator<Item = &DeviceId> {
        let results = self.status.allocation.iter().flat_map(|it| &it.devices.results);
        results.filter(|result| !result.admin_access).map(|result| &result.device)
    }

    /// The pods that use it, or that it was made for.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Uid> {
        let users = self.status.reserved_for.iter().map(|consumer| &consumer.uid);
        users.chain(self.metadata.owner_references.iter().map(|owner| &owner.uid))
    }

    pub(super) fn is_reserved_for(&self, pod: &PodView) -> bool {
        self.status.reserved_for.iter().any(|consumer| consumer.uid == *pod.uid())
    }

    /// Whether somebody else uses it.
    pub(super) fn is_shared(&self, pod: &PodView) -> bool {
        self.status.reserved_for.iter().any(|consumer| consumer.uid != *pod.uid())
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn is_protected(&self) -> bool {
        self.metadata.finalizers.iter().any(|name| name == PROTECTION)
    }
}

impl Device {
    /// An attribute's value: `{"int": 3}` is 3.
    fn attribute(&self, driver: &str, name: &str) -> Option<&Value> {
        let own = self.attributes.get(name);
        let value = own.or_else(|| self.attributes.get(&format!("{driver}/{name}")))?;
        value.as_object()?.values().next()
    }

    /// A whole number.
    pub(super) fn number(&self, driver: &str, name: &str) -> Option<u32> {
        u32::try_from(self.attribute(driver, name)?.as_u64()?).ok()
    }

    /// A word.
    pub(super) fn word(&self, driver: &str, name: &str) -> Option<&str> {
        self.attribute(driver, name)?.as_str()
    }

    /// The number at the end of its name: `gpu-3` is 3.
    pub(super) fn number_in_name(&self) -> Option<u32> {
        let digits = self.name.bytes().rev().take_while(u8::is_ascii_digit).count();
        self.name[self.name.len() - digits..].parse().ok()
    }
}

impl std::fmt::Display for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of pool {}", self.device, self.pool)
    }
}

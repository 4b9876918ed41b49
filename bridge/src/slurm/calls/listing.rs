//! Lists: what there is, under a name of its own, and when it last changed.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};

use super::JobState;
use crate::slurm::types::{
    Account, AccountingJob, Association, Job, License, Node, NodeGrant, Number, Partition, Ping,
    Qos, Reservation, User, observed::JobSketch,
};

/// A list, and when it last changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing<T> {
    /// What there is.
    pub items: Vec<T>,
    /// When slurmctld last changed one of them, in seconds since the epoch. 0 if it didn't say.
    pub last_update: u64,
    /// When backfill last ran; only with jobs.
    pub last_backfill: u64,
}

/// Something that is listed.
pub(super) trait Item: DeserializeOwned {
    /// The name of the list on the wire.
    const KEY: &'static str;
}

macro_rules! items {
    ($($item:ty, $key:literal;)*) => {$(
        impl Item for $item {
            const KEY: &'static str = $key;
        }
    )*};
}

items! {
    Job, "jobs";
    JobSketch, "jobs";
    JobState, "jobs";
    Node, "nodes";
    NodeGrant, "nodes";
    Partition, "partitions";
    Reservation, "reservations";
    License, "licenses";
    Ping, "pings";
    AccountingJob, "jobs";
    Account, "accounts";
    Association, "associations";
    User, "users";
    Qos, "qos";
}

/// A list as it comes.
pub(super) struct WireList<T> {
    /// `None` if it isn't there, or `null`.
    pub(super) items: Option<Vec<T>>,
    pub(super) last_update: Number,
    pub(super) last_backfill: Number,
}

impl<'de, T: Item> Deserialize<'de> for WireList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Item> Visitor<'de> for ListVisitor<T> {
    type Value = WireList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}` in it", T::KEY)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireList<T>, A::Error> {
        let (last_update, last_backfill) = (Number::Unset, Number::Unset);
        let mut list = WireList { items: None, last_update, last_backfill };
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                key if key == T::KEY => list.items = map.next_value()?,
                "last_update" => list.last_update = map.next_value()?,
                "last_backfill" => list.last_backfill = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(list)
    }
}

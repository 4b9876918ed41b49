//! An association: a user in an account on a cluster, with its limits.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{AssociationId, AssociationMax, AssociationMin, Number, wire};

wire! {
    /// An association.
    Association {
        account: String,
        cluster: String,
        comment: String,
        default: AssociationDefaults,
        flags: Vec<String>,
        max: AssociationMax,
        /// In v0.0.40 an object around the number; 24.11 says 0 in v0.0.41 and v0.0.42.
        #[serde(deserialize_with = "number_or_object")]
        id: i64,
        is_default: bool,
        lineage: String,
        min: AssociationMin,
        parent_account: String,
        partition: String,
        priority: Number,
        qos: Vec<String>,
        shares_raw: i64,
        user: String,
    }

    /// What its jobs get where they say nothing.
    AssociationDefaults {
        qos: String,
    }
}

fn number_or_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    deserializer.deserialize_any(IdVisitor)
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of an association")
    }

    fn visit_i64<E>(self, id: i64) -> Result<i64, E> {
        Ok(id)
    }

    fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<i64, E> {
        i64::try_from(id).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<i64, A::Error> {
        AssociationId::deserialize(MapAccessDeserializer::new(map)).map(|id| id.id)
    }
}

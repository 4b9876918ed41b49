//! Amounts of resources: `cpu`, `memory`, `pods` and whatever else a node has.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::Quantity;
use serde_json::Value;

use super::object::pairs;

/// So much of each resource, in thousandths of its unit; what isn't named is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Amounts(BTreeMap<Arc<str>, u64>);

impl Amounts {
    /// Nothing of anything.
    pub(crate) const NONE: Self = Self(BTreeMap::new());

    /// Reads `{cpu: "500m", memory: 1Gi}`.
    ///
    /// The API server lets no nonsense through. Should some get here, it counts as more than any
    /// node has, so that it shows instead of passing for nothing.
    pub(crate) fn read(value: &Value) -> Self {
        Self(pairs(value).map(|(name, amount)| (name.as_str().into(), milli(amount))).collect())
    }

    /// How much of one resource.
    pub(crate) fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Whether anything is said of a resource, be it nothing.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn set(&mut self, name: &str, milli: u64) {
        self.0.insert(name.into(), milli);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let held = self.0.entry(name.clone()).or_default();
            *held = held.saturating_add(*amount);
        }
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if let Some(held) = self.0.get_mut(name) {
                *held = held.saturating_sub(*amount);
            }
        }
    }

    /// The greater of both, resource by resource.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let held = self.0.entry(name.clone()).or_default();
            *held = (*held).max(*amount);
        }
    }

    /// Fills in what isn't named here.
    pub(crate) fn or(mut self, other: Self) -> Self {
        for (name, amount) in other.0 {
            self.0.entry(name).or_insert(amount);
        }
        self
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// What is missing for `ask`, if so much of `all` is `used`.
    pub(crate) fn lacking<'a>(
        &'a self,
        used: &'a Self,
        all: &'a Self,
    ) -> impl Iterator<Item = &'a str> {
        self.iter()
            .filter(|(name, ask)| *ask > 0 && all.get(name).saturating_sub(used.get(name)) < *ask)
            .map(|(name, _)| name)
    }
}

fn milli(amount: &Value) -> u64 {
    let text = match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return u64::MAX,
    };
    Quantity::parse(&text).map_or(u64::MAX, Quantity::milli)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_lacking_is_named() {
        let all = Amounts::read(&json!({"cpu": "4", "memory": "8Gi", "pods": 110}));
        let used = Amounts::read(&json!({"cpu": "3500m", "memory": "8Gi"}));
        #[rustfmt::skip]
        let rows = [
            (json!({"cpu": "500m"}),                        ""),
            (json!({"cpu": "501m"}),                        "cpu"),
            (json!({"cpu": 1, "memory": 1}),                "cpu memory"),
            (json!({"nvidia.com/gpu": "1", "pods": 1}),     "nvidia.com/gpu"),
            (json!({"nvidia.com/gpu": "0", "memory": "0"}), ""),
            (json!({"cpu": "much"}),                        "cpu"),
        ];
        for (ask, expected) in rows {
            let ask = Amounts::read(&ask);
            let lacking: Vec<&str> = ask.lacking(&used, &all).collect();
            assert_eq!(lacking.join(" "), expected, "{ask:?}");
        }
    }
}

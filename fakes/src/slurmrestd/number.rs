//! Numbers as slurmrestd writes and reads them: `{"set": true, "infinite": false, "number": 60}`.

use serde_json::{Value, json};

/// A number that may be unset or endless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Nothing was said.
    Unset,
    /// No bound.
    Infinite,
    /// So much.
    Is(u64),
}

impl Number {
    /// Reads the dictionary form; `infinite` wins over `set`, as in Slurm.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let flag = |key| value.get(key).and_then(Value::as_bool).unwrap_or(false);
        if flag("infinite") {
            return Some(Self::Infinite);
        }
        if !flag("set") {
            return Some(Self::Unset);
        }
        value.get("number").and_then(Value::as_u64).map(Self::Is)
    }

    /// The number, if it is one.
    pub(super) const fn is(self) -> Option<u64> {
        match self {
            Self::Unset | Self::Infinite => None,
            Self::Is(number) => Some(number),
        }
    }
}

/// A number that is set.
pub(super) fn number(number: u64) -> Value {
    json!({ "set": true, "infinite": false, "number": number })
}

/// A number that isn't set.
pub(super) fn unset() -> Value {
    json!({ "set": false, "infinite": false, "number": 0 })
}

/// A number without bound.
pub(super) fn infinite() -> Value {
    json!({ "set": false, "infinite": true, "number": 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_slurm_reads_them() {
        #[rustfmt::skip]
        let rows = [
            (json!({"set": true, "infinite": false, "number": 60}), Some(Number::Is(60))),
            (json!({"set": true, "number": 60}),                    Some(Number::Is(60))),
            (json!({"set": false, "number": 60}),                   Some(Number::Unset)),
            (json!({"number": 60}),                                 Some(Number::Unset)),
            (json!({"set": true, "infinite": true, "number": 60}),  Some(Number::Infinite)),
            (json!({"set": true, "number": "x"}),                   None),
            (json!({"set": true}),                                  None),
        ];
        for (value, number) in rows {
            assert_eq!(Number::read(&value), number, "{value}");
        }
    }
}

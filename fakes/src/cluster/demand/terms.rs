//! Labels and taints: what is required of them, and what is put up with.

use serde_json::Value;

use super::super::object::{items, text};

/// Requirements that must hold together. An empty term holds nowhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    pub(crate) labels: Vec<Requirement>,
    pub(crate) fields: Vec<Requirement>,
}

/// `key operator values`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    /// The API server refuses others. One that got here holds nowhere.
    Unknown,
}

/// A taint that the pod puts up with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Toleration {
    /// Empty for every key.
    key: String,
    exists: bool,
    value: String,
    /// Empty for every effect.
    effect: String,
    /// For how long, under `NoExecute`.
    pub(crate) seconds: Option<i64>,
}

/// A taint on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taint {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

impl Term {
    pub(crate) fn read(term: &Value) -> Self {
        let list = |value: &Value| items(value).iter().map(Requirement::read).collect();
        Self { labels: list(&term["matchExpressions"]), fields: list(&term["matchFields"]) }
    }
}

impl Requirement {
    /// `key = value`.
    pub(super) fn is(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), operator: Operator::In, values: vec![value.to_owned()] }
    }

    fn read(value: &Value) -> Self {
        Self {
            key: text(&value["key"]).into(),
            operator: match text(&value["operator"]) {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                "Gt" => Operator::Gt,
                "Lt" => Operator::Lt,
                _ => Operator::Unknown,
            },
            values: items(&value["values"]).iter().map(|value| text(value).to_owned()).collect(),
        }
    }

    /// Whether it holds for this value of its key.
    pub(crate) fn holds(&self, value: Option<&str>) -> bool {
        let listed = value.is_some_and(|value| self.values.iter().any(|it| it == value));
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = self.values.first().and_then(|text| number(text));
        let compared = value.and_then(number).zip(bound);
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => compared.is_some_and(|(value, bound)| bound < value),
            Operator::Lt => compared.is_some_and(|(value, bound)| value < bound),
            Operator::Unknown => false,
        }
    }
}

impl Toleration {
    pub(super) fn read(value: &Value) -> Self {
        Self {
            key: text(&value["key"]).into(),
            exists: value["operator"] == "Exists",
            value: text(&value["value"]).into(),
            effect: text(&value["effect"]).into(),
            seconds: value["tolerationSeconds"].as_i64(),
        }
    }

    /// Whether this is a taint that it puts up with.
    pub(crate) fn covers(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && (self.exists || (!self.key.is_empty() && self.value == taint.value))
    }
}

impl Taint {
    pub(crate) fn new(key: &str, value: &str, effect: &str) -> Self {
        Self { key: key.into(), value: value.into(), effect: effect.into() }
    }

    pub(crate) fn read(value: &Value) -> Self {
        let part = |key: &str| text(&value[key]).to_owned();
        Self { key: part("key"), value: part("value"), effect: part("effect") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_hold_as_kubernetes_says() {
        #[rustfmt::skip]
        let rows = [
            ("In",           vec!["a", "b"], Some("b"), true),
            ("In",           vec!["a"],      None,      false),
            ("NotIn",        vec!["a"],      None,      true),
            ("NotIn",        vec!["a"],      Some("a"), false),
            ("Exists",       vec![],         Some(""),  true),
            ("DoesNotExist", vec![],         None,      true),
            ("Gt",           vec!["3"],      Some("4"), true),
            ("Gt",           vec!["3"],      Some("x"), false),
            ("Lt",           vec!["3"],      Some("3"), false),
            ("Near",         vec!["3"],      Some("3"), false),
        ];
        for (operator, values, value, expected) in rows {
            let it =
                Requirement::read(&json!({"key": "k", "operator": operator, "values": values}));
            assert_eq!(it.holds(value), expected, "{operator} {values:?} {value:?}");
        }
    }

    #[test]
    fn tolerations_cover_what_they_name() {
        let taint = Taint::read(&json!({"key": "k", "value": "v", "effect": "NoSchedule"}));
        #[rustfmt::skip]
        let rows = [
            (json!({"operator": "Exists"}),                               true),
            (json!({"key": "k", "operator": "Exists"}),                   true),
            (json!({"key": "k", "value": "v"}),                           true),
            (json!({"key": "k", "value": "w"}),                           false),
            (json!({"key": "k", "value": "v", "effect": "NoExecute"}),    false),
            (json!({"key": "other", "operator": "Exists"}),               false),
            (json!({"value": "v"}),                                       false),
        ];
        for (toleration, expected) in rows {
            assert_eq!(Toleration::read(&toleration).covers(&taint), expected, "{toleration}");
        }
    }
}

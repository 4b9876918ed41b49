//! What a pod asks of a node. Pods with equal demands are equal to the scheduler.

use serde_json::Value;

use super::{
    amounts::Amounts,
    object::{count, items, pairs, text},
};

/// All that decides which nodes a pod may be placed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Demand {
    /// What it reserves, with one of `pods`.
    pub(crate) requests: Amounts,
    /// `nodeSelector`: all must hold.
    pub(crate) selector: Vec<Requirement>,
    /// Required node affinity: one of the terms must hold.
    pub(crate) affinity: Option<Vec<Term>>,
    pub(crate) tolerations: Vec<Toleration>,
    /// Fields that narrow the choice in ways that aren't modelled: such a pod isn't placed.
    pub(crate) unmodelled: Vec<&'static str>,
}

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

impl Demand {
    /// Reads a pod's spec.
    pub(crate) fn read(spec: &Value) -> Self {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let affinity = &spec["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"];
        Self {
            requests: requests(spec),
            selector: pairs(&spec["nodeSelector"])
                .map(|(key, value)| Requirement {
                    key: key.clone(),
                    operator: Operator::In,
                    values: vec![text(value).into()],
                })
                .collect(),
            affinity: affinity.is_array().then(|| items(affinity).iter().map(Term::read).collect()),
            tolerations: items(&spec["tolerations"]).iter().map(Toleration::read).collect(),
            unmodelled: unmodelled(spec, required),
        }
    }
}

impl Term {
    fn read(term: &Value) -> Self {
        let list = |value: &Value| items(value).iter().map(Requirement::read).collect();
        Self { labels: list(&term["matchExpressions"]), fields: list(&term["matchFields"]) }
    }
}

impl Requirement {
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
    fn read(value: &Value) -> Self {
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
    pub(crate) fn read(value: &Value) -> Self {
        let part = |key: &str| text(&value[key]).to_owned();
        Self { key: part("key"), value: part("value"), effect: part("effect") }
    }
}

/// What the pod reserves: its containers together, or more if an init container needs more.
fn requests(spec: &Value) -> Amounts {
    let of = |resources: &Value| {
        Amounts::read(&resources["requests"]).or(Amounts::read(&resources["limits"]))
    };
    let mut sum = Amounts::default();
    for container in items(&spec["containers"]) {
        sum.add(&of(&container["resources"]));
    }
    let (mut sidecars, mut peak) = (Amounts::default(), Amounts::default());
    for container in items(&spec["initContainers"]) {
        let own = of(&container["resources"]);
        if container["restartPolicy"] == "Always" {
            sidecars.add(&own);
            peak.raise_to(&sidecars);
        } else {
            let mut with_sidecars = sidecars.clone();
            with_sidecars.add(&own);
            peak.raise_to(&with_sidecars);
        }
    }
    sum.add(&sidecars);
    sum.raise_to(&peak);
    let mut all = of(&spec["resources"]).or(sum);
    all.add(&Amounts::read(&spec["overhead"]));
    all.set("pods", 1000);
    all
}

fn unmodelled(spec: &Value, required: &str) -> Vec<&'static str> {
    let affinity = &spec["affinity"];
    let any = |list: &Value, test: &dyn Fn(&Value) -> bool| items(list).iter().any(test);
    let host_ports =
        |container: &Value| any(&container["ports"], &|port| count(&port["hostPort"]) > 0);
    [
        ("spec.affinity.podAffinity", !items(&affinity["podAffinity"][required]).is_empty()),
        (
            "spec.affinity.podAntiAffinity",
            !items(&affinity["podAntiAffinity"][required]).is_empty(),
        ),
        (
            "spec.topologySpreadConstraints",
            any(&spec["topologySpreadConstraints"], &|it| {
                it["whenUnsatisfiable"] != "ScheduleAnyway"
            }),
        ),
        ("hostPort", any(&spec["containers"], &host_ports)),
        (
            "spec.volumes[].persistentVolumeClaim",
            any(&spec["volumes"], &|it| it["persistentVolumeClaim"].is_object()),
        ),
        ("spec.resourceClaims", !items(&spec["resourceClaims"]).is_empty()),
    ]
    .into_iter()
    .filter_map(|(field, used)| used.then_some(field))
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_reserves_the_most_that_it_needs_at_once() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let sidecar =
            |cpu: &str| json!({"restartPolicy": "Always", "resources": {"limits": {"cpu": cpu}}});
        #[rustfmt::skip]
        let rows = [
            ("two containers",   json!({"containers": [container("1"), container("500m")]}), 1500),
            ("a big init",       json!({"containers": [container("1")], "initContainers": [container("3")]}), 3000),
            ("a sidecar stays",  json!({"containers": [container("1")], "initContainers": [sidecar("1")]}), 2000),
            ("init and sidecar", json!({"containers": [container("1")], "initContainers": [sidecar("1"), container("2")]}), 3000),
            ("overhead",         json!({"containers": [container("1")], "overhead": {"cpu": "250m"}}), 1250),
        ];
        for (name, spec, cpu) in rows {
            assert_eq!(requests(&spec).get("cpu"), cpu, "{name}");
            assert_eq!(requests(&spec).get("pods"), 1000, "{name}");
        }
    }

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

    #[test]
    fn what_narrows_the_choice_unmodelled_is_named() {
        let spec = json!({
            "containers": [{"ports": [{"hostPort": 80}]}],
            "topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}],
            "volumes": [{"emptyDir": {}}],
        });
        assert_eq!(Demand::read(&spec).unmodelled, ["spec.topologySpreadConstraints", "hostPort"]);
    }
}

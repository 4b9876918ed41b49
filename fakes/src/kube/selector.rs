//! Label and field selectors: `app=web,tier in (a,b),!old` and `spec.nodeName=n1`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object;

/// Which labels an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    all_of: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
}

impl LabelSelector {
    /// Reads the form of query parameters.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all_of = vec![];
        for clause in clauses(text) {
            all_of.push(
                requirement(clause.trim())
                    .map_err(|why| format!("unable to parse requirement: {why}"))?,
            );
        }
        Ok(Self { all_of })
    }

    /// Reads the form of objects: `matchLabels` and `matchExpressions`. Null selects everything.
    pub fn from_object(selector: &Value) -> Result<Self, String> {
        let mut all_of = vec![];
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or("").to_owned();
            all_of.push(Requirement { key: key.clone(), rule: Rule::In(BTreeSet::from([value])) });
        }
        for expression in object::items(selector, &["matchExpressions"]) {
            all_of.push(expression_of(expression)?);
        }
        Ok(Self { all_of })
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.all_of.is_empty()
    }

    /// Whether an object with these labels (a JSON map, or null) is selected.
    pub fn matches(&self, labels: &Value) -> bool {
        self.all_of.iter().all(|requirement| {
            let value = labels.get(&requirement.key).and_then(Value::as_str);
            requirement.rule.accepts(value)
        })
    }
}

impl Rule {
    fn accepts(&self, value: Option<&str>) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
        }
    }
}

fn expression_of(expression: &Value) -> Result<Requirement, String> {
    let key = object::text(expression, &["key"]).to_owned();
    let values = object::items(expression, &["values"]).iter();
    let values: BTreeSet<String> = values.filter_map(Value::as_str).map(Into::into).collect();
    let needs_values =
        |rule: fn(BTreeSet<String>) -> Rule, values: BTreeSet<String>| match values.is_empty() {
            true => Err("values must be specified when `operator` is 'In' or 'NotIn'".to_owned()),
            false => Ok(rule(values)),
        };
    let rule = match object::text(expression, &["operator"]) {
        "In" => needs_values(Rule::In, values)?,
        "NotIn" => needs_values(Rule::NotIn, values)?,
        "Exists" => Rule::Exists,
        "DoesNotExist" => Rule::Absent,
        other => {
            return Err(format!("\"{other}\" is not a valid label selector operator"));
        }
    };
    Ok(Requirement { key, rule })
}

/// Splits at commas that are not inside brackets.
fn clauses(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let split = text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    split.filter(|clause| !clause.trim().is_empty()).collect()
}

fn requirement(clause: &str) -> Result<Requirement, String> {
    let one = |key: &str, value: &str, rule: fn(BTreeSet<String>) -> Rule| {
        let set = BTreeSet::from([value.trim().to_owned()]);
        checked(key, rule(set))
    };
    if let Some(key) = clause.strip_prefix('!') {
        return checked(key, Rule::Absent);
    }
    if let Some((key, value)) = clause.split_once("!=") {
        return one(key, value, Rule::NotIn);
    }
    if let Some((key, value)) = clause.split_once("==").or_else(|| clause.split_once('=')) {
        return one(key, value, Rule::In);
    }
    match clause.split_once('(') {
        Some((head, list)) => set_requirement(head, list),
        None => checked(clause, Rule::Exists),
    }
}

fn set_requirement(head: &str, list: &str) -> Result<Requirement, String> {
    let list =
        list.strip_suffix(')').ok_or_else(|| "found '', expected: ',', or ')'".to_owned())?;
    let values = list.split(',').map(|value| value.trim().to_owned()).collect();
    match head.split_whitespace().collect::<Vec<_>>().as_slice() {
        [key, "in"] => checked(key, Rule::In(values)),
        [key, "notin"] => checked(key, Rule::NotIn(values)),
        [_, other] => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        _ => Err(format!("found '{head}', expected: identifier")),
    }
}

fn checked(key: &str, rule: Rule) -> Result<Requirement, String> {
    let key = key.trim();
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if key.is_empty() || !key.bytes().all(good) {
        return Err(format!("found '{key}', expected: identifier"));
    }
    let key = key.to_owned();
    Ok(Requirement { key, rule })
}

/// Which fields an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    all_of: Vec<(String, bool, String)>,
}

impl FieldSelector {
    /// Reads `a.b=c,d!=e`; `known` are the fields beside `metadata.name` and `metadata.namespace`.
    pub(crate) fn parse(text: &str, known: &[&str]) -> Result<Self, String> {
        let mut all_of = vec![];
        for clause in text.split(',').filter(|clause| !clause.is_empty()) {
            let equal = || clause.split_once("==").or_else(|| clause.split_once('='));
            let (field, same, value) = match clause.split_once("!=") {
                Some((field, value)) => (field, false, value),
                None => match equal() {
                    Some((field, value)) => (field, true, value),
                    None => {
                        return Err(format!(
                            "invalid selector: '{text}'; can't understand '{clause}'"
                        ));
                    }
                },
            };
            let served = ["metadata.name", "metadata.namespace"].contains(&field);
            if !served && !known.contains(&field) {
                return Err(unknown_field(field, known));
            }
            all_of.push((field.to_owned(), same, value.to_owned()));
        }
        Ok(Self { all_of })
    }

    /// Whether everything is selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.all_of.is_empty()
    }

    /// The same over objects as they are stored, where a kind calls its fields by other names.
    pub(crate) fn renamed(mut self, kind: &str) -> Self {
        if kind == "events.events.k8s.io" {
            for (field, _, _) in &mut self.all_of {
                *field = field.replace("regarding.", "involvedObject.");
                *field = field.replace("reportingController", "reportingComponent");
            }
        }
        self
    }

    /// Whether an object is selected.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.all_of.iter().all(|(field, same, value)| is_field(object, field, value) == *same)
    }

    /// The value that a field must have, if the selector says one.
    pub(crate) fn required(&self, field: &str) -> Option<&str> {
        let found = self.all_of.iter().find(|(key, same, _)| *same && key == field);
        found.map(|(_, _, value)| value.as_str())
    }
}

fn unknown_field(field: &str, known: &[&str]) -> String {
    match known {
        [] => format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \
             \"metadata.namespace\""
        ),
        _ => format!("field label not supported: {field}"),
    }
}

fn is_field(object: &Value, field: &str, value: &str) -> bool {
    let found = match field {
        "source" => object.get("source").and_then(|source| source.get("component")),
        field => field.split('.').try_fold(object, |value, key| value.get(key)),
    };
    match found {
        Some(Value::String(text)) => text == value,
        Some(Value::Bool(truth)) => truth.to_string() == value,
        Some(Value::Number(number)) => number.to_string() == value,
        // Go's zero values: a flag that isn't there is false, a number 0.
        None | Some(Value::Null) => zero(field) == value,
        Some(Value::Array(_) | Value::Object(_)) => false,
    }
}

fn zero(field: &str) -> &'static str {
    match field {
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.replicas" | "status.successful" => "0",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn label_selectors_select_as_written() {
        let labels = json!({"app": "web", "tier": "gold"});
        let table = [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=silver", true),
            ("app = web , tier = gold", true),
            ("app!=web", false),
            ("missing!=x", true),
            ("tier in (gold, silver)", true),
            ("tier notin (gold,silver)", false),
            ("missing notin (a)", true),
            ("app", true),
            ("!app", false),
            ("!missing,app", true),
            ("tier in (silver),app", false),
        ];
        for (text, expected) in table {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(selector.matches(&labels), expected, "{text}");
        }
        assert!(!LabelSelector::parse("app").unwrap().matches(&Value::Null));
    }

    #[test]
    fn nonsense_is_refused_as_a_selector() {
        for text in ["a in (b", "a near (b)", "=b", "a b", "!"] {
            let error = LabelSelector::parse(text).unwrap_err();
            assert!(error.starts_with("unable to parse requirement"), "{text}: {error}");
        }
    }

    #[test]
    fn structured_selectors_mean_the_same_as_text() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}],
        });
        let selector = LabelSelector::from_object(&selector).unwrap();
        assert!(selector.matches(&json!({"app": "web"})));
        assert!(!selector.matches(&json!({"app": "web", "tier": "gold"})));
        let bad = json!({"matchExpressions": [{"key": "a", "operator": "In"}]});
        assert!(LabelSelector::from_object(&bad).is_err());
    }

    #[test]
    fn field_selectors_know_only_the_fields_of_the_kind() {
        let node = json!({"metadata": {"name": "n1"}, "spec": {}});
        let known = &["spec.unschedulable"];
        let selected = |text: &str| FieldSelector::parse(text, known).map(|s| s.matches(&node));
        assert_eq!(selected("metadata.name=n1"), Ok(true));
        assert_eq!(selected("metadata.name!=n1"), Ok(false));
        assert_eq!(selected("spec.unschedulable=false"), Ok(true));
        assert_eq!(selected("spec.x=1"), Err("field label not supported: spec.x".into()));
    }
}

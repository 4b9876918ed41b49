//! The bridge's `config.yaml`: from text to a checked [`Config`], or the place of the mistake.
//!
//! Form first (keys, types: [`yaml::parse`]), then meaning ([`check`]): names, labels, addresses.
//! A scenario that holds a configuration inside checks it with the same [`check`].

use drawbridge_core::{Config, ConfigError, LabelExpression, LabelSelector};

use crate::yaml::{self, Locator, YamlError, path};

/// The longest name that Kubernetes allows for a namespace, a label's name or its value.
const LONGEST_NAME: usize = 63;

/// Reads and checks a configuration.
pub fn parse(text: &str) -> Result<Config, YamlError> {
    let config = yaml::parse(text).map_err(|error| match error.what.as_str() {
        yaml::EMPTY => error.with_hint("write `{}` to take every default"),
        _ => error,
    })?;
    check(&config, &Locator::new(text), "")?;
    Ok(config)
}

/// Checks what a configuration means. It stands at `at` in the file that the locator knows: `""`
/// for a file of its own.
pub fn check(config: &Config, locator: &Locator, at: &str) -> Result<(), YamlError> {
    let place = Place { locator, at };
    config.check().map_err(|error| {
        let said = place.error(&key_of(&error), &error.to_string());
        said.with_hint(error.hint())
    })?;
    check_address(&config.slurm_rest_api, &place)?;
    for (i, name) in config.managed_namespaces.iter().enumerate() {
        check_namespace(name, &place.below(&path::index("managedNamespaces", i)))?;
    }
    for (key, value) in [("partition", &config.partition), ("mcsLabel", &config.mcs_label)] {
        if value.as_deref() == Some("") {
            let error = place.error(key, &format!("{key} is empty"));
            return Err(error.with_hint("give it a name, or leave the key out"));
        }
    }
    match &config.managed_namespace_selector {
        Some(selector) => check_selector(selector, &place.below("managedNamespaceSelector")),
        None => Ok(()),
    }
}

/// Where in a file something stands.
struct Place<'a, P: AsRef<str>> {
    locator: &'a Locator,
    at: P,
}

impl<'a, P: AsRef<str>> Place<'a, P> {
    /// The path of a key below.
    fn path(&self, key: &str) -> String {
        let at = self.at.as_ref();
        let dot = if at.is_empty() || key.is_empty() || key.starts_with('[') { "" } else { "." };
        format!("{at}{dot}{key}")
    }

    fn below(&self, key: &str) -> Place<'a, String> {
        Place { locator: self.locator, at: self.path(key) }
    }

    /// A mistake in the value at a key below; `""` for the value itself.
    fn error(&self, key: &str, what: &str) -> YamlError {
        YamlError::at(self.locator.nearest(&self.path(key)), what)
    }
}

/// The key that the core complains about, as the file spells it.
fn key_of(error: &ConfigError) -> String {
    match error {
        ConfigError::ExternalPlaceholder => "placeholder".to_owned(),
        ConfigError::DefaultMemory { .. } => "defaultMemory".to_owned(),
        ConfigError::Empty { key } => (*key).to_owned(),
        ConfigError::ZeroPoll { key } => format!("pollSeconds.{key}"),
    }
}

fn check_address<P: AsRef<str>>(url: &str, place: &Place<'_, P>) -> Result<(), YamlError> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let host = rest.map(|rest| rest.split(['/', ':']).next().unwrap_or_default());
    if host.is_some_and(|host| !host.is_empty() && !url.contains(char::is_whitespace)) {
        return Ok(());
    }
    let error = place.error("slurmRestApi", &format!("`{url}` is not an address of slurmrestd"));
    Err(error.with_hint("write it as `http://host:6820` or `https://host:6820`"))
}

fn check_namespace<P: AsRef<str>>(name: &str, place: &Place<'_, P>) -> Result<(), YamlError> {
    let letters =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let ends = |name: &str| name.starts_with('-') || name.ends_with('-');
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(letters) && !ends(name) {
        return Ok(());
    }
    let error = place.error("", &format!("`{name}` can't be the name of a namespace"));
    Err(error.with_hint("up to 63 small letters, digits and `-`, with no `-` at the ends"))
}

fn check_selector<P: AsRef<str>>(
    selector: &LabelSelector,
    place: &Place<'_, P>,
) -> Result<(), YamlError> {
    for (key, value) in &selector.match_labels {
        let place = place.below(&path::key("matchLabels", key));
        check_label_key(key, &place)?;
        check_label_value(value, &place)?;
    }
    for (i, expression) in selector.match_expressions.iter().enumerate() {
        check_expression(expression, &place.below(&path::index("matchExpressions", i)))?;
    }
    Ok(())
}

fn check_expression<P: AsRef<str>>(
    expression: &LabelExpression,
    place: &Place<'_, P>,
) -> Result<(), YamlError> {
    let LabelExpression { key, operator, values } = expression;
    check_label_key(key, &place.below("key"))?;
    for (i, value) in values.iter().enumerate() {
        check_label_value(value, &place.below(&path::index("values", i)))?;
    }
    let (what, hint) = match (operator.as_str(), values.is_empty()) {
        ("In" | "NotIn", false) | ("Exists" | "DoesNotExist", true) => return Ok(()),
        ("In" | "NotIn", true) => ("needs values", "list them under `values:`"),
        ("Exists" | "DoesNotExist", false) => ("takes no values", "remove `values:`"),
        (other, _) => return Err(unknown_operator(other, place)),
    };
    Err(place.error("operator", &format!("`{operator}` {what}")).with_hint(hint))
}

fn unknown_operator<P: AsRef<str>>(operator: &str, place: &Place<'_, P>) -> YamlError {
    let allowed = ["In", "NotIn", "Exists", "DoesNotExist"];
    let meant = yaml::closest(operator, &allowed);
    let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    let error = place.error("operator", &format!("unknown operator `{operator}`"));
    error.with_hint(format!("{meant}allowed here: {}", allowed.join(", ")))
}

fn check_label_key<P: AsRef<str>>(key: &str, place: &Place<'_, P>) -> Result<(), YamlError> {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("-", key));
    if !prefix.is_empty() && !prefix.contains('/') && !name.is_empty() && label_text(name) {
        return Ok(());
    }
    let error = place.error("", &format!("`{key}` can't be the name of a label"));
    Err(error.with_hint("write it as `name` or `domain/name`, of letters, digits, `-`, `_`, `.`"))
}

fn check_label_value<P: AsRef<str>>(value: &str, place: &Place<'_, P>) -> Result<(), YamlError> {
    if label_text(value) {
        return Ok(());
    }
    let error = place.error("", &format!("`{value}` can't be the value of a label"));
    Err(error
        .with_hint("up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at the ends"))
}

fn label_text(text: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let mark = |letter: char| !letter.is_ascii_alphanumeric();
    let ends = text.starts_with(mark) || text.ends_with(mark);
    text.len() <= LONGEST_NAME && text.chars().all(letters) && !ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        let error = parse(text).unwrap_err();
        format!("{error} ({})", error.hint().unwrap_or("no hint"))
    }

    #[test]
    fn an_upstream_configuration_is_understood() {
        let text = "\
schedulerName: slurm-bridge-scheduler
slurmRestApi: http://slurm-restapi.slurm:6820
managedNamespaces:
- slurm-bridge
managedNamespaceSelector: {}
mcsLabel: kubernetes
partition: slurm-bridge
";
        let config = parse(text).unwrap();
        assert_eq!(config.partition.as_deref(), Some("slurm-bridge"));
        assert_eq!(config.cluster_id, "drawbridge");
        assert_eq!(parse("{}").unwrap(), Config::as_shipped());
    }

    #[test]
    fn a_mistake_in_form_or_meaning_has_its_place() {
        let selector =
            "managedNamespaceSelector:\n  matchExpressions:\n  - key: team\n    operator: ";
        let table = [
            "managedNamespace: [a]".to_owned(),
            "".to_owned(),
            "partition: a\nplaceholder: scirpt".to_owned(),
            "placeholder: external".to_owned(),
            "exclusive: yes".to_owned(),
            "pollSeconds:\n  waiting: 1\n  nodes: 0".to_owned(),
            "partition: a\ndefaultMemory: 100Megs".to_owned(),
            "clusterId: \"\"".to_owned(),
            "partition: \"\"".to_owned(),
            "slurmRestApi: slurm:6820".to_owned(),
            "managedNamespaces: [ok, Not_Ok]".to_owned(),
            "managedNamespaceSelector:\n  matchLabels:\n    a.b/c: 'x y'".to_owned(),
            "managedNamespaceSelector:\n  matchLabels:\n    /c: x".to_owned(),
            format!("{selector}Is\n    values: [a]"),
            format!("{selector}In"),
            format!("{selector}Exists\n    values: [a]"),
            format!("{selector}Notin\n    values: [a]"),
            format!("{selector}In\n    values: [a, -b]"),
        ];
        let lines: Vec<String> = table.iter().map(|text| complaint(text)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        1:1: unknown key `managedNamespace` (did you mean `managedNamespaces`? allowed here: schedulerName, slurmRestApi, managedNamespaces, managedNamespaceSelector, mcsLabel, partition, clusterId, placeholder, defaultMemory, exclusive, taintNodes, killWaitSeconds, pollSeconds)
        1:1: the file is empty (write `{}` to take every default)
        2:14: unknown value `scirpt` (did you mean `script`? allowed here: auto, script, external)
        1:14: placeholder `external` is not modelled yet (use `auto` or `script`)
        1:12: expected `true` or `false`, found `yes` (write one of the two, without quotes)
        3:10: pollSeconds.nodes is 0 (use a whole number of seconds, at least 1)
        2:16: defaultMemory `100Megs` is not a quantity (write a Kubernetes quantity such as `100Mi`)
        1:12: clusterId is empty (give it a name, or leave the key out)
        1:12: partition is empty (give it a name, or leave the key out)
        1:15: `slurm:6820` is not an address of slurmrestd (write it as `http://host:6820` or `https://host:6820`)
        1:25: `Not_Ok` can't be the name of a namespace (up to 63 small letters, digits and `-`, with no `-` at the ends)
        3:12: `x y` can't be the value of a label (up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at the ends)
        3:9: `/c` can't be the name of a label (write it as `name` or `domain/name`, of letters, digits, `-`, `_`, `.`)
        4:15: unknown operator `Is` (did you mean `In`? allowed here: In, NotIn, Exists, DoesNotExist)
        4:15: `In` needs values (list them under `values:`)
        4:15: `Exists` takes no values (remove `values:`)
        4:15: unknown operator `Notin` (did you mean `NotIn`? allowed here: In, NotIn, Exists, DoesNotExist)
        5:17: `-b` can't be the value of a label (up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at the ends)
        "#);
    }

    #[test]
    fn a_configuration_inside_another_file_has_that_file_s_places() {
        let text = "why: x\nbridge:\n  config:\n    pollSeconds: {idle: 0}\n";
        let mut config = Config::as_shipped();
        config.poll_seconds.idle = 0;
        let error = check(&config, &Locator::new(text), "bridge.config").unwrap_err();
        assert_eq!((error.line, error.column), (4, 25));
    }
}

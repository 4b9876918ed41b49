//! The bridge's `config.yaml`: from text to a checked [`Config`], or the place of the mistake.
//!
//! Form first (keys, types: [`yaml::parse`]), then meaning ([`check`]): names, labels, addresses.
//! A scenario that holds a configuration inside checks it with the same [`check`].

use drawbridge_core::{Addresses, Config, ConfigError, LabelExpression, LabelSelector};

use crate::{
    slurm::client::Address,
    yaml::{self, Locator, YamlError, path},
};

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
    check_addresses(&config.slurm_rest_api, &place)?;
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
        ConfigError::DefaultMemory { .. } => "defaultMemory".to_owned(),
        ConfigError::Empty { key: key @ ("schedulerName" | "clusterId" | "leaderElection.id") } => {
            (*key).to_owned()
        }
        ConfigError::LeaseTimes => "leaderElection".to_owned(),
        ConfigError::Empty { key } => format!("slurmRest.{key}"),
        ConfigError::ZeroPoll { key } => format!("pollSeconds.{key}"),
        ConfigError::ClassPriority { class } => format!("priorityClasses.{class}"),
        ConfigError::NamelessGres { .. } => "devices".to_owned(),
        ConfigError::UnknownOverride { namespace, .. } => {
            format!("namespaces.{namespace}.allowedOverrides")
        }
        ConfigError::ZeroVolumeWait => "volumeWaitSeconds".to_owned(),
        ConfigError::ZeroTimeout => "slurmRest.timeoutSeconds".to_owned(),
        ConfigError::NoAddress => "slurmRestApi".to_owned(),
        ConfigError::TwoTokens => "slurmRest.keyFile".to_owned(),
        ConfigError::NobodyToSignFor => "slurmRest.keyFile".to_owned(),
        ConfigError::HalfACertificate => "slurmRest.tls".to_owned(),
    }
}

fn check_addresses<P: AsRef<str>>(
    addresses: &Addresses,
    place: &Place<'_, P>,
) -> Result<(), YamlError> {
    for (i, address) in addresses.0.iter().enumerate() {
        address.parse::<Address>().map_err(|error| {
            let one = path::index("slurmRestApi", i);
            let is_list = place.locator.locate(&place.path(&one)).is_some();
            let at = if is_list { &one } else { "slurmRestApi" };
            place.error(at, &error.to_string()).with_hint(error.hint())
        })?;
    }
    Ok(())
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
        label_key_at(key, &place)?;
        label_value_at(value, &place)?;
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
    label_key_at(key, &place.below("key"))?;
    for (i, value) in values.iter().enumerate() {
        label_value_at(value, &place.below(&path::index("values", i)))?;
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

/// Whether a label may have this name.
pub(crate) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("-", key));
    !prefix.is_empty() && !prefix.contains('/') && !name.is_empty() && is_label_value(name)
}

fn label_key_at<P: AsRef<str>>(key: &str, place: &Place<'_, P>) -> Result<(), YamlError> {
    if is_label_key(key) {
        return Ok(());
    }
    let error = place.error("", &format!("`{key}` can't be the name of a label"));
    Err(error.with_hint("write it as `name` or `domain/name`, of letters, digits, `-`, `_`, `.`"))
}

fn label_value_at<P: AsRef<str>>(value: &str, place: &Place<'_, P>) -> Result<(), YamlError> {
    if is_label_value(value) {
        return Ok(());
    }
    let error = place.error("", &format!("`{value}` can't be the value of a label"));
    Err(error
        .with_hint("up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at the ends"))
}

/// Whether a label may have this value.
pub(crate) fn is_label_value(text: &str) -> bool {
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
            "exclusive: yes".to_owned(),
            "pollSeconds:\n  waiting: 1\n  nodes: 0".to_owned(),
            "partition: a\ndefaultMemory: 100Megs".to_owned(),
            "clusterId: \"\"".to_owned(),
            "partition: \"\"".to_owned(),
            "slurmRestApi: slurm:6820".to_owned(),
            "slurmRestApi: []".to_owned(),
            "slurmRestApi:\n- http://a\n- unix:b".to_owned(),
            "slurmRestApi: {a: b}".to_owned(),
            "slurmRest: {version: v0.0.39}".to_owned(),
            "slurmRest: {timeoutSeconds: 0}".to_owned(),
            "slurmRest:\n  tokenFile: a\n  keyFile: b".to_owned(),
            "slurmRest: {keyFile: b}".to_owned(),
            "slurmRest: {tls: {certFile: c}}".to_owned(),
            "slurmRest: {tls: {caFile: ''}}".to_owned(),
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
        insta::assert_snapshot!(lines.join("\n"), @"
        1:1: unknown key `managedNamespace` (did you mean `managedNamespaces`? allowed here: schedulerName, slurmRestApi, managedNamespaces, managedNamespaceSelector, mcsLabel, partition, features, slurmRest, leaderElection, clusterId, placeholder, defaultMemory, exclusive, taintNodes, nodes, killWaitSeconds, suspendedJobs, priorityClasses, gang, devices, namespaces, environment, countOtherPods, unsupported, volumeWaitSeconds, pollSeconds)
        1:1: the file is empty (write `{}` to take every default)
        2:14: unknown value `scirpt` (did you mean `script`? allowed here: auto, script, external)
        1:12: expected `true` or `false`, found `yes` (write one of the two, without quotes)
        3:10: pollSeconds.nodes is 0 (use a whole number of seconds, at least 1)
        2:16: defaultMemory `100Megs` is not a quantity (write a Kubernetes quantity such as `100Mi`)
        1:12: clusterId is empty (give it a name, or leave the key out)
        1:12: partition is empty (give it a name, or leave the key out)
        1:15: `slurm:6820` is not an address of slurmrestd (write it as `http://host:6820`, `https://host:6820` or `unix:///path/to/socket`)
        1:15: slurmRestApi is empty (name at least one address, such as `http://host:6820`)
        3:3: `unix:b` is not an address of slurmrestd (write it as `http://host:6820`, `https://host:6820` or `unix:///path/to/socket`)
        1:15: expected an address or a list of addresses, found map (no hint)
        1:22: unknown value `v0.0.39` (did you mean `v0.0.40`? allowed here: v0.0.40, v0.0.41, v0.0.42, v0.0.43, v0.0.44, v0.0.45)
        1:29: slurmRest.timeoutSeconds is 0 (use a whole number of seconds, at least 1)
        3:12: the token comes from a file or is signed with a key, not both (leave one of tokenFile and keyFile out)
        1:22: slurmRest.keyFile signs tokens, but nobody is named to sign them for (add userName, for example `userName: slurm`)
        1:13: slurmRest.tls has only one of certFile and keyFile (give both, or neither)
        1:27: tls.caFile is empty (give it a name, or leave the key out)
        1:25: `Not_Ok` can't be the name of a namespace (up to 63 small letters, digits and `-`, with no `-` at the ends)
        3:12: `x y` can't be the value of a label (up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at the ends)
        3:9: `/c` can't be the name of a label (write it as `name` or `domain/name`, of letters, digits, `-`, `_`, `.`)
        4:15: unknown operator `Is` (did you mean `In`? allowed here: In, NotIn, Exists, DoesNotExist)
        4:15: `In` needs values (list them under `values:`)
        4:15: `Exists` takes no values (remove `values:`)
        4:15: unknown operator `Notin` (did you mean `NotIn`? allowed here: In, NotIn, Exists, DoesNotExist)
        5:17: `-b` can't be the value of a label (up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at the ends)
        ");
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

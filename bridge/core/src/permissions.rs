//! Who may ask for what: the permissions of namespaces.
//!
//! Looked at twice: at admission, where only the pod's own annotations are known, and at translation,
//! where its owners' count as well.
//!
//! Nobody may name a user or a group unless the configuration says who: the bridge's token is one
//! that Slurm lets submit as anybody, and a pod's author isn't.

use crate::{
    annotations::{self, Layers},
    config::{Config, Namespace},
};

/// Something that a namespace may not ask for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Forbidden {
    /// An annotation.
    #[error(
        "annotation {key} may not be set in namespace {namespace}: namespaces.{entry}.allowedOverrides \
         of the bridge's configuration allows {allowed}"
    )]
    Override { key: String, namespace: String, entry: String, allowed: String },
    /// A value.
    #[error(
        "annotation {key} is `{value}`, but namespace {namespace} allows {allowed}; an administrator \
         may add to namespaces.{entry}.{list} of the bridge's configuration"
    )]
    Value {
        key: String,
        value: String,
        namespace: String,
        allowed: String,
        entry: String,
        list: &'static str,
    },
}

/// What is allowed for one key.
struct Rule<'a> {
    /// The annotation.
    key: &'static str,
    /// The list in the configuration.
    list: &'static str,
    /// The value that it has anyway.
    own: Option<&'a String>,
    /// What may be named besides; anything if unset.
    allowed: Option<&'a [String]>,
}

/// Names and numbers that `*` doesn't stand for.
const ROOT: [&str; 2] = ["root", "0"];

/// Whether a workload of this namespace may ask for what its annotations say.
pub(crate) fn check(
    config: &Config,
    namespace: &str,
    layers: &Layers<'_>,
) -> Result<(), Box<Forbidden>> {
    let (entry, rights) = config.namespace(namespace);
    if let Some(allowed) = &rights.allowed_overrides
        && let Some(key) = annotations::said(layers)
            .find(|(name, _)| !allowed.iter().any(|it| it == name))
            .map(|(_, key)| key)
    {
        let (namespace, entry) = (namespace.to_owned(), entry.to_owned());
        let allowed = list(allowed, "none");
        return Err(Box::new(Forbidden::Override { key, namespace, entry, allowed }));
    }
    rules(rights).into_iter().try_for_each(|rule| rule.check(namespace, entry, layers))
}

fn rules(rights: &Namespace) -> [Rule<'_>; 5] {
    let Namespace { user, group, account, partition, qos, .. } = rights;
    let (users, groups) = (&rights.allowed_users, &rights.allowed_groups);
    let accounts = rights.allowed_accounts.as_deref();
    let partitions = rights.allowed_partitions.as_deref();
    [
        Rule::new("user-id", "allowedUsers", user, Some(users)),
        Rule::new("group-id", "allowedGroups", group, Some(groups)),
        Rule::new("account", "allowedAccounts", account, accounts),
        Rule::new("partition", "allowedPartitions", partition, partitions),
        Rule::new("qos", "allowedQos", qos, rights.allowed_qos.as_deref()),
    ]
}

impl<'a> Rule<'a> {
    fn new(
        key: &'static str,
        list: &'static str,
        own: &'a Option<String>,
        allowed: Option<&'a [String]>,
    ) -> Self {
        Self { key, list, own: own.as_ref(), allowed }
    }
}

impl Rule<'_> {
    fn check(
        &self,
        namespace: &str,
        entry: &str,
        layers: &Layers<'_>,
    ) -> Result<(), Box<Forbidden>> {
        let (Some((key, value)), Some(allowed)) =
            (annotations::find(layers, self.key), self.allowed)
        else {
            return Ok(());
        };
        // Several partitions may be named at once.
        let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
        let is_fine = |part: &str| {
            self.own.is_some_and(|own| own == part)
                || allowed.iter().any(|it| it == part || (it == "*" && !ROOT.contains(&part)))
        };
        if parts.into_iter().all(is_fine) {
            return Ok(());
        }
        let known: Vec<String> = self.own.into_iter().chain(allowed).cloned().collect();
        Err(Box::new(Forbidden::Value {
            key,
            value: value.into(),
            namespace: namespace.into(),
            allowed: list(&known, "no other than its own"),
            entry: entry.into(),
            list: self.list,
        }))
    }
}

/// `a, b`, or what stands for an empty list.
fn list(names: &[String], empty: &str) -> String {
    match names {
        [] => empty.into(),
        names => names.join(", ").replace('*', "any but root"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn judged(namespaces: &Value, annotations: &[(&str, &str)]) -> String {
        let namespaces = serde_json::from_value(namespaces.clone()).unwrap();
        let config = Config { namespaces, ..Config::as_shipped() };
        let layer: BTreeMap<_, _> = annotations
            .iter()
            .map(|(key, value)| (format!("slinky.slurm.net/{key}"), (*value).to_owned()))
            .collect();
        check(&config, "a", &[&layer]).map_or_else(|it| it.to_string(), |()| "allowed".into())
    }

    #[test]
    fn nobody_names_a_user_unless_the_configuration_says_who() {
        let nothing = json!({});
        let a = json!({ "a": { "user": "svc", "allowedUsers": ["alice"] } });
        let every = json!({ "*": { "allowedUsers": ["*"], "allowedGroups": ["staff"] } });
        #[rustfmt::skip]
        let rows = [
            (&nothing, "user-id",  "alice", "annotation slinky.slurm.net/user-id is `alice`, but namespace a allows no other than its own; an administrator may add to namespaces.a.allowedUsers of the bridge's configuration"),
            (&nothing, "group-id", "staff", "annotation slinky.slurm.net/group-id is `staff`, but namespace a allows no other than its own; an administrator may add to namespaces.a.allowedGroups of the bridge's configuration"),
            (&nothing, "account",  "any",   "allowed"),
            (&a,       "user-id",  "alice", "allowed"),
            (&a,       "user-id",  "svc",   "allowed"),
            (&a,       "user-id",  "1001",  "annotation slinky.slurm.net/user-id is `1001`, but namespace a allows svc, alice; an administrator may add to namespaces.a.allowedUsers of the bridge's configuration"),
            (&every,   "user-id",  "bob",   "allowed"),
            (&every,   "user-id",  "root",  "annotation slinky.slurm.net/user-id is `root`, but namespace a allows any but root; an administrator may add to namespaces.*.allowedUsers of the bridge's configuration"),
            (&every,   "user-id",  "0",     "annotation slinky.slurm.net/user-id is `0`, but namespace a allows any but root; an administrator may add to namespaces.*.allowedUsers of the bridge's configuration"),
            (&every,   "group-id", "staff", "allowed"),
        ];
        for (namespaces, key, value, expected) in rows {
            assert_eq!(judged(namespaces, &[(key, value)]), expected, "{namespaces} {key} {value}");
        }
    }

    #[test]
    fn what_may_be_set_and_to_what_is_listed() {
        let a = json!({ "a": {
            "partition": "main", "allowedOverrides": ["partition", "timelimit"],
            "allowedPartitions": ["debug"],
        } });
        let locked = json!({ "a": { "allowedOverrides": [] } });
        #[rustfmt::skip]
        let rows = [
            (&a,      "timelimit", "5",          "allowed"),
            (&a,      "partition", "debug,main", "allowed"),
            (&a,      "partition", "debug,gpu",  "annotation slinky.slurm.net/partition is `debug,gpu`, but namespace a allows main, debug; an administrator may add to namespaces.a.allowedPartitions of the bridge's configuration"),
            (&a,      "qos",       "high",       "annotation slinky.slurm.net/qos may not be set in namespace a: namespaces.a.allowedOverrides of the bridge's configuration allows partition, timelimit"),
            (&locked, "timelimit", "5",          "annotation slinky.slurm.net/timelimit may not be set in namespace a: namespaces.a.allowedOverrides of the bridge's configuration allows none"),
        ];
        for (namespaces, key, value, expected) in rows {
            assert_eq!(judged(namespaces, &[(key, value)]), expected, "{namespaces} {key} {value}");
        }
    }
}

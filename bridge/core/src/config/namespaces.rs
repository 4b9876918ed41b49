//! What the pods of a namespace get, and what they may ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;

/// The entry for namespaces that have none of their own.
pub(crate) const EVERY: &str = "*";

/// One namespace's defaults and permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Namespace {
    /// Who is charged, unless an annotation says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The partition, unless an annotation says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The quality of service, unless an annotation says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// The reservation, unless an annotation says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// The workload characterisation key, unless an annotation says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    /// The user that jobs run as; the token's if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The group that jobs run as; the user's if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Which annotations a workload may set; all if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_overrides: Option<Vec<String>>,
    /// Which users an annotation may name besides `user`; `*` is everybody but root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_users: Vec<String>,
    /// Which groups an annotation may name besides `group`; `*` is every group but root's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_groups: Vec<String>,
    /// Which accounts an annotation may name besides `account`; any if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_accounts: Option<Vec<String>>,
    /// Which partitions an annotation may name besides `partition`; any if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_partitions: Option<Vec<String>>,
    /// Which qualities of service an annotation may name besides `qos`; any if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_qos: Option<Vec<String>>,
}

impl Config {
    /// What holds for a namespace, with the key of its entry: its own, or that for every namespace.
    pub(crate) fn namespace<'a>(&'a self, name: &'a str) -> (&'a str, &'a Namespace) {
        static NOTHING: Namespace = Namespace {
            account: None,
            partition: None,
            qos: None,
            reservation: None,
            wckey: None,
            user: None,
            group: None,
            allowed_overrides: None,
            allowed_users: Vec::new(),
            allowed_groups: Vec::new(),
            allowed_accounts: None,
            allowed_partitions: None,
            allowed_qos: None,
        };
        let own = self.namespaces.get_key_value(name);
        let found = own.or_else(|| self.namespaces.get_key_value(EVERY));
        found.map_or((name, &NOTHING), |(key, entry)| (key.as_str(), entry))
    }
}

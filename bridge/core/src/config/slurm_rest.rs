//! How slurmrestd is reached and spoken to.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};

use crate::slurm::ApiVersion;

/// Where slurmrestd answers: one address, or several in order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses(pub Vec<String>);

/// How slurmrestd is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default = "SlurmRest::as_shipped")]
pub struct SlurmRest {
    /// The only version of the API to speak; the newest that is served if unset.
    pub version: Option<ApiVersion>,
    /// How long one request may take, in seconds. slurmrestd itself gives up on slurmctld after its
    /// `MessageTimeout`, 10 by default.
    pub timeout_seconds: u32,
    /// The user to name beside the token; the token's own if unset.
    pub user_name: Option<String>,
    /// A file with the token. It may be renewed at any time.
    pub token_file: Option<String>,
    /// slurmctld's own key (`jwt_hs256.key`), to sign tokens for `userName` with.
    pub key_file: Option<String>,
    /// Certificates.
    pub tls: SlurmTls,
}

/// Certificates, as files in PEM. They may be renewed at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SlurmTls {
    /// Whom to trust; the system's own list if unset.
    pub ca_file: Option<String>,
    /// The certificate to show.
    pub cert_file: Option<String>,
    /// Its key.
    pub key_file: Option<String>,
    /// The name that the server's certificate must have; the address's if unset.
    pub server_name: Option<String>,
}

impl SlurmRest {
    /// The values in force where nothing is set.
    pub const fn as_shipped() -> Self {
        Self {
            version: None,
            timeout_seconds: 30,
            user_name: None,
            token_file: None,
            key_file: None,
            tls: SlurmTls { ca_file: None, cert_file: None, key_file: None, server_name: None },
        }
    }

    /// Everything that may be left out, by its key.
    pub fn texts(&self) -> [(&'static str, Option<&String>); 7] {
        let tls = &self.tls;
        [
            ("userName", self.user_name.as_ref()),
            ("tokenFile", self.token_file.as_ref()),
            ("keyFile", self.key_file.as_ref()),
            ("tls.caFile", tls.ca_file.as_ref()),
            ("tls.certFile", tls.cert_file.as_ref()),
            ("tls.keyFile", tls.key_file.as_ref()),
            ("tls.serverName", tls.server_name.as_ref()),
        ]
    }
}

impl Serialize for Addresses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AddressesVisitor)
    }
}

struct AddressesVisitor;

impl<'de> Visitor<'de> for AddressesVisitor {
    type Value = Addresses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address or a list of addresses")
    }

    fn visit_str<E>(self, address: &str) -> Result<Addresses, E> {
        Ok(Addresses(vec![address.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Addresses, A::Error> {
        let mut addresses = Vec::new();
        while let Some(address) = list.next_element()? {
            addresses.push(address);
        }
        Ok(Addresses(addresses))
    }
}

impl JsonSchema for Addresses {
    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where slurmrestd answers: one address, or several in order of preference.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_address_or_several_read_as_they_were_written() {
        for text in [json!("http://a"), json!(["http://a", "http://b"])] {
            let addresses = Addresses::deserialize(&text).unwrap();
            assert_eq!(serde_json::to_value(addresses).unwrap(), text);
        }
        assert!(Addresses::deserialize(&json!({"a": 1})).is_err());
    }
}

//! A body as it is kept: text where it is text, else base64.

use drawbridge_fakes::{base64_decode, base64_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The bytes of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Body(pub(super) Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kept {
    Text(String),
    Base64(String),
}

impl Body {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = match std::str::from_utf8(&self.0) {
            Ok(text) => Kept::Text(text.to_owned()),
            Err(_) => Kept::Base64(base64_encode(&self.0)),
        };
        kept.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Kept::deserialize(deserializer)? {
            Kept::Text(text) => Ok(Self(text.into_bytes())),
            Kept::Base64(text) => {
                base64_decode(&text).map(Self).ok_or_else(|| D::Error::custom("this is no base64"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_readable_and_bytes_come_back() {
        for (bytes, text) in
            [(&b"{\"a\":1}"[..], r#"{"text":"{\"a\":1}"}"#), (&[0xff, 0], r#"{"base64":"/wA="}"#)]
        {
            let body = Body(bytes.to_vec());
            assert_eq!(serde_json::to_string(&body).unwrap(), text);
            assert_eq!(serde_json::from_str::<Body>(text).unwrap(), body);
        }
        assert!(serde_json::from_str::<Body>(r#"{"base64":"*"}"#).is_err());
    }
}

//! From bytes to requests: escaped paths, content types, bodies in JSON, YAML or protobuf.

use serde_json::Value;

use super::{HttpRequest, protobuf};
use crate::{Method, kube::Refusal};

/// What an unescaped target says: the path, and the query in order.
pub(crate) type Split = (String, Vec<(String, String)>);

/// Takes a target apart.
pub(crate) fn split(target: &str) -> Result<Split, Refusal> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let bad = || Refusal::bad_request("the path or query is not escaped as it should be");
    let path = unescape(path, false).ok_or_else(bad)?;
    let mut pairs = vec![];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = unescape(key, true).ok_or_else(bad)?;
        pairs.push((key, unescape(value, true).ok_or_else(bad)?));
    }
    Ok((path, pairs))
}

/// Undoes `%20`, and `+` where it means a space.
fn unescape(text: &str, plus: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if plus => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The content type without its parameters.
fn content_type(http: &HttpRequest) -> &str {
    let given = http.header("content-type").unwrap_or("");
    given.split(';').next().unwrap_or("").trim()
}

/// The method, with the kind of patch that the content type names.
pub(crate) fn method(http: &HttpRequest) -> Result<Method, Refusal> {
    Ok(match http.method.as_str() {
        "GET" | "HEAD" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "PATCH" => match content_type(http) {
            "application/merge-patch+json" => Method::MergePatch,
            "application/json-patch+json" => Method::JsonPatch,
            "application/strategic-merge-patch+json" => Method::StrategicPatch,
            "application/apply-patch+yaml" | "application/apply-patch+cbor" => Method::Apply,
            _ => return Err(Refusal::unsupported_media()),
        },
        _ => return Err(Refusal::method_not_allowed()),
    })
}

/// The body as JSON, if there is one; `kind` is what it should be.
pub(crate) fn body(http: &HttpRequest, kind: &str) -> Result<Option<Value>, Refusal> {
    if http.body.is_empty() {
        return Ok(None);
    }
    let value = match content_type(http) {
        "application/vnd.kubernetes.protobuf" => {
            protobuf::decode(&http.body).map_err(Refusal::bad_request)?
        }
        "application/yaml" | "application/apply-patch+yaml" | "application/x-yaml" => yaml(http)?,
        "application/json"
        | ""
        | "application/merge-patch+json"
        | "application/json-patch+json"
        | "application/strategic-merge-patch+json" => json(http, kind)?,
        _ => return Err(Refusal::unsupported_body()),
    };
    Ok(Some(value))
}

fn json(http: &HttpRequest, kind: &str) -> Result<Value, Refusal> {
    serde_json::from_slice(&http.body).map_err(|error| match http.method.as_str() {
        "POST" | "PUT" => {
            let sent = String::from_utf8_lossy(&http.body);
            Refusal::unreadable(kind, &go_error(&error), &sent)
        }
        _ => Refusal::bad_request(format!("error decoding patch: {}", go_error(&error))),
    })
}

fn yaml(http: &HttpRequest) -> Result<Value, Refusal> {
    let text = std::str::from_utf8(&http.body)
        .map_err(|_| Refusal::bad_request("error decoding YAML: the body is not UTF-8"))?;
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    serde_saphyr::from_str(text)
        .map_err(|error| Refusal::bad_request(format!("error decoding YAML: {error}")))
}

/// What Go's decoder would have said, for the mistake that is common.
fn go_error(error: &serde_json::Error) -> String {
    match error.is_eof() {
        true => "unexpected end of JSON input".to_owned(),
        false => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_come_apart_unescaped() {
        let (path, query) = split("/api/v1/pods?a=b%2Cc&watch=true&x=1+2").unwrap();
        assert_eq!(path, "/api/v1/pods");
        let pairs: Vec<_> = query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(pairs, ["a=b,c", "watch=true", "x=1 2"]);
    }

    #[test]
    fn a_broken_escape_is_refused() {
        for target in ["/api/%zz", "/api/%f", "/api?x=%ff%fe"] {
            assert!(split(target).is_err(), "{target}");
        }
    }
}

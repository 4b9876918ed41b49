//! Bodies: JSON, YAML or a form, read as leniently as slurmrestd reads them.

use drawbridge_sim::Release;
use serde_json::{Deserializer, Value};

use super::{RestResponse, media::Media};

/// How deep a body may be nested, as in the library that slurmrestd uses.
const DEEPEST: usize = 32;

/// Reads a body. None at all is fine, and so is anything after the first value.
pub(super) fn read_body(
    release: Release,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Option<Value>, RestResponse> {
    if body.is_empty() {
        return Ok(None);
    }
    let Some(content_type) = content_type else {
        return Err(match release {
            Release::V24_11 => unparsable(release),
            Release::V26_05 => RestResponse::text(500, "Unspecified error"),
        });
    };
    let text = String::from_utf8_lossy(body);
    let form = content_type.eq_ignore_ascii_case("application/x-www-form-urlencoded");
    let read = match Media::find(content_type.trim()) {
        _ if form => Some(read_form(&text)),
        Some(Media::Json(_)) => read_json(&text),
        Some(Media::Yaml(_)) => serde_saphyr::from_str(&text).ok(),
        None => return Err(unknown_type(release)),
    };
    // `null` is no body, and neither is what can't be read.
    let read = read.filter(|value| !value.is_null() && depth_fits(value, DEEPEST));
    read.map(Some).ok_or_else(|| unparsable(release))
}

fn unknown_type(release: Release) -> RestResponse {
    match release {
        Release::V24_11 => unparsable(release),
        Release::V26_05 => RestResponse::text(415, "MIME type is unknown to any loaded plugins"),
    }
}

fn unparsable(release: Release) -> RestResponse {
    match release {
        Release::V24_11 => RestResponse::text(400, "Unable to parse query."),
        Release::V26_05 => RestResponse::text(400, "Failure during parsing"),
    }
}

fn read_json(text: &str) -> Option<Value> {
    let first = |text: &str| Deserializer::from_str(text).into_iter::<Value>().next()?.ok();
    first(text).or_else(|| first(&without_comments(text)))
}

/// Without `/* … */` and `// …`, outside of strings.
fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        match (quoted, c, rest.peek()) {
            (true, '\\', _) => {
                kept.push(c);
                kept.extend(rest.next());
                continue;
            }
            (_, '"', _) => quoted = !quoted,
            (false, '/', Some('*')) => {
                let mut last = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            (false, '/', Some('/')) => {
                rest.by_ref().find(|c| *c == '\n');
                continue;
            }
            _ => {}
        }
        kept.push(c);
    }
    kept
}

fn read_form(text: &str) -> Value {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Value::Object(pairs.map(|(key, value)| (key.to_owned(), value.into())).collect())
}

fn depth_fits(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => 0 < left && items.iter().all(|item| depth_fits(item, left - 1)),
        Value::Object(map) => 0 < left && map.values().all(|item| depth_fits(item, left - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(release: Release, content_type: Option<&str>, body: &str) -> u16 {
        read_body(release, content_type, body.as_bytes())
            .map_or_else(|refusal| refusal.status, |_| 200)
    }

    #[test]
    fn bodies_are_taken_as_the_real_one_takes_them() {
        let json = Some("application/json");
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        #[rustfmt::skip]
        let rows = [
            (json,                                     "{}",              200, 200),
            (json,                                     "",                200, 200),
            (None,                                     "",                200, 200),
            (json,                                     "{} and more",     200, 200),
            (json,                                     "/* c */ {\"a\": \"//\"}", 200, 200),
            (Some("APPLICATION/JSON"),                 "{}",              200, 200),
            (Some("*/*"),                              "{}",              200, 200),
            (Some("application/yaml"),                 "a: [1, 2]",       200, 200),
            (Some("application/x-www-form-urlencoded"), "a=1",            200, 200),
            (json,                                     "{\"a\": {",       400, 400),
            (json,                                     "null",            400, 400),
            (json,                                     deep.as_str(),     400, 400),
            (None,                                     "{}",              400, 500),
            (Some("application/json; charset=utf-8"),  "{}",              400, 415),
            (Some("text/plain"),                       "{}",              400, 415),
        ];
        for (content_type, body, old, new) in rows {
            assert_eq!(status(Release::V24_11, content_type, body), old, "{content_type:?} {body}");
            assert_eq!(status(Release::V26_05, content_type, body), new, "{content_type:?} {body}");
        }
    }
}

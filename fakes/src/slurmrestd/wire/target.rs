//! The path and the query, as slurmrestd takes them apart: with less patience than the standard has.

use drawbridge_sim::Release;

use super::RestResponse;

/// A request's target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
}

/// Reads a target; one of the absolute form names a host that doesn't matter.
pub(super) fn read_target(release: Release, target: &str) -> Result<Target, RestResponse> {
    let target = match target.strip_prefix("http://").or_else(|| target.strip_prefix("https://")) {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = decode(path, "/#").ok_or_else(|| bad_path(release))?;
    let query = read_query(query).ok_or_else(|| bad_query(release))?;
    Ok(Target { path, query })
}

fn bad_path(release: Release) -> RestResponse {
    match release {
        Release::V24_11 => RestResponse::text(400, "Unable to parse URL path."),
        Release::V26_05 => RestResponse::text(404, "Invalid or unknown URL path"),
    }
}

fn bad_query(release: Release) -> RestResponse {
    match release {
        Release::V24_11 => RestResponse::text(400, "Unable to parse query."),
        Release::V26_05 => RestResponse::text(500, "Unspecified error"),
    }
}

/// Pairs; a key alone is a switch that is on.
fn read_query(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(['&', ';']).filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (key, value) = part.split_once('=').unwrap_or((part, "true"));
        let (key, value) = (decode(key, "#+")?, decode(value, "#+")?);
        (!key.is_empty()).then_some((key, value))
    });
    pairs.collect()
}

/// Takes `%41` for `A`, and `+` for a blank where it may stand. What may not stand as it is makes it
/// fail: nothing but letters, digits, `-._~` and `more` may.
fn decode(text: &str, more: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let c = char::from(byte);
        match c {
            '%' => {
                let (high, low) = (rest.next()?, rest.next()?);
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
            }
            '+' if more.contains('+') => bytes.push(b' '),
            _ if c.is_ascii_alphanumeric() || "-._~".contains(c) || more.contains(c) => {
                bytes.push(byte);
            }
            _ if !c.is_ascii() => bytes.push(byte),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_taken_apart() {
        let read = |text| read_target(Release::V24_11, text).ok();
        let target = read("/slurm/v0.0.42/p%69ng?a=b%2Cc&d&e=&f=1+2").unwrap();
        assert_eq!(target.path, "/slurm/v0.0.42/ping");
        let pairs: Vec<_> = target.query.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("a", "b,c"), ("d", "true"), ("e", ""), ("f", "1 2")]);
        assert_eq!(read("http://host:80/ping").unwrap().path, "/ping");
        for bad in
            ["/x?a=b,c", "/x?a=b:c", "/x?a=b=c", "/x?=b", "/x?a=%zz", "/x?a=%4", "/a:b", "/a,b"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}

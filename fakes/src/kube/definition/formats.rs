//! Formats of texts that schemas may ask for. What isn't known is let through, as on a real server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::kube::base64;

/// Whether a text is of a format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    let like = |pattern: &str| regex::Regex::new(pattern).is_ok_and(|it| it.is_match(text));
    match format {
        "date-time" | "datetime" => {
            like(r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?$")
                && in_range(text)
        }
        "date" => like(r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"),
        "duration" => like(r"^-?(\d+(\.\d+)?\s*(ns|us|µs|ms|s|m|h|d|w|[a-z]+)\s*)+$|^0$"),
        "byte" => base64::decode(text).is_some(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => text.split_once('/').is_some_and(|(ip, length)| {
            let most = match ip.parse() {
                Ok(IpAddr::V4(_)) => 32,
                Ok(IpAddr::V6(_)) => 128,
                Err(_) => return false,
            };
            length.parse::<u8>().is_ok_and(|length| length <= most)
        }),
        "hostname" => {
            text.len() <= 253
                && like(
                    r"^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$",
                )
        }
        "email" => like(r"^[^@\s]+@[^@\s]+$"),
        "uri" => like(r"^([A-Za-z][A-Za-z0-9+.-]*:|/)\S*$"),
        "mac" => like(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$"),
        "uuid" => like(r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
        _ => true,
    }
}

fn in_range(text: &str) -> bool {
    let number = |from: usize| text.get(from..from + 2).and_then(|it| it.parse::<u8>().ok());
    let bounds = [(5, 1, 12), (8, 1, 31), (11, 0, 23), (14, 0, 59), (17, 0, 60)];
    bounds
        .iter()
        .all(|(at, least, most)| number(*at).is_some_and(|it| (*least..=*most).contains(&it)))
}

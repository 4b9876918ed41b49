//! Functions over Kubernetes' own types.

use std::{cmp::Ordering, net::IpAddr};

use super::{
    foreign::{self, Foreign},
    functions::Called,
    strings, time,
    value::Val,
};
use crate::kube::{base64, validate};

/// The functions over quantities, URLs, addresses, versions and formats.
pub(super) fn call<'a>(function: &str, _: bool, args: &[Val<'a>]) -> Called<'a> {
    let made =
        |kind: &str, text: &str, loose: bool| Foreign::parse(kind, text, loose).map(Val::Foreign);
    Some(match (function, args) {
        ("quantity" | "url" | "ip" | "cidr" | "semver", [Val::Text(text)]) => {
            made(function, text, false)
        }
        ("semver", [Val::Text(text), Val::Bool(loose)]) => made("semver", text, *loose),
        ("isQuantity", [Val::Text(text)]) => is("quantity", text, false),
        ("isURL", [Val::Text(text)]) => is("url", text, false),
        ("isIP", [Val::Text(text)]) => is("ip", text, false),
        ("isCIDR", [Val::Text(text)]) => is("cidr", text, false),
        ("isSemver", [Val::Text(text)]) => is("semver", text, false),
        ("isSemver", [Val::Text(text), Val::Bool(loose)]) => is("semver", text, *loose),
        ("ip.isCanonical", [Val::Text(text)]) => match foreign::ip(text) {
            Some(ip) => Ok(Val::Bool(ip.to_string() == **text)),
            None => made("ip", text, false),
        },
        ("format.named", [Val::Text(name)]) => {
            let found = FORMATS.iter().find(|it| **it == &**name);
            Ok(Val::Optional(found.map(|it| Box::new(Val::Foreign(Foreign::Format(it))))))
        }
        (function, []) => {
            let name = function.strip_prefix("format.")?;
            let name = FORMATS.iter().find(|it| **it == name)?;
            Ok(Val::Foreign(Foreign::Format(name)))
        }
        (function, [Val::Foreign(it), rest @ ..]) => return method(function, it, rest),
        _ => return None,
    })
}

fn is<'a>(kind: &str, text: &str, loose: bool) -> Result<Val<'a>, String> {
    Ok(Val::Bool(Foreign::parse(kind, text, loose).is_ok()))
}

fn method<'a>(function: &str, it: &Foreign, rest: &[Val<'a>]) -> Called<'a> {
    Some(match (it, rest) {
        (Foreign::Quantity(_) | Foreign::Semver(_), [Val::Foreign(other)])
            if it.compare(other).is_some() && !["add", "sub"].contains(&function) =>
        {
            compared(function, it.compare(other)?)?
        }
        (Foreign::Quantity(nano), rest) => quantity(function, it, *nano, rest)?,
        (Foreign::Url(url), []) => Ok(url.part(function)),
        (Foreign::Ip(ip), []) => address(function, *ip)?,
        (Foreign::Cidr(ip, length), rest) => network(function, *ip, *length, rest)?,
        (Foreign::Semver(version), []) => Ok(Val::Int(version.number(function))),
        (Foreign::Format(name), [Val::Text(text)]) if function == "validate" => {
            let errors: Vec<Val<'a>> = errors(name, text).into_iter().map(Val::text).collect();
            Ok(Val::Optional((!errors.is_empty()).then(|| Box::new(Val::list(errors)))))
        }
        _ => return None,
    })
}

fn compared<'a>(function: &str, order: Ordering) -> Called<'a> {
    Some(Ok(match function {
        "isLessThan" => Val::Bool(order.is_lt()),
        "isGreaterThan" => Val::Bool(order.is_gt()),
        "compareTo" => Val::Int(order as i64),
        _ => return None,
    }))
}

fn quantity<'a>(function: &str, it: &Foreign, nano: i128, rest: &[Val<'a>]) -> Called<'a> {
    let other = match rest {
        [Val::Foreign(Foreign::Quantity(other))] => Some(*other),
        [Val::Int(units)] => Some(Foreign::units(*units)),
        _ => None,
    };
    let made = |nano: Option<i128>| {
        nano.map(|it| Val::Foreign(Foreign::Quantity(it)))
            .ok_or_else(|| "quantity overflow".to_owned())
    };
    Some(match (function, other) {
        ("add", Some(other)) => made(nano.checked_add(other)),
        ("sub", Some(other)) => made(nano.checked_sub(other)),
        ("isInteger", None) => Ok(Val::Bool(it.whole().is_some())),
        ("asInteger", None) => {
            it.whole().map(Val::Int).ok_or_else(|| "cannot convert value to integer".to_owned())
        }
        #[allow(clippy::cast_precision_loss, reason = "it is approximate")]
        ("asApproximateFloat", None) => Ok(Val::Double(nano as f64 / 1e9)),
        ("sign", None) => Ok(Val::Int(i64::try_from(nano.signum()).unwrap_or(0))),
        _ => return None,
    })
}

fn address<'a>(function: &str, ip: IpAddr) -> Called<'a> {
    Some(Ok(match function {
        "family" => Val::Int(if ip.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Val::Bool(ip.is_unspecified()),
        "isLoopback" => Val::Bool(ip.is_loopback()),
        "isLinkLocalMulticast" => Val::Bool(match ip {
            IpAddr::V4(it) => it.octets()[..3] == [224, 0, 0],
            IpAddr::V6(it) => it.segments()[0] & 0xff0f == 0xff02,
        }),
        "isLinkLocalUnicast" => Val::Bool(link_local(ip)),
        "isGlobalUnicast" => Val::Bool(
            !ip.is_unspecified()
                && !ip.is_loopback()
                && !ip.is_multicast()
                && !link_local(ip)
                && ip != IpAddr::V4(std::net::Ipv4Addr::BROADCAST),
        ),
        _ => return None,
    }))
}

fn link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(it) => it.is_link_local(),
        IpAddr::V6(it) => it.is_unicast_link_local(),
    }
}

fn network<'a>(function: &str, ip: IpAddr, length: u8, rest: &[Val<'a>]) -> Called<'a> {
    let inside = |other: IpAddr| {
        other.is_ipv4() == ip.is_ipv4()
            && foreign::masked(other, length) == foreign::masked(ip, length)
    };
    let wrong =
        |text: &str| format!("network address parse error during conversion from string: {text}");
    Some(match (function, rest) {
        ("containsIP", [Val::Foreign(Foreign::Ip(other))]) => Ok(Val::Bool(inside(*other))),
        ("containsIP", [Val::Text(text)]) => {
            foreign::ip(text).map(|it| Val::Bool(inside(it))).ok_or_else(|| wrong(text))
        }
        ("containsCIDR", [Val::Foreign(Foreign::Cidr(other, more))]) => {
            Ok(Val::Bool(*more >= length && inside(*other)))
        }
        ("containsCIDR", [Val::Text(text)]) => foreign::cidr(text)
            .map(|(other, more)| Val::Bool(more >= length && inside(other)))
            .ok_or_else(|| wrong(text)),
        ("ip", []) => Ok(Val::Foreign(Foreign::Ip(ip))),
        ("masked", []) => Ok(Val::Foreign(Foreign::Cidr(foreign::masked(ip, length), length))),
        ("prefixLength", []) => Ok(Val::Int(i64::from(length))),
        _ => return None,
    })
}

/// The formats that have names.
const FORMATS: [&str; 10] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

/// What is wrong with a text of a format.
fn errors(format: &str, text: &str) -> Vec<String> {
    let when = |good: bool, why: &str| if good { vec![] } else { vec![why.to_owned()] };
    let like = |pattern: &str| strings::regex(pattern).is_ok_and(|it| it.is_match(text));
    match format {
        "dns1123Label" => validate::NameRule::Label.check(text).into_iter().collect(),
        "dns1123Subdomain" => validate::NameRule::Subdomain.check(text).into_iter().collect(),
        "dns1035Label" => validate::NameRule::Dns1035.check(text).into_iter().collect(),
        "qualifiedName" => validate::qualified_error(text).into_iter().collect(),
        "labelValue" => validate::label_value_error(text).into_iter().collect(),
        "uri" => when(foreign::Url::parse(text).is_some(), "invalid URI"),
        "uuid" => {
            let pattern = "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
            when(like(pattern), "does not match the UUID format")
        }
        "byte" => when(base64::decode(text).is_some(), "invalid base64"),
        "date" => when(time::timestamp(&format!("{text}T00:00:00Z")).is_some(), "invalid date"),
        _ => when(time::timestamp(text).is_some(), "invalid datetime"),
    }
}

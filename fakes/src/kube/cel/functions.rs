//! Functions: the standard ones here, the libraries each in a file of their own.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    lists, net,
    operators::no_overload,
    strings, time,
    value::{Number, Val},
};

/// What a function makes of its arguments; the receiver comes first.
pub(super) fn call<'a>(
    function: &str,
    is_method: bool,
    args: &[Val<'a>],
) -> Result<Val<'a>, String> {
    let libraries = [standard, strings::call, lists::call, net::call, optional];
    let found = libraries.iter().find_map(|library| library(function, is_method, args));
    found.unwrap_or_else(no_overload)
}

/// What a library makes of a call; nothing if it has no such function.
pub(super) type Called<'a> = Option<Result<Val<'a>, String>>;

fn count<'a>(n: usize) -> Val<'a> {
    Val::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn standard<'a>(function: &str, is_method: bool, args: &[Val<'a>]) -> Called<'a> {
    Some(Ok(match (function, args) {
        ("size", [Val::Text(it)]) => count(it.chars().count()),
        ("size", [Val::Bytes(it)]) => count(it.len()),
        ("size", [Val::List(it)]) => count(it.len()),
        ("size", [Val::Map(it)]) => count(it.len()),
        ("contains", [Val::Text(text), Val::Text(part)]) => Val::Bool(text.contains(&**part)),
        ("startsWith", [Val::Text(text), Val::Text(part)]) => Val::Bool(text.starts_with(&**part)),
        ("endsWith", [Val::Text(text), Val::Text(part)]) => Val::Bool(text.ends_with(&**part)),
        ("matches", [Val::Text(text), Val::Text(pattern)]) => {
            return Some(strings::regex(pattern).map(|it| Val::Bool(it.is_match(text))));
        }
        ("type", [value]) => Val::Kind(value.kind().to_owned()),
        ("dyn", [value]) => value.clone(),
        ("bool" | "int" | "uint" | "double" | "string" | "bytes", [value]) if !is_method => {
            return Some(converted(function, value));
        }
        ("timestamp" | "duration", [value]) => return Some(moment(function, value)),
        (_, [Val::Time(at)]) if function.starts_with("get") => {
            return Some(time::part(*at, function, None).map(Val::Int));
        }
        (_, [Val::Time(at), Val::Text(zone)]) if function.starts_with("get") => {
            return Some(time::part(*at, function, Some(zone)).map(Val::Int));
        }
        (_, [Val::Span(span)]) => return span_part(function, *span).map(|it| Ok(Val::Int(it))),
        _ => return None,
    }))
}

fn span_part(function: &str, span: SignedDuration) -> Option<i64> {
    Some(match function {
        "getHours" => span.as_hours(),
        "getMinutes" => span.as_mins(),
        "getSeconds" => span.as_secs(),
        "getMilliseconds" => i64::try_from(span.as_millis()).unwrap_or(i64::MAX),
        _ => return None,
    })
}

fn moment<'a>(function: &str, value: &Val<'a>) -> Result<Val<'a>, String> {
    match (function, value) {
        ("timestamp", Val::Time(_)) | ("duration", Val::Span(_)) => Ok(value.clone()),
        ("timestamp", Val::Text(text)) => time::timestamp(text)
            .map(Val::Time)
            .ok_or_else(|| format!("parsing time \"{text}\" as RFC 3339: cannot parse")),
        ("timestamp", Val::Int(secs)) => Timestamp::from_second(*secs)
            .map(Val::Time)
            .map_err(|_| "timestamp overflow".to_owned()),
        ("duration", Val::Text(text)) => time::duration(text)
            .map(Val::Span)
            .ok_or_else(|| format!("time: invalid duration \"{text}\"")),
        _ => no_overload(),
    }
}

/// A value as another type.
fn converted<'a>(to: &str, value: &Val<'a>) -> Result<Val<'a>, String> {
    let fails = |what: &str| format!("type conversion error from '{}' to '{what}'", value.kind());
    match (to, value) {
        ("bool", Val::Bool(_)) | ("string", Val::Text(_)) | ("bytes", Val::Bytes(_)) => {
            Ok(value.clone())
        }
        ("bool", Val::Text(text)) => match &**text {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(Val::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(Val::Bool(false)),
            _ => Err(fails("bool")),
        },
        ("string", Val::Bytes(bytes)) => String::from_utf8(bytes.to_vec())
            .map(Val::text)
            .map_err(|_| "invalid UTF-8 in bytes, cannot convert to string".to_owned()),
        ("string", value) if !matches!(value, Val::List(_) | Val::Map(_) | Val::Null) => {
            Ok(Val::text(written(value)))
        }
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(Arc::from(text.as_bytes()))),
        ("int", Val::Time(at)) => Ok(Val::Int(at.as_second())),
        ("int" | "uint" | "double", Val::Text(text)) => parsed(to, text).ok_or_else(|| fails(to)),
        ("int" | "uint" | "double", value) => match value.number() {
            Some(number) => numeric(to, number),
            None => no_overload(),
        },
        _ => no_overload(),
    }
}

fn parsed<'a>(to: &str, text: &str) -> Option<Val<'a>> {
    match to {
        "int" => text.parse().ok().map(Val::Int),
        "uint" => text.parse().ok().map(Val::Uint),
        _ => text.parse().ok().map(Val::Double),
    }
}

fn numeric<'a>(to: &str, number: Number) -> Result<Val<'a>, String> {
    #[allow(clippy::cast_possible_truncation, reason = "what is out of range is refused below")]
    let whole = match number {
        Number::Whole(it) => Some(it),
        Number::Double(it) if it.is_finite() && it.abs() < 1.8e19 => Some(it as i128),
        Number::Double(_) => None,
    };
    #[allow(clippy::cast_precision_loss, reason = "that is what the conversion is for")]
    let double = match number {
        Number::Whole(it) => it as f64,
        Number::Double(it) => it,
    };
    match to {
        "double" => Ok(Val::Double(double)),
        "int" => whole
            .and_then(|it| i64::try_from(it).ok())
            .map(Val::Int)
            .ok_or_else(|| "integer overflow".to_owned()),
        _ => whole
            .and_then(|it| u64::try_from(it).ok())
            .map(Val::Uint)
            .ok_or_else(|| "unsigned integer overflow".to_owned()),
    }
}

/// A value as `string()` and errors write it.
pub(super) fn written(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".to_owned(),
        Val::Bool(it) => it.to_string(),
        Val::Int(it) => it.to_string(),
        Val::Uint(it) => it.to_string(),
        Val::Double(it) => it.to_string(),
        Val::Text(it) => it.to_string(),
        Val::Time(it) => it.to_string(),
        Val::Span(it) => time::seconds(*it),
        Val::Kind(it) => it.clone(),
        Val::Foreign(it) => it.written(),
        Val::Bytes(_) | Val::List(_) | Val::Map(_) | Val::Optional(_) => value.kind().to_owned(),
    }
}

fn optional<'a>(function: &str, _: bool, args: &[Val<'a>]) -> Called<'a> {
    Some(Ok(match (function, args) {
        ("optional.of", [value]) => Val::some(value.clone()),
        ("optional.none", []) => Val::Optional(None),
        ("optional.ofNonZeroValue", [value]) if value.is_zero() => Val::Optional(None),
        ("optional.ofNonZeroValue", [value]) => Val::some(value.clone()),
        ("hasValue", [Val::Optional(it)]) => Val::Bool(it.is_some()),
        ("value", [Val::Optional(Some(it))]) => (**it).clone(),
        ("value", [Val::Optional(None)]) => {
            return Some(Err("optional.none() dereference".to_owned()));
        }
        ("or", [Val::Optional(None), other]) => other.clone(),
        ("or", [value @ Val::Optional(Some(_)), _]) => value.clone(),
        ("orValue", [Val::Optional(None), other]) => other.clone(),
        ("orValue", [Val::Optional(Some(it)), _]) => (**it).clone(),
        _ => return None,
    }))
}

//! Kubernetes' protobuf bodies, read by a table of messages into the JSON that they stand for.
//!
//! kubectl sends some bodies in no other form. The table is `schema/protobuf.txt`; what a field is
//! comes from there, so that no type has to be written twice.

use std::{collections::BTreeMap, sync::OnceLock};

use drawbridge_sim::{Epoch, Time};
use serde_json::{Map, Value};

use crate::base64_encode;

/// How a body in protobuf begins.
const MAGIC: &[u8] = b"k8s\0";
/// How deep messages may lie in each other.
const DEEPEST: u32 = 64;

/// One field of a message.
struct Field {
    name: &'static str,
    kind: &'static str,
    shape: Shape,
    /// Its zero isn't the same as nothing.
    zero_counts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
    /// Its fields lie in the enclosing object.
    Inline,
}

type Message = BTreeMap<u64, Field>;

/// All messages by name.
fn messages() -> &'static BTreeMap<&'static str, Message> {
    static ALL: OnceLock<BTreeMap<&'static str, Message>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines = include_str!("../../schema/protobuf.txt").lines();
        let split = |line: &'static str| line.split_once(' ').unwrap_or((line, ""));
        lines.map(split).map(|(name, rest)| (name, fields(rest))).collect()
    })
}

fn fields(rest: &'static str) -> Message {
    let read = |entry: &'static str| {
        let mut parts = entry.splitn(3, ':');
        let (number, name) = (parts.next()?.parse().ok()?, parts.next()?);
        let mut kind = parts.next()?;
        let mut strip = |mark: &str| kind.strip_prefix(mark).inspect(|rest| kind = rest).is_some();
        let zero_counts = strip("*");
        let shape = if strip("^") {
            Shape::Inline
        } else if strip("[]") {
            Shape::List
        } else if strip("{}") {
            Shape::Map
        } else {
            Shape::One
        };
        Some((number, Field { name, kind, shape, zero_counts }))
    };
    rest.split(' ').filter_map(read).collect()
}

/// What a body says, as JSON.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, &'static str> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("the body is not Kubernetes protobuf")?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for (number, wire) in wires(rest)? {
        match (number, wire) {
            (1, Wire::Bytes(head)) => {
                for (number, wire) in wires(head)? {
                    if let Wire::Bytes(text) = wire {
                        let text = String::from_utf8_lossy(text).into_owned();
                        if number == 1 { version = text } else { kind = text }
                    }
                }
            }
            (2, Wire::Bytes(body)) => raw = body,
            _ => {}
        }
    }
    let name = message_name(&version, &kind).ok_or("the body is of a kind that is not served")?;
    let mut object = message(name, raw, 0)?;
    if let Value::Object(map) = &mut object {
        map.insert("apiVersion".into(), version.into());
        map.insert("kind".into(), kind.into());
    }
    Ok(object)
}

/// The message of a kind: `apps.v1.Deployment`.
fn message_name(version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = version.split_once('/').unwrap_or(("core", version));
    let group = group.split('.').next().unwrap_or("");
    let own = format!("{group}.{version}.{kind}");
    let shared = format!("meta.{kind}");
    let find = |name: &str| messages().get_key_value(name).map(|(key, _)| *key);
    find(&own).or_else(|| find(&shared))
}

/// One field on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

const CUT: &str = "the protobuf body is cut off";

fn varint(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(CUT)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number in the protobuf body has no end")
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], &'static str> {
    let length = usize::try_from(length).map_err(|_| CUT)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(CUT)?;
    *bytes = rest;
    Ok(taken)
}

/// The fields of a message in order, by number.
fn wires(mut bytes: &[u8]) -> Result<Vec<(u64, Wire<'_>)>, &'static str> {
    let mut all = vec![];
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let wire = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            1 => Wire::Bytes(take(&mut bytes, 8)?),
            2 => {
                let length = varint(&mut bytes)?;
                Wire::Bytes(take(&mut bytes, length)?)
            }
            5 => Wire::Bytes(take(&mut bytes, 4)?),
            _ => return Err("the protobuf body has a field of no known form"),
        };
        all.push((tag >> 3, wire));
    }
    Ok(all)
}

fn message(name: &str, bytes: &[u8], depth: u32) -> Result<Value, &'static str> {
    if depth > DEEPEST {
        return Err("messages lie too deep in each other");
    }
    if let Some(special) = special(name, bytes)? {
        return Ok(special);
    }
    let empty = Message::new();
    let known = messages().get(name).unwrap_or(&empty);
    let mut object = Map::new();
    for (number, wire) in wires(bytes)? {
        let Some(field) = known.get(&number) else { continue };
        match field.shape {
            Shape::Map => {
                let (key, value) = entry(field.kind, &wire, depth)?;
                let map = object.entry(field.name).or_insert_with(|| Map::new().into());
                map[key] = value;
            }
            Shape::List => {
                let list = object.entry(field.name).or_insert_with(|| Value::Array(vec![]));
                if let Value::Array(list) = list {
                    list.push(scalar(field.kind, &wire, depth)?);
                }
            }
            Shape::Inline => {
                if let Value::Object(inner) = scalar(field.kind, &wire, depth)? {
                    object.extend(inner);
                }
            }
            Shape::One => {
                let value = scalar(field.kind, &wire, depth)?;
                if field.zero_counts || !is_zero(&value) {
                    object.insert(field.name.into(), value);
                }
            }
        }
    }
    Ok(object.into())
}

/// Whether Go would leave a value out.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_i64() == Some(0),
        Value::String(it) => it.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn entry(kind: &str, wire: &Wire<'_>, depth: u32) -> Result<(String, Value), &'static str> {
    let Wire::Bytes(bytes) = wire else {
        return Err("a map in the protobuf body is none");
    };
    let (mut key, mut value) = (String::new(), None);
    for (number, wire) in wires(bytes)? {
        match (number, &wire) {
            (1, Wire::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
            (2, _) => value = Some(scalar(kind, &wire, depth)?),
            _ => {}
        }
    }
    let nothing = || if kind == "string" || kind == "bytes" { "".into() } else { Value::Null };
    Ok((key, value.unwrap_or_else(nothing)))
}

fn scalar(kind: &str, wire: &Wire<'_>, depth: u32) -> Result<Value, &'static str> {
    Ok(match (kind, wire) {
        ("bool", Wire::Number(number)) => (*number != 0).into(),
        ("int32", Wire::Number(number)) => (*number as u32 as i32).into(),
        ("int64", Wire::Number(number)) => number.cast_signed().into(),
        ("string", Wire::Bytes(text)) => String::from_utf8_lossy(text).into_owned().into(),
        ("bytes", Wire::Bytes(bytes)) => base64_encode(bytes).into(),
        (_, Wire::Bytes(bytes)) => message(kind, bytes, depth + 1)?,
        (_, Wire::Number(number)) => (*number).into(),
    })
}

/// Messages whose JSON isn't an object of their fields.
fn special(name: &str, bytes: &[u8]) -> Result<Option<Value>, &'static str> {
    let number = |wanted: u64| -> Result<i64, &'static str> {
        let found = wires(bytes)?.into_iter().find(|(number, _)| *number == wanted);
        Ok(match found {
            Some((_, Wire::Number(value))) => value.cast_signed(),
            _ => 0,
        })
    };
    let text = |wanted: u64| -> Result<String, &'static str> {
        let found = wires(bytes)?.into_iter().find(|(number, _)| *number == wanted);
        Ok(match found {
            Some((_, Wire::Bytes(text))) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        })
    };
    Ok(Some(match name {
        "api.resource.Quantity" => text(1)?.into(),
        "util.intstr.IntOrString" if number(1)? == 1 => text(3)?.into(),
        "util.intstr.IntOrString" => number(2)?.into(),
        "meta.Time" | "meta.MicroTime" => match u64::try_from(number(1)?) {
            Ok(secs) if secs > 0 => Epoch::from_unix(secs).rfc3339(Time::ZERO).into(),
            _ => Value::Null,
        },
        "runtime.RawExtension" | "meta.FieldsV1" => {
            serde_json::from_str(&text(1)?).unwrap_or(Value::Null)
        }
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `kubectl create namespace hpc`, as it was sent.
    const NAMESPACE: &[u8] =
        b"k8s\0\n\x0f\n\x02v1\x12\tNamespace\x12\x1d\n\x17\n\x03hpc\x12\0\x1a\0\
        \"\0*\x002\08\0B\x08\x08\0\x10\0";

    #[test]
    fn a_namespace_is_read() {
        let bytes =
            [b"k8s\0\n\x0f\n\x02v1\x12\tNamespace\x12".as_slice(), &[7, 10, 5, 10, 3], b"hpc"];
        let object = decode(&bytes.concat()).unwrap();
        let wanted = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hpc"}});
        assert_eq!(object, wanted);
    }

    #[test]
    fn every_type_in_the_table_is_in_the_table() {
        let scalars = ["string", "bytes", "bool", "int32", "int64"];
        for (name, message) in messages() {
            for field in message.values() {
                let known = messages().contains_key(field.kind) || scalars.contains(&field.kind);
                assert!(known, "{name}.{} is a {}", field.name, field.kind);
            }
        }
    }

    proptest! {
        #[test]
        fn bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let mut prefixed = NAMESPACE.to_vec();
            prefixed.append(&mut bytes);
            let _ = decode(&prefixed);
        }
    }
}

//! What containers ask for: requests and limits, quality of service.

use std::collections::BTreeMap;

use drawbridge_sim::{Quantity, QuantityError};
use serde_json::{Map, Value};

use crate::kube::{object::items, validate::FieldError};

/// How a real server says that text isn't a quantity.
const MALFORMED: &str = "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// What is no quantity in the resources of a pod's spec: found while the body is decoded.
pub(crate) fn undecodable(spec: &Value) -> Result<(), String> {
    for key in ["containers", "initContainers"] {
        for container in items(spec, &[key]) {
            for part in ["requests", "limits"] {
                let malformed = |value: &Value| {
                    let amount = Quantity::parse(value.as_str().unwrap_or(""));
                    !value.is_number() && matches!(amount, Err(QuantityError::Malformed(_)))
                };
                if amounts(&container["resources"][part]).any(|(_, value)| malformed(value)) {
                    return Err(MALFORMED.to_owned());
                }
            }
        }
    }
    Ok(())
}

fn amounts(list: &Value) -> impl Iterator<Item = (&String, &Value)> {
    list.as_object().into_iter().flatten()
}

/// Numbers become text, and what has a limit but no request asks for its limit.
pub(super) fn defaults(resources: &mut Map<String, Value>) {
    for part in ["requests", "limits"] {
        let list = resources.get_mut(part).and_then(Value::as_object_mut);
        for value in list.into_iter().flat_map(Map::values_mut) {
            if value.is_number() {
                *value = value.to_string().into();
            }
        }
    }
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    if limits.is_empty() {
        return;
    }
    let requests = resources.entry("requests").or_insert(Value::Object(Map::new()));
    if let Some(requests) = requests.as_object_mut() {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// What is wrong with a container's resources.
pub(super) fn validate(resources: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for part in ["limits", "requests"] {
        for (name, value) in amounts(&resources[part]) {
            let field = format!("{field}.{part}[{name}]");
            errors.extend(amount_error(name, value, field));
        }
    }
    for (name, request) in amounts(&resources["requests"]) {
        let limit = resources["limits"].get(name);
        errors.extend(limit_error(name, request, limit, field));
    }
    errors
}

fn amount_error(name: &str, value: &Value, field: String) -> Option<FieldError> {
    let why = match Quantity::parse(value.as_str().unwrap_or("")) {
        Err(QuantityError::Negative(_)) => "must be greater than or equal to 0",
        Err(_) => "must be a quantity that fits into 64 bits",
        Ok(amount) if is_extended(name) && amount.milli() % 1000 != 0 => "must be an integer",
        Ok(_) => return None,
    };
    Some(FieldError::invalid(field, value, why))
}

fn limit_error(
    name: &str,
    request: &Value,
    limit: Option<&Value>,
    field: &str,
) -> Option<FieldError> {
    let parse = |value: &Value| Quantity::parse(value.as_str().unwrap_or("")).ok();
    let Some(limit) = limit else {
        let why = "Limit must be set for non overcommitable resources";
        return is_extended(name).then(|| FieldError::required(format!("{field}.limits"), why));
    };
    let shown = limit.as_str().unwrap_or("");
    let why = match is_extended(name) {
        true if parse(request) != parse(limit) => {
            format!("must be equal to {name} limit of {shown}")
        }
        false if parse(request) > parse(limit) => {
            format!("must be less than or equal to {name} limit of {shown}")
        }
        true | false => return None,
    };
    Some(FieldError::invalid(format!("{field}.requests"), request, &why))
}

/// Resources such as `nvidia.com/gpu`, which can't be shared or promised twice.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
}

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(super) fn quality(spec: &Value) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    for key in ["initContainers", "containers"] {
        for container in items(spec, &[key]) {
            let resources = &container["resources"];
            let (requests, limits) = (core(&resources["requests"]), core(&resources["limits"]));
            any |= !requests.is_empty() || !limits.is_empty();
            guaranteed &= limits.len() == 2 && requests == limits;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// The amounts of CPU and memory that are more than nothing.
fn core(list: &Value) -> BTreeMap<&str, Quantity> {
    let named = amounts(list).filter(|(name, _)| ["cpu", "memory"].contains(&name.as_str()));
    named
        .filter_map(|(name, value)| {
            let amount = Quantity::parse(value.as_str()?).ok()?;
            (!amount.is_zero()).then_some((name.as_str(), amount))
        })
        .collect()
}

//! PodDisruptionBudgets and HorizontalPodAutoscalers.

use serde_json::{Value, json};

use crate::kube::{
    object::{self, at, items, text},
    selector::LabelSelector,
    validate::FieldError,
};

/// A new budget allows nothing until it was looked at.
pub(super) fn budget_prepare(budget: &mut Value) {
    budget["status"] = json!({
        "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
    });
}

/// What is wrong with a budget.
pub(super) fn budget_validate(budget: &Value) -> Vec<FieldError> {
    let spec = &budget["spec"];
    let mut errors = vec![];
    if at(spec, &["minAvailable"]).is_some() && at(spec, &["maxUnavailable"]).is_some() {
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid_unshown("spec", why));
    }
    for key in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = at(spec, &[key]) {
            errors.extend(share_errors(value, &format!("spec.{key}")));
        }
    }
    if let Err(why) = LabelSelector::from_object(&spec["selector"]) {
        errors.push(FieldError::invalid("spec.selector", &spec["selector"], &why));
    }
    let policy = text(spec, &["unhealthyPodEvictionPolicy"]);
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    if !policy.is_empty() && !known.contains(&policy) {
        let field = "spec.unhealthyPodEvictionPolicy";
        errors.push(FieldError::unsupported(field, policy, &known));
    }
    errors
}

/// What is wrong with a count or a share: `2`, `25%`.
pub(super) fn share_errors(value: &Value, field: &str) -> Vec<FieldError> {
    match (value.as_i64(), value.as_str()) {
        (Some(count), _) if count < 0 => {
            vec![FieldError::invalid(field, value, "must be greater than or equal to 0")]
        }
        (None, Some(text)) => {
            let share = text.strip_suffix('%').and_then(|digits| digits.parse::<u32>().ok());
            match share {
                Some(share) if share > 100 => {
                    vec![FieldError::invalid(field, value, "must not be greater than 100%")]
                }
                Some(_) => vec![],
                None => {
                    let why = "a valid percent string must be a numeric string followed by an \
                               ending '%' (e.g. '1%',  or '93%', regex used for validation is \
                               '[0-9]+%')";
                    vec![FieldError::invalid(field, value, why)]
                }
            }
        }
        (None, None) => {
            vec![FieldError::invalid(field, value, "must be an integer or percentage (e.g '5%%')")]
        }
        (Some(_), _) => vec![],
    }
}

/// Fills in what an autoscaler left open.
pub(super) fn autoscaler_defaults(scaler: &mut Value) {
    let spec = object::map_mut(scaler, "spec");
    object::default(spec, "minReplicas", 1);
    let cpu = json!([{"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
    }}]);
    let given = spec.get("metrics").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    if !given {
        spec.insert("metrics".into(), cpu);
    }
}

/// A new autoscaler has seen nothing.
pub(super) fn autoscaler_prepare(scaler: &mut Value) {
    scaler["status"] = json!({"currentMetrics": null, "desiredReplicas": 0});
}

/// What is wrong with an autoscaler.
pub(super) fn autoscaler_validate(scaler: &Value) -> Vec<FieldError> {
    let spec = &scaler["spec"];
    let mut errors = vec![];
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64());
    if least.is_some_and(|least| least < 1) {
        let why = "must be greater than or equal to 1";
        errors.push(FieldError::invalid("spec.minReplicas", &spec["minReplicas"], why));
    }
    if most.unwrap_or(0) < 1 {
        let why = "must be greater than 0";
        errors.push(FieldError::invalid("spec.maxReplicas", &most.unwrap_or(0).into(), why));
    }
    if least.zip(most).is_some_and(|(least, most)| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", &spec["maxReplicas"], why));
    }
    for key in ["kind", "name"] {
        if text(spec, &["scaleTargetRef", key]).is_empty() {
            errors.push(FieldError::required(format!("spec.scaleTargetRef.{key}"), ""));
        }
    }
    for (index, metric) in items(spec, &["metrics"]).iter().enumerate() {
        errors.extend(metric_errors(metric, &format!("spec.metrics[{index}]")));
    }
    errors
}

fn metric_errors(metric: &Value, field: &str) -> Vec<FieldError> {
    let kind = text(metric, &["type"]);
    let (known, parts) = (
        ["ContainerResource", "External", "Object", "Pods", "Resource"],
        ["containerResource", "external", "object", "pods", "resource"],
    );
    let Some(place) = known.iter().position(|it| *it == kind) else {
        return match kind {
            "" => vec![FieldError::required(
                format!("{field}.type"),
                "must specify a metric source type",
            )],
            kind => vec![FieldError::unsupported(format!("{field}.type"), kind, &known)],
        };
    };
    let part = parts[place];
    if at(metric, &[part]).is_none() {
        let why = "must populate information for the given metric source";
        return vec![FieldError::required(format!("{field}.{part}"), why)];
    }
    let target = &metric[part]["target"];
    let types = ["AverageValue", "Utilization", "Value"];
    match text(target, &["type"]) {
        "" => {
            let why = "must specify a metric target type";
            vec![FieldError::required(format!("{field}.{part}.target.type"), why)]
        }
        kind if !types.contains(&kind) => {
            let why = "must be either Utilization, Value, or AverageValue";
            let field = format!("{field}.{part}.target.type");
            vec![FieldError::invalid(field, &kind.into(), why)]
        }
        _ => vec![],
    }
}

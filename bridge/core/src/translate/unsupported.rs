//! What a pod may demand of a scheduler and Slurm can't be told: refused, never left out in silence.
//!
//! Demands on nodes and neighbours are looked at where the nodes are known: `candidates`.

use crate::view::PodView;

/// A demand that would go unheard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not supported by the bridge yet: {why}")]
pub(crate) struct Unsupported {
    what: String,
    /// Why it isn't, and what to do instead.
    why: &'static str,
}

const CLAIM: &str = "use the annotation slurmjob.slinky.slurm.net/gres to request devices instead";

/// Refuses the pod if it demands what can't be promised.
pub(super) fn check(pod: &PodView) -> Result<(), Unsupported> {
    if !pod.spec.resource_claims.is_empty() {
        return refuse("spec.resourceClaims".into(), CLAIM);
    }
    Ok(())
}

fn refuse(what: String, why: &'static str) -> Result<(), Unsupported> {
    Err(Unsupported { what, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn judged(spec: &Value) -> String {
        let metadata = json!({ "name": "p", "namespace": "a", "uid": "u" });
        let pod: PodView =
            serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap();
        check(&pod).map_or_else(|fault| fault.to_string(), |()| "taken".into())
    }

    #[test]
    fn demands_that_slurm_can_not_be_told_are_refused_and_wishes_are_not() {
        #[rustfmt::skip]
        let rows = [
            (json!({}), "taken"),
            (json!({ "containers": [{ "name": "c", "ports": [{ "containerPort": 80 }] }] }), "taken"),
        ];
        for (spec, expected) in rows {
            assert_eq!(judged(&spec), expected, "{spec}");
        }
    }
}

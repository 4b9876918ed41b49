//! `GET shares`: who has which share of the machine. Usage isn't counted yet, so everybody's is 0.

use drawbridge_sim::{Association, Slurmdbd};
use serde_json::{Value, json};

use super::{
    api::{Version, infinite},
    call::{Answer, Call},
    reply::{Reply, Warning},
};

/// The shares of all associations.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let what = "slurm_associations_get_shares() failed";
    call.connect(Reply::ok(), what, "op_handler_shares")?;
    let reply = |shares: Vec<Value>| {
        Reply::ok().with("shares", json!({ "shares": shares, "total_shares": 0 }))
    };
    let Some(dbd) = call.dbd.as_deref() else {
        let what = "Shares list is empty because slurm accounting storage is disabled.";
        return Ok(
            reply(vec![]).warning(&Warning { description: what.into(), source: String::new() })
        );
    };
    let shares: Vec<Value> =
        dbd.associations().into_iter().map(|it| share(call, dbd, it)).collect();
    let reply = reply(shares);
    if call.version() <= Version::V42 {
        return Ok(reply);
    }
    // Without usage root's level has no bound, and these versions have no word for that.
    Ok(reply.warning(&Warning {
        description: format!("Dumping ({:#x}) as place holder for Infinity", u64::MAX),
        source: String::new(),
    }))
}

fn share(call: &Call<'_>, dbd: &Slurmdbd, it: &Association) -> Value {
    let names: Vec<String> = dbd.tres().iter().map(drawbridge_sim::Tres::full_name).collect();
    let zeroes = |value: Value| -> Vec<Value> {
        names.iter().map(|name| json!({ "name": name, "value": value.clone() })).collect()
    };
    let name = it.user.as_ref().map_or(it.account.as_str(), |user| user.as_str());
    let parent = match &it.user {
        Some(_) => it.account.as_str(),
        None => it.parent.as_ref().map_or("", |parent| parent.as_str()),
    };
    let root = it.account.as_str() == "root" && it.user.is_some();
    let factor = if root { 1.0 } else { 0.0 };
    let level = if root { boundless(call.version()) } else { 0.0.into() };
    json!({
        "id": it.id,
        "cluster": it.cluster,
        "name": name,
        "parent": parent,
        "partition": it.partition,
        "shares_normalized": 0.0,
        "shares": (it.account.as_str() != "root" || it.user.is_some()).then_some(it.shares),
        "tres": {
            "run_seconds": zeroes(0.into()),
            "group_minutes": zeroes(infinite()),
            "usage": zeroes(0.0.into()),
        },
        "effective_usage": 0.0,
        "usage_normalized": 0.0,
        "usage": 0,
        "fairshare": { "factor": factor, "level": level },
        "type": [if it.user.is_some() { "USER" } else { "ASSOCIATION" }],
    })
}

/// A level without bound, as the versions print it.
fn boundless(version: Version) -> Value {
    match version {
        Version::V40 | Version::V41 => 0.0.into(),
        Version::V42 => infinite(),
        #[allow(clippy::cast_precision_loss, reason = "it is the placeholder, to the last digit")]
        Version::V43 | Version::V44 | Version::V45 => (u64::MAX as f64).into(),
    }
}

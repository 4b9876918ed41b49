//! Nodes, both ways.

use std::time::Duration;

use drawbridge_core::names::REASON_PREFIX;
use serde_json::json;

use crate::{Trouble, api::until, stage::Stage};

type Played = Result<Option<String>, Trouble>;

/// A cordoned node is drained in Slurm with our reason, and resumed with the cordon gone.
pub(super) async fn a_cordon_drains_and_comes_back(stage: &Stage) -> Played {
    let name = &stage.nodes[0];
    let path = format!("/api/v1/nodes/{name}");
    stage.api.patch(&path, json!({ "spec": { "unschedulable": true } })).await?;
    drained(stage, name, true).await?;
    let reason = stage.slurm.node(name).await?.map(|node| node.reason).unwrap_or_default();
    if !reason.starts_with(REASON_PREFIX) {
        return Err(format!("the reason isn't ours: {reason}"));
    }
    stage.api.patch(&path, json!({ "spec": { "unschedulable": null } })).await?;
    drained(stage, name, false).await?;
    Ok(None)
}

/// What an operator of Slurm has drained stays drained, cordon or not.
pub(super) async fn a_foreign_drain_is_left_alone(stage: &Stage) -> Played {
    let Some(name) = stage.nodes.get(1) else { return Ok(Some("there is one node only".into())) };
    stage.slurm.set_node(name, "DRAIN", "bad memory").await?;
    let path = format!("/api/v1/nodes/{name}");
    stage.api.patch(&path, json!({ "spec": { "unschedulable": true } })).await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    stage.api.patch(&path, json!({ "spec": { "unschedulable": null } })).await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let node = stage.slurm.node(name).await?.ok_or("the node is gone")?;
    let is_drained = node.state.iter().any(|state| state == "DRAIN");
    stage.slurm.set_node(name, "RESUME", "").await?;
    drained(stage, name, false).await?;
    match is_drained && node.reason == "bad memory" {
        true => Ok(None),
        false => Err(format!("the node was {:?} for `{}`", node.state, node.reason)),
    }
}

async fn drained(stage: &Stage, name: &str, want: bool) -> Result<(), Trouble> {
    let what = format!("node {name} is {}drained", if want { "" } else { "not " });
    until(&what, Duration::from_secs(30), async || {
        let node = stage.slurm.node(name).await?.ok_or("the node is gone")?;
        let is = node.state.iter().any(|state| state == "DRAIN");
        Ok((is == want).then_some(()))
    })
    .await
}

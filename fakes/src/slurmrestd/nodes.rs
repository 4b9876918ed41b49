//! Nodes: read them, drain them, bring them back.

use drawbridge_sim::{AdminError, NodeUpdate, Release, SlurmError, SlurmNode, expand_hostlist};
use serde_json::Value;

use super::{
    call::{Answer, Call, UNREADABLE},
    fields::{Body, Fields, Uses},
    node_json::node_json,
    number::Number,
    reply::{Reply, Trouble},
};

const UPDATE_NODE: Uses = Uses {
    honoured: &[
        "comment",
        "extra",
        "features",
        "features_act",
        "name",
        "reason",
        "state",
        "weight",
    ],
    noted: &["cpu_bind", "reason_uid"],
};
const REJECTED: &str = "Rejecting request. Failure parsing query.";
const QUERY: &str = "DATA_PARSER_OPENAPI_NODES_QUERY";

/// `GET nodes`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let since = call.update_time(UNREADABLE, REJECTED, "_dump_nodes")?;
    call.connect(Reply::ok(), "Failure to query nodes", "_dump_nodes")?;
    if since.is_some_and(|since| call.nodes_changed() <= since) {
        return Ok(Reply::not_modified());
    }
    let nodes: Vec<Value> = call.ctld.nodes().map(|node| node_json(call, node)).collect();
    Ok(with_nodes(call, nodes))
}

/// `GET node/{name}`. An unknown node is 200 with an error of number 0, as in Slurm.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let since = call.update_time(UNREADABLE, REJECTED, "_dump_nodes")?;
    let unknown = format!("Failure to query node {}", call.name);
    call.connect(Reply::ok(), &unknown, "_dump_nodes")?;
    // 24.11 takes a node that hasn't changed for one that can't be had.
    let old = since.is_some_and(|since| call.nodes_changed() <= since);
    if old && call.release() == Release::V24_11 {
        let failed = Trouble {
            number: -1,
            text: "Unspecified error".into(),
            description: "Unable to query partitions".into(),
            source: "_dump_nodes".into(),
        };
        return Err(Reply::refused(UNREADABLE, failed));
    }
    match call.ctld.node(&call.name.into()) {
        Some(node) => Ok(with_nodes(call, vec![node_json(call, node)])),
        None => Err(Reply::refused(200, Trouble::nothing(unknown, "_dump_nodes"))),
    }
}

fn with_nodes(call: &Call<'_>, nodes: Vec<Value>) -> Reply {
    Reply::ok()
        .with("nodes", nodes.into())
        .with("last_update", call.nodes_changed().into())
        .warnings(&call.query_warnings(QUERY))
}

/// `POST node/{name}`.
pub(super) fn update(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused {
        return Err(call.refuse(Reply::ok(), body));
    }
    call.connect(Reply::ok(), &format!("Failure to update node {}", call.name), "_update_node")?;
    let name = call.name.to_owned();
    Ok(change(call, &[name.as_str().into()], &name, "_update_node", body))
}

/// `POST nodes`: the body says which.
pub(super) fn update_many(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused {
        return Err(call.refuse(Reply::ok(), body));
    }
    let text = body.fields.list("name").join(",");
    let names = expand_hostlist(&text).ok().filter(|names| !names.is_empty());
    let Some(names) = names else {
        let shown = if text.is_empty() { "(null)" } else { &text };
        let trouble = failed(SlurmError::InvalidNodeName, shown, "_update_nodes");
        return Err(Reply::refused(call.refusal(), trouble));
    };
    call.connect(Reply::ok(), &format!("Failure to update node {text}"), "_update_nodes")?;
    let names: Vec<SlurmNode> = names.into_iter().map(SlurmNode::from).collect();
    Ok(change(call, &names, &text, "_update_nodes", body))
}

/// `POST new/node`: `{"node_conf": "NodeName=d1 CPUs=2 State=FUTURE"}`.
pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused {
        return Err(call.refuse(Reply::ok(), body));
    }
    let what = "Failure to create node";
    call.connect(Reply::ok(), what, "_create_node")?;
    let words = body.fields.text("node_conf").unwrap_or_default().to_owned();
    let by = call.request.user.as_str().into();
    let trouble = match call.ctld.create_nodes(call.now, &words, &by) {
        Ok(()) => return Ok(Reply::ok().warnings(&body.warnings)),
        Err(AdminError::Slurm(error)) => Trouble::slurm(error, what, "_create_node"),
        // What is wrong with the words only slurmctld's log says; here it is said too.
        Err(AdminError::Words(error)) => {
            let trouble = Trouble {
                number: -1,
                text: "Unspecified error".into(),
                description: format!("{what}: {error}"),
                source: "_create_node".into(),
            };
            return Err(Reply::refused(UNREADABLE, trouble));
        }
    };
    Err(Reply::refused(call.refusal(), trouble))
}

/// `DELETE node/{name}`: only nodes made at run time can go.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let verb = call.by_release("update", "delete");
    let what = format!("Failure to {verb} node {}", call.name);
    call.connect(Reply::ok(), &what, "op_handler_node")?;
    let by = call.request.user.as_str().into();
    match call.ctld.delete_node(call.now, &call.name.into(), &by) {
        Ok(()) => Ok(Reply::ok()),
        Err(error) => {
            Err(Reply::refused(call.refusal(), Trouble::slurm(error, what, "op_handler_node")))
        }
    }
}

fn failed(error: SlurmError, name: &str, source: &str) -> Trouble {
    Trouble::slurm(error, format!("Failure to update node {name}"), source)
}

fn change(
    call: &mut Call<'_>,
    nodes: &[SlurmNode],
    shown: &str,
    source: &str,
    body: Body,
) -> Reply {
    let bogus = body.troubles.iter().any(|trouble| trouble.source.contains("/state"));
    let done = if body.broken { None } else { apply(call, nodes, &body.fields, bogus).err() };
    let trouble = done.map(|refused| match refused {
        Refused::Slurm(SlurmError::InvalidNodeState) => bad_state(call, shown, source),
        Refused::Slurm(error) => failed(error, shown, source),
        Refused::NotModelled(what) => Trouble::not_modelled("drawbridge", &what),
    });
    // What can't be read decides the status.
    let status = if body.troubles.is_empty() { call.refusal() } else { UNREADABLE };
    Reply::ok()
        .warnings(&body.warnings)
        .errors(UNREADABLE, body.troubles)
        .errors(status, trouble.into_iter().collect())
}

/// 26.05 has a number of its own for a state that a node can't go to.
fn bad_state(call: &Call<'_>, shown: &str, source: &str) -> Trouble {
    let trouble = failed(SlurmError::InvalidNodeState, shown, source);
    match call.release() {
        Release::V24_11 => trouble,
        Release::V26_05 => {
            Trouble { number: 2180, text: "Invalid node state transition".into(), ..trouble }
        }
    }
}

enum Refused {
    Slurm(SlurmError),
    NotModelled(String),
}

fn apply(
    call: &mut Call<'_>,
    nodes: &[SlurmNode],
    fields: &Fields,
    bogus: bool,
) -> Result<(), Refused> {
    if !call.by_operator() {
        return Err(Refused::Slurm(SlurmError::UserIdMissing));
    }
    if nodes.iter().any(|node| call.ctld.node(node).is_none()) {
        return Err(Refused::Slurm(SlurmError::InvalidNodeName));
    }
    if let Some(name) = fields.beyond(UPDATE_NODE) {
        return Err(Refused::NotModelled(format!("the field `{name}` of a node")));
    }
    let updates = updates(fields, bogus)?;
    for node in nodes {
        for update in &updates {
            let by = call.request.user.as_str().into();
            let done = call.ctld.update_node_by(call.now, node, update.clone(), &by);
            done.map_err(Refused::Slurm)?;
        }
    }
    Ok(())
}

fn updates(fields: &Fields, bogus: bool) -> Result<Vec<NodeUpdate>, Refused> {
    let reason = || fields.text("reason").unwrap_or_default().to_owned();
    let mut updates = vec![];
    if let Some(comment) = fields.raw_text("comment") {
        updates.push(NodeUpdate::Comment(comment.into()));
    }
    if let Some(extra) = fields.raw_text("extra") {
        updates.push(NodeUpdate::Extra(extra.into()));
    }
    if let Some(weight) = fields.number("weight").and_then(Number::is) {
        updates.push(NodeUpdate::Weight(u32::try_from(weight).unwrap_or(u32::MAX)));
    }
    let features = |key| fields.has(key).then(|| fields.list(key).join(","));
    let (available, active) = (features("features"), features("features_act"));
    if available.is_some() || active.is_some() {
        updates.push(NodeUpdate::Features { available, active });
    }
    let states: Vec<String> = fields.list("state").iter().map(|s| s.to_ascii_uppercase()).collect();
    let states: Vec<&str> = states.iter().map(String::as_str).collect();
    match states.as_slice() {
        ["DRAIN"] => updates.push(NodeUpdate::Drain { reason: reason() }),
        ["DOWN"] => updates.push(NodeUpdate::Down { reason: reason() }),
        ["RESUME"] => updates.push(NodeUpdate::Resume),
        ["UNDRAIN"] => updates.push(NodeUpdate::Undrain),
        ["IDLE"] => updates.push(NodeUpdate::Idle),
        ["FAIL"] => updates.push(NodeUpdate::Fail { reason: reason() }),
        ["FUTURE"] => updates.push(NodeUpdate::Future),
        ["NOT_RESPONDING"] => updates.push(NodeUpdate::NoResp),
        ["ALLOCATED"] => updates.push(NodeUpdate::Allocated),
        ["MIXED"] => return Err(Refused::Slurm(SlurmError::InvalidNodeState)),
        [] if bogus => return Err(Refused::Slurm(SlurmError::InvalidNodeState)),
        [] if fields.text("reason").is_some() => updates.push(NodeUpdate::Reason(reason())),
        [] => {}
        [other] => return Err(Refused::NotModelled(format!("the node state `{other}`"))),
        [_, _, ..] => return Err(Refused::Slurm(SlurmError::InvalidNodeState)),
    }
    Ok(updates)
}

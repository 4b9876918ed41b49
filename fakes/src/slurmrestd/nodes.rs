//! Nodes: read them, drain them, bring them back.

use drawbridge_sim::{NodeUpdate, SlurmError, SlurmNode, expand_hostlist};
use serde_json::Value;

use super::{
    call::{Call, UNREADABLE},
    fields::{Fields, Kind, Schema, Use},
    node_json::node_json,
    number::number,
    reply::{Reply, Trouble, Warning},
    submit::not_modelled,
};

#[rustfmt::skip]
const STATES: &[&str] = &[
    "INVALID", "UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "RESERVED",
    "UNDRAIN", "CLOUD", "RESUME", "DRAIN", "COMPLETING", "NOT_RESPONDING", "POWERED_DOWN", "FAIL",
    "POWERING_UP", "MAINTENANCE", "REBOOT_REQUESTED", "REBOOT_CANCELED", "POWERING_DOWN",
    "DYNAMIC_FUTURE", "REBOOT_ISSUED", "PLANNED", "INVALID_REG", "POWER_DOWN", "POWER_UP",
    "POWER_DRAIN", "DYNAMIC_NORM",
];

#[rustfmt::skip]
const UPDATE_NODE: Schema = Schema {
    parser: "DATA_PARSER_UPDATE_NODE_MSG",
    rows: &[
        ("address",      Kind::List,          Use::NotModelled),
        ("comment",      Kind::Text,          Use::Honoured),
        ("cpu_bind",     Kind::Int(32),       Use::Noted),
        ("extra",        Kind::Text,          Use::Noted),
        ("features",     Kind::List,          Use::NotModelled),
        ("features_act", Kind::List,          Use::NotModelled),
        ("gres",         Kind::Text,          Use::NotModelled),
        ("hostname",     Kind::List,          Use::NotModelled),
        ("name",         Kind::List,          Use::Honoured),
        ("reason",       Kind::Text,          Use::Honoured),
        ("reason_uid",   Kind::Text,          Use::Noted),
        ("resume_after", Kind::Number,        Use::NotModelled),
        ("state",        Kind::Flags(STATES), Use::Honoured),
        ("weight",       Kind::Number,        Use::NotModelled),
    ],
};

/// `GET nodes`.
pub(super) fn list(call: &mut Call<'_>) -> Reply {
    let since = match call.update_time() {
        Ok(since) => since,
        Err(trouble) => {
            let rejected = "Rejecting request. Failure parsing query.";
            return Reply::refused(UNREADABLE, trouble)
                .error(UNREADABLE, Trouble::query(rejected, "_dump_nodes"));
        }
    };
    if since.is_some_and(|since| call.changed() <= since) {
        return Reply::not_modified();
    }
    let nodes: Vec<Value> = call.ctld.nodes().map(|node| node_json(call, node)).collect();
    with_nodes(call, nodes)
}

/// `GET node/{name}`. An unknown node is 200 with an error of number 0, as in Slurm.
pub(super) fn one(call: &mut Call<'_>, name: &str) -> Reply {
    match call.ctld.node(&name.into()) {
        Some(node) => with_nodes(call, vec![node_json(call, node)]),
        None => Reply::refused(
            200,
            Trouble {
                number: 0,
                text: "No error".into(),
                description: format!("Failure to query node {name}"),
                source: "_dump_nodes".into(),
            },
        ),
    }
}

fn with_nodes(call: &Call<'_>, nodes: Vec<Value>) -> Reply {
    Reply::ok()
        .with("nodes", nodes.into())
        .with("last_update", number(call.changed()))
        .warnings(&query_warnings(call))
}

fn query_warnings(call: &Call<'_>) -> Vec<Warning> {
    call.query_warnings("DATA_PARSER_OPENAPI_NODES_QUERY", &["update_time", "flags"])
}

/// `POST node/{name}`.
pub(super) fn update(call: &mut Call<'_>, name: &str) -> Reply {
    let fields = match call.body(UPDATE_NODE) {
        Ok(fields) => fields,
        Err(trouble) => return Reply::refused(UNREADABLE, trouble),
    };
    change(call, &[name.into()], name, "_update_node", fields)
}

/// `POST nodes`: the body says which.
pub(super) fn update_many(call: &mut Call<'_>) -> Reply {
    let fields = match call.body(UPDATE_NODE) {
        Ok(fields) => fields,
        Err(trouble) => return Reply::refused(UNREADABLE, trouble),
    };
    let text = fields.list("name").join(",");
    let names: Vec<SlurmNode> = match expand_hostlist(&text) {
        Ok(names) if !names.is_empty() => names.into_iter().map(SlurmNode::from).collect(),
        Ok(_) | Err(_) => {
            let shown = if text.is_empty() { "(null)" } else { &text };
            let trouble = failed(SlurmError::InvalidNodeName, shown, "_update_nodes");
            return Reply::refused(call.refusal(), trouble);
        }
    };
    change(call, &names, &text, "_update_nodes", fields)
}

/// `DELETE node/{name}`: only nodes made at run time can go, and there are none.
pub(super) fn delete(call: &mut Call<'_>, name: &str) -> Reply {
    let error = match (call.by_operator(), call.ctld.node(&name.into())) {
        (false, _) => SlurmError::UserIdMissing,
        (true, None) => SlurmError::InvalidNodeName,
        (true, Some(_)) => SlurmError::InvalidNodeState,
    };
    Reply::refused(call.refusal(), failed(error, name, "op_handler_node"))
}

fn failed(error: SlurmError, name: &str, source: &str) -> Trouble {
    Trouble::slurm(error, format!("Failure to update node {name}"), source)
}

fn change(
    call: &mut Call<'_>,
    nodes: &[SlurmNode],
    shown: &str,
    source: &str,
    fields: Fields,
) -> Reply {
    let done = apply(call, nodes, &fields).err();
    let trouble = done.map(|refused| match refused {
        Refused::Slurm(error) => failed(error, shown, source),
        Refused::NotModelled(what) => not_modelled(&what),
    });
    let status = call.refusal();
    Reply::ok()
        .warnings(&fields.warnings)
        .errors(UNREADABLE, fields.troubles)
        .errors(status, trouble.into_iter().collect())
}

enum Refused {
    Slurm(SlurmError),
    NotModelled(String),
}

fn apply(call: &mut Call<'_>, nodes: &[SlurmNode], fields: &Fields) -> Result<(), Refused> {
    if fields.broken {
        return Ok(());
    }
    if !call.by_operator() {
        return Err(Refused::Slurm(SlurmError::UserIdMissing));
    }
    if nodes.iter().any(|node| call.ctld.node(node).is_none()) {
        return Err(Refused::Slurm(SlurmError::InvalidNodeName));
    }
    if let Some(name) = fields.not_modelled {
        return Err(Refused::NotModelled(format!("the field `{name}` of a node")));
    }
    let updates = updates(fields)?;
    for node in nodes {
        for update in &updates {
            let by = call.request.user.as_str().into();
            let done = call.ctld.update_node_by(call.now, node, update.clone(), &by);
            done.map_err(Refused::Slurm)?;
        }
    }
    Ok(())
}

fn updates(fields: &Fields) -> Result<Vec<NodeUpdate>, Refused> {
    let reason = || fields.text("reason").unwrap_or_default().to_owned();
    let mut updates = vec![];
    if let Some(comment) = fields.raw_text("comment") {
        updates.push(NodeUpdate::Comment(comment.into()));
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
        [] if fields.has("state") => return Err(Refused::Slurm(SlurmError::InvalidNodeState)),
        [] if fields.text("reason").is_some() => updates.push(NodeUpdate::Reason(reason())),
        [] => {}
        [other] => return Err(Refused::NotModelled(format!("the node state `{other}`"))),
        [_, _, ..] => return Err(Refused::Slurm(SlurmError::InvalidNodeState)),
    }
    Ok(updates)
}

//! The cluster itself, what is counted on it, and slurmdbd's own health.

use drawbridge_sim::{Time, Tres};
use serde_json::{Value, json};

use crate::slurmrestd::{
    api::Version,
    call::{Answer, Call},
    meta,
    reply::{Reply, Trouble},
    rpcs::Daemon,
};

use super::{
    accounts::account_json,
    associations::association_json,
    listed,
    qos::qos_json,
    users::{With, user_json},
    wckeys::wckey_json,
};

/// `GET clusters`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    call.db()?;
    Ok(Reply::ok().with("clusters", json!([cluster_json(call)])))
}

/// `GET cluster/{name}`.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let name = call.db()?.cluster().to_owned();
    let known = name == call.name;
    let found: Vec<Value> = known.then(|| cluster_json(call)).into_iter().collect();
    Ok(listed("clusters", found, "slurmdb_clusters_get", "_dump_clusters"))
}

/// `DELETE cluster/{name}`: the one that there is stays.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let name = call.name.to_owned();
    let dbd = call.db_to_change("slurmdb_clusters_remove failed", "_delete_cluster")?;
    match dbd.cluster() == name {
        true => Err(Reply::not_modelled(call.refusal(), "drawbridge", "removing the cluster")),
        false => Ok(Reply::not_modified()),
    }
}

fn cluster_json(call: &Call<'_>) -> Value {
    let names: Vec<&str> = call.ctld.nodes().map(|node| node.name().as_str()).collect();
    let cluster = &call.ctld.config().params().cluster_name;
    let kinds = call.dbd.as_deref().map_or(&[][..], drawbridge_sim::Slurmdbd::tres);
    let tres = kinds.iter().map(|it| tres_json(it, amount(call, it)));
    json!({
        "controller": { "host": "127.0.0.1", "port": 6817 },
        "flags": ["MULTIPLE_SLURMD"],
        "name": cluster,
        "nodes": drawbridge_sim::fold_hostlist(&names),
        "associations": { "root": { "account": "root", "cluster": cluster, "id": 1 } },
        "rpc_version": call.by_release(10752, 11520),
        "tres": tres.collect::<Vec<_>>(),
    })
}

/// How much of it the cluster has.
fn amount(call: &Call<'_>, tres: &Tres) -> u64 {
    let specs = || call.ctld.nodes().map(|node| &node.spec);
    match tres.kind.as_str() {
        "cpu" | "billing" => specs().map(|spec| u64::from(spec.cpus)).sum(),
        "mem" => specs().map(|spec| spec.memory_mib).sum(),
        "node" => specs().count() as u64,
        "gres" => {
            let all = specs().flat_map(|spec| &spec.gres);
            all.filter(|gres| gres.name == tres.name).map(|gres| gres.count as u64).sum()
        }
        _others => 0,
    }
}

/// Something that is counted, and how much of it there is.
pub(super) fn tres_json(it: &Tres, count: u64) -> Value {
    json!({ "type": it.kind, "name": it.name, "id": it.id, "count": count })
}

/// `GET tres`.
pub(super) fn tres(call: &mut Call<'_>) -> Answer {
    let all: Vec<Value> = call.db()?.tres().iter().map(|it| tres_json(it, 0)).collect();
    Ok(Reply::ok().with("TRES", all.into()))
}

/// `POST tres`: Slurm itself doesn't.
pub(super) fn put_tres(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let trouble = Trouble {
        number: 2036,
        text: "Requested operation not supported on this system".into(),
        description: "Updating TRES is not currently supported".into(),
        source: "op_handler_tres".into(),
    };
    Err(Reply::refused(call.refusal(), trouble))
}

/// `GET instances`: machines in a cloud, of which there are none.
pub(super) fn instances(call: &mut Call<'_>) -> Answer {
    let warnings = call.query_warnings("DATA_PARSER_INSTANCE_CONDITION");
    call.db()?;
    let none = listed("instances", vec![], "slurmdb_instances_get", "_dump_instance_cond");
    Ok(none.warnings(&warnings))
}

/// `GET diag`: who asked for what, without how long it took.
pub(super) fn diag(call: &mut Call<'_>) -> Answer {
    call.db()?;
    // The oldest version prints other names than its own document has.
    let old = call.version() == Version::V40;
    let rollups = if old { old_rollups() } else { json!({ "hourly": { "count": 0 } }) };
    let rpcs = call.memory.map(|memory| &memory.rpcs);
    let messages = rpcs.map_or_else(Vec::new, |rpcs| rpcs.messages(Daemon::Slurmdbd));
    let messages =
        messages.into_iter().map(|(name, _, count)| json!({ "rpc": name, "count": count }));
    let users = rpcs.into_iter().flat_map(|rpcs| rpcs.users(Daemon::Slurmdbd));
    let users = users.map(|(user, count)| json!({ "user": user, "count": count }));
    let statistics = json!({
        "time_start": call.unix(Time::ZERO),
        "rollups": rollups,
        "RPCs": messages.collect::<Vec<_>>(),
        "users": users.collect::<Vec<_>>(),
    });
    let shape = call.operation.shape.field("statistics").cloned();
    let mut statistics = shape.map_or(Value::Null, |shape| shape.fill(statistics));
    if old {
        statistics["rollups"] = old_rollups();
    }
    Ok(Reply::ok().with_raw("statistics", statistics))
}

fn old_rollups() -> Value {
    json!([{
        "type": "internal", "last_run": 0, "last_cycle": 0, "max_cycle": 0, "total_time": 0,
        "total_cycles": 0, "mean_cycles": 0,
    }])
}

/// `GET ping`.
pub(super) fn ping(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let ping = json!({
        "hostname": "slurmdbd", "responding": true, "latency": 100, "primary": true,
        "status": "No error",
    });
    Ok(Reply::ok().with("pings", json!([ping])))
}

/// `GET config`: everything at once.
pub(super) fn config(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let cluster = cluster_json(call);
    let shape_of = |key: &str| call.operation.shape.field(key).and_then(|all| all.items()).cloned();
    let (qos_shape, association_shape) = (shape_of("qos"), shape_of("associations"));
    let dbd = call.db()?;
    let tres: Vec<Value> = dbd.tres().iter().map(|it| tres_json(it, 0)).collect();
    let accounts: Vec<Value> = dbd.accounts().map(|it| account_json(dbd, it, true)).collect();
    let users: Vec<Value> = dbd.users().map(|it| user_json(dbd, it, With::ALL)).collect();
    let qos: Vec<Value> = dbd.qos().map(|it| qos_json(qos_shape.as_deref(), it)).collect();
    let wckeys: Vec<Value> = dbd.wckeys().map(wckey_json).collect();
    let associations = dbd.associations().into_iter();
    let associations: Vec<Value> =
        associations.map(|it| association_json(dbd, association_shape.as_deref(), it)).collect();
    Ok(Reply::ok()
        .with("clusters", json!([cluster]))
        .with("tres", tres.into())
        .with("accounts", accounts.into())
        .with("users", users.into())
        .with("qos", qos.into())
        .with("wckeys", wckeys.into())
        .with("associations", associations.into())
        .with("instances", json!([])))
}

/// `GET conf`: slurmdbd.conf, as if nobody had written anything into it.
pub(super) fn conf(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let version = meta::full(call.release());
    Ok(Reply::ok()
        .with("slurmdbd_conf", json!({ "SLURMDBD_VERSION": version, "DbdHost": "slurmdbd" })))
}

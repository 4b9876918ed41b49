//! Qualities of service.

use drawbridge_sim::Qos;
use serde_json::{Value, json};

use crate::slurmrestd::{
    api::Shape,
    call::{Answer, Call},
    fields::Uses,
    number::Number,
    reply::{Reply, Trouble},
};

use super::{listed, nothing, only};

const USES: Uses = Uses { honoured: &["name", "description", "priority"], noted: &["id"] };

/// `GET qos`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let warnings = call.query_warnings("DATA_PARSER_QOS_CONDITION");
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let (names, ids) = (call.words("name").map(owned), call.words("id").map(owned));
    let shape = shape(call);
    let all = call.db()?.qos();
    let all = all.filter(|it| names.as_ref().is_none_or(|names| names.contains(&it.name)));
    let all = all.filter(|it| ids.as_ref().is_none_or(|ids| ids.contains(&it.id.to_string())));
    let all: Vec<Value> = all.map(|it| qos_json(shape.as_deref(), it)).collect();
    Ok(listed("qos", all, "slurmdb_qos_get", "_op_handler_qos").warnings(&warnings))
}

/// `GET qos/{name}`.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let (name, shape) = (call.name.to_owned(), shape(call));
    let found = call.db()?.qos_named(&name);
    let found: Vec<Value> = found.into_iter().map(|it| qos_json(shape.as_deref(), it)).collect();
    Ok(listed("qos", found, "slurmdb_qos_get", "_op_handler_qos"))
}

fn shape(call: &Call<'_>) -> Option<std::sync::Arc<Shape>> {
    call.operation.shape.field("qos").and_then(|all| all.items()).cloned()
}

/// A QOS as slurmrestd prints it, without limits.
pub(super) fn qos_json(shape: Option<&Shape>, it: &Qos) -> Value {
    let mut json = shape.map_or(Value::Null, Shape::endless);
    let known = json!({
        "name": it.name,
        "description": it.description,
        "id": it.id,
        "priority": it.priority,
        "usage_factor": 1.0,
    });
    if let (Value::Object(json), Value::Object(mut known)) = (&mut json, known) {
        json.append(&mut known);
        if let Some(preempt) = json.get_mut("preempt") {
            preempt["mode"] = json!(["DISABLED"]);
        }
    }
    json
}

/// `POST qos`: adds them, or changes those of the same name.
pub(super) fn put(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    let source = "_foreach_update_qos";
    for fields in body.fields.items("qos") {
        let Some(name) = fields.text("name") else {
            let trouble = Trouble::query("Cannot create a QOS without a name", source);
            return Err(Reply::refused(422, trouble));
        };
        only(call, fields, USES, "a QOS")?;
        let dbd = call.db_to_change("slurmdb_qos_add() failed", source)?;
        let mut qos = dbd.qos_named(name).cloned().unwrap_or_else(|| Qos::new(name, name));
        if let Some(text) = fields.raw_text("description") {
            text.clone_into(&mut qos.description);
        }
        if let Some(priority) = fields.number("priority").and_then(Number::is) {
            qos.priority = u32::try_from(priority).unwrap_or(u32::MAX);
        }
        dbd.update_qos(qos);
    }
    Ok(Reply::ok().warnings(&body.warnings))
}

/// `DELETE qos/{name}`.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let (what, source) = ("slurmdb_qos_remove failed", "_op_handler_qos");
    let name = call.name.to_owned();
    // What was removed stands in refusals, too.
    let none = |refusal: Reply| refusal.with("removed_qos", json!([]));
    let done = call.db_to_change(what, source).map_err(none)?.remove_qos(&name);
    let known = done.map_err(|error| none(call.db_refused(&error, what, source)))?;
    if known {
        return Ok(Reply::ok().with("removed_qos", json!([name])));
    }
    let nobody = Reply::ok().with("removed_qos", json!([]));
    let nobody = nobody.warning(&nothing("slurmdb_qos_remove", source));
    Ok(call.by_release(nobody, Reply::not_modified()))
}

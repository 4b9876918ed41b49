//! Workload characterisation keys.

use drawbridge_sim::Wckey;
use serde_json::{Value, json};

use crate::slurmrestd::{
    call::{Answer, Call},
    fields::Uses,
    reply::Reply,
};

use super::{listed, nothing, only};

const USES: Uses = Uses { honoured: &["name", "user", "cluster"], noted: &["flags", "id"] };

/// `GET wckeys`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let warnings = call.query_warnings("DATA_PARSER_WCKEY_CONDITION");
    let all: Vec<Value> = call.db()?.wckeys().map(wckey_json).collect();
    Ok(listed("wckeys", all, "slurmdb_wckeys_get", "_dump_wckeys").warnings(&warnings))
}

/// `GET wckey/{id}`: by name, whatever the path calls it.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let name = call.name.to_owned();
    let found: Vec<Value> =
        call.db()?.wckeys().filter(|it| it.name == name).map(wckey_json).collect();
    Ok(listed("wckeys", found, "slurmdb_wckeys_get", "_dump_wckeys"))
}

/// A key as slurmrestd prints it.
pub(super) fn wckey_json(it: &Wckey) -> Value {
    json!({ "id": it.id, "name": it.name, "user": it.user, "cluster": it.cluster })
}

/// `POST wckeys`.
pub(super) fn put(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    for fields in body.fields.items("wckeys") {
        only(call, fields, USES, "a wckey")?;
        let text = |key| fields.text(key).unwrap_or_default();
        let dbd = call.db_to_change("slurmdb_wckeys_add() failed", "_foreach_update_wckey")?;
        dbd.put_wckey(text("name"), &text("user").into(), text("cluster"));
    }
    Ok(Reply::ok().warnings(&body.warnings))
}

/// `DELETE wckey/{id}`: slurmdbd never finds any by number.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    call.db_to_change("slurmdb_wckeys_remove failed", "_delete_wckey")?;
    let none = Reply::ok().with("deleted_wckeys", json!([]));
    Ok(none.warning(&nothing("slurmdb_wckeys_remove", "_delete_wckey")))
}

//! Users.

use drawbridge_sim::{AdminLevel, DbUser, Slurmdbd};
use serde_json::{Value, json};

use crate::slurmrestd::{
    call::{Answer, Call},
    fields::Uses,
    reply::Reply,
};

use super::{associations::short, listed, only, removed, wckeys::wckey_json};

const USES: Uses = Uses {
    honoured: &["name", "administrator_level", "default"],
    noted: &["flags", "associations", "old_name"],
};

/// What is shown of users besides their names.
#[derive(Clone, Copy, Debug)]
pub(super) struct With {
    associations: bool,
    wckeys: bool,
}

impl With {
    /// Everything.
    pub(super) const ALL: Self = Self { associations: true, wckeys: true };

    fn asked(call: &Call<'_>) -> Self {
        Self { associations: call.switch(&["with_assocs"]), wckeys: call.switch(&["with_wckeys"]) }
    }
}

/// `GET users`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let with = With::asked(call);
    let warnings = call.query_warnings("DATA_PARSER_USER_CONDITION");
    let account = call.request.query("default_account").map(str::to_owned);
    let level = call.request.query("admin_level").and_then(AdminLevel::parse);
    let dbd = call.db()?;
    let all = dbd.users().filter(|it| {
        let default = it.default_account.as_ref().map(|name| name.as_str());
        account.is_none() || default == account.as_deref()
    });
    let all = all.filter(|it| level.is_none_or(|level| it.level == level));
    let all: Vec<Value> = all.map(|it| user_json(dbd, it, with)).collect();
    Ok(listed("users", all, "slurmdb_users_get", "_dump_users").warnings(&warnings))
}

/// `GET user/{name}`.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let with = With::asked(call);
    let name = call.name.to_owned();
    let dbd = call.db()?;
    let found: Vec<Value> =
        dbd.user(&name).into_iter().map(|it| user_json(dbd, it, with)).collect();
    Ok(listed("users", found, "slurmdb_users_get", "_dump_users"))
}

/// A user as slurmrestd prints it: defaults come with the associations.
pub(super) fn user_json(dbd: &Slurmdbd, user: &DbUser, with: With) -> Value {
    let own = dbd.associations().into_iter();
    let own: Vec<_> =
        own.filter(|it| with.associations && it.user.as_ref() == Some(&user.name)).collect();
    let keys = dbd.wckeys().filter(|it| with.wckeys && it.user == user.name);
    let qos = own.iter().find(|it| it.is_default).and_then(|it| it.default_qos.as_deref());
    let qos = qos.and_then(|name| dbd.qos_named(name)).map_or(0, |qos| qos.id);
    json!({
        "name": user.name,
        "administrator_level": [user.level.as_str()],
        "associations": own.iter().map(|it| short(it)).collect::<Vec<_>>(),
        "default": {
            "account": user.default_account.as_ref().filter(|_| with.associations),
            "wckey": user.default_wckey.as_ref().filter(|_| with.wckeys),
            "qos": qos,
        },
        "flags": ["NONE"],
        "wckeys": keys.map(wckey_json).collect::<Vec<_>>(),
    })
}

/// `POST users`: adds them, or changes those of the same name.
pub(super) fn put(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    for fields in body.fields.items("users") {
        only(call, fields, USES, "a user")?;
        let name = fields.text("name").unwrap_or_default();
        let dbd = call.db_to_change("slurmdb_users_add() failed", "_foreach_update_user")?;
        let mut user = dbd.user(name).cloned().unwrap_or_else(|| DbUser::new(name));
        let levels = fields.list("administrator_level");
        if let Some(level) = levels.first().and_then(|word| AdminLevel::parse(word)) {
            user.level = level;
        }
        let default = fields.dict("default");
        if let Some(account) = default.and_then(|it| it.text("account")) {
            user.default_account = Some(account.into());
        }
        if let Some(wckey) = default.and_then(|it| it.text("wckey")) {
            user.default_wckey = Some(wckey.into());
        }
        dbd.put_user(user);
    }
    Ok(Reply::ok().warnings(&body.warnings))
}

/// `DELETE user/{name}`: with their associations.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let (what, source) = ("slurmdb_users_remove failed", "_delete_user");
    let name = call.name.to_owned();
    let done = call.db_to_change(what, source)?.remove_user(&name.as_str().into());
    match done {
        Ok(known) => removed("removed_users", known.then_some(name).into_iter().collect()),
        Err(error) => Err(call.db_refused(&error, what, source)),
    }
}

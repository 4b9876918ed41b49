//! Accounts.

use drawbridge_sim::{Account, Slurmdbd};
use serde_json::{Value, json};

use crate::slurmrestd::{
    call::{Answer, Call},
    fields::Uses,
    reply::Reply,
};

use super::{associations::short, listed, only, removed};

const USES: Uses =
    Uses { honoured: &["name", "description", "organization"], noted: &["flags", "associations"] };
const WITH: &[&str] = &["with_assocs", "WithAssociations"];

/// `GET accounts`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let with = call.switch(WITH);
    let warnings = call.query_warnings("DATA_PARSER_ACCOUNT_CONDITION");
    let wanted = call.words("description").map(|words| words.join(","));
    let dbd = call.db()?;
    let all =
        dbd.accounts().filter(|it| wanted.as_ref().is_none_or(|text| it.description == *text));
    let all: Vec<Value> = all.map(|it| account_json(dbd, it, with)).collect();
    Ok(listed("accounts", all, "slurmdb_accounts_get", "_dump_accounts").warnings(&warnings))
}

/// `GET account/{name}`.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let with = call.switch(WITH);
    let name = call.name.to_owned();
    let dbd = call.db()?;
    let found: Vec<Value> =
        dbd.account(&name).into_iter().map(|it| account_json(dbd, it, with)).collect();
    Ok(listed("accounts", found, "slurmdb_accounts_get", "_dump_accounts"))
}

/// An account as slurmrestd prints it.
pub(super) fn account_json(dbd: &Slurmdbd, account: &Account, with: bool) -> Value {
    let own = dbd.associations().into_iter().filter(|it| with && it.account == account.name);
    let coordinators =
        account.coordinators.iter().map(|name| json!({ "name": name, "direct": true }));
    json!({
        "name": account.name,
        "description": account.description,
        "organization": account.organization,
        "associations": own.map(short).collect::<Vec<_>>(),
        "coordinators": coordinators.collect::<Vec<_>>(),
    })
}

/// `POST accounts`: adds them, or changes those of the same name.
pub(super) fn put(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    for fields in body.fields.items("accounts") {
        only(call, fields, USES, "an account")?;
        let text = |key| fields.text(key).unwrap_or_default();
        let mut account = Account::new(text("name"), text("description"), text("organization"));
        let dbd = call.db_to_change("slurmdb_accounts_add() failed", "_foreach_update_acct")?;
        if let Some(old) = dbd.account(account.name.as_str()) {
            account.coordinators.clone_from(&old.coordinators);
        }
        dbd.put_account(account);
    }
    Ok(Reply::ok().warnings(&body.warnings))
}

/// `DELETE account/{name}`: with all that hangs on it.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let (what, source) = ("slurmdb_accounts_remove failed", "_delete_account");
    let name = call.name.to_owned();
    let done = call.db_to_change(what, source)?.remove_account(&name.as_str().into());
    match done {
        Ok(known) => removed("removed_accounts", known.then_some(name).into_iter().collect()),
        Err(error) => Err(call.db_refused(&error, what, source)),
    }
}

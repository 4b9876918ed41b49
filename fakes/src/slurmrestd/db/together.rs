//! Accounts or users with their associations, in one request: what `sacctmgr add` does.

use drawbridge_sim::{Account, AdminLevel, Association, DbUser};

use crate::slurmrestd::{
    call::{Answer, Call},
    fields::{Fields, Uses},
    reply::Reply,
};

use super::only;

const RECORD: Uses =
    Uses { honoured: &["comment", "defaultqos", "parent", "qoslevel", "fairshare"], noted: &[] };

/// `POST accounts_association`.
pub(super) fn accounts(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    let empty = Fields::default();
    let condition = body.fields.dict("association_condition").unwrap_or(&empty);
    let record = condition.dict("association").unwrap_or(&empty);
    only(call, record, RECORD, "an association")?;
    let about = body.fields.dict("account").unwrap_or(&empty);
    let (what, source) = ("slurmdb_accounts_add_cond() failed", "op_handler_accounts_association");
    let dbd = call.db_to_change(what, source)?;
    let mut added = vec![];
    for name in condition.list("accounts") {
        let text = |key| about.text(key).unwrap_or(name.as_str()).to_owned();
        if dbd.account(name).is_none() {
            dbd.put_account(Account::new(name, &text("description"), &text("organization")));
        }
        let cluster = dbd.cluster().to_owned();
        if dbd.find(&name.as_str().into(), None, None).is_none() {
            let mut association = Association::of_account(&cluster, name, record.text("parent"));
            fill(&mut association, record);
            dbd.associate(association);
            added.push(name.clone());
        }
    }
    if added.is_empty() {
        return Ok(Reply::not_modified());
    }
    let said = format!(" Adding Account(s)\n  {}\n", added.join("\n  "));
    Ok(Reply::ok().with("added_accounts", said.into()).warnings(&body.warnings))
}

/// `POST users_association`.
pub(super) fn users(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    let empty = Fields::default();
    let condition = body.fields.dict("association_condition").unwrap_or(&empty);
    let record = condition.dict("association").unwrap_or(&empty);
    only(call, record, RECORD, "an association")?;
    let about = body.fields.dict("user").unwrap_or(&empty);
    let (what, source) = ("slurmdb_users_add_cond() failed", "op_handler_users_association");
    let dbd = call.db_to_change(what, source)?;
    let cluster = dbd.cluster().to_owned();
    let mut added = vec![];
    for name in condition.list("users") {
        let accounts = condition.list("accounts").iter();
        let accounts: Vec<&String> = accounts
            .filter(|account| dbd.find(&account.as_str().into(), None, None).is_some())
            .filter(|account| {
                dbd.find(&account.as_str().into(), Some(&name.as_str().into()), None).is_none()
            })
            .collect();
        if accounts.is_empty() {
            continue;
        }
        let mut user = dbd.user(name).cloned().unwrap_or_else(|| DbUser::new(name));
        if let Some(level) =
            about.list("adminlevel").first().and_then(|word| AdminLevel::parse(word))
        {
            user.level = level;
        }
        dbd.put_user(user);
        for account in accounts {
            let mut association = Association::of_user(&cluster, account, name);
            fill(&mut association, record);
            dbd.associate(association);
        }
        added.push(name.clone());
    }
    if added.is_empty() {
        return Ok(Reply::not_modified());
    }
    let said = format!(" Adding User(s)\n  {}\n", added.join("\n  "));
    Ok(Reply::ok().with("added_users", said.into()).warnings(&body.warnings))
}

fn fill(association: &mut Association, record: &Fields) {
    association.comment = record.text("comment").unwrap_or_default().to_owned();
    association.default_qos = record.text("defaultqos").map(str::to_owned);
    association.qos = record.list("qoslevel").to_vec();
    if let Some(shares) = record.int("fairshare").and_then(|shares| u32::try_from(shares).ok()) {
        association.shares = shares.max(1);
    }
}

//! Associations.

use drawbridge_sim::{Association, Slurmdbd};
use serde_json::{Value, json};

use crate::slurmrestd::{
    api::Shape,
    call::{Answer, Call},
    fields::{Fields, Uses},
    reply::Reply,
};

use super::{listed, only, removed};

const USES: Uses = Uses {
    honoured: &[
        "account",
        "cluster",
        "comment",
        "default",
        "parent_account",
        "partition",
        "qos",
        "shares_raw",
        "user",
        "is_default",
    ],
    noted: &["flags", "id", "lineage"],
};

/// `GET associations` and `GET association`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    call.db()?;
    let warnings = call.query_warnings("DATA_PARSER_ASSOC_CONDITION");
    let wanted = Condition::read(call);
    let shape = call.operation.shape.field("associations").and_then(|all| all.items()).cloned();
    let dbd = call.db()?;
    let all = dbd.associations().into_iter().filter(|it| wanted.fits(it));
    let all: Vec<Value> = all.map(|it| association_json(dbd, shape.as_deref(), it)).collect();
    Ok(listed("associations", all, "slurmdb_associations_get", "_dump_assoc_cond")
        .warnings(&warnings))
}

/// Which associations: those in all of the lists that are given.
#[derive(Debug, Default)]
struct Condition {
    accounts: Option<Vec<String>>,
    users: Option<Vec<String>>,
    clusters: Option<Vec<String>>,
    partitions: Option<Vec<String>>,
    parents: Option<Vec<String>>,
    qos: Option<Vec<String>>,
    ids: Option<Vec<String>>,
    only_defaults: bool,
}

impl Condition {
    fn read(call: &Call<'_>) -> Self {
        let words = |key: &str| {
            let words = call.words(key)?;
            Some(words.into_iter().map(str::to_owned).collect())
        };
        Self {
            accounts: words("account"),
            users: words("user"),
            clusters: words("cluster"),
            partitions: words("partition"),
            parents: words("parent_account"),
            qos: words("qos"),
            ids: words("id"),
            only_defaults: call.switch(&["only_defaults", "Filter to only defaults"]),
        }
    }

    fn fits(&self, it: &Association) -> bool {
        let among = |list: &Option<Vec<String>>, value: &str| {
            list.as_ref().is_none_or(|list| list.iter().any(|word| word == value))
        };
        let user = it.user.as_ref().map_or("", |user| user.as_str());
        let partition = it.partition.as_ref().map_or("", |partition| partition.as_str());
        let parent = it.parent.as_ref().map_or("", |parent| parent.as_str());
        let qos = self.qos.as_ref();
        among(&self.accounts, it.account.as_str())
            && among(&self.users, user)
            && among(&self.clusters, &it.cluster)
            && among(&self.partitions, partition)
            && among(&self.parents, parent)
            && among(&self.ids, &it.id.to_string())
            && qos.is_none_or(|qos| it.qos.iter().any(|name| qos.contains(name)))
            && (!self.only_defaults || it.is_default)
    }
}

/// An association's names and number.
pub(super) fn short(it: &Association) -> Value {
    json!({
        "account": it.account,
        "cluster": it.cluster,
        "partition": it.partition,
        "user": it.user,
        "id": it.id,
    })
}

/// An association as slurmrestd prints it, without limits.
pub(super) fn association_json(dbd: &Slurmdbd, shape: Option<&Shape>, it: &Association) -> Value {
    let mut json = shape.map_or(Value::Null, Shape::endless);
    let known = json!({
        "account": it.account,
        "cluster": it.cluster,
        "comment": it.comment,
        "default": { "qos": it.default_qos },
        "id": it.id,
        "is_default": it.is_default,
        "lineage": it.lineage,
        "parent_account": it.parent,
        "partition": it.partition,
        "qos": dbd.qos_of(it),
        "shares_raw": it.shares,
        "user": it.user,
    });
    if let (Value::Object(json), Value::Object(mut known)) = (&mut json, known) {
        json.append(&mut known);
    }
    // The oldest version has more than a number for it.
    if let Some(Shape::Dict(_)) = shape.and_then(|shape| shape.field("id")).map(AsRef::as_ref) {
        json["id"] = short(it);
    }
    json
}

/// `POST associations`: adds them, or changes those of the same names.
pub(super) fn put(call: &mut Call<'_>) -> Answer {
    let body = call.db_body()?;
    for fields in body.fields.items("associations") {
        only(call, fields, USES, "an association")?;
        let dbd =
            call.db_to_change("slurmdb_associations_add() failed", "_foreach_update_assoc")?;
        let association = read(dbd, fields);
        dbd.associate(association);
    }
    Ok(Reply::ok().warnings(&body.warnings))
}

fn read(dbd: &Slurmdbd, fields: &Fields) -> Association {
    let cluster = fields.text("cluster").unwrap_or_else(|| dbd.cluster());
    let account = fields.text("account").unwrap_or_default();
    let mut association = match fields.text("user") {
        Some(user) => Association::of_user(cluster, account, user),
        None => Association::of_account(cluster, account, fields.text("parent_account")),
    };
    association.partition = fields.text("partition").map(Into::into);
    association.comment = fields.text("comment").unwrap_or_default().to_owned();
    association.qos = fields.list("qos").to_vec();
    let default = fields.dict("default").and_then(|it| it.text("qos"));
    association.default_qos = default.map(str::to_owned);
    if let Some(shares) = fields.int("shares_raw").and_then(|shares| u32::try_from(shares).ok()) {
        association.shares = shares.max(1);
    }
    association
}

/// `DELETE associations` and `DELETE association`.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let (what, source) = ("slurmdb_associations_remove failed", "op_handler_delete_associations");
    call.db()?;
    let wanted = Condition::read(call);
    let done = call.db_to_change(what, source)?.dissociate(|it| wanted.fits(it));
    let gone = done.map_err(|error| call.db_refused(&error, what, source))?;
    let names = gone.iter().map(|it| {
        let user = it.user.as_ref().map_or(String::new(), |user| format!(" U = {user}"));
        format!("C = {} A = {}{user}", it.cluster, it.account)
    });
    removed("removed_associations", names.collect())
}

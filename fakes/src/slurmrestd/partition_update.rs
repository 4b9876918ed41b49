//! `POST partitions` and `DELETE partition/{name}`: made, changed, removed. Served from v0.0.45 on.

use std::fmt::Write as _;

use drawbridge_sim::{AdminError, SlurmError};

use super::{
    call::{Answer, Call, UNREADABLE},
    fields::{Fields, Uses},
    number::Number,
    reply::{Reply, Trouble},
};

const PARTITION: Uses = Uses {
    honoured: &[
        "name",
        "nodes",
        "maximums",
        "minimums",
        "defaults",
        "partition",
        "priority",
        "flags",
    ],
    noted: &["accounting", "cluster", "node_sets", "tres"],
};

/// Makes or changes partitions, until the first that can't be.
pub(super) fn update(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused {
        let rejected =
            Trouble::query("Rejecting request. Failure parsing query", "_partitions_mod");
        let status = call.malformed(&body);
        return Err(call.refuse(Reply::ok(), body).error(status, rejected));
    }
    let mut reply = Reply::ok();
    for (at, partition) in body.fields.items("partitions").iter().enumerate() {
        if let Err(refusal) = put(call, at, partition) {
            reply = refusal;
            break;
        }
    }
    Ok(reply.warnings(&body.warnings).errors(UNREADABLE, body.troubles))
}

fn put(call: &mut Call<'_>, at: usize, partition: &Fields) -> Result<(), Reply> {
    let name = partition.text("name").unwrap_or_default().to_owned();
    let known = call.ctld.config().partition(&name.as_str().into()).is_some();
    let (verb, source) = match known {
        true => ("update", "slurm_update_partition"),
        false => ("create", "slurm_create_partition"),
    };
    let what = format!("Failed to {verb} partition {name} with description at index {at}");
    call.connect(Reply::ok(), &what, source)?;
    let refused = |call: &Call<'_>, trouble| Reply::refused(call.refusal(), trouble);
    if let Some(field) = partition.beyond(PARTITION) {
        let trouble =
            Trouble::not_modelled("drawbridge", &format!("the field `{field}` of a partition"));
        return Err(refused(call, trouble));
    }
    let (words, by) = (words(partition), call.request.user.as_str().into());
    let partition = name.as_str().into();
    let done = match known {
        true => call.ctld.update_partition(call.now, &partition, &words, &by),
        false => call.ctld.create_partition(call.now, &partition, &words, &by),
    };
    done.map_err(|error| {
        let trouble = match error {
            AdminError::Slurm(error) => Trouble::slurm(error, what, source),
            AdminError::Words(error) => {
                let error = format!("{what}: {error}");
                Trouble::slurm(SlurmError::InvalidPartitionName, error, source)
            }
        };
        refused(call, trouble)
    })
}

/// As scontrol would be told.
fn words(partition: &Fields) -> String {
    let mut words = String::new();
    let mut say = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(words, "{key}={value} ");
        }
    };
    let text = |path: &[&str], key: &str| Some(partition.at(path)?.text(key)?.to_owned());
    let number = |path: &[&str], key: &str| match partition.at(path)?.number(key)? {
        Number::Is(number) => Some(number.to_string()),
        Number::Infinite => Some("UNLIMITED".into()),
        Number::Unset => None,
    };
    say("Nodes", text(&["nodes"], "configured"));
    say("MaxTime", number(&["maximums"], "time"));
    say("MaxNodes", number(&["maximums"], "nodes"));
    say("MinNodes", number(&["minimums"], "nodes"));
    say("DefaultTime", number(&["defaults"], "time"));
    say("PriorityTier", number(&["priority"], "tier"));
    say("PriorityJobFactor", number(&["priority"], "job_factor"));
    let state = partition.dict("partition").and_then(|it| it.list("state").first());
    say("State", state.cloned());
    words
}

/// Deletes a partition that no job uses.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let (what, source) = ("Unable to delete partition", "slurm_delete_partition()");
    call.connect(Reply::ok(), what, source)?;
    let by = call.request.user.as_str().into();
    match call.ctld.delete_partition(call.now, &call.name.into(), &by) {
        Ok(()) => Ok(Reply::ok()),
        Err(AdminError::Slurm(error)) => {
            Err(Reply::refused(call.refusal(), Trouble::slurm(error, what, source)))
        }
        Err(AdminError::Words(error)) => {
            let error = format!("{what}: {error}");
            let trouble = Trouble::slurm(SlurmError::InvalidPartitionName, error, source);
            Err(Reply::refused(call.refusal(), trouble))
        }
    }
}

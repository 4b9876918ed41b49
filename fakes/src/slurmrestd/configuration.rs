//! slurm.conf: shown (from v0.0.45 on), and read again.

use drawbridge_sim::{PriorityType, SchedulerType, SlurmError};
use serde_json::{Value, json};

use super::{
    call::{Answer, Call},
    meta,
    reply::{Reply, Trouble},
};

/// `GET conf`: what the model honours of its configuration; the rest is as if nobody had set it.
pub(super) fn show(call: &mut Call<'_>) -> Answer {
    let what = "Unable to query slurm configuration";
    call.connect(Reply::ok(), what, "slurm_load_ctl_conf()")?;
    Ok(Reply::ok().with("slurm_conf", slurm_conf(call)))
}

fn slurm_conf(call: &Call<'_>) -> Value {
    let params = call.ctld.config().params();
    let accounting = call.dbd.is_some();
    json!({
        "ClusterName": params.cluster_name,
        "SlurmctldHost": ["slurmctld"],
        "SlurmctldPort": 6817,
        "SelectType": "select/cons_tres",
        "SchedulerType": match params.scheduler {
            SchedulerType::Backfill => "sched/backfill",
            SchedulerType::Builtin => "sched/builtin",
        },
        "PriorityType": match params.priority.kind {
            PriorityType::Basic => "priority/basic",
            PriorityType::Multifactor => "priority/multifactor",
        },
        "AccountingStorageType": if accounting { "accounting_storage/slurmdbd" } else { "" },
        "KillWait": params.kill_wait.as_secs(),
        "MinJobAge": params.min_job_age.map(|age| age.as_secs()),
        "MaxArraySize": params.max_array_size,
        "MaxJobCount": params.max_job_count,
        "FirstJobId": params.first_job_id,
        "MaxJobId": params.max_job_id,
        "ReturnToService": match params.return_to_service {
            0 => "none",
            1 => "non_responsive_only",
            _always => "all",
        },
        "SlurmdTimeout": params.slurmd_timeout.as_secs(),
        "GresTypes": params.gres_types,
        "SLURM_VERSION": meta::full(call.release()),
    })
}

/// `GET reconfigure`. slurm.conf is what it was, so that everything is read again changes nothing but
/// what was changed since by hand.
pub(super) fn reconfigure(call: &mut Call<'_>) -> Answer {
    let what = "slurm_reconfigure() failed";
    call.connect(Reply::ok(), what, "op_handler_reconfigure")?;
    if !call.by_operator() {
        let trouble = Trouble::slurm(SlurmError::UserIdMissing, what, "op_handler_reconfigure");
        return Err(Reply::refused(call.refusal(), trouble));
    }
    call.ctld.restart(call.now);
    Ok(Reply::ok())
}

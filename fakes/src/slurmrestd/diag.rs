//! Is it there (`ping`), how is it doing (`diag`), and which licences there are.

use drawbridge_sim::{JobState, Release, Time, UserName};
use serde_json::{Value, json};

use super::{
    call::{Answer, Call},
    reply::{Reply, Warning, merged},
    rpcs::{Daemon, Rpcs},
};

/// What the model's controller is called.
const CONTROLLER: &str = "slurmctld";

/// `GET ping`. It succeeds whatever the token is, and says that nobody is there.
pub(super) fn ping(call: &Call<'_>) -> Reply {
    let up = call.trusted;
    let pings = json!([{
        "hostname": CONTROLLER,
        "pinged": if up { "UP" } else { "DOWN" },
        "responding": up,
        "latency": 100,
        "mode": "primary",
        "primary": true,
        "status": if up { "No error" } else { "Protocol authentication error" },
    }]);
    Reply::ok().with("pings", pings)
}

/// `GET licenses`.
pub(super) fn licenses(call: &mut Call<'_>) -> Answer {
    call.connect(Reply::ok(), "Unable to query licenses", "slurm_load_licenses()")?;
    let all = call.ctld.licenses().iter().map(|(name, total, free)| {
        json!({ "LicenseName": name, "Total": total, "Used": total - free, "Free": free })
    });
    let mut all: Vec<Value> = all.collect();
    if call.release() == Release::V24_11 {
        all.reverse();
    }
    let none = all.is_empty();
    let reply = Reply::ok().with("licenses", all.into());
    let reply = reply.with("last_update", call.unix(Time::ZERO).into());
    Ok(match none {
        true => reply.warning(&Warning {
            description: "Zero licenses to dump".into(),
            source: String::new(),
        }),
        false => reply,
    })
}

/// `GET diag`: the counts that the model keeps; the rest is 0.
pub(super) fn diag(call: &mut Call<'_>) -> Answer {
    let what = "slurm_get_statistics() failed to get slurmctld statistics";
    call.connect(Reply::ok(), what, "op_handler_diag")?;
    let parts = [server(call), jobs(call), main_cycles(call), backfill(call)];
    Ok(Reply::ok().with("statistics", merged(parts)))
}

fn server(call: &Call<'_>) -> Value {
    json!({
        "parts_packed": 1,
        "req_time": call.unix(call.now),
        "req_time_start": call.unix(Time::ZERO),
        "server_thread_count": 1,
        "rpcs_by_message_type": call.memory.map_or_else(Vec::new, |memory| messages(&memory.rpcs)),
        "rpcs_by_user": call.memory.map_or_else(Vec::new, |memory| by_user(&memory.rpcs)),
    })
}

/// Nobody measures how long they take.
fn messages(rpcs: &Rpcs) -> Vec<Value> {
    let all = rpcs.messages(Daemon::Slurmctld).into_iter();
    all.map(|(name, number, count)| {
        json!({ "message_type": name, "type_id": number, "count": count, "average_time": 0 })
    })
    .collect()
}

fn by_user(rpcs: &Rpcs) -> Vec<Value> {
    let all = rpcs.users(Daemon::Slurmctld);
    all.map(|(user, count)| {
        json!({ "user_id": UserName::from(user).number(), "user": user, "count": count, "average_time": 0 })
    })
    .collect()
}

fn jobs(call: &Call<'_>) -> Value {
    let stats = call.ctld.stats();
    let in_state = |state| call.ctld.jobs().filter(|job| job.state == state).count();
    json!({
        "jobs_submitted": stats.submitted,
        "jobs_started": stats.started,
        "jobs_completed": in_state(JobState::Completed),
        "jobs_canceled": in_state(JobState::Cancelled),
        "jobs_failed": in_state(JobState::Failed),
        "jobs_pending": in_state(JobState::Pending),
        "jobs_running": in_state(JobState::Running),
        "job_states_ts": call.unix(call.now),
    })
}

fn main_cycles(call: &Call<'_>) -> Value {
    json!({
        "schedule_cycle_total": call.ctld.stats().main_cycles,
        "schedule_queue_length": call.ctld.queue_length(),
    })
}

fn backfill(call: &Call<'_>) -> Value {
    let stats = call.ctld.stats();
    json!({
        "bf_backfilled_jobs": stats.backfilled,
        "bf_last_backfilled_jobs": stats.backfilled,
        "bf_cycle_counter": stats.backfill_cycles,
        "bf_when_last_cycle": 0,
    })
}

//! Is it there (`ping`), how is it doing (`diag`), and licences, of which there are none.

use drawbridge_sim::{JobState, Time};
use serde_json::{Value, json};

use super::{
    call::Call,
    number::number,
    reply::{Reply, Warning, merged},
};

/// `GET ping`.
pub(super) fn ping() -> Reply {
    let pings = json!([{
        "hostname": "slurmctld",
        "pinged": "UP",
        "responding": true,
        "latency": 0,
        "mode": "primary",
        "primary": true,
    }]);
    Reply::ok().with("pings", pings)
}

/// `GET licenses`.
pub(super) fn licenses(call: &Call<'_>) -> Reply {
    let none = Warning { description: "Zero licenses to dump".into(), source: String::new() };
    Reply::ok()
        .with("licenses", json!([]))
        .with("last_update", number(call.unix(Time::ZERO)))
        .warning(&none)
}

/// `GET diag`: the counts that the model keeps; the rest is 0.
pub(super) fn diag(call: &Call<'_>) -> Reply {
    let parts = [server(call), jobs(call), main_cycles(call), backfill(call)];
    Reply::ok().with("statistics", merged(parts))
}

fn server(call: &Call<'_>) -> Value {
    json!({
        "parts_packed": 1,
        "req_time": number(call.unix(call.now)),
        "req_time_start": number(call.unix(Time::ZERO)),
        "server_thread_count": 1,
        "agent_queue_size": 0,
        "agent_count": 0,
        "agent_thread_count": 0,
        "dbd_agent_queue_size": 0,
        "gettimeofday_latency": 0,
        "rpcs_by_message_type": [],
        "rpcs_by_user": [],
        "pending_rpcs": [],
        "pending_rpcs_by_hostlist": [],
    })
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
        "job_states_ts": number(call.unix(call.now)),
    })
}

fn main_cycles(call: &Call<'_>) -> Value {
    let stats = call.ctld.stats();
    json!({
        "schedule_cycle_max": 0,
        "schedule_cycle_last": 0,
        "schedule_cycle_sum": 0,
        "schedule_cycle_total": stats.main_cycles,
        "schedule_cycle_mean": 0,
        "schedule_cycle_mean_depth": 0,
        "schedule_cycle_per_minute": 0,
        "schedule_cycle_depth": 0,
        "schedule_exit": {
            "end_job_queue": 0,
            "default_queue_depth": 0,
            "max_job_start": 0,
            "max_rpc_cnt": 0,
            "max_sched_time": 0,
            "licenses": 0,
        },
        "schedule_queue_length": call.ctld.queue_length(),
    })
}

fn backfill(call: &Call<'_>) -> Value {
    let stats = call.ctld.stats();
    json!({
        "bf_backfilled_jobs": stats.backfilled,
        "bf_last_backfilled_jobs": stats.backfilled,
        "bf_backfilled_het_jobs": 0,
        "bf_cycle_counter": stats.backfill_cycles,
        "bf_cycle_mean": 0,
        "bf_depth_mean": 0,
        "bf_depth_mean_try": 0,
        "bf_cycle_sum": 0,
        "bf_cycle_last": 0,
        "bf_cycle_max": 0,
        "bf_exit": {
            "end_job_queue": 0,
            "bf_max_job_start": 0,
            "bf_max_job_test": 0,
            "bf_max_time": 0,
            "bf_node_space_size": 0,
            "state_changed": 0,
        },
        "bf_last_depth": 0,
        "bf_last_depth_try": 0,
        "bf_depth_sum": 0,
        "bf_depth_try_sum": 0,
        "bf_queue_len": 0,
        "bf_queue_len_mean": 0,
        "bf_queue_len_sum": 0,
        "bf_table_size": 0,
        "bf_table_size_sum": 0,
        "bf_table_size_mean": 0,
        "bf_when_last_cycle": number(0),
        "bf_active": false,
    })
}

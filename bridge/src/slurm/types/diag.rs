//! What `sdiag` prints.

use super::{Number, wire};

wire! {
    /// slurmctld's statistics. Times of work are microseconds.
    Diag {
        /// Up to v0.0.44.
        parts_packed: i64,
        req_time: Number,
        req_time_start: Number,
        server_thread_count: i64,
        agent_queue_size: i64,
        agent_count: i64,
        agent_thread_count: i64,
        dbd_agent_queue_size: i64,
        gettimeofday_latency: i64,
        schedule_cycle_max: i64,
        schedule_cycle_last: i64,
        schedule_cycle_sum: i64,
        schedule_cycle_total: i64,
        schedule_cycle_mean: i64,
        schedule_cycle_mean_depth: i64,
        schedule_cycle_per_minute: i64,
        schedule_cycle_depth: i64,
        schedule_exit: ScheduleExit,
        schedule_queue_length: i64,
        jobs_submitted: i64,
        jobs_started: i64,
        jobs_completed: i64,
        jobs_canceled: i64,
        jobs_failed: i64,
        jobs_pending: i64,
        jobs_running: i64,
        job_states_ts: Number,
        bf_backfilled_jobs: i64,
        bf_last_backfilled_jobs: i64,
        bf_backfilled_het_jobs: i64,
        bf_cycle_counter: i64,
        bf_cycle_mean: i64,
        bf_cycle_max: i64,
        bf_cycle_sum: i64,
        bf_cycle_last: i64,
        bf_depth_mean: i64,
        bf_depth_mean_try: i64,
        bf_depth_sum: i64,
        bf_depth_try_sum: i64,
        bf_last_depth: i64,
        bf_last_depth_try: i64,
        bf_queue_len: i64,
        bf_queue_len_mean: i64,
        bf_queue_len_sum: i64,
        bf_table_size: i64,
        bf_table_size_sum: i64,
        bf_table_size_mean: i64,
        bf_when_last_cycle: Number,
        bf_active: bool,
        bf_exit: BackfillExit,
        rpcs_by_message_type: Vec<RpcByType>,
        rpcs_by_user: Vec<RpcByUser>,
        pending_rpcs: Vec<PendingRpc>,
    }

    /// Why main cycles ended.
    ScheduleExit {
        end_job_queue: i64,
        default_queue_depth: i64,
        max_job_start: i64,
        max_rpc_cnt: i64,
        max_sched_time: i64,
        licenses: i64,
    }

    /// Why backfill cycles ended.
    BackfillExit {
        end_job_queue: i64,
        bf_max_job_start: i64,
        bf_max_job_test: i64,
        bf_max_time: i64,
        bf_node_space_size: i64,
        state_changed: i64,
    }

    /// Requests of one kind.
    RpcByType {
        message_type: String,
        type_id: i64,
        count: i64,
        queued: i64,
        dropped: i64,
        cycle_last: i64,
        cycle_max: i64,
        average_time: Number,
        total_time: i64,
    }

    /// Requests of one user.
    RpcByUser {
        user: String,
        user_id: i64,
        count: i64,
        average_time: Number,
        total_time: i64,
    }

    /// Requests that wait to be sent.
    PendingRpc {
        type_id: i64,
        message_type: String,
        count: i64,
    }
}

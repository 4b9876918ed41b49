//! `sdiag`: what slurmctld counts of itself.

use std::fmt::Write;

use drawbridge_bridge::slurm::{
    calls::Diagnostics,
    types::{Diag, Number},
};

use crate::{
    flags::{
        Flag, Manual,
        Takes::{Maybe, Nothing, Value},
        flag,
    },
    json::{DataForm, Tree},
    merge_sort::merge_sort,
    moments::Clock,
    shell::{Outcome, Shell},
    start::{self, Started},
};

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["all"], "a", Nothing, "all of it, which is what is printed anyway"),
    flag(&["help"], "h", Nothing, "print this"),
    flag(&["reset"], "r", Nothing, "").refused("it has no call for it"),
    flag(&["sort-by-id"], "i", Nothing, "requests by number"),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused("slurmrestd serves one cluster"),
    flag(&["no-trunc"], "", Nothing, "whole lists of hosts").no_bearing(),
    flag(&["sort-by-time"], "t", Nothing, "requests by the time they took in all"),
    flag(&["sort-by-time2"], "T", Nothing, "requests by the time they took each"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["version"], "V", Nothing, "print the version"),
    flag(&["json"], "", Maybe("VERSION"), "the reply of slurmrestd as JSON"),
    flag(&["yaml"], "", Maybe("VERSION"), "the same as YAML"),
];

/// `sdiag` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "sdiag",
    about: "Shows what slurmctld counts of itself: cycles, jobs, requests.",
    usage: "[OPTIONS]",
    flags: FLAGS,
    notes: "",
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Count,
    Id,
    Time,
    Average,
}

/// Runs `sdiag`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let parsed = match start::parse(shell, &MANUAL, args)? {
        Started::Done => return Ok(()),
        Started::With(parsed) => parsed,
    };
    let (mut by, mut form) = (By::Count, None);
    for (name, value) in parsed.flags {
        let value = value.unwrap_or_default();
        match name {
            "sort-by-id" => by = By::Id,
            "sort-by-time" => by = By::Time,
            "sort-by-time2" => by = By::Average,
            "json" => form = Some(DataForm::json(shell, &value)?),
            "yaml" => form = Some(DataForm::yaml(shell, &value)?),
            _ => {}
        }
    }
    let session = shell.connect()?;
    let (diag, text) = match session.ask_text(&Diagnostics) {
        Ok(answer) => answer,
        Err(error) => return shell.perror("slurm_get_statistics", &error),
    };
    if let Some(form) = form {
        let printed = Tree::parse(&text).map_or(text.clone(), |tree| form.print(&tree));
        shell.print(&printed);
        return Ok(());
    }
    let clock = Clock::of(shell);
    let mut out = String::new();
    put(&mut out, &diag, &clock, by);
    shell.print(&out);
    Ok(())
}

fn at(number: Number) -> i64 {
    number.get().and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

/// Writing to a text doesn't fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

fn put(out: &mut String, diag: &Diag, clock: &Clock, by: By) {
    let when = |number: Number| format!("{} ({})", clock.date(at(number)), at(number));
    const STARS: &str = "*******************************************************";
    line!(out, "{STARS}");
    line!(out, "sdiag output at {}", when(diag.req_time));
    line!(out, "Data since      {}", when(diag.req_time_start));
    line!(out, "{STARS}");
    line!(out, "Server thread count:  {}", diag.server_thread_count);
    line!(out, "RPC queue enabled:    {}", u8::from(queues(diag)));
    line!(out, "Agent queue size:     {}", diag.agent_queue_size);
    line!(out, "Agent count:          {}", diag.agent_count);
    line!(out, "Agent thread count:   {}", diag.agent_thread_count);
    line!(out, "DBD Agent queue size: {}\n", diag.dbd_agent_queue_size);
    line!(out, "Jobs submitted: {}", diag.jobs_submitted);
    line!(out, "Jobs started:   {}", diag.jobs_started);
    line!(out, "Jobs completed: {}", diag.jobs_completed);
    line!(out, "Jobs canceled:  {}", diag.jobs_canceled);
    line!(out, "Jobs failed:    {}\n", diag.jobs_failed);
    line!(out, "Job states ts:  {}", when(diag.job_states_ts));
    line!(out, "Jobs pending:   {}", diag.jobs_pending);
    line!(out, "Jobs running:   {}", diag.jobs_running);
    put_main(out, diag);
    put_backfill(out, diag, when(diag.bf_when_last_cycle));
    line!(
        out,
        "\nLatency for 1000 calls to gettimeofday(): {} microseconds",
        diag.gettimeofday_latency
    );
    put_requests(out, diag, by);
}

/// Whether slurmctld queues requests: slurmrestd doesn't tell, but then it counts its turns.
fn queues(diag: &Diag) -> bool {
    let turns = |rpc: &drawbridge_bridge::slurm::types::RpcByType| {
        rpc.cycle_last != 0 || rpc.cycle_max != 0 || rpc.queued != 0
    };
    diag.rpcs_by_message_type.iter().any(turns)
}

fn put_main(out: &mut String, diag: &Diag) {
    line!(out, "\nMain schedule statistics (microseconds):");
    line!(out, "\tLast cycle:   {}", diag.schedule_cycle_last);
    line!(out, "\tMax cycle:    {}", diag.schedule_cycle_max);
    line!(out, "\tTotal cycles: {}", diag.schedule_cycle_total);
    if 0 < diag.schedule_cycle_total {
        line!(out, "\tMean cycle:   {}", diag.schedule_cycle_mean);
        line!(out, "\tMean depth cycle:  {}", diag.schedule_cycle_mean_depth);
    }
    let minutes = (at(diag.req_time) - at(diag.req_time_start)) / 60;
    if 60 < at(diag.req_time) - at(diag.req_time_start) {
        line!(out, "\tCycles per minute: {}", diag.schedule_cycle_total / minutes.max(1));
    }
    line!(out, "\tLast queue length: {}", diag.schedule_queue_length);
    line!(out, "\nMain scheduler exit:");
    let exit = &diag.schedule_exit;
    for (what, count) in [
        ("End of job queue", exit.end_job_queue),
        ("Hit default_queue_depth", exit.default_queue_depth),
        ("Hit sched_max_job_start", exit.max_job_start),
        ("Blocked on licenses", exit.licenses),
        ("Hit max_rpc_cnt", exit.max_rpc_cnt),
        ("Timeout (max_sched_time)", exit.max_sched_time),
    ] {
        line!(out, "\t{what}:{count:2}");
    }
}

fn put_backfill(out: &mut String, diag: &Diag, last: String) {
    line!(
        out,
        "\nBackfilling stats{}",
        match diag.bf_active {
            true => " (WARNING: data obtained in the middle of backfilling execution.)",
            false => "",
        }
    );
    let last = if at(diag.bf_when_last_cycle) == 0 { "N/A".to_owned() } else { last };
    line!(out, "\tTotal backfilled jobs (since last slurm start): {}", diag.bf_backfilled_jobs);
    line!(
        out,
        "\tTotal backfilled jobs (since last stats cycle start): {}",
        diag.bf_last_backfilled_jobs
    );
    line!(out, "\tTotal backfilled heterogeneous job components: {}", diag.bf_backfilled_het_jobs);
    line!(out, "\tTotal cycles: {}", diag.bf_cycle_counter);
    line!(out, "\tLast cycle when: {last}");
    line!(out, "\tLast cycle: {}", diag.bf_cycle_last);
    line!(out, "\tMax cycle:  {}", diag.bf_cycle_max);
    let cycles = diag.bf_cycle_counter;
    let mean = |out: &mut String, what: &str, sum: i64| {
        if 0 < cycles {
            line!(out, "\t{what}: {}", sum / cycles);
        }
    };
    mean(out, "Mean cycle", diag.bf_cycle_sum);
    line!(out, "\tLast depth cycle: {}", diag.bf_last_depth);
    line!(out, "\tLast depth cycle (try sched): {}", diag.bf_last_depth_try);
    mean(out, "Depth Mean", diag.bf_depth_sum);
    mean(out, "Depth Mean (try depth)", diag.bf_depth_try_sum);
    line!(out, "\tLast queue length: {}", diag.bf_queue_len);
    mean(out, "Queue length mean", diag.bf_queue_len_sum);
    line!(out, "\tLast table size: {}", diag.bf_table_size);
    mean(out, "Mean table size", diag.bf_table_size_sum);
    line!(out, "\nBackfill exit");
    let exit = &diag.bf_exit;
    for (what, count) in [
        ("End of job queue", exit.end_job_queue),
        ("Hit bf_max_job_start", exit.bf_max_job_start),
        ("Hit bf_max_job_test", exit.bf_max_job_test),
        ("System state changed", exit.state_changed),
        ("Hit table size limit (bf_node_space_size)", exit.bf_node_space_size),
        ("Timeout (bf_max_time)", exit.bf_max_time),
    ] {
        line!(out, "\t{what}:{count:2}");
    }
}

/// A kind of request, or a user: number, count, time.
type Counted = (String, i64, i64, i64);

fn sorted(rows: Vec<Counted>, by: By) -> Vec<Counted> {
    let key = |row: &Counted| match by {
        By::Count => -row.2,
        By::Id => row.1,
        By::Time => -row.3,
        By::Average => -row.3.checked_div(row.2).unwrap_or(0),
    };
    merge_sort(rows, &mut |a, b| key(a).cmp(&key(b)) as i32)
}

fn put_requests(out: &mut String, diag: &Diag, by: By) {
    line!(out, "\nRemote Procedure Call statistics by message type");
    let kinds = diag.rpcs_by_message_type.iter();
    let kinds = kinds.map(|rpc| (rpc.message_type.clone(), rpc.type_id, rpc.count, rpc.total_time));
    for (name, id, count, time) in sorted(kinds.collect(), by) {
        let mean = time.checked_div(count).unwrap_or(0);
        let queue = diag.rpcs_by_message_type.iter().find(|rpc| rpc.type_id == id && queues(diag));
        let queue = queue.map(|rpc| {
            format!(
                "{time:<12} queued:{:<6} cycle_last:{:<6} cycle_max:{:<6} dropped:{}",
                rpc.queued, rpc.cycle_last, rpc.cycle_max, rpc.dropped
            )
        });
        let total = queue.unwrap_or_else(|| time.to_string());
        line!(out, "\t{name:<40}({id:5}) count:{count:<6} ave_time:{mean:<6} total_time:{total}");
    }
    if diag.rpcs_by_message_type.is_empty() {
        line!(out, "\tNo RPCs recorded yet.");
    }
    line!(out, "\nRemote Procedure Call statistics by user");
    let users = diag.rpcs_by_user.iter();
    let users = users.map(|rpc| (rpc.user.clone(), rpc.user_id, rpc.count, rpc.total_time));
    for (name, id, count, time) in sorted(users.collect(), by) {
        let mean = time.checked_div(count).unwrap_or(0);
        line!(out, "\t{name:<16}({id:8}) count:{count:<6} ave_time:{mean:<6} total_time:{time}");
    }
    line!(out, "\nPending RPC statistics");
    if diag.pending_rpcs.is_empty() {
        line!(out, "\tNo pending RPCs");
    }
    for rpc in &diag.pending_rpcs {
        line!(out, "\t{:<40}({:5}) count:{:<6}", rpc.message_type, rpc.type_id, rpc.count);
    }
}

//! One Slurm job, as slurmctld knows it.

use drawbridge_sim::{Job, JobState, PriorityFactors, Reason, Slurmctld, Time};

use crate::{frame::JobRow, laws::mark};

pub(super) fn job_row(now: Time, job: &Job, slurm: &Slurmctld) -> JobRow {
    let submission = &job.submission;
    let has_ended = job.state.is_end();
    let waits = job.state == JobState::Pending;
    let factors = waits.then(|| slurm.priority_factors(now, job)).flatten();
    JobRow {
        job_id: job.id,
        name: submission.name.clone(),
        user: submission.user.as_str().to_owned(),
        account: submission.account.as_ref().map(|it| it.as_str().to_owned()),
        partition: job.partition.as_str().to_owned(),
        state: job.squeue_state().to_owned(),
        reason: (job.reason != Reason::None).then(|| job.reason.to_string()),
        nodes: job.allocation.as_ref().map(|it| it.node_list()).unwrap_or_default(),
        cpus: job.cpus(),
        min_nodes: job.min_nodes(),
        tasks: job.tasks(),
        time_limit_ms: job.time_limit,
        qos: submission.qos.clone(),
        dependency: job.dependency(),
        priority: job.priority,
        factors: factors.as_ref().map(named).unwrap_or_default(),
        expected_start_ms: job.expected_start.filter(|_| waits),
        backfilled: false,
        bridged: mark(&submission.admin_comment).is_some(),
        submit_ms: job.submit_time,
        start_ms: job.start_time,
        end_ms: job.end_time.filter(|_| has_ended),
        exit_code: has_ended.then(|| job.exit.to_string()),
    }
}

/// The parts that count, each with its name.
#[expect(clippy::cast_possible_truncation, reason = "sprio prints whole numbers too")]
fn named(factors: &PriorityFactors) -> Vec<(String, i64)> {
    // Destructured so that a new factor can't be forgotten here.
    let PriorityFactors { age, job_size, partition, tres, nice } = *factors;
    let parts = [
        ("age", age as i64),
        ("jobsize", job_size as i64),
        ("partition", partition as i64),
        ("tres", (tres.cpu + tres.mem + tres.node) as i64),
        ("nice", -i64::from(nice)),
    ];
    let counts = parts.into_iter().filter(|(_, worth)| *worth != 0);
    counts.map(|(name, worth)| (name.to_owned(), worth)).collect()
}

//! Columns of jobs, as squeue has them.

use drawbridge_scenarios::JobRow;
use drawbridge_sim::{Span, expand_hostlist};

use super::{Column, Shown, Sort};
use crate::{
    model::{
        moment::{kubectl, squeue},
        scene::{Scene, is_active, is_waiting},
    },
    theme::Tone,
};

/// The columns; the letter that stands for a job on the map comes before them.
pub(crate) const COLUMNS: [Column<JobRow>; 20] = [
    job("JOBID", |_, job| job.job_id.to_string()).right(|_, job| Sort::number(job.job_id.0)),
    job("PARTITION", |_, job| job.partition.clone()),
    job("NAME", |_, job| job.name.clone()),
    job("USER", |_, job| job.user.clone()),
    job("ST", |_, job| state_code(&job.state).to_owned()).tone(|_, job| state_tone(&job.state)),
    job("TIME", |scene, job| squeue(ran(scene, job)))
        .right(|scene, job| Sort::number(ran(scene, job).as_ms())),
    job("NODES", |_, job| n_nodes(job).to_string()).right(|_, job| Sort::number(n_nodes(job))),
    job("NODELIST(REASON)", |_, job| nodelist_or_reason(job)),
    job("FOR", |_, job| if job.bridged { "kube" } else { "slurm" }.to_owned()),
    job("PRIORITY", |_, job| job.priority.to_string())
        .right(|_, job| Sort::number(job.priority))
        .shown(Shown::Wide),
    job("START", start)
        .right(|_, job| Sort::time(job.start_ms.or(job.expected_start_ms)))
        .shown(Shown::Wide),
    job("WAIT", |scene, job| kubectl(waited(scene, job)))
        .right(|scene, job| Sort::number(waited(scene, job).as_ms()))
        .shown(Shown::Asked),
    job("FACTORS", |_, job| factors(job)).shown(Shown::Asked),
    job("CPUS", |_, job| job.cpus.to_string())
        .right(|_, job| Sort::number(job.cpus))
        .shown(Shown::Asked),
    job("TIME_LIMIT", |_, job| limit(job)).right(|_, job| limit_key(job)).shown(Shown::Asked),
    job("ACCOUNT", |_, job| job.account.clone().unwrap_or_default()).shown(Shown::Asked),
    job("QOS", |_, job| job.qos.clone().unwrap_or_default()).shown(Shown::Asked),
    job("SUBMIT", |scene, job| scene.brief(job.submit_ms))
        .right(|_, job| Sort::time(Some(job.submit_ms)))
        .shown(Shown::Asked),
    job("END", |scene, job| job.end_ms.map(|at| scene.brief(at)).unwrap_or_default())
        .right(|_, job| Sort::time(job.end_ms))
        .shown(Shown::Asked),
    job("EXIT", |_, job| job.exit_code.clone().unwrap_or_default()).shown(Shown::Asked),
];

const fn job(name: &'static str, text: fn(Scene<'_>, &JobRow) -> String) -> Column<JobRow> {
    Column::new(name, text).tone(over)
}

fn limit_key(job: &JobRow) -> Sort {
    Sort::Number(job.time_limit_ms.and_then(|limit| i64::try_from(limit.as_ms()).ok()))
}

fn over(_: Scene<'_>, job: &JobRow) -> Tone {
    if is_active(job) { Tone::Plain } else { Tone::Faint }
}

/// Everything that a filter may look for.
pub(crate) fn hay(job: &JobRow, hay: &mut String) {
    let number = job.job_id.to_string();
    let texts = [
        number.as_str(),
        &job.name,
        &job.user,
        &job.partition,
        &job.state,
        &job.nodes,
        job.reason.as_deref().unwrap_or_default(),
        job.account.as_deref().unwrap_or_default(),
        job.qos.as_deref().unwrap_or_default(),
        if job.bridged { "kube" } else { "slurm" },
    ];
    for text in texts {
        hay.push_str(text);
        hay.push('\n');
    }
}

fn ran(scene: Scene<'_>, job: &JobRow) -> Span {
    match job.start_ms {
        Some(start) => job.end_ms.unwrap_or(scene.now) - start,
        None => Span::ZERO,
    }
}

/// How long a job waited, or has waited so far.
pub(crate) fn waited(scene: Scene<'_>, job: &JobRow) -> Span {
    job.start_ms.or(job.end_ms).unwrap_or(scene.now) - job.submit_ms
}

/// How many nodes it has, had, or asks for.
fn n_nodes(job: &JobRow) -> usize {
    match expand_hostlist(&job.nodes) {
        Ok(names) if !names.is_empty() => names.len(),
        Ok(_) | Err(_) => job.min_nodes as usize,
    }
}

fn nodelist_or_reason(job: &JobRow) -> String {
    match (&job.reason, job.start_ms) {
        (Some(reason), None) => format!("({reason})"),
        (None, None) => "(None)".to_owned(),
        (_, Some(_)) => job.nodes.clone(),
    }
}

/// When it started, or is expected to: `~` in front.
fn start(scene: Scene<'_>, job: &JobRow) -> String {
    match (job.start_ms, job.expected_start_ms) {
        (Some(at), _) => scene.brief(at),
        (None, Some(at)) if is_waiting(job) => format!("~{}", scene.brief(at)),
        (None, _) => "N/A".to_owned(),
    }
}

fn limit(job: &JobRow) -> String {
    job.time_limit_ms.map_or_else(|| "UNLIMITED".to_owned(), squeue)
}

fn factors(job: &JobRow) -> String {
    let parts: Vec<String> =
        job.factors.iter().map(|(name, worth)| format!("{name}={worth}")).collect();
    parts.join(" ")
}

/// The state as squeue abbreviates it. What has no abbreviation stays as it is.
pub(crate) fn state_code(state: &str) -> &str {
    match state.split_whitespace().next().unwrap_or_default() {
        "BOOT_FAIL" => "BF",
        "CANCELLED" => "CA",
        "COMPLETED" => "CD",
        "CONFIGURING" => "CF",
        "COMPLETING" => "CG",
        "DEADLINE" => "DL",
        "FAILED" => "F",
        "NODE_FAIL" => "NF",
        "OUT_OF_MEMORY" => "OOM",
        "PENDING" => "PD",
        "PREEMPTED" => "PR",
        "RUNNING" => "R",
        "REQUEUED" => "RQ",
        "RESIZING" => "RS",
        "SIGNALING" => "SI",
        "SPECIAL_EXIT" => "SE",
        "STAGE_OUT" => "SO",
        "STOPPED" => "ST",
        "SUSPENDED" => "S",
        "TIMEOUT" => "TO",
        _ => state,
    }
}

/// What a state means.
pub(crate) fn state_tone(state: &str) -> Tone {
    match state_code(state) {
        "R" => Tone::Good,
        "PD" | "CF" | "CG" | "S" | "RQ" => Tone::Waiting,
        "F" | "NF" | "TO" | "OOM" | "BF" | "DL" | "SE" => Tone::Bad,
        "CD" | "CA" => Tone::Faint,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_abbreviated_as_in_squeue() {
        let rows = [
            ("PENDING", "PD"),
            ("RUNNING", "R"),
            ("CANCELLED by 0", "CA"),
            ("R", "R"),
            ("NEW_STATE", "NEW_STATE"),
        ];
        for (state, code) in rows {
            assert_eq!(state_code(state), code);
        }
    }
}

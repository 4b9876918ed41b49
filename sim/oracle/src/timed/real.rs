//! The real Slurm's side: what it did, and in which second.

use crate::{
    case::{Case, Record, Step},
    lab::{Lab, LabError, LabOptions, Services},
    real::{command, milliseconds, split_answer, value},
    view::{Answer, View},
};

/// What is asked after each operation. The second part is empty where no factor has a weight.
const LOOK: &str = "export SLURM_TIME_FORMAT=%s
date +%s.%N
scontrol -a -o show jobs
echo --
grep -q PriorityWeight /etc/slurm/slurm.conf && sprio -h -l
echo --";

/// What is asked as well where a case is about slurmds.
const LOOK_AT_NODES: &str = "scontrol -a -o show nodes";

/// The second in which slurmctld began to look at its queue and at limits. With a fast clock this is
/// a while after it was started.
const BEGAN: &str = "date +%s -d \"$(sed -n \
's/^\\[\\([^]]*\\)\\] Running as primary controller.*/\\1/p' /var/log/slurm/slurmctld.log)\"";

/// Does what a case says on a real Slurm, and writes down when things happened.
pub fn record(options: &LabOptions, case: &Case) -> Result<Case, LabError> {
    let options = options.released(case.cluster.release);
    let mut lab = Lab::start(&with_accounting(&options, case), &case.cluster)?;
    let boot = lab.run(BEGAN)?;
    let boot: u64 = boot.trim().parse().unwrap_or(0);
    let about_slurmds = case.cluster.slurm_conf.contains("SlurmdTimeout");
    let nodes = if about_slurmds { LOOK_AT_NODES } else { "" };
    let mut done = Case { epoch: boot, steps: vec![], ..case.clone() };
    for Step { operation, .. } in &case.steps {
        let typed = command(&mut lab.plumbing, operation)?;
        let said = lab.run(&format!("date +%s.%N\n{typed}\n{LOOK}\n{nodes}\n"))?;
        let (asked, rest) = said.split_once('\n').unwrap_or_default();
        let (answer, rest) = split_answer(operation, rest);
        let (seen, rest) = rest.split_once('\n').unwrap_or_default();
        let record = Record {
            asked_ms: milliseconds(asked, boot).max(taken_in(rest, &answer, boot)),
            seen_ms: milliseconds(seen, boot),
            answer,
            view: read(rest, boot),
        };
        done.steps.push(Step { operation: operation.clone(), record: Some(record) });
    }
    Ok(done)
}

/// When slurmctld took the new job in: on a fast clock that may be a second later than it was typed,
/// and ages count from there.
fn taken_in(jobs: &str, answer: &Answer, boot: u64) -> u64 {
    let Answer::Done(Some(job)) = answer else { return 0 };
    let job = format!("JobId={job} ");
    let line = jobs.lines().find(|line| line.starts_with(&job));
    let second = line.and_then(|line| value(line, "SubmitTime")?.parse::<u64>().ok());
    second.unwrap_or(0).saturating_sub(boot) * 1000
}

/// slurmdbd, where the cluster has one: without it slurmctld gives age no weight.
fn with_accounting(options: &LabOptions, case: &Case) -> LabOptions {
    let accounting = case.cluster.slurm_conf.contains("accounting_storage/slurmdbd");
    options.clone().with(Services { accounting, ..options.services })
}

fn read(said: &str, boot: u64) -> View {
    let (jobs, rest) = said.split_once("--\n").unwrap_or((said, ""));
    let (priorities, nodes) = rest.split_once("--\n").unwrap_or((rest, ""));
    let mut view = View::default();
    for line in jobs.lines().filter(|line| line.starts_with("JobId=")) {
        put_job(line, boot, &mut view);
    }
    for line in priorities.lines() {
        super::put_priority(line, &mut view);
    }
    for line in nodes.lines().filter(|line| line.starts_with("NodeName=")) {
        put_node(line, boot, &mut view);
    }
    view
}

/// A node's state, and since when it is given up.
fn put_node(line: &str, boot: u64, view: &mut View) {
    let get = |key: &str| value(line, key).unwrap_or_default();
    let node = format!("node {}", get("NodeName"));
    let reason = line.split("Reason=Not responding [").nth(1);
    let second = reason.and_then(|text| text.split(['@', ']']).nth(1)?.parse::<u64>().ok());
    if let Some(second) = second {
        view.set(&node, "lost", second.saturating_sub(boot).to_string());
    }
    view.set(&node, "state", get("State"));
}

fn put_job(line: &str, boot: u64, view: &mut View) {
    let get = |key: &str| value(line, key).unwrap_or_default();
    let job = format!("job {}", get("JobId"));
    let state = get("JobState");
    let mut put = |key: &str, field: &str| {
        if let Ok(second) = get(field).parse::<u64>() {
            view.set(&job, key, second.saturating_sub(boot).to_string());
        }
    };
    match state.as_str() {
        "PENDING" => put("expected", "StartTime"),
        "RUNNING" => put("start", "StartTime"),
        _ => {
            put("start", "StartTime");
            put("end", "EndTime");
        }
    }
    view.set(&job, "state", state);
}

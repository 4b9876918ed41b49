//! Slurm: its jobs and nodes, asked for again and again, as rows.

use std::{collections::BTreeMap, time::Duration};

use drawbridge_bridge::slurm::{
    calls::{Jobs, Nodes},
    session::{Line, SessionError, SessionSettings},
    types::{Job, Node, Number},
};
use drawbridge_scenarios::{JobRow, NodeRow};
use drawbridge_sim::{JobId, Span, Time};
use tokio::sync::mpsc;

use super::Seen;

/// Asks until nobody wants to know.
pub(super) async fn poll(
    settings: SessionSettings,
    every: Duration,
    zero: u64,
    to: mpsc::Sender<Seen>,
) {
    let who = "slurmrestd".to_owned();
    let line = match Line::new(settings) {
        Ok(line) => line,
        Err(error) => {
            let _ = to.send(Seen::Trouble(who, Some(words(&error)))).await;
            return;
        }
    };
    loop {
        let seen = match ask(&line, zero).await {
            Ok((jobs, nodes)) => {
                let _ = to.send(Seen::Trouble(who.clone(), None)).await;
                Seen::Slurm(jobs, nodes)
            }
            Err(error) => Seen::Trouble(who.clone(), Some(words(&error))),
        };
        if to.send(seen).await.is_err() {
            return;
        }
        tokio::time::sleep(every).await;
    }
}

fn words(error: &SessionError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

async fn ask(line: &Line, zero: u64) -> Result<(Vec<JobRow>, Vec<NodeRow>), SessionError> {
    let jobs = line.ask(&Jobs).await?.items;
    let nodes = line.ask(&Nodes).await?.items;
    let mut rows: BTreeMap<String, NodeRow> =
        nodes.iter().map(|node| (node.name.clone(), node_row(node))).collect();
    let shapes: BTreeMap<&str, &Node> =
        nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    for job in jobs.iter().filter(|job| job.is("RUNNING") || job.is("SUSPENDED")) {
        hold(job, &mut rows, &shapes);
    }
    Ok((jobs.iter().map(|job| job_row(job, zero)).collect(), rows.into_values().collect()))
}

/// A time of Slurm's, in seconds since the epoch, as a point since zero.
fn moment(number: Number, zero: u64) -> Option<Time> {
    let secs = number.moment()?;
    Some(Time::from_ms((secs * 1000).saturating_sub(zero)))
}

fn job_row(job: &Job, zero: u64) -> JobRow {
    let pending = job.is("PENDING");
    let begun = ["RUNNING", "SUSPENDED"].iter().any(|state| job.is(state));
    let ended = !pending && !begun;
    let text = |text: &str| (!matches!(text, "" | "None" | "(null)")).then(|| text.to_owned());
    let start = moment(job.start_time, zero);
    // The last word counts: flags cover the base state, as in squeue.
    let state = job.job_state.last().cloned().unwrap_or_default();
    JobRow {
        job_id: JobId(job.job_id),
        name: job.name.clone(),
        user: job.user_name.clone(),
        account: text(&job.account),
        partition: job.partition.clone(),
        state,
        reason: text(&job.state_reason).filter(|_| pending || ended),
        nodes: job.nodes.clone(),
        cpus: u32::try_from(job.cpus.or_zero()).unwrap_or(u32::MAX),
        min_nodes: u32::try_from(job.node_count.or_zero()).unwrap_or(u32::MAX),
        tasks: u32::try_from(job.tasks.or_zero()).unwrap_or(u32::MAX),
        time_limit_ms: job.time_limit.get().map(Span::mins),
        qos: text(&job.qos),
        dependency: text(&job.dependency),
        priority: u32::try_from(job.priority.or_zero()).unwrap_or(u32::MAX),
        factors: vec![],
        expected_start_ms: start.filter(|_| pending),
        backfilled: false,
        bridged: is_bridged(job),
        submit_ms: moment(job.submit_time, zero).unwrap_or(Time::ZERO),
        // What was cancelled before it began has a start that is its end.
        start_ms: start.filter(|_| begun || (ended && !job.nodes.is_empty())),
        end_ms: moment(job.end_time, zero).filter(|_| ended),
        exit_code: ended.then(|| {
            let (code, signal) = (job.exit_code.return_code, job.exit_code.signal.id);
            format!("{}:{}", code.or_zero(), signal.or_zero())
        }),
    }
}

/// Whether the bridge has written on it whose pods it stands for.
fn is_bridged(job: &Job) -> bool {
    let comment: Option<serde_json::Value> = serde_json::from_str(&job.admin_comment).ok();
    comment.is_some_and(|comment| comment["pods"].is_array())
}

fn node_row(node: &Node) -> NodeRow {
    let gpus = count_gpus(&node.gres);
    NodeRow {
        name: node.name.clone(),
        slurm_name: Some(node.name.clone()),
        state: state(node),
        reason: Some(node.reason.clone()).filter(|reason| !reason.is_empty()),
        cordoned: false,
        partitions: node.partitions.clone(),
        switch: switch(&node.topology),
        conditions: vec![],
        taints: vec![],
        cpus: node.cpus,
        cpus_alloc: u32::try_from(node.alloc_cpus).unwrap_or(0),
        memory_mb: node.real_memory,
        memory_alloc_mb: u64::try_from(node.alloc_memory).unwrap_or(0),
        gres: node.gres.clone(),
        gres_alloc: node.gres_used.clone(),
        cpu_holders: vec![None; node.cpus as usize],
        gpu_holders: vec![None; gpus],
        pods: vec![],
    }
}

/// The last part of `topo-switch:root:s2`.
fn switch(topology: &str) -> Option<String> {
    let first = topology.split(',').next()?;
    first.rsplit(':').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The state as sinfo's short form has it.
fn state(node: &Node) -> String {
    let busy = ["ALLOCATED", "MIXED", "COMPLETING"].iter().any(|state| node.is(state));
    let base = node.state.first().map_or("", String::as_str);
    let short = match base {
        _ if node.is("DRAIN") => {
            if busy {
                "drng"
            } else {
                "drain"
            }
        }
        "DOWN" => "down",
        _ if node.is("MAINTENANCE") => "maint",
        _ if node.is("COMPLETING") => "comp",
        "ALLOCATED" => "alloc",
        "MIXED" => "mix",
        _ if node.is("RESERVED") => "resv",
        _ if node.is("PLANNED") => "plnd",
        "IDLE" => "idle",
        "FUTURE" => "futr",
        "ERROR" => "err",
        _ => "unk",
    };
    format!("{short}{}", if node.is("NOT_RESPONDING") { "*" } else { "" })
}

/// How many GPUs `gpu:a100:4(S:0-1),gpu:2` stands for.
fn count_gpus(gres: &str) -> usize {
    let each = gres.split(',').filter(|it| it.starts_with("gpu"));
    let count = |it: &str| {
        let it = it.split('(').next().unwrap_or_default();
        it.rsplit(':').next().and_then(|count| count.parse::<usize>().ok()).unwrap_or(1)
    };
    each.map(count).sum()
}

/// Puts a running job where it is.
fn hold(job: &Job, rows: &mut BTreeMap<String, NodeRow>, shapes: &BTreeMap<&str, &Node>) {
    let Some(resources) = &job.job_resources else { return };
    let id = JobId(job.job_id);
    for (place, on) in resources.allocation.iter().enumerate() {
        let (Some(row), Some(node)) = (rows.get_mut(&on.name), shapes.get(on.name.as_str())) else {
            continue;
        };
        let number = |it: i64| usize::try_from(it).unwrap_or(1).max(1);
        let (per_socket, threads) = (number(node.cores), number(node.threads));
        for core in &on.cores {
            let first = (core.socket as usize * per_socket + core.core as usize) * threads;
            for cpu in first..first + threads {
                if let Some(holder) = row.cpu_holders.get_mut(cpu) {
                    *holder = Some(id);
                }
            }
        }
        for gpu in job.gres_detail.get(place).map(|it| indexes(it)).unwrap_or_default() {
            if let Some(holder) = row.gpu_holders.get_mut(gpu) {
                *holder = Some(id);
            }
        }
    }
}

/// The devices in `gpu:2(IDX:0-1,3)`.
fn indexes(detail: &str) -> Vec<usize> {
    let list = detail.split_once("IDX:").map(|(_, rest)| rest.trim_end_matches(')'));
    let parts = list.into_iter().flat_map(|list| list.split(','));
    let range = |part: &str| -> Option<Vec<usize>> {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some((from.trim().parse().ok()?..=to.trim().parse().ok()?).collect())
    };
    parts.filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_as_sinfo_shortens_them() {
        let short = |words: &[&str]| {
            state(&Node {
                state: words.iter().map(|it| (*it).to_owned()).collect(),
                ..Node::default()
            })
        };
        #[rustfmt::skip]
        let rows = [
            (&["IDLE"][..],                   "idle"),
            (&["MIXED"],                      "mix"),
            (&["ALLOCATED", "COMPLETING"],    "comp"),
            (&["IDLE", "DRAIN"],              "drain"),
            (&["MIXED", "DRAIN"],             "drng"),
            (&["DOWN", "NOT_RESPONDING"],     "down*"),
            (&["IDLE", "PLANNED"],            "plnd"),
            (&["SOMETHING"],                  "unk"),
            (&[],                             "unk"),
        ];
        for (words, want) in rows {
            assert_eq!(short(words), want, "{words:?}");
        }
    }

    #[test]
    fn gpus_are_counted_and_their_places_read() {
        assert_eq!(count_gpus("gpu:a100:4(S:0-1),gpu:2,shard:8"), 6);
        assert_eq!(count_gpus("gpu"), 1);
        assert_eq!(count_gpus(""), 0);
        assert_eq!(indexes("gpu:3(IDX:0-1,3)"), [0, 1, 3]);
        assert_eq!(indexes("gpu:0"), [0_usize; 0]);
    }

    #[test]
    fn a_job_that_waits_has_an_expected_start_and_no_start() {
        let job = |state: &str| Job {
            job_id: 7,
            job_state: vec![state.to_owned()],
            start_time: Number::Is(1_000_060),
            end_time: Number::Is(1_000_090),
            nodes: "n1".to_owned(),
            ..Job::default()
        };
        let zero = 1_000_000_000;
        let waits = job_row(&job("PENDING"), zero);
        assert_eq!((waits.start_ms, waits.expected_start_ms), (None, Some(Time::from_ms(60_000))));
        let over = job_row(&job("COMPLETED"), zero);
        assert_eq!(
            (over.start_ms, over.end_ms),
            (Some(Time::from_ms(60_000)), Some(Time::from_ms(90_000)))
        );
    }
}

//! A small run made by hand: a gang waits for a job with GPUs, then runs; one node is drained.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_scenarios::{
    Actor, Frame, JobRow, Level, MpiRow, NodeRow, PodRow, Record, Subject,
    recording::{Change, Chunk, Ending},
};
use drawbridge_sim::{JobId, Span, Time};

/// The run: its records are its events.
pub(super) struct Cluster;

/// Events that have happened once …
pub(super) const TRAINING: u64 = 2;
pub(super) const DRAINED: u64 = 3;
pub(super) const CREATED: u64 = 8;
pub(super) const SUBMITTED: u64 = 10;
pub(super) const WAITING: u64 = 12;
pub(super) const SERVING: u64 = 14;
pub(super) const TRAINED: u64 = 15;
pub(super) const ALLOCATED: u64 = 16;
pub(super) const BOUND: u64 = 20;
pub(super) const RUNNING: u64 = 24;
pub(super) const DONE: u64 = 25;

const MESSAGE: &str =
    "Slurm job 2 is PENDING: Resources. Expected start: not known yet.\nNodes asked for: 2.";

impl Cluster {
    /// The whole run in one piece.
    pub(super) fn chunk() -> Chunk {
        let records: Vec<Record> = (0..TOLD.len()).map(record).collect();
        let mut changes = vec![];
        let mut before: Option<Frame> = None;
        for event in 0..=records.len() as u64 {
            let frame = frame(&records, event);
            differences(before.as_ref(), &frame, |change| changes.push((event, change)));
            before = Some(frame);
        }
        let now = records.last().map_or(Time::ZERO, |record| record.at);
        Chunk { records, changes, now, ending: Some(Ending::default()) }
    }
}

/// The world after so many events.
pub(super) fn frame(records: &[Record], event: u64) -> Frame {
    let last = records.get((event as usize).wrapping_sub(1));
    Frame {
        now: last.map_or(Time::ZERO, |record| record.at),
        events: event,
        bridge_up: Some(event != SUBMITTED),
        pods: pods(event),
        jobs: jobs(event),
        nodes: nodes(event),
        metrics: BTreeMap::new(),
    }
}

/// What one moment has that the one before hadn't.
fn differences(before: Option<&Frame>, now: &Frame, mut note: impl FnMut(Change)) {
    let pods = before.map_or(&[][..], |it| &it.pods);
    let jobs = before.map_or(&[][..], |it| &it.jobs);
    let nodes = before.map_or(&[][..], |it| &it.nodes);
    let new_pods = now.pods.iter().filter(|it| !pods.contains(it)).cloned();
    new_pods.for_each(|it| note(Change::Pod(Arc::new(it))));
    let new_jobs = now.jobs.iter().filter(|it| !jobs.contains(it)).cloned();
    new_jobs.for_each(|it| note(Change::Job(Arc::new(it))));
    let new_nodes = now.nodes.iter().filter(|it| !nodes.contains(it)).cloned();
    new_nodes.for_each(|it| note(Change::Node(Arc::new(it))));
    if before.and_then(|it| it.bridge_up) != now.bridge_up {
        now.bridge_up.into_iter().for_each(|up| note(Change::Bridge(up)));
    }
    // Slurm looked at its queue before it started something.
    if matches!(now.events, TRAINING | ALLOCATED) {
        note(Change::Cycles(1));
    }
}

/// Milliseconds, actor, what it is about, sentence. A dot before the sentence makes it a detail.
#[rustfmt::skip]
const TOLD: [(u64, Actor, &str, &str); 25] = [
    (0,         Actor::User,    "job 1",             "submitted job 1 train"),
    (0,         Actor::Slurm,   "job 1",             "started job 1 on compute-[0,2]"),
    (1_000,     Actor::User,    "node compute-3",    "drained compute-3: disk"),
    (10_000,    Actor::User,    "PodGroup mpi/ring", "applied PodGroup mpi/ring"),
    (10_000,    Actor::Kube,    "pod mpi/ring-0",    "created pod mpi/ring-0"),
    (10_000,    Actor::Kube,    "pod mpi/ring-1",    "created pod mpi/ring-1"),
    (10_000,    Actor::Kube,    "pod mpi/ring-2",    "created pod mpi/ring-2"),
    (10_000,    Actor::Kube,    "pod mpi/ring-3",    "created pod mpi/ring-3"),
    (10_100,    Actor::Bridge,  "PodGroup mpi/ring", ".asked for PodGroup mpi/ring"),
    (10_200,    Actor::Bridge,  "job 2",             "submitted job 2 for gang mpi/ring"),
    (10_300,    Actor::Slurm,   "job 2",             "let job 2 wait: Resources"),
    (12_000,    Actor::Bridge,  "pod mpi/ring-0",    ".patched the status of mpi/ring-0"),
    (60_000,    Actor::User,    "pod web/模型训练",   "applied pod web/模型训练"),
    (61_000,    Actor::Kube,    "pod web/模型训练",   "bound web/模型训练 to control-plane"),
    (600_000,   Actor::Slurm,   "job 1",             "ended job 1: COMPLETED"),
    (600_500,   Actor::Slurm,   "job 2",             "started job 2 on compute-[0-1]"),
    (601_000,   Actor::Bridge,  "pod mpi/ring-0",    "bound mpi/ring-0 to worker-node-0"),
    (601_000,   Actor::Bridge,  "pod mpi/ring-1",    "bound mpi/ring-1 to worker-node-0"),
    (601_000,   Actor::Bridge,  "pod mpi/ring-2",    "bound mpi/ring-2 to worker-node-1"),
    (601_000,   Actor::Bridge,  "pod mpi/ring-3",    "bound mpi/ring-3 to worker-node-1"),
    (602_000,   Actor::Kubelet, "pod mpi/ring-0",    "ran mpi/ring-0"),
    (602_000,   Actor::Kubelet, "pod mpi/ring-1",    "ran mpi/ring-1"),
    (602_000,   Actor::Kubelet, "pod mpi/ring-2",    "ran mpi/ring-2"),
    (602_000,   Actor::Kubelet, "pod mpi/ring-3",    "ran mpi/ring-3"),
    (1_800_000, Actor::Slurm,   "job 2",             "ended job 2: COMPLETED"),
];

fn record(seq: usize) -> Record {
    let (ms, actor, about, text) = TOLD[seq];
    let (level, text) = match text.strip_prefix('.') {
        Some(text) => (Level::Detail, text),
        None => (Level::Story, text),
    };
    Record {
        seq: seq as u64,
        at: Time::from_ms(ms),
        actor,
        level,
        subject: subject(about),
        text: text.to_owned(),
        digest: 0,
    }
}

fn subject(about: &str) -> Subject {
    match about.split_once(' ').unwrap() {
        ("job", id) => Subject::Job(JobId(id.parse().unwrap())),
        ("node", name) => Subject::SlurmNode(name.to_owned()),
        ("pod", pod) => {
            let (namespace, name) = pod.split_once('/').unwrap();
            Subject::Pod { namespace: namespace.to_owned(), name: name.to_owned() }
        }
        _ => Subject::Object(about.to_owned()),
    }
}

fn pods(event: u64) -> Vec<PodRow> {
    let created = event.min(CREATED).saturating_sub(CREATED - 4);
    let mut pods: Vec<PodRow> = (0..created).map(|rank| ring(event, rank)).collect();
    if WAITING < event {
        pods.push(serving(event));
    }
    pods
}

fn ring(event: u64, rank: u64) -> PodRow {
    let bound = BOUND - 4 + rank < event;
    let runs = RUNNING - 4 + rank < event;
    let waits = SUBMITTED < event && !bound;
    let phase = match (event, runs) {
        (DONE.., _) => "Succeeded",
        (_, true) => "Running",
        (_, false) => "Pending",
    };
    PodRow {
        namespace: "mpi".to_owned(),
        name: format!("ring-{rank}"),
        uid: format!("uid-{rank}"),
        phase: phase.to_owned(),
        reason: waits.then(|| "Resources".to_owned()),
        message: waits.then(|| MESSAGE.to_owned()),
        node: bound.then(|| format!("worker-node-{}", rank / 2)),
        slurm_node: bound.then(|| format!("compute-{}", rank / 2)),
        job_id: (SUBMITTED <= event).then_some(JobId(2)),
        gang: Some("ring".to_owned()),
        owner: None,
        rank: None,
        mpi: Some(MpiRow {
            program: "ring".to_owned(),
            ranks: 4,
            barrier: runs.then(|| "ranks are here".to_owned()),
            met: RUNNING <= event,
        }),
        labels: BTreeMap::from([("app".to_owned(), "ring".to_owned())]),
        scheduler: "slurm-bridge-scheduler".to_owned(),
        conditions: vec![],
        terminating: false,
        created_ms: Time::from_ms(10_000),
        bound_ms: bound.then_some(Time::from_ms(601_000)),
        started_ms: runs.then_some(Time::from_ms(602_000)),
        finished_ms: (event == DONE).then_some(Time::from_ms(1_800_000)),
    }
}

fn serving(event: u64) -> PodRow {
    let bound = SERVING <= event;
    PodRow {
        namespace: "web".to_owned(),
        name: "模型训练".to_owned(),
        uid: "uid-web".to_owned(),
        phase: if bound { "Running" } else { "Pending" }.to_owned(),
        node: bound.then(|| "control-plane".to_owned()),
        slurm_node: None,
        job_id: None,
        gang: None,
        owner: Some("Deployment/web".to_owned()),
        mpi: None,
        labels: BTreeMap::from([("app".to_owned(), "web".to_owned())]),
        reason: None,
        message: None,
        scheduler: "default-scheduler".to_owned(),
        conditions: vec![],
        created_ms: Time::from_ms(60_000),
        ..ring(0, 0)
    }
}

fn jobs(event: u64) -> Vec<JobRow> {
    let mut jobs = Vec::new();
    if 0 < event {
        jobs.push(train(event));
    }
    if SUBMITTED <= event {
        jobs.push(ring_job(event));
    }
    jobs
}

fn train(event: u64) -> JobRow {
    let (started, ended) = (TRAINING <= event, TRAINED <= event);
    JobRow {
        job_id: JobId(1),
        name: "train".to_owned(),
        user: "alice".to_owned(),
        account: Some("research".to_owned()),
        partition: "batch".to_owned(),
        state: state(started, ended).to_owned(),
        reason: None,
        nodes: if started { "compute-[0,2]" } else { "" }.to_owned(),
        cpus: 36,
        min_nodes: 2,
        tasks: 36,
        time_limit_ms: Some(Span::mins(20)),
        qos: None,
        dependency: None,
        priority: 100,
        factors: vec![("age".to_owned(), 60), ("partition".to_owned(), 40)],
        expected_start_ms: None,
        backfilled: false,
        bridged: false,
        submit_ms: Time::ZERO,
        start_ms: started.then_some(Time::ZERO),
        end_ms: ended.then_some(Time::from_ms(600_000)),
        exit_code: ended.then(|| "0:0".to_owned()),
    }
}

fn ring_job(event: u64) -> JobRow {
    let (started, ended) = (ALLOCATED <= event, DONE <= event);
    JobRow {
        job_id: JobId(2),
        name: "ring".to_owned(),
        user: "slurm".to_owned(),
        account: None,
        state: state(started, ended).to_owned(),
        reason: (SUBMITTED < event && !started).then(|| "Resources".to_owned()),
        nodes: if started { "compute-[0-1]" } else { "" }.to_owned(),
        cpus: 16,
        tasks: 4,
        time_limit_ms: None,
        expected_start_ms: (WAITING <= event && !started).then_some(Time::from_ms(1_200_000)),
        bridged: true,
        submit_ms: Time::from_ms(10_200),
        start_ms: started.then_some(Time::from_ms(600_500)),
        end_ms: ended.then_some(Time::from_ms(1_800_000)),
        exit_code: ended.then(|| "0:0".to_owned()),
        ..train(event)
    }
}

fn state(started: bool, ended: bool) -> &'static str {
    match (started, ended) {
        (_, true) => "COMPLETED",
        (true, false) => "RUNNING",
        (false, false) => "PENDING",
    }
}

fn nodes(event: u64) -> Vec<NodeRow> {
    let train = (TRAINING..TRAINED).contains(&event).then_some(JobId(1));
    let ring = (ALLOCATED..DONE).contains(&event).then_some(JobId(2));
    let on_0 = match (train, ring) {
        (Some(_), _) => held(train, 4, 8),
        (None, _) => held(ring, 8, 8),
    };
    let mut nodes = vec![
        node(0, on_0, held(train, 1, 2)),
        node(1, held(ring, 8, 8), Vec::new()),
        node(2, held(train, 32, 64), held(train, 4, 4)),
        node(3, held(None, 0, 8), Vec::new()),
    ];
    if DRAINED <= event {
        nodes[3].state = "drain".to_owned();
        nodes[3].reason = Some("disk".to_owned());
        nodes[3].cordoned = true;
    }
    nodes.push(NodeRow {
        name: "control-plane".to_owned(),
        slurm_name: None,
        state: "-".to_owned(),
        partitions: vec![],
        pods: (SERVING <= event).then(|| "web/模型训练".to_owned()).into_iter().collect(),
        ..node(9, held(None, 0, 4), Vec::new())
    });
    nodes
}

/// The first `n` of `total` are held.
fn held(by: Option<JobId>, n: usize, total: usize) -> Vec<Option<JobId>> {
    (0..total).map(|i| by.filter(|_| i < n)).collect()
}

fn node(i: u32, cpus: Vec<Option<JobId>>, gpus: Vec<Option<JobId>>) -> NodeRow {
    let cpus_alloc = cpus.iter().flatten().count();
    let state = match cpus_alloc {
        0 => "idle",
        n if n == cpus.len() => "alloc",
        _ => "mix",
    };
    let gres = |n: usize| {
        if 0 < n { format!("gpu:{n}") } else { String::new() }
    };
    NodeRow {
        name: format!("worker-node-{i}"),
        slurm_name: Some(format!("compute-{i}")),
        state: state.to_owned(),
        reason: None,
        cordoned: false,
        partitions: vec!["batch".to_owned()],
        switch: None,
        conditions: vec![],
        taints: vec![],
        cpus: cpus.len() as u32,
        cpus_alloc: cpus_alloc as u32,
        memory_mb: cpus.len() as u64 * 4096,
        memory_alloc_mb: cpus_alloc as u64 * 2000,
        gres: gres(gpus.len()),
        gres_alloc: gres(gpus.iter().flatten().count()),
        cpu_holders: cpus,
        gpu_holders: gpus,
        pods: Vec::new(),
    }
}

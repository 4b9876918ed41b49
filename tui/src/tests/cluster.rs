//! A small run made by hand: a gang waits for a job with GPUs, then runs; one node is drained.

use std::collections::BTreeMap;

use drawbridge_scenarios::{Actor, Frame, JobRow, Level, NodeRow, PodRow, Record, Subject};
use drawbridge_sim::{JobId, Time};

use crate::Source;

/// The run: its records are its events.
pub(super) struct Cluster {
    records: Vec<Record>,
}

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
    pub(super) fn new() -> Self {
        let records = told().into_iter().enumerate();
        Self {
            records: records
                .map(|(seq, (ms, actor, level, subject, text))| Record {
                    seq: seq as u64,
                    at: Time::from_ms(ms),
                    actor,
                    level,
                    subject,
                    text,
                    digest: 0,
                })
                .collect(),
        }
    }
}

impl Source for Cluster {
    fn len(&self) -> u64 {
        self.records.len() as u64
    }

    fn frame(&self, event: u64) -> Frame {
        let event = event.min(self.len());
        let last = self.records.get((event as usize).wrapping_sub(1));
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

    fn records(&self) -> &[Record] {
        &self.records
    }

    fn event_at(&self, time: Time) -> u64 {
        self.records.partition_point(|record| record.at <= time) as u64
    }
}

type Told = (u64, Actor, Level, Subject, String);

fn told() -> Vec<Told> {
    use Level::{Detail, Story};
    let ring = |rank: u32| pod_subject("mpi", &format!("ring-{rank}"));
    let job = |id| Subject::Job(JobId(id));
    let group = Subject::Object("PodGroup mpi/ring".to_owned());
    let mut told = vec![
        (
            0,
            Actor::User,
            Story,
            job(1),
            "submitted job 1 train".to_owned(),
        ),
        (
            0,
            Actor::Slurm,
            Story,
            job(1),
            "started job 1 on compute-[0,2]".to_owned(),
        ),
        (
            1000,
            Actor::User,
            Story,
            Subject::SlurmNode("compute-3".to_owned()),
            "drained compute-3: disk".to_owned(),
        ),
        (
            10_000,
            Actor::User,
            Story,
            group.clone(),
            "applied PodGroup mpi/ring".to_owned(),
        ),
    ];
    told.extend((0..4).map(|rank| {
        (
            10_000,
            Actor::Kube,
            Story,
            ring(rank),
            format!("created pod mpi/ring-{rank}"),
        )
    }));
    told.extend([
        (
            10_100,
            Actor::Bridge,
            Detail,
            group,
            "asked for PodGroup mpi/ring".to_owned(),
        ),
        (
            10_200,
            Actor::Bridge,
            Story,
            job(2),
            "submitted job 2 for gang mpi/ring".to_owned(),
        ),
        (
            10_300,
            Actor::Slurm,
            Story,
            job(2),
            "let job 2 wait: Resources".to_owned(),
        ),
        (
            12_000,
            Actor::Bridge,
            Detail,
            ring(0),
            "patched the status of mpi/ring-0".to_owned(),
        ),
        (
            60_000,
            Actor::User,
            Story,
            pod_subject("web", "模型训练"),
            "applied pod web/模型训练".to_owned(),
        ),
        (
            61_000,
            Actor::Kube,
            Story,
            pod_subject("web", "模型训练"),
            "bound web/模型训练 to control-plane".to_owned(),
        ),
        (
            600_000,
            Actor::Slurm,
            Story,
            job(1),
            "ended job 1: COMPLETED".to_owned(),
        ),
        (
            600_500,
            Actor::Slurm,
            Story,
            job(2),
            "started job 2 on compute-[0-1]".to_owned(),
        ),
    ]);
    told.extend((0..4).map(|rank| {
        let text = format!("bound mpi/ring-{rank} to worker-node-{}", rank / 2);
        (601_000, Actor::Bridge, Story, ring(rank), text)
    }));
    told.extend((0..4).map(|rank| {
        (
            602_000,
            Actor::Kubelet,
            Story,
            ring(rank),
            format!("ran mpi/ring-{rank}"),
        )
    }));
    told.push((
        1_800_000,
        Actor::Slurm,
        Story,
        job(2),
        "ended job 2: COMPLETED".to_owned(),
    ));
    told
}

fn pod_subject(namespace: &str, name: &str) -> Subject {
    Subject::Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
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
        scheduler: "slurm-bridge-scheduler".to_owned(),
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
        reason: None,
        message: None,
        scheduler: "default-scheduler".to_owned(),
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
        priority: 100,
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
        pods: (SERVING <= event)
            .then(|| "web/模型训练".to_owned())
            .into_iter()
            .collect(),
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
        if 0 < n {
            format!("gpu:{n}")
        } else {
            String::new()
        }
    };
    NodeRow {
        name: format!("worker-node-{i}"),
        slurm_name: Some(format!("compute-{i}")),
        state: state.to_owned(),
        reason: None,
        cordoned: false,
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

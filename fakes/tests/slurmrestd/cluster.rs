//! The cluster of the recordings, as a model: eight nodes, two partitions.

use drawbridge_fakes::{Method, Request, Response, slurmrestd};
use drawbridge_sim::{Epoch, Release, SlurmConfig, Slurmctld, Span, Time};
use serde_json::{Value, json};

const SLURM_CONF: &str = "\
ClusterName=fx
SlurmctldHost=slurmhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
GresTypes=gpu
NodeName=n[001-008] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Gres=gpu:8
PartitionName=main Nodes=ALL Default=YES
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=60
";

/// The moment at which the recording began.
const BEGAN: u64 = 1_794_789_390;

/// A model and the time in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// The model.
    pub(crate) ctld: Slurmctld,
    now: Time,
}

impl Cluster {
    /// A cluster on which nothing has happened.
    pub(crate) fn new(release: Release) -> Self {
        let config = SlurmConfig::parse(SLURM_CONF, None, release).unwrap().config;
        Self { ctld: Slurmctld::new(config, Epoch::from_unix(BEGAN)), now: Time::ZERO }
    }

    /// Lets time go by.
    pub(crate) fn wait(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(at) = self.ctld.next_wake().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.ctld.wake(self.now);
        }
        self.now = until;
    }

    /// One request, a millisecond after the last.
    pub(crate) fn ask(&mut self, request: &Request) -> Response {
        self.now = self.now + Span::ms(1);
        slurmrestd::handle(&mut self.ctld, self.now, request)
    }

    /// One request by parts.
    pub(crate) fn call(&mut self, user: &str, line: &str, body: Option<Value>) -> Response {
        self.ask(&request(user, line, body))
    }

    /// Submits a job and gives its number.
    pub(crate) fn submit(&mut self, user: &str, job: &Value) -> u64 {
        let body = json!({ "script": "#!/bin/bash\nsleep infinity\n", "job": with_needs(job) });
        let reply = self.call(user, "POST job/submit", Some(body));
        let id = reply.body["job_id"].as_u64();
        id.unwrap_or_else(|| panic!("no job: {} {}", reply.status, reply.body))
    }
}

/// `GET jobs?flags=ALL` of v0.0.42 as a request.
pub(crate) fn request(user: &str, line: &str, body: Option<Value>) -> Request {
    let (method, path) = line.split_once(' ').unwrap();
    let path = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("/slurm/v0.0.42/{path}"),
    };
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let mut request = Request::new(user, read_method(method), path);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        request = request.with_query(key, value);
    }
    match body {
        Some(body) => request.with_body(body),
        None => request,
    }
}

fn read_method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        other => panic!("no method {other}"),
    }
}

/// The job with what every submission needs.
pub(crate) fn with_needs(job: &Value) -> Value {
    let mut all = json!({
        "name": "placeholder",
        "current_working_directory": "/tmp",
        "environment": ["PATH=/usr/bin:/bin"],
        "tasks": 1,
        "time_limit": 60,
        "partition": "main",
    });
    for (key, value) in job.as_object().unwrap() {
        all[key] = value.clone();
    }
    all
}

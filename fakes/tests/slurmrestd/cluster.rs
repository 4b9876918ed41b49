//! The cluster of the recordings, as a model: eight nodes, two partitions, accounts.

use drawbridge_fakes::{
    Method, Request, Response,
    slurmrestd::{Peer, RestRequest, RestResponse, Slurm, token::Key},
};
use drawbridge_sim::{
    Account, Association, DbUser, Epoch, Qos, Release, SlurmConfig, Slurmctld, Span, Time,
};
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

const ACCOUNTING: &str = "\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
";

/// The moment at which the recording began.
pub(crate) const BEGAN: u64 = 1_794_789_390;

/// A model and the time in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// The model.
    pub(crate) slurm: Slurm,
    now: Time,
}

impl Cluster {
    /// A cluster without accounting on which nothing has happened.
    pub(crate) fn new(release: Release) -> Self {
        Self::of(release, SLURM_CONF)
    }

    /// The recordings' own: account `proj`, users alice and bob, QOS `high` and `low`.
    pub(crate) fn accounted(release: Release) -> Self {
        let mut cluster = Self::of(release, &format!("{ACCOUNTING}{SLURM_CONF}"));
        cluster.slurm.with_dbd(|dbd| {
            dbd.put_account(Account::new("proj", "p", "o"));
            dbd.associate(Association::of_account("fx", "proj", None));
            dbd.update_qos(Qos { priority: 100, ..Qos::new("high", "high") });
            dbd.update_qos(Qos::new("low", "low"));
            for user in ["alice", "bob"] {
                dbd.put_user(DbUser::new(user));
                let mut association = Association::of_user("fx", "proj", user);
                association.qos = ["high", "low", "normal"].map(str::to_owned).into();
                association.default_qos = Some("normal".into());
                assert!(dbd.associate(association));
            }
        });
        cluster
    }

    fn of(release: Release, conf: &str) -> Self {
        let config = SlurmConfig::parse(conf, None, release).unwrap().config;
        Self { slurm: Slurm::new(config, Epoch::from_unix(BEGAN)), now: Time::ZERO }
    }

    /// slurmctld.
    pub(crate) fn ctld(&self) -> &Slurmctld {
        self.slurm.ctld()
    }

    /// Lets time go by.
    pub(crate) fn wait(&mut self, span: Span) {
        self.now = self.now + span;
        self.slurm.wake(self.now);
    }

    /// One request, a millisecond after the last.
    pub(crate) fn ask(&mut self, request: &Request) -> Response {
        self.now = self.now + Span::ms(1);
        self.slurm.handle(self.now, request, true, &Peer::default())
    }

    /// One request in bytes. Tokens are judged at the moment when the recording began.
    pub(crate) fn send(&mut self, request: &RestRequest) -> RestResponse {
        self.now = self.now + Span::ms(1);
        self.slurm.answer(self.now, BEGAN, &key(), request)
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

/// The key that signs the tokens of these tests.
pub(crate) fn key() -> Key {
    Key::new(b"the key of the tests, 32 bytes..".to_vec())
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

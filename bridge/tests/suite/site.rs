//! A Slurm with two nodes, real or not, and sessions with it.

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use drawbridge_bridge::slurm::{
    calls::{JobById, JobDescription, Submit},
    client::{Address, Settings, SigningKey, TokenSource},
    session::{Session, SessionSettings},
    types::{Job, Number},
};
use drawbridge_core::slurm::ApiVersion::{self, V40, V41, V42, V43, V44, V45};
use drawbridge_fakes::slurmrestd::token::Key;
use drawbridge_oracle::{Cluster, Forward, Lab, LabOptions, Services};
use drawbridge_server::{SlurmOptions, SlurmPlaces, SlurmServer};
use drawbridge_sim::{Account, Association, DbUser, Release, SlurmConfig, Slurmdbd};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const CONF: &str = "\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
Licenses=matlab:4
KillWait=1
MessageTimeout=5
MaxNodeCount=4
NodeName=n[1-2] Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000
PartitionName=main Nodes=ALL Default=YES
";

/// What a lab sets for itself.
const ACCOUNTING: &str = "\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
";

/// A Slurm that runs.
pub(crate) struct Site {
    arm: Arm,
    release: Release,
    key: Vec<u8>,
    /// slurmrestd's.
    pub(crate) socket: PathBuf,
    /// The same over TCP.
    pub(crate) tcp: SocketAddr,
}

enum Arm {
    Fake { server: Option<SlurmServer>, runtime: Runtime, _folder: TempDir },
    Real { lab: Lab, _forward: Forward },
}

impl Site {
    /// The fake, over real sockets.
    pub(crate) fn fake(release: Release) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let key = b"thirty-two bytes that are a key.".to_vec();
        let conf = format!("ClusterName=lab\n{ACCOUNTING}{CONF}");
        let options = SlurmOptions {
            config: SlurmConfig::parse(&conf, None, release).unwrap().config,
            places: SlurmPlaces {
                address: Some("127.0.0.1:0".parse().unwrap()),
                socket: Some(socket.clone()),
            },
            key: Key::new(key.clone()),
            speed: 1.0,
            default_run_time: None,
        };
        let server = runtime.block_on(SlurmServer::start(options)).unwrap();
        server.with(|slurm, _| slurm.with_dbd(fill_accounts));
        let tcp = server.address().unwrap();
        let arm = Arm::Fake { server: Some(server), runtime, _folder: folder };
        Self { arm, release, key, socket, tcp }
    }

    /// A real one; `None`, and a word about it, where none can be started.
    pub(crate) fn real(release: Release) -> Option<Self> {
        if !cfg!(feature = "real-slurm") {
            println!("skipped: .ci/client tries it on a real Slurm");
            return None;
        }
        let services = Services { rest: true, accounting: true };
        let cluster = Cluster { slurm_conf: CONF.into(), ..Cluster::default() };
        let lab = Lab::needed(&LabOptions::of(release).with(services), &cluster);
        let lab = lab.unwrap_or_else(|error| panic!("{error}; {}", error.hint));
        let mut lab = lab.inspect_err(|why| println!("skipped: {why}")).ok()?;
        for words in [
            "add account physics",
            "add user alice account=physics",
            "add user bob account=physics",
        ] {
            lab.run(&format!("sacctmgr -i {words}")).unwrap();
        }
        let key = fs::read(lab.key().unwrap()).unwrap();
        let socket = lab.rest_socket().unwrap();
        let forward = lab.forward("127.0.0.1:0".parse().unwrap()).unwrap();
        let tcp = forward.address();
        Some(Self { arm: Arm::Real { lab, _forward: forward }, release, key, socket, tcp })
    }

    pub(crate) const fn is_real(&self) -> bool {
        matches!(self.arm, Arm::Real { .. })
    }

    /// Runs a command beside the daemons; says whether there are any to run it beside.
    pub(crate) fn run(&mut self, script: &str) -> bool {
        match &mut self.arm {
            Arm::Fake { .. } => false,
            Arm::Real { lab, .. } => {
                lab.run(script).unwrap();
                true
            }
        }
    }

    /// What this release serves, oldest first.
    pub(crate) fn versions(&self) -> &'static [ApiVersion] {
        match self.release {
            Release::V24_11 => &[V40, V41, V42],
            Release::V26_05 => &[V42, V43, V44, V45],
        }
    }

    pub(crate) fn token(&self, user: &str) -> TokenSource {
        TokenSource::Key(SigningKey::new(&self.key, user, Duration::from_secs(600)))
    }

    /// A token by this key that held from here to there.
    pub(crate) fn signed(&self, from: u64, to: u64) -> String {
        SigningKey::new(&self.key, "root", Duration::from_secs(600)).sign(from, to)
    }

    pub(crate) fn address(&self) -> Address {
        format!("unix://{}", self.socket.display()).parse().unwrap()
    }

    pub(crate) fn settings(&self, user: &str) -> SessionSettings {
        let mut client = Settings::new(vec![self.address()]);
        client.token = self.token(user);
        SessionSettings { patience: Duration::from_secs(20), ..SessionSettings::new(client) }
    }

    /// A session of this user in this version.
    pub(crate) fn session(&self, user: &str, version: ApiVersion) -> Session {
        Session::new(SessionSettings { pin: Some(version), ..self.settings(user) }).unwrap()
    }

    /// Submits a job that runs until it gets USR1.
    pub(crate) fn submit(&self, session: &Session) -> String {
        session.ask(&Self::waiting()).unwrap().job_id.to_string()
    }

    /// A job that runs until it gets USR1.
    pub(crate) fn waiting() -> Submit {
        let script = "#!/bin/bash\ntrap 'exit 0' USR1\ntrap 'exit 1' USR2\nsleep 600 & wait\n";
        Submit(JobDescription {
            script: Some(script.into()),
            name: Some("placeholder".into()),
            environment: Some(vec!["PATH=/usr/bin:/bin".into()]),
            current_working_directory: Some("/tmp".into()),
            standard_output: Some("/dev/null".into()),
            standard_error: Some("/dev/null".into()),
            tasks: Some(2),
            memory_per_node: Some(Number::Is(100)),
            time_limit: Some(Number::Is(10)),
            comment: Some("ours".into()),
            ..JobDescription::default()
        })
    }
}

/// The job, once it is in this state.
pub(crate) fn wait_for(session: &Session, job: &str, state: &str) -> Job {
    let mut last = Vec::new();
    for _ in 0..150 {
        let jobs = session.ask(&JobById(job.to_owned())).unwrap();
        let job = jobs.into_iter().next().unwrap();
        if job.is(state) && !job.is("COMPLETING") {
            return job;
        }
        last = job.job_state;
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("job {job} is {last:?}, not {state}");
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Arm::Fake { server, runtime, .. } = &mut self.arm
            && let Some(server) = server.take()
        {
            runtime.block_on(server.stop());
        }
    }
}

fn fill_accounts(dbd: &mut Slurmdbd) {
    dbd.put_account(Account::new("physics", "physics", "physics"));
    dbd.associate(Association::of_account("lab", "physics", None));
    for user in ["alice", "bob"] {
        dbd.put_user(DbUser::new(user));
        assert!(dbd.associate(Association::of_user("lab", "physics", user)));
    }
}

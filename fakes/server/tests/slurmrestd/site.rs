//! Whoever is asked: the fake, or a real slurmrestd in a lab.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use drawbridge_fakes::slurmrestd::token::Key;
use drawbridge_oracle::{Cluster, Forward, Lab, LabError, LabOptions, Services};
use drawbridge_server::{SlurmOptions, SlurmPlaces, SlurmServer};
use drawbridge_sim::{Account, Association, DbUser, Qos, Release, SlurmConfig};

use crate::{
    client::{Answer, Connection, request},
    fit::Fit,
};

/// The cluster, for both.
const CONF: &str = "\
ClusterName=lab
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
AuthInfo=cred_expire=5
GresTypes=gpu
KillWait=8
ReturnToService=2
Licenses=fluent:4,matlab:2
MaxNodeCount=9
NodeName=n[1-8] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Gres=gpu:2
PartitionName=main Nodes=n[1-8] Default=YES
PartitionName=short Nodes=n[1-4] MaxTime=60 DefaultTime=10
PartitionName=closed Nodes=n[1-2] State=DOWN
NodeSet=outside Feature=outside
PartitionName=outside Nodes=outside
";
const GRES: &str = "NodeName=n[1-8] Name=gpu File=/dev/fakegpu[0-1]\n";
const USERS: [&str; 3] = ["alice", "bob", "carol"];

/// A slurmrestd and how to reach it.
pub(crate) struct Site {
    pub(crate) release: Release,
    pub(crate) version: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) key: Key,
    /// What answers are held to, if anything.
    pub(crate) fit: Option<Fit>,
    arm: Arm,
}

enum Arm {
    Fake { server: Option<SlurmServer>, runtime: tokio::runtime::Runtime },
    Real { _lab: Lab, _forward: Forward },
}

/// The versions that a release serves.
pub(crate) fn versions(release: Release) -> &'static [&'static str] {
    match release {
        Release::V24_11 => &["v0.0.40", "v0.0.41", "v0.0.42"],
        Release::V26_05 => &["v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"],
    }
}

impl Site {
    /// The fake, over a socket; its clock runs faster, so that waiting takes less time.
    pub(crate) fn fake(release: Release, speed: f64) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap();
        let key = Key::new(b"a key of thirty-two bytes, really".to_vec());
        let options = SlurmOptions {
            config: SlurmConfig::parse(CONF, Some(GRES), release).unwrap().config,
            places: SlurmPlaces { address: Some("127.0.0.1:0".parse().unwrap()), socket: None },
            key: key.clone(),
            speed,
            default_run_time: None,
        };
        let server = runtime.block_on(SlurmServer::start(options)).unwrap();
        server.with(|slurm, _| slurm.with_dbd(fill_accounts));
        let address = server.address().unwrap();
        let arm = Arm::Fake { server: Some(server), runtime };
        Self { release, version: versions(release)[0], address, key, fit: None, arm }
    }

    /// A real one; a word about it where there may be none.
    pub(crate) fn real(release: Release) -> Result<Self, String> {
        let services = Services { rest: true, accounting: true };
        let cluster =
            Cluster { slurm_conf: CONF.into(), gres_conf: GRES.into(), ..Cluster::default() };
        let lab = Lab::needed(&LabOptions::of(release).with(services), &cluster);
        let lab = lab.unwrap_or_else(|error| panic!("{error}; {}", error.hint))?;
        Ok(Self::in_lab(release, lab).unwrap())
    }

    fn in_lab(release: Release, mut lab: Lab) -> Result<Self, LabError> {
        let mut setup = vec![
            "sacctmgr -i add account proj description=p organization=o".to_owned(),
            "sacctmgr -i add account other description=q organization=o".to_owned(),
            "sacctmgr -i add qos high".to_owned(),
            "sacctmgr -i modify qos high set Priority=100".to_owned(),
        ];
        setup.extend(USERS.map(|user| {
            format!("sacctmgr -i add user {user} account=proj qos=normal,high defaultqos=normal")
        }));
        lab.run(&setup.join("\n"))?;
        let key = std::fs::read(lab.key()?).unwrap();
        let forward = lab.forward("127.0.0.1:0".parse().unwrap())?;
        let address = forward.address();
        let arm = Arm::Real { _lab: lab, _forward: forward };
        Ok(Self {
            release,
            version: versions(release)[0],
            address,
            key: Key::new(key),
            fit: None,
            arm,
        })
    }

    pub(crate) const fn is_real(&self) -> bool {
        matches!(self.arm, Arm::Real { .. })
    }

    /// One of two, by release.
    pub(crate) fn pick<T>(&self, old: T, new: T) -> T {
        match self.release {
            Release::V24_11 => old,
            Release::V26_05 => new,
        }
    }

    pub(crate) fn token(&self, user: &str) -> String {
        self.key.mint(user, now(), 3600)
    }

    /// Headers with somebody's token; `nobody` has none, and some have bad ones.
    pub(crate) fn headers(&self, user: &str) -> Vec<(String, String)> {
        let token = match user {
            "nobody" => return vec![],
            "expired" => self.key.mint("alice", now() - 100, 10),
            "foreign" => Key::new(b"somebody else's".to_vec()).mint("alice", now(), 3600),
            "garbage" => "not.a.jwt".into(),
            known => self.token(known),
        };
        vec![("X-SLURM-USER-TOKEN".into(), token)]
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Answer {
        let mut connection = Connection::open(self.address).unwrap();
        connection.send(&request(method, target, headers, body)).unwrap();
        let answer = connection.receive();
        let answer = answer.unwrap_or_else(|error| panic!("{method} {target}: no answer: {error}"));
        if let Some(fit) = &self.fit {
            fit.hold(method, target, &answer);
        }
        answer
    }

    /// One request by somebody, with a JSON body or none.
    pub(crate) fn call(&self, user: &str, method: &str, path: &str, body: Option<&str>) -> Answer {
        let mut headers = self.headers(user);
        if body.is_some() {
            headers.push(("Content-Type".into(), "application/json".into()));
        }
        self.ask(method, &self.target(path), &headers, body.unwrap_or_default().as_bytes())
    }

    /// A path with what is left out of laws.
    pub(crate) fn target(&self, path: &str) -> String {
        match path.strip_prefix("db:") {
            _ if path.starts_with('/') => path.to_owned(),
            Some(path) => format!("/slurmdb/{}/{path}", self.version),
            None => format!("/slurm/{}/{path}", self.version),
        }
    }

    /// Names that laws use.
    pub(crate) fn names(&self) -> BTreeMap<String, String> {
        let words = [
            ("VERSION", self.version.to_owned()),
            ("NOW", now().to_string()),
            ("LONG", "x".repeat(1025)),
        ];
        words.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Arm::Fake { server, runtime } = &mut self.arm
            && let Some(server) = server.take()
        {
            runtime.block_on(server.stop());
        }
    }
}

fn fill_accounts(dbd: &mut drawbridge_sim::Slurmdbd) {
    for (name, description) in [("proj", "p"), ("other", "q")] {
        dbd.put_account(Account::new(name, description, "o"));
        dbd.associate(Association::of_account("lab", name, None));
    }
    dbd.update_qos(Qos { priority: 100, ..Qos::new("high", "high") });
    for user in USERS {
        dbd.put_user(DbUser::new(user));
        let mut association = Association::of_user("lab", "proj", user);
        association.qos = ["high", "normal"].map(str::to_owned).into();
        association.default_qos = Some("normal".into());
        assert!(dbd.associate(association));
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Tries until it is so, or for too long.
pub(crate) fn until<T>(
    limit: Duration,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(_) if began.elapsed() < limit => std::thread::sleep(Duration::from_millis(50)),
            done => return done,
        }
    }
}

//! The Slurm: a real one that is started here, or somebody else's.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use drawbridge_bridge::slurm::{
    calls::{
        AccountingJobs, Cancel, JobById, Jobs, NodeByName, NodeChange, Nodes, Submit, UpdateNode,
    },
    client::{Address, Settings, SigningKey, TokenSource},
    session::{Line, SessionSettings},
    types::{Job, Node},
};
use drawbridge_oracle::{Cluster, Forward, Lab, LabError, LabOptions, Services};
use drawbridge_sim::Release;

use crate::{Trouble, options::Options};

/// Small and quick: nobody waits for a cycle, and an ended job's nodes come free in seconds.
const CONF: &str = "\
ClusterName=e2e
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=2
KillWait=5
MinJobAge=3600
JobRequeue=1
";
const PARTITION: &str = "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=INFINITE\n";

/// Where Slurm has nodes without slurmd, all are so, and jobs without scripts stand for pods.
fn nodes(release: Release) -> String {
    let state = match release {
        Release::V24_11 => "",
        Release::V26_05 => " State=EXTERNAL",
    };
    format!("NodeName=n[1-4] Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000{state}\n")
}

/// Slurm.
#[derive(Debug)]
pub(crate) struct Slurm {
    pub(crate) address: String,
    pub(crate) token: String,
    line: Line,
    lab: Option<Owned>,
}

/// A Slurm of our own.
#[derive(Debug)]
struct Owned {
    lab: Mutex<Lab>,
    key: PathBuf,
    _forward: Forward,
}

impl Slurm {
    /// Starts it, or reaches the one that is given; `Err` inside where none can be had and that is
    /// no failure.
    pub(crate) fn start(options: &Options) -> Result<Result<Self, String>, Trouble> {
        if let Some((address, token)) = &options.slurm {
            return Ok(Ok(Self::over(address.clone(), token.clone(), None)?));
        }
        let services = Services { rest: true, accounting: options.release == Release::V24_11 };
        let lab_options = LabOptions::of(options.release).with(services);
        let conf = format!("{CONF}{}{PARTITION}", nodes(options.release));
        let cluster = Cluster { slurm_conf: conf, release: options.release, ..Cluster::default() };
        let failed = |error: LabError| error.to_string();
        let mut lab = match Lab::needed(&lab_options, &cluster).map_err(failed)? {
            Ok(lab) => lab,
            Err(missing) => return Ok(Err(missing)),
        };
        let forward = lab.forward(([127, 0, 0, 1], 0).into()).map_err(failed)?;
        let (token, key) = (lab.token("root").map_err(failed)?, lab.key().map_err(failed)?);
        let address = format!("http://{}", forward.address());
        let owned = Owned { lab: Mutex::new(lab), key, _forward: forward };
        Ok(Ok(Self::over(address, token, Some(owned))?))
    }

    fn over(address: String, token: String, lab: Option<Owned>) -> Result<Self, Trouble> {
        let parsed: Result<Address, _> = address.parse();
        let mut settings = Settings::new(vec![parsed.map_err(|error| error.to_string())?]);
        settings.token = TokenSource::Text(token.clone());
        let mut settings = SessionSettings::new(settings);
        settings.patience = Duration::from_secs(30);
        let line = Line::new(settings).map_err(|error| error.to_string())?;
        Ok(Self { address, token, line, lab })
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.lab.is_some()
    }

    /// Does something to our own.
    pub(crate) fn lab(
        &self,
        act: impl FnOnce(&mut Lab) -> Result<(), LabError>,
    ) -> Result<(), Trouble> {
        let Some(owned) = &self.lab else { return Err("the Slurm isn't ours".into()) };
        let mut lab = owned.lab.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        act(&mut lab).map_err(|error| error.to_string())
    }

    /// A token that is good for so long, signed with our own Slurm's key.
    pub(crate) fn sign(&self, lifetime: Duration) -> Result<String, Trouble> {
        let Some(owned) = &self.lab else { return Err("the Slurm isn't ours".into()) };
        let key = fs::read::<&Path>(owned.key.as_ref()).map_err(|error| error.to_string())?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        Ok(SigningKey::new(&key, "root", lifetime).sign(now, now + lifetime.as_secs()))
    }

    pub(crate) async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        let nodes = self.line.ask(&Nodes).await.map_err(|error| error.to_string())?;
        Ok(nodes.items)
    }

    pub(crate) async fn node(&self, name: &str) -> Result<Option<Node>, Trouble> {
        self.line.ask(&NodeByName(name.to_owned())).await.map_err(|error| error.to_string())
    }

    /// Every job that slurmctld remembers.
    pub(crate) async fn jobs(&self) -> Result<Vec<Job>, Trouble> {
        let jobs = self.line.ask(&Jobs).await.map_err(|error| error.to_string())?;
        Ok(jobs.items)
    }

    pub(crate) async fn job(&self, id: &str) -> Result<Option<Job>, Trouble> {
        let jobs = self.line.ask(&JobById(id.to_owned())).await;
        Ok(jobs.map_err(|error| error.to_string())?.into_iter().next())
    }

    pub(crate) async fn cancel(&self, id: &str) -> Result<(), Trouble> {
        let cancel = Cancel { job: id.to_owned(), ..Cancel::default() };
        self.line.ask(&cancel).await.map(drop).map_err(|error| error.to_string())
    }

    pub(crate) async fn submit(&self, job: Submit) -> Result<u32, Trouble> {
        let submitted = self.line.ask(&job).await.map_err(|error| error.to_string())?;
        Ok(submitted.job_id)
    }

    /// Drains or resumes a node, as an operator does.
    pub(crate) async fn set_node(&self, name: &str, state: &str, why: &str) -> Result<(), Trouble> {
        let change = NodeChange {
            state: vec![state.to_owned()],
            reason: (!why.is_empty()).then(|| why.to_owned()),
            ..NodeChange::default()
        };
        let update = UpdateNode { node: name.to_owned(), change };
        self.line.ask(&update).await.map(drop).map_err(|error| error.to_string())
    }

    /// Whether no node has a slurmd.
    pub(crate) async fn is_external(&self) -> Result<bool, Trouble> {
        let nodes = self.nodes().await?;
        Ok(nodes.iter().all(|node| node.state.iter().any(|state| state == "EXTERNAL")))
    }

    /// How a job ended in the records of slurmdbd, or, without one, in slurmctld's memory; behind it
    /// what the bridge wrote on it.
    pub(crate) async fn ended(&self, id: &str) -> Result<Option<String>, Trouble> {
        let query = AccountingJobs(vec![("step".to_owned(), id.to_owned())]);
        if let Ok(kept) = self.line.ask(&query).await {
            let found = kept.into_iter().find(|job| job.job_id.to_string() == id);
            if let Some(job) = found {
                return Ok(job.state.current.iter().find(is_end).cloned());
            }
        }
        Ok(self.job(id).await?.and_then(|job| account(&job)))
    }
}

/// How a job ended, as slurmctld has it, and behind it what the bridge wrote on it: `CANCELLED failed`.
pub(crate) fn account(job: &Job) -> Option<String> {
    let state = job.job_state.iter().find(is_end)?;
    let mark: serde_json::Value = serde_json::from_str(&job.admin_comment).unwrap_or_default();
    Some(mark["outcome"].as_str().map_or_else(|| state.clone(), |how| format!("{state} {how}")))
}

fn is_end(state: &&String) -> bool {
    !["PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING"].contains(&state.as_str())
}

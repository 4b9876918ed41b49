//! Looks at both sides from outside, all the time, for what must never be.
//!
//! - A pod is bound once, to a node of its job.
//! - Two jobs of one workload never both have bound pods; a second live one is gone soon.
//! - In the end no job is left without a workload, and no pod is held that has to go.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use drawbridge_bridge::slurm::types::Job;
use drawbridge_core::names::{FINALIZER, JOB_ID_LABEL};
use drawbridge_sim::expand_hostlist;
use serde_json::Value;
use tokio::{task::JoinHandle, time::Instant};

use crate::{
    Trouble,
    api::{Api, rest, until},
    slurm::Slurm,
};

/// How long a second live job of a workload may be there.
const SURPLUS: Duration = Duration::from_secs(20);

/// Somebody who looks, until this is dropped.
#[derive(Debug)]
pub(crate) struct Observer {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Default)]
struct Seen {
    looks: u64,
    /// Where each pod was bound.
    bound: BTreeMap<String, String>,
    /// Since when a workload has more than one live job.
    doubled: BTreeMap<String, Instant>,
    violations: BTreeSet<String>,
}

impl Observer {
    pub(crate) fn start(
        api: Api,
        slurm: Arc<Slurm>,
        namespace: String,
        cluster_id: String,
    ) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let looking = seen.clone();
        let task = tokio::spawn(async move {
            loop {
                let began = Instant::now();
                // Pods first: a job that a pod names was there before.
                let pods = api.list(&format!("/api/v1/namespaces/{namespace}/pods")).await;
                let jobs = slurm.jobs().await;
                if let (Ok(pods), Ok(jobs)) = (pods, jobs) {
                    let mut seen = looking.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.look(&pods, &jobs, &cluster_id);
                }
                rest(began, Duration::from_millis(250)).await;
            }
        });
        Self { seen, task }
    }

    /// What was seen that must never be, and how often it was looked.
    pub(crate) fn violations(&self) -> (u64, Vec<String>) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.looks, seen.violations.iter().cloned().collect())
    }
}

/// Whether a job isn't over.
pub(crate) fn is_live(job: &Job) -> bool {
    ["PENDING", "CONFIGURING", "RUNNING", "SUSPENDED"]
        .iter()
        .any(|state| job.job_state.iter().any(|has| has == state))
}

/// The workload that a job stands for, if it is one of this bridge's.
pub(crate) fn workload(job: &Job, cluster_id: &str) -> Option<String> {
    let mark: Value = serde_json::from_str(&job.admin_comment).ok()?;
    (mark["cluster"] == cluster_id).then(|| mark["workload"].as_str().map(str::to_owned))?
}

impl Seen {
    fn look(&mut self, pods: &[Value], jobs: &[Job], cluster_id: &str) {
        self.looks += 1;
        let by_id: BTreeMap<String, &Job> =
            jobs.iter().map(|job| (job.job_id.to_string(), job)).collect();
        for pod in pods {
            self.look_at_pod(pod, &by_id);
        }
        self.look_for_doubles(jobs, cluster_id);
    }

    fn look_at_pod(&mut self, pod: &Value, jobs: &BTreeMap<String, &Job>) {
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) else {
            return;
        };
        if let Some(before) = self.bound.insert(uid.to_owned(), node.to_owned())
            && before != node
        {
            self.violations.insert(format!("pod {name} was bound to {before} and to {node}"));
        }
        let Some(label) = pod["metadata"]["labels"][JOB_ID_LABEL].as_str() else {
            self.violations.insert(format!("pod {name} is bound and has no job"));
            return;
        };
        let Some(job) =
            jobs.get(label).filter(|job| job.job_state.iter().any(|it| it == "RUNNING"))
        else {
            return;
        };
        let nodes = expand_hostlist(&job.nodes);
        if nodes.is_ok_and(|nodes| nodes.iter().all(|one| one != node)) {
            let nodes = &job.nodes;
            self.violations
                .insert(format!("pod {name} runs on {node}, its job {label} has {nodes}"));
        }
    }

    fn look_for_doubles(&mut self, jobs: &[Job], cluster_id: &str) {
        let mut live: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for job in jobs.iter().filter(|job| is_live(job)) {
            if let Some(workload) = workload(job, cluster_id) {
                live.entry(workload).or_default().push(job.job_id);
            }
        }
        live.retain(|_, jobs| jobs.len() > 1);
        self.doubled.retain(|workload, _| live.contains_key(workload));
        for (workload, jobs) in live {
            let since = *self.doubled.entry(workload.clone()).or_insert_with(Instant::now);
            if SURPLUS < since.elapsed() {
                self.violations.insert(format!("workload {workload} has live jobs {jobs:?}"));
            }
        }
    }
}

/// Waits until nothing of a namespace is left to do: no pod, no live job of ours.
pub(crate) async fn is_quiet(
    api: &Api,
    slurm: &Slurm,
    namespace: &str,
    cluster_id: &str,
) -> Result<(), Trouble> {
    until("nothing is left over", Duration::from_secs(90), async || {
        let pods = api.list(&format!("/api/v1/namespaces/{namespace}/pods")).await?;
        let held: Vec<String> = pods.iter().filter(|pod| is_held(pod)).map(name).collect();
        let jobs = slurm.jobs().await?;
        let ours = jobs.iter().filter(|job| is_live(job) && workload(job, cluster_id).is_some());
        let live: Vec<String> = ours.map(|job| job.job_id.to_string()).collect();
        match held.is_empty() && live.is_empty() {
            true => Ok(Some(())),
            false => Err(format!("pods held: {}; live jobs: {}", held.join(" "), live.join(" "))),
        }
    })
    .await
}

/// Over, or on its way out, and still with our finalizer.
fn is_held(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array();
    let ours = finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER));
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    ours && (["Succeeded", "Failed"].contains(&phase)
        || pod["metadata"]["deletionTimestamp"].is_string())
}

fn name(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

//! I1, I2 and I4: who may be bound where, and when.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_core::{CallId, KubeRequest, slurm::ObservedJob};
use drawbridge_fakes::{Change, ChangeKind};
use drawbridge_sim::{JobId, Slurmctld};
use serde_json::Value;

use super::ownership::mark;
use crate::{names::Names, object::Object, world::process::Life};

/// The request whose reply showed something, and in which life; unknown over the wire.
type Asked = Option<(Life, CallId)>;

/// What is known of bindings.
#[derive(Clone)]
pub(super) struct Bindings {
    scheduler: String,
    /// Pods of ours that are bound and have not ended, by uid.
    bound: BTreeMap<String, Bound>,
    /// What the bridge last heard of a job, and by which request.
    heard: BTreeMap<JobId, (Asked, Heard)>,
    /// The allocation of its job that a binding on its way was decided on, and the workload that the job
    /// stood for then, by pod and job.
    sent: BTreeMap<(String, JobId), Heard>,
    /// Jobs with bound pods, by workload, and how many pods each has.
    jobs: BTreeMap<String, BTreeMap<JobId, u32>>,
    /// The least number of members of each group, by `namespace/name`.
    groups: BTreeMap<String, u64>,
    names: Names,
}

/// A job as the bridge knew it.
#[derive(Clone)]
struct Heard {
    nodes: BTreeSet<String>,
    /// The workload that it stood for.
    workload: Option<String>,
}

/// One bound pod.
#[derive(Clone)]
struct Bound {
    node: String,
    /// The job and the workload that it stood for when the pod was bound.
    of: Option<(JobId, String)>,
}

impl Bindings {
    pub(super) fn new(scheduler: &str) -> Self {
        Self {
            scheduler: scheduler.to_owned(),
            bound: BTreeMap::new(),
            heard: BTreeMap::new(),
            sent: BTreeMap::new(),
            jobs: BTreeMap::new(),
            groups: BTreeMap::new(),
            names: Names::default(),
        }
    }

    /// The bridge heard of a job. What was asked earlier and comes later is old news.
    pub(super) fn observed(&mut self, asked: Asked, job: &ObservedJob) {
        if let (Some((life, call)), Some((Some((last, newest)), _))) =
            (asked, self.heard.get(&job.id))
            && life == *last
            && call < *newest
        {
            return;
        }
        let nodes = job.allocation.iter().map(|it| it.node.as_str().to_owned()).collect();
        let workload = mark(&job.admin_comment).map(|mark| mark.workload);
        self.heard.insert(job.id, (asked, Heard { nodes, workload }));
    }

    /// The bridge sends a request. A binding may be under way for long: it is judged by what its
    /// sender knew.
    pub(super) fn sends(&mut self, request: &KubeRequest, slurm: &Slurmctld) {
        let Some(pod) = request.path.strip_suffix("/binding") else { return };
        let mut words = pod.rsplit('/');
        let (name, namespace) =
            (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        let job =
            request.body.as_ref().map(|body| &body["metadata"]["annotations"]["slurm.job.id"]);
        let job = job.and_then(Value::as_str).and_then(|job| job.parse().ok()).map(JobId);
        if let Some((job, (_, heard))) = job.and_then(|job| Some((job, self.heard.get(&job)?))) {
            // Slurm may have lost its state since.
            let workload = workload_of(job, slurm).or_else(|| heard.workload.clone());
            let sent = Heard { nodes: heard.nodes.clone(), workload };
            self.sent.insert((format!("{namespace}/{name}"), job), sent);
        }
    }

    /// The allocation that a pod's binding was decided on.
    fn known(&self, pod: Object<'_>, job: JobId) -> Option<&BTreeSet<String>> {
        let now = || self.heard.get(&job).map(|(_, heard)| &heard.nodes);
        self.sent.get(&(pod.key(), job)).map(|sent| &sent.nodes).or_else(now)
    }

    pub(super) fn kube_change(&mut self, change: &Change, slurm: &Slurmctld) -> Vec<String> {
        let object = Object(&change.object);
        match change.resource {
            "nodes" => self.names.learn_node(object),
            "podgroups.scheduling.x-k8s.io" | "podgroups.scheduling.k8s.io" => {
                self.groups.insert(object.key(), object.least_members());
            }
            "pods" => {
                self.names.learn_worker(object);
                if object.scheduler() == self.scheduler {
                    return self.pod(change, object, slurm);
                }
            }
            _ => {}
        }
        vec![]
    }

    fn pod(&mut self, change: &Change, pod: Object<'_>, slurm: &Slurmctld) -> Vec<String> {
        let has_ended = change.kind == ChangeKind::Deleted || pod.is_terminal();
        if has_ended {
            self.unbind(pod);
            return vec![];
        }
        let known = self.bound.get(pod.uid()).map(|bound| bound.node.clone());
        match (known, pod.node()) {
            (None, Some(node)) => self.bind(pod, node, slurm),
            (Some(from), to) if to != Some(&from) => {
                let to = to.unwrap_or("nowhere");
                vec![format!("I1: pod {} was bound to {from} and then to {to}", pod.key())]
            }
            (Some(_) | None, _) => vec![],
        }
    }

    fn bind(&mut self, pod: Object<'_>, node: &str, slurm: &Slurmctld) -> Vec<String> {
        // Slurm may have lost its state while the binding was on its way.
        let sent = |job| self.sent.get(&(pod.key(), job)).and_then(|sent| sent.workload.clone());
        let of =
            pod.job().and_then(|job| Some((job, sent(job).or_else(|| workload_of(job, slurm))?)));
        self.bound.insert(pod.uid().to_owned(), Bound { node: node.to_owned(), of: of.clone() });
        let Some((job, workload)) = of else {
            return vec![format!("I1: pod {} was bound without a job of its own", pod.key())];
        };
        let findings = [
            self.check_allocation(pod, node, job),
            self.check_gang(pod, job, slurm),
            self.check_sole_job(pod, job, workload),
        ];
        self.sent.remove(&(pod.key(), job));
        findings.into_iter().flatten().collect()
    }

    /// I1: the node is one of those that Slurm gave to the job.
    fn check_allocation(&self, pod: Object<'_>, node: &str, job: JobId) -> Option<String> {
        let mut names = self.names.slurm_names(node);
        let given = self.known(pod, job);
        let is_given = given.is_some_and(|given| names.any(|name| given.contains(name)));
        (!is_given).then(|| {
            format!("I1: pod {} was bound to {node}, where job {job} has nothing", pod.key())
        })
    }

    /// I2: the job holds room for the gang's least number of members.
    fn check_gang(&self, pod: Object<'_>, job: JobId, slurm: &Slurmctld) -> Option<String> {
        let group = pod.pod_group().map(|group| format!("{}/{group}", pod.namespace()));
        let least = match group {
            Some(group) => *self.groups.get(&group)?,
            None => pod.group_size()?,
        };
        let has_room = self.known(pod, job).is_some_and(|nodes| !nodes.is_empty());
        let job = slurm.job(job)?;
        let pods = mark(&job.submission.admin_comment)?.pods;
        let prefix = format!("{}/", pod.namespace());
        let n_members = pods.iter().filter(|key| key.starts_with(&prefix)).count() as u64;
        // A pod that joins a gang after it was submitted has a job of its own.
        let is_latecomer = pods.len() == 1;
        let is_early = !has_room || (n_members < least && !is_latecomer);
        is_early.then(|| format!("I2: pod {} was bound before {least} members had room", pod.key()))
    }

    /// I4: no other job of the workload has bound pods.
    fn check_sole_job(&mut self, pod: Object<'_>, job: JobId, workload: String) -> Option<String> {
        let jobs = self.jobs.entry(workload).or_default();
        *jobs.entry(job).or_default() += 1;
        let other = jobs.keys().find(|it| **it != job)?;
        Some(format!("I4: pod {} was bound for job {job} beside job {other}", pod.key()))
    }

    fn unbind(&mut self, pod: Object<'_>) {
        let Some(Bound { of: Some((job, workload)), .. }) = self.bound.remove(pod.uid()) else {
            return;
        };
        let Some(jobs) = self.jobs.get_mut(&workload) else { return };
        if let Some(count) = jobs.get_mut(&job) {
            *count -= 1;
        }
        jobs.retain(|_, count| *count > 0);
        if jobs.is_empty() {
            self.jobs.remove(&workload);
        }
    }

    /// Counts the bound pods again, from those that live, and the jobs that they have.
    pub(super) fn recount(&self, live: &[Object<'_>]) -> Vec<String> {
        let is_bound =
            |pod: &&Object<'_>| pod.node().is_some() && pod.scheduler() == self.scheduler;
        let mut counted: Vec<&str> = live.iter().filter(is_bound).map(|pod| pod.uid()).collect();
        counted.sort_unstable();
        let mut jobs: BTreeMap<&str, BTreeMap<JobId, u32>> = BTreeMap::new();
        for (job, workload) in self.bound.values().filter_map(|bound| bound.of.as_ref()) {
            *jobs.entry(workload).or_default().entry(*job).or_default() += 1;
        }
        let kept = self.bound.keys();
        let pods = (!kept.eq(&counted)).then(|| {
            format!("I1: {} pods are bound, the index says {}", counted.len(), self.bound.len())
        });
        let kept = self.jobs.iter().map(|(workload, jobs)| (workload.as_str(), jobs));
        let jobs = (!kept.eq(jobs.iter().map(|(workload, jobs)| (*workload, jobs)))).then(|| {
            format!(
                "I4: {} workloads have bound pods, the index says {}",
                jobs.len(),
                self.jobs.len()
            )
        });
        pods.into_iter().chain(jobs).collect()
    }
}

/// The workload that a job of some bridge stands for.
fn workload_of(job: JobId, slurm: &Slurmctld) -> Option<String> {
    mark(&slurm.job(job)?.submission.admin_comment).map(|mark| mark.workload)
}

//! Rows of the frame, kept current event by event.
//!
//! Pods that are gone and jobs that slurmctld has forgotten keep their last row: a report is about
//! everything that was there.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_fakes::{Change, ChangeKind, KubeApi};
use drawbridge_sim::{Fact, Job, JobId, Node, Reason, Slurmctld, Time};
use serde_json::Value;

use crate::{
    frame::{JobRow, NodeRow, PodRow},
    laws::mark,
    names::Names,
    object::Object,
};

/// All rows, by uid and by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pods: BTreeMap<String, Arc<PodRow>>,
    jobs: BTreeMap<JobId, Arc<JobRow>>,
    names: Names,
    /// The top of the owners of everything that has one, by uid.
    tops: BTreeMap<String, String>,
}

impl Rows {
    /// A job did something.
    pub(crate) fn slurm_fact(&mut self, fact: &Fact, slurm: &Slurmctld) {
        let job = match fact {
            Fact::JobSubmitted { job }
            | Fact::JobReasonChanged { job, .. }
            | Fact::JobStarted { job, .. }
            | Fact::JobEnded { job, .. }
            | Fact::JobReleased { job }
            | Fact::JobSplit { job, .. }
            | Fact::JobRequeued { job, .. }
            | Fact::JobChanged { job, .. } => *job,
            Fact::JobPlanned { .. } | Fact::JobPurged { .. } | Fact::NodeChanged { .. } => return,
        };
        if let Some(job) = slurm.job(job) {
            self.jobs.insert(job.id, Arc::new(job_row(job)));
        }
    }

    /// An object changed.
    pub(crate) fn kube_change(&mut self, now: Time, change: &Change) {
        let object = Object(&change.object);
        match change.resource {
            "nodes" => self.names.learn_node(object),
            "pods" => {
                self.names.learn_worker(object);
                self.pod(now, object, change.kind);
            }
            _ => self.learn_owner(object),
        }
    }

    fn learn_owner(&mut self, object: Object<'_>) {
        if let Some(top) = self.top(object) {
            self.tops.insert(object.uid().to_owned(), top);
        }
    }

    /// The controller at the top of an object's owners, as far as they are known.
    fn top(&self, object: Object<'_>) -> Option<String> {
        let (uid, name) = object.controller()?;
        Some(self.tops.get(uid).cloned().unwrap_or(name))
    }

    fn pod(&mut self, now: Time, pod: Object<'_>, kind: ChangeKind) {
        let before = self.pods.get(pod.uid());
        let mut row = pod_row(pod);
        row.owner = self.top(pod);
        row.created_ms = before.map_or(now, |row| row.created_ms);
        let once = |was: Option<Time>, is_so: bool| was.or_else(|| is_so.then_some(now));
        row.bound_ms = once(before.and_then(|row| row.bound_ms), row.node.is_some());
        row.started_ms = once(before.and_then(|row| row.started_ms), pod.phase() == "Running");
        row.finished_ms = once(before.and_then(|row| row.finished_ms), pod.is_terminal());
        if kind == ChangeKind::Deleted {
            row.phase = "Deleted".to_owned();
            row.terminating = false;
        }
        self.pods.insert(row.uid.clone(), Arc::new(row));
    }

    /// Slurm's names to Kubernetes' names.
    pub(crate) fn kube_names(&self) -> std::collections::BTreeMap<String, String> {
        let names = self.names.by_slurm().into_iter();
        names.map(|(slurm, kube)| (slurm.to_owned(), kube.to_owned())).collect()
    }

    /// The Kubernetes node that a Slurm node is.
    pub(crate) fn kube_name(&self, slurm: &drawbridge_sim::SlurmNode) -> String {
        let names = self.names.by_slurm();
        names.get(slurm.as_str()).map_or_else(|| slurm.to_string(), |name| (*name).to_owned())
    }

    /// Pods by namespace, name and creation.
    pub(crate) fn pods(&self) -> Vec<PodRow> {
        let mut rows: Vec<PodRow> = self.pods.values().map(|row| (**row).clone()).collect();
        rows.sort_by(|a, b| {
            (&a.namespace, &a.name, a.created_ms).cmp(&(&b.namespace, &b.name, b.created_ms))
        });
        rows
    }

    /// Jobs by number.
    pub(crate) fn jobs(&self) -> Vec<JobRow> {
        self.jobs.values().map(|row| (**row).clone()).collect()
    }

    /// Slurm's nodes in slurm.conf's order, then Kubernetes' others by name.
    pub(crate) fn nodes(&self, slurm: &Slurmctld, api: &KubeApi) -> Vec<NodeRow> {
        let by_slurm = self.names.by_slurm();
        let mut rows: Vec<NodeRow> = slurm
            .nodes()
            .map(|node| {
                let kube =
                    by_slurm.get(node.name().as_str()).and_then(|name| api.get("nodes", "", name));
                slurm_node_row(node, kube.map(|node| Object(node)), slurm)
            })
            .collect();
        let known: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        let others = api.list("nodes").map(|node| Object(node));
        rows.extend(
            others.filter(|node| !known.iter().any(|name| name == node.name())).map(kube_node_row),
        );
        self.put_pods(&mut rows);
        rows
    }

    fn put_pods(&self, rows: &mut [NodeRow]) {
        let mut on: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for pod in self.pods.values() {
            if let Some(node) = &pod.node
                && matches!(pod.phase.as_str(), "Pending" | "Running")
            {
                on.entry(node).or_default().push(format!("{}/{}", pod.namespace, pod.name));
            }
        }
        for row in rows {
            row.pods = on.remove(row.name.as_str()).unwrap_or_default();
            row.pods.sort();
        }
    }
}

fn pod_row(pod: Object<'_>) -> PodRow {
    let own = |text: &str| text.to_owned();
    let message = pod.waits_because().or(pod.text(&["status", "message"]));
    PodRow {
        namespace: own(pod.namespace()),
        name: own(pod.name()),
        uid: own(pod.uid()),
        phase: own(pod.phase()),
        reason: pod.text(&["status", "reason"]).map(own).or_else(|| match pod.is_gated() {
            true => Some(own("SchedulingGated")),
            false => message.and_then(reason_word),
        }),
        message: message.map(own),
        node: pod.node().map(own),
        slurm_node: pod.slurm_node().map(own),
        job_id: pod.job(),
        gang: pod.gang().map(own),
        owner: None,
        scheduler: own(pod.scheduler()),
        conditions: pod.slurm_conditions(),
        terminating: pod.is_terminating(),
        created_ms: Time::ZERO,
        bound_ms: None,
        started_ms: None,
        finished_ms: None,
    }
}

/// The one word in `Slurm job 7 is pending: Resources (more)`; `Unschedulable` for other sentences.
fn reason_word(message: &str) -> Option<String> {
    let after = message.split_once(" is pending: ").map(|(_, after)| after);
    let word = after.and_then(|after| after.split([' ', '(', ',']).next());
    Some(word.unwrap_or("Unschedulable").to_owned())
}

fn job_row(job: &Job) -> JobRow {
    let submission = &job.submission;
    let has_ended = job.state.is_end();
    JobRow {
        job_id: job.id,
        name: submission.name.clone(),
        user: submission.user.as_str().to_owned(),
        account: submission.account.as_ref().map(|it| it.as_str().to_owned()),
        partition: job.partition.as_str().to_owned(),
        state: job.squeue_state().to_owned(),
        reason: (job.reason != Reason::None).then(|| job.reason.to_string()),
        nodes: job.allocation.as_ref().map(|it| it.node_list()).unwrap_or_default(),
        cpus: job.cpus(),
        priority: job.priority,
        bridged: mark(&submission.admin_comment).is_some(),
        submit_ms: job.submit_time,
        start_ms: job.start_time,
        end_ms: job.end_time.filter(|_| has_ended),
        exit_code: has_ended.then(|| job.exit.to_string()),
    }
}

fn slurm_node_row(node: &Node, kube: Option<Object<'_>>, slurm: &Slurmctld) -> NodeRow {
    let slurm_name = node.name().as_str().to_owned();
    let mut cpu_holders = vec![None; node.spec.cpus as usize];
    let mut gpu_holders =
        vec![None; node.spec.gres.iter().filter(|it| it.name == "gpu").map(|it| it.count).sum()];
    let shares = node.jobs.iter().filter_map(|id| slurm.job(*id)).filter_map(|job| {
        let share =
            job.allocation.as_ref()?.nodes.iter().find(|share| share.node == *node.name())?;
        Some((job.id, share.clone()))
    });
    for (job, share) in shares {
        let gpus = share.gres.get("gpu");
        hold(&mut cpu_holders, share.cpu_ids.iter(), job);
        hold(&mut gpu_holders, gpus.into_iter().flat_map(|it| it.iter()), job);
    }
    NodeRow {
        name: kube.map_or(slurm_name.clone(), |node| node.name().to_owned()),
        slurm_name: Some(slurm_name),
        state: node.sinfo_state().to_string(),
        reason: node.reason.as_ref().map(|reason| reason.text.clone()),
        cordoned: kube.is_some_and(Object::is_cordoned),
        conditions: kube.map(Object::slurm_conditions).unwrap_or_default(),
        taints: kube.map(Object::taints).unwrap_or_default(),
        cpus: node.spec.cpus,
        cpus_alloc: node.usage.cpus,
        memory_mb: node.spec.memory_mib,
        memory_alloc_mb: node.usage.memory_mib,
        gres: node.gres(),
        gres_alloc: held_gres(node),
        cpu_holders,
        gpu_holders,
        pods: vec![],
    }
}

/// What jobs hold of a node's generic resources; what nobody holds isn't listed.
fn held_gres(node: &Node) -> String {
    let used = node.gres_used();
    used.split(',').filter(|it| !it.ends_with(":0")).collect::<Vec<_>>().join(",")
}

fn hold(holders: &mut [Option<JobId>], slots: impl Iterator<Item = usize>, job: JobId) {
    for slot in slots {
        if let Some(holder) = holders.get_mut(slot) {
            *holder = Some(job);
        }
    }
}

fn kube_node_row(node: Object<'_>) -> NodeRow {
    let capacity = |name: &str| {
        let value = node.at(&["status", "capacity"]).and_then(|it| it.get(name));
        value.and_then(Value::as_str).and_then(|text| drawbridge_sim::Quantity::parse(text).ok())
    };
    NodeRow {
        name: node.name().to_owned(),
        slurm_name: None,
        state: "-".to_owned(),
        reason: None,
        cordoned: node.is_cordoned(),
        conditions: node.slurm_conditions(),
        taints: node.taints(),
        cpus: capacity("cpu").map_or(0, |cpus| cpus.ceil_units().try_into().unwrap_or(u32::MAX)),
        cpus_alloc: 0,
        memory_mb: capacity("memory").map_or(0, drawbridge_sim::Quantity::ceil_mib),
        memory_alloc_mb: 0,
        gres: String::new(),
        gres_alloc: String::new(),
        cpu_holders: vec![],
        gpu_holders: vec![],
        pods: vec![],
    }
}

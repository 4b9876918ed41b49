//! The model's side.

use drawbridge_sim::{
    ArrayPlace, ArrayTasks, Epoch, Job, JobId, JobState, JobTarget, Mutant, Node, NodeShare,
    NodeUpdate, PartitionName, Release, SlurmConfig, SlurmError, SlurmNode, Slurmctld, Time,
    UserName,
};

use crate::{
    case::Cluster,
    operation::{NotModelled, Operation},
    view::{Answer, JobLook, View, share_text},
};

/// The model of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    ctld: Slurmctld,
}

impl Twin {
    /// The model of a cluster whose time zero was `epoch`.
    pub(crate) fn new(cluster: &Cluster, epoch: u64) -> Result<Self, NotModelled> {
        Ok(Self { ctld: Slurmctld::new(config(cluster)?, Epoch::from_unix(epoch)) })
    }

    /// The model with a fault.
    pub(crate) fn faulty(cluster: &Cluster, mutant: Option<Mutant>) -> Result<Self, NotModelled> {
        let config = config(cluster)?;
        #[cfg(feature = "mutants")]
        let config = match mutant {
            Some(mutant) => config.with_mutant(mutant),
            None => config,
        };
        #[cfg(not(feature = "mutants"))]
        let _ = mutant;
        Ok(Self { ctld: Slurmctld::new(config, Epoch::from_unix(0)) })
    }

    /// Does an operation.
    pub(crate) fn perform(&mut self, now_ms: u64, operation: Operation) -> Answer {
        let now = Time::from_ms(now_ms);
        self.ctld.wake(now);
        let root = UserName::from("root");
        let ctld = &mut self.ctld;
        let done = match operation {
            Operation::Submit(submission) => {
                return match ctld.submit(now, *submission) {
                    Ok(id) => Answer::Done(Some(id.0)),
                    Err(error) => Answer::Refused(error.to_string()),
                };
            }
            Operation::BadCommand => return Answer::Refused("bad command line".into()),
            Operation::Cancel(job) => ctld.cancel(now, job, &root),
            Operation::Finish(job, signal) => {
                let _ = ctld.signal(now, one_record(ctld, job), signal, &root);
                Ok(())
            }
            Operation::Requeue(jobs, how) => all(jobs, |job| ctld.requeue(now, job, how, &root)),
            Operation::Hold(jobs) => all(jobs, |job| ctld.hold(now, job, &root)),
            Operation::Release(jobs) => all(jobs, |job| ctld.release(now, job, &root)),
            Operation::UpdateJob(job, update) => ctld.update_job(now, job, &update, &root),
            Operation::UpdateNodes(nodes, update) => update_nodes(ctld, now, nodes, &update),
            Operation::Wait => Ok(()),
        };
        match done {
            Ok(()) => Answer::Done(None),
            Err(error) => Answer::Refused(error.to_string()),
        }
    }

    /// The model, as it is at that time.
    pub(crate) fn at(&mut self, now_ms: u64) -> &Slurmctld {
        self.ctld.wake(Time::from_ms(now_ms));
        &self.ctld
    }

    /// What is seen at that time.
    pub(crate) fn view(&mut self, now_ms: u64) -> View {
        self.ctld.wake(Time::from_ms(now_ms));
        let mut view = View::default();
        for job in self.ctld.jobs() {
            job_look(job, self.ctld.config()).put(&mut view);
        }
        for node in self.ctld.nodes() {
            put_node(node, &mut view);
        }
        view
    }
}

fn config(cluster: &Cluster) -> Result<SlurmConfig, NotModelled> {
    let gres = Some(cluster.gres_conf.as_str()).filter(|text| !text.is_empty());
    let parsed = SlurmConfig::parse(&cluster.slurm_conf, gres, Release::V24_11);
    let parsed = parsed.map_err(|error| NotModelled(error.to_string()))?;
    match parsed.notes.first() {
        Some(note) if !cluster.given => Err(NotModelled(note.to_string())),
        Some(_) | None => Ok(parsed.config),
    }
}

/// Each of them; the last refusal is what is told.
fn all<T>(
    items: Vec<T>,
    mut change: impl FnMut(T) -> Result<(), SlurmError>,
) -> Result<(), SlurmError> {
    let mut told = Ok(());
    for item in items {
        told = change(item).and(told);
    }
    told
}

/// The record of that number alone, though it be an array's.
fn one_record(ctld: &Slurmctld, job: JobId) -> JobTarget {
    match ctld.job(job).and_then(|job| job.array.as_ref()) {
        Some(ArrayPlace { job, tasks: ArrayTasks::One(task), .. }) => {
            JobTarget::Tasks(*job, [*task as usize].into_iter().collect())
        }
        Some(_) | None => JobTarget::Job(job),
    }
}

fn update_nodes(
    ctld: &mut Slurmctld,
    now: Time,
    nodes: Vec<SlurmNode>,
    update: &NodeUpdate,
) -> Result<(), SlurmError> {
    all(nodes, |node| ctld.update_node(now, &node, update.clone()))
}

/// Each partition once, the highest tier first.
fn partitions_text(job: &Job, config: &SlurmConfig) -> String {
    let tier = |name: &PartitionName| config.partition(name).map_or(0, |it| it.priority_tier);
    let mut names: Vec<&PartitionName> = vec![];
    for name in &job.submission.partitions {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| std::cmp::Reverse(tier(name)));
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",")
}

fn job_look(job: &Job, config: &SlurmConfig) -> JobLook {
    let shares = job.allocation.iter().flat_map(|allocation| &allocation.nodes);
    let held = job.allocation.as_ref();
    JobLook {
        number: job.id.to_string(),
        array: job.array.as_ref().map(|_| job.squeue_id().replace(['[', ']'], "")),
        state: job.squeue_state().into(),
        reason: job.reason.squeue().replace(' ', "_"),
        priority: job.priority.to_string(),
        partition: if job.state == JobState::Pending && 1 < job.submission.partitions.len() {
            partitions_text(job, config)
        } else {
            job.partition.to_string()
        },
        restarts: job.restarts.to_string(),
        time_limit: job
            .time_limit
            .map_or("UNLIMITED".into(), |limit| (limit.as_secs() / 60).to_string()),
        exit: job.exit.to_string(),
        nodes: held.map_or(String::new(), |allocation| allocation.node_list()),
        cpus: job.cpus().to_string(),
        shares: shares.map(share).collect(),
    }
}

fn share(share: &NodeShare) -> (String, String) {
    let text = share_text(
        &share.cpu_ids.to_string(),
        &share.memory_mib.to_string(),
        &share.gres.iter().map(|(name, set)| (name.clone(), set.clone())).collect(),
    );
    (share.node.to_string(), text)
}

fn put_node(node: &Node, view: &mut View) {
    let name = format!("node {}", node.name());
    view.set(&name, "state", node.state_flags().join("+"));
    view.set(&name, "cpus", node.usage.cpus.to_string());
    view.set(&name, "mem", node.usage.memory_mib.to_string());
    if !node.spec.gres.is_empty() {
        view.set(&name, "gres", node.gres_used());
    }
}

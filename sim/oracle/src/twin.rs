//! The model's side.

use std::collections::BTreeMap;

use drawbridge_sim::{
    AdminError, ArrayPlace, ArrayTasks, Epoch, Job, JobId, JobState, JobTarget, Mutant, Node,
    NodeShare, NodeUpdate, Note, Reason, SlurmConfig, SlurmError, SlurmNode, Slurmctld, Span,
    Submission, Time, UserName,
};

use crate::{
    case::{Cluster, Record},
    operation::{NotModelled, Operation},
    plumbing::SLEEP,
    view::{ALSO, Answer, JobLook, START, View, reason_text, share_text},
};

/// Starts that are no further apart are the same.
const SAME_START_MS: u64 = 3000;

/// The model of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    ctld: Slurmctld,
    cluster: Cluster,
    mutant: Option<Mutant>,
    /// What waiting jobs showed in turn with their reasons. Who is cancelled keeps either.
    in_turn: BTreeMap<JobId, Reason>,
}

impl Twin {
    /// The model of a cluster whose time zero was `epoch`.
    pub(crate) fn new(cluster: &Cluster, epoch: u64) -> Result<Self, NotModelled> {
        let ctld = Slurmctld::new(config(cluster)?, Epoch::from_unix(epoch));
        Ok(Self { ctld, cluster: cluster.clone(), mutant: None, in_turn: BTreeMap::new() })
    }

    /// The model with a fault.
    pub(crate) fn faulty(
        cluster: &Cluster,
        epoch: u64,
        mutant: Option<Mutant>,
    ) -> Result<Self, NotModelled> {
        let config = faulty(config(cluster)?, mutant);
        let ctld = Slurmctld::new(config, Epoch::from_unix(epoch));
        Ok(Self { ctld, cluster: cluster.clone(), mutant, in_turn: BTreeMap::new() })
    }

    /// Does an operation.
    pub(crate) fn perform(
        &mut self,
        now_ms: u64,
        operation: Operation,
    ) -> Result<Answer, NotModelled> {
        let now = Time::from_ms(now_ms);
        self.ctld.wake(now);
        let root = UserName::from("root");
        let ctld = &mut self.ctld;
        let done = match operation {
            Operation::Submit(mut submission) => {
                add_programs(&mut submission, &self.cluster);
                return Ok(match ctld.submit(now, *submission) {
                    Ok(id) => Answer::Done(Some(id.0)),
                    Err(error) => Answer::Refused(error.to_string()),
                });
            }
            Operation::BadCommand => return Ok(Answer::Refused("bad command line".into())),
            Operation::Cancel(job) => ctld.cancel(now, job, &root),
            // An external job has no script that could end.
            Operation::Finish(job, _) if ctld.job(job).is_some_and(Job::is_external) => Ok(()),
            Operation::Finish(job, signal) => {
                let _ = ctld.signal(now, one_record(ctld, job), signal, &root);
                Ok(())
            }
            Operation::Requeue(jobs, how) => all(jobs, |job| ctld.requeue(now, job, how, &root)),
            Operation::Suspend(jobs, true) => all(jobs, |job| ctld.suspend_job(now, job, &root)),
            Operation::Suspend(jobs, false) => all(jobs, |job| ctld.resume_job(now, job, &root)),
            Operation::Hold(jobs) => all(jobs, |job| ctld.hold(now, job, &root)),
            Operation::Release(jobs) => all(jobs, |job| ctld.release(now, job, &root)),
            Operation::UpdateJob(job, update) => ctld.update_job(now, job, &update, &root),
            Operation::UpdateNodes(nodes, updates) => update_nodes(ctld, now, nodes, &updates),
            Operation::UpdatePartition(name, words) => {
                return admin(ctld.update_partition(now, &name, &words, &root));
            }
            Operation::CreatePartition(name, words) => {
                return admin(ctld.create_partition(now, &name, &words, &root));
            }
            Operation::DeletePartition(name) => {
                return admin(ctld.delete_partition(now, &name, &root));
            }
            Operation::CreateNodes(words) => {
                return admin(ctld.create_nodes(now, &words, &root));
            }
            Operation::DynamicNode(words) => {
                return admin(ctld.register_dynamic_node(now, &words));
            }
            Operation::DeleteNodes(nodes) => all(nodes, |node| ctld.delete_node(now, &node, &root)),
            Operation::Reconfigure(edits) => {
                self.cluster.edit(&edits);
                let config = faulty(config(&self.cluster)?, self.mutant);
                ctld.reconfigure(now, config);
                Ok(())
            }
            Operation::StopSlurmds(nodes, how) => {
                all(nodes, |node| ctld.slurmd_stops(now, &node, how))
            }
            Operation::StartSlurmds(nodes) => all(nodes, |node| ctld.slurmd_starts(now, &node)),
            Operation::Wait => Ok(()),
        };
        Ok(match done {
            Ok(()) => Answer::Done(None),
            Err(error) => Answer::Refused(error.to_string()),
        })
    }

    /// Takes over in which second jobs really started, where it is about the same. Whether that was
    /// a second sooner is chance, but plans depend on it.
    pub(crate) fn correct_starts(&mut self, record: &Record) {
        let now = Time::from_ms(record.seen_ms);
        for (name, properties) in &record.view.things {
            let start = properties.get(START).and_then(|second| second.parse::<u64>().ok());
            let job = name.strip_prefix("job ").and_then(|number| number.parse().ok()).map(JobId);
            let Some((job, start)) = job.zip(start.map(|second| Time::from_ms(second * 1000)))
            else {
                continue;
            };
            let ours = self.ctld.job(job).filter(|job| job.state == JobState::Running);
            let ours = ours.and_then(|job| job.start_time);
            if ours.is_some_and(|ours| ours.as_ms().abs_diff(start.as_ms()) <= SAME_START_MS) {
                self.ctld.correct_start(now, job, start);
            }
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
            job_look(job).put(&mut view);
            match self.ctld.passing_reason(job) {
                Some(reason) => _ = self.in_turn.insert(job.id, reason),
                None if job.state == JobState::Cancelled => {}
                None => _ = self.in_turn.remove(&job.id),
            }
            if let Some(reason) = self.in_turn.get(&job.id) {
                let name = format!("job {}", job.id);
                view.set(&name, ALSO, reason_text(&reason.squeue()));
            }
        }
        for node in self.ctld.nodes() {
            put_node(node, &mut view);
        }
        view
    }
}

/// What the lab's prologs and epilogs take.
fn add_programs(submission: &mut Submission, cluster: &Cluster) {
    let takes = |key: &str| {
        let mut lines = cluster.slurm_conf.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(SLEEP))?;
        Some(Span::secs(value.parse().ok()?))
    };
    if let Some(behaviour) = &mut submission.behaviour {
        behaviour.configuring = takes("PrologSlurmctld").unwrap_or(behaviour.configuring);
        behaviour.prolog = takes("Prolog").unwrap_or(behaviour.prolog);
        behaviour.epilog = takes("Epilog").unwrap_or(behaviour.epilog);
    }
}

fn config(cluster: &Cluster) -> Result<SlurmConfig, NotModelled> {
    let gres = Some(cluster.gres_conf.as_str()).filter(|text| !text.is_empty());
    let lines = cluster.slurm_conf.lines().filter(|line| !line.contains(SLEEP));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let parsed = SlurmConfig::parse(&text, gres, cluster.release);
    let parsed = parsed.map_err(|error| NotModelled(error.to_string()))?;
    let true_here = ["group of the same name", "bf_continue changes nothing"];
    let is_true_here = |note: &Note| true_here.iter().any(|text| note.text.contains(text));
    match parsed.notes.iter().find(|note| !is_true_here(note)) {
        Some(note) if !cluster.given => Err(NotModelled(note.to_string())),
        Some(_) | None => Ok(parsed.config),
    }
}

#[cfg(feature = "mutants")]
fn faulty(config: SlurmConfig, mutant: Option<Mutant>) -> SlurmConfig {
    match mutant {
        Some(mutant) => config.with_mutant(mutant),
        None => config,
    }
}

#[cfg(not(feature = "mutants"))]
const fn faulty(config: SlurmConfig, _mutant: Option<Mutant>) -> SlurmConfig {
    config
}

/// What scontrol doesn't understand is no answer of slurmctld's.
fn admin(done: Result<(), AdminError>) -> Result<Answer, NotModelled> {
    match done {
        Ok(()) => Ok(Answer::Done(None)),
        Err(AdminError::Slurm(error)) => Ok(Answer::Refused(error.to_string())),
        Err(AdminError::Words(error)) => Err(NotModelled(error.to_string())),
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
    updates: &[NodeUpdate],
) -> Result<(), SlurmError> {
    all(nodes, |node| {
        updates.iter().try_for_each(|update| ctld.update_node(now, &node, update.clone()))
    })
}

fn job_look(job: &Job) -> JobLook {
    // Nothing is shown of a node on which it holds nothing.
    let holds = |share: &&NodeShare| !share.cores.is_empty() || share.memory_mib != 0;
    let shares = job.allocation.iter().flat_map(|allocation| &allocation.nodes).filter(holds);
    let held = job.allocation.as_ref();
    JobLook {
        number: job.id.to_string(),
        array: job.array.as_ref().map(|_| job.squeue_id().replace(['[', ']'], "")),
        state: job.squeue_state().into(),
        reason: reason_text(&job.reason.squeue()),
        priority: job.priority.to_string(),
        partition: job.squeue_partition(),
        restarts: job.restarts.to_string(),
        time_limit: job
            .time_limit
            .map_or("UNLIMITED".into(), |limit| (limit.as_secs() / 60).to_string()),
        to_deadline: job
            .deadline
            .zip(job.start_time)
            .map(|(end, start)| end.since(start).as_secs()),
        start: None,
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
    view.set(&name, "state", node.state().scontrol());
    view.set(&name, "cpus", node.usage.cpus.to_string());
    view.set(&name, "mem", node.usage.memory_mib.to_string());
    if !node.spec.gres.is_empty() {
        view.set(&name, "gres", node.gres_used());
    }
}

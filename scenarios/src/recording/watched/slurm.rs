//! What slurmrestd lists, compared with what it listed before.

use std::{collections::BTreeMap, sync::Arc};

use super::Watched;
use crate::{
    frame::{JobRow, NodeRow},
    record::{Actor, Subject},
    recording::Change,
};

/// The resource that stands for Slurm among those that have been seen.
const SLURM: &str = "slurm";

impl Watched {
    /// Slurm has these jobs and these nodes now. Jobs that it has forgotten keep their last row.
    pub fn slurm_listed(&mut self, jobs: Vec<JobRow>, nodes: Vec<NodeRow>) {
        for job in jobs {
            self.job(job);
        }
        for node in &nodes {
            self.tell_node(node);
        }
        let named =
            nodes.into_iter().map(|node| (node.slurm_name.clone().unwrap_or_default(), node));
        self.slurm_nodes = named.collect::<BTreeMap<_, _>>();
        self.tell_nodes();
        self.seen.insert(SLURM);
    }

    fn job(&mut self, job: JobRow) {
        let before = self.jobs.get(&job.job_id).cloned();
        if before.as_deref() == Some(&job) {
            return;
        }
        if self.seen.contains(SLURM) {
            for text in told(before.as_deref(), &job) {
                self.story(Actor::Slurm, Subject::Job(job.job_id), text);
            }
        }
        let job = Arc::new(job);
        self.jobs.insert(job.job_id, job.clone());
        self.note(Change::Job(job));
    }

    fn tell_node(&mut self, node: &NodeRow) {
        let Some(name) = node.slurm_name.clone() else { return };
        let before = self.slurm_nodes.get(&name);
        let same = before.is_some_and(|it| (&it.state, &it.reason) == (&node.state, &node.reason));
        if same || !self.seen.contains(SLURM) {
            return;
        }
        let why = node.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let text = format!("node {name} is {}{why}", node.state);
        self.story(Actor::Slurm, Subject::SlurmNode(name), text);
    }
}

/// What became of a job, in the twin's words.
fn told(before: Option<&JobRow>, job: &JobRow) -> Vec<String> {
    let (id, name) = (job.job_id, &job.name);
    let mut told = vec![];
    if before.is_none() {
        told.push(format!("queued job {id} ({name})"));
    }
    let was_started = before.and_then(|it| it.start_ms);
    let was_over = before.is_some_and(|it| it.end_ms.is_some());
    if job.start_ms.is_some() && job.start_ms != was_started {
        told.push(format!("started job {id} ({name}) on {}", job.nodes));
    }
    if job.start_ms.is_none() && was_started.is_some() && job.end_ms.is_none() {
        told.push(format!("requeued job {id}"));
    }
    let waits = job.start_ms.is_none() && job.end_ms.is_none();
    if let Some(reason) = job.reason.as_ref().filter(|_| waits)
        && before.and_then(|it| it.reason.as_ref()) != Some(reason)
    {
        told.push(format!("job {id} waits: {reason}"));
    }
    if job.end_ms.is_some() && !was_over {
        let exit = job.exit_code.as_deref().unwrap_or_default();
        told.push(format!("job {id} ended: {} {exit}", job.state).trim_end().to_owned());
    }
    if let Some(before) = before.filter(|it| it.priority != job.priority && waits) {
        told.push(format!("job {id}: priority {} instead of {}", job.priority, before.priority));
    }
    told
}

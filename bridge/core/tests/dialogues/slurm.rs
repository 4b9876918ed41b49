//! Slurm, as little of it as the bridge notices. The test decides what starts and when.

use std::collections::BTreeMap;

use drawbridge_core::{
    NodeTarget, SlurmFault, SlurmReply, SlurmRequest,
    slurm::{NodeAllocation, NodeInfo, ObservedJob, ObservedState},
};
use drawbridge_sim::JobId;

#[derive(Clone)]
pub(crate) struct Slurm {
    pub(crate) jobs: BTreeMap<JobId, ObservedJob>,
    pub(crate) nodes: BTreeMap<String, NodeInfo>,
    pub(crate) next: u32,
    /// How the next submits are answered, instead of being accepted.
    pub(crate) refuse: Option<(i64, &'static str)>,
    /// Nobody may write on jobs.
    pub(crate) read_only: bool,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            jobs: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next: 7,
            refuse: None,
            read_only: false,
        }
    }
}

impl Slurm {
    pub(crate) fn add_node(&mut self, name: &str) {
        let node = NodeInfo {
            name: name.into(),
            state: vec!["IDLE".into()],
            reason: String::new(),
            comment: String::new(),
            partitions: vec!["main".into()],
            cpus: 8,
            memory_mib: 64_000,
            gres: String::new(),
        };
        self.nodes.insert(name.into(), node);
    }

    pub(crate) fn add_job(&mut self, admin_comment: &str) -> JobId {
        let id = JobId(self.next);
        self.next += 1;
        let job = ObservedJob {
            id,
            state: ObservedState::Pending,
            reason: None,
            reason_text: None,
            admin_comment: admin_comment.into(),
            submit_time: u64::from(id.0),
            allocation: Vec::new(),
            start_time: None,
            end_time: None,
            partition: "main".into(),
        };
        self.jobs.insert(id, job);
        id
    }

    /// Starts whatever waits: one task on n1, the others on n2.
    pub(crate) fn start_all(&mut self) {
        let waiting = self.jobs.values().filter(|job| job.state == ObservedState::Pending);
        let waiting: Vec<_> = waiting.map(|job| (job.id.0, job.admin_comment.clone())).collect();
        for (id, comment) in waiting {
            let mark: serde_json::Value = serde_json::from_str(&comment).unwrap();
            let tasks = u32::try_from(mark["pods"].as_array().unwrap().len()).unwrap();
            let cpus = u32::try_from(mark["cpus"].as_u64().unwrap()).unwrap();
            match tasks {
                1 => self.start(id, &[("n1", cpus)]),
                _ => self.start(id, &[("n1", cpus), ("n2", cpus * (tasks - 1))]),
            }
        }
    }

    pub(crate) fn start(&mut self, job: u32, nodes: &[(&str, u32)]) {
        let job = self.jobs.get_mut(&JobId(job)).unwrap();
        job.state = ObservedState::Running;
        job.reason = None;
        let nodes = nodes.iter();
        job.allocation = nodes
            .map(|(node, cpus)| NodeAllocation { node: (*node).into(), cpus: *cpus })
            .collect();
    }

    pub(crate) fn handle(&mut self, request: &SlurmRequest) -> Result<SlurmReply, SlurmFault> {
        Ok(match request {
            SlurmRequest::Ping | SlurmRequest::TestToken => SlurmReply::Done,
            SlurmRequest::Submit(job) => {
                if let Some((number, text)) = self.refuse {
                    return Err(SlurmFault::Refused { number, text: text.into() });
                }
                SlurmReply::Submitted { job: self.add_job(&job.admin_comment) }
            }
            SlurmRequest::JobStates => {
                let states = self.jobs.values().map(|job| (job.id, job.state.clone()));
                SlurmReply::States(states.collect())
            }
            SlurmRequest::Job(id) => SlurmReply::Job(self.jobs.get(id).cloned()),
            SlurmRequest::Jobs => SlurmReply::Jobs(self.jobs.values().cloned().collect()),
            SlurmRequest::Cancel { job, signal } => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.state = match signal.as_deref() {
                        None => ObservedState::Cancelled,
                        Some("USR1") => ObservedState::Completed,
                        Some(_) => ObservedState::Failed,
                    };
                }
                SlurmReply::Done
            }
            SlurmRequest::Remark { .. } if self.read_only => {
                let text = "Access/permission denied".into();
                return Err(SlurmFault::Refused { number: 2002, text });
            }
            SlurmRequest::Remark { job, admin_comment } => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.admin_comment.clone_from(admin_comment);
                }
                SlurmReply::Done
            }
            SlurmRequest::Nodes => SlurmReply::Nodes(self.nodes.values().cloned().collect()),
            SlurmRequest::UpdateNode { node, state, reason } => {
                let node = self.nodes.get_mut(node.as_str()).unwrap();
                node.state = match state {
                    NodeTarget::Drain => vec!["IDLE".into(), "DRAIN".into()],
                    NodeTarget::Undrain => vec!["IDLE".into()],
                };
                node.reason.clone_from(reason);
                SlurmReply::Done
            }
        })
    }
}

//! Slurm, as little of it as the bridge notices. The test decides what starts and when.

use std::collections::BTreeMap;

use drawbridge_core::{
    NodeTarget, SlurmFault, SlurmReply, SlurmRequest,
    slurm::{NodeAllocation, NodeInfo, ObservedJob, ObservedState, Reservation},
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
    /// Nobody may change jobs that wait.
    pub(crate) frozen: bool,
    pub(crate) reservations: Vec<Reservation>,
    /// How changes of nodes are answered, instead of being made.
    pub(crate) refuse_nodes: Option<(i64, &'static str)>,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            jobs: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next: 7,
            refuse: None,
            read_only: false,
            frozen: false,
            reservations: Vec::new(),
            refuse_nodes: None,
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
            features: Vec::new(),
            topology: String::new(),
        };
        self.nodes.insert(name.into(), node);
    }

    /// Makes an external node from such words as the bridge writes.
    pub(crate) fn create(&mut self, name: &str, words: &str) {
        let word = |key: &str| {
            let found = words.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            found.unwrap_or_default().trim_matches('"').to_owned()
        };
        let node = NodeInfo {
            name: name.into(),
            state: ["IDLE", "EXTERNAL", "DYNAMIC_NORM"].map(String::from).to_vec(),
            reason: String::new(),
            comment: String::new(),
            partitions: vec!["main".into()],
            cpus: word("CPUs").parse().unwrap(),
            memory_mib: word("RealMemory").parse().unwrap(),
            gres: word("Gres"),
            features: word("Feature")
                .split(',')
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect(),
            topology: word("Topology"),
        };
        self.nodes.insert(name.into(), node);
    }

    pub(crate) fn add_job(&mut self, admin_comment: &str) -> JobId {
        let id = JobId(self.next);
        self.next += 1;
        let job = ObservedJob {
            id,
            state: ObservedState::PENDING,
            reason: None,
            reason_text: None,
            admin_comment: admin_comment.into(),
            submit_time: u64::from(id.0),
            allocation: Vec::new(),
            gres_detail: Vec::new(),
            cores: Vec::new(),
            start_time: None,
            end_time: None,
            partition: "main".into(),
        };
        self.jobs.insert(id, job);
        id
    }

    /// Starts whatever waits: one task on n1, the others on n2.
    pub(crate) fn start_all(&mut self) {
        let waiting = self.jobs.values().filter(|job| job.state == ObservedState::PENDING);
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
        job.state = ObservedState::RUNNING;
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
            SlurmRequest::Job(id) => SlurmReply::Job(self.jobs.get(id).cloned().map(Box::new)),
            SlurmRequest::Jobs => SlurmReply::Jobs(self.jobs.values().cloned().collect()),
            SlurmRequest::Cancel { job, signal } => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.state = match signal.as_deref() {
                        None => ObservedState::CANCELLED,
                        Some("USR1") => ObservedState::COMPLETED,
                        Some(_) => ObservedState::FAILED,
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
            SlurmRequest::Revise { job, to, .. } => match self.jobs.get_mut(job) {
                Some(job) if job.state == ObservedState::PENDING && !self.frozen => {
                    job.admin_comment.clone_from(&to.admin_comment);
                    SlurmReply::Done
                }
                Some(_) | None => {
                    let text = "Access/permission denied".into();
                    return Err(SlurmFault::Refused { number: 2002, text });
                }
            },
            SlurmRequest::Reservations => SlurmReply::Reservations(self.reservations.clone()),
            SlurmRequest::Nodes => SlurmReply::Nodes(self.nodes.values().cloned().collect()),
            SlurmRequest::UpdateNode { .. }
            | SlurmRequest::CreateNode { .. }
            | SlurmRequest::DescribeNode { .. }
            | SlurmRequest::DeleteNode(_) => {
                if let Some((number, text)) = self.refuse_nodes {
                    return Err(SlurmFault::Refused { number, text: text.into() });
                }
                self.change_node(request);
                SlurmReply::Done
            }
        })
    }

    fn change_node(&mut self, request: &SlurmRequest) {
        if let SlurmRequest::CreateNode { node, words } = request {
            self.create(node.as_str(), words);
        }
        if let SlurmRequest::DescribeNode { node, features, topology } = request {
            let node = self.nodes.get_mut(node.as_str()).unwrap();
            node.features = features.clone().unwrap_or(node.features.clone());
            node.topology = topology.clone().unwrap_or(node.topology.clone());
        }
        if let SlurmRequest::DeleteNode(node) = request {
            self.nodes.remove(node.as_str());
        }
        if let SlurmRequest::UpdateNode { node, state, reason } = request {
            let node = self.nodes.get_mut(node.as_str()).unwrap();
            node.state.retain(|flag| flag != "DRAIN");
            if *state == NodeTarget::Drain {
                node.state.push("DRAIN".into());
            }
            node.reason.clone_from(reason);
        }
    }
}

//! The core's view of jobs and nodes: a few fields of the full types.
//!
//! What the bridge decides on must be there. A job without a number or a state would be taken for
//! gone and submitted again, so a reply that lacks them isn't understood at all.

use drawbridge_core::slurm::{self, NodeAllocation, NodeInfo, ObservedJob, ObservedState};
use drawbridge_sim::{IndexSet, JobId, PartitionName, SlurmNode, expand_hostlist};

use super::{Core, Job, JobResources, Node, NodeResources, Number, Reservation, wire};
use crate::slurm::reply::Garbled;

wire! {
    /// What the core looks at of a job. Lists of all jobs are long, and most of each job is of no use to it.
    JobSketch {
        job_id: u32,
        job_state: Vec<String>,
        state_reason: String,
        state_description: String,
        admin_comment: String,
        submit_time: Number,
        job_resources: Option<JobResources>,
        gres_detail: Vec<String>,
        cpus: Number,
        start_time: Number,
        end_time: Number,
        partition: String,
    }
}

impl From<Job> for JobSketch {
    fn from(job: Job) -> Self {
        Self {
            job_id: job.job_id,
            job_state: job.job_state,
            state_reason: job.state_reason,
            state_description: job.state_description,
            admin_comment: job.admin_comment,
            submit_time: job.submit_time,
            job_resources: job.job_resources,
            gres_detail: job.gres_detail,
            cpus: job.cpus,
            start_time: job.start_time,
            end_time: job.end_time,
            partition: job.partition,
        }
    }
}

impl TryFrom<JobSketch> for ObservedJob {
    type Error = Garbled;

    fn try_from(job: JobSketch) -> Result<Self, Garbled> {
        if job.job_id == 0 {
            return Err(Garbled::new("job_id", "a job number"));
        }
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Self {
            id: JobId(job.job_id),
            state: observed(&job.job_state)?,
            reason: said(job.state_reason).filter(|reason| reason != "None"),
            reason_text: said(job.state_description),
            submit_time: job.submit_time.or_zero(),
            allocation: match &job.job_resources {
                Some(resources) => allocation(resources, job.cpus.get())?,
                None => Vec::new(),
            },
            gres_detail: job.gres_detail,
            // Only jobs that carry a mark can be ours: of the others nobody asks for their cores.
            cores: match &job.job_resources {
                Some(resources) if !job.admin_comment.is_empty() => cores(resources),
                Some(_) | None => Vec::new(),
            },
            start_time: job.start_time.moment(),
            end_time: job.end_time.moment(),
            admin_comment: job.admin_comment,
            partition: PartitionName::from(job.partition),
        })
    }
}

/// What the job has on each node, in the order of its node list.
fn allocation(
    resources: &JobResources,
    job_cpus: Option<u64>,
) -> Result<Vec<NodeAllocation>, Garbled> {
    // Where CPUs aren't counted by node: how many a core has.
    let cores: usize = resources.allocation.iter().map(|node| node.cores.len()).sum();
    let threads = job_cpus.unwrap_or(0).checked_div(cores as u64).unwrap_or(0).max(1);
    let nodes = resources.allocation.iter().map(|node| {
        if node.name.is_empty() {
            return Err(Garbled::new("job_resources", "a list of nodes with names"));
        }
        let counted = u32::try_from(node.cores.len() as u64 * threads).unwrap_or(u32::MAX);
        let cpus = node.cpus.unwrap_or(counted);
        Ok(NodeAllocation { node: SlurmNode::from(node.name.as_str()), cpus })
    });
    nodes.collect()
}

/// The cores on each node, by their index there. v0.0.40 doesn't say how many a socket has.
fn cores(resources: &JobResources) -> Vec<String> {
    let on_node = |node: &NodeResources| {
        let index = |core: &Core| (core.socket * node.cores_per_socket + core.core) as usize;
        let known = 0 < node.cores_per_socket;
        let all: IndexSet = node.cores.iter().filter(|_| known).map(index).collect();
        all.to_string()
    };
    resources.allocation.iter().map(on_node).collect()
}

impl TryFrom<Node> for NodeInfo {
    type Error = Garbled;

    fn try_from(node: Node) -> Result<Self, Garbled> {
        let missing = [
            ("name", node.name.is_empty()),
            ("cpus", node.cpus == 0),
            ("real_memory", node.real_memory == 0),
        ];
        if let Some((key, _)) = missing.into_iter().find(|(_, missing)| *missing) {
            return Err(Garbled::new(key, "given"));
        }
        Ok(Self {
            name: SlurmNode::from(node.name),
            state: node.state,
            reason: node.reason,
            comment: node.comment,
            partitions: node.partitions.into_iter().map(PartitionName::from).collect(),
            cpus: node.cpus,
            memory_mib: node.real_memory,
            gres: node.gres,
            features: node.features,
            topology: node.topology,
        })
    }
}

impl TryFrom<Reservation> for slurm::Reservation {
    type Error = Garbled;

    fn try_from(reservation: Reservation) -> Result<Self, Garbled> {
        let Reservation { name, node_list, start_time, end_time, flags, .. } = reservation;
        if name.is_empty() {
            return Err(Garbled::new("name", "given"));
        }
        let nodes = expand_hostlist(&node_list)
            .map_err(|_| Garbled::new("node_list", "a list of nodes"))?;
        Ok(Self {
            name,
            nodes: nodes.into_iter().map(SlurmNode::from).collect(),
            start_time: start_time.or_zero(),
            end_time: end_time.moment(),
            is_maintenance: flags.iter().any(|flag| flag == "MAINT"),
        })
    }
}

/// A state is a list: one base state, and flags beside it.
pub(crate) fn observed(words: &[String]) -> Result<ObservedState, Garbled> {
    ObservedState::read(words).map_err(|_| Garbled::new("job_state", "a list of words"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slurm::types::Number;

    #[test]
    fn a_state_without_words_is_not_understood() {
        assert!(observed(&[]).is_err());
        let words = ["RUNNING".to_owned(), "CONFIGURING".to_owned()];
        assert_eq!(observed(&words).unwrap().to_string(), "RUNNING+CONFIGURING");
    }

    #[test]
    fn where_only_cores_are_known_cpus_follow_from_the_job() {
        let node = |name: &str, cores: u32| NodeResources {
            name: name.into(),
            cores: (0..cores).map(|core| Core { socket: 0, core }).collect(),
            ..NodeResources::default()
        };
        let resources = JobResources {
            allocation: vec![node("n1", 2), node("n2", 1)],
            ..JobResources::default()
        };
        for (cpus, expected) in [(Number::Is(3), [2, 1]), (Number::Is(6), [4, 2])] {
            let found = allocation(&resources, cpus.get()).unwrap();
            assert_eq!(found.iter().map(|on| on.cpus).collect::<Vec<_>>(), expected);
        }
    }
}

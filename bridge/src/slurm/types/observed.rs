//! The core's view of jobs and nodes: a few fields of the full types.
//!
//! What the bridge decides on must be there. A job without a number or a state would be taken for
//! gone and submitted again, so a reply that lacks them isn't understood at all.

use drawbridge_core::slurm::{NodeAllocation, NodeInfo, ObservedJob, ObservedState};
use drawbridge_sim::{IndexSet, JobId, PartitionName, SlurmNode};

use super::{Core, Job, JobResources, Node, NodeResources, Number, wire};
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
        })
    }
}

/// A state is a list: one base state, and flags beside it.
pub(crate) fn observed(words: &[String]) -> Result<ObservedState, Garbled> {
    if words.is_empty() {
        return Err(Garbled::new("job_state", "a list of words"));
    }
    let flag = |name: &str| words.iter().any(|word| word == name);
    let mut bases = words.iter().filter_map(|word| base(word));
    let state = match (bases.next(), bases.next()) {
        (Some(one), None) => one,
        _ => ObservedState::Unknown(words.join("+")),
    };
    if flag("COMPLETING") {
        return Ok(ObservedState::Completing(Box::new(state)));
    }
    if state == ObservedState::Running && flag("CONFIGURING") {
        return Ok(ObservedState::Configuring);
    }
    Ok(state)
}

fn base(word: &str) -> Option<ObservedState> {
    Some(match word {
        "PENDING" => ObservedState::Pending,
        "RUNNING" => ObservedState::Running,
        "SUSPENDED" => ObservedState::Suspended,
        "COMPLETED" => ObservedState::Completed,
        "CANCELLED" => ObservedState::Cancelled,
        "FAILED" => ObservedState::Failed,
        "TIMEOUT" => ObservedState::Timeout,
        "NODE_FAIL" => ObservedState::NodeFail,
        "PREEMPTED" => ObservedState::Preempted,
        "BOOT_FAIL" => ObservedState::BootFail,
        "DEADLINE" => ObservedState::Deadline,
        "OUT_OF_MEMORY" => ObservedState::OutOfMemory,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slurm::types::Number;

    #[test]
    fn a_state_is_a_base_with_flags() {
        use ObservedState as S;
        let table = [
            ("RUNNING", S::Running),
            ("RUNNING CONFIGURING", S::Configuring),
            ("CONFIGURING RUNNING POWER_UP_NODE", S::Configuring),
            ("CANCELLED COMPLETING", S::Completing(Box::new(S::Cancelled))),
            ("PENDING COMPLETING", S::Completing(Box::new(S::Pending))),
            ("PENDING REQUEUE_HOLD", S::Pending),
            ("RUNNING SOMETHING_NEW", S::Running),
            ("SOMETHING_NEW", S::Unknown("SOMETHING_NEW".into())),
            ("RUNNING FAILED", S::Unknown("RUNNING+FAILED".into())),
        ];
        for (words, state) in table {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(observed(&words), Ok(state), "{words:?}");
        }
        assert!(observed(&[]).is_err());
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

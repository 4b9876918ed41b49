//! How a waiting job shall be changed: what differs from what was asked for before.
//!
//! What slurmctld does with a change, as seen with 24.11 and 26.05: a number of tasks alone makes the CPUs as
//! many as the tasks, whatever `cpus_per_task` says, so both are sent; an empty list of nodes changes
//! nothing, a list with an empty name clears it; no more than 0 nodes means any number.
//!
//! The bound on tasks of a node stays what it was: a job that is given more than it should have is given
//! back, and submitted anew.

use drawbridge_core::slurm::Submission;

use super::JobDescription;

impl JobDescription {
    /// The change that makes one request of another. Without the former everything is sent that may have
    /// changed. Whose job it is, its script and its surroundings stay.
    pub fn revision(from: Option<&Submission>, to: &Submission) -> Self {
        let (was, is) = (from.map(Self::from), Self::from(to));
        let was = was.as_ref();
        macro_rules! changed {
            ($field:ident, $none:expr) => {
                changed(was.map(|was| &was.$field), is.$field, $none)
            };
        }
        let size = |job: &Submission| (job.tasks, job.cpus_per_task);
        let resized = from.map(size) != Some(size(to));
        let none = || Some(String::new());
        Self {
            account: changed!(account, none()),
            admin_comment: is.admin_comment,
            begin_time: changed!(begin_time, None),
            comment: changed!(comment, none()),
            constraints: changed!(constraints, none()),
            cpus_per_task: resized.then_some(to.cpus_per_task),
            deadline: changed!(deadline, None),
            dependency: changed!(dependency, none()),
            excluded_nodes: excluded(from, to),
            licenses: changed!(licenses, none()),
            maximum_nodes: changed!(maximum_nodes, Some(0)),
            memory_per_cpu: changed!(memory_per_cpu, None),
            memory_per_node: changed!(memory_per_node, None),
            minimum_cpus: resized.then(|| to.tasks.saturating_mul(to.cpus_per_task)),
            minimum_nodes: changed!(minimum_nodes, Some(1)),
            name: changed!(name, None),
            nice: changed!(nice, Some(0)),
            partition: changed!(partition, None),
            prefer: changed!(prefer, none()),
            priority: changed!(priority, None),
            qos: changed!(qos, None),
            required_switches: changed!(required_switches, None),
            reservation: changed!(reservation, none()),
            tasks: resized.then_some(to.tasks),
            time_limit: changed!(time_limit, None),
            tres_per_node: changed!(tres_per_node, None),
            tres_per_task: changed!(tres_per_task, None),
            wait_for_switch: changed!(wait_for_switch, None),
            ..Self::default()
        }
    }
}

/// Nothing if it is as it was; `none` if it isn't said any more.
fn changed<T: PartialEq>(was: Option<&Option<T>>, is: Option<T>, none: Option<T>) -> Option<T> {
    match was {
        Some(was) if *was == is => None,
        Some(Some(_)) => is.or(none),
        Some(None) | None => is,
    }
}

fn excluded(from: Option<&Submission>, to: &Submission) -> Option<Vec<String>> {
    if from.is_some_and(|from| from.excluded_nodes == to.excluded_nodes) {
        return None;
    }
    let names: Vec<String> = to.excluded_nodes.iter().map(ToString::to_string).collect();
    Some(if names.is_empty() { vec![String::new()] } else { names })
}

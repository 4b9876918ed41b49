//! From pods to a Slurm job: total, with refusals as data.

mod resources;
mod unsupported;

use drawbridge_sim::SlurmNode;

use crate::{
    annotations::{AnnotationError, Annotations, Distribution, Layers},
    config::Config,
    mark::Mark,
    names::Uid,
    slurm::{Memory, Submission},
    view::PodView,
};
pub(crate) use resources::Ask;
use unsupported::Unsupported;

/// Stands for the pods in Slurm. Ends with 0 or 1 as we tell it by signal, so that Slurm accounts
/// for the pods' outcome; outlives TERM, so that its nodes stay taken until the pods are gone.
const SCRIPT: &str = "#!/bin/bash
trap 'exit 0' USR1
trap 'exit 1' USR2
trap '' TERM
while true; do
  sleep infinity &
  wait
done
";

/// What is to become a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) workload: &'a Uid,
    /// The job's name, unless an annotation gives one.
    pub(crate) name: &'a str,
    /// At least one, in rank order.
    pub(crate) pods: &'a [&'a PodView],
    /// Annotations that count, the topmost object's first.
    pub(crate) layers: &'a Layers<'a>,
    pub(crate) is_gang: bool,
}

/// Why pods can't become a job. Nothing but a change of theirs helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// A NodeSet's own worker.
    #[error("{}", crate::admission::WORKER_REFUSED)]
    Worker,
    /// A wish that Slurm can't be told.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A value in an annotation.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// An amount in the pod.
    #[error("{place} asks for `{value}` of {resource}, which is no quantity")]
    Quantity { place: String, resource: String, value: String },
}

/// What a draft comes to, before it is known which nodes it must not use.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) ask: Ask,
    pub(crate) annotations: Annotations,
}

impl Shape {
    /// Reads the pods and their annotations.
    pub(crate) fn of(draft: Draft<'_>) -> Result<Self, Refusal> {
        let mut ask = Ask::default();
        for pod in draft.pods {
            if pod.is_worker() {
                return Err(Refusal::Worker);
            }
            unsupported::check(pod)?;
            ask = ask.max(resources::ask(pod)?);
        }
        Ok(Self { ask, annotations: Annotations::read(draft.layers)? })
    }

    /// The partition that the job goes to, if anybody named one.
    pub(crate) fn partition<'a>(&'a self, config: &'a Config) -> Option<&'a str> {
        self.annotations.partition.as_deref().or(config.partition.as_deref())
    }

    /// Writes the job, with its mark.
    pub(crate) fn submission(
        &self,
        config: &Config,
        draft: Draft<'_>,
        excluded_nodes: Vec<SlurmNode>,
    ) -> (Mark, Submission) {
        let Annotations {
            account,
            constraints,
            cpus_per_task,
            distribution,
            exclusive,
            gres,
            group_id,
            job_name,
            licenses,
            max_nodes,
            memory_per_node_mib,
            min_nodes,
            partition: _,
            priority,
            qos,
            reservation,
            time_limit_minutes,
            user_id,
            wckey,
        } = self.annotations.clone();
        let cpus_per_task = cpus_per_task.unwrap_or(self.ask.cpus);
        let single = (!draft.is_gang).then_some(1);
        let pods = draft.pods.iter().map(|pod| pod.key()).collect();
        let mark = Mark::new(&config.cluster_id, draft.workload.clone(), pods, cpus_per_task)
            .cyclic(distribution == Distribution::Cyclic);
        let job = Submission {
            name: job_name.unwrap_or_else(|| draft.name.into()),
            script: SCRIPT.into(),
            partition: self.partition(config).map(Into::into),
            account,
            qos,
            reservation,
            wckey,
            licenses,
            constraints,
            user_id,
            group_id,
            tasks: u32::try_from(draft.pods.len()).unwrap_or(u32::MAX),
            cpus_per_task,
            memory: self.memory(config, draft.is_gang, cpus_per_task, memory_per_node_mib),
            tres_per_task: match (&gres, self.ask.gpus) {
                (Some(_), _) | (None, 0) => None,
                (None, gpus) => Some(format!("gres/gpu:{gpus}")),
            },
            tres_per_node: gres,
            min_nodes: min_nodes.or(single),
            max_nodes: max_nodes.or(single),
            excluded_nodes,
            time_limit_minutes,
            priority,
            exclusive: exclusive.unwrap_or(config.exclusive),
            admin_comment: mark.text(),
            mcs_label: config.mcs_label.clone(),
        };
        (mark, job)
    }

    /// Memory for the pod alone, or for each CPU where pods may share a node.
    fn memory(&self, config: &Config, is_gang: bool, cpus: u32, per_node: Option<u64>) -> Memory {
        if let Some(mib) = per_node {
            return Memory::PerNode(mib);
        }
        let mib = self.ask.memory_mib.unwrap_or_else(|| config.default_memory_mib());
        if is_gang {
            Memory::PerCpu(mib.div_ceil(u64::from(cpus.max(1))).max(1))
        } else {
            Memory::PerNode(mib)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn pod(name: &str, cpu: &str, memory: Option<&str>) -> PodView {
        let mut requests = json!({ "cpu": cpu });
        if let Some(memory) = memory {
            requests["memory"] = json!(memory);
        }
        let container = json!({ "name": "c", "resources": { "requests": requests } });
        let metadata = json!({ "name": name, "namespace": "a", "uid": format!("uid-{name}") });
        serde_json::from_value(
            json!({ "metadata": metadata, "spec": { "containers": [container] } }),
        )
        .unwrap()
    }

    fn submission(pods: &[PodView], annotations: Value, is_gang: bool) -> Submission {
        let annotations: BTreeMap<String, String> = serde_json::from_value(annotations).unwrap();
        let pods: Vec<_> = pods.iter().collect();
        let workload = "w".into();
        let draft = Draft {
            workload: &workload,
            name: "k8s-pod-p",
            pods: &pods,
            layers: &[&annotations],
            is_gang,
        };
        let shape = Shape::of(draft).unwrap();
        shape.submission(&Config::as_shipped(), draft, vec!["n9".into()]).1
    }

    #[test]
    fn a_pod_becomes_one_task_on_one_node() {
        let job = submission(&[pod("p", "3500m", Some("8Gi"))], json!({}), false);
        assert_eq!((job.tasks, job.cpus_per_task, job.memory), (1, 4, Memory::PerNode(8192)));
        assert_eq!((job.min_nodes, job.max_nodes), (Some(1), Some(1)));
        assert_eq!(job.excluded_nodes, ["n9".into()]);
        assert!(!job.exclusive, "nodes are shared by default");
        insta::assert_snapshot!(job.admin_comment, @r#"{"cluster":"drawbridge","cpus":4,"pods":["a/p"],"version":1,"workload":"w"}"#);
    }

    #[test]
    fn a_gang_takes_the_largest_pod_as_the_shape_of_every_task() {
        let pods = [pod("p0", "1", Some("1Gi")), pod("p1", "3", None)];
        let job = submission(&pods, json!({}), true);
        assert_eq!((job.tasks, job.cpus_per_task, job.memory), (2, 3, Memory::PerCpu(342)));
        assert_eq!((job.min_nodes, job.max_nodes), (None, None));
    }

    #[test]
    fn a_pod_without_memory_gets_the_configured_amount_never_the_whole_node() {
        let job = submission(&[pod("p", "1", None)], json!({}), false);
        assert_eq!(job.memory, Memory::PerNode(100));
    }

    #[test]
    fn annotations_win_over_what_the_pod_asks_for() {
        let annotations = json!({
            "slurmjob.slinky.slurm.net/partition": "web",
            "slurmjob.slinky.slurm.net/cpu-per-task": "2",
            "slurmjob.slinky.slurm.net/mem-per-node": "1Gi",
            "slurmjob.slinky.slurm.net/gres": "gpu:a100:2",
            "slurmjob.slinky.slurm.net/exclusive": "true",
            "slurmjob.slinky.slurm.net/job-name": "mine",
        });
        let job = submission(&[pod("p", "4", None)], annotations, false);
        assert_eq!(job.partition, Some("web".into()));
        assert_eq!((job.cpus_per_task, job.memory), (2, Memory::PerNode(1024)));
        assert_eq!((job.tres_per_node.as_deref(), job.tres_per_task), (Some("gpu:a100:2"), None));
        assert_eq!((job.exclusive, job.name.as_str()), (true, "mine"));
    }

    #[test]
    fn the_script_ends_as_it_is_told() {
        insta::assert_snapshot!(SCRIPT, @"
        #!/bin/bash
        trap 'exit 0' USR1
        trap 'exit 1' USR2
        trap '' TERM
        while true; do
          sleep infinity &
          wait
        done
        ");
    }
}

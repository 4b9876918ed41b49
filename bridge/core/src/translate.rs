//! From pods to a Slurm job: total, with refusals as data.

mod conflict;
mod dependency;
mod devices;
mod resources;

use std::collections::BTreeSet;

use drawbridge_sim::SlurmNode;

use crate::{
    annotations::{AnnotationError, Annotations, Distribution, Layers},
    candidates::{Layout, Unkept},
    config::{Config, Uneven},
    explain,
    gang::Gang,
    mark::Mark,
    names::Uid,
    permissions::{self, Forbidden},
    plants::Plant,
    slurm::{Memory, Submission, Wishes},
    view::PodView,
    workload::Claimed,
};
pub(crate) use conflict::conflict;
pub(crate) use dependency::{Resolved, resolve};
pub(crate) use devices::{CLASS_PREFIX, CPU_CLASS, Wanted, exclusive, wanted};
pub(crate) use resources::{Ask, is_told, requests};

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
    /// What binds the pods together, if they are a gang.
    pub(crate) gang: Option<&'a Gang>,
    /// So many must start together.
    pub(crate) minimum: usize,
    /// What the pods' claims ask for.
    pub(crate) claimed: &'a Claimed,
    /// The `activeDeadlineSeconds` of its owners, the shortest.
    pub(crate) owners_deadline: Option<u64>,
}

/// What only a look around tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Nodes that it must not use.
    pub(crate) excluded_nodes: Vec<SlurmNode>,
    /// What it waits for, in Slurm's terms.
    pub(crate) dependency: Option<String>,
    /// How its pods go together on nodes.
    pub(crate) layout: Layout,
    /// Nobody on its nodes could run a script.
    pub(crate) external: bool,
}

/// Why pods can't become a job. Nothing but a change of theirs helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// A NodeSet's own worker.
    #[error("{}", crate::admission::WORKER_REFUSED)]
    Worker,
    /// A claim that Slurm can't be told of.
    #[error("{0}")]
    Claim(String),
    /// A demand on nodes or neighbours that can't be kept.
    #[error(transparent)]
    Unkept(#[from] Unkept),
    /// A value in an annotation.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// Two ways to say one thing, in the existing bridge's words.
    #[error("{0}")]
    Conflict(String),
    /// What its namespace may not ask for.
    #[error(transparent)]
    Forbidden(#[from] Box<Forbidden>),
    /// What it waits for can't come.
    #[error("{0}")]
    Dependency(String),
    /// Tasks of one job have one size.
    #[error("the pods of the gang ask for different amounts; a Slurm job has tasks of one size")]
    Uneven,
    /// A resource that no table has.
    #[error(
        "Slurm doesn't know the resource {resource}; add it to devices.resources of the bridge's \
         configuration, or to devices.kubernetesOnly if Slurm needn't count it"
    )]
    UnmappedResource { resource: String },
    /// A device class that no table has.
    #[error(
        "device class {class} stands for nothing in Slurm; add it to devices.classes of the \
         bridge's configuration"
    )]
    UnknownClass { class: String },
    /// Devices that two could choose at a time.
    #[error(
        "the kubelet chooses the devices of {resource}, and may choose some that Slurm gave to \
         another job on the node; ask for whole nodes (annotation \
         slurmjob.slinky.slurm.net/exclusive: \"true\"), use a device class, or let an \
         administrator set devices.plugins: share where no native job uses these devices"
    )]
    SharedPlugin { resource: String },
    /// A claim that its pods can't have.
    #[error("{0}")]
    Volume(String),
    /// An amount in the pod.
    #[error("{place} asks for `{value}` of {resource}, which is no quantity")]
    Quantity { place: String, resource: String, value: String },
}

/// What a draft comes to, before it is known which nodes it must not use.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) ask: Ask,
    /// What is said, or holds in the namespace.
    pub(crate) annotations: Annotations,
    exclusive: bool,
    /// What isn't as users may expect.
    pub(crate) warnings: Vec<Warning>,
}

/// Something that isn't as users may expect: an event's reason and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// It was only a wish: nothing is wrong.
    pub(crate) is_wish: bool,
}

impl Shape {
    /// Reads the pods and their annotations.
    pub(crate) fn of(config: &Config, draft: Draft<'_>) -> Result<Self, Refusal> {
        let namespace = draft.pods.first().map_or("", |pod| &pod.metadata.namespace);
        permissions::check(config, namespace, draft.layers)?;
        let annotations = Annotations::read(draft.layers)?.or(config.namespace(namespace).1);
        let mut ask = Ask::default();
        let mut is_uneven = false;
        let mut uncounted = BTreeSet::new();
        let mut plugin = None;
        for (rank, pod) in draft.pods.iter().enumerate() {
            if pod.is_worker() {
                return Err(Refusal::Worker);
            }
            let mut wanted = devices::wanted(config, pod)?;
            for (class, count) in draft.claimed.get(pod.uid()).into_iter().flatten() {
                wanted.add_class(&config.devices, class, *count)?;
            }
            conflict(pod, &wanted, &annotations)?;
            let mut asked = resources::ask(pod)?;
            asked.cpus = asked.cpus.max(wanted.cpus);
            asked.devices = wanted.devices;
            is_uneven |= rank > 0 && asked != ask;
            ask = ask.max(asked);
            uncounted.extend(wanted.uncounted);
            plugin = plugin.or(wanted.plugin);
        }
        let mut warnings: Vec<_> = uncounted.iter().map(|it| ignored(it)).collect();
        match (is_uneven, config.gang.uneven) {
            (false, _) => {}
            (true, Uneven::Refuse) => return Err(Refusal::Uneven),
            (true, Uneven::Largest) => warnings.push(uneven(&ask)),
        }
        let exclusive = devices::exclusive(config, plugin.as_deref(), annotations.exclusive)?;
        Ok(Self { ask, annotations, exclusive, warnings })
    }

    /// CPUs of each task.
    pub(crate) fn cpus_per_task(&self) -> u32 {
        self.annotations.cpus_per_task.unwrap_or(self.ask.cpus)
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
        around: Surroundings,
    ) -> (Mark, Submission) {
        let Surroundings { excluded_nodes, dependency, layout, external } = around;
        let said = self.annotations.clone();
        let (priority, nice) = self.urgency(config, draft);
        let cpus_per_task = self.cpus_per_task();
        let single = (draft.gang.is_none() || layout.one_node).then_some(1);
        let needed = layout.per_node.map(|_| layout.needed(draft.pods.len()));
        let needed = needed.and_then(|nodes| u32::try_from(nodes).ok());
        let pods = draft.pods.iter().map(|pod| pod.key()).collect();
        let mark = Mark::new(&config.cluster_id, draft.workload.clone(), pods, cpus_per_task)
            .gang(draft.gang.cloned(), draft.minimum)
            .cyclic(said.distribution == Distribution::Cyclic)
            .per_node(layout.per_node)
            .external(external);
        let excluded: BTreeSet<_> =
            excluded_nodes.into_iter().chain(said.exclude.unwrap_or_default()).collect();
        let mut job = Submission {
            name: said.job_name.unwrap_or_else(|| draft.name.into()),
            script: (!external).then(|| SCRIPT.into()),
            partition: self.partition(config).map(Into::into),
            account: said.account,
            qos: said.qos,
            reservation: said.reservation,
            wckey: said.wckey,
            licenses: said.licenses,
            constraints: said.constraints,
            user_id: said.user_id,
            group_id: said.group_id,
            tasks: u32::try_from(draft.pods.len()).unwrap_or(u32::MAX),
            cpus_per_task,
            memory: self.memory(
                config,
                draft.gang.is_some(),
                cpus_per_task,
                said.memory_per_node_mib,
            ),
            tres_per_task: match &said.gres {
                Some(_) => None,
                None => self.ask.tres_per_task(),
            },
            tres_per_node: said.gres,
            tasks_per_node: layout.per_node,
            min_nodes: said.min_nodes.or(single).max(needed),
            max_nodes: said.max_nodes.or(single),
            excluded_nodes: excluded.into_iter().collect(),
            required_nodes: Vec::new(),
            time_limit_minutes: self.time_limit_minutes(draft),
            priority,
            wishes: self.wishes(draft, dependency, nice),
            exclusive: self.exclusive || config.has(Plant::TakesWholeNodes),
            admin_comment: String::new(),
            mcs_label: config.mcs_label.clone(),
        };
        let mark = mark.request(job.in_short(&self.annotations.dependency));
        job.admin_comment = mark.text();
        (mark, job)
    }

    fn wishes(&self, draft: Draft<'_>, dependency: Option<String>, nice: Option<i32>) -> Wishes {
        let created = draft.pods.first().map_or(0, |pod| pod.metadata.created());
        let Annotations { begin, comment, deadline, prefer, signal, switches, .. } =
            self.annotations.clone();
        Wishes {
            begin_time: begin.map(|moment| moment.unix(created)),
            deadline: deadline.map(|moment| moment.unix(created)),
            dependency,
            nice,
            comment,
            prefer,
            signal,
            switches,
        }
    }

    /// The annotation's limit, or one that outlasts the deadline: Kubernetes ends a pod at its
    /// deadline and calls it failed, while one that Slurm evicts might be started again.
    fn time_limit_minutes(&self, draft: Draft<'_>) -> Option<u32> {
        let of_pods: Option<Vec<_>> =
            draft.pods.iter().map(|pod| pod.spec.active_deadline_seconds).collect();
        let of_pods = of_pods.and_then(|deadlines| deadlines.into_iter().max());
        let deadline = of_pods.into_iter().chain(draft.owners_deadline).min();
        let limit = deadline.map(|secs| secs.div_ceil(60).saturating_add(1));
        let limit = limit.map(|minutes| u32::try_from(minutes).unwrap_or(u32::MAX));
        self.annotations.time_limit_minutes.or(limit)
    }

    /// Priority and nice: as annotated, else as the first pod's PriorityClass says.
    fn urgency(&self, config: &Config, draft: Draft<'_>) -> (Option<u32>, Option<i32>) {
        let Annotations { priority, nice, .. } = self.annotations;
        if priority.is_some() || nice.is_some() {
            return (priority, nice);
        }
        let class = draft.pods.first().and_then(|pod| pod.spec.priority_class_name.as_deref());
        let class = class.and_then(|class| config.priority_classes.get(class));
        class.map_or((None, None), |class| (class.priority, class.nice))
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

fn ignored(resource: &str) -> Warning {
    Warning { reason: "SlurmIgnores", message: explain::uncounted(resource), is_wish: false }
}

fn uneven(ask: &Ask) -> Warning {
    let Ask { cpus, memory_mib, .. } = ask;
    let memory = memory_mib.map_or(String::new(), |mib| format!(", {mib} MiB"));
    let devices = ask.tres_per_task().map_or(String::new(), |devices| format!(", {devices}"));
    let message = format!(
        "the pods of the gang ask for different amounts, and a Slurm job has tasks of one size: \
         each gets {cpus} CPUs{memory}{devices}"
    );
    Warning { reason: "UnevenGang", message, is_wish: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ClassPriority, gang::Bond, slurm::Switches};
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
        let gang = Gang { bond: Bond::PodGroup, key: "a/g".into() };
        let gang = is_gang.then_some(gang);
        let workload = "w".into();
        let draft = Draft {
            workload: &workload,
            name: "k8s-pod-p",
            pods: &pods,
            layers: &[&annotations],
            claimed: &Claimed::new(),
            gang: gang.as_ref(),
            minimum: pods.len(),
            owners_deadline: Some(3601),
        };
        let config = Config {
            priority_classes: [
                ("high".into(), ClassPriority { priority: Some(900), nice: None }),
                ("low".into(), ClassPriority { priority: None, nice: Some(50) }),
            ]
            .into(),
            ..Config::as_shipped()
        };
        let around = Surroundings {
            excluded_nodes: vec!["n9".into()],
            dependency: Some("afterok:7".into()),
            ..Surroundings::default()
        };
        Shape::of(&config, draft).unwrap().submission(&config, draft, around).1
    }

    #[test]
    fn a_pod_becomes_one_task_on_one_node() {
        let job = submission(&[pod("p", "3500m", Some("8Gi"))], json!({}), false);
        assert_eq!((job.tasks, job.cpus_per_task, job.memory), (1, 4, Memory::PerNode(8192)));
        assert_eq!((job.min_nodes, job.max_nodes), (Some(1), Some(1)));
        assert_eq!(job.excluded_nodes, ["n9".into()]);
        assert!(!job.exclusive, "nodes are shared by default");
        insta::assert_snapshot!(job.admin_comment, @r#"{"cluster":"drawbridge","cpus":4,"pods":["a/p"],"request":"69f7ae2a29634b2f","version":1,"workload":"w"}"#);
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
    fn times_are_in_seconds_and_now_is_when_the_pod_was_created() {
        let mut pod = pod("p", "1", None);
        pod.metadata.creation_timestamp = Some("2026-01-01T00:00:00Z".into());
        let annotations = json!({
            "slurmjob.slinky.slurm.net/begin": "now+1hour",
            "slurmjob.slinky.slurm.net/deadline": "2026-01-02T00:00:00Z",
            "slurmjob.slinky.slurm.net/exclude": "n[1-2]",
            "slurmjob.slinky.slurm.net/switches": "1@5",
        });
        let job = submission(&[pod], annotations, false);
        let wishes = job.wishes;
        assert_eq!(
            (wishes.begin_time, wishes.deadline),
            (Some(1_767_229_200), Some(1_767_312_000))
        );
        assert_eq!(job.excluded_nodes, ["n1".into(), "n2".into(), "n9".into()]);
        assert_eq!(wishes.switches, Some(Switches { count: 1, wait_seconds: Some(300) }));
        assert_eq!(wishes.dependency.as_deref(), Some("afterok:7"));
    }

    #[test]
    fn the_limit_outlasts_the_deadline_unless_an_annotation_gives_one() {
        let with = |secs| {
            let mut pod = pod("p", "1", None);
            pod.spec.active_deadline_seconds = secs;
            pod
        };
        let limit = |pods: &[PodView]| submission(pods, json!({}), true).time_limit_minutes;
        assert_eq!(limit(&[with(Some(60)), with(Some(61))]), Some(3), "the longest pod's");
        assert_eq!(limit(&[with(None)]), Some(62), "its owner's");
        assert_eq!(limit(&[with(Some(60)), with(None)]), Some(62), "one pod may run for ever");
        let annotated = json!({ "slinky.slurm.net/timelimit": "5" });
        let job = submission(&[with(Some(60))], annotated, false);
        assert_eq!(job.time_limit_minutes, Some(5));
    }

    #[test]
    fn a_priority_class_counts_where_no_annotation_does() {
        let urgency = |class: &str, annotations| {
            let mut pod = pod("p", "1", None);
            pod.spec.priority_class_name = Some(class.into());
            let job = submission(&[pod], annotations, false);
            (job.priority, job.wishes.nice)
        };
        assert_eq!(urgency("high", json!({})), (Some(900), None));
        assert_eq!(urgency("low", json!({})), (None, Some(50)));
        assert_eq!(urgency("other", json!({})), (None, None));
        let nice = json!({ "slurmjob.slinky.slurm.net/nice": "-5" });
        assert_eq!(urgency("high", nice), (None, Some(-5)));
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

//! A scenario for each defect in which it can show.

use drawbridge_core::Plant;
use drawbridge_scenarios::{Action, Scenario, format};

/// The scenario that gives a defect its chance; none where that is one of `scenarios/incidents`.
pub(crate) fn place_for(plant: Plant) -> Option<Scenario> {
    Some(match plant {
        Plant::AdoptsNothing
        | Plant::WaitsForever
        | Plant::ForgetsFinalizers
        | Plant::KeepsSurplus => pods(),
        Plant::TrustsAnyMark => beside_another_cluster(),
        Plant::CancelsUnread => beside_a_busy_user(),
        Plant::MergesNamespaces => namesakes(),
        Plant::BlocksTheLine => more_than_fit(),
        Plant::BindsByName => made_again(),
        Plant::BindsLate => requeued(),
        Plant::MapsByName => renamed(),
        Plant::TakesEndedForLive | Plant::SparesStarting => a_node_that_fails(),
        Plant::OverlooksEnds => cancelled(),
        Plant::EndsEarly => deleted(),
        Plant::UndrainsAnything => drained(),
        Plant::UndrainsAtOnce => cordoned(),
        Plant::UndrainsWhatItRemoves
        | Plant::ComparesAnotherSize
        | Plant::AsksForEveryNode
        | Plant::HidesDrains
        | Plant::RemembersNodes
        | Plant::IgnoresWorkers
        | Plant::BelievesNoAbsence
        | Plant::RequiresCandidates
        | Plant::TakesWholeNodes
        | Plant::NeedsRoomToQueue
        | Plant::TrustsAllocations
        | Plant::BindsBeforeVolumes
        | Plant::ForgetsRefusals => return None,
    })
}

const CLUSTER: &str = "
slurm:
  conf: |
    ClusterName=c
    SlurmctldHost=controller
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    NodeName=n[1-2] CPUs=4 RealMemory=8192
    PartitionName=main Nodes=ALL Default=YES MaxTime=1:00:00
";
const TEAMS: &str = "kubernetes:\n  namespaces: [a, b]\n";

fn scenario(rest: &str) -> Scenario {
    of_cluster(&format!("{TEAMS}{rest}"))
}

fn of_cluster(rest: &str) -> Scenario {
    let text =
        format!("why: a place for a defect to show\n{}until: 2h\n{rest}", CLUSTER.trim_start());
    format::parse("planted.yaml", &text, &NoFiles)
        .unwrap_or_else(|error| panic!("{}", error.render()))
}

struct NoFiles;

impl format::Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: there are no files here"))
    }
}

fn pod(namespace: &str, name: &str, more: &str) -> String {
    format!(
        "
    - apiVersion: v1
      kind: Pod
      metadata: {{name: {name}, namespace: {namespace}{more}}}
      spec:
        schedulerName: slurm-bridge-scheduler
        restartPolicy: Never
        containers: [{{name: main, image: busybox, resources: {{requests: {{cpu: 2, memory: 1Gi}}}}}}]"
    )
}

fn behaviour(runtime: &str) -> String {
    format!("behaviour:\n- {{name: '*', runtime: {runtime}, startup: 5s, stop: 10s}}\n")
}

fn apply(at: &str, objects: &str) -> String {
    format!("- at: {at}\n  unchecked: true\n  apply:{objects}\n")
}

fn delete(at: &str, name: &str) -> String {
    format!("- at: {at}\n  unchecked: true\n  delete: {{kind: Pod, namespace: a, name: {name}}}\n")
}

/// Three pods at once.
fn pods() -> Scenario {
    let all: String = ["p1", "p2", "p3"].map(|name| pod("a", name, "")).concat();
    scenario(&format!("{}steps:\n{}", behaviour("3m"), apply("1s", &all)))
}

/// A pod, while another cluster's bridge has a job in the same Slurm.
fn beside_another_cluster() -> Scenario {
    let comment = r#"{"cluster":"other","cpus":1,"pods":["x/y"],"version":1,"workload":"u"}"#;
    let native = "sbatch: {flags: -N1 -n1 -J foreign, user: alice, runtime: 20m}";
    let one = apply("1s", &pod("a", "p1", ""));
    let mut scenario =
        scenario(&format!("{}steps:\n- at: 0s\n  {native}\n{one}", behaviour("40s")));
    for step in &mut scenario.steps {
        if let Action::Sbatch(job) = &mut step.action {
            // Only an administrator may write it.
            job.user = "slurm".into();
            job.admin_comment = comment.to_owned();
        }
    }
    scenario
}

/// Pods come and go while somebody submits a job of his own every few seconds: numbers that slurmctld
/// has forgotten are soon his.
fn beside_a_busy_user() -> Scenario {
    let mut steps = String::new();
    for second in 1..40_u64 {
        let at = format!("{}s", 3 * second);
        steps += &format!(
            "- at: {at}\n  unchecked: true\n  sbatch: {{flags: -n1 -J user-{second}, user: alice, runtime: 20m}}\n"
        );
        if second % 4 == 1 {
            steps += &apply(&at, &pod("a", &format!("p{second}"), ""));
        }
        if second % 4 == 3 {
            steps += &delete(&at, &format!("p{}", second - 2));
        }
    }
    scenario(&format!("{}steps:\n{steps}", behaviour("20m")))
}

/// Groups of one name in two namespaces; one of them is never complete.
fn namesakes() -> Scenario {
    let group = |namespace: &str| {
        format!(
            "
    - apiVersion: scheduling.x-k8s.io/v1alpha1
      kind: PodGroup
      metadata: {{name: team, namespace: {namespace}}}
      spec: {{minMember: 2}}"
        )
    };
    let label = ", labels: {scheduling.x-k8s.io/pod-group: team}";
    let pods = [pod("a", "p1", label), pod("a", "p2", label), pod("b", "p1", label)].concat();
    let all = group("a") + &group("b") + &pods;
    scenario(&format!("{}steps:\n{}", behaviour("40s"), apply("1s", &all)))
}

/// Six pods where four fit.
fn more_than_fit() -> Scenario {
    let names = ["p1", "p2", "p3", "p4", "p5", "p6"];
    let steps: String = (1_u64..).zip(names).fold(String::new(), |steps, (second, name)| {
        steps + &apply(&format!("{second}s"), &pod("a", name, ""))
    });
    scenario(&format!("{}steps:\n{steps}", behaviour("3m")))
}

/// A pod that is deleted and made again under the same name, many times.
fn made_again() -> Scenario {
    let mut steps = String::new();
    for round in 0..30_u64 {
        steps += &apply(&format!("{}s", 1 + 10 * round), &pod("a", "p1", ""));
        steps += &delete(&format!("{}s", 3 + 10 * round), "p1");
    }
    scenario(&format!("{}steps:\n{steps}", behaviour("3m")))
}

/// Pods whose jobs are put back into the queue again and again.
fn requeued() -> Scenario {
    let mut steps = String::new();
    for round in 0..12_u64 {
        let name = format!("p{round}");
        let at = |secs: u64| format!("{}s", secs + 20 * round);
        steps += &apply(&at(1), &pod("a", &name, ""));
        steps +=
            &format!("- at: {}\n  unchecked: true\n  scontrol: requeue k8s-pod-{name}\n", at(3));
    }
    scenario(&format!("{}steps:\n{steps}", behaviour("1m")))
}

/// A cluster whose nodes have other names in Kubernetes.
fn renamed() -> Scenario {
    let nodes = "kubernetes:
  namespaces: [a, b]
  nodes:
  - {name: alpha, slurmName: n1}
  - {name: beta, slurmName: n2}
";
    let one = apply("1s", &pod("a", "p1", ""));
    of_cluster(&format!("{nodes}{}steps:\n{one}", behaviour("40s")))
}

/// A node that is lost while pods on it start.
fn a_node_that_fails() -> Scenario {
    let all: String = ["p1", "p2", "p3"].map(|name| pod("a", name, "")).concat();
    let down = "- at: 4s\n  slurmNode: {name: n1, state: down, reason: fan}\n";
    scenario(&format!("{}steps:\n{}{down}", behaviour("5m"), apply("1s", &all)))
}

/// A job that its owner cancels in Slurm.
fn cancelled() -> Scenario {
    let one = apply("1s", &pod("a", "p1", ""));
    let cancel = "- at: 30s\n  unchecked: true\n  scancel: k8s-pod-p1\n";
    scenario(&format!("{}steps:\n{one}{cancel}", behaviour("5m")))
}

/// A pod that is deleted while it runs.
fn deleted() -> Scenario {
    let one = apply("1s", &pod("a", "p1", ""));
    scenario(&format!("{}steps:\n{one}{}", behaviour("5m"), delete("30s", "p1")))
}

/// A node that an administrator has taken out.
fn drained() -> Scenario {
    let one = apply("2s", &pod("a", "p1", ""));
    let drain = "- at: 1s\n  slurmNode: {name: n1, state: drain, reason: fan}\n";
    scenario(&format!("{}steps:\n{drain}{one}", behaviour("40s")))
}

/// A node that is cordoned, and stays so.
fn cordoned() -> Scenario {
    let one = apply("2s", &pod("a", "p1", ""));
    scenario(&format!("{}steps:\n- at: 1s\n  cordon: n1\n{one}", behaviour("40s")))
}

//! The check can fail: each planted defect is found within a bounded number of runs.
//!
//! The baseline is the healthy bridge's; only the runs have the plant. Some defects show only where
//! somebody else's jobs, groups or pods are about, so each plant has a scenario that gives it a chance.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use drawbridge_core::{Plant, config::Config};
use drawbridge_explore::{Subject, Trial, crash_points, run};
use drawbridge_scenarios::{Action, Scenario, format};
use drawbridge_sim::Seed;

/// Seeds that are tried before a defect counts as overlooked.
const SEEDS: u64 = 60;

#[test]
fn a_doubled_job_after_a_crash_is_found() {
    assert_found(Plant::AdoptsNothing, pods());
}

#[test]
fn a_foreign_job_that_is_cancelled_is_found() {
    assert_found(Plant::TrustsAnyMark, beside_another_cluster());
}

#[test]
fn groups_merged_across_namespaces_are_found() {
    assert_found(Plant::MergesNamespaces, namesakes());
}

#[test]
fn a_reply_that_is_waited_for_without_end_is_found() {
    assert_found(Plant::WaitsForever, pods());
}

#[test]
fn somebody_elses_drain_that_is_undone_is_found() {
    assert_found(Plant::ResumesAnything, drained());
}

#[test]
fn finalizers_that_are_forgotten_over_a_crash_are_found() {
    assert_found(Plant::ForgetsFinalizers, pods());
}

#[test]
fn every_plant_has_a_test() {
    // Those of `tests/incidents.rs` besides.
    assert_eq!(Plant::ALL.len(), 6 + 8);
}

/// The healthy bridge passes what finds the plant, and the plant is found.
fn assert_found(plant: Plant, scenario: Scenario) {
    let healthy = Subject::new(scenario.clone());
    assert_eq!(healthy.violations, Vec::<String>::new());
    let planted = planted(&healthy, scenario, plant);
    let (trial, findings) = first_failure(&planted)
        .unwrap_or_else(|| panic!("{plant:?} was not found within {SEEDS} seeds"));
    assert!(!findings.is_empty());
    assert_eq!(run(&healthy, &trial).findings, Vec::<String>::new(), "without the plant");
}

fn planted(healthy: &Subject, mut scenario: Scenario, plant: Plant) -> Subject {
    scenario.bridge = scenario.bridge.map(|config: Config| config.with_plant(plant));
    Subject { start: Subject::new(scenario).start, ..healthy.clone() }
}

/// Tries crash points, then seeds.
fn first_failure(subject: &Subject) -> Option<(Trial, Vec<String>)> {
    let fails = |trial: Trial| {
        let findings = run(subject, &trial).findings;
        (!findings.is_empty()).then_some((trial, findings))
    };
    let crashes = (0..16).find_map(|slice| crash_found(subject, slice));
    crashes.or_else(|| (1..=SEEDS).map(|seed| Trial::Seed(Seed(seed))).find_map(fails))
}

fn crash_found(subject: &Subject, slice: u64) -> Option<(Trial, Vec<String>)> {
    let sweep = crash_points(subject, slice, 16).runs.into_iter();
    let mut failed = sweep.filter(|(_, outcome)| !outcome.findings.is_empty());
    failed.next().map(|(fault, outcome)| (Trial::Faults(vec![fault]), outcome.findings))
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
kubernetes:
  namespaces: [a, b]
until: 2h
";

fn scenario(rest: &str) -> Scenario {
    let text = format!("why: a place for a defect to show\n{}{rest}", CLUSTER.trim_start());
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

const BEHAVIOURS: &str = "
behaviour:
- name: '*'
  runtime: 40s
";

/// Three pods, one after the other.
fn pods() -> Scenario {
    let all: String = ["p1", "p2", "p3"].map(|name| pod("a", name, "")).concat();
    scenario(&format!("{BEHAVIOURS}steps:\n- at: 1s\n  apply:{all}\n"))
}

/// A pod, while another cluster's bridge has a job in the same Slurm.
fn beside_another_cluster() -> Scenario {
    let comment = r#"{"cluster":"other","cpus":1,"pods":["x/y"],"version":1,"workload":"u"}"#;
    let one = pod("a", "p1", "");
    let native = "sbatch: {flags: -N1 -n1 -J foreign, user: alice, runtime: 20m}";
    let mut scenario =
        scenario(&format!("{BEHAVIOURS}steps:\n- at: 0s\n  {native}\n- at: 1s\n  apply:{one}\n"));
    for step in &mut scenario.steps {
        if let Action::Sbatch(job) = &mut step.action {
            // Only an administrator may write it.
            job.user = "slurm".into();
            job.admin_comment = comment.to_owned();
        }
    }
    scenario
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
    let (a, b) = (group("a"), group("b"));
    scenario(&format!("{BEHAVIOURS}steps:\n- at: 1s\n  apply:{a}{b}{pods}\n"))
}

/// A node that an administrator has taken out.
fn drained() -> Scenario {
    let all = pod("a", "p1", "");
    scenario(&format!(
        "{BEHAVIOURS}steps:\n- at: 1s\n  slurmNode: {{name: n1, state: drain, reason: fan}}\n- at: \
         2s\n  apply:{all}\n"
    ))
}

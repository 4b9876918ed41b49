//! Names and words that don't exist.

use crate::added;

#[test]
fn an_unknown_partition_is_found_wherever_it_is_named() {
    insta::assert_snapshot!(added("bridge: {partition: mian}\n"), @"
    error: there is no partition `mian`
     --> scenarios/story.yaml:6:21
      |
    6 | bridge: {partition: mian}
      |                     ^^^^
      |
      = help: did you mean `main`?
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  sbatch: -N1 -p mian -t 5\n"), @"
    error: there is no partition `mian`
     --> scenarios/story.yaml:8:18
      |
    8 |   sbatch: -N1 -p mian -t 5
      |                  ^^^^
      |
      = help: did you mean `main`?
    ");
    insta::assert_snapshot!(added("\
steps:
- at: 1s
  apply:
    apiVersion: v1
    kind: Pod
    metadata:
      name: a
      annotations: {slinky.slurm.net/partition: web}
"), @"
    error: there is no partition `web`
      --> scenarios/story.yaml:13:49
       |
    13 |       annotations: {slinky.slurm.net/partition: web}
       |                                                 ^^^
       |
       = help: there are: main (`unchecked: true` beside `apply:` lets it pass)
    ");
    insta::assert_snapshot!(added("expect:\n- jobs: {partition: web}\n"), @"
    error: there is no partition `web`
     --> scenarios/story.yaml:7:21
      |
    7 | - jobs: {partition: web}
      |                     ^^^
      |
      = help: there are: main
    ");
}

#[test]
fn an_unknown_partition_may_be_what_the_scenario_is_about() {
    let step = "\
steps:
- at: 1s
  unchecked: true
  apply:
    apiVersion: v1
    kind: Pod
    metadata: {name: a, annotations: {slinky.slurm.net/partition: web}}
";
    assert_eq!(added(step), "no error");
}

#[test]
fn unknown_nodes_are_found() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  cordon: n3\n"), @"
    error: there is no Kubernetes node `n3`
     --> scenarios/story.yaml:8:11
      |
    8 |   cordon: n3
      |           ^^
      |
      = help: there are: n1, n2
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  slurmNode: {name: 'n[1-4]', state: resume}\n"), @"
    error: there is no Slurm node `n3`
     --> scenarios/story.yaml:8:21
      |
    8 |   slurmNode: {name: 'n[1-4]', state: resume}
      |                     ^^^^^^^^
      |
      = help: there are: n1, n2
    ");
    insta::assert_snapshot!(added("expect:\n- nodes: {name: worker-*, state: idle}\n"), @"
    error: there is no node `worker-*`
     --> scenarios/story.yaml:7:17
      |
    7 | - nodes: {name: worker-*, state: idle}
      |                 ^^^^^^^^
      |
      = help: there are: n1, n2
    ");
    insta::assert_snapshot!(added("expect:\n- pods: {node: n9}\n"), @"
    error: there is no Kubernetes node `n9`
     --> scenarios/story.yaml:7:16
      |
    7 | - pods: {node: n9}
      |                ^^
      |
      = help: there are: n1, n2
    ");
    insta::assert_snapshot!(added("kubernetes:\n  nodes:\n  - {name: a, slurmName: n9}\n"), @"
    error: there is no Slurm node `n9`
     --> scenarios/story.yaml:8:26
      |
    8 |   - {name: a, slurmName: n9}
      |                          ^^
      |
      = help: there are: n1, n2
    ");
    insta::assert_snapshot!(added("kubernetes:\n  nodes:\n  - name: a\n"), @"
    error: node `a` has no capacity
     --> scenarios/story.yaml:8:5
      |
    8 |   - name: a
      |     ^^^^
      |
      = help: no Slurm node has its name, so say what it has: `capacity: {cpu: 8, memory: 16Gi}`
    ");
}

#[test]
fn nodes_in_the_flags_of_sbatch_must_exist() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  sbatch: -N1 -w n9\n"), @"
    error: there is no Slurm node `n9`
     --> scenarios/story.yaml:8:18
      |
    8 |   sbatch: -N1 -w n9
      |                  ^^
      |
      = help: there are: n1, n2
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  sbatch: {flags: '-x n[1-3]'}\n"), @"
    error: there is no Slurm node `n3`
     --> scenarios/story.yaml:8:20
      |
    8 |   sbatch: {flags: '-x n[1-3]'}
      |                    ^^
      |
      = help: there are: n1, n2
    ");
}

#[test]
fn a_node_is_given_once() {
    let text = "kubernetes:\n  nodes:\n  - name: n[1-2]\n  - {name: n2, labels: {a: b}}\n";
    insta::assert_snapshot!(added(text), @r#"
    error: node "n2" is given twice
     --> scenarios/story.yaml:7:3
      |
    7 |   nodes:
      |   ^^^^^
      |
      = help: name each node once
    "#);
}

#[test]
fn words_that_can_never_occur_are_found() {
    insta::assert_snapshot!(added("expect:\n- pods: {phase: Runing}\n"), @"
    error: there is no pod phase `Runing`
     --> scenarios/story.yaml:7:17
      |
    7 | - pods: {phase: Runing}
      |                 ^^^^^^
      |
      = help: did you mean `Running`?
    ");
    insta::assert_snapshot!(added("expect:\n- jobs: {state: running}\n"), @"
    error: there is no job state `running`
     --> scenarios/story.yaml:7:17
      |
    7 | - jobs: {state: running}
      |                 ^^^^^^^
      |
      = help: did you mean `RUNNING`?
    ");
    insta::assert_snapshot!(added("expect:\n- nodes: {state: drained}\n"), @"
    error: there is no node state `drained`
     --> scenarios/story.yaml:7:18
      |
    7 | - nodes: {state: drained}
      |                  ^^^^^^^
      |
      = help: did you mean `drain`?
    ");
    insta::assert_snapshot!(added("expect:\n- never: {by: brigde, text: submitted}\n"), @"
    error: there is no actor `brigde`
     --> scenarios/story.yaml:7:15
      |
    7 | - never: {by: brigde, text: submitted}
      |               ^^^^^^
      |
      = help: did you mean `bridge`?
    ");
}

#[test]
fn kinds_and_namespaces_must_exist() {
    insta::assert_snapshot!(added("\
steps:
- at: 1s
  apply: {apiVersion: apps/v1, kind: Deploymnet, metadata: {name: a}}
"), @"
    error: the twin has no kind `Deploymnet`
     --> scenarios/story.yaml:8:38
      |
    8 |   apply: {apiVersion: apps/v1, kind: Deploymnet, metadata: {name: a}}
      |                                      ^^^^^^^^^^
      |
      = help: did you mean `Deployment`?
    ");
    insta::assert_snapshot!(added("\
steps:
- at: 1s
  apply: {apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: a}}
"), @"
    error: the twin has no Deployment in `extensions/v1beta1`
     --> scenarios/story.yaml:8:23
      |
    8 |   apply: {apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: a}}
      |                       ^^^^^^^^^^^^^^^^^^
      |
      = help: it has Deployment in `apps/v1`
    ");
    insta::assert_snapshot!(added("\
steps:
- at: 1s
  apply: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: slurm-brigde}}
"), @"
    error: there is no namespace `slurm-brigde`
     --> scenarios/story.yaml:8:69
      |
    8 |   apply: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: slurm-brigde}}
      |                                                                     ^^^^^^^^^^^^
      |
      = help: did you mean `slurm-bridge`? (new ones go to `kubernetes.namespaces`)
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  apply: {kind: Pod, metadata: {name: a}}\n"), @"
    error: this manifest has no `apiVersion`
     --> scenarios/story.yaml:8:3
      |
    8 |   apply: {kind: Pod, metadata: {name: a}}
      |   ^^^^^
      |
      = help: add `apiVersion:`, as kubectl asks for it
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  apply: {apiVersion: v1, kind: Pod}\n"), @"
    error: this manifest has no name
     --> scenarios/story.yaml:8:3
      |
    8 |   apply: {apiVersion: v1, kind: Pod}
      |   ^^^^^
      |
      = help: add `metadata.name`
    ");
}

#[test]
fn objects_that_a_step_is_about_must_be_possible() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  scale: {kind: Pod, name: a, replicas: 2}\n"), @"
    error: a Pod has no replicas
     --> scenarios/story.yaml:8:17
      |
    8 |   scale: {kind: Pod, name: a, replicas: 2}
      |                 ^^^
      |
      = help: Deployments and ReplicaSets can be scaled
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  delete: {kind: Pod, namespace: nowhere, name: a}\n"), @"
    error: there is no namespace `nowhere`
     --> scenarios/story.yaml:8:34
      |
    8 |   delete: {kind: Pod, namespace: nowhere, name: a}
      |                                  ^^^^^^^
      |
      = help: there are: default, kube-node-lease, kube-public, kube-system, slurm-bridge
    ");
}

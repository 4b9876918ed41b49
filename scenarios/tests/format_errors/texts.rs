//! Texts in other languages: manifests, slurm.conf, flags of sbatch; and files of them.

use crate::{GOOD, added, whole};

#[test]
fn a_bad_quantity_is_found_in_manifests_and_capacities() {
    insta::assert_snapshot!(added("\
steps:
- at: 1s
  apply:
    apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec:
      containers:
      - name: main
        resources:
          limits: {cpu: 4, memory: 8GB}
"), @"
    error: `8GB` is not a quantity
      --> scenarios/story.yaml:16:36
       |
    16 |           limits: {cpu: 4, memory: 8GB}
       |                                    ^^^
       |
       = help: write `4`, `500m`, `8Gi` or `100M`
    ");
    insta::assert_snapshot!(added("\
kubernetes:
  nodes:
  - name: n1
    capacity: {cpu: four, memory: 8Gi}
"), @"
    error: `four` is not a quantity
     --> scenarios/story.yaml:9:21
      |
    9 |     capacity: {cpu: four, memory: 8Gi}
      |                     ^^^^
      |
      = help: write `4`, `500m`, `8Gi` or `100M`
    ");
}

#[test]
fn mistakes_in_included_files_point_into_those_files() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  apply: pods.yaml\n"), @"
    error: `8Gib` is not a quantity
      --> scenarios/pods.yaml:15:17
       |
    15 |         memory: 8Gib
       |                 ^^^^
       |
       = help: write `4`, `500m`, `8Gi` or `100M`
    ");
    insta::assert_snapshot!(whole("why: it shows\nslurm: {confFile: slurm.conf}\n"), @"
    error: slurm.conf does not know `NodeNmae`
     --> scenarios/slurm.conf:3:1
      |
    3 | NodeNmae=n2
      | ^^^^^^^^^^^
      |
      = help: did you mean `NodeName`?
    ");
}

#[test]
fn a_file_that_is_not_there_is_an_error_at_its_name() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  apply: [pod.yaml]\n"), @"
    error: `pod.yaml` can't be read: no such file
     --> scenarios/story.yaml:8:11
      |
    8 |   apply: [pod.yaml]
      |           ^^^^^^^^
      |
      = help: paths are relative to the scenario's folder
    ");
}

#[test]
fn a_broken_line_of_slurm_conf_is_shown_in_the_scenario_itself() {
    let broken = GOOD.replace("CPUs=4", "CPUs=four");
    insta::assert_snapshot!(whole(&broken), @"
    error: CPUs=four is not understood
     --> scenarios/story.yaml:4:26
      |
    4 |     NodeName=n[1-2] CPUs=four RealMemory=8192
      |                          ^^^^
      |
      = help: write a whole number that isn't negative
    ");
    let typo = GOOD.replace("PartitionName=main", "PartitoinName=main");
    insta::assert_snapshot!(whole(&typo), @"
    error: slurm.conf does not know `PartitoinName`
     --> scenarios/story.yaml:5:5
      |
    5 |     PartitoinName=main Nodes=ALL Default=YES
      |     ^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `PartitionName`?
    ");
    insta::assert_snapshot!(added("  gres: |\n    Name=gpu Cuont=1\n"), @"
    error: gres.conf does not know `Cuont`
     --> scenarios/story.yaml:7:14
      |
    7 |     Name=gpu Cuont=1
      |              ^^^^^^^
      |
      = help: it knows NodeName, Name, Type, File, Count, Cores, Links, Flags, AutoDetect
    ");
    insta::assert_snapshot!(added("  release: \"23.02\"\n"), @r#"
    error: there is no model of Slurm 23.02
     --> scenarios/story.yaml:6:12
      |
    6 |   release: "23.02"
      |            ^^^^^^^
      |
      = help: there are `24.11` and `26.05`
    "#);
    insta::assert_snapshot!(whole("why: it shows\nslurm: {}\n"), @"
    error: `slurm` has no configuration
     --> scenarios/story.yaml:2:1
      |
    2 | slurm: {}
      | ^^^^^
      |
      = help: add `conf: |` with the text of slurm.conf, or `confFile:` with its path
    ");
}

#[test]
fn what_slurm_would_refuse_to_read_is_refused() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  sbatch: -N1 --nodse=2\n"), @"
    error: sbatch has no flag `--nodse=2`
     --> scenarios/story.yaml:8:15
      |
    8 |   sbatch: -N1 --nodse=2
      |               ^^^^^^^^^
      |
      = help: did you mean `--nodes`?
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  slurmNode: {name: n1, state: drain}\n"), @"
    error: Slurm asks for a reason
     --> scenarios/story.yaml:8:14
      |
    8 |   slurmNode: {name: n1, state: drain}
      |              ^^^^^
      |
      = help: add `reason:`
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  sbatch: {flags: -N1, exitCode: 1}\n"), @"
    error: an exit code without a run time
     --> scenarios/story.yaml:8:24
      |
    8 |   sbatch: {flags: -N1, exitCode: 1}
      |                        ^^^^^^^^
      |
      = help: add `runtime:`; without it the script says how the job ends
    ");
}

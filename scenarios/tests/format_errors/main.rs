//! Every mistake in a scenario file is shown with its place and with what would be right.

mod names;
mod texts;
mod values;

use std::collections::BTreeMap;

use drawbridge_scenarios::format::{self, Files};

/// A cluster of two nodes; mistakes are added below it.
const GOOD: &str = "\
why: it shows something
slurm:
  conf: |
    NodeName=n[1-2] CPUs=4 RealMemory=8192
    PartitionName=main Nodes=ALL Default=YES
";

struct Included(BTreeMap<&'static str, &'static str>);

impl Files for Included {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0.get(path).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".into())
    }
}

fn included() -> Included {
    Included(BTreeMap::from([
        (
            "pods.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: fine\n---\napiVersion: v1\nkind: Pod\n\
             metadata:\n  name: greedy\nspec:\n  containers:\n  - name: main\n    resources:\n      \
             requests:\n        memory: 8Gib\n",
        ),
        ("slurm.conf", "ClusterName=twin\nNodeName=n1 CPUs=4\nNodeNmae=n2\n"),
    ]))
}

/// The error of a file that is right up to what is added to it.
fn added(text: &str) -> String {
    whole(&format!("{GOOD}{text}"))
}

fn whole(text: &str) -> String {
    match format::parse("scenarios/story.yaml", text, &included()) {
        Ok(_) => "no error".into(),
        Err(error) => error.render(),
    }
}

#[test]
fn a_file_without_mistakes_is_read() {
    assert_eq!(added(""), "no error");
}

#[test]
fn a_typo_in_a_key_is_found_at_every_level() {
    insta::assert_snapshot!(added("stesp: []\n"), @"
    error: unknown key `stesp`
     --> scenarios/story.yaml:6:1
      |
    6 | stesp: []
      | ^^^^^
      |
      = help: did you mean `steps`? allowed here: why, version, epoch, seed, until, slurm, kubernetes, bridge, bridgeReplicas, behaviour, steps, expect
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  sbacth: -N1\n"), @"
    error: unknown key `sbacth` in `steps[0]`
     --> scenarios/story.yaml:8:3
      |
    8 |   sbacth: -N1
      |   ^^^^^^
      |
      = help: did you mean `sbatch`? allowed here: at, unchecked, apply, delete, scale, patch, cordon, uncordon, sbatch, scancel, reconfigure, slurmNode, scontrol, crash, restart, slurmrestd, slurmToken, fault
    ");
    insta::assert_snapshot!(added("bridge:\n  taintNode: false\n"), @"
    error: unknown key `taintNode` in `bridge`
     --> scenarios/story.yaml:7:3
      |
    7 |   taintNode: false
      |   ^^^^^^^^^
      |
      = help: did you mean `taintNodes`? allowed here: schedulerName, slurmRestApi, managedNamespaces, managedNamespaceSelector, mcsLabel, partition, features, slurmRest, leaderElection, clusterId, placeholder, defaultMemory, exclusive, taintNodes, nodes, killWaitSeconds, suspendedJobs, priorityClasses, gang, devices, namespaces, environment, countOtherPods, unsupported, volumeWaitSeconds, pollSeconds
    ");
    insta::assert_snapshot!(added("expect:\n- pods: {phase: Running, cuont: 3}\n"), @"
    error: unknown key `cuont` in `expect[0].pods`
     --> scenarios/story.yaml:7:26
      |
    7 | - pods: {phase: Running, cuont: 3}
      |                          ^^^^^
      |
      = help: did you mean `count`? allowed here: namespace, name, owner, phase, node, slurmNode, bound, job, reason, message, scheduler, condition, count
    ");
}

#[test]
fn why_comes_first() {
    insta::assert_snapshot!(whole(&GOOD.replace("why: it shows something\n", "")), @"
    error: missing key `why`
     --> scenarios/story.yaml:1:1
      |
    1 | slurm:
      | ^^^^^
      |
      = help: a scenario begins with `why:` and one sentence: what does it show?
    ");
    insta::assert_snapshot!(whole(&format!("seed: 1\n{GOOD}")), @"
    error: `why` is not the first key
     --> scenarios/story.yaml:2:1
      |
    2 | why: it shows something
      | ^^^
      |
      = help: a scenario begins with `why:` and one sentence: what does it show?
    ");
    insta::assert_snapshot!(whole(&GOOD.replace("it shows something", "''")), @"
    error: `why` says nothing
     --> scenarios/story.yaml:1:1
      |
    1 | why: ''
      | ^^^
      |
      = help: one sentence: what does the scenario show?
    ");
}

#[test]
fn another_version_of_the_format_is_refused_before_anything_else() {
    insta::assert_snapshot!(added("version: 2\nnewKey: 1\n"), @"
    error: this drawbridge reads format version 1, not 2
     --> scenarios/story.yaml:6:10
      |
    6 | version: 2
      |          ^
      |
      = help: write `version: 1`, or use the drawbridge that the file was written for
    ");
}

#[test]
fn a_bad_duration_says_what_a_duration_is() {
    insta::assert_snapshot!(added("until: 10\n"), @"
    error: `10` is not a duration
     --> scenarios/story.yaml:6:8
      |
    6 | until: 10
      |        ^^
      |
      = help: write a number with its unit: `500ms`, `90s`, `10m`, `1h30m` or `1d`
    ");
    insta::assert_snapshot!(added("steps:\n- at: soon\n  cordon: n1\n"), @"
    error: `soon` is not a duration
     --> scenarios/story.yaml:7:7
      |
    7 | - at: soon
      |       ^^^^
      |
      = help: write a number with its unit: `500ms`, `90s`, `10m`, `1h30m` or `1d`
    ");
    insta::assert_snapshot!(added("expect:\n- at: 5m1h\n  jobs: {count: 0}\n"), @"
    error: `5m1h` is not a duration
     --> scenarios/story.yaml:7:7
      |
    7 | - at: 5m1h
      |       ^^^^
      |
      = help: write a number with its unit: `500ms`, `90s`, `10m`, `1h30m` or `1d`
    ");
    insta::assert_snapshot!(added("behaviour:\n- runtime: 5min\n"), @"
    error: `5min` is not a duration
     --> scenarios/story.yaml:7:12
      |
    7 | - runtime: 5min
      |            ^^^^
      |
      = help: write a number with its unit: `500ms`, `90s`, `10m`, `1h30m` or `1d`
    ");
    insta::assert_snapshot!(added("behaviour:\n- runtime: {uniform: [5m, 1m]}\n"), @"
    error: 5m is longer than 1m
     --> scenarios/story.yaml:7:22
      |
    7 | - runtime: {uniform: [5m, 1m]}
      |                      ^^^
      |
      = help: the shorter duration comes first
    ");
}

#[test]
fn nothing_happens_or_is_expected_after_the_end() {
    insta::assert_snapshot!(added("until: 1h\nsteps:\n- at: 2h\n  cordon: n1\n"), @"
    error: this is after the end of the run
     --> scenarios/story.yaml:8:7
      |
    8 | - at: 2h
      |       ^^
      |
      = help: the run stops at `until`, 1d if it isn't given: make it later
    ");
    insta::assert_snapshot!(added("until: 1h\nexpect:\n- at: 1d\n  jobs: {count: 0}\n"), @"
    error: this is after the end of the run
     --> scenarios/story.yaml:8:7
      |
    8 | - at: 1d
      |       ^^
      |
      = help: the run stops at `until`, 1d if it isn't given: make it later
    ");
}

#[test]
fn a_step_or_expectation_says_one_thing() {
    insta::assert_snapshot!(added("steps:\n- at: 1s\n"), @"
    error: this step does nothing
     --> scenarios/story.yaml:7:3
      |
    7 | - at: 1s
      |   ^^
      |
      = help: add one of: apply, delete, scale, patch, cordon, uncordon, sbatch, scancel, slurmNode, scontrol, reconfigure, crash, restart, slurmrestd, slurmToken, fault
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  cordon: n1\n  uncordon: n1\n"), @"
    error: a step does one thing: `cordon` and `uncordon` are both here
     --> scenarios/story.yaml:9:3
      |
    9 |   uncordon: n1
      |   ^^^^^^^^
      |
      = help: make them two steps; steps at one time happen in the order of the file
    ");
    insta::assert_snapshot!(added("expect:\n- at: 1s\n"), @"
    error: this expects nothing
     --> scenarios/story.yaml:7:3
      |
    7 | - at: 1s
      |   ^^
      |
      = help: add one of: pods, jobs, nodes, metric, together, order, story, never
    ");
    insta::assert_snapshot!(added("expect:\n- jobs: {count: 1}\n  pods: {count: 1}\n"), @"
    error: an expectation is about one thing: `jobs` and `pods` are both here
     --> scenarios/story.yaml:8:3
      |
    8 |   pods: {count: 1}
      |   ^^^^
      |
      = help: make them two expectations
    ");
    insta::assert_snapshot!(added("expect:\n- order: [{pods: a}]\n"), @"
    error: an order has at least two things in it
     --> scenarios/story.yaml:7:10
      |
    7 | - order: [{pods: a}]
      |          ^^^^^^
      |
      = help: write `order: [{pods: a-*}, {pods: b-*}]`
    ");
    insta::assert_snapshot!(added("expect:\n- pods: {count: {atLeast: 3, atMost: 2}}\n"), @"
    error: no number is at least 3 and at most 2
     --> scenarios/story.yaml:7:17
      |
    7 | - pods: {count: {atLeast: 3, atMost: 2}}
      |                 ^^^^^^^^
      |
      = help: the smaller one is `atLeast`
    ");
}

#[test]
fn a_slurmrestd_is_one_that_the_bridge_knows() {
    let bridge = "bridge: {slurmRestApi: [http://a, http://b]}\nsteps:\n- at: 1s\n  ";
    let step = |step: &str| added(&format!("{bridge}{step}\n"));
    assert_eq!(step("slurmrestd: {server: http://b, state: down}"), "no error");
    assert_eq!(step("slurmToken: expired"), "no error");
    insta::assert_snapshot!(step("slurmrestd: {server: http://c, state: down}"), @"
    error: the bridge knows no slurmrestd at `http://c`
     --> scenarios/story.yaml:9:24
      |
    9 |   slurmrestd: {server: http://c, state: down}
      |                        ^^^^^^^^
      |
      = help: did you mean `http://a`?
    ");
    insta::assert_snapshot!(step("slurmrestd: {server: http://a}"), @"
    error: nothing changes
     --> scenarios/story.yaml:9:15
      |
    9 |   slurmrestd: {server: http://a}
      |               ^^^^^^^
      |
      = help: add `state:` or `serves:`
    ");
    insta::assert_snapshot!(step("slurmrestd: {serves: [v0.0.39]}"), @"
    error: unknown value `v0.0.39`
     --> scenarios/story.yaml:9:25
      |
    9 |   slurmrestd: {serves: [v0.0.39]}
      |                         ^^^^^^^
      |
      = help: did you mean `v0.0.40`? allowed here: v0.0.40, v0.0.41, v0.0.42, v0.0.43, v0.0.44, v0.0.45
    ");
    let without = "bridge: none\nsteps:\n- at: 1s\n  slurmToken: expired\n";
    insta::assert_snapshot!(added(without), @"
    error: there is no bridge to have a token
     --> scenarios/story.yaml:9:3
      |
    9 |   slurmToken: expired
      |   ^^^^^^^^^^
      |
      = help: take `bridge: none` away
    ");
}

#[test]
fn the_bridge_is_configured_or_left_out() {
    assert_eq!(added("bridge: none\n"), "no error");
    insta::assert_snapshot!(added("bridge: off\n"), @"
    error: `off` is not a configuration
     --> scenarios/story.yaml:6:9
      |
    6 | bridge: off
      |         ^^^
      |
      = help: write keys of the bridge's config.yaml, or `none` for no bridge
    ");
    insta::assert_snapshot!(added("bridge: {defaultMemory: lots}\n"), @"
    error: defaultMemory `lots` is not a quantity
     --> scenarios/story.yaml:6:25
      |
    6 | bridge: {defaultMemory: lots}
      |                         ^^^^
      |
      = help: write a Kubernetes quantity such as `100Mi`
    ");
    insta::assert_snapshot!(added("bridge: none\nsteps:\n- at: 1s\n  crash: {bridge: now}\n"), @"
    error: there is no bridge to crash
     --> scenarios/story.yaml:9:11
      |
    9 |   crash: {bridge: now}
      |           ^^^^^^
      |
      = help: take `bridge: none` away
    ");
    insta::assert_snapshot!(added("steps:\n- at: 1s\n  crash: {bridge: {after: sumbit}}\n"), @"
    error: unknown value `sumbit`
     --> scenarios/story.yaml:8:27
      |
    8 |   crash: {bridge: {after: sumbit}}
      |                           ^^^^^^
      |
      = help: did you mean `submit`? allowed here: submit, patchPod, bind, cancel
    ");
    insta::assert_snapshot!(added("epoch: yesterday\n"), @"
    error: `yesterday` is not a moment
     --> scenarios/story.yaml:6:8
      |
    6 | epoch: yesterday
      |        ^^^^^^^^^
      |
      = help: write it as `2026-01-01T00:00:00Z`
    ");
}

//! Values without sense, fields that Kubernetes doesn't have, and files that are no scenario.

use drawbridge_scenarios::format::{self, NoFiles};

use crate::{GOOD, added};

/// Place, mistake and hint on one line.
fn short(text: &str) -> String {
    match format::parse("story.yaml", text, &NoFiles) {
        Ok(_) => "no error".into(),
        Err(error) => {
            let hint = error.hint().unwrap_or("NO HINT");
            format!("{}:{}: {} ({hint})", error.line, error.column, error.what)
        }
    }
}

fn all(added: &[&str]) -> String {
    let lines = added.iter().map(|text| short(&format!("{GOOD}{text}\n")));
    lines.collect::<Vec<_>>().join("\n")
}

/// A step that applies a manifest with this kind and specification.
fn manifest(kind: &str, spec: &str) -> String {
    let group = match kind {
        "Job" => "batch/v1",
        "PodGroup" => "scheduling.x-k8s.io/v1alpha1",
        "Pod" => "v1",
        _ => "apps/v1",
    };
    format!(
        "steps:\n- at: 1s\n  apply: {{apiVersion: {group}, kind: {kind}, metadata: {{name: a}}, \
         spec:\n    {spec}}}\n"
    )
}

fn specs(table: &[(&str, &str)]) -> String {
    let lines = table.iter().map(|(kind, spec)| {
        let text = short(&format!("{GOOD}{}", manifest(kind, spec)));
        format!("{spec} => {text}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn numbers_without_sense_are_refused() {
    insta::assert_snapshot!(all(&[
        "behaviour: [{exitCode: 256}]",
        "behaviour: [{exitCode: -1}]",
        "behaviour: [{mpi: {groupLabel: a, ranks: 0}}]",
        "steps: [{at: 1s, sbatch: {flags: -N1, runtime: 1m, exitCode: 256}}]",
        "steps: [{at: 1s, scale: {kind: Deployment, name: a, replicas: -1}}]",
        "steps: [{at: 1s, scale: {kind: Deployment, name: a, replicas: 1000001}}]",
        "steps: [{at: 1s, scale: {kind: Deployment, name: a, replicas: 18446744073709551615}}]",
        "steps: [{at: 1s, patch: {kind: Deployment, name: a, merge: {spec: {replicas: -1}}}}]",
        "seed: 18446744073709551616",
        "expect: [{pods: {count: -1}}]",
        "epoch: 9999-12-31T23:59:59Z",
        "epoch: 1969-12-31T23:59:59Z",
    ]), @r#"
    6:24: no program exits with 256 (exit codes are 0 to 255)
    6:24: no program exits with -1 (exit codes are 0 to 255)
    6:42: an MPI program without ranks (write 1 or more)
    6:62: 256 is too large (write at most 255)
    6:63: expected a whole number, 0 or more, found `-1` (write the number alone, such as `3`)
    6:63: `replicas: 1000001` is more than the twin plays (write at most 1000000)
    6:63: 18446744073709551615 is too large (write at most 4294967295)
    6:78: `replicas` can't be -1 (write 0 or more)
    6:7: 18446744073709551616 is too large (write at most 18446744073709551615)
    6:25: -1 is less than nothing (`drawbridge schema scenario` says what may stand where)
    6:8: `9999-12-31T23:59:59Z` is outside of the twin's calendar (it begins with 1970 and ends with 8999)
    6:8: `1969-12-31T23:59:59Z` is outside of the twin's calendar (it begins with 1970 and ends with 8999)
    "#);
}

#[test]
fn numbers_without_sense_are_refused_in_manifests() {
    insta::assert_snapshot!(specs(&[
        ("Job", "{parallelism: -1}"),
        ("Job", "{completions: 1000001}"),
        ("Job", "{parallelism: two}"),
        ("Job", "{parallelism: 1.5}"),
        ("Deployment", "{replicas: -1}"),
        ("ReplicaSet", "{replicas: 18446744073709551615}"),
        ("PodGroup", "{minMember: 0}"),
        ("Pod", "{terminationGracePeriodSeconds: -1}"),
        ("Pod", "{terminationGracePeriodSeconds: 0}"),
    ]), @r#"
    {parallelism: -1} => 9:19: `parallelism` can't be -1 (write 0 or more)
    {completions: 1000001} => 9:19: `completions: 1000001` is more than the twin plays (write at most 1000000)
    {parallelism: two} => 9:19: `parallelism` is a whole number (write 0 or more)
    {parallelism: 1.5} => 9:19: `parallelism` is a whole number (write 0 or more)
    {replicas: -1} => 9:16: `replicas` can't be -1 (write 0 or more)
    {replicas: 18446744073709551615} => 9:16: `replicas: 18446744073709551615` is more than the twin plays (write at most 1000000)
    {minMember: 0} => 9:17: `minMember` can't be 0 (write 1 or more)
    {terminationGracePeriodSeconds: -1} => 9:37: `terminationGracePeriodSeconds` can't be -1 (write 0 or more)
    {terminationGracePeriodSeconds: 0} => no error
    "#);
}

#[test]
fn a_field_that_kubernetes_does_not_have_is_refused() {
    insta::assert_snapshot!(specs(&[
        ("Pod", "{containers: [{name: a, resources: {request: {cpu: 1}}}]}"),
        ("Pod", "{containers: [{name: a, image: b}, {name: c, imagee: d}]}"),
        ("Pod", "{tolerations: [{key: a, operater: Exists}]}"),
        ("Pod", "{affinity: {nodeAffinty: {}}}"),
        ("Job", "{backofLimit: 1}"),
        ("Job", "{template: {spec: {restartpolicy: Never}}}"),
        ("Deployment", "{template: {metadata: {label: {a: b}}}}"),
        ("PodGroup", "{minMembers: 2}"),
        ("Pod", "{volumes: [{name: a, whatever: 1}], nodeSelector: {any: thing}}"),
    ]), @r#"
    {containers: [{name: a, resources: {request: {cpu: 1}}}]} => 9:41: a ResourceRequirements has no field `request` (did you mean `requests`?)
    {containers: [{name: a, image: b}, {name: c, imagee: d}]} => 9:50: a Container has no field `imagee` (did you mean `image`?)
    {tolerations: [{key: a, operater: Exists}]} => 9:29: a Toleration has no field `operater` (did you mean `operator`?)
    {affinity: {nodeAffinty: {}}} => 9:17: an Affinity has no field `nodeAffinty` (did you mean `nodeAffinity`?)
    {backofLimit: 1} => 9:6: a JobSpec has no field `backofLimit` (did you mean `backoffLimit`?)
    {template: {spec: {restartpolicy: Never}}} => 9:24: a PodSpec has no field `restartpolicy` (did you mean `restartPolicy`?)
    {template: {metadata: {label: {a: b}}}} => 9:28: an ObjectMeta has no field `label` (did you mean `labels`?)
    {minMembers: 2} => 9:6: a PodGroupSpec has no field `minMembers` (did you mean `minMember`?)
    {volumes: [{name: a, whatever: 1}], nodeSelector: {any: thing}} => no error
    "#);
    let patch = "steps: [{at: 1s, patch: {kind: Pod, name: a, merge: {metadata: {lables: {}}}}}]";
    insta::assert_snapshot!(all(&[patch, "kubernetes: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, date: {}}]}"]), @r#"
    6:65: an ObjectMeta has no field `lables` (did you mean `labels`?)
    6:79: a ConfigMap has no field `date` (did you mean `data`?)
    "#);
}

#[test]
fn a_wrong_field_may_be_what_the_scenario_is_about() {
    let text = manifest("Job", "{backofLimit: 1, parallelism: -1}");
    assert_ne!(added(&text), "no error");
    assert_eq!(added(&text.replace("at: 1s", "at: 1s\n  unchecked: true")), "no error");
}

#[test]
fn what_is_no_scenario_is_told_what_one_is() {
    let deep = format!("why: {}", "[".repeat(5000));
    let nested = format!("why: {}{}", "[".repeat(2500), "]".repeat(2500));
    let large = format!("why: [{}]", "a,".repeat(300_000));
    let texts = [
        "",
        "# nothing\n",
        "- a\n",
        "word\n",
        "why: [a]\n",
        "why: a\nslurm: 3\n",
        "why: a\nsteps: 3\n",
    ];
    let lines = texts.into_iter().chain([deep.as_str(), &nested, &large]).map(short);
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    1:1: the file is empty (a scenario begins with `why:` and one sentence: what does it show?)
    1:1: the file is empty (a scenario begins with `why:` and one sentence: what does it show?)
    1:1: expected a mapping (`key: value`), found a list (a scenario begins with `why:` and one sentence: what does it show?)
    1:1: expected a mapping (`key: value`), found `word` (a scenario begins with `why:` and one sentence: what does it show?)
    1:6: expected a text, found a list (write one text; quotes make a text of anything)
    2:8: expected a mapping (`key: value`), found `3` (write `key: value` lines, or all in braces: `{key: value}`)
    2:8: expected a list, found `3` (write each item on a line after `- `, or all in brackets: `[a, b]`)
    1:261: the file is nested too deeply (no key of ours is so deep: is a bracket or brace missing?)
    1:261: the file is nested too deeply (no key of ours is so deep: is a bracket or brace missing?)
    1:500001: the file is too large (divide it: manifests may stand in files of their own)
    "#);
}

#[test]
fn steps_know_their_line_and_whether_they_may_be_refused() {
    let text = format!(
        "{GOOD}steps:\n- at: 2s\n  cordon: n1\n- {{at: 1s, unchecked: true, scancel: a}}\n"
    );
    let scenario = format::parse("story.yaml", &text, &NoFiles).unwrap();
    let steps: Vec<_> = scenario.steps.iter().map(|it| (it.line, it.unchecked)).collect();
    assert_eq!(steps, [(9, true), (7, false)]);
}

#[test]
fn the_readme_names_the_kinds_that_the_hint_names() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let readme = readme.unwrap();
    let (_, after) = readme.split_once("The kinds that the twin has:").unwrap();
    let (listed, _) = after.split_once("Others are refused").unwrap();
    let error =
        added("steps: [{at: 1s, apply: {apiVersion: v1, kind: Qqqqqq, metadata: {name: a}}}]");
    let (_, kinds) = error.split_once("there are: ").unwrap();
    let (kinds, more) = kinds.trim().split_once(" and ").unwrap();
    let listed_more = listed.split(',').count() - kinds.split(", ").count();
    assert_eq!(more, format!("{listed_more} more"));
    for kind in kinds.split(", ") {
        assert!(listed.contains(kind), "{kind}");
    }
}

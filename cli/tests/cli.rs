//! The binary as its users meet it: exit codes, errors with a place and a hint, outputs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

/// A small scenario that passes: line numbers in the tests below count from here.
const GOOD: &str = "\
why: A pod runs.
slurm:
  conf: |
    ClusterName=small
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    NodeName=n[1-2] CPUs=4 RealMemory=8000
    PartitionName=main Nodes=ALL Default=YES
behaviour:
  - namespace: slurm-bridge
    runtime: 1m
steps:
  - at: 0s
    apply:
      apiVersion: v1
      kind: Pod
      metadata: {name: one, namespace: slurm-bridge}
      spec:
        restartPolicy: Never
        containers:
          - name: main
            image: busybox
            resources:
              requests: {cpu: \"2\", memory: 1Gi}
  - at: 1s
    sbatch: -p main -n1 --mem=100 -t 10 --wrap 'sleep 60'
expect:
  - pods: {name: one, phase: Succeeded}
";

fn drawbridge(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_drawbridge")).args(args).current_dir(folder).output().unwrap()
}

/// Runs a scenario made of [`GOOD`] with one thing replaced.
fn run_with(was: &str, is: &str, args: &[&str]) -> (i32, String, String) {
    assert!(GOOD.contains(was), "the scenario has no `{was}`");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.yaml"), GOOD.replacen(was, is, 1)).unwrap();
    let output = drawbridge(&[&["run", "it.yaml"], args].concat(), folder.path());
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("scenarios")
}

#[test]
fn a_good_scenario_passes_with_exit_code_0() {
    let (code, out, err) = run_with("why", "why", &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("pass") && out.contains("1 passed, 0 failed"), "{out}");
}

#[test]
fn an_unmet_expectation_is_exit_code_1_and_says_how_to_repeat_it() {
    let (code, out, err) = run_with("phase: Succeeded", "phase: Failed", &[]);
    assert_eq!(code, 1);
    assert!(out.contains("FAIL") && out.contains("drawbridge run it.yaml --seed"), "{out}");
    assert!(err.contains("1 of 1 scenarios failed"), "{err}");
}

#[test]
fn wrong_input_is_exit_code_2_with_its_place_and_a_hint() {
    // name                     was                     is                      place        words
    #[rustfmt::skip]
    let rows = [
        ("a typo in a key",     "behaviour:",           "behavior:",            "it.yaml:9:1",  "behaviour"),
        ("a bad quantity",      "cpu: \"2\"",           "cpu: \"two\"",         "it.yaml:24:",  "quantity"),
        ("an unknown partition", "-p main",             "-p mian",              "it.yaml:26:",  "main"),
        ("a broken conf line",  "CPUs=4",               "CPUs=four",            "it.yaml:7:",   "CPUs"),
        ("an unknown setting",  "ClusterName",          "ClustreName",          "it.yaml:4:5",  "ClusterName"),
        ("a bad duration",      "runtime: 1m",          "runtime: 1 fortnight", "it.yaml:11:",  "1h30m"),
        ("an unknown kind",     "kind: Pod",            "kind: Pid",            "it.yaml:16:",  "Pod"),
        ("an unknown flag",     "-n1",                  "--frobnicate",         "it.yaml:26:",  "frobnicate"),
        ("no sentence first",   "why: A pod runs.\n",   "",                     "it.yaml:1:",   "why"),
        ("broken YAML",         "steps:",               "steps: [",             "it.yaml:",     ""),
    ];
    for (name, was, is, place, words) in rows {
        let (code, out, err) = run_with(was, is, &[]);
        assert_eq!(code, 2, "{name}: {err}");
        assert_eq!(out, "", "{name}: nothing is printed for a file that can't be read");
        assert!(err.contains(place), "{name}: no `{place}` in\n{err}");
        assert!(err.contains(words), "{name}: no `{words}` in\n{err}");
    }
}

#[test]
fn a_file_that_is_not_there_is_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let output = drawbridge(&["run", "nowhere.yaml"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("nowhere.yaml: no such file or folder") && err.contains("hint"), "{err}");
}

#[test]
fn one_wrong_file_stops_the_others_before_they_start() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), GOOD).unwrap();
    fs::write(folder.path().join("b.yaml"), "why: x\nnonsense: 1\n").unwrap();
    let output = drawbridge(&["run", ".", "--events", "events.jsonl"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.path().join("events.jsonl").exists());
}

#[test]
fn json_has_the_promised_fields() {
    let (code, out, _) = run_with("why", "why", &["-o", "json"]);
    assert_eq!(code, 0);
    let document: Value = serde_json::from_str(out.trim()).unwrap();
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(keys(&document), @"eventHash events expectations jobs metrics nodes notes passed permissions pods refused scenario seed violations virtualMs why");
    insta::assert_snapshot!(keys(&document["expectations"][0]), @"detail passed text");
    for (list, promised) in [
        (
            "pods",
            "namespace name phase node slurmNode jobId createdMs boundMs startedMs finishedMs reason",
        ),
        (
            "jobs",
            "jobId name user account partition state reason nodes submitMs startMs endMs exitCode",
        ),
        ("nodes", "name slurmName state cpus cpusAlloc memoryMb memoryAllocMb gres gresAlloc"),
    ] {
        let row = document[list][0].as_object().unwrap();
        for field in promised.split(' ') {
            assert!(row.contains_key(field), "{list} have no {field}");
        }
    }
}

#[test]
fn every_event_is_written_as_a_json_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.yaml"), GOOD).unwrap();
    let output =
        drawbridge(&["run", "it.yaml", "-o", "json", "--events", "e.jsonl"], folder.path());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = fs::read_to_string(folder.path().join("e.jsonl")).unwrap();
    assert_eq!(report["events"], lines.lines().count());
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["seq"], 0);
    assert_eq!(first["scenario"], "it");
}

#[test]
fn junit_is_xml_with_a_case_for_each_expectation() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.yaml"), GOOD).unwrap();
    drawbridge(&["run", "it.yaml", "--junit", "junit.xml"], folder.path());
    let xml = fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(xml.contains("<testsuite name=\"it\" tests=\"3\" failures=\"0\">"), "{xml}");
}

#[test]
fn another_seed_is_another_run_and_the_same_seed_the_same() {
    let spread = "runtime: {uniform: [1m, 9m]}";
    let hash = |seed: &str| {
        let (_, out, _) = run_with("runtime: 1m", spread, &["-o", "json", "--seed", seed]);
        let report: Value = serde_json::from_str(&out).unwrap();
        report["eventHash"].as_str().unwrap().to_owned()
    };
    assert_eq!(hash("1"), hash("1"));
    assert_ne!(hash("1"), hash("2"));
}

#[test]
fn snapshots_are_written_checked_and_found_to_differ() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.yaml"), GOOD).unwrap();
    let run = |args: &[&str]| {
        let output = drawbridge(&[&["run", "it.yaml"], args].concat(), folder.path());
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&["--check-snapshots", "snaps"]).0, 1, "there is none yet");
    assert_eq!(run(&["--update-snapshots", "snaps"]).0, 0);
    assert_eq!(run(&["--check-snapshots", "snaps"]).0, 0);
    let snapshot = folder.path().join("snaps/it.snap");
    let text =
        fs::read_to_string(&snapshot).unwrap().replace("pod slurm-bridge/one is Running", "it ran");
    fs::write(snapshot, text).unwrap();
    let (code, out) = run(&["--check-snapshots", "snaps"]);
    assert_eq!(code, 1);
    assert!(out.contains("was") && out.contains("it ran"), "{out}");
}

#[test]
fn the_whole_library_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let library = library();
    let path = library.to_str().unwrap();
    let verify = drawbridge(&["verify", path, "-o", "json"], folder.path());
    assert_eq!(verify.status.code(), Some(0), "{}", String::from_utf8_lossy(&verify.stdout));
    for line in String::from_utf8(verify.stdout).unwrap().lines() {
        let verdict: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&verdict["deterministic"], &verdict["processes"]), (&true.into(), &4.into()));
    }
}

#[test]
fn the_schemas_are_printed_and_refuse_a_typo() {
    let folder = tempfile::tempdir().unwrap();
    let schema = drawbridge(&["schema"], folder.path()).stdout;
    let schema = jsonschema::validator_for(&serde_json::from_slice(&schema).unwrap()).unwrap();
    let typo = serde_json::json!({ "why": "x", "slurm": { "conf": "" }, "stepps": [] });
    assert!(!schema.is_valid(&typo));
    let config = drawbridge(&["schema", "config"], folder.path()).stdout;
    let config: Value = serde_json::from_slice(&config).unwrap();
    assert!(config["properties"]["schedulerName"].is_object());
}

#[test]
fn every_command_explains_itself() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["run", "verify", "replay", "tui", "schema", "completions"] {
        let output = drawbridge(&[command, "--help"], folder.path());
        assert_eq!(output.status.code(), Some(0), "{command}");
        assert!(output.stdout.len() > 200, "{command}");
    }
    let completions = drawbridge(&["completions", "bash"], folder.path()).stdout;
    assert!(String::from_utf8(completions).unwrap().contains("_drawbridge"));
}

#[test]
fn the_tui_does_not_draw_into_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.yaml"), GOOD).unwrap();
    let output = drawbridge(&["tui", "it.yaml"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("not a terminal"));
}

#[test]
fn the_scenario_in_the_readme_passes() {
    let readme = fs::read_to_string(library().parent().unwrap().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```yaml\n").unwrap();
    let (scenario, _) = rest.split_once("```\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("readme.yaml"), scenario).unwrap();
    let output = drawbridge(&["run", "readme.yaml"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

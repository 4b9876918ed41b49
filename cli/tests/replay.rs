//! `drawbridge replay` as its users meet it: traces, damaged traces, outputs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

/// Four jobs on four processors: the second waits for the first, the third slips past it.
const SWF: &str = "\
; Computer: Toy
; MaxNodes: 4
; MaxProcs: 4
; UnixStartTime: 1000000000
  1     0   10   600   3  -1 -1   3   600 -1 1 1 1 -1 1 -1 -1 -1
  2    60  600   600   4  -1 -1   4   900 -1 1 2 1 -1 1 -1 -1 -1
  3   120   -1   300   1  -1 -1   1   300 -1 1 1 1 -1 2 -1 -1 -1
  4   180 1200    60   2  -1 -1   2    -1 -1 1 2 1 -1 2 -1 -1 -1
";

const SACCT: &str = "\
JobID|User|Partition|QOS|Submit|Start|Elapsed|Timelimit|ReqTRES|State
12|ann|main|normal|2026-01-01T00:00:00|2026-01-01T00:00:05|00:10:00|01:00:00|cpu=4,node=1|COMPLETED
12.batch|||||2026-01-01T00:00:05|00:10:00||cpu=4,node=1|COMPLETED
13|bob|main|normal|2026-01-01T00:00:10|2026-01-01T00:10:10|00:10:00|01:00:00|cpu=4,node=1|COMPLETED
";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn replay_in(folder: &Path, args: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_drawbridge"))
        .arg("replay")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Replays a trace that is in a file of its own.
fn replay(trace: &str, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.swf"), trace).unwrap();
    replay_in(folder.path(), &[&["it.swf"], args].concat())
}

fn json(trace: &str, args: &[&str]) -> Value {
    let ran = replay(trace, &[args, &["-o", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_trace_is_replayed_and_told_in_tables() {
    let ran = replay(SWF, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for words in [
        "4 jobs on 4 nodes, 4 CPUs, Slurm cycles",
        "NodeName=n[1-4] CPUs=1",
        "wait",
        "first divergence",
        "hash of all starts",
    ] {
        assert!(ran.out.contains(words), "no `{words}` in\n{}", ran.out);
    }
}

#[test]
fn json_has_the_promised_fields() {
    let document = json(SWF, &[]);
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(keys(&document), @"backfillCycles backfilled boundedSlowdown byPartition byQos byUser cluster cpus file jobs mainCycles makespan mode nodes notes queueDepth recorded replicas seed startHash timeouts utilisation utilisationWhileArriving wait");
    insta::assert_snapshot!(keys(&document["wait"]), @"max mean median p95 p99");
    insta::assert_snapshot!(keys(&document["recorded"]), @"firstDivergence jobs meanDifference recordedMeanWait replayedMeanWait tolerance waitCorrelation within");
    insta::assert_snapshot!(keys(&document["byUser"][0]), @"cpuHours jobs meanQueueDepth meanSlowdown name wait");
    assert_eq!(document["notes"].as_array().unwrap().len(), 1, "{}", document["notes"]);
}

#[test]
fn the_two_modes_are_named_apart() {
    let easy = json(SWF, &["--mode", "easy"]);
    assert_eq!(easy["mode"], "EASY");
    // 60 s after the first submission at 0 the second waits until 600, the third starts at once.
    assert_eq!(easy["wait"]["max"], 1020.0);
    assert_eq!(easy["backfilled"], 1);
    assert_eq!(json(SWF, &["--mode", "slurm"])["mode"], "Slurm cycles");
}

#[test]
fn a_damaged_trace_is_exit_code_2_with_its_place_and_nothing_is_printed_or_written() {
    #[rustfmt::skip]
    let rows = [
        // name                 was          is            place           words
        ("a word for a number", "   600   3", "   6oo   3", "it.swf:5:18", "run time"),
        ("a line cut short",    " -1 2 -1 -1 -1\n  4", "\n  4", "it.swf:7:", "fields of 18"),
        ("a missing line break", "-1\n  2",  "-1  2",       "it.swf:5:67", "more than 18"),
        ("no job at all",       SWF,         "; only\n",   "it.swf:2:1",  "no job"),
        ("another kind of file", SWF,        "<html>\n",   "it.swf:",     "neither"),
        ("an empty file",       SWF,         "",           "it.swf:",     "neither"),
    ];
    for (name, was, is, place, words) in rows {
        assert!(SWF.contains(was), "{name}");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("it.swf"), SWF.replacen(was, is, 1)).unwrap();
        let ran = replay_in(folder.path(), &["it.swf", "--csv", "jobs.csv"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{name}: {}", ran.err);
        assert!(ran.err.contains(place) && ran.err.contains(words), "{name}: {}", ran.err);
        assert!(ran.err.contains("hint"), "{name}: {}", ran.err);
        assert!(!folder.path().join("jobs.csv").exists(), "{name}");
    }
}

#[test]
fn a_damaged_dump_is_exit_code_2_with_its_place() {
    let ran = replay(&SACCT.replace("13|bob", "13|b|ob"), &[]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("it.swf:4:") && ran.err.contains("11 columns"), "{}", ran.err);
    let ran = replay(&SACCT.replace("Submit|", "Sent|"), &[]);
    assert!(ran.code == 2 && ran.err.contains("no column Submit"), "{}", ran.err);
}

#[test]
fn what_is_not_there_or_not_understood_is_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.swf"), SWF).unwrap();
    fs::write(folder.path().join("empty.swf"), "").unwrap();
    fs::write(folder.path().join("slurm.conf"), "NodeNaem=n1\n").unwrap();
    #[rustfmt::skip]
    let rows: [(&[&str], &str); 9] = [
        (&["nowhere.swf"],                            "nowhere.swf"),
        (&["empty.swf"],                              "it is empty"),
        (&[],                                         "required"),
        (&["it.swf", "--conf", "nowhere.conf"],       "nowhere.conf"),
        (&["it.swf", "--conf", "slurm.conf"],         "slurm.conf:1:1"),
        (&["it.swf", "--runtime", "scaled:-1"],       "scaled:0.9"),
        (&["it.swf", "--jitter", "soon"],             "duration"),
        (&["it.swf", "--gres-conf", "gres.conf"],     "--conf"),
        (&["it.swf", "--csv", "no/such/folder.csv"],  "can be written"),
    ];
    for (args, words) in rows {
        let ran = replay_in(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("replayed"), "{args:?}: it ran in vain");
    }
}

#[test]
fn standard_input_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_drawbridge"))
        .args(["replay", "-", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(SACCT.as_bytes()).unwrap();
    let document: Value =
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(document["jobs"], 2);
}

#[test]
fn a_dump_of_sacct_is_compared_with_its_own_starts() {
    let document = json(SACCT, &[]);
    assert_eq!(document["jobs"], 2);
    assert_eq!(document["recorded"]["within"], 2, "{document}");
    assert!(document["cluster"]["slurmConf"].as_str().unwrap().contains("CPUs=4"));
}

#[test]
fn a_slurm_conf_is_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.swf"), SWF).unwrap();
    let conf = "SelectTypeParameters=CR_CPU\nOverTimeLimit=1\nNodeName=n[1-2] CPUs=4\nPartitionName=main Nodes=ALL Default=YES\n";
    fs::write(folder.path().join("slurm.conf"), conf).unwrap();
    let ran = replay_in(folder.path(), &["it.swf", "--conf", "slurm.conf", "-o", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&document["nodes"], &document["cpus"]), (&2.into(), &8.into()));
    assert_eq!(document["cluster"]["slurmConf"], Value::Null);
}

#[test]
fn replicas_are_the_same_however_many_workers_there_are() {
    let args = ["--replicas", "5", "--jitter", "5m", "--seed", "7"];
    let one = json(SWF, &[&args[..], &["--workers", "1"]].concat());
    assert_eq!(one, json(SWF, &[&args[..], &["--workers", "4"]].concat()));
    let hashes = one["replicas"]["startHashes"].as_array().unwrap();
    assert_eq!(hashes.len(), 5);
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(one["startHash"], json(SWF, &["--jitter", "5m", "--seed", "8"])["startHash"]);
}

#[test]
fn options_change_what_is_replayed() {
    let hash = |args: &[&str]| json(SWF, args)["startHash"].clone();
    let plain = hash(&[]);
    assert_eq!(plain, hash(&["--limit", "requested"]));
    for args in [["--runtime", "scaled:0.5"], ["--jobs", "2"], ["--from", "1m"]] {
        assert_ne!(plain, hash(&args), "{args:?}");
    }
    assert_ne!(hash(&["--mode", "easy"]), hash(&["--mode", "easy", "--limit", "none"]));
    assert_eq!(json(SWF, &["--to", "2m"])["jobs"], 2);
    let over = SWF.replace("600   4  -1 -1   4   900", "600   4  -1 -1   4   300");
    assert_eq!(json(&over, &["--over-limit", "kill"])["timeouts"], 1);
    assert_eq!(json(&over, &["--over-limit", "keep"])["timeouts"], 0);
}

#[test]
fn every_job_is_a_line_of_the_csv() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.swf"), SWF).unwrap();
    replay_in(folder.path(), &["it.swf", "--mode", "easy", "--csv", "jobs.csv"]);
    let text = fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    insta::assert_snapshot!(text, @r"
    job,user,partition,qos,cpus,submit,start,end,wait,run,slowdown,recordedStart,state,nodes
    1,1,1,-,3,1000000000,1000000000,1000000600,0,600,1.000,1000000010,COMPLETED,
    2,2,1,-,4,1000000060,1000000600,1000001200,540,600,1.900,1000000660,COMPLETED,
    3,1,2,-,1,1000000120,1000000120,1000000420,0,300,1.000,,COMPLETED,
    4,2,2,-,2,1000000180,1000001200,1000001260,1020,60,18.000,1000001380,COMPLETED,
    ");
}

#[test]
fn a_journal_is_stepped_through_the_core() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    let began = "{\"at\":0,\"began\":{\"version\":\"0\",\"config\":{},\"instance\":{\"epoch\":0,\
        \"identity\":\"a\",\"namespace\":\"b\",\"duties\":{\"workloads\":true,\"nodes\":true}}}}\n";
    let started = format!("{began}{{\"at\":0,\"input\":\"started\"}}\n");
    fs::write(&journal, &started).unwrap();
    let ran = replay_in(folder.path(), &["journal.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("one life, 1 inputs, 0 equal effects"), "{}", ran.out);
    fs::write(&journal, format!("{started}{{\"at\":0,\"effect\":{{\"wakeAt\":77}}}}\n")).unwrap();
    let ran = replay_in(folder.path(), &["journal.jsonl", "-o", "json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(document["firstDifference"].as_str().unwrap().contains("line 3 differs"));
    fs::write(&journal, "{\"at\":0,\"input\":\"begun\"}\n{\"at\":0,\"input\":\"woke\"}\n").unwrap();
    let ran = replay_in(folder.path(), &["journal.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("journal.jsonl:1:1"), "{}", ran.err);
}

#[test]
fn a_synthetic_workload_can_be_kept_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let made = replay_in(
        folder.path(),
        &[
            "--synthetic",
            "day",
            "--seed",
            "3",
            "--write-swf",
            "day.swf",
            "--mode",
            "easy",
            "-o",
            "json",
        ],
    );
    let read = replay_in(folder.path(), &["day.swf", "--mode", "easy", "-o", "json"]);
    let hash = |ran: &Ran| serde_json::from_str::<Value>(&ran.out).unwrap()["startHash"].clone();
    assert_eq!(hash(&made), hash(&read));
}

#[test]
fn the_report_is_one_page_that_asks_nobody_for_anything() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a<b.swf"), SWF).unwrap();
    let ran = replay_in(folder.path(), &["a<b.swf", "--report", "page.html"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for words in [
        "<!doctype html>",
        "Replay of a&lt;b.swf",
        "Gantt chart of 4 jobs on 4 nodes",
        "role=\"img\"",
        "prefers-color-scheme:dark",
        "</html>",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
    for words in ["<script", "http://", "https://", "a<b"] {
        assert!(!page.contains(words), "`{words}` in the page");
    }
    assert_eq!(page.matches("<rect").count(), 4);
}

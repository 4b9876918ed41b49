//! Dumps as sites have them, and broken ones.

use super::*;

const HEADER: &str =
    "JobID|User|Partition|QOS|Submit|Start|End|Elapsed|Timelimit|ReqTRES|NodeList|State";

fn dump(lines: &[&str]) -> Result<Trace, TraceError> {
    parse(&format!("{HEADER}\n{}\n", lines.join("\n")))
}

#[test]
fn a_dump_gives_jobs_without_their_steps() {
    let trace = dump(&[
        "12|ann|main|normal|2026-01-01T00:00:00|2026-01-01T00:00:05|2026-01-01T00:10:05|00:10:00|01:00:00|billing=4,cpu=4,mem=4G,node=2|n[1-2]|COMPLETED",
        "12.batch|||||2026-01-01T00:00:05|2026-01-01T00:10:05|00:10:00|||n1|COMPLETED",
        "13_2|bob|gpu|high|2026-01-01T00:00:01|2026-01-01T00:00:05|Unknown|00:00:10|UNLIMITED|cpu=8,gres/gpu=2|n3|RUNNING",
        "14_[3-9]|bob|gpu|high|2026-01-01T00:00:01|Unknown|Unknown|00:00:00|1-00:00:00|cpu=8|None assigned|PENDING",
        "15|bob|gpu|high|2026-01-01T00:00:01|None|2026-01-01T00:00:09|00:00:00|1-00:00:00|cpu=8|None assigned|CANCELLED by 1000",
    ])
    .unwrap();
    let ids: Vec<_> = trace.jobs.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(ids, ["12", "13_2"]);
    let job = &trace.jobs[0];
    assert_eq!((job.run, job.limit, job.cpus, job.nodes), (600, Some(3600), 4, Some(2)));
    assert_eq!(
        (job.memory_per_cpu_mib, trace.jobs[1].gpus, trace.jobs[1].limit),
        (Some(1024), 2, None)
    );
    assert_eq!(job.start, Some(job.submit + 5));
    assert_eq!(trace.machine.node_names[&0].len(), 2);
    insta::assert_snapshot!(trace.notes.lines().join("\n"), @r"
    1 job: left out: cancelled before it ran
    1 job: left out: had not started
    1 job: was still running: ends when the record does
    ");
}

#[test]
fn damage_is_an_error_with_its_place() {
    let good = "12|ann|main|normal|0|5|605|00:10:00|01:00:00|cpu=4|n1|COMPLETED";
    #[rustfmt::skip]
    let rows = [
        ("12|ann|main|normal|0|5", (3, 23), "6 columns, the header has 12"),
        (&good.replace("00:10:00", "soon"), (3, 28), "Elapsed is `soon`"),
        (&good.replace("|0|5", "|noon|5"), (3, 20), "Submit is `noon`"),
        (&good.replace("cpu=4", "four"), (3, 46), "ReqTRES is `four`"),
        (&good.replace("n1", "n[1"), (3, 52), "NodeList `n[1`"),
        (&format!("{good}|more"), (3, 69), "13 columns"),
    ];
    for (line, place, what) in rows {
        let error = dump(&[good, line, good]).unwrap_err();
        assert_eq!((error.line, error.column), place, "{error}");
        assert!(error.what.contains(what), "{error}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn a_header_without_what_is_needed_says_which_command_gives_it() {
    for (header, missing) in [
        ("User|Submit|Elapsed|NCPUS", "JobID"),
        ("JobID|Elapsed|NCPUS", "Submit"),
        ("JobID|Submit|NCPUS", "Elapsed"),
        ("JobID|Submit|Elapsed", "ReqCPUS"),
    ] {
        let error = parse(&format!("{header}\n")).unwrap_err();
        assert!(error.what.contains(missing) && error.hint.contains("--parsable2"), "{error}");
    }
}

#[test]
fn comma_separated_records_are_read_by_the_names_of_their_columns() {
    let trace = parse(
        "job_id,user,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,submit_time,start_time,end_time,run_time,state,name\n\
         5,u1,p1,normal,172800.0,10,10,0,2019-01-01 08:55:55,2019-01-01 08:55:56,2019-01-02 12:39:41,99825.0,COMPLETED,\"a, b\"\n",
    )
    .unwrap();
    let job = &trace.jobs[0];
    assert_eq!((job.limit, job.nodes, job.cpus, job.run), (Some(172_800), Some(10), 10, 99_825));
    assert!(trace.notes.lines().is_empty(), "{:?}", trace.notes.lines());
}

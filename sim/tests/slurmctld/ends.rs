//! How jobs end, and what becomes of them and their nodes.

use drawbridge_sim::{Fact, JobId, NodeUpdate, Signal, Time};

use crate::lab::{Lab, root};

fn four(line: &str) -> Lab {
    Lab::new(&format!(
        "SchedulerParameters=batch_sched_delay=0\n{line}\n\
         NodeName=n[001-004] CPUs=16 RealMemory=64000\nPartitionName=main Nodes=ALL Default=YES\n"
    ))
}

/// `FAILED NonZeroExitCode 3:0 +0`: state, reason, exit code, seconds from start to end.
fn end_of(lab: &Lab, job: JobId) -> String {
    let Some(job) = lab.ctld.job(job) else {
        return "gone".into();
    };
    let span = job
        .end_time
        .zip(job.start_time)
        .map_or("-".into(), |(end, start)| (end - start).as_ms().to_string());
    format!("{} {} {} {span}", job.squeue_state(), job.reason, job.exit)
}

#[test]
fn scripts_end_as_they_say() {
    #[rustfmt::skip]
    let rows = [
        ("sleep 5",    "COMPLETED None 0:0 5050"),
        ("exit 0",     "COMPLETED None 0:0 50"),
        ("exit 3",     "FAILED NonZeroExitCode 3:0 50"),
        ("kill -9 $$", "FAILED RaisedSignal:9(Killed) 0:9 50"),
    ];
    for (script, expected) in rows {
        let mut lab = four("");
        let job = lab.sbatch(&format!("-n1 --mem=10 --wrap '{script}'"));
        lab.pass(10);
        assert_eq!(end_of(&lab, job), expected, "{script}");
    }
}

#[test]
fn limits_are_checked_every_thirty_seconds() {
    #[rustfmt::skip]
    let rows = [
        // slurm.conf          script                                       after   outcome
        ("",                   "sleep infinity",                            89,     "RUNNING None 0:0 -"),
        ("",                   "sleep infinity",                            91,     "TIMEOUT TimeLimit 0:15 89000"),
        ("OverTimeLimit=1",    "sleep infinity",                            149,    "RUNNING None 0:0 -"),
        ("OverTimeLimit=1",    "sleep infinity",                            151,    "TIMEOUT TimeLimit 0:15 149000"),
        ("OverTimeLimit=UNLIMITED", "sleep infinity",                       9999,   "RUNNING None 0:0 -"),
        ("KillWait=5",         "trap \"\" TERM CONT; while :; do sleep 1; done", 94,  "COMPLETING TimeLimit 0:9 89000"),
        ("KillWait=5",         "trap \"\" TERM CONT; while :; do sleep 1; done", 96,  "TIMEOUT TimeLimit 0:9 89000"),
        ("",                   "sleep 59",                                  91,     "COMPLETED None 0:0 59050"),
    ];
    for (line, script, after, expected) in rows {
        let mut lab = four(line);
        let job = lab.sbatch(&format!("-n1 --mem=10 -t 1 --wrap '{script}'"));
        lab.at_secs(after);
        assert_eq!(end_of(&lab, job), expected, "{line} {script} {after}");
    }
}

#[test]
fn cancelling_ends_a_job_at_once_unless_it_ignores_term() {
    let mut lab = four("KillWait=5");
    let plain = lab.run("-n1 --mem=10");
    let stubborn = lab.run("-n1 --mem=10 --wrap \"trap '' TERM; sleep infinity\"");
    let polite = lab.run("-n1 --mem=10 --wrap \"trap 'exit 4' TERM; sleep infinity\"");
    let waiting = lab.sbatch("--hold -n1 --mem=10");
    for job in [plain, stubborn, polite, waiting] {
        lab.scancel(job);
    }
    let at = lab.now;
    assert_eq!(lab.state_of(plain), "COMPLETING None");
    assert_eq!(lab.sinfo(), "n001:comp n002:idle n003:idle n004:idle");
    let flags = lab.ctld.node(&"n001".into()).unwrap().state_flags();
    assert_eq!(flags, ["IDLE", "COMPLETING"]);
    assert_eq!(lab.state_of(waiting), "CANCELLED JobHeldUser");
    lab.until(at + drawbridge_sim::Span::ms(200));
    assert!(end_of(&lab, plain).starts_with("CANCELLED None 0:15"));
    assert!(end_of(&lab, polite).starts_with("CANCELLED None 4:0"));
    assert_eq!(lab.state_of(stubborn), "COMPLETING None");
    lab.until(at + drawbridge_sim::Span::secs(5));
    assert!(end_of(&lab, stubborn).starts_with("CANCELLED None 0:9"));
    assert_eq!(lab.sinfo(), "n001:idle n002:idle n003:idle n004:idle");
    let again = lab.ctld.cancel(lab.now, plain, &root()).unwrap_err();
    assert_eq!(
        (again.number(), again.to_string().as_str()),
        (2021, "Job/step already completing or completed")
    );
}

#[test]
fn the_placeholder_script_ends_as_it_is_told_to() {
    let script =
        "trap \"exit 0\" USR1\ntrap \"exit 1\" USR2\ntrap \"\" TERM\nsleep infinity &\nwait";
    #[rustfmt::skip]
    let rows = [
        (Signal::Usr1, "COMPLETED None 0:0"),
        (Signal::Usr2, "FAILED NonZeroExitCode 1:0"),
        (Signal::Hup,  "FAILED RaisedSignal:1(Hangup) 0:1"),
        (Signal::Term, "RUNNING None 0:0"),
        (Signal::Kill, "COMPLETING None 0:9"),
    ];
    for (signal, expected) in rows {
        let mut lab = four("");
        let job = lab.run(&format!("-N2 --mem=10 --wrap '{script}'"));
        lab.ctld.signal(lab.now, job, signal, &"user".into()).unwrap();
        lab.pass(1);
        assert!(end_of(&lab, job).starts_with(expected), "{signal:?}: {}", end_of(&lab, job));
    }
}

#[test]
fn others_may_not_touch_a_job() {
    let mut lab = four("");
    let job = lab.run("--uid=alice -n1 --mem=10");
    let refused = lab.ctld.cancel(lab.now, job, &"bob".into()).unwrap_err();
    assert_eq!(
        (refused.number(), refused.to_string().as_str()),
        (2002, "Access/permission denied")
    );
    assert_eq!(lab.ctld.signal(lab.now, job, Signal::Usr1, &"bob".into()), Err(refused));
    let unknown = lab.ctld.cancel(lab.now, JobId(99), &root()).unwrap_err();
    assert_eq!(
        (unknown.number(), unknown.to_string().as_str()),
        (2017, "Invalid job id specified")
    );
}

#[test]
fn a_lost_node_requeues_a_job_or_fails_it() {
    let mut lab = four("");
    let again = lab.run("--requeue -w n001 -n1 --mem=10");
    let never = lab.run("--no-requeue -w n001 -n1 --mem=10");
    lab.down("n001");
    let at = lab.now;
    assert_eq!(end_of(&lab, again), "PENDING BeginTime 0:0 -");
    assert!(end_of(&lab, never).starts_with("NODE_FAIL NodeDown 0:1"));
    assert_eq!(lab.sinfo(), "n001:down n002:idle n003:idle n004:idle");
    let job = lab.ctld.job(again).unwrap();
    assert_eq!((job.restarts, job.begin_time), (1, Some(at + drawbridge_sim::Span::secs(121))));
    lab.node("n001", NodeUpdate::Resume);
    lab.pass(120);
    assert_eq!(lab.state_of(again), "PENDING BeginTime");
    lab.pass(61);
    assert_eq!(lab.state_of(again), "RUNNING None");
}

#[test]
fn return_to_service_2_brings_a_downed_node_back_by_itself() {
    let mut lab = four("ReturnToService=2");
    lab.down("n001");
    assert_eq!(lab.sinfo(), "n001:down n002:idle n003:idle n004:idle");
    lab.pass(103);
    assert_eq!(lab.sinfo(), "n001:down n002:idle n003:idle n004:idle");
    lab.pass(1);
    assert_eq!(lab.sinfo(), "n001:idle n002:idle n003:idle n004:idle");
    assert!(lab.ctld.update_node(lab.now, &"n001".into(), NodeUpdate::Resume).is_err());
}

#[test]
fn finished_jobs_are_forgotten_after_min_job_age() {
    let mut lab = four("MinJobAge=100");
    let job = lab.sbatch("-n1 --mem=10 --wrap 'sleep 30'");
    lab.at_secs(179);
    assert_eq!(lab.state_of(job), "COMPLETED None");
    lab.at_secs(180);
    assert_eq!(lab.state_of(job), "gone");
    assert!(lab.ctld.take_facts().contains(&Fact::JobPurged { job }));
}

#[test]
fn the_facts_tell_the_story_in_order() {
    let mut lab = four("KillWait=2");
    let job = lab.sbatch("-N2 --mem=10 --wrap \"trap '' TERM; sleep infinity\"");
    lab.pass(3);
    lab.scancel(job);
    lab.pass(3);
    let facts: Vec<_> =
        lab.ctld.take_facts().iter().map(|fact| serde_json::to_string(fact).unwrap()).collect();
    insta::assert_snapshot!(facts.join("\n"), @r#"
    {"fact":"jobSubmitted","job":1}
    {"fact":"jobStarted","job":1,"allocation":{"nodes":[{"node":"n001","tasks":1,"cpus":1,"cores":"0","cpuIds":"0","memoryMib":10,"gres":{}},{"node":"n002","tasks":1,"cpus":1,"cores":"0","cpuIds":"0","memoryMib":10,"gres":{}}]},"backfilled":false}
    {"fact":"nodeChanged","node":"n001","state":"mix","reason":""}
    {"fact":"nodeChanged","node":"n002","state":"mix","reason":""}
    {"fact":"jobEnded","job":1,"state":"CANCELLED","exit":"0:9","completing":true}
    {"fact":"nodeChanged","node":"n001","state":"comp","reason":""}
    {"fact":"nodeChanged","node":"n002","state":"comp","reason":""}
    {"fact":"jobReleased","job":1}
    {"fact":"nodeChanged","node":"n001","state":"idle","reason":""}
    {"fact":"nodeChanged","node":"n002","state":"idle","reason":""}
    "#);
    assert_eq!(lab.ctld.job(job).unwrap().start_time, Some(Time::from_ms(1000)));
}

#[test]
fn a_controller_that_starts_from_an_old_save_gives_numbers_out_again() {
    let mut lab = four("");
    let kept = lab.run("-w n001 -n1 --mem=10");
    lab.pass(60);
    let saved = lab.now;
    let lost = lab.run("-w n002 -n1 --mem=10");
    let waiting = lab.sbatch("-w n002 --exclusive -n1");
    lab.pass(5);
    lab.ctld.restart_from(lab.now, saved);
    assert_eq!(lab.state_of(kept), "RUNNING None");
    assert!(lab.ctld.job(lost).is_none() && lab.ctld.job(waiting).is_none());
    lab.pass(10);
    assert_eq!(lab.sinfo(), "n001:mix n002:idle n003:idle n004:idle");
    assert_eq!(lab.run("-w n002 -n1 --mem=10"), lost);
}

//! Jobs that wait for other jobs, for licences and for their time; jobs that run again.

use drawbridge_sim::{
    ExitCode, JobBehaviour, JobId, JobUpdate, NodeUpdate, Requeue, Signal, Span, Time, TimeLimit,
    parse_sbatch,
};

use crate::lab::{Lab, root};

fn lab(lines: &str) -> Lab {
    Lab::new(&format!(
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\n\
         AuthInfo=cred_expire=5\nLicenses=foo:2,bar:4\n{lines}\n\
         NodeName=n[001-004] CPUs=16 RealMemory=64000\nPartitionName=main Nodes=ALL Default=YES\n"
    ))
}

fn waits(lab: &Lab, job: JobId) -> String {
    let record = lab.ctld.job(job).unwrap();
    format!("{} {}", lab.state_of(job), record.dependency().unwrap_or_else(|| "-".into()))
}

#[test]
fn every_kind_of_dependency_is_printed_as_scontrol_prints_it() {
    let mut lab = lab("");
    let first = lab.run("-n1 --mem=10");
    #[rustfmt::skip]
    let rows = [
        ("afterany:1",                   "PENDING Dependency afterany:1(unfulfilled)"),
        ("AfterOk:1,afternotok:1",       "PENDING Dependency afterok:1(unfulfilled),afternotok:1(unfulfilled)"),
        ("afterok:1?singleton",          "RUNNING None -"),
        ("after:1+2",                    "PENDING Dependency after:1+2(unfulfilled)"),
        ("afterburstbuffer:1",           "PENDING Dependency afterburstbuffer:1(unfulfilled)"),
        ("1",                            "PENDING Dependency afterany:1(unfulfilled)"),
        ("after:1",                      "RUNNING None -"),
        ("afterany:99",                  "RUNNING None -"),
        ("afterok:1?after:1,after:1",    "RUNNING None -"),
        ("afterany:1:1",                 "PENDING Dependency afterany:1(unfulfilled)"),
        ("afterok:1(failed)",            "PENDING DependencyNeverSatisfied afterok:1(failed)"),
    ];
    let jobs: Vec<_> = rows
        .iter()
        .map(|(text, _)| lab.sbatch(&format!("-J n{text} -d '{text}' -n1 --mem=10")))
        .collect();
    lab.pass(2);
    for (job, (text, expected)) in jobs.iter().zip(rows) {
        assert_eq!(waits(&lab, *job), expected, "{text}");
    }
    lab.scancel(first);
    lab.pass(2);
    assert_eq!(waits(&lab, jobs[0]), "RUNNING None -");
    assert_eq!(waits(&lab, jobs[1]), "PENDING DependencyNeverSatisfied afterok:1(failed)");
}

#[test]
fn what_slurmctld_cannot_wait_for_is_refused() {
    let mut lab = lab("");
    lab.run("-n1 --mem=10");
    #[rustfmt::skip]
    let rows = [
        ("afterok:99",     "2038 Job dependency problem"),
        ("afterok",        "2038 Job dependency problem"),
        ("afterok:x",      "2038 Job dependency problem"),
        ("afterok:0",      "2038 Job dependency problem"),
        ("afterany:6",     "2038 Job dependency problem"),
        ("before:1",       "2038 Job dependency problem"),
        ("after:1+0",      "2038 Job dependency problem"),
        ("singleton:1",    "2038 Job dependency problem"),
        ("expand:1",       "2036 Requested operation not supported on this system"),
    ];
    for (text, error) in rows {
        let refused = lab.try_sbatch(&format!("-n1 -d '{text}'"));
        assert_eq!(refused, Err(error.into()), "{text}");
    }
    // Each took a number all the same.
    assert_eq!(lab.sbatch("-n1 --mem=10"), JobId(11));
    let update = |text: &str| JobUpdate { dependency: Some(text.into()), ..JobUpdate::default() };
    let one = lab.sbatch("-n1 --mem=10 -H");
    let two = lab.sbatch(&format!("-n1 --mem=10 -d afterany:{one}"));
    let circle = lab.ctld.update_job(lab.now, one, &update(&format!("afterany:{two}")), &root());
    assert_eq!(circle.unwrap_err().number(), 2071);
    let own = lab.ctld.update_job(lab.now, one, &update(&format!("afterany:{one}")), &root());
    assert_eq!(own.unwrap_err().number(), 2038);
    lab.ctld.update_job(lab.now, two, &update(""), &root()).unwrap();
    lab.pass(2);
    assert_eq!(waits(&lab, two), "RUNNING None -");
}

#[test]
fn a_delayed_dependency_comes_true_by_itself() {
    let mut lab = lab("");
    lab.run("-n1 --mem=10");
    let job = lab.sbatch("-n1 --mem=10 -d after:1+1");
    lab.pass(50);
    assert_eq!(lab.state_of(job), "PENDING Dependency");
    lab.pass(15);
    assert_eq!(lab.state_of(job), "RUNNING None");
}

#[test]
fn licences_are_counted_and_nobody_is_blocked_for_them() {
    let mut lab = lab("");
    let two = lab.sbatch("-n1 --mem=10 -L foo:2");
    let one = lab.sbatch("-n1 --mem=10 -L foo");
    let other = lab.sbatch("-n1 --mem=10 -L bar");
    lab.pass(2);
    assert_eq!(lab.state_of(two), "RUNNING None");
    assert_eq!(lab.state_of(one), "PENDING Licenses");
    assert_eq!(lab.state_of(other), "RUNNING None");
    for text in ["foo:3", "nope", "foo:x"] {
        let refused = lab.try_sbatch(&format!("-n1 -L {text}"));
        assert_eq!(refused, Err("2048 Invalid license specification".into()), "{text}");
    }
    let fewer = JobUpdate { licenses: Some("foo:1".into()), ..JobUpdate::default() };
    lab.ctld.update_job(lab.now, two, &fewer, &root()).unwrap();
    lab.pass(2);
    assert_eq!(lab.state_of(one), "RUNNING None");
    lab.scancel(two);
    lab.pass(2);
    assert_eq!(lab.ctld.licenses().free("foo"), 1);
}

#[test]
fn jobs_go_back_to_the_queue_as_they_are_told_to() {
    let mut lab = lab("RequeueExit=7\nRequeueExitHold=9");
    let again = lab.sbatch("-n1 --mem=10 --wrap 'exit 7'");
    let held = lab.sbatch("-n1 --mem=10 --wrap 'exit 9'");
    let never = lab.sbatch("-n1 --mem=10 --no-requeue --wrap 'exit 9'");
    lab.pass(2);
    assert_eq!(lab.state_of(again), "PENDING BeginTime");
    assert_eq!(lab.state_of(held), "SPECIAL_EXIT JobHeldUser");
    assert_eq!(lab.state_of(never), "FAILED NonZeroExitCode");
    let refused = lab.ctld.requeue(lab.now, never, Requeue::Plain, &root());
    assert_eq!(refused.unwrap_err().number(), 2037);
    let pending = lab.ctld.requeue(lab.now, again, Requeue::Plain, &root());
    assert_eq!(pending.unwrap_err().number(), 2024);
    lab.pass(10);
    assert_eq!(lab.ctld.job(again).unwrap().restarts, 2);
    let done = lab.run("-n1 --mem=10 --wrap 'sleep 1'");
    lab.pass(3);
    assert_eq!(lab.state_of(done), "COMPLETED None");
    lab.ctld.requeue(lab.now, done, Requeue::Plain, &"user".into()).unwrap();
    lab.pass(1);
    assert_eq!(lab.state_of(done), "PENDING BeginTime");
    lab.pass(10);
    assert_eq!(lab.state_of(done), "COMPLETED None");
    assert_eq!(lab.ctld.job(done).unwrap().restarts, 1);
}

#[test]
fn a_job_that_is_sent_back_completes_first() {
    let mut lab = lab("KillWait=4");
    let job = lab.run("-n1 --mem=10 --wrap \"trap '' TERM; sleep infinity\"");
    lab.ctld.requeue(lab.now, job, Requeue::Hold, &root()).unwrap();
    assert_eq!(lab.state_of(job), "COMPLETING job requeued in held state");
    lab.pass(5);
    assert_eq!(lab.state_of(job), "PENDING job requeued in held state");
    lab.ctld.release(lab.now, job, &"user".into()).unwrap();
    lab.pass(9);
    assert_eq!(lab.state_of(job), "RUNNING None");
}

#[test]
fn deadlines_shorten_limits_and_remove_who_comes_too_late() {
    let mut lab = lab("");
    let late = "2051 Requested time limit is invalid (missing or exceeds some limit)";
    assert_eq!(lab.try_sbatch("-n1 --deadline=now+10 -t 5"), Err(late.into()));
    let odd = "2124 Invalid time-min specification (exceeds job's time or other limits)";
    assert_eq!(lab.try_sbatch("-n1 --time-min=10 -t 5"), Err(odd.into()));
    let job = lab.run("-n1 --mem=10 --deadline=now+10minutes");
    assert_eq!(lab.ctld.job(job).unwrap().time_limit, Some(Span::mins(9)));
    let held = lab.sbatch("-H -n1 --mem=10 -t 1 --deadline=now+90");
    lab.pass(25);
    assert_eq!(lab.state_of(held), "PENDING JobHeldUser");
    lab.pass(60);
    assert_eq!(lab.state_of(held), "DEADLINE DeadLine");
    assert_eq!(lab.ctld.job(held).unwrap().exit, ExitCode::signal(1));
}

#[test]
fn no_kill_keeps_a_job_on_its_other_nodes() {
    let mut lab = lab("");
    let job = lab.run("-k -N3 --mem=10");
    lab.down("n002");
    lab.pass(1);
    assert_eq!(
        (lab.state_of(job), lab.nodes_of(job)),
        ("RUNNING None".into(), "n[001,003] 1+1".into())
    );
    let both = lab.run("-N2 --mem=10 --no-requeue -w n[003-004]");
    lab.down("n004");
    assert_eq!(lab.state_of(both), "COMPLETING NodeDown");
    lab.pass(1);
    assert_eq!(lab.state_of(both), "NODE_FAIL NodeDown");
    lab.node("n004", NodeUpdate::Resume);
    lab.scancel(job);
    lab.pass(2);
    assert_eq!(lab.sinfo(), "n001:idle n002:down n003:idle n004:idle");
}

#[test]
fn prolog_and_epilog_take_the_time_that_they_are_said_to() {
    let mut lab = lab("PrologFlags=Alloc");
    let mut job = parse_sbatch("-n1 --mem=10").unwrap();
    let (configuring, prolog, epilog) = (Span::secs(5), Span::secs(3), Span::secs(4));
    let lasting = JobBehaviour::lasting(Span::secs(10));
    job.behaviour = Some(JobBehaviour { configuring, prolog, epilog, ..lasting });
    let job = lab.ctld.submit(lab.now, job).unwrap();
    lab.pass(2);
    let start = lab.ctld.job(job).unwrap().start_time.unwrap();
    let mut at = |secs: u64| {
        lab.until(start + Span::secs(secs));
        lab.state_of(job)
    };
    assert_eq!(at(4), "CONFIGURING None");
    assert_eq!(at(6), "RUNNING Prolog");
    assert_eq!(at(9), "RUNNING None");
    assert_eq!(at(20), "COMPLETING None");
    assert_eq!(at(23), "COMPLETED None");
}

#[test]
fn a_warning_comes_before_the_limit_at_a_check() {
    let mut lab = lab("");
    let job = lab.sbatch(
        "-n1 --mem=10 -t 5 --signal=B:USR1@60 --wrap \"trap 'exit 3' USR1; sleep infinity\"",
    );
    lab.pass(400);
    let job = lab.ctld.job(job).unwrap();
    assert_eq!((job.exit, job.end_time), (ExitCode::code(3), Some(Time::from_ms(240_100))));
    let deaf = lab.run("-n1 --mem=10 --wrap \"trap 'exit 3' USR1; sleep infinity\"");
    lab.ctld.signal(lab.now, deaf, Signal::Usr2, &root()).unwrap();
    lab.pass(1);
    assert_eq!(lab.state_of(deaf), "FAILED RaisedSignal:12(User defined signal 2)");
}

#[test]
fn who_may_change_what_is_as_in_slurmctld() {
    let (alice, bob) = (&"alice".into(), &"bob".into());
    let limit = |mins| JobUpdate {
        time_limit: Some(TimeLimit::Of(Span::mins(mins))),
        ..JobUpdate::default()
    };
    let mut lab = lab("");
    let running = lab.run("--uid=alice -n1 --mem=10 -t 10");
    let held = lab.sbatch("--uid=alice -n1 --mem=10 -t 10 -H");
    let now = lab.now;
    let number =
        |done: Result<(), drawbridge_sim::SlurmError>| done.err().map(|error| error.number());
    let nice = JobUpdate { nice: Some(-5), ..JobUpdate::default() };
    let priority = JobUpdate { priority: Some(500), ..JobUpdate::default() };
    let comment = JobUpdate { comment: Some("x".into()), ..JobUpdate::default() };
    assert_eq!(number(lab.ctld.update_job(now, running, &comment, bob)), Some(2010));
    assert_eq!(number(lab.ctld.hold(now, running, bob)), Some(2010));
    assert_eq!(number(lab.ctld.requeue(now, running, Requeue::Plain, bob)), Some(2002));
    assert_eq!(number(lab.ctld.hold(now, running, alice)), None);
    assert_eq!(lab.state_of(running), "RUNNING JobHeldUser");
    assert_eq!(number(lab.ctld.release(now, running, alice)), None);
    assert_eq!(number(lab.ctld.update_job(now, running, &limit(20), alice)), Some(2002));
    assert_eq!(number(lab.ctld.update_job(now, running, &limit(5), alice)), None);
    assert_eq!(number(lab.ctld.update_job(now, held, &limit(20), alice)), None);
    assert_eq!(number(lab.ctld.update_job(now, held, &priority, alice)), Some(2042));
    assert_eq!(number(lab.ctld.update_job(now, held, &nice, alice)), Some(2002));
    lab.ctld.hold(now, held, &root()).unwrap();
    assert_eq!(number(lab.ctld.release(now, held, alice)), Some(2002));
    assert_eq!(number(lab.ctld.release(now, held, &root())), None);
    lab.pass(2);
    assert_eq!(lab.state_of(held), "RUNNING None");
    lab.scancel(held);
    lab.pass(1);
    assert_eq!(number(lab.ctld.update_job(lab.now, held, &comment, alice)), Some(2084));
}

#[test]
fn a_waiting_job_may_ask_for_something_else() {
    let mut lab = lab("");
    lab.run("-N4 --exclusive");
    let job = lab.run("-n1 --mem=10");
    assert_eq!(lab.state_of(job), "PENDING Resources");
    let update = JobUpdate {
        nodes: Some((2, Some(2))),
        tasks: Some(4),
        cpus_per_task: Some(2),
        memory: Some(drawbridge_sim::MemoryAsk::PerNode(100)),
        excluded_nodes: Some(vec!["n001".into()]),
        name: Some("other".into()),
        requeue: Some(false),
        ..JobUpdate::default()
    };
    lab.ctld.update_job(lab.now, job, &update, &"user".into()).unwrap();
    lab.scancel(JobId(1));
    lab.pass(2);
    assert_eq!(lab.nodes_of(job), "n[002-003] 6+2");
    let record = lab.ctld.job(job).unwrap();
    assert_eq!((record.submission.name.as_str(), record.requeue), ("other", false));
    // A running job can only give nodes away.
    let fewer = |n| JobUpdate { nodes: Some((n, Some(n))), ..JobUpdate::default() };
    let more = lab.ctld.update_job(lab.now, job, &fewer(3), &root());
    assert_eq!(more.unwrap_err().number(), 2036);
    lab.ctld.update_job(lab.now, job, &fewer(1), &root()).unwrap();
    assert_eq!(lab.nodes_of(job), "n002 6");
    let tasks = JobUpdate { tasks: Some(1), ..JobUpdate::default() };
    assert_eq!(lab.ctld.update_job(lab.now, job, &tasks, &root()).unwrap_err().number(), 2073);
}

#[test]
fn a_job_that_could_never_run_is_refused_but_seen() {
    let mut lab = lab("");
    let refused = lab.try_sbatch("-N9");
    assert_eq!(refused, Err("2014 Requested node configuration is not available".into()));
    assert_eq!(lab.state_of(JobId(1)), "FAILED BadConstraints");
    assert_eq!(lab.ctld.job(JobId(1)).unwrap().exit, ExitCode::signal(1));
    assert!(lab.try_sbatch("-H -N9").is_ok(), "nobody looks at a held job");
}

#[test]
fn a_suspended_job_lends_its_cores_and_makes_up_for_the_time() {
    let mut lab = lab("");
    let job = lab.run("--uid=alice -n16 -t 1 --mem=10 --wrap 'sleep 50'");
    let start = lab.ctld.job(job).unwrap().start_time.unwrap();
    let refused = lab.ctld.suspend_job(lab.now, job, &"alice".into());
    assert_eq!(refused.unwrap_err().number(), 2002);
    lab.ctld.suspend_job(lab.now, job, &root()).unwrap();
    assert_eq!(
        (lab.state_of(job), lab.ctld.job(job).unwrap().priority),
        ("SUSPENDED None".into(), 0)
    );
    let usage = &lab.ctld.node(&"n001".into()).unwrap().usage;
    assert_eq!((usage.cpus, usage.memory_mib), (0, 10));
    let other = lab.run("-n16 --mem=10 -w n001 --wrap 'sleep 5'");
    assert_eq!(lab.state_of(other), "RUNNING None");
    lab.pass(98);
    assert_eq!(lab.state_of(job), "SUSPENDED None", "no limit counts meanwhile");
    lab.ctld.resume_job(lab.now, job, &root()).unwrap();
    assert_eq!(lab.ctld.resume_job(lab.now, job, &root()).unwrap_err().number(), 2087);
    lab.pass(60);
    let ended = lab.ctld.job(job).unwrap();
    assert_eq!(ended.squeue_state(), "COMPLETED");
    assert_eq!(ended.end_time, Some(start + Span::ms(150_050)));
    assert_eq!(lab.ctld.suspend_job(lab.now, job, &root()).unwrap_err().number(), 2021);
}

#[test]
fn who_resumes_among_others_runs_without_cores_of_its_own() {
    let mut lab = lab("");
    let job = lab.run("-n16 --mem=10 -w n001");
    lab.ctld.suspend_job(lab.now, job, &root()).unwrap();
    let other = lab.run("-n16 --mem=10 -w n001");
    lab.ctld.resume_job(lab.now, job, &root()).unwrap();
    assert_eq!(
        (lab.state_of(job), lab.state_of(other)),
        ("RUNNING None".into(), "RUNNING None".into())
    );
    lab.scancel(job);
    lab.pass(2);
    let usage = &lab.ctld.node(&"n001".into()).unwrap().usage;
    assert_eq!((usage.cpus, usage.memory_mib), (16, 10));
    lab.scancel(other);
    lab.pass(2);
    assert_eq!(lab.sinfo(), "n001:idle n002:idle n003:idle n004:idle");
}

#[test]
fn a_partition_named_twice_is_one() {
    let mut lab = lab("");
    lab.run("-N4 --exclusive");
    let job = lab.run("-n1 --mem=10 -p main,main");
    assert_eq!(lab.state_of(job), "PENDING Resources");
}

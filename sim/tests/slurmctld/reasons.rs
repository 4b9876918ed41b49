//! Why jobs wait, spelled as squeue spells it.

use drawbridge_sim::{JobUpdate, NodeUpdate, Time, TimeLimit};

use crate::lab::{Lab, root};

const CONF: &str = "\
SchedulerParameters=batch_sched_delay=0,bf_interval=1000
NodeName=n[001-004] CPUs=16 RealMemory=64000
PartitionName=main Nodes=ALL Default=YES
PartitionName=small Nodes=n[001-002] MaxNodes=1 MaxTime=10
PartitionName=big Nodes=ALL MinNodes=3
PartitionName=down Nodes=ALL State=DOWN
";

#[test]
fn reasons_are_those_of_the_real_one() {
    let mut lab = Lab::new(CONF);
    lab.drain("n003");
    lab.run("-w n001 -N1 --exclusive -t 60");
    lab.run("-w n002 -N1 --exclusive -t 60");
    let admin = lab.sbatch("-J adminhold -n1 --mem=10");
    lab.ctld.hold(lab.now, admin, &root()).unwrap();
    #[rustfmt::skip]
    let rows = [
        ("-w n003 -n1 --mem=10",             "PENDING ReqNodeNotAvail, May be reserved for other job"),
        ("--hold -n1 --mem=10",              "PENDING JobHeldUser"),
        ("-d afterok:1 -n1 --mem=10",        "PENDING Dependency"),
        ("--begin=now+600 -n1 --mem=10",     "PENDING BeginTime"),
        ("-p small -N2 -n2 --mem=10",        "PENDING PartitionNodeLimit"),
        ("-p small -n1 -t 60 --mem=10",      "PENDING PartitionTimeLimit"),
        ("-p down -n1 --mem=10",             "PENDING PartitionDown"),
        ("-p big -N1 --mem=10",              "PENDING PartitionNodeLimit"),
        ("-N2 --exclusive -t 60",            "PENDING Resources"),
        ("-N4 --exclusive",                  "PENDING Priority"),
        ("-n1 -c1 --mem=10 -t 60",           "PENDING Priority"),
    ];
    let jobs: Vec<_> = rows.iter().map(|(args, _)| lab.sbatch(args)).collect();
    lab.pass(8);
    for (job, (args, expected)) in jobs.iter().zip(rows) {
        assert_eq!(lab.state_of(*job), expected, "{args}");
    }
    assert_eq!(lab.state_of(admin), "PENDING JobHeldAdmin");
    assert_eq!(lab.ctld.job(admin).unwrap().priority, 0);
}

#[test]
fn dependencies_wait_for_the_right_end() {
    let mut lab = Lab::new(CONF);
    let ok = lab.run("-J first -n1 --mem=10 --wrap 'sleep 6'");
    let bad = lab.run("-J fails -n1 --mem=10 --wrap 'sleep 6; exit 1'");
    #[rustfmt::skip]
    let rows = [
        (format!("-d afterok:{ok}"),                              "RUNNING None"),
        (format!("-d afterok:{bad}"),                             "PENDING DependencyNeverSatisfied"),
        (format!("-d afterany:{ok}:{bad}"),                       "RUNNING None"),
        (format!("-d afternotok:{bad}"),                          "RUNNING None"),
        (format!("-d afternotok:{ok}"),                           "PENDING DependencyNeverSatisfied"),
        (format!("--kill-on-invalid-dep=yes -d afterok:{bad}"),   "CANCELLED DependencyNeverSatisfied"),
        ("-J sing -d singleton".into(),                           "RUNNING None"),
        ("-J sing -d singleton".into(),                           "PENDING Dependency"),
    ];
    let jobs: Vec<_> =
        rows.iter().map(|(args, _)| lab.sbatch(&format!("{args} -n1 --mem=10"))).collect();
    assert_eq!(lab.state_of(jobs[0]), "PENDING Dependency");
    lab.pass(8);
    for (job, (args, expected)) in jobs.iter().zip(&rows) {
        assert_eq!(lab.state_of(*job), *expected, "{args}");
    }
    lab.scancel(jobs[6]);
    lab.pass(2);
    assert_eq!(lab.state_of(jobs[7]), "RUNNING None");
}

#[test]
fn holding_takes_a_job_out_of_the_queue_and_releasing_puts_it_back() {
    let mut lab = Lab::new(CONF);
    let job = lab.sbatch("--hold -n1 --mem=10");
    lab.pass(5);
    assert_eq!(lab.state_of(job), "PENDING JobHeldUser");
    lab.ctld.release(lab.now, job, &"user".into()).unwrap();
    lab.pass(2);
    assert_eq!(lab.state_of(job), "RUNNING None");
    // A running job is held for the time when it waits again.
    lab.ctld.hold(lab.now, job, &root()).unwrap();
    assert_eq!(lab.state_of(job), "RUNNING JobHeldAdmin");
}

#[test]
fn begin_times_are_kept_and_found_by_the_next_full_cycle() {
    let mut lab = Lab::new(CONF);
    let job = lab.sbatch("--begin=now+10 -n1 --mem=10");
    lab.at_secs(59);
    assert_eq!(lab.state_of(job), "PENDING BeginTime");
    lab.at_secs(60);
    assert_eq!(lab.state_of(job), "RUNNING None");
    let other = lab.sbatch("--begin=now+10 -n1 --mem=10");
    lab.pass(12);
    lab.run("-n1 --mem=10");
    assert_eq!(lab.state_of(other), "RUNNING None", "another's cycle finds it too");
}

#[test]
fn updates_change_what_waits() {
    let mut lab = Lab::new(CONF);
    let job = lab.sbatch("-p small -n1 -t 60 --mem=10");
    lab.pass(3);
    assert_eq!(lab.state_of(job), "PENDING PartitionTimeLimit");
    let shorter = JobUpdate {
        time_limit: TimeLimit::Of(drawbridge_sim::Span::mins(5)).into(),
        comment: Some("better".into()),
        ..JobUpdate::default()
    };
    lab.ctld.update_job(lab.now, job, &shorter, &"user".into()).unwrap();
    lab.pass(3);
    assert_eq!(lab.state_of(job), "RUNNING None");
    assert_eq!(lab.ctld.job(job).unwrap().comment, "better");
    let moved = JobUpdate { partitions: Some(vec!["main".into()]), ..JobUpdate::default() };
    let refused = lab.ctld.update_job(lab.now, job, &moved, &root()).unwrap_err();
    assert_eq!(
        (refused.number(), refused.to_string().as_str()),
        (2073, "Job is no longer pending execution")
    );
    let longer = JobUpdate { time_limit: Some(TimeLimit::Unlimited), ..JobUpdate::default() };
    assert_eq!(
        lab.ctld.update_job(lab.now, job, &longer, &"user".into()).unwrap_err().number(),
        2002
    );
    assert!(lab.ctld.update_job(lab.now, job, &longer, &root()).is_ok());
}

#[test]
fn drained_nodes_finish_what_they_run_and_take_nothing_new() {
    let mut lab = Lab::new(CONF);
    lab.run("-w n002 -n1 --mem=10 --wrap 'sleep 6'");
    lab.drain("n002");
    assert_eq!(lab.sinfo(), "n001:idle n002:drng n003:idle n004:idle");
    assert_eq!(lab.ctld.node(&"n002".into()).unwrap().state_flags(), ["MIXED", "DRAIN"]);
    let job = lab.sbatch("-w n002 -n1 --mem=10");
    lab.pass(3);
    assert_eq!(lab.state_of(job), "PENDING ReqNodeNotAvail, May be reserved for other job");
    lab.pass(6);
    assert_eq!(lab.sinfo(), "n001:idle n002:drain n003:idle n004:idle");
    assert_eq!(lab.ctld.node(&"n002".into()).unwrap().state_flags(), ["IDLE", "DRAIN"]);
    lab.node("n002", NodeUpdate::Resume);
    lab.pass(2);
    assert_eq!(lab.state_of(job), "RUNNING None");
    let again = lab.ctld.update_node(lab.now, &"n002".into(), NodeUpdate::Resume).unwrap_err();
    assert_eq!(
        (again.number(), again.to_string().as_str()),
        (2028, "Invalid node state specified")
    );
}

#[test]
fn nodes_are_idle_then_mixed_then_allocated() {
    let mut lab = Lab::new(CONF);
    lab.run("-w n001 -n1 -c8 --mem=10");
    lab.run("-w n002 -n1 -c16 --mem=10");
    assert_eq!(lab.sinfo(), "n001:mix n002:alloc n003:idle n004:idle");
    assert!(Time::ZERO < lab.now);
}

//! Job arrays: one number, many tasks.

use drawbridge_sim::{JobId, JobTarget, JobUpdate, Requeue};

use crate::lab::{Lab, root};

const CONF: &str = "\
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
AuthInfo=cred_expire=5
NodeName=n[001-002] CPUs=8 RealMemory=64000
PartitionName=main Nodes=ALL Default=YES
";

/// As `squeue -t all -o '%i %A %T %r'`, by number.
fn squeue(lab: &Lab) -> String {
    let lines = lab
        .ctld
        .jobs()
        .map(|job| format!("{} {} {} {}", job.squeue_id(), job.id, job.squeue_state(), job.reason));
    lines.collect::<Vec<_>>().join("\n")
}

fn target(text: &str) -> JobTarget {
    JobTarget::parse(text).unwrap()
}

#[test]
fn tasks_get_numbers_as_they_start_and_the_last_keeps_the_arrays() {
    let mut lab = Lab::new(CONF);
    let array = lab.sbatch("-n4 --mem=10 --array=0-8:2");
    assert_eq!(squeue(&lab), "1_[0,2,4,6,8] 1 PENDING None");
    lab.pass(2);
    insta::assert_snapshot!(squeue(&lab), @"
    1_8 1 PENDING Resources
    1_0 2 RUNNING None
    1_2 3 RUNNING None
    1_4 4 RUNNING None
    1_6 5 RUNNING None
    ");
    assert_eq!(array, JobId(1));
    lab.scancel(JobId(3));
    lab.pass(2);
    assert_eq!(lab.state_of(array), "RUNNING None");
}

#[test]
fn no_more_tasks_run_at_once_than_the_array_allows() {
    let mut lab = Lab::new(CONF);
    let array = lab.run("-n1 --mem=10 --array=1-5%1 --wrap 'sleep 100'");
    insta::assert_snapshot!(squeue(&lab), @"
    1_[2-5%1] 1 PENDING JobArrayTaskLimit
    1_1 2 RUNNING None
    ");
    // As seen on slurmctld: held by root, one cancelled, then more at once.
    lab.ctld.hold(lab.now, target("1_3"), &root()).unwrap();
    lab.ctld.cancel(lab.now, target("1_4"), &root()).unwrap();
    lab.pass(2);
    insta::assert_snapshot!(squeue(&lab), @"
    1_[2,5%1] 1 PENDING JobArrayTaskLimit
    1_1 2 RUNNING None
    1_3 3 PENDING JobHeldAdmin
    ");
    let more = JobUpdate { throttle: Some(3), ..JobUpdate::default() };
    lab.ctld.update_job(lab.now, array, &more, &root()).unwrap();
    lab.pass(2);
    lab.ctld.release(lab.now, target("1_3"), &root()).unwrap();
    lab.pass(2);
    insta::assert_snapshot!(squeue(&lab), @"
    1_5 1 RUNNING None
    1_1 2 RUNNING None
    1_3 3 PENDING JobArrayTaskLimit
    1_2 4 RUNNING None
    ");
    lab.ctld.requeue(lab.now, target("1_1"), Requeue::Plain, &root()).unwrap();
    lab.pass(2);
    lab.ctld.requeue(lab.now, target("1_2"), Requeue::Hold, &root()).unwrap();
    lab.pass(2);
    insta::assert_snapshot!(squeue(&lab), @"
    1_5 1 RUNNING None
    1_1 2 PENDING BeginTime
    1_3 3 RUNNING None
    1_2 4 PENDING job requeued in held state
    ");
    lab.scancel(array);
    lab.pass(2);
    insta::assert_snapshot!(squeue(&lab), @"
    1_5 1 CANCELLED None
    1_1 2 CANCELLED BeginTime
    1_3 3 CANCELLED None
    1_2 4 CANCELLED job requeued in held state
    ");
    assert_eq!(lab.ctld.cancel(lab.now, array, &root()).unwrap_err().number(), 2021);
}

#[test]
fn an_array_is_forgotten_after_its_tasks() {
    let mut lab = Lab::new(&format!("MinJobAge=60\n{CONF}"));
    lab.sbatch("-n1 --mem=10 --array=0-3 --wrap 'sleep 1'");
    lab.pass(200);
    assert_eq!(squeue(&lab), "");
    assert_eq!(lab.ctld.cancel(lab.now, JobId(1), &root()).unwrap_err().number(), 2017);
}

#[test]
fn what_is_no_array_is_refused() {
    let mut lab = Lab::new(&format!("MaxArraySize=10\nMaxJobCount=8\n{CONF}"));
    let invalid = "2081 Invalid job array specification";
    assert_eq!(lab.try_sbatch("-n1 --array=0-10"), Err(invalid.into()));
    // MaxJobCount counts tasks.
    let full = "11 Resource temporarily unavailable";
    assert_eq!(lab.try_sbatch("-n1 --array=0-9"), Err(full.into()));
    assert!(lab.try_sbatch("-n1 --array=0-4").is_ok());
    assert_eq!(lab.try_sbatch("-n1 --array=0-4"), Err(full.into()));
    let throttle = JobUpdate { throttle: Some(1), ..JobUpdate::default() };
    let task = lab.ctld.update_job(lab.now, target("1_3"), &throttle, &root());
    assert_eq!(task.unwrap_err().number(), 2036);
}

#[test]
fn others_may_depend_on_tasks_and_on_all_of_them() {
    let mut lab = Lab::new(CONF);
    // Task 2 fails; the others end well.
    let bad = lab.sbatch("-n1 --mem=10 --array=1-3 --wrap 'sleep 3'");
    lab.pass(2);
    let rows = [
        (format!("-d afterok:{bad}"), "PENDING DependencyNeverSatisfied afterok:1_*(failed)"),
        (format!("-d afterany:{bad}"), "RUNNING None -"),
        (format!("-d afterok:{bad}_1:{bad}_3"), "RUNNING None -"),
        (
            format!("-d afterok:{bad}_[1-3]"),
            "PENDING DependencyNeverSatisfied afterok:1_1(unfulfilled),afterok:1_2(failed),afterok:1_3(unfulfilled)",
        ),
        (format!("-d afternotok:{bad}_2?afterok:{bad}_9"), "refused"),
        (format!("-d after:{bad}_2"), "RUNNING None -"),
    ];
    let jobs: Vec<_> =
        rows.iter().map(|(args, _)| lab.try_sbatch(&format!("{args} -n1 --mem=10")).ok()).collect();
    lab.scancel(JobId(3));
    lab.pass(9);
    for (job, (args, expected)) in jobs.iter().zip(&rows) {
        let found = match job.and_then(|job| lab.ctld.job(job)) {
            Some(job) => {
                let dependency = job.dependency().unwrap_or_else(|| "-".into());
                format!("{} {} {dependency}", job.squeue_state(), job.reason)
            }
            None => "refused".into(),
        };
        assert_eq!(found, *expected, "{args}");
    }
}

#[test]
fn corresponding_tasks_wait_for_each_other() {
    let mut lab = Lab::new(CONF);
    lab.sbatch("-n1 --mem=10 --array=1-3 --wrap 'sleep 5'");
    lab.pass(2);
    let second = lab.sbatch("-n1 --mem=10 --array=1-3 -d aftercorr:1");
    lab.pass(2);
    assert_eq!(lab.ctld.job(second).unwrap().dependency().unwrap(), "aftercorr:1_*(unfulfilled)");
    // The first array's second task ends badly.
    lab.ctld.cancel(lab.now, target("1_2"), &root()).unwrap();
    lab.pass(9);
    insta::assert_snapshot!(squeue(&lab), @"
    1_3 1 COMPLETED None
    1_1 2 COMPLETED None
    1_2 3 CANCELLED None
    4_3 4 RUNNING None
    4_1 5 RUNNING None
    4_2 6 PENDING DependencyNeverSatisfied
    ");
}

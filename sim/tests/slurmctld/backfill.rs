//! Backfill, as in experiment c3: A runs, B is blocked, C fits the hole, D and E don't.

use drawbridge_sim::{Epoch, JobId, Span, Time};

use crate::lab::Lab;

fn four(parameters: &str) -> Lab {
    Lab::new(&format!(
        "SchedulerParameters={parameters}\n\
         NodeName=n[001-004] Sockets=2 CoresPerSocket=8 RealMemory=64000\n\
         PartitionName=main Nodes=ALL Default=YES\n\
         PartitionName=hi Nodes=ALL PriorityTier=10\n"
    ))
}

/// `B PENDING Resources 00:10:02`: name, state, reason, start (real or expected) by the clock.
fn row(lab: &Lab, job: JobId) -> String {
    let job = lab.ctld.job(job).unwrap();
    let start = job.start_time.or(job.expected_start);
    let clock = |time: Time| Epoch::DEFAULT.rfc3339(time)[11..19].to_string();
    let start = start.map_or("N/A".into(), clock);
    format!("{} {} {} {start}", job.submission.name, job.squeue_state(), job.reason)
}

fn table(lab: &Lab, jobs: &[JobId]) -> String {
    jobs.iter().map(|job| row(lab, *job)).collect::<Vec<_>>().join("\n")
}

fn c3(lab: &mut Lab) -> Vec<JobId> {
    let mut jobs = vec![lab.sbatch("-J A -N3 --exclusive -t 10")];
    lab.pass(2);
    jobs.push(lab.sbatch("-J B -N4 --exclusive -t 10"));
    jobs.push(lab.sbatch("-J D -N1 --exclusive -t 20"));
    jobs.push(lab.sbatch("-J C -N1 --exclusive -t 5"));
    jobs.push(lab.sbatch("-J E -N1 --exclusive"));
    jobs
}

#[test]
fn a_short_job_fills_the_hole_and_the_others_are_planned_behind_the_blocked_one() {
    let mut lab = four("bf_resolution=60");
    let jobs = c3(&mut lab);
    lab.at_secs(31);
    insta::assert_snapshot!(table(&lab, &jobs), @"
    A RUNNING None 00:00:03
    B PENDING Resources 00:10:03
    D PENDING Priority 00:21:00
    C RUNNING None 00:00:30
    E PENDING Priority 00:21:00
    ");
}

#[test]
fn with_bf_interval_1_the_hole_is_filled_within_a_second_or_two() {
    let mut lab = four("bf_interval=1");
    let jobs = c3(&mut lab);
    lab.pass(4);
    insta::assert_snapshot!(table(&lab, &jobs), @"
    A RUNNING None 00:00:01
    B PENDING Resources 00:10:01
    D PENDING Priority 00:21:00
    C RUNNING None 00:00:02
    E PENDING Priority 00:21:00
    ");
}

#[test]
fn plans_are_rounded_up_to_bf_resolution() {
    let mut lab = four("bf_interval=1,bf_resolution=600");
    let mut jobs = vec![lab.sbatch("-J A -N3 --exclusive -t 10")];
    lab.pass(2);
    jobs.push(lab.sbatch("-J B -N4 --exclusive -t 10"));
    jobs.push(lab.sbatch("-J C11 -N1 --exclusive -t 11"));
    jobs.push(lab.sbatch("-J C25 -N1 --exclusive -t 25"));
    lab.pass(5);
    insta::assert_snapshot!(table(&lab, &jobs), @"
    A RUNNING None 00:00:01
    B PENDING Resources 00:10:01
    C11 PENDING Priority 00:30:00
    C25 PENDING Priority 00:30:00
    ");
}

#[test]
fn a_plan_beyond_bf_window_reserves_nothing() {
    let mut lab = four("bf_interval=1,bf_window=5");
    let mut jobs = vec![lab.sbatch("-J A -N3 --exclusive -t 10")];
    lab.pass(2);
    jobs.push(lab.sbatch("-J B -N4 --exclusive -t 10"));
    jobs.push(lab.sbatch("-J C20 -N1 --exclusive -t 20"));
    lab.pass(6);
    insta::assert_snapshot!(table(&lab, &jobs), @"
    A RUNNING None 00:00:01
    B PENDING Resources 00:20:02
    C20 RUNNING None 00:00:02
    ");
}

#[test]
fn a_job_without_a_limit_is_taken_to_run_for_a_year() {
    let mut lab = four("bf_interval=1");
    lab.sbatch("-J A -N3 --exclusive");
    lab.pass(2);
    let b = lab.sbatch("-J B -N4 --exclusive");
    lab.pass(4);
    let start = lab.ctld.job(b).unwrap().expected_start.unwrap();
    assert_eq!(Epoch::DEFAULT.rfc3339(start), "2027-01-01T00:00:01Z");
}

#[test]
fn partly_free_nodes_are_filled_the_same_way() {
    let mut lab = four("bf_interval=1");
    let mut jobs = vec![];
    for n in 1..=4 {
        jobs.push(lab.sbatch(&format!("-J A{n} -w n00{n} -n1 -c12 -t 10 --mem=10")));
    }
    lab.pass(4);
    jobs.push(lab.sbatch("-J B -N4 -n4 -c16 --mem=10 -t 5"));
    jobs.push(lab.sbatch("-J D -n1 -c4 --mem=10 -t 20"));
    jobs.push(lab.sbatch("-J C -n1 -c4 --mem=10 -t 5"));
    lab.pass(5);
    insta::assert_snapshot!(table(&lab, &jobs[4..]), @"
    B PENDING Resources 00:10:01
    D PENDING Priority 00:16:00
    C RUNNING None 00:00:05
    ");
}

#[test]
fn the_blocked_job_starts_at_the_tick_after_an_early_end() {
    let mut lab = four("bf_interval=1");
    let a = lab.sbatch("-J A -N3 --exclusive -t 10 --wrap 'sleep 8'");
    lab.pass(2);
    let b = lab.sbatch("-J B -N4 --exclusive -t 10");
    lab.pass(3);
    assert_eq!(row(&lab, b), "B PENDING Resources 00:10:01");
    lab.pass(10);
    assert_eq!(row(&lab, a), "A COMPLETED None 00:00:01");
    assert_eq!(row(&lab, b), "B RUNNING None 00:00:10");
}

#[test]
fn the_higher_tiers_blocked_job_is_planned_first() {
    let mut lab = four("bf_interval=1");
    lab.sbatch("-J A -N3 --exclusive -t 10");
    lab.pass(2);
    let jobs = [
        lab.sbatch("-J lowC -N1 --exclusive -t 5"),
        lab.sbatch("-J hiB -p hi -N4 --exclusive -t 10"),
        lab.sbatch("-J mainD -N1 --exclusive -t 30"),
    ];
    lab.pass(6);
    insta::assert_snapshot!(table(&lab, &jobs), @"
    lowC RUNNING None 00:00:02
    hiB PENDING Resources 00:10:01
    mainD PENDING Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions 00:21:00
    ");
}

#[test]
fn sched_builtin_passes_nobody() {
    let conf = "SchedulerType=sched/builtin\nNodeName=n[1-4] CPUs=16 RealMemory=64000\nPartitionName=main Nodes=ALL Default=YES\n";
    let mut lab = Lab::new(conf);
    let jobs = c3(&mut lab);
    lab.pass(120);
    insta::assert_snapshot!(table(&lab, &jobs), @"
    A RUNNING None 00:00:03
    B PENDING Resources N/A
    D PENDING Priority N/A
    C PENDING Priority N/A
    E PENDING Priority N/A
    ");
}

#[test]
fn a_job_with_a_least_time_starts_with_just_that() {
    let conf = "SchedulerParameters=bf_interval=1\nNodeName=n[001-004] CPUs=16 RealMemory=64000\n\
                PartitionName=main Nodes=ALL Default=YES\nPartitionName=short Nodes=ALL MaxTime=8\n";
    let mut lab = Lab::new(conf);
    lab.sbatch("-J A -N2 --exclusive -t 10");
    lab.pass(4);
    lab.sbatch("-J B -N4 --exclusive -t 10");
    let jobs = [
        lab.sbatch("-J C -N1 --exclusive -t 60 --time-min=5"),
        lab.sbatch("-J D -p short -N1 --exclusive -t 60 --time-min=6"),
    ];
    lab.pass(4);
    let limits = jobs.map(|job| lab.ctld.job(job).unwrap().time_limit.unwrap());
    assert_eq!(jobs.map(|job| lab.state_of(job)), ["RUNNING None"; 2]);
    assert_eq!(limits, [Span::mins(5), Span::mins(6)]);
}

#[test]
fn limits_on_what_a_cycle_looks_at_are_kept() {
    // (parameter, which of a1 a2 b1 b2 start): users a and b, two jobs each, all fit the hole.
    let rows = [
        ("bf_max_job_test=100", "a1 a2 b1 b2"),
        ("bf_max_job_start=1", "a1"),
        ("bf_max_job_user=1", "a1 b1"),
        ("bf_max_job_user_part=1", "a1 b1"),
        ("bf_max_job_part=3", "a1 a2"),
        ("bf_max_job_test=3", "a1 a2"),
    ];
    for (parameter, starts) in rows {
        let mut lab = four(&format!("bf_interval=100,{parameter}"));
        lab.sbatch("-J A -N3 --exclusive -t 10");
        lab.pass(4);
        lab.sbatch("-J B --uid=x -N4 --exclusive -t 10");
        for name in ["a1", "a2", "b1", "b2"] {
            lab.sbatch(&format!("-J {name} --uid={} -n1 --mem=10 -t 5", &name[..1]));
        }
        lab.at_secs(101);
        let ran = lab.ctld.jobs().filter(|job| job.start_time.is_some()).skip(1);
        let ran: Vec<_> = ran.map(|job| job.submission.name.as_str()).collect();
        assert_eq!(ran.join(" "), starts, "{parameter}");
    }
}

//! When jobs start: triggers, ticks and limits of the main scheduler.

use drawbridge_sim::{Fact, Span, Time};

use crate::lab::Lab;

const FOUR: &str = "\
NodeName=n[001-004] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:2
GresTypes=gpu
PartitionName=main Nodes=ALL Default=YES
PartitionName=other Nodes=ALL
PartitionName=p3 Nodes=n004
";

fn four(line: &str) -> Lab {
    Lab::new(&format!("{line}\n{FOUR}"))
}

fn start_ms(lab: &Lab, job: drawbridge_sim::JobId) -> Option<u64> {
    lab.ctld.job(job).unwrap().start_time.map(Time::as_ms)
}

#[test]
fn a_lone_job_starts_at_the_next_tick_and_the_next_one_waits_for_the_delay() {
    let mut lab = four("");
    lab.until(Time::from_ms(10_200));
    let first = lab.sbatch("-n1 --mem=10");
    lab.until(Time::from_ms(11_500));
    let second = lab.sbatch("-n1 --mem=10");
    lab.pass(10);
    assert_eq!(start_ms(&lab, first), Some(11_000));
    assert_eq!(start_ms(&lab, second), Some(14_000));
}

#[test]
fn a_batch_job_never_starts_while_it_is_submitted() {
    let mut lab = four("SchedulerParameters=batch_sched_delay=0");
    lab.at_secs(20);
    let job = lab.sbatch("-n1 --mem=10");
    lab.ctld.wake(lab.now);
    assert_eq!(lab.state_of(job), "PENDING None");
    lab.pass(1);
    assert_eq!(start_ms(&lab, job), Some(21_000));
}

#[test]
fn the_end_of_a_job_starts_the_next_at_the_following_tick() {
    let mut lab = four("");
    let jobs: Vec<_> =
        (0..3).map(|_| lab.sbatch("-N4 --exclusive -t 10 --wrap 'sleep 5'")).collect();
    lab.pass(60);
    let starts: Vec<_> = jobs.iter().map(|job| start_ms(&lab, *job).unwrap()).collect();
    assert_eq!(starts[1] - starts[0], 6_000);
    assert_eq!(starts[2] - starts[1], 6_000);
}

#[test]
fn a_short_cycle_looks_at_one_job_more_than_default_queue_depth() {
    let mut lab = four("SchedulerParameters=default_queue_depth=2,bf_interval=1000");
    let jobs: Vec<_> = (0..5).map(|_| lab.sbatch("-n1 --mem=10")).collect();
    lab.pass(10);
    let started = jobs.iter().filter(|job| start_ms(&lab, **job).is_some()).count();
    assert_eq!(started, 3);
    lab.at_secs(60);
    assert_eq!(jobs.iter().filter_map(|job| start_ms(&lab, *job)).max(), Some(60_000));
}

#[test]
fn a_blocked_job_blocks_its_partition_and_withdraws_its_nodes() {
    let mut lab = four("SchedulerParameters=bf_interval=300");
    let a = lab.sbatch("-N3 --exclusive -t 10");
    lab.pass(4);
    let jobs = [
        lab.sbatch("-N4 --exclusive -t 10"),
        lab.sbatch("-n1 --mem=10 -t 1"),
        lab.sbatch("-p other -n1 --mem=10 -t 1"),
        lab.sbatch("-p p3 -n1 --mem=10 -t 1"),
    ];
    lab.pass(7);
    assert_eq!(lab.state_of(a), "RUNNING None");
    let withdrawn = "PENDING Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";
    let expected = ["PENDING Resources", "PENDING Priority", withdrawn, withdrawn];
    assert_eq!(jobs.map(|job| lab.state_of(job)), expected);
}

#[test]
fn too_few_nodes_in_service_block_the_partition_and_its_nodes() {
    let mut lab = four("SchedulerParameters=bf_interval=300");
    lab.drain("n003");
    lab.run("-w n001 -N1 --exclusive -t 60");
    lab.run("-w n002 -N1 --exclusive -t 60");
    lab.pass(3);
    let jobs = [
        lab.sbatch("-N4 --exclusive -t 60"),
        lab.sbatch("-N2 --exclusive -t 60"),
        lab.sbatch("-n1 --mem=10 -t 60"),
        lab.sbatch("-p other -n1 --mem=10 -t 60"),
    ];
    lab.pass(5);
    let few = "PENDING Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";
    let expected = [few, "PENDING Priority", "PENDING Priority", few];
    assert_eq!(jobs.map(|job| lab.state_of(job)), expected);
}

#[test]
fn nodes_out_of_service_make_a_job_wait_alone_unless_others_hold_whole_nodes() {
    // (what runs on n001, why 40 tasks wait, what becomes of a small job behind them)
    let down = "PENDING ReqNodeNotAvail, UnavailableNodes:n004";
    let rows = [
        (None, down, "RUNNING None"),
        (Some("--exclusive"), "PENDING Resources", "PENDING Priority"),
        (Some("-n1 --mem=10"), down, "RUNNING None"),
    ];
    for (runs, waits, behind) in rows {
        let mut lab = four("SchedulerParameters=bf_interval=300");
        lab.drain("n003");
        lab.down("n004");
        if let Some(runs) = runs {
            lab.run(&format!("-w n001 -N1 -t 60 {runs}"));
        }
        lab.pass(4);
        let jobs = [lab.sbatch("-n40 --mem=10 -t 60"), lab.sbatch("-n1 --mem=10 -t 60")];
        lab.pass(5);
        assert_eq!(jobs.map(|job| lab.state_of(job)), [waits, behind], "{runs:?}");
    }
}

#[test]
fn a_killed_job_makes_room_at_once_and_one_that_ends_by_itself_at_the_next_tick() {
    let mut lab = four("");
    let jobs = [
        lab.sbatch("-N4 --exclusive -t 60 --wrap 'sleep 4'"),
        lab.sbatch("-N4 --exclusive -t 60"),
        lab.sbatch("-N4 --exclusive -t 60"),
    ];
    assert_eq!(jobs.map(|job| lab.state_of(job))[1..], ["PENDING Priority"; 2]);
    lab.until(Time::from_ms(14_400));
    assert_eq!(start_ms(&lab, jobs[1]), Some(8_000));
    lab.scancel(jobs[1]);
    lab.pass(1);
    assert_eq!(start_ms(&lab, jobs[2]), Some(14_500));
}

#[test]
fn partition_job_depth_counts_what_came_up_in_each_partition() {
    let mut lab = four("SchedulerParameters=partition_job_depth=2,bf_interval=1000");
    let jobs: Vec<_> = (0..4).map(|_| lab.sbatch("-n1 --mem=10")).collect();
    let other = lab.sbatch("-p other -n1 --mem=10");
    lab.pass(5);
    let states: Vec<_> = jobs.iter().map(|job| lab.state_of(*job)).collect();
    assert_eq!(states, ["RUNNING None", "RUNNING None", "PENDING Priority", "PENDING Priority"]);
    assert_eq!(lab.state_of(other), "RUNNING None");
}

#[test]
fn young_jobs_and_those_of_low_priority_block_nobody_where_that_is_set() {
    let rows =
        [("bf_min_age_reserve=100", "PENDING Priority"), ("bf_min_prio_reserve=2", "RUNNING None")];
    for (parameter, later) in rows {
        let mut lab = four(&format!("SchedulerParameters={parameter},bf_interval=1000"));
        lab.run("-N3 --exclusive -t 600");
        lab.pass(3);
        let wide = lab.sbatch("-N4 --exclusive -t 10");
        let small = lab.sbatch("-n1 -c16 --mem=10 -t 10 --wrap 'sleep 9'");
        lab.pass(5);
        assert_eq!(lab.state_of(wide), "PENDING Resources");
        assert_eq!(lab.state_of(small), "RUNNING None", "{parameter}");
        lab.at_secs(119);
        let late = lab.sbatch("-n1 -c16 --mem=10 -t 10");
        lab.pass(9);
        assert_eq!(lab.state_of(late), later, "{parameter}");
    }
}

#[test]
fn a_blocked_job_that_insists_on_nodes_blocks_only_these() {
    let mut lab = four("SchedulerParameters=bf_interval=300");
    lab.run("-w n001,n002,n003 -N3 --exclusive -t 10");
    lab.pass(3);
    let blocked = lab.sbatch("-w n001 -n1 -c16 --mem=10 -t 10");
    let free = lab.sbatch("-n1 --mem=10 -t 1");
    lab.pass(7);
    assert_eq!(lab.state_of(blocked), "PENDING Resources");
    assert_eq!(lab.nodes_of(free), "n004 1");
}

#[test]
fn a_job_that_only_lacks_a_gpu_blocks_all_the_same() {
    let mut lab = four("SchedulerParameters=bf_interval=300,batch_sched_delay=0");
    for _ in 0..4 {
        lab.run("-n1 --gres=gpu:2 --mem=10 -t 10");
    }
    let blocked = lab.run("-n1 --gres=gpu:1 --mem=10 -t 10");
    let small = lab.run("-n1 --mem=10 -t 1");
    assert_eq!(lab.state_of(blocked), "PENDING Resources");
    assert_eq!(lab.state_of(small), "PENDING Priority");
}

#[test]
fn equal_priorities_start_in_the_order_of_their_numbers() {
    let mut lab = four("");
    let all = lab.run("-N4 --exclusive -t 10");
    lab.pass(4);
    let jobs: Vec<_> = (0..4).map(|_| lab.sbatch("-N2 --exclusive -t 10")).collect();
    lab.pass(4);
    lab.scancel(all);
    lab.pass(5);
    let nodes: Vec<_> = jobs.iter().map(|job| lab.nodes_of(*job)).collect();
    assert_eq!(nodes, ["n[001-002] 16+16", "n[003-004] 16+16", "-", "-"]);
}

#[test]
fn higher_tiers_then_higher_priorities_come_first() {
    let conf = "\
PriorityType=priority/basic
NodeName=n1 CPUs=4 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES
PartitionName=hi Nodes=ALL PriorityTier=10
";
    let mut lab = Lab::new(conf);
    let first = lab.run("-N1 --exclusive");
    lab.pass(3);
    let jobs = [
        lab.sbatch("-J low --uid=root --priority=100 -N1 --exclusive"),
        lab.sbatch("-J plain -N1 --exclusive"),
        lab.sbatch("-J nice --nice=10 -N1 --exclusive"),
        lab.sbatch("-J ignored --priority=100 -N1 --exclusive"),
        lab.sbatch("-J hi -p hi -N1 --exclusive"),
    ];
    let priorities = jobs.map(|job| lab.ctld.job(job).unwrap().priority);
    assert_eq!(priorities, [100, 4_294_901_758, 4_294_901_747, 4_294_901_756, 4_294_901_755]);
    let mut order = vec![];
    let mut current = first;
    for _ in 0..jobs.len() {
        lab.scancel(current);
        lab.pass(10);
        current = jobs.into_iter().find(|job| lab.state_of(*job).starts_with("RUNNING")).unwrap();
        order.push(lab.ctld.job(current).unwrap().submission.name.clone());
    }
    assert_eq!(order, ["hi", "plain", "ignored", "nice", "low"]);
}

#[test]
fn a_job_of_two_partitions_starts_in_whichever_lets_it() {
    let conf = "\
SchedulerParameters=batch_sched_delay=0
NodeName=n[1-2] CPUs=4 RealMemory=1000
PartitionName=a Nodes=n1 Default=YES PriorityTier=5
PartitionName=b Nodes=n2
";
    let mut lab = Lab::new(conf);
    lab.run("-p a -N1 --exclusive");
    let job = lab.run("-p a,b -N1 --exclusive");
    assert_eq!(lab.nodes_of(job), "n2 4");
    assert_eq!(lab.ctld.job(job).unwrap().partition.as_str(), "b");
}

#[test]
fn nothing_happens_while_nothing_can_change() {
    let mut lab = four("");
    let running = lab.run("-N4 --exclusive");
    lab.run("-N4 --exclusive");
    lab.pass(60);
    assert_eq!(lab.ctld.next_wake(), None);
    assert_eq!(lab.state_of(running), "RUNNING None");
}

#[test]
fn a_clone_lives_its_own_life() {
    let mut lab = four("");
    for _ in 0..6 {
        lab.sbatch("-N2 --exclusive --wrap 'sleep 7'");
    }
    lab.pass(9);
    let mut twin = Lab { ctld: lab.ctld.clone(), now: lab.now };
    lab.pass(600);
    twin.pass(600);
    let facts: Vec<Fact> = lab.ctld.take_facts();
    assert_eq!(facts, twin.ctld.take_facts());
    assert_eq!(facts.iter().filter(|fact| matches!(fact, Fact::JobReleased { .. })).count(), 6);
    assert!(lab.now - Time::ZERO > Span::secs(600));
}

//! What is true after any operations whatsoever.

use std::collections::BTreeSet;

use drawbridge_sim::{Fact, JobId, JobState, NodeUpdate, Reason, Signal, Span, Time};
use proptest::prelude::*;

use crate::lab::{Lab, root};

const CONF: &str = "\
SchedulerParameters=batch_sched_delay=1,bf_interval=5
GresTypes=gpu
KillWait=3
MinJobAge=120
NodeName=n[1-3] Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:2 Feature=ib
NodeName=m[1-2] Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000 Weight=5
PartitionName=main Nodes=ALL Default=YES
PartitionName=hi Nodes=n[1-3] PriorityTier=3 MaxTime=30
";

#[derive(Clone, Debug)]
enum Op {
    Submit(String),
    Pass(u64),
    Cancel(u32),
    Signal(u32),
    Hold(u32),
    Release(u32),
    Drain(usize),
    Down(usize),
    Resume(usize),
}

fn submit() -> impl Strategy<Value = Op> {
    let part = |all: &'static [&'static str]| prop::sample::select(all);
    let parts = (
        part(&["", "-N1", "-N2", "-N1-3", "-n3", "-n7", "-N2 -n5", "-N2 --ntasks-per-node=2"]),
        part(&["", "-c2", "-c4", "--exclusive"]),
        part(&["", "--mem=100", "--mem=3000", "--mem-per-cpu=500"]),
        part(&["", "--gres=gpu:1", "--gpus=3", "--gpus-per-task=1"]),
        part(&[
            "",
            "-t 1",
            "-t 10",
            "-p hi",
            "-p hi,main",
            "-C ib",
            "-x n1",
            "-w n2",
            "--no-requeue",
            "-d singleton",
        ]),
        part(&[
            "sleep 5",
            "sleep 70",
            "sleep infinity",
            "exit 1",
            "trap \"\" TERM; sleep 200",
            "trap \"exit 0\" USR1; sleep infinity",
        ]),
    );
    parts.prop_map(|(size, cpus, mem, gpus, rest, script)| {
        Op::Submit(format!("{size} {cpus} {mem} {gpus} {rest} --wrap '{script}'"))
    })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => submit(),
        4 => (0..40_u64).prop_map(Op::Pass),
        1 => (1..30_u32).prop_map(Op::Cancel),
        1 => (1..30_u32).prop_map(Op::Signal),
        1 => (1..30_u32).prop_map(Op::Hold),
        1 => (1..30_u32).prop_map(Op::Release),
        1 => (0..5_usize).prop_map(Op::Drain),
        1 => (0..5_usize).prop_map(Op::Down),
        2 => (0..5_usize).prop_map(Op::Resume),
    ]
}

fn act(lab: &mut Lab, op: &Op) {
    let name = |at: usize| ["n1", "n2", "n3", "m1", "m2"][at].into();
    let reason = String::from("why not");
    let now = lab.now;
    // Refusals are answers too: only the state must stay sound.
    match op {
        Op::Submit(args) => drop(lab.try_sbatch(args)),
        Op::Pass(secs) => lab.pass(*secs),
        Op::Cancel(job) => drop(lab.ctld.cancel(now, JobId(*job), &root())),
        Op::Signal(job) => drop(lab.ctld.signal(now, JobId(*job), Signal::Usr1, &root())),
        Op::Hold(job) => drop(lab.ctld.hold(now, JobId(*job), &root())),
        Op::Release(job) => drop(lab.ctld.release(now, JobId(*job), &root())),
        Op::Drain(at) => drop(lab.ctld.update_node(now, &name(*at), NodeUpdate::Drain { reason })),
        Op::Down(at) => drop(lab.ctld.update_node(now, &name(*at), NodeUpdate::Down { reason })),
        Op::Resume(at) => drop(lab.ctld.update_node(now, &name(*at), NodeUpdate::Resume)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_ever_held_twice(ops in prop::collection::vec(op(), 1..60)) {
        let mut lab = Lab::new(CONF);
        for op in &ops {
            act(&mut lab, op);
            prop_assert_eq!(lab.ctld.check(), Ok(()), "after {:?}", op);
        }
    }

    #[test]
    fn every_start_is_followed_by_exactly_one_release_before_the_next(ops in prop::collection::vec(op(), 1..60)) {
        let mut lab = Lab::new(CONF);
        ops.iter().for_each(|op| act(&mut lab, op));
        let waiting: Vec<_> = lab.ctld.jobs().map(|job| job.id).collect();
        waiting.into_iter().for_each(|job| act(&mut lab, &Op::Cancel(job.0)));
        lab.pass(10);
        let mut holders = BTreeSet::new();
        for fact in lab.ctld.take_facts() {
            if let Fact::JobStarted { job, .. } = fact {
                prop_assert!(holders.insert(job), "{job} started twice");
            } else if let Fact::JobReleased { job } = fact {
                prop_assert!(holders.remove(&job), "{job} held nothing");
            } else if let Fact::JobRequeued { job, .. } = fact {
                prop_assert!(!holders.contains(&job), "{job} still holds");
            }
        }
        prop_assert!(holders.is_empty(), "never released: {holders:?}");
    }

    #[test]
    fn the_same_operations_give_the_same_facts(ops in prop::collection::vec(op(), 1..40)) {
        let facts = || {
            let mut lab = Lab::new(CONF);
            ops.iter().for_each(|op| act(&mut lab, op));
            lab.pass(100);
            lab.ctld.take_facts()
        };
        prop_assert_eq!(facts(), facts());
    }

    #[test]
    fn hidden_plans_change_nothing_but_plans(
        ops in prop::collection::vec(op(), 1..80),
        arrays in prop::sample::select(&["--array=0-3 -N2 -t 1", "--array=0-9%3 -c3 -t 2", "-t 1"][..]),
        more in prop::sample::select(&["", ",bf_max_job_test=4", ",bf_min_age_reserve=20", ",bf_running_job_reserve"][..]),
    ) {
        let conf = CONF.replace("bf_interval=5", &format!("bf_interval=5{more}"));
        let (mut shown, mut hidden) = (Lab::new(&conf), Lab::new(&conf));
        hidden.ctld.hide_plans();
        let no_plans = |lab: &mut Lab| {
            let facts = lab.ctld.take_facts().into_iter();
            // A node's state says whether it is planned.
            facts.filter(|fact| !matches!(fact, Fact::JobPlanned { .. } | Fact::NodeChanged { .. })).collect::<Vec<_>>()
        };
        let array = [Op::Submit(format!("{arrays} --wrap 'sleep 40'"))];
        for op in array.iter().chain(&ops).chain(&[Op::Pass(300)]) {
            for lab in [&mut shown, &mut hidden] {
                act(lab, op);
            }
            prop_assert_eq!(no_plans(&mut shown), no_plans(&mut hidden), "after {:?}", op);
            prop_assert_eq!(shown.ctld.next_wake(), hidden.ctld.next_wake(), "after {:?}", op);
        }
        prop_assert_eq!(shown.ctld.stats(), hidden.ctld.stats());
    }

    #[test]
    fn with_every_node_in_service_every_job_that_could_run_has_run(ops in prop::collection::vec(submit(), 1..25)) {
        let mut lab = Lab::new(&CONF.replace("MinJobAge=120", "MinJobAge=0"));
        ops.iter().for_each(|op| act(&mut lab, op));
        for _ in 0..200 {
            lab.pass(30);
            let endless: Vec<_> = lab.ctld.jobs().filter(|job| job.state == JobState::Running).map(|job| job.id).collect();
            for job in endless {
                lab.ctld.cancel(lab.now, job, &root()).unwrap();
            }
        }
        lab.pass(10);
        for job in lab.ctld.jobs() {
            prop_assert!(job.state.is_end(), "job {} {} {} asks {:?}", job.id, job.state, job.reason, job.submission);
            let refused = job.reason == Reason::BadConstraints;
            prop_assert!(refused || job.start_time.is_some());
        }
        prop_assert!(Span::secs(1) < lab.now - Time::ZERO);
    }
}

//! Nodes without a slurmd and jobs without a script, as slurmctld 26.05.5 was seen to treat them.

use drawbridge_sim::{JobId, NodeUpdate, Release, Requeue, Signal};

use crate::lab::{Lab, root};

/// Two ordinary nodes, two external ones, and a partition of what is outside.
const CONF: &str = "\
SchedulerParameters=batch_sched_delay=0,bf_interval=1
DefMemPerCPU=100
MaxNodeCount=8
ReturnToService=2
NodeName=n[1-2] CPUs=4 RealMemory=4000
NodeName=e[1-2] CPUs=4 RealMemory=4000 State=EXTERNAL Feature=outside
NodeSet=outside Feature=outside
PartitionName=main Nodes=ALL Default=YES
PartitionName=outside Nodes=outside
";

fn lab() -> Lab {
    Lab::of(Release::V26_05, CONF)
}

fn exit_of(lab: &Lab, job: JobId) -> String {
    format!("{} {}", lab.state_of(job), lab.ctld.job(job).unwrap().exit)
}

#[test]
fn only_external_jobs_come_to_external_nodes_and_they_come_to_others_too() {
    let mut lab = lab();
    let inside = lab.run("-n3");
    let outside = lab.run("--external -n3 -p outside");
    let anywhere = lab.run("--external -w n2 -n1");
    let nodes = [inside, outside, anywhere].map(|job| lab.nodes_of(job));
    assert_eq!(nodes, ["n1 3", "e1 3", "n2 1"]);
    let never = Err("2014 Requested node configuration is not available".to_owned());
    for ordinary in ["-p outside", "-w e1", "-N3"] {
        assert_eq!(lab.try_sbatch(ordinary), never, "{ordinary}");
    }
}

#[test]
fn an_external_job_ends_only_by_force_and_its_nodes_are_free_at_once() {
    let mut lab = lab();
    let (cancelled, late) = (lab.run("--external -n4 -p outside"), lab.run("--external -n2 -t1"));
    lab.pass(3600);
    assert_eq!(exit_of(&lab, cancelled), "RUNNING None 0:0");
    assert_eq!(lab.state_of(late), "gone");
    lab.scancel(cancelled);
    assert_eq!(exit_of(&lab, cancelled), "CANCELLED None 0:0");
    assert_eq!(lab.sinfo(), "e1:idle e2:idle n1:idle n2:idle");
}

#[test]
fn a_message_to_an_external_node_makes_it_silent_until_slurmctld_starts_anew() {
    type Send = fn(&mut Lab, JobId);
    let rows: [(&str, Send); 3] = [
        ("--external -w e1", |lab, job| {
            lab.ctld.signal(lab.now, job, Signal::Usr1, &root()).unwrap();
        }),
        ("--external -w e1", |lab, job| lab.ctld.suspend_job(lab.now, job, &root()).unwrap()),
        ("--external -w e1 -t2 --signal=USR1@60", |lab, _| lab.pass(60)),
    ];
    for (args, send) in rows {
        let mut lab = lab();
        let job = lab.run(args);
        send(&mut lab, job);
        lab.pass(11);
        assert_eq!(lab.sinfo(), "e1:mix* e2:idle n1:idle n2:idle", "{args}");
        let waits = lab.run("--external -w e1 -n1");
        assert!(lab.state_of(waits).starts_with("PENDING"), "{args}");
        lab.ctld.restart(lab.now);
        lab.pass(10);
        assert_eq!(lab.state_of(waits), "RUNNING None", "{args}");
    }
}

#[test]
fn an_external_job_that_runs_into_its_limit_ends_with_exit_code_zero() {
    let mut lab = lab();
    let late = lab.run("--external -n2 -t1");
    lab.at_secs(100);
    assert_eq!(exit_of(&lab, late), "TIMEOUT TimeLimit 0:0");
}

#[test]
fn an_external_job_is_never_queued_again() {
    let mut lab = lab();
    let job = lab.run("--external -N2 -p outside --requeue");
    let held = lab.sbatch("--external -n1 --hold");
    for job in [job, held] {
        let refused = lab.ctld.requeue(lab.now, job, Requeue::Plain, &root()).unwrap_err();
        assert_eq!(refused.to_string(), "Only batch jobs are accepted or processed");
    }
    lab.down("e2");
    assert_eq!(exit_of(&lab, job), "NODE_FAIL NodeDown 0:1");
    assert_eq!(lab.sinfo(), "e1:idle e2:down n1:idle n2:idle");
}

#[test]
fn an_external_node_is_back_as_soon_as_it_is_resumed_and_never_by_itself() {
    let mut lab = lab();
    lab.down("e1");
    lab.pass(3600);
    assert_eq!(lab.sinfo(), "e1:down e2:idle n1:idle n2:idle");
    lab.node("e1", NodeUpdate::Resume);
    lab.drain("e2");
    assert_eq!(lab.sinfo(), "e1:idle e2:drain n1:idle n2:idle");
    lab.node("e2", NodeUpdate::Resume);
    assert_eq!(lab.sinfo(), "e1:idle e2:idle n1:idle n2:idle");
}

#[test]
fn external_nodes_come_and_go_and_forget_their_troubles_at_a_restart() {
    let mut lab = lab();
    let by = root();
    let words = "NodeName=x1 CPUs=2 RealMemory=500 State=External Feature=outside";
    lab.ctld.create_nodes(lab.now, words, &by).unwrap();
    let job = lab.run("--external -N3 -p outside");
    assert_eq!(lab.nodes_of(job), "e[1-2],x1 1+1+1");
    let busy = lab.ctld.delete_node(lab.now, &"x1".into(), &by).unwrap_err();
    assert_eq!(busy.number(), 2016);
    lab.scancel(job);
    lab.drain("e1");
    lab.ctld.restart(lab.now);
    assert_eq!(lab.sinfo(), "e1:idle e2:idle n1:unk n2:unk x1:idle");
    lab.ctld.delete_node(lab.now, &"x1".into(), &by).unwrap();
    lab.ctld.delete_node(lab.now, &"e2".into(), &by).unwrap();
    assert_eq!(lab.sinfo(), "e1:idle n1:unk n2:unk");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut lab = lab();
    let refused = |lab: &mut Lab, args: &str| lab.try_sbatch(args).unwrap_err();
    assert_eq!(refused(&mut lab, "--external -a0-1"), "2081 Invalid job array specification");
    let script = "--external --wrap 'sleep 1'";
    assert_eq!(refused(&mut lab, script), "sbatch: an external job has no script");
    let mut job = drawbridge_sim::parse_sbatch("--external").unwrap();
    job.script = "#!/bin/sh\n".into();
    assert_eq!(lab.ctld.submit(lab.now, job).unwrap_err().number(), 2189);
    let mut old = Lab::new("NodeName=n1\nPartitionName=p Nodes=n1 Default=YES\n");
    let refusal = refused(&mut old, "--external");
    assert!(refusal.ends_with("external jobs need Slurm 26.05"), "{refusal}");
}

//! Gangs by PodGroup.

use drawbridge_core::{Config, Surplus};
use serde_json::{Value, json};

use crate::town::{Fate, Town};

fn member() -> Value {
    json!({ "scheduling.x-k8s.io/pod-group": "g" })
}

fn gang(pods: u32) -> Town {
    let mut town = Town::new().start();
    town.group("g", 4);
    for rank in 0..pods {
        town.pod(&format!("w-{rank}"), 2, &member());
    }
    town
}

#[test]
fn a_gang_waits_for_its_minimum_and_all_are_bound_at_one_moment() {
    let mut town = gang(3);
    town.pass(5);
    town.pod("w-3", 2, &member());
    town.pass(2);
    town.slurm("job 7 runs on n1 and n2", |slurm| {
        slurm.start(7, &[("n1", 2), ("n2", 6)]);
    });
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < group g created
    00:00:00.000 < pod w-0 created
    00:00:00.000 < pod w-1 created
    00:00:00.000 < pod w-2 created
    00:00:01.000     > event WaitingForGroup: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:01.000     > condition on pods/w-0/status: PodScheduled=False: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:01.000     > event WaitingForGroup: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:01.000     > condition on pods/w-1/status: PodScheduled=False: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:01.000     > event WaitingForGroup: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:01.000     > condition on pods/w-2/status: PodScheduled=False: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:05.000 < pod w-3 created
    00:00:06.000     > submit g: 4 x 2 CPUs, PerCpu(512), not on []
    00:00:06.000     > MergePatch pods/w-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:06.000     > MergePatch pods/w-1 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:06.000     > MergePatch pods/w-2 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:06.000     > MergePatch pods/w-3 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:07.000 < job 7 runs on n1 and n2
    00:00:08.000     > MergePatch pods/w-0 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:00:08.000     > MergePatch pods/w-1 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:08.000     > MergePatch pods/w-2 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:08.000     > MergePatch pods/w-3 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:08.000     > bind pods/w-0/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    00:00:08.000     > bind pods/w-1/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:08.000     > bind pods/w-2/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:08.000     > bind pods/w-3/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    "#);
}

#[test]
fn a_pod_that_comes_while_its_gang_waits_makes_the_job_larger() {
    let mut town = gang(4);
    town.pass(12);
    town.dialogue();
    town.pod("w-4", 2, &member());
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:12.000 < pod w-4 created
    00:00:13.000     > change job 7 to g: 5 x 2 CPUs, PerCpu(512), not on []
    00:00:13.000     > MergePatch pods/w-4 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn a_latecomer_gets_a_job_of_its_own() {
    let mut town = gang(4);
    town.pass(3);
    town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 8)]));
    town.pass(3);
    town.dialogue();
    town.pod("w-4", 2, &member());
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:06.000 < pod w-4 created
    00:00:06.000     > submit k8s-pod-w-4: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:06.000     > MergePatch pods/w-4 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_gang_that_keeps_its_minimum_keeps_its_job() {
    let mut town = gang(5);
    town.pass(12);
    town.dialogue();
    town.delete("w-2");
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:12.000 < pod w-2 deleted
    00:00:12.000     > change job 7 to g: 4 x 2 CPUs, PerCpu(512), not on []
    00:00:12.000     > MergePatch pods/w-2 {"metadata":{"finalizers":[]}}
    "#);
}

#[test]
fn a_gang_whose_surplus_stands_apart_starts_with_its_minimum() {
    let mut config = Config { taint_nodes: false, ..Config::as_shipped() };
    config.gang.surplus = Surplus::Apart;
    let mut town = Town::with(config).start();
    town.group("g", 2);
    for rank in 0..3 {
        town.pod(&format!("w-{rank}"), 2, &member());
    }
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < group g created
    00:00:00.000 < pod w-0 created
    00:00:00.000 < pod w-1 created
    00:00:00.000 < pod w-2 created
    00:00:01.000     > submit g: 2 x 2 CPUs, PerCpu(512), not on []
    00:00:01.000     > submit k8s-pod-w-2: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:01.000     > MergePatch pods/w-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:01.000     > MergePatch pods/w-1 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:01.000     > MergePatch pods/w-2 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_pod_takes_the_place_of_one_that_failed_while_the_gang_runs() {
    let mut town = gang(4);
    town.pass(3);
    town.slurm("job 7 runs on n1 and n2", |slurm| {
        slurm.start(7, &[("n1", 4), ("n2", 4)]);
    });
    town.pass(3);
    town.dialogue();
    town.phase("w-1", "Failed");
    town.pod("w-9", 2, &member());
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:06.000 < pod w-1 is Failed
    00:00:06.000 < pod w-9 created
    00:00:06.000     > write on job 7 {"cluster":"drawbridge","cpus":2,"gang":{"bond":"podGroup","key":"a/g"},"pods":["a/w-0","a/w-9","a/w-2","a/w-3"],"request":"6d9e71f31c55d31a","version":1,"workload":"uid-g"}
    00:00:06.000     > MergePatch pods/w-9 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:06.000     > MergePatch pods/w-9 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:00:06.000     > bind pods/w-9/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    "#);
}

#[test]
fn a_change_that_slurm_refuses_is_told_once_and_the_job_stays() {
    let mut town = gang(4);
    town.pass(12);
    town.dialogue();
    town.slurm("job 7 can't be changed", |slurm| slurm.frozen = true);
    town.pod("w-4", 2, &member());
    town.pass(60);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:12.000 < job 7 can't be changed
    00:00:12.000 < pod w-4 created
    00:00:13.000     > change job 7 to g: 5 x 2 CPUs, PerCpu(512), not on []
    00:00:13.000     > event SlurmRefusedChange: Slurm job 7 stays as it was: Access/permission denied (2002)
    00:00:13.000     > event SlurmRefusedChange: Slurm job 7 stays as it was: Access/permission denied (2002)
    00:00:13.000     > event SlurmRefusedChange: Slurm job 7 stays as it was: Access/permission denied (2002)
    00:00:13.000     > event SlurmRefusedChange: Slurm job 7 stays as it was: Access/permission denied (2002)
    00:00:13.000     > event SlurmRefusedChange: Slurm job 7 stays as it was: Access/permission denied (2002)
    ");
}

#[test]
fn a_crash_between_a_change_and_its_reply_changes_nothing_twice() {
    let mut town = gang(4);
    town.pass(12);
    town.dialogue();
    town.fate("change job 7", Fate::CrashAfter);
    town.pod("w-4", 2, &member());
    town.pass(2);
    town.restart();
    town.pass(20);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:12.000 < pod w-4 created
    00:00:13.000     > change job 7 to g: 5 x 2 CPUs, PerCpu(512), not on []
    00:00:13.000 < crashed
    00:00:14.000     > MergePatch pods/w-4 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn pods_wait_for_a_group_that_does_not_exist_yet() {
    let mut town = Town::new().start();
    town.pod("w-0", 2, &member());
    town.pass(2);
    town.group("g", 1);
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod w-0 created
    00:00:01.000     > event WaitingForGroup: waiting for PodGroup a/g, which doesn't exist
    00:00:01.000     > condition on pods/w-0/status: PodScheduled=False: waiting for PodGroup a/g, which doesn't exist
    00:00:02.000 < group g created
    00:00:03.000     > submit g: 1 x 2 CPUs, PerCpu(512), not on []
    00:00:03.000     > MergePatch pods/w-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn a_gang_that_loses_a_pod_while_it_waits_gives_its_job_back() {
    let mut town = gang(4);
    town.pass(3);
    town.dialogue();
    town.delete("w-2");
    town.pass(5);
    town.pod("w-9", 2, &member());
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:03.000 < pod w-2 deleted
    00:00:03.000     > cancel job 7
    00:00:03.000     > MergePatch pods/w-2 {"metadata":{"finalizers":[]}}
    00:00:04.000     > event WaitingForGroup: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:04.000     > condition on pods/w-0/status: PodScheduled=False: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:04.000     > event WaitingForGroup: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:04.000     > condition on pods/w-1/status: PodScheduled=False: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:04.000     > event WaitingForGroup: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:04.000     > condition on pods/w-3/status: PodScheduled=False: waiting for pods of PodGroup a/g: 3 of 4 are here
    00:00:08.000 < pod w-9 created
    00:00:09.000     > submit g: 4 x 2 CPUs, PerCpu(512), not on []
    00:00:09.000     > MergePatch pods/w-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    00:00:09.000     > MergePatch pods/w-1 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    00:00:09.000     > MergePatch pods/w-3 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    00:00:09.000     > MergePatch pods/w-9 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_crash_in_the_middle_of_binding_is_finished_by_the_next_process() {
    let mut town = gang(4);
    town.pass(3);
    town.fate("bind pods/w-2", Fate::CrashBefore);
    town.slurm("job 7 runs on n1 and n2", |slurm| {
        slurm.start(7, &[("n1", 4), ("n2", 4)]);
    });
    town.pass(2);
    town.dialogue();
    town.restart();
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:05.000     > bind pods/w-2/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:05.000     > bind pods/w-3/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    "#);
}

#[test]
fn groups_of_the_same_name_in_two_namespaces_stay_apart() {
    let mut town = gang(4);
    let path = "/api/v1/namespaces/b/pods/w-4";
    town.kube.create(
        path,
        json!({
            "metadata": { "name": "w-4", "namespace": "b", "uid": "other", "labels": member() },
            "spec": { "containers": [{ "name": "c" }] },
        }),
    );
    town.pass(3);
    let dialogue = town.dialogue();
    assert!(dialogue.contains("submit g: 4 x 2 CPUs"), "{dialogue}");
    assert!(dialogue.contains("waiting for PodGroup b/g, which doesn't exist"), "{dialogue}");
}

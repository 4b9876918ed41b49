//! Gangs by PodGroup.

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
fn a_latecomer_gets_a_job_of_its_own() {
    let mut town = gang(4);
    town.pass(3);
    town.dialogue();
    town.pod("w-4", 2, &member());
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:03.000 < pod w-4 created
    00:00:03.000     > submit k8s-pod-w-4: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:03.000     > MergePatch pods/w-4 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
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

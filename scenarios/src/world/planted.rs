//! Each law catches a violation that is planted in a running world.
//!
//! A bridge that hangs (it is dead, but the laws think it is up) breaks every bound; what no bridge
//! would do is done in its name.

use drawbridge_core::{
    CallId, Effect, Limits, NodeTarget, SlurmRequest,
    names::BRIDGE_USER,
    slurm::{ApiVersion, Via},
};
use drawbridge_fakes::{Method, Request};
use drawbridge_sim::{Fact, JobId, SlurmNode, Submission, Time, UserName};
use serde_json::{Value, json};

use super::World;
use crate::format;

/// Two nodes of four CPUs, and whatever steps a test needs.
fn world(steps: &str) -> World {
    let text = format!(
        "why: Something is planted.
slurm:
  conf: |
    ClusterName=twin
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    NodeName=n[1-2] CPUs=4 RealMemory=8000
    PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
kubernetes:
  namespaces: [plain]
behaviour:
  - {{startup: 1s, runtime: 10m}}
{steps}"
    );
    let scenario = format::parse("planted.yaml", &text, &format::NoFiles);
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.render()));
    World::new(&scenario, scenario.seed)
}

/// One pod of ours, ten seconds in.
const POD: &str = "
steps:
  - at: 10s
    apply: &pod
      apiVersion: v1
      kind: Pod
      metadata: {name: p, namespace: slurm-bridge}
      spec:
        restartPolicy: Never
        containers: [{name: c, image: i, resources: {requests: {cpu: 2, memory: 1Gi}}}]
";

/// A native job on both nodes.
const FULL: &str = "
  - at: 0s
    sbatch: {flags: -N2 --exclusive -J native, runtime: 1h}
";

/// A gang of two.
const GANG: &str = "
  - at: 10s
    apply:
      - {apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: slurm-bridge}, spec: {minMember: 2}}
      - apiVersion: v1
        kind: Pod
        metadata: {name: g-0, namespace: slurm-bridge, labels: {scheduling.x-k8s.io/pod-group: g}}
        spec: &gang
          restartPolicy: Never
          containers: [{name: c, image: i, resources: {requests: {cpu: 2, memory: 1Gi}}}]
      - {apiVersion: v1, kind: Pod, metadata: {name: g-1, namespace: slurm-bridge, labels: {scheduling.x-k8s.io/pod-group: g}}, spec: *gang}
";

impl World {
    fn run_until(&mut self, at: Time) {
        while self.next_at().is_some_and(|next| next <= at) && self.step() {}
    }

    /// Runs until the story says this.
    fn run_until_told(&mut self, words: &str) {
        self.take_records();
        while self.step() {
            if self.take_records().iter().any(|record| record.text.contains(words)) {
                return;
            }
        }
        panic!("the story never says `{words}`");
    }

    fn run_to_the_end(&mut self) {
        while self.step() {}
    }

    /// The bridge does nothing more, and nobody notices.
    fn hang(&mut self) {
        self.bridges[0].die();
    }

    /// Does something in the bridge's name.
    fn forge(&mut self, method: Method, path: &str, body: Value) {
        let path = format!("/api/v1/namespaces/slurm-bridge/pods/{path}");
        let response = self.kube(&Request::new(BRIDGE_USER, method, path).with_body(body));
        assert!(response.status < 300, "{}", response.body);
        self.observe();
    }

    fn bind(&mut self, pod: &str, node: &str) {
        let body = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        self.forge(Method::Post, &format!("{pod}/binding"), body);
    }

    /// Submits a job that looks like this one.
    fn double(&mut self, job: JobId) -> JobId {
        let mark = self.slurm.ctld().job(job).unwrap().submission.admin_comment.clone();
        self.submit_marked(mark)
    }

    fn submit_marked(&mut self, mark: String) -> JobId {
        let job = Submission {
            admin_comment: mark,
            script: "#!/bin/sh\nsleep infinity\n".to_owned(),
            tasks: Some(1),
            ..Submission::new(UserName::from("slurm"))
        };
        let now = self.now;
        let job = self.slurm.with_ctld(now, |ctld| ctld.submit(now, job)).unwrap();
        self.observe();
        job
    }

    #[track_caller]
    fn assert_broken(&self, law: &str) {
        let is_broken = self.violations().iter().any(|it| it.starts_with(&format!("{law}: ")));
        assert!(is_broken, "{law} is not among {:?}", self.violations());
    }
}

fn secs(secs: u64) -> Time {
    Time::from_ms(secs * 1000)
}

#[test]
fn an_honest_world_breaks_nothing() {
    let mut world = world(&format!("{POD}{GANG}"));
    world.run_to_the_end();
    assert_eq!(world.violations(), Vec::<String>::new());
}

#[test]
fn i1_catches_a_pod_that_is_bound_without_a_job() {
    let mut world = world(POD);
    world.run_until(secs(10));
    world.bind("p", "n1");
    world.assert_broken("I1");
}

#[test]
fn i1_catches_a_pod_on_a_node_that_its_job_does_not_have() {
    let mut world = world(POD);
    world.run_until_told("labelled pod slurm-bridge/p");
    world.run_until_told("started job");
    world.bind("p", "n2");
    world.assert_broken("I1");
}

#[test]
fn i2_catches_a_member_that_is_bound_before_the_gang_has_room() {
    let mut world = world(&format!("steps:{FULL}{GANG}"));
    world.run_until_told("labelled pod slurm-bridge/g-1");
    world.bind("g-0", "n1");
    world.assert_broken("I2");
}

#[test]
fn i2b_catches_a_gang_of_which_one_stays_behind() {
    let mut world = world(&format!("steps:{FULL}{GANG}"));
    world.run_until_told("labelled pod slurm-bridge/g-1");
    world.hang();
    world.bind("g-0", "n1");
    world.run_until(secs(120));
    world.assert_broken("I2b");
}

#[test]
fn i3_catches_a_cpu_that_two_jobs_hold() {
    let mut world = world(&format!("steps:{FULL}"));
    world.run_until(secs(10));
    let allocation = world.slurm.ctld().job(JobId(1)).unwrap().allocation.clone().unwrap();
    let fact = Fact::JobStarted { job: JobId(99), allocation, backfilled: false };
    world.laws.slurm_fact(world.now, &fact, world.slurm.ctld());
    world.assert_broken("I3");
}

#[test]
fn i3_catches_pods_that_run_on_more_than_their_node_has() {
    let mut world = world("steps: []\n");
    world.run_until(secs(1));
    for name in ["a", "b"] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "plain" },
            "spec": { "nodeName": "n1", "containers": [
                { "name": "c", "image": "i", "resources": { "requests": { "cpu": "3" } } },
            ] },
        });
        world.apply(&pod);
        let path = format!("/api/v1/namespaces/plain/pods/{name}/status");
        let body = json!({ "status": { "phase": "Running" } });
        let response =
            world.kube(&Request::new("system:node:n1", Method::MergePatch, path).with_body(body));
        assert_eq!(response.status, 200, "{}", response.body);
    }
    world.observe();
    world.assert_broken("I3");
}

#[test]
fn i3_catches_an_index_that_has_drifted_from_the_truth() {
    let mut world = world(&format!("steps:{FULL}"));
    world.run_until(secs(10));
    world.laws.slurm_fact(world.now, &Fact::JobReleased { job: JobId(1) }, world.slurm.ctld());
    assert_eq!(world.violations(), Vec::<String>::new());
    world.laws.at_the_end(world.slurm.ctld(), world.cluster.api(), false);
    world.assert_broken("I3");
}

#[test]
fn i4_catches_two_jobs_of_one_workload_with_bound_pods() {
    let mut world = world(&format!("steps:{GANG}"));
    world.run_until_told("pod slurm-bridge/g-1 is Running");
    world.hang();
    let other = world.double(JobId(1));
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "g-2", "namespace": "slurm-bridge" },
        "spec": { "schedulerName": "slurm-bridge-scheduler", "containers": [{ "name": "c", "image": "i" }] },
    });
    world.bridges[0].start();
    world.apply(&pod);
    let label = json!({ "metadata": { "labels": {
        "scheduler.slinky.slurm.net/slurm-jobid": other.to_string(),
    } } });
    world.forge(Method::MergePatch, "g-2", label);
    world.hang();
    world.bind("g-2", "n1");
    world.assert_broken("I4");
}

#[test]
fn i4b_catches_a_surplus_job_that_stays() {
    let mut world = world(POD);
    world.run_until_told("is Running");
    world.hang();
    world.double(JobId(1));
    world.run_until(secs(120));
    world.assert_broken("I4b");
}

#[test]
fn i4b_catches_a_job_that_nobody_needs_any_more() {
    let mut world = world("steps: []\n");
    world.run_until(secs(1));
    world.hang();
    world.submit_marked(
        r#"{"pods":["slurm-bridge/gone"],"cluster":"drawbridge","workload":"w"}"#.to_owned(),
    );
    world.run_to_the_end();
    world.assert_broken("I4b");
}

#[test]
fn i5_catches_a_finalizer_that_stays() {
    let mut world = world(&format!("{POD}{FULL}"));
    world.run_until_told("labelled pod slurm-bridge/p");
    world.hang();
    let path = "/api/v1/namespaces/slurm-bridge/pods/p";
    assert_eq!(world.kube(&Request::new("admin", Method::Delete, path)).status, 200);
    world.observe();
    world.run_until(secs(120));
    world.assert_broken("I5");
}

#[test]
fn i6_catches_the_end_of_somebody_elses_job() {
    let mut world = world(&format!("steps:{FULL}"));
    world.run_until(secs(10));
    let request = SlurmRequest::Cancel { job: JobId(1), signal: None };
    let life = world.bridges[0].life;
    world.arrive(life, sent(request), None);
    world.assert_broken("I6");
}

fn sent(request: SlurmRequest) -> Effect {
    let via = Via { endpoint: 0, version: ApiVersion::V42 };
    let limits = Limits { send_by: Time::MAX, reply_by: Time::MAX };
    Effect::Slurm { call: CallId(0), via, limits, request }
}

#[test]
fn i6_catches_a_node_that_somebody_else_had_drained() {
    let mut world =
        world("steps:\n  - {at: 1s, slurmNode: {name: n1, state: drain, reason: bad DIMM}}\n");
    world.run_until(secs(10));
    let node = SlurmNode::from("n1");
    let request =
        SlurmRequest::UpdateNode { node, state: NodeTarget::Undrain, reason: String::new() };
    let life = world.bridges[0].life;
    world.arrive(life, sent(request), None);
    world.assert_broken("I6");
}

#[test]
fn i7_catches_a_pod_that_outlives_its_job() {
    let mut world = world(POD);
    world.run_until_told("is Running");
    world.hang();
    let (now, root) = (world.now, UserName::from("root"));
    world.slurm.with_ctld(now, |ctld| ctld.cancel(now, JobId(1), &root)).unwrap();
    world.observe();
    world.run_until(secs(300));
    world.assert_broken("I7");
}

#[test]
fn i8_catches_a_pod_for_which_nothing_is_done() {
    let mut world = world(POD);
    world.run_until_told("created pod slurm-bridge/p");
    world.hang();
    world.run_until(secs(120));
    world.assert_broken("I8");
}

#[test]
fn i9_catches_a_reason_that_is_not_on_the_pod() {
    let mut world = world(&format!("{POD}{FULL}"));
    world.run_until_told("labelled pod slurm-bridge/p");
    world.hang();
    world.run_until(secs(300));
    world.assert_broken("I9");
}

/// A pod of ours with a claim that nobody provides.
const CLAIMING: &str = "
steps:
  - at: 10s
    apply:
      - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: slurm-bridge}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
      - apiVersion: v1
        kind: Pod
        metadata: {name: p, namespace: slurm-bridge}
        spec:
          restartPolicy: Never
          containers: [{name: c, image: i, resources: {requests: {cpu: 2, memory: 1Gi}}}]
          volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]
";

#[test]
fn i10_catches_a_pod_that_is_bound_before_its_volume() {
    let mut world = world(CLAIMING);
    world.run_until(secs(30));
    world.hang();
    world.bind("p", "n1");
    world.assert_broken("I10");
}

/// A pod of ours that takes a port, and another that would.
const PORTS: &str = "
steps:
  - at: 10s
    apply:
      apiVersion: v1
      kind: Pod
      metadata: {name: p, namespace: slurm-bridge}
      spec: &served
        restartPolicy: Never
        containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 80}], resources: {requests: {cpu: 1, memory: 1Gi}}}]
  - at: 1m
    apply: {apiVersion: v1, kind: Pod, metadata: {name: q, namespace: slurm-bridge}, spec: *served}
";

#[test]
fn i10_catches_a_port_that_is_taken_twice() {
    let mut world = world(PORTS);
    world.run_until_told("created pod slurm-bridge/q");
    world.hang();
    let there = ["n1", "n2"]
        .into_iter()
        .find(|name| world.cluster.api().list("pods").any(|pod| pod["spec"]["nodeName"] == *name));
    world.bind("q", there.unwrap_or_default());
    world.forge(Method::MergePatch, "q/status", json!({ "status": { "phase": "Running" } }));
    world.assert_broken("I10");
}

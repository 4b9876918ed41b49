//! The stage on which the stories play: a cluster, its time, and a scribe.

use std::collections::BTreeMap;

use drawbridge_fakes::{
    Behaviour, Change, ChangeKind, Cluster, Method, NoWebhooks, Program, Request, Response,
    Runtime, Spread, Webhooks,
};
use drawbridge_sim::{Epoch, Seed, Span, Time};
use serde_json::{Value, json};

/// A cluster with its own time and a record of what changed.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) now: Time,
    pub(crate) hooks: Box<dyn Webhooks>,
    lines: Vec<String>,
    last: BTreeMap<String, String>,
}

impl Stage {
    pub(crate) fn new(behaviours: Vec<Behaviour>) -> Self {
        Self {
            cluster: Cluster::new(Epoch::DEFAULT, Seed(1), behaviours),
            now: Time::ZERO,
            hooks: Box::new(NoWebhooks),
            lines: vec![],
            last: BTreeMap::new(),
        }
    }

    /// A stage with so many nodes of so many CPUs: n1, n2, …
    pub(crate) fn with_nodes(n: usize, cpus: u64, behaviours: Vec<Behaviour>) -> Self {
        let mut stage = Self::new(behaviours);
        for n in 1..=n {
            stage.apply(node(&format!("n{n}"), cpus));
        }
        stage.advance(Span::ms(50));
        stage.story();
        stage
    }

    pub(crate) fn send(&mut self, method: Method, path: &str, body: Value) -> Response {
        let request = Request::new("alice", method, path).with_body(body);
        let response = self.cluster.handle(self.now, &request, &mut *self.hooks);
        self.listen();
        response
    }

    /// Creates an object in the namespace `default`.
    pub(crate) fn apply(&mut self, object: Value) -> Value {
        let response = self.send(Method::Post, &collection(&object), object);
        assert_eq!(response.status, 201, "{}", response.body);
        (*response.body).clone()
    }

    pub(crate) fn patch(&mut self, path: &str, body: Value) {
        let response = self.send(Method::MergePatch, path, body);
        assert_eq!(response.status, 200, "{}", response.body);
    }

    pub(crate) fn delete(&mut self, path: &str, options: Value) {
        let response = self.send(Method::Delete, path, options);
        assert_eq!(response.status, 200, "{}", response.body);
    }

    /// Lets everything happen up to `now + span`.
    pub(crate) fn advance(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(at) = self.cluster.next_wake().filter(|at| *at <= end) {
            assert!(self.now <= at, "time went backwards");
            self.now = at;
            self.cluster.wake(at, &mut *self.hooks);
            self.listen();
        }
        self.now = end;
    }

    /// What was written down since the last call.
    pub(crate) fn story(&mut self) -> String {
        std::mem::take(&mut self.lines).join("\n")
    }

    pub(crate) fn pod(&self, name: &str) -> Value {
        let pod = self.cluster.api().get("pods", "default", name);
        pod.map(|pod| Value::clone(pod)).unwrap_or_default()
    }

    pub(crate) fn list(&self, resource: &str) -> Vec<Value> {
        let all = self.cluster.api().list(resource);
        all.map(|object| Value::clone(object)).collect()
    }

    /// The events about an object, as `Reason: message (count)`.
    pub(crate) fn events(&self, about: &str) -> String {
        let mut lines: Vec<(u64, String)> = self
            .list("events")
            .iter()
            .filter(|event| event["involvedObject"]["name"] == about)
            .map(|event| {
                let part = |key: &str| event[key].as_str().unwrap().to_owned();
                let line = format!(
                    "{} {}: {} (x{})",
                    part("type"),
                    part("reason"),
                    part("message"),
                    event["count"]
                );
                (version(event), line)
            })
            .collect();
        lines.sort();
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        lines.join("\n")
    }

    fn listen(&mut self) {
        for change in self.cluster.api_mut().take_changes() {
            self.write_down(&change);
        }
    }

    fn write_down(&mut self, change: &Change) {
        let kind = match change.resource {
            "pods" => "pod",
            "jobs.batch" => "job",
            "jobsets.jobset.x-k8s.io" => "job set",
            "leaderworkersets.leaderworkerset.x-k8s.io" => "groups",
            "horizontalpodautoscalers.autoscaling" => "autoscaler",
            "replicasets.apps" => "set",
            "deployments.apps" => "deployment",
            "statefulsets.apps" => "stateful set",
            "daemonsets.apps" => "daemon set",
            "controllerrevisions.apps" => "revision",
            "persistentvolumeclaims" => "claim",
            "nodes" => "node",
            _ => return,
        };
        let id = format!("{kind} {}", change.name);
        let says = match change.kind {
            ChangeKind::Deleted => "gone".to_owned(),
            ChangeKind::Added | ChangeKind::Modified => describe(kind, &change.object),
        };
        if self.last.insert(id.clone(), says.clone()).as_ref() != Some(&says) {
            self.lines.push(format!("{}  {id}: {says}", self.now));
        }
    }
}

/// `/apis/apps/v1/namespaces/default/deployments`.
fn collection(object: &Value) -> String {
    let (version, kind) =
        (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let root = if version.contains('/') { "apis" } else { "api" };
    let end = if kind.ends_with('s') { "es" } else { "s" };
    let plural = kind.to_lowercase() + end;
    let wide = ["Node", "Namespace", "PriorityClass", "StorageClass", "PersistentVolume"];
    match wide.contains(&kind) || kind.ends_with("Configuration") {
        true => format!("/{root}/{version}/{plural}"),
        false => format!("/{root}/{version}/namespaces/default/{plural}"),
    }
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap();
    text.parse().unwrap()
}

fn describe(kind: &str, object: &Value) -> String {
    let status = &object["status"];
    let text = match kind {
        "pod" => describe_pod(object),
        "job" => format!(
            "active {} ready {} succeeded {} failed {}{}",
            number(&status["active"]),
            number(&status["ready"]),
            number(&status["succeeded"]),
            number(&status["failed"]),
            conditions(
                status,
                &["Suspended", "SuccessCriteriaMet", "Complete", "FailureTarget", "Failed"]
            ),
        ),
        "set" | "deployment" => format!(
            "wants {} has {} ready {}{}",
            object["spec"]["replicas"],
            number(&status["replicas"]),
            number(&status["readyReplicas"]),
            conditions(status, &["Available"]),
        ),
        "stateful set" => format!(
            "wants {} has {} ready {} current {} updated {}",
            object["spec"]["replicas"],
            number(&status["replicas"]),
            number(&status["readyReplicas"]),
            number(&status["currentReplicas"]),
            number(&status["updatedReplicas"]),
        ),
        "daemon set" => format!(
            "wants {} has {} ready {} updated {} astray {}",
            number(&status["desiredNumberScheduled"]),
            number(&status["currentNumberScheduled"]),
            number(&status["numberReady"]),
            number(&status["updatedNumberScheduled"]),
            number(&status["numberMisscheduled"]),
        ),
        "revision" => format!("number {}", object["revision"]),
        "job set" => format!(
            "restarts {}{}",
            number(&status["restarts"]),
            conditions(
                status,
                &["StartupPolicyInProgress", "Suspended", "Restarting", "Completed", "Failed"]
            ),
        ),
        "groups" => format!(
            "wants {} has {} ready {} updated {}{}",
            object["spec"]["replicas"],
            number(&status["replicas"]),
            number(&status["readyReplicas"]),
            number(&status["updatedReplicas"]),
            conditions(status, &["Available", "Progressing", "UpdateInProgress"]),
        ),
        "autoscaler" => format!(
            "has {} wants {}{}",
            number(&status["currentReplicas"]),
            number(&status["desiredReplicas"]),
            conditions(status, &["AbleToScale", "ScalingActive", "ScalingLimited"]),
        ),
        "claim" => describe_claim(object),
        "node" => match conditions(status, &["Ready"]).as_str() {
            "" => "not ready".into(),
            _ => "ready".into(),
        },
        other => panic!("{other}"),
    };
    let going = object["metadata"]["deletionTimestamp"].is_string();
    text + if going { ", going" } else { "" }
}

fn describe_claim(claim: &Value) -> String {
    let owners = claim["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owners: Vec<&str> = owners.filter_map(|it| it["kind"].as_str()).collect();
    let phase = claim["status"]["phase"].as_str().unwrap_or("new");
    match owners.is_empty() {
        true => phase.to_owned(),
        false => format!("{phase}, goes with its {}", owners.join(" and ")),
    }
}

fn describe_pod(pod: &Value) -> String {
    let status = &pod["status"];
    let mut text = status["phase"].as_str().unwrap().to_owned();
    if let Some(node) = pod["spec"]["nodeName"].as_str() {
        text += &format!(" on {node}");
    }
    let container = &status["containerStatuses"][0];
    if container["ready"] == true {
        text += " ready";
    }
    if let Some(reason) = container["state"]["waiting"]["reason"].as_str() {
        text += &format!(" {reason}");
    }
    if container["restartCount"].as_u64() > Some(0) {
        text += &format!(" restarts {}", container["restartCount"]);
    }
    let exit = &container["state"]["terminated"]["exitCode"];
    if !exit.is_null() {
        text += &format!(" exit {exit}");
    }
    if let Some(reason) = status["reason"].as_str() {
        text += &format!(" {reason}");
    }
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let shown = ["PodScheduled", "drawbridge.dev/Barrier"];
        let kind = condition["type"].as_str().unwrap();
        if shown.contains(&kind) && condition["status"] == "False" {
            text += &format!(" ({})", condition["message"].as_str().unwrap());
        }
    }
    text
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn conditions(status: &Value, kinds: &[&str]) -> String {
    let all = status["conditions"].as_array().into_iter().flatten();
    let held: Vec<&str> = all
        .filter(|it| it["status"] == "True")
        .filter_map(|it| it["type"].as_str())
        .filter(|kind| kinds.contains(kind))
        .collect();
    match held.join(" ").as_str() {
        "" => String::new(),
        held => format!(" {held}"),
    }
}

pub(crate) fn node(name: &str, cpus: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": {"cpu": cpus.to_string(), "memory": "64Gi"}},
    })
}

/// A pod's spec that asks for so many CPUs.
pub(crate) fn pod_spec(cpus: u64, restart: &str) -> Value {
    json!({
        "restartPolicy": restart,
        "containers": [{
            "name": "main",
            "image": "app",
            "resources": {"requests": {"cpu": cpus.to_string(), "memory": "1Gi"}},
        }],
    })
}

pub(crate) fn pod(name: &str, cpus: u64, restart: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": pod_spec(cpus, restart),
    })
}

pub(crate) fn job(name: &str, spec: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {
            "metadata": {"labels": {"app": name}},
            "spec": pod_spec(1, "Never"),
        }},
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

pub(crate) fn deployment(name: &str, replicas: u64) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": pod_spec(1, "Always"),
            },
        },
    })
}

pub(crate) fn stateful_set(name: &str, replicas: u64) -> Value {
    let mut set = deployment(name, replicas);
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!(name);
    set
}

pub(crate) fn daemon_set(name: &str) -> Value {
    let mut set = deployment(name, 1);
    set["kind"] = json!("DaemonSet");
    set["spec"].as_object_mut().unwrap().remove("replicas");
    set
}

/// Another template: pods made from it carry this version as an annotation.
pub(crate) fn template(version: &str) -> Value {
    json!({"spec": {"template": {"metadata": {"annotations": {"version": version}}}}})
}

/// Starts after a second, runs so long, exits so.
pub(crate) fn runs_for(secs: u64, exit_code: i32) -> Behaviour {
    Behaviour {
        program: Program {
            runtime: Runtime::For(Spread::Fixed(Span::secs(secs))),
            exit_code,
            ..Program::default()
        },
        ..Behaviour::default()
    }
}

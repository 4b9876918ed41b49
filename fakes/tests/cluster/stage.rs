//! The stage on which the stories play: a cluster, its time, and a scribe.

use std::collections::BTreeMap;

use drawbridge_fakes::{
    Behaviour, Change, ChangeKind, Cluster, Method, NoWebhooks, Request, Response, Runtime, Spread,
    Webhooks,
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
        let path = match object["kind"].as_str().unwrap() {
            "Node" => "/api/v1/nodes",
            "Pod" => "/api/v1/namespaces/default/pods",
            "Job" => "/apis/batch/v1/namespaces/default/jobs",
            "PriorityClass" => "/apis/scheduling.k8s.io/v1/priorityclasses",
            "MutatingWebhookConfiguration" => {
                "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
            }
            "Deployment" => "/apis/apps/v1/namespaces/default/deployments",
            other => panic!("no path for {other}"),
        };
        let response = self.send(Method::Post, path, object);
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
            "replicasets.apps" => "set",
            "deployments.apps" => "deployment",
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
        "node" => match conditions(status, &["Ready"]).as_str() {
            "" => "not ready".into(),
            _ => "ready".into(),
        },
        other => panic!("{other}"),
    };
    let going = object["metadata"]["deletionTimestamp"].is_string();
    text + if going { ", going" } else { "" }
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

/// Starts after a second, runs so long, exits so.
pub(crate) fn runs_for(secs: u64, exit_code: i32) -> Behaviour {
    Behaviour {
        runtime: Runtime::For(Spread::Fixed(Span::secs(secs))),
        exit_code,
        ..Behaviour::default()
    }
}

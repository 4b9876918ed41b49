//! Both sides and the bridge between them, on one clock.

use std::collections::VecDeque;

use drawbridge_core::{
    Bridge, Config, Effect, Input, Instance, KubeRequest, Lost, Method, SlurmFault, SlurmRequest,
    slurm::Submission,
};
use drawbridge_sim::{Epoch, Span, Time};
use serde_json::{Value, json};

use crate::{
    chaos::{Parcel, Transit},
    kube::{Kube, pod_path},
    slurm::Slurm,
};

/// What happens to the request that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The bridge dies before it is sent.
    CrashBefore,
    /// It takes effect, and the bridge dies.
    CrashAfter,
    /// It is lost.
    LoseRequest,
    /// It takes effect; the reply is lost.
    LoseReply,
}

impl Fate {
    pub(crate) const ALL: [Self; 4] =
        [Self::CrashBefore, Self::CrashAfter, Self::LoseRequest, Self::LoseReply];

    fn name(self) -> &'static str {
        match self {
            Self::CrashBefore => "the bridge dies before it is sent",
            Self::CrashAfter => "the bridge dies after it took effect",
            Self::LoseRequest => "it is lost",
            Self::LoseReply => "its reply is lost",
        }
    }
}

/// The bridge and its surroundings.
#[derive(Clone)]
pub(crate) struct Town {
    pub(crate) kube: Kube,
    pub(crate) slurm: Slurm,
    bridge: Option<Bridge>,
    config: Config,
    now: Time,
    wake: Option<Time>,
    inbox: VecDeque<Input>,
    fates: Vec<(String, Fate)>,
    nth: Vec<(usize, Fate)>,
    /// What is on its way, where requests and replies take their time.
    transit: Option<Transit>,
    life: u32,
    /// The partitions of the jobs that were submitted.
    pub(crate) partitions: Vec<Option<String>>,
    log: Vec<String>,
    sent: usize,
}

impl Town {
    /// A town with Slurm nodes n1 and n2 that Kubernetes knows by the same names.
    pub(crate) fn new() -> Self {
        Self::with(Config { taint_nodes: false, ..Config::as_shipped() })
    }

    pub(crate) fn with(config: Config) -> Self {
        let mut town = Self {
            kube: Kube::default(),
            slurm: Slurm::default(),
            bridge: None,
            config,
            now: Time::ZERO,
            wake: None,
            inbox: VecDeque::new(),
            fates: Vec::new(),
            nth: Vec::new(),
            transit: None,
            life: 0,
            partitions: Vec::new(),
            log: Vec::new(),
            sent: 0,
        };
        for name in ["n1", "n2"] {
            town.slurm.add_node(name);
            town.add_node(name, &json!({}));
        }
        town
    }

    pub(crate) fn add_node(&mut self, name: &str, labels: &Value) {
        let node = json!({ "metadata": { "name": name, "labels": labels }, "spec": {} });
        self.kube.create(&format!("/api/v1/nodes/{name}"), node);
    }

    /// Starts the bridge.
    pub(crate) fn start(mut self) -> Self {
        self.restart();
        self
    }

    /// Requests and replies take up to two seconds each from now on, and overtake each other.
    pub(crate) fn make_slow(&mut self, seed: u64) {
        self.transit = Some(Transit::new(seed));
    }

    pub(crate) fn restart(&mut self) {
        self.life += 1;
        self.kube.hang_up();
        self.inbox.clear();
        self.wake = None;
        self.bridge = Some(Bridge::new(self.config.clone(), Instance::alone(Epoch::DEFAULT)));
        self.inbox.push_back(Input::Started);
        self.drain();
    }

    pub(crate) fn crash(&mut self) {
        self.bridge = None;
        self.wake = None;
        self.life += 1;
        self.inbox.clear();
        self.kube.hang_up();
        self.say("< crashed");
    }

    pub(crate) fn restart_if_dead(&mut self) {
        if self.bridge.is_none() {
            self.restart();
        }
    }

    /// Decides what happens to the next request whose line contains this.
    pub(crate) fn fate(&mut self, line: &str, fate: Fate) {
        self.fates.push((line.into(), fate));
    }

    /// Decides what happens to the request of this number.
    pub(crate) fn fate_of_nth(&mut self, n: usize, fate: Fate) {
        self.nth.push((n, fate));
    }

    /// From now on no request meets a fate.
    pub(crate) fn forget_fates(&mut self) {
        self.fates.clear();
        self.nth.clear();
    }

    /// Requests so far.
    pub(crate) fn n_requests(&self) -> usize {
        self.sent
    }

    pub(crate) fn pod(&mut self, name: &str, cpu: u32, labels: &Value) {
        self.say(&format!("< pod {name} created"));
        let resources = json!({ "requests": { "cpu": cpu.to_string(), "memory": "1Gi" } });
        let pod = json!({
            "metadata": { "name": name, "namespace": "a", "labels": labels },
            "spec": { "containers": [{ "name": "c", "resources": resources }] },
            "status": { "phase": "Pending" },
        });
        self.kube.create(&pod_path(name), pod);
        self.drain();
    }

    pub(crate) fn group(&mut self, name: &str, min_member: u32) {
        self.say(&format!("< group {name} created"));
        let path = format!("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/a/podgroups/{name}");
        let group = json!({
            "metadata": { "name": name, "namespace": "a" },
            "spec": { "minMember": min_member },
        });
        self.kube.create(&path, group);
        self.drain();
    }

    pub(crate) fn phase(&mut self, pod: &str, phase: &str) {
        self.say(&format!("< pod {pod} is {phase}"));
        self.kube.change(&pod_path(pod), |pod| pod["status"]["phase"] = json!(phase));
        self.drain();
    }

    pub(crate) fn delete(&mut self, pod: &str) {
        self.say(&format!("< pod {pod} deleted"));
        self.kube.delete(&pod_path(pod));
        self.drain();
    }

    pub(crate) fn cordon(&mut self, node: &str, unschedulable: bool) {
        self.say(&format!("< node {node} unschedulable={unschedulable}"));
        self.kube.change(&format!("/api/v1/nodes/{node}"), |node| {
            node["spec"]["unschedulable"] = json!(unschedulable);
        });
        self.drain();
    }

    /// Changes a Kubernetes node.
    pub(crate) fn change_node(&mut self, node: &str, what: &str, change: impl FnOnce(&mut Value)) {
        self.say(&format!("< node {node} {what}"));
        self.kube.change(&format!("/api/v1/nodes/{node}"), change);
        self.drain();
    }

    pub(crate) fn delete_node(&mut self, node: &str) {
        self.say(&format!("< node {node} deleted"));
        self.kube.delete(&format!("/api/v1/nodes/{node}"));
        self.drain();
    }

    /// Changes Slurm; the bridge finds out by itself.
    pub(crate) fn slurm(&mut self, what: &str, change: impl FnOnce(&mut Slurm)) {
        self.say(&format!("< {what}"));
        change(&mut self.slurm);
    }

    /// Lets so many seconds pass.
    pub(crate) fn pass(&mut self, secs: u64) {
        self.drain();
        let end = self.now + Span::secs(secs);
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            if self.wake == Some(at) {
                self.wake = None;
                self.inbox.push_back(Input::Woke);
            } else {
                self.arrive();
            }
            self.drain();
        }
        self.now = end;
    }

    fn next_event(&self) -> Option<Time> {
        let arrival = self.transit.as_ref().and_then(Transit::next);
        [self.wake, arrival].into_iter().flatten().min()
    }

    /// The next request takes effect, or the next reply is heard, unless the bridge that asked is
    /// dead.
    fn arrive(&mut self) {
        let Some((life, parcel)) = self.transit.as_mut().and_then(Transit::take) else {
            return;
        };
        match parcel {
            Parcel::Request(effect, fate) => {
                let reply = self.answer(effect, fate);
                if let (Some(reply), Some(transit)) = (reply, &mut self.transit) {
                    transit.send(self.now, life, Parcel::Reply(reply));
                }
            }
            Parcel::Reply(reply) if life == self.life => self.inbox.push_back(reply),
            Parcel::Reply(_) => {}
        }
    }

    fn drain(&mut self) {
        loop {
            let events = std::mem::take(&mut self.kube.pending);
            let news = events.into_iter().map(|(stream, event)| Input::Watched { stream, event });
            self.inbox.extend(news);
            let Some(input) = self.inbox.pop_front() else {
                break;
            };
            let Some(bridge) = &mut self.bridge else {
                break;
            };
            for effect in bridge.step(self.now, input) {
                if self.bridge.is_some() {
                    self.perform(effect);
                }
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let line = line(&effect);
        let fate = self.fates.iter().position(|(part, _)| line.contains(part.as_str()));
        let mut fate = fate.map(|at| self.fates.remove(at).1);
        if !matches!(effect, Effect::WakeAt(_) | Effect::Unwatch { .. }) {
            self.sent += 1;
            assert!(self.sent < 1_000_000, "the bridge never comes to rest");
            if let Some((_, nth)) = self.nth.iter().find(|(n, _)| *n == self.sent).copied() {
                self.say(&format!("    ! {}", nth.name()));
                fate = Some(nth);
            }
        }
        if !is_noise(&effect) {
            self.say(&format!("    > {line}"));
        }
        if fate == Some(Fate::CrashBefore) {
            return self.crash();
        }
        let at_once = !matches!(effect, Effect::Kube { .. } | Effect::Slurm { .. });
        if let Some(transit) = self.transit.as_mut().filter(|_| !at_once) {
            transit.send(self.now, self.life, Parcel::Request(effect, fate));
            if fate == Some(Fate::CrashAfter) {
                self.crash();
            }
            return;
        }
        let reply = self.answer(effect, fate);
        if fate == Some(Fate::CrashAfter) {
            return self.crash();
        }
        self.inbox.extend(reply);
    }

    fn answer(&mut self, effect: Effect, fate: Option<Fate>) -> Option<Input> {
        let why = String::from("timed out");
        match effect {
            Effect::WakeAt(at) => {
                self.wake = Some(at);
                None
            }
            Effect::KubeWatch { stream, .. } if fate.is_some() => {
                let event = drawbridge_core::WatchEvent::Failed(410);
                Some(Input::Watched { stream, event })
            }
            Effect::KubeWatch { stream, request } => {
                self.kube.watch(stream, &request);
                None
            }
            Effect::Unwatch { stream } => {
                self.kube.unwatch(stream);
                None
            }
            Effect::StepDown | Effect::Exit => None,
            Effect::Kube { call, request, .. } => {
                let outcome = match fate {
                    Some(Fate::LoseRequest) => Err(Lost { why }),
                    Some(Fate::LoseReply) => {
                        self.kube.handle(&request);
                        Err(Lost { why })
                    }
                    Some(_) | None => Ok(self.kube.handle(&request)),
                };
                Some(Input::KubeReplied { call, outcome })
            }
            Effect::Slurm { call, request, .. } => {
                if let SlurmRequest::Submit(job) = &request {
                    let partition = job.partition.as_ref().map(ToString::to_string);
                    self.partitions.push(partition);
                }
                let outcome = match fate {
                    Some(Fate::LoseRequest) => Err(SlurmFault::Lost { why }),
                    Some(Fate::LoseReply) => {
                        drop(self.slurm.handle(&request));
                        Err(SlurmFault::Lost { why })
                    }
                    Some(_) | None => self.slurm.handle(&request),
                };
                Some(Input::SlurmReplied { call, outcome })
            }
        }
    }

    fn say(&mut self, line: &str) {
        self.log.push(format!("{} {line}", self.now));
    }

    /// What was said since the last call.
    pub(crate) fn dialogue(&mut self) -> String {
        std::mem::take(&mut self.log).join("\n")
    }

    /// The facts that the bridge told.
    pub(crate) fn facts(&mut self) -> String {
        let facts = self.bridge.as_mut().map(Bridge::take_facts).unwrap_or_default();
        facts.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn metric(&self, name: &str) -> u64 {
        self.bridge.as_ref().and_then(|it| it.metrics().get(name).copied()).unwrap_or(0)
    }
}

/// What every dialogue has and nobody wants to read.
fn is_noise(effect: &Effect) -> bool {
    match effect {
        Effect::WakeAt(_) | Effect::KubeWatch { .. } | Effect::Unwatch { .. } => true,
        Effect::StepDown | Effect::Exit => false,
        Effect::Kube { request, .. } => request.method == Method::Get,
        Effect::Slurm { request, .. } => !matches!(
            request,
            SlurmRequest::Submit(_)
                | SlurmRequest::Cancel { .. }
                | SlurmRequest::Remark { .. }
                | SlurmRequest::Revise { .. }
                | SlurmRequest::UpdateNode { .. }
                | SlurmRequest::CreateNode { .. }
                | SlurmRequest::DescribeNode { .. }
                | SlurmRequest::DeleteNode(_)
        ),
    }
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::WakeAt(at) => format!("wake at {at}"),
        Effect::KubeWatch { request, .. } => format!("watch {}", request.path),
        Effect::Unwatch { stream } => format!("close watch {}", stream.0),
        Effect::StepDown => "step down".into(),
        Effect::Exit => "exit".into(),
        Effect::Kube { request, .. } => kube_line(request),
        Effect::Slurm { request, .. } => slurm_line(request),
    }
}

fn kube_line(request: &KubeRequest) -> String {
    let path = request.path.trim_start_matches("/api/v1/").replace("namespaces/a/", "");
    let mut body = request.body.clone().unwrap_or_default();
    if request.method == Method::Post && path == "events" {
        return format!("event {}: {}", text(&body["reason"]), text(&body["message"]));
    }
    if path.ends_with("/binding") {
        let annotations = &body["metadata"]["annotations"];
        return format!("bind {path} to {} {annotations}", text(&body["target"]["name"]));
    }
    if let Some(condition) = body["status"]["conditions"].get(0) {
        let (kind, status) = (text(&condition["type"]), text(&condition["status"]));
        return format!("condition on {path}: {kind}={status}: {}", text(&condition["message"]));
    }
    if let Some(meta) = body["metadata"].as_object_mut() {
        meta.retain(|key, _| {
            !["uid", "resourceVersion", "name", "namespace"].contains(&key.as_str())
        });
    }
    // Who a pod is among the others is long, and has tests of its own.
    if let Some(Value::Object(annotations)) = body.pointer_mut("/metadata/annotations") {
        annotations.retain(|key, _| !key.starts_with("drawbridge.dev/"));
    }
    format!("{:?} {path} {body}", request.method)
}

fn slurm_line(request: &SlurmRequest) -> String {
    match request {
        SlurmRequest::Submit(job) => format!("submit {}", job_line(job)),
        SlurmRequest::Revise { job, to, .. } => format!("change job {job} to {}", job_line(to)),
        SlurmRequest::Cancel { job, signal: None } => format!("cancel job {job}"),
        SlurmRequest::Cancel { job, signal: Some(signal) } => format!("signal job {job} {signal}"),
        SlurmRequest::Remark { job, admin_comment } => {
            format!("write on job {job} {admin_comment}")
        }
        SlurmRequest::UpdateNode { node, state, reason } => format!("{state:?} {node}: {reason}"),
        SlurmRequest::Ping => "ping".into(),
        SlurmRequest::TestToken => "test the token".into(),
        SlurmRequest::JobStates => "states".into(),
        SlurmRequest::Job(job) => format!("read job {job}"),
        SlurmRequest::Jobs => "all jobs".into(),
        SlurmRequest::Nodes => "nodes".into(),
        SlurmRequest::Reservations => "reservations".into(),
        SlurmRequest::CreateNode { .. }
        | SlurmRequest::DescribeNode { .. }
        | SlurmRequest::DeleteNode(_) => request.to_string(),
    }
}

fn job_line(job: &Submission) -> String {
    format!(
        "{}{}: {} x {} CPUs, {:?}, not on {:?}{}",
        if job.script.is_none() { "external " } else { "" },
        job.name,
        job.tasks,
        job.cpus_per_task,
        job.memory,
        job.excluded_nodes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        job.wishes.dependency.iter().map(|on| format!(", {on}")).collect::<String>(),
    )
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

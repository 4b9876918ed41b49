//! The script: what people do in the scenario, at its time.

use std::sync::Arc;

use drawbridge_fakes::{Method, Request, Response};
use drawbridge_sim::{SlurmNode, Time, UserName};
use serde_json::{Value, json};

use super::{
    World,
    process::{Mail, Process},
};
use crate::{
    log::Line,
    record::{Actor, Subject},
    scenario::{Action, CrashPoint, NodeChange, ObjectRef, Step},
};

/// Who plays the steps on the Kubernetes side.
pub(super) const ADMIN: &str = "admin";

/// The steps, by time, and how far we are.
#[derive(Clone, Debug)]
pub(super) struct Script {
    steps: Arc<[Step]>,
    next: usize,
}

impl Script {
    pub(super) fn new(steps: &[Step]) -> Self {
        Self { steps: steps.into(), next: 0 }
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.steps.get(self.next).map(|step| step.at)
    }

    /// The step that is being played; none while the world is furnished.
    fn last(&self) -> Option<&Step> {
        self.steps.get(self.next.checked_sub(1)?)
    }

    pub(super) fn is_done(&self) -> bool {
        self.steps.len() <= self.next
    }
}

impl World {
    /// Plays the next step.
    pub(super) fn play(&mut self) {
        let steps = self.script.steps.clone();
        let Some(step) = steps.get(self.script.next) else { return };
        self.script.next += 1;
        match &step.action {
            Action::Apply(objects) => objects.iter().for_each(|object| self.apply(object)),
            Action::Delete(object) => self.ask("delete", object, Method::Delete, "", None),
            Action::Scale(object, replicas) => {
                let body = json!({ "spec": { "replicas": replicas } });
                self.ask("scale", object, Method::MergePatch, "/scale", Some(body));
            }
            Action::Patch(object, patch) => {
                self.ask("patch", object, Method::MergePatch, "", Some(patch.clone()));
            }
            Action::Cordon(node, on) => self.cordon(node, *on),
            Action::Sbatch(job) => self.sbatch((**job).clone()),
            Action::Scancel(job) => self.scancel(job),
            Action::SlurmNode(node, change) => self.change_slurm_node(node, change),
            Action::Crash(crash) => match crash.point {
                CrashPoint::Now if self.process.as_ref().is_some_and(Process::is_up) => {
                    self.crash(crash.down_for);
                }
                CrashPoint::Now => {
                    self.refuse(Subject::Bridge, "tried to crash a bridge that is down");
                }
                CrashPoint::Before(_) | CrashPoint::After(_) => {
                    if let Some(process) = &mut self.process {
                        process.arm(crash.clone(), (!step.unchecked).then_some(step.line));
                    }
                }
            },
        }
    }

    /// Somebody said no to a step. That fails the run, unless the step says that it may be so.
    fn refuse(&mut self, subject: Subject, text: impl Into<String>) {
        let text = text.into();
        match self.script.last() {
            Some(step) if step.unchecked => {}
            Some(step) => self.refused.push(format!("{}: {text}", step.line)),
            None => self.refused.push(format!("1: {text}, at the start")),
        }
        self.note(Line::story(Actor::User, subject, text));
    }

    /// Creates an object, or replaces the one that has its name.
    pub(super) fn apply(&mut self, object: &Value) {
        let Some(of) = ObjectRef::of(object) else { return };
        let create = Request::new(ADMIN, Method::Post, of.collection()).with_body(object.clone());
        let mut response = self.kube(&create);
        if response.status == 409 {
            let patch =
                Request::new(ADMIN, Method::MergePatch, of.path("")).with_body(object.clone());
            response = self.kube(&patch);
        }
        self.tell_refusal("apply", &of, &response);
    }

    fn ask(&mut self, verb: &str, of: &ObjectRef, method: Method, sub: &str, body: Option<Value>) {
        let mut request = Request::new(ADMIN, method, of.path(sub));
        request.body = body;
        let response = self.kube(&request);
        self.tell_refusal(verb, of, &response);
    }

    fn cordon(&mut self, node: &str, on: bool) {
        let of = ObjectRef {
            api_version: "v1".into(),
            kind: "Node".into(),
            namespace: String::new(),
            name: node.into(),
        };
        let body = json!({ "spec": { "unschedulable": on } });
        self.ask("cordon", &of, Method::MergePatch, "", Some(body));
    }

    fn tell_refusal(&mut self, verb: &str, of: &ObjectRef, response: &Response) {
        if response.status < 400 {
            return;
        }
        let said = response.body["message"].as_str().unwrap_or("no message");
        let text = format!("tried to {verb} {} {}, refused: {said}", of.kind, of.key());
        self.refuse(Subject::Object(format!("{} {}", of.kind, of.key())), text);
    }

    fn sbatch(&mut self, job: drawbridge_sim::Submission) {
        let name = job.name.clone();
        if let Err(error) = self.slurm.submit(self.now, job) {
            let text = format!("tried to submit job {name}, refused: {error}");
            self.refuse(Subject::Twin, text);
        }
    }

    /// Cancels the live jobs of this name or number.
    fn scancel(&mut self, which: &str) {
        let is_meant = |job: &&drawbridge_sim::Job| {
            job.submission.name == which || job.id.to_string() == which
        };
        let jobs: Vec<_> = self
            .slurm
            .jobs()
            .filter(is_meant)
            .filter(|job| !job.state.is_end())
            .map(|job| job.id)
            .collect();
        if jobs.is_empty() {
            let text = format!("ran scancel for {which}, but Slurm has no such live job");
            self.refuse(Subject::Twin, text);
        }
        for job in jobs {
            self.note(Line::story(Actor::User, Subject::Job(job), format!("ran scancel {job}")));
            if let Err(error) = self.slurm.cancel(self.now, job, &UserName::from("root")) {
                self.refuse(Subject::Job(job), format!("scancel {job} failed: {error}"));
            }
        }
    }

    fn change_slurm_node(&mut self, node: &str, change: &NodeChange) {
        let (update, text) = match change {
            NodeChange::Drain(reason) => (
                drawbridge_sim::NodeUpdate::Drain { reason: reason.clone() },
                format!("ran scontrol update nodename={node} state=drain reason=\"{reason}\""),
            ),
            NodeChange::Down(reason) => (
                drawbridge_sim::NodeUpdate::Down { reason: reason.clone() },
                format!("ran scontrol update nodename={node} state=down reason=\"{reason}\""),
            ),
            NodeChange::Resume => (
                drawbridge_sim::NodeUpdate::Resume,
                format!("ran scontrol update nodename={node} state=resume"),
            ),
        };
        self.note(Line::story(Actor::User, Subject::SlurmNode(node.to_owned()), text));
        if let Err(error) = self.slurm.update_node(self.now, &SlurmNode::from(node), update) {
            let text = format!("scontrol failed for node {node}: {error}");
            self.refuse(Subject::SlurmNode(node.to_owned()), text);
        }
    }

    /// Kills the bridge; it starts again after a while.
    pub(super) fn crash(&mut self, down_for: drawbridge_sim::Span) {
        let Some(process) = self.process.as_mut().filter(|process| process.is_up()) else { return };
        process.die();
        self.mail.push(self.now + down_for, Mail::Restart);
        self.laws.bridge_down();
        self.note(Line::story(Actor::Twin, Subject::Bridge, "the bridge crashed".to_owned()));
    }
}

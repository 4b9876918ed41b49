//! The script: what people do in the scenario, at its time.

use std::sync::Arc;

use drawbridge_core::Input;
use drawbridge_fakes::{Method, Request, Response};
use drawbridge_sim::{Job, JobId, SlurmConfig, SlurmNode, Time, UserName};
use serde_json::{Value, json};

use super::{World, process::Process};
use crate::{
    fault::Fault,
    log::Line,
    record::{Actor, Subject},
    scenario::{Action, CrashPoint, NodeChange, ObjectRef, Step},
};

/// Who plays the steps on the Kubernetes side.
pub(crate) const ADMIN: &str = "admin";

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

    /// Goes on with other steps. Those that have been played must be the same.
    pub(super) fn retell(&mut self, steps: &[Step]) {
        self.steps = steps.into();
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
            Action::Patch(object, part, patch) => {
                self.ask("patch", object, Method::MergePatch, part, Some(patch.clone()));
            }
            Action::Cordon(node, on) => self.cordon(node, *on),
            Action::Sbatch(job) => self.sbatch((**job).clone()),
            Action::Scancel(job) => self.scancel(job),
            Action::Reconfigure(config) => self.reconfigure(config.as_deref()),
            Action::SlurmNode(node, change) => self.change_slurm_node(node, change),
            Action::Scontrol(command) => self.scontrol(command),
            Action::Slurmrestd(change) => {
                let text = self.rest.change(change);
                self.reach(text);
            }
            Action::SlurmToken(state) => {
                let text = self.rest.change_token(*state);
                self.reach(text);
            }
            Action::Fault(fault) => {
                self.await_fault(*fault, (!step.unchecked).then_some(step.line));
            }
            Action::Crash(crash) => match crash.point {
                CrashPoint::Now => match self.victim() {
                    Some(replica) => self.crash(replica, crash.down_for),
                    None => self.refuse(Subject::Bridge, "tried to crash a bridge that is down"),
                },
                CrashPoint::Before(_) | CrashPoint::After(_) => {
                    self.traps.arm(crash.clone(), (!step.unchecked).then_some(step.line));
                }
            },
            Action::Restart(down_for) => match self.victim() {
                Some(replica) => self.stop(replica, *down_for),
                None => self.refuse(Subject::Bridge, "tried to restart a bridge that is down"),
            },
        }
    }

    fn await_fault(&mut self, fault: Fault, line: Option<usize>) {
        self.faults.list(fault);
        self.awaited.extend(line.map(|line| (fault, line)));
    }

    /// The replica that leads, or else any that is up.
    fn victim(&self) -> Option<usize> {
        let leader = self.bridges.iter().position(Process::leads);
        leader.or_else(|| self.bridges.iter().position(Process::is_up))
    }

    /// The way to Slurm has changed.
    fn reach(&mut self, text: impl Into<String>) {
        self.note(Line::story(Actor::Slurm, Subject::Twin, text));
        self.laws.slurm_within_reach(self.now, self.rest.is_within_reach());
    }

    /// Somebody said no to a step. That fails the run, unless the step says that it may be so.
    pub(super) fn refuse(&mut self, subject: Subject, text: impl Into<String>) {
        let text = text.into();
        self.refusals += 1;
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
        let object = &self.with_owners(object.clone());
        let create = Request::new(ADMIN, Method::Post, of.collection()).with_body(object.clone());
        let mut response = self.kube(&create);
        if response.status == 409 {
            let patch =
                Request::new(ADMIN, Method::MergePatch, of.path("")).with_body(object.clone());
            response = self.kube(&patch);
        }
        self.tell_refusal("apply", &of, &response);
    }

    /// An owner is known by its uid, which nobody can write down beforehand: one that is named by version,
    /// kind and name alone gets the uid of whoever has that name now.
    fn with_owners(&mut self, mut object: Value) -> Value {
        let namespace = object["metadata"]["namespace"].clone();
        let owners = object["metadata"]["ownerReferences"].as_array_mut();
        for owner in owners.into_iter().flatten().filter(|owner| owner["uid"].is_null()) {
            let mut named = owner.clone();
            named["metadata"] = json!({ "namespace": namespace, "name": owner["name"] });
            if let Some(of) = ObjectRef::of(&named) {
                let found = self.kube(&Request::new(ADMIN, Method::Get, of.path("")));
                owner["uid"] = found.body["metadata"]["uid"].clone();
            }
        }
        object
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
        let (now, name) = (self.now, job.name.clone());
        if let Err(error) = self.slurm.with_ctld(now, |ctld| ctld.submit(now, job)) {
            let text = format!("tried to submit job {name}, refused: {error}");
            self.refuse(Subject::Twin, text);
        }
    }

    /// Cancels the live jobs of this name or number.
    fn scancel(&mut self, which: &str) {
        let jobs = self.live_jobs(which);
        if jobs.is_empty() {
            let text = format!("ran scancel for {which}, but Slurm has no such live job");
            self.refuse(Subject::Twin, text);
        }
        let (now, root) = (self.now, UserName::from("root"));
        for job in jobs {
            let text = format!("ran scancel {job}");
            self.note(Line::story(Actor::User, Subject::Job(job), text));
            if let Err(error) = self.slurm.with_ctld(now, |ctld| ctld.cancel(now, job, &root)) {
                self.refuse(Subject::Job(job), format!("scancel {job} failed: {error}"));
            }
        }
    }

    /// The live jobs of this name or number.
    pub(super) fn live_jobs(&self, which: &str) -> Vec<JobId> {
        let is_meant = |job: &&Job| job.submission.name == which || job.id.to_string() == which;
        let jobs = self.slurm.ctld().jobs().filter(is_meant);
        jobs.filter(|job| !job.state.is_end()).map(|job| job.id).collect()
    }

    fn reconfigure(&mut self, config: Option<&SlurmConfig>) {
        let now = self.now;
        self.note(Line::story(Actor::User, Subject::Twin, "ran scontrol reconfigure"));
        self.slurm.with_ctld(now, |ctld| match config {
            Some(config) => ctld.reconfigure(now, config.clone()),
            None => ctld.restart(now),
        });
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
        let (now, name) = (self.now, SlurmNode::from(node));
        if let Err(error) = self.slurm.with_ctld(now, |ctld| ctld.update_node(now, &name, update)) {
            let text = format!("scontrol failed for node {node}: {error}");
            self.refuse(Subject::SlurmNode(node.to_owned()), text);
        }
    }

    /// Kills a replica of the bridge; it starts again after a while.
    pub(super) fn crash(&mut self, replica: usize, down_for: drawbridge_sim::Span) {
        let text = format!("{} crashed", self.name_of(replica));
        let Some(process) = self.bridges.get(replica).filter(|process| process.is_up()) else {
            return;
        };
        self.end_life(process.life, down_for);
        self.note(Line::story(Actor::Twin, Subject::Bridge, text));
    }

    /// Tells a replica to end; it lets go first, and starts again after a while.
    pub(super) fn stop(&mut self, replica: usize, down_for: drawbridge_sim::Span) {
        let text = format!("{} was told to stop", self.name_of(replica));
        self.note(Line::story(Actor::Twin, Subject::Bridge, text));
        if let Some(process) = self.bridges.get_mut(replica) {
            process.stops_for = Some(down_for);
            let life = process.life;
            self.tell(life, Input::Stopping);
        }
    }
}

//! What people do in a scenario, read from its steps: which workloads they make, and what they do to them.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_fakes::{Behaviour, Runtime, Spread};
use drawbridge_scenarios::{
    Action, JobVerb, KINDS, NodeChange, ObjectRef, RestState, Scenario, Scontrol, TokenState,
};
use drawbridge_sim::Span;
use serde_json::Value;

use super::demand::{Amount, Program, Workload, limit};

/// The label that makes a pod one of a gang.
const GANG: &str = "scheduling.x-k8s.io/pod-group";
/// What a pod may say without being more than this model knows.
const PLAIN: [&str; 6] = [
    "containers",
    "restartPolicy",
    "schedulerName",
    "terminationGracePeriodSeconds",
    "subdomain",
    "hostname",
];

/// What people do to everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Deeds {
    /// Nodes that are out of service in the end.
    pub(super) out: BTreeSet<String>,
    /// They take nodes or jobs away from what runs.
    pub(super) take_work: bool,
    /// Somebody may wait for ever for another reason.
    pub(super) may_starve: bool,
}

/// Reads all steps.
pub(super) fn read(scenario: &Scenario) -> (BTreeMap<String, Workload>, Deeds) {
    let mut reader = Reader { scenario, workloads: BTreeMap::new(), deeds: Deeds::default() };
    for object in &scenario.objects {
        reader.make(object);
    }
    for step in &scenario.steps {
        reader.act(&step.action);
    }
    (reader.workloads, reader.deeds)
}

struct Reader<'a> {
    scenario: &'a Scenario,
    workloads: BTreeMap<String, Workload>,
    deeds: Deeds,
}

impl Reader<'_> {
    fn act(&mut self, action: &Action) {
        match action {
            Action::Apply(objects) => objects.iter().for_each(|object| self.make(object)),
            Action::Delete(object) => self.delete(object),
            Action::Scale(object, replicas) => {
                if let Some(workload) = self.workloads.get_mut(&key(object)) {
                    workload.pods = workload.pods.max((*replicas).into());
                }
            }
            Action::Patch(object, ..) => self.touch(object),
            Action::Cordon(node, on) => self.take_out(node, *on),
            Action::Sbatch(job) => {
                // One that never ends, or waits for something, may keep others waiting.
                let ends = job.behaviour.as_ref().is_some_and(|it| it.run_time.is_some());
                self.deeds.may_starve |= !ends;
            }
            Action::Scancel(_) => self.deeds.take_work = true,
            Action::Scontrol(command) => self.scontrol(command),
            Action::Reconfigure(config) => {
                self.deeds.may_starve |= config.is_some();
                self.deeds.take_work |= config.is_some();
            }
            Action::SlurmNode(node, change) => {
                self.take_out(node, *change != NodeChange::Resume);
                self.deeds.take_work |= matches!(change, NodeChange::Down(_));
            }
            Action::Slurmrestd(change) => {
                self.deeds.may_starve |=
                    change.state.is_some_and(|it| it != RestState::Up) || change.serves.is_some();
            }
            Action::SlurmToken(state) => self.deeds.may_starve |= *state == TokenState::Expired,
            Action::Fault(fault) => self.deeds.take_work |= !fault.verdict.is_harmless(),
            Action::Crash(_) | Action::Restart(_) => {}
        }
    }

    fn scontrol(&mut self, command: &Scontrol) {
        match command {
            Scontrol::Job(JobVerb::Suspend | JobVerb::Hold, _) => self.deeds.may_starve = true,
            Scontrol::Job(JobVerb::Requeue, _) => self.deeds.take_work = true,
            Scontrol::Job(JobVerb::RequeueHold, _) => {
                self.deeds.take_work = true;
                self.deeds.may_starve = true;
            }
            Scontrol::Job(JobVerb::Resume | JobVerb::Release | JobVerb::Priority(_), _)
            | Scontrol::CreateNodes(_) => {}
            Scontrol::DeleteNode(node) => self.take_out(node, true),
        }
    }

    fn take_out(&mut self, node: &str, out: bool) {
        if out {
            self.deeds.out.insert(node.to_owned());
        } else {
            self.deeds.out.remove(node);
        }
    }

    fn delete(&mut self, object: &ObjectRef) {
        match self.workloads.get_mut(&key(object)) {
            Some(workload) => workload.is_deleted = true,
            None => self.touch(object),
        }
        let gang = (object.kind == "Pod").then(|| self.workloads.get(&key(object))).flatten();
        let gang = gang.and_then(|workload| workload.gang.clone());
        // Its gang isn't complete without it.
        self.forget_gang(gang.as_deref());
    }

    /// Something is done to an object that isn't simply its end.
    fn touch(&mut self, object: &ObjectRef) {
        match object.kind.as_str() {
            "Namespace" => {
                let prefix = format!(" {}/", object.name);
                let inside = self.workloads.iter_mut().filter(|(key, _)| key.contains(&prefix));
                inside.for_each(|(_, workload)| workload.is_deleted = true);
            }
            "Node" => (self.deeds.take_work, self.deeds.may_starve) = (true, true),
            "PodGroup" => self.forget_gang(Some(&gang_key(&object.namespace, &object.name))),
            // A pod that a controller made, and makes again.
            "Pod" => self.deeds.take_work = true,
            _ => {
                if let Some(workload) = self.workloads.get_mut(&key(object)) {
                    workload.program = Program::Unknown;
                }
            }
        }
    }

    fn forget_gang(&mut self, gang: Option<&str>) {
        let Some(gang) = gang else { return };
        let members = self.workloads.values_mut().filter(|it| it.gang.as_deref() == Some(gang));
        members.filter(|it| !it.is_deleted).for_each(|it| it.program = Program::Unknown);
    }

    fn make(&mut self, object: &Value) {
        // Its pods aren't for the bridge, and where they run others have less room.
        self.deeds.may_starve |= object["kind"] == "DaemonSet";
        let Some((kind, _)) = KINDS.iter().find(|(kind, _)| object["kind"] == *kind) else {
            return;
        };
        let Some(of) = ObjectRef::of(object) else { return };
        let workload = self.workload(kind, object);
        // What is there already is changed by this.
        let again = self.workloads.contains_key(&key(&of));
        let program = if again { Program::Unknown } else { workload.program };
        self.workloads.insert(key(&of), Workload { program, ..workload });
    }

    fn workload(&self, kind: &'static str, object: &Value) -> Workload {
        let spec = &object["spec"];
        let template = match kind {
            "Pod" => object,
            "LeaderWorkerSet" => &spec["leaderWorkerTemplate"]["workerTemplate"],
            "JobSet" => &spec["replicatedJobs"][0]["template"]["spec"]["template"],
            _ => &spec["template"],
        };
        let labels = &template["metadata"]["labels"];
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let each = Amount::of(&template["spec"]);
        let behaviour = self.behaviour(kind, object, template);
        let is_plain = is_plain(kind, object, template) && self.is_ours(namespace, template);
        let program = match (is_plain, each, &behaviour) {
            (true, Some(_), Some(behaviour)) => program(kind, behaviour, &template["spec"]),
            _ => Program::Unknown,
        };
        let number = |value: &Value| value.as_u64().unwrap_or(1);
        Workload {
            kind,
            program,
            each,
            is_endless: behaviour
                .as_ref()
                .is_none_or(|it| is_endless(it, template["spec"]["restartPolicy"].as_str())),
            pods: match kind {
                "Pod" => 1,
                "Job" => number(&spec["parallelism"]),
                "LeaderWorkerSet" => {
                    number(&spec["replicas"]) * number(&spec["leaderWorkerTemplate"]["size"])
                }
                _ => number(&spec["replicas"]),
            },
            gang: labels[GANG].as_str().map(|gang| gang_key(namespace, gang)),
            is_deleted: false,
            is_tidied_up: !spec["ttlSecondsAfterFinished"].is_null(),
            runs_out: self.runs_out(behaviour.as_ref()),
        }
    }

    /// Whether the bridge looks after it, and nobody else.
    fn is_ours(&self, namespace: &str, template: &Value) -> bool {
        let Some(config) = &self.scenario.bridge else { return false };
        let named = template["spec"]["schedulerName"].as_str();
        let managed = config.managed_namespace_selector.is_none()
            && config.managed_namespaces.iter().any(|it| it == namespace);
        named.map_or(managed, |name| name == config.scheduler_name)
    }

    /// How its pods behave; `None` if that is more than this model knows.
    fn behaviour(&self, kind: &str, object: &Value, template: &Value) -> Option<Behaviour> {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let name = object["metadata"]["name"].as_str()?;
        let name = if kind == "Pod" { name.to_owned() } else { format!("{name}-0") };
        let labels = &template["metadata"]["labels"];
        let label = |key: &str| labels[key].as_str().map(str::to_owned);
        let found =
            self.scenario.behaviours.iter().find(|it| it.matches.matches(namespace, &name, label));
        let behaviour = found.cloned().unwrap_or_default();
        let program = &behaviour.program;
        let is_plain = behaviour.refused.is_none()
            && behaviour.image_pull.is_none()
            && behaviour.containers.is_empty()
            && behaviour.mpi.is_none()
            && !program.out_of_memory
            && program.crashes.is_none()
            && program.hang.is_none();
        is_plain.then_some(behaviour)
    }

    fn runs_out(&self, behaviour: Option<&Behaviour>) -> bool {
        let Some(limit) = limit(self.scenario) else { return false };
        let longest = |spread: Spread| match spread {
            Spread::Fixed(span) | Spread::Uniform(_, span) => span,
        };
        behaviour.is_none_or(|it| match it.program.runtime {
            Runtime::Forever => true,
            // It may be a while until the job is told.
            Runtime::For(spread) => limit < longest(it.startup) + longest(spread) + Span::mins(10),
        })
    }
}

/// Whether a pod may run for ever, if it is started again as this says.
fn is_endless(behaviour: &Behaviour, restart: Option<&str>) -> bool {
    match (behaviour.program.runtime, restart) {
        (Runtime::For(_), Some("Never")) => false,
        (Runtime::For(_), Some("OnFailure")) => behaviour.program.exit_code != 0,
        (Runtime::For(_) | Runtime::Forever, _) => true,
    }
}

fn program(kind: &str, behaviour: &Behaviour, pod: &Value) -> Program {
    let code = behaviour.program.exit_code;
    let is_set = !matches!(kind, "Pod" | "Job" | "JobSet");
    match (behaviour.program.runtime, pod["restartPolicy"].as_str()) {
        (Runtime::Forever, _) => Program::Forever,
        (Runtime::For(_), Some("Never")) if !is_set => Program::Ends(code),
        (Runtime::For(_), Some("OnFailure")) if !is_set && code == 0 => Program::Ends(0),
        (Runtime::For(_), _) => Program::Unknown,
    }
}

/// Whether its manifest says nothing that this model doesn't know.
fn is_plain(kind: &str, object: &Value, template: &Value) -> bool {
    let only = |value: &Value, known: &[&str]| {
        let keys = value.as_object();
        keys.is_none_or(|keys| keys.keys().all(|key| known.contains(&key.as_str())))
    };
    let spec: &[&str] = match kind {
        "Pod" => &PLAIN,
        "Job" => &[
            "completions",
            "completionMode",
            "parallelism",
            "backoffLimit",
            "template",
            "ttlSecondsAfterFinished",
        ],
        "StatefulSet" => {
            &["replicas", "serviceName", "selector", "template", "podManagementPolicy"]
        }
        "Deployment" | "ReplicaSet" => &["replicas", "selector", "template", "strategy"],
        "LeaderWorkerSet" => &["replicas", "leaderWorkerTemplate", "startupPolicy"],
        // Several Jobs, each with pods of its own.
        _ => &[],
    };
    object["metadata"]["annotations"].is_null()
        && template["metadata"]["annotations"].is_null()
        && only(&object["spec"], spec)
        && only(&template["spec"], &PLAIN)
}

fn key(object: &ObjectRef) -> String {
    format!("{} {}", object.kind, object.key())
}

fn gang_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

//! What a pod's status says about its life.

use serde_json::{Value, json};

use super::{
    super::{
        node::{self, Node},
        object::{Moment, items, set_condition, text},
        plan::{Plan, Subject, patch, pod_path},
        pod::Pod,
    },
    COMPONENT, Life, Run,
    admit::Refusal,
    life::Exit,
};

/// The condition that says whether a rank has met the others.
const BARRIER: &str = "drawbridge.dev/Barrier";

/// The status of a pod with this life; `here` is how many ranks of its program run.
pub(super) fn of(at: Moment, pod: &Pod, run: &Run, here: usize) -> Value {
    let mut status = json!({
        "phase": phase(run),
        "startTime": at.stamp_of(run.admitted),
        "conditions": conditions(at, pod, run, here),
        "containerStatuses": containers(at, pod, run),
    });
    let init = init_containers(at, pod, run);
    if !init.is_empty() {
        status["initContainerStatuses"] = init.into();
    }
    if let Life::Ended { late: true, .. } = run.life {
        status["reason"] = "DeadlineExceeded".into();
        status["message"] = "Pod was active on the node longer than the specified deadline".into();
    }
    status
}

fn phase(run: &Run) -> &'static str {
    match run.life {
        Life::Starting { .. } => "Pending",
        Life::Barrier | Life::Running { .. } | Life::BackOff { .. } | Life::Stopping { .. } => {
            "Running"
        }
        Life::Ended { exit: 0, late: false, .. } => "Succeeded",
        Life::Ended { .. } => "Failed",
    }
}

fn ready(run: &Run) -> bool {
    matches!(run.life, Life::Running { .. } | Life::Stopping { ready: true, .. })
}

fn conditions(at: Moment, pod: &Pod, run: &Run, here: usize) -> Value {
    let mut all = items(&pod.object["status"]["conditions"]).to_vec();
    let mut set = |kind: &str, holds: bool, why: Option<(&str, String)>| {
        let status = if holds { "True" } else { "False" };
        let mut new = json!({"type": kind, "status": status});
        if let Some((reason, message)) = why {
            new["reason"] = reason.into();
            if !message.is_empty() {
                new["message"] = message.into();
            }
        }
        set_condition(&mut all, new, &at.stamp());
    };
    let why = not_ready(pod, run);
    let inits = !items(&pod.object["spec"]["initContainers"]).is_empty();
    let initialized = !inits || !matches!(run.life, Life::Starting { .. });
    let done = (phase(run) == "Succeeded").then(|| ("PodCompleted", String::new()));
    set("Initialized", initialized, done);
    set("Ready", ready(run), why.clone());
    set("ContainersReady", ready(run), why);
    if let (Some(mpi), true) = (&run.behaviour.mpi, run.started.is_some()) {
        let waits = matches!(run.life, Life::Barrier);
        let ranks = mpi.ranks;
        let why = if waits {
            ("WaitingForRanks", format!("{here} of {ranks} ranks are here"))
        } else {
            ("AllRanksMet", format!("all {ranks} ranks were here"))
        };
        let met = !waits && !left_waiting(pod, run);
        if met || waits {
            set(BARRIER, met, Some(why));
        }
    }
    all.into()
}

/// Whether it ended, or is ending, without ever having met the others.
fn left_waiting(pod: &Pod, run: &Run) -> bool {
    let ends = matches!(run.life, Life::Stopping { .. } | Life::Ended { .. });
    let told = super::super::object::condition(&pod.object, BARRIER);
    ends && told.is_none_or(|it| it["status"] == "False")
}

fn not_ready(pod: &Pod, run: &Run) -> Option<(&'static str, String)> {
    match phase(run) {
        "Succeeded" => Some(("PodCompleted", String::new())),
        "Failed" => Some(("PodFailed", String::new())),
        _ if ready(run) => None,
        _ => {
            let names = container_names(pod).join(" ");
            let message = format!("containers with unready status: [{names}]");
            Some(("ContainersNotReady", message))
        }
    }
}

pub(super) fn container_names(pod: &Pod) -> Vec<&str> {
    items(&pod.object["spec"]["containers"])
        .iter()
        .map(|container| text(&container["name"]))
        .collect()
}

fn containers(at: Moment, pod: &Pod, run: &Run) -> Vec<Value> {
    let last = run.last.map_or(json!({}), |exit| terminated(at, exit));
    items(&pod.object["spec"]["containers"])
        .iter()
        .map(|container| {
            json!({
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": ready(run),
                "started": run.running(),
                "restartCount": run.restarts,
                "state": state(at, pod, run, text(&container["name"])),
                "lastState": last,
            })
        })
        .collect()
}

fn state(at: Moment, pod: &Pod, run: &Run, container: &str) -> Value {
    match run.life {
        Life::Starting { .. } => json!({"waiting": {"reason": "ContainerCreating"}}),
        Life::Barrier | Life::Running { .. } | Life::Stopping { .. } => {
            let since = run.started.unwrap_or(run.admitted);
            json!({"running": {"startedAt": at.stamp_of(since)}})
        }
        Life::BackOff { wait, .. } => {
            let (name, namespace, uid) = (&pod.key.name, &pod.key.namespace, &pod.uid);
            let secs = wait.as_secs();
            json!({"waiting": {
                "reason": "CrashLoopBackOff",
                "message": format!(
                    "back-off {secs}s restarting failed container={container} \
                     pod={name}_{namespace}({uid})"
                ),
            }})
        }
        Life::Ended { at: finished, exit, .. } => {
            terminated(at, Exit { code: exit, started: run.started.unwrap_or(finished), finished })
        }
    }
}

fn terminated(at: Moment, exit: Exit) -> Value {
    let reason = if exit.code == 0 { "Completed" } else { "Error" };
    json!({"terminated": {
        "exitCode": exit.code,
        "reason": reason,
        "startedAt": at.stamp_of(exit.started),
        "finishedAt": at.stamp_of(exit.finished),
    }})
}

/// Init containers are part of the start-up: they wait until it's over, then they're done.
fn init_containers(at: Moment, pod: &Pod, run: &Run) -> Vec<Value> {
    let state = match run.started {
        None => json!({"waiting": {"reason": "PodInitializing"}}),
        Some(_) => terminated(at, Exit { code: 0, started: run.admitted, finished: run.admitted }),
    };
    items(&pod.object["spec"]["initContainers"])
        .iter()
        .map(|container| {
            json!({
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": run.started.is_some(),
                "restartCount": 0,
                "state": state,
                "lastState": {},
            })
        })
        .collect()
}

/// Writes on a pod that the node doesn't run it.
pub(super) fn refuse(at: Moment, pod: &Pod, node: &Node, refusal: &Refusal) -> Plan {
    let mut plan = Plan::nothing();
    let Refusal { reason, message } = refusal;
    let body = json!({
        "metadata": {"uid": &*pod.uid},
        "status": {
            "phase": "Failed",
            "reason": reason,
            "message": message,
            "startTime": at.stamp(),
        },
    });
    let path = pod_path(&pod.key) + "/status";
    plan.send(patch(&node::user(&node.name), path, body));
    let about = Subject::of(&pod.object);
    let note = about.warns(COMPONENT, reason, message.clone());
    plan.tell(note.on(&node.name));
    plan
}

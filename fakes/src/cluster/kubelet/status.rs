//! What a pod's status says about its life.

mod containers;

use drawbridge_sim::Time;
use serde_json::{Value, json};

use super::{
    super::{
        node::{self, Node},
        object::{Moment, condition, items, set_condition, text},
        plan::{Plan, Subject, patch, pod_path},
        pod::Pod,
    },
    COMPONENT,
    admit::Refusal,
    container::{Container, Life, Role},
    life::{Rank, Run, Stage, Why},
};

/// The condition that says whether a rank has met the others.
const BARRIER: &str = "drawbridge.dev/Barrier";

/// How much a status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What somebody may decide by.
    Brief,
    /// Also what people like to see: addresses, ids of containers.
    Full,
}

/// Where a pod lives.
pub(super) struct Place<'a> {
    /// How many ranks of its program run.
    pub(super) here: usize,
    pub(super) node: &'a Node,
    pub(super) detail: Detail,
}

/// The status of a pod with this life.
pub(super) fn of(at: Moment, pod: &Pod, run: &Run, place: &Place<'_>) -> Value {
    let (init, main): (Vec<&Container>, Vec<&Container>) =
        run.containers.iter().partition(|it| it.role != Role::Main);
    let shown = |list: &[&Container]| -> Vec<Value> {
        list.iter().map(|it| containers::show(at, pod, run, it, place.detail)).collect()
    };
    let mut status = json!({
        "phase": phase(at.now, run),
        "startTime": at.stamp_of(run.admitted),
        "conditions": conditions(at, pod, run, place),
        "containerStatuses": shown(&main),
    });
    if !init.is_empty() {
        status["initContainerStatuses"] = shown(&init).into();
    }
    if let Stage::Ended { why: Some(why), .. } = &run.stage {
        let (reason, message) = told(why);
        status["reason"] = reason.into();
        status["message"] = message.into();
    }
    if place.detail == Detail::Full {
        addresses(&mut status, pod, run, place.node);
        status["observedGeneration"] = pod.object["metadata"]["generation"].clone();
    }
    status
}

fn told(why: &Why) -> (&'static str, String) {
    match why {
        Why::Deadline => (
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline".to_owned(),
        ),
        Why::Pressure(resource) => {
            ("Evicted", format!("The node was low on resource: {resource}. "))
        }
    }
}

/// Every pod has an address of its own on its node, once its sandbox is there.
fn addresses(status: &mut Value, pod: &Pod, run: &Run, node: &Node) {
    let internal = items(&node.object["status"]["addresses"])
        .iter()
        .find(|it| it["type"] == "InternalIP")
        .map(|it| text(&it["address"]));
    if let Some(host) = internal {
        status["hostIP"] = host.into();
        status["hostIPs"] = json!([{"ip": host}]);
    }
    let known = text(&pod.object["status"]["podIP"]);
    let ip = match (known, run.containers.iter().any(Container::running)) {
        ("", false) => return,
        ("", true) if pod.object["spec"]["hostNetwork"] == true => {
            internal.unwrap_or_default().to_owned()
        }
        ("", true) => node.address_of(&pod.uid),
        (known, _) => known.to_owned(),
    };
    if !ip.is_empty() {
        status["podIPs"] = json!([{"ip": ip}]);
        status["podIP"] = ip.into();
    }
}

fn phase(now: Time, run: &Run) -> &'static str {
    match &run.stage {
        Stage::Ended { why, .. } => {
            let mut main = run.main();
            let well = main.all(|it| it.ended().is_some_and(|exit| exit.code == 0));
            if well && why.is_none() && !run.init_failed() { "Succeeded" } else { "Failed" }
        }
        Stage::Alive | Stage::Stopping { .. } => {
            let waits = |it: &Container| {
                let waits = !it.running() && it.ended().is_none();
                waits && !matches!(it.life, Life::BackOff { .. }) && it.last.is_none()
            };
            let initialized = run.initialized(now) || run.running();
            if initialized && !run.main().any(waits) { "Running" } else { "Pending" }
        }
    }
}

fn ready(now: Time, run: &Run) -> bool {
    let mut needed = run.containers.iter().filter(|it| it.role != Role::Init);
    run.rank != Rank::Waiting
        && !matches!(run.stage, Stage::Ended { .. })
        && needed.all(|it| it.ready(now))
}

fn conditions(at: Moment, pod: &Pod, run: &Run, place: &Place<'_>) -> Value {
    let old = items(&pod.object["status"]["conditions"]);
    let mut all: Vec<Value> = Vec::with_capacity(old.len() + 4);
    let mut set = |kind: &str, holds: bool, why: Option<(&str, String)>| {
        let status = if holds { "True" } else { "False" };
        let mut new = json!({"type": kind, "status": status});
        if let Some((reason, message)) = why {
            new["reason"] = reason.into();
            if !message.is_empty() {
                new["message"] = message.into();
            }
        }
        let mut slot: Vec<Value> = old.iter().filter(|it| it["type"] == kind).cloned().collect();
        set_condition(&mut slot, new, &at.stamp());
        all.append(&mut slot);
    };
    if place.detail == Detail::Full {
        let sandbox = run.containers.iter().any(Container::running);
        set("PodReadyToStartContainers", sandbox, None);
    }
    let end = phase(at.now, run);
    let done = (end == "Succeeded").then(|| ("PodCompleted", String::new()));
    let initialized = run.initialized(at.now) || run.running();
    set("Initialized", initialized, done.or_else(|| not_initialized(at.now, run)));
    let containers_ready = ready(at.now, run);
    let why = not_ready(at.now, end, run);
    let gates = if containers_ready { shut_gates(pod) } else { None };
    set("Ready", containers_ready && gates.is_none(), gates.or_else(|| why.clone()));
    set("ContainersReady", containers_ready, why);
    if let Some((met, why)) = barrier(pod, run, place.here) {
        set(BARRIER, met, Some(why));
    }
    let own = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"];
    let said: Vec<Value> = all.iter().map(|it| it["type"].clone()).collect();
    let others = old.iter().filter(|it| !said.contains(&it["type"]));
    all.extend(others.filter(|it| !own.contains(&text(&it["type"]))).cloned());
    if let Stage::Ended { why: Some(Why::Pressure(_)), .. } = &run.stage {
        let (_, message) = told(&Why::Pressure("memory"));
        let new = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "message": message,
        });
        set_condition(&mut all, new, &at.stamp());
    }
    all.into()
}

fn not_initialized(now: Time, run: &Run) -> Option<(&'static str, String)> {
    if run.initialized(now) || run.running() {
        return None;
    }
    let missing: Vec<&str> = run
        .containers
        .iter()
        .filter(|it| match it.role {
            Role::Init => it.ended().is_none_or(|exit| exit.code != 0),
            Role::Sidecar => !it.started(now),
            Role::Main => false,
        })
        .map(|it| &*it.name)
        .collect();
    let message = format!("containers with incomplete status: [{}]", missing.join(" "));
    Some(("ContainersNotInitialized", message))
}

fn not_ready(now: Time, phase: &str, run: &Run) -> Option<(&'static str, String)> {
    match phase {
        "Succeeded" => Some(("PodCompleted", String::new())),
        "Failed" => Some(("PodFailed", String::new())),
        _ if ready(now, run) => None,
        _ => {
            let waits = run.rank == Rank::Waiting;
            let unready = |it: &&Container| match it.role {
                Role::Init => false,
                Role::Sidecar => !it.ready(now),
                Role::Main => waits || !it.ready(now),
            };
            let names: Vec<&str> =
                run.containers.iter().filter(unready).map(|it| &*it.name).collect();
            let message = format!("containers with unready status: [{}]", names.join(" "));
            Some(("ContainersNotReady", message))
        }
    }
}

/// What somebody else must say before the pod counts as ready.
fn shut_gates(pod: &Pod) -> Option<(&'static str, String)> {
    let gates = items(&pod.object["spec"]["readinessGates"]).iter();
    let shut = gates.filter_map(|gate| {
        let kind = text(&gate["conditionType"]);
        match condition(&pod.object, kind).map(|it| text(&it["status"])) {
            Some("True") => None,
            Some(is) => Some(format!(
                "the status of pod readiness gate \"{kind}\" is not \"True\", but {is}"
            )),
            None => Some(format!(
                "corresponding condition of pod readiness gate \"{kind}\" does not exist."
            )),
        }
    });
    let shut: Vec<String> = shut.collect();
    (!shut.is_empty()).then(|| ("ReadinessGatesNotReady", shut.join(", ")))
}

/// Whether a rank has met the others, once that can be said.
fn barrier(pod: &Pod, run: &Run, here: usize) -> Option<(bool, (&'static str, String))> {
    let ranks = run.behaviour.mpi.as_ref()?.ranks;
    let met = || {
        let across = match run.switches {
            0 | 1 => String::new(),
            switches => format!(", across {switches} switches"),
        };
        ("AllRanksMet", format!("all {ranks} ranks were here{across}"))
    };
    match run.rank {
        Rank::Waiting if run.running() && matches!(run.stage, Stage::Alive) => {
            Some((false, ("WaitingForRanks", format!("{here} of {ranks} ranks are here"))))
        }
        Rank::Met | Rank::Done => Some((true, met())),
        Rank::No | Rank::Waiting => {
            // It ended, or is ending: what was said stays, if it was good.
            let told = condition(&pod.object, BARRIER)?;
            (told["status"] == "True").then(|| (true, met()))
        }
    }
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

//! A pod in one line: how many containers are ready, and the one word that says how it is.

use serde_json::Value;

use super::{At, condition, count, is_true, list, name, or, text};

/// What the containers of a pod add up to.
#[derive(Default)]
struct Sum {
    reason: String,
    ready: usize,
    restarts: i64,
    /// The latest end of a container that was restarted.
    last_restart: Option<String>,
}

/// The cells of a pod.
pub(super) fn row(at: At, pod: &Value) -> Vec<Value> {
    let sum = sum(pod);
    let status = &pod["status"];
    let total = list(&pod["spec"]["containers"]).len();
    let restarts = match &sum.last_restart {
        Some(then) if sum.restarts != 0 => {
            let ago = at.since(&then.as_str().into());
            format!("{} ({ago} ago)", sum.restarts)
        }
        _ => sum.restarts.to_string(),
    };
    vec![
        name(pod),
        format!("{}/{total}", sum.ready).into(),
        sum.reason.into(),
        restarts.into(),
        at.age(pod),
        or(text(&status["podIP"]), "<none>").into(),
        or(text(&pod["spec"]["nodeName"]), "<none>").into(),
        or(text(&status["nominatedNodeName"]), "<none>").into(),
        gates(pod).into(),
    ]
}

fn gates(pod: &Value) -> String {
    let gates = list(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(pod, text(&gate["conditionType"])));
    format!("{}/{}", open.count(), gates.len())
}

fn sum(pod: &Value) -> Sum {
    let status = &pod["status"];
    let phase = text(&status["phase"]);
    let mut sum = Sum { reason: or(text(&status["reason"]), phase), ..Sum::default() };
    let gated = condition(pod, "PodScheduled").is_some_and(|it| it["reason"] == "SchedulingGated");
    if gated {
        sum.reason = "SchedulingGated".to_owned();
    }
    let initializing = add_init(pod, &mut sum);
    if !initializing || is_true(pod, "Initialized") {
        add_containers(pod, &mut sum);
    }
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        if status["reason"] == "NodeLost" {
            sum.reason = "Unknown".to_owned();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            sum.reason = "Terminating".to_owned();
        }
    }
    sum
}

/// Adds init containers; whether one of them is still at work.
fn add_init(pod: &Value, sum: &mut Sum) -> bool {
    let all = list(&pod["spec"]["initContainers"]).len();
    for (place, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        sum.note_restarts(container);
        let ended = &container["state"]["terminated"];
        let waiting = text(&container["state"]["waiting"]["reason"]);
        if !ended.is_null() && count(&ended["exitCode"]) == 0 {
            continue;
        }
        sum.reason = if !ended.is_null() {
            format!("Init:{}", how_it_ended(ended))
        } else if !matches!(waiting, "" | "PodInitializing") {
            format!("Init:{waiting}")
        } else {
            format!("Init:{place}/{all}")
        };
        return true;
    }
    false
}

fn add_containers(pod: &Value, sum: &mut Sum) {
    (sum.restarts, sum.last_restart) = (0, None);
    let (mut running, mut failure) = (false, None);
    for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
        sum.note_restarts(container);
        let state = &container["state"];
        let waiting = text(&state["waiting"]["reason"]);
        if !waiting.is_empty() {
            sum.reason = waiting.to_owned();
        } else if !state["terminated"].is_null() {
            sum.reason = how_it_ended(&state["terminated"]);
            if count(&state["terminated"]["exitCode"]) != 0 {
                failure = Some(sum.reason.clone());
            }
        } else if container["ready"] == true && !state["running"].is_null() {
            running = true;
            sum.ready += 1;
        }
    }
    if sum.reason == "Completed" {
        sum.reason = match (running && is_true(pod, "Ready"), failure) {
            (true, _) => "Running".to_owned(),
            (false, Some(failure)) => failure,
            (false, None) if running => "NotReady".to_owned(),
            (false, None) => "Completed".to_owned(),
        };
    }
}

fn how_it_ended(ended: &Value) -> String {
    match (text(&ended["reason"]), count(&ended["signal"])) {
        ("", 0) => format!("ExitCode:{}", count(&ended["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

impl Sum {
    fn note_restarts(&mut self, container: &Value) {
        self.restarts += count(&container["restartCount"]);
        let ended = text(&container["lastState"]["terminated"]["finishedAt"]);
        if !ended.is_empty() && self.last_restart.as_deref().is_none_or(|last| last < ended) {
            self.last_restart = Some(ended.to_owned());
        }
    }
}

//! The part of a pod's status that is about its containers.

use drawbridge_sim::{Span, fnv1a};
use serde_json::{Value, json};

use super::{
    super::{
        super::{object::Moment, pod::Pod},
        container::{Container, Exit, Life, Role},
        life::{Rank, Run},
    },
    Detail,
};

/// The status of one container.
pub(super) fn show(at: Moment, pod: &Pod, run: &Run, it: &Container, detail: Detail) -> Value {
    let waits = run.rank == Rank::Waiting && it.role == Role::Main;
    let ready = match it.role {
        Role::Init => it.ended().is_some_and(|exit| exit.code == 0),
        Role::Sidecar | Role::Main => it.ready(at.now) && !waits,
    };
    let last = match (&it.life, it.last) {
        (Life::Ended(_), _) | (_, None) => json!({}),
        (_, Some(exit)) => terminated(at, exit),
    };
    let mut shown = json!({
        "name": &*it.name,
        "image": &*it.image,
        "imageID": "",
        "ready": ready,
        "restartCount": it.restarts,
        "started": it.started(at.now),
        "state": state(at, pod, run, it),
        "lastState": last,
    });
    if detail == Detail::Full && (it.running() || it.last.is_some()) {
        shown["containerID"] = id(pod, it).into();
    }
    shown
}

/// An id as a runtime gives them: another for every start.
fn id(pod: &Pod, it: &Container) -> String {
    let parts = (0..4).map(|part| {
        let seen = format!("{}/{}/{}/{part}", pod.uid, it.name, it.restarts);
        format!("{:016x}", fnv1a(seen.as_bytes()))
    });
    format!("containerd://{}", parts.collect::<String>())
}

fn state(at: Moment, pod: &Pod, run: &Run, it: &Container) -> Value {
    let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
    match &it.life {
        Life::Waiting | Life::Starting { .. } | Life::Pulling { .. } => {
            // The main containers of a pod wait for its init containers.
            let init = run.containers.iter().any(|it| it.role != Role::Main);
            waiting(if init { "PodInitializing" } else { "ContainerCreating" })
        }
        Life::Unpulled { wait, why, .. } => unpulled(it, *wait, why),
        Life::Running { since, .. } | Life::Stopping { since, .. } => {
            json!({"running": {"startedAt": at.stamp_of(*since)}})
        }
        // It's started again as soon as it can be.
        Life::BackOff { wait, .. } if *wait == Span::ZERO => waiting("ContainerCreating"),
        Life::BackOff { wait, .. } => {
            let (name, namespace, uid) = (&pod.key.name, &pod.key.namespace, &pod.uid);
            let (secs, container) = (wait.as_secs(), &it.name);
            json!({"waiting": {
                "reason": "CrashLoopBackOff",
                "message": format!(
                    "back-off {secs}s restarting failed container={container} \
                     pod={name}_{namespace}({uid})"
                ),
            }})
        }
        Life::Ended(exit) => terminated(at, *exit),
    }
}

fn unpulled(it: &Container, wait: Span, why: &str) -> Value {
    let image = &it.image;
    let first = wait == Span::secs(10);
    let (reason, message) = match (why, first) {
        ("ErrImageNeverPull", _) => {
            let what = "is not present with pull policy of Never";
            ("ErrImageNeverPull", format!("Container image \"{image}\" {what}"))
        }
        (why, true) => ("ErrImagePull", why.to_owned()),
        (_, false) => ("ImagePullBackOff", format!("Back-off pulling image \"{image}\"")),
    };
    json!({"waiting": {"reason": reason, "message": message}})
}

fn terminated(at: Moment, exit: Exit) -> Value {
    json!({"terminated": {
        "exitCode": exit.code,
        "reason": exit.reason,
        "startedAt": at.stamp_of(exit.started),
        "finishedAt": at.stamp_of(exit.finished),
    }})
}

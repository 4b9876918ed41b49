//! The events that a kubelet tells of a pod, in its own words.

use drawbridge_sim::Span;

use super::{
    super::{
        plan::{Note, Plan, Subject},
        pod::Pod,
    },
    COMPONENT, Detail,
    container::{Container, Life, Role},
    life::{Run, Turn, Why},
};

/// A note about one container.
fn note(pod: &Pod, run: &Run, it: &Container, reason: &str, message: String) -> Note {
    let list = if it.role == Role::Main { "containers" } else { "initContainers" };
    let about = Subject::of(&pod.object).part(format!("spec.{list}{{{}}}", it.name));
    about.notes(COMPONENT, reason, message).on(&run.node)
}

fn warning(note: Note) -> Note {
    Note { warning: true, ..note }
}

/// What is told before a turn happens.
pub(super) fn before(plan: &mut Plan, pod: &Pod, run: &Run, turn: &Turn) {
    match turn {
        Turn::Unhealthy(at, kind) => {
            let it = &run.containers[*at];
            let name = kind.name();
            let message = format!("{name} probe failed: no answer");
            plan.tell(warning(note(pod, run, it, "Unhealthy", message)));
            let probe = name.to_lowercase();
            let message = format!("Container {} failed {probe} probe, will be restarted", it.name);
            plan.tell(note(pod, run, it, "Killing", message));
        }
        Turn::Stop(_, why) => {
            if *why == Some(Why::Deadline) {
                let message = "Pod was active on the node longer than the specified deadline";
                let about = Subject::of(&pod.object);
                let told = about.notes(COMPONENT, "DeadlineExceeded", message.into());
                plan.tell(told.on(&run.node));
            }
            if let Some(Why::Pressure(resource)) = why {
                let message = format!("The node was low on resource: {resource}. ");
                let about = Subject::of(&pod.object);
                plan.tell(about.warns(COMPONENT, "Evicted", message).on(&run.node));
            }
            for it in run.containers.iter().filter(|it| it.running()) {
                plan.tell(stopping(pod, run, it));
            }
        }
        Turn::Dismiss(at, _) if run.containers[*at].running() => {
            if matches!(run.stage, super::Stage::Alive) {
                plan.tell(stopping(pod, run, &run.containers[*at]));
            }
        }
        Turn::Begin(_)
        | Turn::Run(_)
        | Turn::Exit(..)
        | Turn::Meet(_)
        | Turn::Done
        | Turn::Hurry(_)
        | Turn::Dismiss(..)
        | Turn::End => {}
    }
}

fn stopping(pod: &Pod, run: &Run, it: &Container) -> Note {
    note(pod, run, it, "Killing", format!("Stopping container {}", it.name))
}

/// What is told once a turn has happened.
pub(super) fn after(plan: &mut Plan, pod: &Pod, run: &Run, turn: &Turn, detail: Detail) {
    let (Turn::Begin(at) | Turn::Run(at) | Turn::Exit(at, _)) = turn else { return };
    let it = &run.containers[*at];
    let image = &it.image;
    match (&it.life, turn) {
        (Life::Running { .. }, _) => {
            if let Turn::Run(_) = turn {
                let message = format!("Successfully pulled image \"{image}\"");
                plan.tell(note(pod, run, it, "Pulled", message));
            } else if detail == Detail::Full {
                let message = format!(
                    "Container image \"{image}\" already present on machine and can be accessed \
                     by the pod"
                );
                plan.tell(note(pod, run, it, "Pulled", message));
            }
            if detail == Detail::Full {
                plan.tell(note(pod, run, it, "Created", "Container created".into()));
            }
            plan.tell(note(pod, run, it, "Started", "Container started".into()));
        }
        (Life::Pulling { .. }, _) => {
            plan.tell(note(pod, run, it, "Pulling", format!("Pulling image \"{image}\"")));
        }
        (Life::Unpulled { wait, why, .. }, _) => {
            let first = *wait == Span::secs(10);
            let (reason, message) = match (first, &**why) {
                (_, "ErrImageNeverPull") => {
                    let what = "is not present with pull policy of Never";
                    ("ErrImageNeverPull", format!("Container image \"{image}\" {what}"))
                }
                (true, why) => ("Failed", format!("Failed to pull image \"{image}\": {why}")),
                (false, _) => ("BackOff", format!("Back-off pulling image \"{image}\"")),
            };
            plan.tell(warning(note(pod, run, it, reason, message)));
        }
        (Life::BackOff { wait, .. }, _) if *wait > Span::ZERO => {
            let (uid, name, namespace) = (&pod.uid, &pod.key.name, &pod.key.namespace);
            let message = format!(
                "Back-off restarting failed container {} in pod {name}_{namespace}({uid})",
                it.name
            );
            plan.tell(warning(note(pod, run, it, "BackOff", message)));
        }
        (
            Life::Waiting
            | Life::Starting { .. }
            | Life::BackOff { .. }
            | Life::Stopping { .. }
            | Life::Ended(_),
            _,
        ) => {}
    }
}

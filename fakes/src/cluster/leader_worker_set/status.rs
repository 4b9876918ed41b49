//! What a LeaderWorkerSet says about itself.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    super::{
        object::{Key, Moment, changed, count, items, some},
        plan::{Plan, Subject, patch},
        replica_set::replicas,
    },
    COMPONENT, NAME, USER, WORKER_INDEX,
    groups::Group,
    path,
};

/// Writes the status, if it differs. Says whether all groups have this revision and are ready.
pub(super) fn write(
    plan: &mut Plan,
    at: Moment,
    it: &Value,
    set: Option<&Arc<Value>>,
    groups: &[Group<'_>],
    key: &str,
) -> bool {
    let wanted = replicas(it);
    let least = count(&it["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"]);
    let there: Vec<(u64, _)> = groups
        .iter()
        .filter(|group| group.leader.is_some())
        .filter(|group| super::size(it) == 1 || group.workers.is_some())
        .map(|group| (group.index, group.state(it, key)))
        .collect();
    let meant = |index: u64| (least..wanted).contains(&index);
    let count = |fits: &dyn Fn(u64, super::rollout::State) -> bool| {
        there.iter().filter(|(index, state)| fits(*index, *state)).count() as u64
    };
    let ready = count(&|_, state| state.ready);
    let concerned = count(&|index, _| meant(index));
    let well = count(&|index, state| meant(index) && state.ready && state.updated);
    let kinds: &[Kind] = if count(&|index, state| meant(index) && state.updated) < concerned {
        &[UPDATING, PROGRESSING]
    } else if count(&|index, state| index < wanted && state.ready) == wanted && well == concerned {
        &[AVAILABLE]
    } else {
        &[PROGRESSING]
    };
    let (conditions, differs) = conditions(at, it, kinds);
    let leaders = set.map_or(0, |set| self::number(&set["status"]["replicas"]));
    let name = Key::of(it).name;
    let new = json!({
        "replicas": some(leaders),
        "readyReplicas": some(ready),
        "updatedReplicas": some(count(&|_, state| state.updated)),
        "observedGeneration": it["metadata"]["generation"],
        "hpaPodSelector": format!("{NAME}={name},{WORKER_INDEX}=0"),
        "conditions": conditions,
    });
    if changed(&it["status"], &new) {
        plan.send(patch(USER, path(it) + "/status", json!({"status": new})));
    }
    if let Some(kind) = kinds.first().filter(|_| differs) {
        let message =
            format!("{}, with {ready} groups ready of total {wanted} groups", kind.message);
        plan.tell(Subject::of(it).notes(COMPONENT, kind.reason, message));
    }
    least == 0 && well == wanted
}

fn number(value: &Value) -> u64 {
    count(value)
}

/// A condition that a set may have.
struct Kind {
    name: &'static str,
    reason: &'static str,
    message: &'static str,
}

const AVAILABLE: Kind =
    Kind { name: "Available", reason: "AllGroupsReady", message: "All replicas are ready" };
const UPDATING: Kind = Kind {
    name: "UpdateInProgress",
    reason: "GroupsUpdating",
    message: "Rolling Upgrade is in progress",
};
const PROGRESSING: Kind =
    Kind { name: "Progressing", reason: "GroupsProgressing", message: "Replicas are progressing" };

/// The conditions with these set, and whether that changes any. `Available` excludes the others.
fn conditions(at: Moment, it: &Value, kinds: &[Kind]) -> (Vec<Value>, bool) {
    let mut all = items(&it["status"]["conditions"]).to_vec();
    let before = all.clone();
    let generation = &it["metadata"]["generation"];
    for kind in kinds {
        let rivals: &[&str] = match kind.name {
            "Available" => &["Progressing", "UpdateInProgress"],
            _ => &["Available"],
        };
        for other in &mut all {
            let excluded = rivals.iter().any(|rival| other["type"] == *rival);
            if excluded && other["status"] == "True" {
                other["status"] = "False".into();
                other["lastTransitionTime"] = at.stamp().into();
            }
        }
        let new = json!({
            "type": kind.name, "status": "True", "reason": kind.reason, "message": kind.message,
            "observedGeneration": generation, "lastTransitionTime": at.stamp(),
        });
        match all.iter_mut().find(|it| it["type"] == kind.name) {
            Some(old) if old["status"] == "True" && old["observedGeneration"] == *generation => {}
            Some(old) => *old = new,
            None => all.push(new),
        }
    }
    for other in &mut all {
        other["observedGeneration"] = generation.clone();
    }
    let differs = all != before;
    (all, differs)
}

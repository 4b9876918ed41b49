//! The kubelets: what runs on the nodes, and what it says of itself.
//!
//! ```text
//!              start-up over      all ranks are here      its time is over
//!   Starting ───────────────▶ Barrier ───────────────▶ Running ───────────▶ Ended
//!      │                          │                    │  ▲  │               │
//!      │                          │               TERM │  │  ▼ restarted     │ deleted
//!      └──────── deleted ─────────┴───▶ Stopping ◀─────┘ BackOff             ▼
//!                                          └──────────────▶ Ended ─────▶ DELETE
//! ```
//!
//! [`life::step`] holds every arrow, [`status::of`] what each state looks like from outside. All
//! containers of a pod live and die together; init containers are part of the start-up. Probes
//! aren't modelled: a container that runs is ready.

mod admit;
mod life;
mod status;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::{Seed, Span, Time};
use serde_json::{Value, json};

pub(crate) use self::life::{Life, Run};
use super::{
    amounts::Amounts,
    behaviour::Behaviour,
    node::{self, Node},
    object::{Key, Moment, text},
    plan::{Plan, Subject, delete_pod, patch, pod_path},
    pod::Pod,
};

const COMPONENT: &str = "kubelet";
/// How often a waiting rank says how many others are there.
const BARRIER_REPORT: Span = Span::secs(1);

/// Ranks of one program: namespace, label and value.
pub(crate) type Group = (Arc<str>, String, String);

/// All kubelets together.
#[derive(Clone, Debug)]
pub(crate) struct Kubelets {
    seed: Seed,
    behaviours: Arc<[Arc<Behaviour>]>,
    runs: BTreeMap<Key, Run>,
    /// What admitted pods take up, node by node.
    used: BTreeMap<Arc<str>, Amounts>,
    /// The ranks whose containers run.
    groups: BTreeMap<Group, BTreeSet<Key>>,
    /// Nodes are there, but nothing of ours runs on them.
    removed: bool,
}

/// What a kubelet decided, and which other pods should be looked at because of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) look_at: Vec<(Key, Time)>,
}

impl Kubelets {
    pub(crate) fn new(seed: Seed, behaviours: Vec<Behaviour>) -> Self {
        Self {
            seed,
            behaviours: behaviours.into_iter().map(Arc::new).collect(),
            runs: BTreeMap::new(),
            used: BTreeMap::new(),
            groups: BTreeMap::new(),
            removed: false,
        }
    }

    /// From now on nothing runs on the nodes.
    pub(crate) fn remove_all(&mut self) {
        self.removed = true;
    }

    /// Whether nothing runs on the nodes.
    pub(crate) const fn are_removed(&self) -> bool {
        self.removed
    }

    /// A pod's object is gone: whatever ran of it is killed. Gives back who should be looked at.
    pub(crate) fn forget(&mut self, now: Time, key: &Key) -> Vec<(Key, Time)> {
        let Some(mut run) = self.runs.remove(key) else {
            return vec![];
        };
        self.set_running(&run, key, false);
        self.use_node(&mut run, false);
        self.others(now, &run, key)
    }

    /// Looks at a pod that is bound to a node of ours.
    pub(crate) fn sync(&mut self, at: Moment, pod: &Pod, node: &Node) -> Outcome {
        if self.runs.get(&pod.key).is_some_and(|run| run.uid != pod.uid) {
            self.forget(at.now, &pod.key);
        }
        if !self.runs.contains_key(&pod.key) {
            if pod.terminal() {
                return Outcome::of(remove(pod));
            }
            if let Some(refusal) = self.refusal(pod, node) {
                return Outcome::of(status::refuse(at, pod, node, &refusal));
            }
            let mut run = self.admit(at, pod, node);
            self.use_node(&mut run, true);
            self.runs.insert(pod.key.clone(), run);
        }
        self.live(at, pod)
    }

    fn refusal(&self, pod: &Pod, node: &Node) -> Option<admit::Refusal> {
        let nothing = Amounts::default();
        let used = self.used.get(&node.name).unwrap_or(&nothing);
        admit::refusal(pod, node, used)
    }

    fn admit(&self, at: Moment, pod: &Pod, node: &Node) -> Run {
        let behaviour = self.behaviour(pod);
        let purpose = format!("startup/{}", pod.key);
        let until = at.now + behaviour.startup.draw(self.seed, &purpose);
        let group = behaviour.mpi.as_ref().map(|mpi| {
            let value = text(&pod.object["metadata"]["labels"][&mpi.group_label]);
            let namespace = pod.key.namespace.clone();
            (namespace, mpi.group_label.clone(), value.to_owned())
        });
        let deadline = pod.object["spec"]["activeDeadlineSeconds"].as_u64();
        Run {
            uid: pod.uid.clone(),
            node: node.name.clone(),
            demand: pod.demand.clone(),
            behaviour,
            group,
            uses_node: false,
            admitted: at.now,
            deadline: deadline.map(|secs| at.now + Span::secs(secs)),
            restarts: 0,
            crashes: 0,
            started: None,
            last: None,
            life: Life::Starting { until },
        }
    }

    fn behaviour(&self, pod: &Pod) -> Arc<Behaviour> {
        let Key { namespace, name } = &pod.key;
        let label = |key: &str| {
            let value = pod.object["metadata"]["labels"][key].as_str();
            value.map(str::to_owned)
        };
        self.behaviours
            .iter()
            .find(|it| it.matches.matches(namespace, name, label))
            .cloned()
            .unwrap_or_default()
    }

    /// Lets the pod live up to now, and says what became of it.
    fn live(&mut self, at: Moment, pod: &Pod) -> Outcome {
        let Some(mut run) = self.runs.remove(&pod.key) else {
            return Outcome::default();
        };
        let mut outcome = Outcome::default();
        loop {
            let was = run.running();
            let seen = self.seen(at, pod, &run);
            let Some(next) = life::step(&run, &seen) else {
                break;
            };
            tell(&mut outcome.plan, pod, &run, &next);
            run.enter(at.now, next);
            if was != run.running() {
                self.set_running(&run, &pod.key, run.running());
                outcome.look_at.extend(self.others(at.now, &run, &pod.key));
            }
        }
        let ended = matches!(run.life, Life::Ended { .. });
        if ended {
            self.use_node(&mut run, false);
        }
        let here = self.here(&run);
        show(&mut outcome.plan, at, pod, &run, here);
        if let Some(next) = run.next_change() {
            outcome.plan.wake_at(next);
        }
        if ended {
            outcome.plan.acts.extend(remove(pod).acts);
        }
        self.runs.insert(pod.key.clone(), run);
        outcome
    }

    fn seen(&self, at: Moment, pod: &Pod, run: &Run) -> life::Seen {
        let purpose = format!("runtime/{}/{}", pod.key, run.attempt());
        let ranks = run.behaviour.mpi.as_ref().map_or(0, |mpi| mpi.ranks as usize);
        let restart = text(&pod.object["spec"]["restartPolicy"]);
        life::Seen {
            now: at.now,
            grace: pod.deleting.map(Span::secs),
            complete: ranks <= self.here(run),
            runtime: run.behaviour.runtime.draw(self.seed, &purpose),
            restart: life::Restart::read(restart),
            own_grace: pod.object["spec"]["terminationGracePeriodSeconds"]
                .as_u64()
                .map_or(Span::secs(30), Span::secs),
        }
    }

    /// How many ranks of the run's program run now.
    fn here(&self, run: &Run) -> usize {
        let members = run.group.as_ref().and_then(|group| self.groups.get(group));
        members.map_or(0, BTreeSet::len)
    }

    /// The others at the barrier get past it, or say how many they are now.
    fn others(&self, now: Time, run: &Run, key: &Key) -> Vec<(Key, Time)> {
        let Some(members) = run.group.as_ref().and_then(|it| self.groups.get(it)) else {
            return vec![];
        };
        let ranks = run.behaviour.mpi.as_ref().map_or(0, |mpi| mpi.ranks as usize);
        let when = if ranks <= members.len() { now } else { now + BARRIER_REPORT };
        let waits = |other: &&Key| {
            let run = self.runs.get(other);
            *other != key && run.is_some_and(|run| matches!(run.life, Life::Barrier))
        };
        let others = members.iter().filter(waits);
        others.map(|key| (key.clone(), when)).collect()
    }

    fn set_running(&mut self, run: &Run, key: &Key, runs: bool) {
        let Some(group) = &run.group else { return };
        let members = self.groups.entry(group.clone()).or_default();
        if runs {
            members.insert(key.clone());
        } else {
            members.remove(key);
        }
        if members.is_empty() {
            self.groups.remove(group);
        }
    }

    /// The run takes up room on its node, or gives it back.
    fn use_node(&mut self, run: &mut Run, uses: bool) {
        let used = self.used.entry(run.node.clone()).or_default();
        match (run.uses_node, uses) {
            (false, true) => used.add(&run.demand.requests),
            (true, false) => used.subtract(&run.demand.requests),
            (true, true) | (false, false) => {}
        }
        run.uses_node = uses;
    }
}

impl Outcome {
    fn of(plan: Plan) -> Self {
        Self { plan, look_at: vec![] }
    }
}

/// Removes the object of a pod that has ended, once. Finalizers may keep it; asking again and
/// again wouldn't help, and a grace of zero shows that somebody asked.
fn remove(pod: &Pod) -> Plan {
    let mut plan = Plan::nothing();
    if let (Some(1..), Some(node)) = (pod.deleting, &pod.node) {
        let user = node::user(node);
        plan.send(delete_pod(&user, &pod.key, &pod.uid, Some(Span::ZERO)));
    }
    plan
}

/// Writes the pod's status, if it differs from what is there.
fn show(plan: &mut Plan, at: Moment, pod: &Pod, run: &Run, here: usize) {
    let status = status::of(at, pod, run, here);
    let old = &pod.object["status"];
    let changed =
        status.as_object().is_some_and(|new| new.iter().any(|(field, value)| old[field] != *value));
    if changed {
        let body: Value = json!({"metadata": {"uid": &*pod.uid}, "status": status});
        let path = pod_path(&pod.key) + "/status";
        plan.send(patch(&node::user(&run.node), path, body));
    }
}

fn tell(plan: &mut Plan, pod: &Pod, run: &Run, to: &Life) {
    let node = &run.node;
    let about = Subject::of(&pod.object);
    let names = status::container_names(pod);
    let first = names.first().copied().unwrap_or_default();
    match (&run.life, to) {
        (Life::Starting { .. } | Life::BackOff { .. }, Life::Barrier | Life::Running { .. }) => {
            plan.tell(
                about.notes(COMPONENT, "Started", format!("Started container {first}")).on(node),
            );
        }
        (from, Life::Stopping { .. }) if !matches!(from, Life::Stopping { .. }) => {
            plan.tell(
                about.notes(COMPONENT, "Killing", format!("Stopping container {first}")).on(node),
            );
        }
        (_, Life::BackOff { wait, .. }) if *wait > Span::ZERO => {
            let (uid, name, namespace) = (&pod.uid, &pod.key.name, &pod.key.namespace);
            let message = format!(
                "Back-off restarting failed container {first} in pod {name}_{namespace}({uid})"
            );
            plan.tell(about.warns(COMPONENT, "BackOff", message).on(node));
        }
        (
            Life::Starting { .. }
            | Life::Barrier
            | Life::Running { .. }
            | Life::BackOff { .. }
            | Life::Stopping { .. }
            | Life::Ended { .. },
            Life::Starting { .. }
            | Life::Barrier
            | Life::Running { .. }
            | Life::BackOff { .. }
            | Life::Stopping { .. }
            | Life::Ended { .. },
        ) => {}
    }
}

//! The kubelets: what runs on the nodes, and what it says of itself.
//!
//! ```text
//!   bound pod ──▶ admit? ──no──▶ Failed: OutOfcpu, NodeAffinity …
//!                   │
//!                   ▼            each container, in its turn:
//!                  Run   Waiting ▶ Starting ▶ Pulling ▶ Running ▶ BackOff ▶ Running …
//!                   │                                      └▶ Stopping ▶ Ended
//!                   └──▶ all over ──▶ Succeeded or Failed ──▶ deleted? DELETE
//! ```
//!
//! [`life::Run::step`] holds every turn, [`status::of`] what a pod looks like from outside. A
//! kubelet that is cut off says nothing, and tells all that happened once it's back.

mod admit;
mod container;
mod groups;
mod images;
mod life;
mod post;
mod probe;
mod status;
mod tell;

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Seed, Span, Time};
use serde_json::{Value, json};

pub use self::post::Trouble;
pub(crate) use self::status::Detail;
use self::{
    container::{Container, Life},
    groups::{Group, Groups},
    images::Images,
    life::{Means, Rank, Run, Seen, Stage},
    post::Posts,
};
use super::{
    amounts::Amounts,
    behaviour::Behaviour,
    node::{self, Node},
    object::{Key, Moment, text},
    plan::{Plan, Subject, delete_pod, patch, pod_path},
    pod::Pod,
};

const COMPONENT: &str = "kubelet";
/// After so long a kubelet tries again to prepare a pod's devices.
const PREPARE_AGAIN: Span = Span::secs(10);

/// All kubelets together.
#[derive(Clone, Debug)]
pub(crate) struct Kubelets {
    seed: Seed,
    behaviours: Arc<[Arc<Behaviour>]>,
    runs: BTreeMap<Key, Run>,
    /// What admitted pods take up, node by node.
    used: BTreeMap<Arc<str>, Amounts>,
    groups: Groups,
    images: Images,
    /// Kubelets that nobody hears of.
    cut_off: BTreeMap<Arc<str>, CutOff>,
    posts: Posts,
    /// How much a pod's status says.
    detail: Detail,
    /// Nodes are there, but nothing of ours runs on them.
    removed: bool,
}

/// Since when a kubelet isn't heard of.
#[derive(Clone, Copy, Debug)]
struct CutOff {
    since: Time,
    /// Its machine has no power; otherwise only its network is gone.
    off: bool,
}

/// What a kubelet decided, and which other pods should be looked at because of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) look_at: Vec<(Key, Time)>,
}

impl Kubelets {
    pub(crate) fn new(seed: Seed, behaviours: Vec<Behaviour>, detail: Detail) -> Self {
        Self {
            seed,
            behaviours: behaviours.into_iter().map(Arc::new).collect(),
            runs: BTreeMap::new(),
            used: BTreeMap::new(),
            groups: Groups::default(),
            images: Images::default(),
            cut_off: BTreeMap::new(),
            posts: Posts::default(),
            detail,
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

    /// Whether a node's kubelet is heard of.
    pub(crate) fn is_heard(&self, node: &str) -> bool {
        !self.removed && !self.cut_off.contains_key(node)
    }

    /// A node's kubelet isn't heard of any more; with the power `off`, nothing runs there either.
    pub(crate) fn cut_off(&mut self, now: Time, node: &str, off: bool) -> Vec<(Key, Time)> {
        self.cut_off.entry(node.into()).or_insert(CutOff { since: now, off });
        if !off {
            return vec![];
        }
        let ranks: Vec<Key> = self.on_node(node).map(|(key, _)| key.clone()).collect();
        let mut others = vec![];
        for key in ranks {
            if let Some(run) = self.runs.get(&key).filter(|run| run.running()) {
                let run = run.clone();
                others.extend(self.groups.leave(now, &run, &key, true));
            }
        }
        others
    }

    /// Whether a node's machine is off.
    pub(crate) fn is_off(&self, node: &str) -> bool {
        self.cut_off.get(node).is_some_and(|it| it.off)
    }

    /// A node's kubelet is heard of again. Gives back the pods to look at.
    pub(crate) fn come_back(&mut self, now: Time, node: &str) -> Vec<Key> {
        let Some(cut_off) = self.cut_off.remove(node) else { return vec![] };
        let seed = self.seed;
        let mut back = vec![];
        for (key, run) in self.runs.iter_mut().filter(|(_, run)| &*run.node == node) {
            if cut_off.off {
                let startup = run.behaviour.startup.draw(seed, &format!("restart/{key}"));
                run.lose_power(cut_off.since, now, startup);
            }
            back.push(key.clone());
        }
        back
    }

    fn on_node<'a>(&'a self, node: &'a str) -> impl Iterator<Item = (&'a Key, &'a Run)> {
        self.runs.iter().filter(move |(_, run)| &*run.node == node)
    }

    /// A pod's object is gone: whatever ran of it is killed. Gives back who should be looked at.
    pub(crate) fn forget(&mut self, now: Time, key: &Key) -> Vec<(Key, Time)> {
        self.posts.evicted.remove(key);
        let Some(mut run) = self.runs.remove(key) else {
            return vec![];
        };
        self.use_node(&mut run, false);
        match run.running() {
            true => self.groups.leave(now, &run, key, true),
            false => vec![],
        }
    }

    /// Looks at a pod that is bound to a node of ours.
    pub(crate) fn sync(&mut self, at: Moment, pod: &Pod, node: &Node) -> Outcome {
        if !self.is_heard(&node.name) {
            return Outcome::default();
        }
        if self.runs.get(&pod.key).is_some_and(|run| run.uid != pod.uid) {
            self.forget(at.now, &pod.key);
        }
        if !self.runs.contains_key(&pod.key) {
            if pod.terminal() {
                return Outcome::of(remove(pod));
            }
            let behaviour = self.behaviour(pod);
            if let Some(refusal) = self.refusal(pod, node, &behaviour) {
                return Outcome::of(status::refuse(at, pod, node, &refusal));
            }
            let mut run = self.admit(at, pod, node, behaviour);
            self.use_node(&mut run, true);
            self.runs.insert(pod.key.clone(), run);
        }
        self.live(at, pod, node)
    }

    /// Whether it has begun with a pod.
    pub(crate) fn knows(&self, pod: &Pod) -> bool {
        self.runs.get(&pod.key).is_some_and(|run| run.uid == pod.uid)
    }

    /// A pod whose devices can't be prepared waits on its node, and says so.
    pub(crate) fn unprepared(&self, at: Moment, pod: &Pod, node: &Node, why: &str) -> Plan {
        if !self.is_heard(&node.name) {
            return Plan::nothing();
        }
        let mut plan = remove(pod);
        let about = Subject::of(&pod.object);
        let message = format!("Failed to prepare dynamic resources: {why}");
        plan.tell(about.warns(COMPONENT, "FailedPrepareDynamicResources", message).on(&node.name));
        plan.wake_at(at.now + PREPARE_AGAIN);
        plan
    }

    fn refusal(&self, pod: &Pod, node: &Node, behaviour: &Behaviour) -> Option<admit::Refusal> {
        if let Some(why) = &behaviour.refused {
            return Some(admit::unexpected(why));
        }
        let nothing = Amounts::default();
        let used = self.used.get(&node.name).unwrap_or(&nothing);
        let here = self.runs.values().filter(|run| run.uses_node && run.node == node.name);
        let ports: Vec<_> = match pod.demand.ports.is_empty() {
            true => vec![],
            false => here.flat_map(|run| run.demand.ports.iter().cloned()).collect(),
        };
        admit::refusal(pod, node, used, &ports)
    }

    fn admit(&self, at: Moment, pod: &Pod, node: &Node, behaviour: Arc<Behaviour>) -> Run {
        let spec = &pod.object["spec"];
        let purpose = format!("startup/{}", pod.key);
        let until = at.now + behaviour.startup.draw(self.seed, &purpose);
        let group = behaviour.mpi.as_ref().map(|mpi| Group::of(pod, mpi));
        let across = behaviour.mpi.as_ref().and_then(|mpi| mpi.across.as_ref());
        let switch = across.and_then(|it| node.label(&it.node_label)).unwrap_or_default();
        let switch = switch.to_owned();
        let deadline = spec["activeDeadlineSeconds"].as_u64();
        let mut containers = Container::read_all(spec);
        if let Some(first) = containers.first_mut() {
            first.life = Life::Starting { until };
        }
        // Without init containers all main ones wait for the sandbox alone.
        if spec["initContainers"].as_array().is_none_or(Vec::is_empty) {
            containers.iter_mut().for_each(|it| it.life = Life::Starting { until });
        }
        Run {
            uid: pod.uid.clone(),
            node: node.name.clone(),
            demand: pod.demand.clone(),
            behaviour,
            group,
            uses_node: false,
            admitted: at.now,
            seen: at.now,
            deadline: deadline.map(|secs| at.now + Span::secs(secs)),
            grace: spec["terminationGracePeriodSeconds"]
                .as_u64()
                .map_or(Span::secs(30), Span::secs),
            containers,
            stage: Stage::Alive,
            rank: Rank::No,
            switch,
            switches: 0,
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
    fn live(&mut self, at: Moment, pod: &Pod, node: &Node) -> Outcome {
        let Some(mut run) = self.runs.remove(&pod.key) else {
            return Outcome::default();
        };
        let mut outcome = Outcome::default();
        // What was due while nobody heard of the node happened at its own time.
        while let Some(due) = run.next_change(run.seen).filter(|due| *due < at.now) {
            while self.turn(due, None, pod, &mut run, &mut outcome) {}
            run.seen = due;
        }
        run.seen = at.now;
        while self.turn(at.now, pod.deleting, pod, &mut run, &mut outcome) {}
        let ended = matches!(run.stage, Stage::Ended { .. });
        if ended {
            self.use_node(&mut run, false);
        }
        self.show(&mut outcome.plan, at, pod, &run, node);
        let aborts = self.groups.aborts(&run).filter(|aborts| at.now < *aborts);
        for next in run.next_change(at.now).into_iter().chain(aborts.filter(|_| run.running())) {
            outcome.plan.wake_at(next);
        }
        if ended {
            outcome.plan.acts.extend(remove(pod).acts);
        }
        self.runs.insert(pod.key.clone(), run);
        outcome
    }

    /// Lets one turn happen; says whether there was one.
    fn turn(
        &mut self,
        now: Time,
        deleting: Option<u64>,
        pod: &Pod,
        run: &mut Run,
        outcome: &mut Outcome,
    ) -> bool {
        let seen = Seen {
            now,
            grace: deleting.map(Span::secs),
            evicted: self.posts.evicted.get(&pod.key).cloned(),
            complete: self.groups.complete(run),
            switches: self.groups.switches(run),
            aborts: self.groups.aborts(run),
            all_done: self.groups.all_done(run),
        };
        let Some(turn) = run.step(&seen) else { return false };
        let (was, rank) = (run.running(), run.rank);
        let mut means = Means { seed: self.seed, key: &pod.key, images: &mut self.images };
        tell::before(&mut outcome.plan, pod, run, &turn);
        run.enter(now, &turn, &mut means);
        tell::after(&mut outcome.plan, pod, run, &turn, self.detail);
        outcome.look_at.extend(self.groups.follow(now, &pod.key, run, was, rank));
        true
    }

    /// Writes the pod's status, if it differs from what is there.
    fn show(&self, plan: &mut Plan, at: Moment, pod: &Pod, run: &Run, node: &Node) {
        let here = self.groups.here(run);
        let status = status::of(at, pod, run, &status::Place { here, node, detail: self.detail });
        let old = &pod.object["status"];
        let differs = |new: &serde_json::Map<String, Value>| {
            new.iter().any(|(field, value)| old[field] != *value)
        };
        if status.as_object().is_some_and(differs) {
            let body: Value = json!({"metadata": {"uid": &*pod.uid}, "status": status});
            let path = pod_path(&pod.key) + "/status";
            plan.send(patch(&node::user(&run.node), path, body));
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

    /// What a container has written to its log, start by start; `previous` leaves out the last.
    pub(crate) fn log(&self, pod: &Key, container: Option<&str>, previous: bool) -> Log {
        let Some(run) = self.runs.get(pod) else { return Log::NotStarted };
        let found = match container {
            Some(name) => run.containers.iter().find(|it| *it.name == *name),
            None => run.main().next(),
        };
        let Some(it) = found else { return Log::NoSuchContainer };
        let text = &it.program(&run.behaviour).log;
        let started = it.running() || it.last.is_some();
        match (started, previous, it.restarts) {
            (false, ..) => Log::NotStarted,
            (true, true, 0) => Log::NoPrevious,
            (true, ..) => Log::Text(text.clone()),
        }
    }
}

/// What is asked for when somebody asks for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Log {
    /// The text.
    Text(String),
    /// The container hasn't started, or its node isn't heard of.
    NotStarted,
    /// The pod has no container of this name.
    NoSuchContainer,
    /// The container has only started once.
    NoPrevious,
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

/// The value of a label.
fn label(pod: &Pod, name: &str) -> String {
    text(&pod.object["metadata"]["labels"][name]).to_owned()
}

//! One container of a pod on its node.

use std::sync::{Arc, OnceLock};

use drawbridge_sim::{Span, Time};
use serde_json::Value;

use super::{
    super::{
        behaviour::{Behaviour, Program, Runtime, Spread},
        object::{items, text},
    },
    probe::{Health, Probes},
};

/// The exit code of a container that was killed.
pub(crate) const KILLED: i32 = 137;
/// The second restart in a row waits this long, the next ones twice as long each.
const CRASH_WAIT: Span = Span::secs(10);
/// The longest wait before a restart.
pub(crate) const CRASH_WAIT_MAX: Span = Span::mins(5);
/// A container that ran this long is no longer crashing.
const CRASH_FORGIVEN: Span = Span::mins(10);
/// What is left of the grace, at least, after a `preStop` hook.
const LEAST_GRACE: Span = Span::secs(2);

/// One container.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) name: Arc<str>,
    pub(crate) image: Arc<str>,
    pub(crate) role: Role,
    pub(crate) probes: Option<Box<Probes>>,
    restart: Restart,
    /// Exit codes after which it's started again although its policy says no.
    rules: Vec<(bool, Vec<i64>)>,
    /// How long its `preStop` hook takes.
    pre_stop: Option<Span>,
    pub(crate) never_pulled: bool,
    pub(crate) life: Life,
    pub(crate) restarts: u32,
    /// Exits since it last ran for long.
    crashes: u32,
    /// How it last ended.
    pub(crate) last: Option<Exit>,
}

/// What a container is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It runs to its end before the next one starts.
    Init,
    /// It's started in the order of the init containers, and runs beside the main ones.
    Sidecar,
    Main,
}

/// When a container that ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Always,
    OnFailure,
    Never,
}

/// How far it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Its turn hasn't come.
    Waiting,
    /// The pod's sandbox is made.
    Starting { until: Time },
    /// Its image is pulled.
    Pulling { until: Time },
    /// Its image can't be had; it's tried again.
    Unpulled { until: Time, wait: Span, why: Arc<str> },
    /// It runs.
    Running { since: Time, ends: Option<Time>, health: Health },
    /// It ended and is started again later.
    BackOff { until: Time, wait: Span },
    /// It got TERM.
    Stopping { since: Time, asked: Time, grace: Span, until: Time, exit: i32, ready: bool },
    /// It ended for good.
    Ended(Exit),
}

/// One end of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) reason: &'static str,
    pub(crate) started: Time,
    pub(crate) finished: Time,
}

impl Restart {
    pub(crate) fn read(text: &str) -> Self {
        match text {
            "Never" => Self::Never,
            "OnFailure" => Self::OnFailure,
            _ => Self::Always,
        }
    }

    fn after(self, exit: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => exit != 0,
            Self::Never => false,
        }
    }
}

impl Exit {
    pub(crate) fn new(code: i32, started: Time, finished: Time) -> Self {
        let reason = if code == 0 { "Completed" } else { "Error" };
        Self { code, reason, started, finished }
    }

    /// The end of a container that never ran.
    pub(crate) fn unborn(at: Time) -> Self {
        Self { reason: "ContainerStatusUnknown", ..Self::new(KILLED, at, at) }
    }

    /// The end of a container whose machine lost its power.
    pub(crate) fn lost(started: Time, at: Time) -> Self {
        Self { reason: "Unknown", ..Self::new(255, started, at) }
    }
}

impl Container {
    /// The containers of a pod: init containers in their order, then the others.
    pub(crate) fn read_all(spec: &Value) -> Vec<Self> {
        let of_pod = Restart::read(text(&spec["restartPolicy"]));
        let init = items(&spec["initContainers"]).iter().map(|it| {
            let sidecar = it["restartPolicy"] == "Always";
            let role = if sidecar { Role::Sidecar } else { Role::Init };
            // An init container that ended well is never started again.
            let restart = match (sidecar, of_pod) {
                (true, _) => Restart::Always,
                (false, Restart::Never) => Restart::Never,
                (false, Restart::Always | Restart::OnFailure) => Restart::OnFailure,
            };
            Self::read(it, role, restart)
        });
        let main = items(&spec["containers"]).iter().map(|it| {
            let own = it["restartPolicy"].as_str().map(Restart::read);
            Self::read(it, Role::Main, own.unwrap_or(of_pod))
        });
        init.chain(main).collect()
    }

    fn read(container: &Value, role: Role, restart: Restart) -> Self {
        let hook = &container["lifecycle"]["preStop"];
        let rules = items(&container["restartPolicyRules"]).iter();
        Self {
            name: text(&container["name"]).into(),
            image: text(&container["image"]).into(),
            role,
            probes: Probes::read(container),
            restart,
            rules: rules
                .filter(|rule| rule["action"] == "Restart")
                .map(|rule| {
                    let codes = &rule["exitCodes"];
                    let values = items(&codes["values"]).iter().filter_map(Value::as_i64);
                    (codes["operator"] == "In", values.collect())
                })
                .collect(),
            // A hook that sleeps says itself for how long.
            pre_stop: hook
                .is_object()
                .then(|| Span::secs(hook["sleep"]["seconds"].as_u64().unwrap_or(0))),
            never_pulled: container["imagePullPolicy"] == "Never",
            life: Life::Waiting,
            restarts: 0,
            crashes: 0,
            last: None,
        }
    }

    /// What it does.
    pub(crate) fn program<'a>(&self, behaviour: &'a Behaviour) -> &'a Program {
        static AT_ONCE: OnceLock<Program> = OnceLock::new();
        match (behaviour.containers.get(&*self.name), self.role) {
            (Some(program), _) => program,
            (None, Role::Init) => AT_ONCE.get_or_init(|| Program {
                runtime: Runtime::For(Spread::Fixed(Span::ZERO)),
                ..Program::default()
            }),
            (None, Role::Sidecar) => {
                static FOR_EVER: OnceLock<Program> = OnceLock::new();
                FOR_EVER.get_or_init(Program::default)
            }
            (None, Role::Main) => &behaviour.program,
        }
    }

    /// Whether it runs, on its way out or not.
    pub(crate) fn running(&self) -> bool {
        matches!(self.life, Life::Running { .. } | Life::Stopping { .. })
    }

    pub(crate) fn ended(&self) -> Option<Exit> {
        match self.life {
            Life::Ended(exit) => Some(exit),
            Life::Waiting
            | Life::Starting { .. }
            | Life::Pulling { .. }
            | Life::Unpulled { .. }
            | Life::Running { .. }
            | Life::BackOff { .. }
            | Life::Stopping { .. } => None,
        }
    }

    /// Whether its start-up probe, if it has one, was answered.
    pub(crate) fn started(&self, now: Time) -> bool {
        match &self.life {
            Life::Running { health, .. } => health.started.is_some_and(|at| at <= now),
            Life::Stopping { .. } => true,
            Life::Waiting
            | Life::Starting { .. }
            | Life::Pulling { .. }
            | Life::Unpulled { .. }
            | Life::BackOff { .. }
            | Life::Ended(_) => false,
        }
    }

    pub(crate) fn ready(&self, now: Time) -> bool {
        match &self.life {
            Life::Running { health, .. } => {
                health.ready.is_some_and(|at| at <= now)
                    && health.unready.is_none_or(|until| now < until)
            }
            Life::Stopping { ready, .. } => *ready,
            Life::Waiting
            | Life::Starting { .. }
            | Life::Pulling { .. }
            | Life::Unpulled { .. }
            | Life::BackOff { .. }
            | Life::Ended(_) => false,
        }
    }

    /// When something happens to it by itself, after `now`.
    pub(crate) fn next_change(&self, now: Time) -> Option<Time> {
        match &self.life {
            Life::Starting { until }
            | Life::Pulling { until }
            | Life::Unpulled { until, .. }
            | Life::BackOff { until, .. }
            | Life::Stopping { until, .. } => Some(*until),
            Life::Running { ends, health, .. } => {
                let flips = [health.started, health.ready, health.unready].into_iter().flatten();
                let flips = flips.filter(|at| now < *at);
                flips.chain(*ends).chain(health.killed.map(|(at, _)| at)).min()
            }
            Life::Waiting | Life::Ended(_) => None,
        }
    }

    /// How its program ends when its time is over.
    pub(crate) fn own_exit(&self, behaviour: &Behaviour, started: Time, finished: Time) -> Exit {
        let program = self.program(behaviour);
        match program.crashes.filter(|it| self.restarts < it.count) {
            Some(crash) => Exit::new(crash.exit_code, started, finished),
            None if program.out_of_memory => {
                Exit { reason: "OOMKilled", ..Exit::new(KILLED, started, finished) }
            }
            None => Exit::new(program.exit_code, started, finished),
        }
    }

    /// TERM at `now`: it ends after its own time to stop, by itself if that comes first, or is
    /// killed when its grace is over.
    pub(crate) fn stop(&mut self, now: Time, grace: Span, behaviour: &Behaviour) {
        let program = self.program(behaviour);
        let ready = self.ready(now);
        let Life::Running { since, ends, .. } = self.life else { return };
        let own_end = ends.map(|at| (at, self.own_exit(behaviour, since, at).code));
        let hook = self.pre_stop.map_or(Span::ZERO, |hook| hook.max(program.pre_stop));
        let kill_at = if grace <= hook && hook > Span::ZERO && grace > Span::ZERO {
            now + grace + LEAST_GRACE
        } else {
            now + grace
        };
        let obey = (now + hook.min(grace) + program.stop, program.stop_exit_code);
        let kill = (kill_at, KILLED);
        // Of equal times the gentlest counts.
        let ends = own_end.into_iter().chain([obey, kill]);
        let (until, exit) = ends.min_by_key(|(at, _)| *at).unwrap_or(kill);
        self.life = Life::Stopping { since, asked: now, grace, until, exit, ready };
    }

    /// Somebody asked again, with less grace.
    pub(crate) fn hurry(&mut self, now: Time, shorter: Span) {
        if let Life::Stopping { asked, grace, until, exit, .. } = &mut self.life {
            *grace = shorter;
            let kill = (*asked + shorter).max(now);
            if kill < *until {
                *until = kill;
                *exit = KILLED;
            }
        }
    }

    /// It ended: it's started again, or not.
    pub(crate) fn exit(&mut self, exit: Exit, stopping: bool) {
        let code = i64::from(exit.code);
        let ruled = self.rules.iter().any(|(listed, codes)| codes.contains(&code) == *listed);
        let again = self.restart.after(exit.code) || (ruled && exit.code != 0);
        self.last = Some(exit);
        if stopping || !again {
            self.life = Life::Ended(exit);
            return;
        }
        let forgiven = CRASH_FORGIVEN <= exit.finished - exit.started;
        let wait = match self.crashes {
            0 => Span::ZERO,
            _ if forgiven => Span::ZERO,
            n => CRASH_WAIT.times(1 << (n - 1).min(10)).min(CRASH_WAIT_MAX),
        };
        self.crashes = if forgiven { 1 } else { self.crashes + 1 };
        self.life = Life::BackOff { until: exit.finished + wait, wait };
    }

    /// Its image can't be had.
    pub(crate) fn unpulled(&mut self, now: Time, why: &str) {
        let wait = if let Life::Unpulled { wait, .. } = self.life {
            wait.times(2).min(CRASH_WAIT_MAX)
        } else {
            CRASH_WAIT
        };
        self.life = Life::Unpulled { until: now + wait, wait, why: why.into() };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::secs(secs)
    }

    fn container(spec: &Value) -> Container {
        let mut all =
            Container::read_all(&json!({"restartPolicy": "Always", "containers": [spec]}));
        all.remove(0)
    }

    #[test]
    fn term_ends_a_container_by_whatever_comes_first() {
        #[rustfmt::skip]
        let rows = [
            // its own end  hook  stop  grace  until  exit
            (None,          0,    1,    30,    11,    143),
            (None,          0,    60,   30,    40,    137),
            (None,          0,    30,   30,    40,    143),
            (Some(15),      0,    60,   30,    15,    7),
            (Some(15),      0,    1,    30,    11,    143),
            (None,          0,    1,    0,     10,    137),
            (None,          5,    1,    30,    16,    143),
            (None,          40,   1,    30,    41,    143),
            (None,          40,   9,    30,    42,    137),
        ];
        for (end, hook, stop, grace, ends_at, code) in rows {
            let behaviour = Behaviour {
                program: Program {
                    stop: Span::secs(stop),
                    exit_code: 7,
                    pre_stop: Span::secs(hook),
                    ..Program::default()
                },
                ..Behaviour::default()
            };
            let mut it = container(&json!({"lifecycle": {"preStop": {"exec": {}}}}));
            it.life = Life::Running { since: at(0), ends: end.map(at), health: Health::default() };
            it.stop(at(10), Span::secs(grace), &behaviour);
            let Life::Stopping { until, exit, .. } = it.life else { panic!("{:?}", it.life) };
            assert_eq!((until, exit), (at(ends_at), code), "{end:?} {hook} {stop} {grace}");
        }
    }

    #[test]
    fn crashes_are_waited_for_longer_each_time_and_forgiven_after_a_long_run() {
        let mut it = container(&json!({}));
        let mut waits = vec![];
        for _ in 0..8 {
            it.exit(Exit::new(1, at(0), at(5)), false);
            let Life::BackOff { wait, .. } = it.life else { panic!("{:?}", it.life) };
            waits.push(wait.as_secs());
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
        it.exit(Exit::new(1, at(0), at(700)), false);
        assert_eq!(it.life, Life::BackOff { until: at(700), wait: Span::ZERO });
    }

    #[test]
    fn policies_and_rules_say_what_is_started_again() {
        let rules = json!([{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]);
        #[rustfmt::skip]
        let rows = [
            (json!({}),                                                      0,  true),
            (json!({"restartPolicy": "OnFailure"}),                          0,  false),
            (json!({"restartPolicy": "OnFailure"}),                          1,  true),
            (json!({"restartPolicy": "Never"}),                              1,  false),
            (json!({"restartPolicy": "Never", "restartPolicyRules": rules}), 42, true),
            (json!({"restartPolicy": "Never", "restartPolicyRules": rules}), 1,  false),
        ];
        for (spec, code, again) in rows {
            let mut it = container(&spec);
            it.exit(Exit::new(code, at(0), at(5)), false);
            assert_eq!(it.ended().is_none(), again, "{spec} {code}");
        }
    }
}

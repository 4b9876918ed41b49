//! The life of one pod on its node: whose turn it is, and what happens next.
//!
//! [`Run::step`] finds what happens at a moment, [`Run::enter`] lets it happen.

use std::sync::Arc;

use drawbridge_sim::{Seed, Span, Time};

use super::{
    super::{
        behaviour::{Behaviour, ImagePull},
        demand::Demand,
        object::Key,
    },
    Group,
    container::{Container, Exit, Life, Role},
    images::Images,
    probe::{Health, Kind},
};

/// One pod on its node.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) uid: Arc<str>,
    pub(crate) node: Arc<str>,
    pub(crate) demand: Arc<Demand>,
    pub(crate) behaviour: Arc<Behaviour>,
    /// The program that it's a rank of.
    pub(crate) group: Option<Group>,
    pub(crate) uses_node: bool,
    pub(crate) admitted: Time,
    /// Up to when all that happened is known.
    pub(crate) seen: Time,
    /// When it must be over, by its own spec.
    pub(crate) deadline: Option<Time>,
    /// The grace in its spec.
    pub(crate) grace: Span,
    pub(crate) containers: Vec<Container>,
    pub(crate) stage: Stage,
    pub(crate) rank: Rank,
    /// The switch that its node is on, where that matters.
    pub(crate) switch: String,
    /// On how many of them its program was when the ranks met.
    pub(crate) switches: usize,
}

/// What the pod as a whole is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Alive,
    /// It was told to stop.
    Stopping {
        since: Time,
        grace: Span,
        why: Option<Why>,
    },
    /// Nothing of it runs any more.
    Ended {
        at: Time,
        why: Option<Why>,
    },
}

/// Why the kubelet ends a pod that nobody deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It ran longer than it may.
    Deadline,
    /// The node is short of this.
    Pressure(&'static str),
}

/// How far a rank of an MPI program got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// It's none, or hasn't started.
    No,
    /// It waits for the others.
    Waiting,
    /// It has met them.
    Met,
    /// It's done and waits until the others are.
    Done,
}

/// What a run's next step depends on.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) now: Time,
    /// The grace, if its deletion was asked for.
    pub(crate) grace: Option<Span>,
    /// The kubelet ends it.
    pub(crate) evicted: Option<Why>,
    /// Whether all ranks of its program run.
    pub(crate) complete: bool,
    /// On how many switches they are.
    pub(crate) switches: usize,
    /// When it notices that a rank of its program failed.
    pub(crate) aborts: Option<Time>,
    /// Whether all ranks of its program are done.
    pub(crate) all_done: bool,
}

/// What a run needs to go on.
pub(crate) struct Means<'a> {
    pub(crate) seed: Seed,
    pub(crate) key: &'a Key,
    pub(crate) images: &'a mut Images,
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A container is started, if its image is there.
    Begin(usize),
    /// Its image is there.
    Run(usize),
    /// Its program ended.
    Exit(usize, Exit),
    /// It failed a probe once too often.
    Unhealthy(usize, Kind),
    /// All ranks are here, on so many switches.
    Meet(usize),
    /// This rank is done before the others.
    Done,
    /// The pod is told to stop.
    Stop(Span, Option<Why>),
    /// It's told again, with less grace.
    Hurry(Span),
    /// A sidecar isn't needed any more.
    Dismiss(usize, Span),
    /// Nothing of it runs any more.
    End,
}

impl Run {
    /// Whether any of its main containers runs.
    pub(crate) fn running(&self) -> bool {
        self.main().any(Container::running)
    }

    pub(crate) fn main(&self) -> impl Iterator<Item = &Container> {
        self.containers.iter().filter(|it| it.role == Role::Main)
    }

    /// Whether the init containers have ended well, and the sidecars are up.
    pub(crate) fn initialized(&self, now: Time) -> bool {
        self.turn_of(self.containers.len(), now)
    }

    /// Whether everything before this container is as far as it must be.
    fn turn_of(&self, at: usize, now: Time) -> bool {
        let before = self.containers[..at].iter().filter(|it| it.role != Role::Main);
        let mut ready = before.map(|it| match it.role {
            Role::Sidecar => it.started(now) || it.restarts > 0,
            Role::Init | Role::Main => it.ended().is_some_and(|exit| exit.code == 0),
        });
        ready.all(|ready| ready)
    }

    /// Whether an init container has failed for good.
    pub(crate) fn init_failed(&self) -> bool {
        let mut init = self.containers.iter().filter(|it| it.role == Role::Init);
        init.any(|it| it.ended().is_some_and(|exit| exit.code != 0))
    }

    /// Whether its main work is over, well or not.
    fn over(&self) -> bool {
        self.init_failed() || self.main().all(|it| it.ended().is_some())
    }

    /// When something happens by itself, after `now`.
    pub(crate) fn next_change(&self, now: Time) -> Option<Time> {
        let deadline = match self.stage {
            Stage::Alive => self.deadline,
            Stage::Stopping { .. } => None,
            Stage::Ended { .. } => return None,
        };
        let own = self.containers.iter().filter_map(|it| {
            // Its time is over, but not that of the others.
            let waits = self.rank == Rank::Done && it.role == Role::Main;
            let waits = waits && matches!(it.life, Life::Running { .. });
            if waits { None } else { it.next_change(now) }
        });
        own.chain(deadline).min()
    }

    /// What happens at this moment, if anything does.
    pub(crate) fn step(&self, seen: &Seen) -> Option<Turn> {
        let now = seen.now;
        match &self.stage {
            Stage::Ended { .. } => None,
            Stage::Alive => self.told_to_stop(seen).or_else(|| self.live(seen)),
            Stage::Stopping { since, grace, .. } => {
                let shorter = seen.grace.filter(|asked| asked < grace);
                let left = Span::ms(grace.as_ms().saturating_sub(now.since(*since).as_ms()));
                shorter.map(Turn::Hurry).or_else(|| self.wind_up(now, left))
            }
        }
    }

    fn told_to_stop(&self, seen: &Seen) -> Option<Turn> {
        let late = self.deadline.is_some_and(|deadline| deadline <= seen.now);
        // What ends by itself at this very moment isn't stopped.
        let ending = |it: &Container| matches!(it.life, Life::Running { ends: Some(ends), .. } if ends <= seen.now);
        if self.containers.iter().any(ending) && self.rank != Rank::Done {
            return None;
        }
        match (seen.grace, late, &seen.evicted) {
            (Some(grace), _, _) => Some(Turn::Stop(grace, None)),
            (None, true, _) => Some(Turn::Stop(self.grace, Some(Why::Deadline))),
            (None, false, Some(why)) => Some(Turn::Stop(Span::ZERO, Some(why.clone()))),
            (None, false, None) => None,
        }
    }

    fn live(&self, seen: &Seen) -> Option<Turn> {
        if self.rank == Rank::Waiting && seen.complete && self.running() {
            return Some(Turn::Meet(seen.switches));
        }
        if self.over() {
            return self.wind_up(seen.now, self.grace);
        }
        self.containers.iter().enumerate().find_map(|(at, it)| self.live_on(at, it, seen))
    }

    fn live_on(&self, at: usize, it: &Container, seen: &Seen) -> Option<Turn> {
        let now = seen.now;
        match &it.life {
            Life::Waiting => self.turn_of(at, now).then_some(Turn::Begin(at)),
            Life::Starting { until }
            | Life::BackOff { until, .. }
            | Life::Unpulled { until, .. } => (*until <= now).then_some(Turn::Begin(at)),
            Life::Pulling { until } => (*until <= now).then_some(Turn::Run(at)),
            Life::Running { since, ends, health } => {
                self.run_on(at, it, (*since, *ends, health), seen)
            }
            Life::Stopping { .. } => stopped(at, it, now),
            Life::Ended(_) => None,
        }
    }

    fn run_on(
        &self,
        at: usize,
        it: &Container,
        (since, ends, health): (Time, Option<Time>, &Health),
        seen: &Seen,
    ) -> Option<Turn> {
        let now = seen.now;
        let rank = it.role == Role::Main && self.group.is_some();
        if let Some(aborts) = seen.aborts.filter(|aborts| rank && *aborts <= now) {
            return Some(Turn::Exit(at, Exit::new(1, since, aborts.max(since))));
        }
        if let Some(ends) = ends.filter(|ends| *ends <= now) {
            let together = self.behaviour.mpi.as_ref().is_some_and(|mpi| mpi.finalize);
            return match (rank && together, self.rank, seen.all_done) {
                (true, Rank::Done, false) => None,
                (true, Rank::No | Rank::Waiting | Rank::Met, _) => Some(Turn::Done),
                (true, Rank::Done, true) => {
                    Some(Turn::Exit(at, it.own_exit(&self.behaviour, since, now)))
                }
                (false, ..) => Some(Turn::Exit(at, it.own_exit(&self.behaviour, since, ends))),
            };
        }
        let (killed, kind) = health.killed?;
        (killed <= now).then_some(Turn::Unhealthy(at, kind))
    }

    /// The end: containers end, then sidecars, the last one first.
    fn wind_up(&self, now: Time, left: Span) -> Option<Turn> {
        let ending = self.containers.iter().enumerate();
        if let Some(turn) = ending.filter_map(|(at, it)| stopped(at, it, now)).next() {
            return Some(turn);
        }
        let mut sidecars = self.containers.iter().enumerate().rev().filter(|(_, it)| {
            it.role == Role::Sidecar && it.ended().is_none() && !matches!(it.life, Life::Waiting)
        });
        match (self.over(), sidecars.next()) {
            (true, Some((_, it))) if matches!(it.life, Life::Stopping { .. }) => None,
            (true, Some((at, _))) => Some(Turn::Dismiss(at, left)),
            (true, None) => Some(Turn::End),
            (false, _) => None,
        }
    }

    /// Lets a turn happen that [`Run::step`] found.
    pub(crate) fn enter(&mut self, now: Time, turn: &Turn, means: &mut Means<'_>) {
        match turn {
            Turn::Begin(at) => self.begin(now, *at, means),
            Turn::Run(at) => self.start(now, *at, means),
            Turn::Exit(at, exit) => {
                let stopping = !matches!(self.stage, Stage::Alive);
                let sidecar_over = self.containers[*at].role == Role::Sidecar && self.over();
                self.containers[*at].exit(*exit, stopping || sidecar_over);
                if self.group.is_some() && !self.running() {
                    self.rank = Rank::No;
                }
            }
            Turn::Unhealthy(at, _) => {
                let behaviour = self.behaviour.clone();
                let mut grace = self.grace;
                if let Life::Running { health, .. } = &self.containers[*at].life {
                    grace = health.grace.unwrap_or(grace);
                }
                self.containers[*at].stop(now, grace, &behaviour);
            }
            Turn::Meet(switches) => self.meet(now, *switches, means),
            Turn::Done => self.rank = Rank::Done,
            Turn::Stop(grace, why) => self.stop(now, *grace, why.clone()),
            Turn::Hurry(shorter) => {
                if let Stage::Stopping { grace, .. } = &mut self.stage {
                    *grace = *shorter;
                }
                self.containers.iter_mut().for_each(|it| it.hurry(now, *shorter));
            }
            Turn::Dismiss(at, grace) => self.dismiss(now, *at, *grace),
            Turn::End => {
                let why = match &self.stage {
                    Stage::Stopping { why, .. } => why.clone(),
                    Stage::Alive | Stage::Ended { .. } => None,
                };
                self.stage = Stage::Ended { at: now, why };
            }
        }
    }

    fn begin(&mut self, now: Time, at: usize, means: &mut Means<'_>) {
        let image = self.containers[at].image.clone();
        let pull = self.behaviour.image_pull.clone();
        let has = means.images.has(now, &self.node, &image);
        match pull {
            Some(ImagePull::Fails(why)) => self.containers[at].unpulled(now, &why),
            Some(ImagePull::Takes(spread)) if !has => {
                if self.containers[at].never_pulled {
                    let why = "ErrImageNeverPull";
                    self.containers[at].unpulled(now, why);
                    return;
                }
                let purpose = format!("pull/{}/{image}", self.node);
                let takes = spread.draw(means.seed, &purpose);
                let until = means.images.pull(now, &self.node, &image, takes);
                self.containers[at].life = Life::Pulling { until };
            }
            Some(ImagePull::Takes(_)) | None => self.start(now, at, means),
        }
    }

    fn start(&mut self, now: Time, at: usize, means: &mut Means<'_>) {
        let rank = self.group.is_some() && self.containers[at].role == Role::Main;
        if matches!(self.containers[at].life, Life::BackOff { .. }) {
            self.containers[at].restarts += 1;
        }
        let it = &self.containers[at];
        let program = it.program(&self.behaviour);
        let health = match &it.probes {
            Some(probes) => probes.find(now, program),
            None => Health { started: Some(now), ready: Some(now), ..Health::default() },
        };
        let ends = if rank { None } else { self.ends(now, at, means) };
        self.containers[at].life = Life::Running { since: now, ends, health };
        if rank {
            self.rank = Rank::Waiting;
        }
    }

    /// When the program of a container ends by itself, if it begins its work now.
    fn ends(&self, now: Time, at: usize, means: &Means<'_>) -> Option<Time> {
        let it = &self.containers[at];
        let program = it.program(&self.behaviour);
        if let Some(crash) = program.crashes.filter(|crash| it.restarts < crash.count) {
            return Some(now + crash.after);
        }
        let purpose = match self.behaviour.containers.contains_key(&*it.name) {
            true => format!("runtime/{}/{}/{}", means.key, it.name, it.restarts),
            false => format!("runtime/{}/{}", means.key, it.restarts),
        };
        program.runtime.draw(means.seed, &purpose).map(|runtime| now + runtime)
    }

    fn meet(&mut self, now: Time, switches: usize, means: &Means<'_>) {
        self.rank = Rank::Met;
        self.switches = switches;
        let mpi = self.behaviour.mpi.as_ref();
        let permille = mpi.map_or(1000, |mpi| mpi.permille(&means.key.name, switches));
        for at in 0..self.containers.len() {
            let until = self.ends(now, at, means);
            let until = until.map(|until| now + (until - now).permille(permille));
            let it = &mut self.containers[at];
            if let (Role::Main, Life::Running { ends, .. }) = (it.role, &mut it.life) {
                *ends = until;
            }
        }
    }

    fn stop(&mut self, now: Time, grace: Span, why: Option<Why>) {
        let behaviour = self.behaviour.clone();
        for it in &mut self.containers {
            match (&it.life, it.role) {
                (Life::Running { .. }, Role::Sidecar)
                | (Life::Stopping { .. } | Life::Ended(_), _) => {}
                (Life::Running { .. }, Role::Init | Role::Main) => it.stop(now, grace, &behaviour),
                (Life::BackOff { .. }, _) => {
                    it.life = Life::Ended(it.last.unwrap_or(Exit::unborn(now)));
                }
                (
                    Life::Waiting
                    | Life::Starting { .. }
                    | Life::Pulling { .. }
                    | Life::Unpulled { .. },
                    _,
                ) => it.life = Life::Ended(Exit::unborn(now)),
            }
        }
        self.stage = Stage::Stopping { since: now, grace, why };
    }

    fn dismiss(&mut self, now: Time, at: usize, grace: Span) {
        let behaviour = self.behaviour.clone();
        let it = &mut self.containers[at];
        if matches!(it.life, Life::Running { .. }) {
            it.stop(now, grace, &behaviour);
        } else {
            it.life = Life::Ended(it.last.unwrap_or(Exit::unborn(now)));
        }
    }

    /// The machine lost its power at `at`: what ran there doesn't run any more.
    pub(crate) fn lose_power(&mut self, at: Time, now: Time, startup: Span) {
        let stopping = !matches!(self.stage, Stage::Alive);
        for it in &mut self.containers {
            match it.life {
                Life::Running { since, .. } | Life::Stopping { since, .. } => {
                    it.exit(Exit::lost(since, at.max(since)), stopping);
                    if let Life::BackOff { until, .. } = &mut it.life {
                        *until = now + startup;
                    }
                }
                Life::Starting { .. } | Life::Pulling { .. } | Life::Unpulled { .. } => {
                    it.life = Life::Starting { until: now + startup };
                }
                Life::Waiting | Life::BackOff { .. } | Life::Ended(_) => {}
            }
        }
        if self.group.is_some() {
            self.rank = Rank::No;
        }
    }
}

/// The end of a container that got TERM, if its time has come.
fn stopped(at: usize, it: &Container, now: Time) -> Option<Turn> {
    let Life::Stopping { since, until, exit, .. } = it.life else { return None };
    (until <= now).then(|| Turn::Exit(at, Exit::new(exit, since, until)))
}

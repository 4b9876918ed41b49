//! The loop around the core: one place that waits, one that reads the clock, none that decides.
//!
//! ```text
//!        ┌──────────────── replies, watch events, the clock, "stop" ◀────────────────┐
//!        ▼                                                                            │
//!   journal ─▶ core.step(now, input) ─▶ effects ─▶ journal ─▶ a task for each request ─┤
//!                                          ├─ WakeAt: the clock                        │
//!                                          └─ StepDown, Exit: this life is over        │
//! ```
//!
//! One effect is one request. Its task sends it, waits no longer than the core does, and tells what came
//! of it. Start at [`Shell::live`].

mod errands;
mod voice;

use std::collections::BTreeMap;

use drawbridge_core::{Bridge, Config, Effect, Input, Instance, StreamId};
use drawbridge_sim::Time;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use self::errands::Errands;
use crate::{clock::Clock, journal::Began, kube::KubeClient, slurm::client::Client};

pub use voice::{Status, Voice};

/// Both sides, as the shell reaches them.
#[derive(Clone, Debug)]
pub struct Sides {
    /// The Kubernetes API server.
    pub kube: KubeClient,
    /// The slurmrestd servers.
    pub slurm: std::sync::Arc<Client>,
    /// Nothing is to be changed: Kubernetes is asked whether it would, Slurm isn't asked at all.
    pub dry_run: bool,
}

/// How a life of the bridge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Another leads now, or may: begin the next life.
    SteppedDown,
    /// It was told to end, and has let go.
    Stopped,
}

/// One life of the bridge, and what surrounds it.
pub struct Shell<C, V> {
    core: Bridge,
    clock: C,
    voice: V,
    errands: Errands,
    watches: BTreeMap<StreamId, AbortHandle>,
    wake_at: Option<Time>,
    news: mpsc::UnboundedReceiver<Input>,
    tasks: JoinSet<()>,
}

impl<C: Clock, V: Voice> Shell<C, V> {
    /// A life that is about to begin.
    pub fn new(config: &Config, instance: &Instance, sides: Sides, clock: C, mut voice: V) -> Self {
        let (to, news) = mpsc::unbounded_channel();
        voice.began(clock.now(), &Began::now(config.clone(), instance.clone()));
        Self {
            core: Bridge::new(config.clone(), instance.clone()),
            clock,
            voice,
            errands: Errands { sides, to },
            watches: BTreeMap::new(),
            wake_at: None,
            news,
            tasks: JoinSet::new(),
        }
    }

    /// Lives until it steps down or has stopped. `stop` is told once, when the process is to end.
    pub async fn live(&mut self, stop: &mut mpsc::Receiver<()>) -> Ended {
        let mut input = Input::Started;
        loop {
            if let Some(ended) = self.step(input) {
                self.tasks.shutdown().await;
                return ended;
            }
            input = self.next(stop).await;
        }
    }

    /// Waits for whatever comes first.
    async fn next(&mut self, stop: &mut mpsc::Receiver<()>) -> Input {
        loop {
            tokio::select! {
                biased;
                Some(()) = stop.recv() => return Input::Stopping,
                Some(input) = self.news.recv() => return input,
                () = self.clock.sleep_until(self.wake_at) => {
                    self.wake_at = None;
                    return Input::Woke;
                }
                // Tasks that are done are swept up; what they had to say is among the news.
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    /// Tells the core, and does what it wants done.
    fn step(&mut self, input: Input) -> Option<Ended> {
        let now = self.clock.now();
        self.voice.input(now, &input);
        let effects = self.core.step(now, input);
        self.voice.facts(now, self.core.take_facts());
        let mut ended = None;
        for effect in effects {
            self.voice.effect(now, &effect);
            ended = self.perform(effect).or(ended);
        }
        self.voice.status(|| Status::of(&self.core, &self.errands.sides));
        ended
    }

    fn perform(&mut self, effect: Effect) -> Option<Ended> {
        match effect {
            Effect::Kube { call, limits, request } => {
                self.tasks.spawn(self.errands.kube(&self.clock, call, limits, request));
            }
            Effect::Slurm { call, via, limits, request } => {
                self.tasks.spawn(self.errands.slurm(&self.clock, call, via, limits, request));
            }
            Effect::KubeWatch { stream, request } => {
                let watch = self.tasks.spawn(self.errands.watch(stream, request));
                self.watches.retain(|_, watch| !watch.is_finished());
                self.watches.insert(stream, watch);
            }
            Effect::Unwatch { stream } => {
                if let Some(watch) = self.watches.remove(&stream) {
                    watch.abort();
                }
            }
            Effect::WakeAt(at) => self.wake_at = Some(at),
            Effect::StepDown => return Some(Ended::SteppedDown),
            Effect::Exit => return Some(Ended::Stopped),
        }
        None
    }
}

impl<C, V> std::fmt::Debug for Shell<C, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shell with {} open watches", self.watches.len())
    }
}

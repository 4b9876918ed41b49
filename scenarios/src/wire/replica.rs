//! One shell: a life of the bridge with its clients, in this process.

use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_bridge::{
    journal::Began,
    kube::KubeClient,
    shell::{Shell, Sides, Status, Voice},
    slurm::client::{Address, Client, Settings, TokenSource},
};
use drawbridge_core::{BridgeFact, Effect, Input, Role};
use drawbridge_sim::Time;
use tokio::{
    sync::{Notify, mpsc},
    task::AbortHandle,
};

use super::{
    clock::{ShellClock, TwinClock},
    doors::Doors,
};
use crate::world::{World, process::Life, wire};

/// How long the bridge's token is good: longer than any scenario lasts.
const TOKEN_SECONDS: u64 = 100 * 365 * 86_400;

/// A shell that runs. It dies with this.
pub(super) struct Replica {
    alarm: Arc<Notify>,
    stop: mpsc::Sender<()>,
    told: Told,
    task: AbortHandle,
}

impl Replica {
    /// Starts a life. `None` if the world has no such process.
    pub(super) fn start(
        world: &World,
        life: Life,
        time: &TwinClock,
        doors: &Doors,
    ) -> Option<Self> {
        let (config, instance) = world.life(life)?;
        let unix = instance.epoch.unix(Time::ZERO);
        let token = wire::key().mint("slurm", unix, TOKEN_SECONDS);
        let servers = 0..config.slurm_rest_api.0.len();
        let addresses = servers.map(|server| Address::Memory(doors.slurm(life, server)));
        let mut settings = Settings::new(addresses.collect());
        settings.token = TokenSource::Text(token);
        let slurm = Arc::new(Client::new(settings).ok()?);
        let sides = Sides { kube: KubeClient::in_memory(doors.kube(life)), slurm, dry_run: false };
        let alarm = Arc::new(Notify::new());
        let clock = ShellClock { time: time.clone(), alarm: alarm.clone() };
        let told = Told::default();
        let mut shell = Shell::new(&config, &instance, sides, clock, told.clone());
        let (stop, mut stopped) = mpsc::channel(1);
        let task = tokio::spawn(async move { shell.live(&mut stopped).await }).abort_handle();
        Some(Self { alarm, stop, told, task })
    }

    pub(super) fn wake(&mut self) {
        self.alarm.notify_one();
    }

    pub(super) fn stop(&mut self) {
        // Who doesn't listen has ended already.
        let _ = self.stop.try_send(());
    }

    /// Tells the world what the shell told.
    pub(super) fn tell(&self, life: Life, world: &mut World) {
        for word in self.told.take() {
            match word {
                Word::Input(input) => world.told_input(&input),
                Word::Effect(effect) => world.told_effect(life, effect),
                Word::Facts(facts) => world.told_facts(life, facts),
                Word::Leads(leads) => world.told_leading(life, leads),
            }
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One thing that a shell told.
enum Word {
    Input(Box<Input>),
    Effect(Effect),
    Facts(Vec<BridgeFact>),
    Leads(bool),
}

/// What a shell told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Word>>>);

impl Told {
    fn take(&self) -> Vec<Word> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, word: Word) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(word);
    }
}

impl Voice for Told {
    fn began(&mut self, _now: Time, _began: &Began) {}

    fn input(&mut self, _now: Time, input: &Input) {
        self.push(Word::Input(Box::new(input.clone())));
    }

    fn effect(&mut self, _now: Time, effect: &Effect) {
        self.push(Word::Effect(effect.clone()));
    }

    fn facts(&mut self, _now: Time, facts: Vec<BridgeFact>) {
        self.push(Word::Facts(facts));
    }

    fn status(&mut self, status: impl FnOnce() -> Status) {
        self.push(Word::Leads(status().role == Role::Leading));
    }
}

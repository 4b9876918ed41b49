//! A dry run: what the bridge would do if it were let, once both sides have said what there is.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_core::{BridgeFact, Effect, Input, KubeReply};
use drawbridge_sim::Time;
use tokio::{sync::mpsc, time::Instant};

use super::{DaemonError, Plan, connect, lives};
use crate::{
    clock::SystemClock,
    journal::Began,
    observe::slurm_trouble,
    shell::{Status, Voice},
};

/// When nothing new was wanted for so long, everything was said.
const QUIET: Duration = Duration::from_secs(5);
/// How long both sides may take to say what there is.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// What would be done, each once, in order.
    pub wanted: Vec<String>,
    /// What the bridge came to know.
    pub learned: Vec<String>,
    /// What Kubernetes would refuse.
    pub refused: Vec<String>,
    /// Why it was given up, if it was.
    pub unreachable: Option<String>,
}

/// Lets the bridge decide, and changes nothing.
pub async fn rehearse(plan: &Plan) -> Result<Rehearsal, DaemonError> {
    let clock = SystemClock::start();
    let sides = connect(plan).await?;
    let notes = Notes::default();
    let (tell, mut stop) = mpsc::channel(1);
    let watcher = tokio::spawn(wait(notes.clone(), tell));
    lives(&plan.settings, &sides, clock, &mut notes.clone(), &mut stop).await;
    watcher.abort();
    let done = notes.lock().rehearsal.clone();
    Ok(done)
}

/// Says when there is nothing more to come.
async fn wait(notes: Notes, tell: mpsc::Sender<()>) {
    let began = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut inner = notes.lock();
        let since = inner.last_news.unwrap_or(began);
        if !inner.is_synced && PATIENCE <= began.elapsed() {
            let trouble = inner.trouble.clone();
            inner.rehearsal.unreachable = Some(trouble.unwrap_or_else(|| "no answer".to_owned()));
            break;
        }
        if inner.is_synced && QUIET <= since.elapsed() {
            break;
        }
    }
    // Who doesn't listen has ended already.
    let _ = tell.try_send(());
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    rehearsal: Rehearsal,
    known: BTreeSet<String>,
    is_synced: bool,
    last_news: Option<Instant>,
    trouble: Option<String>,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something that wasn't said before.
    fn note(&self, text: String, list: fn(&mut Rehearsal) -> &mut Vec<String>) {
        let mut inner = self.lock();
        if inner.known.insert(text.clone()) {
            inner.last_news = Some(Instant::now());
            list(&mut inner.rehearsal).push(text);
        }
    }
}

impl Voice for Notes {
    fn began(&mut self, _now: Time, _began: &Began) {}

    fn input(&mut self, _now: Time, input: &Input) {
        if let Input::KubeReplied { outcome: Ok(KubeReply { status, body }), .. } = input
            && [401, 403].contains(status)
        {
            let said = body["message"].as_str().unwrap_or("no message").to_owned();
            self.note(said, |rehearsal| &mut rehearsal.refused);
        }
    }

    fn effect(&mut self, _now: Time, effect: &Effect) {
        let wanted = match effect {
            Effect::Kube { request, .. } if !request.reads_only() => request.to_string(),
            Effect::Slurm { request, .. } if !request.reads_only() => request.to_string(),
            Effect::Kube { .. }
            | Effect::Slurm { .. }
            | Effect::KubeWatch { .. }
            | Effect::Unwatch { .. }
            | Effect::WakeAt(_)
            | Effect::StepDown
            | Effect::Exit => return,
        };
        self.note(wanted, |rehearsal| &mut rehearsal.wanted);
    }

    fn facts(&mut self, _now: Time, facts: Vec<BridgeFact>) {
        for fact in facts {
            self.note(fact.to_string(), |rehearsal| &mut rehearsal.learned);
        }
    }

    fn status(&mut self, status: impl FnOnce() -> Status) {
        let Status { is_synced, kube_trouble, link, .. } = status();
        let mut inner = self.lock();
        inner.is_synced = is_synced;
        inner.trouble = kube_trouble.or_else(|| slurm_trouble(&link));
    }
}

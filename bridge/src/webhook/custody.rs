//! Drives the core's custodian: sends what it asks for, makes certificates, keeps its time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use drawbridge_core::{
    Lost,
    custody::{Custodian, CustodyEffect, CustodyInput, Pair},
};
use tokio::{task::JoinHandle, time::timeout};

use crate::{
    clock::{Clock, SystemClock},
    front::{self, Shown},
    kube::KubeClient,
};

/// How long the API server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A certificate that is being kept, until this is dropped.
#[derive(Debug)]
pub struct Custody {
    trouble: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Custody {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Custody {
    /// Keeps the certificate that is shown.
    pub fn start(custodian: Custodian, kube: KubeClient, clock: SystemClock, shown: Shown) -> Self {
        let trouble = Arc::new(Mutex::new(custodian.trouble().map(str::to_owned)));
        let keeper = Keeper { custodian, kube, clock, shown, trouble: trouble.clone() };
        Self { trouble, task: tokio::spawn(keeper.run()) }
    }

    /// Why webhooks may not work, if something is wrong.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Keeper {
    custodian: Custodian,
    kube: KubeClient,
    clock: SystemClock,
    shown: Shown,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Keeper {
    async fn run(mut self) {
        let mut input = CustodyInput::Woke;
        loop {
            let effects = self.custodian.step(self.clock.now(), input);
            let trouble = self.custodian.trouble().map(str::to_owned);
            self.tell(trouble);
            input = CustodyInput::Woke;
            for effect in effects {
                input = self.perform(effect).await;
            }
        }
    }

    /// Does one thing, and says what came of it.
    async fn perform(&self, effect: CustodyEffect) -> CustodyInput {
        match effect {
            CustodyEffect::Kube(request) => {
                let sent = timeout(PATIENCE, self.kube.send("custody", &request)).await;
                let late = |_| Err(Lost { why: "nothing came in time".to_owned() });
                CustodyInput::Replied(sent.unwrap_or_else(late))
            }
            CustodyEffect::Make(names) => CustodyInput::Made(self.make(&names).await),
            CustodyEffect::Use(pair) => {
                self.show(&pair);
                CustodyInput::Woke
            }
            CustodyEffect::WakeAt(at) => {
                self.clock.sleep_until(Some(at)).await;
                CustodyInput::Woke
            }
        }
    }

    fn show(&self, pair: &Pair) {
        match self.shown.set(pair) {
            Ok(()) => tracing::info!("a certificate for the webhooks is in use"),
            Err(error) => {
                tracing::error!(%error, "the certificate of the webhooks");
                self.tell(Some(error.to_string()));
            }
        }
    }

    /// The core waits for a certificate: one that can't be made now may be later.
    async fn make(&self, names: &[String]) -> Pair {
        loop {
            match front::make(names) {
                Ok(pair) => return pair,
                Err(error) => self.tell(Some(error.to_string())),
            }
            tokio::time::sleep(PATIENCE).await;
        }
    }

    fn tell(&self, trouble: Option<String>) {
        let mut told = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble != *told {
            match &trouble {
                Some(why) => tracing::warn!(%why, "the webhooks may not work"),
                None => tracing::info!("the webhooks are trusted"),
            }
            *told = trouble;
        }
    }
}

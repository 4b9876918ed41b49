//! The whole twin as live servers: Kubernetes, slurmrestd and the bridge between them on one clock.

use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_fakes::{Cluster, slurmrestd::Slurm};
use drawbridge_scenarios::{Level, Record, Scenario, World};
use drawbridge_server::{ClusterVisit, Hosted, KubeHost, Server, SlurmHost, SlurmServer};
use drawbridge_sim::Time;
use tokio::sync::Notify;

use super::{recording::End, slurm, state::State};
use crate::{
    args::ServeArgs,
    failure::{self, Failure},
};

/// Starts both servers over one world and waits until somebody stops them.
pub(super) async fn run(args: &ServeArgs) -> Result<(), Failure> {
    let state = State::of(args)?;
    let Some(scenario) = state.setting.scenario(state.epoch())? else {
        return Err(Failure::Process("there is no scenario to serve".to_owned()));
    };
    for note in &scenario.notes {
        super::eprint(&format!("note: {note}\n"));
    }
    let mut twin = Twin::new(state.setting.world(&scenario, state.seed)?, args.story);
    state.repeat(&mut twin);
    let twin = Arc::new(Mutex::new(twin));
    let poke = Arc::new(Notify::new());
    let kube = Hosted::<dyn KubeHost>::new(twin.clone(), state.clock, poke.clone());
    let rest = Hosted::<dyn SlurmHost>::new(twin.clone(), state.clock, poke);
    let key = slurm::key(&args.slurm.jwt_key)?;
    let slurmrestd = SlurmServer::over(rest.taped(state.tape()), slurm::places(args), key.clone());
    let slurmrestd = slurmrestd.await.map_err(|error| slurm::no_server(&error))?;
    let services = args.services.iter().cloned().collect();
    let keys = state.keys(args.kube_addr.ip())?;
    let server = Server::over(kube.taped(state.tape()), args.kube_addr, services, keys).await;
    let server = server.map_err(|error| super::no_server(&error))?;
    let token = slurm::root_token(args, &key)?;
    let kubeconfig = super::write_kubeconfig(args, &server)?;
    let text = format!(
        "export KUBECONFIG={}\n{}# Kubernetes API: https://{}, token {}\n{}# Stop with Ctrl-C.\n",
        kubeconfig.display(),
        slurm::exports(args, &slurmrestd, &token),
        server.address(),
        server.token(),
        about(&scenario),
    );
    failure::print(text.as_bytes())?;
    super::wait_for_end().await?;
    server.stop().await;
    slurmrestd.stop().await;
    let world = &twin.lock().unwrap_or_else(PoisonError::into_inner).world;
    state.end(world.now(), End { events: world.events(), hash: world.hash().to_string() });
    Ok(())
}

fn about(scenario: &Scenario) -> String {
    match &scenario.bridge {
        Some(bridge) => {
            format!("# The bridge takes pods with schedulerName: {}\n", bridge.scheduler_name)
        }
        None => "# There is no bridge.\n".to_owned(),
    }
}

/// A world that is served.
#[derive(Debug)]
pub(crate) struct Twin {
    world: World,
    ear: Ear,
}

/// Who hears what happens.
#[derive(Debug)]
enum Ear {
    Nobody,
    /// Whoever reads what is printed.
    Reader,
    /// It is kept.
    Listener(Vec<Record>),
}

impl Twin {
    fn new(world: World, story: bool) -> Self {
        let mut twin = Self { world, ear: if story { Ear::Reader } else { Ear::Nobody } };
        twin.tell();
        twin
    }

    /// One that keeps what happens.
    pub(crate) fn listening(world: World) -> Self {
        let mut twin = Self { world, ear: Ear::Listener(vec![]) };
        twin.tell();
        twin
    }

    /// Lets everything happen up to then; the world, and what was kept.
    pub(crate) fn finish(mut self, at: Time) -> (World, Vec<Record>) {
        KubeHost::wake(&mut self, at);
        match self.ear {
            Ear::Listener(records) => (self.world, records),
            Ear::Nobody | Ear::Reader => (self.world, vec![]),
        }
    }

    /// Tells what happened.
    fn tell(&mut self) {
        let records = self.world.take_records();
        match &mut self.ear {
            Ear::Nobody => return,
            Ear::Listener(kept) => return kept.extend(records),
            Ear::Reader => {}
        }
        let told = records.iter().filter(|record| record.level == Level::Story);
        let text: String = told.map(|record| format!("{record}\n")).collect();
        // Who closes the stream wants no more of it, and everything else goes on.
        let _ = failure::print(text.as_bytes());
    }
}

impl KubeHost for Twin {
    fn cluster(&self) -> &Cluster {
        self.world.cluster()
    }

    fn visit(&mut self, now: Time, change: &mut ClusterVisit<'_>) {
        self.world.visit_cluster(now, |cluster, hooks| change(cluster, hooks));
        self.tell();
    }

    fn wake(&mut self, now: Time) {
        self.world.advance(now);
        self.tell();
    }

    fn next_wake(&self) -> Option<Time> {
        self.world.next_at()
    }
}

impl SlurmHost for Twin {
    fn visit(&mut self, now: Time, change: &mut dyn FnMut(&mut Slurm)) {
        self.world.visit_slurm(now, change);
        self.tell();
    }

    fn wake(&mut self, now: Time) {
        KubeHost::wake(self, now);
    }

    fn next_wake(&self) -> Option<Time> {
        self.world.next_at()
    }
}

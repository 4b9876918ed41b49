//! Slow, unordered and unreliable: requests and replies take their time and overtake each other,
//! some are lost, and the bridge dies now and then while its requests are still on their way.

use std::collections::BTreeMap;

use drawbridge_core::{Effect, Input, slurm::ObservedState};
use drawbridge_sim::{Span, Time};
use proptest::prelude::*;
use serde_json::json;

use crate::town::{Fate, Town};

/// Something on its way.
#[derive(Clone)]
pub(crate) enum Parcel {
    Request(Effect, Option<Fate>),
    Reply(Input),
}

/// What is on its way, by arrival, and for which life of the bridge.
#[derive(Clone)]
pub(crate) struct Transit {
    parcels: BTreeMap<(Time, u64), (u32, Parcel)>,
    sent: u64,
    random: u64,
}

impl Transit {
    pub(crate) fn new(seed: u64) -> Self {
        Self { parcels: BTreeMap::new(), sent: 0, random: seed | 1 }
    }

    pub(crate) fn send(&mut self, now: Time, life: u32, parcel: Parcel) {
        // xorshift: any spread will do, as long as the seed decides it.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let most = match self.random % 16 {
            0 => 20_000,
            1..=4 => 2000,
            _ => 50,
        };
        let delay = Span::ms(self.random / 16 % most);
        self.sent += 1;
        self.parcels.insert((now + delay, self.sent), (life, parcel));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.parcels.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn take(&mut self) -> Option<(u32, Parcel)> {
        self.parcels.pop_first().map(|(_, parcel)| parcel)
    }
}

const PODS: [&str; 5] = ["w-0", "w-1", "w-2", "p", "q"];

fn play(seed: u64, fates: &[(usize, Fate)]) -> Town {
    let mut town = Town::new();
    town.make_slow(seed);
    for (nth, fate) in fates {
        town.fate_of_nth(*nth, *fate);
    }
    let mut town = town.start();
    town.group("g", 3);
    for pod in &PODS[..3] {
        town.pod(pod, 2, &json!({ "scheduling.x-k8s.io/pod-group": "g" }));
    }
    town.pod("p", 4, &json!({}));
    town.pod("q", 4, &json!({}));
    settle(&mut town, 30);
    town.delete("q");
    if town.kube.pod("q").is_some_and(|pod| pod["spec"]["nodeName"].is_string()) {
        town.phase("q", "Failed");
    }
    for pod in PODS {
        if town.kube.pod(pod).is_some_and(|pod| pod["spec"]["nodeName"].is_string()) {
            town.phase(pod, "Succeeded");
        }
    }
    settle(&mut town, 30);
    town.pass(900);
    town
}

/// Starts jobs as they come, and brings the bridge back when it died.
fn settle(town: &mut Town, rounds: usize) {
    for _ in 0..rounds {
        town.pass(4);
        town.restart_if_dead();
        town.slurm.start_all();
    }
}

/// One job of each workload ran its pods; whatever else was submitted was cancelled.
fn judge(town: &Town) -> Result<(), String> {
    let mut completed: BTreeMap<String, u32> = BTreeMap::new();
    for job in town.slurm.jobs.values() {
        let mark: serde_json::Value = serde_json::from_str(&job.admin_comment).unwrap();
        let count = completed.entry(mark["workload"].to_string()).or_default();
        if job.state == ObservedState::COMPLETED {
            *count += 1;
        } else if ![ObservedState::CANCELLED, ObservedState::FAILED].contains(&job.state) {
            return Err(format!("job {} is left over", job.id));
        }
    }
    if town.kube.pod("q").is_some() {
        return Err("the deleted pod is left".into());
    }
    for name in &PODS[..4] {
        let pod = town.kube.pod(name).ok_or(format!("pod {name} is gone"))?;
        let let_go = pod["metadata"]["finalizers"] == json!([]);
        if pod["status"]["phase"] != "Succeeded" || !let_go {
            return Err(format!("pod {name} did not run, or is held"));
        }
    }
    let once = completed.iter().filter(|(workload, _)| !workload.contains("uid-q"));
    for (workload, n) in once {
        if *n != 1 {
            return Err(format!("{n} jobs of workload {workload} completed"));
        }
    }
    Ok(())
}

fn fate() -> impl Strategy<Value = (usize, Fate)> {
    (1..300_usize, prop::sample::select(Fate::ALL.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_slow_or_lost_and_whenever_the_bridge_dies_every_workload_runs_once(
        seed in any::<u64>(),
        fates in prop::collection::vec(fate(), 0..6),
    ) {
        let mut town = play(seed, &fates);
        if let Err(fault) = judge(&town) {
            panic!("{fault}\n{}", town.dialogue());
        }
    }
}

//! A crash, a lost request and a lost reply at every single request of a story, one run each.

use drawbridge_core::{
    Config,
    config::Placeholder,
    slurm::{ObservedJob, ObservedState},
};
use serde_json::{Value, json};

use crate::town::{Fate, Town};

const PODS: [&str; 4] = ["w-0", "w-1", "w-2", "p"];

/// A gang of three and a pod; both get their nodes, run and succeed.
fn run_to_the_end(town: &mut Town) {
    settle(town);
    for pod in PODS {
        if town.kube.pod(pod).is_some_and(|pod| pod["spec"]["nodeName"].is_string()) {
            town.phase(pod, "Succeeded");
        }
    }
    settle(town);
}

/// One pod is deleted while it waits, the gang while it runs.
fn delete_everything(town: &mut Town) {
    settle_without_starting(town);
    town.delete("p");
    settle(town);
    for pod in &PODS[..3] {
        town.delete(pod);
        if town.kube.pod(pod).is_some() {
            town.phase(pod, "Failed");
        }
    }
    settle(town);
}

/// Slurm takes the nodes back.
fn lose_everything(town: &mut Town) {
    settle(town);
    town.slurm("every job runs into its limit", |slurm| {
        for job in slurm.jobs.values_mut().filter(|job| job.state == ObservedState::RUNNING) {
            job.state = ObservedState::TIMEOUT;
        }
    });
    settle_without_starting(town);
    for pod in PODS {
        let leaving = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
        if town.kube.pod(pod).is_some_and(leaving) {
            town.phase(pod, "Failed");
        }
    }
    settle_without_starting(town);
}

/// Somebody cancels every job while it waits.
fn cancel_everything(town: &mut Town) {
    settle_without_starting(town);
    town.slurm("every job is cancelled", |slurm| {
        for job in slurm.jobs.values_mut() {
            job.state = ObservedState::CANCELLED;
        }
    });
    settle_without_starting(town);
}

fn begin(mut town: Town, nth: Option<(usize, Fate)>) -> Town {
    if let Some((nth, fate)) = nth {
        town.fate_of_nth(nth, fate);
    }
    let mut town = town.start();
    town.group("g", 3);
    for pod in &PODS[..3] {
        town.pod(pod, 2, &json!({ "scheduling.x-k8s.io/pod-group": "g" }));
    }
    town.pod("p", 4, &json!({}));
    town
}

fn settle(town: &mut Town) {
    for _ in 0..12 {
        town.pass(4);
        town.restart_if_dead();
        town.slurm.start_all();
    }
    town.pass(4);
}

fn settle_without_starting(town: &mut Town) {
    for _ in 0..12 {
        town.pass(4);
        town.restart_if_dead();
    }
    town.pass(4);
}

/// Plays the story undisturbed, then once for every request and every fate.
fn every_fate(story: fn(&mut Town), judge: fn(&Town) -> Result<(), String>) {
    every_fate_in(Town::new, story, judge);
}

fn every_fate_in(town: fn() -> Town, story: fn(&mut Town), judge: fn(&Town) -> Result<(), String>) {
    let mut calm = begin(town(), None);
    story(&mut calm);
    judge(&calm).unwrap_or_else(|fault| panic!("{fault}\n{}", calm.dialogue()));
    for nth in 1..=calm.n_requests() {
        for fate in Fate::ALL {
            let mut town = begin(town(), Some((nth, fate)));
            story(&mut town);
            town.pass(700);
            if let Err(fault) = judge(&town) {
                panic!("request {nth}: {fault}\n{}", town.dialogue());
            }
        }
    }
}

fn states(town: &Town) -> Vec<&ObservedState> {
    town.slurm.jobs.values().map(|job| &job.state).collect()
}

fn check(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

#[test]
fn everything_ends_well_whatever_request_meets_its_fate() {
    every_fate(run_to_the_end, |town| {
        check(town.slurm.jobs.len() == 2, "one job for each workload")?;
        let completed = states(town).iter().all(|state| **state == ObservedState::COMPLETED);
        check(completed, "both jobs are accounted as completed")?;
        PODS.iter().try_for_each(|name| {
            let pod = town.kube.pod(name).ok_or("the pod is there")?;
            check(pod["status"]["phase"] == "Succeeded", "the pod ran")?;
            check(pod["metadata"]["finalizers"] == json!([]), "the pod is let go")?;
            check(
                pod["spec"]["nodeName"]
                    == pod["metadata"]["annotations"]["slinky.slurm.net/slurm-node"],
                "where it was placed",
            )?;
            let rank_0 = matches!(*name, "w-0" | "p");
            check(pod["spec"]["nodeName"] == if rank_0 { "n1" } else { "n2" }, "in rank order")
        })
    });
}

#[test]
fn external_jobs_say_how_they_ended_whatever_request_meets_its_fate() {
    let town = || Town::with(Config { placeholder: Placeholder::External, ..Config::as_shipped() });
    every_fate_in(town, run_to_the_end, |town| {
        check(town.slurm.jobs.len() == 2, "one job for each workload")?;
        let cancelled = states(town).iter().all(|state| **state == ObservedState::CANCELLED);
        check(cancelled, "both jobs are over")?;
        let said = |job: &ObservedJob| job.admin_comment.contains(r#""outcome":"succeeded""#);
        check(town.slurm.jobs.values().all(said), "their marks say how their pods ended")
    });
}

#[test]
fn everything_deleted_is_gone_whatever_request_meets_its_fate() {
    every_fate(delete_everything, |town| {
        check(PODS.iter().all(|pod| town.kube.pod(pod).is_none()), "no pod is left")?;
        let live = |state: &&&ObservedState| {
            [ObservedState::PENDING, ObservedState::RUNNING].contains(state)
        };
        check(states(town).iter().find(live).is_none(), "no job is left")?;
        check(town.slurm.jobs.len() <= 2, "one job for each workload")
    });
}

#[test]
fn pods_whose_job_ended_are_gone_whatever_request_meets_its_fate() {
    every_fate(lose_everything, |town| {
        check(PODS.iter().all(|pod| town.kube.pod(pod).is_none()), "no pod is left")?;
        let ended = states(town).iter().all(|state| **state == ObservedState::TIMEOUT);
        check(ended && town.slurm.jobs.len() == 2, "no job but those that ran into their limit")
    });
}

#[test]
fn pods_whose_job_was_cancelled_are_gone_whatever_request_meets_its_fate() {
    every_fate(cancel_everything, |town| {
        check(PODS.iter().all(|pod| town.kube.pod(pod).is_none()), "no pod is left")?;
        check(town.slurm.jobs.len() == 2, "no job was submitted in their place")
    });
}

//! The leader is killed again and again, at random moments, while workloads come and go.
//!
//! In the end every pod that was left alone has succeeded in exactly one job that ran, and nothing of
//! the others is left.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use drawbridge_bridge::slurm::types::Job;
use drawbridge_core::names::POD_GROUP_LABEL;
use drawbridge_sim::Seed;
use rand_chacha::{ChaCha8Rng, rand_core::Rng};
use tokio::time::{Instant, sleep};

use crate::{
    Trouble,
    api::until,
    manifests::PodPlan,
    observer::workload,
    scenes::{outages::leader, workloads::make_group},
    slurm::account,
    stage::Stage,
};

type Played = Result<Option<String>, Trouble>;

pub(super) async fn leaders_are_killed(stage: &mut Stage) -> Played {
    let mut dice = Dice(Seed(stage.options.seed).stream("kills"));
    let mut crowd = Crowd::default();
    for kill in 0..stage.options.kills {
        crowd.more(stage, &mut dice, kill).await?;
        sleep(dice.ms(1500)).await;
        let victim = leader(stage).await?;
        stage.replicas[victim].kill();
        sleep(dice.ms(1000)).await;
        stage.replicas[victim].spawn()?;
    }
    let began = Instant::now();
    crowd.all_ended(stage).await?;
    let caught_up = began.elapsed();
    crowd.each_had_one_job(stage).await?;
    crowd.remove(stage).await?;
    match caught_up < Duration::from_secs(60) {
        true => Ok(None),
        false => Err(format!("it took {caught_up:?} to catch up")),
    }
}

struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }

    fn ms(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most))
    }
}

/// All workloads of this scene.
#[derive(Default)]
struct Crowd {
    /// Pods that are left alone, by name, with their uid.
    left_alone: BTreeMap<String, String>,
    groups: BTreeSet<String>,
}

impl Crowd {
    /// A few more workloads come; some of them are deleted again.
    async fn more(&mut self, stage: &Stage, dice: &mut Dice, round: u32) -> Result<(), Trouble> {
        let runtime = u32::try_from(1 + dice.below(3)).ok();
        match dice.below(4) {
            0 => {
                let group = format!("gang-{round}");
                make_group(stage, &group, 2).await?;
                for rank in 0..2 {
                    let labels = vec![(POD_GROUP_LABEL, group.clone())];
                    let name = format!("{group}-{rank}");
                    let plan = PodPlan { labels, ..PodPlan::new(&name, 2, runtime) };
                    self.add(stage, &plan).await?;
                }
                self.groups.insert(group);
            }
            1 => {
                let name = format!("fickle-{round}");
                stage.create_pod(&PodPlan::new(&name, 1, runtime)).await?;
                sleep(dice.ms(1500)).await;
                stage.api.delete(&stage.path(&format!("pods/{name}"))).await?;
            }
            _ => {
                for index in 0..2 {
                    let name = format!("pod-{round}-{index}");
                    self.add(stage, &PodPlan::new(&name, 1, runtime)).await?;
                }
            }
        }
        Ok(())
    }

    async fn add(&mut self, stage: &Stage, plan: &PodPlan) -> Result<(), Trouble> {
        let pod = stage.create_pod(plan).await?;
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        self.left_alone.insert(plan.name.clone(), uid);
        Ok(())
    }

    async fn all_ended(&self, stage: &Stage) -> Result<(), Trouble> {
        until("everybody has succeeded", Duration::from_secs(120), async || {
            let pods = stage.api.list(&stage.path("pods")).await?;
            let names = pods.iter().filter(|pod| pod["status"]["phase"] == "Succeeded");
            let over: BTreeSet<&str> =
                names.filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
            let missing = self.left_alone.keys().filter(|name| !over.contains(name.as_str()));
            none(&missing.cloned().collect::<Vec<_>>())
        })
        .await
    }

    /// Of a workload's jobs, exactly one ever had nodes, and it is accounted as completed.
    async fn each_had_one_job(&self, stage: &Stage) -> Result<(), Trouble> {
        let completed = stage.accounted("COMPLETED");
        until("each had one job", Duration::from_secs(60), async || {
            let jobs = stage.slurm.jobs().await?;
            let mut ran: BTreeMap<String, Vec<&Job>> = BTreeMap::new();
            for job in jobs.iter().filter(|job| !job.nodes.is_empty()) {
                let workload = workload(job, &stage.cluster_id).unwrap_or_default();
                ran.entry(workload).or_default().push(job);
            }
            let bare = self.left_alone.iter().filter(|(name, _)| name.starts_with("pod-"));
            let wrong = bare.filter_map(|(name, uid)| match ran.get(uid).map(Vec::as_slice) {
                Some([job]) if account(job).as_deref() == Some(completed) => None,
                Some([job]) => Some(format!("{name}: job {} is {:?}", job.job_id, job.job_state)),
                several => {
                    Some(format!("{name}: {} jobs had nodes", several.unwrap_or_default().len()))
                }
            });
            none(&wrong.collect::<Vec<_>>())
        })
        .await
    }

    async fn remove(&self, stage: &Stage) -> Result<(), Trouble> {
        for name in self.left_alone.keys() {
            stage.api.delete(&stage.path(&format!("pods/{name}"))).await?;
        }
        for group in &self.groups {
            let path = stage.path(&format!("apis/scheduling.x-k8s.io/v1alpha1 podgroups/{group}"));
            stage.api.delete(&path).await?;
        }
        until("the crowd is gone", Duration::from_secs(60), async || {
            let pods = stage.api.list(&stage.path("pods")).await?;
            let names: Vec<String> = pods
                .iter()
                .filter_map(|pod| pod["metadata"]["name"].as_str())
                .filter(|name| *name != "limited")
                .map(str::to_owned)
                .collect();
            none(&names)
        })
        .await
    }
}

/// Done, if nobody is left.
fn none(left: &[String]) -> Result<Option<()>, Trouble> {
    if left.is_empty() { Ok(Some(())) } else { Err(left.join("; ")) }
}

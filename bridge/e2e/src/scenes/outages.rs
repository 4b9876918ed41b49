//! Servers that die, tokens that change, processes that end.

use std::{process::Command, time::Duration};

use drawbridge_oracle::Lab;

use crate::{
    Trouble,
    api::until,
    bridges::replace,
    manifests::PodPlan,
    scenes::pods::remove,
    stage::{Stage, job_of},
};

type Played = Result<Option<String>, Trouble>;

/// While slurmrestd is away pods come and end; nothing is lost by it.
pub(super) async fn slurmrestd_dies_and_comes_back(stage: &Stage) -> Played {
    if !stage.slurm.is_ours() {
        return Ok(Some("the Slurm isn't ours to kill".into()));
    }
    stage.create_pod(&PodPlan::new("before", 1, Some(4))).await?;
    stage.phase("before", "Running", 60).await?;
    stage.slurm.lab(Lab::kill_rest)?;
    stage.create_pod(&PodPlan::new("during", 1, Some(2))).await?;
    stage.phase("before", "Succeeded", 60).await?;
    told_unready(stage, "[-]slurm failed").await?;
    stage.slurm.lab(Lab::start_rest)?;
    let before = stage.phase("before", "Succeeded", 60).await?;
    let during = stage.phase("during", "Succeeded", 60).await?;
    stage.job_ends(&job_of(&before)?, "COMPLETED", 60).await?;
    stage.job_ends(&job_of(&during)?, "COMPLETED", 60).await?;
    remove(stage, &["before", "during"]).await
}

/// The API server is killed and comes back on what it kept; the bridge finds its way again.
pub(super) async fn the_api_server_dies_and_comes_back(stage: &mut Stage) -> Played {
    if !stage.cluster.is_ours() {
        return Ok(Some("the API server isn't ours to kill".into()));
    }
    stage.create_pod(&PodPlan::new("held", 1, Some(8))).await?;
    stage.phase("held", "Running", 60).await?;
    stage.cluster.restart(Duration::from_secs(2)).await?;
    stage.create_pod(&PodPlan::new("after", 1, Some(2))).await?;
    let held = stage.phase("held", "Succeeded", 60).await?;
    let after = stage.phase("after", "Succeeded", 60).await?;
    stage.job_ends(&job_of(&held)?, "COMPLETED", 60).await?;
    stage.job_ends(&job_of(&after)?, "COMPLETED", 60).await?;
    remove(stage, &["held", "after"]).await
}

/// A token that Slurm doesn't take is told; the next one in the file is used without a restart.
pub(super) async fn a_token_is_renewed_in_its_file(stage: &Stage) -> Played {
    if !stage.slurm.is_ours() {
        return Ok(Some("tokens can be signed for our own Slurm only".into()));
    }
    let expired = stage.slurm.sign(Duration::from_secs(1))?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    replace(&stage.launch.token, &expired)?;
    told_unready(stage, "[-]slurm-token failed").await?;
    stage.create_pod(&PodPlan::new("patient", 1, Some(1))).await?;
    let good = stage.slurm.sign(Duration::from_hours(24))?;
    replace(&stage.launch.token, &format!("SLURM_JWT={good}\n"))?;
    let pod = stage.phase("patient", "Succeeded", 90).await?;
    stage.job_ends(&job_of(&pod)?, "COMPLETED", 60).await?;
    remove(stage, &["patient"]).await
}

/// Nobody's pods pass while admission is away; afterwards they do.
pub(super) async fn admission_dies_and_comes_back(stage: &mut Stage) -> Played {
    stage.admission.kill();
    let pod = PodPlan::new("judged", 1, Some(1));
    if stage.api.create(&stage.path("pods"), pod.pod()).await.is_ok() {
        return Err("a pod passed without being judged".into());
    }
    stage.admission.spawn()?;
    stage.create_pod(&pod).await?;
    stage.phase("judged", "Succeeded", 60).await?;
    remove(stage, &["judged"]).await
}

/// Told to stop, the leader gives the lease back, and the other takes over at once.
pub(super) async fn a_leader_lets_go(stage: &mut Stage) -> Played {
    let leader = leader(stage).await?;
    let began = std::time::Instant::now();
    let code = stage.replicas[leader].stop()?;
    if code != 0 {
        return Err(format!("it ended with {code}"));
    }
    let other = 1 - leader;
    until("the other leads", Duration::from_secs(10), async || {
        Ok(stage.replicas[other].leads().await.then_some(()))
    })
    .await?;
    let took = began.elapsed();
    stage.replicas[leader].spawn()?;
    stage.replicas[leader].is_ready().await?;
    match took < Duration::from_secs(6) {
        true => Ok(None),
        false => Err(format!("the hand-over took {took:?}")),
    }
}

/// What the replicas wrote down steps through the core to the same effects.
pub(super) async fn the_journals_replay(stage: &mut Stage) -> Played {
    for replica in &mut stage.replicas {
        replica.kill();
    }
    for name in ["one", "two"] {
        let journal = stage.folder.join(format!("{name}.journal"));
        let output = Command::new(&stage.launch.drawbridge).arg("replay").arg(&journal).output();
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            return Err(format!("{}: {}", journal.display(), said.trim()));
        }
    }
    Ok(None)
}

/// The replica that leads.
pub(crate) async fn leader(stage: &Stage) -> Result<usize, Trouble> {
    until("a replica leads", Duration::from_secs(20), async || {
        for (index, replica) in stage.replicas.iter().enumerate() {
            if replica.leads().await {
                return Ok(Some(index));
            }
        }
        Ok(None)
    })
    .await
}

/// Waits until the leader's readiness says this.
async fn told_unready(stage: &Stage, words: &str) -> Result<(), Trouble> {
    let leader = leader(stage).await?;
    until(&format!("readiness says {words}"), Duration::from_secs(60), async || {
        let said = stage.replicas[leader].readiness().await.unwrap_or_default();
        match said.contains(words) {
            true => Ok(Some(())),
            false => Err(said),
        }
    })
    .await
}

//! One scene after the other; each leaves the stage as it found it.

mod kills;
mod nodes;
mod outages;
mod pods;
mod workloads;

use std::time::Instant;

use crate::{
    Trouble, bench, observer,
    options::{Bench, Options},
    say,
    stage::{NAMESPACE, Stage},
};

pub(crate) use outages::leader;
pub(crate) use workloads::make_group;

/// Plays all scenes that are wanted; whether all went well.
pub(crate) async fn play(options: &Options) -> Result<bool, Trouble> {
    if options.bench == Some(Bench::Crowd) {
        return bench::crowd(options).await.map(|()| true);
    }
    let began = Instant::now();
    let mut stage = match Stage::set(options).await? {
        Ok(stage) => stage,
        Err(missing) => {
            say(&missing);
            return Ok(true);
        }
    };
    let jobs = if stage.is_external { "external jobs" } else { "scripts" };
    say(&format!(
        "the stage is set ({} s), with {jobs} in the place of pods",
        began.elapsed().as_secs()
    ));
    let well = match options.bench {
        Some(_) => bench::latency(&mut stage).await.map(|()| true)?,
        None => scenes(&mut stage).await,
    };
    stage.strike(well);
    Ok(well)
}

/// Plays a scene, and says how it went.
macro_rules! scene {
    ($stage:ident, $failed:ident, $name:literal, $play:expr) => {
        if $stage.options.wants($name) {
            let began = Instant::now();
            let played: Result<Option<String>, Trouble> = $play.await;
            let secs = began.elapsed().as_secs();
            match played {
                Ok(None) => say(&format!("ok       {} ({secs} s)", $name)),
                Ok(Some(skipped)) => say(&format!("skipped  {}: {skipped}", $name)),
                Err(trouble) => {
                    say(&format!("FAILED   {} ({secs} s): {trouble}", $name));
                    $failed.push($name);
                }
            }
        }
    };
}

async fn scenes(stage: &mut Stage) -> bool {
    let mut failed: Vec<&str> = vec![];
    scene!(stage, failed, "limit", pods::begins_a_limit(stage));
    scene!(stage, failed, "pods", pods::pods_end_as_they_did(stage));
    scene!(stage, failed, "refused", pods::spoofed_pods_are_refused(stage));
    scene!(stage, failed, "deleted", pods::deleted_pods_take_their_jobs_along(stage));
    scene!(stage, failed, "job", workloads::a_job_runs_to_its_end(stage));
    scene!(stage, failed, "deployment", workloads::a_deployment_grows_and_shrinks(stage));
    scene!(stage, failed, "gang", workloads::a_gang_starts_together(stage));
    scene!(stage, failed, "scancel", pods::scancel_takes_the_pod_along(stage));
    scene!(stage, failed, "cordon", nodes::a_cordon_drains_and_comes_back(stage));
    scene!(stage, failed, "drain", nodes::a_foreign_drain_is_left_alone(stage));
    scene!(stage, failed, "slurmrestd", outages::slurmrestd_dies_and_comes_back(stage));
    scene!(stage, failed, "apiserver", outages::the_api_server_dies_and_comes_back(stage));
    scene!(stage, failed, "token", outages::a_token_is_renewed_in_its_file(stage));
    scene!(stage, failed, "admission", outages::admission_dies_and_comes_back(stage));
    scene!(stage, failed, "kills", kills::leaders_are_killed(stage));
    scene!(stage, failed, "stop", outages::a_leader_lets_go(stage));
    scene!(stage, failed, "timeout", pods::the_limit_has_ended_the_job(stage));
    scene!(stage, failed, "quiet", quiet(stage));
    scene!(stage, failed, "journal", outages::the_journals_replay(stage));
    let (looks, violations) = stage.observer.violations();
    say(&format!("the observer looked {looks} times and saw {} violations", violations.len()));
    for violation in &violations {
        say(&format!("  {violation}"));
    }
    if !failed.is_empty() {
        say(&format!("failed: {}", failed.join(", ")));
    }
    failed.is_empty() && violations.is_empty()
}

/// Everything is over: nothing of it is left.
async fn quiet(stage: &Stage) -> Result<Option<String>, Trouble> {
    observer::is_quiet(&stage.api, &stage.slurm, NAMESPACE, &stage.cluster_id).await?;
    for node in stage.slurm.nodes().await? {
        if node.state.iter().any(|state| state == "DRAIN") {
            return Err(format!("node {} is still drained: {}", node.name, node.reason));
        }
    }
    Ok(None)
}

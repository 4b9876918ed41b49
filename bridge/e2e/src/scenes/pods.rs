//! Bare pods.

use std::time::Duration;

use drawbridge_core::{Method, names::JOB_ID_LABEL};
use serde_json::json;

use crate::{
    Trouble,
    api::until,
    manifests::PodPlan,
    stage::{Stage, job_of},
};

type Played = Result<Option<String>, Trouble>;

/// A finished pod is accounted COMPLETED, a failed one FAILED.
pub(super) async fn pods_end_as_they_did(stage: &Stage) -> Played {
    let good = PodPlan::new("good", 2, Some(2));
    let bad = PodPlan { exit: 3, ..PodPlan::new("bad", 1, Some(1)) };
    stage.create_pod(&good).await?;
    stage.create_pod(&bad).await?;
    let good = stage.phase("good", "Succeeded", 60).await?;
    let bad = stage.phase("bad", "Failed", 60).await?;
    if good["spec"]["schedulerName"] != "slurm-bridge-scheduler" {
        return Err("admission did not choose the scheduler".into());
    }
    stage.job_ends(&job_of(&good)?, "COMPLETED", 30).await?;
    stage.job_ends(&job_of(&bad)?, "FAILED", 30).await?;
    remove(stage, &["good", "bad"]).await
}

/// A pod that claims a job, or names a wrong annotation, isn't taken.
pub(super) async fn spoofed_pods_are_refused(stage: &Stage) -> Played {
    let mut spoofed = PodPlan::new("spoofed", 1, Some(1)).pod();
    spoofed["metadata"]["labels"][JOB_ID_LABEL] = json!("1");
    let mut wrong = PodPlan::new("wrong", 1, Some(1)).pod();
    wrong["metadata"]["annotations"]["slinky.slurm.net/timelimit"] = json!("soon");
    for (pod, words) in [(spoofed, "jobid label"), (wrong, "whole number of minutes")] {
        let (status, body) = stage.api.send(Method::Post, &stage.path("pods"), Some(pod)).await?;
        let said = body["message"].as_str().unwrap_or_default();
        if status < 400 || !said.contains(words) {
            return Err(format!("a pod was answered {status} {said}"));
        }
    }
    Ok(None)
}

/// A waiting pod that is deleted takes its job along, and so does a running one.
pub(super) async fn deleted_pods_take_their_jobs_along(stage: &Stage) -> Played {
    let running = stage.create_pod(&PodPlan::new("running", 1, None)).await?;
    let name = running["metadata"]["name"].as_str().unwrap_or_default();
    let running = stage.phase(name, "Running", 60).await?;
    // More than there is: it waits.
    let waiting = PodPlan {
        annotations: vec![("slinky.slurm.net/begin", "now+1hour".into())],
        ..PodPlan::new("waiting", 1, None)
    };
    stage.create_pod(&waiting).await?;
    let waiting = until("the waiting pod has its job", Duration::from_secs(30), async || {
        let pod = stage.pod("waiting").await?;
        Ok(pod.filter(|pod| job_of(pod).is_ok()))
    })
    .await?;
    for name in ["running", "waiting"] {
        stage.api.delete(&stage.path(&format!("pods/{name}"))).await?;
    }
    stage.gone("waiting", 30).await?;
    stage.gone("running", 60).await?;
    stage.job_ends(&job_of(&waiting)?, "CANCELLED", 30).await?;
    let ended = until("the running pod's job has ended", Duration::from_secs(30), async || {
        stage.slurm.ended(&job_of(&running)?).await
    });
    ended.await.map(|_| None)
}

/// Slurm ends the job: the pod has to leave.
pub(super) async fn scancel_takes_the_pod_along(stage: &Stage) -> Played {
    stage.create_pod(&PodPlan::new("cancelled", 1, None)).await?;
    let pod = stage.phase("cancelled", "Running", 60).await?;
    let job = job_of(&pod)?;
    stage.slurm.cancel(&job).await?;
    stage.gone("cancelled", 60).await?;
    stage.job_ends(&job, "CANCELLED", 30).await?;
    Ok(None)
}

/// A pod with a limit of a minute, which other scenes don't have to wait for.
pub(super) async fn begins_a_limit(stage: &Stage) -> Played {
    let annotations = vec![("slinky.slurm.net/timelimit", "1".to_owned())];
    let plan = PodPlan { annotations, ..PodPlan::new("limited", 1, None) };
    stage.create_pod(&plan).await?;
    stage.phase("limited", "Running", 60).await?;
    Ok(None)
}

pub(super) async fn the_limit_has_ended_the_job(stage: &Stage) -> Played {
    if !stage.options.wants("limit") {
        return Ok(Some("nobody began it".into()));
    }
    stage.gone("limited", 150).await?;
    let jobs = stage.slurm.jobs().await?;
    let limited = jobs.iter().find(|job| job.name == "k8s-pod-limited").ok_or("its job is gone")?;
    stage.job_ends(&limited.job_id.to_string(), "TIMEOUT", 60).await?;
    Ok(None)
}

/// Deletes pods that are over, which must go.
pub(super) async fn remove(stage: &Stage, names: &[&str]) -> Played {
    for name in names {
        stage.api.delete(&stage.path(&format!("pods/{name}"))).await?;
        stage.gone(name, 30).await?;
    }
    Ok(None)
}

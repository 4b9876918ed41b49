//! Workloads with controllers, and gangs.

use std::{collections::BTreeSet, time::Duration};

use drawbridge_core::names::POD_GROUP_LABEL;
use serde_json::{Value, json};

use crate::{
    Trouble,
    api::until,
    manifests::PodPlan,
    stage::{Stage, job_of},
};

type Played = Result<Option<String>, Trouble>;

/// Three pods of a Job, each a Slurm job of its own.
pub(super) async fn a_job_runs_to_its_end(stage: &Stage) -> Played {
    let template = PodPlan::new("", 1, Some(2)).template();
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "sum" },
        "spec": { "parallelism": 3, "completions": 3, "template": template },
    });
    stage.api.create(&stage.path("apis/batch/v1 jobs"), job).await?;
    let path = stage.path("apis/batch/v1 jobs/sum");
    until("the Job is complete", Duration::from_secs(90), async || {
        let job = stage.api.find(&path).await?.ok_or("it isn't there")?;
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        Ok(conditions
            .iter()
            .any(|one| one["type"] == "Complete" && one["status"] == "True")
            .then_some(()))
    })
    .await?;
    let pods = labelled(stage, "job-name=sum").await?;
    let jobs: BTreeSet<String> = pods.iter().map(job_of).collect::<Result<_, _>>()?;
    if jobs.len() != 3 {
        return Err(format!("three pods have jobs {jobs:?}"));
    }
    for job in &jobs {
        stage.job_ends(job, "COMPLETED", 30).await?;
    }
    stage.api.delete(&format!("{path}?propagationPolicy=Background")).await?;
    none_left(stage, "job-name=sum").await
}

/// Two replicas run, one more comes, one stays, none is left.
pub(super) async fn a_deployment_grows_and_shrinks(stage: &Stage) -> Played {
    let mut template = PodPlan::new("", 1, None).template();
    template["metadata"]["labels"] = json!({ "app": "web" });
    template["spec"]["restartPolicy"] = json!("Always");
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "app": "web" } }, "template": template,
        },
    });
    stage.api.create(&stage.path("apis/apps/v1 deployments"), deployment).await?;
    for replicas in [2, 3, 1] {
        let scale = json!({ "spec": { "replicas": replicas } });
        stage.api.patch(&stage.path("apis/apps/v1 deployments/web/scale"), scale).await?;
        let what = format!("{replicas} replicas run");
        until(&what, Duration::from_secs(90), async || {
            let pods = labelled(stage, "app=web").await?;
            let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count();
            Ok((running == replicas && pods.len() == replicas).then_some(()))
        })
        .await?;
    }
    stage
        .api
        .delete(&stage.path("apis/apps/v1 deployments/web?propagationPolicy=Background"))
        .await?;
    none_left(stage, "app=web").await
}

/// Four pods of a PodGroup: one Slurm job, all or nothing.
pub(super) async fn a_gang_starts_together(stage: &Stage) -> Played {
    make_group(stage, "mpi", 4).await?;
    let member = |rank: u32| PodPlan {
        labels: vec![(POD_GROUP_LABEL, "mpi".to_owned())],
        ..PodPlan::new(&format!("mpi-{rank}"), 6, Some(3))
    };
    for rank in 0..3 {
        stage.create_pod(&member(rank)).await?;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    for pod in labelled(stage, &format!("{POD_GROUP_LABEL}=mpi")).await? {
        if pod["spec"]["nodeName"].is_string() {
            return Err(format!("{} is bound before the gang is whole", pod["metadata"]["name"]));
        }
    }
    stage.create_pod(&member(3)).await?;
    let mut jobs = BTreeSet::new();
    for rank in 0..4 {
        jobs.insert(job_of(&stage.phase(&format!("mpi-{rank}"), "Succeeded", 60).await?)?);
    }
    let [job] = &jobs.iter().collect::<Vec<_>>()[..] else {
        return Err(format!("the gang has jobs {jobs:?}"));
    };
    stage.job_ends(job, "COMPLETED", 30).await?;
    for rank in 0..4 {
        stage.api.delete(&stage.path(&format!("pods/mpi-{rank}"))).await?;
    }
    stage.api.delete(&stage.path("apis/scheduling.x-k8s.io/v1alpha1 podgroups/mpi")).await?;
    none_left(stage, &format!("{POD_GROUP_LABEL}=mpi")).await
}

pub(crate) async fn make_group(stage: &Stage, name: &str, least: u32) -> Result<(), Trouble> {
    let group = json!({
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": { "name": name }, "spec": { "minMember": least },
    });
    stage.api.ensure(&stage.path("apis/scheduling.x-k8s.io/v1alpha1 podgroups"), group).await
}

/// The pods with a label.
pub(super) async fn labelled(stage: &Stage, label: &str) -> Result<Vec<Value>, Trouble> {
    let (key, value) = label.split_once('=').unwrap_or((label, ""));
    let pods = stage.api.list(&stage.path("pods")).await?;
    Ok(pods.into_iter().filter(|pod| pod["metadata"]["labels"][key] == value).collect())
}

async fn none_left(stage: &Stage, label: &str) -> Played {
    until(&format!("no pod with {label} is left"), Duration::from_secs(90), async || {
        Ok(labelled(stage, label).await?.is_empty().then_some(()))
    })
    .await?;
    Ok(None)
}

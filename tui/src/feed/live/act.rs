//! What is done to real clusters: one request for each deed.

use drawbridge_bridge::{
    kube::KubeClient,
    slurm::{
        calls::{Cancel, JobDescription, NodeChange, UpdateJob, UpdateNode},
        session::Line,
        types::Number,
    },
};
use drawbridge_core::{KubeRequest, Method};
use drawbridge_scenarios::ObjectRef;
use drawbridge_sim::JobId;
use serde_json::{Value, json};

use crate::model::deed::{Deed, Object};

/// The ways to both clusters.
pub(super) struct Hands {
    pub(super) kube: Option<KubeClient>,
    pub(super) slurm: Option<Line>,
}

impl Hands {
    /// Does it. Returns what came of it, in words.
    pub(super) async fn perform(&self, deed: &Deed) -> Result<String, String> {
        self.request(deed).await.map(|()| format!("Done: {}.", deed.words()))
    }

    async fn request(&self, deed: &Deed) -> Result<(), String> {
        match deed {
            Deed::Submit { .. } => {
                Err("a real job needs a script: submit it with `drawbridge sbatch`".to_owned())
            }
            Deed::Crash(_) => Err("the bridge of a real cluster is left alone".to_owned()),
            Deed::Cancel(job) => {
                let cancel = Cancel { job: job.to_string(), signal: None, flags: vec![] };
                self.line()?.ask(&cancel).await.map(drop).map_err(|error| error.to_string())
            }
            Deed::Priority(job, priority) => {
                let priority = Some(Number::Is(u64::from(*priority)));
                self.job(*job, JobDescription { priority, ..JobDescription::default() }).await
            }
            Deed::Hold(job) => {
                self.job(*job, JobDescription { hold: Some(true), ..JobDescription::default() })
                    .await
            }
            Deed::Release(job) => {
                self.job(*job, JobDescription { hold: Some(false), ..JobDescription::default() })
                    .await
            }
            Deed::Kill(node) => self.node(node, "DOWN", Some("killed in the TUI")).await,
            Deed::Drain(node, reason) => self.node(node, "DRAIN", Some(reason)).await,
            Deed::Resume(node) => self.node(node, "RESUME", None).await,
            Deed::Cordon(node, on) => {
                let body = json!({ "spec": { "unschedulable": on } });
                self.kube(Method::MergePatch, format!("/api/v1/nodes/{node}"), Some(body)).await
            }
            Deed::Scale(object, replicas) => {
                let body = json!({ "spec": { "replicas": replicas } });
                self.kube(Method::MergePatch, path(object, "/scale")?, Some(body)).await
            }
            Deed::Delete(object) => self.kube(Method::Delete, path(object, "")?, None).await,
            Deed::Apply(_) => Err("apply manifests with kubectl".to_owned()),
        }
    }

    fn line(&self) -> Result<&Line, String> {
        self.slurm.as_ref().ok_or_else(|| "there is no way to slurmrestd".to_owned())
    }

    async fn job(&self, job: JobId, change: JobDescription) -> Result<(), String> {
        let update = UpdateJob { job: job.to_string(), change };
        self.line()?.ask(&update).await.map_err(|error| error.to_string())
    }

    async fn node(&self, node: &str, state: &str, reason: Option<&str>) -> Result<(), String> {
        let change = NodeChange {
            state: vec![state.to_owned()],
            reason: reason.map(str::to_owned),
            ..NodeChange::default()
        };
        let update = UpdateNode { node: node.to_owned(), change };
        self.line()?.ask(&update).await.map_err(|error| error.to_string())
    }

    async fn kube(&self, method: Method, path: String, body: Option<Value>) -> Result<(), String> {
        let client =
            self.kube.as_ref().ok_or_else(|| "there is no way to Kubernetes".to_owned())?;
        let request = KubeRequest { method, path, query: vec![], body };
        let reply = client.send("tui", &request).await.map_err(|lost| lost.why)?;
        match reply.status < 400 {
            true => Ok(()),
            false => Err(reply.body["message"].as_str().unwrap_or("refused").to_owned()),
        }
    }
}

/// Where an object, or a part of it, is.
fn path(object: &Object, part: &str) -> Result<String, String> {
    let api_version = match object.kind.as_str() {
        "Pod" => "v1",
        "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" => "apps/v1",
        "Job" | "CronJob" => "batch/v1",
        kind => return Err(format!("a {kind} isn't known here; use kubectl")),
    };
    let object = ObjectRef {
        api_version: api_version.to_owned(),
        kind: object.kind.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    };
    Ok(object.path(part))
}

//! Everything that scenes play on, set up once.

use std::{path::PathBuf, sync::Arc, time::Duration};

use drawbridge_core::admission;
use serde_json::{Value, json};

use crate::{
    Trouble,
    api::{Api, until},
    bridges::{Launch, Process, replace},
    cluster::Cluster,
    kubelets::Kubelets,
    manifests::{self, HOME, PodPlan},
    observer::Observer,
    options::Options,
    say,
    slurm::Slurm,
};

/// Where the suite's workloads live.
pub(crate) const NAMESPACE: &str = "slurm-bridge";

/// The whole stage.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) options: Options,
    pub(crate) folder: PathBuf,
    pub(crate) api: Api,
    pub(crate) cluster: Cluster,
    pub(crate) slurm: Arc<Slurm>,
    pub(crate) nodes: Vec<String>,
    /// No node has a slurmd: jobs have no scripts, and only the bridge knows how they ended.
    pub(crate) is_external: bool,
    pub(crate) launch: Launch,
    pub(crate) cluster_id: String,
    pub(crate) replicas: Vec<Process>,
    pub(crate) admission: Process,
    pub(crate) observer: Observer,
    _kubelets: Kubelets,
}

impl Stage {
    /// Sets everything up; `Err` inside where no Slurm can be had and that is no failure.
    pub(crate) async fn set(options: &Options) -> Result<Result<Self, String>, Trouble> {
        let slurm = match Slurm::start(options)? {
            Ok(slurm) => Arc::new(slurm),
            Err(missing) => return Ok(Err(missing)),
        };
        let folder = std::env::temp_dir().join(format!("drawbridge-e2e.{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let cluster = Cluster::start(options, &folder).await?;
        let api = Api::connect(&cluster.kubeconfig).await?;
        let nodes = make_nodes(&api, &slurm).await?;
        let is_external = slurm.is_external().await?;
        let kubelets = Kubelets::start(api.clone(), nodes.clone());
        let cluster_id = format!("e2e-{}", std::process::id());
        let launch = prepare(options, &folder, &api, &cluster, &slurm, &cluster_id).await?;
        let admission = Process::admission(&launch)?;
        make_webhooks(&api, &launch, admission.webhook).await?;
        let replicas = vec![Process::replica(&launch, "one")?, Process::replica(&launch, "two")?];
        admission.is_ready().await?;
        for replica in &replicas {
            replica.is_ready().await?;
        }
        let observer =
            Observer::start(api.clone(), slurm.clone(), NAMESPACE.into(), cluster_id.clone());
        Ok(Ok(Self {
            options: options.clone(),
            folder,
            api,
            cluster,
            slurm,
            nodes,
            is_external,
            launch,
            cluster_id,
            replicas,
            admission,
            observer,
            _kubelets: kubelets,
        }))
    }

    /// The path of the suite's own objects of a kind: `pods`, `apis/batch/v1 jobs`.
    pub(crate) fn path(&self, what: &str) -> String {
        match what.split_once(' ') {
            None => format!("/api/v1/namespaces/{NAMESPACE}/{what}"),
            Some((group, plural)) => format!("/{group}/namespaces/{NAMESPACE}/{plural}"),
        }
    }

    /// Creates a pod. While webhooks are restarted it may take a few tries.
    pub(crate) async fn create_pod(&self, plan: &PodPlan) -> Result<Value, Trouble> {
        until(&format!("pod {} is taken", plan.name), Duration::from_secs(30), async || {
            self.api.create(&self.path("pods"), plan.pod()).await.map(Some)
        })
        .await
    }

    pub(crate) async fn pod(&self, name: &str) -> Result<Option<Value>, Trouble> {
        self.api.find(&self.path(&format!("pods/{name}"))).await
    }

    /// Waits until a pod is in this phase; the pod.
    pub(crate) async fn phase(&self, name: &str, phase: &str, secs: u64) -> Result<Value, Trouble> {
        let what = format!("pod {name} is {phase}");
        until(&what, Duration::from_secs(secs), async || {
            let Some(pod) = self.pod(name).await? else { return Err("it isn't there".into()) };
            match pod["status"]["phase"] == phase {
                true => Ok(Some(pod)),
                false => Err(format!("{} {}", pod["status"]["phase"], why(&pod))),
            }
        })
        .await
    }

    /// Waits until a pod is gone.
    pub(crate) async fn gone(&self, name: &str, secs: u64) -> Result<(), Trouble> {
        until(&format!("pod {name} is gone"), Duration::from_secs(secs), async || {
            Ok(self.pod(name).await?.is_none().then_some(()))
        })
        .await
    }

    /// How a job is accounted for of which a script would have ended in this state.
    pub(crate) fn accounted(&self, state: &'static str) -> &'static str {
        match state {
            "COMPLETED" if self.is_external => "CANCELLED succeeded",
            // Its pods are made to leave before the limit comes.
            "FAILED" | "TIMEOUT" if self.is_external => "CANCELLED failed",
            _ => state,
        }
    }

    /// Waits until a job has ended in this state, as the records have it.
    pub(crate) async fn job_ends(
        &self,
        job: &str,
        state: &'static str,
        secs: u64,
    ) -> Result<(), Trouble> {
        let state = self.accounted(state);
        let ended = until(&format!("job {job} has ended"), Duration::from_secs(secs), async || {
            self.slurm.ended(job).await
        })
        .await?;
        match ended == state {
            true => Ok(()),
            false => Err(format!("job {job} ended {ended}, expected {state}")),
        }
    }

    /// Takes everything down; the folder stays if something went wrong.
    pub(crate) fn strike(self, well: bool) {
        let folder = self.folder.clone();
        let keep = self.options.keep || !well;
        drop(self);
        match keep {
            true => say(&format!("logs and journals are in {}", folder.display())),
            false => drop(std::fs::remove_dir_all(folder)),
        }
    }
}

/// The job that a pod names.
pub(crate) fn job_of(pod: &Value) -> Result<String, Trouble> {
    let label = &pod["metadata"]["labels"][drawbridge_core::names::JOB_ID_LABEL];
    label
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("{} has no job", pod["metadata"]["name"]))
}

/// What a pod says about why it waits.
pub(crate) fn why(pod: &Value) -> String {
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let messages = conditions.iter().filter_map(|one| one["message"].as_str());
    messages.collect::<Vec<_>>().join("; ")
}

/// A Kubernetes node for every Slurm node, of the same name and size.
async fn make_nodes(api: &Api, slurm: &Slurm) -> Result<Vec<String>, Trouble> {
    let mut names = vec![];
    for node in slurm.nodes().await? {
        let object = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": node.name, "labels": { "kubernetes.io/hostname": node.name } },
        });
        api.ensure("/api/v1/nodes", object).await?;
        let amounts = json!({
            "cpu": node.cpus.to_string(), "memory": format!("{}Mi", node.real_memory), "pods": "110",
        });
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is",
        });
        let status = json!({ "capacity": amounts, "allocatable": amounts, "conditions": [ready] });
        let path = format!("/api/v1/nodes/{}/status", node.name);
        api.patch(&path, json!({ "status": status })).await?;
        names.push(node.name);
    }
    match names.is_empty() {
        true => Err("the Slurm has no nodes".into()),
        false => Ok(names),
    }
}

/// Namespaces, rights, a token of the service account, and the files that processes read.
async fn prepare(
    options: &Options,
    folder: &std::path::Path,
    api: &Api,
    cluster: &Cluster,
    slurm: &Slurm,
    cluster_id: &str,
) -> Result<Launch, Trouble> {
    for name in [HOME, NAMESPACE] {
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        api.ensure("/api/v1/namespaces", object).await?;
    }
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    api.ensure(definitions, manifests::pod_group_definition()).await?;
    manifests::apply_rights(api).await?;
    let asked = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "expirationSeconds": 7200 },
    });
    let path = format!("/api/v1/namespaces/{HOME}/serviceaccounts/drawbridge/token");
    let given = api.create(&path, asked).await?;
    let token = given["status"]["token"].as_str().ok_or("the service account got no token")?;
    let launch = Launch {
        drawbridge: options.drawbridge.clone(),
        folder: folder.to_owned(),
        kubeconfig: folder.join("bridge.kubeconfig"),
        config: folder.join("config.yaml"),
        token: folder.join("slurm.token"),
    };
    replace(&launch.kubeconfig, &cluster.kubeconfig_for(token, HOME)?)?;
    replace(&launch.token, &slurm.token)?;
    let mut config = json!({
        "slurmRestApi": slurm.address, "managedNamespaces": [NAMESPACE], "clusterId": cluster_id,
        "killWaitSeconds": 5,
        "pollSeconds": { "waiting": 1, "running": 1, "idle": 2, "nodes": 2, "allJobs": 30 },
    });
    if options.bench.is_none() {
        config["leaderElection"] = json!({
            "leaseDurationSeconds": 3, "renewDeadlineSeconds": 2, "retryPeriodSeconds": 1,
        });
    }
    replace(&launch.config, &config.to_string())?;
    Ok(launch)
}

/// The webhooks of the configuration, at this machine's own address instead of a Service's.
async fn make_webhooks(api: &Api, launch: &Launch, port: u16) -> Result<(), Trouble> {
    let text = std::fs::read_to_string(&launch.config).map_err(|error| error.to_string())?;
    let config = drawbridge_bridge::config::parse(&text).map_err(|error| error.to_string())?;
    for mut object in admission::configurations(&config) {
        for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
            webhook["clientConfig"] = json!({ "url": format!("https://127.0.0.1:{port}{path}") });
        }
        let plural = match object["kind"].as_str() {
            Some("MutatingWebhookConfiguration") => "mutatingwebhookconfigurations",
            _ => "validatingwebhookconfigurations",
        };
        let all = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
        api.delete(&format!("{all}/{}", admission::CONFIGURATION)).await?;
        api.create(&all, object).await?;
    }
    Ok(())
}

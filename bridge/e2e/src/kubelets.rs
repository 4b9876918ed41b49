//! Kubelets of the suite's own: what is bound to our nodes runs as its annotations say.
//!
//! ```text
//!   bound ──▶ Running ── runtime over ──▶ Succeeded or Failed
//!                └── deleted ── stop time over ──▶ Failed ──▶ gone
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use drawbridge_core::Method;
use drawbridge_sim::{Epoch, Time};
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    api::Api,
    manifests::{EXIT, RUNTIME, STOP},
};

/// Kubelets that run until this is dropped.
#[derive(Debug)]
pub(crate) struct Kubelets(JoinHandle<()>);

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Kubelets {
    pub(crate) fn start(api: Api, nodes: Vec<String>) -> Self {
        let state =
            State { api, nodes: nodes.into_iter().collect(), pods: BTreeMap::new(), renewed: None };
        Self(tokio::spawn(state.run()))
    }
}

struct State {
    api: Api,
    nodes: BTreeSet<String>,
    /// Since when each pod runs, and since when it ends.
    pods: BTreeMap<String, Times>,
    renewed: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Times {
    started: Option<Instant>,
    stopping: Option<Instant>,
}

impl State {
    async fn run(mut self) {
        loop {
            if self.renewed.is_none_or(|at| Duration::from_secs(8) <= at.elapsed()) {
                self.renew().await;
            }
            // A server that is down now will be asked again.
            for pod in self.api.list("/api/v1/pods").await.unwrap_or_default() {
                let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
                if self.nodes.contains(node) {
                    self.look(&pod).await;
                }
            }
            sleep(Duration::from_millis(150)).await;
        }
    }

    /// Says that the nodes live.
    async fn renew(&mut self) {
        for node in &self.nodes {
            let path =
                format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}");
            let spec = json!({
                "holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now_micro(),
            });
            let renewed = self.api.patch(&path, json!({ "spec": spec })).await;
            if renewed.is_err() {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": { "name": node, "namespace": "kube-node-lease" }, "spec": spec,
                });
                let all = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
                let _ = self.api.ensure(all, lease).await;
            }
        }
        self.renewed = Some(Instant::now());
    }

    async fn look(&mut self, pod: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (uid, name) = (text(&pod["metadata"]["uid"]), text(&pod["metadata"]["name"]));
        let path =
            format!("/api/v1/namespaces/{}/pods/{name}", text(&pod["metadata"]["namespace"]));
        let notes = &pod["metadata"]["annotations"];
        let secs = |key: &str| notes[key].as_str().and_then(|text| text.parse::<u64>().ok());
        let phase = text(&pod["status"]["phase"]);
        let is_over = ["Succeeded", "Failed"].contains(&phase.as_str());
        let times = self.pods.entry(uid.clone()).or_default();
        if pod["metadata"]["deletionTimestamp"].is_string() {
            let since = *times.stopping.get_or_insert_with(Instant::now);
            let stop = Duration::from_secs(secs(STOP).unwrap_or(1));
            if is_over || times.started.is_none() {
                self.remove(&path, &uid).await;
            } else if stop <= since.elapsed() {
                self.set(&path, ended(false, 143)).await;
            }
            return;
        }
        match (phase.as_str(), times.started) {
            ("Pending" | "", _) => {
                times.started = Some(Instant::now());
                self.set(&path, running()).await;
            }
            ("Running", None) => times.started = Some(Instant::now()),
            ("Running", Some(since)) => {
                let runtime = secs(RUNTIME).map(Duration::from_secs);
                if runtime.is_some_and(|runtime| runtime <= since.elapsed()) {
                    let code = secs(EXIT).unwrap_or(0);
                    self.set(&path, ended(code == 0, code)).await;
                }
            }
            (_, _) => {}
        }
    }

    /// What doesn't arrive is tried at the next look.
    async fn set(&self, path: &str, status: Value) {
        let _ = self.api.patch(&format!("{path}/status"), json!({ "status": status })).await;
    }

    /// The containers are gone: so may the object be, unless somebody holds it.
    async fn remove(&self, path: &str, uid: &str) {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": { "uid": uid },
        });
        let _ = self.api.send(Method::Delete, path, Some(options)).await;
    }
}

fn running() -> Value {
    let now = now();
    json!({
        "phase": "Running", "startTime": now,
        "conditions": [
            { "type": "Initialized", "status": "True" }, { "type": "Ready", "status": "True" },
            { "type": "ContainersReady", "status": "True" }, { "type": "PodScheduled", "status": "True" },
        ],
        "containerStatuses": [{
            "name": "main", "image": "busybox:1.37", "imageID": "busybox", "ready": true,
            "restartCount": 0, "started": true, "state": { "running": { "startedAt": now } },
        }],
    })
}

fn ended(well: bool, code: u64) -> Value {
    let (phase, reason) = if well { ("Succeeded", "Completed") } else { ("Failed", "Error") };
    let terminated = json!({ "exitCode": code, "reason": reason, "finishedAt": now() });
    json!({
        "phase": phase,
        "containerStatuses": [{
            "name": "main", "image": "busybox:1.37", "imageID": "busybox", "ready": false,
            "restartCount": 0, "started": false, "state": { "terminated": terminated, "running": null },
        }],
    })
}

/// The calendar, and what time it is.
fn moment() -> (Epoch, Time) {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let unix = unix.unwrap_or_default();
    (Epoch::from_unix(unix.as_secs()), Time::from_ms(u64::from(unix.subsec_millis())))
}

fn now() -> String {
    let (epoch, now) = moment();
    epoch.rfc3339(now)
}

fn now_micro() -> String {
    let (epoch, now) = moment();
    epoch.rfc3339_micro(now)
}

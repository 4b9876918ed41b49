//! A served twin as its users meet it: what they did is repeated, and outlives a restart.
//!
//! ```text
//!   KubeClient, sbatch ──▶ drawbridge serve ──▶ recording ──▶ drawbridge run: the same hash
//!                                           └─▶ state-dir ──▶ drawbridge serve: the same objects
//! ```
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use drawbridge_bridge::kube::KubeClient;
use drawbridge_core::{KubeReply, KubeRequest, Method};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_drawbridge");

/// A server, killed when the test ends.
struct Served {
    folder: PathBuf,
    process: Child,
    exports: Vec<(String, String)>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Served {
    fn start(folder: &Path, flags: &[&str]) -> Self {
        let mut process = Command::new(BINARY)
            .args(["serve", "--kube-addr", "127.0.0.1:0", "--slurm-addr", "127.0.0.1:0"])
            .args(flags)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut exports = vec![];
        for line in lines {
            if line.contains("Stop with Ctrl-C") {
                break;
            }
            let pair = line.trim().strip_prefix("export ").and_then(|it| it.split_once('='));
            exports.extend(pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        Self { folder: folder.to_owned(), process, exports }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(BINARY);
        command.args(args).current_dir(&self.folder).envs(self.exports.iter().cloned());
        command.output().unwrap()
    }

    /// Asks the API server as its administrator.
    fn ask(&self, method: Method, path: &str, body: Option<Value>) -> KubeReply {
        let request = KubeRequest { method, path: path.into(), query: vec![], body };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let kubeconfig = self.folder.join("drawbridge.kubeconfig");
        runtime.block_on(async {
            let client = KubeClient::connect(Some(&kubeconfig)).await.unwrap();
            client.send("test", &request).await.unwrap()
        })
    }

    /// Waits until a pod is in this phase.
    fn until_phase(&self, pod: &str, phase: &str) {
        let began = Instant::now();
        loop {
            let reply = self.ask(Method::Get, &format!("{PODS}/{pod}"), None);
            if reply.body["status"]["phase"] == phase {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{pod} is {}", reply.body["status"]);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Stops it as an operator would.
    fn stop(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }
}

const PODS: &str = "/api/v1/namespaces/slurm-bridge/pods";

fn pod(name: &str) -> Value {
    let resources = json!({ "requests": { "cpu": "2", "memory": "1Gi" } });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "main", "image": "busybox", "resources": resources }],
        },
    })
}

#[test]
fn what_was_recorded_runs_again_to_the_same_hash() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &["--record", "it.recording", "--speed", "20"]);
    assert_eq!(served.ask(Method::Post, PODS, Some(pod("one"))).status, 201);
    let sbatch = served.run(&["sbatch", "--wrap", "sleep 5"]);
    assert!(sbatch.status.success(), "{}", String::from_utf8_lossy(&sbatch.stderr));
    served.until_phase("one", "Running");
    assert_eq!(served.ask(Method::Delete, &format!("{PODS}/one"), None).status, 200);
    served.stop();
    let recording = folder.path().join("it.recording");
    let run = |path: &Path| {
        Command::new(BINARY).arg("run").arg(path).args(["-o", "json"]).output().unwrap()
    };
    let again = run(&recording);
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((again.status.code(), &report["violations"]), (Some(0), &json!([])));
    let text = fs::read_to_string(&recording).unwrap();
    let end: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(end["end"]["hash"], report["eventHash"]);
    assert!(report["jobs"].as_array().unwrap().len() == 2, "{report}");
    // Something else would have been another run.
    fs::write(&recording, text.replace("\\\"name\\\":\\\"one\\\"", "\\\"name\\\":\\\"two\\\""))
        .unwrap();
    let other = run(&recording);
    assert_eq!(other.status.code(), Some(1), "{}", String::from_utf8_lossy(&other.stdout));
    assert!(String::from_utf8_lossy(&other.stdout).contains("the recording ended with"));
}

#[test]
fn what_is_kept_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--state-dir", "state"];
    let served = Served::start(folder.path(), &flags);
    let made = served.ask(Method::Post, PODS, Some(pod("one")));
    served.until_phase("one", "Running");
    // Killed in the middle of its work, it loses nothing that it had answered.
    let config = fs::read(folder.path().join("drawbridge.kubeconfig")).unwrap();
    drop(served);
    let served = Served::start(folder.path(), &flags);
    let found = served.ask(Method::Get, &format!("{PODS}/one"), None);
    assert_eq!(found.body["metadata"]["uid"], made.body["metadata"]["uid"]);
    assert_eq!(found.body["status"]["phase"], "Running");
    let queue = served.run(&["squeue", "-h", "-o", "%j %T"]);
    assert_eq!(String::from_utf8(queue.stdout).unwrap(), "k8s-pod-one RUNNING\n");
    let certificate = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        let lines = text.lines().filter(|line| line.contains("certificate-authority-data"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let after = fs::read(folder.path().join("drawbridge.kubeconfig")).unwrap();
    assert_eq!(certificate(&after), certificate(&config), "clients know it again");
    served.stop();
    let other = Command::new(BINARY)
        .args(["serve", "--state-dir", "state", "--no-bridge"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(2), "what is kept had a bridge");
}

#[test]
fn kubernetes_alone_outlives_a_restart_and_a_torn_line() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--kube-only", "--state-dir", "state"];
    let served = Served::start(folder.path(), &flags);
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
    assert_eq!(served.ask(Method::Post, "/api/v1/namespaces", Some(space)).status, 201);
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "it-" },
        "data": { "key": "value" },
    });
    let made = served.ask(Method::Post, "/api/v1/namespaces/a/configmaps", Some(map));
    drop(served);
    let path = folder.path().join("state/recording.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"at\":99,\"kube\":{\"num");
    fs::write(&path, text).unwrap();
    let served = Served::start(folder.path(), &flags);
    let name = made.body["metadata"]["name"].as_str().unwrap();
    let found = served.ask(Method::Get, &format!("/api/v1/namespaces/a/configmaps/{name}"), None);
    assert_eq!(found.body["data"], json!({ "key": "value" }));
    assert_eq!(found.body["metadata"]["uid"], made.body["metadata"]["uid"]);
    served.stop();
    // Damage elsewhere is said with its line.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"kube\"", "\"cube\"", 1)).unwrap();
    let damaged = Command::new(BINARY)
        .args(["serve", "--kube-only", "--state-dir", "state", "--kube-addr", "127.0.0.1:0"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(damaged.stderr).unwrap();
    assert_eq!(damaged.status.code(), Some(2));
    assert!(said.contains("recording.jsonl:3:1: this line is damaged"), "{said}");
}

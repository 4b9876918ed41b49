//! Our API server as a process that can be killed and started again, or somebody else's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use drawbridge_bridge::yaml;
use serde_json::Value;

use crate::{Trouble, api::until, options::Options};

/// An API server.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) kubeconfig: PathBuf,
    /// Ours, if it is.
    ours: Option<Ours>,
}

#[derive(Debug)]
struct Ours {
    drawbridge: PathBuf,
    folder: PathBuf,
    port: u16,
    process: Child,
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Cluster {
    pub(crate) async fn start(options: &Options, folder: &Path) -> Result<Self, Trouble> {
        if let Some(kubeconfig) = &options.kubeconfig {
            return Ok(Self { kubeconfig: kubeconfig.clone(), ours: None });
        }
        let kubeconfig = folder.join("admin.kubeconfig");
        let port = free_port()?;
        let process = serve(&options.drawbridge, folder, port)?;
        let ours = Ours {
            drawbridge: options.drawbridge.clone(),
            folder: folder.to_owned(),
            port,
            process,
        };
        let cluster = Self { kubeconfig, ours: Some(ours) };
        cluster.is_up().await?;
        Ok(cluster)
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.ours.is_some()
    }

    async fn is_up(&self) -> Result<(), Trouble> {
        until("the API server", Duration::from_secs(30), async || {
            let Ok(api) = crate::api::Api::connect(&self.kubeconfig).await else { return Ok(None) };
            Ok(api.find("/readyz").await?.map(drop))
        })
        .await
    }

    /// Kills our server without a word, waits a while, and starts it again on what it kept.
    pub(crate) async fn restart(&mut self, pause: Duration) -> Result<(), Trouble> {
        let Some(ours) = &mut self.ours else { return Err("the API server isn't ours".into()) };
        let _ = ours.process.kill();
        let _ = ours.process.wait();
        tokio::time::sleep(pause).await;
        ours.process = serve(&ours.drawbridge, &ours.folder, ours.port)?;
        self.is_up().await
    }

    /// A kubeconfig for a bearer of this token, on the same server.
    pub(crate) fn kubeconfig_for(&self, token: &str, namespace: &str) -> Result<String, Trouble> {
        let text = fs::read_to_string(&self.kubeconfig).map_err(|error| error.to_string())?;
        let admin: Value = yaml::parse(&text).map_err(|error| error.to_string())?;
        let cluster = &admin["clusters"][0]["cluster"];
        if !cluster["server"].is_string() {
            return Err("the kubeconfig names no server".into());
        }
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{ "name": "e2e", "cluster": cluster }],
            "users": [{ "name": "e2e", "user": { "token": token } }],
            "contexts": [{
                "name": "e2e",
                "context": { "cluster": "e2e", "user": "e2e", "namespace": namespace },
            }],
        });
        Ok(config.to_string())
    }
}

/// No kubelets, and no default scheduler: the suite and the bridge do their work.
fn serve(drawbridge: &Path, folder: &Path, port: u16) -> Result<Child, Trouble> {
    let log = fs::File::options().create(true).append(true).open(folder.join("serve.log"));
    let log = log.map_err(|error| error.to_string())?;
    Command::new(drawbridge)
        .args(["serve", "--kube-only", "--no-kubelets", "--no-scheduler", "--state-dir", "state"])
        .args(["--kubeconfig-out", "admin.kubeconfig", "--kube-addr"])
        .arg(format!("127.0.0.1:{port}"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| format!("{}: {error}", drawbridge.display()))
}

/// A port that nobody listens on now.
pub(crate) fn free_port() -> Result<u16, Trouble> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}

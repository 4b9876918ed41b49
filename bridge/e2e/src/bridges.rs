//! The bridge's processes: two replicas that share a lease, and one that serves the webhooks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{Trouble, api::until, cluster::free_port};

/// What every process is started with.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) drawbridge: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) config: PathBuf,
    pub(crate) token: PathBuf,
}

/// One process; killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    launch: Launch,
    name: String,
    parts: &'static str,
    pub(crate) health: u16,
    pub(crate) metrics: u16,
    pub(crate) webhook: u16,
    child: Option<Child>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// A replica that does the work when it leads.
    pub(crate) fn replica(launch: &Launch, name: &str) -> Result<Self, Trouble> {
        Self::start(launch, name, "scheduler,controllers")
    }

    /// The one that serves the webhooks.
    pub(crate) fn admission(launch: &Launch) -> Result<Self, Trouble> {
        Self::start(launch, "admission", "admission")
    }

    fn start(launch: &Launch, name: &str, parts: &'static str) -> Result<Self, Trouble> {
        let mut process = Self {
            launch: launch.clone(),
            name: name.to_owned(),
            parts,
            health: free_port()?,
            metrics: free_port()?,
            webhook: free_port()?,
            child: None,
        };
        process.spawn()?;
        Ok(process)
    }

    /// Starts it, again or for the first time.
    pub(crate) fn spawn(&mut self) -> Result<(), Trouble> {
        let Launch { drawbridge, folder, kubeconfig, config, token } = &self.launch;
        let log = folder.join(format!("{}.log", self.name));
        let log = fs::File::options().create(true).append(true).open(log);
        let log = log.map_err(|error| error.to_string())?;
        let mut command = Command::new(drawbridge);
        command.args(["bridge", "-vv", "--component", self.parts, "--config"]).arg(config);
        command.arg("--kubeconfig").arg(kubeconfig).env("SLURM_JWT_FILE", token);
        command.arg(format!("--health-probe-bind-address=127.0.0.1:{}", self.health));
        command.arg(format!("--metrics-bind-address=127.0.0.1:{}", self.metrics));
        command.arg(format!("--webhook-bind-address=127.0.0.1:{}", self.webhook));
        if self.parts != "admission" {
            // Parts that run together lead together.
            command.args(["--leader-elect", "--leader-election-id", "drawbridge-e2e", "--journal"]);
            command.arg(folder.join(format!("{}.journal", self.name)));
        }
        for name in ["SLURM_REST_API", "SLURM_JWT", "SLURM_JWT_KEY", "NAMESPACE_SELECTOR"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn();
        self.child = Some(child.map_err(|error| format!("{}: {error}", drawbridge.display()))?);
        Ok(())
    }

    /// Kills it without a word.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to end, and waits until it has; its exit code.
    pub(crate) fn stop(&mut self) -> Result<i32, Trouble> {
        let Some(mut child) = self.child.take() else { return Err("it isn't there".into()) };
        let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        told.map_err(|error| error.to_string())?;
        let ended = child.wait().map_err(|error| error.to_string())?;
        ended.code().ok_or_else(|| format!("it ended with {ended}"))
    }

    /// How much memory it uses, in KiB, and how much processor time it has used.
    pub(crate) fn usage(&self) -> Option<(u64, Duration)> {
        let pid = self.child.as_ref()?.id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        let peak = line.split_whitespace().nth(1)?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
        Some((peak, Duration::from_millis((ticks(11)? + ticks(12)?) * 10)))
    }

    pub(crate) async fn readiness(&self) -> Option<String> {
        page(self.health, "/readyz").await
    }

    pub(crate) async fn leads(&self) -> bool {
        let page = page(self.metrics, "/metrics").await.unwrap_or_default();
        page.lines().any(|line| line == "drawbridge_leads 1")
    }

    pub(crate) async fn metrics(&self) -> String {
        page(self.metrics, "/metrics").await.unwrap_or_default()
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn is_ready(&self) -> Result<(), Trouble> {
        let what = format!("{} is ready", self.name);
        until(&what, Duration::from_secs(30), async || {
            let said = self.readiness().await.ok_or("no answer")?;
            if said.ends_with("ready\n") && !said.contains("not ready") {
                return Ok(Some(()));
            }
            Err(said)
        })
        .await
    }
}

/// A small page by plain HTTP; its body.
async fn page(port: u16, path: &str) -> Option<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let ask = async {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok::<_, std::io::Error>(text)
    };
    let text = tokio::time::timeout(Duration::from_secs(5), ask).await.ok()?.ok()?;
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

/// Writes a file so that whoever reads it meanwhile gets the old one or the new one, whole.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Trouble> {
    let beside = path.with_extension("new");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

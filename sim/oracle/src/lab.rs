//! A real Slurm in namespaces of its own, obeying one shell.
//!
//! ```text
//!   Lab::start ──▶ unshare … lab.sh enter ROOT ──▶ bash inside the root, reads scripts from a pipe
//!   run(script) ─────────────NUL──────────────────▶ eval
//!               ◀─────output, NUL──────────────────
//! ```
//!
//! When the pipe closes that shell ends, and with it every process of its namespaces.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::{case::Cluster, plumbing};

const RECIPE: &str = include_str!("../lab.sh");

/// How to get a Slurm.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Where the unpacked packages are kept.
    pub cache: PathBuf,
    /// A Slurm of the user's own: the folder that has `sbin/slurmctld` and `bin/sbatch`.
    pub slurm: Option<PathBuf>,
    /// How many times faster its clock runs.
    pub speed: u32,
}

/// Why there is no Slurm to ask.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}")]
pub struct LabError {
    /// What went wrong.
    pub what: String,
    /// What would help.
    pub hint: &'static str,
}

impl LabError {
    fn new(what: impl Into<String>, hint: &'static str) -> Self {
        Self { what: what.into(), hint }
    }
}

/// Where the unpacked packages are kept unless somebody says otherwise.
pub fn default_cache() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    base.unwrap_or_else(env::temp_dir).join("drawbridge").join("slurm-24.11")
}

/// A Slurm that runs.
#[derive(Debug)]
pub struct Lab {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// Unpacks the packages if they aren't there yet.
pub fn install(options: &LabOptions) -> Result<(), LabError> {
    let hint = "it needs Linux, root, apt with a Debian mirror, unshare and a cache that can be written (--cache)";
    let recipe = write_recipe(&options.cache).map_err(|error| LabError::new(error, hint))?;
    let mut command = Command::new("bash");
    command.arg(recipe).arg("install").arg(&options.cache).stdin(Stdio::null());
    let output = command.output().map_err(|error| LabError::new(error.to_string(), hint))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(LabError::new(format!("can't unpack Slurm's packages: {}", said.trim()), hint))
}

fn write_recipe(cache: &Path) -> Result<PathBuf, String> {
    let path = cache.join(format!("lab.{}.sh", std::process::id()));
    fs::create_dir_all(cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    fs::write(&path, RECIPE).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Removes what [`install`] left beside the packages.
pub fn tidy(options: &LabOptions) {
    let _ = fs::remove_file(options.cache.join(format!("lab.{}.sh", std::process::id())));
}

impl Lab {
    /// Starts slurmctld and a slurmd for every node of the cluster. [`install`] was called before.
    pub fn start(options: &LabOptions, cluster: &Cluster) -> Result<Self, LabError> {
        let mut lab = Self::enter(options)?;
        let said = lab.run(&plumbing::boot_script(cluster)?)?;
        if said.trim_end().ends_with("booted") {
            return Ok(lab);
        }
        Err(LabError::new(
            format!("Slurm did not start:\n{}", said.trim_end()),
            "see what it says of its configuration",
        ))
    }

    fn enter(options: &LabOptions) -> Result<Self, LabError> {
        let hint = "it needs root: namespaces, mounts and chroot";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--uts", "--net", "--ipc", "--fork"]);
        command.args(["--kill-child=KILL", "bash"]);
        command.arg(options.cache.join(format!("lab.{}.sh", std::process::id())));
        command.arg("enter").arg(options.cache.join("root"));
        // A token or a configuration of the caller's would confuse the daemons.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LAB_CLOCK", options.speed.to_string());
        command.envs(options.slurm.as_ref().map(|path| ("LAB_SLURM", path)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| LabError::new(error.to_string(), hint))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = stdout.ok_or_else(|| LabError::new("no pipe from the lab", hint))?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// Runs a script inside and gives back what it printed.
    pub fn run(&mut self, script: &str) -> Result<String, LabError> {
        let hint = "it needs root: namespaces, mounts and chroot";
        let mut said = vec![];
        let sent = self.stdin.as_mut().is_some_and(|stdin| {
            stdin.write_all(script.as_bytes()).and_then(|()| stdin.write_all(b"\0")).is_ok()
                && stdin.flush().is_ok()
        });
        let read = self.stdout.read_until(0, &mut said);
        if sent && read.is_ok() && said.pop() == Some(0) {
            return Ok(String::from_utf8_lossy(&said).into_owned());
        }
        Err(LabError::new(format!("the lab has died: {}", self.last_words()), hint))
    }

    fn last_words(&mut self) -> String {
        self.stdin = None;
        let _ = self.child.wait();
        let lines = self.child.stderr.take().map(|pipe| BufReader::new(pipe).lines());
        let lines: Vec<_> = lines.into_iter().flatten().map_while(Result::ok).collect();
        lines.join("; ")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A real Slurm in namespaces of its own, obeying one shell.
//!
//! ```text
//!   Lab::start ──▶ unshare … lab.sh enter ROOT ──▶ bash inside the root, reads scripts from a pipe
//!   run(script) ─────────────NUL──────────────────▶ eval
//!               ◀─────output, NUL──────────────────
//! ```
//!
//! When the pipe closes that shell ends, and with it every process of its namespaces. Each lab has a
//! network of its own, so any number of them may run at a time; `outside` is how others reach them.

pub(crate) mod needed;
pub(crate) mod outside;

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use drawbridge_sim::Release;

use crate::{case::Cluster, plumbing::Plumbing};

/// The recipe that does the work.
pub(crate) const RECIPE: &str = include_str!("../lab.sh");

/// How to get a Slurm.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Where the unpacked packages are kept, in a folder for each release.
    pub cache: PathBuf,
    /// Which Slurm: Debian trixie has 24.11, sid has 26.05.
    pub release: Release,
    /// A Slurm of the user's own: the folder that has `sbin/slurmctld` and `bin/sbatch`.
    pub slurm: Option<PathBuf>,
    /// How many times faster its clock runs.
    pub speed: u32,
    /// What runs beside slurmctld and the slurmds.
    pub services: Services,
    /// Time-outs as a comparison with the model needs them, whatever the cluster says.
    pub lockstep: bool,
}

/// What may run beside slurmctld and the slurmds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Services {
    /// slurmrestd, with tokens.
    pub rest: bool,
    /// slurmdbd and its database.
    pub accounting: bool,
}

impl LabOptions {
    /// The packages of this release in the user's cache, in real time, and nothing but slurmctld and
    /// slurmds.
    pub fn of(release: Release) -> Self {
        Self {
            cache: default_cache(),
            release,
            slurm: None,
            speed: 1,
            services: Services::default(),
            lockstep: false,
        }
    }

    /// The same with these services.
    #[must_use]
    pub fn with(self, services: Services) -> Self {
        Self { services, ..self }
    }

    /// The same of another release.
    #[must_use]
    pub fn released(&self, release: Release) -> Self {
        Self { release, ..self.clone() }
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(format!("slurm-{}", self.release))
    }

    /// The folder of the unpacked packages: its number grows with their list, since a lab of an older
    /// one may be running from the folder before.
    fn root(&self) -> PathBuf {
        self.folder().join("root-3")
    }
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
    base.unwrap_or_else(env::temp_dir).join("drawbridge")
}

/// The Debian suite that has this release.
const fn suite(release: Release) -> &'static str {
    match release {
        Release::V24_11 => "trixie",
        Release::V26_05 => "sid",
    }
}

/// A Slurm that runs.
#[derive(Debug)]
pub struct Lab {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub(crate) plumbing: Plumbing,
}

/// Unpacks the packages if they aren't there yet.
pub fn install(options: &LabOptions) -> Result<(), LabError> {
    let hint = "it needs Linux, root, apt with a Debian mirror, unshare and a cache that can be written (--cache)";
    let folder = options.folder();
    fs::create_dir_all(&folder)
        .map_err(|error| LabError::new(format!("{}: {error}", folder.display()), hint))?;
    let mut command = Command::new("env");
    obey(&mut command).arg("install").arg(&folder).arg(options.root());
    command.env("LAB_SUITE", suite(options.release)).stdin(Stdio::null());
    let output = command.output().map_err(|error| LabError::new(error.to_string(), hint))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(LabError::new(format!("can't unpack Slurm's packages: {}", said.trim()), hint))
}

/// Lets a command run the recipe, whose arguments come next. The text goes by the environment: no file
/// can be in anybody's way.
fn obey(command: &mut Command) -> &mut Command {
    command.env("LAB_RECIPE", RECIPE).args(["bash", "-c", "eval \"$LAB_RECIPE\"", "lab.sh"])
}

impl Lab {
    /// Unpacks the packages if need be, and starts the Slurm.
    pub fn up(options: &LabOptions, cluster: &Cluster) -> Result<Self, LabError> {
        install(options)?;
        Self::start(options, cluster)
    }

    /// Starts slurmctld, a slurmd for every node of the cluster, and the services that are asked for.
    /// [`install`] was called before.
    pub fn start(options: &LabOptions, cluster: &Cluster) -> Result<Self, LabError> {
        let mut lab = Self::enter(options, Plumbing::new(options, cluster))?;
        let script = lab.plumbing.boot_script()?;
        let said = lab.run(&script)?;
        if said.trim_end().ends_with("booted") {
            return Ok(lab);
        }
        Err(LabError::new(
            format!("Slurm did not start:\n{}", said.trim_end()),
            "see what it says of its configuration",
        ))
    }

    fn enter(options: &LabOptions, plumbing: Plumbing) -> Result<Self, LabError> {
        let hint = "it needs root: namespaces, mounts and chroot";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--uts", "--net", "--ipc", "--fork"]);
        command.arg("--kill-child=KILL");
        // A token or a configuration of the caller's would confuse the daemons.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        obey(&mut command).arg("enter").arg(options.root());
        command.env("LAB_CLOCK", options.speed.to_string());
        command.envs(options.slurm.as_ref().map(|path| ("LAB_SLURM", path)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| LabError::new(error.to_string(), hint))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = stdout.ok_or_else(|| LabError::new("no pipe from the lab", hint))?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout), plumbing })
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

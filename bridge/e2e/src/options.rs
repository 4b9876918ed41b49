//! What the command line and the environment say.

use std::path::PathBuf;

use drawbridge_sim::Release;

pub(crate) const USAGE: &str = "\
usage: drawbridge-e2e [--release 24.11|26.05] [--kubeconfig FILE] [--drawbridge FILE] [--kills N] [--seed N]
                      [--only SCENE]... [--bench latency|crowd] [--keep]
environment: SLURM_REST_API and SLURM_JWT name another Slurm than the one that is started here";

/// How it is run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Which Slurm is started.
    pub(crate) release: Release,
    /// Another API server than ours.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Another Slurm: its address and a token.
    pub(crate) slurm: Option<(String, String)>,
    /// The binary.
    pub(crate) drawbridge: PathBuf,
    /// How often the leader is killed.
    pub(crate) kills: u32,
    pub(crate) seed: u64,
    /// Only these scenes.
    pub(crate) only: Vec<String>,
    /// Measure this instead.
    pub(crate) bench: Option<Bench>,
    /// Leave logs and journals behind.
    pub(crate) keep: bool,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    /// How long single pods take, on a real Slurm.
    Latency,
    /// What a thousand waiting gangs cost, beside ten thousand jobs of others, on our slurmrestd.
    Crowd,
}

impl Options {
    pub(crate) fn read(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut options = Self {
            release: Release::V24_11,
            kubeconfig: None,
            slurm: var("SLURM_REST_API").zip(var("SLURM_JWT")),
            drawbridge: beside("drawbridge"),
            kills: 20,
            seed: 1,
            only: vec![],
            bench: None,
            keep: false,
        };
        let mut args = args.peekable();
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--release" => {
                    let text = value()?;
                    options.release = Release::parse(&text)
                        .ok_or_else(|| format!("`{text}` is no release: 24.11 or 26.05"))?;
                }
                "--kubeconfig" => options.kubeconfig = Some(value()?.into()),
                "--drawbridge" => options.drawbridge = value()?.into(),
                "--kills" => options.kills = number(&value()?)?,
                "--seed" => options.seed = number(&value()?)?,
                "--only" => options.only.push(value()?),
                "--bench" => {
                    options.bench = Some(match value()?.as_str() {
                        "latency" => Bench::Latency,
                        "crowd" => Bench::Crowd,
                        other => return Err(format!("`{other}` can't be measured")),
                    });
                }
                "--keep" => options.keep = true,
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        if !options.drawbridge.is_file() {
            let path = options.drawbridge.display();
            return Err(format!("{path} isn't there: build it, or name it with --drawbridge"));
        }
        Ok(options)
    }

    /// Whether this scene is to be played.
    pub(crate) fn wants(&self, scene: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == scene)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

/// The binary of this name in the folder of this one.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().map_or_else(|_| name.into(), |path| path.with_file_name(name))
}

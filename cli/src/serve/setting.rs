//! What is served, apart from addresses and speed: all that a recording needs to begin alike.

use std::{cell::RefCell, collections::BTreeMap, fs, path::Path};

use drawbridge_scenarios::{Scenario, World, format};
use drawbridge_server::ServerError;
use drawbridge_sim::{Epoch, Release, Seed, Span, Time};
use serde::{Deserialize, Serialize};

use super::slurm;
use crate::{args::ServeArgs, failure::Failure};

/// What is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Setting {
    /// The scenario; none where Kubernetes is served alone.
    pub(crate) scenario: Option<Source>,
    bridge: bool,
    kubelets: bool,
    scheduler: bool,
    without_controllers: Vec<String>,
    default_runtime: Option<Span>,
}

/// A scenario's text and the files that it includes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    name: String,
    text: String,
    files: BTreeMap<String, String>,
}

impl Setting {
    /// What the command line says.
    pub(crate) fn of(args: &ServeArgs) -> Result<Self, Failure> {
        Ok(Self {
            scenario: if args.kube_only { None } else { Some(Source::of(args)?) },
            bridge: !args.no_bridge,
            kubelets: !args.no_kubelets,
            scheduler: !args.no_scheduler,
            without_controllers: args.no_controllers.clone(),
            default_runtime: args.slurm.default_runtime,
        })
    }

    /// The scenario, as it is served at this epoch.
    pub(crate) fn scenario(&self, epoch: Epoch) -> Result<Option<Scenario>, Failure> {
        let Some(source) = &self.scenario else { return Ok(None) };
        let mut scenario = source.parse()?;
        scenario.epoch = epoch;
        if !self.bridge {
            scenario.bridge = None;
        }
        Ok(Some(scenario))
    }

    /// The world of a scenario, at its beginning.
    pub(crate) fn world(&self, scenario: &Scenario, seed: Seed) -> Result<World, Failure> {
        let mut world = World::live(scenario, seed);
        let run_time = self.default_runtime;
        world.visit_slurm(Time::ZERO, |slurm| {
            slurm.with_ctld(Time::ZERO, |ctld| ctld.set_default_run_time(run_time));
        });
        world
            .visit_cluster(Time::ZERO, |cluster, _| self.strip(cluster))
            .map_err(|error| super::no_server(&error))?;
        Ok(world)
    }

    /// A cluster without Slurm, at its beginning.
    pub(crate) fn cluster(
        &self,
        epoch: Epoch,
        seed: Seed,
    ) -> Result<drawbridge_fakes::Cluster, Failure> {
        let mut cluster = drawbridge_fakes::Cluster::served(epoch, seed, vec![]);
        self.strip(&mut cluster).map_err(|error| super::no_server(&error))?;
        Ok(cluster)
    }

    fn strip(&self, cluster: &mut drawbridge_fakes::Cluster) -> Result<(), ServerError> {
        if !self.kubelets {
            cluster.remove_kubelets();
        }
        if !self.scheduler {
            cluster.remove_scheduler();
        }
        let unknown = self.without_controllers.iter().find(|kind| !cluster.remove_controller(kind));
        unknown.map_or(Ok(()), |kind| Err(ServerError::Controller(kind.clone())))
    }
}

impl Source {
    /// The scenario of the command line, or one that has only clusters.
    fn of(args: &ServeArgs) -> Result<Self, Failure> {
        if let Some(path) = &args.scenario {
            let unreadable = |error| Failure::path(path, error, "give a readable text file");
            let text = fs::read_to_string(path).map_err(unreadable)?;
            let folder = path.parent().unwrap_or(Path::new("."));
            return Self::gather(&path.display().to_string(), text, folder);
        }
        let release = match args.slurm.release.unwrap_or(Release::V24_11) {
            Release::V24_11 => "24.11",
            Release::V26_05 => "26.05",
        };
        let head = format!("why: Clusters to be served.\nslurm:\n  release: '{release}'\n");
        match &args.slurm.conf {
            None => {
                let lines = slurm::CONF.lines();
                let conf: String = lines.map(|line| format!("    {line}\n")).collect();
                Self::gather("serve", format!("{head}  conf: |\n{conf}"), Path::new("."))
            }
            Some(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let mut text = format!("{head}  confFile: {}\n", serde_json::json!(name));
                if path.with_file_name("gres.conf").exists() {
                    text += "  gresFile: gres.conf\n";
                }
                Self::gather("serve", text, path.parent().unwrap_or(Path::new(".")))
            }
        }
    }

    /// The text, with every file that it includes.
    fn gather(name: &str, text: String, folder: &Path) -> Result<Self, Failure> {
        let files = Gathering { folder, read: RefCell::default() };
        format::parse(name, &text, &files).map_err(|error| Failure::Scenarios(vec![error]))?;
        Ok(Self { name: name.to_owned(), text, files: files.read.into_inner() })
    }

    fn parse(&self) -> Result<Scenario, Failure> {
        let parsed = format::parse(&self.name, &self.text, &Gathered(&self.files));
        parsed.map_err(|error| Failure::Scenarios(vec![error]))
    }
}

/// Reads files, and keeps what they say.
struct Gathering<'a> {
    folder: &'a Path,
    read: RefCell<BTreeMap<String, String>>,
}

impl format::Files for Gathering<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        let place = self.folder.join(path);
        let text =
            fs::read_to_string(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        self.read.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// Files that were kept.
struct Gathered<'a>(&'a BTreeMap<String, String>);

impl format::Files for Gathered<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| format!("{path} wasn't kept"))
    }
}

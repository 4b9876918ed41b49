//! From arguments to a trace and a cluster; every mistake with its place.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use drawbridge_replay::{
    OverLimit, ReadError, Source, Trace, cluster,
    synthetic::{self, Shape},
};
use drawbridge_sim::{ConfError, ConfFile, SlurmConfig};

use super::args::{ReplayArgs, Synthetic};
use crate::failure::Failure;

/// What the file held.
pub(super) enum Input {
    Trace(Box<Loaded>),
    Journal { path: PathBuf, bytes: Vec<u8> },
}

/// A trace and the cluster that it is replayed on.
pub(super) struct Loaded {
    pub(super) path: PathBuf,
    pub(super) trace: Trace,
    pub(super) config: SlurmConfig,
    /// The slurm.conf that was made up, and from what; `None` if one was given.
    pub(super) derived: Option<cluster::Derived>,
    /// What slurm.conf says and the model doesn't honour.
    pub(super) notes: Vec<String>,
}

pub(super) fn load(args: &ReplayArgs) -> Result<Input, Failure> {
    let (path, trace) = match (&args.file, args.synthetic) {
        (_, Some(which)) => (PathBuf::from("synthetic"), made_up(args, which)?),
        (Some(path), None) => match read(path)? {
            Source::Trace(trace) => (path.clone(), *trace),
            Source::Journal(bytes) => return Ok(Input::Journal { path: path.clone(), bytes }),
        },
        (None, None) => {
            let hint = "give a file, or `-` for standard input";
            return Err(Failure::path(Path::new("-"), "no trace given", hint));
        }
    };
    let (config, derived, notes) = cluster(args, &trace)?;
    Ok(Input::Trace(Box::new(Loaded { path, trace, config, derived, notes })))
}

fn read(path: &Path) -> Result<Source, Failure> {
    let bytes = if path == Path::new("-") {
        let mut bytes = vec![];
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes
        .map_err(|error| Failure::path(path, error, "give a trace that can be read, or `-`"))?;
    drawbridge_replay::read(bytes).map_err(|error| match &error {
        ReadError::Line(at) => Failure::place(path, (at.line, at.column), &at.what, error.hint()),
        ReadError::Gzip { .. } | ReadError::Unknown { .. } => {
            Failure::whole(path, &error, error.hint())
        }
    })
}

fn made_up(args: &ReplayArgs, which: Synthetic) -> Result<Trace, Failure> {
    let shape = match which {
        Synthetic::Day => Shape::DAY,
        Synthetic::Month => Shape::MONTH,
    };
    let trace = synthetic::generate(shape, args.seed);
    if let Some(path) = &args.write_swf {
        fs::write(path, synthetic::to_swf(&trace))
            .map_err(|error| Failure::path(path, error, "give a file that can be written"))?;
    }
    Ok(trace)
}

type Cluster = (SlurmConfig, Option<cluster::Derived>, Vec<String>);

fn cluster(args: &ReplayArgs, trace: &Trace) -> Result<Cluster, Failure> {
    let keep = args.options().over_limit == OverLimit::Keep;
    let Some(path) = &args.conf else {
        let derived = cluster::derive(trace);
        let parsed = cluster::configure(&derived.conf, None, keep).map_err(|error| {
            Failure::whole(
                Path::new("the cluster made up from the trace"),
                &error,
                "give the cluster's slurm.conf with --conf".to_owned(),
            )
        })?;
        return Ok((parsed.config, Some(derived), vec![]));
    };
    let conf = text(path)?;
    let gres_path = args.gres_conf.as_deref();
    let gres = gres_path.map(text).transpose()?;
    let place = |file: ConfFile| match (file, gres_path) {
        (ConfFile::GresConf, Some(gres)) => gres,
        (ConfFile::GresConf | ConfFile::SlurmConf | ConfFile::Included(_), _) => path.as_path(),
    };
    let parsed = cluster::configure(&conf, gres.as_deref(), keep).map_err(|error| {
        let ConfError { file, line, column, what, hint } = error;
        Failure::place(place(file), (line, column), &what, hint)
    })?;
    let notes = parsed.notes.iter().map(|note| {
        format!("{}:{}:{}: {}", place(note.file).display(), note.line, note.column, note.text)
    });
    Ok((parsed.config, None, notes.collect()))
}

fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::path(path, error, "give a configuration file that can be read"))
}

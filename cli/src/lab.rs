//! `drawbridge lab`: a real Slurm to try things on, for as long as a command runs or nobody stops it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};

use drawbridge_oracle::{Cluster, Forward, Lab, LabError, LabOptions, Services};

use crate::{
    args::LabArgs,
    failure::{self, Failure},
    oracle::{check_slurm, no_slurm, read_conf},
    serve,
};

const CONF: &str = "\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
NodeName=n[1-4] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000
PartitionName=main Nodes=ALL Default=YES
";

/// Starts it, says how to use it, and waits.
pub(crate) fn lab(args: &LabArgs) -> Result<(), Failure> {
    let cluster = match &args.conf {
        Some(path) => read_conf(path)?,
        None => Cluster { slurm_conf: CONF.into(), ..Cluster::default() },
    };
    let options = options(args)?;
    let mut lab = Lab::up(&options, &cluster).map_err(no_slurm)?;
    for words in &args.sacctmgr {
        account(&mut lab, words)?;
    }
    let folder = Folder::new()?;
    let forward = lab.forward(args.addr).map_err(no_slurm)?;
    let names = exports(&mut lab, &folder.0, &forward).map_err(no_slurm)?;
    match args.command.split_first() {
        Some((program, words)) => run(process::Command::new(program).args(words).envs(names)),
        None => {
            let lines = names.map(|(name, value)| format!("export {name}={value}\n"));
            failure::print(format!("{}# Stop with Ctrl-C.\n", lines.concat()).as_bytes())?;
            serve::until_stopped()
        }
    }
}

fn options(args: &LabArgs) -> Result<LabOptions, Failure> {
    let services = Services { rest: true, accounting: args.accounting };
    let mut options = LabOptions::of(args.release).with(services);
    options.speed = args.speed;
    options.slurm = args.slurm.clone().map(|path| check_slurm(&path)).transpose()?;
    if let Some(cache) = &args.cache {
        options.cache.clone_from(cache);
    }
    Ok(options)
}

fn account(lab: &mut Lab, words: &str) -> Result<(), Failure> {
    let said = lab.run(&format!("sacctmgr -i {words} && echo && echo done")).map_err(no_slurm)?;
    if said.trim_end().ends_with("\ndone") {
        return Ok(());
    }
    Err(Failure::Input {
        place: format!("--sacctmgr '{words}'"),
        what: said.trim().to_owned(),
        hint: "write what sacctmgr takes: add account physics, add user alice account=physics …"
            .into(),
    })
}

fn exports(
    lab: &mut Lab,
    folder: &Path,
    forward: &Forward,
) -> Result<[(&'static str, String); 5], LabError> {
    lab.write_in(folder)?;
    Ok([
        ("SLURM_REST_API", format!("http://{}", forward.address())),
        ("SLURM_REST_SOCKET", lab.rest_socket()?.display().to_string()),
        ("SLURM_JWT", lab.token("root")?),
        ("SLURM_JWT_KEY", lab.key()?.display().to_string()),
        ("SLURM_LAB", folder.display().to_string()),
    ])
}

fn run(command: &mut process::Command) -> Result<(), Failure> {
    let ended = command.status().map_err(|error| {
        let program = Path::new(command.get_program());
        Failure::path(program, error, "give a command that can be run after --")
    })?;
    match ended.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Exit(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Process(format!("the command ended with {ended}"))),
    }
}

/// A folder of our own that goes with us.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("drawbridge-lab.{}", process::id()));
        fs::create_dir_all(&path).map_err(|error| {
            Failure::path(&path, error, "set TMPDIR to a folder that can be written")
        })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

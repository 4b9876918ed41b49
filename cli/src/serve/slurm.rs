//! slurmrestd as a live server, and tokens for it.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use drawbridge_fakes::slurmrestd::token::Key;
use drawbridge_server::{SlurmOptions, SlurmPlaces, SlurmServer, SlurmServerError, random_key};
use drawbridge_sim::{ConfError, ConfFile, Note, Release, SlurmConfig};

use crate::{
    args::{ServeArgs, SlurmArgs, TokenArgs},
    failure::{self, Failure},
    files,
};

/// A cluster for who brings none.
pub(super) const CONF: &str = "\
ClusterName=drawbridge
AccountingStorageType=accounting_storage/slurmdbd
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-4] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000
PartitionName=main Nodes=ALL Default=YES
";
/// How long root's token is good: as long as anybody leaves a server running.
const YEAR: u64 = 365 * 86_400;

/// Starts slurmrestd and waits until somebody stops it.
pub(super) async fn run(args: &ServeArgs) -> Result<(), Failure> {
    let (config, notes) = cluster(args)?;
    let key = key(&args.slurm.jwt_key)?;
    let options = SlurmOptions {
        config,
        places: places(args),
        key: key.clone(),
        speed: args.speed,
        default_run_time: args.slurm.default_runtime,
    };
    let server = SlurmServer::start(options).await.map_err(|error| no_server(&error))?;
    let token = root_token(args, &key)?;
    for note in notes {
        super::eprint(&format!("note: {note}\n"));
    }
    let text = exports(args, &server, &token) + "# Stop with Ctrl-C.\n";
    failure::print(text.as_bytes())?;
    super::wait_for_end().await?;
    server.stop().await;
    Ok(())
}

pub(super) fn places(args: &ServeArgs) -> SlurmPlaces {
    let SlurmArgs { slurm_addr, slurm_socket, .. } = &args.slurm;
    SlurmPlaces { address: Some(*slurm_addr), socket: slurm_socket.clone() }
}

pub(super) fn no_server(error: &SlurmServerError) -> Failure {
    Failure::Server {
        what: error.to_string(),
        hint: "give another address with --slurm-addr; port 0 takes any that is free",
    }
}

/// Makes root's token and writes it to its file.
pub(super) fn root_token(args: &ServeArgs, key: &Key) -> Result<String, Failure> {
    let token = key.mint("root", now(), YEAR);
    super::write_private(&args.slurm.token_out, token.as_bytes(), "--token-out")?;
    Ok(token)
}

pub(super) fn exports(args: &ServeArgs, server: &SlurmServer, token: &str) -> String {
    let whole =
        |path: &Path| fs::canonicalize(path).unwrap_or(path.to_owned()).display().to_string();
    let mut text = String::new();
    if let Some(address) = server.address() {
        text += &format!("export SLURM_REST_API=http://{address}\n");
    }
    if let Some(socket) = &args.slurm.slurm_socket {
        text += &format!("export SLURM_REST_SOCKET={}\n", whole(socket));
    }
    text += &format!("export SLURM_JWT={token}\n");
    text += &format!("export SLURM_JWT_KEY={}\n", whole(&args.slurm.jwt_key));
    text + "# Others' tokens: drawbridge token --user NAME.\n"
}

/// The cluster, and what of its configuration isn't honoured.
fn cluster(args: &ServeArgs) -> Result<(SlurmConfig, Vec<Note>), Failure> {
    let release = args.slurm.release.unwrap_or(Release::V24_11);
    if let Some(path) = &args.scenario {
        return Ok((files::load_one(path)?.slurm, vec![]));
    }
    let parsed = match &args.slurm.conf {
        None => SlurmConfig::parse(CONF, None, release)
            .map_err(|error| wrong(Path::new(""), None, error))?,
        Some(path) => {
            let conf = read(path)?;
            let gres_path = path.with_file_name("gres.conf");
            let gres = if gres_path.exists() { Some(read(&gres_path)?) } else { None };
            let parsed = SlurmConfig::parse(&conf, gres.as_deref(), release);
            parsed.map_err(|error| wrong(path, Some(&gres_path), error))?
        }
    };
    Ok((parsed.config, parsed.notes))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::path(path, error, "give a readable slurm.conf with --conf"))
}

fn wrong(conf: &Path, gres: Option<&Path>, error: ConfError) -> Failure {
    let ConfError { file, line, column, what, hint } = error;
    let path = match file {
        ConfFile::GresConf => gres.unwrap_or(conf),
        ConfFile::SlurmConf | ConfFile::Included(_) => conf,
    };
    Failure::place(path, (line, column), &what, hint)
}

/// The key in the file, or a new one that is written there.
pub(super) fn key(path: &Path) -> Result<Key, Failure> {
    match fs::read(path) {
        Ok(bytes) if bytes.is_empty() => {
            Err(Failure::path(path, "the key is empty", "remove the file, and a key is made"))
        }
        Ok(bytes) => Ok(Key::new(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let key = random_key().map_err(|error| Failure::Process(error.to_string()))?;
            super::write_private(path, key.bytes(), "--jwt-key")?;
            Ok(key)
        }
        Err(error) => Err(Failure::path(path, error, "give a readable key with --jwt-key")),
    }
}

/// `drawbridge token`.
pub(crate) fn token(args: &TokenArgs) -> Result<(), Failure> {
    let TokenArgs { user, key: path, lifespan } = args;
    let hint = "give the key with --key; `drawbridge serve --slurm-only` makes one";
    let bytes = fs::read(path).map_err(|error| Failure::path(path, error, hint))?;
    if user.is_empty() || bytes.is_empty() {
        return Err(Failure::path(
            &PathBuf::from("--user"),
            "a token needs a name and a key",
            hint,
        ));
    }
    let token = Key::new(bytes).mint(user, now(), *lifespan);
    failure::print(format!("SLURM_JWT={token}\n").as_bytes())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

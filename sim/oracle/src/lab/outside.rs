//! How the rest of this machine reaches a lab.
//!
//! ```text
//!   client ──TCP 127.0.0.1──▶ Forward ──/proc/PID/root/run/rest/socket──▶ slurmrestd in the lab
//!   DIR/in squeue ──nsenter──▶ squeue in the lab
//! ```

use std::{
    fs,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{Lab, LabError, RECIPE};

const HINT: &str = "it needs Linux with /proc, and root";

impl Lab {
    /// The lab's first process, as this machine numbers it.
    pub fn pid(&self) -> Result<u32, LabError> {
        let outer = self.child.id();
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"));
        let first = children.ok().and_then(|text| text.split_whitespace().next()?.parse().ok());
        first.ok_or_else(|| LabError::new("the lab has no process", HINT))
    }

    /// A file of the lab as this machine sees it.
    pub fn path(&self, inside: &str) -> Result<PathBuf, LabError> {
        Ok(PathBuf::from(format!("/proc/{}/root{inside}", self.pid()?)))
    }

    /// slurmrestd's socket.
    pub fn rest_socket(&self) -> Result<PathBuf, LabError> {
        self.path("/run/rest/socket")
    }

    /// Kills slurmrestd without a word.
    pub fn kill_rest(&mut self) -> Result<(), LabError> {
        self.run(
            "pkill -KILL -x slurmrestd; while pgrep -x slurmrestd > /dev/null; do sleep 0.05; done",
        )
        .map(drop)
    }

    /// Starts slurmrestd again.
    pub fn start_rest(&mut self) -> Result<(), LabError> {
        let script = self.plumbing.rest_script();
        let said = self.run(&format!("rm -f /run/rest/socket; {script} && echo started"))?;
        match said.trim_end().ends_with("started") {
            true => Ok(()),
            false => Err(LabError::new(format!("slurmrestd did not start: {said}"), HINT)),
        }
    }

    /// The key that signs tokens.
    pub fn key(&self) -> Result<PathBuf, LabError> {
        self.path("/etc/slurm/jwt_hs256.key")
    }

    /// A token for this user, good for a day.
    pub fn token(&mut self, user: &str) -> Result<String, LabError> {
        let said = self.run(&format!("scontrol token username={user} lifespan=86400"))?;
        let token = said.trim().strip_prefix("SLURM_JWT=").map(str::to_owned);
        token.ok_or_else(|| LabError::new(format!("no token: {}", said.trim()), HINT))
    }

    /// Serves slurmrestd's socket on a TCP address of this machine.
    pub fn forward(&self, address: SocketAddr) -> Result<Forward, LabError> {
        let socket = self.rest_socket()?;
        let failed =
            |error: io::Error| LabError::new(format!("{address}: {error}"), "give another address");
        Forward::start(address, socket).map_err(failed)
    }

    /// Writes `in`, which runs a command in the lab: `in squeue`, `in -u alice sbatch`.
    pub fn write_in(&self, folder: &Path) -> Result<(), LabError> {
        let text = format!(
            "#!/usr/bin/env bash\n# Runs a command in the lab: in [-u USER] COMMAND\nexec bash '{}' within {} \"$@\"\n",
            folder.join("lab.sh").display(),
            self.pid()?
        );
        let path = folder.join("in");
        let written = fs::write(folder.join("lab.sh"), RECIPE)
            .and_then(|()| fs::write(&path, text))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.map_err(|error| {
            LabError::new(
                format!("{}: {error}", path.display()),
                "give a folder that can be written",
            )
        })
    }
}

/// A TCP address that leads to a socket; it ends when this is dropped.
#[derive(Debug)]
pub struct Forward {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Forward {
    fn start(address: SocketAddr, socket: PathBuf) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        thread::spawn(move || {
            for client in listener.incoming() {
                if seen.load(Ordering::Relaxed) {
                    break;
                }
                if let (Ok(client), Ok(server)) = (client, UnixStream::connect(&socket)) {
                    let _ = join(&client, &server);
                }
            }
        });
        Ok(Self { address, ended })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Whoever waits for the next client gets one, and sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

/// Carries bytes both ways; the end of one way is passed on, so half-closed connections stay so.
fn join(client: &TcpStream, server: &UnixStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    client.set_nodelay(true)?;
    thread::spawn(move || {
        let _ = carry(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    thread::spawn(move || {
        let _ = carry(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    Ok(())
}

fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => to.write_all(&buffer[..count])?,
        }
    }
}

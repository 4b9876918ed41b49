//! Slurm's commands, called by the names of links, against the twin that the same binary serves.
//!
//! ```text
//!   ./sbatch ─▶ ./squeue ─▶ ./scancel ─▶ ./sacct        links to the binary
//!        └──────────┴─── HTTP ──┴───────────┘
//!                        ▼
//!             drawbridge serve --slurm-only             in a folder of its own
//! ```
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const BINARY: &str = env!("CARGO_BIN_EXE_drawbridge");

/// A served twin, stopped when the test ends; the folder holds its key and links of all names.
struct Twin {
    folder: tempfile::TempDir,
    server: Child,
    address: String,
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Twin {
    fn serve(release: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Command::new(BINARY)
            .args(["serve", "--slurm-only", "--slurm-addr", "127.0.0.1:0", "--release", release])
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("export SLURM_REST_API=").unwrap().to_owned();
        Self { folder, server, address }
    }

    /// The command of this name, to be run as `user`.
    fn command(&self, user: &str, name: &str) -> Command {
        let link = self.folder.path().join(name);
        if !link.exists() {
            symlink(BINARY, &link).unwrap();
        }
        let mut command = Command::new(link);
        command
            .current_dir(&self.folder)
            .env("SLURM_REST_API", &self.address)
            .env("SLURM_JWT", self.token(user));
        command
    }

    /// What the command prints, as `user`, with its exit code where that isn't 0.
    fn run(&self, user: &str, name: &str, args: &[&str]) -> String {
        let output = self.command(user, name).args(args).output().unwrap();
        let mut text = String::from_utf8(output.stdout).unwrap();
        text += &String::from_utf8(output.stderr).unwrap();
        match output.status.code().unwrap() {
            0 => text,
            code => format!("{text}exit code {code}\n"),
        }
    }

    fn token(&self, user: &str) -> String {
        let output = Command::new(BINARY)
            .args(["token", "--user", user])
            .current_dir(&self.folder)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim().strip_prefix("SLURM_JWT=").unwrap().to_owned()
    }

    /// Asks until the answer is the one that must come.
    fn until(&self, name: &str, args: &[&str], answer: &str) {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let text = self.run("alice", name, args);
            if text == answer {
                return;
            }
            assert!(Instant::now() < end, "{name} {args:?} says {text:?}, not {answer:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn a_job_is_submitted_seen_cancelled_and_accounted_for_by_the_commands() {
    for release in ["24.11", "26.05"] {
        let twin = Twin::serve(release);
        let submitted = twin.run("alice", "sbatch", &["-J", "hello", "-n4", "--wrap", "sleep 600"]);
        assert_eq!(submitted, "Submitted batch job 1\n");
        twin.until("squeue", &["-h", "-o", "%i %j %u %T %C %N"], "1 hello alice RUNNING 4 n1\n");
        twin.until("sinfo", &["-h", "-o", "%t %N"], "mix n1\nidle n[2-4]\n");

        let refused = twin.run("bob", "scancel", &["1"]);
        assert!(refused.contains("Access/permission denied"), "{refused}");

        assert_eq!(twin.run("alice", "scancel", &["1"]), "");
        twin.until("squeue", &["-h", "-t", "PD,R,CG"], "");
        let accounted = "1|CANCELLED by alice|0:15\n";
        twin.until("sacct", &["-n", "-X", "-P", "-o", "jobid,state,exitcode"], accounted);
    }
}

#[test]
fn a_held_job_waits_until_it_is_released() {
    let twin = Twin::serve("24.11");
    twin.run("alice", "sbatch", &["--hold", "--wrap", "sleep 600"]);
    twin.until("squeue", &["-h", "-o", "%T %r"], "PENDING JobHeldUser\n");
    assert_eq!(twin.run("alice", "scontrol", &["release", "1"]), "");
    twin.until("squeue", &["-h", "-o", "%T %r"], "RUNNING None\n");
}

#[test]
fn a_command_says_what_it_does_not_know_and_where_it_found_nobody() {
    let twin = Twin::serve("24.11");
    let unknown = twin.run("alice", "squeue", &["--bogus"]);
    assert_eq!(
        unknown,
        "squeue: unrecognized option '--bogus'\n\
         Try \"squeue --help\" for more information\nexit code 1\n"
    );
    let none = twin.run("alice", "squeue", &["-j", "99"]);
    assert_eq!(none, "slurm_load_jobs error: Invalid job id specified\nexit code 1\n");
}

#[test]
fn what_is_shown_every_second_comes_again_under_its_date_until_it_is_stopped() {
    let twin = Twin::serve("24.11");
    let rows: [(&str, &str, &[&str]); 2] = [
        ("squeue", "-o%i", &["(date)", "JOBID", ""]),
        ("sinfo", "-o%t", &["(date)", "STATE", "idle", ""]),
    ];
    for (name, format, once) in rows {
        let mut command = twin.command("alice", name);
        let mut shown = command.args(["-i1", format]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(shown.stdout.take().unwrap()).lines().map_while(Result::ok);
        // As in `Mon Nov 16 22:58:01 2026`.
        let is_date = |line: &str| line.split_whitespace().count() == 5 && line.contains(':');
        let masked = lines.map(|line| if is_date(&line) { "(date)".to_owned() } else { line });
        let text: Vec<String> = masked.take(2 * once.len()).collect();
        shown.kill().unwrap();
        shown.wait().unwrap();
        assert_eq!(text, [once, once].concat(), "{name}");
    }
}

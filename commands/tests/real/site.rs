//! A real Slurm with something of everything on it, and both kinds of commands for it.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    time::Duration,
};

use drawbridge_bridge::slurm::{
    client::{Settings, TokenSource},
    session::{Session, SessionError, SessionSettings},
};
use drawbridge_commands::{Shell, World, find};
use drawbridge_oracle::{Cluster, Lab, LabOptions, Services};
use drawbridge_sim::Release;
use jiff::tz::TimeZone;

/// What a command said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

/// A Slurm that runs.
pub(crate) struct Site {
    lab: Lab,
    release: Release,
    world: Visitor,
}

impl Site {
    /// Starts one; `None`, and a word about it, where that can't be done.
    pub(crate) fn start(release: Release) -> Option<Self> {
        let services = Services { rest: true, accounting: true };
        let cluster = Cluster {
            slurm_conf: include_str!("slurm.conf").into(),
            gres_conf: include_str!("gres.conf").into(),
            ..Cluster::default()
        };
        let lab = Lab::needed(&LabOptions::of(release).with(services), &cluster);
        let lab = lab.unwrap_or_else(|error| panic!("{error}; {}", error.hint));
        let mut lab = lab.inspect_err(|why| println!("skipped: {why}")).ok()?;
        let said = lab.run(include_str!("scene.sh")).unwrap();
        assert!(said.trim_end().ends_with("set"), "the scene could not be set: {said}");
        let address = format!("unix://{}", lab.rest_socket().unwrap().display());
        let token = lab.token("root").unwrap();
        let world = Visitor { address, token, now: 0, out: vec![], err: vec![] };
        Some(Self { lab, release, world })
    }

    /// Slurm's own command.
    pub(crate) fn real(&mut self, line: &str) -> Said {
        let script = format!(
            "date +%s; ( cd /tmp; {line} ) > /tmp/said 2> /tmp/complained < /dev/null; printf '%s\\1' $?; \
             cat /tmp/said; printf '\\1'; cat /tmp/complained"
        );
        let said = self.lab.run(&script).unwrap();
        let (now, said) = said.split_once('\n').unwrap();
        self.world.now = now.parse().unwrap();
        let mut parts = said.split('\u{1}');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let (code, out, err) = (next(), next(), next());
        Said { out: self.told(line, out), err, code: code.parse().unwrap() }
    }

    /// Without what slurmrestd doesn't tell; that of 24.11 doesn't say which partition is the default one.
    fn told(&self, line: &str, text: String) -> String {
        if line.starts_with("scontrol") {
            return untold(&text);
        }
        if self.release == Release::V26_05 || !line.starts_with("sinfo") {
            return text;
        }
        text.replace(" main*", "  main").replace("main* ", "main  ").replace("main*|", "main|")
    }

    /// The same with ours.
    pub(crate) fn ours(&mut self, line: &str) -> Said {
        let words = words(line);
        let command = find(&words[0]).unwrap_or_else(|| panic!("no command {line}"));
        let mut shell = Shell {
            name: words[0].clone(),
            env: BTreeMap::new(),
            cwd: "/tmp".to_owned(),
            zone: TimeZone::UTC,
            world: &mut self.world,
            out: vec![],
        };
        let code = command.run(&mut shell, &words[1..]);
        let text = |bytes: &mut Vec<u8>| String::from_utf8(std::mem::take(bytes)).unwrap();
        let (out, err) = (text(&mut self.world.out), text(&mut self.world.err));
        Said { out, err, code: code.into() }
    }
}

/// What slurmrestd doesn't tell of partitions and reservations.
const UNTOLD: [&str; 2] = ["PreemptMode", "AllowedPartitions"];

/// A record without what slurmrestd doesn't tell: the session that submitted a job, and, since 26.05, how
/// it shares its nodes.
fn untold(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let (bare, end) = match word.strip_suffix([' ', '\n']) {
            Some(bare) => (bare, &word[bare.len()..]),
            None => (word, ""),
        };
        match bare.split_once('=') {
            Some(("AllocNode:Sid", value)) => {
                let host = value.split(':').next().unwrap_or(value);
                format!("AllocNode:Sid={host}:N/A{end}")
            }
            Some((name, _)) if UNTOLD.contains(&name) => format!("{name}=N/A{end}"),
            _ => word.to_owned(),
        }
    });
    let text: String = words.collect();
    let mut text =
        text.replace("AllowedPartitions=N/A QOS=(null)", "AllowedPartitions=N/A QOS=N/A");
    for shares in ["NO", "OK", "YES"] {
        for alone in ["NO", "NODE", "USER"] {
            let told = format!("OverSubscribe={shares} Exclusive={alone} ");
            let shares = if shares == "OK" { "NO" } else { shares };
            text = text.replace(&told, &format!("OverSubscribe={shares} Exclusive=N/A "));
        }
    }
    text
}

/// A command line as a shell takes it apart: blanks separate, quotes hold together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Our commands' world: the lab's slurmrestd, and streams that are kept.
struct Visitor {
    address: String,
    token: String,
    /// When the original was asked: to ours it is still then.
    now: i64,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl World for Visitor {
    fn now(&self) -> i64 {
        self.now
    }

    fn sleep(&self, span: Duration) {
        std::thread::sleep(span);
    }

    fn connect(&self) -> Result<Session, SessionError> {
        let mut settings = Settings::new(vec![self.address.parse().unwrap()]);
        settings.token = TokenSource::Text(self.token.clone());
        Session::new(SessionSettings::new(settings))
    }

    fn me(&self) -> Option<String> {
        Some("root".to_owned())
    }

    fn user_id(&self, name: &str) -> Option<u32> {
        let users = ["alice", "bob", "carol", "dave"];
        let at = users.iter().position(|user| *user == name);
        let id = at.and_then(|at| u32::try_from(at).ok()).map(|at| 1001 + at);
        id.or((name == "root").then_some(0))
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn stdin_is_terminal(&self) -> bool {
        false
    }

    fn stdin(&mut self) -> &mut dyn Read {
        Box::leak(Box::new(io::empty()))
    }

    fn stdout(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    fn stderr(&mut self) -> &mut dyn Write {
        &mut self.err
    }
}

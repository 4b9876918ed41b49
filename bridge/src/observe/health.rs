//! Health in words: each thing that the bridge depends on, and what is wrong with it.
//!
//! The form is that of Kubernetes' own `/readyz?verbose`: `[+]slurm ok`, `[-]slurm failed: why`.

use std::{fmt::Write, time::Duration};

use drawbridge_core::{
    Role,
    link::{EndpointState, EndpointStatus, LinkStatus},
};

use super::Snapshot;
use crate::{front::Page, shell::Status};

/// Something that the bridge can't work without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// What it is called.
    pub name: &'static str,
    /// Why it can't be used, if it can't.
    pub trouble: Option<String>,
}

impl Dependency {
    /// It can be used.
    pub fn up(name: &'static str) -> Self {
        Self { name, trouble: None }
    }

    /// It can't be used, because of this.
    pub fn down(name: &'static str, why: impl Into<String>) -> Self {
        Self { name, trouble: Some(why.into()) }
    }
}

/// Whether the loop goes round; it may take its time to begin.
pub(super) fn alive(snapshot: &Snapshot, silence: Duration) -> Page {
    match &snapshot.last {
        Some((age, _)) if silence < *age => {
            let why = format!("it last went round {} s ago", age.as_secs());
            Page::text(503, lines(&[Dependency::down("loop", why)], "not alive"))
        }
        Some(_) | None => Page::text(200, lines(&[Dependency::up("loop")], "alive")),
    }
}

/// Whether everything is there that it needs.
pub(super) fn ready(snapshot: &Snapshot) -> Page {
    let mut all = match (&snapshot.last, snapshot.has_loop) {
        (Some((_, status)), _) => of_loop(status),
        (None, true) => vec![Dependency::down("loop", "it has not begun")],
        (None, false) => vec![],
    };
    all.extend(snapshot.beside.dependencies.iter().cloned());
    let is_ready = all.iter().all(|one| one.trouble.is_none());
    let (status, end) = if is_ready { (200, "ready") } else { (503, "not ready") };
    Page::text(status, lines(&all, end))
}

/// What the loop depends on. A replica that waits for its turn asks Slurm nothing.
pub(super) fn of_loop(status: &Status) -> Vec<Dependency> {
    let mut all = vec![Dependency { name: "kubernetes", trouble: status.kube_trouble.clone() }];
    if status.role == Role::Leading {
        all.extend(slurm(&status.link));
    }
    all
}

/// Slurm, and the token beside it: a ping answers whatever the token, so they fail apart.
fn slurm(link: &LinkStatus) -> [Dependency; 2] {
    let current = link.endpoints.get(link.current).map(|endpoint| &endpoint.state);
    let is_up = matches!(current, Some(EndpointState::Ready(_)));
    let trouble = (!is_up).then(|| servers(&link.endpoints));
    let token = link.token_refused.clone();
    [Dependency { name: "slurm", trouble }, Dependency { name: "slurm-token", trouble: token }]
}

/// Why Slurm can't be asked, if it can't.
pub(crate) fn slurm_trouble(link: &LinkStatus) -> Option<String> {
    slurm(link).into_iter().find_map(|one| one.trouble)
}

fn servers(endpoints: &[EndpointStatus]) -> String {
    let one = |endpoint: &EndpointStatus| match &endpoint.state {
        EndpointState::Unknown => format!("{} is being asked", endpoint.name),
        EndpointState::Ready(version) => format!("{} speaks {version}", endpoint.name),
        EndpointState::Resting { why, .. } => format!("{}: {why}", endpoint.name),
    };
    endpoints.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn lines(all: &[Dependency], end: &str) -> String {
    let mut text = String::new();
    for Dependency { name, trouble } in all {
        let _ = match trouble {
            None => writeln!(text, "[+]{name} ok"),
            // One line each, whatever a server says.
            Some(why) => writeln!(text, "[-]{name} failed: {}", why.replace(['\n', '\r'], " ")),
        };
    }
    text + end + "\n"
}

//! What the outside may see of a bridge that runs: whether it is well, and what it has done.
//!
//! ```text
//!   the loop ── publish ──▶ Board ◀── look ── Observer ◀── kubelet: /healthz, /readyz
//!                             ▲                       ◀── Prometheus: /metrics
//!   webhooks ── Beside ───────┘
//! ```
//!
//! The loop publishes its [`Status`] whenever it has gone round; [`page`] turns what is on the board
//! into text without knowing who asks. Nobody who asks can hold the loop up. Start at [`page`].

mod guard;
mod health;
mod prometheus;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    front::{Answering, Front, FrontError, Page, Question, Server, Shown},
    settings::Listen,
    shell::Status,
    webhook::ReviewMetrics,
};

pub use guard::Guard;
pub use health::Dependency;
pub(crate) use health::slurm_trouble;

/// How long the loop may be silent. It wakes at least once in a poll interval.
const SILENCE: Duration = Duration::from_mins(2);

/// What is known besides the loop's own status.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Whatever else the bridge can't work without.
    pub dependencies: Vec<Dependency>,
    /// Reviews by path and verdict.
    pub reviews: ReviewMetrics,
}

/// Where the loop leaves its status, and where the rest is found.
#[derive(Clone)]
pub struct Board(Arc<Inner>);

struct Inner {
    has_loop: bool,
    last: RwLock<Option<(Instant, Status)>>,
    beside: Box<dyn Fn() -> Beside + Send + Sync>,
}

/// Everything that pages are made of.
#[derive(Clone, Debug)]
struct Snapshot {
    has_loop: bool,
    last: Option<(Duration, Status)>,
    beside: Beside,
}

impl Board {
    /// An empty one. A process that only judges pods has no loop.
    pub fn new(has_loop: bool, beside: impl Fn() -> Beside + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { has_loop, last: RwLock::default(), beside: Box::new(beside) }))
    }

    /// The loop has gone round.
    pub fn publish(&self, status: Status) {
        let mut last = self.0.last.write().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), status));
    }

    fn look(&self) -> Snapshot {
        let Inner { has_loop, last, beside } = &*self.0;
        let last = last.read().unwrap_or_else(PoisonError::into_inner).clone();
        let last = last.map(|(at, status)| (at.elapsed(), status));
        Snapshot { has_loop: *has_loop, last, beside: beside() }
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Board")
    }
}

/// Which pages an address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// `/metrics`
    Metrics,
    /// `/healthz`, `/livez` and `/readyz`
    Health,
}

/// What is answered to a request for this path.
pub fn page(pages: Pages, method: &str, path: &str, board: &Board) -> Page {
    if !["GET", "HEAD"].contains(&method) {
        return Page::text(405, format!("{method} is not served here, only GET\n"));
    }
    match (pages, path) {
        (Pages::Metrics, "/metrics") => {
            let body = prometheus::text(&board.look());
            Page { status: 200, content_type: prometheus::TYPE, body }
        }
        (Pages::Health, "/healthz" | "/livez") => health::alive(&board.look(), SILENCE),
        (Pages::Health, "/readyz") => health::ready(&board.look()),
        (Pages::Metrics, _) => {
            Page::text(404, format!("{path} is not served here, only /metrics\n"))
        }
        (Pages::Health, _) => {
            let served = "/healthz, /livez and /readyz";
            Page::text(404, format!("{path} is not served here, only {served}\n"))
        }
    }
}

/// Pages that are served, until this is dropped.
#[derive(Debug)]
pub struct Observer(Server);

struct Observed {
    pages: Pages,
    board: Board,
    guard: Option<Guard>,
}

impl Observer {
    /// Serves these pages there, to everybody.
    pub async fn start(address: Listen, pages: Pages, board: Board) -> Result<Self, FrontError> {
        let front = Observed { pages, board, guard: None };
        Ok(Self(Server::start(address, None, false, Arc::new(front)).await?))
    }

    /// Serves these pages behind TLS, to whom the guard lets pass.
    pub async fn guarded(
        address: Listen,
        pages: Pages,
        board: Board,
        (shown, http2): (Shown, bool),
        guard: Guard,
    ) -> Result<Self, FrontError> {
        let front = Observed { pages, board, guard: Some(guard) };
        Ok(Self(Server::start(address, Some(shown), http2, Arc::new(front)).await?))
    }

    /// Where it listens.
    pub const fn address(&self) -> std::net::SocketAddr {
        self.0.address()
    }
}

impl Front for Observed {
    fn answer<'a>(&'a self, question: &'a Question<'a>) -> Answering<'a> {
        Box::pin(async move {
            if let Some(guard) = &self.guard
                && let Err(refused) = guard.check(question).await
            {
                return refused;
            }
            page(self.pages, question.method.as_str(), question.path, &self.board)
        })
    }
}

#[cfg(test)]
mod tests;

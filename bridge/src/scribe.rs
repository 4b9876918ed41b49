//! Writes down what the shell tells: the journal first, then the log, then the board.
//!
//! | verbosity | what is logged |
//! |---|---|
//! | 0 | what the bridge did, and what went wrong |
//! | 1 | and what Kubernetes' own objects show as well |
//! | 2 | and every request that changes something |
//! | 3 | and every request |
//! | 4 | and every piece of news |

use std::{fs::File, io, path::Path};

use drawbridge_core::{BridgeFact, Effect, Input, KubeReply, SlurmFault, Weight};
use drawbridge_sim::Time;

use crate::{
    journal::{Began, Journal},
    observe::Board,
    shell::{Status, Voice},
};

/// Hears everything.
#[derive(Debug)]
pub struct Scribe {
    journal: Option<Journal<File>>,
    board: Board,
}

impl Scribe {
    /// One that publishes on this board.
    pub fn new(board: Board) -> Self {
        Self { journal: None, board }
    }

    /// Keeps a journal in this file, which nobody else may read: it holds whole objects.
    pub fn with_journal(mut self, path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        self.journal = Some(Journal::new(options.open(path)?));
        Ok(self)
    }

    /// A journal that can't be written ends here, whole up to its last line: the work goes on.
    fn note(&mut self, write: impl FnOnce(&mut Journal<File>) -> io::Result<()>) {
        let Some(journal) = &mut self.journal else { return };
        if let Err(error) = write(journal) {
            tracing::error!(%error, "the journal ends: it can't be written");
            self.journal = None;
        }
    }
}

impl Voice for Scribe {
    fn began(&mut self, now: Time, began: &Began) {
        self.note(|journal| journal.began(now, began));
        tracing::info!(identity = began.instance.identity, "begins");
    }

    fn input(&mut self, now: Time, input: &Input) {
        self.note(|journal| journal.input(now, input));
        match input {
            Input::Started | Input::Woke => {}
            Input::Stopping => tracing::info!("was told to stop"),
            Input::KubeReplied { call, outcome: Err(lost) } => {
                tracing::warn!(call = call.0, why = lost.why, "no reply from Kubernetes");
            }
            Input::KubeReplied { call, outcome: Ok(KubeReply { status, body }) } => {
                let message = body["message"].as_str().filter(|_| 400 <= *status);
                tracing::trace!(call = call.0, status, message, "Kubernetes replied");
            }
            // How the version is found out.
            Input::SlurmReplied { call, outcome: Err(SlurmFault::NotServed { why }) } => {
                tracing::trace!(call = call.0, why, "not served");
            }
            Input::SlurmReplied { call, outcome: Err(fault) } => {
                tracing::warn!(call = call.0, why = %fault, "no answer from Slurm");
            }
            Input::SlurmReplied { call, outcome: Ok(_) } => {
                tracing::trace!(call = call.0, "Slurm replied");
            }
            Input::Watched { stream, .. } => tracing::trace!(stream = stream.0, "watched"),
        }
    }

    fn effect(&mut self, now: Time, effect: &Effect) {
        self.note(|journal| journal.effect(now, effect));
        match effect {
            Effect::Kube { call, request, .. } if request.reads_only() => {
                tracing::trace!(target: READS, call = call.0, "to Kubernetes: {request}");
            }
            Effect::Kube { call, request, .. } => {
                tracing::debug!(target: WRITES, call = call.0, "to Kubernetes: {request}");
            }
            Effect::Slurm { call, request, .. } if request.reads_only() => {
                tracing::trace!(target: READS, call = call.0, "to Slurm: {request}");
            }
            Effect::Slurm { call, request, .. } => {
                tracing::debug!(target: WRITES, call = call.0, "to Slurm: {request}");
            }
            Effect::KubeWatch { stream, request } => {
                tracing::trace!(target: READS, stream = stream.0, "watch {}", request.path);
            }
            Effect::Unwatch { stream } => tracing::trace!(stream = stream.0, "watch closed"),
            Effect::WakeAt(_) => {}
            Effect::StepDown => tracing::info!("steps down: another may lead"),
            Effect::Exit => tracing::info!("has let go"),
        }
    }

    fn facts(&mut self, _now: Time, facts: Vec<BridgeFact>) {
        for fact in facts {
            match fact.weight {
                Weight::News => tracing::info!(subject = %fact.subject, "{fact}"),
                Weight::Echo => tracing::debug!(target: ECHO, subject = %fact.subject, "{fact}"),
            }
        }
    }

    fn status(&mut self, status: impl FnOnce() -> Status) {
        self.board.publish(status());
    }
}

/// What is logged of facts that objects show as well.
pub const ECHO: &str = "drawbridge::echo";
/// What is logged of requests that change something.
pub const WRITES: &str = "drawbridge::writes";
/// What is logged of requests that change nothing.
pub const READS: &str = "drawbridge::reads";

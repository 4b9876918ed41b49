//! `--dependency`: what must have become of other jobs first.
//!
//! ```text
//!   afterok:12:13,afterany:14    all of them          after:12+5     five minutes after it began
//!   afterok:12?singleton         any of them          aftercorr:12   task by task of an array
//! ```
//!
//! A term is decided once and stays decided. [`Slurmctld::test_dependency`] asks the open ones.

mod read;
mod test;

use std::fmt;

use crate::{JobId, Span};

/// Conditions on other jobs, all of them or any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependency {
    any: bool,
    terms: Vec<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    kind: Kind,
    whom: Whom,
    /// `+minutes`: so long after the other one began.
    delay: Span,
    met: Met,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    After,
    AfterAny,
    AfterOk,
    AfterNotOk,
    AfterCorr,
    AfterBurstBuffer,
    Singleton,
}

/// Whose end or start a term is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    /// Every earlier job of the same user and name.
    Namesakes,
    /// One job.
    Job(JobId),
    /// One task of an array.
    Task(JobId, u32),
    /// All tasks of an array.
    Array(JobId),
}

/// Whether a condition is fulfilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Met {
    /// It is.
    Yes,
    /// It may be.
    NotYet,
    /// It can't be any more.
    Never,
}

impl Dependency {
    /// Whether there is nothing to wait for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The jobs, and numbers of arrays, that it is about.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.terms.iter().filter_map(|term| match term.whom {
            Whom::Namesakes => None,
            Whom::Job(job) | Whom::Task(job, _) | Whom::Array(job) => Some(job),
        })
    }

    /// Whether the job waits for its namesakes.
    pub(crate) fn is_singleton(&self) -> bool {
        self.terms.iter().any(|term| term.kind == Kind::Singleton)
    }

    /// Whether an array's tasks each wait for one of their own.
    pub(crate) fn is_by_task(&self) -> bool {
        self.terms.iter().any(|term| term.kind == Kind::AfterCorr)
    }

    /// Whether all is fulfilled, or anything, as far as the terms say.
    fn met(&self) -> Met {
        let all = self.terms.iter().map(|term| term.met);
        let met = if self.any { all.min() } else { all.max() };
        met.unwrap_or(Met::Yes)
    }
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::After => "after",
            Self::AfterAny => "afterany",
            Self::AfterOk => "afterok",
            Self::AfterNotOk => "afternotok",
            Self::AfterCorr => "aftercorr",
            Self::AfterBurstBuffer => "afterburstbuffer",
            Self::Singleton => "singleton",
        }
    }
}

/// As scontrol prints it: what isn't fulfilled yet, each with its state.
impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.terms.iter().filter(|term| term.met != Met::Yes);
        for (n, term) in open.enumerate() {
            match (n, self.any) {
                (0, _) => {}
                (_, true) => f.write_str("?")?,
                (_, false) => f.write_str(",")?,
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        match self.whom {
            Whom::Namesakes => {}
            Whom::Job(job) => write!(f, ":{job}")?,
            Whom::Task(job, task) => write!(f, ":{job}_{task}")?,
            Whom::Array(job) => write!(f, ":{job}_*")?,
        }
        if self.delay != Span::ZERO {
            write!(f, "+{}", self.delay.as_ms() / 60_000)?;
        }
        f.write_str(match self.met {
            Met::Yes => "(fulfilled)",
            Met::NotYet => "(unfulfilled)",
            Met::Never => "(failed)",
        })
    }
}

//! `--dependency`: what must have become of other jobs first.

use crate::{ExitCode, JobId, JobState};

/// Conditions on other jobs, all of them or any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependency {
    any: bool,
    terms: Vec<Term>,
    /// No earlier job of this name and user may be left.
    pub(crate) singleton: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    kind: Kind,
    job: JobId,
    met: Met,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    After,
    AfterAny,
    AfterOk,
    AfterNotOk,
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
    /// Reads `afterok:12:13,afterany:14` (all) or `afterok:12?afterany:14` (any), `singleton`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut found = Self { any: text.contains('?'), ..Self::default() };
        if found.any && text.contains(',') {
            return None;
        }
        for part in text.split([',', '?']).map(str::trim) {
            let (name, jobs) = part.split_once(':').unwrap_or((part, ""));
            let kind = match name.to_ascii_lowercase().as_str() {
                "singleton" if jobs.is_empty() => {
                    found.singleton = true;
                    continue;
                }
                "after" => Kind::After,
                "afterany" => Kind::AfterAny,
                "afterok" => Kind::AfterOk,
                "afternotok" => Kind::AfterNotOk,
                _ => return None,
            };
            for job in jobs.split(':') {
                let job = JobId(job.parse().ok()?);
                let met = Met::NotYet;
                found.terms.push(Term { kind, job, met });
            }
        }
        Some(found)
    }

    /// The jobs that it is about.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.terms.iter().map(|term| term.job)
    }

    /// Takes note of what became of a job.
    pub(crate) fn observe(&mut self, job: JobId, state: JobState, exit: ExitCode) {
        for term in self.terms.iter_mut().filter(|term| term.job == job) {
            if term.met == Met::NotYet {
                term.met = term.kind.met(state, exit);
            }
        }
    }

    /// Whether the conditions on other jobs are fulfilled; `singleton` aside.
    pub(crate) fn met(&self) -> Met {
        let all = self.terms.iter().map(|term| term.met);
        let met = if self.any { all.min() } else { all.max() };
        met.unwrap_or(Met::Yes)
    }
}

impl Kind {
    fn met(self, state: JobState, exit: ExitCode) -> Met {
        let ok = state == JobState::Completed && exit == ExitCode::default();
        match self {
            Self::After if state != JobState::Pending => Met::Yes,
            Self::AfterAny if state.is_end() => Met::Yes,
            Self::AfterOk | Self::AfterNotOk if state.is_end() => {
                if ok == (self == Self::AfterOk) {
                    Met::Yes
                } else {
                    Met::Never
                }
            }
            Self::After | Self::AfterAny | Self::AfterOk | Self::AfterNotOk => Met::NotYet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_met_by_what_became_of_the_job() {
        let (good, bad) = (ExitCode::default(), ExitCode::code(1));
        #[rustfmt::skip]
        let rows = [
            ("after:1",           JobState::Running,   good, Met::Yes),
            ("after:1",           JobState::Pending,   good, Met::NotYet),
            ("afterany:1",        JobState::Running,   good, Met::NotYet),
            ("afterany:1",        JobState::Failed,    bad,  Met::Yes),
            ("afterok:1",         JobState::Completed, good, Met::Yes),
            ("afterok:1",         JobState::Failed,    bad,  Met::Never),
            ("afterok:1",         JobState::Cancelled, good, Met::Never),
            ("afternotok:1",      JobState::Completed, good, Met::Never),
            ("afternotok:1",      JobState::Timeout,   bad,  Met::Yes),
            ("afterok:1,after:2", JobState::Completed, good, Met::NotYet),
            ("afterok:1?after:2", JobState::Completed, good, Met::Yes),
        ];
        for (text, state, exit, met) in rows {
            let mut dependency = Dependency::parse(text).unwrap();
            dependency.observe(JobId(1), state, exit);
            assert_eq!(dependency.met(), met, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in
            ["", "afterok", "afterok:x", "before:1", "afterok:1?after:2,after:3", "singleton:1"]
        {
            assert_eq!(Dependency::parse(text), None, "{text}");
        }
    }
}

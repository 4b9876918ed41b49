//! What a job waits for: Slurm jobs by number, pods and PodGroups by name.
//!
//! ```text
//!   afterok:12:pod/prepare,afterany:podgroup/mpi
//!   └─ kind │  └ by name  └ and (`?`: or)
//!           └ by number
//! ```

/// A whole dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// One of the terms is enough.
    pub(crate) any: bool,
    pub(crate) terms: Vec<Term>,
}

/// One term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// No other job of this name and user.
    Singleton,
    /// After these.
    After(After, Vec<On>),
}

/// After what of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// They began.
    Start,
    /// They ended.
    Any,
    /// They ended well.
    Ok,
    /// They ended badly.
    NotOk,
    /// Task by task.
    Corr,
    /// Their burst buffer is written back.
    BurstBuffer,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// A Slurm job as sbatch writes it: `12`, `12_3`, `12+5`.
    Job(String),
    /// A pod of the same namespace.
    Pod(String),
    /// A PodGroup of the same namespace.
    Group(String),
}

impl After {
    const ALL: [(&'static str, Self); 6] = [
        ("after", Self::Start),
        ("afterany", Self::Any),
        ("afterok", Self::Ok),
        ("afternotok", Self::NotOk),
        ("aftercorr", Self::Corr),
        ("afterburstbuffer", Self::BurstBuffer),
    ];

    fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        Self::ALL.into_iter().find(|(name, _)| *name == lower).map(|(_, after)| after)
    }

    /// As Slurm writes it.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, after)| *after == self).map_or("after", |(name, _)| name)
    }
}

/// Reads a dependency.
pub(super) fn dependency(text: &str) -> Option<Dependency> {
    let any = text.contains('?');
    if any && text.contains(',') {
        return None;
    }
    let terms = text.split(if any { '?' } else { ',' }).map(|term| read(term.trim()));
    Some(Dependency { any, terms: terms.collect::<Option<_>>()? })
}

fn read(term: &str) -> Option<Term> {
    if term.eq_ignore_ascii_case("singleton") {
        return Some(Term::Singleton);
    }
    let (after, on) = term.split_once(':')?;
    let after = After::parse(after.trim())?;
    Some(Term::After(after, on.split(':').map(|on| one(on.trim())).collect::<Option<_>>()?))
}

fn one(on: &str) -> Option<On> {
    match on.split_once('/') {
        Some((_, "")) => None,
        Some(("pod", name)) => Some(On::Pod(name.into())),
        Some(("podgroup", name)) => Some(On::Group(name.into())),
        Some(_) => None,
        None => {
            let number = on.split(['_', '+']).next().unwrap_or_default();
            let sound = number.parse::<u32>().is_ok_and(|number| number > 0);
            let rest = on.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'_' | b'+' | b'*'));
            (sound && rest).then(|| On::Job(on.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_by_number_and_by_name() {
        let job = |number: &str| On::Job(number.into());
        let all = |terms| Some(Dependency { any: false, terms });
        #[rustfmt::skip]
        let rows = [
            ("afterok:12",             all(vec![Term::After(After::Ok, vec![job("12")])])),
            ("AfterOK:12:13_2",        all(vec![Term::After(After::Ok, vec![job("12"), job("13_2")])])),
            ("after:12+5,singleton",   all(vec![Term::After(After::Start, vec![job("12+5")]), Term::Singleton])),
            ("afterany:pod/a",         all(vec![Term::After(After::Any, vec![On::Pod("a".into())])])),
            ("afternotok:podgroup/g",  all(vec![Term::After(After::NotOk, vec![On::Group("g".into())])])),
            ("afterok:1?afterok:2",    Some(Dependency { any: true, terms: vec![Term::After(After::Ok, vec![job("1")]), Term::After(After::Ok, vec![job("2")])] })),
            ("afterok:1?afterok:2,singleton", None),
            ("afterok",                None),
            ("afterok:",               None),
            ("afterok:0",              None),
            ("afterok:pod/",           None),
            ("afterok:job/a",          None),
            ("before:12",              None),
            ("",                       None),
        ];
        for (text, expected) in rows {
            assert_eq!(dependency(text), expected, "{text}");
        }
    }
}

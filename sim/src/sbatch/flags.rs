//! The flags that sbatch has.

use super::{SbatchError, words::Word};

/// A flag that the model understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Nodes,
    Tasks,
    CpusPerTask,
    TasksPerNode,
    /// Sockets, cores, threads, and how jobs are laid out on them: see `layout`.
    Layout(Layout),
    Time,
    Partition,
    JobName,
    Account,
    NodeList,
    Exclude,
    Dependency,
    KillOnInvalidDep,
    Hold,
    Constraint,
    Mem,
    MemPerCpu,
    Gres,
    Gpus,
    GpusPerNode,
    GpusPerTask,
    Exclusive,
    Nice,
    Priority,
    Requeue,
    NoRequeue,
    External,
    Begin,
    Array,
    Deadline,
    TimeMin,
    Licenses,
    NoKill,
    Signal,
    Wrap,
    User,
    Comment,
    WcKey,
    McsLabel,
    Chdir,
    /// Says where output goes and the like.
    NoBearing {
        value: bool,
    },
}

/// A flag about sockets, cores, threads and devices, or about sharing nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    MinCpus,
    TasksPerSocket,
    TasksPerCore,
    TasksPerGpu,
    SocketsPerNode,
    CoresPerSocket,
    ThreadsPerCore,
    ExtraNodeInfo,
    Hint,
    Distribution,
    Contiguous,
    SpreadJob,
    UseMinNodes,
    Overcommit,
    Oversubscribe,
    CpusPerGpu,
    MemPerGpu,
    GpusPerSocket,
    GresFlags,
}

/// A flag as it was found, with the value that was glued to it.
pub(super) struct Found {
    pub(super) flag: Flag,
    pub(super) value: Option<Word>,
}

#[rustfmt::skip]
const KNOWN: &[(&str, char, Flag)] = &[
    ("nodes", 'N', Flag::Nodes),
    ("ntasks", 'n', Flag::Tasks),
    ("cpus-per-task", 'c', Flag::CpusPerTask),
    ("ntasks-per-node", ' ', Flag::TasksPerNode),
    ("tasks-per-node", ' ', Flag::TasksPerNode),
    ("mincpus", ' ', Flag::Layout(Layout::MinCpus)),
    ("ntasks-per-socket", ' ', Flag::Layout(Layout::TasksPerSocket)),
    ("ntasks-per-core", ' ', Flag::Layout(Layout::TasksPerCore)),
    ("ntasks-per-gpu", ' ', Flag::Layout(Layout::TasksPerGpu)),
    ("sockets-per-node", ' ', Flag::Layout(Layout::SocketsPerNode)),
    ("cores-per-socket", ' ', Flag::Layout(Layout::CoresPerSocket)),
    ("threads-per-core", ' ', Flag::Layout(Layout::ThreadsPerCore)),
    ("extra-node-info", 'B', Flag::Layout(Layout::ExtraNodeInfo)),
    ("hint", ' ', Flag::Layout(Layout::Hint)),
    ("distribution", 'm', Flag::Layout(Layout::Distribution)),
    ("contiguous", ' ', Flag::Layout(Layout::Contiguous)),
    ("spread-job", ' ', Flag::Layout(Layout::SpreadJob)),
    ("use-min-nodes", ' ', Flag::Layout(Layout::UseMinNodes)),
    ("overcommit", 'O', Flag::Layout(Layout::Overcommit)),
    ("oversubscribe", 's', Flag::Layout(Layout::Oversubscribe)),
    ("cpus-per-gpu", ' ', Flag::Layout(Layout::CpusPerGpu)),
    ("mem-per-gpu", ' ', Flag::Layout(Layout::MemPerGpu)),
    ("gpus-per-socket", ' ', Flag::Layout(Layout::GpusPerSocket)),
    ("gres-flags", ' ', Flag::Layout(Layout::GresFlags)),
    ("time", 't', Flag::Time),
    ("partition", 'p', Flag::Partition),
    ("job-name", 'J', Flag::JobName),
    ("account", 'A', Flag::Account),
    ("nodelist", 'w', Flag::NodeList),
    ("exclude", 'x', Flag::Exclude),
    ("dependency", 'd', Flag::Dependency),
    ("kill-on-invalid-dep", ' ', Flag::KillOnInvalidDep),
    ("hold", 'H', Flag::Hold),
    ("constraint", 'C', Flag::Constraint),
    ("mem", ' ', Flag::Mem),
    ("mem-per-cpu", ' ', Flag::MemPerCpu),
    ("gres", ' ', Flag::Gres),
    ("gpus", 'G', Flag::Gpus),
    ("gpus-per-node", ' ', Flag::GpusPerNode),
    ("gpus-per-task", ' ', Flag::GpusPerTask),
    ("exclusive", ' ', Flag::Exclusive),
    ("nice", ' ', Flag::Nice),
    ("priority", ' ', Flag::Priority),
    ("requeue", ' ', Flag::Requeue),
    ("no-requeue", ' ', Flag::NoRequeue),
    ("external", ' ', Flag::External),
    ("begin", 'b', Flag::Begin),
    ("array", 'a', Flag::Array),
    ("deadline", ' ', Flag::Deadline),
    ("time-min", ' ', Flag::TimeMin),
    ("licenses", 'L', Flag::Licenses),
    ("no-kill", 'k', Flag::NoKill),
    ("signal", ' ', Flag::Signal),
    ("wrap", ' ', Flag::Wrap),
    ("uid", ' ', Flag::User),
    ("comment", ' ', Flag::Comment),
    ("wckey", ' ', Flag::WcKey),
    ("mcs-label", ' ', Flag::McsLabel),
    ("chdir", 'D', Flag::Chdir),
    ("output", 'o', Flag::NoBearing { value: true }),
    ("error", 'e', Flag::NoBearing { value: true }),
    ("input", 'i', Flag::NoBearing { value: true }),
    ("export", ' ', Flag::NoBearing { value: true }),
    ("gid", ' ', Flag::NoBearing { value: true }),
    ("mail-type", ' ', Flag::NoBearing { value: true }),
    ("mail-user", ' ', Flag::NoBearing { value: true }),
    ("open-mode", ' ', Flag::NoBearing { value: true }),
    ("acctg-freq", ' ', Flag::NoBearing { value: true }),
    ("export-file", ' ', Flag::NoBearing { value: true }),
    ("profile", ' ', Flag::NoBearing { value: true }),
    ("wait-all-nodes", ' ', Flag::NoBearing { value: true }),
    ("get-user-env", ' ', Flag::NoBearing { value: false }),
    ("ignore-pbs", ' ', Flag::NoBearing { value: false }),
    ("propagate", ' ', Flag::NoBearing { value: false }),
    ("wait", 'W', Flag::NoBearing { value: false }),
    ("parsable", ' ', Flag::NoBearing { value: false }),
    ("quiet", 'Q', Flag::NoBearing { value: false }),
    ("verbose", 'v', Flag::NoBearing { value: false }),
];

/// What sbatch knows besides.
#[rustfmt::skip]
const NOT_MODELLED: &[(&str, char)] = &[
    ("batch", ' '), ("bb", ' '), ("bbf", ' '),
    ("cluster-constraint", ' '), ("clusters", 'M'), ("container", ' '), ("container-id", ' '),
    ("core-spec", 'S'), ("cpu-freq", ' '), ("delay-boot", ' '), ("extra", ' '),
    ("gpu-bind", ' '), ("gpu-freq", ' '), ("mem-bind", ' '), ("network", ' '), ("nodefile", 'F'),
    ("power", ' '), ("prefer", ' '), ("qos", 'q'), ("reboot", ' '), ("reservation", ' '),
    ("resv-ports", ' '), ("segment", ' '), ("stepmgr", ' '), ("switches", ' '),
    ("test-only", ' '), ("thread-spec", ' '), ("tmp", ' '), ("tres-bind", ' '),
    ("tres-per-task", ' '),
];

impl Flag {
    /// Whether the next word is its value when none is glued to it.
    pub(super) const fn takes_value(self) -> bool {
        !matches!(
            self,
            Self::Hold
                | Self::Exclusive
                | Self::Nice
                | Self::NoKill
                | Self::Requeue
                | Self::NoRequeue
                | Self::External
                | Self::Layout(
                    Layout::Contiguous
                        | Layout::SpreadJob
                        | Layout::UseMinNodes
                        | Layout::Overcommit
                        | Layout::Oversubscribe
                )
                | Self::NoBearing { value: false }
        )
    }
}

/// The flag that a word is; `None` if it isn't one.
pub(super) fn find(word: &Word) -> Result<Option<Found>, SbatchError> {
    if let Some(long) = word.text.strip_prefix("--") {
        return find_long(word, long).map(Some);
    }
    match word.text.strip_prefix('-') {
        Some(short) if !short.is_empty() => find_short(word, short).map(Some),
        _ => Ok(None),
    }
}

fn find_long(word: &Word, long: &str) -> Result<Found, SbatchError> {
    let (name, glued) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let known = KNOWN.iter().find(|(known, _, _)| *known == name);
    let flag = known.map(|(_, _, flag)| *flag).ok_or_else(|| refuse(word, name))?;
    let value =
        glued.map(|value| Word { text: value.into(), column: word.column + name.len() + 3 });
    Ok(Found { flag, value })
}

fn find_short(word: &Word, short: &str) -> Result<Found, SbatchError> {
    let letter = short.chars().next().unwrap_or(' ');
    let known = KNOWN.iter().find(|(_, known, _)| *known == letter);
    let flag = match known {
        Some((_, _, flag)) => *flag,
        None => {
            let name = NOT_MODELLED.iter().find(|(_, known)| *known == letter);
            return Err(refuse(word, name.map_or(short, |(name, _)| name)));
        }
    };
    let glued = short[letter.len_utf8()..].trim_start_matches('=');
    let value = (!glued.is_empty()).then(|| Word { text: glued.into(), column: word.column + 2 });
    Ok(Found { flag, value })
}

fn refuse(word: &Word, name: &str) -> SbatchError {
    if NOT_MODELLED.iter().any(|(known, _)| *known == name) {
        let what = format!("`{}`: the model does not honour sbatch's --{name} yet", word.text);
        return SbatchError::new(word.column, what, "leave it out");
    }
    let all = KNOWN.iter().map(|(known, _, _)| *known);
    let all = all.chain(NOT_MODELLED.iter().map(|(known, _)| *known));
    let near = all.map(|known| (strsim::damerau_levenshtein(name, known), known)).min();
    let hint = match near {
        Some((distance, known)) if distance <= (name.len() / 3).max(1) => {
            format!("did you mean `--{known}`?")
        }
        _ => "see sbatch(1) for the flags there are".into(),
    };
    SbatchError::new(word.column, format!("sbatch has no flag `{}`", word.text), hint)
}

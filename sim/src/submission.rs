//! What a user asks for: everything that sbatch or the REST API can say and the model knows.

use std::collections::BTreeMap;

use crate::{AccountName, ArraySpec, PartitionName, SlurmNode, Span, Time, UserName};

/// A batch job to submit. What is left out takes the default that slurm.conf gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Job name.
    pub name: String,
    /// Whose it is.
    pub user: UserName,
    /// Who submits it, where that is somebody else: root may.
    pub submitter: Option<UserName>,
    /// Account to charge.
    pub account: Option<AccountName>,
    /// Where to queue, any of these; the default partition if empty.
    pub partitions: Vec<PartitionName>,
    /// Number of tasks.
    pub tasks: Option<u32>,
    /// CPUs for each task.
    pub cpus_per_task: Option<u32>,
    /// Tasks on each node, at most (and at least, where nodes are counted too).
    pub ntasks_per_node: Option<u32>,
    /// CPUs in all, at least; as many as its tasks need if unset.
    pub min_cpus: Option<u32>,
    /// CPUs on each node, at least: `--mincpus`.
    pub min_cpus_per_node: Option<u32>,
    /// What it wants of sockets, cores and threads.
    pub shape: ShapeAsk,
    /// In what order a node's cores are taken; slurm.conf's order if unset.
    pub core_order: Option<CoreOrder>,
    /// Tasks go to the nodes in blocks of this size: `--distribution=plane=n`.
    pub plane: Option<u32>,
    /// More tasks than CPUs.
    pub overcommit: bool,
    /// Only nodes that follow each other.
    pub contiguous: bool,
    /// As many nodes as there are tasks.
    pub spread: bool,
    /// The fewest nodes of the range, where fewer will do.
    pub use_min_nodes: bool,
    /// Fewest nodes.
    pub min_nodes: Option<u32>,
    /// Most nodes.
    pub max_nodes: Option<u32>,
    /// Memory.
    pub memory: MemoryAsk,
    /// Generic resources.
    pub gres: Vec<GresAsk>,
    /// What it wants along with each GPU.
    pub per_gpu: PerGpu,
    /// Only cores near its devices: `--gres-flags=enforce-binding`.
    pub enforce_binding: bool,
    /// Wall-clock limit; the partition's default if unset.
    pub time_limit: Option<TimeLimit>,
    /// Whole nodes only.
    pub exclusive: bool,
    /// Shares its nodes with nobody else's jobs: `--exclusive=user`.
    pub exclusive_user: bool,
    /// Shares its CPUs where the partition lets it.
    pub oversubscribe: bool,
    /// Nodes that must be part of it.
    pub required_nodes: Vec<SlurmNode>,
    /// Nodes that must not.
    pub excluded_nodes: Vec<SlurmNode>,
    /// Feature expression: `a&b`, `a|b`.
    pub constraints: Option<String>,
    /// As `--dependency` takes it: `afterok:12:13,singleton`.
    pub dependency: Option<String>,
    /// Cancel it when its dependency can't come true any more; slurm.conf's
    /// `kill_invalid_depend` if unset.
    pub kill_on_invalid_dep: Option<bool>,
    /// Many jobs in one: `0-7:2%3`.
    pub array: Option<ArraySpec>,
    /// Don't start it until it is released.
    pub hold: bool,
    /// An explicit priority; only operators may give one.
    pub priority: Option<u32>,
    /// Lowers (or, for operators, raises) the priority.
    pub nice: i32,
    /// Not before.
    pub begin: Option<Begin>,
    /// Remove it if it can't end until then.
    pub deadline: Option<Begin>,
    /// Backfill may shorten the limit to this.
    pub time_min: Option<Span>,
    /// Keep it on its other nodes when one fails.
    pub no_kill: bool,
    /// `--signal`: a warning before its limit.
    pub warning: Option<Warning>,
    /// Queue it again when a node fails; slurm.conf's `JobRequeue` if unset.
    pub requeue: Option<bool>,
    /// 26.05: no script, no slurmd: it holds its nodes until somebody ends it.
    pub external: bool,
    /// The batch script.
    pub script: String,
    /// The environment, `KEY=value` each.
    pub environment: Vec<String>,
    /// Where it runs.
    pub working_directory: String,
    /// The user's comment.
    pub comment: String,
    /// The operator's comment.
    pub admin_comment: String,
    /// Security label.
    pub mcs_label: Option<String>,
    /// Workload characterisation key.
    pub wckey: Option<String>,
    /// Quality of service: `normal`, or one of the accounting's.
    pub qos: Option<String>,
    /// What of these was not asked for but is the user's default.
    pub defaulted: Defaulted,
    /// Reservation; there are none yet, so any is refused.
    pub reservation: Option<String>,
    /// Licences: `fluent:2,matlab`.
    pub licenses: Option<String>,
    /// What the job will do once it runs; read from the script if unset.
    pub behaviour: Option<JobBehaviour>,
}

impl Submission {
    /// Who submits it.
    pub fn submitter(&self) -> &UserName {
        self.submitter.as_ref().unwrap_or(&self.user)
    }

    /// A job that asks for nothing in particular.
    pub fn new(user: impl Into<UserName>) -> Self {
        Self {
            name: "sbatch".into(),
            user: user.into(),
            submitter: None,
            account: None,
            partitions: vec![],
            tasks: None,
            cpus_per_task: None,
            ntasks_per_node: None,
            min_cpus: None,
            min_cpus_per_node: None,
            shape: ShapeAsk::default(),
            core_order: None,
            plane: None,
            overcommit: false,
            contiguous: false,
            spread: false,
            use_min_nodes: false,
            min_nodes: None,
            max_nodes: None,
            memory: MemoryAsk::Default,
            gres: vec![],
            per_gpu: PerGpu::default(),
            enforce_binding: false,
            time_limit: None,
            exclusive: false,
            exclusive_user: false,
            oversubscribe: false,
            required_nodes: vec![],
            excluded_nodes: vec![],
            constraints: None,
            dependency: None,
            kill_on_invalid_dep: None,
            array: None,
            deadline: None,
            time_min: None,
            no_kill: false,
            warning: None,
            hold: false,
            priority: None,
            nice: 0,
            begin: None,
            requeue: None,
            external: false,
            script: String::new(),
            environment: vec![],
            working_directory: "/".into(),
            comment: String::new(),
            admin_comment: String::new(),
            mcs_label: None,
            wckey: None,
            qos: None,
            defaulted: Defaulted::default(),
            reservation: None,
            licenses: None,
            behaviour: None,
        }
    }
}

/// What the accounting filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defaulted {
    /// The account.
    pub account: bool,
    /// The QOS.
    pub qos: bool,
}

/// What a job wants of sockets, cores and threads; unset is anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeAsk {
    /// Sockets of each node, at least.
    pub sockets_per_node: Option<u32>,
    /// Cores of each socket, at least.
    pub cores_per_socket: Option<u32>,
    /// Threads of each core, at most.
    pub threads_per_core: Option<u32>,
    /// Tasks on each socket, at most.
    pub ntasks_per_socket: Option<u32>,
    /// Tasks on each core, at most.
    pub ntasks_per_core: Option<u32>,
}

/// What a job wants along with each GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerGpu {
    /// CPUs.
    pub cpus: Option<u32>,
    /// Memory, MiB.
    pub memory: Option<u64>,
    /// Tasks.
    pub tasks: Option<u32>,
}

/// In what order the cores of a node are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoreOrder {
    /// One socket after the other.
    Block,
    /// A core of each socket in turn.
    Cyclic,
}

/// How much memory, in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryAsk {
    /// What slurm.conf gives; without `DefMem*` all of each node.
    #[default]
    Default,
    /// On each node; 0 is all of it.
    PerNode(u64),
    /// For each CPU; 0 is all of each node.
    PerCpu(u64),
}

/// Generic resources asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GresAsk {
    /// `gpu`.
    pub name: String,
    /// `a100`, where the job cares.
    pub kind: Option<String>,
    /// How many.
    pub count: u64,
    /// For what each.
    pub per: GresPer,
}

/// What a number of generic resources is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GresPer {
    /// Each node: `--gres`, `--gpus-per-node`, REST `tres_per_node`.
    Node,
    /// Each socket: `--gpus-per-socket`, REST `tres_per_socket`.
    Socket,
    /// Each task: `--gpus-per-task`, REST `tres_per_task`.
    Task,
    /// The whole job: `--gpus`, REST `tres_per_job`.
    Job,
}

impl GresAsk {
    /// Reads `gpu`, `gpu:2`, `gpu:a100:2`, each with or without `gres/` in front and with `=` for
    /// the last colon; several with commas.
    pub fn parse_list(text: &str, per: GresPer) -> Result<Vec<Self>, String> {
        let words = text.split(',').filter(|word| !word.trim().is_empty());
        words.map(|word| Self::parse(word.trim(), per)).collect()
    }

    fn parse(word: &str, per: GresPer) -> Result<Self, String> {
        let plain = word
            .strip_prefix("gres/")
            .or_else(|| word.strip_prefix("gres:"))
            .unwrap_or(word)
            .replace('=', ":");
        let parts: Vec<_> = plain.split(':').collect();
        let count = |text: &str| match parse_count(text) {
            Some(Some(count)) => Ok(count),
            Some(None) => Err(format!("`{text}` in `{word}` is too large")),
            None => Err(format!("`{text}` in `{word}` is no count")),
        };
        let named = |name: &str, kind: Option<&str>, count| Self {
            name: name.into(),
            kind: kind.map(Into::into),
            count,
            per,
        };
        match parts.as_slice() {
            ["", ..] => Err(format!("`{word}` names no resource")),
            [name] => Ok(named(name, None, 1)),
            [name, last] if last.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok(named(name, None, count(last)?))
            }
            [name, kind] if !kind.is_empty() => Ok(named(name, Some(kind), 1)),
            [name, kind, last] => Ok(named(name, Some(kind), count(last)?)),
            _ => Err(format!("`{word}` is not of the form name[:type][:count]")),
        }
    }
}

/// A count with Slurm's suffixes: `4`, `2K`, `1M`; `Some(None)` is one that is too large.
fn parse_count(text: &str) -> Option<Option<u64>> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let factor = match suffix.to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    let count = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(factor));
    (!digits.is_empty()).then_some(count)
}

/// A wall-clock limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeLimit {
    /// At most so long.
    Of(Span),
    /// None at all.
    Unlimited,
}

/// The earliest moment at which a job may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// This moment.
    At(Time),
    /// So long after it was submitted: `now+10minutes`.
    After(Span),
    /// So many seconds after 1970 began.
    Unix(u64),
    /// The next time that the clock shows this, in UTC.
    TimeOfDay(Span),
}

/// A signal that warns a job before its limit: `--signal=[B:]USR1[@60]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Which.
    pub signal: Signal,
    /// How long before its limit.
    pub before: Span,
    /// `B:`: to the script itself; otherwise to its steps, which the model has none of.
    pub to_script: bool,
}

/// What a job does once it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobBehaviour {
    /// How long until it ends by itself; `None` is for ever.
    pub run_time: Option<Span>,
    /// The exit code with which it then ends.
    pub exit_code: u8,
    /// What it does about signals.
    pub traps: BTreeMap<Signal, Trap>,
    /// How long `PrologSlurmctld` keeps it in CONFIGURING.
    pub configuring: Span,
    /// How long `Prolog` keeps its script waiting.
    pub prolog: Span,
    /// How long `Epilog` keeps its nodes.
    pub epilog: Span,
}

impl JobBehaviour {
    /// Runs until somebody ends it.
    pub const fn forever() -> Self {
        Self {
            run_time: None,
            exit_code: 0,
            traps: BTreeMap::new(),
            configuring: Span::ZERO,
            prolog: Span::ZERO,
            epilog: Span::ZERO,
        }
    }

    /// Runs so long, then ends well.
    pub const fn lasting(span: Span) -> Self {
        let mut behaviour = Self::forever();
        behaviour.run_time = Some(span);
        behaviour
    }
}

/// What a script does about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// Nothing.
    Ignore,
    /// Ends with this code.
    Exit(u8),
}

/// Signals by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Hang up.
    Hup,
    /// Interrupt.
    Int,
    /// Quit.
    Quit,
    /// Kill; can't be trapped.
    Kill,
    /// The first user signal.
    Usr1,
    /// The second user signal.
    Usr2,
    /// Terminate.
    Term,
    /// Continue.
    Cont,
    /// Stop; can't be trapped.
    Stop,
}

impl Signal {
    const ALL: [(Self, &'static str, u8); 9] = [
        (Self::Hup, "HUP", 1),
        (Self::Int, "INT", 2),
        (Self::Quit, "QUIT", 3),
        (Self::Kill, "KILL", 9),
        (Self::Usr1, "USR1", 10),
        (Self::Usr2, "USR2", 12),
        (Self::Term, "TERM", 15),
        (Self::Cont, "CONT", 18),
        (Self::Stop, "STOP", 19),
    ];

    /// Reads `USR1`, `SIGUSR1` or `10`.
    pub fn parse(text: &str) -> Option<Self> {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        Self::ALL
            .into_iter()
            .find(|(_, known, number)| *known == name || number.to_string() == name)
            .map(|(signal, _, _)| signal)
    }

    /// `USR1`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Its number on Linux.
    pub fn number(self) -> u8 {
        self.row().2
    }

    fn row(self) -> (Self, &'static str, u8) {
        let found = Self::ALL.into_iter().find(|(signal, _, _)| *signal == self);
        found.expect("every signal is in the table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gres_is_read_in_every_spelling() {
        #[rustfmt::skip]
        let rows = [
            ("gpu",              "gpu - 1"),
            ("gpu:2",            "gpu - 2"),
            ("gpu=2",            "gpu - 2"),
            ("gres/gpu:2",       "gpu - 2"),
            ("gres:gpu:2",       "gpu - 2"),
            ("gres/gpu=2",       "gpu - 2"),
            ("gpu:a100",         "gpu a100 1"),
            ("gpu:a100:4",       "gpu a100 4"),
            ("gres/gpu:a100=4",  "gpu a100 4"),
            ("gpu:1,shm:2K",     "gpu - 1; shm - 2048"),
        ];
        for (text, expected) in rows {
            let asks = GresAsk::parse_list(text, GresPer::Node).unwrap();
            let found: Vec<_> = asks
                .iter()
                .map(|a| format!("{} {} {}", a.name, a.kind.as_deref().unwrap_or("-"), a.count))
                .collect();
            assert_eq!(found.join("; "), expected, "{text}");
        }
        for text in ["gpu:", ":1", "gpu:2x", "gpu:a:b:c", "gpu:a100:x"] {
            assert!(GresAsk::parse_list(text, GresPer::Node).is_err(), "{text}");
        }
    }

    #[test]
    fn a_gres_count_that_is_too_large_is_called_so() {
        #[rustfmt::skip]
        let rows = [
            ("gpu:99999999999999999999", "`99999999999999999999` in `gpu:99999999999999999999` is too large"),
            ("gpu:a:99999999999999G",    "`99999999999999G` in `gpu:a:99999999999999G` is too large"),
            ("gpu:a:few",                "`few` in `gpu:a:few` is no count"),
        ];
        for (text, error) in rows {
            assert_eq!(GresAsk::parse_list(text, GresPer::Node).unwrap_err(), error);
        }
    }

    #[test]
    fn signals_are_read_by_name_and_by_number() {
        for text in ["USR1", "SIGUSR1", "sigusr1", "10"] {
            assert_eq!(Signal::parse(text), Some(Signal::Usr1));
        }
        assert_eq!(Signal::parse("SIGNOPE"), None);
        assert_eq!((Signal::Term.name(), Signal::Term.number()), ("TERM", 15));
    }
}

//! Faults put into the model on purpose: the check must see each of them.
//!
//! ```text
//!   recording of the real Slurm ──▶ model with one fault ──▶ no difference? then the check is blind
//! ```
//!
//! Most make the model ignore something: it gets the cluster or the operation without it. Those
//! that live inside the model's own decisions are `drawbridge_sim::Mutant`.

use drawbridge_sim::Mutant;

use crate::{
    case::{Case, Cluster},
    lockstep::replay_with,
};

/// A fault, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What is wrong with the model.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Words of slurm.conf that it does not see: those that start so.
    ConfWord(&'static str),
    /// Text of slurm.conf that it reads as another.
    ConfText(&'static str, &'static str),
    /// Flags that it does not see; the next word goes too if the flag takes one.
    Flag(&'static [&'static str], bool),
    /// Operations in which this occurs are not done.
    Operation(&'static str),
    /// A fault of the model's own.
    Inside(Mutant),
}

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    Fault { name: "node weights ignored",             kind: Kind::ConfWord("Weight=") },
    Fault { name: "CR_LLN ignored",                   kind: Kind::ConfText(",CR_LLN", "") },
    Fault { name: "memory not counted",               kind: Kind::ConfText("_Memory", "") },
    Fault { name: "default memory ignored",           kind: Kind::ConfWord("DefMem") },
    Fault { name: "CR_Socket taken for CR_Core",      kind: Kind::ConfText("CR_Socket", "CR_Core") },
    Fault { name: "CR_CPU taken for CR_Core",         kind: Kind::ConfText("CR_CPU", "CR_Core") },
    Fault { name: "priority tiers ignored",           kind: Kind::ConfWord("PriorityTier=") },
    Fault { name: "partitions' MaxTime ignored",      kind: Kind::ConfWord("MaxTime=") },
    Fault { name: "no backfill",                      kind: Kind::ConfText("SchedulerParameters=", "SchedulerType=sched/builtin\nSchedulerParameters=") },
    Fault { name: "--constraint ignored",             kind: Kind::Flag(&["-C"], true) },
    Fault { name: "--exclude ignored",                kind: Kind::Flag(&["-x"], true) },
    Fault { name: "--nodelist ignored",               kind: Kind::Flag(&["-w"], true) },
    Fault { name: "--exclusive ignored",              kind: Kind::Flag(&["--exclusive"], false) },
    Fault { name: "--ntasks-per-node ignored",        kind: Kind::Flag(&["--ntasks-per-node"], false) },
    Fault { name: "--cpus-per-task ignored",          kind: Kind::Flag(&["-c"], false) },
    Fault { name: "--nice ignored",                   kind: Kind::Flag(&["--nice"], false) },
    Fault { name: "--dependency ignored",             kind: Kind::Flag(&["-d"], true) },
    Fault { name: "time limits ignored",              kind: Kind::Flag(&["-t"], false) },
    Fault { name: "--mem ignored",                    kind: Kind::Flag(&["--mem=", "--mem-per-cpu="], false) },
    Fault { name: "GPUs ignored",                     kind: Kind::Flag(&["--gres=gpu", "--gpus"], false) },
    Fault { name: "drained nodes take jobs",          kind: Kind::Operation("State=DRAIN") },
    Fault { name: "hold ignored",                     kind: Kind::Operation("scontrol hold") },
    Fault { name: "best fit off by one",              kind: Kind::Inside(Mutant::BestFitOffByOne) },
    Fault { name: "the first node that fits",         kind: Kind::Inside(Mutant::FirstFits) },
    Fault { name: "runs of nodes ignored",            kind: Kind::Inside(Mutant::RunsIgnored) },
    Fault { name: "heavy nodes first",                kind: Kind::Inside(Mutant::HeavyFirst) },
    Fault { name: "a blocked job withdraws no nodes", kind: Kind::Inside(Mutant::NothingWithdrawn) },
    Fault { name: "a blocked job blocks nobody",      kind: Kind::Inside(Mutant::NobodyBlocked) },
    Fault { name: "the youngest job first",           kind: Kind::Inside(Mutant::YoungestFirst) },
    Fault { name: "cores never dealt round sockets",  kind: Kind::Inside(Mutant::NeverCyclic) },
];

/// Every fault.
pub fn faults() -> &'static [Fault] {
    FAULTS
}

impl Fault {
    /// Whether the model with this fault differs from what Slurm showed.
    pub fn is_seen_in(&self, case: &Case) -> bool {
        matches!(replay_with(case, Some(self)), Ok(Some(_)))
    }

    pub(crate) fn cluster(&self, cluster: &Cluster) -> Cluster {
        let text = &cluster.slurm_conf;
        let slurm_conf = match self.kind {
            Kind::ConfWord(start) => {
                text.lines().map(|line| without(line, &[start], false)).collect()
            }
            Kind::ConfText(from, to) => text.replace(from, to),
            Kind::Flag(..) | Kind::Operation(_) | Kind::Inside(_) => text.clone(),
        };
        Cluster { slurm_conf, ..cluster.clone() }
    }

    pub(crate) fn operation(&self, operation: &str) -> String {
        match self.kind {
            Kind::Flag(flags, value) if operation.starts_with("sbatch") => {
                without(operation, flags, value).trim_end().to_owned()
            }
            Kind::Operation(part) if operation.contains(part) => "wait 0".to_owned(),
            Kind::ConfWord(_)
            | Kind::ConfText(..)
            | Kind::Flag(..)
            | Kind::Operation(_)
            | Kind::Inside(_) => operation.to_owned(),
        }
    }

    pub(crate) const fn inside(&self) -> Option<Mutant> {
        match self.kind {
            Kind::Inside(mutant) => Some(mutant),
            Kind::ConfWord(_) | Kind::ConfText(..) | Kind::Flag(..) | Kind::Operation(_) => None,
        }
    }
}

/// The line without the words that start so; with `value` the word behind each goes too.
fn without(line: &str, starts: &[&str], value: bool) -> String {
    let mut kept = vec![];
    let mut words = line.split(' ');
    while let Some(word) = words.next() {
        if !starts.iter().any(|start| word.starts_with(start)) {
            kept.push(word);
        } else if value {
            words.next();
        }
    }
    format!("{}\n", kept.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_left_out_with_their_values() {
        #[rustfmt::skip]
        let rows = [
            ("sbatch -n2 -C a -t5", &["-C"][..], true,  "sbatch -n2 -t5\n"),
            ("sbatch -n2 -t5",      &["-t"],     false, "sbatch -n2\n"),
            ("NodeName=a Weight=5", &["Weight="], false, "NodeName=a\n"),
        ];
        for (line, starts, value, expected) in rows {
            assert_eq!(without(line, starts, value), expected);
        }
    }
}

//! Scenarios from a grammar: clusters, workloads of every kind, and what people do to them.
//!
//! ```text
//!   scenario ─▶ cluster, behaviour, 1 to 4 workloads, 0 to 4 actions
//!   cluster  ─▶ 1 to 4 nodes of 2, 4 or 8 CPUs; with or without time limits
//!   workload ─▶ pod | gang | Job | Deployment | StatefulSet | LeaderWorkerSet | JobSet | CronJob | …
//!   action   ─▶ delete | scale | edit | cordon, uncordon | scancel | requeue | drain, down, resume | …
//! ```
//!
//! The result is a scenario file's text, so what fails can be read, kept and made smaller by hand.
//! Steps are `unchecked`: under faults a pod may not be there yet when somebody deletes it.

mod actions;
mod workloads;

use std::fmt::Write;

use drawbridge_sim::Seed;
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

/// The text of the scenario that this seed stands for.
pub fn generate(seed: Seed) -> String {
    let mut random = seed.stream("grammar");
    let n_nodes = 1 + random.next_u64() % 4;
    let mut grammar = Grammar { random, n_nodes, text: String::new(), made: vec![], at: 0 };
    for number in 0..1 + grammar.below(4) {
        grammar.at += grammar.below(30);
        grammar.workload(number);
    }
    for _ in 0..grammar.below(5) {
        grammar.at += 1 + grammar.below(60);
        grammar.action();
    }
    grammar.suspend_cron_jobs();
    let steps = std::mem::take(&mut grammar.text);
    grammar.cluster(seed);
    grammar.text + &steps
}

struct Grammar {
    random: ChaCha8Rng,
    n_nodes: u64,
    text: String,
    made: Vec<Made>,
    /// The time of the step that is being written, in seconds.
    at: u64,
}

/// Something that can be acted upon.
#[derive(Clone)]
struct Made {
    kind: &'static str,
    name: String,
}

impl Grammar {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.below(from.len() as u64);
        from[usize::try_from(index).unwrap_or_default()]
    }

    /// A step at the time that it is.
    fn step(&mut self, action: &str) {
        let at = self.at;
        self.step_at(at, action);
    }

    fn step_at(&mut self, at: u64, action: &str) {
        let _ = writeln!(self.text, "  - at: {at}s\n    unchecked: true\n    {action}");
    }

    fn cluster(&mut self, seed: Seed) {
        let (nodes, cpus) = (self.n_nodes, self.pick(&[2, 4, 8]));
        let (runtime, code) = (20 + self.below(200), u64::from(self.below(5) == 0));
        // What runs for ever and is ended again and again never becomes quiet.
        let lasts = ["Deployment", "StatefulSet", "LeaderWorkerSet", "ReplicaSet"];
        let is_endless = self.made.iter().any(|made| lasts.contains(&made.kind));
        let limit = self.pick(&["INFINITE", "1:00:00", "2:00"]);
        let limit = if is_endless { "INFINITE" } else { limit };
        let _ = write!(
            self.text,
            "why: What the grammar makes of seed {seed}.

slurm:
  conf: |
    ClusterName=twin
    SlurmctldHost=controller
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    NodeName=n[1-{nodes}] CPUs={cpus} RealMemory=8192
    PartitionName=main Nodes=ALL Default=YES MaxTime={limit}

epoch: 2026-01-01T00:00:00Z
until: 3h

behaviour:
  - {{name: web-*, runtime: forever}}
  - {{name: rs-*, runtime: forever}}
  - {{name: db-*, runtime: forever, stop: 5s}}
  - {{name: infer-*, runtime: forever, startup: 5s}}
  - name: \"*\"
    runtime: {runtime}s
    exitCode: {code}

steps:
"
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
    use drawbridge_scenarios::format;

    use super::*;

    struct NoFiles;

    impl format::Files for NoFiles {
        fn read(&self, path: &str) -> Result<String, String> {
            Err(format!("{path}: there are no files here"))
        }
    }

    #[test]
    fn whatever_the_grammar_makes_is_a_scenario() {
        for seed in 0..300 {
            let text = generate(Seed(seed));
            let parsed = format::parse("generated.yaml", &text, &NoFiles);
            let scenario = parsed.unwrap_or_else(|error| panic!("{text}\n{}", error.render()));
            assert!(!scenario.steps.is_empty());
        }
    }

    #[test]
    fn every_kind_of_workload_and_of_action_comes_up() {
        let all: String = (0..300).map(|seed| generate(Seed(seed))).collect();
        let kinds = [
            "Pod",
            "PodGroup",
            "Job",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
            "DaemonSet",
            "CronJob",
            "JobSet",
            "LeaderWorkerSet",
        ];
        for kind in kinds {
            assert!(all.contains(&format!("kind: {kind}\n")), "{kind}");
        }
        let actions = [
            "sbatch",
            "delete",
            "scale",
            "patch",
            "cordon",
            "uncordon",
            "scancel",
            "scontrol",
            "reconfigure",
            "slurmNode",
            "restart",
            "slurmToken",
            "slurmrestd",
        ];
        for action in actions {
            assert!(all.contains(&format!("    {action}: ")), "{action}");
        }
    }
}

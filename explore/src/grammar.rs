//! Scenarios from a grammar: clusters, workloads of every kind, and what people do to them.
//!
//! ```text
//!   scenario ─▶ cluster, behaviour, 1 to 4 workloads, 0 to 4 actions
//!   workload ─▶ pod | gang | Job | Deployment | native job
//!   action   ─▶ delete | scale | cordon, uncordon | scancel | drain, resume | requeue by a node's loss
//! ```
//!
//! The result is a scenario file's text, so what fails can be read, kept and made smaller by hand.
//! Steps are `unchecked`: under faults a pod may not be there yet when somebody deletes it.

use std::fmt::Write;

use drawbridge_sim::Seed;
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

/// The text of the scenario that this seed stands for.
pub fn generate(seed: Seed) -> String {
    let mut grammar = Grammar { random: seed.stream("grammar"), text: String::new(), made: vec![] };
    grammar.steps();
    let steps = std::mem::take(&mut grammar.text);
    grammar.cluster(seed);
    grammar.text + &steps
}

struct Grammar {
    random: ChaCha8Rng,
    text: String,
    made: Vec<Made>,
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

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn cluster(&mut self, seed: Seed) {
        let (nodes, cpus) = (1 + self.below(4), [2, 4, 8][self.below(3) as usize]);
        let (runtime, code) = (20 + self.below(200), u64::from(self.below(5) == 0));
        // What runs for ever and is ended again and again never becomes quiet.
        let is_endless = self.made.iter().any(|made| made.kind == "Deployment");
        let limits = if is_endless { ["INFINITE"; 3] } else { ["INFINITE", "1:00:00", "2:00"] };
        let limit = limits[self.below(3) as usize];
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

until: 3h

behaviour:
  - name: web-*
    runtime: forever
  - name: \"*\"
    runtime: {runtime}s
    exitCode: {code}

steps:
"
        );
    }

    fn steps(&mut self) {
        let mut at = 0;
        for number in 0..1 + self.below(4) {
            at += self.below(30);
            self.workload(at, number);
        }
        for _ in 0..self.below(5) {
            at += 1 + self.below(60);
            self.action(at);
        }
    }

    fn workload(&mut self, at: u64, number: u64) {
        match self.below(8) {
            0..=2 => self.pod(at, &format!("pod-{number}")),
            3 | 4 => self.gang(at, number),
            5 => self.job(at, number),
            6 => self.deployment(at, number),
            _ => {
                let (minutes, cpus) = (1 + self.below(10), 1 + self.below(4));
                self.line(&format!("  - at: {at}s\n    unchecked: true"));
                self.line(&format!(
                    "    sbatch: {{flags: -J native-{number} -N1 -n{cpus}, user: alice, runtime: {minutes}m}}"
                ));
                self.made.push(Made { kind: "sbatch", name: format!("native-{number}") });
            }
        }
    }

    fn apply(&mut self, at: u64) {
        self.line(&format!("  - at: {at}s\n    unchecked: true\n    apply:"));
    }

    fn containers(&mut self) -> String {
        let (cpu, memory) = (1 + self.below(4), 256 << self.below(4));
        format!(
            "[{{name: main, image: busybox, resources: {{requests: {{cpu: {cpu}, memory: {memory}Mi}}}}}}]"
        )
    }

    fn pod(&mut self, at: u64, name: &str) {
        self.apply(at);
        self.pod_object(name, "");
        self.made.push(Made { kind: "Pod", name: name.to_owned() });
    }

    fn pod_object(&mut self, name: &str, labels: &str) {
        let containers = self.containers();
        self.line(&format!(
            "      - apiVersion: v1
        kind: Pod
        metadata: {{name: {name}, namespace: slurm-bridge{labels}}}
        spec: {{restartPolicy: Never, containers: {containers}}}"
        ));
    }

    fn gang(&mut self, at: u64, number: u64) {
        let size = 2 + self.below(3);
        self.apply(at);
        self.line(&format!(
            "      - apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: PodGroup
        metadata: {{name: gang-{number}, namespace: slurm-bridge}}
        spec: {{minMember: {size}}}"
        ));
        let labels = format!(", labels: {{scheduling.x-k8s.io/pod-group: gang-{number}}}");
        for rank in 0..size {
            let name = format!("gang-{number}-{rank}");
            self.pod_object(&name, &labels);
            self.made.push(Made { kind: "Pod", name });
        }
        self.made.push(Made { kind: "PodGroup", name: format!("gang-{number}") });
    }

    fn job(&mut self, at: u64, number: u64) {
        let (completions, parallelism) = (1 + self.below(4), 1 + self.below(3));
        let containers = self.containers();
        self.apply(at);
        self.line(&format!(
            "      - apiVersion: batch/v1
        kind: Job
        metadata: {{name: job-{number}, namespace: slurm-bridge}}
        spec:
          completions: {completions}
          parallelism: {parallelism}
          backoffLimit: 3
          template: {{spec: {{restartPolicy: Never, containers: {containers}}}}}"
        ));
        self.made.push(Made { kind: "Job", name: format!("job-{number}") });
    }

    fn deployment(&mut self, at: u64, number: u64) {
        let replicas = 1 + self.below(3);
        let containers = self.containers();
        self.apply(at);
        self.line(&format!(
            "      - apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: web-{number}, namespace: slurm-bridge}}
        spec:
          replicas: {replicas}
          selector: {{matchLabels: {{app: web-{number}}}}}
          template:
            metadata: {{labels: {{app: web-{number}}}}}
            spec: {{containers: {containers}}}"
        ));
        self.made.push(Made { kind: "Deployment", name: format!("web-{number}") });
    }

    fn action(&mut self, at: u64) {
        let index = self.below(self.made.len() as u64) as usize;
        let Some(Made { kind, name }) = self.made.get(index).cloned() else { return };
        let step = |what: String| format!("  - at: {at}s\n    unchecked: true\n    {what}");
        let later = at + 10 + self.below(120);
        let text = match self.below(6) {
            0 => step(format!("cordon: n1\n  - at: {later}s\n    uncordon: n1")),
            1 => step(format!(
                "slurmNode: {{name: n1, state: down, reason: fan}}\n  - at: {later}s\n    unchecked: true\n    \
                 slurmNode: {{name: n1, state: resume}}"
            )),
            2 => step(format!(
                "slurmNode: {{name: n1, state: drain, reason: disk}}\n  - at: {later}s\n    unchecked: \
                 true\n    slurmNode: {{name: n1, state: resume}}"
            )),
            3 => step(format!("scancel: \"{}\"", 1 + self.below(4))),
            _ => match kind {
                "Deployment" => {
                    let replicas = self.below(4);
                    step(format!(
                        "scale: {{kind: Deployment, namespace: slurm-bridge, name: {name}, replicas: {replicas}}}"
                    ))
                }
                "sbatch" => step(format!("scancel: {name}")),
                kind => {
                    step(format!("delete: {{kind: {kind}, namespace: slurm-bridge, name: {name}}}"))
                }
            },
        };
        self.line(&text);
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
}

//! Workloads of every kind that the twin has.

use super::{Grammar, Made};

/// The namespace whose pods the bridge looks after.
pub(super) const NAMESPACE: &str = "slurm-bridge";

impl Grammar {
    pub(super) fn workload(&mut self, number: u64) {
        match self.below(14) {
            0..=2 => self.pod(&format!("pod-{number}")),
            3 | 4 => self.gang(number),
            5 => self.job(number),
            6 => self.indexed_job(number),
            7 => self.set(number, "Deployment", "web", ""),
            8 => self.set(number, "StatefulSet", "db", "serviceName: db"),
            9 => self.leader_worker_set(number),
            10 => self.job_set(number),
            11 => self.cron_job(number),
            12 if self.below(2) == 0 => self.daemon_set(number),
            12 => self.set(number, "ReplicaSet", "rs", ""),
            _ => self.native(number),
        }
    }

    fn made(&mut self, kind: &'static str, name: String) {
        self.made.push(Made { kind, name });
    }

    /// One object of a list that is applied: its head, then what its spec says.
    fn object(&mut self, api: &str, kind: &str, name: &str, labels: &str, spec: &str) {
        let spec = spec.replace('\n', "\n        ");
        let object = format!(
            "      - apiVersion: {api}
        kind: {kind}
        metadata: {{name: {name}, namespace: {NAMESPACE}{labels}}}
        spec: {spec}
"
        );
        self.text.push_str(&object);
    }

    fn containers(&mut self) -> String {
        let (cpu, memory) = (1 + self.below(3), 256 << self.below(4));
        format!(
            "[{{name: main, image: busybox, resources: {{requests: {{cpu: {cpu}, memory: {memory}Mi}}}}}}]"
        )
    }

    fn once(&mut self) -> String {
        let containers = self.containers();
        format!("{{restartPolicy: Never, containers: {containers}}}")
    }

    pub(super) fn pod(&mut self, name: &str) {
        self.step("apply:");
        let spec = self.once();
        self.object("v1", "Pod", name, "", &spec);
        self.made("Pod", name.to_owned());
    }

    fn gang(&mut self, number: u64) {
        let (size, name) = (2 + self.below(3), format!("gang-{number}"));
        // Some come one by one.
        let is_spread = self.below(3) == 0;
        self.step("apply:");
        let spec = format!("{{minMember: {size}}}");
        self.object("scheduling.x-k8s.io/v1alpha1", "PodGroup", &name, "", &spec);
        let labels = format!(", labels: {{scheduling.x-k8s.io/pod-group: {name}}}");
        let spec = self.once();
        for rank in 0..size {
            if is_spread {
                self.at += self.below(5);
                self.step("apply:");
            }
            let pod = format!("{name}-{rank}");
            self.object("v1", "Pod", &pod, &labels, &spec);
            self.made("Pod", pod);
        }
        self.made("PodGroup", name);
    }

    fn job(&mut self, number: u64) {
        let (completions, parallelism) = (1 + self.below(4), 1 + self.below(3));
        let spec = self.once();
        self.step("apply:");
        let spec = format!(
            "{{completions: {completions}, parallelism: {parallelism}, backoffLimit: 3, template: {{spec: {spec}}}}}"
        );
        self.object("batch/v1", "Job", &format!("job-{number}"), "", &spec);
        self.made("Job", format!("job-{number}"));
    }

    fn indexed_job(&mut self, number: u64) {
        let size = 2 + self.below(3);
        let spec = self.once();
        self.step("apply:");
        let spec = format!(
            "{{completionMode: Indexed, completions: {size}, parallelism: {size}, backoffLimit: 3, template: {{spec: {spec}}}}}"
        );
        self.object("batch/v1", "Job", &format!("ranks-{number}"), "", &spec);
        self.made("Job", format!("ranks-{number}"));
    }

    fn set(&mut self, number: u64, kind: &'static str, prefix: &str, more: &str) {
        let (replicas, name) = (1 + self.below(3), format!("{prefix}-{number}"));
        let containers = self.containers();
        let more = if more.is_empty() { String::new() } else { format!("{more}, ") };
        self.step("apply:");
        let spec = format!(
            "{{{more}replicas: {replicas}, selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: {containers}}}}}}}"
        );
        self.object("apps/v1", kind, &name, "", &spec);
        self.made(kind, name);
    }

    fn daemon_set(&mut self, number: u64) {
        let name = format!("agent-{number}");
        self.step("apply:");
        let containers = self.containers();
        let spec = format!(
            "{{selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: {containers}}}}}}}"
        );
        self.object("apps/v1", "DaemonSet", &name, "", &spec);
        self.made("DaemonSet", name);
    }

    fn leader_worker_set(&mut self, number: u64) {
        let (replicas, size) = (1 + self.below(2), 2 + self.below(2));
        let policy = self.pick(&["LeaderCreated", "LeaderReady"]);
        let (containers, name) = (self.containers(), format!("infer-{number}"));
        self.step("apply:");
        let spec = format!(
            "{{replicas: {replicas}, startupPolicy: {policy}, leaderWorkerTemplate: {{size: {size}, workerTemplate: {{spec: {{containers: {containers}}}}}}}}}"
        );
        self.object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", &name, "", &spec);
        self.made("LeaderWorkerSet", name);
    }

    fn job_set(&mut self, number: u64) {
        let (workers, name) = (1 + self.below(3), format!("set-{number}"));
        let order = self.pick(&["AnyOrder", "InOrder"]);
        let spec = self.once();
        self.step("apply:");
        let job = format!("{{spec: {{backoffLimit: 0, template: {{spec: {spec}}}}}}}");
        let spec = format!(
            "{{startupPolicy: {{startupPolicyOrder: {order}}}, failurePolicy: {{maxRestarts: 2}}, replicatedJobs: [{{name: driver, template: {job}}}, {{name: workers, replicas: {workers}, template: {job}}}]}}"
        );
        self.object("jobset.x-k8s.io/v1alpha2", "JobSet", &name, "", &spec);
        self.made("JobSet", name);
    }

    fn cron_job(&mut self, number: u64) {
        let (minutes, name) = (1 + self.below(4), format!("cron-{number}"));
        let policy = self.pick(&["Allow", "Forbid", "Replace"]);
        let spec = self.once();
        self.step("apply:");
        let spec = format!(
            "{{schedule: \"*/{minutes} * * * *\", concurrencyPolicy: {policy}, jobTemplate: {{spec: {{backoffLimit: 1, template: {{spec: {spec}}}}}}}}}"
        );
        self.object("batch/v1", "CronJob", &name, "", &spec);
        self.made("CronJob", name);
    }

    /// A CronJob that goes on for ever never becomes quiet.
    pub(super) fn suspend_cron_jobs(&mut self) {
        self.at += 60 + self.below(600);
        let names: Vec<String> = self
            .made
            .iter()
            .filter(|made| made.kind == "CronJob")
            .map(|made| made.name.clone())
            .collect();
        for name in names {
            self.step(&format!(
                "patch: {{kind: CronJob, namespace: {NAMESPACE}, name: {name}, merge: {{spec: {{suspend: true}}}}}}"
            ));
        }
    }

    fn native(&mut self, number: u64) {
        let (minutes, cpus) = (1 + self.below(10), 1 + self.below(4));
        let flags = self.pick(&["-N1", "-N1 --exclusive", "--requeue"]);
        self.step(&format!(
            "sbatch: {{flags: -J native-{number} {flags} -n{cpus}, user: alice, runtime: {minutes}m}}"
        ));
        self.made("sbatch", format!("native-{number}"));
    }
}

//! What people do: to workloads, to nodes, to Slurm, to the bridge.

use super::{Grammar, Made, workloads::NAMESPACE};

impl Grammar {
    pub(super) fn action(&mut self) {
        let index = self.below(self.made.len() as u64) as usize;
        let Some(made) = self.made.get(index).cloned() else { return };
        match self.below(16) {
            0 | 1 => self.cordon(),
            2 => self.slurm_node("down", "fan"),
            3 => self.slurm_node("drain", "disk"),
            4 => {
                let job = 1 + self.below(4);
                self.step(&format!("scancel: \"{job}\""));
            }
            5 => {
                let job = 1 + self.below(4);
                self.step(&format!("scontrol: requeue {job}"));
            }
            6 => self.step("reconfigure: {}"),
            7 => self.bridge(),
            8 => self.replace(&made),
            9 => self.pod_of(&made),
            10 | 11 => self.edit(&made),
            _ => self.delete_or_scale(&made),
        }
    }

    fn node(&mut self) -> u64 {
        1 + self.below(self.n_nodes)
    }

    fn later(&mut self) -> u64 {
        self.at + 10 + self.below(120)
    }

    fn cordon(&mut self) {
        let (node, later) = (self.node(), self.later());
        self.step(&format!("cordon: n{node}"));
        self.step_at(later, &format!("uncordon: n{node}"));
    }

    fn slurm_node(&mut self, state: &str, reason: &str) {
        let (node, later) = (self.node(), self.later());
        self.step(&format!("slurmNode: {{name: n{node}, state: {state}, reason: {reason}}}"));
        self.step_at(later, &format!("slurmNode: {{name: n{node}, state: resume}}"));
    }

    /// Something about the bridge, or about its way to Slurm.
    fn bridge(&mut self) {
        let later = self.later();
        match self.below(3) {
            0 => self.step("restart: {bridge: 5s}"),
            1 => {
                self.step("slurmToken: expired");
                self.step_at(later, "slurmToken: renewed");
            }
            _ => {
                let state = self.pick(&["down", "silent"]);
                self.step(&format!("slurmrestd: {{state: {state}}}"));
                self.step_at(later, "slurmrestd: {state: up}");
            }
        }
    }

    fn delete(&mut self, kind: &str, name: &str) {
        self.step(&format!("delete: {{kind: {kind}, namespace: {NAMESPACE}, name: {name}}}"));
    }

    /// Deletes a pod and makes another of the same name at once, or soon.
    fn replace(&mut self, made: &Made) {
        if made.kind != "Pod" || made.name.starts_with("gang") {
            return self.delete_or_scale(made);
        }
        self.delete("Pod", &made.name);
        self.at += self.below(40);
        self.pod(&made.name);
    }

    /// Deletes one pod of a controller whose pods have names that one can know.
    fn pod_of(&mut self, made: &Made) {
        match made.kind {
            "StatefulSet" => self.delete("Pod", &format!("{}-0", made.name)),
            "LeaderWorkerSet" => self.delete("Pod", &format!("{}-0-1", made.name)),
            _ => self.delete_or_scale(made),
        }
    }

    fn edit(&mut self, made: &Made) {
        let Made { kind, name } = made;
        let number = self.below(4);
        let merge = match *kind {
            "Pod" => "{metadata: {labels: {seen: \"yes\"}}}".to_owned(),
            "Job" => format!("{{spec: {{parallelism: {number}}}}}"),
            "Deployment" | "StatefulSet" => {
                "{spec: {template: {metadata: {annotations: {version: \"2\"}}}}}".to_owned()
            }
            "PodGroup" => format!("{{spec: {{minMember: {}}}}}", 1 + number),
            "JobSet" => format!("{{spec: {{suspend: {}}}}}", number.is_multiple_of(2)),
            _ => return self.delete_or_scale(made),
        };
        self.step(&format!(
            "patch: {{kind: {kind}, namespace: {NAMESPACE}, name: {name}, merge: {merge}}}"
        ));
    }

    fn delete_or_scale(&mut self, made: &Made) {
        let Made { kind, name } = made;
        let scalable = ["Deployment", "ReplicaSet", "StatefulSet", "LeaderWorkerSet"];
        if scalable.contains(kind) && self.below(3) != 0 {
            let replicas = self.below(4);
            return self.step(&format!(
                "scale: {{kind: {kind}, namespace: {NAMESPACE}, name: {name}, replicas: {replicas}}}"
            ));
        }
        match *kind {
            "sbatch" => self.step(&format!("scancel: {name}")),
            kind => self.delete(kind, name),
        }
    }
}

//! Every key that may stand behind a prefix: what it takes and what it does. The page
//! `docs/annotations.md` is written from this table.

use crate::names::DISTRIBUTION;

/// One annotation.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// What a right value looks like; also the end of the sentence that refuses a wrong one.
    pub(super) right: &'static str,
    example: &'static str,
    meaning: &'static str,
    /// Slurm's option for the same.
    option: &'static str,
}

macro_rules! keys {
    ($($name:literal, $option:literal, $example:literal, $right:literal, $meaning:literal;)*) => {
        &[$(Key {
            name: $name, option: $option, example: $example, right: $right, meaning: $meaning,
        }),*]
    };
}

/// All of them, by name.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = keys! {
    "account", "--account", "physics", "an account's name", "Who is charged.";
    "array-throttle", "--array=…%N", "4", "a whole number of jobs, at least 1", "At most so many jobs of the pod's controller are in Slurm at a time; the others wait for them.";
    "begin", "--begin", "2026-01-02T08:00:00Z", "a time with its zone, such as `2026-01-02T08:00:00Z`, or `now+2hours`", "Not before this time. `now` is when the pod was created.";
    "comment", "--comment", "ticket 17", "text", "A comment that `squeue` and `sacct` show.";
    "constraints", "--constraint", "a100&ib", "a feature expression", "Only nodes with these features.";
    "cpu-per-task", "--cpus-per-task", "4", "a quantity of at least 1 CPU", "CPUs for each pod, instead of what it requests; rounded up.";
    "deadline", "--deadline", "now+1day", "a time with its zone, such as `2026-01-02T08:00:00Z`, or `now+2hours`", "Given up unless it can be over by then. `now` is when the pod was created.";
    "dependency", "--dependency", "afterok:pod/prepare", "a list such as `afterok:12,afterany:pod/name` or `afterok:podgroup/name` (or joined by `?`), or `singleton`", "Waits for Slurm jobs by number, or for pods and PodGroups of the same namespace by name.";
    "exclude", "--exclude", "n[1-4]", "a list of Slurm nodes such as `n[1-4],n9`", "Not on these nodes, besides those that the pod itself rules out.";
    "exclusive", "--exclusive", "true", "`true` or `false`", "Whole nodes.";
    "gres", "--gres", "gpu:a100:2", "generic resources, such as `gpu:a100:2`", "Generic resources of each node, instead of what the pod's limits say.";
    "group-id", "--gid", "users", "a group's name or number", "The group it runs as.";
    "job-name", "--job-name", "train", "text", "The job's name.";
    "licenses", "--licenses", "matlab:2", "licences, such as `matlab:2`", "Licences it needs.";
    "max-nodes", "--nodes", "4", "a whole number of nodes, at least 1", "On no more nodes than this.";
    "mem-per-node", "--mem", "8Gi", "a quantity such as `8Gi`", "Memory on each node, instead of what the pod requests; rounded up to MiB.";
    "min-nodes", "--nodes", "2", "a whole number of nodes, at least 1", "On no fewer nodes than this.";
    "nice", "--nice", "100", "a whole number between -2147483645 and 2147483645", "Less urgent by so much; more urgent if negative.";
    "partition", "--partition", "gpu", "a partition's name, or several with commas between", "The queue.";
    "prefer", "--prefer", "a100", "a feature expression", "Rather on nodes with these features, but on others too.";
    "priority", "--priority", "1000", "a whole number", "This priority, whatever Slurm would compute.";
    "qos", "--qos", "high", "the name of a quality of service", "Quality of service.";
    "reservation", "--reservation", "maintenance", "a reservation's name", "In this reservation.";
    "signal", "--signal", "TERM@300", "a signal and seconds such as `TERM@300`; `B:` can't be asked for, because a signal to the placeholder's script would end it", "Slurm notes the warning. It goes to the steps of a job, and a placeholder has none: pods get TERM when they have to leave.";
    "switches", "--switches", "1@01:00:00", "a number of switches, and how long to wait for them: `1` or `1@01:00:00`", "Under no more leaf switches than this, waiting at most so long for them.";
    "timelimit", "--time", "60", "a whole number of minutes, at least 1", "How long it may run, in minutes; else what activeDeadlineSeconds says.";
    "user-id", "--uid", "alice", "a user's name or number", "The user it runs as.";
    "wckey", "--wckey", "project", "a workload characterisation key", "Workload characterisation key.";
};

/// The key of this name.
pub(super) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// All names, with commas between.
pub(super) fn names() -> String {
    KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

/// The page about annotations.
pub fn annotation_page() -> String {
    let row = |key: &Key| {
        let Key { name, right, example, meaning, option } = key;
        format!("| `{name}` | `{option}` | {right} | `{example}` | {meaning} |\n")
    };
    let rows: String = KEYS.iter().map(row).collect();
    format!(
        "# Annotations\n\n\
         What a workload says about its Slurm job. The key stands behind `{}`, or behind the older\n\
         `{}`; on one object the newer spelling wins. They may be on the pod, its PodGroup or any of\n\
         its owners; the object nearer to the pod wins. A key that doesn't exist and a value that can't\n\
         be used are refused at admission, with what would be right.\n\n\
         This page is written from the code (`bridge/core/src/annotations/keys.rs`).\n\n\
         | key | as in sbatch | right is | example | what it does |\n|---|---|---|---|---|\n{rows}\n\
         Besides them:\n\n\
         - `{DISTRIBUTION}`: `block` (ranks fill one node, then the next) or `cyclic` (one to each node in turn).\n\
         - `drawbridge.dev/gang`: `\"true\"` on an Indexed Job, MPIJob, PyTorchJob or RayCluster makes one job of its\n  \
           pods (docs/bridge.md).\n\
         - A dependency on a pod or PodGroup by name becomes one on its Slurm job, as soon as it has one. What\n  \
           is already over is judged by the pod's phase, so it doesn't matter whether Slurm still knows the job.\n\
         - `spec.activeDeadlineSeconds` of the pod or its Job becomes a time limit, rounded up to minutes and\n  \
           one more, so that Kubernetes ends the pod (`DeadlineExceeded`) before Slurm does. `timelimit` wins.\n\
         - `spec.priorityClassName` becomes a priority or a nice value by the table `priorityClasses` of the\n  \
           configuration. `priority` and `nice` win.\n\
         - `user-id` and `group-id` are refused unless the configuration names who may be named, for the\n  \
           namespace or for all (`namespaces`, docs/bridge.md).\n\
         - The twin doesn't model `prefer` and `switches`: there such a job is refused, and says so.\n",
        super::PREFIX,
        super::OLD_PREFIX,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_code_says() {
        let page = include_str!("../../../../docs/annotations.md");
        assert_eq!(page, annotation_page(), "write what is on the right into docs/annotations.md");
    }

    #[test]
    fn keys_are_in_order_and_their_examples_can_be_used() {
        assert!(KEYS.is_sorted_by_key(|key| key.name));
        for Key { name, example, .. } in KEYS {
            let layer = [(format!("{}{name}", super::super::PREFIX), (*example).to_owned())].into();
            let read = super::super::Annotations::read(&[&layer]);
            assert!(read.is_ok_and(|read| read != Default::default()), "{name}: {example}");
        }
    }
}

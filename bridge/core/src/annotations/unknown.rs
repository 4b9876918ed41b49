//! Annotations that look like ours and would be ignored: most likely a slip of the pen.

use std::collections::BTreeMap;

use super::{
    OLD_PREFIX, PREFIX,
    keys::{self, KEYS},
};

/// What others write under the old prefix and we or Slinky's tools understand.
const OTHERS: [&str; 4] = ["slurm-node", "slurm-nodename", "managed-node", "managed"];

/// The first annotation that nobody would read, with what was probably meant.
///
/// Today's prefix is for jobs alone, so anything unknown there is refused. The old one is shared
/// with other tools: there only what is nearly one of our keys.
pub(crate) fn unknown(annotations: &BTreeMap<String, String>) -> Option<String> {
    annotations.keys().find_map(|full| {
        let (prefix, key, shared) = match full.strip_prefix(PREFIX) {
            Some(key) => (PREFIX, key, false),
            None => (OLD_PREFIX, full.strip_prefix(OLD_PREFIX)?, true),
        };
        let near = near(key);
        if keys::key(key).is_some() || (shared && (OTHERS.contains(&key) || near.is_none())) {
            return None;
        }
        let meant = near.map_or(String::new(), |near| format!("; did you mean {prefix}{near}?"));
        let all = keys::names();
        Some(format!("annotation {full} is unknown{meant} (known after {prefix} are: {all})"))
    })
}

/// The known key that this one is nearly: at most two letters off, and less than half of it.
fn near(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&key, known);
    let (distance, known) = KEYS.iter().map(|known| (distance(known.name), known.name)).min()?;
    (distance <= 2 && distance * 2 < known.len()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(key: &str) -> String {
        let annotations = BTreeMap::from([(key.to_owned(), "1".to_owned())]);
        let verdict = unknown(&annotations).unwrap_or_else(|| "taken".into());
        verdict.split(" (known").next().unwrap().into()
    }

    #[test]
    fn slips_are_refused_and_what_others_write_is_not() {
        #[rustfmt::skip]
        let rows = [
            ("slurmjob.slinky.slurm.net/timelimit", "taken"),
            ("slurmjob.slinky.slurm.net/timelmit", "annotation slurmjob.slinky.slurm.net/timelmit is unknown; did you mean slurmjob.slinky.slurm.net/timelimit?"),
            ("slurmjob.slinky.slurm.net/cpus-per-task", "annotation slurmjob.slinky.slurm.net/cpus-per-task is unknown; did you mean slurmjob.slinky.slurm.net/cpu-per-task?"),
            ("slurmjob.slinky.slurm.net/QOS", "annotation slurmjob.slinky.slurm.net/QOS is unknown; did you mean slurmjob.slinky.slurm.net/qos?"),
            ("slurmjob.slinky.slurm.net/array", "annotation slurmjob.slinky.slurm.net/array is unknown"),
            ("slinky.slurm.net/partition", "taken"),
            ("slinky.slurm.net/partitoin", "annotation slinky.slurm.net/partitoin is unknown; did you mean slinky.slurm.net/partition?"),
            ("slinky.slurm.net/slurm-node", "taken"),
            ("slinky.slurm.net/managed", "taken"),
            ("slinky.slurm.net/external-node-partitions", "taken"),
            ("slinky.slurm.net/pod", "taken"),
            ("example.com/timelmit", "taken"),
        ];
        for (key, expected) in rows {
            assert_eq!(judged(key), expected);
        }
    }

    #[test]
    fn a_refusal_lists_what_exists() {
        let annotations = BTreeMap::from([(format!("{PREFIX}array"), "1-4".to_owned())]);
        insta::assert_snapshot!(unknown(&annotations).unwrap(), @"annotation slurmjob.slinky.slurm.net/array is unknown (known after slurmjob.slinky.slurm.net/ are: account, array-throttle, begin, comment, constraints, cpu-per-task, deadline, dependency, exclude, exclusive, gres, group-id, job-name, licenses, max-nodes, mem-per-node, min-nodes, nice, partition, prefer, priority, qos, reservation, signal, switches, timelimit, user-id, wckey)");
    }
}

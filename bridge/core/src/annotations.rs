//! What users say about their job in annotations, in both spellings.
//!
//! `slurmjob.slinky.slurm.net/<key>` is today's spelling, `slinky.slurm.net/<key>` the one before
//! it; on one object today's wins. Between objects the one nearer to the pod wins: the pod itself,
//! its PodGroup, then its owners up to the topmost.

mod dependency;
mod forms;
mod keys;
mod unknown;

use std::collections::BTreeMap;

use drawbridge_sim::{Quantity, SlurmNode};

use crate::{
    config::Namespace,
    names::{DISTRIBUTION, GANG},
    slurm::{Switches, WarningSignal},
};
pub(crate) use dependency::{After, Dependency, On, Term};
pub(crate) use forms::Moment;
pub use keys::annotation_page;
pub(crate) use unknown::unknown;

/// Today's prefix, which is for jobs alone.
const PREFIX: &str = "slurmjob.slinky.slurm.net/";
/// The prefix before it, which other tools use as well.
const OLD_PREFIX: &str = "slinky.slurm.net/";
const PREFIXES: [&str; 2] = [PREFIX, OLD_PREFIX];

/// What the annotations say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    pub(crate) account: Option<String>,
    pub(crate) array_throttle: Option<u32>,
    pub(crate) begin: Option<Moment>,
    pub(crate) comment: Option<String>,
    pub(crate) constraints: Option<String>,
    pub(crate) cpus_per_task: Option<u32>,
    pub(crate) deadline: Option<Moment>,
    pub(crate) dependency: Option<Dependency>,
    pub(crate) distribution: Distribution,
    pub(crate) exclude: Option<Vec<SlurmNode>>,
    pub(crate) exclusive: Option<bool>,
    pub(crate) gres: Option<String>,
    pub(crate) group_id: Option<String>,
    pub(crate) job_name: Option<String>,
    pub(crate) licenses: Option<String>,
    pub(crate) max_nodes: Option<u32>,
    pub(crate) memory_per_node_mib: Option<u64>,
    pub(crate) min_nodes: Option<u32>,
    pub(crate) nice: Option<i32>,
    pub(crate) partition: Option<String>,
    pub(crate) prefer: Option<String>,
    pub(crate) priority: Option<u32>,
    pub(crate) qos: Option<String>,
    pub(crate) reservation: Option<String>,
    pub(crate) signal: Option<WarningSignal>,
    pub(crate) switches: Option<Switches>,
    pub(crate) time_limit_minutes: Option<u32>,
    pub(crate) user_id: Option<String>,
    pub(crate) wckey: Option<String>,
}

/// How ranks go to nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Fill one node, then the next.
    #[default]
    Block,
    /// One to each node in turn.
    Cyclic,
}

/// A value that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {key} is `{value}`, but must be {right}")]
pub(crate) struct AnnotationError {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) right: &'static str,
}

/// Annotations of several objects, the topmost first.
pub(crate) type Layers<'a> = [&'a BTreeMap<String, String>];

impl Annotations {
    /// Fills in what the namespace has, where nothing was said.
    pub(crate) fn or(mut self, namespace: &Namespace) -> Self {
        // Somebody else's group would not be theirs.
        if self.user_id.is_none() {
            self.group_id = self.group_id.or_else(|| namespace.group.clone());
        }
        Self {
            account: self.account.or_else(|| namespace.account.clone()),
            partition: self.partition.or_else(|| namespace.partition.clone()),
            qos: self.qos.or_else(|| namespace.qos.clone()),
            reservation: self.reservation.or_else(|| namespace.reservation.clone()),
            wckey: self.wckey.or_else(|| namespace.wckey.clone()),
            user_id: self.user_id.or_else(|| namespace.user.clone()),
            ..self
        }
    }

    /// Reads the annotations of all layers; a later layer wins.
    pub(crate) fn read(layers: &Layers<'_>) -> Result<Self, AnnotationError> {
        let read = Reader { layers };
        Ok(Self {
            account: read.text("account"),
            array_throttle: read.parsed("array-throttle", positive)?,
            begin: read.parsed("begin", forms::moment)?,
            comment: read.text("comment"),
            constraints: read.text("constraints"),
            cpus_per_task: read.parsed("cpu-per-task", cpus)?,
            deadline: read.parsed("deadline", forms::moment)?,
            dependency: read.parsed("dependency", dependency::dependency)?,
            distribution: read.distribution()?,
            exclude: read.parsed("exclude", forms::nodes)?,
            exclusive: read.parsed("exclusive", truth)?,
            gres: read.text("gres"),
            group_id: read.text("group-id"),
            job_name: read.text("job-name"),
            licenses: read.text("licenses"),
            max_nodes: read.parsed("max-nodes", positive)?,
            memory_per_node_mib: read.parsed("mem-per-node", mib)?,
            min_nodes: read.parsed("min-nodes", positive)?,
            nice: read.parsed("nice", forms::nice)?,
            partition: read.text("partition"),
            prefer: read.text("prefer"),
            priority: read.parsed("priority", whole)?,
            qos: read.text("qos"),
            reservation: read.text("reservation"),
            signal: read.parsed("signal", forms::signal)?,
            switches: read.parsed("switches", forms::switches)?,
            time_limit_minutes: read.parsed("timelimit", positive)?,
            user_id: read.text("user-id"),
            wckey: read.text("wckey"),
        })
    }
}

/// Whether the pods are asked to be a gang, or not to be one.
pub(crate) fn gang(layers: &Layers<'_>) -> Result<Option<bool>, AnnotationError> {
    let value = layers.iter().rev().find_map(|layer| layer.get(GANG));
    let wrong = |value: &String| AnnotationError {
        key: GANG.into(),
        value: value.clone(),
        right: "`true` or `false`",
    };
    value.map(|value| truth(value.trim()).ok_or_else(|| wrong(value))).transpose()
}

/// Whether there is an annotation of this name.
pub(crate) fn exists(name: &str) -> bool {
    keys::key(name).is_some()
}

/// The names of all job annotations that are set somewhere, each with its key as written.
pub(crate) fn said(layers: &Layers<'_>) -> impl Iterator<Item = (&'static str, String)> {
    keys::KEYS.iter().filter_map(move |key| Some((key.name, find(layers, key.name)?.0)))
}

/// The key as written, and its value.
pub(crate) fn find<'a>(layers: &Layers<'a>, name: &str) -> Option<(String, &'a str)> {
    layers.iter().rev().find_map(|layer| {
        PREFIXES.iter().find_map(|prefix| {
            let full = format!("{prefix}{name}");
            let value = layer.get(&full)?;
            Some((full, value.as_str()))
        })
    })
}

struct Reader<'a> {
    layers: &'a Layers<'a>,
}

impl Reader<'_> {
    /// The key as written, and its value.
    fn find(&self, key: &str) -> Option<(String, &str)> {
        debug_assert!(keys::key(key).is_some(), "{key} isn't among the known keys");
        find(self.layers, key)
    }

    fn text(&self, key: &str) -> Option<String> {
        let (_, value) = self.find(key)?;
        (!value.trim().is_empty()).then(|| value.trim().to_owned())
    }

    fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, AnnotationError> {
        let Some((key, value)) = self.find(name) else {
            return Ok(None);
        };
        match parse(value.trim()) {
            Some(parsed) => Ok(Some(parsed)),
            None => {
                let right = keys::key(name).map_or("something else", |key| key.right);
                Err(AnnotationError { key, value: value.into(), right })
            }
        }
    }

    fn distribution(&self) -> Result<Distribution, AnnotationError> {
        let value = self.layers.iter().rev().find_map(|layer| layer.get(DISTRIBUTION));
        match value.map(|value| value.trim()) {
            None | Some("block") => Ok(Distribution::Block),
            Some("cyclic") => Ok(Distribution::Cyclic),
            Some(other) => Err(AnnotationError {
                key: DISTRIBUTION.into(),
                value: other.into(),
                right: "`block` or `cyclic`",
            }),
        }
    }
}

fn whole(text: &str) -> Option<u32> {
    // Upstream reads signed 32-bit numbers; what it takes, we take.
    text.parse::<u32>().ok().filter(|number| *number <= i32::MAX as u32)
}

fn positive(text: &str) -> Option<u32> {
    whole(text).filter(|number| *number > 0)
}

fn cpus(text: &str) -> Option<u32> {
    let cpus = Quantity::parse(text).ok()?.ceil_units();
    u32::try_from(cpus).ok().filter(|cpus| *cpus > 0)
}

fn mib(text: &str) -> Option<u64> {
    // Zero would mean all the node's memory.
    Some(Quantity::parse(text).ok()?.ceil_mib()).filter(|mib| *mib > 0)
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn the_object_nearer_to_the_pod_wins_and_todays_spelling_wins_on_one_object() {
        let top =
            layer(&[("slurmjob.slinky.slurm.net/partition", "top"), ("slinky.slurm.net/qos", "q")]);
        let pod = layer(&[
            ("slinky.slurm.net/partition", "old"),
            ("slurmjob.slinky.slurm.net/partition", "new"),
        ]);
        let read = Annotations::read(&[&top, &pod]).unwrap();
        assert_eq!((read.partition.as_deref(), read.qos.as_deref()), (Some("new"), Some("q")));
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_what_is_right() {
        let rows = [
            ("timelimit", "1h", "a whole number of minutes, at least 1"),
            ("timelimit", "0", "a whole number of minutes, at least 1"),
            ("cpu-per-task", "many", "a quantity of at least 1 CPU"),
            ("mem-per-node", "0", "a quantity such as `8Gi`"),
            ("max-nodes", "-1", "a whole number of nodes, at least 1"),
            ("priority", "2147483648", "a whole number"),
            ("exclusive", "yes", "`true` or `false`"),
            (
                "begin",
                "tomorrow",
                "a time with its zone, such as `2026-01-02T08:00:00Z`, or `now+2hours`",
            ),
            ("nice", "2147483646", "a whole number between -2147483645 and 2147483645"),
            ("exclude", "n[1-", "a list of Slurm nodes such as `n[1-4],n9`"),
        ];
        for (key, value, right) in rows {
            let key = format!("slurmjob.slinky.slurm.net/{key}");
            let error = Annotations::read(&[&layer(&[(&key, value)])]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("annotation {key} is `{value}`, but must be {right}")
            );
        }
    }

    #[test]
    fn numbers_are_read_as_the_existing_bridge_reads_them() {
        let read = Annotations::read(&[&layer(&[
            ("slinky.slurm.net/cpu-per-task", "1500m"),
            ("slinky.slurm.net/mem-per-node", "1Gi"),
            ("slinky.slurm.net/timelimit", "30"),
            ("slinky.slurm.net/exclusive", " TRUE "),
            ("drawbridge.dev/distribution", "cyclic"),
        ])])
        .unwrap();
        assert_eq!(read.cpus_per_task, Some(2));
        assert_eq!(read.memory_per_node_mib, Some(1024));
        assert_eq!(read.time_limit_minutes, Some(30));
        assert_eq!(read.exclusive, Some(true));
        assert_eq!(read.distribution, Distribution::Cyclic);
    }
}

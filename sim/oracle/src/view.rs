//! What can be seen of a cluster: the same words for both sides.
//!
//! ```text
//!   job 3    state=RUNNING reason=None nodes=n[1-2] on.n1=cpus:0-1,4/mem:100/gpu:0 …
//!   node n1  state=MIXED cpus=3 mem=100 gpu=0
//! ```

use std::collections::BTreeMap;

use drawbridge_sim::IndexSet;

/// Things by name, each with its properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// `job 3` or `node n1`, and what is seen of it.
    pub things: BTreeMap<String, BTreeMap<String, String>>,
}

/// Another reason that the model has for a job: Slurm shows both in turn.
pub(crate) const ALSO: &str = "also";

/// The second in which a job started, which isn't compared.
pub(crate) const START: &str = "start";

/// What an operation was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done; a new job's number where there is one.
    Done(Option<u32>),
    /// Refused, with these words.
    Refused(String),
}

impl View {
    /// Sets a property.
    pub(crate) fn set(&mut self, thing: &str, key: &str, value: impl Into<String>) {
        self.things.entry(thing.to_owned()).or_default().insert(key.to_owned(), value.into());
    }

    /// A property; empty if there is none.
    pub fn get(&self, thing: &str, key: &str) -> &str {
        self.things.get(thing).and_then(|thing| thing.get(key)).map_or("", String::as_str)
    }

    /// The jobs in this state, by number.
    pub fn jobs_in(&self, state: &str) -> Vec<u32> {
        let jobs = self.things.iter().filter_map(|(name, properties)| {
            let number = name.strip_prefix("job ")?.parse().ok()?;
            (properties.get("state")?.as_str() == state).then_some(number)
        });
        let mut jobs: Vec<u32> = jobs.collect();
        jobs.sort_unstable();
        jobs
    }

    /// The highest number of a job.
    pub(crate) fn newest_job(&self) -> Option<u32> {
        self.things.keys().filter_map(|name| name.strip_prefix("job ")?.parse().ok()).max()
    }

    /// Whether a job waits because others hold what it needs.
    pub fn is_contended(&self) -> bool {
        self.things.values().any(|properties| {
            let is = |key: &str, found: &[&str]| {
                properties
                    .get(key)
                    .is_some_and(|value| found.iter().any(|it| value.starts_with(it)))
            };
            is("state", &["PENDING"])
                && is("reason", &["Resources", "Priority", "Nodes_required", "Licenses"])
        })
    }
}

/// A job's properties in both sides' spelling.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobLook {
    pub(crate) number: String,
    /// `12_3`, `12_4-7%2`.
    pub(crate) array: Option<String>,
    pub(crate) state: String,
    pub(crate) reason: String,
    pub(crate) priority: String,
    pub(crate) partition: String,
    pub(crate) restarts: String,
    pub(crate) time_limit: String,
    /// Seconds from its start to its deadline.
    pub(crate) to_deadline: Option<u64>,
    /// The second in which it started.
    pub(crate) start: Option<u64>,
    pub(crate) exit: String,
    pub(crate) nodes: String,
    pub(crate) cpus: String,
    /// What it holds on each node.
    pub(crate) shares: Vec<(String, String)>,
}

impl JobLook {
    /// Puts into the view what counts in the job's state.
    pub(crate) fn put(self, view: &mut View) {
        let name = format!("job {}", self.number);
        let pending = self.state == "PENDING";
        let running = self.state == "RUNNING";
        if let Some(array) = self.array {
            view.set(&name, "array", array);
        }
        view.set(&name, "reason", self.reason);
        view.set(&name, "partition", self.partition);
        view.set(&name, "restarts", self.restarts);
        if pending || running {
            view.set(&name, "priority", self.priority);
            // Backfill, where it comes first, writes "no limit" as a year.
            let year = self.time_limit == "525600";
            let cut = |seconds: u64| running && (seconds / 60).to_string() == self.time_limit;
            let limit = match self.to_deadline {
                Some(seconds) if cut(seconds) => "deadline".into(),
                Some(_) | None if year => "UNLIMITED".into(),
                Some(_) | None => self.time_limit,
            };
            view.set(&name, "limit", limit);
        } else {
            view.set(&name, "exit", self.exit);
        }
        if !pending {
            view.set(&name, "nodes", self.nodes);
        }
        if let Some(start) = self.start.filter(|_| running) {
            view.set(&name, START, start.to_string());
        }
        if running {
            view.set(&name, "cpus", self.cpus);
            for (node, share) in self.shares {
                view.set(&name, &format!("on.{node}"), share);
            }
        }
        view.set(&name, "state", self.state);
    }
}

/// A reason as scontrol prints it. Users have other numbers on each side.
pub(crate) fn reason_text(reason: &str) -> String {
    let text = reason.replace(' ', "_");
    match text.strip_prefix("uid_").and_then(|rest| rest.split_once('_')) {
        Some((_, rest)) => format!("uid_N_{rest}"),
        None => text,
    }
}

/// `cpus:0-1,4/mem:100/gpu:0`.
pub(crate) fn share_text(cpus: &str, memory: &str, gres: &BTreeMap<String, IndexSet>) -> String {
    let gres: String = gres.iter().map(|(name, devices)| format!("/{name}:{devices}")).collect();
    format!("cpus:{cpus}/mem:{memory}{gres}")
}

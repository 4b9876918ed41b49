//! Pods that belong together: who has a place, who waits at the barrier, and for whom.
//!
//! ```text
//!   rank 0  n1   at the barrier ─┐
//!   rank 1  n3   at the barrier ─┼─ wait for ─▶ rank 3   no node
//!   rank 2  n5   at the barrier ─┘
//! ```

use std::collections::BTreeMap;

use drawbridge_scenarios::PodRow;
use drawbridge_sim::{JobId, Span, Time};

use super::scene::{Scene, is_placeless};

/// A rank that comes this much later than the first is told.
const LATE: Span = Span::secs(1);

/// A gang at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Gang<'a> {
    /// Its namespace.
    pub(crate) namespace: &'a str,
    /// Its name.
    pub(crate) name: String,
    /// Its pods, in the order of their ranks.
    pub(crate) ranks: Vec<&'a PodRow>,
    /// How many there should be, as far as that is known.
    pub(crate) size: usize,
}

/// How far a gang is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody has a place yet.
    Waiting,
    /// Some have a place, others don't.
    Split,
    /// All have a place, not all have started.
    Starting,
    /// All run, and some wait at the barrier for others.
    Meeting,
    /// All run.
    Running,
    /// All have ended.
    Ended,
    /// Some failed.
    Failed,
}

impl Standing {
    /// In a word or two.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waits",
            Self::Split => "split",
            Self::Starting => "starts",
            Self::Meeting => "at barrier",
            Self::Running => "runs",
            Self::Ended => "ended",
            Self::Failed => "failed",
        }
    }
}

/// What gang a pod is of: its PodGroup, the MPI program, the JobSet or group of workers.
pub(crate) fn gang_of(pod: &PodRow) -> Option<String> {
    let label = |key: &str| pod.labels.get(key).cloned();
    let workers = || {
        let set = label("leaderworkerset.sigs.k8s.io/name")?;
        Some(format!("{set}-{}", label("leaderworkerset.sigs.k8s.io/group-index")?))
    };
    let program = || pod.mpi.as_ref().map(|mpi| mpi.program.clone());
    let named = pod.gang.clone().or_else(program).or_else(workers);
    named.or_else(|| label("jobset.sigs.k8s.io/jobset-name"))
}

/// All gangs, by namespace and name. Those that are gone only if asked for.
pub(crate) fn gangs(scene: Scene<'_>, also_gone: bool) -> Vec<Gang<'_>> {
    let mut found: BTreeMap<(&str, String), Vec<&PodRow>> = BTreeMap::new();
    for (_, pod) in scene.pods() {
        if (also_gone || pod.phase != "Deleted")
            && let Some(name) = gang_of(pod)
        {
            found.entry((pod.namespace.as_str(), name)).or_default().push(pod);
        }
    }
    found.into_iter().filter_map(|((_, name), ranks)| Gang::new(name, ranks)).collect()
}

/// One gang.
pub(crate) fn gang<'a>(scene: Scene<'a>, namespace: &str, name: &str) -> Option<Gang<'a>> {
    let all = scene.pods().map(|(_, pod)| pod);
    let its = all.filter(|pod| pod.namespace == namespace && gang_of(pod).as_deref() == Some(name));
    let (gone, here): (Vec<&PodRow>, Vec<&PodRow>) = its.partition(|pod| pod.phase == "Deleted");
    Gang::new(name.to_owned(), if here.is_empty() { gone } else { here })
}

impl<'a> Gang<'a> {
    /// A gang of these pods, which are of one namespace; `None` without any.
    pub(crate) fn new(name: String, mut ranks: Vec<&'a PodRow>) -> Option<Self> {
        ranks.sort_by_cached_key(|pod| rank_key(pod));
        let namespace = ranks.first()?.namespace.as_str();
        let told = ranks.iter().filter_map(|pod| pod.mpi.as_ref()).map(|mpi| mpi.ranks as usize);
        let size = told.max().unwrap_or(0).max(ranks.len());
        Some(Self { namespace, name, ranks, size })
    }

    /// Its job, if it is one.
    pub(crate) fn job(&self) -> Option<JobId> {
        self.ranks.iter().find_map(|pod| pod.job_id)
    }

    /// How far it is.
    pub(crate) fn standing(&self) -> Standing {
        let all = |is: fn(&PodRow) -> bool| self.ranks.iter().all(|pod| is(pod));
        let any = |is: fn(&PodRow) -> bool| self.ranks.iter().any(|pod| is(pod));
        if any(|pod| pod.phase == "Failed") {
            Standing::Failed
        } else if all(|pod| matches!(pod.phase.as_str(), "Succeeded" | "Deleted")) {
            Standing::Ended
        } else if all(is_placeless) {
            Standing::Waiting
        } else if any(is_placeless) || self.ranks.len() < self.size {
            Standing::Split
        } else if any(|pod| pod.phase == "Pending") {
            Standing::Starting
        } else if any(waits_at_barrier) {
            Standing::Meeting
        } else {
            Standing::Running
        }
    }

    /// Whether it holds nodes with ranks that can't go on before others have a place.
    pub(crate) fn is_stuck(&self) -> bool {
        self.standing() == Standing::Split && self.ranks.iter().any(|pod| waits_at_barrier(pod))
    }

    /// Ranks that hold a node.
    pub(crate) fn placed(&self) -> usize {
        let holds = |pod: &&&PodRow| {
            pod.node.is_some() && matches!(pod.phase.as_str(), "Pending" | "Running")
        };
        self.ranks.iter().filter(holds).count()
    }

    /// Ranks that the others wait for: they have not come to the barrier.
    pub(crate) fn missing(&self) -> Vec<&'a PodRow> {
        let is_awaited = |pod: &&&PodRow| matches!(pod.phase.as_str(), "Pending" | "Failed");
        self.ranks.iter().filter(is_awaited).copied().collect()
    }

    /// Whom this rank waits for, if it waits.
    pub(crate) fn waits_for(&self, pod: &PodRow) -> Vec<&'a str> {
        match waits_at_barrier(pod) {
            true => self.missing().iter().map(|pod| pod.name.as_str()).collect(),
            false => vec![],
        }
    }

    /// How much later than the first rank this one started, if that is worth telling.
    pub(crate) fn late_by(&self, pod: &PodRow, now: Time) -> Option<Span> {
        let first = self.ranks.iter().filter_map(|pod| pod.started_ms).min()?;
        let late = match (pod.started_ms, pod.node.is_some()) {
            (Some(started), _) => started - first,
            (None, true) if pod.phase == "Pending" => now - first,
            (None, _) => return None,
        };
        (LATE <= late).then_some(late)
    }
}

/// Whether a rank stands at the barrier and others have not come.
pub(crate) fn waits_at_barrier(pod: &PodRow) -> bool {
    let waits = pod.mpi.as_ref().is_some_and(|mpi| !mpi.met);
    pod.phase == "Running" && !pod.terminating && waits
}

/// Pods in the order of their ranks, each with whatever belongs to it.
pub(crate) fn ranked<T>(mut pods: Vec<(T, &PodRow)>) -> Vec<(T, &PodRow)> {
    pods.sort_by_cached_key(|(_, pod)| rank_key(pod));
    pods
}

fn rank_key(pod: &PodRow) -> (u64, u64, Vec<(String, u64)>) {
    let job = pod.labels.get("jobset.sigs.k8s.io/job-global-index");
    let job = job.and_then(|index| index.parse().ok()).unwrap_or(u64::MAX);
    (job, pod.rank.unwrap_or(u64::MAX), natural(&pod.name))
}

/// A name as text and numbers in turn: `w-2` comes before `w-10`.
pub(crate) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        parts.push((text.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = tail;
    }
    parts
}

/// Gangs that hold what the others wait for: none of them can go on.
pub(crate) fn deadlocked<'g, 'a>(gangs: &'g [Gang<'a>]) -> Vec<&'g Gang<'a>> {
    let stuck: Vec<&Gang<'_>> = gangs.iter().filter(|gang| gang.is_stuck()).collect();
    if stuck.len() < 2 { vec![] } else { stuck }
}

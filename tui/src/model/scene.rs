//! What there is to see at one moment, and how to find it.

use drawbridge_scenarios::{
    JobRow, NodeRow, PodRow,
    recording::{Film, Still},
};
use drawbridge_sim::{JobId, Span, Time};

/// What is further away than this is told with its date.
const DAY: Span = Span::hours(24);

/// One moment of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    /// The run.
    pub(crate) film: &'a Film,
    /// Its rows at the moment.
    pub(crate) still: &'a Still,
    /// Unix time of the run's zero in milliseconds, where it is of real clusters.
    pub(crate) zero: Option<u64>,
    /// The time that the screens show: that of the last record, or later while the run plays.
    pub(crate) now: Time,
}

impl<'a> Scene<'a> {
    /// A point in time: since the run began, or by the clock on the wall (UTC).
    pub(crate) fn stamp(self, at: Time) -> String {
        let Some(zero) = self.zero else { return at.to_string() };
        let unix = i64::try_from(zero.saturating_add(at.as_ms())).unwrap_or(i64::MAX);
        let wall = jiff::Timestamp::from_millisecond(unix).unwrap_or(jiff::Timestamp::MAX);
        let far = DAY <= self.now.since(at).max(at.since(self.now));
        wall.strftime(if far { "%m-%d %H:%M" } else { "%H:%M:%S" }).to_string()
    }

    /// The same without milliseconds.
    pub(crate) fn brief(self, at: Time) -> String {
        let text = self.stamp(at);
        text.split('.').next().unwrap_or_default().to_owned()
    }

    /// A job by its number, with its slot.
    pub(crate) fn job(self, id: JobId) -> Option<(usize, &'a JobRow)> {
        let slot = self.film.jobs().slot(&id)?;
        Some((slot, self.still.job(slot)?))
    }

    /// A pod by its uid.
    pub(crate) fn pod(self, uid: &str) -> Option<&'a PodRow> {
        self.still.pod(self.film.pods().slot(uid)?)
    }

    /// The pod that has this name now, or had it last.
    pub(crate) fn pod_named(self, namespace: &str, name: &str) -> Option<&'a PodRow> {
        let is = |pod: &&PodRow| pod.namespace == namespace && pod.name == name;
        self.pods().map(|(_, pod)| pod).filter(is).last()
    }

    /// A node by the name that its row has.
    pub(crate) fn node(self, name: &str) -> Option<&'a NodeRow> {
        self.still.node(self.film.nodes().slot(name)?)
    }

    /// A node by Slurm's name for it.
    pub(crate) fn slurm_node(self, name: &str) -> Option<&'a NodeRow> {
        self.still.node(self.film.slurm_node(name)?)
    }

    /// Pods as they are listed, each with its slot.
    pub(crate) fn pods(self) -> impl Iterator<Item = (usize, &'a PodRow)> {
        let slots = self.film.pod_order();
        slots.filter_map(move |slot| Some((slot, self.still.pod(slot)?)))
    }

    /// Jobs in the order in which they came, each with its slot.
    pub(crate) fn jobs(self) -> impl Iterator<Item = (usize, &'a JobRow)> {
        self.still.jobs()
    }

    /// Nodes, Slurm's first, each with its slot.
    pub(crate) fn nodes(self) -> impl Iterator<Item = (usize, &'a NodeRow)> {
        self.still.nodes()
    }

    /// Pods that a job stands for.
    pub(crate) fn pods_of(self, id: JobId) -> impl Iterator<Item = &'a PodRow> {
        self.pods().map(|(_, pod)| pod).filter(move |pod| pod.job_id == Some(id))
    }

    /// Whether the bridge is alive; `None` without one.
    pub(crate) fn bridge_up(self) -> Option<bool> {
        self.film.bridge_at(self.still.event())
    }
}

/// Whether squeue would show a job without being asked for more.
pub(crate) fn is_active(job: &JobRow) -> bool {
    job.end_ms.is_none()
}

/// Whether a job waits in the queue.
pub(crate) fn is_waiting(job: &JobRow) -> bool {
    job.start_ms.is_none() && job.end_ms.is_none()
}

/// Whether Slurm would put a job on a node.
pub(crate) fn is_usable(node: &NodeRow) -> bool {
    const OFF: [&str; 8] = ["drain", "drng", "down", "fail", "maint", "boot", "unk", "comp*"];
    node.slurm_name.is_some()
        && !node.cordoned
        && !OFF.iter().any(|state| node.state.starts_with(state))
}

/// What the pod shows as its phase: as kubectl, a pod that is going says so.
pub(crate) fn phase(pod: &PodRow) -> &str {
    match pod.terminating && pod.phase != "Deleted" {
        true => "Terminating",
        false => &pod.phase,
    }
}

/// Whether a pod waits for a place.
pub(crate) fn is_placeless(pod: &PodRow) -> bool {
    pod.phase == "Pending" && pod.node.is_none() && !pod.terminating
}

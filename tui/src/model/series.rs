//! How busy everything was, over time: counted once while the run comes in.

use drawbridge_scenarios::{
    JobRow, NodeRow, PodRow,
    recording::{Altered, Film, RowKind},
};
use drawbridge_sim::Time;

use super::scene::{is_usable, is_waiting};

/// What is counted at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// CPUs of Slurm's nodes, and those that jobs hold.
    pub(crate) cpus: u64,
    /// CPUs that jobs hold.
    pub(crate) cpus_alloc: u64,
    /// Memory in MiB, likewise.
    pub(crate) memory: u64,
    /// Memory that jobs hold.
    pub(crate) memory_alloc: u64,
    /// GPUs.
    pub(crate) gpus: u64,
    /// GPUs that jobs hold.
    pub(crate) gpus_alloc: u64,
    /// Slurm's nodes.
    pub(crate) nodes: u64,
    /// Those that take no new work.
    pub(crate) nodes_off: u64,
    /// Those that hold something.
    pub(crate) nodes_busy: u64,
    /// Jobs that wait.
    pub(crate) waiting: u64,
    /// Jobs that run.
    pub(crate) running: u64,
    /// Jobs that ended.
    pub(crate) ended: u64,
    /// Pods that wait or start.
    pub(crate) pods_pending: u64,
    /// Pods that run.
    pub(crate) pods_running: u64,
    /// Pods that ended well.
    pub(crate) pods_succeeded: u64,
    /// Pods that failed.
    pub(crate) pods_failed: u64,
}

/// The load after each event that changed it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    points: Vec<(u64, Load)>,
    seen: usize,
    cuts: u64,
}

impl Series {
    /// Takes in what is new.
    pub(crate) fn follow(&mut self, film: &Film) {
        if self.cuts != film.cuts() {
            *self = Self { cuts: film.cuts(), ..Self::default() };
        }
        for altered in &film.altered()[self.seen..] {
            let mut load = self.points.last().map_or(Load::default(), |(_, load)| *load);
            load.count(film, *altered);
            match self.points.last_mut() {
                Some(last) if last.0 == altered.from => last.1 = load,
                Some(last) if last.1 == load => {}
                Some(_) | None => self.points.push((altered.from, load)),
            }
        }
        self.seen = film.altered().len();
    }

    /// The load after so many records.
    pub(crate) fn at(&self, event: u64) -> Load {
        let after = self.points.partition_point(|(from, _)| *from <= event);
        after.checked_sub(1).map_or(Load::default(), |last| self.points[last].1)
    }

    /// The load at so many moments, evenly from one time to another.
    pub(crate) fn sample(&self, film: &Film, from: Time, to: Time, n: usize) -> Vec<Load> {
        let (from, to) = (u128::from(from.as_ms()), u128::from(to.as_ms()));
        let moment = |i: usize| {
            let at = from + to.saturating_sub(from) * (i as u128 + 1) / n.max(1) as u128;
            Time::from_ms(u64::try_from(at).unwrap_or(u64::MAX))
        };
        (0..n).map(|i| self.at(film.event_at(moment(i)))).collect()
    }
}

impl Load {
    fn count(&mut self, film: &Film, altered: Altered) {
        let (slot, version) = (altered.slot as usize, altered.version as usize);
        match altered.kind {
            RowKind::Pod => self.change(film.pods().of(slot), version, Self::pod),
            RowKind::Job => self.change(film.jobs().of(slot), version, Self::job),
            RowKind::Node => self.change(film.nodes().of(slot), version, Self::node),
        }
    }

    /// Takes off what a row was, and adds what it is.
    fn change<T>(
        &mut self,
        versions: &[(u64, Option<std::sync::Arc<T>>)],
        version: usize,
        count: fn(&mut Self, &T, Sum),
    ) {
        let row = |i: usize| versions.get(i).and_then(|it| it.1.as_deref());
        if let Some(before) = version.checked_sub(1).and_then(row) {
            count(self, before, Sum::Less);
        }
        if let Some(now) = row(version) {
            count(self, now, Sum::More);
        }
    }

    fn pod(&mut self, pod: &PodRow, sum: Sum) {
        match pod.phase.as_str() {
            "Pending" => sum.of(&mut self.pods_pending, 1),
            "Running" => sum.of(&mut self.pods_running, 1),
            "Succeeded" => sum.of(&mut self.pods_succeeded, 1),
            "Failed" => sum.of(&mut self.pods_failed, 1),
            _ => {}
        }
    }

    fn job(&mut self, job: &JobRow, sum: Sum) {
        match (is_waiting(job), job.end_ms.is_some()) {
            (true, _) => sum.of(&mut self.waiting, 1),
            (false, true) => sum.of(&mut self.ended, 1),
            (false, false) => sum.of(&mut self.running, 1),
        }
    }

    fn node(&mut self, node: &NodeRow, sum: Sum) {
        if node.slurm_name.is_none() {
            return;
        }
        sum.of(&mut self.nodes, 1);
        sum.of(&mut self.cpus, node.cpus.into());
        sum.of(&mut self.cpus_alloc, node.cpus_alloc.into());
        sum.of(&mut self.memory, node.memory_mb);
        sum.of(&mut self.memory_alloc, node.memory_alloc_mb);
        sum.of(&mut self.gpus, node.gpu_holders.len() as u64);
        sum.of(&mut self.gpus_alloc, node.gpu_holders.iter().flatten().count() as u64);
        sum.of(&mut self.nodes_off, u64::from(!is_usable(node)));
        sum.of(&mut self.nodes_busy, u64::from(0 < node.cpus_alloc));
    }
}

/// Whether something is added or taken off.
#[derive(Clone, Copy)]
enum Sum {
    More,
    Less,
}

impl Sum {
    fn of(self, total: &mut u64, by: u64) {
        *total = match self {
            Self::More => total.saturating_add(by),
            Self::Less => total.saturating_sub(by),
        };
    }
}

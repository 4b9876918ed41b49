//! The parts of a weighted priority, computed as slurmctld computes them: doubles, cut off last.

use crate::{
    Job, Slurmctld, Span, Time,
    conf::{PriorityParams, TresWeights},
    select::MemoryNeed,
};

/// The parts of a job's priority, each times its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PriorityFactors {
    /// How long it has waited.
    pub age: f64,
    /// How large it is.
    pub job_size: f64,
    /// What its partition is worth.
    pub partition: f64,
    /// What it asks for.
    pub tres: TresWeights,
    /// What is taken off again.
    pub nice: i32,
}

impl PriorityFactors {
    /// The job's priority: at least 1, because 0 is for held jobs.
    pub(crate) fn priority(&self) -> u32 {
        let tres = self.tres.cpu + self.tres.mem + self.tres.node;
        let sum = self.age + self.job_size + self.partition + tres - f64::from(self.nice);
        whole(sum)
    }

    /// As sprio adds them up: in another order.
    pub fn sprio_priority(&self) -> u32 {
        let sum = self.age + self.job_size + self.partition - f64::from(self.nice);
        whole(sum + self.tres.cpu + self.tres.mem + self.tres.node)
    }
}

/// From 1 to the largest, cut off.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut off, as in C")]
fn whole(sum: f64) -> u32 {
    sum.clamp(1.0, f64::from(u32::MAX)) as u32
}

impl Slurmctld {
    /// A job's factors in one of its partitions, with its age at `at`.
    pub(crate) fn factors(&self, at: Time, job: &Job, partition: usize) -> PriorityFactors {
        let params = &self.params().priority;
        PriorityFactors {
            age: self.age(params, at, job) * f64::from(params.age_weight()),
            job_size: self.job_size(params, job) * f64::from(params.weight_job_size),
            partition: self.partition_worth(params, partition) * f64::from(params.weight_partition),
            tres: self.tres(params, job, partition),
            nice: job.nice(),
        }
    }

    fn age(&self, params: &PriorityParams, at: Time, job: &Job) -> f64 {
        let since = match params.flags.accrue_always {
            true => Some(job.submit_time),
            false => job.begin_time.or(job.eligible_time),
        };
        let seconds = |time: Time| self.epoch.unix(time);
        let Some(age) = since.map(|since| seconds(at).saturating_sub(seconds(since))) else {
            return 0.0;
        };
        let most = params.max_age.as_secs();
        if age < most { float(age) / float(most) } else { 1.0 }
    }

    fn job_size(&self, params: &PriorityParams, job: &Job) -> f64 {
        if params.weight_job_size == 0 {
            return 0.0;
        }
        let (all_nodes, all_cpus) = (float(self.nodes.len() as u64), float(self.cluster_cpus()));
        let (nodes, cpus) = (f64::from(job.ask.min_nodes), f64::from(job.ask.min_cpus()));
        let size = if params.flags.small_relative_to_time {
            let by_nodes = nodes * all_cpus / all_nodes;
            let minutes = job.time_limit.map_or(u64::from(u32::MAX), minutes);
            let size = by_nodes.max(cpus) / float(minutes) / all_cpus;
            if params.favor_small { 1.0 - size } else { size }
        } else if params.favor_small {
            let by_nodes = (all_nodes - nodes).max(0.0) / all_nodes;
            if cpus == 0.0 { by_nodes } else { (by_nodes + (all_cpus - cpus) / all_cpus) / 2.0 }
        } else {
            let by_nodes = nodes / all_nodes;
            if cpus == 0.0 { by_nodes } else { (by_nodes + cpus / all_cpus) / 2.0 }
        };
        size.clamp(0.0, 1.0)
    }

    fn partition_worth(&self, params: &PriorityParams, partition: usize) -> f64 {
        let own = self.partition_spec(partition).priority_job_factor;
        if params.weight_partition == 0 || own == 0 {
            return 0.0;
        }
        let all = self.config.partitions().iter().map(|spec| spec.priority_job_factor);
        let most = all.max().unwrap_or(1);
        let part = f64::from(own);
        if params.flags.no_normal_part { part } else { part / f64::from(most) }
    }

    fn tres(&self, params: &PriorityParams, job: &Job, partition: usize) -> TresWeights {
        let weights = params.weight_tres;
        if weights == TresWeights::default() {
            return weights;
        }
        let places = &self.partition_nodes[partition];
        let nodes = || places.iter().map(|place| &self.nodes[place].spec);
        let part = |own: u64, all: u64| match (params.flags.no_normal_tres, own, all) {
            (true, ..) => float(own),
            (false, 0, _) | (false, _, 0) => 0.0,
            (false, own, all) => float(own) / float(all),
        };
        let cpus = u64::from(job.ask.min_cpus());
        let all_cpus = nodes().map(|spec| u64::from(spec.cpus)).sum();
        let all_memory = nodes().map(|spec| spec.memory_mib).sum();
        let most_memory = nodes().map(|spec| spec.memory_mib).max().unwrap_or_default();
        let memory = match job.ask.memory {
            MemoryNeed::PerNode(mib) => mib * u64::from(job.ask.min_nodes),
            MemoryNeed::PerCpu(mib) => mib * cpus,
            MemoryNeed::WholeNode => most_memory * u64::from(job.ask.min_nodes),
        };
        TresWeights {
            cpu: part(cpus, all_cpus) * weights.cpu,
            mem: part(memory, all_memory) * weights.mem,
            node: part(job.ask.min_nodes.into(), places.len() as u64) * weights.node,
        }
    }

    fn cluster_cpus(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.spec.cpus)).sum()
    }
}

const fn minutes(limit: Span) -> u64 {
    limit.as_secs().div_ceil(60)
}

#[expect(clippy::cast_precision_loss, reason = "doubles, as in slurmctld")]
const fn float(n: u64) -> f64 {
    n as f64
}

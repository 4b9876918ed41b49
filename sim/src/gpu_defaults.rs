//! `DefCpuPerGPU` and `DefMemPerGPU`: what goes with each GPU of a job that doesn't say so itself.

use crate::{Slurmctld, select::Ask};

impl Slurmctld {
    /// The request with what its partition, or else slurm.conf, gives with each GPU, if that is
    /// anything.
    pub(crate) fn with_gpu_defaults(&self, ask: &Ask, partition: usize) -> Option<Box<Ask>> {
        let (spec, params) = (self.partition_spec(partition), self.params());
        let cpus = spec.def_cpus_per_gpu.or(params.def_cpus_per_gpu);
        let cpus = cpus.filter(|_| !ask.says_cpus_per_task()).unwrap_or(0);
        let memory = spec.def_mem_per_gpu.or(params.def_mem_per_gpu).unwrap_or(0);
        if (cpus, memory) == (0, 0) || ask.gres.is_empty() {
            return None;
        }
        let mut ask = Box::new(ask.clone());
        let mut cpus_per_task = ask.cpus_per_task;
        for need in ask.gres.iter_mut().filter(|need| need.name == "gpu") {
            need.default_cpus_per = cpus;
            if need.memory_per == 0 {
                need.memory_per = memory;
            }
            let per_task = u32::try_from(need.per_task).unwrap_or(u32::MAX);
            cpus_per_task = cpus_per_task.max(per_task.saturating_mul(cpus));
        }
        ask.cpus_per_task = cpus_per_task;
        Some(ask)
    }
}

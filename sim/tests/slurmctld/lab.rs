//! A controller to play with: submit, let time pass, look.

use drawbridge_sim::{
    Epoch, JobId, NodeUpdate, Release, SlurmConfig, Slurmctld, Span, Time, UserName, parse_sbatch,
};

/// A controller and its clock.
pub(crate) struct Lab {
    pub(crate) ctld: Slurmctld,
    pub(crate) now: Time,
}

/// Six nodes of 16 CPUs on two sockets, 64000 MB and 4 GPUs, as in the experiments; a cycle
/// follows each second that somebody asks for one.
pub(crate) const SIX: &str = "\
SchedulerParameters=batch_sched_delay=0,bf_interval=1
GresTypes=gpu
NodeName=n[001-006] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES
";

impl Lab {
    pub(crate) fn new(conf: &str) -> Self {
        Self::of(Release::V24_11, conf)
    }

    pub(crate) fn of(release: Release, conf: &str) -> Self {
        let parsed = SlurmConfig::parse(conf, None, release);
        let config = parsed.unwrap_or_else(|error| panic!("{error}\n{}", error.hint)).config;
        Self { ctld: Slurmctld::new(config, Epoch::DEFAULT), now: Time::ZERO }
    }

    /// Submits a job that sleeps for ever unless it says otherwise.
    pub(crate) fn sbatch(&mut self, args: &str) -> JobId {
        self.try_sbatch(args).unwrap()
    }

    pub(crate) fn try_sbatch(&mut self, args: &str) -> Result<JobId, String> {
        let mut job = parse_sbatch(args).map_err(|error| format!("sbatch: {error}"))?;
        if job.script.is_empty() && !job.external {
            job.script = "exec sleep infinity".into();
        }
        let submitted = self.ctld.submit(self.now, job);
        submitted.map_err(|error| format!("{} {error}", error.number()))
    }

    /// Submits, and lets a cycle pass.
    pub(crate) fn run(&mut self, args: &str) -> JobId {
        let job = self.sbatch(args);
        self.pass(2);
        job
    }

    /// Lets seconds pass.
    pub(crate) fn pass(&mut self, secs: u64) {
        self.until(self.now + Span::secs(secs));
    }

    /// Lets time pass until then, waking whenever the controller wants to be woken.
    pub(crate) fn until(&mut self, then: Time) {
        while let Some(at) = self.ctld.next_wake().filter(|at| *at <= then) {
            assert!(self.now <= at, "time went backwards");
            self.now = at;
            self.ctld.wake(at);
        }
        self.now = then;
        self.ctld.check().unwrap();
    }

    pub(crate) fn at_secs(&mut self, secs: u64) {
        self.until(Time::ZERO + Span::secs(secs));
    }

    /// `n[001-002] 16+4`: its nodes, and the CPUs on each.
    pub(crate) fn nodes_of(&self, job: JobId) -> String {
        let Some(allocation) = &self.ctld.job(job).unwrap().allocation else {
            return "-".into();
        };
        let cpus: Vec<_> = allocation.nodes.iter().map(|share| share.cpus.to_string()).collect();
        format!("{} {}", allocation.node_list(), cpus.join("+"))
    }

    /// `0-1,8-9 | 0`: the CPU ids on each node.
    pub(crate) fn cpu_ids_of(&self, job: JobId) -> String {
        let job = self.ctld.job(job).unwrap();
        let nodes = job.allocation.iter().flat_map(|allocation| &allocation.nodes);
        nodes.map(|share| share.cpu_ids.to_string()).collect::<Vec<_>>().join(" | ")
    }

    /// `0-3 | 0-1`: the GPU indices on each node.
    pub(crate) fn gpus_of(&self, job: JobId) -> String {
        let job = self.ctld.job(job).unwrap();
        let nodes = job.allocation.iter().flat_map(|allocation| &allocation.nodes);
        let gpus = nodes.map(|share| share.gres.get("gpu").map_or("-".into(), ToString::to_string));
        gpus.collect::<Vec<_>>().join(" | ")
    }

    /// `PENDING Resources`.
    pub(crate) fn state_of(&self, job: JobId) -> String {
        let Some(job) = self.ctld.job(job) else {
            return "gone".into();
        };
        format!("{} {}", job.squeue_state(), job.reason)
    }

    /// As `sinfo -N -o '%N %t'`, folded into one line.
    pub(crate) fn sinfo(&self) -> String {
        let nodes = self.ctld.nodes().map(|node| format!("{}:{}", node.name(), node.sinfo_state()));
        nodes.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn scancel(&mut self, job: JobId) {
        self.ctld.cancel(self.now, job, &root()).unwrap();
    }

    pub(crate) fn node(&mut self, name: &str, update: NodeUpdate) {
        self.ctld.update_node(self.now, &name.into(), update).unwrap();
    }

    pub(crate) fn drain(&mut self, name: &str) {
        let reason = "maint".into();
        self.node(name, NodeUpdate::Drain { reason });
    }

    pub(crate) fn down(&mut self, name: &str) {
        let reason = "broken".into();
        self.node(name, NodeUpdate::Down { reason });
    }
}

pub(crate) fn root() -> UserName {
    "root".into()
}

//! *Slurm cycles*: a workload through the model of slurmctld.
//!
//! ```text
//!   arrivals ──submit──▶ Slurmctld ──facts──▶ starts and ends, job by job
//!        whichever comes first: the next arrival, or the controller's own next wake-up
//! ```

use std::collections::BTreeMap;

use drawbridge_sim::{
    Allocation, Epoch, Fact, GresAsk, GresPer, JobBehaviour, JobId, JobState, MemoryAsk,
    PartitionName, SlurmConfig, Slurmctld, Span, Submission, Time, TimeLimit, UserName,
};

use crate::{
    cluster::partition_name,
    options::Mode,
    outcome::{End, JobOutcome, Outcome},
    trace::{Notes, Trace},
    workload::{Arrival, Workload},
};

/// Nothing runs, nothing arrives and nothing started for so long: what waits will never start.
const PATIENCE: Span = Span::hours(24 * 8);

/// Replays the workload; `progress` is told how many jobs are over.
pub fn replay(
    trace: &Trace,
    workload: &Workload,
    config: SlurmConfig,
    progress: &mut dyn FnMut(u64),
) -> Outcome {
    let mut run = Run::new(trace, workload, config);
    for (place, arrival) in workload.arrivals.iter().enumerate() {
        run.wake_until(arrival.at, progress);
        run.submit(place, arrival);
    }
    run.wake_until_quiet(progress);
    run.finish()
}

struct Run<'a> {
    trace: &'a Trace,
    workload: &'a Workload,
    ctld: Slurmctld,
    users: Vec<UserName>,
    partitions: Vec<Option<PartitionName>>,
    counts_memory: bool,
    /// Arrivals by the numbers that their jobs got.
    waiting: BTreeMap<JobId, usize>,
    outcomes: Vec<Option<JobOutcome>>,
    last_change: Time,
    n_ended: u64,
    n_running: u64,
    notes: Notes,
}

impl<'a> Run<'a> {
    fn new(trace: &'a Trace, workload: &'a Workload, config: SlurmConfig) -> Self {
        let partition = |name: &str| {
            let name = PartitionName::from(partition_name(name));
            config.partition(&name).is_some().then_some(name)
        };
        let partitions = trace.names.partitions.iter().map(partition).collect();
        let counts_memory = config.params().memory;
        let mut ctld = Slurmctld::new(config, Epoch::from_unix(workload.epoch));
        ctld.hide_plans();
        Self {
            trace,
            workload,
            users: trace.names.users.iter().map(UserName::from).collect(),
            partitions,
            counts_memory,
            ctld,
            waiting: BTreeMap::new(),
            outcomes: vec![None; workload.arrivals.len()],
            last_change: Time::ZERO,
            n_ended: 0,
            n_running: 0,
            notes: Notes::default(),
        }
    }

    fn submit(&mut self, place: usize, arrival: &Arrival) {
        let submission = self.submission(arrival);
        match self.ctld.submit(arrival.at, submission) {
            Ok(id) => {
                self.waiting.insert(id, place);
            }
            Err(error) => self.notes.count(&format!("refused at submit: {error}")),
        }
        self.last_change = arrival.at;
        self.hear(arrival.at);
    }

    fn submission(&mut self, arrival: &Arrival) -> Submission {
        let job = &self.trace.jobs[arrival.job as usize];
        let partition = self.partitions.get(job.partition as usize).cloned().flatten();
        let mut submission = Submission::new(self.users[job.user as usize].clone());
        submission.partitions.extend(partition);
        submission.tasks = Some(job.cpus);
        submission.min_nodes = job.nodes;
        if let Some(nodes) = job.nodes.filter(|nodes| job.cpus < *nodes) {
            submission.tasks = Some(nodes);
        }
        if self.counts_memory {
            let asked = job.memory_per_cpu_mib.map(MemoryAsk::PerCpu);
            submission.memory = asked.unwrap_or_default();
        }
        if 0 < job.gpus {
            let (name, count) = ("gpu".to_owned(), job.gpus.into());
            submission.gres = vec![GresAsk { name, kind: None, count, per: GresPer::Job }];
        }
        submission.time_limit = Some(match arrival.limit {
            Some(limit) => TimeLimit::Of(limit),
            None => TimeLimit::Unlimited,
        });
        submission.behaviour = Some(JobBehaviour::lasting(arrival.run));
        submission
    }

    /// Lets the controller do what is due before `until`, and at it.
    fn wake_until(&mut self, until: Time, progress: &mut dyn FnMut(u64)) {
        while let Some(at) = self.ctld.next_wake().filter(|at| *at <= until) {
            self.ctld.wake(at);
            self.hear(at);
            progress(self.n_ended);
        }
    }

    fn wake_until_quiet(&mut self, progress: &mut dyn FnMut(u64)) {
        while let Some(at) = self.ctld.next_wake().filter(|_| !self.waiting.is_empty()) {
            if self.n_running == 0 && self.last_change + PATIENCE < at {
                break;
            }
            self.ctld.wake(at);
            self.hear(at);
            progress(self.n_ended);
        }
        let never = self.never();
        if never != 0 {
            self.notes.add("never started: no room for it, or its partition refuses it", never);
        }
    }

    fn never(&self) -> u64 {
        let started = |place: &usize| self.outcomes[*place].is_some();
        self.waiting.values().filter(|place| !started(place)).count() as u64
    }

    /// Notes what the controller did at `now`.
    fn hear(&mut self, now: Time) {
        for fact in self.ctld.take_facts() {
            match fact {
                Fact::JobStarted { job, allocation, .. } => self.started(now, job, &allocation),
                Fact::JobEnded { job, state, .. } => self.ended(now, job, state),
                Fact::JobSubmitted { .. }
                | Fact::JobReasonChanged { .. }
                | Fact::JobPlanned { .. }
                | Fact::JobReleased { .. }
                | Fact::JobSplit { .. }
                | Fact::JobRequeued { .. }
                | Fact::JobChanged { .. }
                | Fact::JobPurged { .. }
                | Fact::NodeChanged { .. } => {}
            }
        }
    }

    fn started(&mut self, now: Time, job: JobId, allocation: &Allocation) {
        let Some(place) = self.waiting.get(&job).copied() else {
            return;
        };
        let arrival = &self.workload.arrivals[place];
        self.n_running += 1;
        self.last_change = now;
        self.outcomes[place] = Some(JobOutcome {
            job: arrival.job,
            submit: arrival.at,
            start: now,
            end: now,
            recorded: arrival.recorded,
            cpus: allocation.cpus(),
            ended: End::Completed,
            nodes: ranges(allocation),
        });
    }

    fn ended(&mut self, now: Time, job: JobId, state: JobState) {
        let Some(place) = self.waiting.remove(&job) else {
            return;
        };
        self.n_ended += 1;
        self.n_running = self.n_running.saturating_sub(1);
        self.last_change = now;
        if let Some(outcome) = &mut self.outcomes[place] {
            outcome.end = now;
            outcome.ended = if state == JobState::Timeout { End::Timeout } else { End::Completed };
        }
    }

    fn finish(self) -> Outcome {
        let stats = self.ctld.stats();
        let config = self.ctld.config();
        let mut notes = self.notes;
        notes.extend(&self.workload.notes);
        Outcome {
            mode: Mode::SlurmCycles,
            cpus: config.nodes().iter().map(|node| u64::from(node.cpus)).sum(),
            nodes: u32::try_from(config.nodes().len()).unwrap_or(u32::MAX),
            jobs: self.outcomes.into_iter().flatten().collect(),
            notes,
            cycles: (stats.main_cycles, stats.backfill_cycles),
            backfilled: stats.backfilled,
        }
    }
}

fn ranges(allocation: &Allocation) -> Box<[(u32, u32)]> {
    let mut ranges: Vec<(u32, u32)> = vec![];
    for share in &allocation.nodes {
        let index = u32::try_from(share.index).unwrap_or(u32::MAX);
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    ranges.into()
}

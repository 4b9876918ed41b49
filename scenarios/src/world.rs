//! The twin world: both clusters, the bridge between them, and one order of events.
//!
//! ```text
//!        script        slurmctld        cluster       mail, wake-ups of the bridge, deadlines
//!           │              │               │              │
//!           └──────┬───────┴───────┬───────┴──────┬───────┘
//!                  ▼  least time, then in this order
//!                step() ──▶ what happened: records, rows, laws, news for the bridge
//! ```
//!
//! The world is one `Clone` value: a checkpoint is a clone, and two clones end alike. Start reading
//! at [`World::step`].

mod outside;
#[cfg(test)]
mod planted;
mod process;
mod script;
mod story;

use std::collections::BTreeMap;

use drawbridge_fakes::Cluster;
use drawbridge_sim::{EventQueue, HashChain, Job, JobState, Seed, Slurmctld, Span, Time};

use self::{
    process::{Mail, Process},
    script::Script,
};
use crate::{frame::Frame, laws::Laws, log::Log, record::Record, rows::Rows, scenario::Scenario};

/// How long nothing worth telling must happen before the world counts as quiet. Longer than the
/// bridge's slowest poll and its longest bounded wait.
const QUIET_AFTER: Span = Span::mins(10);

/// Everything there is.
#[derive(Clone)]
pub struct World {
    now: Time,
    until: Time,
    /// Expectations with a time must be reached before the world may end.
    checks_until: Time,
    script: Script,
    slurm: Slurmctld,
    cluster: Cluster,
    process: Option<Process>,
    mail: EventQueue<Mail>,
    log: Log,
    rows: Rows,
    laws: Laws,
    refused: Vec<String>,
    over: bool,
}

/// Where the next event comes from; the order breaks ties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Script,
    Slurm,
    Cluster,
    Mail,
    Wake,
    Law,
}

impl World {
    /// A world at time zero, with everything in it that the scenario says is there.
    pub fn new(scenario: &Scenario, seed: Seed) -> Self {
        let mut world = Self {
            now: Time::ZERO,
            until: scenario.until,
            checks_until: scenario.last_check(),
            script: Script::new(&scenario.steps),
            slurm: Slurmctld::new(scenario.slurm.clone(), scenario.epoch),
            cluster: Cluster::new(scenario.epoch, seed, scenario.behaviours.clone()),
            process: scenario.bridge.clone().map(|config| Process::new(config, scenario.epoch)),
            mail: EventQueue::default(),
            log: Log::default(),
            rows: Rows::default(),
            laws: Laws::new(scenario),
            refused: vec![],
            over: false,
        };
        world.furnish(&scenario.objects);
        world.boot();
        world
    }

    /// Handles the next event. Returns `false` once nothing is left that could happen.
    pub fn step(&mut self) -> bool {
        if self.over {
            return false;
        }
        let next = self.next_source().filter(|(at, _)| *at <= self.until && !self.is_quiet(*at));
        let Some((at, source)) = next else {
            self.end();
            return false;
        };
        self.now = at;
        match source {
            Source::Script => self.play(),
            Source::Slurm => self.slurm.wake(at),
            Source::Cluster => self.wake_cluster(),
            Source::Mail => self.open_mail(),
            Source::Wake => self.wake_bridge(),
            // A deadline of the laws is looked at below, like everything.
            Source::Law => {}
        }
        self.observe();
        true
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many records there have been.
    pub fn events(&self) -> u64 {
        self.log.count()
    }

    /// The hash over all of them.
    pub fn hash(&self) -> HashChain {
        self.log.hash()
    }

    /// Takes the records since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.log.take()
    }

    /// The invariants that were broken so far, as sentences.
    pub fn violations(&self) -> &[String] {
        self.laws.violations()
    }

    /// Steps that were refused and should not have been, each with its line.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// What there is to see now.
    pub fn frame(&self) -> Frame {
        Frame {
            now: self.now,
            events: self.events(),
            bridge_up: self.process.as_ref().map(Process::is_up),
            pods: self.rows.pods(),
            jobs: self.rows.jobs(),
            nodes: self.rows.nodes(&self.slurm, self.cluster.api()),
            metrics: self.metrics(),
        }
    }

    /// When the world's next event is, if there is one.
    pub fn next_at(&self) -> Option<Time> {
        if self.over { None } else { self.next_source().map(|(at, _)| at) }
    }

    fn next_source(&self) -> Option<(Time, Source)> {
        [
            self.script.next_at().map(|at| (at, Source::Script)),
            self.slurm.next_wake().map(|at| (at, Source::Slurm)),
            self.cluster.next_wake().map(|at| (at, Source::Cluster)),
            self.mail.next_at().map(|at| (at, Source::Mail)),
            self.process.as_ref().and_then(Process::wake_at).map(|at| (at, Source::Wake)),
            self.laws.next_due().map(|at| (at, Source::Law)),
        ]
        .into_iter()
        .flatten()
        // A machine that asks to be woken in the past is woken now.
        .map(|(at, source)| (at.max(self.now), source))
        .min()
    }

    /// Whether only clocks tick from here on: nobody has anything left to do.
    fn is_quiet(&self, next: Time) -> bool {
        self.script.is_done()
            && self.checks_until <= self.now
            && self.log.last_story() + QUIET_AFTER <= next
            // A request, a reply or a restart is still on its way.
            && self.mail.is_empty()
            && self.cluster.next_wake().is_none()
            && !self.slurm.jobs().any(|job| self.will_act(job))
    }

    /// Whether a job will do something by itself some day: end, run into its limit, begin.
    fn will_act(&self, job: &Job) -> bool {
        match job.state {
            JobState::Running => job.behaviour.run_time.is_some() || job.limit_end().is_some(),
            JobState::Pending => job.begin_time.is_some_and(|begin| self.now < begin),
            JobState::Suspended => false,
            JobState::Completed
            | JobState::Cancelled
            | JobState::Failed
            | JobState::Timeout
            | JobState::NodeFail
            | JobState::Deadline
            | JobState::OutOfMemory
            | JobState::BootFail => job.completing,
        }
    }

    fn metrics(&self) -> BTreeMap<String, u64> {
        let requests = self.process.iter().flat_map(|process| &process.requests);
        let mut metrics: BTreeMap<String, u64> =
            requests.map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let stats = self.slurm.stats();
        metrics.insert("slurm.cycles.main".to_owned(), stats.main_cycles);
        metrics.insert("slurm.cycles.backfill".to_owned(), stats.backfill_cycles);
        metrics.insert("kube.requests".to_owned(), self.cluster.api().audit().values().sum());
        metrics
    }

    fn end(&mut self) {
        self.over = true;
        let traps = self.process.iter_mut().flat_map(Process::unsprung);
        self.refused.extend(traps.map(|line| format!("{line}: the crash never struck")));
        let is_quiet = self.is_quiet(Time::MAX);
        self.laws.at_the_end(&self.slurm, self.cluster.api(), is_quiet);
        self.report();
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "World at {} after {} events", self.now, self.events())
    }
}

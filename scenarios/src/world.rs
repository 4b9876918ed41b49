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

mod faults;
mod live;
mod mishaps;
mod outside;
#[cfg(test)]
mod planted;
pub(crate) mod process;
mod recorded;
mod rest;
mod scontrol;
mod script;
pub(crate) mod story;
mod to_slurm;
pub(crate) mod trial;
pub(crate) mod wire;

use std::collections::BTreeMap;

use drawbridge_core::{StreamId, names::BRIDGE_USER};
use drawbridge_fakes::{Cluster, Response, slurmrestd::Slurm};
use drawbridge_sim::{EventQueue, HashChain, Job, JobState, Seed, Span, Time};

use self::{
    faults::Faults,
    mishaps::Troubles,
    process::{Life, Mail, Process, Traps},
    rest::Rest,
    script::Script,
    to_slurm::Answered,
    trial::Seen,
    wire::Wire,
};
use crate::{
    fault::Fault, frame::Frame, laws::Laws, log::Log, record::Record, rows::Rows,
    scenario::Scenario,
};

/// How long nothing worth telling must happen before the world counts as quiet. Longer than the
/// bridge's slowest poll and its longest bounded wait.
const QUIET_AFTER: Span = Span::mins(10);

/// The way to the API server and back takes twice this long.
const KUBE_LATENCY: Span = Span::ms(2);
/// The way to slurmrestd and back takes twice this long.
const SLURM_LATENCY: Span = Span::ms(5);

/// Everything there is.
#[derive(Clone)]
pub struct World {
    now: Time,
    until: Time,
    /// Expectations with a time must be reached before the world may end.
    checks_until: Time,
    script: Script,
    slurm: Slurm,
    cluster: Cluster,
    /// The bridge's replicas; none in a world without a bridge.
    bridges: Vec<Process>,
    traps: Traps,
    faults: Faults,
    troubles: Troubles,
    /// What Slurm answered to questions, and as of when.
    answers: BTreeMap<String, Answered>,
    /// What questions were last answered with, where a fault may give that again.
    replies: BTreeMap<String, Response>,
    /// Faults that the script asked for, each with its line.
    awaited: Vec<(Fault, usize)>,
    /// The bridge's requests by kind, over all lives.
    requests: BTreeMap<&'static str, u64>,
    rest: Rest,
    mail: EventQueue<Mail>,
    /// When open watches say where they stand, or end.
    bookmarks: EventQueue<(Life, StreamId)>,
    /// Where the bridge is a shell elsewhere.
    wire: Option<Wire>,
    log: Log,
    rows: Rows,
    /// Scheduling cycles that nobody has asked for yet.
    cycles: u64,
    laws: Laws,
    refused: Vec<String>,
    /// Steps that were refused, also those that might be.
    refusals: u64,
    over: bool,
    /// What the bridge met in which state, where somebody wants to know.
    seen: Option<Seen>,
    /// It is served to people's own tools, and goes on as long as they like.
    live: bool,
}

/// Where the next event comes from; the order breaks ties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Script,
    Slurm,
    Cluster,
    Mail,
    Bookmark,
    Wake,
    Law,
}

impl World {
    /// A world at time zero, with everything in it that the scenario says is there.
    pub fn new(scenario: &Scenario, seed: Seed) -> Self {
        Self::bare(scenario, seed).furnished(scenario)
    }

    /// A world at time zero with nothing in it yet.
    fn bare(scenario: &Scenario, seed: Seed) -> Self {
        Self::empty(scenario, Cluster::new(scenario.epoch, seed, scenario.behaviours.clone()))
    }

    /// The same with everything in place and the bridge started.
    fn furnished(mut self, scenario: &Scenario) -> Self {
        for (name, provisioner) in &scenario.provisioners {
            self.cluster.set_provisioner(name, provisioner.clone());
        }
        self.furnish(&scenario.objects);
        (0..self.bridges.len()).for_each(|replica| self.boot(replica));
        self
    }

    fn empty(scenario: &Scenario, cluster: Cluster) -> Self {
        Self {
            now: Time::ZERO,
            until: scenario.until,
            checks_until: scenario.last_check(),
            script: Script::new(&scenario.steps),
            slurm: Slurm::new(scenario.slurm.clone(), scenario.epoch).telling(),
            cluster,
            bridges: Process::replicas(
                scenario.bridge.as_ref(),
                scenario.epoch,
                scenario.bridge_replicas,
            ),
            traps: Traps::default(),
            faults: Faults::default(),
            troubles: Troubles::default(),
            answers: BTreeMap::new(),
            replies: BTreeMap::new(),
            awaited: vec![],
            requests: BTreeMap::new(),
            rest: Rest::new(scenario.bridge.as_ref()),
            mail: EventQueue::default(),
            bookmarks: EventQueue::default(),
            wire: None,
            log: Log::default(),
            rows: Rows::new(&scenario.behaviours),
            cycles: 0,
            laws: Laws::new(scenario),
            refused: vec![],
            refusals: 0,
            over: false,
            seen: None,
            live: false,
        }
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
            Source::Slurm => self.slurm.with_ctld(at, |ctld| ctld.wake(at)),
            Source::Cluster => self.wake_cluster(),
            Source::Mail => self.open_mail(),
            Source::Bookmark => self.bookmark(),
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

    /// How many steps were refused, also of those that might be.
    pub fn refusals(&self) -> u64 {
        self.refusals
    }

    /// What the bridge had to be allowed to do so far, as verb and resource.
    pub(crate) fn permissions(&self) -> Vec<String> {
        let asked = self.cluster.api().audit().keys();
        let ours = asked.filter(|(user, _, _)| user == BRIDGE_USER);
        ours.map(|(_, verb, what)| format!("{verb} {what}")).collect()
    }

    /// The configuration of the bridge, if there is one.
    pub(crate) fn config(&self) -> Option<&drawbridge_core::Config> {
        self.bridges.first().map(|process| process.config.as_ref())
    }

    /// The Slurm side, to read from.
    pub const fn slurm(&self) -> &Slurm {
        &self.slurm
    }

    /// Whether it is over because nobody had anything left to do.
    pub(crate) fn ended_quietly(&self) -> bool {
        self.over && self.is_quiet(Time::MAX)
    }

    /// What there is to see now.
    pub fn frame(&self) -> Frame {
        Frame {
            now: self.now,
            events: self.events(),
            bridge_up: self.bridge_up(),
            pods: self.rows.pods(),
            jobs: self.rows.jobs(),
            nodes: self.rows.nodes(self.slurm.ctld(), self.cluster.api()),
            metrics: self.metrics(),
        }
    }

    /// When the world's next event is, if there is one.
    pub fn next_at(&self) -> Option<Time> {
        if self.over { None } else { self.next_source().map(|(at, _)| at) }
    }

    fn next_source(&self) -> Option<(Time, Source)> {
        [
            self.script.next_at().map(|at| (at.max(self.troubles.people_wait()), Source::Script)),
            self.slurm.next_wake().map(|at| (at.max(self.troubles.slurmctld), Source::Slurm)),
            self.cluster.next_wake().map(|at| (at.max(self.troubles.controllers), Source::Cluster)),
            self.mail.next_at().map(|at| (at, Source::Mail)),
            self.bookmarks.next_at().map(|at| (at, Source::Bookmark)),
            self.bridges.iter().filter_map(Process::wake_at).min().map(|at| (at, Source::Wake)),
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
        !self.live
            && self.script.is_done()
            && self.checks_until <= self.now
            && self.log.last_story() + QUIET_AFTER <= next
            // A request, a reply or a restart is still on its way.
            && self.mail.is_empty()
            && self.cluster.next_wake().is_none()
            && !self.slurm.ctld().jobs().any(|job| self.will_act(job))
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

    pub(crate) fn metrics(&self) -> BTreeMap<String, u64> {
        let mut metrics: BTreeMap<String, u64> =
            self.requests.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let stats = self.slurm.ctld().stats();
        metrics.insert("slurm.cycles.main".to_owned(), stats.main_cycles);
        metrics.insert("slurm.cycles.backfill".to_owned(), stats.backfill_cycles);
        metrics.insert("kube.requests".to_owned(), self.cluster.api().audit().values().sum());
        metrics
    }

    fn end(&mut self) {
        self.over = true;
        let traps = self.traps.unsprung();
        self.refused.extend(traps.map(|line| format!("{line}: the crash never struck")));
        let struck = |fault: &Fault| self.fired().iter().any(|fired| fired.fault == *fault);
        let missed = self.awaited.iter().filter(|(fault, _)| !struck(fault));
        let missed = missed.map(|(fault, line)| format!("{line}: the fault never struck: {fault}"));
        let missed: Vec<String> = missed.collect();
        self.refused.extend(missed);
        let is_quiet = self.is_quiet(Time::MAX);
        self.laws.at_the_end(self.slurm.ctld(), self.cluster.api(), is_quiet);
        self.report();
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "World at {} after {} events", self.now, self.events())
    }
}

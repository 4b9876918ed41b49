//! The questions to Slurm, which announces nothing by itself. One poller serves everybody.
//!
//! ```text
//!  states of all jobs   1 s while something waits, 5 s while all runs, 30 s otherwise
//!  one job in full      ours that changed; our newest; of those that wait, a few each time, in turn;
//!                       of numbers that are new, a few each time
//!  all jobs in full     at the start, 30 s later, after a submit in doubt, every 5 min
//!  nodes                every 10 s, and when a decision about one is due
//!  reservations         every minute, if they are to be shown
//! ```
//!
//! Each question is a [`Beat`]: asked, or due at a time; failures make the pause longer. So does a
//! crowd: what slurmctld has to write down for us each second stays bounded.

use std::collections::BTreeSet;

use drawbridge_sim::{JobId, Span, Time};

use crate::{
    backoff::Backoff,
    config::{PollSeconds, secs},
    effect::SlurmRequest,
    input::CallId,
    jobs::{Jobs, OurJob, Sight},
    outbox::{Alarm, Outbox, Purpose},
    slurm::ObservedState,
    states::{Standing, standing},
};

/// How long a submit whose reply was lost may take to arrive.
pub(crate) const LATE: Span = Span::secs(30);
/// Jobs read at the same time.
const READS: usize = 16;
/// Waiting jobs read at each poll, to keep their reason up to date.
const REASONS: usize = 10;
/// New numbers that are remembered until they are looked at.
const STRANGERS: usize = 100;
/// So many jobs in Slurm make the pauses twice as long, twice as many three times.
const CROWD: usize = 2_000;

/// How urgently job states are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Something waits, is being placed or ends.
    Waiting,
    /// Everything of ours runs.
    Running,
    /// There is nothing of ours.
    Idle,
}

/// One regular question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Beat {
    asked: Option<CallId>,
    /// When the last answer came.
    last: Time,
    due: Time,
    /// Ask once more by then, whatever the answer that is on its way says.
    again: Option<Time>,
    failures: u32,
    /// The last question that was answered.
    answered: Option<CallId>,
}

/// All questions.
#[derive(Clone, Debug)]
pub(crate) struct Poller {
    intervals: PollSeconds,
    /// Whether jobs are of interest at all.
    asks_for_jobs: bool,
    need: Need,
    /// How many jobs Slurm last listed, ours and others.
    listed: usize,
    states: Beat,
    all_jobs: Beat,
    nodes: Beat,
    reservations: Beat,
    /// How often reservations are asked for, if they are.
    reservations_every: Option<Span>,
    wanted: BTreeSet<JobId>,
    /// To be read again at the next poll.
    unread: BTreeSet<JobId>,
    reading: BTreeSet<JobId>,
    /// Where the round of waiting jobs goes on.
    cursor: JobId,
    /// The highest number in the last list, and new ones that nobody has looked at.
    newest: JobId,
    strangers: BTreeSet<JobId>,
}

impl Beat {
    fn is_due(&self, now: Time) -> bool {
        self.asked.is_none() && self.due <= now
    }

    fn hurry(&mut self, at: Time) {
        if self.asked.is_some() {
            self.again = Some(self.again.map_or(at, |again| again.min(at)));
        } else {
            self.due = self.due.min(at);
        }
    }

    /// An answer came. Returns the question that it answers.
    fn answered(&mut self, now: Time, pause: Span) -> Option<CallId> {
        self.failures = 0;
        self.last = now;
        self.due = now + pause;
        self.answered = self.asked.take();
        if let Some(again) = self.again.take() {
            self.due = self.due.min(again);
        }
        self.answered
    }

    fn failed(&mut self, now: Time) {
        self.failures += 1;
        self.asked = None;
        self.due = now + Backoff::REQUEST.after(self.failures);
    }
}

impl Poller {
    pub(crate) fn new(intervals: PollSeconds, asks_for_jobs: bool) -> Self {
        Self {
            intervals,
            asks_for_jobs,
            need: Need::Idle,
            listed: 0,
            states: Beat::default(),
            all_jobs: Beat::default(),
            nodes: Beat::default(),
            reservations: Beat::default(),
            reservations_every: None,
            wanted: BTreeSet::new(),
            unread: BTreeSet::new(),
            reading: BTreeSet::new(),
            cursor: JobId(0),
            newest: JobId(u32::MAX),
            strangers: BTreeSet::new(),
        }
    }

    /// Asks for reservations as well, so often.
    pub(crate) fn with_reservations(self, every: Option<Span>) -> Self {
        Self { reservations_every: every, ..self }
    }

    /// Whether Slurm has said once what there is.
    pub(crate) fn is_synced(&self) -> bool {
        (self.all_jobs.answered.is_some() || !self.asks_for_jobs) && self.nodes.answered.is_some()
    }

    /// The last question for all jobs that was answered.
    pub(crate) fn last_full(&self) -> Option<CallId> {
        self.all_jobs.answered
    }

    /// Asks whatever is due, and sets the alarm for what comes next.
    pub(crate) fn ask(&mut self, out: &mut Outbox) {
        let now = out.now();
        let synced = self.is_synced();
        // States say nothing to who doesn't know the jobs yet.
        let (jobs, states) = (self.asks_for_jobs, self.asks_for_jobs && synced);
        let beats = [
            (&mut self.all_jobs, jobs, Purpose::AllJobs, SlurmRequest::Jobs),
            (&mut self.nodes, true, Purpose::SlurmNodes, SlurmRequest::Nodes),
            (&mut self.states, states, Purpose::States, SlurmRequest::JobStates),
            (
                &mut self.reservations,
                synced && self.reservations_every.is_some(),
                Purpose::Reservations,
                SlurmRequest::Reservations,
            ),
        ];
        let mut next = Time::MAX;
        for (beat, _, purpose, request) in beats.into_iter().filter(|(_, wanted, ..)| *wanted) {
            if beat.is_due(now) {
                beat.asked = Some(out.slurm(purpose, request));
            }
            if beat.asked.is_none() {
                next = next.min(beat.due);
            }
        }
        self.read_wanted(out);
        if next < Time::MAX {
            out.wake_at(next, Alarm::Poll);
        }
    }

    fn read_wanted(&mut self, out: &mut Outbox) {
        while self.reading.len() < READS
            && let Some(job) = self.wanted.iter().find(|job| !self.reading.contains(job)).copied()
        {
            self.wanted.remove(&job);
            self.reading.insert(job);
            out.slurm(Purpose::Job(job), SlurmRequest::Job(job));
        }
    }

    /// Slurm can be asked again after it couldn't: everything is asked now.
    pub(crate) fn catch_up(&mut self, now: Time) {
        let Self { all_jobs, nodes, states, reservations, .. } = self;
        for beat in [all_jobs, nodes, states, reservations] {
            beat.failures = 0;
            beat.hurry(now);
        }
        self.wanted.append(&mut self.unread);
    }

    /// Sets how urgent job states are.
    pub(crate) fn set_need(&mut self, need: Need) {
        self.need = need;
        if self.states.failures == 0 {
            self.states.hurry_to(self.states.last + self.pause());
        }
    }

    fn pause(&self) -> Span {
        let PollSeconds { waiting, running, idle, .. } = self.intervals;
        let at_least = waiting.saturating_mul(self.stretch());
        secs(match self.need {
            Need::Waiting => at_least,
            Need::Running => running.max(at_least),
            Need::Idle => idle.max(at_least),
        })
    }

    /// How much longer pauses are because of the crowd.
    fn stretch(&self) -> u32 {
        u32::try_from(self.listed / CROWD).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Wants one job in full.
    pub(crate) fn want_job(&mut self, job: JobId) {
        self.wanted.insert(job);
    }

    /// Wants all jobs in full, asked for at this time or later.
    pub(crate) fn want_all_jobs(&mut self, at: Time) {
        self.all_jobs.hurry(at);
    }

    /// Wants the nodes, asked for now or later.
    pub(crate) fn want_nodes(&mut self, now: Time) {
        self.nodes.hurry(now);
    }

    pub(crate) fn all_jobs_answered(&mut self, now: Time) -> Option<CallId> {
        let first = self.all_jobs.answered.is_none();
        let later = secs(self.intervals.all_jobs.saturating_mul(self.stretch()));
        let pause = if first { LATE } else { later };
        self.all_jobs.answered(now, pause)
    }

    pub(crate) fn all_jobs_failed(&mut self, now: Time) {
        self.all_jobs.failed(now);
    }

    pub(crate) fn nodes_answered(&mut self, now: Time) -> Option<CallId> {
        self.nodes.answered(now, secs(self.intervals.nodes))
    }

    pub(crate) fn nodes_failed(&mut self, now: Time) {
        self.nodes.failed(now);
    }

    pub(crate) fn reservations_answered(&mut self, now: Time) {
        self.reservations.answered(now, self.reservations_every.unwrap_or(LATE));
    }

    pub(crate) fn reservations_failed(&mut self, now: Time) {
        self.reservations.failed(now);
    }

    pub(crate) fn states_failed(&mut self, now: Time) {
        self.states.failed(now);
    }

    /// A job was read, or could not be.
    pub(crate) fn job_answered(&mut self, job: JobId, failed: bool) {
        self.reading.remove(&job);
        if failed {
            self.unread.insert(job);
        }
    }

    /// Compares the states of all jobs with what we know: what changed is read in full. Returns
    /// our jobs that are over by now.
    pub(crate) fn states_answered(
        &mut self,
        now: Time,
        jobs: &Jobs,
        states: &[(JobId, ObservedState)],
    ) -> Vec<(JobId, ObservedState)> {
        self.listed = states.len();
        let Some(asked) = self.states.answered(now, self.pause()) else {
            return Vec::new();
        };
        let mut over = Vec::new();
        let mut listed = Vec::new();
        self.note_strangers(jobs, states);
        for (id, state) in states {
            let Some(job) = jobs.get(*id) else { continue };
            listed.push(*id);
            match &job.sight {
                Sight::Seen(seen) if seen.state == *state => {}
                Sight::Seen(_) if standing(state) == Standing::Ended => {
                    over.push((*id, state.clone()));
                }
                Sight::Seen(_) | Sight::Unseen | Sight::Gone => self.want_job(*id),
            }
        }
        self.want_missing(jobs, asked, listed);
        self.wanted.append(&mut self.unread);
        // Slurm that lost its state lost the newest jobs, and somebody else's may have their numbers: as
        // long as our newest one is what it was, so are all others.
        self.wanted.extend(jobs.newest());
        self.want_reasons(jobs);
        self.want_strangers();
        over
    }

    /// Notes numbers that are new and not ours: behind one of them may be a job that arrived late, or
    /// twice. They are read once, a few each time.
    fn note_strangers(&mut self, jobs: &Jobs, states: &[(JobId, ObservedState)]) {
        let newest = states.iter().map(|(id, _)| *id).max().unwrap_or(JobId(0));
        let live = |state: &ObservedState| standing(state) != Standing::Ended;
        for (id, state) in states {
            if self.newest < *id && live(state) && jobs.get(*id).is_none() {
                self.strangers.insert(*id);
            }
        }
        self.newest = newest;
        // Whoever submits thousands at once isn't followed: the list of all jobs comes in time.
        while self.strangers.len() > STRANGERS {
            self.strangers.pop_first();
        }
    }

    fn want_strangers(&mut self) {
        for _ in 0..REASONS {
            let Some(id) = self.strangers.pop_last() else { break };
            self.wanted.insert(id);
        }
    }

    /// Wants our jobs that the states don't name, if they were asked for after we knew them.
    fn want_missing(&mut self, jobs: &Jobs, asked: CallId, mut listed: Vec<JobId>) {
        if listed.len() == jobs.len() {
            return;
        }
        listed.sort_unstable();
        let missing = |(id, job): &(JobId, &OurJob)| {
            job.since < asked && job.is_live() && listed.binary_search(id).is_err()
        };
        self.wanted.extend(jobs.iter().filter(missing).map(|(id, _)| id));
    }

    /// Wants some of the waiting jobs, going round: as many in a second, however long the pause.
    fn want_reasons(&mut self, jobs: &Jobs) {
        let many = REASONS * self.stretch() as usize;
        let waiting = |(_, job): &(JobId, &OurJob)| job.standing() == Standing::Queued;
        for (id, _) in jobs.round_from(self.cursor).filter(waiting).take(many) {
            self.cursor = id;
            self.wanted.insert(id);
        }
    }
}

impl Beat {
    /// Not later than this.
    fn hurry_to(&mut self, at: Time) {
        if self.asked.is_none() {
            self.due = self.due.min(at);
        }
    }
}

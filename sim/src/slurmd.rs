//! slurmds that answer, and those that don't.
//!
//! ```text
//!   stops ──▶ silent ──a ping or another message, unanswered──▶ idle*, mix* … ──SlurmdTimeout──▶ down*
//!                ▲                                                                                 │
//!                └──────── starts ──▶ registers: idle, if ReturnToService says so ◀────────────────┘
//! ```
//!
//! A job that ends while one of its nodes is silent is COMPLETING until that node is down or answers.

use std::sync::Arc;

use crate::{
    Allocation, ExitCode, JobId, JobState, NodeFlags, NodeReason, Reason, SlurmError, SlurmNode,
    Slurmctld, Span, Time,
    lifecycle::{PURGE_CHECK, STOP},
    node::Service,
    pings::{Round, Seat},
    sched::next_tick,
    slurmctld::Event,
};

/// From a ping until the slurmd's answer is there.
const ANSWER: Span = Span::ms(20);
/// From the start of a slurmd until it registers.
const REGISTERS_AFTER: Span = Span::ms(300);
/// Nobody tries longer to reach a slurmd that isn't there.
const LONGEST_TRY: Span = Span::secs(10);
/// How long a batch script may be unknown to its slurmd: `BatchStartTimeout`.
const BATCH_START: Span = Span::secs(10);
/// Why a node is down that didn't answer.
const NOT_RESPONDING: &str = "Not responding";

/// What stops with a slurmd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlurmdStop {
    /// The daemon alone: scripts run on.
    Alone,
    /// Everything that runs on the node.
    WithProcesses,
}

impl Slurmctld {
    /// A node's slurmd is gone, without a word to slurmctld.
    pub fn slurmd_stops(
        &mut self,
        now: Time,
        node: &SlurmNode,
        how: SlurmdStop,
    ) -> Result<(), SlurmError> {
        let place = *self.node_places.get(node).ok_or(SlurmError::InvalidNodeName)?;
        if self.nodes[place].is_external() {
            return Err(SlurmError::InvalidNodeState);
        }
        if !self.nodes[place].silent {
            self.nodes[place].heard = self.last_heard(now, place);
            self.nodes[place].silent = true;
            self.silent.insert(place);
            self.await_round(now);
        }
        if how == SlurmdStop::WithProcesses {
            for job in self.batch_jobs(place) {
                self.job_mut(job).into_iter().for_each(|job| job.script_lives = false);
            }
        }
        Ok(())
    }

    /// A node's slurmd is there again, and registers.
    pub fn slurmd_starts(&mut self, now: Time, node: &SlurmNode) -> Result<(), SlurmError> {
        let place = *self.node_places.get(node).ok_or(SlurmError::InvalidNodeName)?;
        if std::mem::take(&mut self.nodes[place].silent) {
            self.silent.remove(place);
            self.events.push(now + REGISTERS_AFTER, Event::SlurmdReturns { node: place });
        }
        Ok(())
    }

    /// A ping goes out. Where there is no slurmd nobody is pinged; who is silent is pinged in rounds.
    pub(crate) fn ping(&mut self, at: Time, place: usize) {
        if !self.nodes[place].is_external() && !self.nodes[place].silent {
            self.events.push(at + ANSWER, Event::NodeRegisters { node: place });
        }
    }

    /// A round of pings at the next tick.
    pub(crate) fn ping_at_once(&mut self, now: Time) -> Time {
        let (at, step) = (next_tick(now), self.params().ping_interval());
        self.settle_heard(now);
        self.pings.put(now, at, step);
        if self.pings.due.is_some() {
            self.await_round(now);
        }
        at
    }

    /// The next round in which silent nodes are pinged.
    pub(crate) fn next_round(&self, now: Time) -> Time {
        self.pings.next(now, self.params().ping_interval())
    }

    /// The next round in which this one is, should it answer.
    pub(crate) fn next_ping_of(&self, now: Time, place: usize) -> Time {
        let step = self.params().ping_interval();
        let first = self.next_round(self.last_heard(now, place) + step);
        let missed = now.since(first).as_ms().div_ceil(step.times(2).as_ms());
        first + step.times(2 * missed)
    }

    fn last_heard(&self, now: Time, place: usize) -> Time {
        let step = self.params().ping_interval();
        self.pings.last_heard(self.nodes[place].heard, now, step, self.seat(place))
    }

    const fn seat(&self, place: usize) -> Seat {
        Seat { place, nodes: self.nodes.len() }
    }

    /// Writes down when each was last heard of, before the rounds move.
    fn settle_heard(&mut self, now: Time) {
        for place in 0..self.nodes.len() {
            if !self.nodes[place].silent {
                self.nodes[place].heard = self.last_heard(now, place);
            }
        }
    }

    pub(crate) fn await_round(&mut self, now: Time) {
        let at = self.next_round(now);
        self.pings.due = Some(at);
        self.events.push(at, Event::PingRound);
    }

    /// A round of pings: of those who are silent.
    pub(crate) fn ping_round(&mut self, now: Time) {
        let step = self.params().ping_interval();
        let round = self.pings.last(now, step).filter(|_| self.pings.due == Some(now));
        let Some(round) = round else { return };
        let silent: Vec<usize> = self.silent.iter().collect();
        let sent = silent.into_iter().filter(|place| self.ping_silent(*place, round)).count();
        self.pings.due = None;
        let over = next_tick(now + self.unanswered());
        if sent != 0 && now + step < over {
            // The next round waits for the end of this one.
            self.settle_heard(now);
            self.pings.put(now, over, step);
        }
        let lost = |node: &crate::Node| node.is_down() && node.flags.has(NodeFlags::NOT_RESPONDING);
        if self.silent.iter().any(|place| !lost(&self.nodes[place])) {
            self.await_round(now);
        }
    }

    /// One of them; whether a message went out.
    fn ping_silent(&mut self, place: usize, round: Round) -> bool {
        let (timeout, step) = (self.params().slurmd_timeout, self.params().ping_interval());
        let node = &self.nodes[place];
        if matches!(node.service, Service::Future | Service::Deleted) {
            return false;
        }
        let (down, unknown) = (node.is_down(), node.service == Service::Unknown);
        let flagged = node.flags.has(NodeFlags::NOT_RESPONDING);
        let heard = node.heard.as_secs();
        if timeout == Span::ZERO {
            if !flagged && !unknown {
                return false;
            }
        } else if let Some(before) = round.before
            && heard + timeout.as_secs() <= before.as_secs()
            && !down
        {
            self.give_up(round.at, place);
            return false;
        }
        let registers = unknown || self.seat(place).registers_in(round.number);
        let is_due = flagged || heard + step.as_secs() < round.at.as_secs();
        if !registers && (!is_due || (flagged && down)) {
            return false;
        }
        self.send(round.at, place);
        true
    }

    /// A node that wasn't heard of for too long.
    fn give_up(&mut self, now: Time, place: usize) {
        self.with_node(place, |node| {
            let (text, by) = (NOT_RESPONDING.into(), "root".into());
            node.reason = Some(NodeReason { text, by, at: now });
        });
        self.take_down(now, place, Service::Down);
        self.ask_for_cycle(now);
    }

    /// A message to a node that won't answer it.
    fn send(&mut self, now: Time, place: usize) {
        let noticed = now + self.unanswered();
        self.events.push(noticed, Event::NodeSilent { node: place, sent: now });
    }

    /// From a message until it is known that nobody answers.
    fn unanswered(&self) -> Span {
        self.params().message_timeout.min(LONGEST_TRY) + Span::secs(1)
    }

    /// slurmctld sends something to a job's nodes. Those without a slurmd don't answer; external ones
    /// take no more jobs from when that is noticed until slurmctld starts anew.
    pub(crate) fn message(&mut self, now: Time, job: JobId) {
        let allocation = self.job(job).and_then(|job| job.allocation.clone());
        let noticed = now + self.params().message_timeout;
        for share in allocation.iter().flat_map(|allocation| &allocation.nodes) {
            if self.nodes[share.index].is_external() {
                self.events.push(noticed, Event::NodeSilent { node: share.index, sent: now });
            } else if self.nodes[share.index].silent {
                self.send(now, share.index);
            }
        }
    }

    /// A message to the node had no answer.
    pub(crate) fn node_silent(&mut self, place: usize, sent: Time) {
        let Some(node) = self.nodes.get(place) else { return };
        if node.is_external() || (node.silent && node.heard < sent) {
            self.with_node(place, |node| node.flags = node.flags.with(NodeFlags::NOT_RESPONDING));
        }
    }

    /// Its slurmd says that it is there. The reason stays to be read, as Slurm leaves it.
    pub(crate) fn node_registers(&mut self, now: Time, place: usize) {
        let comes_back = self.params().return_to_service;
        if self.nodes.get(place).is_none_or(|node| node.is_deleted() || node.silent) {
            return;
        }
        let took = self.nodes[place].takes_jobs();
        self.with_node(place, |node| {
            node.heard = now;
            node.flags = node.flags.without(NodeFlags::NOT_RESPONDING);
            let silent = node.reason.as_ref().is_some_and(|reason| reason.text == NOT_RESPONDING);
            let returns = comes_back == 2 || (comes_back == 1 && silent);
            if node.service == Service::Unknown || (node.is_down() && returns) {
                node.service = Service::Up;
            }
        });
        if !took && self.nodes[place].takes_jobs() {
            self.node_is_up(place);
            self.ask_for_cycle(now);
        }
    }

    /// A slurmd registers that was silent: slurmctld compares what runs there with what should.
    pub(crate) fn slurmd_returned(&mut self, now: Time, place: usize) {
        if self.nodes.get(place).is_none_or(|node| node.silent) {
            return;
        }
        let young = BATCH_START + self.params().message_timeout.min(LONGEST_TRY);
        for id in self.nodes[place].jobs.iter().copied().collect::<Vec<_>>() {
            let Some(job) = self.job(id) else { continue };
            let started = job.start_time.unwrap_or(now);
            let here = job.batch_host() == Some(place);
            if job.completing {
                let (run, at) = (job.run, self.when_told_again(now, id, here && job.script_lives));
                self.events.push(at, Event::NodesFree { job: id, run });
            } else if here && !job.script_lives && started + young < now {
                self.script_is_missing(now, id);
            } else if here && !job.script_lives {
                // Nobody asks before it registers the next time.
                let next = self.next_registration(now, place);
                self.events.push(next, Event::SlurmdReturns { node: place });
            }
        }
        self.node_registers(now, place);
    }

    fn next_registration(&self, now: Time, place: usize) -> Time {
        let step = self.params().ping_interval();
        let mut at = self.next_round(now);
        while !self
            .pings
            .last(at, step)
            .is_none_or(|round| self.seat(place).registers_in(round.number))
        {
            at = at + step;
        }
        at + ANSWER
    }

    /// When a completing job is over on a node that is there again: at once if something of it still
    /// runs there, or else when slurmctld tells it again to end.
    fn when_told_again(&self, now: Time, job: JobId, runs: bool) -> Time {
        let ended = self.job(job).and_then(|job| job.end_time).unwrap_or(now);
        let params = self.params();
        let patience = params.kill_wait + params.message_timeout.times(2) + Span::secs(1);
        match runs {
            true => now + STOP,
            false => (ended + patience).max(now).round_up(PURGE_CHECK) + ANSWER,
        }
    }

    /// A batch script that its slurmd knows nothing of.
    fn script_is_missing(&mut self, now: Time, job: JobId) {
        if self.job(job).is_some_and(|job| job.requeue) {
            return self.send_back(now, job, STOP);
        }
        let exit = ExitCode::signal(1);
        self.end_running(now, job, JobState::NodeFail, Reason::None, exit, STOP);
    }

    /// A batch script couldn't be sent to its node, where the slurmd is silent.
    pub(crate) fn launch_failed(&mut self, now: Time, job: JobId) {
        let host = self.job(job).and_then(crate::Job::batch_host);
        if host.is_some_and(|place| self.nodes[place].silent) {
            return self.send_back(now, job, STOP);
        }
        // It is there again, and has it.
        self.job_mut(job).into_iter().for_each(|job| job.script_lives = true);
        self.schedule_end(now, job);
    }

    /// Whether a new job's script reaches its node.
    pub(crate) fn launch(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job).filter(|job| !job.is_external()) else { return };
        let (run, host) = (record.run, record.batch_host());
        let Some(place) = host else { return };
        let silent = self.nodes[place].silent;
        if silent {
            self.send(now, place);
            self.events.push(now + self.unanswered(), Event::LaunchFails { job, run });
        } else {
            self.nodes[place].heard = now;
        }
        self.job_mut(job).into_iter().for_each(|job| job.script_lives = !silent);
    }

    /// The jobs whose scripts run on a node.
    fn batch_jobs(&self, place: usize) -> Vec<JobId> {
        let here = |id: &&JobId| self.job(**id).is_some_and(|job| job.batch_host() == Some(place));
        self.nodes[place].jobs.iter().filter(here).copied().collect()
    }

    /// Whether a node that a job still holds doesn't say that it is over there.
    pub(crate) fn waits_for_silent(&self, job: JobId) -> bool {
        if self.silent.is_empty() {
            return false;
        }
        let held = self.job(job).and_then(crate::Job::held);
        let mut nodes = held.iter().flat_map(|held| &held.nodes);
        nodes.any(|share| self.nodes[share.index].silent && !self.nodes[share.index].is_down())
    }

    /// The nodes that answer are free; the others are held until they are down or answer.
    pub(crate) fn leave_live_nodes(&mut self, now: Time, job: JobId) {
        let Some(held) = self.job(job).and_then(crate::Job::held) else { return };
        let gone: Vec<_> =
            held.nodes.iter().filter(|share| !self.nodes[share.index].silent).cloned().collect();
        for share in &gone {
            self.with_node(share.index, |node| {
                node.usage.give_back(share);
                node.jobs.remove(&job);
                node.end_completing(share);
                node.heard = now;
            });
            self.unshared.remove(share.index);
            self.forget_owner(share.index);
        }
        if let Some(record) = self.job_mut(job) {
            record.left.extend(gone.iter().map(|share| share.index));
        }
        self.ask_at_once(now);
    }

    /// A job's nodes are told that it is over; how long it is then completing. One message goes to
    /// all of them, so that those who answer are heard of with those who don't.
    pub(crate) fn tell_nodes(&mut self, now: Time, job: JobId, otherwise: Span) -> Span {
        let held = self.job(job).filter(|_| !self.silent.is_empty()).and_then(crate::Job::held);
        let nodes = held.iter().flat_map(|held| &held.nodes).map(|share| share.index);
        if nodes.clone().all(|place| self.nodes[place].is_down()) {
            return otherwise;
        }
        let silent: Vec<usize> = nodes.filter(|place| self.nodes[*place].silent).collect();
        for place in &silent {
            self.send(now, *place);
        }
        if silent.is_empty() { otherwise } else { otherwise.max(self.unanswered()) }
    }
}

impl crate::Job {
    /// Where its script runs.
    pub(crate) fn batch_host(&self) -> Option<usize> {
        self.allocation.as_ref()?.nodes.first().map(|share| share.index)
    }

    /// What is left of what it held, where it is over on some nodes already.
    pub(crate) fn still_held(&self, all: Arc<Allocation>) -> Arc<Allocation> {
        if self.left.is_empty() {
            return all;
        }
        let stays = |share: &&crate::NodeShare| !self.left.contains(share.index);
        Arc::new(Allocation::new(all.nodes.iter().filter(stays).cloned().collect()))
    }
}

//! The end of a job, told by us: read it, make sure that it is ours, then tell it once.
//!
//! ```text
//!            still ours           Done              over
//!  Reading ─────────────▶ Telling ─────▶ Told ───────────────▶ (forgotten)
//!   ▲  │ over, gone, not ours ──▶ Over     │ not over in time: read again, then cancel outright
//!   │  ├ external ─▶ Noting ─▶ Telling     │
//!   │  └ failed ─▶ Resting                 │
//!   └────────────────┴─────────────────────┘
//! ```
//!
//! A script is told by signal how the pods ended, and ends so. An external job has nobody to hear it and
//! can only be cancelled: how the pods ended is written into its mark before. So it is with a job that we
//! give back.
//!
//! Only a job whose mark names our cluster and this workload is ever told anything.

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, Span};

use crate::{
    backoff::Backoff,
    config::Config,
    effect::SlurmRequest,
    facts::FactSubject,
    input::{SlurmFault, SlurmReply},
    mark::{Mark, Outcome},
    names::Uid,
    outbox::{Alarm, Outbox, Purpose},
    plants::Plant,
    slurm::ObservedJob,
    states::{Standing, standing},
};

/// How long a job that was told may take to end.
const PATIENCE: Span = Span::secs(10);

/// What the job is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// All pods succeeded.
    Succeeded,
    /// Some pod failed.
    Failed,
    /// Nobody needs it.
    Cancel,
    /// Its nodes are of no use to the pods, which wait on.
    GiveBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The outcome is written on it.
    Noting,
    Telling,
    Told,
    Resting,
    Over,
}

#[derive(Clone, Debug)]
struct Ending {
    workload: Uid,
    farewell: Farewell,
    why: String,
    state: State,
    was_told: bool,
    failures: u32,
}

/// All jobs that we are ending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    endings: BTreeMap<JobId, Ending>,
    /// A planted defect: jobs aren't read before they are ended.
    unread: bool,
}

/// What came of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing to tell anybody.
    Same,
    /// The job was told, or its end observed: look at its workload.
    Moved(Uid),
}

impl Endings {
    pub(crate) fn new(config: &Config) -> Self {
        Self { endings: BTreeMap::new(), unread: config.has(Plant::CancelsUnread) }
    }

    /// Begins to end a workload's job. Asked twice, the first stands. Where the number was another
    /// workload's, that one's job is no more.
    pub(crate) fn begin(
        &mut self,
        out: &mut Outbox,
        job: JobId,
        workload: Uid,
        farewell: Farewell,
        why: &str,
    ) {
        if self.of(&workload, job).is_some() {
            return;
        }
        self.endings.remove(&job);
        out.cancel_alarm(&Alarm::Ending(job));
        let ending = Ending {
            workload,
            farewell,
            why: why.into(),
            state: State::Reading,
            was_told: false,
            failures: 0,
        };
        let ending = self.endings.entry(job).or_insert(ending);
        if self.unread {
            ending.tell(out, job, None);
        } else {
            out.slurm(Purpose::Ending(job), SlurmRequest::Job(job));
        }
    }

    fn of(&self, workload: &Uid, job: JobId) -> Option<&Ending> {
        self.endings.get(&job).filter(|ending| ending.workload == *workload)
    }

    pub(crate) fn contains(&self, workload: &Uid, job: JobId) -> bool {
        self.of(workload, job).is_some()
    }

    /// Where the end of a job stands.
    pub(crate) fn state_name(&self, job: JobId) -> Option<&'static str> {
        Some(match self.endings.get(&job)?.state {
            State::Reading => "ending reading",
            State::Noting => "ending noting",
            State::Telling => "ending telling",
            State::Told => "ending told",
            State::Resting => "ending resting",
            State::Over => "ending over",
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.endings.is_empty()
    }

    /// Whether Slurm took what we told the job.
    pub(crate) fn was_told(&self, workload: &Uid, job: JobId) -> bool {
        self.of(workload, job).is_some_and(|ending| ending.was_told)
    }

    /// Whether the job is over for sure.
    pub(crate) fn is_over(&self, workload: &Uid, job: JobId) -> bool {
        self.of(workload, job).is_some_and(|ending| ending.state == State::Over)
    }

    /// The job's end was observed elsewhere.
    pub(crate) fn observed_end(&mut self, out: &mut Outbox, workload: &Uid, job: JobId) {
        if let Some(ending) = self.endings.get_mut(&job)
            && ending.workload == *workload
        {
            ending.state = State::Over;
            out.cancel_alarm(&Alarm::Ending(job));
        }
    }

    pub(crate) fn forget(&mut self, out: &mut Outbox, workload: &Uid, job: JobId) {
        if self.contains(workload, job) {
            self.endings.remove(&job);
            out.cancel_alarm(&Alarm::Ending(job));
        }
    }

    /// Takes a reply.
    pub(crate) fn replied(
        &mut self,
        out: &mut Outbox,
        cluster: &str,
        job: JobId,
        outcome: &Result<SlurmReply, SlurmFault>,
    ) -> Progress {
        let Some(ending) = self.endings.get_mut(&job) else {
            return Progress::Same;
        };
        match (ending.state, outcome) {
            (State::Reading, Ok(SlurmReply::Job(found))) => {
                ending.read(out, cluster, job, found.as_deref());
            }
            // Without the note it must end all the same.
            (State::Noting, Ok(_) | Err(SlurmFault::Refused { .. })) => ending.tell(out, job, None),
            (State::Telling, Ok(_)) => ending.told(out, job),
            (State::Reading | State::Noting | State::Telling, Ok(_) | Err(_)) => {
                ending.rest(out, job);
            }
            (State::Told | State::Resting | State::Over, Ok(_) | Err(_)) => return Progress::Same,
        }
        Progress::Moved(ending.workload.clone())
    }

    /// Slurm can be asked again: whoever rests because it couldn't looks now.
    pub(crate) fn catch_up(&mut self, out: &mut Outbox) {
        let resting = self.endings.iter().filter(|(_, ending)| ending.state == State::Resting);
        let resting: Vec<JobId> = resting.map(|(job, _)| *job).collect();
        for job in resting {
            out.cancel_alarm(&Alarm::Ending(job));
            self.woke(out, job);
        }
    }

    /// A pause is over: look again.
    pub(crate) fn woke(&mut self, out: &mut Outbox, job: JobId) {
        let Some(ending) = self.endings.get_mut(&job) else {
            return;
        };
        match ending.state {
            State::Told | State::Resting => {
                if ending.state == State::Told {
                    // It didn't listen: no more signals.
                    ending.farewell = Farewell::Cancel;
                }
                ending.state = State::Reading;
                out.slurm(Purpose::Ending(job), SlurmRequest::Job(job));
            }
            State::Reading | State::Noting | State::Telling | State::Over => {}
        }
    }
}

impl Ending {
    /// The mark alone decides whose job this is. The time of submission would not: a requeue
    /// rewrites it, so the same job comes back with another one, and nothing that Slurm says tells
    /// that from a number given out anew. A number given out anew has another mark, or none, unless
    /// it is our own job for the same workload: then to end it is right as well.
    fn read(&mut self, out: &mut Outbox, cluster: &str, job: JobId, found: Option<&ObservedJob>) {
        let mark = found.and_then(|found| Mark::read(&found.admin_comment, cluster));
        let ours = found.zip(mark.filter(|mark| mark.workload == self.workload));
        let Some((found, mark)) = ours else {
            self.state = State::Over;
            return;
        };
        match standing(&found.state) {
            Standing::Gone | Standing::Ended => self.state = State::Over,
            // Whoever finds it cancelled must know that it was us, and let the pods wait on.
            Standing::Running | Standing::Queued | Standing::Suspended | Standing::Unclear
                if self.farewell == Farewell::GiveBack =>
            {
                self.note(out, job, mark);
            }
            Standing::Running if mark.external => self.note(out, job, mark),
            Standing::Running => self.tell(out, job, self.farewell.signal()),
            // Only a running script hears a signal.
            Standing::Queued | Standing::Suspended | Standing::Revoked | Standing::Unclear => {
                self.tell(out, job, None);
            }
        }
    }

    /// Writes the outcome on a job, unless it is there or there is none.
    fn note(&mut self, out: &mut Outbox, job: JobId, mark: Mark) {
        let Some(outcome) = self.farewell.outcome().filter(|it| mark.outcome != Some(*it)) else {
            return self.tell(out, job, None);
        };
        self.state = State::Noting;
        let how = match outcome {
            Outcome::Succeeded => "its pods succeeded",
            Outcome::Failed => "its pods failed",
            Outcome::GivenBack => "it is given back",
        };
        out.tell(FactSubject::Job(job), format!("wrote on job {job} that {how}"));
        let admin_comment = mark.ended(outcome).text();
        out.slurm(Purpose::Ending(job), SlurmRequest::Remark { job, admin_comment });
    }

    fn tell(&mut self, out: &mut Outbox, job: JobId, signal: Option<&str>) {
        self.state = State::Telling;
        let text = match signal {
            None => format!("cancelled job {job}: {}", self.why),
            Some(signal) => format!("sent {signal} to job {job}: {}", self.why),
        };
        out.tell(FactSubject::Job(job), text);
        let signal = signal.map(Into::into);
        out.slurm(Purpose::Ending(job), SlurmRequest::Cancel { job, signal });
    }

    fn told(&mut self, out: &mut Outbox, job: JobId) {
        self.state = State::Told;
        self.was_told = true;
        self.failures = 0;
        out.wake_in(PATIENCE, Alarm::Ending(job));
    }

    fn rest(&mut self, out: &mut Outbox, job: JobId) {
        self.failures += 1;
        self.state = State::Resting;
        out.wake_in(Backoff::REQUEST.after(self.failures), Alarm::Ending(job));
    }
}

impl Farewell {
    /// What is to be remembered of it.
    fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Succeeded => Some(Outcome::Succeeded),
            Self::Failed => Some(Outcome::Failed),
            Self::GiveBack => Some(Outcome::GivenBack),
            Self::Cancel => None,
        }
    }

    /// The signal by which the placeholder ends as the pods did.
    fn signal(self) -> Option<&'static str> {
        match self {
            Self::Succeeded => Some("USR1"),
            Self::Failed => Some("USR2"),
            Self::Cancel | Self::GiveBack => None,
        }
    }
}

//! What a partition allows: who may use it, how large and how long a job may be.
//!
//! ```text
//!   submit ──▶ alternates ──▶ access ──refused──▶ 2002, 2010 always; the rest if EnforcePartLimits
//!                                │
//!                                └─▶ verdict: could it ever run?
//!   each cycle ──▶ partition_refusal ──▶ PartitionNodeLimit, PartitionDown, MaxMemPerLimit …
//! ```

use crate::{
    Job, JobState, PartitionName, Reason, SlurmError, Slurmctld, Span, Submission, TimeLimit,
    UserName,
    conf::{EnforcePartLimits, PartitionSpec},
    select::Ask,
    slurmctld::PartitionSize,
};

/// What of a job a partition looks at.
struct Wish<'a> {
    user: &'a UserName,
    submitter: &'a UserName,
    reserved: bool,
    min_cpus: u32,
    min_nodes: u32,
    max_nodes: Option<u32>,
    /// `None` is what the partition gives.
    limit: Option<TimeLimit>,
    required: &'a crate::IndexSet,
}

impl Slurmctld {
    /// The partitions that a job really goes to: alternates instead of those that take none.
    pub(crate) fn open_partitions(&self, places: &[usize]) -> Result<Vec<usize>, SlurmError> {
        let mut refusal = SlurmError::PartitionNotAvail;
        let mut open = vec![];
        for place in places {
            match self.open_partition(*place) {
                Ok(place) => open.push(place),
                Err(error) => refusal = error,
            }
        }
        if open.is_empty() { Err(refusal) } else { Ok(open) }
    }

    /// Follows `Alternate`. Where those lead round in a circle that the first one isn't part of,
    /// slurmctld hangs; here nobody is let in.
    fn open_partition(&self, place: usize) -> Result<usize, SlurmError> {
        let mut now = place;
        for _ in self.config.partitions() {
            if self.partition_spec(now).state.takes_jobs() {
                return Ok(now);
            }
            let alternate = self.partition_spec(now).alternate.clone();
            let name = alternate.ok_or(SlurmError::PartitionNotAvail)?;
            now = self.partition_places(std::slice::from_ref::<PartitionName>(&name))?[0];
        }
        Err(SlurmError::PartitionNotAvail)
    }

    /// Refuses a job that its partitions don't let in, and makes it as large as they want.
    pub(crate) fn check_partitions(
        &self,
        submission: &Submission,
        ask: &mut Ask,
        primary: usize,
        places: &[usize],
    ) -> Result<(), SlurmError> {
        let enforce = self.params().enforce_part_limits;
        let specs = || places.iter().map(|place| self.partition_spec(*place));
        let checks: Vec<_> = places
            .iter()
            .map(|place| self.access_check(&Wish::of_submission(submission, ask), *place))
            .collect();
        judge(&checks, enforce)?;
        let fewest = self.fewest_nodes(&checks, places);
        let most = specs().map(|spec| spec.max_nodes.unwrap_or(u32::MAX)).max();
        if ask.min_nodes > most.unwrap_or(u32::MAX) && enforce != EnforcePartLimits::No {
            return Err(SlurmError::InvalidNodeCount);
        }
        if ask.min_nodes < fewest && ask.max_nodes.is_none_or(|max| fewest <= max) {
            ask.min_nodes = fewest;
            if submission.tasks.is_none() && fewest != u32::MAX {
                ask.tasks = ask.tasks.max(fewest);
            }
        }
        self.check_time(submission, primary, places, enforce)?;
        self.check_memory(submission, ask, places, enforce)
    }

    /// The fewest nodes that its partitions want. slurmctld asks them in turn and stops at one that
    /// doesn't let the user in; where that is the first, a job waits for more nodes than there can be.
    fn fewest_nodes(&self, checks: &[Result<(), SlurmError>], places: &[usize]) -> u32 {
        let asked = checks.iter().zip(places);
        let asked = asked.take_while(|(check, _)| !check.is_err_and(is_strict));
        let fewest = asked.map(|(_, place)| self.partition_spec(*place).min_nodes).min();
        fewest.unwrap_or(u32::MAX)
    }

    fn check_time(
        &self,
        submission: &Submission,
        primary: usize,
        places: &[usize],
        enforce: EnforcePartLimits,
    ) -> Result<(), SlurmError> {
        let first = self.partition_spec(primary);
        if submission.time_limit.is_none() && first.default_time == Some(Span::ZERO) {
            return Err(SlurmError::InvalidTimeLimit);
        }
        let specs = places.iter().map(|place| self.partition_spec(*place));
        let too_long = submission.time_limit.is_some_and(|limit| {
            specs.clone().all(|spec| spec.max_time.is_some_and(|max| exceeds(limit, max)))
        });
        if too_long && enforce != EnforcePartLimits::No {
            return Err(SlurmError::InvalidTimeLimit);
        }
        Ok(())
    }

    fn check_memory(
        &self,
        submission: &Submission,
        ask: &Ask,
        places: &[usize],
        enforce: EnforcePartLimits,
    ) -> Result<(), SlurmError> {
        if submission.memory == crate::MemoryAsk::Default {
            return Ok(());
        }
        let fits = |place: &usize| self.fit_memory(submission, ask, *place).is_some();
        let sound = match enforce {
            EnforcePartLimits::No => true,
            EnforcePartLimits::Any => places.iter().any(fits),
            EnforcePartLimits::All => places.iter().all(fits),
        };
        sound.then_some(()).ok_or(SlurmError::InvalidTaskMemory)
    }

    /// Whether a partition would have the job at all.
    fn access_check(&self, wish: &Wish<'_>, place: usize) -> Result<(), SlurmError> {
        let spec = self.partition_spec(place);
        let access = &spec.access;
        let operator = Self::is_operator(wish.submitter);
        let no_root = access.no_root.unwrap_or(self.params().disable_root_jobs);
        if (access.needs_reservation && !wish.reserved) || (access.root_only && !operator) {
            return Err(SlurmError::AccessDenied);
        }
        if no_root && wish.user.as_str() == "root" {
            return Err(SlurmError::UserIdMissing);
        }
        self.size_check(wish, spec, place)?;
        if !is_member(spec, wish.user) && self.params().enforce_part_limits != EnforcePartLimits::No
        {
            return Err(SlurmError::MissingPartitionGroup);
        }
        Ok(())
    }

    fn size_check(
        &self,
        wish: &Wish<'_>,
        spec: &PartitionSpec,
        place: usize,
    ) -> Result<(), SlurmError> {
        let PartitionSize { nodes: n_nodes, cpus } = self.partition_sizes[place];
        let starts = spec.state.starts_jobs();
        if starts {
            let each = spec.max_cpus_per_node.unwrap_or(u32::MAX);
            let most = cpus.min(u64::from(each) * u64::from(n_nodes));
            if most < u64::from(wish.min_cpus) {
                return Err(SlurmError::TooManyCpus);
            }
            if n_nodes < wish.min_nodes {
                return Err(SlurmError::InvalidNodeCount);
            }
        }
        if !self.partition_nodes[place].holds(wish.required) {
            return Err(SlurmError::RequestedNodesNotInPartition);
        }
        let too_few = wish.min_nodes < spec.min_nodes;
        let too_many = wish.max_nodes.zip(spec.max_nodes).is_some_and(|(most, max)| max < most);
        if starts && (too_few || too_many) {
            return Err(SlurmError::InvalidNodeCount);
        }
        let too_long =
            wish.limit.zip(spec.max_time).is_some_and(|(limit, max)| exceeds(limit, max));
        if starts && too_long {
            return Err(SlurmError::InvalidTimeLimit);
        }
        Ok(())
    }

    /// Why a job can't run in a partition at all, as things stand.
    pub(crate) fn partition_refusal(&self, job: &Job, place: usize) -> Option<Reason> {
        let spec = self.partition_spec(place);
        match self.access_check(&Wish::of_job(job), place) {
            Ok(()) => {}
            Err(SlurmError::InvalidTimeLimit) => return Some(Reason::PartitionTimeLimit),
            Err(SlurmError::InvalidNodeCount) => return Some(Reason::PartitionNodeLimit),
            Err(_) => return Some(Reason::PartitionConfig),
        }
        match (spec.state.starts_jobs(), spec.state.takes_jobs()) {
            (false, true) => return Some(Reason::PartitionDown),
            (false, false) => return Some(Reason::PartitionInactive),
            (true, _) => {}
        }
        let fitted = self.fit_memory(&job.submission, &job.ask, place);
        fitted.is_none().then_some(Reason::MaxMemPerLimit)
    }

    /// Why a user isn't let in, where groups decide.
    pub(crate) fn group_refusal(&self, user: &UserName, place: usize) -> Option<Reason> {
        let spec = self.partition_spec(place);
        if is_member(spec, user) {
            return None;
        }
        let groups = spec.access.groups.iter().flatten().map(String::as_str);
        let text = format!(
            "uid {} not in group permitted to use this partition ({}). groups allowed: {}",
            user.number(),
            spec.name,
            groups.collect::<Vec<_>>().join(",")
        );
        Some(Reason::NotInGroup(text.into()))
    }
}

impl<'a> Wish<'a> {
    fn of_submission(submission: &'a Submission, ask: &'a Ask) -> Self {
        Self {
            user: &submission.user,
            submitter: submission.submitter(),
            reserved: submission.reservation.as_deref().is_some_and(|name| !name.is_empty()),
            min_cpus: ask.min_cpus(),
            min_nodes: ask.min_nodes,
            max_nodes: ask.max_nodes,
            limit: submission.time_limit,
            required: &ask.required,
        }
    }

    fn of_job(job: &'a Job) -> Self {
        let limit = job.time_limit.map_or(TimeLimit::Unlimited, TimeLimit::Of);
        let own = job.limit_given || job.state != JobState::Pending;
        // Whoever submitted it, now it is its user's.
        let submitter = &job.submission.user;
        Self {
            limit: own.then_some(limit),
            submitter,
            ..Self::of_submission(&job.submission, &job.ask)
        }
    }
}

/// Operators may go anywhere; a user is in the group of the same name.
fn is_member(spec: &PartitionSpec, user: &UserName) -> bool {
    spec.access.groups.as_ref().is_none_or(|groups| {
        Slurmctld::is_operator(user) || groups.iter().any(|group| group == user.as_str())
    })
}

fn exceeds(limit: TimeLimit, max: Span) -> bool {
    match limit {
        TimeLimit::Of(span) => max < span,
        TimeLimit::Unlimited => true,
    }
}

/// A refusal that stands whatever EnforcePartLimits says.
const fn is_strict(error: SlurmError) -> bool {
    matches!(error, SlurmError::AccessDenied | SlurmError::UserIdMissing)
}

/// One refusal stands for all, as EnforcePartLimits wants it.
fn judge(checks: &[Result<(), SlurmError>], enforce: EnforcePartLimits) -> Result<(), SlurmError> {
    match checks {
        [Err(error)] if is_strict(*error) || enforce != EnforcePartLimits::No => Err(*error),
        [_] => Ok(()),
        _ => judge_many(checks, enforce),
    }
}

/// With several partitions: what each says, in order.
fn judge_many(
    checks: &[Result<(), SlurmError>],
    enforce: EnforcePartLimits,
) -> Result<(), SlurmError> {
    let any = checks.iter().any(Result::is_ok);
    let stops = |error: &SlurmError| is_strict(*error) || enforce == EnforcePartLimits::All;
    let stop = checks.iter().find_map(|check| check.err().filter(stops));
    let last = checks.iter().rev().find_map(|check| check.err());
    match (enforce, stop, last) {
        (EnforcePartLimits::No, ..) | (_, None, None) => Ok(()),
        (EnforcePartLimits::All, Some(error), _) => Err(error),
        (EnforcePartLimits::All, None, Some(_)) => Ok(()),
        (EnforcePartLimits::Any, Some(_), _) if any => Err(SlurmError::PartitionNotAvail),
        (EnforcePartLimits::Any, Some(error), _) => Err(error),
        (EnforcePartLimits::Any, None, Some(error)) => {
            if any {
                Ok(())
            } else {
                Err(error)
            }
        }
    }
}

//! What a partition allows: who may use it, how large and how long a job may be.
//!
//! ```text
//!   submit ──▶ alternates ──▶ access ──refused──▶ 2002, 2010 always; the rest if EnforcePartLimits
//!                                │
//!                                └─▶ could it ever run? ──▶ 2014, or 2015 if a limit is enforced
//!   each cycle ──▶ partition_refusal ──▶ PartitionNodeLimit, PartitionDown, MaxMemPerLimit …
//! ```

use crate::{
    Job, PartitionName, Reason, SlurmError, Slurmctld, Span, Submission, TimeLimit, UserName,
    conf::{EnforcePartLimits, PartitionSpec},
    select::Ask,
};

/// What of a job a partition looks at.
struct Wish<'a> {
    user: &'a UserName,
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

    fn open_partition(&self, place: usize) -> Result<usize, SlurmError> {
        let mut now = place;
        while !self.partition_spec(now).state.takes_jobs() {
            let alternate = self.partition_spec(now).alternate.clone();
            let name = alternate.ok_or(SlurmError::PartitionNotAvail)?;
            now = self.partition_places(std::slice::from_ref::<PartitionName>(&name))?[0];
            if now == place {
                return Err(SlurmError::PartitionNotAvail);
            }
        }
        Ok(now)
    }

    /// Refuses a job that its partitions don't let in, and makes it as large as they want.
    pub(crate) fn check_partitions(
        &self,
        submission: &Submission,
        ask: &mut Ask,
        places: &[usize],
    ) -> Result<(), SlurmError> {
        let enforce = self.params().enforce_part_limits;
        let specs = || places.iter().map(|place| self.partition_spec(*place));
        let checks: Vec<_> = places
            .iter()
            .map(|place| self.access_check(&Wish::of_submission(submission, ask), *place))
            .collect();
        self.judge(&checks, enforce)?;
        let fewest = specs().map(|spec| spec.min_nodes).min().unwrap_or(0);
        let most = specs().map(|spec| spec.max_nodes.unwrap_or(u32::MAX)).max();
        if ask.min_nodes > most.unwrap_or(u32::MAX) && enforce != EnforcePartLimits::No {
            return Err(SlurmError::InvalidNodeCount);
        }
        if ask.min_nodes < fewest && ask.max_nodes.is_none_or(|max| fewest <= max) {
            ask.min_nodes = fewest;
            ask.tasks = if submission.tasks.is_none() { ask.tasks.max(fewest) } else { ask.tasks };
        }
        self.check_time(submission, places, enforce)?;
        self.check_memory(submission, ask, places, enforce)
    }

    /// One refusal stands for all, as EnforcePartLimits wants it.
    fn judge(
        &self,
        checks: &[Result<(), SlurmError>],
        enforce: EnforcePartLimits,
    ) -> Result<(), SlurmError> {
        let strict = |error: SlurmError| {
            matches!(error, SlurmError::AccessDenied | SlurmError::UserIdMissing)
        };
        let [check] = checks else {
            return judge_many(checks, enforce, strict);
        };
        match check {
            Err(error) if strict(*error) || enforce != EnforcePartLimits::No => Err(*error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn check_time(
        &self,
        submission: &Submission,
        places: &[usize],
        enforce: EnforcePartLimits,
    ) -> Result<(), SlurmError> {
        let first = self.partition_spec(places[0]);
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
        let fits = |place: &usize| self.fit_memory(ask, *place).is_some();
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
        let operator = Self::is_operator(wish.user);
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
        let members = &self.partition_nodes[place];
        let n_nodes = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let starts = spec.state.starts_jobs();
        if starts {
            let cpus: u64 = members.iter().map(|node| u64::from(self.nodes[node].spec.cpus)).sum();
            let each = spec.max_cpus_per_node.unwrap_or(u32::MAX);
            let most = cpus.min(u64::from(each) * u64::from(n_nodes));
            if most < u64::from(wish.min_cpus) {
                return Err(SlurmError::TooManyCpus);
            }
            if n_nodes < wish.min_nodes {
                return Err(SlurmError::InvalidNodeCount);
            }
        }
        if !members.holds(wish.required) {
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
        self.refusal_of(&Wish::of_job(job), &job.ask, place)
    }

    fn refusal_of(&self, wish: &Wish<'_>, ask: &Ask, place: usize) -> Option<Reason> {
        let spec = self.partition_spec(place);
        match self.access_check(wish, place) {
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
        if self.fit_memory(ask, place).is_none() {
            return Some(Reason::MaxMemPerLimit);
        }
        (!is_member(spec, wish.user)).then_some(Reason::AccountNotAllowed)
    }

    /// What Slurm says to a job as it comes in: whether one of its partitions could ever run it.
    pub(crate) fn verdict(
        &self,
        submission: &Submission,
        ask: &Ask,
        places: &[usize],
    ) -> Result<(), SlurmError> {
        let enforce = self.params().enforce_part_limits;
        let mut answer = Err(SlurmError::RequestedPartConfigUnavailable);
        for place in places {
            let wish = Wish::of_submission(submission, ask);
            let limit = self.refusal_of(&wish, ask, *place);
            let down = limit == Some(Reason::PartitionDown);
            match (enforce, limit.is_some()) {
                (EnforcePartLimits::No, _) | (_, false) => {
                    if self.could_ever_run(ask, *place) {
                        return Ok(());
                    }
                    answer = Err(SlurmError::RequestedNodeConfigUnavailable);
                }
                (EnforcePartLimits::Any | EnforcePartLimits::All, true) if down => answer = Ok(()),
                (EnforcePartLimits::Any, true) => {
                    answer = Err(SlurmError::RequestedPartConfigUnavailable);
                }
                (EnforcePartLimits::All, true) => {
                    return Err(SlurmError::RequestedPartConfigUnavailable);
                }
            }
        }
        answer
    }
}

impl<'a> Wish<'a> {
    fn of_submission(submission: &'a Submission, ask: &'a Ask) -> Self {
        Self {
            user: &submission.user,
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
        Self { limit: Some(limit), ..Self::of_submission(&job.submission, &job.ask) }
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

/// With several partitions: what each says, in order.
fn judge_many(
    checks: &[Result<(), SlurmError>],
    enforce: EnforcePartLimits,
    strict: impl Fn(SlurmError) -> bool,
) -> Result<(), SlurmError> {
    let any = checks.iter().any(Result::is_ok);
    let stops = |error: &SlurmError| strict(*error) || enforce == EnforcePartLimits::All;
    let stop = checks.iter().find_map(|check| check.err().filter(stops));
    let last = checks.iter().rev().find_map(|check| check.err());
    match (enforce, stop, last) {
        // Slurm then waits for a number of nodes that there can't be; it is refused here.
        (EnforcePartLimits::No, Some(error), _) => Err(error),
        (EnforcePartLimits::No, None, _) | (_, None, None) => Ok(()),
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

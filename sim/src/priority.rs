//! What a job's place in the queue is worth.

use crate::{conf::PriorityType, slurmctld::Slurmctld, submission::Submission};

/// Where `priority/basic` starts counting down.
pub(crate) const BASIC_FIRST: u32 = 4_294_901_759;

impl Slurmctld {
    /// The priority of a job that is submitted or released now. Never 0: that means held.
    pub(crate) fn fresh_priority(&mut self, submission: &Submission) -> u32 {
        if let Some(priority) = submission.priority
            && Self::is_operator(&submission.user)
        {
            return priority;
        }
        let base = match self.params().priority {
            PriorityType::Basic => {
                let base = self.next_basic_priority;
                self.next_basic_priority = base.saturating_sub(1).max(1);
                base
            }
            // Every weight is 0 as shipped, and the weights are not honoured yet.
            PriorityType::Multifactor => 0,
        };
        let nice = if submission.nice < 0 && !Self::is_operator(&submission.user) {
            0
        } else {
            submission.nice
        };
        let nudged = i64::from(base) - i64::from(nice);
        u32::try_from(nudged.max(1)).unwrap_or(u32::MAX)
    }
}

//! `bf_max_job_…`: how many jobs a cycle looks at, in all and of each user and partition.

use std::collections::BTreeMap;

use crate::{UserName, conf::BackfillParams};

/// What a cycle has looked at so far.
#[derive(Default)]
pub(super) struct Quota<'a> {
    by_user: BTreeMap<&'a UserName, usize>,
    by_partition: BTreeMap<usize, usize>,
    by_both: BTreeMap<(&'a UserName, usize), usize>,
    plans: BTreeMap<usize, usize>,
}

impl<'a> Quota<'a> {
    /// Whether this job may still be looked at. Counts it if so.
    pub(super) fn admits(
        &mut self,
        limits: &BackfillParams,
        user: &'a UserName,
        partition: usize,
    ) -> bool {
        if limits.max_job_user_part == 0 && limits.max_job_part == 0 && limits.max_job_user == 0 {
            return true;
        }
        let within = |most: usize, count: Option<&usize>| {
            most == 0 || count.copied().unwrap_or_default() < most
        };
        let admitted = within(limits.max_job_user_part, self.by_both.get(&(user, partition)))
            && within(limits.max_job_part, self.by_partition.get(&partition))
            && within(limits.max_job_user, self.by_user.get(user));
        if admitted {
            *self.by_both.entry((user, partition)).or_default() += 1;
            *self.by_partition.entry(partition).or_default() += 1;
            *self.by_user.entry(user).or_default() += 1;
        }
        admitted
    }

    /// Whether the partition may have another plan: `bf_job_part_count_reserve`.
    pub(super) fn may_plan(&self, limits: &BackfillParams, partition: usize) -> bool {
        let most = limits.job_part_count_reserve;
        most == 0 || self.plans.get(&partition).copied().unwrap_or_default() < most
    }

    /// The partition has another plan.
    pub(super) fn count_plan(&mut self, partition: usize) {
        *self.plans.entry(partition).or_default() += 1;
    }
}

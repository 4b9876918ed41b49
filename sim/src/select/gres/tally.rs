//! Devices that are counted for the whole job, while nodes are being added to it.

use crate::select::ask::GresNeed;

use super::Supply;

/// How many devices the nodes that are taken so far give, for each need.
#[derive(Clone, Debug)]
pub(in crate::select) struct Tally {
    found: Vec<u64>,
    /// Whether there is anything to count.
    pub(in crate::select) counts: bool,
}

impl Tally {
    pub(in crate::select) fn new(needs: &[GresNeed]) -> Self {
        let counts = needs.iter().any(|need| need.per_job != 0);
        Self { found: vec![0; needs.len()], counts }
    }

    pub(in crate::select) fn met(&self, needs: &[GresNeed]) -> bool {
        needs.iter().zip(&self.found).all(|(need, found)| need.per_job <= *found)
    }

    /// What of this need has been found so far.
    pub(in crate::select) fn found(&self, need: usize) -> u64 {
        self.found[need]
    }

    /// Whether what `has` says would meet what is missing; it speaks for each need in turn.
    pub(in crate::select) fn met_with(
        &self,
        needs: &[GresNeed],
        has: impl Fn(usize) -> Option<u64>,
    ) -> bool {
        needs.iter().enumerate().all(|(at, need)| {
            need.per_job <= self.found[at]
                || has(at).is_some_and(|more| need.per_job <= self.found[at] + more)
        })
    }

    /// Counts a node's supplies in, each bounded by what is still missing.
    pub(in crate::select) fn add(
        &mut self,
        needs: &[GresNeed],
        supplies: &mut [Supply],
        cpus: &mut u32,
        min_cpus: u32,
    ) {
        let mut with_cpus = 0_u32;
        for (at, need) in needs.iter().enumerate().filter(|(_, need)| need.per_job != 0) {
            let Some(supply) = supplies.iter_mut().find(|supply| supply.need == at) else {
                continue;
            };
            let mut limit = supply.total;
            if let Some(by_cpus) = cpus.checked_div(need.cpus_per) {
                limit = limit.min(by_cpus.into());
                let cpus = u32::try_from(limit).unwrap_or(u32::MAX).saturating_mul(need.cpus_per);
                with_cpus = with_cpus.max(cpus);
            }
            let by_task = need.per_task != 0 || need.tasks_per != 0;
            let least = if by_task { limit } else { need.per_node.max(1) };
            if self.found[at] < need.per_job {
                limit = limit.min(need.per_job - self.found[at]);
            }
            limit = limit.max(least);
            supply.total = limit;
            self.found[at] += limit;
        }
        if with_cpus != 0 && with_cpus < *cpus && min_cpus < with_cpus {
            *cpus = with_cpus;
        }
    }
}

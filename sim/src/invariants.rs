//! What must always be true of the controller, by name.

use std::collections::BTreeMap;

use crate::{JobState, Slurmctld, node::Usage};

impl Slurmctld {
    /// Looks at everything. The first thing that isn't as it must be, in words.
    pub fn check(&self) -> Result<(), String> {
        self.invariant_nothing_is_held_twice()?;
        self.invariant_no_node_gives_more_than_it_has()?;
        self.invariant_the_queue_holds_exactly_who_can_run()
    }

    /// The full check is for debug builds and small clusters: it costs time for what nothing
    /// touched.
    pub(crate) fn debug_check(&self) {
        if cfg!(debug_assertions) && self.nodes.len() <= 16 && self.jobs.len() <= 64 {
            let sound = self.check();
            debug_assert!(sound.is_ok(), "{sound:?}");
        }
    }

    fn invariant_nothing_is_held_twice(&self) -> Result<(), String> {
        let mut held: BTreeMap<usize, Usage> = BTreeMap::new();
        for job in self.jobs().filter(|job| job.holds_nodes()) {
            for share in job.held().iter().flat_map(|held| &held.nodes) {
                let usage = held.entry(share.index).or_default();
                let devices = share.gres.iter().any(|(name, devices)| {
                    usage.gres.get(name).is_some_and(|used| used.overlaps(devices))
                });
                if (!share.shared && usage.cores.overlaps(&share.cores)) || devices {
                    return Err(format!(
                        "job {} holds what another holds on {}",
                        job.id, share.node
                    ));
                }
                usage.take(share);
            }
        }
        for (place, node) in self.nodes.iter().enumerate() {
            let expected = held.remove(&place).unwrap_or_default();
            if node.usage != expected {
                let (kept, name) = (&node.usage, node.name());
                return Err(format!("{name} counts {kept:?}, its jobs hold {expected:?}"));
            }
        }
        Ok(())
    }

    fn invariant_no_node_gives_more_than_it_has(&self) -> Result<(), String> {
        for node in &self.nodes {
            let (spec, usage) = (&node.spec, &node.usage);
            let beyond = spec.cpus < usage.cpus
                || spec.memory_mib < usage.memory_mib
                || usage.cores.iter().any(|core| spec.cores() as usize <= core)
                || usage.gres.iter().any(|(name, used)| {
                    used.iter().any(|device| spec.gres_count(name, None) <= device)
                });
            if beyond {
                return Err(format!("{} gives more than it has: {usage:?}", spec.name));
            }
        }
        Ok(())
    }

    fn invariant_the_queue_holds_exactly_who_can_run(&self) -> Result<(), String> {
        for key in &self.queue {
            let waits = self.job(key.job).is_some_and(|job| {
                job.state == JobState::Pending
                    && job.priority != 0
                    && self.queue_keys(job).contains(key)
            });
            if !waits {
                return Err(format!("job {} is queued but doesn't wait", key.job));
            }
        }
        let running = self.jobs().filter(|job| job.state == JobState::Running).map(|job| job.id);
        if !running.eq(self.running.iter().copied()) {
            return Err("the set of running jobs is wrong".into());
        }
        Ok(())
    }
}

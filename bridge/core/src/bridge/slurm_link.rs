//! The way to Slurm, as the bridge goes it.
//!
//! ```text
//!   somebody asks ─▶ open? ─▶ sent           shut? ─▶ told so at once, and nobody asks again
//!                    being found out? ─▶ waits       until it opens: then everybody does
//! ```

use super::Bridge;
use crate::{
    facts::{BridgeFact, FactSubject, Weight},
    input::{Lost, SlurmFault},
    link::{LinkStatus, Way},
    outbox::{Alarm, Purpose},
    plants::Plant,
    slurm::Via,
    workload::Stage,
};

impl Bridge {
    /// How the way to Slurm looks: for health checks.
    pub fn slurm_status(&self) -> LinkStatus {
        self.link.status()
    }

    /// Finds out where requests go now, and sends those that wait if they go anywhere.
    pub(super) fn find_the_way(&mut self) {
        let was_shut = self.shut.is_some();
        match self.link.way(self.out.now()) {
            Way::Open(via) => {
                self.shut = None;
                self.out.open(via);
                if was_shut {
                    self.catch_up_with_slurm();
                }
            }
            Way::Ask(probe) => {
                self.out.shut();
                self.out.probe(probe);
            }
            Way::Asking => self.out.shut(),
            Way::Shut { until, fault } => {
                self.out.shut();
                self.out.wake_at(until, Alarm::Link);
                self.shut = Some(fault);
            }
        }
        for (text, is_routine) in self.link.take_news() {
            let weight = if is_routine { Weight::Echo } else { Weight::News };
            self.out.record(BridgeFact { subject: FactSubject::Bridge, weight, text });
        }
    }

    /// What a reply says about the server that gave it.
    pub(super) fn learn_of_the_way(
        &mut self,
        purpose: &Purpose,
        via: Option<Via>,
        outcome: Result<(), &SlurmFault>,
    ) {
        let now = self.out.now();
        match (purpose, via) {
            (Purpose::Probe, _) => self.link.probed(now, outcome),
            (_, Some(via)) => self.link.heard(now, via, outcome),
            (_, None) => {}
        }
        self.find_the_way();
    }

    /// Whether Slurm can't be asked anything now.
    pub(super) fn is_cut_off(&self) -> bool {
        self.shut.is_some()
    }

    /// Tells those who asked while the way is shut. Says whether there were any.
    pub(super) fn turn_away(&mut self) -> bool {
        let Some(fault) = self.shut.clone() else { return false };
        let mut any = false;
        while let Some(call) = self.out.drop_waiting() {
            any = true;
            if let Some((purpose, _)) = self.out.answered(call) {
                self.slurm_told(call, purpose, Err(fault.clone()));
            }
        }
        any
    }

    /// Gives up on replies that are overdue; should they come after all, nobody listens.
    pub(super) fn give_up_waiting(&mut self) {
        while let Some((call, to_slurm)) = self.out.overdue() {
            if to_slurm {
                let secs = self.config.slurm_rest.timeout_seconds;
                let why = format!("nothing came within {secs} s");
                self.slurm_replied(call, Err(SlurmFault::Lost { why }));
            } else if self.config.has(Plant::WaitsForever) {
                self.out.answered(call);
            } else {
                let why = "nothing came in time".to_owned();
                self.kube_replied(call, Err(Lost { why }));
            }
        }
    }

    /// Slurm can be asked again: whoever waited for that does it now.
    fn catch_up_with_slurm(&mut self) {
        let now = self.out.now();
        self.poller.catch_up(now);
        self.endings.catch_up(&mut self.out);
        for workload in self.workloads.values_mut() {
            if let Stage::BackingOff { until, .. } = &mut workload.stage {
                *until = now;
                self.touched.insert(workload.id.clone());
            }
        }
    }
}

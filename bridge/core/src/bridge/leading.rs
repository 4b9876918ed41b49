//! The bridge among its replicas: it leads, waits for its turn, or lets go.
//!
//! ```text
//!   Started ─▶ Waiting ── elected, or alone ─▶ Leading ── ousted ──▶ StepDown
//!                 └──────── Stopping ────────────┴─▶ Stopping ── lease given back ─▶ Exit
//! ```

use super::{Bridge, Role};
use crate::{
    effect::Effect,
    election::Turn,
    facts::FactSubject,
    informer::Informer,
    input::{KubeReply, Lost},
};

impl Bridge {
    /// What this process is among the replicas.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Who leads, as far as this replica has seen; `None` where there is no election.
    pub fn leader(&self) -> Option<&str> {
        self.election.as_ref()?.holder()
    }

    /// Why Kubernetes can't be worked with, if it can't: for health checks.
    pub fn kube_trouble(&self) -> Option<String> {
        match self.role {
            Role::Leading => self.informers.values().find_map(Informer::trouble),
            Role::Waiting => {
                let election = self.election.as_ref()?;
                election.is_blind().then(|| "the lease can't be read".to_owned())
            }
            Role::Stopping | Role::Over => None,
        }
    }

    pub(super) fn run_for_leader(&mut self) {
        match &mut self.election {
            Some(election) => election.look(&mut self.out),
            None => self.lead(),
        }
    }

    fn lead(&mut self) {
        self.role = Role::Leading;
        self.start();
    }

    pub(super) fn lease_replied(&mut self, outcome: &Result<KubeReply, Lost>) {
        if let Some(election) = &mut self.election {
            let turn = election.replied(&mut self.out, outcome);
            self.take(turn);
        }
    }

    pub(super) fn mind_the_lease(&mut self) {
        if let Some(election) = &mut self.election {
            let turn = election.woke(&mut self.out);
            self.take(turn);
        }
    }

    fn take(&mut self, turn: Turn) {
        if let Some(until) = self.election.as_ref().and_then(|election| election.until()) {
            self.out.set_fence(until);
        }
        match turn {
            Turn::Same => {}
            Turn::Elected => {
                self.out.tell(FactSubject::Bridge, "leads from now on".into());
                self.lead();
            }
            Turn::Ousted => {
                self.out.tell(FactSubject::Bridge, "leads no more".into());
                self.end(Effect::StepDown);
            }
            Turn::Released => self.end(Effect::Exit),
        }
    }

    /// Nothing new is begun. What is on its way takes effect or doesn't: whoever comes next finds out.
    pub(super) fn stop(&mut self) {
        self.role = Role::Stopping;
        self.out.clear();
        let must_wait = match &mut self.election {
            Some(election) => election.release(&mut self.out),
            None => false,
        };
        if !must_wait {
            self.end(Effect::Exit);
        }
    }

    fn end(&mut self, with: Effect) {
        self.role = Role::Over;
        self.out.end(with);
    }
}

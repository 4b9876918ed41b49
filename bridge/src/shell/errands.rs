//! Requests on their way: each is a task that ends by telling what came of it.

use drawbridge_core::{
    CallId, Input, KubeRequest, Limits, Lost, SlurmFault, SlurmRequest, StreamId, slurm::Via,
};
use tokio::sync::mpsc;

use super::Sides;
use crate::clock::Clock;

/// Watch events that may wait for the loop.
const WAITING: usize = 256;

/// What every task needs.
#[derive(Clone, Debug)]
pub(super) struct Errands {
    pub(super) sides: Sides,
    pub(super) to: mpsc::UnboundedSender<Input>,
}

impl Errands {
    pub(super) fn kube<C: Clock>(
        &self,
        clock: &C,
        call: CallId,
        limits: Limits,
        mut request: KubeRequest,
    ) -> impl Future<Output = ()> + Send + use<C> {
        let Self { sides, to } = self.clone();
        if sides.dry_run && !request.reads_only() {
            request.query.push(("dryRun".to_owned(), "All".to_owned()));
        }
        let late = limits.send_by < clock.now();
        let (hang_up, id) = (clock.give_up_at(limits.reply_by), call.0.to_string());
        async move {
            let outcome = if late {
                Err(Lost { why: UNSENT.to_owned() })
            } else {
                tokio::select! {
                    biased;
                    outcome = sides.kube.send(&id, &request) => outcome,
                    () = hang_up => Err(Lost { why: "nothing came in time".to_owned() }),
                }
            };
            let _ = to.send(Input::KubeReplied { call, outcome });
        }
    }

    pub(super) fn slurm<C: Clock>(
        &self,
        clock: &C,
        call: CallId,
        via: Via,
        limits: Limits,
        request: SlurmRequest,
    ) -> impl Future<Output = ()> + Send + use<C> {
        let Self { sides, to } = self.clone();
        let late = limits.send_by < clock.now();
        let (hang_up, id) = (clock.give_up_at(limits.reply_by), call.0.to_string());
        async move {
            let outcome = if late {
                Err(SlurmFault::Unreachable { why: UNSENT.to_owned() })
            } else if sides.dry_run && !request.reads_only() {
                Err(SlurmFault::Refused { number: 0, text: "this is a dry run".to_owned() })
            } else {
                tokio::select! {
                    biased;
                    outcome = sides.slurm.perform(via, &id, &request) => outcome,
                    () = hang_up => Err(SlurmFault::Lost { why: "nothing came in time".to_owned() }),
                }
            };
            let _ = to.send(Input::SlurmReplied { call, outcome });
        }
    }

    pub(super) fn watch(
        &self,
        stream: StreamId,
        request: KubeRequest,
    ) -> impl Future<Output = ()> + Send + use<> {
        let Self { sides, to } = self.clone();
        async move {
            let (events, mut heard) = mpsc::channel(WAITING);
            let id = format!("w{}", stream.0);
            let watch = sides.kube.watch(&id, &request, events);
            let pass_on = async {
                while let Some(event) = heard.recv().await {
                    let _ = to.send(Input::Watched { stream, event });
                }
            };
            tokio::join!(watch, pass_on);
        }
    }
}

const UNSENT: &str = "it was not sent: the lease has run out";

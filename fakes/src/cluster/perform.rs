//! Doing what a controller decided, through the API server.

use drawbridge_sim::Time;

use super::{
    Cluster,
    object::text,
    paused::{Progress, Rest},
    plan::{Act, Note, Plan, delete_pod},
};
use crate::{Attempt, Method, Request, Response, Webhooks};

/// Why an act failed: what the API server said.
pub(super) type Failed = String;

impl Cluster {
    /// Does a plan's acts in order, up to the first that fails or has to wait.
    pub(super) fn perform(&mut self, now: Time, plan: Plan, hooks: &mut dyn Webhooks) -> Progress {
        let rest = Rest { attempt: Attempt::default(), acts: plan.acts.into() };
        self.perform_rest(now, rest, hooks)
    }

    /// Goes on with acts, the first of which may have been tried before.
    pub(super) fn perform_rest(
        &mut self,
        now: Time,
        mut rest: Rest,
        hooks: &mut dyn Webhooks,
    ) -> Progress {
        while let Some(act) = rest.acts.pop_front() {
            let Some(request) = request_of(&act) else {
                self.tell_of(now, &act, hooks);
                continue;
            };
            let Some(response) = self.attempt(now, &request, &mut rest.attempt, hooks) else {
                rest.acts.push_front(act);
                return Progress::Waits(Box::new(rest));
            };
            rest.attempt = Attempt::default();
            let outcome = done(&request, &response);
            if let Some(note) = report(act, &response, &outcome) {
                self.tell(now, &note, hooks);
            }
            if let Err(why) = outcome {
                return Progress::Failed(why);
            }
        }
        Progress::Done
    }

    fn tell_of(&mut self, now: Time, act: &Act, hooks: &mut dyn Webhooks) {
        if let Act::Tell(note) = act {
            self.tell(now, note, hooks);
        }
    }

    /// Records an event. One that can't be recorded is lost, as in a real cluster.
    fn tell(&mut self, now: Time, note: &Note, hooks: &mut dyn Webhooks) {
        let at = self.moment();
        let Some(request) = self.recorder.record(at, note) else { return };
        let mut attempt = Attempt::default();
        if self.attempt(now, &request, &mut attempt, hooks).is_none() {
            let acts = [Act::Send(request)].into();
            self.paused.keep(Rest { attempt, acts }, None, None);
        }
    }
}

/// The request by which an act is done; nothing for an event, which is recorded.
fn request_of(act: &Act) -> Option<Request> {
    match act {
        Act::Send(request) => Some(request.clone()),
        Act::Tell(_) => None,
        Act::Telling(telling) => Some(telling.request.clone()),
        Act::CreatePod(order) => {
            let path = format!("/api/v1/namespaces/{}/pods", order.namespace);
            Some(Request::new(order.user, Method::Post, path).with_body(order.body.clone()))
        }
        Act::DeletePod { user, pod, uid, .. } => Some(delete_pod(user, pod, uid, None)),
    }
}

/// What is told of an act that was tried.
fn report(act: Act, response: &Response, outcome: &Result<(), Failed>) -> Option<Note> {
    match (act, outcome) {
        (Act::Telling(telling), Ok(())) => telling.done,
        (Act::Telling(mut telling), Err(why)) => {
            telling.failed.message += why;
            Some(telling.failed)
        }
        (Act::CreatePod(order), Ok(())) => {
            let message = format!("Created pod: {}", text(&response.body["metadata"]["name"]));
            Some(order.owner.notes(order.component, "SuccessfulCreate", message))
        }
        (Act::CreatePod(order), Err(why)) => {
            let message = format!("Error creating: {why}");
            Some(order.owner.warns(order.component, "FailedCreate", message))
        }
        (Act::DeletePod { component, owner, pod, .. }, _) if response.status < 300 => {
            let message = format!("Deleted pod: {}", pod.name);
            Some(owner.notes(component, "SuccessfulDelete", message))
        }
        (Act::DeletePod { .. } | Act::Send(_) | Act::Tell(_), _) => None,
    }
}

/// Whether the request achieved what it was for. What is gone needs no change and no deletion,
/// and a name that is taken by another needs no deletion either.
fn done(request: &Request, response: &Response) -> Result<(), Failed> {
    match (response.status, request.method) {
        (..300, _) | (409, Method::Delete) => Ok(()),
        (404, method) if method != Method::Post => Ok(()),
        _ => Err(text(&response.body["message"]).to_owned()),
    }
}

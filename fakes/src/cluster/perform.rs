//! Doing what a controller decided, through the API server.

use drawbridge_sim::Time;

use super::{
    Cluster,
    object::{Key, text},
    plan::{Act, Note, Plan, PodOrder, Subject, delete_pod},
};
use crate::{Method, Request, Response, Webhooks};

impl Cluster {
    /// Does a plan's acts in order, up to the first that fails. Says whether all succeeded.
    pub(super) fn perform(&mut self, now: Time, plan: Plan, hooks: &mut dyn Webhooks) -> bool {
        plan.acts.into_iter().all(|act| match act {
            Act::Send(request) => {
                let response = self.handle(now, &request, hooks);
                is_done(&request, &response)
            }
            Act::Tell(note) => {
                self.tell(now, &note, hooks);
                true
            }
            Act::CreatePod(order) => self.create_pod(now, order, hooks),
            Act::DeletePod { user, owner, pod, uid } => {
                self.delete_pod(now, user, &owner, &pod, &uid, hooks)
            }
        })
    }

    /// Records an event. One that can't be recorded is lost, as in a real cluster.
    fn tell(&mut self, now: Time, note: &Note, hooks: &mut dyn Webhooks) {
        let at = self.moment();
        if let Some(request) = self.recorder.record(at, note) {
            self.handle(now, &request, hooks);
        }
    }

    fn create_pod(&mut self, now: Time, order: PodOrder, hooks: &mut dyn Webhooks) -> bool {
        let path = format!("/api/v1/namespaces/{}/pods", order.namespace);
        let request = Request::new(order.user, Method::Post, path).with_body(order.body);
        let response = self.handle(now, &request, hooks);
        let done = is_done(&request, &response);
        let component = component(order.user);
        let note = if done {
            let name = text(&response.body["metadata"]["name"]);
            let message = format!("Created pod: {name}");
            order.owner.notes(component, "SuccessfulCreate", message)
        } else {
            let message = format!("Error creating: {}", text(&response.body["message"]));
            order.owner.warns(component, "FailedCreate", message)
        };
        self.tell(now, &note, hooks);
        done
    }

    fn delete_pod(
        &mut self,
        now: Time,
        user: &'static str,
        owner: &Subject,
        pod: &Key,
        uid: &str,
        hooks: &mut dyn Webhooks,
    ) -> bool {
        let request = delete_pod(user, pod, uid, None);
        let response = self.handle(now, &request, hooks);
        if response.status < 300 {
            let message = format!("Deleted pod: {}", pod.name);
            let note = owner.notes(component(user), "SuccessfulDelete", message);
            self.tell(now, &note, hooks);
        }
        is_done(&request, &response)
    }
}

/// Whether the request achieved what it was for. What is gone needs no change and no deletion,
/// and a name that is taken by another needs no deletion either.
fn is_done(request: &Request, response: &Response) -> bool {
    match (response.status, request.method) {
        (..300, _) | (409, Method::Delete) => true,
        (404, method) => method != Method::Post,
        _ => false,
    }
}

/// `job-controller` of `system:serviceaccount:kube-system:job-controller`.
fn component(user: &'static str) -> &'static str {
    user.rsplit(':').next().unwrap_or(user)
}

//! What befalls the world around the bridge, and how it is over again.
//!
//! ```text
//!   befall(mishap) ──▶ a component is down until …, a machine has no power, a node is gone
//!        └── so much later ──▶ mend(mishap) ──▶ it is back, with what it remembers
//! ```
//!
//! While a server is down its own events wait, and so do people: they try again until it answers.

use std::collections::BTreeMap;

use drawbridge_core::{Input, WatchEvent};
use drawbridge_fakes::{Method, Request, Trouble};
use drawbridge_sim::{NodeUpdate, SlurmNode, Span, Time};
use serde_json::{Value, json};

use super::{KUBE_LATENCY, World, process::Mail, script::ADMIN};
use crate::{
    fault::{Mishap, Verdict},
    log::Line,
    record::{Actor, Subject},
    scenario::TokenState,
};

/// Why Slurm nodes that a fault has struck are down.
const NO_ANSWER: &str = "no answer from the machine";

/// What is out of order, and until when.
#[derive(Clone, Default)]
pub(super) struct Troubles {
    pub(super) api_server: Time,
    /// Controllers, kubelets, the default scheduler.
    pub(super) controllers: Time,
    pub(super) webhooks: Time,
    pub(super) slurmctld: Time,
    token: Time,
    /// Nodes that are gone from Kubernetes, as they were.
    gone: BTreeMap<String, Value>,
}

impl Troubles {
    /// Until when people wait before they try again.
    pub(super) fn people_wait(&self) -> Time {
        self.api_server.max(self.slurmctld)
    }
}

impl World {
    /// Something happens to a component or a machine, and is over after a while.
    pub(super) fn befall(&mut self, mishap: Mishap) {
        let until = self.now + mishap.lasts();
        match mishap {
            Mishap::NodeDown(n, _) => self.take_down(n),
            Mishap::Unplug(n, _) => {
                self.trouble(n, Some(Trouble::NoPower));
                self.take_down(n);
            }
            Mishap::CutOff(n, _) => self.trouble(n, Some(Trouble::NoNetwork)),
            Mishap::NotReady(n, _) => {
                self.trouble(n, Some(Trouble::NotReady("the runtime is down".to_owned())));
            }
            Mishap::NodeGone(n, _) => self.remove_node(n),
            Mishap::ApiServerDown(_) => {
                extend(&mut self.troubles.api_server, until);
                extend(&mut self.troubles.controllers, until);
                self.end_watches();
            }
            Mishap::ControllersDown(_) => extend(&mut self.troubles.controllers, until),
            Mishap::WebhooksDown(_) => extend(&mut self.troubles.webhooks, until),
            Mishap::SlurmctldDown(_) => extend(&mut self.troubles.slurmctld, until),
            Mishap::SlurmctldForgets(span) => self.forget_jobs(span),
            Mishap::Reconfigure => {
                let now = self.now;
                self.slurm.with_ctld(now, |ctld| ctld.restart(now));
            }
            Mishap::SlurmrestdDown(n, _) => self.rest.set_down(n, true),
            Mishap::TokenExpires(_) => {
                extend(&mut self.troubles.token, until);
                self.rest.change_token(TokenState::Expired);
            }
        }
        self.mail.push(until, Mail::Mended(mishap));
    }

    /// What befell somebody is over.
    pub(super) fn mend(&mut self, mishap: Mishap) {
        let now = self.now;
        match mishap {
            Mishap::NodeDown(n, _) => self.bring_back(n),
            Mishap::Unplug(n, _) => {
                self.trouble(n, None);
                self.bring_back(n);
            }
            Mishap::CutOff(n, _) | Mishap::NotReady(n, _) => self.trouble(n, None),
            Mishap::NodeGone(n, _) => self.register_node(n),
            Mishap::ApiServerDown(_) if self.troubles.api_server <= now => {
                self.cluster.api_mut().forget_history();
            }
            Mishap::SlurmctldDown(_) if self.troubles.slurmctld <= now => {
                self.slurm.with_ctld(now, |ctld| ctld.restart(now));
            }
            Mishap::SlurmrestdDown(n, _) => self.rest.set_down(n, false),
            Mishap::TokenExpires(_) if self.troubles.token <= now => {
                self.rest.change_token(TokenState::Renewed);
            }
            // The last of several that overlap brings it back, or nothing has to be done.
            Mishap::ApiServerDown(_)
            | Mishap::SlurmctldDown(_)
            | Mishap::TokenExpires(_)
            | Mishap::ControllersDown(_)
            | Mishap::WebhooksDown(_)
            | Mishap::SlurmctldForgets(_)
            | Mishap::Reconfigure => {}
        }
        let text = format!("{} is over", Verdict::Mishap(mishap));
        self.note(Line::story(Actor::Twin, Subject::Twin, text));
    }

    /// The machine of this number, by its names on both sides.
    fn machine(&self, number: u8) -> Option<(SlurmNode, String)> {
        let nodes: Vec<_> = self.slurm.ctld().nodes().collect();
        let node = nodes.get(usize::from(number) % nodes.len().max(1))?;
        Some((node.name().clone(), self.rows.kube_name(node.name())))
    }

    fn trouble(&mut self, number: u8, trouble: Option<Trouble>) {
        if let Some((_, node)) = self.machine(number) {
            self.cluster.trouble(self.now, &node, trouble);
        }
    }

    fn take_down(&mut self, number: u8) {
        if let Some((name, _)) = self.machine(number) {
            self.update_node(&name, NodeUpdate::Down { reason: NO_ANSWER.to_owned() });
        }
    }

    fn bring_back(&mut self, number: u8) {
        if let Some((name, _)) = self.machine(number) {
            self.update_node(&name, NodeUpdate::Resume);
        }
    }

    /// Changes a Slurm node, unless somebody has taken it out for a reason of his own.
    fn update_node(&mut self, name: &SlurmNode, update: NodeUpdate) {
        let now = self.now;
        let reason = self.slurm.ctld().node(name).and_then(|node| node.reason.as_ref());
        if reason.is_some_and(|it| !it.text.is_empty() && it.text != NO_ANSWER) {
            return;
        }
        // A node that can't be changed so is left as it is.
        let _ = self.slurm.with_ctld(now, |ctld| ctld.update_node(now, name, update));
    }

    /// Deletes a machine's Node.
    fn remove_node(&mut self, number: u8) {
        let Some((_, name)) = self.machine(number) else { return };
        let Some(node) = self.cluster.api().get("nodes", "", &name) else { return };
        let (metadata, spec) = (&node["metadata"], &node["spec"]);
        let kept = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "labels": metadata["labels"], "annotations": metadata["annotations"],
            },
            "spec": { "unschedulable": spec["unschedulable"].as_bool().unwrap_or_default() },
            "status": node["status"],
        });
        self.troubles.gone.insert(name.clone(), kept);
        self.kube(&Request::new(ADMIN, Method::Delete, format!("/api/v1/nodes/{name}")));
    }

    /// The machine registers again.
    fn register_node(&mut self, number: u8) {
        let Some((_, name)) = self.machine(number) else { return };
        if let Some(node) = self.troubles.gone.remove(&name) {
            self.kube(&Request::new(ADMIN, Method::Post, "/api/v1/nodes").with_body(node));
        }
    }

    /// slurmctld starts again from a save that is so old.
    fn forget_jobs(&mut self, span: Span) {
        let now = self.now;
        let saved = Time::from_ms(now.as_ms().saturating_sub(span.as_ms()));
        self.slurm.with_ctld(now, |ctld| ctld.restart_from(now, saved));
    }

    fn end_watches(&mut self) {
        for index in 0..self.bridges.len() {
            let process = &mut self.bridges[index];
            let life = process.life;
            for stream in std::mem::take(&mut process.watches).into_keys() {
                let event = WatchEvent::Ended;
                self.post(life, KUBE_LATENCY, Input::Watched { stream, event });
            }
        }
    }

    /// Somebody else writes the object that a request is about.
    pub(super) fn touch(&mut self, path: &str) {
        // Behind the object's name may be a part of it.
        let parts = ["/status", "/binding", "/eviction"];
        let object = parts.iter().find_map(|part| path.strip_suffix(part)).unwrap_or(path);
        let at = self.now.as_ms().to_string();
        let body = json!({ "metadata": { "annotations": { "example.com/touched": at } } });
        let request = Request::new(ADMIN, Method::MergePatch, object).with_body(body);
        self.kube(&request);
    }

    /// Somebody takes the lease away from whoever leads.
    pub(super) fn oust(&mut self) {
        let Some(config) = self.config() else { return };
        let terms = &config.leader_election;
        let namespace =
            terms.namespace.as_deref().unwrap_or(drawbridge_core::names::BRIDGE_NAMESPACE);
        let path =
            format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{}", terms.id);
        let body = json!({ "spec": { "holderIdentity": "", "leaseDurationSeconds": 1 } });
        self.kube(&Request::new(ADMIN, Method::MergePatch, path).with_body(body));
    }
}

fn extend(until: &mut Time, to: Time) {
    *until = (*until).max(to);
}

//! One Slurm: slurmctld, slurmdbd if it has one, and what they must remember between requests.

use drawbridge_sim::{Epoch, Fact, GresSpec, SlurmConfig, Slurmctld, Slurmdbd, Time};

use crate::{Request, Response};

use super::{Peer, answer, call::Call, reply, route, rpcs::Rpcs};

/// A Slurm that can be asked.
#[derive(Clone, Debug)]
pub struct Slurm {
    ctld: Slurmctld,
    dbd: Option<Slurmdbd>,
    memory: Memory,
    /// What slurmctld did, for somebody who wants to know it.
    told: Option<Vec<Fact>>,
    /// How often something may have changed.
    version: u64,
}

/// What is remembered between requests.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// When jobs last changed.
    pub(super) jobs_changed: Time,
    /// When nodes did.
    pub(super) nodes_changed: Time,
    /// When partitions did.
    pub(super) partitions_changed: Time,
    /// Who asked for what.
    pub(super) rpcs: Rpcs,
}

impl Default for Memory {
    fn default() -> Self {
        let began = Time::ZERO;
        Self {
            jobs_changed: began,
            nodes_changed: began,
            partitions_changed: began,
            rpcs: Rpcs::default(),
        }
    }
}

impl Slurm {
    /// A Slurm that has just started; with accounting if slurm.conf says
    /// `AccountingStorageType=accounting_storage/slurmdbd`.
    pub fn new(config: SlurmConfig, epoch: Epoch) -> Self {
        let dbd = config.params().priority.slurmdbd.then(|| accounting(&config));
        let memory = Memory::default();
        let mut slurm =
            Self { ctld: Slurmctld::new(config, epoch), dbd, memory, told: None, version: 0 };
        slurm.tell_ctld();
        slurm
    }

    /// The same, keeping what slurmctld does for [`Self::take_facts`].
    #[must_use]
    pub fn telling(mut self) -> Self {
        self.told = Some(self.ctld.take_facts());
        self
    }

    /// What slurmctld did since the last call, in order, if it was to be kept.
    pub fn take_facts(&mut self) -> Vec<Fact> {
        self.told.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The model of slurmctld.
    pub const fn ctld(&self) -> &Slurmctld {
        &self.ctld
    }

    /// As long as this is the same, slurmctld says the same.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Answers one who is known already, over the model alone: see [`super::handle`].
    pub fn ask(&mut self, now: Time, request: &Request) -> Response {
        let version = self.version;
        let response = self.with_ctld(now, |ctld| super::handle(ctld, now, request));
        if request.method == crate::Method::Get {
            self.version = version;
        }
        response
    }

    /// Changes the model, as something other than a request does.
    pub fn with_ctld<T>(&mut self, now: Time, change: impl FnOnce(&mut Slurmctld) -> T) -> T {
        let done = change(&mut self.ctld);
        self.version += 1;
        self.learn(now);
        done
    }

    /// The accounting, if there is any.
    pub const fn dbd(&self) -> Option<&Slurmdbd> {
        self.dbd.as_ref()
    }

    /// Changes the accounting, as sacctmgr does.
    pub fn with_dbd<T>(&mut self, change: impl FnOnce(&mut Slurmdbd) -> T) -> Option<T> {
        let done = self.dbd.as_mut().map(change);
        self.tell_ctld();
        done
    }

    /// When [`Self::wake`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        self.ctld.next_wake()
    }

    /// Does all that is due.
    pub fn wake(&mut self, now: Time) {
        // One moment after the other: who is forgotten in the next must be in the books by then.
        while let Some(at) = self.ctld.next_wake().filter(|at| *at <= now) {
            self.ctld.wake(at);
            self.learn(at);
        }
    }

    /// Answers one request. `trusted` says whether the token that came with it is good.
    pub fn handle(&mut self, now: Time, request: &Request, trusted: bool, peer: &Peer) -> Response {
        self.respond(now, request, trusted, peer, false)
    }

    /// The answer to a list without the list.
    pub(super) fn handle_listing(&mut self, now: Time, request: &Request, peer: &Peer) -> Response {
        self.respond(now, request, true, peer, true)
    }

    fn respond(
        &mut self,
        now: Time,
        request: &Request,
        trusted: bool,
        peer: &Peer,
        listing: bool,
    ) -> Response {
        self.wake(now);
        let release = self.ctld.config().release();
        let found = route::route(release, request.method, &request.path);
        let served = |route: &route::Route<'_>| {
            self.dbd.is_some() || !route.operation.path.starts_with("/slurmdb/")
        };
        let Some(route) = found.filter(served) else {
            return reply::text(404, route::not_found(release));
        };
        if trusted {
            self.memory.rpcs.count(&route.operation.name, &request.user);
        }
        let mut call = Call {
            ctld: &mut self.ctld,
            dbd: self.dbd.as_mut(),
            now,
            request,
            operation: route.operation,
            name: route.name,
            trusted,
            listing,
            memory: Some(&self.memory),
        };
        let reply = answer(&mut call);
        let response = call.finish(reply, peer);
        self.learn(now);
        self.note(now, &route.operation.name);
        response
    }

    /// Takes in what an operation changes without slurmctld's telling.
    fn note(&mut self, now: Time, operation: &str) {
        match operation {
            "slurm_post_job" => self.memory.jobs_changed = now,
            "slurm_post_node"
            | "slurm_post_nodes"
            | "slurm_post_new_node"
            | "slurm_delete_node" => {
                self.memory.nodes_changed = now;
            }
            "slurm_post_partitions" | "slurm_delete_partition" => {
                self.memory.partitions_changed = now;
            }
            // Which also forgets who asked for what.
            "slurm_get_reconfigure" => {
                self.memory = Memory {
                    jobs_changed: now,
                    nodes_changed: now,
                    partitions_changed: now,
                    rpcs: Rpcs::default(),
                };
            }
            other if other.starts_with("slurmdb_") => self.tell_ctld(),
            _reads => {}
        }
    }

    /// Takes in what slurmctld has done.
    fn learn(&mut self, now: Time) {
        let facts = self.ctld.take_facts();
        if facts.is_empty() {
            return;
        }
        let nodes = |fact: &Fact| {
            let holds = matches!(fact, Fact::JobStarted { .. } | Fact::JobReleased { .. });
            holds || matches!(fact, Fact::NodeChanged { .. } | Fact::JobEnded { .. })
        };
        if facts.iter().any(|fact| !matches!(fact, Fact::NodeChanged { .. })) {
            self.memory.jobs_changed = now;
        }
        if facts.iter().any(nodes) {
            self.memory.nodes_changed = now;
        }
        if let Some(dbd) = &mut self.dbd {
            dbd.learn(&self.ctld, &facts);
        }
        if let Some(told) = &mut self.told {
            told.extend(facts);
        }
    }

    /// slurmctld knows which QOS there are.
    fn tell_ctld(&mut self) {
        if let Some(dbd) = &self.dbd {
            let names = dbd.qos().map(|qos| qos.name.clone()).collect();
            let enforced = self.ctld.config().params().enforce_qos;
            self.ctld.set_qos(enforced.then_some(names));
        }
    }
}

fn accounting(config: &SlurmConfig) -> Slurmdbd {
    let nodes = config.nodes().iter().flat_map(|node| &node.gres);
    let mut names: Vec<&str> = nodes.map(|gres: &GresSpec| gres.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    Slurmdbd::new(&config.params().cluster_name, names)
}

//! Some hours of a cluster's life.

use std::fmt;

use drawbridge_sim::{
    Epoch, HashChain, JobId, JobUpdate, NodeUpdate, Release, Requeue, Seed, SlurmConfig, SlurmNode,
    Slurmctld, Span, Time, TimeLimit, UserName, parse_sbatch,
};

use crate::{
    cluster::{Cluster, cluster},
    dice::Dice,
    jobs,
};

/// What came of it.
pub(crate) struct Lived {
    hash: HashChain,
    facts: usize,
    pub(crate) started: u64,
    backfilled: u64,
}

impl fmt::Display for Lived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hash, facts, started, backfilled } = self;
        write!(f, "{hash} {facts} facts, {started} started, {backfilled} of them by backfill")
    }
}

struct Life {
    ctld: Slurmctld,
    now: Time,
    hash: HashChain,
    facts: usize,
}

pub(crate) fn live(seed: Seed) -> Lived {
    let mut dice = Dice::new(seed, "cluster");
    let cluster = cluster(&mut dice);
    let parsed = SlurmConfig::parse(&cluster.conf, None, Release::V24_11);
    let config = parsed.unwrap_or_else(|error| panic!("{error}\n{}", cluster.conf)).config;
    let ctld = Slurmctld::new(config, Epoch::DEFAULT);
    let mut life = Life { ctld, now: Time::ZERO, hash: HashChain::default(), facts: 0 };
    let mut dice = Dice::new(seed, "life");
    // Busier than the machine can be, so that there is a queue.
    let pause = dice.between(5, 120);
    let steps = dice.between(100, 400) * if cluster.plain { 3 } else { 1 };
    for _ in 0..steps {
        let secs = if dice.percent(10) { pause * 20 } else { dice.between(0, pause) };
        life.pass(Span::ms(secs * 1000 + dice.between(0, 999)));
        life.act(&mut dice, &cluster);
        life.hear();
    }
    for _ in 0..200 {
        life.pass(Span::mins(10));
    }
    let stats = life.ctld.stats();
    let Life { hash, facts, .. } = life;
    Lived { hash, facts, started: stats.started, backfilled: stats.backfilled }
}

impl Life {
    fn pass(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(at) = self.ctld.next_wake().filter(|at| *at <= until) {
            self.now = at;
            self.ctld.wake(at);
            self.hear();
        }
        self.now = until;
    }

    fn hear(&mut self) {
        for fact in self.ctld.take_facts() {
            self.facts += 1;
            let fact = serde_json::to_string(&fact).unwrap();
            self.hash.add(format!("{} {fact}", self.now.as_ms()).as_bytes());
        }
    }

    fn act(&mut self, dice: &mut Dice, cluster: &Cluster) {
        let (now, root) = (self.now, UserName::from("root"));
        let job = JobId(dice.between(1, if cluster.plain { 1200 } else { 400 }) as u32);
        let node = SlurmNode::from(format!("n{}", dice.between(1, cluster.nodes)));
        let reason = "test".to_owned();
        let ctld = &mut self.ctld;
        // A refusal is an answer too.
        match dice.between(1, 100) {
            1..=3 => drop(ctld.cancel(now, job, &root)),
            4 => drop(ctld.update_node(now, &node, NodeUpdate::Drain { reason })),
            5 => drop(ctld.update_node(now, &node, NodeUpdate::Down { reason })),
            6..=10 => drop(ctld.update_node(now, &node, NodeUpdate::Resume)),
            11 => drop(ctld.hold(now, job, &root)),
            12..=13 => drop(ctld.release(now, job, &root)),
            14 => drop(ctld.requeue(now, job, Requeue::Plain, &root)),
            15 => {
                let priority = Some(dice.between(1, 9) as u32 * 1_000_000);
                let update = JobUpdate { priority, ..JobUpdate::default() };
                _ = ctld.update_job(now, job, &update, &root);
            }
            16 => {
                let limit = TimeLimit::Of(Span::mins(dice.between(1, 300)));
                let update = JobUpdate { time_limit: Some(limit), ..JobUpdate::default() };
                _ = ctld.update_job(now, job, &update, &root);
            }
            17 => drop(ctld.suspend_job(now, job, &root)),
            18 => drop(ctld.resume_job(now, job, &root)),
            19 => drop(ctld.update_node(now, &node, NodeUpdate::Weight(dice.between(1, 3) as u32))),
            _ => self.submit(dice, cluster),
        }
    }

    fn submit(&mut self, dice: &mut Dice, cluster: &Cluster) {
        let flags = jobs::job(dice, cluster);
        let user = format!("user{}", dice.between(1, 4));
        let Ok(mut submission) = parse_sbatch(&flags) else { return };
        submission.user = user.as_str().into();
        let answer = self.ctld.submit(self.now, submission);
        self.hash.add(format!("{answer:?}").as_bytes());
    }
}

//! Replicas and one lease, over a network that is slow and loses things.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::effect::Effect;

/// The API server, as much of it as keeps one lease.
#[derive(Default)]
struct Server {
    lease: Option<Value>,
    version: u64,
}

impl Server {
    fn handle(&mut self, request: &KubeRequest) -> KubeReply {
        let found = self.lease.clone();
        let (status, body) = match (request.method, found, request.body.clone()) {
            (Method::Get, Some(lease), _) => (200, lease),
            (Method::Get | Method::Put, None, _) => (404, Value::Null),
            (Method::Post, Some(_), _) => (409, Value::Null),
            (Method::Post, None, Some(body)) => (201, self.store(body)),
            (Method::Put, Some(lease), Some(body)) => {
                let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
                if version(&lease) == version(&body) {
                    (200, self.store(body))
                } else {
                    (409, Value::Null)
                }
            }
            (method, ..) => panic!("{method:?}"),
        };
        KubeReply { status, body: Arc::new(body) }
    }

    fn store(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }
}

fn terms() -> LeaderElection {
    LeaderElection { namespace: Some("ns".into()), ..LeaderElection::as_shipped() }
}

fn replica(name: &str) -> (Election, Outbox) {
    (Election::new(terms(), Epoch::DEFAULT, "ns", name), Outbox::new(Span::secs(30)))
}

/// The one request that was sent.
fn sent(out: &mut Outbox) -> Option<KubeRequest> {
    let requests = out.finish().into_iter().filter_map(|effect| {
        if let Effect::Kube { request, .. } = effect { Some(request) } else { None }
    });
    requests.last()
}

/// Lets one replica talk to the server; each line says what happened.
fn talk(server: &mut Server, name: &str, lines: &mut Vec<String>, times: &[u64]) -> Election {
    let (mut election, mut out) = replica(name);
    for secs in times {
        out.begin(Time::from_ms(secs * 1000));
        if election.state == State::Resting && election.seen.is_none() {
            election.look(&mut out);
        } else {
            election.woke(&mut out);
        }
        while let Some(request) = sent(&mut out) {
            let reply = server.handle(&request);
            let (method, status) = (request.method, reply.status);
            let turn = election.replied(&mut out, &Ok(reply));
            lines.push(format!("{secs:>3} {name} {method:?} -> {status} {turn:?}"));
        }
    }
    election
}

#[test]
fn the_first_takes_the_lease_and_the_second_waits_until_it_has_run_out() {
    let mut server = Server::default();
    let mut lines = vec![];
    let first = talk(&mut server, "a", &mut lines, &[0, 2, 4]);
    assert_eq!(first.until(), Some(Time::from_ms(14_000)));
    let second = talk(&mut server, "b", &mut lines, &[5, 7, 19, 20]);
    assert_eq!(second.holder(), Some("b"));
    insta::assert_snapshot!(lines.join("\n"), @r"
      0 a Get -> 404 Same
      0 a Post -> 201 Elected
      2 a Put -> 200 Same
      4 a Put -> 200 Same
      5 b Get -> 200 Same
      7 b Get -> 200 Same
     19 b Get -> 200 Same
     20 b Get -> 200 Same
     20 b Put -> 200 Elected
    ");
    let spec = &server.lease.unwrap()["spec"];
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&json!("b"), &json!(1)));
}

#[test]
fn a_leader_whose_lease_was_taken_leads_no_more() {
    let mut server = Server::default();
    let mut first = talk(&mut server, "a", &mut vec![], &[0]);
    talk(&mut server, "b", &mut vec![], &[1, 17]);
    let mut out = Outbox::new(Span::secs(30));
    // Its clock stands still meanwhile: it was asleep.
    out.begin(Time::from_ms(2000));
    assert_eq!(first.woke(&mut out), Turn::Same);
    let refused = server.handle(&sent(&mut out).unwrap());
    assert_eq!(refused.status, 409);
    assert_eq!(first.replied(&mut out, &Ok(refused)), Turn::Same);
    let read = server.handle(&sent(&mut out).unwrap());
    assert_eq!(first.replied(&mut out, &Ok(read)), Turn::Ousted);
    assert_eq!(first.until(), None);
}

#[test]
fn a_leader_that_hears_nothing_gives_up_before_others_may_take_over() {
    let mut server = Server::default();
    let mut first = talk(&mut server, "a", &mut vec![], &[0]);
    let mut out = Outbox::new(Span::secs(30));
    out.begin(Time::from_ms(2000));
    first.woke(&mut out);
    let lost = || Err(Lost { why: "refused".into() });
    assert_eq!(first.replied(&mut out, &lost()), Turn::Same);
    out.begin(Time::from_ms(9999));
    assert_eq!(first.woke(&mut out), Turn::Same);
    out.begin(Time::from_ms(10_000));
    assert_eq!(first.woke(&mut out), Turn::Ousted);
}

#[test]
fn a_lease_that_was_given_back_is_taken_at_once() {
    let mut server = Server::default();
    let mut first = talk(&mut server, "a", &mut vec![], &[0]);
    let mut out = Outbox::new(Span::secs(30));
    out.begin(Time::from_ms(1000));
    assert!(first.release(&mut out));
    let reply = server.handle(&sent(&mut out).unwrap());
    assert_eq!(first.replied(&mut out, &Ok(reply)), Turn::Released);
    let second = talk(&mut server, "b", &mut vec![], &[1]);
    assert!(second.until().is_some());
    assert!(!replica("c").0.release(&mut out), "who doesn't lead has nothing to give back");
}

/// What a request or its reply meets on its way.
#[derive(Clone, Debug)]
struct Luck {
    there: u64,
    back: u64,
    lost: bool,
}

fn luck() -> impl Strategy<Value = Luck> {
    let way = || prop_oneof![4 => 0..50u64, 2 => 50..3000u64, 1 => 3000..40_000u64];
    (way(), way(), prop::bool::weighted(0.2)).prop_map(|(there, back, lost)| Luck {
        there,
        back,
        lost,
    })
}

/// A replica that runs, its clock, and what is under way for it.
struct Runner {
    election: Election,
    out: Outbox,
    /// Its clock runs behind the others' by so much: it may have started later.
    behind: u64,
    wake: Option<u64>,
    asked: Option<(u64, KubeRequest, Luck)>,
    heard: Option<(u64, Result<KubeReply, Lost>)>,
    life: u32,
    asleep_until: u64,
}

impl Runner {
    fn new(name: usize, life: u32, at: u64) -> Self {
        let (mut election, mut out) = replica(&format!("{name}_{life}"));
        out.begin(Time::ZERO);
        election.look(&mut out);
        let (wake, asked, heard) = (None, None, None);
        Self { election, out, behind: at, wake, asked, heard, life, asleep_until: 0 }
    }

    fn next(&self) -> u64 {
        let arrives = self.asked.as_ref().map_or(u64::MAX, |(at, ..)| *at);
        let own =
            self.heard.as_ref().map_or(u64::MAX, |(at, _)| *at).min(self.wake.unwrap_or(u64::MAX));
        arrives.min(own.max(self.asleep_until))
    }

    /// Sends what it wants sent, and notes when it wants to be woken.
    fn post(&mut self, now: u64, luck: &mut impl Iterator<Item = Luck>) {
        for effect in self.out.finish() {
            if let Effect::WakeAt(at) = effect {
                self.wake = Some(at.as_ms() + self.behind);
            } else if let Effect::Kube { call, request, limits } = effect {
                self.out.answered(call);
                let luck = luck.next().unwrap_or(Luck { there: 1, back: 1, lost: false });
                assert!(Time::from_ms(now - self.behind) <= limits.send_by);
                self.asked = Some((now + luck.there, request, luck));
            }
        }
    }
}

proptest! {
    /// Whatever the network does and whoever sleeps or dies: the times in which two replicas may act
    /// don't overlap.
    #[test]
    fn no_two_lead_at_the_same_time(
        lucks in prop::collection::vec(luck(), 200),
        mut sleeps in prop::collection::vec((0..120_000u64, 0..3usize, 0..30_000u64), 0..6),
        mut deaths in prop::collection::vec((0..120_000u64, 0..3usize), 0..4),
    ) {
        let mut luck = lucks.into_iter();
        let mut server = Server::default();
        let mut runners: Vec<Runner> = (0..3).map(|n| Runner::new(n, 0, n as u64 * 700)).collect();
        for (n, runner) in runners.iter_mut().enumerate() {
            runner.post(n as u64 * 700, &mut luck);
        }
        let mut reigns: Vec<(String, u64, u64)> = vec![];
        let mut now = 0;
        while now < 120_000 {
            let Some(n) = (0..runners.len()).min_by_key(|n| runners[*n].next()) else { break };
            now = runners[n].next().max(now);
            if let Some(due) = sleeps.iter().position(|(at, ..)| *at <= now) {
                let (_, asleep, span) = sleeps.swap_remove(due);
                runners[asleep].asleep_until = now + span;
            }
            if let Some(due) = deaths.iter().position(|(at, _)| *at <= now) {
                let (_, dead) = deaths.swap_remove(due);
                let life = runners[dead].life + 1;
                let asked = runners[dead].asked.take();
                runners[dead] = Runner::new(dead, life, now);
                runners[dead].post(now, &mut luck);
                // What was on its way still arrives.
                if let Some((_, request, _)) = asked {
                    server.handle(&request);
                }
                continue;
            }
            let runner = &mut runners[n];
            if runner.asked.as_ref().is_some_and(|(at, ..)| *at <= now) {
                let (_, request, luck) = runner.asked.take().unwrap();
                let reply = server.handle(&request);
                let said = if luck.lost { Err(Lost { why: "lost".into() }) } else { Ok(reply) };
                runner.heard = Some((now + luck.back, said));
                continue;
            }
            runner.out.begin(Time::from_ms(now - runner.behind));
            let turn = if runner.heard.as_ref().is_some_and(|(at, _)| *at <= now) {
                let (_, said) = runner.heard.take().unwrap();
                runner.election.replied(&mut runner.out, &said)
            } else {
                runner.wake = None;
                runner.out.due();
                runner.election.woke(&mut runner.out)
            };
            runner.post(now, &mut luck);
            if turn == Turn::Ousted {
                let (life, at) = (runner.life + 1, now);
                *runner = Runner::new(n, life, at);
                runner.post(now, &mut luck);
            } else if let Some(until) = runner.election.until() {
                let name = runner.election.identity.clone();
                let until = until.as_ms() + runner.behind;
                reigns.push((name, now, until));
            }
        }
        for (name, from, until) in &reigns {
            for (other, since, _) in reigns.iter().filter(|(other, ..)| other != name) {
                prop_assert!(
                    !(from < since && since < until),
                    "{other} leads from {since} on, {name} from {from} until {until}"
                );
            }
        }
    }
}
